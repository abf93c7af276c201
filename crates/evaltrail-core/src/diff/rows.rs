//! Rows for a side-by-side display: what is on the left and what on the right of each.

use super::{
    Alignment, Difference, DifferenceKind, PairKind, TextPart, compared_args, diff_sequences,
    diff_words, differences, values_equal,
};
use crate::domain::{ToolCall, clean, clean_line, value_text};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The kind of a piece of text, which determines its color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// Less important.
    Faint,
    /// The name of a tool.
    Tool,
    /// The name of an argument.
    Key,
    /// A value.
    Value,
    /// A note by evaltrail.
    Note,
}

/// A piece of text with one style. The text is safe to display (see `domain::clean`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// Its kind.
    pub tone: Tone,
    /// Whether the other side differs here.
    pub changed: bool,
}

impl Span {
    /// A text that does not differ. Breaks of lines stay.
    pub fn new(text: &str, tone: Tone) -> Span {
        span(text, tone, false)
    }

    /// A text that does not differ, as one line.
    pub fn single_line(text: &str, tone: Tone) -> Span {
        Span {
            text: clean_line(text).into_owned(),
            tone,
            changed: false,
        }
    }
}

/// One side of a row.
pub type Line = Vec<Span>;

/// A row: the left and the right side, and the mark in the gutter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiffRow {
    /// The expected side; `None` if there is none.
    pub left: Option<Line>,
    /// The actual side.
    pub right: Option<Line>,
    /// `=`, `~`, `-`, `+`, `↕` on the first row of a call; empty elsewhere.
    pub mark: &'static str,
    /// The index of the call or text that the row belongs to, from 0.
    pub item: usize,
    /// The argument that the row shows.
    pub key: Option<String>,
}

pub(super) fn span(text: &str, tone: Tone, changed: bool) -> Span {
    Span {
        text: clean(text).into_owned(),
        tone,
        changed,
    }
}

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
        let mut head = DiffRow {
            left: name(left),
            right: name(right),
            mark,
            item,
            key: None,
        };
        if pair.kind == PairKind::Moved {
            note_move(&mut head, pair.expected, pair.actual);
        }
        if let (Some((_, expected)), Some((_, actual)), Some(right_name)) =
            (left, right, head.right.as_mut())
            && !expected.args_unknown
            && expected.args.as_ref() != compared_args(expected, actual).as_deref()
        {
            right_name.push(span(
                "  compared after rounding above 2^53",
                Tone::Note,
                false,
            ));
        }
        for (side, name) in [(left, &mut head.left), (right, &mut head.right)] {
            if let (Some((_, call)), Some(name)) = (side, name)
                && call.args_unknown
            {
                name.push(span("  arguments not known", Tone::Note, false));
            }
        }
        rows.push(head);
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

fn note_move(head: &mut DiffRow, expected: Option<usize>, actual: Option<usize>) {
    if let (Some(e), Some(a), Some(right)) = (expected, actual, head.right.as_mut()) {
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
        let values = (value_in(&left_map), value_in(&right_map));
        if let Some(nested) = nested_rows(&key, values, both, item) {
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
    (left, right): (Option<Value>, Option<Value>),
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
        let head = match at {
            0 => span(&format!("  {key}"), Tone::Key, false),
            _ => span("  ", Tone::Plain, false),
        };
        match text {
            Some(text) => Some(vec![
                head,
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

fn json_lines(value: &Value) -> Vec<String> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

/// The spans of two lines that differ: words if both are long, else the lines as a whole.
fn changed_spans(left: &str, right: &str) -> (Line, Line) {
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
fn spelled_like(like: &Value, value: Value) -> Value {
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
fn paired_lines<'a>(
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

    use crate::diff::{align, fold_identical_rows};
    use serde_json::json;

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new(name, args.as_object().cloned())
    }

    fn plain(line: &Option<Line>) -> String {
        line.iter().flatten().map(|s| s.text.as_str()).collect()
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
            .map(|r| (r.mark, plain(&r.left), plain(&r.right)))
            .collect();
        assert_eq!(shown[0], ("~", "1 set".into(), "1 set".into()));
        assert_eq!(shown[1], ("", "  id  \"d2\"".into(), "  id  \"d3\"".into()));
        assert!(shown[3].2.contains("the text \"3\" is not the number 3"));
        assert_eq!(shown[4], ("+", "".into(), "2 log".into()));
    }

    #[test]
    fn json_is_compared_by_keys() {
        let expected = json!({"beds": ["a", "b"], "litres": 6});
        let actual = json!({"litres": 5.0, "beds": ["a", "b"]});
        let rows = json_rows(&expected, &actual);
        let changed: Vec<_> = rows
            .iter()
            .filter(|row| row.left.iter().flatten().any(|span| span.changed))
            .map(|row| (plain(&row.left), plain(&row.right)))
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
                (plain(&row.left), plain(&row.right), changed)
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

    #[test]
    fn moved_call_shows_both_positions() {
        let (a, b) = (call("a", json!({})), call("b", json!({})));
        let rows = call_rows(&align(&[&a, &b], &[&b, &a]), &[&a, &b], &[&b, &a]);
        let moved = rows.iter().find(|row| row.mark == "↕").unwrap();
        assert!(
            plain(&moved.right).ends_with("  moved: 1 → 2"),
            "{}",
            plain(&moved.right)
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
            .map(|row| (plain(&row.left), plain(&row.right)))
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
        let shown: Vec<_> = differing.iter().map(|row| plain(&row.left)).collect();
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
