//! The lines of a case: expected and actual side by side, or the events as they happened. Built once
//! for a turn, a width and a mode; drawing takes the lines that are in sight.

use crate::diff::{
    Line, Piece, Row, Span, Tone, align, call_rows, diff_words, text_rows, wrap_line, wrap_rows,
};
use crate::domain::{
    Attempt, Content, HumanVerdict, Invocation, ToolCall, Trajectory, clean_line, value_text,
};
use crate::explorer::commands::TIMELINE;
use crate::explorer::screens::case::judged::judged_lines;
use crate::explorer::screens::case::pieces::call_pieces;
use crate::explorer::screens::case::state::CaseMode;
use crate::explorer::ticket::Ticket;
use serde_json::Value;
use std::sync::Arc;

/// Of what the user says, so many lines stand above the comparison; the timeline has them all.
const USER_LINES: usize = 8;
/// Narrower than this, expected and actual stand under each other.
const SIDE_BY_SIDE_FROM: usize = 84;

/// What lines are of: the same key, the same lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyKey {
    /// The case, the run and the attempt.
    pub of: (usize, usize, String, u32),
    /// When a turn was run alone, when it was.
    pub alone: Option<String>,
    /// The reading of the file.
    pub read: Ticket,
    /// The turn, from 0.
    pub turn: usize,
    /// The columns to fill.
    pub width: usize,
    /// Comparison, events or judges.
    pub mode: CaseMode,
    /// What people said, as it is then.
    pub verdicts: u64,
}

/// The lines of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// In order.
    pub lines: Vec<BodyLine>,
    /// Whether pairs stand side by side.
    pub side_by_side: bool,
    /// The pieces in which the sides differ, each with its first line.
    pub pieces: Vec<(Piece, usize)>,
}

/// A line of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyLine {
    /// A rule with a heading.
    Rule(String),
    /// A line over the whole width.
    Wide(Line),
    /// Expected and actual.
    Pair {
        /// The sign in the gutter.
        mark: &'static str,
        /// Left.
        left: Line,
        /// Right.
        right: Line,
    },
}

/// Whether building the lines could be felt, so that it is done elsewhere.
pub(crate) fn is_large(compared: &Compared) -> bool {
    const LARGE: usize = 48 << 10;
    let weight = |turn: &Invocation| {
        let calls = turn.calls();
        let args =
            calls.iter().map(|call| call.args.as_ref().map_or(0, |args| args.len() * 64)).sum::<usize>();
        let texts: usize = calls.iter().map(|call| deep_len(call.args.as_ref())).sum();
        let responses: usize = turn.responses().iter().map(|r| deep(&r.response)).sum();
        shown_response(turn).len() + turn.user.shown_text().len() + args + texts + responses
    };
    let turns = [&compared.expected, &compared.actual].into_iter().flatten();
    let states = compared.states.iter().flat_map(|(expected, actual)| [expected, actual]).flatten();
    let judged = compared.attempt.iter().flat_map(|attempt| &attempt.metrics);
    let judged = judged.filter_map(|metric| metric.judgement.as_ref()).flat_map(|one| &one.questions);
    let replies = judged.flat_map(|asked| &asked.samples).filter_map(|sample| sample.reply.as_ref());
    let weights = turns.map(weight).sum::<usize>() + states.map(deep).sum::<usize>();
    weights + replies.map(String::len).sum::<usize>() > LARGE
}

fn deep_len(args: Option<&serde_json::Map<String, Value>>) -> usize {
    args.into_iter().flat_map(|args| args.values()).map(deep).sum()
}

fn deep(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(deep).sum(),
        Value::Object(map) => map.values().map(deep).sum(),
        _ => 8,
    }
}

/// What lines are built from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// The turn as it should be.
    pub expected: Option<Invocation>,
    /// The turn as it was.
    pub actual: Option<Invocation>,
    /// The session's state as it should be and as it was, to be shown under the last turn.
    pub states: Option<(Option<Value>, Option<Value>)>,
    /// The attempt, for what judges said of it.
    pub attempt: Option<Arc<Attempt>>,
    /// What people said of it.
    pub people: Vec<HumanVerdict>,
    /// Why the case cannot be read.
    pub problem: Option<String>,
}

/// Builds the lines of a turn.
pub fn build_body(compared: &Compared, width: usize, mode: CaseMode) -> Body {
    let has_turn = compared.expected.is_some() || compared.actual.is_some();
    match mode {
        _ if compared.problem.is_some() && !has_turn => compare(compared, width),
        CaseMode::Compare => compare(compared, width),
        CaseMode::Timeline => timeline(compared.actual.as_ref(), width),
        CaseMode::Judged => judged_lines(compared.attempt.as_deref(), &compared.people, width),
    }
}

fn compare(compared: &Compared, width: usize) -> Body {
    let (expected, actual) = (compared.expected.as_ref(), compared.actual.as_ref());
    let side_by_side = width >= SIDE_BY_SIDE_FROM;
    let mut builder = Builder { lines: Vec::new(), width, side_by_side, pieces: Vec::new() };
    if let Some(problem) = &compared.problem {
        builder.lines.push(BodyLine::Rule("this case cannot be read".into()));
        builder.wide(&[words(problem, Tone::Note)]);
        if expected.or(actual).is_none() {
            return Body { lines: builder.lines, side_by_side, pieces: builder.pieces };
        }
    }
    if let Some(turn) = expected.or(actual) {
        builder.user(&turn.user.shown_text());
        builder.shorten(USER_LINES, actual.is_some());
    }
    builder.calls(expected, actual);
    builder.response(expected, actual);
    builder.notes_on(actual);
    if let Some((expected, actual)) = &compared.states {
        builder.states(expected.as_ref(), actual.as_ref());
    }
    Body { lines: builder.lines, side_by_side, pieces: builder.pieces }
}

/// Rows of a case that has not run: nothing is missing yet.
fn one_sided(rows: Vec<Row>) -> Vec<Row> {
    calm(rows).into_iter().map(|row| Row { right: None, ..row }).collect()
}

/// Rows that are not compared: nothing in them is missing, extra or other.
fn calm(rows: Vec<Row>) -> Vec<Row> {
    let plain = |line: Line| line.into_iter().map(|span| Span { changed: false, ..span }).collect();
    let row = |row: Row| Row { mark: "", left: row.left.map(plain), right: row.right.map(plain), ..row };
    rows.into_iter().map(row).collect()
}

struct Builder {
    lines: Vec<BodyLine>,
    width: usize,
    side_by_side: bool,
    pieces: Vec<(Piece, usize)>,
}

/// The response as a person sees it, parts that are no text among them.
fn shown_response(turn: &Invocation) -> String {
    turn.final_response.as_ref().map(Content::shown_text).unwrap_or_default()
}

fn words(text: &str, tone: Tone) -> Span {
    Span { text: clean_line(text).into_owned(), tone, changed: false }
}

impl Builder {
    fn wide(&mut self, line: &[Span]) {
        self.lines.extend(wrap_line(line, self.width.saturating_sub(2)).into_iter().map(BodyLine::Wide));
    }

    fn note(&mut self, text: &str) {
        self.wide(&[words(text, Tone::Faint)]);
    }

    fn user(&mut self, text: &str) {
        for (at, line) in text.lines().enumerate() {
            let head = if at == 0 { "user  " } else { "      " };
            self.wide(&[words(head, Tone::Faint), words(line, Tone::Plain)]);
        }
    }

    /// Cuts what stands there so far to so many lines, and says so.
    fn shorten(&mut self, most: usize, has_run: bool) {
        let more = self.lines.len().saturating_sub(most);
        if more > 0 {
            self.lines.truncate(most);
            let all = match has_run {
                true => format!("; {} shows them all", TIMELINE.key()),
                false => String::new(),
            };
            self.note(&format!("… and {more} more lines{all}"));
        }
    }

    /// The calls of both sides, lined up.
    fn calls(&mut self, expected: Option<&Invocation>, actual: Option<&Invocation>) {
        let calls = |turn: Option<&Invocation>| {
            turn.map(|turn| turn.calls().into_iter().cloned().collect::<Vec<_>>()).unwrap_or_default()
        };
        let (left, right) = (calls(expected), calls(actual));
        let (left, right): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
        self.lines.push(BodyLine::Rule("tool calls".into()));
        let alignment = align(&left, &right);
        match actual {
            None if left.is_empty() => self.note("no calls are expected"),
            None => drop(self.rows(&one_sided(call_rows(&alignment, &left, &right)))),
            Some(_) if alignment.pairs.is_empty() => self.note("no calls, none expected"),
            Some(_) if expected.is_none() => drop(self.rows(&calm(call_rows(&alignment, &left, &right)))),
            Some(_) => {
                let rows = call_rows(&alignment, &left, &right);
                let heading = self.lines.len() - 1;
                let starts = self.rows(&rows);
                let found = call_pieces(&alignment, &rows, &left, &right);
                if found.len() > 1 {
                    self.pieces.push((Piece::Calls, heading));
                }
                self.pieces.extend(found.into_iter().map(|(piece, row)| (piece, starts[row])));
            }
        }
        if alignment.coarse {
            self.note("so many calls that they were paired in order only");
        }
        if expected.is_some_and(|turn| turn.trajectory == Trajectory::Unknown) {
            self.note("the file does not say which calls are expected; ADK takes that for none");
        }
        if expected.is_none() && actual.is_some() {
            self.note(
                "nothing is expected of this turn: a simulated user spoke, or the file has no such turn",
            );
        }
    }

    /// The responses, word by word.
    fn response(&mut self, expected: Option<&Invocation>, actual: Option<&Invocation>) {
        self.lines.push(BodyLine::Rule("response".into()));
        let text = |turn: Option<&Invocation>| turn.map(shown_response).unwrap_or_default();
        let diff = diff_words(&text(expected), &text(actual));
        match actual {
            None => drop(self.rows(&one_sided(text_rows(&diff_words(&text(expected), &text(expected)))))),
            Some(_) if expected.is_none() => drop(self.rows(&calm(text_rows(&diff)))),
            Some(_) => {
                let starts = self.rows(&text_rows(&diff));
                if text(expected) != text(actual) {
                    self.pieces.push((Piece::Response, starts.first().copied().unwrap_or(0)));
                }
            }
        }
        if diff.coarse {
            self.note("so long that whole lines were compared instead of words");
        }
    }

    /// Gutter of two, a column for each side, a line between them. Says on which line each row begins.
    fn rows(&mut self, rows: &[Row]) -> Vec<usize> {
        match self.side_by_side {
            true => self.pairs(rows),
            false => self.stacked(rows),
        }
    }

    fn pairs(&mut self, rows: &[Row]) -> Vec<usize> {
        let (left, right) = columns(self.width);
        let first = self.lines.len();
        let wrapped = wrap_rows(rows, left, right);
        let begins = wrapped.iter().enumerate().filter(|(_, visual)| !visual.continued);
        let starts = begins.map(|(at, _)| first + at).collect();
        self.lines.extend(wrapped.into_iter().map(|visual| BodyLine::Pair {
            mark: if visual.continued { "" } else { rows[visual.row].mark },
            left: visual.left,
            right: visual.right,
        }));
        starts
    }

    fn stacked(&mut self, rows: &[Row]) -> Vec<usize> {
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
                let sign = if changed(line) || !first.is_empty() { sign } else { &"" };
                let mark = if first.is_empty() { sign } else { first };
                for (at, piece) in wrap_line(line, width).into_iter().enumerate() {
                    let mark = if at == 0 { mark } else { "" };
                    self.lines.push(BodyLine::Pair { mark, left: piece, right: Vec::new() });
                }
                first = "";
            }
        }
        starts
    }

    /// The session's state as a person compares arguments: key by key.
    fn states(&mut self, expected: Option<&Value>, actual: Option<&Value>) {
        let side = |state: &Value| ToolCall::new("state", state.as_object().cloned());
        let (expected, actual) = (expected.map(side), actual.map(side));
        self.lines.push(BodyLine::Rule("session state".into()));
        let (left, right): (Vec<_>, Vec<_>) = (expected.iter().collect(), actual.iter().collect());
        let rows = call_rows(&align(&left, &right), &left, &right);
        match right.is_empty() {
            true => {
                self.rows(&one_sided(rows));
                self.note("the agent did not tell its session's state");
            }
            false => drop(self.rows(&rows)),
        }
    }

    /// What the model said of its own trouble.
    fn notes_on(&mut self, actual: Option<&Invocation>) {
        let Some(Trajectory::Events(events)) = actual.map(|turn| &turn.trajectory) else { return };
        for error in events.iter().filter_map(|event| event.error.as_ref()) {
            self.wide(&[words("the model reported  ", Tone::Faint), words(error, Tone::Note)]);
        }
    }
}

/// The widths of the two columns.
pub(crate) fn columns(width: usize) -> (usize, usize) {
    let room = width.saturating_sub(2 + 3);
    (room / 2, room - room / 2)
}

fn timeline(actual: Option<&Invocation>, width: usize) -> Body {
    let mut builder = Builder { lines: Vec::new(), width, side_by_side: false, pieces: Vec::new() };
    let Some(turn) = actual else {
        builder.note("this turn was not reached");
        return Body { lines: builder.lines, ..Body::default() };
    };
    builder.user(&turn.user.shown_text());
    builder.lines.push(BodyLine::Rule("events".into()));
    if let Trajectory::Events(events) = &turn.trajectory {
        for event in events {
            let at = event.at.map_or("      ".into(), |at| format!("{at:>5.2}s"));
            let head = [words(&at, Tone::Faint), words(" ", Tone::Plain), words(&event.author, Tone::Key)];
            let content = event.content.as_ref().or(turn.final_response.as_ref());
            for part in content.into_iter().flat_map(|content| &content.parts) {
                let mut line = head.to_vec();
                line.extend(part_words(part));
                builder.wide(&line);
            }
            if let Some(error) = &event.error {
                let mut line = head.to_vec();
                line.push(words(&format!("  error {error}"), Tone::Note));
                builder.wide(&line);
            }
        }
        if events.is_empty() {
            builder.note("the agent sent no events worth keeping");
        }
    } else {
        builder.note("calls are known, events are not");
    }
    Body { lines: builder.lines, ..Body::default() }
}

fn part_words(part: &crate::domain::Part) -> Vec<Span> {
    if let Some(call) = &part.call {
        let args = call.args.clone().map(Value::Object);
        let args = args.map(|args| value_text(&args)).unwrap_or_default();
        return vec![
            words("  calls ", Tone::Faint),
            words(&call.name, Tone::Tool),
            words(" ", Tone::Plain),
            words(&args, Tone::Value),
        ];
    }
    if let Some(response) = &part.response {
        return vec![
            words("  ← ", Tone::Faint),
            words(&response.name, Tone::Tool),
            words(" ", Tone::Plain),
            words(&value_text(&response.response), Tone::Value),
        ];
    }
    let text = part.text.clone().filter(|text| !text.is_empty()).or_else(|| part.label()).unwrap_or_default();
    let says = if part.thought { "  thinks " } else { "  says " };
    vec![words(says, Tone::Faint), words(&text, Tone::Plain)]
}
