//! One user turn with everything the agent did for it. Expected and actual turns have the same type.

use super::model_error::error_or_text;
use super::{Content, ModelError, Part, Rubric, ToolCall, ToolResponse};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One user turn: the user's message, the trajectory, the final response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// The invocation's id; may be empty in a file.
    #[serde(default)]
    pub id: String,
    /// The user's message.
    pub user: Content,
    /// The final response; `None` when there was none.
    #[serde(default)]
    pub final_response: Option<Content>,
    /// The agent's steps between message and response.
    #[serde(default)]
    pub trajectory: Trajectory,
    /// Rubrics for this turn only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Rubric>,
    /// The agents' instructions and tools, as ADK recorded them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_details: Option<Value>,
    /// Where `app_details` comes from.
    #[serde(default, skip_serializing_if = "DetailsSource::is_request")]
    pub app_details_source: DetailsSource,
    /// Unix seconds; 0 when unknown.
    #[serde(default, deserialize_with = "unix_seconds_or_unknown")]
    pub created: f64,
    /// How long the turn took, if it was measured.
    #[serde(default)]
    pub durations: Durations,
    /// How the agent ended the turn.
    #[serde(default, skip_serializing_if = "TurnEnd::is_answered")]
    pub end: TurnEnd,
    /// Errors that the model reported in events that are not part of the trajectory, because they have no content. See
    /// [`Invocation::model_errors`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reported_errors: Vec<ModelError>,
    /// Whether the turn only provides context: its message is sent to the agent again, and the turn is not scored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history: bool,
    /// Whether the turn is from a row of a data set: what the row does not contain is unknown. A case of ADK without a
    /// response or without calls expects none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_data: bool,
    /// Keys in the file that ADK does not know.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Deserializes a creation time; null, which is written for numbers that are not finite, is unknown: 0, as in ADK.
fn unix_seconds_or_unknown<'de, D: serde::Deserializer<'de>>(seconds: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(seconds)?.unwrap_or(0.0))
}

impl Invocation {
    /// The tool calls in order, for each representation of the trajectory.
    pub fn calls(&self) -> Vec<&ToolCall> {
        self.trajectory.calls()
    }

    /// The turn as an agent reported it: how it ended, and whether all calls are among its events.
    pub fn with_end(mut self, end: TurnEnd, has_all_calls: bool) -> Invocation {
        // A tool that continues is an end without a response only if the agent said nothing about it.
        let is_said = |content: &Content| {
            content
                .parts
                .iter()
                .any(|part| part.has_text() && !part.thought)
        };
        self.end = match end {
            TurnEnd::LongRunning if self.final_response.as_ref().is_some_and(is_said) => {
                TurnEnd::Answered
            }
            end => end,
        };
        self.trajectory = match self.trajectory {
            Trajectory::Events(events) if !has_all_calls => Trajectory::Partial(events),
            trajectory => trajectory,
        };
        self
    }

    /// Whether the expected response is unknown.
    pub fn lacks_reference(&self) -> bool {
        self.is_data && self.final_response.is_none()
    }

    /// The tool responses in order.
    pub fn responses(&self) -> Vec<&ToolResponse> {
        self.trajectory.responses()
    }

    /// The errors that the model reported in this turn, and the reasons for which it stopped early.
    pub fn model_errors(&self) -> impl Iterator<Item = &ModelError> {
        let events = self.trajectory.events().unwrap_or_default();
        events
            .iter()
            .filter_map(|event| event.error.as_ref())
            .chain(&self.reported_errors)
    }

    /// The final response's text as ADK scores it; empty when there is none.
    pub fn response_text(&self) -> String {
        self.final_response
            .as_ref()
            .map(Content::scored_text)
            .unwrap_or_default()
    }
}

/// Who reported the instructions and tools of a turn's agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetailsSource {
    /// The requests to the models, or a file with them: they are what the models received.
    #[default]
    Request,
    /// The agent's server, which describes its agents: without what ADK adds to the instructions for transfers between agents,
    /// and without values of the session's state in place of names in braces.
    Description,
}

impl DetailsSource {
    fn is_request(&self) -> bool {
        *self == DetailsSource::Request
    }
}

/// What the agent did between the user's message and the final response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trajectory {
    /// The file contains no trajectory: not the same as "no calls", although ADK scores it as such.
    #[default]
    Unknown,
    /// Calls and responses as lists (ADK's older `IntermediateData`).
    Listed {
        /// The calls in order.
        calls: Vec<ToolCall>,
        /// Their responses.
        #[serde(default)]
        responses: Vec<ToolResponse>,
        /// Intermediate texts of agents: author and parts.
        #[serde(default)]
        texts: Vec<(String, Vec<Part>)>,
    },
    /// Recorded events (ADK's `InvocationEvents`).
    Events(Vec<InvocationEvent>),
    /// Events of an agent that does not report all its tool calls: the calls among them are displayed and never scored.
    Partial(Vec<InvocationEvent>),
}

impl Trajectory {
    /// Whether all calls are known. Only then are they scored: unknown is not the same as none.
    pub fn is_known(&self) -> bool {
        !matches!(self, Trajectory::Unknown | Trajectory::Partial(_))
    }

    /// The recorded events; empty if there are none.
    pub fn into_events(self) -> Vec<InvocationEvent> {
        match self {
            Trajectory::Events(events) | Trajectory::Partial(events) => events,
            Trajectory::Unknown | Trajectory::Listed { .. } => Vec::new(),
        }
    }

    /// The events, if they were recorded.
    pub fn events(&self) -> Option<&[InvocationEvent]> {
        match self {
            Trajectory::Events(events) | Trajectory::Partial(events) => Some(events),
            Trajectory::Unknown | Trajectory::Listed { .. } => None,
        }
    }
}

/// How an agent ended a turn. All but the first mean that the agent did not complete the request: it is neither a
/// failure of the agent nor an error, and the turn is scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// With a response.
    #[default]
    Answered,
    /// The agent needs more input from the user. The next message is sent as the answer.
    InputRequired,
    /// The agent needs the user to sign in.
    SignInRequired,
    /// The agent stopped at a point where a person must decide. The next message is sent as the decision.
    Interrupted,
    /// A tool continues in the background.
    LongRunning,
    /// The agent refused the request.
    Refused,
}

impl TurnEnd {
    /// Whether the turn ended with a response.
    pub fn is_answered(&self) -> bool {
        *self == TurnEnd::Answered
    }

    /// What the agent did instead of completing the request; `None` when it completed it.
    pub fn describe(self) -> Option<&'static str> {
        Some(match self {
            TurnEnd::Answered => return None,
            TurnEnd::InputRequired => "the agent asks for input",
            TurnEnd::SignInRequired => "the agent asks the user to sign in",
            TurnEnd::Interrupted => "the agent stopped for a decision",
            TurnEnd::LongRunning => "a tool continues in the background",
            TurnEnd::Refused => "the agent refused",
        })
    }
}

/// One recorded step of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InvocationEvent {
    /// The agent that acted.
    pub author: String,
    /// Its texts and calls; `None` for the event whose content became the final response.
    #[serde(default)]
    pub content: Option<Content>,
    /// Whether the event is known to contain all calls of one message of the model, and no others. Not part of ADK's files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_message: bool,
    /// Grounding metadata, opaque.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounding: Option<Value>,
    /// Tokens, if the event reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that responded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_version: Option<String>,
    /// Seconds since the start of the turn, if evaltrail ran it. Not part of ADK's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// An error that the model reported without failing the turn, or why it stopped early. Journals of earlier versions have
    /// a text as `error`.
    #[serde(
        default,
        rename = "model_error",
        alias = "error",
        deserialize_with = "error_or_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub error: Option<ModelError>,
}

/// Token counts of one model call, as the model reported them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, cached tokens included.
    pub prompt: Option<f64>,
    /// Cached prompt tokens.
    pub cached: Option<f64>,
    /// Prompt tokens of tool use.
    pub tool_use: Option<f64>,
    /// Tokens of the response.
    pub candidates: Option<f64>,
    /// Tokens of the reasoning.
    pub thoughts: Option<f64>,
    /// The usage object as received.
    #[serde(default)]
    pub raw: Value,
}

/// Durations in seconds, where known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    /// The whole turn.
    pub total: Option<f64>,
    /// Inside the model.
    pub model: Option<f64>,
    /// Inside tools.
    pub tool: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_with_text_is_not_long_running() {
        let turn = |text: Option<&str>| {
            let final_response = text.map(|text| Content::text("model", text));
            Invocation {
                final_response,
                ..Invocation::default()
            }
            .with_end(TurnEnd::LongRunning, true)
            .end
        };
        assert_eq!(turn(Some("Waiting for the manager.")), TurnEnd::Answered);
        assert_eq!(
            (turn(None), turn(Some(""))),
            (TurnEnd::LongRunning, TurnEnd::LongRunning)
        );
    }
}
