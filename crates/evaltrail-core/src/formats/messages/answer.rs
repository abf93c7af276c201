//! What an agent or a model answered, in one value: a text, a message, a list of messages, or the response of a model's
//! interface. An empty or blocked response is none, with the reason as the error.

use super::ParsedConversation;
use super::shape::{is_conversation, is_list_of_messages, is_message, message};
use super::turns::turns;
use super::{calls, chat};
use crate::domain::{Content, Invocation, ModelError, Trajectory, TurnEnd};
use crate::formats::adk;
use crate::formats::read::{JsonNode, Read, below};
use serde_json::{Map, Value};

/// An answer.
#[derive(Debug, Default, PartialEq)]
pub(in crate::formats) struct Answer {
    /// What was said; `None` for an empty answer.
    pub(in crate::formats) response: Option<Content>,
    /// The calls, if the answer contains any, or is a list of all messages of the agent.
    pub(in crate::formats) trajectory: Option<Trajectory>,
    /// Whether the answer is a refusal.
    pub(in crate::formats) end: TurnEnd,
    /// Why the model stopped before the answer was complete.
    pub(in crate::formats) stopped: Vec<ModelError>,
    /// Why there is no response, if the answer says so.
    pub(in crate::formats) error: Option<String>,
}

/// Reads an answer.
pub(in crate::formats) fn answer(node: JsonNode) -> Read<Answer> {
    match node.value {
        Value::Null => Ok(Answer::default()),
        Value::String(text) => Ok(Answer::of_text(text.clone())),
        Value::Number(_) | Value::Bool(_) => Ok(Answer::of_text(node.value.to_string())),
        Value::Array(list) if list.is_empty() => Ok(Answer::default()),
        Value::Array(_) if is_list_of_messages(node.value) => {
            Ok(Answer::of_turn(super::conversation(node)?, true))
        }
        Value::Array(_) => Err(node.wrong("a text, a content with parts, or a list of messages")),
        Value::Object(map) => of_object(node, map),
    }
}

impl Answer {
    pub(in crate::formats) fn of_text(text: impl Into<String>) -> Answer {
        Answer {
            response: Some(Content::text("model", text)),
            ..Answer::default()
        }
    }

    fn failed(why: String) -> Answer {
        Answer {
            error: Some(why),
            ..Answer::default()
        }
    }

    /// The last turn of a conversation. `is_whole`: the list has all messages of the agent, so that without a call in it
    /// none was made.
    fn of_turn(found: ParsedConversation, is_whole: bool) -> Answer {
        let Some(turn) = found.into_turns().pop() else {
            return Answer::default();
        };
        let has_acts =
            !turn.calls().is_empty() || matches!(turn.trajectory, Trajectory::Partial(_));
        let Invocation {
            final_response,
            trajectory,
            end,
            reported_errors,
            ..
        } = turn;
        let trajectory = (has_acts || (is_whole && trajectory.is_known())).then_some(trajectory);
        Answer {
            response: final_response,
            trajectory,
            end,
            stopped: reported_errors,
            error: None,
        }
    }

    fn is_nothing(&self) -> bool {
        self.response.is_none() && self.trajectory.is_none()
    }
}

fn of_object(node: JsonNode, map: &Map<String, Value>) -> Read<Answer> {
    if map.values().all(Value::is_null) {
        return Ok(Answer::default());
    }
    let is_interface = map.contains_key("choices") || below(node.value, &["candidates"]).is_some();
    // The answer of an agent can be an object with `error` among other keys.
    if let Some(error) = map
        .get("error")
        .filter(|error| !error.is_null() && (map.len() == 1 || is_interface))
    {
        return Ok(Answer::failed(error_text(error)));
    }
    if map.contains_key("choices") {
        return of_choices(node);
    }
    if is_interface || below(node.value, &["prompt_feedback"]).is_some() {
        return of_candidates(node);
    }
    if map.contains_key("response") {
        return of_response(node, map);
    }
    if is_conversation(node.value) {
        return of_conversation(node);
    }
    if map.contains_key("parts") {
        return of_content(node);
    }
    if let Some(contents) = node.get("contents") {
        let last = contents.items()?.last();
        return last.map_or_else(|| Ok(Answer::default()), |last| of_content(last));
    }
    if is_message(node.value) {
        return Ok(Answer::of_turn(turns(vec![message(node)?]), false));
    }
    if let Some(text) = node.get("text").filter(|text| text.value.is_string()) {
        return Ok(Answer::of_text(text.str()?));
    }
    // An answer that is data, such as a tool call in the form of Vertex's metrics: {"content": "", "tool_calls": […]}.
    Ok(Answer::of_text(node.value.to_string()))
}

/// A response in its own member. Calls in other members are refused, because their form is not known.
fn of_response(node: JsonNode, map: &Map<String, Value>) -> Read<Answer> {
    let is_call =
        |(key, value): &(&String, &Value)| calls::is_named_as_call(key) && !chat::is_nothing(value);
    if let Some((key, value)) = map.iter().find(is_call) {
        let expected = "no calls beside the response; calls are in reference_trajectory or predicted_trajectory";
        return Err(node.below(key, value).wrong(expected));
    }
    node.get("response")
        .map_or_else(|| Ok(Answer::default()), answer)
}

/// A state, or a response of OpenAI's Responses with its status.
fn of_conversation(node: JsonNode) -> Read<Answer> {
    let found = Answer::of_turn(super::conversation(node)?, true);
    let reason = || {
        let details = below(node.value, &["error"])
            .filter(|error| !error.is_null())
            .map(error_text);
        let incomplete =
            below(node.value, &["incomplete_details", "reason"]).and_then(Value::as_str);
        details.or_else(|| incomplete.map(|why| format!("the response is incomplete: {why}")))
    };
    if found.is_nothing() {
        return Ok(Answer {
            error: reason(),
            ..found
        });
    }
    let incomplete = below(node.value, &["incomplete_details", "reason"]).and_then(Value::as_str);
    let stopped = ModelError::of_finish(incomplete, None);
    Ok(Answer {
        stopped: stopped.into_iter().chain(found.stopped).collect(),
        ..found
    })
}

fn error_text(error: &Value) -> String {
    let words = error.get("message").unwrap_or(error);
    words
        .as_str()
        .map_or_else(|| words.to_string(), str::to_string)
}

/// A content of Gemini or ADK. One without calls is preserved as it is.
fn of_content(node: JsonNode) -> Read<Answer> {
    let parts = node
        .value
        .get("parts")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    if parts.is_empty() {
        return Ok(Answer::default());
    }
    let is_typed = parts.iter().any(|part| part.get("type").is_some());
    if !is_typed {
        let content = adk::read_content(node)?;
        if content.calls().next().is_none() && content.responses().next().is_none() {
            return Ok(Answer {
                response: Some(content),
                ..Answer::default()
            });
        }
    }
    let mut message = message(node)?;
    message.role = super::MessageRole::Model;
    Ok(Answer::of_turn(turns(vec![message]), false))
}

fn of_choices(node: JsonNode) -> Read<Answer> {
    let choices = node.need("choices")?;
    let Some(first) = choices.items()?.next() else {
        return Ok(Answer::failed("the response has no choices".into()));
    };
    let reason = below(first.value, &["finish_reason"]).and_then(Value::as_str);
    let found = match (first.get("message"), first.get("text")) {
        (Some(message), _) => {
            let mut message = super::chat::message(super::MessageRole::Model, message)?;
            message.author = None;
            Answer::of_turn(turns(vec![message]), false)
        }
        (None, Some(text)) => Answer::of_text(text.str()?),
        (None, None) => Answer::default(),
    };
    Ok(or_empty(found, reason, chat::stopped_early(first)))
}

fn of_candidates(node: JsonNode) -> Read<Answer> {
    let candidates = node.get("candidates");
    let first = match &candidates {
        Some(candidates) => candidates.items()?.next(),
        None => None,
    };
    let Some(first) = first else {
        let text = |key: &str| below(node.value, &["prompt_feedback", key]).and_then(Value::as_str);
        let why = ["block_reason", "block_reason_message"]
            .into_iter()
            .filter_map(text)
            .collect::<Vec<_>>()
            .join(": ");
        return Ok(Answer::failed(match why.is_empty() {
            true => "the response has no candidates".into(),
            false => format!("the model blocked the prompt: {why}"),
        }));
    };
    let text = |key: &str| below(first.value, &[key]).and_then(Value::as_str);
    let reason = [text("finish_reason"), text("finish_message")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(": ");
    let found = first
        .get("content")
        .map_or_else(|| Ok(Answer::default()), of_content)?;
    Ok(or_empty(
        found,
        Some(reason.as_str()).filter(|reason| !reason.is_empty()),
        chat::stopped_early(first),
    ))
}

/// An answer with the reason why the model stopped early, or why there is neither a response nor a call.
fn or_empty(found: Answer, reason: Option<&str>, stopped: Option<ModelError>) -> Answer {
    let is_empty = found.trajectory.is_none()
        && found
            .response
            .as_ref()
            .is_none_or(|said| !has_visible_content(said));
    match (is_empty, reason) {
        (false, _) => Answer {
            stopped: found.stopped.into_iter().chain(stopped).collect(),
            ..found
        },
        (true, Some(reason)) => Answer::failed(format!("the response is empty: {reason}")),
        (true, None) => Answer::failed("the response is empty".into()),
    }
}

fn has_visible_content(content: &Content) -> bool {
    content
        .parts
        .iter()
        .any(|part| part.has_text() || !part.rest.is_empty())
}
