//! Chat completions.

use super::{AskedCall, Reply, failure};
use crate::agents::messages::{content_text, history_messages, usage_of};
use crate::agents::remote::Remote;
use crate::agents::{AgentError, ErrorKind, TurnBudget};
use crate::domain::{Invocation, OpenaiSettings, Part};
use reqwest::Response;
use serde_json::{Value, json};

/// The messages before the first one of the user.
pub(super) fn beginning(settings: &OpenaiSettings, history: &[Invocation]) -> Vec<Value> {
    let system = (!settings.system.is_empty()).then(|| json!({"role": "system", "content": settings.system}));
    system.into_iter().chain(history_messages(history)).collect()
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
pub(super) fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// Reads a reply that is not streamed.
pub(super) fn whole(remote: &Remote, answer: &Value) -> Result<Reply, AgentError> {
    failure(remote, answer)?;
    let Some(message) = answer["choices"][0].get("message") else {
        return Err(remote.error(ErrorKind::Protocol, "the reply has no message"));
    };
    Ok(reply_of(message.clone(), answer))
}

/// Reads a reply piece by piece.
pub(super) async fn streamed(
    remote: &Remote,
    response: Response,
    budget: &mut TurnBudget,
    on_text: &mut (dyn FnMut(&str) + Send),
) -> Result<Reply, AgentError> {
    let mut joined = Joined::default();
    let mut items = remote.items(response, budget.split());
    while let Some(item) = items.next().await? {
        failure(remote, &item.value)?;
        items.keep(joined.add(&item.value, on_text))?;
    }
    *budget = items.into_budget();
    if !joined.has_begun {
        return Err(remote.error(ErrorKind::Protocol, "the reply has no message"));
    }
    if !joined.has_ended {
        return Err(remote.error(ErrorKind::Protocol, "the stream ended before the reply was complete"));
    }
    let about = json!({"usage": joined.usage, "model": joined.model});
    Ok(reply_of(joined.message(), &about))
}

/// A message that is joined from the pieces of a stream.
#[derive(Default)]
struct Joined {
    has_begun: bool,
    /// Whether the model said why it stopped.
    has_ended: bool,
    text: String,
    thought: String,
    refusal: String,
    calls: Vec<AskedCall>,
    usage: Value,
    model: Value,
}

impl Joined {
    /// Adds a piece, and returns how many bytes of it are stored.
    fn add(&mut self, piece: &Value, on_text: &mut (dyn FnMut(&str) + Send)) -> usize {
        let take = |into: &mut Value, key: &str| {
            if let Some(value) = piece.get(key).filter(|value| !value.is_null()) {
                *into = value.clone();
            }
        };
        take(&mut self.usage, "usage");
        take(&mut self.model, "model");
        let Some(delta) = piece["choices"][0].get("delta") else { return 0 };
        self.has_begun = true;
        self.has_ended |= piece["choices"][0]["finish_reason"].is_string();
        let text = |key: &str| delta[key].as_str().unwrap_or_default();
        let mut stored = 0;
        if !text("content").is_empty() {
            on_text(text("content"));
        }
        for (into, piece) in [
            (&mut self.text, text("content")),
            (&mut self.thought, text("reasoning_content")),
            (&mut self.refusal, text("refusal")),
        ] {
            into.push_str(piece);
            stored += piece.len();
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            stored += self.add_call(call);
        }
        stored
    }

    fn add_call(&mut self, piece: &Value) -> usize {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let (id, function) = (text(&piece["id"]), &piece["function"]);
        // Servers that do not number calls send each as a whole.
        let at = piece["index"].as_u64().map_or(self.calls.len(), |at| at as usize);
        // A gap in the numbers is not filled: a number may be huge.
        let at = at.min(self.calls.len());
        if at == self.calls.len() {
            self.calls.push(AskedCall { id: String::new(), name: String::new(), arguments: String::new() });
        }
        let call = &mut self.calls[at];
        if !id.is_empty() {
            call.id = id;
        }
        let (name, arguments) = (text(&function["name"]), text(&function["arguments"]));
        call.name.push_str(&name);
        call.arguments.push_str(&arguments);
        name.len() + arguments.len() + std::mem::size_of::<AskedCall>()
    }

    fn message(self) -> Value {
        let call = |call: &AskedCall| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}});
        let calls: Vec<Value> = self.calls.iter().map(call).collect();
        let mut message = json!({"role": "assistant", "content": self.text});
        for (key, text) in [("reasoning_content", self.thought), ("refusal", self.refusal)] {
            if !text.is_empty() {
                message[key] = text.into();
            }
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        message
    }
}

fn reply_of(message: Value, about: &Value) -> Reply {
    let text = |key: &str| content_text(&message[key]);
    let thought = Some(text("reasoning_content")).filter(|text| !text.is_empty());
    let thought = thought.map(|text| Part { thought: true, ..Part::text(text) });
    let refusal = text("refusal");
    let said = [text("content"), refusal.clone()].into_iter().find(|text| !text.is_empty());
    let call = |call: &Value| AskedCall {
        id: call["id"].as_str().unwrap_or_default().to_string(),
        name: call["function"]["name"].as_str().unwrap_or_default().to_string(),
        arguments: content_text(&call["function"]["arguments"]),
    };
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(call).collect();
    Reply {
        texts: thought.into_iter().chain(said.map(Part::text)).collect(),
        calls,
        usage: usage_of(&about["usage"]),
        model: about["model"].as_str().map(str::to_string),
        refuses: !refusal.is_empty(),
        said: vec![repeated(message)],
        others: Vec::new(),
    }
}

/// The message as it is repeated to the model: servers refuse members that they do not know.
fn repeated(message: Value) -> Value {
    let mut out = json!({"role": "assistant", "content": message["content"]});
    if let Some(calls) =
        message.get("tool_calls").filter(|calls| calls.as_array().is_some_and(|list| !list.is_empty()))
    {
        out["tool_calls"] = calls.clone();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_stream_are_joined() {
        let mut joined = Joined::default();
        let mut heard = String::new();
        let call = |index: u64, piece: &str| json!({"choices": [{"delta": {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}}]});
        let first = json!({"choices": [{"delta": {"content": "Hm", "tool_calls": [{"index": 0, "id": "a", "function": {"name": "t", "arguments": "{\"n\""}}]}}]});
        let end = json!({"choices": [], "usage": {"prompt_tokens": 3}});
        for piece in [first, call(0, ": 1}"), call(4_000_000_000, "{}"), end] {
            joined.add(&piece, &mut |text| heard.push_str(text));
        }
        let usage = json!({"usage": joined.usage});
        let reply = reply_of(joined.message(), &usage);
        assert_eq!((heard.as_str(), reply.calls.len(), reply.usage.unwrap().prompt), ("Hm", 2, Some(3.0)));
        assert_eq!((reply.calls[0].id.as_str(), reply.calls[0].arguments.as_str()), ("a", "{\"n\": 1}"));
        assert_eq!(reply.said[0]["tool_calls"][0]["function"]["name"], "t");
    }
}
