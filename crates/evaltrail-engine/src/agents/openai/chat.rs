//! Chat completions.

use super::message::{StreamedMessage, reply_of};
use super::reply::{CallForm, Reply, RequestedCall, failure};
use crate::agents::messages::history_messages;
use crate::agents::remote::Remote;
use crate::agents::{AgentError, ErrorKind, TurnBudget};
use evaltrail_core::domain::{Invocation, OpenaiSettings};
use reqwest::Response;
use serde_json::{Value, json};

/// The messages before the first one of the user.
pub(super) fn beginning(settings: &OpenaiSettings, history: &[Invocation]) -> Vec<Value> {
    let system = (!settings.system.is_empty())
        .then(|| json!({"role": "system", "content": settings.system}));
    system
        .into_iter()
        .chain(history_messages(history))
        .collect()
}

pub(super) fn request(settings: &OpenaiSettings, tools: &[Value], messages: &[Value]) -> Value {
    let mut body = json!({"model": settings.model, "messages": messages});
    if !tools.is_empty() {
        let tool = |function: &Value| json!({"type": "function", "function": function});
        body["tools"] = tools.iter().map(tool).collect();
    }
    if settings.stream {
        body["stream"] = true.into();
        body["stream_options"] = json!({"include_usage": true});
    }
    body
}

/// The message with the result of a call.
pub(super) fn result(asked: &RequestedCall, text: &str) -> Value {
    match asked.form {
        CallForm::Tool => json!({"role": "tool", "tool_call_id": asked.id, "content": text}),
        CallForm::Legacy => json!({"role": "function", "name": asked.name, "content": text}),
    }
}

/// Reads a reply that is not streamed.
pub(super) fn parse_reply(remote: &Remote, answer: &Value) -> Result<Reply, AgentError> {
    failure(remote, answer)?;
    let choice = &answer["choices"][0];
    if !choice["message"].is_object() {
        return Err(remote.error(ErrorKind::Protocol, "the reply has no message"));
    }
    failure(remote, choice)?;
    Ok(reply_of(
        choice["message"].clone(),
        &choice["finish_reason"],
        answer,
    ))
}

/// Reads a reply piece by piece.
pub(super) async fn streamed(
    remote: &Remote,
    response: Response,
    budget: &mut TurnBudget,
    on_text: &mut (dyn FnMut(&str) + Send),
) -> Result<Reply, AgentError> {
    let mut joined = StreamedMessage::default();
    let mut items = remote.items(response, budget.take_rest());
    while let Some(item) = items.next().await? {
        failure(remote, &item.value)?;
        failure(remote, &item.value["choices"][0])?;
        items.charge(joined.add(&item.value, on_text))?;
    }
    *budget = items.into_budget();
    if !joined.has_begun {
        return Err(remote.error(ErrorKind::Protocol, "the reply has no message"));
    }
    if joined.finish.is_null() {
        return Err(remote.error(
            ErrorKind::Protocol,
            "the stream ended before the reply was complete",
        ));
    }
    Ok(joined.reply())
}
