//! Data frames as JSON: lists of rows, columns of lists, columns of index objects.

use super::COLUMNS;
use super::lines::{ID_KEYS, id_from};
use crate::formats::json::{JsonPath, Step};
use serde_json::{Map, Value};

/// The rows of a frame, and their positions in the document.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub(in crate::formats) rows: Vec<Value>,
    /// The path step of each row; empty if the document is the only row.
    index: Vec<Step>,
    by_column: bool,
}

impl Frame {
    /// The frame in a document; `None` if the document is not a frame.
    pub(in crate::formats) fn of(value: &Value) -> Option<Frame> {
        match value {
            Value::Array(rows) => {
                let known = |row: &Value| row.as_object().is_some_and(has_columns);
                rows.iter().any(known).then(|| Frame {
                    rows: rows.clone(),
                    index: (0..rows.len()).map(Step::Index).collect(),
                    by_column: false,
                })
            }
            Value::Object(columns) if has_columns(columns) => {
                Some(by_column(columns).unwrap_or_else(|| Frame {
                    rows: vec![value.clone()],
                    index: Vec::new(),
                    by_column: false,
                }))
            }
            _ => None,
        }
    }

    /// The path in the document of a path in a row.
    pub(in crate::formats) fn path(&self, at: usize, in_row: &JsonPath) -> JsonPath {
        let Some(step) = self.index.get(at).cloned() else { return in_row.clone() };
        let mut steps = in_row.0.clone();
        let place = if self.by_column { 1.min(steps.len()) } else { 0 };
        steps.insert(place, step);
        JsonPath(steps)
    }

    /// Whether the document is one row.
    pub(in crate::formats) fn is_single(&self) -> bool {
        self.index.is_empty()
    }

    /// A row's id.
    pub(in crate::formats) fn id(&self, at: usize) -> String {
        row_id(&self.rows[at])
    }
}

/// A row's id, or one computed from its prompt if it has none.
pub(super) fn row_id(row: &Value) -> String {
    let given = ID_KEYS.iter().find_map(|key| match row.get(key)? {
        Value::String(text) if !super::row::is_empty_cell(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    given.unwrap_or_else(|| {
        let asked = [
            "prompt",
            "messages",
            "request",
            "agent_data",
            "source",
            "input",
            "inputs",
            "contents",
            "values",
        ]
        .into_iter();
        id_from(&asked.filter_map(|key| row.get(key)).next().unwrap_or(row).to_string())
    })
}

/// Whether an object has a key that is a known column.
pub(super) fn has_columns(map: &Map<String, Value>) -> bool {
    COLUMNS.iter().any(|column| map.contains_key(*column))
}

/// Columns whose cells are lists.
const LISTS: &[&str] =
    &["messages", "outputs", "reference_outputs", "responses", "input", "output", "contents", "events"];

/// Keys of cells that are objects. An index never has such keys.
const FIELDS: &[&str] =
    &["role", "parts", "messages", "contents", "choices", "candidates", "response", "text", "turns"];

/// Whether a list is a cell rather than a column of cells.
fn is_one_conversation(value: &Value) -> bool {
    value.get(0).is_some_and(Value::is_object)
}

fn by_column(columns: &Map<String, Value>) -> Option<Frame> {
    if LISTS.iter().any(|name| columns.get(*name).is_some_and(is_one_conversation)) {
        return None;
    }
    if columns.values().all(Value::is_array) {
        let count = columns.values().filter_map(|column| column.as_array().map(Vec::len)).max()?;
        let row = |at: usize| {
            let cell = |(name, column): (&String, &Value)| Some((name.clone(), column.get(at)?.clone()));
            Value::Object(columns.iter().filter_map(cell).collect())
        };
        let index = (0..count).map(Step::Index).collect();
        return Some(Frame { rows: (0..count).map(row).collect(), index, by_column: true });
    }
    if !columns.values().all(Value::is_object) {
        return None;
    }
    let index: Vec<&String> = columns.values().filter_map(Value::as_object).next()?.keys().collect();
    let is_index =
        |column: &Map<String, Value>| column.len() == index.len() && column.keys().eq(index.iter().copied());
    let fields = index.iter().any(|key| FIELDS.contains(&key.as_str()));
    if fields || !columns.values().filter_map(Value::as_object).all(is_index) {
        return None;
    }
    let row = |key: &&String| {
        let cell =
            |(name, column): (&String, &Value)| Some((name.clone(), column.get(key.as_str())?.clone()));
        Value::Object(columns.iter().filter_map(cell).collect())
    };
    let rows = index.iter().map(row).collect();
    Some(Frame { rows, index: index.into_iter().cloned().map(Step::Key).collect(), by_column: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn three_ways_to_write_the_same_rows() {
        let rows = json!([{"prompt": "a", "x": 1}, {"prompt": "b", "x": 2}]);
        let columns = json!({"prompt": ["a", "b"], "x": [1, 2]});
        let indexed = json!({"prompt": {"0": "a", "1": "b"}, "x": {"0": 1, "1": 2}});
        for document in [&rows, &columns, &indexed] {
            let frame = Frame::of(document).unwrap();
            assert_eq!(Value::Array(frame.rows.clone()), rows, "{document}");
            assert_ne!(frame.id(0), frame.id(1));
        }
        let path = JsonPath::default().key("x");
        assert_eq!(Frame::of(&columns).unwrap().path(1, &path).to_string(), "$.x[1]");
        assert_eq!(Frame::of(&indexed).unwrap().path(1, &path).to_string(), "$.x.1");
        assert_eq!(Frame::of(&rows).unwrap().path(1, &path).to_string(), "$[1].x");
        assert!(Frame::of(&json!({"a": 1})).is_none() && Frame::of(&json!([1])).is_none());
    }
}
