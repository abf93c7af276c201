//! The output of subcommands: only this module prints. If the reader closes the pipe (`| head`), the rest is discarded
//! without an error.

#![expect(
    clippy::disallowed_methods,
    reason = "everything that is printed passes it"
)]

use super::args::ColorWhen;
use crate::explorer::has_escape_sequences;
use evaltrail_core::domain::{clean_json, clean_output, without_log_commands};
use evaltrail_engine::report::Paint;
use evaltrail_engine::store::with_addresses;
use std::borrow::Cow;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::LazyLock;

/// Whether standard output is a terminal. The system is asked once, not for each line.
static STDOUT_IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| io::stdout().is_terminal());
static STDERR_IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| io::stderr().is_terminal());

/// Prints text on standard output. Returns `false` if it was closed.
pub(super) fn print_line(text: &str) -> bool {
    write_line(io::stdout().lock(), for_people(text, *STDOUT_IS_TERMINAL))
}

/// Prints text on standard output in the place of the last `before` lines; below them if it is no terminal. Returns `false`
/// if it was closed.
pub(super) fn print_over(text: &str, before: usize) -> bool {
    let mut out = io::stdout().lock();
    if *STDOUT_IS_TERMINAL && before > 0 && write!(out, "\x1b[{before}F\x1b[J").is_err() {
        return false;
    }
    drop(out);
    print_line(text)
}

/// Prints text on standard error.
pub(super) fn print_note(text: &str) {
    write_line(io::stderr().lock(), for_people(text, *STDERR_IS_TERMINAL));
}

/// Displays the progress of something in one line of the terminal. The line is removed with the last progress.
pub(super) fn print_progress(text: &str, is_last: bool) {
    let mut out = io::stderr().lock();
    if *STDERR_IS_TERMINAL {
        let text = if is_last {
            String::new()
        } else {
            for_people(text, true)
        };
        // Without a terminal that can show it, there is no progress.
        let _ = write!(out, "\r{text}\x1b[K").and_then(|()| out.flush());
    }
}

/// Prints a command for the log of a CI system, whose texts are cleaned and escaped.
pub(super) fn print_log_command(line: &str, on_stderr: bool) {
    match on_stderr {
        true => write_line(io::stderr().lock(), line.into()),
        false => write_line(io::stdout().lock(), line.into()),
    };
}

/// Prints JSON on standard output. Control characters are escaped if it is a terminal or a CI log.
pub(super) fn print_json(json: &str) -> bool {
    let mut out = json_output();
    out.write_all(json.as_bytes())
        .and_then(|()| out.end())
        .is_ok()
}

/// Standard output for JSON. Every write must consist of complete tokens.
pub(super) fn json_output() -> JsonOutput {
    let is_log = std::env::var_os("CI").is_some();
    let out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    JsonOutput {
        out,
        is_shown: *STDOUT_IS_TERMINAL || is_log,
        is_log,
    }
}

pub(super) struct JsonOutput {
    out: io::BufWriter<io::StdoutLock<'static>>,
    /// Whether it may be shown in a terminal or a log.
    is_shown: bool,
    /// Whether it may be the log of a CI system, which interprets some commands.
    is_log: bool,
}

impl JsonOutput {
    /// Ends the line.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

impl Write for JsonOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_shown {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let text = String::from_utf8_lossy(bytes);
        let shown = clean_json(&text);
        // `#` occurs only in strings of JSON, where the escape is the same character.
        let shown = if self.is_log {
            Cow::Owned(shown.replace("##", "#\\u0023"))
        } else {
            shown
        };
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Prints a patch on standard output: unchanged for a program, cleaned for a terminal or a CI log.
pub(super) fn print_patch(patch: &str) -> bool {
    // The line end is written again; a blank line before it belongs to the patch.
    let patch = patch.strip_suffix('\n').unwrap_or(patch);
    match *STDOUT_IS_TERMINAL || std::env::var_os("CI").is_some() {
        true => print_line(patch),
        false => write_line(io::stdout().lock(), patch.into()),
    }
}

fn for_people(text: &str, is_terminal: bool) -> String {
    let shown = with_addresses(text);
    let cleaned = clean_output(&shown).into_owned();
    // Otherwise it may be the log of a CI system.
    if is_terminal {
        cleaned
    } else {
        without_log_commands(&cleaned).into_owned()
    }
}

/// Writes the text and a line end in one call: standard output would write the complete lines of the text separately.
fn write_line(mut out: impl Write, mut text: String) -> bool {
    text.push('\n');
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .is_ok()
}

/// Whether to colour standard output.
pub(super) fn paint(when: ColorWhen) -> Paint {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Paint {
        on: match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => *STDOUT_IS_TERMINAL && !no_color && !dumb && has_escape_sequences(),
        },
    }
}

/// Whether standard output is a log or a file: what scrolls away on a terminal is kept there.
pub(super) fn is_output_redirected() -> bool {
    !*STDOUT_IS_TERMINAL
}

/// Whether questions can be asked: standard input and standard error are terminals.
pub(super) fn can_prompt() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-no question. Only "y" and "yes" count as yes.
pub(super) fn confirm(question: &str) -> io::Result<bool> {
    write!(io::stderr(), "{question} [y/N] ")?;
    io::stderr().flush()?;
    // Input that was typed before the question was shown is discarded.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct RecordedWrites(Vec<String>);

    impl Write for RecordedWrites {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn text_of_several_lines_is_one_write() {
        // As standard output, which writes complete lines.
        let mut out = io::LineWriter::new(RecordedWrites::default());
        assert!(
            write_line(&mut out, "a case\n  its reason".into())
                && write_line(&mut out, "another".into())
        );
        assert_eq!(out.get_ref().0, ["a case\n  its reason\n", "another\n"]);
    }
}
