//! What the case screen knows.

use super::body::{Body, BodyKey};
use crate::explorer::model::CaseRef;
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
}

/// One case on the screen.
#[derive(Debug)]
pub struct CaseScreen {
    /// Which case.
    pub at: CaseRef,
    /// Which of its attempts, from 0.
    pub attempt: usize,
    /// Which turn, from 0.
    pub turn: usize,
    /// How many turns the file expects.
    pub turns: usize,
    /// How it is shown.
    pub mode: CaseMode,
    /// The first line shown.
    pub scroll: usize,
    /// The current difference: its position among [`Body::pieces`].
    pub piece: usize,
    /// The lines.
    pub body: Option<Arc<Body>>,
    /// What the lines are of.
    pub key: Option<BodyKey>,
    /// The smallest change of criteria with which the attempt would pass.
    pub suggestion: Option<WhatIf>,
    /// Whether going back leads to the run screen rather than to the list.
    pub from_run: bool,
}
