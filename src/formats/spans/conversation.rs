//! Conversations from spans: each trace of a conversation is one turn.

use super::TraceSpan;
use crate::domain::{Content, Invocation, Part, ToolCall, ToolResponse, Trajectory};
use crate::formats::json;
use serde_json::Value;
use std::collections::BTreeMap;

/// A conversation that was read from traces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traced {
    /// The conversation's id, or the trace's id if it has none.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// Its turns.
    pub turns: Vec<Invocation>,
    /// Messages about what is missing in the trace, and how to record it.
    pub missing: Vec<String>,
}

const CONVERSATION: &[&str] = &["gen_ai.conversation.id", "gcp.vertex.agent.session_id", "session.id"];
const AGENT: &[&str] = &["gen_ai.agent.name", "gcp.vertex.agent.agent_name"];
const TOOL: &[&str] = &["gen_ai.tool.name", "tool.name", "tool_name", "function.name", "ai.toolCall.name"];
const CALL_ID: &[&str] = &["gen_ai.tool.call.id", "tool.call.id", "ai.toolCall.id"];
const ARGUMENTS: &[&str] = &[
    "gen_ai.tool.call.arguments",
    "gcp.vertex.agent.tool_call_args",
    "tool.arguments",
    "tool_arguments",
    "tool.input",
    "ai.toolCall.args",
    "input.value",
];
const RESULT: &[&str] = &[
    "gen_ai.tool.call.result",
    "gcp.vertex.agent.tool_response",
    "tool.output",
    "ai.toolCall.result",
    "output.value",
];
const INPUT: &[&str] = &["gen_ai.input.messages", "gcp.vertex.agent.llm_request"];
const OUTPUT: &[&str] = &["gen_ai.output.messages", "gcp.vertex.agent.llm_response"];

/// The conversations in these spans, in the order in which they began.
pub fn conversations(spans: &[TraceSpan]) -> Vec<Traced> {
    let mut by_trace: Vec<(String, Vec<&TraceSpan>)> = Vec::new();
    for span in spans {
        match by_trace.iter_mut().find(|(trace, _)| *trace == span.trace) {
            Some((_, found)) => found.push(span),
            None => by_trace.push((span.trace.clone(), vec![span])),
        }
    }
    let mut order = Vec::new();
    let mut found: BTreeMap<String, Traced> = BTreeMap::new();
    for (trace, spans) in by_trace {
        let Some(turn) = turn_of(&spans) else { continue };
        let id = spans.iter().find_map(|span| string(span, CONVERSATION)).unwrap_or(trace);
        if !order.contains(&id) {
            order.push(id.clone());
        }
        let traced = found.entry(id.clone()).or_insert_with(|| Traced { id, ..Traced::default() });
        traced.agent = traced.agent.take().or_else(|| spans.iter().find_map(|span| string(span, AGENT)));
        traced.missing.extend(missing(&spans, &turn, traced.turns.len() + 1));
        traced.turns.push(turn);
    }
    order.into_iter().filter_map(|id| found.remove(&id)).collect()
}

/// The turn of a trace; `None` if no span is from an agent.
fn turn_of(spans: &[&TraceSpan]) -> Option<Invocation> {
    let tools: Vec<&&TraceSpan> = spans.iter().filter(|span| is_tool(span)).collect();
    let models: Vec<&&TraceSpan> =
        spans.iter().filter(|span| first(span, INPUT).or(first(span, OUTPUT)).is_some()).collect();
    let works = tools.len() + models.len() > 0 || spans.iter().any(|span| string(span, AGENT).is_some());
    if !works {
        return None;
    }
    let asked = models.iter().find_map(|span| stderr_tail(&messages(first(span, INPUT)?), "user"));
    let (texts, said) = spoken(spans);
    let (mut calls, mut responses) = (Vec::new(), Vec::new());
    for span in tools {
        let name = string(span, TOOL).unwrap_or_else(|| tool_in_name(&span.name));
        let id = string(span, CALL_ID);
        let args = first(span, ARGUMENTS).map(unquoted).and_then(|args| args.as_object().cloned());
        if let Some(result) = first(span, RESULT).map(unquoted) {
            let response = if result.is_object() { result } else { serde_json::json!({ "result": result }) };
            responses.push(ToolResponse { id: id.clone(), name: name.clone(), response });
        }
        calls.push(ToolCall { id, ..ToolCall::new(name, args) });
    }
    Some(Invocation {
        user: Content::text("user", asked.unwrap_or_default()),
        final_response: said.map(|text| Content::text("model", text)),
        trajectory: Trajectory::Listed { calls, responses, texts },
        ..Invocation::default()
    })
}

/// The intermediate messages, each with its author, and the final response, which is as in ADK the last message without
/// a tool call. A span without an agent's name belongs to the agent named last before it.
fn spoken(spans: &[&TraceSpan]) -> (Vec<(String, Vec<Part>)>, Option<String>) {
    let mut said: Vec<(&TraceSpan, String, String, bool)> = Vec::new();
    let mut author = String::new();
    for span in spans {
        author = string(span, AGENT).unwrap_or(author);
        let Some(output) = first(span, OUTPUT).map(messages) else { continue };
        let Some(words) = stderr_tail(&output, "") else { continue };
        // Two nested spans may describe the same model call.
        let is_twice = |(before, _, known, _): &(&TraceSpan, String, String, bool)| {
            *known == words && before.name != span.name
        };
        if !said.last().is_some_and(is_twice) {
            said.push((span, author.clone(), words, output.iter().any(has_calls)));
        }
    }
    let last = said.iter().rposition(|(_, _, _, has_calls)| !has_calls);
    let response = last.map(|at| said.remove(at).2);
    let text = |(_, author, words, _)| (author, vec![Part { text: Some(words), ..Part::default() }]);
    (said.into_iter().map(text).collect(), response)
}

fn has_calls(message: &Value) -> bool {
    let is_call = |part: &Value| {
        part.get("type").and_then(Value::as_str) == Some("tool_call")
            || ["function_call", "functionCall"]
                .iter()
                .any(|key| part.get(key).is_some_and(|call| !call.is_null()))
    };
    message.get("parts").and_then(Value::as_array).is_some_and(|parts| parts.iter().any(is_call))
}

fn missing(spans: &[&TraceSpan], turn: &Invocation, number: usize) -> Vec<String> {
    let ask = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT where the agent runs";
    let mut missing = Vec::new();
    if turn.user.scored_text().is_empty() {
        missing.push(format!("turn {number}: the trace does not contain the user's message; {ask}"));
    }
    let has_arguments = |span: &&&TraceSpan| first(span, ARGUMENTS).is_some();
    let tools = spans.iter().filter(|span| is_tool(span));
    if tools.clone().count() > tools.filter(has_arguments).count() {
        missing.push(format!("turn {number}: the trace contains tool calls without arguments; {ask}"));
    }
    missing
}

/// The tool name in spans in which ADK only merges the results of parallel calls.
const MERGED: &str = "(merged tools)";

fn is_tool(span: &TraceSpan) -> bool {
    if string(span, TOOL).as_deref() == Some(MERGED) {
        return false;
    }
    let operation = span.attributes.get("gen_ai.operation.name").and_then(Value::as_str);
    operation == Some("execute_tool")
        || (operation.is_none() && (span.name.starts_with("execute_tool") || string(span, TOOL).is_some()))
}

fn tool_in_name(name: &str) -> String {
    name.strip_prefix("execute_tool").unwrap_or(name).trim().to_string()
}

fn first<'a>(span: &'a TraceSpan, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| span.attributes.get(*key)).filter(|value| !value.is_null())
}

fn string(span: &TraceSpan, keys: &[&str]) -> Option<String> {
    first(span, keys).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_string)
}

/// The parsed value of a string that contains JSON; any other value as it is.
fn unquoted(value: &Value) -> Value {
    match value.as_str().map(json::parse) {
        Some(Ok(parsed)) => parsed.value,
        _ => value.clone(),
    }
}

/// The messages in a list, in ADK's older request (`contents`) or in its response (`content`).
fn messages(value: &Value) -> Vec<Value> {
    let value = unquoted(value);
    match &value {
        Value::Array(list) => list.clone(),
        Value::Object(map) => match map.get("contents") {
            Some(Value::Array(list)) => list.clone(),
            _ => map.get("content").cloned().into_iter().collect(),
        },
        _ => Vec::new(),
    }
}

/// The text of the last message of a role that has one; of any role if `role` is empty. Tool responses are not texts.
fn stderr_tail(messages: &[Value], role: &str) -> Option<String> {
    let of_role = |message: &&Value| {
        role.is_empty() || message.get("role").and_then(Value::as_str).is_none_or(|found| found == role)
    };
    messages.iter().rev().filter(of_role).find_map(|message| {
        let parts = message.get("parts").and_then(Value::as_array)?;
        let words: Vec<&str> = parts.iter().filter_map(words_of).collect();
        (!words.is_empty()).then(|| words.join("\n"))
    })
}

fn words_of(part: &Value) -> Option<&str> {
    let kind = part.get("type").and_then(Value::as_str);
    let thought = part.get("thought").and_then(Value::as_bool) == Some(true);
    let text = match kind {
        Some("text") => part.get("content"),
        None if !thought => part.get("text"),
        _ => None,
    };
    text.and_then(Value::as_str).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::spans::read_spans;
    use serde_json::json;

    /// What google-adk 2.13 records for "Turn it off" with one call.
    fn attributes() -> [(&'static str, Value); 3] {
        let input = r#"[{"role":"user","parts":[{"content":"Turn it off","type":"text"}]},{"role":"user","parts":[{"type":"tool_call_response","response":{}}]}]"#;
        let output = r#"[{"role":"assistant","parts":[{"content":"It is off.","type":"text"}],"finish_reason":"stop"}]"#;
        [
            (
                "1",
                json!({"gen_ai.operation.name": "generate_content", "gen_ai.conversation.id": "s1", "gen_ai.input.messages": input, "gen_ai.output.messages": "[]"}),
            ),
            (
                "2",
                json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "switch", "gen_ai.tool.call.id": "adk-1", "gen_ai.agent.name": "home",
                "gen_ai.tool.call.arguments": "{\"on\": false}", "gen_ai.tool.call.result": "{\"ok\": true}"}),
            ),
            ("3", json!({"gen_ai.operation.name": "generate_content", "gen_ai.output.messages": output})),
        ]
    }

    fn otlp() -> String {
        let span = |(start, attributes): &(&str, Value)| {
            let pairs: Vec<Value> = attributes
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
                .collect();
            json!({"traceId": "t1", "spanId": start, "name": "x", "startTimeUnixNano": start, "attributes": pairs})
        };
        // Spans are in the order in which they ended.
        let spans: Vec<Value> = attributes().iter().rev().map(span).collect();
        json!({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "gcp.vertex.agent"}, "spans": spans}]}]})
            .to_string()
    }

    fn jaeger() -> String {
        let span = |(start, attributes): &(&str, Value)| {
            let tags: Vec<Value> = attributes
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| json!({"key": key, "type": "string", "value": value}))
                .collect();
            json!({"traceID": "t1", "spanID": start, "operationName": "x", "startTime": start.parse::<u64>().unwrap(), "tags": tags})
        };
        json!({"data": [{"traceID": "t1", "spans": attributes().iter().map(span).collect::<Vec<_>>()}]})
            .to_string()
    }

    fn debug() -> String {
        let span = |(start, attributes): &(&str, Value)| {
            let big: Value = serde_json::from_str("309485009821345068724781056").unwrap();
            json!({"name": "x", "span_id": 1, "trace_id": big, "start_time": start.parse::<u64>().unwrap(), "attributes": attributes})
        };
        attributes().iter().map(span).collect::<Value>().to_string()
    }

    #[test]
    fn every_form_is_the_same_conversation() {
        for text in
            [otlp(), format!("{}\n", otlp()), otlp().replace("resourceSpans", "batches"), jaeger(), debug()]
        {
            let found = conversations(&read_spans(&text).unwrap());
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!((found[0].id.as_str(), found[0].agent.as_deref()), ("s1", Some("home")));
            let turn = &found[0].turns[0];
            assert_eq!(turn.user.scored_text(), "Turn it off");
            assert_eq!(turn.response_text(), "It is off.");
            assert_eq!(turn.calls()[0].args.as_ref().unwrap()["on"], false);
            assert_eq!(turn.trajectory.response_to(0).unwrap().response["ok"], true);
            assert_eq!(found[0].missing, Vec::<String>::new());
        }
    }

    /// What google-adk 2.13 records for two parallel calls and a transfer to another agent.
    #[test]
    fn words_before_a_hand_over_stay_and_merged_calls_are_none() {
        let span = |start: u128, name: &str, attributes: Value| TraceSpan {
            trace: "t".into(),
            name: name.into(),
            start,
            attributes: attributes.as_object().unwrap().clone(),
        };
        let output = |words: &str, call: bool| {
            let mut parts = vec![json!({"type": "text", "content": words})];
            if call {
                parts.push(json!({"type": "tool_call", "name": "transfer_to_agent"}));
            }
            json!([{"role": "assistant", "parts": parts}]).to_string()
        };
        let tool = |name: &str| json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.agent.name": "desk", "gen_ai.tool.call.arguments": "{}"});
        let spans = [
            span(1, "invoke_agent desk", json!({"gen_ai.agent.name": "desk"})),
            span(
                2,
                "call_llm",
                json!({"gcp.vertex.agent.llm_response": json!({"content": {"parts": [{"text": "One moment."}, {"function_call": {"name": "look"}}]}}).to_string()}),
            ),
            span(3, "generate_content m", json!({"gen_ai.output.messages": output("One moment.", true)})),
            span(4, "execute_tool look", tool("look")),
            span(5, "execute_tool look", tool("look")),
            span(6, "execute_tool (merged)", tool("(merged tools)")),
            span(7, "generate_content m", json!({"gen_ai.output.messages": output("I pass you on.", true)})),
            span(8, "execute_tool transfer_to_agent", tool("transfer_to_agent")),
            span(9, "invoke_agent refunds", json!({"gen_ai.agent.name": "refunds"})),
            span(
                10,
                "generate_content m",
                json!({"gen_ai.output.messages": output("It is refunded.", false)}),
            ),
        ];
        let found = conversations(&spans);
        let turn = &found[0].turns[0];
        assert_eq!(
            turn.calls().iter().map(|call| call.name.as_str()).collect::<Vec<_>>(),
            ["look", "look", "transfer_to_agent"]
        );
        let Trajectory::Listed { texts, .. } = &turn.trajectory else { panic!() };
        let texts: Vec<(&str, &str)> = texts
            .iter()
            .map(|(author, parts)| (author.as_str(), parts[0].text.as_deref().unwrap()))
            .collect();
        assert_eq!(texts, [("desk", "One moment."), ("desk", "I pass you on.")]);
        assert_eq!(turn.response_text(), "It is refunded.");
    }

    #[test]
    fn what_a_trace_does_not_say_is_told() {
        let bare = otlp().replace("gen_ai.tool.call.arguments", "x").replace("gen_ai.input.messages", "y");
        let found = conversations(&read_spans(&bare).unwrap());
        assert_eq!(found[0].missing.len(), 2);
        assert!(found[0].missing[0].contains("CAPTURE_MESSAGE_CONTENT"));
        assert!(read_spans("{}").is_err() && read_spans("no").is_err());
        assert_eq!(conversations(&[TraceSpan { name: "GET /".into(), ..TraceSpan::default() }]), []);
    }
}
