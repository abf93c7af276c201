//! Reading of trajectories in any spelling: a list of calls, the same as JSON or a Python literal in a string,
//! contents with function calls, or LangChain's intermediate steps.

use super::literal;
use crate::domain::ToolCall;
use crate::formats::adk;
use crate::formats::json;
use crate::formats::read::{JsonNode, Read, describe};
use serde_json::{Map, Value};

const NAMES: &[&str] = &["tool_name", "name", "tool"];
const INPUTS: &[&str] = &[
    "tool_input",
    "args",
    "arguments",
    "input",
    "parameters",
    "input_parameters",
];

/// Reads a trajectory. Null, and what pandas writes for null in a table, is unknown; `[]` is empty.
pub(super) fn trajectory(node: JsonNode) -> Read<Option<Vec<ToolCall>>> {
    match node.value {
        Value::Null => Ok(None),
        Value::String(text) if is_nothing(text) => Ok(None),
        Value::String(text) => {
            let value = decoded(text).ok_or_else(|| {
                node.wrong("a list of calls, as JSON or as the Python literal that pandas writes")
            })?;
            // Paths inside the decoded text do not exist in the file, so errors have the path of the text.
            read(JsonNode::top(&value)).map_err(|error| crate::formats::read::ReadError {
                path: node.path(),
                ..error
            })
        }
        Value::Number(number) if crate::domain::float_of(number).is_some_and(f64::is_nan) => {
            Ok(None)
        }
        _ => read(node),
    }
}

/// Whether a text stands for a missing value.
pub(super) fn is_nothing(text: &str) -> bool {
    matches!(text.trim(), "" | "null" | "None" | "nan" | "NaN" | "<NA>")
}

/// The value of a text that is JSON or a Python literal.
pub(super) fn decoded(text: &str) -> Option<Value> {
    match json::parse(text) {
        Ok(parsed) => Some(parsed.value),
        Err(_) => literal::parse(text),
    }
}

fn read(node: JsonNode) -> Read<Option<Vec<ToolCall>>> {
    match node.value {
        Value::Null => Ok(None),
        Value::Object(map) => {
            let key = ["tool_calls", "toolCalls"]
                .into_iter()
                .find(|key| map.contains_key(*key));
            match key.and_then(|key| node.get(key)) {
                Some(calls) => read(calls),
                None => Err(node.wrong("a list of calls")),
            }
        }
        Value::Array(_) => {
            let mut calls = Vec::new();
            for item in node.items().map_err(|_| node.wrong("a list of calls"))? {
                element(item, &mut calls)?;
            }
            Ok(Some(calls))
        }
        _ => Err(node.wrong("a list of calls")),
    }
}

fn element(node: JsonNode, calls: &mut Vec<ToolCall>) -> Read<()> {
    // The name of a tool, whose arguments are not known.
    if let Value::String(name) = node.value {
        calls.push(ToolCall::named(name.trim()));
        return if name.trim().is_empty() {
            Err(node.wrong("the name of a tool"))
        } else {
            Ok(())
        };
    }
    if let Value::Array(step) = node.value {
        // LangChain: [{"kwargs": {"tool": …, "tool_input": …}}, observation].
        let action = step
            .first()
            .and_then(|first| first.get("kwargs").or(Some(first)));
        let action = action.ok_or_else(|| node.wrong("a call"))?;
        calls.push(call(JsonNode::top(action)).map_err(|_| node.wrong("a call"))?);
        return Ok(());
    }
    if node.get("parts").is_some() {
        calls.extend(adk::read_content(node)?.calls().cloned());
        return Ok(());
    }
    let inner = node
        .get("function")
        .or_else(|| node.get("function_call"))
        .unwrap_or(node);
    calls.push(call(inner)?);
    Ok(())
}

fn call(node: JsonNode) -> Read<ToolCall> {
    node.object()
        .map_err(|_| node.wrong("a call: an object with tool_name and tool_input"))?;
    let name = NAMES
        .iter()
        .find_map(|key| node.get(key))
        .ok_or_else(|| node.missing("tool_name"))?;
    let args = INPUTS
        .iter()
        .find_map(|key| node.get(key))
        .map(arguments)
        .transpose()?;
    Ok(ToolCall {
        id: node.opt_str("id").unwrap_or_default(),
        ..ToolCall::new(name.str()?, args)
    })
}

/// The name of the argument for an input that is one plain text.
pub const PLAIN_INPUT: &str = "tool_input";

/// The arguments in a tool's input, in any spelling. The error says what was expected.
pub fn tool_input(input: &Value) -> Result<Map<String, Value>, String> {
    arguments(JsonNode::top(input)).map_err(|error| error.to_string())
}

/// Reads arguments: an object, a text that contains one, or a plain text. The keys stay as they are.
pub(in crate::formats) fn arguments(node: JsonNode) -> Read<Map<String, Value>> {
    match node.value {
        Value::Object(map) => Ok(map.clone()),
        Value::String(text) if text.trim().is_empty() => Ok(Map::new()),
        // LangChain's tools may have one text as input; it becomes an argument with the key it has in the file.
        Value::String(text) if !text.trim_start().starts_with('{') => Ok(Map::from_iter([(
            PLAIN_INPUT.to_string(),
            text.clone().into(),
        )])),
        Value::String(text) => match decoded(text) {
            Some(Value::Object(map)) => Ok(map),
            Some(other) => {
                Err(node.wrong(&format!("an object in the text, not {}", describe(&other))))
            }
            None => Err(node.wrong("an object, or a text that contains one as JSON")),
        },
        _ => Err(node.wrong("an object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_calls(value: Value) -> Result<Option<Vec<ToolCall>>, String> {
        trajectory(JsonNode::top(&value)).map_err(|error| error.to_string())
    }

    #[test]
    fn every_spelling_is_the_same_call() {
        let call = ToolCall::new(
            "get",
            json!({"city": "Oslo", "days": 3}).as_object().cloned(),
        );
        let input = json!({"city": "Oslo", "days": 3});
        let spellings = [
            json!([{"tool_name": "get", "tool_input": input}]),
            json!("[{\"tool_name\": \"get\", \"tool_input\": {\"city\": \"Oslo\", \"days\": 3}}]"),
            json!("[{'tool_name': 'get', 'tool_input': {'city': 'Oslo', 'days': 3}}]"),
            json!({"toolCalls": [{"toolName": "get", "toolInput": input.to_string()}]}),
            json!([{"name": "get", "args": input}]),
            json!([{"type": "function", "function": {"name": "get", "arguments": input.to_string()}}]),
            json!([{"role": "model", "parts": [{"function_call": {"name": "get", "args": input}}]}]),
            json!([[{"kwargs": {"tool": "get", "tool_input": input}}, "4 degrees"]]),
        ];
        for spelling in spellings {
            assert_eq!(
                read_calls(spelling.clone()),
                Ok(Some(vec![call.clone()])),
                "{spelling}"
            );
        }
    }

    #[test]
    fn a_plain_text_is_the_tools_input() {
        for text in ["weather in Oslo", "5", "[1]"] {
            let read = read_calls(json!([{"tool_name": "search", "tool_input": text}]));
            let args = json!({"tool_input": text}).as_object().cloned();
            assert_eq!(
                read,
                Ok(Some(vec![ToolCall::new("search", args)])),
                "{text}"
            );
        }
        assert!(
            read_calls(json!([{"tool_name": "f", "tool_input": "{oops"}])).is_err(),
            "a syntax error is reported"
        );
    }

    #[test]
    fn unknown_is_not_empty() {
        for nothing in [
            json!(null),
            json!(""),
            json!("None"),
            json!("nan"),
            json!("null"),
        ] {
            assert_eq!(read_calls(nothing), Ok(None));
        }
        assert_eq!(read_calls(json!([])), Ok(Some(vec![])));
        assert_eq!(read_calls(json!("[]")), Ok(Some(vec![])));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(
            read_calls(json!("[{oops"))
                .unwrap_err()
                .contains("expected a list of calls, as JSON")
        );
        assert!(
            read_calls(json!(3))
                .unwrap_err()
                .contains("found the number 3")
        );
        assert!(
            read_calls(json!([{"tool_input": {}}]))
                .unwrap_err()
                .contains("$[0]: expected a key \"tool_name\"")
        );
        assert!(
            read_calls(json!([{"tool_name": "f", "tool_input": [1]}]))
                .unwrap_err()
                .contains("$[0].tool_input")
        );
    }
}
