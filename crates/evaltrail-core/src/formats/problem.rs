//! Why a file cannot be read: where, what was expected, what was found.

use super::json::{self, JsonPath, JsonPositions, SyntaxError};
use super::read::ReadError;

/// Why a file, or a case of it, cannot be read: where, what was expected, what was found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "line {line}, column {column}: {}expected {expected}, found {found}",
    path_text(path)
)]
pub struct FileProblem {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The JSON path; empty for a text that is not JSON.
    pub path: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

fn path_text(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    }
}

impl FileProblem {
    pub(in crate::formats) fn syntax(text: &str, error: SyntaxError) -> Self {
        let (line, column) = json::position(text, error.offset);
        FileProblem {
            line,
            column,
            path: String::new(),
            expected: error.expected,
            found: error.found,
        }
    }

    pub(in crate::formats) fn reading(text: &str, top: &JsonPath, error: ReadError) -> Self {
        let path = error.path.below(top);
        FileProblem::reading_at(text, path, error)
    }

    /// Like [`FileProblem::reading_at`], with cached positions of the text.
    pub(in crate::formats) fn reading_in(
        positions: &JsonPositions,
        text: &str,
        path: JsonPath,
        error: ReadError,
    ) -> Self {
        let (line, column) = positions.line_and_column(text, &path);
        FileProblem {
            line,
            column,
            path: path.to_string(),
            expected: error.expected,
            found: error.found,
        }
    }

    /// Like [`FileProblem::syntax`], with cached positions of the text.
    pub(in crate::formats) fn syntax_in(
        positions: &JsonPositions,
        text: &str,
        error: SyntaxError,
    ) -> Self {
        let (line, column) = positions.position(text, error.offset);
        FileProblem {
            line,
            column,
            path: String::new(),
            expected: error.expected,
            found: error.found,
        }
    }

    /// Like [`FileProblem::reading`], with the whole path of the value.
    pub(in crate::formats) fn reading_at(text: &str, path: JsonPath, error: ReadError) -> Self {
        let (line, column) = json::position(text, json::locate(text, &path));
        FileProblem {
            line,
            column,
            path: path.to_string(),
            expected: error.expected,
            found: error.found,
        }
    }

    pub(in crate::formats) fn here(text: &str, expected: &str, found: &str) -> Self {
        let offset = json::locate(text, &JsonPath::default());
        let (line, column) = json::position(text, offset);
        FileProblem {
            line,
            column,
            path: "$".into(),
            expected: expected.into(),
            found: found.into(),
        }
    }
}
