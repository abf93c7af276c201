//! `evaltrail completions` and `evaltrail man`.

#![expect(
    clippy::disallowed_methods,
    reason = "it prints generated text: the manual page and completions"
)]

use super::Exit;
use super::program::program;
use super::subcommand::CliCommand;
use crate::explorer::COMMANDS;
use clap::Args;
use std::io::{self, Write};

/// Print completions for a shell
#[derive(Args, Debug)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

impl CliCommand for CompletionsArgs {
    const NAME: &'static str = "completions";

    fn run(self) -> anyhow::Result<Exit> {
        completions(self.shell)
    }
}

/// Print the manual page
#[derive(Args, Debug)]
pub(super) struct ManArgs {}

impl CliCommand for ManArgs {
    const NAME: &'static str = "man";

    fn run(self) -> anyhow::Result<Exit> {
        man()
    }
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(), "evaltrail", &mut script);
    let _ = io::stdout().write_all(&script);
    Ok(Exit::Success)
}

fn man() -> anyhow::Result<Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(program()).render(&mut page)?;
    page.extend(keys_section().as_bytes());
    let _ = io::stdout().write_all(&page);
    Ok(Exit::Success)
}

/// A section with the explorer's keys, from the table of commands.
fn keys_section() -> String {
    let entries: String = COMMANDS
        .iter()
        .map(|command| {
            format!(
                ".TP\n\\fB{}\\fR  {}\n{}\n",
                command.keys().join("\\fR, \\fB"),
                command.name(),
                command.help
            )
        })
        .collect();
    format!(".SH KEYS OF THE EXPLORER\n{}", entries.replace('-', "\\-"))
}
