//! The Responses interface.

use super::reply::{CallForm, Reply, RequestedCall, failure};
use crate::agents::messages::{arguments_text, content_text, history_messages, usage_of};
use crate::agents::remote::Remote;
use crate::agents::{AgentError, ErrorKind, TurnBudget};
use evaltrail_core::domain::{Invocation, ModelError, OpenaiSettings, Part};
use reqwest::Response;
use serde_json::{Map, Value, json};

/// The items before the first message of the user.
pub(super) fn beginning(history: &[Invocation]) -> Vec<Value> {
    history_messages(history)
        .into_iter()
        .flat_map(items_of)
        .collect()
}

/// A message of chat completions as items.
fn items_of(message: Value) -> Vec<Value> {
    if message["role"] == "tool" {
        return vec![result(
            message["tool_call_id"].as_str().unwrap_or_default(),
            &content_text(&message["content"]),
        )];
    }
    let call = |call: &Value| json!({"type": "function_call", "call_id": call["id"], "name": call["function"]["name"], "arguments": call["function"]["arguments"]});
    let calls: Vec<Value> = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(call)
        .collect();
    let text = content_text(&message["content"]);
    let said = (!text.is_empty()).then(|| json!({"role": message["role"], "content": text}));
    said.into_iter().chain(calls).collect()
}

pub(super) fn request(settings: &OpenaiSettings, tools: &[Value], items: &[Value]) -> Value {
    // The whole input is sent each time: servers without a database forget earlier responses.
    let mut body = json!({"model": settings.model, "input": items, "store": false});
    // Nothing is stored, so reasoning can be repeated only in its encrypted form.
    body["include"] = json!(["reasoning.encrypted_content"]);
    if !settings.system.is_empty() {
        body["instructions"] = settings.system.clone().into();
    }
    if !tools.is_empty() {
        let tool = |function: &Value| {
            let mut tool = function.clone();
            tool["type"] = "function".into();
            tool
        };
        body["tools"] = tools.iter().map(tool).collect();
    }
    if settings.stream {
        body["stream"] = true.into();
    }
    body
}

/// The item with the result of a call.
pub(super) fn result(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

/// Reads a response that is not streamed.
pub(super) fn parse_reply(remote: &Remote, response: &Value) -> Result<Reply, AgentError> {
    failure(remote, response)?;
    let Some(output) = response["output"].as_array() else {
        return Err(remote.error(ErrorKind::Protocol, "the response has no output"));
    };
    Ok(reply_of(output, response))
}

/// Reads a response item by item.
pub(super) async fn streamed(
    remote: &Remote,
    response: Response,
    budget: &mut TurnBudget,
    on_text: &mut (dyn FnMut(&str) + Send),
) -> Result<Reply, AgentError> {
    let mut output = Vec::new();
    let mut ended = None;
    let mut items = remote.items(response, budget.take_rest());
    while let Some(item) = items.next().await? {
        let size = item.size;
        let mut value = item.value;
        match value["type"].as_str().unwrap_or(&item.name) {
            "response.output_text.delta" => on_text(value["delta"].as_str().unwrap_or_default()),
            "response.output_item.done" => {
                items.charge(size)?;
                output.push(value["item"].take());
            }
            "response.completed" | "response.incomplete" => ended = Some(value["response"].take()),
            "response.failed" => {
                failure(remote, &value["response"])?;
                return Err(
                    remote.error(ErrorKind::Agent, "the response failed without saying why")
                );
            }
            "error" => {
                return Err(remote.reported(&value, "the server reported an error"));
            }
            // An error without a type, as proxies send it.
            _ => failure(remote, &value)?,
        }
    }
    *budget = items.into_budget();
    let Some(ended) = ended else {
        return Err(remote.error(
            ErrorKind::Protocol,
            "the stream ended before the response was complete",
        ));
    };
    if output.is_empty() {
        output = ended["output"].as_array().cloned().unwrap_or_default();
    }
    Ok(reply_of(&output, &ended))
}

/// Why a response is not complete.
fn incomplete(response: &Value) -> Option<ModelError> {
    let status = response["status"].as_str();
    let reason = response["incomplete_details"]["reason"].as_str();
    ModelError::of_finish(reason.or(status), None)
}

fn reply_of(output: &[Value], response: &Value) -> Reply {
    let mut reply = Reply {
        usage: usage_of(&response["usage"]),
        model: response["model"].as_str().map(str::to_string),
        error: incomplete(response),
        ..Reply::default()
    };
    for item in output {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_string();
        match item["type"].as_str().unwrap_or("message") {
            "message" => {
                let blocks = item["content"].as_array().cloned().unwrap_or_default();
                reply.refuses |= blocks.iter().any(|block| block["type"] == "refusal");
                let words =
                    |block: &Value| content_text(&block["text"]) + &content_text(&block["refusal"]);
                let said: String = blocks.iter().map(words).collect();
                reply
                    .texts
                    .extend((!said.is_empty()).then(|| Part::text(said)));
            }
            "reasoning" => {
                // Open models send the reasoning itself.
                let thoughts = [
                    content_text(&item["summary"]),
                    content_text(&item["content"]),
                ];
                reply
                    .thoughts
                    .extend(thoughts.into_iter().filter(|text| !text.is_empty()));
            }
            "function_call" => reply.calls.push(RequestedCall {
                id: text("call_id"),
                name: text("name"),
                arguments: arguments_text(&item["arguments"]),
                form: CallForm::Tool,
            }),
            // Calls that the server made itself, and what no interface describes: displayed, not scored.
            kind => reply.others.push(Part {
                rest: Map::from_iter([(kind.to_string(), item.clone())]),
                ..Part::default()
            }),
        }
        let is_lost = item["type"] == "reasoning" && !item["encrypted_content"].is_string();
        if !is_lost {
            reply.said.push(repeated(item));
        }
    }
    reply
}

/// The item as it is repeated to the model, without what only responses have.
fn repeated(item: &Value) -> Value {
    let is_known = matches!(
        item["type"].as_str(),
        None | Some("message" | "function_call" | "reasoning")
    );
    if !is_known {
        return item.clone();
    }
    let keys = [
        "type",
        "role",
        "content",
        "call_id",
        "name",
        "arguments",
        "id",
        "summary",
        "encrypted_content",
    ];
    let is_message = item["type"].as_str().unwrap_or("message") == "message";
    let members = item.as_object().into_iter().flatten();
    let kept = members
        .filter(|(key, _)| keys.contains(&key.as_str()) && !(key.as_str() == "id" && is_message));
    Value::Object(
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_become_texts_and_calls() {
        let output = [
            json!({"type": "reasoning", "summary": [{"text": "so"}]}),
            json!({"type": "function_call", "id": "fc", "call_id": "c1", "name": "t", "arguments": "{\"n\": 1}"}),
            json!({"type": "mcp_tools_fetched", "tools": []}),
            json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}),
        ];
        let reply = reply_of(&output, &json!({"usage": {"input_tokens": 2}}));
        assert_eq!(
            (
                reply.calls[0].id.as_str(),
                reply.texts.len(),
                reply.others.len()
            ),
            ("c1", 1, 1)
        );
        assert_eq!(
            (reply.thoughts, reply.refuses),
            (vec!["so".to_string()], false)
        );
        assert_eq!(
            reply.others[0].label().as_deref(),
            Some("[mcp_tools_fetched]")
        );
    }

    #[test]
    fn a_message_of_the_history_becomes_items() {
        let call = json!({"id": "c1", "function": {"name": "t", "arguments": "{}"}});
        let items = items_of(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
        assert_eq!(
            items,
            [json!({"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}"})]
        );
        assert_eq!(
            items_of(json!({"role": "tool", "tool_call_id": "c1", "content": "4"})),
            [result("c1", "4")]
        );
    }
}
