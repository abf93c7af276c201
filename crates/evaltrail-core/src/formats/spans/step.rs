//! The steps of a turn.

use crate::domain::ToolCall;
use serde_json::Value;

/// What an agent did.
#[derive(Clone, Debug, PartialEq)]
pub enum TracedStep {
    /// It said something before its final response.
    Said {
        /// The agent.
        author: String,
        /// The text.
        text: String,
    },
    /// It called a tool.
    Called {
        /// The agent.
        author: String,
        /// The call.
        call: ToolCall,
        /// The result, if a span contains it.
        result: Option<Value>,
    },
}
