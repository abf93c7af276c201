//! Comparison of expected and actual for each turn: aligned calls with their arguments, and responses word by word.

use crate::explorer::shared::case_lines::{
    BodyLine, BodyView, CaseLines, Compared, ComparedTurn, PieceLine, TurnLines,
};
use crate::explorer::shared::command_names::TIMELINE;
use crate::explorer::shown_case::pieces::call_pieces;
use evaltrail_core::diff::{
    AcceptablePart, DiffRow, Line, Span, TextDiff, Tone, align, call_rows, calls_equal, diff_words,
    fold_identical_rows, fold_nested_rows, json_rows, nested_levels, text_rows, wrap_line,
    wrap_rows,
};
use evaltrail_core::domain::{
    Content, IntermediateResponse, Invocation, ToolCall, ToolUse, Trajectory,
};
use serde_json::Value;

/// Maximum number of lines of the user message above the comparison. The timeline shows all of them.
const USER_LINES: usize = 8;

/// Builds the comparison of all turns.
pub(crate) fn compare(compared: &Compared, view: BodyView, side_by_side: bool) -> CaseLines {
    let mut builder = Builder {
        lines: Vec::new(),
        width: view.width,
        side_by_side,
        differences_only: view.differences_only,
        folded_from: view.folded_from,
        nested_levels: 0,
        turn: 0,
        pieces: Vec::new(),
    };
    if let Some(problem) = &compared.problem {
        builder
            .lines
            .push(BodyLine::Rule("this case cannot be read".into()));
        builder.wide(&[Span::single_line(problem, Tone::Note)]);
    }
    if let Some(tool_use) = &compared.tools {
        builder.tools(tool_use);
    }
    let mut turns = Vec::new();
    for turn in &compared.turns {
        turns.push(TurnLines {
            turn: turn.turn,
            line: builder.lines.len(),
            status: turn.status,
        });
        if compared.turns.len() > 1 {
            builder.lines.push(BodyLine::Turn(
                format!("turn {}", turn.turn + 1),
                turn.status,
            ));
        }
        builder.turn = turn.turn;
        builder.compare(turn, compared.has_run);
    }
    if let Some((expected, actual)) = &compared.states {
        builder.states(expected.as_ref(), actual.as_ref());
    }
    let changed: Vec<bool> = builder.lines.iter().map(is_changed).collect();
    begin_at_changes(&mut builder.pieces, &builder.lines, &changed);
    let stretches = (0..changed.len())
        .filter(|at| changed[*at] && (*at == 0 || !changed[at - 1]))
        .collect();
    CaseLines {
        stretches,
        lines: builder.lines,
        side_by_side,
        turns,
        pieces: builder.pieces,
        nested_levels: builder.nested_levels,
        ..CaseLines::default()
    }
}

/// Whether a line has a change.
fn is_changed(line: &BodyLine) -> bool {
    match line {
        BodyLine::Pair { left, right, .. } => left.iter().chain(right).any(|span| span.changed),
        BodyLine::Turn(..) | BodyLine::Rule(_) | BodyLine::Wide(_) => false,
    }
}

/// Moves the line of each difference in a long value from the beginning of the value to its first change. A value ends where
/// the next difference, or another part of the turn, begins.
fn begin_at_changes(pieces: &mut [PieceLine], lines: &[BodyLine], changed: &[bool]) {
    let starts: Vec<usize> = pieces.iter().map(|piece| piece.line).collect();
    let is_value = |line: &&BodyLine| matches!(line, BodyLine::Pair { .. });
    for (at, piece) in pieces.iter_mut().enumerate() {
        if !matches!(
            piece.piece,
            AcceptablePart::Argument { .. } | AcceptablePart::Response
        ) {
            continue;
        }
        let lines_left = lines[piece.line.min(lines.len())..].iter();
        let end = piece.line + lines_left.take_while(is_value).count();
        let next = starts.get(at + 1).copied().unwrap_or(end);
        let end = if next > piece.line {
            end.min(next)
        } else {
            end
        };
        let first = (piece.line..end).find(|line| changed[*line]);
        piece.line = first.unwrap_or(piece.line);
    }
}

/// Rows of a case that has not run: only the expected side, without marks of differences.
fn one_sided(rows: Vec<DiffRow>) -> Vec<DiffRow> {
    calm(rows)
        .into_iter()
        .map(|row| DiffRow { right: None, ..row })
        .collect()
}

/// Removes the marks of differences from rows.
fn calm(rows: Vec<DiffRow>) -> Vec<DiffRow> {
    let plain = |line: Line| {
        line.into_iter()
            .map(|span| Span {
                changed: false,
                ..span
            })
            .collect()
    };
    let row = |row: DiffRow| DiffRow {
        mark: "",
        left: row.left.map(plain),
        right: row.right.map(plain),
        ..row
    };
    rows.into_iter().map(row).collect()
}

/// Responses in the form of calls, by which they are aligned: the agent is the name, the text the argument.
fn as_calls(responses: &[IntermediateResponse]) -> Vec<ToolCall> {
    let call = |response: &IntermediateResponse| {
        let text = [("text".to_string(), Value::from(response.text()))];
        ToolCall::new(response.author.clone(), Some(text.into_iter().collect()))
    };
    responses.iter().map(call).collect()
}

/// Whether calls and responses are identical and no event has an error. Intermediate responses are compared if some are
/// expected.
fn is_identical(expected: Option<&Invocation>, actual: Option<&Invocation>) -> bool {
    let (Some(expected), Some(actual)) = (expected, actual) else {
        return false;
    };
    let (left, right) = (expected.calls(), actual.calls());
    let same_calls = left.len() == right.len()
        && left
            .iter()
            .zip(&right)
            .all(|(e, a)| calls_equal(e, a, false));
    let has_errors = actual.model_errors().next().is_some();
    same_calls
        && !has_errors
        && expected.trajectory.is_known()
        && actual.trajectory.is_known()
        && shown_response(expected) == shown_response(actual)
        && has_expected_intermediate(expected, actual)
}

fn has_expected_intermediate(expected: &Invocation, actual: &Invocation) -> bool {
    let expected = expected.intermediate_responses();
    let texts = |responses: &[IntermediateResponse]| -> Vec<(String, String)> {
        responses
            .iter()
            .map(|one| (one.author.clone(), one.text()))
            .collect()
    };
    expected.is_empty() || texts(&expected) == texts(&actual.intermediate_responses())
}

struct Builder {
    lines: Vec<BodyLine>,
    width: usize,
    side_by_side: bool,
    differences_only: bool,
    folded_from: Option<usize>,
    nested_levels: usize,
    /// The current turn, from 0.
    turn: usize,
    pieces: Vec<PieceLine>,
}

impl Builder {
    fn compare(&mut self, turn: &ComparedTurn, has_run: bool) {
        let (expected, actual) = (turn.expected.as_ref(), turn.actual.as_ref());
        if let Some(either) = expected.or(actual) {
            let first = self.lines.len();
            self.user(&either.user.shown_text());
            self.shorten(first, has_run);
        }
        if has_run && actual.is_none() {
            self.note("the agent did not reach this turn");
        }
        if self.differences_only && is_identical(expected, actual) {
            return self.note("identical on both sides");
        }
        self.calls(expected, actual);
        self.intermediate(expected, actual);
        self.response(expected, actual);
        self.notes_on(actual);
    }

    /// How the calls of tools were answered, what is missing, and which stubs were not used.
    fn tools(&mut self, tool_use: &ToolUse) {
        self.note(&tool_use.counts().describe());
        for missing in &tool_use.missing {
            self.wide(&[Span::single_line(
                &format!("turn {}: {}", missing.turn, missing.why),
                Tone::Note,
            )]);
        }
        if !tool_use.unused.is_empty() {
            let lines: Vec<String> = tool_use.unused.iter().map(usize::to_string).collect();
            self.note(&format!(
                "lines of the stubs for this case that answered no call: {}",
                lines.join(", ")
            ));
        }
    }

    fn piece(&mut self, piece: AcceptablePart, line: usize) {
        self.pieces.push(PieceLine {
            piece,
            turn: self.turn,
            line,
        });
    }

    fn wide(&mut self, line: &[Span]) {
        self.lines.extend(
            wrap_line(line, self.width.saturating_sub(2))
                .into_iter()
                .map(BodyLine::Wide),
        );
    }

    fn note(&mut self, text: &str) {
        self.wide(&[Span::single_line(text, Tone::Faint)]);
    }

    fn user(&mut self, text: &str) {
        for (at, line) in text.lines().enumerate() {
            let head = if at == 0 { "user  " } else { "      " };
            self.wide(&[
                Span::single_line(head, Tone::Faint),
                Span::single_line(line, Tone::Plain),
            ]);
        }
    }

    /// Cuts the user message to [`USER_LINES`] lines, and adds a note if it was cut.
    fn shorten(&mut self, first: usize, has_run: bool) {
        let more = (self.lines.len() - first).saturating_sub(USER_LINES);
        if more > 0 {
            self.lines.truncate(first + USER_LINES);
            let all = match has_run {
                true => format!("; {} shows them all", TIMELINE.key()),
                false => String::new(),
            };
            self.note(&format!("… and {more} more lines{all}"));
        }
    }

    /// Adds the aligned calls of both sides.
    fn calls(&mut self, expected: Option<&Invocation>, actual: Option<&Invocation>) {
        let calls = |turn: Option<&Invocation>| {
            turn.map(|turn| turn.calls().into_iter().cloned().collect::<Vec<_>>())
                .unwrap_or_default()
        };
        let (left, right) = (calls(expected), calls(actual));
        let (left, right): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
        self.lines.push(BodyLine::Rule("tool calls".into()));
        let alignment = align(&left, &right);
        let rows = self.folded(call_rows(&alignment, &left, &right));
        match actual {
            None if left.is_empty() => self.note("no calls are expected"),
            None => drop(self.rows(&one_sided(rows))),
            Some(turn) if !turn.trajectory.is_known() => {
                self.unknown_calls(turn, rows, (&left, &right))
            }
            Some(_)
                if alignment.pairs.is_empty() && expected.is_some_and(expects_unknown_calls) =>
            {
                self.note("no calls");
            }
            Some(_) if alignment.pairs.is_empty() => self.note("no calls, none expected"),
            Some(_) if expected.is_none_or(expects_unknown_calls) => {
                drop(self.rows(&calm(rows)));
            }
            Some(_) => {
                let rows = self.shown(rows);
                let heading = self.lines.len() - 1;
                let starts = self.rows(&rows);
                let found = call_pieces(&alignment, &rows, &left, &right);
                if found.len() > 1 {
                    self.piece(AcceptablePart::Calls, heading);
                }
                found
                    .into_iter()
                    .for_each(|(piece, row)| self.piece(piece, starts[row]));
            }
        }
        if alignment.coarse {
            self.note("too many calls to align: paired by position");
        }
        let is_reported = actual.is_none_or(|turn| turn.trajectory.is_known());
        if is_reported && expected.is_some_and(|turn| turn.trajectory == Trajectory::Unknown) {
            self.note(match expected.is_some_and(|turn| turn.is_data) {
                true => "the row does not say which calls are expected; they are not scored",
                false => "the file specifies no expected calls; ADK treats this as an empty list",
            });
        }
        if expected.is_none() && actual.is_some() {
            self.note(
                "this turn has no expected side: it is by a simulated user, or not in the file",
            );
        }
    }

    /// Adds calls of which not all are known: none is marked as missing.
    fn unknown_calls(
        &mut self,
        actual: &Invocation,
        rows: Vec<DiffRow>,
        (left, right): (&[&ToolCall], &[&ToolCall]),
    ) {
        match (left.is_empty(), right.is_empty()) {
            (true, true) => {}
            (false, true) => drop(self.rows(&one_sided(rows))),
            _ => drop(self.rows(&calm(rows))),
        }
        self.note(match actual.calls().is_empty() {
            true => "the agent does not report its tool calls; they are not scored",
            false => "the agent reports only some of its tool calls; they are not scored",
        });
    }

    /// Adds the intermediate responses, each under its agent. Where none is expected, none is marked as extra.
    fn intermediate(&mut self, expected: Option<&Invocation>, actual: Option<&Invocation>) {
        let side = |turn: Option<&Invocation>| -> Vec<IntermediateResponse> {
            turn.map(Invocation::intermediate_responses)
                .unwrap_or_default()
        };
        let (expected, is_reached, actual) = (side(expected), actual.is_some(), side(actual));
        if expected.is_empty() && actual.is_empty() {
            return;
        }
        self.lines
            .push(BodyLine::Rule("intermediate responses".into()));
        let (left, right) = (as_calls(&expected), as_calls(&actual));
        let (left, right): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
        let rows = call_rows(&align(&left, &right), &left, &right);
        let heading = self.lines.len() - 1;
        match (is_reached, expected.is_empty()) {
            (false, _) => drop(self.rows(&one_sided(rows))),
            (true, true) => drop(self.rows(&calm(rows))),
            (true, false) => {
                let rows = self.shown(rows);
                self.rows(&rows);
                if left != right {
                    self.piece(AcceptablePart::Intermediate, heading);
                }
            }
        }
    }

    /// Adds the responses, compared word by word.
    fn response(&mut self, expected: Option<&Invocation>, actual: Option<&Invocation>) {
        self.lines.push(BodyLine::Rule("response".into()));
        if let Some(words) = actual.and_then(|turn| turn.end.describe()) {
            self.note(words);
        }
        let text = |turn: Option<&Invocation>| turn.map(shown_response).unwrap_or_default();
        if let (Some(e), Some(a)) = (json_response(expected), json_response(actual)) {
            return self.json_response(&e, &a, text(expected) != text(actual));
        }
        let diff = diff_words(&text(expected), &text(actual));
        let is_coarse = diff.coarse;
        let differs_in_ends = !diff.is_changed() && text(expected) != text(actual);
        match actual {
            None => drop(self.rows(&one_sided(text_rows(&diff_words(
                &text(expected),
                &text(expected),
            ))))),
            Some(_) if expected.is_none() => drop(self.rows(&calm(text_rows(&diff)))),
            Some(_) => {
                let rows = self.shown(text_rows(&self.shown_texts(diff)));
                let changed = |line: &Line| line.iter().any(|span| span.changed);
                let differs = |row: &DiffRow| row.left.iter().chain(&row.right).any(changed);
                let first = rows.iter().position(differs).unwrap_or(0);
                let starts = self.rows(&rows);
                if text(expected) != text(actual) {
                    self.piece(
                        AcceptablePart::Response,
                        starts.get(first).copied().unwrap_or(0),
                    );
                }
            }
        }
        if differs_in_ends && actual.is_some() && expected.is_some() {
            self.note("the texts differ in the ends of their lines");
        }
        if is_coarse {
            self.note("parts of more than 1 MB that differ are not compared by words");
        }
    }

    /// Adds responses that are JSON on both sides. `differs` tells whether their texts do.
    fn json_response(&mut self, expected: &Value, actual: &Value, differs: bool) {
        let rows = self.folded(json_rows(expected, actual));
        let rows = self.shown(rows);
        let changed = |line: &Line| line.iter().any(|span| span.changed);
        let is_changed = |row: &DiffRow| row.left.iter().chain(&row.right).any(changed);
        let first = rows.iter().position(is_changed);
        let starts = self.rows(&rows);
        if differs {
            let line = first.and_then(|row| starts.get(row)).or(starts.first());
            self.piece(AcceptablePart::Response, line.copied().unwrap_or(0));
        }
        if differs && first.is_none() {
            self.note("the texts have the same JSON values, written in another way");
        }
    }

    /// The texts to show: whole, or without most of what is the same.
    fn shown_texts(&self, diff: TextDiff) -> TextDiff {
        match self.differences_only {
            true => diff.without_common(),
            false => diff,
        }
    }

    /// The rows without what is inside of nested values at the folded level.
    fn folded(&mut self, rows: Vec<DiffRow>) -> Vec<DiffRow> {
        self.nested_levels = self.nested_levels.max(nested_levels(&rows));
        match self.folded_from {
            Some(level) => fold_nested_rows(rows, level),
            None => rows,
        }
    }

    /// The rows to show: all, or only those that differ.
    fn shown(&self, rows: Vec<DiffRow>) -> Vec<DiffRow> {
        if self.differences_only {
            fold_identical_rows(rows)
        } else {
            rows
        }
    }

    /// Adds rows, side by side or stacked. Returns the index of the first line of each row.
    fn rows(&mut self, rows: &[DiffRow]) -> Vec<usize> {
        match self.side_by_side {
            true => self.pairs(rows),
            false => self.stacked(rows),
        }
    }

    fn pairs(&mut self, rows: &[DiffRow]) -> Vec<usize> {
        let first = self.lines.len();
        let wrapped = wrap_rows(rows, column_width(self.width));
        let begins = wrapped
            .iter()
            .enumerate()
            .filter(|(_, visual)| !visual.continued);
        let starts = begins.map(|(at, _)| first + at).collect();
        self.lines
            .extend(wrapped.into_iter().map(|visual| BodyLine::Pair {
                mark: if visual.continued {
                    ""
                } else {
                    mark_of_pair(&rows[visual.row])
                },
                left: visual.left,
                right: visual.right,
            }));
        starts
    }

    fn stacked(&mut self, rows: &[DiffRow]) -> Vec<usize> {
        let width = self.width.saturating_sub(3);
        let mut starts = Vec::new();
        for row in rows {
            starts.push(self.lines.len());
            let same = row.left == row.right;
            let changed = |line: &Line| line.iter().any(|span| span.changed);
            let sides = [(&row.left, "-"), (&row.right, if same { "" } else { "+" })];
            let sides = if same { &sides[1..] } else { &sides[..] };
            let mut first = row.mark;
            for (line, sign) in sides {
                let Some(line) = line else { continue };
                let sign = if changed(line) || !first.is_empty() {
                    sign
                } else {
                    &""
                };
                let mark = if first.is_empty() { sign } else { first };
                for (at, piece) in wrap_line(line, width).into_iter().enumerate() {
                    let mark = if at == 0 { mark } else { "" };
                    self.lines.push(BodyLine::Pair {
                        mark,
                        left: piece,
                        right: Vec::new(),
                    });
                }
                first = "";
            }
        }
        starts
    }

    /// Adds the session state, compared key by key like the arguments of a call.
    fn states(&mut self, expected: Option<&Value>, actual: Option<&Value>) {
        let side = |state: &Value| ToolCall::new("state", state.as_object().cloned());
        let (expected, actual) = (expected.map(side), actual.map(side));
        self.lines.push(BodyLine::Rule("session state".into()));
        let (left, right): (Vec<_>, Vec<_>) = (expected.iter().collect(), actual.iter().collect());
        let rows = self.folded(call_rows(&align(&left, &right), &left, &right));
        match right.is_empty() {
            true => {
                self.rows(&one_sided(rows));
                self.note("the agent did not report its session state");
            }
            false => drop(self.rows(&rows)),
        }
    }

    /// Adds the errors that the model reported.
    fn notes_on(&mut self, actual: Option<&Invocation>) {
        for error in actual.into_iter().flat_map(Invocation::model_errors) {
            self.wide(&[
                Span::single_line("the model reported  ", Tone::Faint),
                Span::single_line(&error.text(), Tone::Note),
            ]);
        }
    }
}

/// The width of each of the two columns: `width` without the gutter (2 columns) and the separator (3).
pub(crate) fn column_width(width: usize) -> usize {
    width.saturating_sub(2 + 3) / 2
}

/// The response as a JSON object or list, if it is one.
fn json_response(turn: Option<&Invocation>) -> Option<Value> {
    let text = shown_response(turn?);
    let begins = text.trim_start().starts_with(['{', '[']);
    begins.then(|| serde_json::from_str(&text).ok()).flatten()
}

/// Whether the turn is of a data set's row that does not contain the expected calls.
fn expects_unknown_calls(expected: &Invocation) -> bool {
    expected.is_data && !expected.trajectory.is_known()
}

/// The response as displayed, with labels for parts that are not text.
pub(crate) fn shown_response(turn: &Invocation) -> String {
    turn.final_response
        .as_ref()
        .map(Content::shown_text)
        .unwrap_or_default()
}

/// The mark of a row with both sides: its own, else a sign that it differs, so that colours are not needed to see it.
fn mark_of_pair(row: &DiffRow) -> &'static str {
    let is_changed = |line: &Option<Line>| line.iter().flatten().any(|span| span.changed);
    match (row.mark, is_changed(&row.left), is_changed(&row.right)) {
        ("", true, true) => "~",
        ("", true, false) => "-",
        ("", false, true) => "+",
        (mark, ..) => mark,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::Content;

    fn turn(text: &str) -> Option<Invocation> {
        Some(Invocation {
            final_response: Some(Content::text("model", text)),
            ..Invocation::default()
        })
    }

    /// A response of one line with two changed words, 5,000 words apart.
    fn long_response() -> Compared {
        let text = |word: &str| {
            let words = (0..8000).map(|at| match at {
                2000 | 7000 => word.to_string(),
                at => format!("w{at}"),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        Compared {
            has_run: true,
            turns: vec![ComparedTurn {
                expected: turn(&text("before")),
                actual: turn(&text("after")),
                ..ComparedTurn::default()
            }],
            ..Compared::default()
        }
    }

    #[test]
    fn each_change_of_long_value_is_a_stop() {
        let compared = long_response();
        for differences_only in [false, true] {
            let view = BodyView {
                differences_only,
                ..BodyView::comparison(120)
            };
            let body = compare(&compared, view, true);
            let stops = body.stops(0);
            let changed = |line: &usize| match &body.lines[*line] {
                BodyLine::Pair { left, .. } => left
                    .iter()
                    .filter(|span| span.changed)
                    .map(|span| span.text.clone())
                    .collect(),
                _ => String::new(),
            };
            let shown: Vec<String> = stops.iter().map(changed).collect();
            assert_eq!(shown, ["before", "before"], "{stops:?}");
            assert_eq!(body.pieces.len(), 1, "it is accepted as a whole");
        }
    }

    #[test]
    fn differences_of_long_value_fit_on_a_screen() {
        let view = BodyView {
            differences_only: true,
            ..BodyView::comparison(120)
        };
        let body = compare(&long_response(), view, true);
        assert!(body.lines.len() < 20, "{}", body.lines.len());
    }

    fn called(args: serde_json::Value, response: &str) -> Option<Invocation> {
        Some(Invocation {
            trajectory: Trajectory::Listed {
                calls: vec![ToolCall::new("water", args.as_object().cloned())],
                responses: Vec::new(),
                texts: Vec::new(),
            },
            final_response: Some(Content::text("model", response)),
            ..Invocation::default()
        })
    }

    /// A difference inside of a folded value is marked on the row that stands for the value.
    #[test]
    fn difference_in_folded_value_is_a_stop() {
        let plan = |litres: u32| {
            let beds: Vec<String> = (0..12).map(|n| format!("bed {n}")).collect();
            serde_json::json!({"plan": {"beds": beds, "soil": {"litres": litres}}})
        };
        let compared = Compared {
            has_run: true,
            turns: vec![ComparedTurn {
                expected: called(plan(5), "done"),
                actual: called(plan(6), "done"),
                ..ComparedTurn::default()
            }],
            ..Compared::default()
        };
        let marked = |folded_from: Option<usize>| -> (usize, String) {
            let view = BodyView {
                folded_from,
                ..BodyView::comparison(120)
            };
            let body = compare(&compared, view, true);
            let [piece] = &body.pieces[..] else {
                panic!("{:?}", body.pieces)
            };
            let BodyLine::Pair { right, .. } = &body.lines[piece.line] else {
                panic!("{:?}", body.lines[piece.line])
            };
            let text: String = right.iter().map(|span| span.text.as_str()).collect();
            (body.nested_levels, text.trim().to_string())
        };
        assert_eq!(marked(None), (2, "\"litres\": 6".into()));
        assert_eq!(marked(Some(1)), (2, "\"soil\": { ⋯ 1 line }".into()));
        assert_eq!(marked(Some(0)), (2, "plan  { ⋯ 17 lines }".into()));
    }

    /// Each difference is marked where it is: neither at another argument nor in another turn.
    #[test]
    fn marks_stay_at_their_differences() {
        let turn = |turn: usize, expected, actual| ComparedTurn {
            turn,
            expected,
            actual,
            ..ComparedTurn::default()
        };
        let compared = Compared {
            has_run: true,
            turns: vec![
                turn(
                    0,
                    called(serde_json::json!({"bed": "beans", "litres": 6}), "a\r\nb"),
                    called(serde_json::json!({"bed": "peas", "litres": 5}), "a\nb"),
                ),
                turn(
                    1,
                    called(serde_json::json!({"bed": "x"}), "one"),
                    called(serde_json::json!({"bed": "y"}), "two"),
                ),
            ],
            ..Compared::default()
        };
        let body = compare(&compared, BodyView::comparison(120), true);
        let text = |line: usize| match &body.lines[line] {
            BodyLine::Pair { left, .. } => left.iter().map(|span| span.text.as_str()).collect(),
            _ => String::new(),
        };
        let marked: Vec<(usize, String)> = body
            .pieces
            .iter()
            .map(|piece| (piece.turn, text(piece.line).trim().to_string()))
            .collect();
        let expected = [
            (0, "1 water"),
            (0, "bed  \"beans\""),
            (0, "litres  6"),
            (0, "a"),
            (1, "bed  \"x\""),
            (1, "one"),
        ];
        let shown: Vec<(usize, &str)> = marked
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(turn, text)| (*turn, text.as_str()))
            .collect();
        assert_eq!(shown, expected);
        let has_note = body.lines.iter().any(|line| {
            matches!(line, BodyLine::Wide(line) if line.iter().any(|span| span.text.contains("ends of their lines")))
        });
        assert!(has_note);
    }
}
