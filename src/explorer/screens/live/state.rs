//! What the screen of an attempt in flight knows.

use crate::domain::AttemptKey;

/// An attempt in flight on the screen. Its transcript is in the state of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveScreen {
    /// Which attempt.
    pub key: AttemptKey,
    /// The first line shown; none: the newest lines are shown as they come.
    pub first: Option<usize>,
}
