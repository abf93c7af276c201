//! The lines of a case: expected and actual side by side, the events as they happened, or what judges said. Built once
//! for an attempt and a size; drawing takes the lines that are in sight. The files that build lines (compare, timeline,
//! judged) import the types of this one, and `build_body` calls them.

use crate::diff::{Line, Piece};
use crate::domain::{Attempt, Content, HumanVerdict, Invocation, MetricResult, Status};
use crate::explorer::screens::case::compare::compare;
use crate::explorer::screens::case::judged::judged_lines;
use crate::explorer::screens::case::state::CaseMode;
use crate::explorer::screens::case::timeline::timeline;
use crate::explorer::ticket::Ticket;
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

/// Narrower than this, expected and actual stand under each other.
const SIDE_BY_SIDE_FROM: usize = 84;

/// What lines are of: the same key, the same lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyKey {
    /// The case, the run and the attempt.
    pub of: (usize, usize, String, u32),
    /// The attempt of one turn alone, where that is shown: the turn, from 0, and when it started.
    pub alone: Option<(usize, String)>,
    /// The reading of the file.
    pub read: Ticket,
    /// What is shown, and how large.
    pub view: BodyView,
    /// What people said, as it is then.
    pub verdicts: u64,
}

/// What of a case is shown, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyView {
    /// The columns to fill.
    pub width: usize,
    /// The columns of the pane beside, on a wide screen.
    pub beside: Option<usize>,
    /// The tab; on a wide screen the comparison is always shown, and the other tabs stand beside it.
    pub mode: CaseMode,
    /// Whether what is identical on both sides is hidden.
    pub differences_only: bool,
}

impl BodyView {
    /// A comparison of everything, so many columns wide.
    pub fn comparison(width: usize) -> BodyView {
        BodyView { width, beside: None, mode: CaseMode::Compare, differences_only: false }
    }

    /// Whether the main lines are the comparison.
    pub fn compares(&self) -> bool {
        self.beside.is_some() || self.mode == CaseMode::Compare
    }
}

/// The lines of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// In order.
    pub lines: Vec<BodyLine>,
    /// Whether pairs stand side by side.
    pub side_by_side: bool,
    /// The turns, in order.
    pub turns: Vec<TurnLines>,
    /// The pieces in which the sides differ, in order.
    pub pieces: Vec<PieceLine>,
    /// The lines of the pane beside the comparison.
    pub beside: Vec<BodyLine>,
}

/// Where a turn begins among the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLines {
    /// The turn, from 0.
    pub turn: usize,
    /// Its first line.
    pub line: usize,
    /// The worst status that a deciding metric gives it; nothing where none does.
    pub status: Option<Status>,
}

/// Where a piece is among the lines.
#[derive(Clone, Debug, PartialEq)]
pub struct PieceLine {
    /// What differs.
    pub piece: Piece,
    /// In which turn, from 0.
    pub turn: usize,
    /// Its first line.
    pub line: usize,
}

/// A line of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyLine {
    /// The heading of a turn, with its status.
    Turn(String, Option<Status>),
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

impl Body {
    /// Whether the turns have lines of their own: those of judges and metrics are of all turns at once.
    pub fn has_turn_lines(&self) -> bool {
        self.turns.len() == 1 || self.turns.last().is_some_and(|turn| turn.line > 0)
    }

    /// The position among [`Body::turns`] of the turn that a line belongs to.
    pub fn turn_at(&self, line: usize) -> usize {
        self.turns.partition_point(|turn| turn.line <= line).saturating_sub(1)
    }

    /// The lines of a turn; all lines where it is not among them.
    pub fn lines_of(&self, turn: usize) -> Range<usize> {
        match self.turns.iter().position(|one| one.turn == turn) {
            Some(at) => {
                self.turns[at].line..self.turns.get(at + 1).map_or(self.lines.len(), |next| next.line)
            }
            None => 0..self.lines.len(),
        }
    }
}

/// A turn of a case, on both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedTurn {
    /// The turn, from 0.
    pub turn: usize,
    /// The turn as it should be.
    pub expected: Option<Invocation>,
    /// The turn as it was.
    pub actual: Option<Invocation>,
    /// The worst status that a deciding metric gives it.
    pub status: Option<Status>,
}

/// What lines are built from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// In order.
    pub turns: Vec<ComparedTurn>,
    /// Whether the case was run: what is missing on the actual side was not reached.
    pub has_run: bool,
    /// The session's state as it should be and as it was, to be shown under the last turn.
    pub states: Option<(Option<Value>, Option<Value>)>,
    /// The attempt, for what judges said of it.
    pub attempt: Option<Arc<Attempt>>,
    /// What people said of it.
    pub people: Vec<HumanVerdict>,
    /// Why the case cannot be read.
    pub problem: Option<String>,
}

/// The status of a turn, at this position among the turns of an attempt: the worst of its deciding metrics.
pub(crate) fn turn_status(metrics: &[MetricResult], at: usize) -> Option<Status> {
    let deciding = metrics.iter().filter(|metric| metric.threshold.is_some());
    Status::worst(deciding.filter_map(|metric| metric.per_invocation.get(at)).map(|turn| turn.status))
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
    let turns = compared.turns.iter().flat_map(|turn| [&turn.expected, &turn.actual]).flatten();
    let states = compared.states.iter().flat_map(|(expected, actual)| [expected, actual]).flatten();
    let judged = compared.attempt.iter().flat_map(|attempt| &attempt.metrics);
    let judged = judged.filter_map(|metric| metric.judgement.as_ref()).flat_map(|one| &one.questions);
    let replies = judged.flat_map(|asked| &asked.samples).filter_map(|sample| sample.reply.as_ref());
    let weights = turns.map(weight).sum::<usize>() + states.map(deep).sum::<usize>();
    weights + replies.map(String::len).sum::<usize>() > LARGE
}

/// Whether looking for the smallest relaxation could be felt. It rescores calls and responses a dozen times.
pub(crate) fn is_slow_to_relax(compared: &Compared) -> bool {
    const LARGE: usize = 96 << 10;
    let weight = |turn: &Invocation| {
        let args: usize = turn.calls().iter().map(|call| deep_len(call.args.as_ref())).sum();
        shown_response(turn).len() + args
    };
    let turns = compared.turns.iter().flat_map(|turn| [&turn.expected, &turn.actual]).flatten();
    turns.map(weight).sum::<usize>() > LARGE
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

/// The response as a person sees it, parts that are no text among them.
pub(crate) fn shown_response(turn: &Invocation) -> String {
    turn.final_response.as_ref().map(Content::shown_text).unwrap_or_default()
}

/// Builds the lines of a case.
pub fn build_body(compared: &Compared, view: BodyView) -> Body {
    let other = |width: usize| match view.mode {
        CaseMode::Timeline => timeline(&compared.turns, width),
        CaseMode::Judged => {
            let lines = judged_lines(compared.attempt.as_deref(), &compared.people, width);
            Body { lines, ..Body::default() }
        }
        // The metrics are drawn from the summary of the attempt.
        CaseMode::Compare | CaseMode::Metrics => Body::default(),
    };
    if view.compares() || (compared.problem.is_some() && compared.turns.is_empty()) {
        let side_by_side = view.width >= SIDE_BY_SIDE_FROM;
        let beside = view.beside.map(other).unwrap_or_default().lines;
        return Body { beside, ..compare(compared, view, side_by_side) };
    }
    let body = other(view.width);
    let starts =
        compared.turns.iter().map(|turn| TurnLines { turn: turn.turn, line: 0, status: turn.status });
    Body { turns: if body.turns.is_empty() { starts.collect() } else { body.turns }, ..body }
}
