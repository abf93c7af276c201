//! The command line, with one module per subcommand.

mod accept;
mod addresses;
mod adk_order;
mod agent_turn;
mod agents;
mod agents_init;
mod arg_values;
mod args;
mod board;
mod capture;
mod check;
mod compare;
mod convert;
mod docs;
mod edit;
mod exit_code;
mod explore;
mod find_run;
mod github;
mod interrupts;
mod judge;
mod list;
mod live_run;
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
mod share;
mod standard_input;
mod terminal;
mod trust;
mod uploader;
mod version;
mod watch;
mod write;

use args::{Cli, Command};
use clap::{CommandFactory, FromArgMatches};

/// The outcome of a command, which determines the exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All passed.
    Success,
    /// Something failed, errored or was not evaluated.
    Failures,
    /// The usage or an input is invalid.
    UsageError,
    /// Interrupted.
    Interrupted,
    /// The exit code of a program that this process supervised.
    Code(u8),
}

impl Exit {
    /// The process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failures => 1,
            Exit::UsageError => 2,
            Exit::Interrupted => 130,
            Exit::Code(code) => code,
        }
    }
}

/// The messages of an error and its causes, outermost first, without messages that are contained in another.
pub fn error_chain(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if said.iter().any(|known| known.contains(&cause)) {
            continue;
        }
        said.retain(|known| !cause.contains(known.as_str()));
        said.push(cause);
    }
    said.join(": ")
}

/// Prints an error on standard error. If that is not possible, the exit code is the only indication.
pub fn print_error(error: &anyhow::Error) {
    output::tell(&format!("evaltrail: {}", error_chain(error)));
}

/// Parses the arguments and runs the command.
pub fn main() -> anyhow::Result<Exit> {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if let Some(code) = crate::process::run_as_keeper(&arguments)? {
        return Ok(Exit::Code(code.clamp(0, 255) as u8));
    }
    crate::process::raise_open_file_limit();
    crate::process::remove_left_over_folders();
    // The text of the version is made at run time, and lives as long as the process.
    let command = Cli::command().version(&*version::version().leak());
    let cli =
        Cli::from_arg_matches(&command.get_matches_from(arguments)).unwrap_or_else(|error| error.exit());
    let cli = addresses::with_copies(cli)?;
    match cli.command {
        None => explore::open(cli.path, cli.theme, cli.columns),
        Some(Command::Run(args)) => {
            let args = adk_order::with_agent(*args);
            if args.watch { watch::run_and_watch(&args) } else { run::run(&args) }
        }
        Some(Command::Score(args)) => run::score(*args),
        Some(Command::List(args)) => list::list(args),
        Some(Command::Check(args)) => check::check(args),
        Some(Command::Convert(args)) => convert::convert(args),
        Some(Command::Runs(args)) => runs::runs(args),
        Some(Command::Compare(args)) => compare::compare(args),
        Some(Command::Merge(args)) => merge::merge(args),
        Some(Command::Export(args)) => share::export(args),
        Some(Command::Open(args)) => share::open(args),
        Some(Command::Accept(args)) => accept::accept(args),
        Some(Command::Capture(args)) => capture::capture(args),
        Some(Command::Edit(args)) => edit::edit(args),
        Some(Command::New(args)) => new::new(args),
        Some(Command::Agents(args)) => agents::agents(args),
        Some(Command::Judge(args)) => judge::judge(args),
        Some(Command::Metrics(args)) => metrics::metrics(args),
        Some(Command::Completions { shell }) => docs::completions(shell),
        Some(Command::Man) => docs::man(),
        Some(Command::Demo(args)) => explore::demo(args.to, args.theme),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_named_once() {
        let missing = anyhow::anyhow!("No such file (os error 2)");
        let error = missing.context("nowhere/x: No such file (os error 2)").context("nowhere/x");
        assert_eq!(error_chain(&error), "nowhere/x: No such file (os error 2)");
        let other = anyhow::anyhow!("line 1: expected a list").context("x.json");
        assert_eq!(error_chain(&other), "x.json: line 1: expected a list");
    }
}
