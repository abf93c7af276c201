//! Runs of LangSmith: what its client sends, and its export writes, one object a line.

use super::TraceSpan;
use super::facts::{SpanFacts, ToolFacts, result_of};
use super::message::messages;
use serde_json::{Map, Value};

/// The attribute that contains the run.
pub(super) const RUN: &str = "langsmith.run";

/// The span of a run; `None` if the value is none.
pub(super) fn span_of(run: &Value) -> Option<TraceSpan> {
    let text = |key: &str| run.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    run.get("run_type")?.as_str()?;
    let start = text("start_time");
    Some(TraceSpan {
        trace: text("trace_id"),
        id: text("id"),
        parent: text("parent_run_id"),
        name: text("name"),
        // Times without a zone are UTC.
        start: [start.clone(), format!("{start}Z")]
            .iter()
            .find_map(|time| time.parse::<jiff::Timestamp>().ok())
            .map_or(0, |time| time.as_nanosecond().max(0) as u128),
        attributes: Map::from_iter([(RUN.to_string(), run.clone())]),
    })
}

/// Reads a run.
pub(super) fn facts_of(span: &TraceSpan) -> SpanFacts {
    let run = &span.attributes[RUN];
    let (inputs, outputs) = (&run["inputs"], &run["outputs"]);
    let of = |value: &Value| if value.is_object() { messages(value) } else { Vec::new() };
    let conversation = ["session_id", "thread_id", "conversation_id"]
        .iter()
        .find_map(|key| run["extra"]["metadata"][*key].as_str())
        .map(str::to_string);
    let mut facts = SpanFacts { conversation, is_whole: true, ..SpanFacts::default() };
    match run["run_type"].as_str() {
        Some("tool") => {
            let output = outputs.get("output").unwrap_or(outputs);
            let id = [output["tool_call_id"].as_str(), run["extra"]["tool_call_id"].as_str()];
            facts.tool = Some(ToolFacts {
                name: span.name.clone(),
                id: id.into_iter().flatten().next().map(str::to_string),
                args: inputs.as_object().cloned(),
                result: (!output.is_null()).then(|| result_of(output)),
            });
        }
        Some("llm") => {
            facts.is_whole = false;
            facts.asked = of(inputs);
            facts.said = of(outputs);
        }
        _ if span.parent.is_empty() => {
            facts.agent = Some(span.name.clone());
            facts.asked = of(inputs);
            facts.said = of(outputs);
        }
        _ => {}
    }
    facts
}
