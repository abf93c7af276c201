//! Rows in which identical parts are replaced by their number.

use super::rows::span;
use super::{DiffRow, Line, Tone};

/// The value of [`DiffRow::item`] in a row that replaces other rows.
pub(super) const HIDDEN: usize = usize::MAX;

/// A row that stands for identical parts.
pub(super) fn hidden_row(count: usize, what: &str) -> DiffRow {
    let plural = if count == 1 { "" } else { "s" };
    let text = format!("  ⋯ {} identical {what}{plural}", with_separators(count));
    let line = vec![span(&text, Tone::Faint, false)];
    DiffRow {
        left: Some(line.clone()),
        right: Some(line),
        item: HIDDEN,
        ..DiffRow::default()
    }
}

/// A number with a comma before each group of three digits.
fn with_separators(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Replaces rows that are identical on both sides: calls by a row with their number, and two or more rows of a call, or of a
/// text, by a row with the number of lines.
pub fn fold_identical_rows(rows: Vec<DiffRow>) -> Vec<DiffRow> {
    let is_equal = |row: &DiffRow| {
        let unchanged = |line: &Line| line.iter().all(|span| !span.changed);
        row.item != HIDDEN
            && matches!(row.mark, "" | "=")
            && row.left == row.right
            && row.left.iter().all(unchanged)
    };
    let mut out: Vec<DiffRow> = Vec::new();
    // The first rows of the identical calls since the last other one.
    let mut identical: Vec<&DiffRow> = Vec::new();
    for item in rows.chunk_by(|a, b| a.item == b.item) {
        if item[0].mark == "=" && item.iter().all(is_equal) {
            identical.push(&item[0]);
            continue;
        }
        out.extend(shortened_calls(&std::mem::take(&mut identical)));
        let hidden: Vec<bool> = opens_unequal_rows(item, is_equal)
            .into_iter()
            .zip(item)
            .map(|(is_parent, row)| is_equal(row) && !is_parent)
            .collect();
        let mut rest = item;
        for stretch in hidden.chunk_by(|a, b| a == b) {
            let (rows, others) = rest.split_at(stretch.len());
            rest = others;
            match (stretch[0], rows.len()) {
                (true, lines) if lines > 1 => out.push(hidden_row(lines, "line")),
                _ => out.extend_from_slice(rows),
            }
        }
    }
    out.extend(shortened_calls(&identical));
    out
}

/// For each row, whether it opens a JSON object or list that contains a row that is not equal: such rows say where the
/// difference is.
fn opens_unequal_rows(rows: &[DiffRow], is_equal: impl Fn(&DiffRow) -> bool) -> Vec<bool> {
    let mut is_parent = vec![false; rows.len()];
    // The objects and lists that contain the row, with their indentations.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let text = |line: &Option<Line>| -> String {
            line.iter()
                .flatten()
                .map(|span| span.text.as_str())
                .collect()
        };
        let text = Some(text(&row.left))
            .filter(|text| !text.trim().is_empty())
            .unwrap_or_else(|| text(&row.right));
        let indent = text.len() - text.trim_start().len();
        open.retain(|(_, of_parent)| *of_parent < indent);
        if !is_equal(row) {
            open.iter()
                .for_each(|(parent, _)| is_parent[*parent] = true);
        }
        if text.ends_with(['{', '[']) {
            open.push((at, indent));
        }
    }
    is_parent
}

/// One row for identical calls, given by their first rows: a single call keeps its name.
fn shortened_calls(calls: &[&DiffRow]) -> Option<DiffRow> {
    match calls {
        [] => None,
        [call] => Some((*call).clone()),
        calls => Some(hidden_row(calls.len(), "call")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{align, call_rows, json_rows};
    use crate::domain::ToolCall;
    use serde_json::{Value, json};

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new(name, args.as_object().cloned())
    }

    fn plain(line: &Option<Line>) -> String {
        line.iter().flatten().map(|s| s.text.as_str()).collect()
    }

    #[test]
    fn parents_of_a_difference_stay_visible() {
        let value = |litres: u32| {
            json!({"plan": {
                "north": {"beds": ["a", "b", "c"], "litres": 4},
                "south": {"beds": ["d", "e"], "soil": {"kind": "clay", "litres": litres}},
                "west": {"beds": ["f", "g"], "litres": 6},
            }})
        };
        let rows = json_rows(&value(5), &value(6));
        let shown: Vec<_> = fold_identical_rows(rows)
            .iter()
            .map(|row| plain(&row.right))
            .collect();
        assert_eq!(
            shown,
            [
                "{",
                "  \"plan\": {",
                "  ⋯ 8 identical lines",
                "    \"south\": {",
                "  ⋯ 4 identical lines",
                "      \"soil\": {",
                "        \"kind\": \"clay\",",
                "        \"litres\": 6",
                "  ⋯ 11 identical lines",
            ]
        );
    }

    #[test]
    fn identical_calls_are_one_row() {
        let call = |n: usize| call(&format!("tool_{n}"), json!({"n": n, "on": true}));
        let expected: Vec<ToolCall> = (0..20).map(call).collect();
        let mut actual = expected.clone();
        actual[12].args = json!({"n": 13, "on": true}).as_object().cloned();
        let (e, a): (Vec<_>, Vec<_>) = (expected.iter().collect(), actual.iter().collect());
        let rows = fold_identical_rows(call_rows(&align(&e, &a), &e, &a));
        let shown: Vec<_> = rows.iter().map(|row| plain(&row.left)).collect();
        assert_eq!(
            shown,
            [
                "  ⋯ 12 identical calls",
                "13 tool_12",
                "  n  12",
                "  on  true",
                "  ⋯ 7 identical calls"
            ]
        );
    }
}
