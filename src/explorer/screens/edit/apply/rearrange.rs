//! Removing, duplicating and moving of what a field represents.

use super::case_parts::{NO_TURN, change_rubric, rubrics, session, turns};
use super::typed_values::FieldError;
use crate::explorer::shared::case_field::CaseField;
use evaltrail_core::domain::{EvalCase, Trajectory};
use serde_json::Map;

/// Removes what a field represents.
pub(crate) fn remove(case: &mut EvalCase, field: &CaseField) -> Result<(), FieldError> {
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
pub(crate) fn duplicate(case: &mut EvalCase, field: &CaseField) -> Result<CaseField, FieldError> {
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
pub(crate) fn move_field(
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
