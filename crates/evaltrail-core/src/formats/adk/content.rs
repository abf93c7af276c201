//! Contents, parts, calls and responses, read from either spelling and written as ADK writes them.

use crate::domain::{Content, Part, ToolCall, ToolResponse};
use crate::formats::read::{JsonNode, Read};
use serde_json::{Map, Value, json};

pub(in crate::formats) fn content(node: JsonNode) -> Read<Content> {
    node.object()?;
    Ok(Content {
        role: node.opt_str("role")?,
        parts: node.list("parts", part)?,
    })
}

pub(in crate::formats) fn part(node: JsonNode) -> Read<Part> {
    node.object()?;
    Ok(Part {
        text: node.opt_str("text")?,
        thought: node
            .get("thought")
            .is_some_and(|thought| thought.value.as_bool() == Some(true)),
        call: node.get("function_call").map(call).transpose()?,
        response: node.get("function_response").map(response).transpose()?,
        rest: node
            .others(&["text", "thought", "function_call", "function_response"])
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
    })
}

pub(super) fn call(node: JsonNode) -> Read<ToolCall> {
    node.object()?;
    let args = match node.get("args") {
        Some(args) => Some(args.object()?.clone()),
        None => None,
    };
    Ok(ToolCall {
        id: node.opt_str("id")?,
        name: node.opt_str("name")?.unwrap_or_default(),
        args,
        ..ToolCall::default()
    })
}

pub(super) fn response(node: JsonNode) -> Read<ToolResponse> {
    node.object()?;
    Ok(ToolResponse {
        id: node.opt_str("id")?,
        name: node.opt_str("name")?.unwrap_or_default(),
        response: node
            .get("response")
            .map(|response| response.value.clone())
            .unwrap_or_default(),
    })
}

/// A content as ADK writes it: snake_case, without unset fields.
pub fn write_content(content: &Content) -> Value {
    with_parts(content, write_part)
}

/// A content like [`write_content`], with the results of tools as they are, also those that are no objects. ADK does not
/// read those.
pub(in crate::formats) fn write_content_as_is(content: &Content) -> Value {
    with_parts(content, |part| {
        let mut out = write_part(part);
        if let Some(response) = &part.response {
            out["function_response"] = response_with(response, response.response.clone());
        }
        out
    })
}

fn with_parts(content: &Content, write: impl Fn(&Part) -> Value) -> Value {
    let mut out = Map::new();
    out.insert("parts".into(), content.parts.iter().map(write).collect());
    if let Some(role) = &content.role {
        out.insert("role".into(), role.clone().into());
    }
    Value::Object(out)
}

pub(super) fn write_part(part: &Part) -> Value {
    let mut out = Map::new();
    if let Some(text) = &part.text {
        out.insert("text".into(), text.clone().into());
    }
    if part.thought {
        out.insert("thought".into(), true.into());
    }
    if let Some(call) = &part.call {
        out.insert("function_call".into(), write_call(call));
    }
    if let Some(response) = &part.response {
        out.insert("function_response".into(), write_response(response));
    }
    out.extend(part.rest.clone());
    Value::Object(out)
}

pub(super) fn write_call(call: &ToolCall) -> Value {
    let mut out = Map::new();
    if let Some(id) = &call.id {
        out.insert("id".into(), id.clone().into());
    }
    if let Some(args) = &call.args {
        out.insert("args".into(), args.clone().into());
    }
    out.insert("name".into(), call.name.clone().into());
    Value::Object(out)
}

/// The value of a tool's response in ADK, which is an object: ADK writes any other value as `{"result": …}`.
pub(in crate::formats) fn response_object(value: Value) -> Value {
    if value.is_object() {
        value
    } else {
        json!({ "result": value })
    }
}

/// A tool's response as ADK reads it. Null is no response.
pub(super) fn write_response(response: &ToolResponse) -> Value {
    let value = match &response.response {
        Value::Null => Value::Null,
        value => response_object(value.clone()),
    };
    response_with(response, value)
}

fn response_with(response: &ToolResponse, value: Value) -> Value {
    let mut out = Map::new();
    if let Some(id) = &response.id {
        out.insert("id".into(), id.clone().into());
    }
    out.insert("name".into(), response.name.clone().into());
    if !value.is_null() {
        out.insert("response".into(), value);
    }
    Value::Object(out)
}
