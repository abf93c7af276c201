//! Rows in which identical or nested parts are replaced by their number.

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

/// One side of a row in the nested objects and lists of a JSON value.
#[derive(Clone, Copy, Default)]
struct NestedSide {
    is_blank: bool,
    /// Number of objects and lists that contain the side's line.
    level: usize,
    /// The closing bracket of the object or list that begins in the line.
    opens: Option<&'static str>,
    /// Whether an object or list ends in the line.
    closes: bool,
}

fn nesting(rows: &[DiffRow]) -> Vec<[NestedSide; 2]> {
    let mut open = [0usize; 2];
    let mut item = None;
    let mut sides_of = |row: &DiffRow| {
        if item.replace(row.item) != Some(row.item) {
            open = [0; 2];
        }
        [(0, &row.left), (1, &row.right)].map(|(side, line)| {
            let text: String = line
                .iter()
                .flatten()
                .map(|span| span.text.as_str())
                .collect();
            let text = text.trim();
            let closes = text.starts_with(['}', ']']);
            open[side] -= usize::from(closes && open[side] > 0);
            let opens = match text.chars().last() {
                Some('{') => Some("}"),
                Some('[') => Some("]"),
                _ => None,
            };
            let level = open[side];
            open[side] += usize::from(opens.is_some());
            NestedSide {
                is_blank: text.is_empty(),
                level,
                opens,
                closes,
            }
        })
    };
    rows.iter().map(&mut sides_of).collect()
}

/// The number of levels of objects and lists in the JSON values that rows show; 0 without any on lines of its own.
pub fn nested_levels(rows: &[DiffRow]) -> usize {
    let sides = nesting(rows).into_iter().flatten();
    sides.map(|side| side.level).max().unwrap_or(0)
}

/// Replaces what is inside of objects and lists at a level, from 0, by the number of its lines. A difference in it is
/// marked on the row that remains. An object or list stays as it is if the other side has other lines beside it. The
/// rows must be those of calls or of JSON values.
pub fn fold_nested_rows(rows: Vec<DiffRow>, level: usize) -> Vec<DiffRow> {
    let nested = nesting(&rows);
    let mut out: Vec<DiffRow> = Vec::new();
    let mut at = 0;
    while let Some(row) = rows.get(at) {
        let mut row = row.clone();
        let end = end_of_nested(&rows, &nested, at, level);
        if let Some(end) = end {
            fold_into(&mut row, &nested[at], &rows[at + 1..=end]);
        }
        out.push(row);
        at = end.unwrap_or(at) + 1;
    }
    out
}

/// The row in which the objects and lists that begin in a row at a level end. `None` if none begins there, if they end in
/// different rows, or if a side without one has lines in between.
fn end_of_nested(
    rows: &[DiffRow],
    nested: &[[NestedSide; 2]],
    at: usize,
    level: usize,
) -> Option<usize> {
    let opens = nested[at].map(|side| side.opens.is_some());
    let is_elsewhere = |side: &NestedSide| side.opens.is_some() && side.level != level;
    if opens == [false; 2] || nested[at].iter().any(is_elsewhere) {
        return None;
    }
    let item = rows[at].item;
    let later = || (at + 1..rows.len()).take_while(|row| rows[*row].item == item);
    let end_of = |side: usize| {
        let nested_side = |row: usize| nested[row][side];
        later()
            .find(|row| !nested_side(*row).is_blank && nested_side(*row).level <= level)
            .filter(|row| nested_side(*row).closes)
    };
    let mut ends = (0..2).filter(|side| opens[*side]).map(end_of);
    let end = ends.next()??;
    let is_beside =
        |side: usize| !opens[side] && (at + 1..=end).any(|row| !nested[row][side].is_blank);
    (ends.all(|other| other == Some(end)) && !(0..2).any(is_beside)).then_some(end)
}

/// Adds to the row that opens an object or list, on each side that does, the number of the lines that follow it.
fn fold_into(row: &mut DiffRow, nested: &[NestedSide; 2], inside: &[DiffRow]) {
    let sides: [fn(&DiffRow) -> &Option<Line>; 2] = [|row| &row.left, |row| &row.right];
    let lines_of_row = [&mut row.left, &mut row.right];
    for ((side, nested_side), line) in sides.into_iter().zip(nested).zip(lines_of_row) {
        let (Some(bracket), Some(line)) = (nested_side.opens, line) else {
            continue;
        };
        let has_text = |line: &&Line| line.iter().any(|span| !span.text.trim().is_empty());
        let lines: Vec<&Line> = inside.iter().filter_map(|row| side(row).as_ref()).collect();
        // The last one has the closing bracket.
        let count = lines.iter().copied().filter(has_text).count();
        let count = count.saturating_sub(1);
        let changed = lines
            .iter()
            .any(|line| line.iter().any(|span| span.changed));
        let plural = if count == 1 { "" } else { "s" };
        let text = format!(" ⋯ {} line{plural} ", with_separators(count));
        line.push(span(&text, Tone::Faint, changed));
        line.push(span(bracket, Tone::Value, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::rows::side_text;
    use crate::diff::{align, call_rows, json_rows};
    use crate::domain::ToolCall;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new(name, args.as_object().cloned())
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
            .map(|row| side_text(&row.right))
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
    fn nested_values_fold_level_by_level() {
        let value = |litres: u32| {
            json!({
                "north": {"beds": ["a", "b"], "soil": {"kind": "clay", "litres": litres}},
                "west": {"beds": ["f"]},
            })
        };
        let shown = |level: usize| -> Vec<(String, bool)> {
            fold_nested_rows(json_rows(&value(5), &value(6)), level)
                .iter()
                .map(|row| {
                    let changed = row.right.iter().flatten().any(|span| span.changed);
                    (side_text(&row.right), changed)
                })
                .collect()
        };
        assert_eq!(nested_levels(&json_rows(&value(5), &value(6))), 3);
        assert_eq!(shown(0), [("{ ⋯ 15 lines }".to_string(), true)]);
        let lines = [
            ("{", false),
            ("  \"north\": { ⋯ 8 lines }", true),
            ("  \"west\": { ⋯ 3 lines }", false),
            ("}", false),
        ];
        assert_eq!(shown(1), lines.map(|(text, is)| (text.to_string(), is)));
        assert_eq!(shown(2).len(), 9);
        let all = json_rows(&value(5), &value(6));
        assert_eq!(fold_nested_rows(all.clone(), 3), all);
    }

    #[test]
    fn values_with_other_nesting_are_not_hidden() {
        for (e, a) in [
            (
                json!({"address": {"city": "B"}, "n": 1, "soil": {"kind": "clay"}}),
                json!({"address": "B", "n": 2, "soil": {"kind": "clay"}}),
            ),
            (
                json!({"w": 0, "x": {"y": 1, "z": 2}}),
                json!({"w": {"p": 1, "q": 2, "r": 3}, "x": {"y": 1}}),
            ),
            (json!({"a": {"b": 1}}), json!({"a": [1, 2]})),
        ] {
            check_folds(&json_rows(&e, &a));
        }
    }

    /// At every level, each line is shown or counted on its own side, and a difference stays marked.
    fn check_folds(rows: &[DiffRow]) {
        let lines = |rows: &[DiffRow], side: fn(&DiffRow) -> &Option<Line>| -> usize {
            let count = |row: &DiffRow| match side_text(side(row)).trim() {
                "" => 0,
                text => match text.split_once(" ⋯ ") {
                    Some((_, folded)) => {
                        2 + folded.split(' ').next().unwrap().parse::<usize>().unwrap()
                    }
                    None => 1,
                },
            };
            rows.iter().map(count).sum()
        };
        let is_changed = |rows: &[DiffRow]| {
            let spans = rows
                .iter()
                .flat_map(|row| row.left.iter().chain(&row.right));
            spans.flatten().any(|span| span.changed)
        };
        for level in 0..=nested_levels(rows) {
            let folded = fold_nested_rows(rows.to_vec(), level);
            assert_eq!(
                lines(&folded, |row| &row.left),
                lines(rows, |row| &row.left)
            );
            assert_eq!(
                lines(&folded, |row| &row.right),
                lines(rows, |row| &row.right)
            );
            assert_eq!(is_changed(&folded), is_changed(rows));
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            (0..3i32).prop_map(Value::from),
            "[a{}]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn folding_hides_no_line_without_counting_it(e in any_value(), a in any_value()) {
            check_folds(&json_rows(&e, &a));
            let args = |value: &Value| json!({"v": value, "w": value});
            let (e, a) = (call("t{", args(&e)), call("t{", args(&a)));
            check_folds(&call_rows(&align(&[&e], &[&a]), &[&e], &[&a]));
        }
    }

    #[test]
    fn nested_arguments_fold_on_their_own_sides() {
        let plan = |beds: Value| call("plan", json!({"beds": beds, "day": "monday"}));
        let long: Vec<String> = (0..12).map(|n| format!("bed {n}")).collect();
        let (e, a) = (plan(json!(long)), plan(json!("none")));
        let rows = call_rows(&align(&[&e], &[&a]), &[&e], &[&a]);
        let folded = fold_nested_rows(rows, 0);
        let sides: Vec<(String, String)> = folded
            .iter()
            .map(|row| (side_text(&row.left), side_text(&row.right)))
            .collect();
        assert!(
            sides.contains(&("  beds  [ ⋯ 12 lines ]".into(), "  beds  \"none\"".into())),
            "{sides:?}"
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
        let shown: Vec<_> = rows.iter().map(|row| side_text(&row.left)).collect();
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
