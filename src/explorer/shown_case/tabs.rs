//! The tabs in the lower border of the case screen.

use crate::explorer::shared::case_lines::CaseTab;
use crate::explorer::shared::command_names::{COMPARE_TAB, JUDGES, METRICS_TAB, TIMELINE};
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

/// Width in columns from which all tabs show their names. On narrower screens only the current one does.
const NAMED_TABS_FROM: u16 = 48;

/// The last key of the command that shows a tab. By default this is the number.
fn tab_key(tab: CaseTab) -> &'static str {
    let command = match tab {
        CaseTab::Compare => &COMPARE_TAB,
        CaseTab::Timeline => &TIMELINE,
        CaseTab::Judged => &JUDGES,
        CaseTab::Metrics => &METRICS_TAB,
    };
    command.keys().last().copied().unwrap_or_default()
}

/// A tab in the lower border: its text, and its first column.
fn placed_tabs(mode: CaseTab, area: Rect) -> impl Iterator<Item = (CaseTab, String, u16)> {
    let mut x = area.x + 2;
    CaseTab::TABS.into_iter().map(move |(tab, name)| {
        let key = tab_key(tab);
        let words = match tab == mode || area.width >= NAMED_TABS_FROM {
            true => format!(" {key} {name} "),
            false => format!(" {key} "),
        };
        let begin = x;
        x += words.width() as u16;
        (tab, words, begin)
    })
}

/// Draws the tabs into the lower border.
pub(crate) fn draw(mode: CaseTab, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let y = area.bottom().saturating_sub(1);
    for (tab, words, x) in placed_tabs(mode, area) {
        let role = if tab == mode {
            Role::Title
        } else {
            Role::Faint
        };
        let room = area.right().saturating_sub(x + 1);
        put(buffer, x, y, room, &words, theme.style(role));
    }
}

/// The tab at a position of the screen, if there is one.
pub(crate) fn tab_at(mode: CaseTab, area: Rect, at: Position) -> Option<CaseTab> {
    let is_there = |(_, words, x): &(CaseTab, String, u16)| {
        at.y + 1 == area.bottom() && (*x..*x + words.width() as u16).contains(&at.x)
    };
    placed_tabs(mode, area).find(is_there).map(|(tab, ..)| tab)
}
