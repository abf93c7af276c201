//! The command line, with one module per subcommand.

mod accept;
mod addresses;
mod adk_eval_arguments;
mod agent_turn;
mod agents;
mod agents_init;
mod arg_values;
mod args;
mod bisect;
mod bisect_args;
mod bisect_history;
mod bisect_search;
mod bisect_text;
mod calibrate;
mod capture;
mod capture_args;
mod capture_best;
mod capture_file;
mod capture_sources;
mod causes;
mod check;
mod check_self;
mod compare;
mod convert;
mod coverage;
mod docs;
mod drafts;
mod edit;
mod error_text;
mod exit;
mod exit_code;
mod explore;
mod export;
mod find_run;
mod generate;
mod generate_args;
mod github;
mod interrupts;
mod judge;
mod list;
mod live_run;
mod malformed;
mod merge;
mod metrics;
mod new;
mod open_drafts;
mod open_pushed;
mod output;
mod own_files;
mod paths;
mod program;
mod progress;
mod push;
mod rerun;
mod result_text;
mod run;
mod run_args;
mod run_commands;
mod run_labels;
mod run_request;
mod run_results;
mod runs;
mod select;
mod shard_status;
mod standard_input;
mod subcommand;
mod terminal;
mod trust;
mod uploader;
mod verify_drafts;
mod version;
mod watch;
mod write;
mod written_drafts;

pub use error_text::{error_chain, print_error};
pub use exit::Exit;

use args::Cli;
use clap::FromArgMatches;
use std::path::Path;
use subcommand::CommandRow;

/// The subcommands, in the order of the help.
static SUBCOMMANDS: &[CommandRow] = &[
    CommandRow::new::<run_args::RunArgs>(),
    CommandRow::new::<run_args::ScoreArgs>(),
    CommandRow::new::<list::ListArgs>(),
    CommandRow::new::<agents::AgentsArgs>(),
    CommandRow::new::<check::CheckArgs>(),
    CommandRow::new::<coverage::CoverageArgs>(),
    CommandRow::new::<metrics::MetricsArgs>(),
    CommandRow::new::<judge::JudgeArgs>(),
    CommandRow::new::<convert::ConvertArgs>(),
    CommandRow::new::<runs::RunsArgs>(),
    CommandRow::new::<compare::CompareArgs>(),
    CommandRow::new::<causes::CausesArgs>(),
    CommandRow::new::<bisect_args::BisectArgs>(),
    CommandRow::new::<run_args::MergeArgs>(),
    CommandRow::new::<export::ExportArgs>(),
    CommandRow::new::<export::OpenArgs>(),
    CommandRow::new::<accept::AcceptArgs>(),
    CommandRow::new::<capture_args::CaptureArgs>(),
    CommandRow::new::<generate_args::GenerateArgs>(),
    CommandRow::new::<drafts::DraftsArgs>(),
    CommandRow::new::<edit::EditArgs>(),
    CommandRow::new::<new::NewArgs>(),
    CommandRow::new::<explore::DemoArgs>(),
    CommandRow::new::<docs::CompletionsArgs>(),
    CommandRow::new::<docs::ManArgs>(),
];

/// The program with its subcommands.
fn describe() -> clap::Command {
    program::describe_program(SUBCOMMANDS.iter().map(|row| (row.describe)())).clone()
}

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
    // A long list of temporary files is no reason to wait, neither for the first frame nor at the end: what is left is removed
    // at the next start.
    let _ = std::thread::Builder::new().spawn(evaltrail_engine::process::remove_left_over_folders);
    run_command(&arguments)
}

fn run_command(arguments: &[std::ffi::OsString]) -> anyhow::Result<Exit> {
    // The text of the version is made at run time, and lives as long as the process.
    let command = describe().version(&*version::version().leak());
    let matches = command.try_get_matches_from(arguments);
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    let is_answer = |error: &clap::Error| matches!(error.kind(), DisplayHelp | DisplayVersion);
    if matches.as_ref().is_err_and(|error| !is_answer(error)) {
        refuse_unknown_subcommand(arguments)?;
    }
    let matches = matches.unwrap_or_else(|error| error.exit());
    match matches.subcommand() {
        Some((name, arguments)) => {
            let row = SUBCOMMANDS.iter().find(|row| row.name == name);
            row.map_or(Ok(Exit::UsageError), |row| (row.run)(arguments))
        }
        None => {
            let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
            explore::open(cli.path, cli.theme, cli.columns)
        }
    }
}
