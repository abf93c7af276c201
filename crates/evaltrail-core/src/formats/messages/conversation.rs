//! A conversation that was read.

use crate::domain::Invocation;

/// A conversation, turn by turn.
#[derive(Debug, Default, PartialEq)]
pub(in crate::formats) struct ParsedConversation {
    /// The turns with everything that the agent did, as events. A message of the agent before the first one of the user
    /// begins a turn without a user message.
    pub(in crate::formats) turns: Vec<Invocation>,
    /// The texts of the system messages.
    pub(in crate::formats) system: Option<String>,
    /// Whether the last message is a text of the agent.
    pub(in crate::formats) ends_with_answer: bool,
}

impl ParsedConversation {
    /// The turns as an agent did them: events in order.
    pub(in crate::formats) fn into_turns(self) -> Vec<Invocation> {
        self.turns
    }
}
