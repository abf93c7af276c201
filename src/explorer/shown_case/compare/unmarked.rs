//! Rows without marks of differences, for what is not compared.

use evaltrail_core::diff::{DiffRow, Line, Span};

/// Rows of a case that has not run: only the expected side, without marks of differences.
pub(super) fn one_sided(rows: Vec<DiffRow>) -> Vec<DiffRow> {
    without_marks(rows)
        .into_iter()
        .map(|row| DiffRow { right: None, ..row })
        .collect()
}

/// Removes the marks of differences from rows.
pub(super) fn without_marks(rows: Vec<DiffRow>) -> Vec<DiffRow> {
    let unmarked = |line: Line| {
        line.into_iter()
            .map(|span| Span {
                changed: false,
                ..span
            })
            .collect()
    };
    let row = |row: DiffRow| DiffRow {
        mark: "",
        left: row.left.map(unmarked),
        right: row.right.map(unmarked),
        ..row
    };
    rows.into_iter().map(row).collect()
}
