//! Runs of LangSmith: what its client sends, and its export writes, one object a line.

use super::batch::{Room, UnusableBatch};
use super::facts::{SpanFacts, ToolFacts, result_of};
use super::message::messages;
use super::{TraceSpan, instant};
use serde_json::{Map, Value};

/// The attribute that contains the run.
pub(super) const RUN: &str = "langsmith.run";

/// Whether a value is a run.
pub(super) fn is_run(value: &Value) -> bool {
    value.get("run_type").is_some_and(Value::is_string)
}

/// The span of a run.
pub(super) fn span_of(run: &Value, room: &mut Room) -> Result<TraceSpan, UnusableBatch> {
    let text = |key: &str| run.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    room.take(size_of::<TraceSpan>())?;
    // The ids and the name are part of the run, too.
    let copy = room.copy(run)?;
    room.copy(run)?;
    Ok(TraceSpan {
        trace: text("trace_id"),
        id: text("id"),
        parent: text("parent_run_id"),
        name: text("name"),
        start: instant(&text("start_time")),
        attributes: Map::from_iter([(RUN.to_string(), copy)]),
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
