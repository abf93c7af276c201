//! Spans that are exported from Phoenix: as rows of its table (`context.trace_id`, `attributes.llm.model_name`), and as its
//! server returns them (`context`, `attributes`).

use super::batch::{SpanMemory, UnusableBatch};
use super::{TraceSpan, instant};
use crate::formats::spans::libraries::openinference;
use serde_json::{Map, Value};

/// How the keys of attributes begin in a row.
const ATTRIBUTES: &str = "attributes.";
/// How the names of attributes begin whose values are lists of messages.
const OF_MODELS: &str = "llm.";

/// The id of the trace of an exported span; `None` if the value is none.
pub(super) fn trace_of(value: &Value) -> Option<String> {
    in_context(value, "trace_id")
}

fn in_context(value: &Value, key: &str) -> Option<String> {
    let nested = || value.get("context")?.get(key);
    let found = value.get(format!("context.{key}")).or_else(nested)?;
    found.as_str().map(str::to_string)
}

/// Reads a span.
pub(super) fn span_of(value: &Value, room: &mut SpanMemory) -> Result<TraceSpan, UnusableBatch> {
    let text = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string()
    };
    let mut span = TraceSpan {
        trace: trace_of(value).unwrap_or_default(),
        id: in_context(value, "span_id").unwrap_or_default(),
        parent: text("parent_id"),
        name: text("name"),
        start: instant(&text("start_time")),
        ..TraceSpan::default()
    };
    room.take(
        size_of::<TraceSpan>()
            + span.trace.len()
            + span.id.len()
            + span.parent.len()
            + span.name.len(),
    )?;
    if let Some(attributes) = value.get("attributes").and_then(Value::as_object) {
        attributes
            .iter()
            .try_for_each(|(key, value)| add(key, value, &mut span.attributes, room))?;
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        if let Some(key) = key.strip_prefix(ATTRIBUTES) {
            add(key, value, &mut span.attributes, room)?;
        }
    }
    if !span.attributes.contains_key(openinference::KIND) {
        room.member()?;
        span.attributes
            .insert(openinference::KIND.into(), text("span_kind").into());
    }
    Ok(span)
}

/// Adds an attribute; lists of messages as attributes of their own, as OpenInference names them.
fn add(
    key: &str,
    value: &Value,
    attributes: &mut Map<String, Value>,
    room: &mut SpanMemory,
) -> Result<(), UnusableBatch> {
    match value {
        Value::Null => Ok(()),
        Value::Array(items) if key.starts_with(OF_MODELS) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(at, item)| add(&format!("{key}.{at}"), item, attributes, room))
        }
        Value::Object(members) if key.starts_with(OF_MODELS) => {
            let mut members = members.iter();
            members.try_for_each(|(name, member)| {
                add(&format!("{key}.{name}"), member, attributes, room)
            })
        }
        value => {
            room.member()?;
            room.take(key.len())?;
            attributes.insert(key.to_string(), room.copy(value)?);
            Ok(())
        }
    }
}
