//! Printing. A reader that goes away (`| head`) is no error: what is left is not printed.

use super::args::ColorWhen;
use crate::report::Paint;
use std::io::{self, BufRead, IsTerminal, Write};

/// Prints lines on standard output. `false` when nobody reads any more.
pub(super) fn say(text: &str) -> bool {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
}

/// Prints lines on standard error.
pub(super) fn tell(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
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
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
