//! Events as ADK's servers send them, and the invocations that ADK builds from them.

use super::content::{content, part, write_content};
use super::model_request::{ModelRequest, app_details, model_request};
use crate::domain::{
    Content, Invocation, InvocationEvent, ModelError, Trajectory, Usage, plausible_count,
};
use crate::formats::read::{JsonNode, Read};
use serde_json::{Value, json};

/// One event of an agent, as `/run_sse` sends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// The turn it belongs to.
    pub invocation_id: String,
    /// Who acted: an agent's name, or `user`.
    pub author: String,
    /// Texts, tool calls and tool responses.
    pub content: Option<Content>,
    /// Whether the event is never a final response, although it has neither calls nor responses: thoughts, and texts before
    /// another step of the model.
    pub is_intermediate: bool,
    /// Whether the event is known to contain all calls of one message of the model, and no others.
    pub is_message: bool,
    /// A part of a message that is later sent as a whole; never scored.
    pub partial: bool,
    /// Unix seconds.
    pub timestamp: Option<f64>,
    /// Seconds since the turn began; `None` where the time of arrival is not known.
    pub at: Option<f64>,
    /// The error that the model reported, or why it stopped early.
    pub error: Option<ModelError>,
    /// Whether the event has an error code, and not only a finish reason.
    pub has_error_code: bool,
    /// Grounding metadata, opaque.
    pub grounding: Option<Value>,
    /// Token counts.
    pub usage: Option<Usage>,
    /// The model that responded.
    pub model_version: Option<String>,
    /// Whether the tool's response is the final response.
    pub skip_summarization: bool,
    /// Whether a call of this event continues in the background.
    pub has_long_running: bool,
    /// A value that a workflow produced.
    pub output: Option<Value>,
    /// The instructions and tools that the agent's model received, where they are known.
    pub request: Option<ModelRequest>,
}

/// Reads an event in either spelling.
pub fn read_event(value: &Value) -> Result<Event, crate::formats::ReadError> {
    event(JsonNode::top(value))
}

pub(in crate::formats) fn event(node: JsonNode) -> Read<Event> {
    node.object()?;
    let author = node.opt_str("author")?.unwrap_or_default();
    let error = model_error(node).map(|error| error.by(&author, None));
    let actions = node.get("actions");
    let truthy = |value: Option<JsonNode>| value.is_some_and(|n| n.value.as_bool() == Some(true));
    let long_running = node.get("long_running_tool_ids");
    Ok(Event {
        invocation_id: node.opt_str("invocation_id")?.unwrap_or_default(),
        author,
        content: node.get("content").map(content).transpose()?,
        is_intermediate: false,
        is_message: false,
        partial: truthy(node.get("partial")),
        timestamp: node.opt_number("timestamp")?,
        at: None,
        error,
        has_error_code: node
            .get("error_code")
            .is_some_and(|code| !text_of(code.value).is_empty()),
        grounding: node.get("grounding_metadata").map(|n| n.value.clone()),
        usage: node.get("usage_metadata").map(usage).transpose()?,
        model_version: node.opt_str("model_version")?,
        skip_summarization: actions
            .is_some_and(|actions| truthy(actions.get("skip_summarization"))),
        has_long_running: long_running
            .is_some_and(|ids| ids.value.as_array().is_some_and(|ids| !ids.is_empty())),
        output: node.get("output").map(|n| n.value.clone()),
        request: model_request(node),
    })
}

/// The error that an object with the members of an event reports: `errorCode` and `errorMessage`, or `finishReason`.
pub fn reported_error(value: &Value) -> Option<ModelError> {
    value
        .is_object()
        .then(|| model_error(JsonNode::top(value)))
        .flatten()
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_string)
}

/// The error code and message of an event, else its finish reason if the response is not complete. The code of an event
/// without content is often its finish reason.
fn model_error(node: JsonNode) -> Option<ModelError> {
    // Codes are numbers in some of ADK's languages.
    let text = |key: &str| {
        node.get(key)
            .map(|node| text_of(node.value))
            .unwrap_or_default()
    };
    let (code, message) = (text("error_code"), text("error_message"));
    ModelError::reported(Some(&code), Some(&message)).or_else(|| {
        ModelError::of_finish(Some(&text("finish_reason")), Some(&text("finish_message")))
    })
}

pub(super) fn usage(node: JsonNode) -> Read<Usage> {
    node.object()?;
    let count =
        |key: &str| -> Read<Option<f64>> { Ok(node.opt_number(key)?.and_then(plausible_count)) };
    Ok(Usage {
        prompt: count("prompt_token_count")?,
        cached: count("cached_content_token_count")?,
        tool_use: count("tool_use_prompt_token_count")?,
        candidates: count("candidates_token_count")?,
        thoughts: count("thoughts_token_count")?,
        raw: node.value.clone(),
    })
}

/// Reads an event as an eval set or a result stores it.
pub(super) fn invocation_event(node: JsonNode) -> Read<InvocationEvent> {
    node.object()?;
    Ok(InvocationEvent {
        author: node.need("author")?.str()?,
        content: node.get("content").map(content).transpose()?,
        is_message: false,
        grounding: node.get("grounding_metadata").map(|n| n.value.clone()),
        usage: node.get("usage_metadata").map(usage).transpose()?,
        model_version: node.opt_str("model_version")?,
        at: None,
        error: None,
    })
}

/// An event as an eval set or a result stores it.
pub(super) fn write_event(event: &InvocationEvent) -> Value {
    json!({
        "author": event.author,
        "content": event.content.as_ref().map(write_content),
        "grounding_metadata": event.grounding,
        "usage_metadata": event.usage.as_ref().map(|usage| usage.raw.clone()),
        "model_version": event.model_version,
    })
}

pub(super) fn authored_parts(node: JsonNode) -> Read<(String, Vec<crate::domain::Part>)> {
    let mut items = node.items()?;
    match (items.next(), items.next(), items.next()) {
        (Some(author), Some(parts), None) => Ok((
            author.str()?,
            parts.items()?.map(part).collect::<Read<_>>()?,
        )),
        _ => Err(node.wrong("[author, [parts]]")),
    }
}

impl Event {
    /// Whether the event is a final response of the agent (ADK's `is_final_response`).
    pub fn is_final(&self) -> bool {
        if self.is_intermediate {
            return false;
        }
        if self.skip_summarization || self.has_long_running {
            return true;
        }
        let content = self.content.as_ref();
        let calls = content.is_some_and(|c| c.calls().next().is_some());
        if self.has_error_code && !self.partial && !calls {
            return true;
        }
        let responses = content.is_some_and(|c| c.responses().next().is_some());
        let ends_in_code = content
            .and_then(|c| c.parts.last())
            .is_some_and(|part| part.has("code_execution_result", "codeExecutionResult"));
        !calls && !responses && !self.partial && !ends_in_code
    }

    fn is_worth_keeping(&self) -> bool {
        let Some(content) = &self.content else {
            return self.grounding.is_some();
        };
        // A step of an agent of another kind, of which only the token counts are known.
        let is_step = self.is_intermediate && self.usage.is_some();
        self.grounding.is_some()
            || is_step
            || content.parts.iter().any(|part| {
                part.call.is_some()
                    || part.response.is_some()
                    || part.has_text()
                    || part.has("inline_data", "inlineData")
            })
    }

    fn to_invocation_event(&self) -> InvocationEvent {
        InvocationEvent {
            author: self.author.clone(),
            content: self.content.clone(),
            is_message: self.is_message,
            grounding: self.grounding.clone(),
            usage: self.usage.clone(),
            model_version: self.model_version.clone(),
            at: self.at,
            error: self.located_error(),
        }
    }

    /// The error with the time of the event.
    fn located_error(&self) -> Option<ModelError> {
        self.error
            .clone()
            .map(|error| error.by(&self.author, self.at))
    }
}

/// Groups events by invocation, in first-seen order, and builds each invocation as ADK does
/// (`evaluation_generator.py`, 2.13).
pub fn invocations_of(events: &[Event]) -> Vec<Invocation> {
    let mut order: Vec<&str> = Vec::new();
    for event in events {
        if !order.contains(&event.invocation_id.as_str()) {
            order.push(&event.invocation_id);
        }
    }
    order
        .into_iter()
        .map(|id| invocation(id, events.iter().filter(|event| event.invocation_id == id)))
        .collect()
}

fn invocation<'a>(id: &str, events: impl Iterator<Item = &'a Event>) -> Invocation {
    let mut user = Content::default();
    let mut created = 0.0;
    let mut answer: Option<(Content, Option<usize>)> = None;
    let mut kept: Vec<InvocationEvent> = Vec::new();
    let mut requests: Vec<(&str, &ModelRequest)> = Vec::new();
    let mut reported_errors = Vec::new();
    for event in events {
        requests.extend(
            event
                .request
                .as_ref()
                .map(|request| (event.author.as_str(), request)),
        );
        if event.author.eq_ignore_ascii_case("user") {
            if let Some(content) = &event.content {
                user = content.clone();
                created = event.timestamp.unwrap_or(0.0);
            }
            continue;
        }
        let content = event
            .content
            .as_ref()
            .filter(|content| !content.parts.is_empty());
        let keep = event.is_worth_keeping();
        if let Some(content) = content.filter(|_| event.is_final()) {
            let stays =
                answer.as_ref().is_some_and(|(now, _)| now.has_text()) && !content.has_text();
            if !stays {
                answer = Some((content.clone(), keep.then_some(kept.len())));
            }
        }
        match keep {
            true => kept.push(event.to_invocation_event()),
            // A partial event is repeated as a whole.
            false => reported_errors.extend(event.located_error().filter(|_| !event.partial)),
        }
    }
    if let Some((content, Some(at))) = &answer
        && content.calls().next().is_none()
    {
        kept[*at].content = None;
    }
    let (app_details, app_details_source) = app_details(&requests);
    Invocation {
        id: id.to_string(),
        user,
        final_response: answer.map(|(content, _)| content),
        trajectory: Trajectory::Events(kept),
        app_details,
        app_details_source,
        created,
        reported_errors,
        ..Invocation::default()
    }
}

/// The events of a turn as one invocation that begins with the user's message.
pub fn invocation_of(user: &Content, mut events: Vec<Event>) -> Invocation {
    let id = events
        .first()
        .map(|event| event.invocation_id.clone())
        .unwrap_or_default();
    let timestamp = events.first().and_then(|event| event.timestamp);
    for event in &mut events {
        event.invocation_id.clone_from(&id);
    }
    let said = Event {
        invocation_id: id,
        author: "user".into(),
        content: Some(user.clone()),
        timestamp,
        ..Event::default()
    };
    events.insert(0, said);
    invocations_of(&events)
        .into_iter()
        .next()
        .unwrap_or_default()
}
