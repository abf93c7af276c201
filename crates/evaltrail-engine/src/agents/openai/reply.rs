//! What an OpenAI-compatible server replied.

use crate::agents::AgentError;
use crate::agents::messages::{call_part, event_with};
use crate::agents::remote::Remote;
use evaltrail_core::domain::{ModelError, Part, Usage};
use evaltrail_core::formats::adk::Event;
use serde_json::Value;

/// What the model replied in one step.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// What is repeated to the model in the next request.
    pub(super) said: Vec<Value>,
    /// Reasoning of the model, which is not part of the response.
    pub(super) thoughts: Vec<String>,
    pub(super) texts: Vec<Part>,
    pub(super) calls: Vec<RequestedCall>,
    /// Calls that evaltrail does not answer, and what no interface describes: the calls are not all known.
    pub(super) others: Vec<Part>,
    /// Why the model stopped early.
    pub(super) error: Option<ModelError>,
    pub(super) usage: Option<Usage>,
    pub(super) model: Option<String>,
    pub(super) refuses: bool,
}

impl Reply {
    /// Takes the events out of the reply: its reasoning, if there is any, and its message with the calls.
    pub(super) fn take_events(&mut self) -> Vec<Event> {
        let thoughts: Vec<Part> = std::mem::take(&mut self.thoughts)
            .into_iter()
            .map(|text| Part {
                thought: true,
                ..Part::text(text)
            })
            .collect();
        let reasoning = (!thoughts.is_empty()).then(|| Event {
            is_intermediate: true,
            ..event_with("model", thoughts)
        });
        let parts: Vec<Part> = std::mem::take(&mut self.others)
            .into_iter()
            .chain(std::mem::take(&mut self.texts))
            .chain(self.calls.iter().map(RequestedCall::part))
            .collect();
        let message = Event {
            is_message: true,
            usage: self.usage.take(),
            model_version: self.model.take(),
            error: self.error.take(),
            ..event_with("model", parts)
        };
        reasoning.into_iter().chain([message]).collect()
    }
}

/// A call that the model asks for.
#[derive(Debug, Default)]
pub(super) struct RequestedCall {
    /// Empty if the server gives none.
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments as text, in JSON.
    pub(super) arguments: String,
    pub(super) form: CallForm,
}

/// The form in which a call is asked for, and answered.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum CallForm {
    /// An element of `tool_calls`, or an item.
    #[default]
    Tool,
    /// The member `function_call` of a message, which has no id.
    Legacy,
}

impl RequestedCall {
    pub(super) fn part(&self) -> Part {
        let id = Some(self.id.as_str()).filter(|id| !id.is_empty());
        call_part(&self.name, id, &self.arguments.clone().into())
    }
}

/// Fails if an answer of either interface reports an error.
pub(super) fn failure(remote: &Remote, answer: &Value) -> Result<(), AgentError> {
    let has_failed =
        answer["status"] == "failed" || answer.get("error").is_some_and(|error| !error.is_null());
    match has_failed {
        true => Err(remote.reported(answer, "the server reported an error without saying why")),
        false => Ok(()),
    }
}
