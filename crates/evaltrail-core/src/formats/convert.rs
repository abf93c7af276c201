//! Conversion of any file of cases to an ADK eval set or to Vertex JSON Lines. What cannot be represented in the
//! target is reported.

use super::adk::{SchemaProblem, is_part_field, refusals, write_case};
use super::vertex::write_row;
use super::{FileFormat, FileProblem, SetFile};
use crate::domain::{
    Conversation, EvalCase, Invocation, Part, SessionInput, Trajectory, python_json,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What a file is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionTarget {
    /// An ADK eval set.
    EvalSet,
    /// Vertex JSON Lines.
    VertexLines,
}

/// The result of a conversion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted {
    /// The new file.
    pub text: String,
    /// How many cases are in it.
    pub cases: usize,
    /// What cannot be represented in the target, with the number of cases that have it.
    pub lost: BTreeMap<String, usize>,
    /// Properties of the set itself that cannot be represented in the target.
    pub of_set: Vec<String>,
    /// Cases that could not be read; they are left out.
    pub problems: Vec<FileProblem>,
}

/// External inputs of a conversion: the set's new id, the time, and new ids for turns without one.
pub struct ConversionInputs<'a> {
    /// The set's id.
    pub set_id: String,
    /// Unix seconds.
    pub now: f64,
    /// A new id at every call.
    pub id: &'a mut dyn FnMut() -> String,
    /// The session for cases without one, from ADK's initial session file.
    pub session: Option<SessionInput>,
}

/// Converts every case that can be read.
pub fn convert(
    file: &SetFile,
    target: ConversionTarget,
    fresh: &mut ConversionInputs,
) -> Converted {
    let mut out = Converted::default();
    let mut written = Vec::new();
    for at in 0..file.len() {
        match file.case(at) {
            Err(problem) => out.problems.push(problem),
            Ok(case) => match one(case, target, fresh, &mut out.lost) {
                Ok(case) => written.push(case),
                Err(problem) => {
                    let (line, expected) = (file.line_of(at), problem.expected);
                    let path = problem.path.to_string();
                    out.problems.push(FileProblem {
                        line,
                        column: 1,
                        path,
                        expected,
                        found: problem.found,
                    });
                }
            },
        }
    }
    out.cases = written.len();
    out.of_set = lost_of_set(file, target, fresh);
    out.text = match target {
        ConversionTarget::VertexLines => written
            .iter()
            .map(|row| python_json(row.to_string()) + "\n")
            .collect(),
        ConversionTarget::EvalSet => eval_set(file, written, fresh),
    };
    out
}

/// Properties of the set itself for which the target has no field.
fn lost_of_set(file: &SetFile, target: ConversionTarget, fresh: &ConversionInputs) -> Vec<String> {
    let properties = &file.properties;
    let mut lost = Vec::new();
    match target {
        ConversionTarget::EvalSet
            if file.form == FileFormat::EvalSet && file.id != fresh.set_id =>
        {
            lost.push(format!(
                "the set's id {:?}: ADK finds a set by its file's name",
                file.id
            ));
        }
        ConversionTarget::EvalSet => {}
        ConversionTarget::VertexLines => {
            lost.extend(
                properties
                    .name
                    .as_ref()
                    .filter(|name| **name != file.id)
                    .map(|_| "the set's name".into()),
            );
            lost.extend(
                properties
                    .description
                    .as_ref()
                    .map(|_| "the set's description".into()),
            );
            lost.extend(properties.created.map(|_| "the set's creation time".into()));
        }
    }
    lost
}

/// A case in the target's form, or what ADK would refuse in it.
fn one(
    mut case: EvalCase,
    target: ConversionTarget,
    fresh: &mut ConversionInputs,
    lost: &mut BTreeMap<String, usize>,
) -> Result<Value, SchemaProblem> {
    case.session_input = case.session_input.or_else(|| fresh.session.clone());
    // A loss in several turns of a case counts once.
    let mut count = |what: BTreeSet<String>| {
        what.into_iter()
            .for_each(|what| *lost.entry(what).or_default() += 1)
    };
    if target == ConversionTarget::VertexLines {
        let (row, not_held) = write_row(&case);
        count(not_held.into_iter().collect());
        return Ok(row);
    }
    let mut dropped = BTreeSet::new();
    if let Conversation::Turns(turns) = &mut case.conversation {
        for turn in turns.iter_mut() {
            fit_turn(turn, &mut dropped);
        }
        for turn in turns.iter_mut().filter(|turn| turn.id.is_empty()) {
            turn.id = (fresh.id)();
            turn.created = if turn.created == 0.0 {
                fresh.now
            } else {
                turn.created
            };
        }
    }
    count(dropped);
    if case.created == 0.0 {
        case.created = fresh.now;
    }
    add_saved_responses(&mut case);
    let written = write_case(&case);
    match refusals(&written).into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(written),
    }
}

/// Removes what ADK has no field for, and names it.
fn fit_turn(turn: &mut Invocation, dropped: &mut BTreeSet<String>) {
    fit_parts(&mut turn.user.parts, dropped);
    if let Some(response) = &mut turn.final_response {
        fit_parts(&mut response.parts, dropped);
    }
    match &mut turn.trajectory {
        Trajectory::Listed { texts, .. } => {
            texts
                .iter_mut()
                .for_each(|(_, parts)| fit_parts(parts, dropped));
            texts.retain(|(_, parts)| !parts.is_empty());
        }
        Trajectory::Events(events) => {
            let contents = events.iter_mut().filter_map(|event| event.content.as_mut());
            contents.for_each(|content| fit_parts(&mut content.parts, dropped));
        }
        Trajectory::Partial(_) => {
            dropped.insert("calls and messages of turns whose calls are not all known".into());
        }
        Trajectory::Unknown => {}
    }
    if turn.calls().iter().any(|call| call.args_unknown) {
        dropped.insert("that the arguments of calls are not known: ADK expects none".into());
    }
    if turn.history {
        dropped
            .insert("that earlier turns are only history: in ADK, they are scored as well".into());
    }
    if !turn.end.is_answered() {
        dropped.insert(format!(
            "how a turn ended: {}",
            turn.end.describe().unwrap_or_default()
        ));
    }
    if turn.user.parts.is_empty() {
        dropped.insert(
            "the user message of a turn: the file has none, so the case cannot be run".into(),
        );
    }
}

/// Removes the members of parts that ADK does not know: it would refuse the whole file.
fn fit_parts(parts: &mut Vec<Part>, dropped: &mut BTreeSet<String>) {
    parts.retain_mut(|part| {
        let before = part.rest.len();
        part.rest.retain(|key, value| {
            let is_known = is_part_field(key);
            if !is_known {
                let rest = Map::from_iter([(key.clone(), value.clone())]);
                let label = Part {
                    rest,
                    ..Part::default()
                }
                .label()
                .unwrap_or_default();
                dropped.insert(format!(
                    "parts of messages that ADK has no field for: {label}"
                ));
            }
            is_known
        });
        part.rest.len() == before || *part != Part::default()
    });
}

/// Moves an agent's saved results, for which ADK has no field, to keys with Vertex's names. ADK retains such keys.
fn add_saved_responses(case: &mut EvalCase) {
    let Some(saved) = case.saved.take() else {
        return;
    };
    let only_saved = EvalCase {
        saved: Some(saved),
        ..EvalCase::default()
    };
    let (row, _) = write_row(&only_saved);
    for key in [
        "response",
        "predicted_trajectory",
        "latency_in_seconds",
        "failure",
    ] {
        if let Some(value) = row.get(key).filter(|value| !value.is_null()) {
            case.extra.insert(key.into(), value.clone());
        }
    }
}

fn eval_set(file: &SetFile, cases: Vec<Value>, fresh: &ConversionInputs) -> String {
    let properties = &file.properties;
    let mut set = Map::new();
    set.insert("eval_set_id".into(), fresh.set_id.clone().into());
    set.insert(
        "name".into(),
        properties
            .name
            .clone()
            .unwrap_or_else(|| fresh.set_id.clone())
            .into(),
    );
    set.extend(
        properties
            .description
            .clone()
            .map(|words| ("description".to_string(), words.into())),
    );
    set.insert("eval_cases".into(), cases.into());
    set.insert(
        "creation_timestamp".into(),
        properties.created.unwrap_or(fresh.now).into(),
    );
    let text = serde_json::to_string_pretty(&Value::Object(set)).unwrap_or_default();
    python_json(text) + "\n"
}
