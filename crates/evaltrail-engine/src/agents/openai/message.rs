//! A message of chat completions, as a whole or joined from the pieces of a stream, in the forms of the servers in use.

use super::reply::{CallForm, Reply, RequestedCall};
use super::thinking::without_thoughts;
use crate::agents::messages::{arguments_text, content_text, usage_of};
use evaltrail_core::domain::{ModelError, Part};
use serde_json::{Map, Value, json};

/// The members of a message with the model's thoughts: those of DeepSeek, Qwen, vLLM and llama.cpp; OpenRouter; Ollama.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// A message that is joined from the pieces of a stream.
#[derive(Default)]
pub(super) struct StreamedMessage {
    pub(super) has_begun: bool,
    /// Why the model stopped; null before it did.
    pub(super) finish: Value,
    text: String,
    /// Elements of a content that is a list, and are not texts.
    blocks: Vec<Value>,
    thoughts: [String; THOUGHTS.len()],
    refusal: String,
    calls: Vec<JoinedCall>,
    legacy: Option<RequestedCall>,
    usage: Value,
    model: Value,
}

/// A call that is joined, and the number that the server gives it.
struct JoinedCall {
    index: Option<u64>,
    call: RequestedCall,
    /// Members that are no function.
    other: Option<Value>,
}

impl StreamedMessage {
    /// Adds a piece, and returns how many bytes of it are stored.
    pub(super) fn add(&mut self, piece: &Value, on_text: &mut (dyn FnMut(&str) + Send)) -> usize {
        let take = |into: &mut Value, from: &Value, key: &str| {
            if let Some(value) = from.get(key).filter(|value| !value.is_null()) {
                *into = value.clone();
            }
        };
        take(&mut self.usage, piece, "usage");
        take(&mut self.model, piece, "model");
        let choice = &piece["choices"][0];
        take(&mut self.finish, choice, "finish_reason");
        let Some(delta) = choice.get("delta") else {
            return 0;
        };
        self.has_begun = true;
        let mut stored = self.add_content(&delta["content"], on_text);
        let texts = THOUGHTS
            .iter()
            .zip(&mut self.thoughts)
            .chain([(&"refusal", &mut self.refusal)]);
        for (key, into) in texts {
            let text = content_text(&delta[*key]);
            into.push_str(&text);
            stored += text.len();
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            stored += self.add_call(call);
        }
        if let Some(function) = delta
            .get("function_call")
            .filter(|function| function.is_object())
        {
            let form = CallForm::Legacy;
            let call = self.legacy.get_or_insert_with(|| RequestedCall {
                form,
                ..RequestedCall::default()
            });
            stored += call.add(function);
        }
        stored
    }

    fn add_content(&mut self, content: &Value, on_text: &mut (dyn FnMut(&str) + Send)) -> usize {
        let before = self.text.len();
        let mut stored = 0;
        match content {
            Value::Array(blocks) => {
                for block in blocks {
                    match is_text(block) {
                        true => self.text.push_str(&content_text(&json!([block]))),
                        false => {
                            stored += block.to_string().len();
                            self.blocks.push(block.clone());
                        }
                    }
                }
            }
            text => self.text.push_str(&content_text(text)),
        }
        let new = &self.text[before..];
        if !new.is_empty() {
            on_text(new);
        }
        stored + new.len()
    }

    fn add_call(&mut self, piece: &Value) -> usize {
        let (id, index) = (
            piece["id"].as_str().unwrap_or_default(),
            piece["index"].as_u64(),
        );
        let function = &piece["function"];
        let at = self.position(index, id, function).unwrap_or_else(|| {
            self.calls.push(JoinedCall {
                index,
                call: RequestedCall::default(),
                other: None,
            });
            self.calls.len() - 1
        });
        let joined = &mut self.calls[at];
        if joined.call.id.is_empty() {
            joined.call.id = id.to_string();
        }
        let is_function =
            function.is_object() || piece.get("type").is_none_or(|kind| kind == "function");
        if !is_function {
            joined.other = Some(piece.clone());
        }
        let unread = if is_function {
            0
        } else {
            piece.to_string().len()
        };
        joined.call.add(function) + id.len() + unread + std::mem::size_of::<JoinedCall>()
    }

    /// The call that a piece continues. Servers number calls from 0, or with gaps; give every whole call the number 0, or none;
    /// and repeat the id and the name in each piece, or only in the first.
    fn position(&self, index: Option<u64>, id: &str, function: &Value) -> Option<usize> {
        let at = match index {
            Some(_) => self.calls.iter().rposition(|known| known.index == index)?,
            None if !id.is_empty() => self.calls.iter().rposition(|known| known.call.id == id)?,
            // Without a number and an id, only a piece of arguments continues a call.
            None if !function["name"].is_string() => self.calls.len().checked_sub(1)?,
            None => return None,
        };
        let known = &self.calls[at].call;
        let is_other = !id.is_empty() && !known.id.is_empty() && known.id != id;
        let is_whole = id.is_empty()
            && function["name"]
                .as_str()
                .is_some_and(|name| !name.is_empty())
            && is_object(&known.arguments);
        (!is_other && !is_whole).then_some(at)
    }

    pub(super) fn reply(self) -> Reply {
        let call = |joined: JoinedCall| match joined.other {
            Some(other) => other,
            None => {
                let RequestedCall {
                    id,
                    name,
                    arguments,
                    ..
                } = joined.call;
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            }
        };
        let calls: Vec<Value> = self.calls.into_iter().map(call).collect();
        let content = match self.blocks.is_empty() {
            true => self.text.into(),
            false => {
                let text = Some(json!({"type": "text", "text": self.text}))
                    .filter(|_| !self.text.is_empty());
                Value::Array(self.blocks.into_iter().chain(text).collect())
            }
        };
        let mut message = json!({"role": "assistant", "content": content});
        let texts = THOUGHTS
            .into_iter()
            .zip(self.thoughts)
            .chain([("refusal", self.refusal)]);
        for (key, text) in texts.filter(|(_, text)| !text.is_empty()) {
            message[key] = text.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        if let Some(call) = self.legacy {
            message["function_call"] = json!({"name": call.name, "arguments": call.arguments});
        }
        reply_of(
            message,
            &self.finish,
            &json!({"usage": self.usage, "model": self.model}),
        )
    }
}

fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

impl RequestedCall {
    /// Adds a piece of a function: its name, which some servers repeat in each piece, and arguments. Returns the bytes stored.
    fn add(&mut self, function: &Value) -> usize {
        let name = function["name"].as_str().unwrap_or_default();
        match name.strip_prefix(self.name.as_str()) {
            // The whole name so far, once more.
            Some(_) => {
                self.name = if name.is_empty() {
                    std::mem::take(&mut self.name)
                } else {
                    name.to_string()
                }
            }
            None => self.name.push_str(name),
        }
        let arguments = arguments_text(&function["arguments"]);
        self.arguments.push_str(&arguments);
        name.len() + arguments.len()
    }
}

/// What a message says, with why the model stopped, its usage and its model.
pub(super) fn reply_of(message: Value, finish: &Value, about: &Value) -> Reply {
    let mut reply = Reply {
        usage: usage_of(&about["usage"]),
        model: about["model"].as_str().map(str::to_string),
        error: ModelError::of_finish(finish.as_str(), None),
        ..Reply::default()
    };
    for key in THOUGHTS {
        add_thought(&mut reply.thoughts, content_text(&message[key]));
    }
    if reply.thoughts.is_empty() {
        let details = message["reasoning_details"]
            .as_array()
            .into_iter()
            .flatten();
        details.for_each(|one| add_thought(&mut reply.thoughts, thought_text(one)));
    }
    let mut refusal = content_text(&message["refusal"]);
    let text = add_content(&mut reply, &mut refusal, &message["content"]);
    let (text, thoughts) = without_thoughts(&text);
    thoughts
        .into_iter()
        .for_each(|thought| add_thought(&mut reply.thoughts, thought));
    let said = [text, refusal.clone()]
        .into_iter()
        .find(|text| !text.is_empty());
    reply.texts.splice(0..0, said.map(Part::text));
    reply.refuses = !refusal.is_empty();
    let audio = message.get("audio").filter(|audio| audio.is_object());
    reply
        .texts
        .extend(audio.map(|audio| other_part("audio", audio)));
    add_calls(&mut reply, &message);
    let asks = matches!(finish.as_str(), Some("tool_calls" | "function_call"));
    if asks && reply.calls.is_empty() && reply.others.is_empty() {
        reply
            .others
            .push(other_part("a call that the message does not have", finish));
    }
    reply.said = vec![repeated(message)];
    reply
}

/// Adds a thought, unless another member of the message repeats it.
fn add_thought(thoughts: &mut Vec<String>, thought: String) {
    if !thought.trim().is_empty() && !thoughts.contains(&thought) {
        thoughts.push(thought);
    }
}

/// Adds the content, and returns its texts.
fn add_content(reply: &mut Reply, refusal: &mut String, content: &Value) -> String {
    let Value::Array(blocks) = content else {
        return content_text(content);
    };
    let mut text = String::new();
    for block in blocks {
        let kind = block["type"].as_str().unwrap_or("text");
        match kind {
            _ if is_text(block) => text.push_str(&content_text(&json!([block]))),
            "thinking" | "reasoning" | "redacted_thinking" => {
                add_thought(&mut reply.thoughts, thought_text(block));
            }
            "refusal" => refusal.push_str(&content_text(&block["refusal"])),
            kind if kind.contains("tool") || kind.contains("call") => {
                reply.others.push(other_part(kind, block));
            }
            kind => reply.texts.push(other_part(kind, block)),
        }
    }
    text
}

fn is_text(block: &Value) -> bool {
    block.is_string()
        || (block["text"].is_string() && !block["thought"].as_bool().unwrap_or(false))
            && matches!(
                block["type"].as_str(),
                None | Some("text" | "output_text" | "input_text")
            )
}

/// The words of a block with thoughts.
fn thought_text(block: &Value) -> String {
    let keys = ["text", "thinking", "reasoning", "summary", "content"];
    keys.iter()
        .map(|key| content_text(&block[*key]))
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

fn other_part(kind: &str, value: &Value) -> Part {
    Part {
        rest: Map::from_iter([(kind.to_string(), value.clone())]),
        ..Part::default()
    }
}

fn add_calls(reply: &mut Reply, message: &Value) {
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        match function["name"].as_str() {
            Some(name) => reply.calls.push(RequestedCall {
                id: call["id"].as_str().unwrap_or_default().to_string(),
                name: name.to_string(),
                arguments: arguments_text(&function["arguments"]),
                form: CallForm::Tool,
            }),
            None => reply.others.push(other_part(
                call["type"].as_str().unwrap_or("tool_call"),
                call,
            )),
        }
    }
    let legacy = message.get("function_call").filter(|call| !call.is_null());
    if let (Some(call), true) = (legacy, reply.calls.is_empty()) {
        match call["name"].as_str() {
            Some(name) => reply.calls.push(RequestedCall {
                id: String::new(),
                name: name.to_string(),
                arguments: arguments_text(&call["arguments"]),
                form: CallForm::Legacy,
            }),
            None => reply.others.push(other_part("function_call", call)),
        }
    }
}

/// The message as it is repeated to the model: servers refuse members that they do not know.
fn repeated(message: Value) -> Value {
    let mut out = json!({"role": "assistant", "content": message["content"]});
    let calls = message
        .get("tool_calls")
        .filter(|calls| calls.as_array().is_some_and(|list| !list.is_empty()));
    if let Some(calls) = calls {
        out["tool_calls"] = calls.clone();
    } else if let Some(call) = message.get("function_call").filter(|call| !call.is_null()) {
        out["function_call"] = call.clone();
    }
    out
}

#[cfg(test)]
mod tests;
