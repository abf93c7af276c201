//! The last output of a program, for an error message.

/// The maximum length of a line, in characters.
const MAX_LINE: usize = 300;

/// The line that says why the program failed, if one does, then the last lines, at most `most`. Empty without output.
pub(super) fn last_output(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    let reason = error_line(text);
    let last = &lines[lines.len().saturating_sub(most)..];
    let repeats = |line: &&&str| Some(**line) != reason || last.len() > 1;
    let first = reason.map(str::trim);
    let rest = last.iter().filter(repeats).map(|line| &**line);
    // A single line is not repeated below itself.
    first
        .into_iter()
        .chain(rest)
        .map(shortened)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The line with the error: the last line of the last traceback of Python, else the last line that begins like the error of
/// another language. `None` if there is none.
pub(super) fn error_line(text: &str) -> Option<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let traceback = lines
        .iter()
        .rposition(|line| line.contains("Traceback (most recent call last)"));
    let of_traceback = traceback.and_then(|at| {
        let is_end = |line: &&&str| {
            let line = without_border(line);
            !line.is_empty() && !line.starts_with(' ') && !line.starts_with(['+', '|', '^', '~'])
        };
        lines[at + 1..]
            .iter()
            .find(is_end)
            .map(|line| without_border(line))
    });
    of_traceback.or_else(|| {
        lines
            .iter()
            .rev()
            .map(|line| line.trim())
            .find(|line| begins_like_error(line))
    })
}

/// A line without what the tracebacks of groups of exceptions have before it.
fn without_border(line: &str) -> &str {
    match line.trim_start().strip_prefix('|') {
        Some(inner) => inner.strip_prefix(' ').unwrap_or(inner),
        None => line,
    }
    .trim_end()
}

/// Whether a line begins with the name of an error and a colon (`RuntimeError: …`, `TypeError [CODE]: …`), or with `panic:`,
/// `error:` or the panic of a thread.
fn begins_like_error(line: &str) -> bool {
    let word = line
        .split(|c: char| c.is_whitespace() || c == ':' || c == '[')
        .next()
        .unwrap_or_default();
    let name = word.rsplit('.').next().unwrap_or_default();
    let is_name = name.ends_with("Error") || name.ends_with("Exception") || name == "Uncaught";
    let has_colon =
        line[word.len()..].contains(": ") || line.ends_with("Error") || line.ends_with("Exception");
    (is_name && has_colon)
        || ["panic: ", "error: ", "fatal error: "]
            .iter()
            .any(|start| line.starts_with(start))
        || (line.starts_with("thread '") && line.contains("panicked at"))
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTHON: &str = "INFO:     Started server\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n    \
                          raise KeyError('x')\nKeyError: 'x'\n\nDuring handling of the above exception, another exception \
                          occurred:\n\nTraceback (most recent call last):\n  File \"b.py\", line 2\nshop.errors.Sold: no \
                          more\nbye\n";

    #[test]
    fn last_traceback_error_is_shown_first() {
        assert_eq!(error_line(PYTHON), Some("shop.errors.Sold: no more"));
        let shown = last_output(PYTHON, 2);
        assert_eq!(
            shown,
            "shop.errors.Sold: no more\nshop.errors.Sold: no more\nbye"
        );
        let group = "  + Exception Group Traceback (most recent call last):\n  |   File \"x\"\n  | ExceptionGroup: 1\n  \
                     +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \
                     \"y\"\n    | RuntimeError: out of luck\n    +------------------------------------\n";
        assert_eq!(error_line(group), Some("RuntimeError: out of luck"));
    }

    #[test]
    fn errors_of_other_languages_are_found() {
        for (text, line) in [
            (
                "node:internal\nTypeError [E]: x is not y\n    at f (a.js:1)\n",
                Some("TypeError [E]: x is not y"),
            ),
            (
                "goroutine\npanic: nil map\n\ngoroutine 1 [running]:\n",
                Some("panic: nil map"),
            ),
            ("INFO: listening\nWARNING: slow\n", None),
            ("ErrorHandler: registered\n", None),
        ] {
            assert_eq!(error_line(text), line, "{text}");
        }
        assert_eq!(last_output("a\nb\n", 1), "b");
        assert_eq!(last_output("ValueError: x\n", 8), "ValueError: x");
        assert_eq!(last_output("\n \n", 8), "");
    }
}
