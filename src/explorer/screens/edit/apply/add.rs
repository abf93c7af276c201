//! Adding of turns, calls, arguments, intermediate responses and rubrics.

use super::case_parts::{NO_TURN, rubrics, turn_of, turns};
use super::set::set;
use super::typed_values::{FieldError, json_value, nonempty, parse_authored_text};
use crate::explorer::shared::case_field::{Adding, CaseField};
use evaltrail_core::domain::{Content, EvalCase, Invocation, Rubric, ToolCall, Trajectory};
use serde_json::Map;

/// Adds a turn, call, argument, intermediate response or rubric after a field. Returns the new field.
pub(crate) fn add_after(
    case: &mut EvalCase,
    field: &CaseField,
    adding: Adding,
    typed: &str,
) -> Result<CaseField, FieldError> {
    match adding {
        Adding::Turn => add_turn(case, field, typed),
        Adding::Call => add_call(case, field, typed),
        Adding::Argument => add_argument(case, field, typed),
        Adding::Said => add_intermediate_response(case, field, typed),
        Adding::Rubric => add_rubric(case, field, typed),
    }
}

fn add_turn(case: &mut EvalCase, field: &CaseField, typed: &str) -> Result<CaseField, FieldError> {
    let after = field.turn().map_or(0, |turn| turn + 1);
    let at = after.min(case.turns().len());
    let known = Trajectory::Listed {
        calls: Vec::new(),
        responses: Vec::new(),
        texts: Vec::new(),
    };
    let new = Invocation {
        user: Content::text("user", typed),
        trajectory: known,
        ..Invocation::default()
    };
    turns(case)?.insert(at, new);
    Ok(CaseField::User(at))
}

fn add_call(case: &mut EvalCase, field: &CaseField, typed: &str) -> Result<CaseField, FieldError> {
    let at = turn_of(case, field)?;
    let position = match field {
        CaseField::Call(_, call) | CaseField::Argument(_, call, _) => call + 1,
        _ => case.turns()[at].calls().len(),
    };
    let call = ToolCall::new(nonempty(typed, "the tool's name")?, Some(Map::new()));
    turns(case)?[at]
        .trajectory
        .insert_call(position, call, None);
    Ok(CaseField::Call(at, position))
}

fn add_argument(
    case: &mut EvalCase,
    field: &CaseField,
    typed: &str,
) -> Result<CaseField, FieldError> {
    let (CaseField::Call(at, call) | CaseField::Argument(at, call, _)) = field else {
        return Err(NO_TURN.into());
    };
    let (key, value) = typed.split_once('=').ok_or("type it as name = value")?;
    let (key, value) = (nonempty(key, "the argument's name")?, json_value(value)?);
    let taken = case
        .turns()
        .get(*at)
        .and_then(|turn| turn.calls().get(*call).copied().cloned());
    if taken
        .and_then(|call| call.args)
        .is_some_and(|args| args.contains_key(&key))
    {
        return Err(format!("the call has an argument {key} already"));
    }
    set(
        case,
        &CaseField::Argument(*at, *call, key.clone()),
        value.to_string().as_str(),
    )?;
    Ok(CaseField::Argument(*at, *call, key))
}

fn add_intermediate_response(
    case: &mut EvalCase,
    field: &CaseField,
    typed: &str,
) -> Result<CaseField, FieldError> {
    let at = turn_of(case, field)?;
    let said = parse_authored_text(typed)?;
    let trajectory = &mut turns(case)?[at].trajectory;
    match trajectory {
        Trajectory::Events(_) | Trajectory::Partial(_) => {
            Err("intermediate responses are part of the recorded events".into())
        }
        Trajectory::Unknown => {
            *trajectory = Trajectory::Listed {
                calls: Vec::new(),
                responses: Vec::new(),
                texts: vec![said],
            };
            Ok(CaseField::Said(at, 0))
        }
        Trajectory::Listed { texts, .. } => {
            texts.push(said);
            Ok(CaseField::Said(at, texts.len() - 1))
        }
    }
}

fn add_rubric(
    case: &mut EvalCase,
    field: &CaseField,
    typed: &str,
) -> Result<CaseField, FieldError> {
    let id = nonempty(typed, "the rubric's id")?;
    let turn = match field {
        CaseField::Rubric(turn, _)
        | CaseField::RubricText(turn, _)
        | CaseField::RubricKind(turn, _) => *turn,
        _ => None,
    };
    let rubrics = rubrics(case, turn).ok_or(NO_TURN)?;
    if rubrics.iter().any(|rubric| rubric.id == id) {
        return Err(format!("there is a rubric {id} already"));
    }
    rubrics.push(Rubric {
        id,
        text: Some(String::new()),
        ..Rubric::default()
    });
    let at = rubrics.len() - 1;
    Ok(CaseField::RubricText(turn, at))
}
