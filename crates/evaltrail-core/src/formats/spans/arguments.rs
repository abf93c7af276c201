//! The arguments of a tool's call in the forms in which libraries record them.

use super::TraceSpan;
use super::unquoted;
use crate::formats::json::MEMBER;
use crate::formats::vertex::literal_value;
use serde_json::{Map, Value};

/// The longest text that is read as a Python literal, in bytes.
const MAX_LITERAL: usize = 256 << 10;
/// The keys with which OpenInference and decorators of Langfuse and OpenLLMetry record the arguments of a Python function.
const OF_FUNCTION: [&str; 3] = ["args", "kwargs", "sanitize_inputs_outputs"];

/// What a span records about the arguments of a call.
#[derive(Debug, Default, PartialEq)]
pub(super) struct GivenArguments {
    /// The arguments by name; `None` if they are unknown.
    pub(super) args: Option<Map<String, Value>>,
    /// The id of the call.
    pub(super) id: Option<String>,
}

/// Reads the recorded arguments of a tool, whose parameters the span may declare.
pub(super) fn given_arguments(span: &TraceSpan, recorded: &Value) -> GivenArguments {
    let unquoted = unquoted(recorded);
    let value = unquoted
        .as_str()
        .and_then(python_literal)
        .unwrap_or(unquoted);
    let Value::Object(map) = value else {
        return GivenArguments::default();
    };
    if is_callback(&map) {
        return of_callback(&map);
    }
    let args = match wrapped_function(&map) {
        Some((positional, named)) => by_name(positional, named, &declared(span)),
        None => Some(map),
    };
    GivenArguments { args, id: None }
}

/// Whether this is the payload of LangChain's callback, which OpenLLMetry records instead of the arguments.
fn is_callback(map: &Map<String, Value>) -> bool {
    map.get("input_str").is_some_and(Value::is_string)
        && map.contains_key("tags")
        && map.contains_key("metadata")
}

fn of_callback(map: &Map<String, Value>) -> GivenArguments {
    let from_text = || map["input_str"].as_str().and_then(object_of_text);
    let args = match map.get("inputs") {
        None | Some(Value::Null) => from_text(),
        Some(inputs) => inputs.as_object().cloned(),
    };
    let id = map
        .get("kwargs")
        .and_then(|kwargs| kwargs["tool_call_id"].as_str());
    GivenArguments {
        args,
        id: id.map(str::to_string),
    }
}

/// An object as JSON or as a Python literal.
fn object_of_text(text: &str) -> Option<Map<String, Value>> {
    let value = match unquoted(&Value::from(text)) {
        Value::String(text) => python_literal(&text)?,
        value => value,
    };
    value.as_object().cloned()
}

fn python_literal(text: &str) -> Option<Value> {
    may_be_literal(text).then(|| literal_value(text)).flatten()
}

fn may_be_literal(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.len() <= MAX_LITERAL
}

/// The maximum memory of a text that is read as a Python literal, in bytes; 0 for any other text.
pub(super) fn literal_size(text: &str) -> usize {
    if !may_be_literal(text) {
        return 0;
    }
    let separators = text.bytes().filter(|byte| b",:[{(".contains(byte)).count();
    text.len() + separators * MEMBER
}

/// The positional and the named arguments of a Python function, if only these are recorded.
fn wrapped_function(map: &Map<String, Value>) -> Option<(&[Value], &Map<String, Value>)> {
    let named = map.get("kwargs")?.as_object()?;
    let positional = match map.get("args") {
        None => &[],
        Some(args) => args.as_array()?.as_slice(),
    };
    map.keys()
        .all(|key| OF_FUNCTION.contains(&key.as_str()))
        .then_some((positional, named))
}

/// The arguments with the names of the declared parameters; `None` if a positional one has no name.
fn by_name(
    positional: &[Value],
    named: &Map<String, Value>,
    declared: &[String],
) -> Option<Map<String, Value>> {
    if positional.len() > declared.len() {
        return None;
    }
    let mut args: Map<String, Value> = declared
        .iter()
        .cloned()
        .zip(positional.iter().cloned())
        .collect();
    let is_named_twice = named.keys().any(|name| args.contains_key(name));
    args.extend(named.clone());
    (!is_named_twice).then_some(args)
}

/// The names of the tool's parameters in their order: those of a JSON schema, or of smolagents' description of inputs.
fn declared(span: &TraceSpan) -> Vec<String> {
    let schema = span
        .attributes
        .get("tool.parameters")
        .map(unquoted)
        .unwrap_or_default();
    let parameters = schema.get("properties").unwrap_or(&schema).as_object();
    parameters
        .map(|parameters| parameters.keys().cloned().collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn given(recorded: Value, parameters: Value) -> GivenArguments {
        let attributes = Map::from_iter([("tool.parameters".to_string(), parameters)]);
        let span = TraceSpan {
            attributes,
            ..TraceSpan::default()
        };
        given_arguments(&span, &recorded)
    }

    #[test]
    fn wrapped_arguments_are_unwrapped_or_unknown() {
        let callback = |text: &str, inputs: Value| json!({"input_str": text, "inputs": inputs, "tags": [], "metadata": {}, "kwargs": {"tool_call_id": "c1"}});
        let literal = "{'city': \"Bergen's\", 'days': 1}";
        let bergen = json!({"city": "Bergen's", "days": 1});
        for (recorded, parameters, expected) in [
            (
                json!({"city": "Oslo"}).to_string().into(),
                Value::Null,
                json!({"city": "Oslo"}),
            ),
            (json!(literal), Value::Null, bergen.clone()),
            (callback("x", bergen.clone()), Value::Null, bergen.clone()),
            (
                callback(literal, Value::Null).to_string().into(),
                Value::Null,
                bergen.clone(),
            ),
            (callback("Bergen", Value::Null), Value::Null, Value::Null),
            (
                callback(literal, json!(["Bergen"])),
                Value::Null,
                Value::Null,
            ),
            (
                json!({"args": [], "kwargs": {"days": 1}}),
                Value::Null,
                json!({"days": 1}),
            ),
            (
                json!({"args": ["Oslo"], "kwargs": {"days": 1}}),
                Value::Null,
                Value::Null,
            ),
            (
                json!({"args": ["Oslo"], "sanitize_inputs_outputs": true, "kwargs": {"days": 1}}),
                json!("{\"city\": {}, \"days\": {}}"),
                json!({"city": "Oslo", "days": 1}),
            ),
            (
                json!({"args": ["Oslo"], "kwargs": {"city": 1}}),
                json!("{\"city\": {}}"),
                Value::Null,
            ),
            // A tool's own parameters.
            (
                json!({"args": "-l", "kwargs": 1}),
                Value::Null,
                json!({"args": "-l", "kwargs": 1}),
            ),
            (
                json!({"input_str": "x"}),
                Value::Null,
                json!({"input_str": "x"}),
            ),
            (json!("Oslo"), Value::Null, Value::Null),
        ] {
            let found = given(recorded.clone(), parameters);
            assert_eq!(found.args, expected.as_object().cloned(), "{recorded}");
        }
        assert_eq!(
            given(callback("x", json!({})), Value::Null).id.as_deref(),
            Some("c1")
        );
    }
}
