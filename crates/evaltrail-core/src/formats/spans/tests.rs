//! Traces that real libraries wrote, and exports of services.

use super::{TracedConversation, conversations, read_spans};
use serde_json::{Value, json};

fn traced(text: &str) -> Vec<TracedConversation> {
    conversations(&read_spans(text).unwrap())
}

/// The user's message, the calls with their ids and results, the response, and the number of messages about what is missing.
fn shown(traced: &TracedConversation) -> Value {
    let turn = &traced.turns[0];
    let calls = turn.calls().into_iter().enumerate().map(|(at, call)| {
        let result = turn
            .trajectory
            .response_to(at)
            .map(|one| one.response.clone());
        json!([call.id, call.name, call.args, result])
    });
    json!([
        turn.user.scored_text(),
        calls.collect::<Value>(),
        turn.response_text(),
        traced.missing.len()
    ])
}

#[test]
fn parallel_langchain_calls_are_in_model_order() {
    let text = include_str!(
        "../../../../../fixtures/traces/langchain-1.5.openinference.parallel.otlp.jsonl"
    );
    let found = traced(text);
    assert_eq!(found.len(), 1);
    let calls = json!([
        ["call_836_0", "get_weather", {"city": "A3", "days": 1}, {"result": "A3 has 3 degrees"}],
        ["call_836_1", "get_weather", {"city": "B3", "days": 2}, {"result": "B3 has 3 degrees"}],
    ]);
    let response = "Case 3: A3 has 3 degrees | B3 has 3 degrees";
    assert_eq!(
        shown(&found[0]),
        json!(["Case 3: parallel weather", calls, response, 0])
    );
    // Also if the second one begins first.
    let reversed = text.replace("1795577557177453056", "1795577557178999999");
    assert_eq!(shown(&traced(&reversed)[0])[1], calls);
}

#[test]
fn arguments_of_openllmetry_are_unwrapped() {
    let text =
        include_str!("../../../../../fixtures/traces/langchain-1.5.openllmetry-0.62.otlp.jsonl");
    let calls = json!([
        ["c0", "get_weather", {"city": "Oslo", "days": 2}, {"result": "Oslo has 3 degrees"}],
        ["c1", "get_weather", {"city": "Bergen's", "days": 1}, {"result": "Bergen's has 3 degrees"}],
    ]);
    let expected = json!([
        "Weather in Oslo and Bergen's?",
        calls,
        "Both have 3 degrees.",
        0
    ]);
    // Also where only the Python literal is recorded; the trace of the agent's creation is no conversation.
    for text in [
        text.to_string(),
        text.replace("\\\"inputs\\\": {\\\"city", "\\\"other\\\": {\\\"city"),
    ] {
        let found = traced(&text);
        assert_eq!((found.len(), found[0].agent.as_deref()), (1, Some("desk")));
        assert_eq!(shown(&found[0]), expected);
    }
}

#[test]
fn arguments_of_smolagents_are_unwrapped() {
    let found = traced(include_str!(
        "../../../../../fixtures/traces/smolagents-1.26.openinference.otlp.jsonl"
    ));
    let calls = json!([
        [null, "get_weather", {"city": "Oslo", "days": 2}, {"result": "Oslo has 3 degrees"}],
        [null, "get_weather", {"city": "Bergen"}, {"result": "Bergen has 3 degrees"}],
    ]);
    let response = "Both have 3 degrees.";
    assert_eq!(
        shown(&found[0]),
        json!(["Weather in Oslo and Bergen?", calls, response, 0])
    );
    // A call of the tool by the program itself, with a positional argument.
    assert_eq!(
        shown(&found[1])[1][0][2],
        json!({"city": "Rome", "days": 3})
    );
}

#[test]
fn exports_of_langfuse_are_read() {
    let request = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]);
    let function = json!({"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"});
    let reply = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": function}]});
    let observations = json!([
        {"id": "o1", "traceId": "t1", "type": "GENERATION", "name": "chat", "startTime": "2026-11-20T10:00:00.100Z", "input": request, "output": reply},
        {"id": "o2", "traceId": "t1", "type": "TOOL", "name": "get_weather", "startTime": "2026-11-20T10:00:01.100Z", "input": {"city": "Oslo"}, "output": "4"},
    ]);
    let trace = json!({"id": "t1", "name": "desk", "timestamp": "2026-11-20T10:00:00.000Z", "sessionId": "s1",
        "input": {"messages": request}, "output": "Oslo: 4 degrees", "observations": observations});
    let calls = json!([["c1", "get_weather", {"city": "Oslo"}, {"result": 4}]]);
    let expected = json!(["Weather in Oslo?", calls, "Oslo: 4 degrees", 0]);
    for text in [
        trace.to_string(),
        json!([trace]).to_string(),
        json!({"data": [trace], "meta": {}}).to_string(),
    ] {
        let found = traced(&text);
        assert_eq!(
            (found.len(), found[0].id.as_str(), found[0].agent.as_deref()),
            (1, "s1", Some("desk"))
        );
        assert_eq!(shown(&found[0]), expected, "{text}");
    }
    assert_eq!(shown(&traced(&observations.to_string())[0])[1], calls);
}

#[test]
fn exports_of_phoenix_are_read() {
    let rows = [
        json!({"name": "get_weather", "span_kind": "TOOL", "parent_id": "a", "start_time": "2026-11-20T10:00:02Z",
            "context.span_id": "b", "context.trace_id": "t", "attributes.input.value": "{\"city\":\"Oslo\"}",
            "attributes.tool.name": "get_weather", "attributes.output.value": "4"}),
        json!({"name": "chat", "span_kind": "LLM", "parent_id": "a", "start_time": "2026-11-20T10:00:01Z",
            "context.span_id": "c", "context.trace_id": "t", "attributes.llm.output_messages": [{"message.role": "assistant",
            "message.tool_calls": [{"tool_call.id": "c1", "tool_call.function.name": "get_weather", "tool_call.function.arguments": "{\"city\":\"Oslo\"}"}]}]}),
        json!({"name": "agent", "span_kind": "AGENT", "parent_id": null, "start_time": "2026-11-20T10:00:00Z",
            "context.span_id": "a", "context.trace_id": "t", "attributes.input.value": "Weather in Oslo?",
            "attributes.output.value": "Oslo: 4"}),
    ];
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    let nested = |row: &Value| {
        let mut attributes = serde_json::Map::new();
        for (key, value) in row.as_object().unwrap() {
            attributes.extend(
                key.strip_prefix("attributes.")
                    .map(|key| (key.to_string(), value.clone())),
            );
        }
        json!({"name": row["name"], "span_kind": row["span_kind"], "parent_id": row["parent_id"], "start_time": row["start_time"],
            "context": {"span_id": row["context.span_id"], "trace_id": row["context.trace_id"]}, "attributes": attributes})
    };
    let of_server = json!({"data": rows.iter().map(nested).collect::<Value>()}).to_string();
    let calls = json!([["c1", "get_weather", {"city": "Oslo"}, {"result": 4}]]);
    for text in [lines.join("\n"), json!(rows).to_string(), of_server] {
        assert_eq!(
            shown(&traced(&text)[0]),
            json!(["Weather in Oslo?", calls, "Oslo: 4", 0]),
            "{text}"
        );
    }
}

#[test]
fn spans_of_the_ai_sdk_are_read() {
    let span = |start: u8, name: &str, attributes: Value| {
        let mut attributes = attributes;
        attributes["ai.operationId"] = name.into();
        let pairs: Vec<Value> = attributes
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
            .collect();
        let parent = if start == 1 { "" } else { "1" };
        json!({"traceId": "t", "spanId": start.to_string(), "parentSpanId": parent, "name": name,
            "startTimeUnixNano": start.to_string(), "attributes": pairs})
    };
    let messages =
        json!([{"role": "user", "content": [{"type": "text", "text": "Weather?"}]}]).to_string();
    let tool = |id: &str, city: &str| json!({"toolCallId": id, "toolName": "get", "input": json!({"city": city}).to_string()});
    let asked = json!([tool("1", "A"), tool("2", "B")]).to_string();
    let call = |id: &str, city: &str| {
        json!({"ai.toolCall.name": "get", "ai.toolCall.id": id,
        "ai.toolCall.input": json!({"city": city}).to_string(), "ai.toolCall.output": "\"warm\""})
    };
    let model = "ai.streamText.doStream";
    let spans = json!([
        span(
            1,
            "ai.streamText",
            json!({"ai.prompt": "{\"system\":\"Be brief.\",\"prompt\":\"Weather?\"}", "ai.response.text": "Both are warm."})
        ),
        span(
            2,
            model,
            json!({"ai.prompt.messages": messages, "ai.response.text": "One moment.", "ai.response.toolCalls": asked})
        ),
        span(3, "ai.toolCall", call("2", "B")),
        span(4, "ai.toolCall", call("1", "A")),
        span(
            5,
            model,
            json!({"ai.prompt.messages": messages, "ai.response.text": "Both are warm."})
        ),
    ]);
    let otlp =
        |spans: &Value| json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string();
    let calls = json!([["1", "get", {"city": "A"}, {"result": "warm"}], ["2", "get", {"city": "B"}, {"result": "warm"}]]);
    let found = traced(&otlp(&spans));
    assert_eq!(
        shown(&found[0]),
        json!(["Weather?", calls, "Both are warm.", 0])
    );
    // The whole alone.
    let whole = traced(&otlp(&json!([spans[0]])));
    assert_eq!(
        shown(&whole[0]),
        json!(["Weather?", [], "Both are warm.", 0])
    );
}

#[test]
fn a_file_without_spans_is_described() {
    for (text, found) in [
        (
            "{\"id\": 1, \"turns\": []}",
            "an object with the keys id, turns",
        ),
        (
            "[{\"question\": 1}]",
            "a list of objects with the keys question",
        ),
        ("[]", "an empty list"),
        ("{}", "an object with no key"),
    ] {
        let error = read_spans(text).unwrap_err();
        assert!(
            error.starts_with(&format!(
                "no spans found: the file contains {found}; known are"
            )),
            "{error}"
        );
    }
}
