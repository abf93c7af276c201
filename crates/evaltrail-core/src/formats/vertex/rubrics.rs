//! Rubrics of a row, in groups or as a list.

use super::calls::decoded;
use crate::domain::{RUBRIC_KINDS, Rubric};
use crate::formats::read::{JsonNode, Read, below};
use serde_json::Value;

/// The name under which `convert` writes the rubrics of ADK's cases, which have no groups.
pub(super) const UNGROUPED: &str = "adk_rubrics";

/// The rubrics of all groups. If a group has the name of a type of ADK, that is the type of its rubrics.
pub(super) fn all(node: JsonNode) -> Read<Vec<Rubric>> {
    let mut found = Vec::new();
    if let Some(groups) = node.get("rubric_groups") {
        for (name, group) in groups.value.as_object().into_iter().flatten() {
            let rubrics = group.get("rubrics").unwrap_or(group);
            found.extend(
                list(rubrics)
                    .iter()
                    .enumerate()
                    .map(|(at, value)| rubric(value, at, Some(name))),
            );
        }
    }
    if let Some(rubrics) = node.get("rubrics") {
        found.extend(
            list(rubrics.value)
                .iter()
                .enumerate()
                .map(|(at, value)| rubric(value, at, None)),
        );
    }
    Ok(found)
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        Value::String(text) => decoded(text)
            .and_then(|value| value.as_array().cloned())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Reads a rubric: an object, or only its text.
fn rubric(value: &Value, at: usize, group: Option<&str>) -> Rubric {
    let text = |path: &[&str]| {
        below(value, path)
            .and_then(Value::as_str)
            .map(str::to_string)
    };
    let words = value.as_str().map(str::to_string);
    Rubric {
        id: text(&["rubric_id"]).unwrap_or_else(|| format!("rubric-{}", at + 1)),
        text: words
            .or_else(|| text(&["content", "property", "description"]))
            .or_else(|| text(&["rubric_content", "text_property"]))
            .or_else(|| text(&["description"])),
        description: text(&["description"]),
        kind: text(&["type"]).or_else(|| {
            group
                .filter(|name| RUBRIC_KINDS.contains(name))
                .map(str::to_string)
        }),
        group: group.filter(|name| *name != UNGROUPED).map(str::to_string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_group_of_any_name_is_about_the_response() {
        let read = |group: &str, kind: &str| {
            rubric(&json!({"rubric_id": "r", "type": kind}), 0, Some(group))
                .read_as()
                .map(str::to_string)
        };
        assert_eq!(read("g1", "").as_deref(), Some("FINAL_RESPONSE_QUALITY"));
        assert_eq!(
            read("booking", "TOOL_USE_QUALITY").as_deref(),
            Some("TOOL_USE_QUALITY")
        );
        let typed = rubric(&json!({"rubric_id": "r"}), 0, Some("TRAJECTORY_QUALITY"));
        assert_eq!(typed.read_as(), Some("TRAJECTORY_QUALITY"));
        assert_eq!(rubric(&json!("Is polite."), 0, None).read_as(), None);
    }

    #[test]
    fn both_spellings_keep_their_text() {
        let texts = [
            json!({"rubric_id": "r", "rubric_content": {"text_property": "Is polite."}}),
            json!({"rubricId": "r", "rubricContent": {"textProperty": "Is polite."}}),
            json!({"rubricId": "r", "content": {"property": {"description": "Is polite."}}}),
        ];
        for value in texts {
            let found = rubric(&value, 0, None);
            assert_eq!(
                (found.id.as_str(), found.text.as_deref()),
                ("r", Some("Is polite.")),
                "{value}"
            );
        }
    }
}
