//! An eval set file: indexed when it is opened, each case parsed when it is looked at.

use super::content::{call, content, response};
use super::event::{authored_parts, invocation_event};
use super::legacy;
use super::read::{Node, Read, ReadError};
use crate::domain::{Conversation, Durations, EvalCase, Invocation, Rubric, SessionInput, Trajectory};
use crate::formats::index::{self, Top};
use crate::formats::json::{self, JsonPath, SyntaxError};
use std::ops::Range;
use std::sync::Arc;

/// Which of ADK's three shapes a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An eval set.
    EvalSet,
    /// The older list of named conversations.
    NamedList,
    /// The older list of turns: one conversation.
    TurnList,
}

/// One case of a file, before it is parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The case's id; empty when the file gives none that can be read.
    pub eval_id: String,
    /// Where its text lies.
    pub range: Range<usize>,
}

/// An eval set file and where its cases lie.
#[derive(Clone, Debug, PartialEq)]
pub struct SetFile {
    /// The set's id: the file's own, or its name for the older forms.
    pub id: String,
    /// A description for people.
    pub description: Option<String>,
    /// The file's shape.
    pub form: Form,
    /// The cases in order.
    pub entries: Vec<Entry>,
    text: Arc<str>,
    top: JsonPath,
}

/// Why a file, or a case of it, cannot be read: where, what was expected, what was found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {}expected {expected}, found {found}", path_words(path))]
pub struct FileProblem {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The JSON path; empty for a text that is no JSON.
    pub path: String,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

fn path_words(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

impl FileProblem {
    pub(super) fn syntax(text: &str, error: SyntaxError) -> Self {
        let (line, column) = json::position(text, error.offset);
        FileProblem { line, column, path: String::new(), expected: error.expected, found: error.found }
    }

    pub(super) fn reading(text: &str, top: &JsonPath, error: ReadError) -> Self {
        let path = error.path.below(top);
        let (line, column) = json::position(text, json::locate(text, &path));
        FileProblem { line, column, path: path.to_string(), expected: error.expected, found: error.found }
    }

    fn here(text: &str, expected: &str, found: &str) -> Self {
        let offset = json::locate(text, &JsonPath::default());
        let (line, column) = json::position(text, offset);
        FileProblem { line, column, path: "$".into(), expected: expected.into(), found: found.into() }
    }
}

impl SetFile {
    /// Finds the cases of a file. `fallback_id` names the older forms, which have no id of their own.
    pub fn open(text: Arc<str>, fallback_id: &str) -> Result<SetFile, FileProblem> {
        let found = match index::top(&text) {
            Top::Object => open_set(&text, fallback_id),
            Top::Array => open_list(&text, fallback_id),
            Top::Other if text.trim().is_empty() => {
                return Err(FileProblem::here(&text, "an eval set", "an empty file"));
            }
            _ => Ok(None),
        };
        match found {
            Ok(Some(file)) => Ok(SetFile { text, ..file }),
            Ok(None) => Err(why_not(&text)),
            Err(error) => Err(best_syntax_error(&text, error)),
        }
    }

    /// Parses one case.
    pub fn case(&self, at: usize) -> Result<EvalCase, FileProblem> {
        let Some(entry) = self.entries.get(at) else {
            return Err(FileProblem::here(&self.text, &format!("{} cases", at + 1), "fewer"));
        };
        let raw = &self.text[entry.range.clone()];
        let value = json::parse(raw).map_err(|error| {
            let offset = error.offset + entry.range.start;
            FileProblem::syntax(&self.text, SyntaxError { offset, ..error })
        })?;
        let top = match self.form {
            Form::TurnList => self.top.clone(),
            _ => self.top.index(at),
        };
        let case = match self.form {
            Form::EvalSet => eval_case(Node::top(&value.value)),
            Form::NamedList => legacy::named_case(Node::top(&value.value)),
            Form::TurnList => legacy::turn_list(Node::top(&value.value), &entry.eval_id),
        };
        case.map_err(|error| FileProblem::reading(&self.text, &top, error))
    }

    /// The file's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line a case begins on, from 1.
    pub fn line_of(&self, at: usize) -> usize {
        self.entries.get(at).map_or(1, |entry| json::position(&self.text, entry.range.start).0)
    }
}

fn open_set(text: &str, fallback_id: &str) -> Result<Option<SetFile>, SyntaxError> {
    let mut id = None;
    let mut description = None;
    let mut cases = None;
    let outline = index::outline(text, &["eval_cases", "evalCases"])?;
    for (key, range) in outline.members {
        match key.as_str() {
            "eval_set_id" | "evalSetId" => id = text_at(text, range),
            "description" => description = text_at(text, range),
            "eval_cases" | "evalCases" => cases = Some((key, range)),
            _ => {}
        }
    }
    let Some((key, range)) = cases else { return Ok(None) };
    if !text[range.clone()].starts_with('[') {
        return Ok(None);
    }
    let entries = outline
        .elements
        .into_iter()
        .map(|range| Entry { eval_id: id_of(text, &range, &["eval_id", "evalId"]), range })
        .collect();
    Ok(Some(SetFile {
        id: id.unwrap_or_else(|| fallback_id.to_string()),
        description,
        form: Form::EvalSet,
        entries,
        text: Arc::from(""),
        top: JsonPath::default().key(&key),
    }))
}

fn open_list(text: &str, fallback_id: &str) -> Result<Option<SetFile>, SyntaxError> {
    let items = index::elements(text, 0..text.len())?;
    let Some(first) = items.first() else { return Ok(None) };
    if !text[first.clone()].starts_with('{') {
        return Ok(None);
    }
    let [data, query] = index::pick(text, first.clone(), [&["data"], &["query"]])?;
    let (form, entries) = match (data, query) {
        (Some(_), _) => {
            let entry = |range| Entry { eval_id: id_of(text, &range, &["name"]), range };
            (Form::NamedList, items.into_iter().map(entry).collect())
        }
        (None, Some(_)) => {
            let start = text.find('[').unwrap_or(0);
            let range = start..text.trim_end().len();
            (Form::TurnList, vec![Entry { eval_id: fallback_id.to_string(), range }])
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(SetFile {
        id: fallback_id.to_string(),
        description: None,
        form,
        entries,
        text: Arc::from(""),
        top: JsonPath::default(),
    }))
}

fn id_of(text: &str, range: &Range<usize>, keys: &'static [&'static str]) -> String {
    match index::pick(text, range.clone(), [keys]) {
        Ok([Some(range)]) => text_at(text, range).unwrap_or_default(),
        _ => String::new(),
    }
}

fn text_at(text: &str, range: Range<usize>) -> Option<String> {
    let parsed = json::parse(&text[range]).ok()?;
    parsed.value.as_str().map(str::to_string)
}

/// The index passes over what it does not need; when it stumbles, the parser knows better where.
fn best_syntax_error(text: &str, error: SyntaxError) -> FileProblem {
    FileProblem::syntax(text, json::parse(text).err().unwrap_or(error))
}

fn why_not(text: &str) -> FileProblem {
    match json::parse(text) {
        Err(error) => FileProblem::syntax(text, error),
        Ok(parsed) => {
            if parsed.value.get("eval_case_results").is_some() {
                let found = "a result file; open its agent's folder to see it";
                return FileProblem::here(text, "an eval set", found);
            }
            let found = match parsed.value.get("eval_cases").or_else(|| parsed.value.get("evalCases")) {
                Some(cases) => format!("\"eval_cases\" is {}", super::read::describe(cases)),
                None => super::read::describe(&parsed.value),
            };
            let expected = "an eval set (an object with \"eval_cases\") or a list of old-style turns";
            FileProblem::here(text, expected, &found)
        }
    }
}

pub(super) fn eval_case(node: Node) -> Read<EvalCase> {
    node.object()?;
    let conversation = match (node.get("conversation"), node.get("conversation_scenario")) {
        (Some(turns), _) => Conversation::Turns(turns.items()?.map(invocation).collect::<Read<_>>()?),
        (None, Some(scenario)) => Conversation::Scenario(scenario.value.clone()),
        (None, None) => return Err(node.missing("conversation")),
    };
    Ok(EvalCase {
        eval_id: node.need("eval_id")?.str()?,
        conversation,
        session_input: node.get("session_input").map(session_input).transpose()?,
        rubrics: node.list("rubrics", rubric)?,
        final_session_state: node.get("final_session_state").map(|n| n.value.clone()),
        created: node.opt_number("creation_timestamp")?.unwrap_or(0.0),
        extra: node.others(CASE_KEYS),
    })
}

const CASE_KEYS: &[&str] = &[
    "eval_id",
    "conversation",
    "conversation_scenario",
    "session_input",
    "rubrics",
    "final_session_state",
    "creation_timestamp",
];

pub(super) fn invocation(node: Node) -> Read<Invocation> {
    node.object()?;
    Ok(Invocation {
        id: node.opt_str("invocation_id")?.unwrap_or_default(),
        user: content(node.need("user_content")?)?,
        final_response: node.get("final_response").map(content).transpose()?,
        trajectory: node.get("intermediate_data").map(trajectory).transpose()?.unwrap_or_default(),
        rubrics: node.list("rubrics", rubric)?,
        app_details: node.get("app_details").map(|n| n.value.clone()),
        created: node.opt_number("creation_timestamp")?.unwrap_or(0.0),
        durations: Durations {
            total: node.opt_number("duration")?,
            model: node.opt_number("model_duration")?,
            tool: node.opt_number("tool_duration")?,
        },
        extra: node.others(INVOCATION_KEYS),
    })
}

const INVOCATION_KEYS: &[&str] = &[
    "invocation_id",
    "user_content",
    "final_response",
    "intermediate_data",
    "rubrics",
    "app_details",
    "creation_timestamp",
    "duration",
    "model_duration",
    "tool_duration",
];

fn trajectory(node: Node) -> Read<Trajectory> {
    node.object()?;
    if let Some(events) = node.get("invocation_events") {
        return Ok(Trajectory::Events(events.items()?.map(invocation_event).collect::<Read<_>>()?));
    }
    Ok(Trajectory::Listed {
        calls: node.list("tool_uses", call)?,
        responses: node.list("tool_responses", response)?,
        texts: node.list("intermediate_responses", authored_parts)?,
    })
}

fn session_input(node: Node) -> Read<SessionInput> {
    node.object()?;
    Ok(SessionInput {
        app_name: node.opt_str("app_name")?.unwrap_or_default(),
        user_id: node.opt_str("user_id")?.unwrap_or_default(),
        session_id: node.opt_str("session_id")?,
        state: match node.get("state") {
            Some(state) => state.object()?.clone(),
            None => Default::default(),
        },
        extra: node.others(&["app_name", "user_id", "session_id", "state"]),
    })
}

pub(super) fn rubric(node: Node) -> Read<Rubric> {
    node.object()?;
    let content = node.get("rubric_content");
    Ok(Rubric {
        id: node.need("rubric_id")?.str()?,
        text: content.map(|content| content.opt_str("text_property")).transpose()?.flatten(),
        description: node.opt_str("description")?,
        kind: node.opt_str("type")?,
    })
}
