//! The file beside an eval set: `lights.evalset.json` has `lights.evaltrail.json`. ADK neither reads nor touches
//! it.
//!
//! ```json
//! {"cases": {"lights_off": {"tags": ["slow"],
//!            "variants": [{"name": "by_room", "turns": [{"tool_uses": [{"name": "set_room", "args": {}}]}]}]}}}
//! ```

use super::adk::{trajectory, write_trajectory};
use super::json::{self, JsonPath, Names, TextChange};
use super::read::{JsonNode, Read, ReadError};
use super::{EditError, FileProblem};
use crate::domain::{CaseNotes, Quarantine, Trajectory, Variant, is_day};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tags and variants of a set's cases, by case id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// The text that was read; `None` when there is no file.
    pub text: Option<Arc<str>>,
    /// The notes by case id.
    pub cases: BTreeMap<String, CaseNotes>,
}

impl Notes {
    /// Parses the file's text.
    pub fn open(text: Arc<str>) -> Result<Notes, FileProblem> {
        let parsed = json::parse(&text).map_err(|error| FileProblem::syntax(&text, error))?;
        let cases = read_cases(JsonNode::top(&parsed.value))
            .map_err(|error| FileProblem::reading(&text, &JsonPath::default(), error))?;
        Ok(Notes {
            text: Some(text),
            cases,
        })
    }

    /// The notes of a case.
    pub fn for_case(&self, eval_id: &str) -> Option<&CaseNotes> {
        self.cases.get(eval_id)
    }

    /// The text change that makes the file contain `meant`; without a file, a change of the empty text.
    pub fn change(&self, meant: &BTreeMap<String, CaseNotes>) -> Result<TextChange, EditError> {
        let Some(text) = &self.text else {
            let new = serde_json::to_string_pretty(&write(meant)).unwrap_or_default() + "\n";
            return Ok(TextChange::one(0, "", &new));
        };
        let top = json::locate(text, &JsonPath::default())..text.trim_end().len();
        json::rewrite(text, top, &write(&self.cases), &write(meant), Names::Exact)
            .map_err(|error| EditError::Unreadable(FileProblem::syntax(text, error)))
    }
}

fn read_cases(node: JsonNode) -> Read<BTreeMap<String, CaseNotes>> {
    let Some(cases) = node.get("cases") else {
        return Ok(BTreeMap::new());
    };
    let list = cases.path();
    let read = |(id, notes): (&String, &Value)| match read_case(cases.member(id, notes)) {
        Ok(notes) => Ok((id.clone(), notes)),
        Err(error) => Err(ReadError {
            path: error.path.below(&list),
            ..error
        }),
    };
    cases.object()?.iter().map(read).collect()
}

fn read_case(node: JsonNode) -> Read<CaseNotes> {
    node.object()?;
    Ok(CaseNotes {
        tags: node.list("tags", |tag| tag.str())?,
        variants: node.list("variants", read_variant)?,
        quarantine: node.get("quarantine").map(read_quarantine).transpose()?,
    })
}

fn read_quarantine(node: JsonNode) -> Read<Quarantine> {
    node.object()?;
    let text = |key: &str| node.get(key).map(|value| value.str()).transpose();
    Ok(Quarantine {
        since: day(&node.need("since")?)?,
        until: day(&node.need("until")?)?,
        why: text("why")?.unwrap_or_default(),
        by: text("by")?.unwrap_or_default(),
    })
}

fn day(node: &JsonNode) -> Read<String> {
    let text = node.str()?;
    if is_day(&text) {
        Ok(text)
    } else {
        Err(node.wrong("a day such as 2026-12-31"))
    }
}

fn read_variant(node: JsonNode) -> Read<Variant> {
    node.object()?;
    let name = node.need("name")?.str()?;
    Ok(Variant {
        name,
        turns: node.list("turns", trajectory)?,
    })
}

fn write(cases: &BTreeMap<String, CaseNotes>) -> Value {
    let kept = cases.iter().filter(|(_, notes)| !notes.is_empty());
    let written: Map<String, Value> = kept
        .map(|(id, notes)| (id.clone(), write_case(notes)))
        .collect();
    json!({ "cases": written })
}

fn write_case(notes: &CaseNotes) -> Value {
    let mut out = Map::new();
    if !notes.tags.is_empty() {
        out.insert("tags".into(), notes.tags.clone().into());
    }
    let turn = |turn: &Trajectory| write_trajectory(turn).unwrap_or(json!({}));
    let variant = |variant: &Variant| json!({"name": variant.name, "turns": variant.turns.iter().map(turn).collect::<Vec<_>>()});
    if !notes.variants.is_empty() {
        out.insert(
            "variants".into(),
            notes.variants.iter().map(variant).collect(),
        );
    }
    if let Some(quarantine) = &notes.quarantine {
        out.insert("quarantine".into(), json!(quarantine));
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ToolCall;

    fn notes(tags: &[&str], calls: &[&str]) -> CaseNotes {
        let calls = calls
            .iter()
            .map(|name| ToolCall::new(*name, None))
            .collect();
        let turn = Trajectory::Listed {
            calls,
            responses: Vec::new(),
            texts: Vec::new(),
        };
        CaseNotes {
            tags: tags.iter().map(|tag| tag.to_string()).collect(),
            variants: vec![Variant {
                name: "v".into(),
                turns: vec![turn],
            }],
            quarantine: tags.first().map(|tag| Quarantine {
                since: "2026-01-02".into(),
                until: "2026-02-03".into(),
                why: tag.to_string(),
                by: String::new(),
            }),
        }
    }

    #[test]
    fn notes_round_trip_and_change_in_place() {
        let meant = BTreeMap::from([("a".to_string(), notes(&["slow"], &["x"]))]);
        let text = Notes::default().change(&meant).unwrap().apply("").unwrap();
        let kept = Notes::open(Arc::from(text.as_str())).unwrap();
        assert_eq!(kept.cases, meant);
        let more = BTreeMap::from([
            ("a".to_string(), notes(&["slow", "new"], &["x"])),
            ("b".to_string(), notes(&[], &["y"])),
        ]);
        let mine = text.replace("\"cases\"", "\"mine\": 1.0, \"cases\"");
        let kept = Notes::open(Arc::from(mine.as_str())).unwrap();
        let changed = kept.change(&more).unwrap().apply(&mine).unwrap();
        assert!(changed.contains("\"mine\": 1.0"), "{changed}");
        assert_eq!(Notes::open(Arc::from(changed)).unwrap().cases, more);
        assert!(Notes::open(Arc::from("{\"cases\": {\"a\": {\"tags\": 3}}}")).is_err());
    }
}
