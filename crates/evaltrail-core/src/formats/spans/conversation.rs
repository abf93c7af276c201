//! Conversations from spans: each trace of a conversation is one turn.

use super::TraceSpan;
use super::step::TracedStep;
use super::turn::{TracedTurn, traced_turn};
use crate::domain::{Content, Invocation, Part, ToolResponse, Trajectory};
use std::collections::HashMap;

/// A conversation that was read from traces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedConversation {
    /// The conversation's id, or the trace's id if it has none.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// Its turns.
    pub turns: Vec<Invocation>,
    /// Messages about what is missing in the trace, and how to record it.
    pub missing: Vec<String>,
}

/// The conversations in these spans, in the order in which they began.
pub fn conversations(spans: &[TraceSpan]) -> Vec<TracedConversation> {
    let conversation = |(id, turns): (String, Vec<TracedTurn>)| {
        let missing = turns
            .iter()
            .enumerate()
            .flat_map(|(at, turn)| missing(turn, at + 1))
            .collect();
        let agent = turns.iter().find_map(|turn| turn.agent.clone());
        TracedConversation {
            id,
            agent,
            missing,
            turns: turns.into_iter().map(invocation).collect(),
        }
    };
    traced_conversations(spans)
        .into_iter()
        .map(conversation)
        .collect()
}

/// The turns of each conversation, which is named by its id, or by that of its trace if it has none.
pub fn traced_conversations(spans: &[TraceSpan]) -> Vec<(String, Vec<TracedTurn>)> {
    let mut by_trace: Vec<(&str, Vec<&TraceSpan>)> = Vec::new();
    let mut positions: HashMap<&str, usize> = HashMap::new();
    for span in spans {
        let position = *positions.entry(&span.trace).or_insert_with(|| {
            by_trace.push((&span.trace, Vec::new()));
            by_trace.len() - 1
        });
        by_trace[position].1.push(span);
    }
    let mut found: Vec<(String, Vec<TracedTurn>)> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    for (trace, spans) in by_trace {
        let Some(turn) = traced_turn(&spans) else {
            continue;
        };
        let id = turn
            .conversation
            .clone()
            .unwrap_or_else(|| trace.to_string());
        let position = *positions.entry(id.clone()).or_insert_with(|| {
            found.push((id, Vec::new()));
            found.len() - 1
        });
        found[position].1.push(turn);
    }
    found
}

fn invocation(turn: TracedTurn) -> Invocation {
    let (mut calls, mut responses, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for step in turn.steps {
        match step {
            TracedStep::Said { author, text } => {
                texts.push((
                    author,
                    vec![Part {
                        text: Some(text),
                        ..Part::default()
                    }],
                ));
            }
            TracedStep::Called { call, result, .. } => {
                if let Some(result) = result {
                    let response = if result.is_object() {
                        result
                    } else {
                        serde_json::json!({ "result": result })
                    };
                    responses.push(ToolResponse {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        response,
                    });
                }
                calls.push(call);
            }
        }
    }
    Invocation {
        user: Content::text("user", turn.user.unwrap_or_default()),
        final_response: turn.response.map(|text| Content::text("model", text)),
        trajectory: Trajectory::Listed {
            calls,
            responses,
            texts,
        },
        ..Invocation::default()
    }
}

fn missing(turn: &TracedTurn, number: usize) -> Vec<String> {
    let ask = turn.how_to_record;
    let mut missing = Vec::new();
    if turn.user.is_none() {
        missing.push(format!(
            "turn {number}: the trace does not contain the user's message; {ask}"
        ));
    }
    if turn.calls_without_arguments > 0 {
        missing.push(format!(
            "turn {number}: the trace contains tool calls without arguments; {ask}"
        ));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::spans::read_spans;
    use serde_json::{Value, json};

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
            (
                "3",
                json!({"gen_ai.operation.name": "generate_content", "gen_ai.output.messages": output}),
            ),
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
        for text in [
            otlp(),
            format!("{}\n", otlp()),
            otlp().replace("resourceSpans", "batches"),
            jaeger(),
            debug(),
        ] {
            let found = conversations(&read_spans(&text).unwrap());
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(
                (found[0].id.as_str(), found[0].agent.as_deref()),
                ("s1", Some("home"))
            );
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
    fn transfer_texts_are_read_merged_calls_are_not() {
        let span = |start: u128, name: &str, attributes: Value| TraceSpan {
            trace: "t".into(),
            name: name.into(),
            start,
            id: start.to_string(),
            parent: String::new(),
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
            span(
                3,
                "generate_content m",
                json!({"gen_ai.output.messages": output("One moment.", true)}),
            ),
            span(4, "execute_tool look", tool("look")),
            span(5, "execute_tool look", tool("look")),
            span(6, "execute_tool (merged)", tool("(merged tools)")),
            span(
                7,
                "generate_content m",
                json!({"gen_ai.output.messages": output("I pass you on.", true)}),
            ),
            span(
                8,
                "execute_tool transfer_to_agent",
                tool("transfer_to_agent"),
            ),
            span(
                9,
                "invoke_agent refunds",
                json!({"gen_ai.agent.name": "refunds"}),
            ),
            span(
                10,
                "generate_content m",
                json!({"gen_ai.output.messages": output("It is refunded.", false)}),
            ),
        ];
        let found = conversations(&spans);
        let turn = &found[0].turns[0];
        assert_eq!(
            turn.calls()
                .iter()
                .map(|call| call.name.as_str())
                .collect::<Vec<_>>(),
            ["look", "look", "transfer_to_agent"]
        );
        let Trajectory::Listed { texts, .. } = &turn.trajectory else {
            panic!()
        };
        let texts: Vec<(&str, &str)> = texts
            .iter()
            .map(|(author, parts)| (author.as_str(), parts[0].text.as_deref().unwrap()))
            .collect();
        assert_eq!(texts, [("desk", "One moment."), ("desk", "I pass you on.")]);
        assert_eq!(turn.response_text(), "It is refunded.");
    }

    #[test]
    fn missing_parts_of_trace_are_reported() {
        let bare = otlp()
            .replace("gen_ai.tool.call.arguments", "x")
            .replace("gen_ai.input.messages", "y");
        let found = conversations(&read_spans(&bare).unwrap());
        assert_eq!(found[0].missing.len(), 2);
        assert!(found[0].missing[0].contains("CAPTURE_MESSAGE_CONTENT"));
        assert!(read_spans("{}").is_err() && read_spans("no").is_err());
        assert_eq!(
            conversations(&[TraceSpan {
                name: "GET /".into(),
                ..TraceSpan::default()
            }]),
            []
        );
    }
}
