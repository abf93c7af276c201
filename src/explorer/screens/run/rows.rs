//! What the rows of attempts have in common: their position in a pane, and their names.

use crate::explorer::shared::run_screen::RunScreenState;
use crate::explorer::shared::theme::Theme;
use crate::explorer::widgets::text::fit;
use evaltrail_core::domain::{AttemptKey, RunState};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// Width of the time, in columns.
pub(super) const TIME: u16 = 7;

/// The name of the case, cut to a width in columns so that the number of a repeated attempt is always behind it.
pub(super) fn attempt_name(run: &RunState, key: AttemptKey, width: u16) -> String {
    let number = match run.plan.options.repeat {
        0 | 1 => String::new(),
        _ => format!(" #{}", key.attempt),
    };
    let room = usize::from(width).saturating_sub(number.width());
    format!("{}{number}", fit(&run.plan.case_name(key.case), room))
}

/// The visible rows of a pane. They follow the cursor if the pane has the focus.
pub(super) struct PaneRows {
    /// The inner area of the pane.
    area: Rect,
    /// The index of the first visible row.
    pub(super) first: usize,
    /// The index of the row under the cursor; `None` if the pane does not have the focus.
    cursor: Option<usize>,
}

impl PaneRows {
    pub(super) fn new(screen: &RunScreenState, area: Rect, focused: bool) -> PaneRows {
        let cursor = focused.then_some(screen.cursor);
        let last = usize::from(area.height).saturating_sub(1);
        PaneRows {
            area,
            first: cursor.map_or(0, |cursor| cursor.saturating_sub(last)),
            cursor,
        }
    }

    /// How many rows fit in the pane.
    pub(super) fn count(&self) -> usize {
        usize::from(self.area.height)
    }

    /// Draws the background of the visible row `at`. Returns its area and its style.
    pub(super) fn background(
        &self,
        at: usize,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> (Rect, Style) {
        let row = Rect {
            y: self.area.y + (at - self.first) as u16,
            height: 1,
            ..self.area
        };
        let style = theme.row(self.cursor == Some(at));
        buffer.set_style(row, style);
        (row, style)
    }
}
