//! Rows of aligned calls, with the differences of their arguments.

use super::json_rows::{changed_spans, json_lines, paired_lines, spelled_like};
use super::rows::{DiffRow, Line, Tone, span};
use super::{Alignment, Difference, DifferenceKind, PairKind, compared_args, differences};
use crate::domain::{ToolCall, value_text};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Rows of two aligned lists of calls: for each pair a row for the name, and rows for the arguments with notes about
/// their differences.
pub fn call_rows(
    alignment: &Alignment,
    expected: &[&ToolCall],
    actual: &[&ToolCall],
) -> Vec<DiffRow> {
    let mut rows = Vec::new();
    for (item, pair) in alignment.pairs.iter().enumerate() {
        let left = pair.expected.map(|at| (at, expected[at]));
        let right = pair.actual.map(|at| (at, actual[at]));
        let mark = mark_of(pair.kind);
        let one_sided = matches!(pair.kind, PairKind::Missing | PairKind::Extra);
        let name = |side: Option<(usize, &ToolCall)>| {
            side.map(|(at, call)| {
                vec![
                    span(&format!("{} ", at + 1), Tone::Faint, false),
                    span(&call.name, Tone::Tool, one_sided),
                ]
            })
        };
        let mut name_row = DiffRow {
            left: name(left),
            right: name(right),
            mark,
            item,
            key: None,
        };
        if pair.kind == PairKind::Moved {
            note_move(&mut name_row, pair.expected, pair.actual);
        }
        if let (Some((_, expected)), Some((_, actual)), Some(right_name)) =
            (left, right, name_row.right.as_mut())
            && !expected.args_unknown
            && expected.args.as_ref() != compared_args(expected, actual).as_deref()
        {
            right_name.push(span(
                "  compared after rounding above 2^53",
                Tone::Note,
                false,
            ));
        }
        for (side, name) in [(left, &mut name_row.left), (right, &mut name_row.right)] {
            if let (Some((_, call)), Some(name)) = (side, name)
                && call.args_unknown
            {
                name.push(span("  arguments not known", Tone::Note, false));
            }
        }
        rows.push(name_row);
        let args = |side: Option<(usize, &ToolCall)>, other: Option<(usize, &ToolCall)>| {
            side.filter(|(_, call)| !call.args_unknown)
                .map(|(_, call)| {
                    compared_args(call, other.map_or(call, |(_, other)| other)).map(Cow::into_owned)
                })
        };
        rows.extend(arg_rows(args(left, right), args(right, left), item));
    }
    rows
}

fn mark_of(kind: PairKind) -> &'static str {
    match kind {
        PairKind::Same => "=",
        PairKind::Changed => "~",
        PairKind::Moved => "↕",
        PairKind::Missing => "-",
        PairKind::Extra => "+",
    }
}

fn note_move(name_row: &mut DiffRow, expected: Option<usize>, actual: Option<usize>) {
    if let (Some(e), Some(a), Some(right)) = (expected, actual, name_row.right.as_mut()) {
        right.push(span(
            &format!("  moved: {} → {}", e + 1, a + 1),
            Tone::Note,
            true,
        ));
    }
}

type Args = Option<Option<Map<String, Value>>>;

/// Rows for the arguments of a pair of calls. The outer option is `None` without a call, the inner one without
/// arguments.
fn arg_rows(left: Args, right: Args, item: usize) -> Vec<DiffRow> {
    let both = left.is_some() && right.is_some();
    let bare = |side: &Args| matches!(side, Some(None));
    if both && bare(&left) != bare(&right) {
        return absent_args(left.flatten(), right.flatten(), item);
    }
    let (left_map, right_map) = (left.clone().flatten(), right.clone().flatten());
    let found = if both {
        differences(left_map.as_ref(), right_map.as_ref())
    } else {
        Vec::new()
    };
    let mut rows = Vec::new();
    for key in keys_of(left_map.as_ref(), right_map.as_ref()) {
        let value_in =
            |map: &Option<Map<String, Value>>| map.as_ref().and_then(|map| map.get(&key)).cloned();
        let about: Vec<&Difference> = found.iter().filter(|d| is_about(&d.path, &key)).collect();
        let changed = !about.is_empty() || !both;
        let (left_value, right_value) = (value_in(&left_map), value_in(&right_map));
        if let Some(nested) = nested_rows(&key, left_value, right_value, both, item) {
            rows.extend(nested);
            rows.extend(about.iter().filter_map(|found| lookalike_row(found, item)));
            continue;
        }
        let (values, is_two) = ((value_in(&left_map), value_in(&right_map)), changed && both);
        let (left_line, right_line) = match values {
            (Some(Value::String(e)), Some(Value::String(a))) if is_two => {
                let (e, a) = (Value::from(e).to_string(), Value::from(a).to_string());
                let (e, a) = changed_spans(&e, &a);
                (with_key(&key, e), with_key(&key, a))
            }
            (e, a) => (arg_line(&key, e, changed), arg_line(&key, a, changed)),
        };
        rows.push(DiffRow {
            left: left.is_some().then_some(left_line),
            right: right.is_some().then_some(right_line),
            mark: "",
            item,
            key: Some(key.clone()),
        });
        rows.extend(
            about
                .iter()
                .filter_map(|difference| note_row(difference, &key, item)),
        );
    }
    rows
}

/// The length in characters up to which a nested value is shown on one line.
const ON_ONE_LINE: usize = 40;

/// The rows of an argument whose value is nested on at least one side and too long for one line; `None` for other
/// arguments. Lines that are the same on both sides share a row.
fn nested_rows(
    key: &str,
    left: Option<Value>,
    right: Option<Value>,
    both: bool,
    item: usize,
) -> Option<Vec<DiffRow>> {
    let is_long = |value: &Value| {
        let nested = value.as_object().is_some_and(|map| !map.is_empty())
            || value.as_array().is_some_and(|list| !list.is_empty());
        nested && value_text(value).chars().nth(ON_ONE_LINE).is_some()
    };
    if ![&left, &right].into_iter().flatten().any(is_long) {
        return None;
    }
    let lines = |value: &Option<Value>| value.as_ref().map(json_lines).unwrap_or_default();
    // Equal values are formatted the same way on both sides.
    let right = match (&left, right) {
        (Some(left), Some(right)) => Some(spelled_like(left, right)),
        (_, right) => right,
    };
    let (left_lines, right_lines) = (lines(&left), lines(&right));
    let line = |at: usize, text: Option<&str>, is_there: bool, changed: bool| -> Option<Line> {
        let key_span = match at {
            0 => span(&format!("  {key}"), Tone::Key, false),
            _ => span("  ", Tone::Plain, false),
        };
        match text {
            Some(text) => Some(vec![
                key_span,
                span("  ", Tone::Plain, false),
                span(text, Tone::Value, changed),
            ]),
            None if at == 0 && is_there => Some(vec![span("  (absent)", Tone::Faint, changed)]),
            None => is_there.then(Line::new),
        }
    };
    // A side without the call stays empty; a side without the argument shows `(absent)`.
    let row = |at: usize, e: Option<&str>, a: Option<&str>, changed: bool| DiffRow {
        left: line(at, e, both || left.is_some(), changed),
        right: line(at, a, both || right.is_some(), changed),
        item,
        key: Some(key.to_string()),
        ..DiffRow::default()
    };
    let mut rows = Vec::new();
    for (e, a, changed) in paired_lines(&left_lines, &right_lines) {
        rows.push(row(rows.len(), e, a, changed || !both));
    }
    Some(rows)
}

/// A row with a warning about values that look alike.
fn lookalike_row(difference: &Difference, item: usize) -> Option<DiffRow> {
    let note = format!("  ↳ {}: {}", difference.path, difference.lookalike()?);
    Some(DiffRow {
        left: None,
        right: Some(vec![span(&note, Tone::Note, false)]),
        item,
        ..DiffRow::default()
    })
}

fn absent_args(
    left: Option<Map<String, Value>>,
    right: Option<Map<String, Value>>,
    item: usize,
) -> Vec<DiffRow> {
    let side = |args: Option<Map<String, Value>>| {
        let text = match args {
            None => "  no arguments at all".to_string(),
            Some(args) => format!("  {}", Value::Object(args)),
        };
        Some(vec![span(&text, Tone::Value, true)])
    };
    let note = "  no arguments and empty arguments are different in ADK";
    vec![
        DiffRow {
            left: side(left),
            right: side(right),
            item,
            ..DiffRow::default()
        },
        DiffRow {
            left: None,
            right: Some(vec![span(note, Tone::Note, false)]),
            item,
            ..DiffRow::default()
        },
    ]
}

fn keys_of(left: Option<&Map<String, Value>>, right: Option<&Map<String, Value>>) -> Vec<String> {
    let mut keys: Vec<String> = left
        .into_iter()
        .flat_map(|map| map.keys().cloned())
        .collect();
    for key in right.into_iter().flat_map(|map| map.keys()) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}

fn is_about(path: &str, key: &str) -> bool {
    path.strip_prefix(key)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn arg_line(key: &str, value: Option<Value>, changed: bool) -> Line {
    match value {
        None => vec![span("  (absent)", Tone::Faint, changed)],
        Some(value) => with_key(key, vec![span(&value_text(&value), Tone::Value, changed)]),
    }
}

/// The line of an argument, with its value.
fn with_key(key: &str, value: Line) -> Line {
    let mut line = vec![
        span(&format!("  {key}"), Tone::Key, false),
        span("  ", Tone::Plain, false),
    ];
    line.extend(value);
    line
}

/// A row with the path of a difference inside a nested argument, and a warning about values that look alike.
fn note_row(difference: &Difference, key: &str, item: usize) -> Option<DiffRow> {
    let inside = difference.path != key;
    let mut said = Vec::new();
    if inside {
        said.push(match &difference.kind {
            DifferenceKind::Changed(a, b) => {
                format!("{}: {} → {}", difference.path, value_text(a), value_text(b))
            }
            DifferenceKind::Missing(a) => {
                format!("{}: {} is missing", difference.path, value_text(a))
            }
            DifferenceKind::Extra(b) => format!("{}: {} is extra", difference.path, value_text(b)),
        });
    }
    said.extend(difference.lookalike());
    if said.is_empty() {
        return None;
    }
    let line = vec![span(&format!("  ↳ {}", said.join("; ")), Tone::Note, false)];
    Some(DiffRow {
        left: None,
        right: Some(line),
        item,
        ..DiffRow::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::rows::side_text;

    use crate::diff::{align, fold_identical_rows};
    use serde_json::json;

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new(name, args.as_object().cloned())
    }

    #[test]
    fn calls_become_rows_with_their_differences() {
        let expected = [call("set", json!({"id": "d2", "n": 3}))];
        let actual = [
            call("set", json!({"id": "d3", "n": "3"})),
            call("log", json!({})),
        ];
        let (e, a): (Vec<_>, Vec<_>) = (expected.iter().collect(), actual.iter().collect());
        let rows = call_rows(&align(&e, &a), &e, &a);
        let shown: Vec<_> = rows
            .iter()
            .map(|r| (r.mark, side_text(&r.left), side_text(&r.right)))
            .collect();
        assert_eq!(shown[0], ("~", "1 set".into(), "1 set".into()));
        assert_eq!(shown[1], ("", "  id  \"d2\"".into(), "  id  \"d3\"".into()));
        assert!(shown[3].2.contains("the text \"3\" is not the number 3"));
        assert_eq!(shown[4], ("+", "".into(), "2 log".into()));
    }

    #[test]
    fn moved_call_shows_both_positions() {
        let (a, b) = (call("a", json!({})), call("b", json!({})));
        let rows = call_rows(&align(&[&a, &b], &[&b, &a]), &[&a, &b], &[&b, &a]);
        let moved = rows.iter().find(|row| row.mark == "↕").unwrap();
        assert!(
            side_text(&moved.right).ends_with("  moved: 1 → 2"),
            "{}",
            side_text(&moved.right)
        );
    }

    /// A long nested value has several lines; lines that are the same on both sides share a row and can be hidden.
    #[test]
    fn nested_values_have_lines_of_their_own() {
        let value =
            |id: &str| json!({"filter": {"room": "kitchen", "kinds": ["lamp", "plug"], "id": id}});
        let (expected, actual) = ([call("find", value("d2"))], [call("find", value("d3"))]);
        let (e, a): (Vec<_>, Vec<_>) = (expected.iter().collect(), actual.iter().collect());
        let rows = call_rows(&align(&e, &a), &e, &a);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (side_text(&row.left), side_text(&row.right)))
            .collect();
        assert_eq!(shown[1], ("  filter  {".into(), "  filter  {".into()));
        assert_eq!(
            shown[7],
            ("      \"id\": \"d2\"".into(), "      \"id\": \"d3\"".into())
        );
        assert_eq!(shown.len(), 9, "{shown:?}");
        let reordered =
            json!({"filter": {"id": "d2", "kinds": ["lamp", "plug"], "room": "kitchen"}});
        let reordered = [call("find", reordered)];
        let same = call_rows(&align(&e, &[&reordered[0]]), &e, &[&reordered[0]]);
        assert!(
            same.iter().all(|row| row.left == row.right),
            "the order of keys is no difference: {same:?}"
        );
        let differing = fold_identical_rows(rows);
        let shown: Vec<_> = differing.iter().map(|row| side_text(&row.left)).collect();
        assert_eq!(
            shown[1..],
            [
                "  filter  {",
                "  ⋯ 5 identical lines",
                "      \"id\": \"d2\"",
                "    }"
            ]
        );
    }
}
