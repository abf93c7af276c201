//! The lines of one case of two runs: what is expected and what the agent did in each run, in columns.

use super::extra_rows::paired;
use super::state::{CaseColumns, ColumnLine};
use crate::explorer::shown_case::response_text::shown_response;
use evaltrail_core::diff::{
    DiffRow, Line, Span, Tone, align, call_rows, diff_words, text_rows, wrap_line,
};
use evaltrail_core::domain::{Attempt, Invocation, MetricResult, ToolCall, clean_line, score_text};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Width in columns from which the sides are beside each other. On narrower screens they are stacked.
const SIDE_BY_SIDE_FROM: usize = 96;
/// The column between two sides.
pub(super) const GAP: usize = 3;

/// The sides, from left to right.
pub(super) fn side_names(case: &CaseColumns) -> &'static [&'static str] {
    match case.without_expected {
        true => &["first run", "second run"],
        false => &["expected", "first run", "second run"],
    }
}

/// The width of each side when they are beside each other.
pub(super) fn side_width(width: usize, sides: usize) -> usize {
    width.saturating_sub(GAP * (sides - 1)) / sides
}

pub(super) fn fits_side_by_side(width: usize) -> bool {
    width >= SIDE_BY_SIDE_FROM
}

/// The text of an argument that is absent on a side.
const ABSENT: &str = "(absent)";

/// A row before it is wrapped: a cell for each side, and whether all of them are equal.
struct UnwrappedRow {
    sides: Vec<Option<Line>>,
    is_equal: bool,
}

/// Builds the lines for a width.
pub(super) fn build(case: &CaseColumns, width: usize) -> Vec<ColumnLine> {
    let mut lines = Vec::new();
    note_lines(&mut lines, case, width);
    let [before, after] = case
        .attempts
        .each_ref()
        .map(|one| one.as_ref().and_then(|one| one.as_ref().ok()));
    metric_lines(&mut lines, before, after);
    let expected = after
        .or(before)
        .map(|attempt| &attempt.expected[..])
        .unwrap_or_default();
    let actual = |attempt: Option<&Arc<Attempt>>, at: usize| {
        attempt.and_then(|one| one.actual.get(at).cloned())
    };
    let ran = [before, after]
        .into_iter()
        .flatten()
        .map(|attempt| attempt.actual.len())
        .max()
        .unwrap_or(0);
    let turns = expected.len().max(ran);
    for at in 0..turns {
        if turns > 1 {
            lines.push(ColumnLine::Rule(format!("turn {}", at + 1)));
        }
        let (first, second) = (actual(before, at), actual(after, at));
        let sides = [expected.get(at), first.as_ref(), second.as_ref()];
        turn_lines(&mut lines, case, sides, width);
    }
    lines
}

/// What differs between the results beside what the agent did, and what is wrong with them.
fn note_lines(lines: &mut Vec<ColumnLine>, case: &CaseColumns, width: usize) {
    for words in &case.notes {
        note(lines, words, width);
    }
    for (name, attempt) in ["first", "second"].iter().zip(&case.attempts) {
        let words = match attempt {
            None => Some(format!("the {name} run has no result of this case")),
            Some(Err(why)) => Some(format!("the {name} run: {why}")),
            Some(Ok(attempt)) => attempt
                .error
                .as_ref()
                .map(|error| format!("the {name} run errored: {error}")),
        };
        if let Some(words) = words {
            note(lines, &words, width);
        }
    }
}

/// The lines of a turn: the user's message, the calls and the response. The sides are: expected, first run, second run.
fn turn_lines(
    lines: &mut Vec<ColumnLine>,
    case: &CaseColumns,
    [expected, first, second]: [Option<&Invocation>; 3],
    width: usize,
) {
    if let Some(turn) = expected.or(first).or(second) {
        let user = format!("user  {}", turn.user.shown_text());
        lines.extend(wrapped(&user, Tone::Plain, width));
    }
    let expected = expected.filter(|_| !case.without_expected);
    lines.push(ColumnLine::Rule("tool calls".into()));
    let rows = call_cells(case.without_expected, expected, first, second);
    push_cells(lines, rows, case, width, "no calls");
    lines.push(ColumnLine::Rule("response".into()));
    let rows = response_cells(case.without_expected, expected, first, second);
    push_cells(lines, rows, case, width, "no response");
}

fn wrapped(text: &str, tone: Tone, width: usize) -> impl Iterator<Item = ColumnLine> {
    let span = Span {
        text: clean_line(text).into_owned(),
        tone,
        changed: false,
    };
    wrap_line(&[span], width.max(1))
        .into_iter()
        .map(ColumnLine::Wide)
}

fn note(lines: &mut Vec<ColumnLine>, text: &str, width: usize) {
    lines.extend(wrapped(text, Tone::Note, width));
}

/// The scores in both runs: every metric with a threshold, then those without one that differ.
fn metric_lines(
    lines: &mut Vec<ColumnLine>,
    before: Option<&Arc<Attempt>>,
    after: Option<&Arc<Attempt>>,
) {
    let metrics =
        |attempt: Option<&Arc<Attempt>>| attempt.map(|one| one.metrics.clone()).unwrap_or_default();
    let (first, second) = (metrics(before), metrics(after));
    let mut all: Vec<&MetricResult> = second.iter().chain(&first).collect();
    let mut seen = HashSet::new();
    all.retain(|metric| seen.insert(metric.metric.as_str()));
    let differs = |name: &str| named_score_text(&first, name) != named_score_text(&second, name);
    all.retain(|metric| metric.threshold.is_some() || differs(&metric.metric));
    all.sort_by_key(|metric| metric.threshold.is_none());
    let width = all
        .iter()
        .map(|metric| metric.metric.chars().count())
        .max()
        .unwrap_or(0);
    for metric in all {
        let name = &metric.metric;
        let (a, b) = (
            named_score_text(&first, name),
            named_score_text(&second, name),
        );
        let changed = a != b;
        let span = |text: String, tone: Tone, changed: bool| Span {
            text,
            tone,
            changed,
        };
        lines.push(ColumnLine::Wide(vec![
            span(format!("{:width$}  ", clean_line(name)), Tone::Key, false),
            span(
                format!("{a:>8}"),
                if changed { Tone::Plain } else { Tone::Faint },
                false,
            ),
            span(" → ".into(), Tone::Faint, false),
            span(b, if changed { Tone::Plain } else { Tone::Faint }, changed),
        ]));
    }
}

fn named_score_text(metrics: &[MetricResult], name: &str) -> String {
    let metric = metrics.iter().find(|metric| metric.metric == name);
    metric.map_or("·".to_string(), |metric| match metric.score() {
        Some(score) => format!("{} {}", metric.status.glyph(), score_text(score)),
        None => metric.status.glyph().to_string(),
    })
}

fn calls_of(turn: Option<&Invocation>) -> Vec<ToolCall> {
    turn.map(|turn| turn.calls().into_iter().cloned().collect())
        .unwrap_or_default()
}

fn call_cells(
    without_expected: bool,
    expected: Option<&Invocation>,
    first: Option<&Invocation>,
    second: Option<&Invocation>,
) -> Vec<UnwrappedRow> {
    let rows = |left: Option<&Invocation>, right: Option<&Invocation>| {
        let (left, right) = (calls_of(left), calls_of(right));
        let (left, right): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
        call_rows(&align(&left, &right), &left, &right)
    };
    match without_expected {
        true => rows(first, second).into_iter().map(two_sided).collect(),
        false => merged(rows(expected, first), rows(expected, second)),
    }
}

fn response_cells(
    without_expected: bool,
    expected: Option<&Invocation>,
    first: Option<&Invocation>,
    second: Option<&Invocation>,
) -> Vec<UnwrappedRow> {
    let text = |turn: Option<&Invocation>| turn.map(shown_response).unwrap_or_default();
    let rows = |left, right| text_rows(&diff_words(&text(left), &text(right)));
    if [expected, first, second]
        .iter()
        .all(|turn| text(*turn).is_empty())
    {
        return Vec::new();
    }
    if without_expected {
        return rows(first, second).into_iter().map(two_sided).collect();
    }
    let (a, b) = (rows(expected, first), rows(expected, second));
    let cells = |at: usize| {
        let (a, b) = (a.get(at), b.get(at));
        let left = a
            .and_then(|row| row.left.clone())
            .or_else(|| b.and_then(|row| row.left.clone()));
        let side = |row: Option<&DiffRow>| row.and_then(|row| row.right.clone());
        three_sided(left, side(a), side(b))
    };
    (0..a.len().max(b.len())).map(cells).collect()
}

fn two_sided(row: DiffRow) -> UnwrappedRow {
    let is_equal = plain(&row.left) == plain(&row.right);
    UnwrappedRow {
        sides: vec![row.left, row.right],
        is_equal,
    }
}

/// The expected side has no marks: where it differs is marked on the side that differs.
fn three_sided(expected: Option<Line>, first: Option<Line>, second: Option<Line>) -> UnwrappedRow {
    let is_equal = plain(&expected) == plain(&first) && plain(&expected) == plain(&second);
    let unmarked = |line: Line| {
        line.into_iter()
            .map(|span| Span {
                changed: false,
                ..span
            })
            .collect()
    };
    UnwrappedRow {
        sides: vec![expected.map(unmarked), first, second],
        is_equal,
    }
}

fn plain(line: &Option<Line>) -> Option<String> {
    let text: String = line
        .as_ref()?
        .iter()
        .map(|span| span.text.as_str())
        .collect();
    Some(text).filter(|text| !text.is_empty())
}

/// Joins the rows of expected and first run with those of expected and second run, by their expected side, which is
/// the same in both. Rows without an expected side, or with an absent argument there, are beside those of the same call of the
/// other run.
fn merged(first: Vec<DiffRow>, second: Vec<DiffRow>) -> Vec<UnwrappedRow> {
    let key = |row: &DiffRow| plain(&row.left).filter(|text| text.trim() != ABSENT);
    let mut cells = Vec::new();
    let (mut first, mut second) = (VecDeque::from(first), VecDeque::from(second));
    loop {
        let mut extra = [Vec::new(), Vec::new()];
        for (rows, extra) in [&mut first, &mut second].into_iter().zip(&mut extra) {
            while let Some(row) = rows.pop_front_if(|row| key(row).is_none()) {
                extra.push(row);
            }
        }
        let [extra_first, extra_second] = extra;
        for (a, b) in paired(extra_first, extra_second) {
            let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
            cells.push(three_sided(a.left.or(b.left), a.right, b.right));
        }
        match (first.front().and_then(key), second.front().and_then(key)) {
            (None, None) => return cells,
            (a, b) if a == b => {
                let (a, b) = (
                    first.pop_front().unwrap_or_default(),
                    second.pop_front().unwrap_or_default(),
                );
                cells.push(three_sided(a.left, a.right, b.right));
            }
            // A row that the other run has later is shown together with it.
            (a, _) if a.is_some() && !second.iter().any(|row| key(row) == a) => {
                let row = first.pop_front().unwrap_or_default();
                cells.push(three_sided(row.left, row.right, None));
            }
            (a, None) => {
                drop(a);
                let row = first.pop_front().unwrap_or_default();
                cells.push(three_sided(row.left, row.right, None));
            }
            _ => {
                let row = second.pop_front().unwrap_or_default();
                cells.push(three_sided(row.left, None, row.right));
            }
        }
    }
}

fn push_cells(
    lines: &mut Vec<ColumnLine>,
    rows: Vec<UnwrappedRow>,
    case: &CaseColumns,
    width: usize,
    none: &str,
) {
    if rows.is_empty() {
        lines.extend(wrapped(none, Tone::Faint, width));
        return;
    }
    let hidden = |cells: &UnwrappedRow| case.differences_only && cells.is_equal;
    for stretch in rows.chunk_by(|a, b| hidden(a) == hidden(b)) {
        if hidden(&stretch[0]) {
            let rows = if stretch.len() == 1 {
                "1 identical row".into()
            } else {
                format!("{} identical rows", stretch.len())
            };
            lines.extend(wrapped(&format!("⋯ {rows}"), Tone::Faint, width));
            continue;
        }
        for cells in stretch {
            match fits_side_by_side(width) {
                true => push_side_by_side(lines, &cells.sides, width),
                false => push_stacked(lines, cells, side_names(case), width),
            }
        }
    }
}

fn push_side_by_side(lines: &mut Vec<ColumnLine>, sides: &[Option<Line>], width: usize) {
    let room = side_width(width, sides.len());
    let wrapped: Vec<Vec<Line>> = sides
        .iter()
        .map(|side| {
            side.as_ref()
                .map(|line| wrap_line(line, room))
                .unwrap_or_default()
        })
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..height {
        let line = |side: &Vec<Line>| side.get(at).cloned().unwrap_or_default();
        lines.push(ColumnLine::Sides(wrapped.iter().map(line).collect()));
    }
}

/// One line where all sides are equal, else a line for each side, with its name.
fn push_stacked(lines: &mut Vec<ColumnLine>, cells: &UnwrappedRow, names: &[&str], width: usize) {
    let mut push = |name: &str, line: &Line| {
        let name_span = Span {
            text: format!("{name:9}"),
            tone: Tone::Faint,
            changed: false,
        };
        let whole: Line = std::iter::once(name_span)
            .chain(line.iter().cloned())
            .collect();
        lines.extend(wrap_line(&whole, width).into_iter().map(ColumnLine::Wide));
    };
    match cells.sides.first() {
        Some(Some(line)) if cells.is_equal => push("", line),
        _ => {
            for (name, side) in names.iter().zip(&cells.sides) {
                let short = name.split(' ').next().unwrap_or_default();
                if let Some(line) = side {
                    push(short, line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(name: &str, args: serde_json::Value) -> ToolCall {
        ToolCall::new(name, args.as_object().cloned())
    }

    fn joined(expected: &[ToolCall], first: &[ToolCall], second: &[ToolCall]) -> Vec<[String; 3]> {
        let rows = |actual: &[ToolCall]| {
            let (left, right): (Vec<_>, Vec<_>) =
                (expected.iter().collect(), actual.iter().collect());
            call_rows(&align(&left, &right), &left, &right)
        };
        let text = |line: &Option<Line>| plain(line).unwrap_or_default().trim().to_string();
        let cells = merged(rows(first), rows(second)).into_iter();
        cells
            .map(|cells| [0, 1, 2].map(|side| text(&cells.sides[side])))
            .collect()
    }

    /// Each expected row is shown once, whatever the runs have in addition.
    #[test]
    fn runs_are_joined_by_expected_rows() {
        let expected = [
            call("a", json!({"x": 1, "y": 2})),
            call("b", json!({"z": 3})),
        ];
        let more = [
            call("a", json!({"x": 1, "w": 9, "y": 2})),
            call("b", json!({"z": 3})),
        ];
        let other = [
            call("a", json!({"x": 7, "y": 2})),
            call("c", json!({})),
            call("b", json!({"z": 3})),
        ];
        for (first, second) in [
            (&more[..], &other[..]),
            (&other[..], &more[..]),
            (&more[..], &more[..]),
        ] {
            let found = joined(&expected, first, second);
            for row in ["1 a", "x  1", "y  2", "2 b", "z  3"] {
                let count = found.iter().filter(|sides| sides[0] == row).count();
                assert_eq!(count, 1, "{row} in {found:?}");
            }
        }
        let found = joined(&expected, &other, &expected);
        assert!(
            found.contains(&["x  1".into(), "x  7".into(), "x  1".into()]),
            "{found:?}"
        );
        assert!(
            found.contains(&[String::new(), "2 c".into(), String::new()]),
            "{found:?}"
        );
        // What both runs did beside what is expected is in the same rows.
        let twice = [
            call("a", json!({"x": 1, "y": 2})),
            call("c", json!({"q": 5})),
            call("d", json!({})),
            call("b", json!({"z": 3})),
        ];
        let both = joined(&expected, &twice, &twice);
        for row in ["2 c", "q  5", "3 d"] {
            assert!(
                both.contains(&[String::new(), row.into(), row.into()]),
                "{row} in {both:?}"
            );
        }
        let missing = joined(&expected, &[], &expected);
        assert!(
            missing.contains(&["1 a".into(), String::new(), "1 a".into()]),
            "{missing:?}"
        );
    }
}
