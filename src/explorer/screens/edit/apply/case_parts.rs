//! The parts of a case that the editor changes.

use super::typed_values::FieldError;
use crate::explorer::shared::case_field::CaseField;
use evaltrail_core::domain::{Conversation, EvalCase, Invocation, Rubric, SessionInput};

pub(super) const NO_TURN: &str = "there is no such turn";

/// The turn of a field, which exists.
pub(super) fn turn_of(case: &EvalCase, field: &CaseField) -> Result<usize, FieldError> {
    let exists = |turn: &usize| *turn < case.turns().len();
    field
        .turn()
        .filter(exists)
        .ok_or_else(|| NO_TURN.to_string())
}

pub(super) fn turns(case: &mut EvalCase) -> Result<&mut Vec<Invocation>, FieldError> {
    match &mut case.conversation {
        Conversation::Turns(turns) => Ok(turns),
        Conversation::Scenario(_) => {
            Err("this case has a simulated user and no fixed turns".into())
        }
    }
}

pub(super) fn session(case: &mut EvalCase) -> &mut SessionInput {
    case.session_input.get_or_insert_default()
}

pub(super) fn rubrics(case: &mut EvalCase, turn: Option<usize>) -> Option<&mut Vec<Rubric>> {
    match turn {
        None => Some(&mut case.rubrics),
        Some(turn) => turns(case)
            .ok()?
            .get_mut(turn)
            .map(|turn| &mut turn.rubrics),
    }
}

pub(super) fn change_rubric(
    case: &mut EvalCase,
    turn: Option<usize>,
    at: usize,
    change: impl FnOnce(&mut Rubric),
) {
    rubrics(case, turn)
        .and_then(|rubrics| rubrics.get_mut(at))
        .map(change);
}
