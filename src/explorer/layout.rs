//! Where things are on the screen: one answer for drawing, for page sizes and for the mouse.

use crate::explorer::model::{Model, Pane, Screen};
use crate::explorer::screens::case::verdict::verdict_lines;
use ratatui::layout::Rect;

/// Below this the screen only says that it is too small.
pub const SMALLEST: (u16, u16) = (40, 12);
const TREE_WIDTH: u16 = 30;
/// Narrower than this, sets and cases take turns.
const BOTH_FROM: u16 = 90;

/// The parts of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Layout {
    /// The line at the top.
    pub header: Rect,
    /// The change on trial, below the header; empty when there is none.
    pub banner: Rect,
    /// Everything between.
    pub body: Rect,
    /// The line at the bottom.
    pub footer: Rect,
    /// The tree of sets, or the attempts in flight.
    pub left: Rect,
    /// The list of cases, the lines of a case, or the finished attempts.
    pub main: Rect,
    /// The metrics of a case, or the progress of a run.
    pub panel: Rect,
}

/// Whether there is room to draw.
pub fn is_too_small(size: (u16, u16)) -> bool {
    size.0 < SMALLEST.0 || size.1 < SMALLEST.1
}

/// The parts of the screen of a model.
pub fn layout(model: &Model) -> Layout {
    let (width, height) = model.size;
    if is_too_small(model.size) {
        return Layout::default();
    }
    let header = Rect::new(0, 0, width, 1);
    let footer = Rect::new(0, height - 1, width, 1);
    let on_trial = u16::from(model.trial.is_some());
    let banner = Rect::new(0, 1, width, on_trial);
    let body = Rect::new(0, 1 + on_trial, width, height - 2 - on_trial);
    let base = Layout { header, banner, body, footer, main: body, ..Layout::default() };
    match &model.screen {
        Screen::Browse => browse(base, model.browse.pane),
        Screen::Case(_) => case(base, model),
        Screen::Run => run(base, model.run_finished_pane),
        Screen::Edit(_) | Screen::Chat(_) => {
            Layout { main: Rect { height: base.body.height - 2, ..base.body }, ..base }
        }
    }
}

fn browse(base: Layout, pane: Pane) -> Layout {
    let body = base.body;
    if body.width >= BOTH_FROM {
        let left = Rect { width: TREE_WIDTH, ..body };
        let main = Rect { x: body.x + TREE_WIDTH, width: body.width - TREE_WIDTH, ..body };
        return Layout { left, main, ..base };
    }
    match pane {
        Pane::Sets => Layout { left: body, main: Rect::default(), ..base },
        Pane::Cases => Layout { left: Rect::default(), main: body, ..base },
    }
}

fn case(base: Layout, model: &Model) -> Layout {
    let body = base.body;
    let wanted = verdict_lines(model, usize::from(body.width)).len() as u16;
    let most = body.height.saturating_sub(7).min(body.height * 2 / 5);
    let height = wanted.min(most);
    let main = Rect { height: body.height - height, ..body };
    let panel = Rect { y: body.y + main.height, height, ..body };
    Layout { main, panel, ..base }
}

fn run(base: Layout, finished: bool) -> Layout {
    let body = base.body;
    let panel = Rect { height: 3, ..body };
    let rest = Rect { y: body.y + 3, height: body.height - 3, ..body };
    if body.width >= BOTH_FROM {
        let width = body.width / 2;
        let left = Rect { width, ..rest };
        let main = Rect { x: rest.x + width, width: rest.width - width, ..rest };
        return Layout { panel, left, main, ..base };
    }
    match finished {
        false => Layout { panel, left: rest, main: Rect::default(), ..base },
        true => Layout { panel, left: Rect::default(), main: rest, ..base },
    }
}

/// How many lines of a proposal fit: all of the screen but its frame and what can be done.
pub fn proposal_rows(size: (u16, u16)) -> u16 {
    size.1.saturating_sub(6)
}

/// What is inside a border.
pub fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x.saturating_add(1),
        y: area.y.saturating_add(1),
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    }
}

/// The rows of the case list: inside the border, below the column heads.
pub fn case_rows(layout: &Layout) -> Rect {
    let inner = inside(layout.main);
    Rect { y: inner.y.saturating_add(1), height: inner.height.saturating_sub(1), ..inner }
}
