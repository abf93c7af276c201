//! Runs of LangSmith: what its client sends, and its export writes, one object a line.

use crate::formats::spans::batch::{SpanMemory, UnusableBatch};
use crate::formats::spans::dialect::Dialect;
use crate::formats::spans::facts::{SpanFacts, ToolFacts, result_of};
use crate::formats::spans::message::messages;
use crate::formats::spans::{TraceSpan, instant};
use serde_json::{Map, Value};

/// The attribute that contains the run.
pub(in crate::formats::spans) const RUN: &str = "langsmith.run";

/// What the library writes into spans.
pub(super) static DIALECT: Dialect = Dialect {
    wrote: |span| span.attributes.contains_key(RUN),
    facts_of,
    how_to_record: None,
};

/// Whether a value is a run.
pub(in crate::formats::spans) fn is_run(value: &Value) -> bool {
    value.get("run_type").is_some_and(Value::is_string)
}

/// The span of a run.
pub(in crate::formats::spans) fn span_of(
    run: &Value,
    room: &mut SpanMemory,
) -> Result<TraceSpan, UnusableBatch> {
    let text = |key: &str| {
        run.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string()
    };
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
fn facts_of(span: &TraceSpan) -> SpanFacts {
    let run = &span.attributes[RUN];
    let (inputs, outputs) = (&run["inputs"], &run["outputs"]);
    let of = |value: &Value| {
        if value.is_object() {
            messages(value)
        } else {
            Vec::new()
        }
    };
    let conversation = ["session_id", "thread_id", "conversation_id"]
        .iter()
        .find_map(|key| run["extra"]["metadata"][*key].as_str())
        .map(str::to_string);
    let mut facts = SpanFacts {
        conversation,
        is_whole: true,
        ..SpanFacts::default()
    };
    match run["run_type"].as_str() {
        Some("tool") => {
            let output = outputs.get("output").unwrap_or(outputs);
            let id = [
                output["tool_call_id"].as_str(),
                run["extra"]["tool_call_id"].as_str(),
            ];
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
