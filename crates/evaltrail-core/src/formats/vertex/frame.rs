//! Data frames as JSON, in every orientation of pandas: lists of rows, columns of lists, columns of index objects, rows by
//! index, `split` and `table`.

use super::calls::is_nothing;
use super::columns::ColumnMap;
use super::layout::is_known;
use super::lines::row_id;
use crate::formats::json::{JsonPath, Step};
use crate::formats::read::same_name;
use serde_json::{Map, Value};

/// The rows of a frame, and their positions in the document.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFrame {
    pub(in crate::formats) rows: Vec<Value>,
    ids: Vec<String>,
    place: RowsLocation,
}

/// Where the rows are in the document.
#[derive(Clone, Debug, PartialEq)]
enum RowsLocation {
    /// The document is the only row.
    Whole,
    /// Each row is at this step below the key, if there is one.
    Rows(Option<&'static str>, Vec<Step>),
    /// Each column contains the cells of all rows at these steps.
    Columns(Vec<Step>),
    /// Each row is a list of cells below the key; the names of the columns in order.
    Lists(Option<&'static str>, Vec<String>),
}

impl DataFrame {
    /// The frame in a document; `None` if the document is not a frame, or if no column is known.
    pub(in crate::formats) fn find(value: &Value, columns: &ColumnMap) -> Option<DataFrame> {
        let (rows, place) = rows_of(value, columns)?;
        let known = |row: &Value| row.as_object().is_some_and(|row| is_known(row, columns));
        rows.iter().any(known).then(|| {
            let ids = rows.iter().map(|row| row_id(row, columns)).collect();
            DataFrame { rows, ids, place }
        })
    }

    /// The path in the document of a path in a row.
    pub(in crate::formats) fn path(&self, at: usize, in_row: &JsonPath) -> JsonPath {
        let mut steps = in_row.0.clone();
        match &self.place {
            RowsLocation::Whole => {}
            RowsLocation::Rows(key, index) => {
                steps.splice(
                    0..0,
                    key.map(|key| Step::Key(key.into()))
                        .into_iter()
                        .chain(index.get(at).cloned()),
                );
            }
            RowsLocation::Columns(index) => steps.extend_at(1, index.get(at).cloned()),
            RowsLocation::Lists(key, names) => {
                let column = steps.first().and_then(|first| match first {
                    Step::Key(name) => names.iter().position(|other| other == name),
                    Step::Index(_) => None,
                });
                if let (Some(column), Some(first)) = (column, steps.first_mut()) {
                    *first = Step::Index(column);
                }
                let row = key
                    .map(|key| Step::Key(key.into()))
                    .into_iter()
                    .chain([Step::Index(at)]);
                steps.splice(0..0, row);
            }
        }
        JsonPath(steps)
    }

    /// Whether the document is one row.
    pub(in crate::formats) fn is_single(&self) -> bool {
        self.place == RowsLocation::Whole
    }

    /// A row's id.
    pub(in crate::formats) fn id(&self, at: usize) -> &str {
        &self.ids[at]
    }
}

trait ExtendAt {
    /// Inserts the step at this position, or at the end of a shorter path.
    fn extend_at(&mut self, at: usize, step: Option<Step>);
}

impl ExtendAt for Vec<Step> {
    fn extend_at(&mut self, at: usize, step: Option<Step>) {
        let at = at.min(self.len());
        self.splice(at..at, step);
    }
}

fn positions(count: usize) -> Vec<Step> {
    (0..count).map(Step::Index).collect()
}

/// The rows of a document as far as its structure tells, whatever the columns are called.
fn rows_of(value: &Value, columns: &ColumnMap) -> Option<(Vec<Value>, RowsLocation)> {
    match value {
        Value::Array(rows) if !rows.is_empty() && rows.iter().all(Value::is_array) => {
            let width = rows
                .iter()
                .filter_map(|row| row.as_array().map(Vec::len))
                .max()?;
            let names: Vec<String> = (0..width).map(|at| at.to_string()).collect();
            Some((of_lists(rows, &names), RowsLocation::Lists(None, names)))
        }
        Value::Array(rows) => Some((
            rows.clone(),
            RowsLocation::Rows(None, positions(rows.len())),
        )),
        Value::Object(document) => split(document)
            .or_else(|| table(document))
            .or_else(|| by_column(document).filter(|_| is_known(document, columns)))
            .or_else(|| by_index(document, columns))
            .or_else(|| Some((vec![value.clone()], RowsLocation::Whole))),
        _ => None,
    }
}

/// The names of the columns of a document that has rows but no known column. `None` for any other document. An object with
/// values of its own, such as a configuration, has no rows.
pub(in crate::formats) fn unknown_columns(value: &Value) -> Option<Vec<String>> {
    let (rows, place) = rows_of(value, &ColumnMap::default())?;
    let rows = match (place, value) {
        (RowsLocation::Whole, Value::Object(document)) => {
            let rows = by_column(document).or_else(|| every_row(document))?.0;
            Some(rows).filter(|rows| rows.len() > 1 || document.values().all(Value::is_array))?
        }
        (RowsLocation::Whole, _) => return None,
        _ => rows,
    };
    let first = rows.first().and_then(Value::as_object)?;
    let all_rows = rows.iter().all(Value::is_object);
    (all_rows && !first.is_empty()).then(|| first.keys().cloned().collect())
}

fn of_lists(rows: &[Value], names: &[String]) -> Vec<Value> {
    let row = |row: &Value| {
        let cells = row.as_array().into_iter().flatten().cloned();
        Value::Object(names.iter().cloned().zip(cells).collect())
    };
    rows.iter().map(row).collect()
}

/// pandas' `split`: the names of the columns, and a list of cells for each row.
fn split(document: &Map<String, Value>) -> Option<(Vec<Value>, RowsLocation)> {
    let (names, data) = (
        document.get("columns")?.as_array()?,
        document.get("data")?.as_array()?,
    );
    let names: Vec<String> = names
        .iter()
        .map(|name| name.as_str().map(str::to_string))
        .collect::<Option<_>>()?;
    data.iter().all(Value::is_array).then(|| {
        (
            of_lists(data, &names),
            RowsLocation::Lists(Some("data"), names),
        )
    })
}

/// pandas' `table`: a schema, and a list of rows.
fn table(document: &Map<String, Value>) -> Option<(Vec<Value>, RowsLocation)> {
    document.get("schema")?.get("fields")?.as_array()?;
    let data = document.get("data")?.as_array()?;
    Some((
        data.clone(),
        RowsLocation::Rows(Some("data"), positions(data.len())),
    ))
}

/// pandas' `index`: rows by the values of the index. Each row is a known one.
fn by_index(
    document: &Map<String, Value>,
    columns: &ColumnMap,
) -> Option<(Vec<Value>, RowsLocation)> {
    let is_row = |row: &Value| row.as_object().is_some_and(|row| is_known(row, columns));
    let is_frame = !is_known(document, columns) && document.values().all(is_row);
    is_frame.then(|| every_row(document)).flatten()
}

/// The values of an object as rows, if all have the same keys.
fn every_row(document: &Map<String, Value>) -> Option<(Vec<Value>, RowsLocation)> {
    let keys = |row: &Value| {
        row.as_object()
            .map(|row| row.keys().cloned().collect::<Vec<_>>())
    };
    let first = keys(document.values().next()?)?;
    let are_alike = document
        .values()
        .all(|row| keys(row).as_ref() == Some(&first));
    are_alike.then(|| {
        let steps = document.keys().cloned().map(Step::Key).collect();
        (
            document.values().cloned().collect(),
            RowsLocation::Rows(None, steps),
        )
    })
}

/// Columns whose cells are lists.
const LISTS: &[&str] = &[
    "messages",
    "outputs",
    "reference_outputs",
    "responses",
    "input",
    "output",
    "input_messages",
    "user_input",
    "turns",
    "contents",
    "events",
];

/// Keys of cells that are objects. An index never has such keys.
const FIELDS: &[&str] = &[
    "role",
    "parts",
    "messages",
    "contents",
    "choices",
    "candidates",
    "response",
    "text",
    "turns",
];

/// Whether a list is a cell rather than a column of cells.
fn is_one_conversation(value: &Value) -> bool {
    value.get(0).is_some_and(Value::is_object)
}

/// Whether a column is a trajectory of one row, as a list of names: a column of trajectories has lists, or texts that contain
/// them.
fn is_list_of_names(name: &str, value: &Value) -> bool {
    const TRAJECTORIES: &[&str] = &[
        "reference_trajectory",
        "predicted_trajectory",
        "expected_steps",
        "actual_steps",
        "expected_tools",
        "tools_called",
    ];
    let is_name = |cell: &Value| {
        cell.as_str()
            .is_some_and(|text| !is_nothing(text) && !text.trim_start().starts_with(['[', '{']))
    };
    let is_trajectory = TRAJECTORIES.iter().any(|known| same_name(name, known));
    is_trajectory
        && value
            .as_array()
            .is_some_and(|cells| !cells.is_empty() && cells.iter().all(is_name))
}

fn by_column(columns: &Map<String, Value>) -> Option<(Vec<Value>, RowsLocation)> {
    if columns.is_empty()
        || LISTS
            .iter()
            .any(|name| columns.get(*name).is_some_and(is_one_conversation))
    {
        return None;
    }
    if columns
        .iter()
        .all(|(name, value)| is_list_of_names(name, value))
    {
        return None;
    }
    if columns.values().all(Value::is_array) {
        let count = columns
            .values()
            .filter_map(|column| column.as_array().map(Vec::len))
            .max()?;
        let row = |at: usize| {
            let cell =
                |(name, column): (&String, &Value)| Some((name.clone(), column.get(at)?.clone()));
            Value::Object(columns.iter().filter_map(cell).collect())
        };
        return Some((
            (0..count).map(row).collect(),
            RowsLocation::Columns(positions(count)),
        ));
    }
    if !columns.values().all(Value::is_object) {
        return None;
    }
    let index: Vec<&String> = columns
        .values()
        .filter_map(Value::as_object)
        .next()?
        .keys()
        .collect();
    let is_index = |column: &Map<String, Value>| {
        column.len() == index.len() && column.keys().eq(index.iter().copied())
    };
    let fields = index.iter().any(|key| FIELDS.contains(&key.as_str()));
    if fields || !columns.values().filter_map(Value::as_object).all(is_index) {
        return None;
    }
    let row = |key: &&String| {
        let cell = |(name, column): (&String, &Value)| {
            Some((name.clone(), column.get(key.as_str())?.clone()))
        };
        Value::Object(columns.iter().filter_map(cell).collect())
    };
    let rows = index.iter().map(row).collect();
    Some((
        rows,
        RowsLocation::Columns(index.into_iter().cloned().map(Step::Key).collect()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn frame_of(document: &Value) -> Option<DataFrame> {
        DataFrame::find(document, &ColumnMap::default())
    }

    #[test]
    fn orientations_yield_equal_rows_and_own_paths() {
        let rows = json!([{"prompt": "a", "x": 1}, {"prompt": "b", "x": 2}]);
        let columns = json!({"prompt": ["a", "b"], "x": [1, 2]});
        let indexed = json!({"prompt": {"0": "a", "1": "b"}, "x": {"0": 1, "1": 2}});
        let index = json!({"0": {"prompt": "a", "x": 1}, "1": {"prompt": "b", "x": 2}});
        let split =
            json!({"columns": ["prompt", "x"], "index": [0, 1], "data": [["a", 1], ["b", 2]]});
        let table = json!({"schema": {"fields": [{"name": "prompt"}]}, "data": rows});
        let path = JsonPath::default().key("x");
        for (document, second) in [
            (&rows, "$[1].x"),
            (&columns, "$.x[1]"),
            (&indexed, "$.x.1"),
            (&index, "$.1.x"),
            (&split, "$.data[1][1]"),
            (&table, "$.data[1].x"),
        ] {
            let frame = frame_of(document).unwrap();
            assert_eq!(Value::Array(frame.rows.clone()), rows, "{document}");
            assert_ne!(frame.id(0), frame.id(1));
            assert_eq!(frame.path(1, &path).to_string(), second, "{document}");
        }
        assert!(frame_of(&json!({"a": 1})).is_none() && frame_of(&json!([1])).is_none());
    }

    #[test]
    fn list_of_names_is_one_row() {
        let one = json!({"expected_steps": ["search", "book"], "actual_steps": ["search"]});
        assert_eq!(frame_of(&one).unwrap().rows, std::slice::from_ref(&one));
        let frame = frame_of(&json!({"expected_steps": [["search"], ["book"]]})).unwrap();
        assert_eq!(frame.rows.len(), 2);
        let texts = frame_of(&json!({"reference_trajectory": ["['search']", "[]"]})).unwrap();
        assert_eq!(texts.rows.len(), 2);
    }

    #[test]
    fn rows_without_names_need_a_mapping() {
        let values = json!([["how?", "so"], ["why?", "thus"]]);
        assert!(frame_of(&values).is_none());
        assert_eq!(unknown_columns(&values), Some(vec!["0".into(), "1".into()]));
        let map = ColumnMap::parse("prompt=0,reference=1").unwrap();
        let frame = DataFrame::find(&values, &map).unwrap();
        assert_eq!(frame.rows[1], json!({"0": "why?", "1": "thus"}));
        assert_eq!(
            frame.path(1, &JsonPath::default().key("1")).to_string(),
            "$[1][1]"
        );
    }

    #[test]
    fn columns_are_listed_for_rows_not_for_configs() {
        for document in [
            json!([{"question": "a", "answer": "b"}]),
            json!({"question": ["a"], "answer": ["b"]}),
            json!({"columns": ["question", "answer"], "data": [["a", "b"]]}),
        ] {
            let found = unknown_columns(&document).unwrap();
            assert_eq!(found, ["question", "answer"], "{document}");
        }
        for document in [
            json!({"name": "x", "version": "1", "files": ["a"]}),
            json!({"compilerOptions": {"strict": true}, "include": ["src"]}),
            json!([1, 2]),
            json!({}),
        ] {
            assert_eq!(unknown_columns(&document), None, "{document}");
        }
    }
}
