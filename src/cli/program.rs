//! The description of the whole command line, for those who name subcommands: it is known once at the start.

use super::args::Cli;
use clap::{Command, CommandFactory};
use std::sync::OnceLock;

static PROGRAM: OnceLock<Command> = OnceLock::new();

/// Describes the program with these subcommands.
pub(super) fn describe_program(subcommands: impl Iterator<Item = Command>) -> &'static Command {
    PROGRAM.get_or_init(|| Cli::command().subcommands(subcommands))
}

/// The program with its subcommands.
pub(super) fn program() -> Command {
    PROGRAM.get().cloned().unwrap_or_else(Cli::command)
}
