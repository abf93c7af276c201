//! Movements of a cursor or of scrolled text.

/// A movement of a cursor or of scrolled text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Motion {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

impl Motion {
    /// Position of a cursor after the motion, in a list of `count` rows of which `page` are visible.
    pub fn target(self, cursor: usize, count: usize, page: usize) -> usize {
        let last = count.saturating_sub(1);
        let page = page.max(1);
        match self {
            Motion::Up => cursor.saturating_sub(1),
            Motion::Down => (cursor + 1).min(last),
            Motion::PageUp => cursor.saturating_sub(page),
            Motion::PageDown => (cursor + page).min(last),
            Motion::Top => 0,
            Motion::Bottom => last,
        }
    }
}
