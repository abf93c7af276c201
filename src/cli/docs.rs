//! `evaltrail completions` and `evaltrail man`.

#![expect(
    clippy::disallowed_methods,
    reason = "it prints generated text: the manual page and completions"
)]

use super::Exit;
use super::args::Cli;
use crate::explorer::COMMANDS;
use clap::CommandFactory;
use std::io::{self, Write};

pub(super) fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "evaltrail", &mut script);
    let _ = io::stdout().write_all(&script);
    Ok(Exit::Success)
}

pub(super) fn man() -> anyhow::Result<Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
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
