//! Setting of a field to the typed text.

use super::case_parts::{change_rubric, session, turns};
use super::typed_values::{FieldError, json_object, json_value, nonempty, parse_authored_text};
use crate::explorer::shared::case_field::CaseField;
use evaltrail_core::domain::{Content, Conversation, EvalCase, Part, Trajectory};

/// Sets a field to the typed text.
pub(crate) fn set(case: &mut EvalCase, field: &CaseField, typed: &str) -> Result<(), FieldError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

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
