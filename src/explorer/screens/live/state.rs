//! What the screen of an attempt in flight knows.

use crate::domain::AttemptKey;

/// An attempt in flight on the screen. Its transcript is in the state of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveScreen {
    /// Which attempt.
    pub key: AttemptKey,
    /// So many lines are scrolled back from the newest.
    pub back: usize,
}
