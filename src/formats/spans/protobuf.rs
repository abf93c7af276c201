//! Spans of OTLP as Protobuf (`opentelemetry/proto/trace/v1/trace.proto`). Only the fields that are read are declared.

use super::TraceSpan;
use base64::Engine;
use prost::Message;
use serde_json::{Map, Value};

#[derive(Clone, PartialEq, Message)]
struct TracesData {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<Event>,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(message, repeated, tag = "3")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "OneValue", tags = "1, 2, 3, 4, 5, 6, 7")]
    value: Option<OneValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum OneValue {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    List(ValueList),
    #[prost(message, tag = "6")]
    Map(ValueMap),
    #[prost(bytes, tag = "7")]
    Bytes(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
struct ValueList {
    #[prost(message, repeated, tag = "1")]
    values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ValueMap {
    #[prost(message, repeated, tag = "1")]
    values: Vec<KeyValue>,
}

/// The spans of a message, in its order. The error says why it cannot be decoded.
pub fn read_protobuf(bytes: &[u8]) -> Result<Vec<TraceSpan>, String> {
    let data = TracesData::decode(bytes).map_err(|error| error.to_string())?;
    let scopes = data.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    Ok(scopes.flat_map(|scope| scope.spans).map(span_of).collect())
}

fn span_of(span: Span) -> TraceSpan {
    let of_events = span.events.into_iter().flat_map(|event| event.attributes);
    TraceSpan {
        trace: in_hexadecimal(&span.trace_id),
        id: in_hexadecimal(&span.span_id),
        parent: in_hexadecimal(&span.parent_span_id),
        name: span.name,
        start: u128::from(span.start_time_unix_nano),
        attributes: map_of(span.attributes.into_iter().chain(of_events)),
    }
}

fn in_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn map_of(pairs: impl IntoIterator<Item = KeyValue>) -> Map<String, Value> {
    pairs.into_iter().map(|pair| (pair.key, pair.value.map_or(Value::Null, value_of))).collect()
}

fn value_of(value: AnyValue) -> Value {
    match value.value {
        None => Value::Null,
        Some(OneValue::Text(text)) => text.into(),
        Some(OneValue::Bool(flag)) => flag.into(),
        Some(OneValue::Int(number)) => number.into(),
        Some(OneValue::Double(number)) => number.into(),
        Some(OneValue::List(list)) => list.values.into_iter().map(value_of).collect(),
        Some(OneValue::Map(map)) => map_of(map.values).into(),
        Some(OneValue::Bytes(bytes)) => base64::engine::general_purpose::STANDARD.encode(bytes).into(),
    }
}
