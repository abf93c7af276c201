//! Positions of the parts of the screen, shared by drawing, page sizes and mouse handling.

use ratatui::layout::{Constraint, Layout as Layouts, Rect};

/// Smallest size that is drawn, in columns and rows. On smaller terminals only a message is shown.
pub const SMALLEST: (u16, u16) = (40, 12);
/// Width in columns from which two panes are shown side by side. On narrower screens only one of them is visible.
pub(crate) const TWO_PANES_FROM: u16 = 90;
/// Height in rows from which the hints have a second line.
const TWO_HINT_LINES_FROM: u16 = 24;
/// Width in columns from which one line has room for the hints.
const ONE_HINT_LINE_FROM: u16 = 270;

/// The parts of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Layout {
    /// The line at the top.
    pub header: Rect,
    /// The active what-if, below the header; empty when there is none.
    pub banner: Rect,
    /// Everything between the header or banner and the notice or footer.
    pub body: Rect,
    /// The lines of a notice, above the hints; empty when there is none.
    pub notice: Rect,
    /// The line at the bottom, or two: the hints.
    pub footer: Rect,
    /// The tree of sets, or the attempts in flight.
    pub left: Rect,
    /// The list of cases, the lines of a case, or the finished attempts.
    pub main: Rect,
    /// The metrics of a case, or the progress of a run.
    pub panel: Rect,
    /// The preview of the case under the cursor of a list.
    pub preview: Rect,
}

/// Width in columns of the screen from which the preview of the case under the cursor is beside the list.
const PREVIEW_BESIDE_FROM: u16 = 210;
/// Height in rows from which the preview is below the list on narrower screens, so that reasons have the whole width.
const PREVIEW_BELOW_FROM: u16 = 27;

/// Divides the area of a list with `rows` rows on this screen: the list, and the preview of the case under its cursor, which is
/// empty if there is no room.
pub(crate) fn with_preview(body: Rect, area: Rect, rows: usize) -> [Rect; 2] {
    if body.width >= PREVIEW_BESIDE_FROM {
        Layouts::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(area)
    } else if area.height >= PREVIEW_BELOW_FROM {
        let list = Constraint::Length(list_height(rows, area.height));
        Layouts::vertical([list, Constraint::Fill(1)]).areas(area)
    } else {
        [area, Rect::default()]
    }
}

/// The height of a list above the preview: as its rows need it, between two and three fifths.
fn list_height(rows: usize, height: u16) -> u16 {
    const AROUND: usize = 3;
    let wanted = u16::try_from(rows + AROUND).unwrap_or(u16::MAX);
    let fifths = |count: u32| ((u32::from(height) * count + 2) / 5) as u16;
    wanted.clamp(fifths(2), fifths(3))
}

/// Whether there is room to draw.
pub fn is_too_small(size: (u16, u16)) -> bool {
    size.0 < SMALLEST.0 || size.1 < SMALLEST.1
}

/// The layout before a screen divides the body. `None` if the terminal is too small.
pub(crate) fn base(size: (u16, u16), has_banner: bool, notice_lines: u16) -> Option<Layout> {
    if is_too_small(size) {
        return None;
    }
    let (width, height) = size;
    let header = Rect::new(0, 0, width, 1);
    let hint_lines = match height >= TWO_HINT_LINES_FROM && width < ONE_HINT_LINE_FROM {
        true => 2,
        false => 1,
    };
    let footer = Rect::new(0, height - hint_lines, width, hint_lines);
    let banner = Rect::new(0, 1, width, u16::from(has_banner));
    let notice = Rect::new(0, footer.y - notice_lines, width, notice_lines);
    let body = Rect::new(0, 1 + banner.height, width, notice.y - 1 - banner.height);
    Some(Layout {
        header,
        banner,
        body,
        notice,
        footer,
        main: body,
        ..Layout::default()
    })
}

/// The area inside a border of one cell.
pub fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x.saturating_add(1),
        y: area.y.saturating_add(1),
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    }
}

/// The rows of the case list: inside the border, below the column headings.
pub fn case_rows(layout: &Layout) -> Rect {
    let inner = inside(layout.main);
    Rect {
        y: inner.y.saturating_add(1),
        height: inner.height.saturating_sub(1),
        ..inner
    }
}
