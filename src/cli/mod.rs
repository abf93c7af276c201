//! The command line, with one module per subcommand.

mod accept;
mod addresses;
mod adk_eval_arguments;
mod agent_turn;
mod agents;
mod agents_init;
mod arg_values;
mod args;
mod capture;
mod capture_best;
mod capture_file;
mod capture_sources;
mod check;
mod compare;
mod convert;
mod coverage;
mod docs;
mod edit;
mod error_text;
mod exit;
mod exit_code;
mod explore;
mod export;
mod find_run;
mod github;
mod interrupts;
mod judge;
mod list;
mod live_run;
mod malformed;
mod merge;
mod metrics;
mod new;
mod open_pushed;
mod output;
mod own_files;
mod paths;
mod progress;
mod push;
mod rerun;
mod run;
mod run_args;
mod run_labels;
mod runs;
mod select;
mod shard_status;
mod standard_input;
mod terminal;
mod trust;
mod uploader;
mod version;
mod watch;
mod write;

pub use error_text::{error_chain, print_error};
pub use exit::Exit;

use args::{Cli, CliCommand};
use clap::{CommandFactory, FromArgMatches};
use std::path::Path;

/// The parser reads a misspelled subcommand as a path, and rejects the arguments after it. Errors: the first
/// argument is neither a path nor a subcommand, but similar to one.
fn refuse_unknown_subcommand(arguments: &[std::ffi::OsString]) -> anyhow::Result<()> {
    let word = arguments.get(1).and_then(|word| word.to_str());
    let Some(word) = word.filter(|word| !word.starts_with('-') && !Path::new(word).exists()) else {
        return Ok(());
    };
    match paths::similar_subcommand(word) {
        Some(subcommand) if subcommand != word => anyhow::bail!(
            "there is no file, folder or subcommand {word:?}; did you mean `evaltrail {subcommand}`?"
        ),
        _ => Ok(()),
    }
}

/// Parses the arguments and runs the command.
pub fn main() -> anyhow::Result<Exit> {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if let Some(code) = evaltrail_engine::process::run_as_keeper(&arguments)? {
        return Ok(Exit::Code(code.clamp(0, 255) as u8));
    }
    evaltrail_engine::process::raise_open_file_limit();
    evaltrail_engine::process::remove_left_over_folders();
    // The text of the version is made at run time, and lives as long as the process.
    let command = Cli::command().version(&*version::version().leak());
    let matches = command.try_get_matches_from(&arguments);
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    let is_answer = |error: &clap::Error| matches!(error.kind(), DisplayHelp | DisplayVersion);
    if matches.as_ref().is_err_and(|error| !is_answer(error)) {
        refuse_unknown_subcommand(&arguments)?;
    }
    let cli = Cli::from_arg_matches(&matches.unwrap_or_else(|error| error.exit()))
        .unwrap_or_else(|error| error.exit());
    let cli = addresses::with_copies(cli)?;
    match cli.command {
        None => explore::open(cli.path, cli.theme, cli.columns),
        Some(CliCommand::Run(args)) => {
            let args = adk_eval_arguments::with_agent(*args);
            if args.watch {
                watch::run_and_watch(&args)
            } else {
                run::run(&args)
            }
        }
        Some(CliCommand::Score(args)) => run::score(*args),
        Some(CliCommand::List(args)) => list::list(args),
        Some(CliCommand::Check(args)) => check::check(args),
        Some(CliCommand::Convert(args)) => convert::convert(args),
        Some(CliCommand::Runs(args)) => runs::runs(args),
        Some(CliCommand::Compare(args)) => compare::compare(args),
        Some(CliCommand::Merge(args)) => merge::merge(args),
        Some(CliCommand::Export(args)) => export::export(args),
        Some(CliCommand::Open(args)) => export::open(args),
        Some(CliCommand::Accept(args)) => accept::accept(args),
        Some(CliCommand::Capture(args)) => capture::capture(args),
        Some(CliCommand::Edit(args)) => edit::edit(args),
        Some(CliCommand::New(args)) => new::new(args),
        Some(CliCommand::Agents(args)) => agents::agents(args),
        Some(CliCommand::Judge(args)) => judge::judge(args),
        Some(CliCommand::Coverage(args)) => coverage::coverage(args),
        Some(CliCommand::Metrics(args)) => metrics::metrics(args),
        Some(CliCommand::Completions { shell }) => docs::completions(shell),
        Some(CliCommand::Man) => docs::man(),
        Some(CliCommand::Demo(args)) => explore::demo(args.to, args.theme),
    }
}
