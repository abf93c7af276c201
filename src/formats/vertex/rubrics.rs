//! Rubrics of a row, in groups or as a list.

use super::calls::decoded;
use crate::domain::Rubric;
use crate::formats::read::{Node, Read, below};
use serde_json::Value;

/// The rubrics of all groups. A group's name is the kind of its rubrics, which determines the metric that uses them.
pub(super) fn all(node: Node) -> Read<Vec<Rubric>> {
    let mut found = Vec::new();
    if let Some(groups) = node.get("rubric_groups") {
        for (name, group) in groups.value.as_object().into_iter().flatten() {
            let rubrics = group.get("rubrics").unwrap_or(group);
            found.extend(list(rubrics).iter().enumerate().map(|(at, value)| rubric(value, at, Some(name))));
        }
    }
    if let Some(rubrics) = node.get("rubrics") {
        found.extend(list(rubrics.value).iter().enumerate().map(|(at, value)| rubric(value, at, None)));
    }
    Ok(found)
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        Value::String(text) => decoded(text).and_then(|value| value.as_array().cloned()).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Reads a rubric: an object, or only its text.
fn rubric(value: &Value, at: usize, group: Option<&str>) -> Rubric {
    let text = |path: &[&str]| below(value, path).and_then(Value::as_str).map(str::to_string);
    let words = value.as_str().map(str::to_string);
    Rubric {
        id: text(&["rubric_id"]).unwrap_or_else(|| format!("rubric-{}", at + 1)),
        text: words
            .or_else(|| text(&["content", "property", "description"]))
            .or_else(|| text(&["rubric_content", "text_property"]))
            .or_else(|| text(&["description"])),
        description: text(&["description"]),
        kind: text(&["type"]).or_else(|| group.map(str::to_string)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_spellings_keep_their_words() {
        let texts = [
            json!({"rubric_id": "r", "rubric_content": {"text_property": "Is polite."}}),
            json!({"rubricId": "r", "rubricContent": {"textProperty": "Is polite."}}),
            json!({"rubricId": "r", "content": {"property": {"description": "Is polite."}}}),
        ];
        for value in texts {
            let found = rubric(&value, 0, None);
            assert_eq!((found.id.as_str(), found.text.as_deref()), ("r", Some("Is polite.")), "{value}");
        }
    }
}
