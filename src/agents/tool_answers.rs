//! Answers to the tool calls that an agent leaves to its caller.

use super::{AgentError, ErrorKind, Opening};
use crate::domain::ToolCall;
use crate::formats::vertex::PLAIN_INPUT;
use crate::stubs::AttemptStubs;
use serde_json::{Value, json};

/// The stubs of an attempt, from which calls are answered.
pub(super) struct ToolAnswers {
    stubs: AttemptStubs,
}

impl std::fmt::Debug for ToolAnswers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("ToolAnswers")
    }
}

impl ToolAnswers {
    pub(super) fn of(opening: &Opening) -> ToolAnswers {
        let stubs = AttemptStubs::new(opening.stubs.clone(), &opening.eval_id, &opening.expected);
        ToolAnswers { stubs }
    }

    /// The answer to a call, after the time that the tool takes. Errors: no answer is recorded. A call whose arguments
    /// are not JSON is answered with an error, as a tool would.
    pub(super) async fn answer(&mut self, turn: usize, call: &ToolCall) -> Result<Value, AgentError> {
        let answer = match self.stubs.answer(turn, call) {
            Ok(answer) => answer,
            Err(_) if has_broken_arguments(call) => {
                return Ok(json!({"error": "the arguments are not JSON"}));
            }
            Err(why) => {
                let hint = "record it in the file of stubs beside the set (SET.tools.jsonl), or as a tool_response of \
                            the case";
                return Err(AgentError::new(ErrorKind::Agent, format!("{why}; {hint}")));
            }
        };
        tokio::time::sleep(answer.after).await;
        Ok(answer.result.unwrap_or_else(|words| json!({"error": words})))
    }
}

/// Whether the arguments were a text that is not JSON.
fn has_broken_arguments(call: &ToolCall) -> bool {
    call.args.as_ref().is_some_and(|args| args.len() == 1 && args.contains_key(PLAIN_INPUT))
}
