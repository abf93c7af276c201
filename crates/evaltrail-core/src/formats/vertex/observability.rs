//! Rows of Vertex's "observability" schema: messages as OpenTelemetry records them, as JSON Lines in texts. They become
//! rows with the columns that `row` reads, as Vertex's client converts them.
//!
//! ```text
//! format = "observability"
//! request             message per line ─▶ conversation_history, prompt (the last message)
//! response            message per line ─▶ responses
//! system_instruction  message          ─▶ system_instruction, as a text
//! ```

use crate::formats::adk;
use crate::formats::json::{self, JsonPath, Step};
use crate::formats::read::{JsonNode, Read, ReadError};
use serde_json::{Map, Value, json};

const COLUMNS: [&str; 4] = ["format", "request", "response", "system_instruction"];

/// A row of the schema with Vertex's other columns; `None` for any other row.
///
/// # Errors
///
/// When a column is missing or is not a text of JSON Lines with messages.
pub(super) fn with_columns(node: JsonNode) -> Read<Option<Value>> {
    if node.value.get("format").and_then(Value::as_str) != Some("observability") {
        return Ok(None);
    }
    let mut row = node.value.as_object().cloned().unwrap_or_default();
    row.retain(|key, _| !COLUMNS.contains(&key.as_str()));
    let (mut history, mut system) = (messages(node.need("request")?)?, Vec::new());
    if let Some(prompt) = history.pop() {
        row.insert("prompt".into(), prompt);
    }
    system.extend(
        node.get("system_instruction")
            .map(messages)
            .transpose()?
            .unwrap_or_default(),
    );
    // A system message of the request is not a turn.
    let (of_system, history): (Vec<Value>, _) = history
        .into_iter()
        .partition(|message| message["role"] == "system");
    system.extend(of_system);
    if !history.is_empty() {
        row.insert("conversation_history".into(), history.into());
    }
    if !system.is_empty() {
        row.insert("system_instruction".into(), system_text(&system)?.into());
    }
    let responses = messages(node.need("response")?)?
        .into_iter()
        .map(|response| json!({"response": response}));
    row.insert("responses".into(), responses.collect());
    Ok(Some(row.into()))
}

/// An error in the row of [`with_columns`] as an error in the column of the file.
pub(super) fn in_file(error: ReadError) -> ReadError {
    let Some(Step::Key(first)) = error.path.0.first() else {
        return error;
    };
    let column = match first.as_str() {
        "prompt" | "conversation_history" => "request",
        "responses" => "response",
        _ => return error,
    };
    ReadError {
        path: JsonPath(vec![Step::Key(column.into())]),
        ..error
    }
}

fn system_text(messages: &[Value]) -> Read<String> {
    let texts = messages
        .iter()
        .map(|message| Ok(adk::read_content(JsonNode::top(message))?.spoken_text()));
    Ok(texts.collect::<Read<Vec<String>>>()?.join("\n"))
}

/// The messages of a column, one in each line, as contents of Gemini.
fn messages(column: JsonNode) -> Read<Vec<Value>> {
    let wrong = || column.wrong("a text with a message in JSON on each line");
    let text = column.value.as_str().ok_or_else(wrong)?;
    let message = |(at, line): (usize, &str)| {
        let value = json::parse(line).map_err(|error| ReadError {
            path: column.path(),
            expected: "a message in JSON on each line".into(),
            found: format!("line {}: {error}", at + 1),
        })?;
        content(JsonNode::top(&value.value)).map_err(|error| ReadError {
            path: column.path(),
            found: format!("line {}: {}", at + 1, error.found),
            ..error
        })
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(message)
        .collect()
}

/// A message as a content.
fn content(node: JsonNode) -> Read<Value> {
    node.object()?;
    let list = node.value.get("parts").and_then(Value::as_array);
    let list = list.ok_or_else(|| node.wrong("a message with a list of parts"))?;
    let parts = list
        .iter()
        .map(|value| part(JsonNode::top(value)))
        .collect::<Read<Vec<_>>>()?;
    let parts: Vec<Value> = parts.into_iter().flatten().collect();
    Ok(json!({"role": node.opt_str("role")?.unwrap_or_default(), "parts": parts}))
}

/// A part as one of Gemini. The schema has the names of tools in `id`. A part of an unknown type is left out, as by Vertex's
/// client, unless it could be a call.
fn part(node: JsonNode) -> Read<Option<Value>> {
    node.object()?;
    let member = |key: &str| {
        node.value
            .get(key)
            .filter(|value| !value.is_null())
            .cloned()
    };
    let text = |key: &str| member(key).unwrap_or_else(|| "".into());
    let object = |key: &str| member(key).unwrap_or_else(|| Map::new().into());
    let kind = node
        .opt_str("type")?
        .ok_or_else(|| node.wrong("a part with a type"))?;
    Ok(Some(match kind.as_str() {
        "text" => json!({"text": text("content")}),
        "blob" => json!({"inline_data": {"data": text("data"), "mime_type": text("mime_type")}}),
        "file_data" => {
            json!({"file_data": {"file_uri": text("file_uri"), "mime_type": text("mime_type")}})
        }
        "tool_call" => {
            json!({"function_call": {"id": text("id"), "name": text("id"), "args": object("arguments")}})
        }
        "tool_call_response" => {
            json!({"function_response": {"id": text("id"), "name": text("id"), "response": object("result")}})
        }
        kind if looks_like_call(kind) || node.object()?.keys().any(|key| looks_like_call(key)) => {
            return Err(node.wrong("a part of a known type, since it looks like a call"));
        }
        _ => return Ok(None),
    }))
}

fn looks_like_call(name: &str) -> bool {
    let name = name.to_lowercase();
    ["call", "tool", "function"]
        .iter()
        .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::ColumnMap;
    use crate::domain::{EvalCase, Invocation};
    use crate::formats::adk::write_content;
    use serde_json::{Value, json};

    fn read(row: Value) -> Result<EvalCase, String> {
        super::super::case(&row, &ColumnMap::default(), "x").map_err(|error| error.to_string())
    }

    /// A column with these messages.
    fn lines(messages: &[Value]) -> Value {
        messages
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join("\n")
            .into()
    }

    fn message_row(role: &str, text: &str) -> Value {
        json!({"role": role, "parts": [{"type": "text", "content": text}]})
    }

    fn row(request: &[Value], response: &[Value]) -> Value {
        json!({"format": "observability", "request": lines(request), "response": lines(response)})
    }

    fn saved(case: &EvalCase) -> &Invocation {
        case.saved.as_ref().unwrap().turns.last().unwrap()
    }

    /// The expected contents are those that the converter of google-cloud-aiplatform 2.7.0 makes of these rows.
    #[test]
    fn texts_become_history_prompt_and_response() {
        let request = [
            message_row("user", "hi"),
            message_row("assistant", "Hello."),
            message_row("user", "Weather in Oslo?"),
        ];
        let mut value = row(
            &request,
            &[
                message_row("assistant", "Rain."),
                message_row("assistant", "Snow."),
            ],
        );
        value["system_instruction"] = lines(&[message_row("system", "Be brief.")]);
        let case = read(value).unwrap();
        let [earlier, last] = case.turns() else {
            panic!("{case:?}")
        };
        assert!(earlier.history && !last.history);
        assert_eq!(
            (earlier.user.scored_text(), earlier.response_text()),
            ("hi".into(), "Hello.".into())
        );
        assert_eq!(
            write_content(&last.user),
            json!({"role": "user", "parts": [{"text": "Weather in Oslo?"}]})
        );
        assert_eq!(last.final_response, None, "the schema has no reference");
        assert_eq!(
            saved(&case).response_text(),
            "Rain.",
            "the first response is scored"
        );
        assert_eq!(
            case.extra.get("system_instruction"),
            Some(&json!("Be brief."))
        );
        assert!(!case.extra.contains_key("format"));
    }

    #[test]
    fn files_calls_and_results_are_parts() {
        let parts = json!([{"type": "text", "content": "What is this?"},
            {"type": "file_data", "file_uri": "gs://b/a.png", "mime_type": "image/png"},
            {"type": "blob", "data": "aGk=", "mime_type": "text/plain"}, {"type": "other", "content": "x"}]);
        let call = json!([{"type": "tool_call", "id": "look", "arguments": {"n": 1}}]);
        let case = read(row(
            &[json!({"role": "user", "parts": parts})],
            &[
                json!({"role": "assistant", "parts": call}),
                message_row("assistant", "second"),
            ],
        ));
        let case = case.unwrap();
        let expected = json!([{"text": "What is this?"},
            {"file_data": {"file_uri": "gs://b/a.png", "mime_type": "image/png"}},
            {"inline_data": {"data": "aGk=", "mime_type": "text/plain"}}]);
        assert_eq!(write_content(&case.turns()[0].user)["parts"], expected);
        let calls = saved(&case).calls();
        assert_eq!(
            (calls.len(), calls[0].name.as_str()),
            (1, "look"),
            "the name is in the id"
        );
        assert_eq!(calls[0].args, json!({"n": 1}).as_object().cloned());
    }

    #[test]
    fn last_result_of_a_request_is_the_prompt() {
        let call =
            json!([{"type": "tool_call", "id": "get_weather", "arguments": {"city": "Oslo"}}]);
        let result =
            json!([{"type": "tool_call_response", "id": "get_weather", "result": {"sky": "rain"}}]);
        let request = [
            message_row("user", "Weather?"),
            json!({"role": "assistant", "parts": call}),
            json!({"role": "tool", "parts": result}),
        ];
        let case = read(row(&request, &[message_row("assistant", "Rain.")])).unwrap();
        let [earlier, last] = case.turns() else {
            panic!("{case:?}")
        };
        assert_eq!(earlier.calls()[0].name, "get_weather");
        let response = last.user.responses().next().unwrap();
        assert_eq!(
            (response.name.as_str(), &response.response),
            ("get_weather", &json!({"sky": "rain"}))
        );
        assert_eq!(saved(&case).response_text(), "Rain.");
    }

    #[test]
    fn unreadable_messages_are_errors_with_place() {
        let good = row(
            &[message_row("user", "hi")],
            &[message_row("assistant", "ho")],
        );
        let with = |key: &str, value: Value| {
            let mut row = good.clone();
            row[key] = value;
            read(row).unwrap_err()
        };
        assert!(read(good.clone()).is_ok());
        let missing =
            read(json!({"format": "observability", "request": good["request"]})).unwrap_err();
        assert!(missing.contains("response"), "{missing}");
        for (key, value, part) in [
            (
                "request",
                json!([{"role": "user"}]),
                "request: expected a text",
            ),
            ("response", json!("{\"role\": "), "line 1"),
            (
                "request",
                json!("{\"role\": \"user\", \"parts\": []}\n3"),
                "line 2",
            ),
            (
                "response",
                json!("{\"parts\": [{\"type\": \"server_tool_call\"}]}"),
                "looks like a call",
            ),
            (
                "response",
                json!("{\"parts\": [{\"type\": \"ToolCall\"}]}"),
                "looks like a call",
            ),
            (
                "response",
                json!("{\"parts\": [{\"type\": \"x\", \"function_call\": {}}]}"),
                "looks like a call",
            ),
            (
                "response",
                json!("{\"parts\": [{\"function_call\": {}}]}"),
                "a part with a type",
            ),
            (
                "response",
                json!("{\"parts\": {\"type\": \"text\"}}"),
                "a list of parts",
            ),
            (
                "response",
                json!("{\"role\": \"assistant\", \"content\": \"Rain.\"}"),
                "a list of parts",
            ),
            (
                "system_instruction",
                json!({}),
                "system_instruction: expected a text",
            ),
        ] {
            let why = with(key, value);
            assert!(why.contains(part), "{why}");
        }
        let other = json!({"format": "text", "prompt": "hi", "response": "ho"});
        assert_eq!(
            read(other).unwrap().extra.get("format"),
            Some(&json!("text"))
        );
    }
}
