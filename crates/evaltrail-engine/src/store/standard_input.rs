//! Cases that were read from standard input: stored in the workspace, so that the results of their run can be explored.

use super::evaltrail_folder::EvaltrailFolder;
use super::fingerprint;
use std::io;
use std::path::{Path, PathBuf};

/// The folder in `.evaltrail`.
const INPUT: &str = "input";

/// Stores a text as a file of cases and returns its path. The name depends on the text only, and its ending on the form of
/// the text.
pub fn store_input(workspace: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let folder = EvaltrailFolder::make(workspace)?.make_folder(INPUT)?;
    let id = fingerprint(&[bytes]);
    let name = format!("stdin-{}.{}", &id[..12.min(id.len())], ending(bytes));
    folder.replace(&name, bytes)?;
    Ok(folder.path().join(name))
}

fn ending(bytes: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    let is_object = |line: &str| {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_ok()
    };
    match text.chars().next() {
        Some('{') if text.lines().next().is_some_and(is_object) => "jsonl",
        Some('{' | '[') => "json",
        _ => "csv",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_is_that_of_the_form() {
        let folder = tempfile::tempdir().unwrap();
        for (text, expected) in [
            ("{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n", "jsonl"),
            ("{\n  \"eval_cases\": []\n}", "json"),
            ("[{\"prompt\": \"a\"}]", "json"),
            ("prompt,response\na,b\n", "csv"),
        ] {
            let path = store_input(folder.path(), text.as_bytes()).unwrap();
            assert_eq!(path.extension().unwrap(), expected, "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(store_input(folder.path(), text.as_bytes()).unwrap(), path);
        }
    }
}
