//! Observations of Langfuse: as its client sends them, and as traces and observations are exported.

use crate::formats::spans::arguments::given_arguments;
use crate::formats::spans::batch::{SpanMemory, UnusableBatch};
use crate::formats::spans::dialect::Dialect;
use crate::formats::spans::facts::{SpanFacts, ToolFacts};
use crate::formats::spans::message::{SpanMessage, messages};
use crate::formats::spans::{TraceSpan, instant, unquoted};
use serde_json::Value;

/// The attribute with the kind of an observation.
pub(in crate::formats::spans) const KIND: &str = "langfuse.observation.type";
const INPUT: &str = "langfuse.observation.input";
const OUTPUT: &str = "langfuse.observation.output";
/// The kind of a span that stands for an exported trace.
const TRACE: &str = "trace";

/// What the library writes into spans.
pub(super) static DIALECT: Dialect = Dialect {
    wrote: |span| span.attributes.contains_key(KIND),
    facts_of,
    how_to_record: Some(
        "Langfuse does not record the names of positional arguments: call the function with named ones",
    ),
};

/// The observations of an exported trace.
pub(in crate::formats::spans) fn observations_of(value: &Value) -> Option<&Vec<Value>> {
    value.get("observations")?.as_array()
}

/// Whether a value is an exported observation.
pub(in crate::formats::spans) fn is_observation(value: &Value) -> bool {
    ["traceId", "type"]
        .iter()
        .all(|key| value.get(*key).is_some_and(Value::is_string))
}

/// The span of an exported observation.
pub(in crate::formats::spans) fn of_observation(
    value: &Value,
    room: &mut SpanMemory,
) -> Result<TraceSpan, UnusableBatch> {
    let kind = text(value, "type").to_lowercase();
    exported(
        value,
        ["traceId", "id", "parentObservationId", "startTime"],
        &kind,
        room,
    )
}

/// The span of an exported trace itself.
pub(in crate::formats::spans) fn of_trace(
    value: &Value,
    room: &mut SpanMemory,
) -> Result<TraceSpan, UnusableBatch> {
    let mut span = exported(value, ["id", "id", "", "timestamp"], TRACE, room)?;
    let session = text(value, "sessionId");
    if !session.is_empty() {
        room.member()?;
        room.take(session.len())?;
        span.attributes.insert("session.id".into(), session.into());
    }
    Ok(span)
}

/// A span. The keys are those of its trace, its own id, that of its parent, and its start.
fn exported(
    value: &Value,
    keys: [&str; 4],
    kind: &str,
    room: &mut SpanMemory,
) -> Result<TraceSpan, UnusableBatch> {
    let [trace, id, parent, start] = keys.map(|key| text(value, key));
    let name = text(value, "name");
    room.take(
        size_of::<TraceSpan>() + trace.len() + id.len() + parent.len() + name.len() + kind.len(),
    )?;
    let mut span = TraceSpan {
        trace,
        id,
        parent,
        name,
        start: instant(&start),
        ..TraceSpan::default()
    };
    span.attributes.insert(KIND.into(), kind.into());
    for (attribute, key) in [(INPUT, "input"), (OUTPUT, "output")] {
        if let Some(given) = value.get(key).filter(|given| !given.is_null()) {
            room.member()?;
            span.attributes.insert(attribute.into(), room.copy(given)?);
        }
    }
    Ok(span)
}

fn text(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_string()
}

/// An observation of Langfuse. Positional arguments of a function are in a list, without their names.
fn facts_of(span: &TraceSpan) -> SpanFacts {
    let value = |key: &str| span.attributes.get(key).map(unquoted);
    let (input, output) = (value(INPUT), value(OUTPUT));
    let positional = input
        .as_ref()
        .and_then(|input| input.get("args")?.as_array()?.first())
        .cloned();
    let kind = span.attributes[KIND].as_str().unwrap_or_default();
    let text = |value: &Value| match value {
        Value::String(text) => vec![SpanMessage {
            text: text.clone(),
            ..SpanMessage::default()
        }],
        value => messages(value),
    };
    let user = |value: &Value| {
        text(value)
            .into_iter()
            .map(|one| one.with_role("user"))
            .collect()
    };
    let mut facts = SpanFacts {
        is_whole: kind != "generation",
        ..SpanFacts::default()
    };
    match kind {
        "tool" => {
            let args = input.and_then(|input| given_arguments(span, &input).args);
            facts.tool = Some(ToolFacts {
                name: span.name.clone(),
                id: None,
                args,
                result: output,
            });
        }
        "agent" | "generation" | TRACE => {
            facts.agent = (kind != "generation")
                .then(|| span.name.clone())
                .filter(|name| !name.is_empty());
            facts.asked = positional
                .as_ref()
                .or(input.as_ref())
                .map(user)
                .unwrap_or_default();
            facts.said = output.as_ref().map(text).unwrap_or_default();
        }
        _ => {}
    }
    facts
}
