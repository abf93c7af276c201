//! The cases of a run as they were when it ran, from its attempts.

use super::problem::FileProblem;
use crate::domain::{Attempt, Conversation, EndedAttempt, EvalCase};
use std::sync::Arc;

/// A case of a run.
#[derive(Clone, Debug)]
pub struct RecordedCase {
    /// The case's id.
    pub eval_id: String,
    /// An attempt of the case, which contains what was expected; `None` if no attempt ended.
    pub attempt: Option<Arc<EndedAttempt>>,
}

impl RecordedCase {
    /// The case with what was expected of it. Without an attempt it has no turns. Errors: the record of the attempt
    /// can no longer be read.
    pub(super) fn case(&self) -> Result<EvalCase, FileProblem> {
        let Some(ended) = &self.attempt else {
            return Ok(EvalCase {
                eval_id: self.eval_id.clone(),
                ..EvalCase::default()
            });
        };
        let attempt = ended
            .read()
            .map_err(|why| FileProblem::here("", "the record of the attempt", &why))?;
        Ok(case_of(&attempt))
    }
}

fn case_of(attempt: &Attempt) -> EvalCase {
    let conversation = match &attempt.scenario {
        Some(scenario) => Conversation::Scenario(scenario.clone()),
        None => Conversation::Turns(attempt.expected.to_vec()),
    };
    EvalCase {
        eval_id: attempt.eval_id.clone(),
        conversation,
        rubrics: attempt.rubrics.clone(),
        final_session_state: attempt.expected_state.clone(),
        extra: attempt.variables.clone(),
        ..EvalCase::default()
    }
}
