//! Errors as text.

use super::output;

/// What systems say about files, and the same in the words of other messages.
const PLAIN_WORDS: [(&str, &str); 4] = [
    (
        "No such file or directory (os error 2)",
        "there is no such file or folder",
    ),
    ("Permission denied (os error 13)", "permission denied"),
    ("Is a directory (os error 21)", "it is a folder"),
    (
        "Not a directory (os error 20)",
        "a part of the path is no folder",
    ),
];

fn in_plain_words(message: String) -> String {
    PLAIN_WORDS
        .iter()
        .fold(message, |message, (system, plain)| {
            message.replace(system, plain)
        })
}

/// The messages of an error and its causes, outermost first, without messages that are contained in another.
pub fn error_chain(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(|cause| in_plain_words(cause.to_string())) {
        if said.iter().any(|known| known.contains(&cause)) {
            continue;
        }
        said.retain(|known| cause != *known && !cause.starts_with(&format!("{known}: ")));
        said.push(cause);
    }
    said.join(": ")
}

/// Prints an error on standard error. If that is not possible, the exit code is the only indication.
pub fn print_error(error: &anyhow::Error) {
    output::print_note(&format!("error: {}", error_chain(error)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_named_once() {
        let missing = anyhow::anyhow!("No such file (os error 2)");
        let error = missing
            .context("nowhere/x: No such file (os error 2)")
            .context("nowhere/x");
        assert_eq!(error_chain(&error), "nowhere/x: No such file (os error 2)");
        let other = anyhow::anyhow!("line 1: expected a list").context("x.json");
        assert_eq!(error_chain(&other), "x.json: line 1: expected a list");
        let system = anyhow::anyhow!("No such file or directory (os error 2)").context("x.json");
        assert_eq!(
            error_chain(&system),
            "x.json: there is no such file or folder"
        );
    }
}
