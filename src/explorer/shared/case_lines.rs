//! The lines of a compared case, and what they are built from.

use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::diff::{AcceptablePart, Line};
use evaltrail_core::domain::{Attempt, Finding, HumanVerdict, Invocation, Status, ToolUse};
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

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
    /// The version of [`crate::explorer::shared::model::Model::verdicts`] when the lines were built.
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
    pub mode: CaseTab,
    /// Whether identical parts are hidden.
    pub differences_only: bool,
    /// The level from which nested JSON values are folded, from 0; `None` if none is.
    pub folded_from: Option<usize>,
}

impl BodyView {
    /// A comparison of the whole case, `width` columns wide.
    pub fn comparison(width: usize) -> BodyView {
        BodyView {
            width,
            beside: None,
            mode: CaseTab::Compare,
            differences_only: false,
            folded_from: None,
        }
    }

    /// Whether the main pane shows the comparison.
    pub fn compares(&self) -> bool {
        self.beside.is_some() || self.mode == CaseTab::Compare
    }
}

/// The lines of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseLines {
    /// Lines of the main pane.
    pub lines: Vec<BodyLine>,
    /// Whether expected and actual are side by side.
    pub side_by_side: bool,
    /// The turns, in order.
    pub turns: Vec<TurnLines>,
    /// The differences, in order.
    pub pieces: Vec<PieceLine>,
    /// The first line of each stretch of changed lines, in order. A long difference has several.
    pub stretches: Vec<usize>,
    /// Whether the comparison is shown, and accepting all that the agent did would change nothing.
    pub is_as_expected: bool,
    /// Number of levels of nested JSON values, folded or not.
    pub nested_levels: usize,
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
    pub piece: AcceptablePart,
    /// The turn, from 0.
    pub turn: usize,
    /// Index of its first line.
    pub line: usize,
    /// Whether it made a metric fail.
    pub is_reason: bool,
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

impl CaseLines {
    /// Whether each turn has lines of its own. False for the judges and metrics tabs, which cover all turns at once.
    pub fn has_turn_lines(&self) -> bool {
        self.turns.len() == 1 || self.turns.last().is_some_and(|turn| turn.line > 0)
    }

    /// Position in [`CaseLines::turns`] of the turn that a line belongs to.
    pub fn turn_at(&self, line: usize) -> usize {
        self.turns
            .partition_point(|turn| turn.line <= line)
            .saturating_sub(1)
    }

    /// The lines at which the cursor stops within the difference at a position of [`CaseLines::pieces`]: its first line, then
    /// the first line of each later stretch.
    pub fn stops(&self, piece: usize) -> Vec<usize> {
        let Some(own) = self.pieces.get(piece) else {
            return Vec::new();
        };
        let next = self.pieces.get(piece + 1).map(|next| next.line);
        let end = self.lines_of(own.turn).end;
        let inside = own.line + 1..next.unwrap_or(end).min(end);
        let stretches = self.stretches.iter().copied();
        std::iter::once(own.line)
            .chain(stretches.filter(|line| inside.contains(line)))
            .collect()
    }

    /// The position in [`CaseLines::pieces`] of the difference of a turn to begin with: the first one that made a metric
    /// fail; without one, the first one.
    pub fn first_piece(&self, turn: usize) -> Option<usize> {
        let is_reason = |piece: &PieceLine| piece.turn == turn && piece.is_reason;
        let reason = self.pieces.iter().position(is_reason);
        reason.or_else(|| self.pieces.iter().position(|piece| piece.turn == turn))
    }

    /// The range of lines of a turn; all lines if the turn is unknown.
    pub fn lines_of(&self, turn: usize) -> Range<usize> {
        match self.turns.iter().position(|one| one.turn == turn) {
            Some(at) => {
                self.turns[at].line
                    ..self
                        .turns
                        .get(at + 1)
                        .map_or(self.lines.len(), |next| next.line)
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
    /// What the failed metrics found in it.
    pub reasons: Vec<FailureReason>,
}

/// Why a metric of a case failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureReason {
    /// The metric's name, label included.
    pub metric: String,
    /// The finding.
    pub finding: Finding,
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

/// Tabs of the case screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseTab {
    /// Expected and actual side by side.
    Compare,
    /// The events in order.
    Timeline,
    /// The judges' verdicts and responses.
    Judged,
    /// Every metric with its full reason.
    Metrics,
}

impl CaseTab {
    /// The tabs in order, each with its name.
    pub const TABS: [(CaseTab, &'static str); 4] = [
        (CaseTab::Compare, "diff"),
        (CaseTab::Timeline, "timeline"),
        (CaseTab::Judged, "judges"),
        (CaseTab::Metrics, "metrics"),
    ];
}
