//! State of the case screen.

use crate::explorer::shared::case_lines::{BodyKey, CaseLines, CaseTab, PieceLine};
use crate::explorer::shared::case_ref::CaseRef;
use evaltrail_core::metrics::WhatIf;
use std::sync::Arc;

/// Where a case was opened from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseOrigin {
    /// The list.
    List,
    /// The run screen.
    Run,
    /// The triage queue.
    Queue,
}

impl CaseScreen {
    /// The current difference.
    pub fn current_piece(&self) -> Option<&PieceLine> {
        self.body.as_ref()?.pieces.get(self.piece?)
    }

    /// Makes a difference the current one, at its first stretch.
    pub fn choose_piece(&mut self, piece: Option<usize>) {
        self.piece = piece;
        self.stretch = 0;
    }

    /// The line of the current stretch of the current difference.
    pub fn current_line(&self) -> Option<usize> {
        let stops = self.body.as_ref()?.stops(self.piece?);
        stops.get(self.stretch).or(stops.first()).copied()
    }
}

/// State of the case screen, or of the preview on the home screen.
#[derive(Debug)]
pub struct CaseScreen {
    /// Which case.
    pub at: CaseRef,
    /// Position of the attempt in its outcome, from 0.
    pub attempt: usize,
    /// The current turn, from 0: the chosen one, or the first visible one after scrolling.
    pub turn: usize,
    /// Number of turns in the file.
    pub turns: usize,
    /// The current tab.
    pub mode: CaseTab,
    /// Whether identical parts are hidden.
    pub differences_only: bool,
    /// The level from which nested JSON values are folded, from 0; `None` if none is.
    pub folded_from: Option<usize>,
    /// First visible line.
    pub scroll: usize,
    /// First visible line of the side pane, or of the metrics tab.
    pub beside_scroll: usize,
    /// Whether to scroll to the current turn once the lines are built.
    pub seeks_turn: bool,
    /// The current difference, as a position in [`CaseLines::pieces`]. `None` in a turn without differences.
    pub piece: Option<usize>,
    /// The current stretch of that difference, as a position in [`CaseLines::stops`].
    pub stretch: usize,
    /// The built lines.
    pub body: Option<Arc<CaseLines>>,
    /// Key of the built lines.
    pub key: Option<BodyKey>,
    /// Whether they have to be rebuilt although their key is the same.
    pub is_stale: bool,
    /// The smallest change of criteria with which the attempt would pass, if one was found.
    pub suggestion: Option<WhatIf>,
    /// Where the case was opened from, and where going back leads.
    pub from: CaseOrigin,
}

/// The screen of one case in the triage queue.
#[derive(Debug)]
pub struct TriageScreen(pub CaseScreen);
