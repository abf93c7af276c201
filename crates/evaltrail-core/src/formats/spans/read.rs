//! Reading of spans from files.

use super::batch::{SpanBatch, SpanMemory, UnusableBatch};
use super::{TraceSpan, cut_to_memory, phoenix};
use crate::formats::FileProblem;
use crate::formats::json::{self, ParseFailure, SyntaxError, position};
use crate::formats::spans::libraries::{langfuse, langsmith};
use serde_json::{Map, Value};

/// The maximum memory of a file of traces, once for its documents, once for their spans, and once for the texts of JSON in
/// these, in bytes.
const MAX_FILE: usize = 1 << 30;

/// The spans of a file of traces, the earliest first. The error names the expected formats, or the limit of memory.
pub fn read_spans(text: &str) -> Result<Vec<TraceSpan>, String> {
    read_spans_within(text, MAX_FILE)
}

fn read_spans_within(text: &str, most: usize) -> Result<Vec<TraceSpan>, String> {
    let too_large = || {
        format!(
            "the trace needs more than {} MB of memory; divide the file",
            most >> 20
        )
    };
    let documents = match json::parse_within(text, most) {
        Ok((document, _)) => vec![document],
        Err(ParseFailure::TooLarge) => return Err(too_large()),
        Err(ParseFailure::Syntax(error)) => lines(text, most).map_err(|failure| match failure {
            LineFailure::TooLarge => too_large(),
            LineFailure::Syntax(line, _) if text.lines().take(line).all(is_blank) => {
                let problem = FileProblem::syntax(text, error);
                format!("the file is neither JSON nor JSON Lines: {problem}")
            }
            LineFailure::Syntax(line, error) => {
                let column = text
                    .lines()
                    .nth(line)
                    .map_or(1, |text| position(text, error.offset).1);
                format!("line {}, column {column}: {error}", line + 1)
            }
        })?,
    };
    let mut batch = SpanBatch::new(most);
    let added = documents
        .iter()
        .try_for_each(|document| add_spans(document, &|_| true, &mut batch));
    added.map_err(|error| error.to_string())?;
    if batch.spans.is_empty() && batch.cut.is_empty() {
        return Err(no_spans(&documents));
    }
    drop(documents);
    let mut spans = batch.spans;
    if !batch.cut.is_empty() || cut_to_memory(&mut spans, most) {
        return Err(too_large());
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
    let (document, size) = json::parse_within(text, most).map_err(|error| match error {
        ParseFailure::TooLarge => UnusableBatch::TooLarge,
        ParseFailure::Syntax(error) => UnusableBatch::Invalid(error.to_string()),
    })?;
    let mut batch = SpanBatch::new(most - size);
    add_spans(&document, is_wanted, &mut batch)?;
    Ok(batch)
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Why a text is not a list of lines with a document each.
enum LineFailure {
    /// A line, from 0, is not JSON.
    Syntax(usize, SyntaxError),
    TooLarge,
}

fn lines(text: &str, most: usize) -> Result<Vec<Value>, LineFailure> {
    let mut left = most;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !is_blank(line));
    let document = |(number, line)| {
        let (document, size) = json::parse_within(line, left).map_err(|failure| match failure {
            ParseFailure::TooLarge => LineFailure::TooLarge,
            ParseFailure::Syntax(error) => LineFailure::Syntax(number, error),
        })?;
        left = left
            .checked_sub(size + json::ITEM)
            .ok_or(LineFailure::TooLarge)?;
        Ok(document)
    };
    lines.map(document).collect()
}

/// Reads a span into the memory that it may take.
type ReadSpan = fn(&Value, &mut SpanMemory) -> Result<TraceSpan, UnusableBatch>;

/// Adds the spans of wanted traces in a document.
fn add_spans(
    document: &Value,
    is_wanted: &dyn Fn(&str) -> bool,
    batch: &mut SpanBatch,
) -> Result<(), UnusableBatch> {
    let listed = |key: &str| document.get(key).and_then(Value::as_array);
    let mut add = |span: &Value, trace: String, read: ReadSpan| match is_wanted(&trace) {
        true => batch.add(trace, |_, room| read(span, room)),
        false => Ok(()),
    };
    if let Some(resources) = listed("resourceSpans").or(listed("batches")) {
        let mut spans = resources.iter().flat_map(of_resource);
        return spans.try_for_each(|span| add(span, text(span, "traceId"), of_otlp));
    }
    if let Some(records) = listed("data").or(document.as_array()) {
        return records
            .iter()
            .try_for_each(|record| add_record(record, &mut add));
    }
    add_record(document, &mut add)
}

/// Adds a span whose trace has this id.
type AddSpan<'a> = dyn FnMut(&Value, String, ReadSpan) -> Result<(), UnusableBatch> + 'a;

/// Adds the spans of an element of a list: a trace of Jaeger or Langfuse, or a span. Anything else has none.
fn add_record(record: &Value, add: &mut AddSpan) -> Result<(), UnusableBatch> {
    if let Some(spans) = record.get("spans").and_then(Value::as_array) {
        return spans
            .iter()
            .try_for_each(|span| add(span, text(span, "traceID"), of_jaeger));
    }
    if let Some(observations) = langfuse::observations_of(record) {
        add(record, text(record, "id"), langfuse::of_trace)?;
        let mut observations = observations
            .iter()
            .filter(|one| langfuse::is_observation(one));
        return observations
            .try_for_each(|one| add(one, text(one, "traceId"), langfuse::of_observation));
    }
    if record.get("span_id").is_some() {
        return add(record, text(record, "trace_id"), of_adk);
    }
    if langsmith::is_run(record) {
        return add(record, text(record, "trace_id"), langsmith::span_of);
    }
    if langfuse::is_observation(record) {
        return add(record, text(record, "traceId"), langfuse::of_observation);
    }
    match phoenix::trace_of(record) {
        Some(trace) => add(record, trace, phoenix::span_of),
        None => Ok(()),
    }
}

/// Why a file has no spans: what is there, and what is known.
fn no_spans(documents: &[Value]) -> String {
    let first = documents.first().map(|document| match document {
        Value::Array(list) => ("a list", list.first()),
        document => ("", Some(document)),
    });
    let found = match first {
        None => "the file is empty".to_string(),
        Some(("", Some(Value::Object(members)))) => {
            format!("the file contains an object with {}", keys(members))
        }
        Some((_, Some(Value::Object(members)))) => {
            format!("the file contains a list of objects with {}", keys(members))
        }
        Some((_, None)) => "the file contains an empty list".to_string(),
        Some(_) => "the file does not contain objects".to_string(),
    };
    format!(
        "no spans found: {found}; known are OTLP JSON (resourceSpans), Jaeger's JSON (data with spans), the spans of ADK's \
         debug endpoint (span_id), runs of LangSmith (run_type), traces of Langfuse (observations), spans of Phoenix \
         (context.trace_id), and logs of chats (messages)"
    )
}

/// The first keys of an object in words.
fn keys(members: &Map<String, Value>) -> String {
    const MAX: usize = 8;
    let names: Vec<&str> = members.keys().take(MAX).map(String::as_str).collect();
    match (names.is_empty(), members.len() > MAX) {
        (true, _) => "no key".to_string(),
        (false, false) => format!("the keys {}", names.join(", ")),
        (false, true) => format!("the keys {} and others", names.join(", ")),
    }
}

fn of_resource(resource: &Value) -> impl Iterator<Item = &Value> {
    let scopes = ["scopeSpans", "instrumentationLibrarySpans"]
        .iter()
        .find_map(|key| resource.get(key)?.as_array());
    let spans = scopes
        .into_iter()
        .flatten()
        .filter_map(|scope| scope.get("spans")?.as_array());
    spans.flatten()
}

/// A span without its attributes. The keys are those of its trace, its own id and that of its parent, its name and its start.
fn bare_span(
    span: &Value,
    keys: [&str; 4],
    room: &mut SpanMemory,
) -> Result<TraceSpan, UnusableBatch> {
    let [trace, id, parent, name] = keys.map(|key| text(span, key));
    room.take(size_of::<TraceSpan>() + trace.len() + id.len() + parent.len() + name.len())?;
    Ok(TraceSpan {
        trace,
        id,
        parent,
        name,
        ..TraceSpan::default()
    })
}

fn of_otlp(span: &Value, room: &mut SpanMemory) -> Result<TraceSpan, UnusableBatch> {
    let mut read = bare_span(span, ["traceId", "spanId", "parentSpanId", "name"], room)?;
    read.start = nanos(span, "startTimeUnixNano");
    read.attributes = otlp_attributes(span.get("attributes"), room)?;
    for event in span
        .get("events")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        read.attributes
            .extend(otlp_attributes(event.get("attributes"), room)?);
    }
    Ok(read)
}

fn otlp_attributes(
    list: Option<&Value>,
    room: &mut SpanMemory,
) -> Result<Map<String, Value>, UnusableBatch> {
    let pairs = list.and_then(Value::as_array).into_iter().flatten();
    let pairs = pairs.filter_map(|pair| Some((pair.get("key")?.as_str()?, pair.get("value")?)));
    pairs
        .map(|(key, value)| {
            room.member()?;
            room.take(key.len())?;
            Ok((key.to_string(), otlp_value(value, room)?))
        })
        .collect()
}

/// A value in Protobuf's JSON encoding, in which integers are strings.
fn otlp_value(value: &Value, room: &mut SpanMemory) -> Result<Value, UnusableBatch> {
    let Some((kind, inner)) = value.as_object().and_then(|map| map.iter().next()) else {
        return Ok(Value::Null);
    };
    match kind.as_str() {
        "intValue" => match inner.as_str().and_then(|text| text.parse::<i64>().ok()) {
            Some(number) => {
                room.item()?;
                Ok(number.into())
            }
            None => room.copy(inner),
        },
        "arrayValue" => {
            let items = inner
                .get("values")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let items = items.map(|item| {
                room.item()?;
                otlp_value(item, room)
            });
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        "kvlistValue" => otlp_attributes(inner.get("values"), room).map(Value::Object),
        _ => room.copy(inner),
    }
}

fn of_jaeger(span: &Value, room: &mut SpanMemory) -> Result<TraceSpan, UnusableBatch> {
    let mut read = bare_span(span, ["traceID", "spanID", "", "operationName"], room)?;
    let mut add = |list: Option<&Value>| -> Result<(), UnusableBatch> {
        let tags = list.and_then(Value::as_array).into_iter().flatten();
        for (key, value) in
            tags.filter_map(|tag| Some((tag.get("key")?.as_str()?, tag.get("value")?)))
        {
            room.member()?;
            room.take(key.len())?;
            read.attributes.insert(key.to_string(), room.copy(value)?);
        }
        Ok(())
    };
    add(span.get("tags"))?;
    for log in span
        .get("logs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        add(log.get("fields"))?;
    }
    let references = span
        .get("references")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let parent = references
        .filter(|one| one["refType"] == "CHILD_OF")
        .map(|one| text(one, "spanID"))
        .next();
    read.parent = parent.unwrap_or_default();
    read.start = nanos(span, "startTime").saturating_mul(1000);
    Ok(read)
}

fn of_adk(span: &Value, room: &mut SpanMemory) -> Result<TraceSpan, UnusableBatch> {
    let mut read = bare_span(
        span,
        ["trace_id", "span_id", "parent_span_id", "name"],
        room,
    )?;
    read.start = nanos(span, "start_time");
    if let Some(attributes) = span.get("attributes").filter(|value| value.is_object())
        && let Value::Object(attributes) = room.copy(attributes)?
    {
        read.attributes = attributes;
    }
    Ok(read)
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MAX: usize = 4 << 20;

    fn otlp(trace: &str, value: &Value) -> Value {
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": trace, "spanId": "02", "attributes": [{"key": "k", "value": value}]},
        ]}]}]})
    }

    #[test]
    fn nested_value_size_is_counted_once() {
        // Each level contains the same values: copies of all levels would take 80 times as much.
        let leaf = json!({"stringValue": "x".repeat(100_000)});
        let nested = (0..80).fold(leaf, |inner, _| json!({"arrayValue": {"values": [inner]}}));
        let text = otlp("01", &nested).to_string();
        let found = read_span_batch(&text, &|_| true, 1 << 20).unwrap();
        assert_eq!((found.spans.len(), found.cut.len()), (1, 0));
        assert!(
            found.size > 100_000 && found.size < 300_000,
            "{}",
            found.size
        );
        let shown = found.spans[0].attributes["k"].to_string();
        assert!(shown.starts_with("[[[[") && shown.contains("xxx"));
        let of_others = read_span_batch(&text, &|trace| trace == "02", 1 << 20).unwrap();
        assert_eq!((of_others.spans.len(), of_others.size), (0, 0));
    }

    #[test]
    fn syntax_error_names_line_and_column() {
        let document = r#"{"resourceSpans": []}"#;
        for (text, error) in [
            (
                "\n{\n  \"a\": 1\n  \"b\": 2\n}".to_string(),
                "the file is neither JSON nor JSON Lines: line 4, column 3: expected a comma or }, found '\"'",
            ),
            (
                format!("{document}\n\n{document}\n  {{\"a\" 1}}\n"),
                "line 4, column 8: expected a colon after the key, found '1'",
            ),
        ] {
            assert_eq!(read_spans(&text).unwrap_err(), error);
        }
    }

    #[test]
    fn only_the_text_of_an_integer_becomes_a_number() {
        let list = format!("[{}0]", "0,".repeat(500_000));
        for (text, expected) in [
            ("-12", json!(-12)),
            ("9223372036854775807", json!(i64::MAX)),
            ("1.5", json!("1.5")),
            (&list, json!(list)),
        ] {
            let document = otlp("01", &json!({"intValue": text})).to_string();
            let found = read_span_batch(&document, &|_| true, MAX).unwrap();
            assert_eq!(found.spans[0].attributes["k"], expected);
            assert!(found.size < 2 * text.len() + 1000);
        }
    }

    #[test]
    fn spans_that_need_more_memory_are_cut_off() {
        let value = json!({"arrayValue": {"values": vec![json!({}); 10_000]}});
        let text = otlp("01", &value).to_string();
        let found = read_span_batch(&text, &|_| true, MAX).unwrap();
        assert_eq!((found.spans.len(), found.cut.len()), (1, 0));
        let (_, size) = json::parse_within(&text, MAX).unwrap();
        let found = read_span_batch(&text, &|_| true, size + 1000).unwrap();
        assert_eq!((found.spans.len(), found.cut), (0, vec!["01".to_string()]));
    }

    #[test]
    fn a_file_that_needs_more_memory_is_refused() {
        let list = format!("[{}0]", "0,".repeat(100_000));
        let nested = json!({"arrayValue": {"values": vec![json!({}); 40_000]}});
        let adk = json!([{"span_id": 1, "trace_id": 1, "attributes": {"text": list}}]).to_string();
        let of_lines =
            vec![otlp("01", &json!({"stringValue": "x".repeat(1 << 20)})).to_string(); 5]
                .join("\n");
        for text in [otlp("01", &nested).to_string(), adk, of_lines, list] {
            let wrong = read_spans_within(&text, MAX).unwrap_err();
            assert_eq!(
                wrong,
                "the trace needs more than 4 MB of memory; divide the file"
            );
        }
        assert_eq!(
            read_spans_within(&otlp("01", &json!({"stringValue": "x"})).to_string(), MAX)
                .unwrap()
                .len(),
            1
        );
    }
}
