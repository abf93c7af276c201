//! What all kinds of mutations use.

use crate::domain::{Conversation, EvalCase, Invocation, Trajectory};

/// A mutation of one kind, before it is ranked.
pub(super) struct Mutation {
    pub(super) change: String,
    /// What no case expects and this one does, if there is something: one case of several that close a gap is enough.
    pub(super) gap: Option<String>,
    pub(super) case: EvalCase,
}

/// Keeps only the expected calls of a turn. The responses of tools and the texts between the calls are those of the source.
pub(super) fn with_calls_only(turn: &mut Invocation) {
    if turn.trajectory.is_known() {
        turn.trajectory = Trajectory::Listed {
            calls: turn.trajectory.calls().into_iter().cloned().collect(),
            responses: Vec::new(),
            texts: Vec::new(),
        };
    }
}

/// The turns of a case, if it has some and no simulated user.
pub(super) fn turns_mut(case: &mut EvalCase) -> &mut [Invocation] {
    match &mut case.conversation {
        Conversation::Turns(turns) => turns,
        Conversation::Scenario(_) => &mut [],
    }
}
