//! Columns that the user maps: `prompt=question` reads the column `question` as the prompt.

use crate::formats::read::lookup;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The columns to which others can be mapped.
pub const MAPPED_TO: &[&str] = &[
    "prompt",
    "reference",
    "response",
    "reference_trajectory",
    "predicted_trajectory",
    "messages",
    "outputs",
    "reference_outputs",
    "history",
    "id",
    "latency_in_seconds",
    "failure",
];

/// Pairs of a column that evaltrail knows and the column of the file that it is read from. The latter is the name of a
/// column, or a path into its objects: `inputs.question`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnMap(Arc<[(String, String)]>);

impl ColumnMap {
    /// The map of these pairs. The error is a message.
    pub fn from_pairs(
        pairs: impl IntoIterator<Item = (String, String)>,
    ) -> Result<ColumnMap, String> {
        let pairs: Vec<(String, String)> = pairs.into_iter().collect();
        for (at, (known, from)) in pairs.iter().enumerate() {
            if !MAPPED_TO.contains(&known.as_str()) {
                return Err(format!(
                    "{known}: columns can be mapped to {}",
                    MAPPED_TO.join(", ")
                ));
            }
            if from.is_empty() {
                return Err(format!("{known}: the name of the column is empty"));
            }
            if pairs[..at].iter().any(|(other, _)| other == known) {
                return Err(format!("{known}: it is mapped twice"));
            }
        }
        Ok(ColumnMap(pairs.into()))
    }

    /// Parses `prompt=question,reference=answer`. The error is a message.
    pub fn parse(text: &str) -> Result<ColumnMap, String> {
        let pair = |part: &str| {
            let (known, from) = part
                .split_once('=')
                .ok_or_else(|| format!("{part}: write prompt=NAME,reference=NAME"))?;
            Ok((known.trim().to_string(), from.trim().to_string()))
        };
        let parts = text.split(',').filter(|part| !part.trim().is_empty());
        ColumnMap::from_pairs(parts.map(pair).collect::<Result<Vec<_>, String>>()?)
    }

    /// Whether no column is mapped.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs as `prompt=question,reference=answer`.
    pub fn text(&self) -> String {
        self.0
            .iter()
            .map(|(known, from)| format!("{known}={from}"))
            .collect::<Vec<_>>()
            .join(",")
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(known, from)| (known.as_str(), from.as_str()))
    }

    /// The column from which this one is read; for a path, the column at its beginning.
    pub(super) fn source_of(&self, known: &str) -> Option<&str> {
        let (_, from) = self.pairs().find(|(name, _)| *name == known)?;
        Some(from.split('.').next().unwrap_or(from))
    }

    /// Whether a file with these columns has one that is read by a mapping.
    pub(in crate::formats) fn is_read_from(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.reads(name))
    }

    /// Whether one of the columns that are read by a mapping has this name, or is a path that begins with it.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.pairs()
            .any(|(_, from)| from == name || from.split('.').next() == Some(name))
    }
}

/// The value at a name or a path in a row, and the column that contains it.
pub(super) fn value_at<'r>(
    row: &'r Map<String, Value>,
    from: &str,
) -> Option<(&'r String, &'r Value)> {
    if let Some(found) = lookup(row, from) {
        return Some(found);
    }
    let mut steps = from.split('.');
    let (column, mut value) = lookup(row, steps.next()?)?;
    for step in steps {
        value = match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            value => lookup(value.as_object()?, step)?.1,
        };
    }
    Some((column, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_map_is_parsed_and_printed() {
        let map = ColumnMap::parse("prompt=question, reference = ground truth").unwrap();
        assert_eq!(map.text(), "prompt=question,reference=ground truth");
        assert!(ColumnMap::parse("").unwrap().is_empty());
        let wrong = |text: &str| ColumnMap::parse(text).unwrap_err();
        assert!(wrong("question").contains("write prompt=NAME"));
        assert!(
            wrong("prompts=question")
                .starts_with("prompts: columns can be mapped to prompt, reference")
        );
        assert_eq!(wrong("prompt=a,prompt=b"), "prompt: it is mapped twice");
        assert!(wrong("prompt=").contains("empty"));
    }

    #[test]
    fn a_name_with_a_dot_is_found_before_a_path() {
        let row = json!({"a.b": 1, "a": {"b": 2, "c": [3]}});
        let row = row.as_object().unwrap();
        let at = |from: &str| {
            value_at(row, from).map(|(column, value)| (column.as_str(), value.clone()))
        };
        assert_eq!(at("a.b"), Some(("a.b", json!(1))));
        assert_eq!(at("a.c.0"), Some(("a", json!(3))));
        assert_eq!(at("a.x"), None);
    }
}
