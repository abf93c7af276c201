//! State of the screen of an attempt in flight.

use crate::domain::AttemptKey;

/// State of the screen of an attempt in flight. The transcript is part of [`crate::domain::RunState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveScreen {
    /// The attempt.
    pub key: AttemptKey,
    /// First visible line. `None`: scrolls to the newest lines as they arrive.
    pub first: Option<usize>,
}
