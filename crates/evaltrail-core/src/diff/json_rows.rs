//! Rows of compared JSON values, line by line.

use super::rows::{DiffRow, Line, Tone, span};
use super::{TextPart, diff_sequences, diff_words, values_equal};
use serde_json::{Map, Value};

pub(super) fn json_lines(value: &Value) -> Vec<String> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

/// The spans of two lines that differ: words if both are long, else the lines as a whole.
pub(super) fn changed_spans(left: &str, right: &str) -> (Line, Line) {
    /// The length in bytes up to which a line is seen at once.
    const SHORT: usize = 60;
    let (mut expected, mut actual) = (Line::new(), Line::new());
    if left.len().min(right.len()) <= SHORT {
        expected.push(span(left, Tone::Value, true));
        actual.push(span(right, Tone::Value, true));
        return (expected, actual);
    }
    for part in diff_words(left, right).parts {
        match part {
            TextPart::Same(text) => {
                expected.push(span(&text, Tone::Value, false));
                actual.push(span(&text, Tone::Value, false));
            }
            TextPart::Changed {
                expected: left,
                actual: right,
            } => {
                expected.push(span(&left, Tone::Value, true));
                actual.push(span(&right, Tone::Value, true));
            }
            TextPart::Hidden(_) => {}
        }
    }
    (expected, actual)
}

/// Rows of two compared JSON values. The order of keys and the notation of numbers are no difference.
pub fn json_rows(expected: &Value, actual: &Value) -> Vec<DiffRow> {
    let actual = spelled_like(expected, actual.clone());
    let (left, right) = (json_lines(expected), json_lines(&actual));
    let line = |text: Option<&str>, changed: bool| {
        let span = text.map(|text| span(text, Tone::Value, changed));
        span.into_iter().collect()
    };
    let row = |(e, a, changed): (Option<&str>, Option<&str>, bool)| {
        let (left, right) = match (e, a) {
            (Some(e), Some(a)) if changed => changed_spans(e, a),
            (e, a) => (line(e, changed), line(a, changed)),
        };
        DiffRow {
            left: Some(left),
            right: Some(right),
            ..DiffRow::default()
        }
    };
    paired_lines(&left, &right).into_iter().map(row).collect()
}

/// A value with the keys of its objects in the order of `like`, and with the notation of `like` for equal values.
pub(super) fn spelled_like(like: &Value, value: Value) -> Value {
    match (like, value) {
        (like, value) if values_equal(like, &value) => like.clone(),
        (Value::Object(like), Value::Object(mut map)) => {
            let mut out = Map::new();
            for (key, like) in like {
                if let Some(value) = map.shift_remove(key) {
                    out.insert(key.clone(), spelled_like(like, value));
                }
            }
            out.extend(map);
            Value::Object(out)
        }
        (Value::Array(like), Value::Array(list)) if like.len() == list.len() => like
            .iter()
            .zip(list)
            .map(|(like, value)| spelled_like(like, value))
            .collect(),
        (_, value) => value,
    }
}

/// Maximum total number of lines for a line diff; more lines are paired by position.
const MAX_PAIRED: usize = 2000;

/// A line of JSON without the comma that only says that another one follows.
fn without_comma(line: &str) -> &str {
    line.strip_suffix(',').unwrap_or(line)
}

/// Pairs the lines of both sides so that equal lines are in the same row. The flag is `true` if a pair differs. A comma at
/// the end is no difference, and is left out where only one side has it.
pub(super) fn paired_lines<'a>(
    left: &'a [String],
    right: &'a [String],
) -> Vec<(Option<&'a str>, Option<&'a str>, bool)> {
    let pair = |e: Option<&'a String>, a: Option<&'a String>| match (e, a) {
        (Some(e), Some(a)) if e != a && without_comma(e) == without_comma(a) => {
            (Some(without_comma(e)), Some(without_comma(a)), false)
        }
        (e, a) => (e.map(String::as_str), a.map(String::as_str), e != a),
    };
    if left.len() + right.len() > MAX_PAIRED {
        let height = left.len().max(right.len());
        return (0..height)
            .map(|at| pair(left.get(at), right.get(at)))
            .collect();
    }
    let mut pairs = Vec::new();
    let lines = |side: &'a [String]| -> Vec<&'a str> {
        side.iter().map(|line| without_comma(line)).collect()
    };
    for hunk in diff_sequences(&lines(left), &lines(right)) {
        let (old, new) = (&left[hunk.left], &right[hunk.right]);
        pairs.extend((0..old.len().max(new.len())).map(|at| pair(old.get(at), new.get(at))));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::rows::side_text;
    use serde_json::json;

    #[test]
    fn json_is_compared_by_keys() {
        let expected = json!({"beds": ["a", "b"], "litres": 6});
        let actual = json!({"litres": 5.0, "beds": ["a", "b"]});
        let rows = json_rows(&expected, &actual);
        let changed: Vec<_> = rows
            .iter()
            .filter(|row| row.left.iter().flatten().any(|span| span.changed))
            .map(|row| (side_text(&row.left), side_text(&row.right)))
            .collect();
        assert_eq!(
            changed,
            [(
                "  \"litres\": 6".to_string(),
                "  \"litres\": 5.0".to_string()
            )]
        );
        let same = json_rows(&expected, &json!({"litres": 6.0, "beds": ["a", "b"]}));
        assert!(same.iter().all(|row| row.left == row.right), "{same:?}");
    }

    /// The comma after a value that is not the last one any more is no difference.
    #[test]
    fn commas_at_line_ends_are_no_difference() {
        let expected = json!({"repeat": "daily"});
        let actual = json!({"repeat": "daily", "notify": null});
        let rows = json_rows(&expected, &actual);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| {
                let changed = row.right.iter().flatten().any(|span| span.changed);
                (side_text(&row.left), side_text(&row.right), changed)
            })
            .collect();
        let pair = |left: &str, right: &str, changed| (left.into(), right.into(), changed);
        assert_eq!(
            shown,
            [
                pair("{", "{", false),
                pair("  \"repeat\": \"daily\"", "  \"repeat\": \"daily\"", false),
                pair("", "  \"notify\": null", true),
                pair("}", "}", false),
            ]
        );
    }
}
