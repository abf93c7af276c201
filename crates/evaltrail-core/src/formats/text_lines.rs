//! Lines of a text as rows of a data set, and why a text is none.

use crate::formats::index::RootKind;
use crate::formats::json::SyntaxError;
use crate::formats::vertex::{
    DataFrame, FileRows, LineIndexer, NEEDED, found_columns, header, is_known, unknown_columns,
};
use crate::formats::{ColumnMap, FileHints, FileProblem, index, json, vertex};
use serde_json::{Map, Value};

/// How many rows are looked at to recognise a file.
pub(super) const LOOKED_AT: usize = 20;

/// The lines with content.
pub(super) fn filled_lines(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.trim_start_matches('\u{FEFF}')
        .lines()
        .filter(|line| !line.trim().is_empty())
}

/// A line that is a whole object, with its members.
pub(super) fn object_of(line: &str) -> Option<Map<String, Value>> {
    if !line.trim_start().starts_with('{') {
        return None;
    }
    match json::parse(line).ok()?.value {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

/// Whether an object contains a whole set, and is not a row.
pub(super) fn is_set(members: &Map<String, Value>) -> bool {
    ["eval_cases", "evalCases", "eval_case_results"]
        .iter()
        .any(|key| members.contains_key(*key))
}

/// The rows of a file whose name says that each line is one. `None` if the lines are not objects, or contain whole sets.
pub(super) fn rows_of_lines(
    text: &str,
    read_as: &FileHints,
) -> Result<Option<FileRows>, FileProblem> {
    let objects: Vec<Map<String, Value>> = filled_lines(text)
        .take(LOOKED_AT)
        .filter_map(object_of)
        .collect();
    if objects.is_empty() || objects.iter().any(is_set) {
        return Ok(None);
    }
    if objects.iter().any(|row| is_known(row, &read_as.columns)) {
        return Ok(Some(indexed(text, &read_as.columns)));
    }
    // A run of a tracing library or a recording may end with `.jsonl` as well, so all lines are rows or none is.
    Err(unknown_rows(text))
}

pub(super) fn indexed(text: &str, columns: &ColumnMap) -> FileRows {
    let mut indexer = LineIndexer::new(columns.clone());
    indexer.push(text.as_bytes());
    indexer.finish()
}

/// The rows of a text of JSON Lines; `None` for any other document. The first row may be malformed, so that the
/// other rows can still be read.
pub(super) fn as_lines(text: &str, columns: &ColumnMap) -> Option<FileRows> {
    let mut lines = filled_lines(text);
    let is_row =
        |line: &str| object_of(line).is_some_and(|row| is_known(&row, columns) && !is_set(&row));
    let first = lines.next()?;
    // An object of columns on one line is a frame, not a row, unless the name says so.
    let is_only = lines.clone().next().is_none();
    let frame = || DataFrame::find(&json::parse(first).ok()?.value, columns);
    if is_only && frame().is_some_and(|frame| !frame.is_single()) {
        return None;
    }
    let later = || {
        first.trim_start().starts_with('{')
            && lines.take(LOOKED_AT).any(is_row)
            && json::parse(text).is_err()
    };
    (is_row(first) || later()).then(|| indexed(text, columns))
}

/// Whether each of the first lines is an object, and there are several.
pub(super) fn is_json_lines(text: &str) -> bool {
    let lines = || filled_lines(text).take(LOOKED_AT);
    lines().count() > 1 && lines().all(|line| object_of(line).is_some())
}

/// The problem of a file of JSON Lines whose columns are unknown.
pub(super) fn unknown_rows(text: &str) -> FileProblem {
    let mut names: Vec<String> = Vec::new();
    for row in filled_lines(text).take(LOOKED_AT).filter_map(object_of) {
        for name in row.into_iter().map(|(name, _)| name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    unknown(names)
}

pub(super) fn unknown(names: Vec<String>) -> FileProblem {
    FileProblem {
        line: 1,
        column: 1,
        path: String::new(),
        expected: NEEDED.into(),
        found: found_columns(names.iter().map(String::as_str)),
    }
}

/// The parser finds the exact position of a syntax error; the indexer skips values and may report a later one.
pub(super) fn best_syntax_error(text: &str, error: SyntaxError) -> FileProblem {
    FileProblem::syntax(text, json::parse(text).err().unwrap_or(error))
}

pub(super) fn why_not(text: &str) -> FileProblem {
    let expected =
        "an eval set, a data set (JSON Lines, CSV or JSON), or a list of turns or messages";
    if is_json_lines(text) {
        return unknown_rows(text);
    }
    match json::parse(text) {
        Err(_) if matches!(index::root_kind(text), RootKind::Other | RootKind::Text) => {
            match table_header(text) {
                Some(names) => unknown(names),
                None => {
                    let start: String = text
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .chars()
                        .take(60)
                        .collect();
                    FileProblem::here(text, expected, &format!("a text that begins {start:?}"))
                }
            }
        }
        Err(error) => FileProblem::syntax(text, error),
        Ok(parsed) => {
            if super::adk::is_result(&parsed.value) {
                let found = format!(
                    "{}; results are read from .adk/eval_history in the folder of their agent",
                    super::adk::ADK_RESULT
                );
                return FileProblem::here(text, expected, &found);
            }
            let cases = parsed
                .value
                .get("eval_cases")
                .or_else(|| parsed.value.get("evalCases"));
            match (cases, unknown_columns(&parsed.value)) {
                (Some(cases), _) => {
                    let found = format!("\"eval_cases\" is {}", super::read::describe(cases));
                    FileProblem::here(text, expected, &found)
                }
                (None, Some(names)) => unknown(names),
                (None, None) => {
                    FileProblem::here(text, expected, &super::read::describe(&parsed.value))
                }
            }
        }
    }
}

/// The names of the columns of a table: several, with a record of the same width below them.
pub(super) fn table_header(text: &str) -> Option<Vec<String>> {
    let (separator, names) = header(text)?;
    let body = text.trim_start_matches('\u{FEFF}').split_once('\n')?.1;
    let width = vertex::width_of_record(body, separator)?;
    let are_names = names
        .iter()
        .all(|name| !name.is_empty() && name.parse::<f64>().is_err());
    (names.len() > 1 && width == names.len() && are_names).then_some(names)
}
