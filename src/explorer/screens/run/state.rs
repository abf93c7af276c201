//! What the run screen knows.

/// The cursor of the run screen.
#[derive(Debug, Default)]
pub struct RunScreen {
    /// When the run began, in seconds on the explorer's clock.
    pub began: f64,
    /// An attempt in flight, or a finished one: its row.
    pub cursor: usize,
    /// Whether the cursor is among the finished attempts.
    pub in_finished: bool,
}
