//! Opening of files and texts in `$EDITOR`.

#![expect(
    clippy::disallowed_methods,
    reason = "the editor of the user owns the terminal until it ends"
)]

use evaltrail_engine::config::split_command;
use std::io;
use std::path::Path;
use std::process::Command;

/// Opens a file at a line in `$EDITOR` and waits until the editor exits.
pub(crate) fn open(path: &Path, line: usize) -> io::Result<()> {
    let named = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let words = split_command(&named.unwrap_or_else(|| usual.into()))
        .map_err(|error| io::Error::other(error.0))?;
    // On Windows `code` is `code.cmd`, which the system does not find by itself.
    let program = which::which(&words[0]).unwrap_or_else(|_| words[0].clone().into());
    let status = Command::new(program)
        .args(&words[1..])
        .args(arguments_to_open(&words[0], path, line))
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "{} ended with {status}",
            words[0]
        )))
    }
}

/// Opens a text in `$EDITOR`. Returns the edited text. The name of the temporary file begins with `name`, in which
/// characters other than letters and digits are replaced.
pub fn edit_text(text: &str, name: &str, ending: &str) -> io::Result<String> {
    let name: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .suffix(&format!(".{ending}"))
        .tempfile()?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    open(file.path(), 1)?;
    // Editors may replace the file by a new one, so it is opened again by its path.
    std::fs::read_to_string(file.path())
}

/// The arguments with which an editor opens a file at a line.
fn arguments_to_open(editor: &str, path: &Path, line: usize) -> Vec<String> {
    let name = Path::new(editor)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let file = path.display().to_string();
    match name.as_str() {
        "vi" | "vim" | "nvim" | "nano" | "emacs" | "emacsclient" | "micro" | "kak" => {
            vec![format!("+{line}"), file]
        }
        "hx" | "helix" | "subl" | "zed" => vec![format!("{file}:{line}")],
        "code" | "codium" | "cursor" => {
            vec!["--wait".into(), "--goto".into(), format!("{file}:{line}")]
        }
        _ => vec![file],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editors_open_at_the_line() {
        let path = Path::new("/f.json");
        assert_eq!(
            arguments_to_open("/usr/bin/nvim", path, 7),
            ["+7", "/f.json"]
        );
        assert_eq!(arguments_to_open("hx", path, 7), ["/f.json:7"]);
        assert_eq!(arguments_to_open("ed", path, 7), ["/f.json"]);
    }
}
