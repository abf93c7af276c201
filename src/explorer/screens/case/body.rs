//! The lines of a case: expected and actual side by side, the events in order, or the judges' responses. They are
//! built once for an attempt and a size; drawing uses only the visible ones. The modules that build lines (`compare`,
//! `timeline`, `judged`) use the types of this module, and [`build_body`] calls them.

use crate::diff::{Line, Piece};
use crate::domain::{Attempt, Content, HumanVerdict, Invocation, MetricResult, Status, ToolUse};
use crate::explorer::screens::case::compare::compare;
use crate::explorer::screens::case::judged::judged_lines;
use crate::explorer::screens::case::state::CaseMode;
use crate::explorer::screens::case::timeline::timeline;
use crate::explorer::ticket::Ticket;
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

/// Width in columns from which expected and actual are shown side by side. On narrower screens they are stacked.
const SIDE_BY_SIDE_FROM: usize = 84;

/// Key of the built lines. Lines with the same key are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyKey {
    /// Index of the set, index of the case, id of the run, number of the attempt.
    pub of: (usize, usize, String, u32),
    /// If the attempt is of a single turn: the turn, from 0, and when the attempt started.
    pub alone: Option<(usize, String)>,
    /// Ticket of the loaded file.
    pub read: Ticket,
    /// What is shown, and its size.
    pub view: BodyView,
    /// [`crate::explorer::Model::verdicts_version`] when the lines were built.
    pub verdicts: u64,
}

/// Which lines of a case are shown, and their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyView {
    /// Width of the main pane, in columns.
    pub width: usize,
    /// Width of the side pane in columns; `None` if there is none.
    pub beside: Option<usize>,
    /// The current tab. If there is a side pane, it shows the tab (the metrics for the comparison tab), and the main
    /// pane always shows the comparison.
    pub mode: CaseMode,
    /// Whether identical parts are hidden.
    pub differences_only: bool,
}

impl BodyView {
    /// A comparison of the whole case, `width` columns wide.
    pub fn comparison(width: usize) -> BodyView {
        BodyView { width, beside: None, mode: CaseMode::Compare, differences_only: false }
    }

    /// Whether the main pane shows the comparison.
    pub fn compares(&self) -> bool {
        self.beside.is_some() || self.mode == CaseMode::Compare
    }
}

/// The lines of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Lines of the main pane.
    pub lines: Vec<BodyLine>,
    /// Whether expected and actual are side by side.
    pub side_by_side: bool,
    /// The turns, in order.
    pub turns: Vec<TurnLines>,
    /// The differences, in order.
    pub pieces: Vec<PieceLine>,
    /// Lines of the side pane.
    pub beside: Vec<BodyLine>,
}

/// Position of a turn in the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLines {
    /// The turn, from 0.
    pub turn: usize,
    /// Index of its first line.
    pub line: usize,
    /// The worst status among its deciding metrics; `None` if there is none.
    pub status: Option<Status>,
}

/// Position of a difference in the lines.
#[derive(Clone, Debug, PartialEq)]
pub struct PieceLine {
    /// What differs.
    pub piece: Piece,
    /// The turn, from 0.
    pub turn: usize,
    /// Index of its first line.
    pub line: usize,
}

/// A line of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyLine {
    /// The heading of a turn, with its status.
    Turn(String, Option<Status>),
    /// A horizontal rule with a heading.
    Rule(String),
    /// A line over the whole width.
    Wide(Line),
    /// A line of both sides or, if they are stacked, of one side.
    Pair {
        /// Symbol in the gutter.
        mark: &'static str,
        /// The expected side; if stacked, the text of the line.
        left: Line,
        /// The actual side; if stacked, empty.
        right: Line,
    },
}

impl Body {
    /// Whether each turn has lines of its own. False for the judges and metrics tabs, which cover all turns at once.
    pub fn has_turn_lines(&self) -> bool {
        self.turns.len() == 1 || self.turns.last().is_some_and(|turn| turn.line > 0)
    }

    /// Position in [`Body::turns`] of the turn that a line belongs to.
    pub fn turn_at(&self, line: usize) -> usize {
        self.turns.partition_point(|turn| turn.line <= line).saturating_sub(1)
    }

    /// The range of lines of a turn; all lines if the turn is unknown.
    pub fn lines_of(&self, turn: usize) -> Range<usize> {
        match self.turns.iter().position(|one| one.turn == turn) {
            Some(at) => {
                self.turns[at].line..self.turns.get(at + 1).map_or(self.lines.len(), |next| next.line)
            }
            None => 0..self.lines.len(),
        }
    }
}

/// A turn of a case with its expected and actual side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedTurn {
    /// The turn, from 0.
    pub turn: usize,
    /// The expected turn.
    pub expected: Option<Invocation>,
    /// The actual turn.
    pub actual: Option<Invocation>,
    /// The worst status among its deciding metrics.
    pub status: Option<Status>,
}

/// The data that lines are built from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// The turns, in order.
    pub turns: Vec<ComparedTurn>,
    /// Whether the case was run. If true, turns without an actual side were not reached.
    pub has_run: bool,
    /// Expected and actual session state, shown after the last turn.
    pub states: Option<(Option<Value>, Option<Value>)>,
    /// How the calls of tools were answered, shown before the first turn.
    pub tools: Option<ToolUse>,
    /// The attempt, for the judges tab.
    pub attempt: Option<Arc<Attempt>>,
    /// Verdicts given by people on the attempt.
    pub people: Vec<HumanVerdict>,
    /// Why the case cannot be read, if it cannot.
    pub problem: Option<String>,
}

/// The status of the turn at position `at` of an attempt: the worst among its deciding metrics.
pub(crate) fn turn_status(metrics: &[MetricResult], at: usize) -> Option<Status> {
    let deciding = metrics.iter().filter(|metric| metric.threshold.is_some());
    Status::worst(deciding.filter_map(|metric| metric.per_invocation.get(at)).map(|turn| turn.status))
}

/// Whether building the lines takes noticeable time and should be done in the background.
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

/// Whether searching for the smallest relaxation takes noticeable time. The search rescores calls a few dozen times.
pub(crate) fn is_slow_to_relax(compared: &Compared) -> bool {
    const LARGE: usize = 32 << 10;
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

/// The response as displayed, with labels for parts that are not text.
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
        // The metrics tab is drawn from the summary of the attempt.
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
