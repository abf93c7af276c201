//! What the name of a file and the user tell about how it is read.

use super::vertex::ColumnMap;

/// How a file is read, as far as its text does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileHints {
    /// Every line is a row.
    pub is_lines: bool,
    /// The columns that the user maps.
    pub columns: ColumnMap,
}

impl FileHints {
    /// A file with this name.
    pub fn named(name: &str, columns: ColumnMap) -> FileHints {
        FileHints {
            is_lines: name.ends_with(".jsonl") || name.ends_with(".ndjson"),
            columns,
        }
    }
}
