//! What the case screen knows.

use super::body::{Body, BodyKey, PieceLine};
use crate::explorer::case_ref::CaseRef;
use crate::metrics::WhatIf;
use std::sync::Arc;

/// How a case is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseMode {
    /// Expected and actual side by side.
    Compare,
    /// The events as they happened.
    Timeline,
    /// What the judges said.
    Judged,
    /// Every metric with its reason in full.
    Metrics,
}

impl CaseScreen {
    /// The current difference.
    pub fn current_piece(&self) -> Option<&PieceLine> {
        self.body.as_ref()?.pieces.get(self.piece?)
    }
}

impl CaseMode {
    /// The tabs in order, each with its name.
    pub const TABS: [(CaseMode, &'static str); 4] = [
        (CaseMode::Compare, "diff"),
        (CaseMode::Timeline, "timeline"),
        (CaseMode::Judged, "judges"),
        (CaseMode::Metrics, "metrics"),
    ];
}

/// One case on the screen.
#[derive(Debug)]
pub struct CaseScreen {
    /// Which case.
    pub at: CaseRef,
    /// Which of its attempts, from 0.
    pub attempt: usize,
    /// The turn that commands are about, from 0: the one that was chosen, or the first one in sight.
    pub turn: usize,
    /// How many turns the file expects.
    pub turns: usize,
    /// How it is shown.
    pub mode: CaseMode,
    /// Whether what is identical on both sides is hidden.
    pub differences_only: bool,
    /// The first line shown.
    pub scroll: usize,
    /// The first line shown of the pane beside the comparison, or of the metrics on a tab of their own.
    pub beside_scroll: usize,
    /// Whether the lines are to be scrolled to the turn when they are there.
    pub seeks_turn: bool,
    /// The current difference: its position among [`Body::pieces`]; none in a turn without differences.
    pub piece: Option<usize>,
    /// The lines.
    pub body: Option<Arc<Body>>,
    /// What the lines are of.
    pub key: Option<BodyKey>,
    /// The smallest change of criteria with which the attempt would pass.
    pub suggestion: Option<WhatIf>,
    /// Whether going back leads to the run screen rather than to the list.
    pub from_run: bool,
}
