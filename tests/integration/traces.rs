//! Traces that real libraries wrote, read as conversations.

use crate::common::oracle;
use evaltrail::formats::spans::{Traced, conversations, read_spans};
use serde_json::{Value, json};

/// The conversations in a trace of the oracle.
fn traced(name: &str) -> Option<Vec<Traced>> {
    let Some(oracle) = oracle() else {
        println!("SKIPPED: the oracle is missing");
        return None;
    };
    let text = std::fs::read_to_string(oracle.join("real/traces").join(name)).unwrap();
    Some(conversations(&read_spans(&text).unwrap()))
}

#[test]
fn traces_of_each_library_are_conversations() {
    let weather = || json!([["get_weather", {"city": "Oslo", "days": 3}, {"city": "Oslo", "days": 3, "temp_c": 4, "sky": "rain"}]]);
    let note = |name: &str, args: Value, result: Value| json!([[name, args, result], ["add_note", {"text": "milk"}, {"saved": true}]]);
    let (asks, answers) = (Some("Weather in Oslo for 3 days?"), Some("Oslo: 4 degrees and rain."));
    let (clerk, noted) = (Some("Let the clerk note: milk."), Some("Noted: milk."));
    for (name, agent, user, calls, response) in [
        (
            "adk-2.13.clerk.otlp.json",
            Some("desk"),
            clerk,
            note("transfer_to_agent", json!({"agent_name": "clerk"}), json!({"result": null})),
            Some("I have what I need.\nNoted: milk."),
        ),
        ("pydantic-ai-2.68.v2.otlp.json", Some("desk"), asks, weather(), answers),
        ("pydantic-ai-2.68.v5.otlp.json", Some("desk"), asks, weather(), answers),
        // The span of the tool has the bare text; its name is in the call that the model asked for.
        (
            "langgraph-1.2.openinference.otlp.json",
            None,
            clerk,
            json!([["add_note", {"text": "milk"}, {"saved": true}]]),
            noted,
        ),
        (
            "openai-agents-0.24.openinference.otlp.json",
            Some("desk"),
            None,
            note("transfer_to_clerk", json!({}), json!({"result": "clerk"})),
            None,
        ),
        ("langsmith-0.15.runs.jsonl", Some("desk"), asks, weather(), answers),
        (
            "langfuse-5.otlp.json",
            Some("desk"),
            Some("Weather?"),
            json!([["get_weather", {"args": ["Oslo"], "kwargs": {"days": 3}}, {"temp_c": 4}]]),
            Some("4 degrees"),
        ),
    ] {
        let Some(found) = traced(name) else { return };
        assert_eq!(found.len(), 1, "{name}");
        let turn = &found[0].turns[0];
        assert_eq!(found[0].agent.as_deref(), agent, "{name}");
        assert_eq!(turn.user.scored_text(), user.unwrap_or_default(), "{name}");
        assert_eq!(
            turn.final_response.as_ref().map(|said| said.scored_text()).as_deref(),
            response,
            "{name}"
        );
        let made = turn.calls();
        let did = made.iter().enumerate().map(|(at, call)| {
            json!([call.name, call.args, turn.trajectory.response_to(at).map(|one| one.response.clone())])
        });
        assert_eq!(did.collect::<Value>(), calls, "{name}");
        assert_eq!(found[0].missing.is_empty(), user.is_some(), "{name}: {:?}", found[0].missing);
    }
}
