//! Printing: the only way out for what subcommands say. A reader that goes away (`| head`) is no error: what is left
//! is not printed.

use super::args::ColorWhen;
use crate::domain::{clean_json, clean_output, without_log_commands};
use crate::report::Paint;
use std::borrow::Cow;
use std::io::{self, BufRead, IsTerminal, Write};

/// Prints lines for people on standard output. `false` when nobody reads any more.
pub(super) fn say(text: &str) -> bool {
    write_line(io::stdout().lock(), &for_people(text, io::stdout().is_terminal()))
}

/// Prints lines for people on standard error.
pub(super) fn tell(text: &str) {
    write_line(io::stderr().lock(), &for_people(text, io::stderr().is_terminal()));
}

/// Prints JSON on standard output: as it is for a program, without what acts on a terminal for a person.
pub(super) fn say_json(json: &str) -> bool {
    let is_log = std::env::var_os("CI").is_some();
    let shown = match io::stdout().is_terminal() || is_log {
        true => clean_json(json),
        false => Cow::Borrowed(json),
    };
    // In a string of JSON this is the same character; elsewhere it does not stand.
    let shown = if is_log { Cow::Owned(shown.replace("##", "#\\u0023")) } else { shown };
    write_line(io::stdout().lock(), &shown)
}

/// Prints a patch on standard output: as it is for a program, cleaned for a person.
pub(super) fn say_patch(patch: &str) -> bool {
    match io::stdout().is_terminal() || std::env::var_os("CI").is_some() {
        true => say(patch),
        false => write_line(io::stdout().lock(), patch),
    }
}

fn for_people(text: &str, is_terminal: bool) -> Cow<'_, str> {
    match (clean_output(text), is_terminal) {
        (cleaned, true) => cleaned,
        // It may be a log that a CI system reads.
        (cleaned, false) => Cow::Owned(without_log_commands(&cleaned).into_owned()),
    }
}

fn write_line(mut out: impl Write, text: &str) -> bool {
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
}

/// "1 case", "2 cases".
pub(super) fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Whether to colour standard output.
pub(super) fn paint(when: ColorWhen) -> Paint {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Paint {
        on: match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => io::stdout().is_terminal() && !no_color && !dumb,
        },
    }
}

/// Whether a person can be asked here.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question that only "y" and "yes" affirm.
pub(super) fn says_yes(question: &str) -> io::Result<bool> {
    write!(io::stderr(), "{question} [y/N] ")?;
    io::stderr().flush()?;
    // What was typed before the question was there is no answer to it.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
