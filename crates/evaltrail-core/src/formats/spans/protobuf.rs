//! Spans of OTLP as Protobuf (`opentelemetry/proto/trace/v1/trace.proto`). Only the fields that are used are read, and
//! only spans of wanted traces, within a limit of memory: a short message can contain millions of empty ones.

use super::TraceSpan;
use super::batch::{SpanBatch, SpanMemory, UnusableBatch};
use super::wire::{WireField, WireFields};
use base64::Engine;
use serde_json::{Map, Value};

/// The maximum depth of values in values.
const DEEPEST: usize = 100;

/// The spans of wanted traces in a message, in its order. A trace whose spans need more than `most` bytes of memory is cut
/// off.
pub fn read_protobuf(
    bytes: &[u8],
    is_wanted: &dyn Fn(&str) -> bool,
    most: usize,
) -> Result<SpanBatch, UnusableBatch> {
    let mut batch = SpanBatch::new(most);
    // TracesData.resource_spans
    each_message(bytes, 1, &mut |resource| {
        // ResourceSpans.scope_spans
        each_message(resource, 2, &mut |scope| {
            // ScopeSpans.spans
            each_message(scope, 2, &mut |span| {
                let trace = trace_of(span)?;
                match is_wanted(&trace) {
                    true => batch.add(trace, |trace, room| span_of(trace, span, room)),
                    false => Ok(()),
                }
            })
        })
    })?;
    Ok(batch)
}

/// Passes the messages in a field of a message to a function.
fn each_message(
    bytes: &[u8],
    number: u32,
    each: &mut dyn FnMut(&[u8]) -> Result<(), UnusableBatch>,
) -> Result<(), UnusableBatch> {
    for field in WireFields(bytes) {
        if let (found, WireField::Bytes(message)) = field?
            && found == number
        {
            each(message)?;
        }
    }
    Ok(())
}

/// The id of the trace of a span.
fn trace_of(span: &[u8]) -> Result<String, UnusableBatch> {
    let mut trace = String::new();
    each_message(span, 1, &mut |id| {
        trace = in_hexadecimal(id);
        Ok(())
    })?;
    Ok(trace)
}

fn span_of(trace: &str, bytes: &[u8], room: &mut SpanMemory) -> Result<TraceSpan, UnusableBatch> {
    let mut span = TraceSpan {
        trace: trace.to_string(),
        ..TraceSpan::default()
    };
    room.take(size_of::<TraceSpan>() + trace.len())?;
    let mut of_events = Map::new();
    for field in WireFields(bytes) {
        match field? {
            (2, WireField::Bytes(id)) => span.id = in_hexadecimal(id),
            (4, WireField::Bytes(id)) => span.parent = in_hexadecimal(id),
            (5, WireField::Bytes(name)) => span.name = text(name, room)?,
            (7, WireField::Fixed64(at)) => span.start = u128::from(at),
            (9, WireField::Bytes(pair)) => add_pair(pair, &mut span.attributes, 0, room)?,
            // Span.events, Event.attributes
            (11, WireField::Bytes(event)) => {
                each_message(event, 3, &mut |pair| {
                    add_pair(pair, &mut of_events, 0, room)
                })?;
            }
            _ => {}
        }
    }
    span.attributes.extend(of_events);
    Ok(span)
}

fn in_hexadecimal(bytes: &[u8]) -> String {
    // Ids have 16 or 8 bytes.
    bytes
        .iter()
        .take(32)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn text(bytes: &[u8], room: &mut SpanMemory) -> Result<String, UnusableBatch> {
    room.take(bytes.len())?;
    let text =
        std::str::from_utf8(bytes).map_err(|error| UnusableBatch::Invalid(error.to_string()))?;
    Ok(text.to_string())
}

/// Adds the pair of a `KeyValue` to a map.
fn add_pair(
    pair: &[u8],
    map: &mut Map<String, Value>,
    depth: usize,
    room: &mut SpanMemory,
) -> Result<(), UnusableBatch> {
    room.member()?;
    let (mut key, mut value) = (String::new(), Value::Null);
    for field in WireFields(pair) {
        match field? {
            (1, WireField::Bytes(name)) => key = text(name, room)?,
            (2, WireField::Bytes(of)) => value = value_of(of, depth, room)?,
            _ => {}
        }
    }
    map.insert(key, value);
    Ok(())
}

/// The value of an `AnyValue`.
fn value_of(bytes: &[u8], depth: usize, room: &mut SpanMemory) -> Result<Value, UnusableBatch> {
    if depth > DEEPEST {
        return Err(UnusableBatch::Invalid(format!(
            "values are nested more than {DEEPEST} deep"
        )));
    }
    let mut value = Value::Null;
    for field in WireFields(bytes) {
        value = match field? {
            (1, WireField::Bytes(bytes)) => text(bytes, room)?.into(),
            (2, WireField::Varint(flag)) => (flag != 0).into(),
            (3, WireField::Varint(number)) => (number as i64).into(),
            (4, WireField::Fixed64(bits)) => f64::from_bits(bits).into(),
            (5, WireField::Bytes(list)) => {
                let mut items = Vec::new();
                each_message(list, 1, &mut |item| {
                    room.item()?;
                    items.push(value_of(item, depth + 1, room)?);
                    Ok(())
                })?;
                items.into()
            }
            (6, WireField::Bytes(pairs)) => {
                let mut map = Map::new();
                each_message(pairs, 1, &mut |pair| {
                    add_pair(pair, &mut map, depth + 1, room)
                })?;
                map.into()
            }
            (7, WireField::Bytes(bytes)) => {
                room.take(bytes.len().div_ceil(3) * 4)?;
                base64::engine::general_purpose::STANDARD
                    .encode(bytes)
                    .into()
            }
            _ => value,
        };
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length >= 0x80 {
            out.push(length as u8 | 0x80);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend(bytes);
        out
    }

    fn message(spans: &[Vec<u8>]) -> Vec<u8> {
        let spans: Vec<u8> = spans.iter().flat_map(|span| field(2, span)).collect();
        field(1, &field(2, &spans))
    }

    fn pair(key: &str, value: &[u8]) -> Vec<u8> {
        [field(1, key.as_bytes()), field(2, value)].concat()
    }

    fn span(trace: u8, rest: &[Vec<u8>]) -> Vec<u8> {
        [vec![field(1, &[trace; 16])], rest.to_vec()]
            .concat()
            .concat()
    }

    #[test]
    fn a_span_is_read_with_its_values() {
        let values = [
            pair("text", &field(1, b"a")),
            pair("flag", &[2 << 3, 1]),
            pair(
                "int",
                &[
                    3 << 3,
                    0xff,
                    0xff,
                    0xff,
                    0xff,
                    0xff,
                    0xff,
                    0xff,
                    0xff,
                    0xff,
                    1,
                ],
            ),
            pair(
                "double",
                &[&[4 << 3 | 1][..], &0.5f64.to_le_bytes()].concat(),
            ),
            pair(
                "list",
                &field(5, &[field(1, &field(1, b"x")), field(1, &[])].concat()),
            ),
            pair("map", &field(6, &field(1, &pair("k", &field(1, b"v"))))),
            pair("bytes", &field(7, b"abc")),
            pair("none", &[]),
        ];
        let mut fields = vec![field(2, &[2; 8]), field(4, &[4; 8]), field(5, b"name")];
        fields.push([&[7 << 3 | 1][..], &7u64.to_le_bytes()].concat());
        fields.extend(values.iter().map(|pair| field(9, pair)));
        fields.push(field(11, &field(3, &pair("of event", &field(1, b"e")))));
        let found = read_protobuf(
            &message(&[span(1, &fields), span(9, &fields)]),
            &|id| id.starts_with("01"),
            1 << 20,
        );
        let found = found.unwrap();
        assert_eq!((found.spans.len(), found.cut.len()), (1, 0));
        let one = &found.spans[0];
        assert_eq!(
            (one.id.as_str(), one.parent.as_str()),
            ("0202020202020202", "0404040404040404")
        );
        assert_eq!((one.name.as_str(), one.start), ("name", 7));
        let expected = r#"{"text":"a","flag":true,"int":-1,"double":0.5,"list":["x",null],"map":{"k":"v"},"bytes":"YWJj","none":null,"of event":"e"}"#;
        assert_eq!(Value::Object(one.attributes.clone()).to_string(), expected);
    }

    #[test]
    fn millions_of_empty_messages_take_no_memory() {
        // Spans, attributes, events, and items of a list: two bytes each.
        let empty = |number: u8| [number << 3 | 2, 0].repeat(2 << 20);
        let (spans, attributes, list) = (empty(2), empty(9), pair("list", &field(5, &empty(1))));
        let of_others =
            read_protobuf(&field(1, &field(2, &spans)), &|id| id == "01", 1 << 20).unwrap();
        assert_eq!(of_others.spans.len(), 0);
        for rest in [attributes, field(9, &list)] {
            let found = read_protobuf(&message(&[span(1, &[rest])]), &|_| true, 1 << 20).unwrap();
            assert_eq!((found.spans.len(), found.cut.len()), (0, 1));
            assert!(found.size <= 1 << 20);
        }
    }

    #[test]
    fn broken_messages_are_errors() {
        let mut nested = Vec::new();
        for _ in 0..200 {
            nested = field(5, &field(1, &nested));
        }
        let deep = message(&[span(1, &[field(9, &pair("deep", &nested))])]);
        let no_text = message(&[span(1, &[field(5, &[0xff])])]);
        for bytes in [
            &deep[..],
            &no_text,
            &[0x0a, 0x05],
            &[0xff; 100],
            &[0x0b],
            &[0x08],
        ] {
            let found = read_protobuf(bytes, &|_| true, 1 << 20);
            assert!(matches!(found, Err(UnusableBatch::Invalid(_))), "{found:?}");
        }
    }
}
