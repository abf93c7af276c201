//! Changes of a case by the editor: set, add, remove, duplicate and move fields.

use crate::explorer::shared::case_field::{Adding, CaseField};
use crate::explorer::shared::tools::KnownTools;
use evaltrail_core::domain::{
    Content, Conversation, EvalCase, Invocation, Part, Rubric, SessionInput, ToolCall, Trajectory,
    special_number,
};
use evaltrail_core::formats::json;
use serde_json::{Map, Value};

/// Why an input or a change is invalid; a message for the user.
pub type FieldError = String;

const NO_TURN: &str = "there is no such turn";

/// Sets a field to the typed text.
pub fn set(case: &mut EvalCase, field: &CaseField, typed: &str) -> Result<(), FieldError> {
    let at = |case: &EvalCase, turn: usize| case.turns().len() > turn;
    match field {
        CaseField::EvalId => case.eval_id = typed.to_string(),
        CaseField::User(turn) if at(case, *turn) => {
            set_text(&mut turns(case)?[*turn].user, "user", typed)
        }
        CaseField::Response(turn) if at(case, *turn) => {
            let response = &mut turns(case)?[*turn].final_response;
            set_text(
                response.get_or_insert_with(|| Content::text("model", "")),
                "model",
                typed,
            );
        }
        CaseField::Call(turn, call) if at(case, *turn) => {
            let name = nonempty(typed, "the tool's name")?;
            turns(case)?[*turn]
                .trajectory
                .change_call(*call, |call| call.name = name);
        }
        CaseField::Argument(turn, call, key) if at(case, *turn) => {
            let value = json_value(typed)?;
            turns(case)?[*turn].trajectory.change_call(*call, |call| {
                call.args.get_or_insert_default().insert(key.clone(), value);
            });
        }
        CaseField::Said(turn, number) if at(case, *turn) => {
            let said = parse_authored_text(typed)?;
            if let Trajectory::Listed { texts, .. } = &mut turns(case)?[*turn].trajectory
                && let Some(text) = texts.get_mut(*number)
            {
                *text = said;
            }
        }
        CaseField::Rubric(turn, number) => {
            let id = nonempty(typed, "the rubric's id")?;
            change_rubric(case, *turn, *number, |rubric| rubric.id = id);
        }
        CaseField::RubricText(turn, number) => {
            let text = nonempty(typed, "the rubric's text")?;
            change_rubric(case, *turn, *number, |rubric| rubric.text = Some(text));
        }
        CaseField::RubricKind(turn, number) => {
            let kind = (!typed.trim().is_empty()).then(|| typed.trim().to_string());
            change_rubric(case, *turn, *number, |rubric| rubric.kind = kind);
        }
        CaseField::App => session(case).app_name = typed.to_string(),
        CaseField::UserId => session(case).user_id = typed.to_string(),
        CaseField::State => session(case).state = json_object(typed)?,
        CaseField::FinalState => {
            let unset = typed.trim().is_empty();
            case.final_session_state = if unset {
                None
            } else {
                Some(json_object(typed)?.into())
            };
        }
        CaseField::Scenario => {
            case.conversation = Conversation::Scenario(json_object(typed)?.into())
        }
        _ => return Err("this field cannot be edited".into()),
    }
    Ok(())
}

/// Validates the text typed so far. Returns the error, if any. Does not check whether the id of the case is unique in
/// its file.
pub fn wrong_value(
    case: &EvalCase,
    field: &CaseField,
    adding: Option<Adding>,
    typed: &str,
) -> Option<FieldError> {
    let mut edited = case.clone();
    match adding {
        None => set(&mut edited, field, typed).err(),
        Some(adding) => add_after(&mut edited, field, adding, typed).err(),
    }
}

/// A warning about the valid value of an argument whose kind is not the usual one.
pub fn argument_warning(
    case: &EvalCase,
    tools: &KnownTools,
    field: &CaseField,
    adding: Option<Adding>,
    typed: &str,
) -> Option<String> {
    let (name, value) = match (adding, field) {
        (None, CaseField::Argument(.., name)) => (name.as_str(), typed),
        (Some(Adding::Argument), _) => typed.split_once('=')?,
        _ => return None,
    };
    let (CaseField::Call(turn, call) | CaseField::Argument(turn, call, _)) = field else {
        return None;
    };
    let calls = case.turns().get(*turn)?.calls();
    let value = json_value(value).ok()?;
    tools.kind_warning(&calls.get(*call)?.name, name.trim(), &value)
}

/// Adds a turn, call, argument, intermediate response or rubric after a field. Returns the new field.
pub fn add_after(
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
    let place = match field {
        CaseField::Call(_, call) | CaseField::Argument(_, call, _) => call + 1,
        _ => case.turns()[at].calls().len(),
    };
    let call = ToolCall::new(nonempty(typed, "the tool's name")?, Some(Map::new()));
    turns(case)?[at].trajectory.insert_call(place, call, None);
    Ok(CaseField::Call(at, place))
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

/// Removes what a field represents.
pub fn remove(case: &mut EvalCase, field: &CaseField) -> Result<(), FieldError> {
    match field {
        CaseField::Turn(_) if case.turns().len() == 1 => {
            return Err("a case has at least one turn".into());
        }
        CaseField::Turn(turn) => drop(turns(case)?.remove(*turn)),
        CaseField::Call(turn, call) => drop(turns(case)?[*turn].trajectory.remove_call(*call)),
        CaseField::Argument(turn, call, key) => {
            turns(case)?[*turn].trajectory.change_call(*call, |call| {
                call.args.get_or_insert_default().shift_remove(key);
            })
        }
        CaseField::Said(turn, number) => {
            if let Trajectory::Listed { texts, .. } = &mut turns(case)?[*turn].trajectory {
                texts.remove(*number);
            }
        }
        CaseField::Response(turn) => turns(case)?[*turn].final_response = None,
        CaseField::Rubric(turn, number) => {
            if let Some(rubrics) = rubrics(case, *turn) {
                rubrics.remove(*number);
            }
        }
        CaseField::RubricKind(turn, number) => {
            change_rubric(case, *turn, *number, |rubric| rubric.kind = None)
        }
        CaseField::State => session(case).state = Map::new(),
        CaseField::FinalState => case.final_session_state = None,
        CaseField::App | CaseField::UserId => case.session_input = None,
        _ => return Err("this cannot be removed".into()),
    }
    Ok(())
}

/// Adds a copy of a turn or call after it. Returns the new field.
pub fn duplicate(case: &mut EvalCase, field: &CaseField) -> Result<CaseField, FieldError> {
    match field {
        CaseField::Turn(turn) => {
            let copy = case.turns()[*turn].clone();
            turns(case)?.insert(turn + 1, copy);
            Ok(CaseField::Turn(turn + 1))
        }
        CaseField::Call(turn, call) | CaseField::Argument(turn, call, _) => {
            let trajectory = &mut turns(case)?[*turn].trajectory;
            let copy = trajectory
                .calls()
                .get(*call)
                .copied()
                .cloned()
                .ok_or("there is no such call")?;
            let response = trajectory.response_to(*call).cloned();
            trajectory.insert_call(call + 1, copy, response);
            Ok(CaseField::Call(*turn, call + 1))
        }
        _ => {
            Err("turns and calls can be duplicated here; a whole case is copied in the list".into())
        }
    }
}

/// Moves a turn, a call or a rubric up or down by one. Returns its new field.
pub fn move_field(
    case: &mut EvalCase,
    field: &CaseField,
    down: bool,
) -> Result<CaseField, FieldError> {
    let to = |at: usize, count: usize| {
        let to = if down { at + 1 } else { at.wrapping_sub(1) };
        if to < count {
            Ok(to)
        } else {
            Err("it is already first or last".to_string())
        }
    };
    match field {
        CaseField::Turn(turn) => {
            let new = to(*turn, case.turns().len())?;
            turns(case)?.swap(*turn, new);
            Ok(CaseField::Turn(new))
        }
        CaseField::Call(turn, call) | CaseField::Argument(turn, call, _) => {
            let new = to(*call, case.turns()[*turn].calls().len())?;
            turns(case)?[*turn].trajectory.move_call(*call, new);
            Ok(CaseField::Call(*turn, new))
        }
        CaseField::Rubric(turn, number) => {
            let rubrics = rubrics(case, *turn).ok_or(NO_TURN)?;
            let new = to(*number, rubrics.len())?;
            rubrics.swap(*number, new);
            Ok(CaseField::Rubric(*turn, new))
        }
        _ => Err("turns, calls and rubrics can be moved".into()),
    }
}

/// The turn of a field, which exists.
fn turn_of(case: &EvalCase, field: &CaseField) -> Result<usize, FieldError> {
    let exists = |turn: &usize| *turn < case.turns().len();
    field
        .turn()
        .filter(exists)
        .ok_or_else(|| NO_TURN.to_string())
}

fn turns(case: &mut EvalCase) -> Result<&mut Vec<Invocation>, FieldError> {
    match &mut case.conversation {
        Conversation::Turns(turns) => Ok(turns),
        Conversation::Scenario(_) => {
            Err("this case has a simulated user and no fixed turns".into())
        }
    }
}

fn session(case: &mut EvalCase) -> &mut SessionInput {
    case.session_input.get_or_insert_default()
}

fn rubrics(case: &mut EvalCase, turn: Option<usize>) -> Option<&mut Vec<Rubric>> {
    match turn {
        None => Some(&mut case.rubrics),
        Some(turn) => turns(case)
            .ok()?
            .get_mut(turn)
            .map(|turn| &mut turn.rubrics),
    }
}

fn change_rubric(
    case: &mut EvalCase,
    turn: Option<usize>,
    at: usize,
    change: impl FnOnce(&mut Rubric),
) {
    rubrics(case, turn)
        .and_then(|rubrics| rubrics.get_mut(at))
        .map(change);
}

/// Replaces the text of a content: the first text part becomes `typed`, and other text parts are removed. Parts that
/// are not text are kept.
fn set_text(content: &mut Content, role: &str, typed: &str) {
    let is_text = |part: &Part| part.has_text() || (part.text.is_some() && part.rest.is_empty());
    let first = content.parts.iter().position(is_text);
    let mut at = 0;
    content.parts.retain(|part| {
        at += 1;
        !is_text(part) || Some(at - 1) == first
    });
    match first.and_then(|first| content.parts.get_mut(first)) {
        Some(part) => part.text = Some(typed.to_string()),
        None => content.parts.push(Part::text(typed)),
    }
    content.role.get_or_insert_with(|| role.to_string());
}

fn nonempty(typed: &str, what: &str) -> Result<String, FieldError> {
    let typed = typed.trim();
    if typed.is_empty() {
        Err(format!("{what} is missing"))
    } else {
        Ok(typed.to_string())
    }
}

fn parse_authored_text(typed: &str) -> Result<(String, Vec<Part>), FieldError> {
    let (author, words) = typed.split_once(':').ok_or("type it as author: words")?;
    Ok((
        nonempty(author, "the author")?,
        vec![Part::text(words.trim())],
    ))
}

/// Parses typed JSON. For a word without quotes the error shows it in quotes.
fn json_value(typed: &str) -> Result<Value, FieldError> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Err(
            "a value is missing: JSON, such as 3, true, \"text\", [1, 2], {\"a\": 1}".into(),
        );
    }
    json::parse(typed)
        .map(|parsed| parsed.value)
        .map_err(|error| {
            let is_word = typed
                .chars()
                .all(|c| c.is_alphanumeric() || " _-.".contains(c))
                && special_number(typed).is_none();
            match is_word {
                true => format!("text needs quotes: {}", Value::from(typed)),
                false => format!(
                    "at character {}: {error}",
                    typed[..error.offset.min(typed.len())].chars().count() + 1
                ),
            }
        })
}

fn json_object(typed: &str) -> Result<Map<String, Value>, FieldError> {
    match json_value(if typed.trim().is_empty() { "{}" } else { typed })? {
        Value::Object(map) => Ok(map),
        _ => Err("expected an object: {\"key\": value}".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> EvalCase {
        let mut case = EvalCase::default();
        let added = |case: &mut EvalCase, field: &CaseField, adding, typed: &str| {
            add_after(case, field, adding, typed).unwrap()
        };
        added(&mut case, &CaseField::EvalId, Adding::Turn, "hello");
        let call = added(&mut case, &CaseField::Calls(0), Adding::Call, "get");
        added(&mut case, &call, Adding::Argument, "id = \"x\"");
        case
    }

    #[test]
    fn a_case_is_made_field_by_field() {
        let mut case = case();
        assert_eq!(case.turns()[0].calls()[0].args.as_ref().unwrap()["id"], "x");
        set(&mut case, &CaseField::Argument(0, 0, "id".into()), "1.0").unwrap();
        assert_eq!(
            case.turns()[0].calls()[0].args.as_ref().unwrap()["id"].to_string(),
            "1.0"
        );
        set(&mut case, &CaseField::Response(0), "a\nb").unwrap();
        set(&mut case, &CaseField::State, "{\"room\": \"x\"}").unwrap();
        set(&mut case, &CaseField::FinalState, "{}").unwrap();
        let rubric = add_after(&mut case, &CaseField::Rubrics, Adding::Rubric, "polite").unwrap();
        set(&mut case, &rubric, "is polite").unwrap();
        assert_eq!(case.rubrics[0].text.as_deref(), Some("is polite"));
        assert_eq!(
            duplicate(&mut case, &CaseField::Call(0, 0)).unwrap(),
            CaseField::Call(0, 1)
        );
        set(&mut case, &CaseField::Call(0, 1), "put").unwrap();
        assert_eq!(
            move_field(&mut case, &CaseField::Call(0, 1), false).unwrap(),
            CaseField::Call(0, 0)
        );
        let names: Vec<_> = case.turns()[0]
            .calls()
            .iter()
            .map(|call| call.name.clone())
            .collect();
        assert_eq!(names, ["put", "get"]);
        remove(&mut case, &CaseField::Argument(0, 1, "id".into())).unwrap();
        remove(&mut case, &CaseField::Call(0, 0)).unwrap();
        assert_eq!(case.turns()[0].calls().len(), 1);
    }

    #[test]
    fn invalid_input_is_reported_and_not_applied() {
        let case = case();
        let wrong =
            |field: CaseField, typed: &str| wrong_value(&case, &field, None, typed).unwrap();
        let argument = || CaseField::Argument(0, 0, "id".into());
        assert_eq!(
            wrong(argument(), "device two"),
            "text needs quotes: \"device two\""
        );
        assert!(wrong(argument(), "{\"a\": ").starts_with("at character 6: expected"));
        assert!(wrong(CaseField::State, "[1]").starts_with("expected an object"));
        assert!(wrong(CaseField::Call(0, 0), " ").contains("missing"));
        let again = wrong_value(
            &case,
            &CaseField::Call(0, 0),
            Some(Adding::Argument),
            "id = 1",
        );
        assert_eq!(
            again.as_deref(),
            Some("the call has an argument id already")
        );
        assert!(remove(&mut case.clone(), &CaseField::Turn(0)).is_err());
        assert_eq!(
            wrong_value(&case, &argument(), None, "NaN"),
            None,
            "Python's JSON has it"
        );
    }

    #[test]
    fn non_text_parts_stay_when_text_is_typed() {
        let mut content = Content::text("user", "one");
        content.parts.push(Part {
            rest: [("inline_data".to_string(), Value::Null)]
                .into_iter()
                .collect(),
            ..Part::default()
        });
        content.parts.push(Part::text("two"));
        set_text(&mut content, "user", "all");
        assert_eq!(content.parts.len(), 2);
        assert_eq!(content.scored_text(), "all");
    }
}
