//! Reading of spans from files.

use super::batch::{SpanBatch, UnusableBatch};
use super::{TraceSpan, langsmith};
use crate::formats::json::{self, Unreadable};
use serde_json::{Map, Value};

/// The spans of a file of traces, the earliest first. The error names the expected formats.
pub fn read_spans(text: &str) -> Result<Vec<TraceSpan>, String> {
    let documents = match json::parse(text) {
        Ok(parsed) => vec![parsed.value],
        Err(error) => {
            lines(text).ok_or_else(|| format!("the file is neither JSON nor JSON Lines: {error}"))?
        }
    };
    let mut spans: Vec<TraceSpan> = documents.iter().flat_map(spans_of).collect();
    if spans.is_empty() {
        return Err(
            "no spans found: OTLP JSON has resourceSpans, Jaeger's has data, ADK's is a list of spans, LangSmith's are runs"
                .into(),
        );
    }
    spans.sort_by_key(|span| span.start);
    Ok(spans)
}

/// The spans of wanted traces in a document that an agent sends. The document and the spans together take at most `most`
/// bytes of memory.
pub fn read_span_batch(
    text: &str,
    is_wanted: &dyn Fn(&str) -> bool,
    most: usize,
) -> Result<SpanBatch, UnusableBatch> {
    let (document, size) = json::parse_within(text, most / 2).map_err(|error| match error {
        Unreadable::TooLarge => UnusableBatch::TooLarge,
        Unreadable::Syntax(error) => UnusableBatch::Invalid(error.to_string()),
    })?;
    let mut batch = SpanBatch::new(most);
    batch.spans = spans_of(&document).into_iter().filter(|span| is_wanted(&span.trace)).collect();
    batch.size = if batch.spans.is_empty() { 0 } else { size };
    Ok(batch)
}

fn lines(text: &str) -> Option<Vec<Value>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| json::parse(line).ok().map(|parsed| parsed.value)).collect()
}

fn spans_of(document: &Value) -> Vec<TraceSpan> {
    let listed = |key: &str| document.get(key).and_then(Value::as_array);
    if let Some(resources) = listed("resourceSpans").or(listed("batches")) {
        return resources.iter().flat_map(of_resource).collect();
    }
    if let Some(traces) = listed("data") {
        let spans = traces.iter().filter_map(|trace| trace.get("spans")?.as_array());
        return spans.flatten().map(of_jaeger).collect();
    }
    if let Some(span) = langsmith::span_of(document) {
        return vec![span];
    }
    let of_one = |one: &Value| match one.get("span_id") {
        Some(_) => Some(of_adk(one)),
        None => langsmith::span_of(one),
    };
    document.as_array().into_iter().flatten().filter_map(of_one).collect()
}

fn of_resource(resource: &Value) -> Vec<TraceSpan> {
    let scopes =
        ["scopeSpans", "instrumentationLibrarySpans"].iter().find_map(|key| resource.get(key)?.as_array());
    let spans = scopes.into_iter().flatten().filter_map(|scope| scope.get("spans")?.as_array());
    spans.flatten().map(of_otlp).collect()
}

fn of_otlp(span: &Value) -> TraceSpan {
    let mut attributes = otlp_attributes(span.get("attributes"));
    for event in span.get("events").and_then(Value::as_array).into_iter().flatten() {
        attributes.extend(otlp_attributes(event.get("attributes")));
    }
    TraceSpan {
        trace: text(span, "traceId"),
        id: text(span, "spanId"),
        parent: text(span, "parentSpanId"),
        name: text(span, "name"),
        start: nanos(span, "startTimeUnixNano"),
        attributes,
    }
}

fn otlp_attributes(list: Option<&Value>) -> Map<String, Value> {
    let pairs = list.and_then(Value::as_array).into_iter().flatten();
    pairs
        .filter_map(|pair| Some((pair.get("key")?.as_str()?.to_string(), otlp_value(pair.get("value")?))))
        .collect()
}

/// A value in Protobuf's JSON encoding, in which integers are strings.
fn otlp_value(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|map| map.iter().next()) else { return Value::Null };
    let values = |inner: &Value| inner.get("values").and_then(Value::as_array).cloned().unwrap_or_default();
    match kind.as_str() {
        "intValue" => match inner.as_str().and_then(|text| json::parse(text).ok()) {
            Some(parsed) => parsed.value,
            None => inner.clone(),
        },
        "arrayValue" => values(inner).iter().map(otlp_value).collect(),
        "kvlistValue" => otlp_attributes(Some(&Value::Array(values(inner)))).into(),
        _ => inner.clone(),
    }
}

fn of_jaeger(span: &Value) -> TraceSpan {
    let pairs = |list: Option<&Value>| -> Map<String, Value> {
        let tags = list.and_then(Value::as_array).into_iter().flatten();
        tags.filter_map(|tag| Some((tag.get("key")?.as_str()?.to_string(), tag.get("value")?.clone())))
            .collect()
    };
    let mut attributes = pairs(span.get("tags"));
    for log in span.get("logs").and_then(Value::as_array).into_iter().flatten() {
        attributes.extend(pairs(log.get("fields")));
    }
    let start = nanos(span, "startTime") * 1000;
    let references = span.get("references").and_then(Value::as_array).into_iter().flatten();
    let parent = references.filter(|one| one["refType"] == "CHILD_OF").map(|one| text(one, "spanID")).next();
    TraceSpan {
        trace: text(span, "traceID"),
        id: text(span, "spanID"),
        parent: parent.unwrap_or_default(),
        name: text(span, "operationName"),
        start,
        attributes,
    }
}

fn of_adk(span: &Value) -> TraceSpan {
    let attributes = span.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default();
    TraceSpan {
        trace: text(span, "trace_id"),
        id: text(span, "span_id"),
        parent: text(span, "parent_span_id"),
        name: text(span, "name"),
        start: nanos(span, "start_time"),
        attributes,
    }
}

/// A string, or a number as a string, since ids have up to 128 bits.
fn text(span: &Value, key: &str) -> String {
    match span.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn nanos(span: &Value, key: &str) -> u128 {
    text(span, key).parse().unwrap_or(0)
}
