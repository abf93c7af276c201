//! What a subcommand is. Each is in a file of its own, and has a line in the table of `mod.rs`.

use super::Exit;
use clap::{ArgMatches, Args, Command};

/// The arguments of a subcommand, and what it does. The description of the type is that of the help.
pub(super) trait CliCommand: Args {
    /// The name on the command line.
    const NAME: &'static str;

    /// Replaces addresses of buckets by the paths of copies, and reads what is given on standard input.
    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn run(self) -> anyhow::Result<Exit>;
}

/// A row of the table of subcommands.
pub(super) struct CommandRow {
    pub(super) name: &'static str,
    /// Describes the arguments.
    pub(super) describe: fn() -> Command,
    pub(super) run: fn(&ArgMatches) -> anyhow::Result<Exit>,
}

impl CommandRow {
    pub(super) const fn new<C: CliCommand>() -> CommandRow {
        CommandRow {
            name: C::NAME,
            describe: || C::augment_args(Command::new(C::NAME)),
            run: |matches| {
                let mut arguments =
                    C::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
                arguments.copy_inputs()?;
                arguments.run()
            },
        }
    }
}
