//! Conversations as lists of messages, in every form in use: one reader for files, columns of data sets and saved
//! sessions.
//!
//! ```text
//! list ──shape──▶ each message by its own shape ─┬─ chat       OpenAI, Anthropic, LangChain: a role and a content
//!                                                ├─ langchain  dumps (`lc`, `data`) and pairs ["human", "…"]
//!                                                └─ items      OpenAI's Responses: function_call, reasoning, …
//!   content ──blocks──▶ parts (calls, results, media)
//!                                  ▼
//!                       Message ──turns──▶ Invocation
//! ```
//!
//! What looks like a call and is not understood is an error with its position, or makes the calls of its turn unknown.

mod answer;
mod blocks;
mod calls;
mod chat;
mod conversation;
mod items;
mod langchain;
mod media;
mod message;
mod results;
mod saved;
mod session;
mod shape;
mod turns;

#[cfg(test)]
mod tests;

pub(super) use answer::{Answer, answer};
pub(super) use conversation::ParsedConversation;
pub use message::{Message, MessageRole};
pub use saved::saved_conversations;
pub use session::{StateBefore, StoredSession, read_session};
pub(super) use shape::{KINDS, is_conversation, is_list_of_messages};
pub use turns::first_action;
pub(super) use turns::{listed, listed_trajectory};

use crate::domain::EvalCase;
use crate::formats::read::{JsonNode, Read, ReadError};
use serde_json::Value;

/// Reads a conversation: a list of messages, or an object that contains one.
pub(super) fn conversation(node: JsonNode) -> Read<ParsedConversation> {
    shape::conversation(node)
}

/// Reads one message.
///
/// # Errors
///
/// When the value is no message, or contains a call that cannot be read.
pub fn read_message(value: &Value) -> Result<Message, ReadError> {
    shape::message(JsonNode::top(value))
}

/// A conversation as one case: what the agent did in it is expected.
pub(super) fn case(node: JsonNode, eval_id: &str) -> Read<EvalCase> {
    let found = conversation(node)?;
    let system = found.system.clone();
    let turns = found.expected();
    if turns.is_empty() {
        return Err(node.wrong("a conversation with at least one message of the user"));
    }
    let mut case = EvalCase {
        eval_id: eval_id.to_string(),
        conversation: crate::domain::Conversation::Turns(turns),
        ..EvalCase::default()
    };
    with_user_messages(node, &case)?;
    case.extra
        .extend(system.map(|words| ("system_instruction".to_string(), Value::String(words))));
    Ok(case)
}

/// Refuses a case of which a turn has no user message: an empty message would be sent to the agent.
pub(super) fn with_user_messages(node: JsonNode, case: &EvalCase) -> Read<()> {
    let Some(at) = case
        .turns()
        .iter()
        .position(|turn| turn.user.parts.is_empty())
    else {
        return Ok(());
    };
    let turn = &case.turns()[at];
    let said = first_action(turn);
    Err(ReadError {
        path: node.path(),
        expected: "a user message at the beginning of each turn".into(),
        found: format!(
            "turn {} without one ({said}); `evaltrail capture` can leave out such turns of a saved session",
            at + 1
        ),
    })
}
