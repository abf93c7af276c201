//! What the agent does in the turns of a row: left out, as a list of calls, or after earlier events.

use crate::domain::{Invocation, InvocationEvent, ToolCall, Trajectory};
use crate::formats::vertex::row_turns::without_actions;

/// The turns without what the agent did, except for the responses of turns that are history.
pub(super) fn without_all_actions(expected: &[Invocation]) -> Vec<Invocation> {
    expected.iter().map(without_actions).collect()
}

/// A trajectory with these calls, of which no responses are known.
pub(super) fn listed(calls: Vec<ToolCall>) -> Trajectory {
    Trajectory::Listed {
        calls,
        responses: Vec::new(),
        texts: Vec::new(),
    }
}

/// A trajectory with these events before its own.
pub(super) fn after(mut steps: Vec<InvocationEvent>, then: Trajectory) -> Trajectory {
    let is_partial = matches!(then, Trajectory::Partial(_));
    steps.extend(then.into_events());
    if is_partial {
        Trajectory::Partial(steps)
    } else {
        Trajectory::Events(steps)
    }
}
