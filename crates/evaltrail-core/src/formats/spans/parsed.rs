//! The memory that the texts of JSON and of Python literals in spans take once they are parsed.

use super::TraceSpan;
use super::arguments::literal_size;
use crate::formats::json::{ParseFailure, parse_within};
use serde_json::Value;

/// Removes the spans from the first one on whose texts, parsed with those of the spans before, take more than `most` bytes.
/// Returns whether any was removed.
pub fn cut_to_memory(spans: &mut Vec<TraceSpan>, most: usize) -> bool {
    let mut left = most;
    let is_too_large = |span: &TraceSpan| {
        span.attributes
            .values()
            .any(|value| take(value, &mut left).is_none())
    };
    let cut = spans.iter().position(is_too_large);
    if let Some(cut) = cut {
        spans.truncate(cut);
    }
    cut.is_some()
}

/// Subtracts the memory of the parsed texts in a value; `None` if there is not enough. The texts of texts count, too.
fn take(value: &Value, left: &mut usize) -> Option<()> {
    match value {
        Value::String(text) => match parse_within(text, *left) {
            Ok((parsed, size)) => {
                *left = left.checked_sub(size)?;
                take(&parsed, left)
            }
            Err(ParseFailure::TooLarge) => None,
            Err(ParseFailure::Syntax(_)) => {
                *left = left.checked_sub(literal_size(text))?;
                Some(())
            }
        },
        Value::Array(items) => items.iter().try_for_each(|item| take(item, left)),
        Value::Object(members) => members.values().try_for_each(|member| take(member, left)),
        _ => Some(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn spans_over_parsed_memory_limit_are_cut() {
        let span = |text: &str| TraceSpan {
            attributes: json!({"input.value": text, "other": ["no JSON"]})
                .as_object()
                .cloned()
                .unwrap_or_default(),
            ..TraceSpan::default()
        };
        let list = format!("[{}0]", "0,".repeat(10_000));
        let quoted = json!({"content": list}).to_string();
        let mut spans = vec![
            span("{\"city\": \"Oslo\"}"),
            span("words"),
            span(&quoted),
            span("{}"),
        ];
        assert!(!cut_to_memory(&mut spans, 4 << 20));
        assert!(cut_to_memory(&mut spans, 1 << 20));
        assert_eq!(spans.len(), 2);
        let literal = format!("{{'numbers': {list}}}");
        let mut spans = vec![span("{'city': 'Oslo'}"), span(&literal)];
        assert!(!cut_to_memory(&mut spans, 4 << 20));
        assert!(cut_to_memory(&mut spans, 256 << 10));
        assert_eq!(spans.len(), 1);
    }
}
