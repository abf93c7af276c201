//! Drawing of the case screen.

use crate::explorer::shared::case_lines::{CaseLines, CaseTab};
use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::command_names::{NEXT_DIFFERENCE, PREVIOUS_DIFFERENCE};
use crate::explorer::shared::layout::{Layout, inside};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shown_case::compare::column_width;
use crate::explorer::shown_case::draw_lines::{
    WIDE_FROM, body_lines, is_wide, lines_area, verdict_line,
};
use crate::explorer::shown_case::fitted_verdict::{BRIEF_LINES, fitted_lines};
use crate::explorer::shown_case::tabs;
use crate::explorer::shown_case::upper_border::{has_room_for_title, upper_border};
use crate::explorer::shown_case::verdict::{VerdictLine, verdict_lines};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::{panel, panel_note, scrollbar};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub(crate) fn layout(base: Layout, model: &Model) -> Layout {
    let Some(case) = model.open_case() else {
        return base;
    };
    let body = base.body;
    if body.width >= WIDE_FROM {
        let main = Rect {
            width: body.width * 3 / 5,
            ..body
        };
        let panel = Rect {
            x: main.right(),
            width: body.width - main.width,
            ..body
        };
        return Layout {
            main,
            panel,
            ..base
        };
    }
    if case.mode == CaseTab::Metrics {
        return Layout {
            main: body,
            panel: Rect::default(),
            ..base
        };
    }
    let in_border = has_title_in_border(&base, model, case);
    let most = most_verdict_lines(body.height).max(spare_lines(&base, case, in_border));
    let height = fitted_lines(model, usize::from(body.width), usize::from(most)).len() as u16;
    let panel = Rect {
        y: body.bottom() - height,
        height,
        ..body
    };
    let main = Rect {
        height: body.height - height,
        ..body
    };
    match in_border {
        true => Layout {
            header: Rect::default(),
            main: Rect {
                y: base.header.y,
                height: main.height + 1,
                ..main
            },
            panel,
            ..base
        },
        false => Layout {
            main,
            panel,
            ..base
        },
    }
}

/// The number of lines that the difference needs, with its border, before the metrics get more than
/// [`BRIEF_LINES`].
const DIFFERENCE_LINES: u16 = 19;

/// The maximum number of lines of metrics below the difference, for the number of lines of both.
fn most_verdict_lines(lines: u16) -> u16 {
    let most = (lines * 2 / 5).max(BRIEF_LINES);
    match lines.saturating_sub(DIFFERENCE_LINES) {
        0..=3 => BRIEF_LINES,
        spare => spare.min(most),
    }
}

/// The number of lines that the comparison does not need.
fn spare_lines(base: &Layout, case: &CaseScreen, has_title_in_border: bool) -> u16 {
    let Some(body) = &case.body else {
        return 0;
    };
    let around = 2 + u16::from(case.mode == CaseTab::Compare);
    let needed = u16::try_from(body.lines.len()).unwrap_or(u16::MAX);
    let lines = base.body.height + u16::from(has_title_in_border);
    lines.saturating_sub(needed.saturating_add(around))
}

/// Whether the title is in the upper border of the difference, which saves a line on low screens. Not where turns and
/// attempts leave too little room, or something else is below the title, or a run is live, whose progress is beside the
/// title.
fn has_title_in_border(base: &Layout, model: &Model, case: &CaseScreen) -> bool {
    let is_low = base.body.height < DIFFERENCE_LINES + 2 * BRIEF_LINES;
    let is_below_title = base.body.y == base.header.bottom();
    let has_live_run = model.run.as_ref().is_some_and(|run| run.is_live());
    is_low && is_below_title && !has_live_run && has_room_for_title(model, case, base.body.width)
}

/// Whether the metrics tab fills the screen, so that scrolling applies to it.
pub(crate) fn scrolls_metrics(case: &CaseScreen, model: &Model) -> bool {
    case.mode == CaseTab::Metrics && !is_wide(&crate::explorer::shared::screen::layout(model))
}

/// Number of lines of the side pane or the metrics tab, and how many of them fit.
pub(crate) fn side_pane_lines(model: &Model, areas: &Layout) -> (usize, usize) {
    let Some(case) = model.open_case() else {
        return (0, 0);
    };
    let area = inside(if is_wide(areas) {
        areas.panel
    } else {
        areas.main
    });
    let lines = match case.mode {
        CaseTab::Timeline | CaseTab::Judged => {
            case.body.as_ref().map_or(0, |body| body.beside.len())
        }
        CaseTab::Compare | CaseTab::Metrics => {
            verdict_lines(model, usize::from(area.width), true).len()
        }
    };
    (lines, usize::from(area.height))
}

pub(crate) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let case = model.open_case()?;
    let wide = is_wide(areas);
    panel(areas.main, "", true, theme, buffer);
    upper_border(model, case, areas, theme, buffer);
    match wide {
        true => draw_side_pane(model, case, areas, theme, buffer),
        false => {
            tabs::draw(case.mode, areas.main, theme, buffer);
            verdict(model, areas.panel, theme, buffer);
        }
    }
    if case.mode == CaseTab::Metrics && !wide {
        all_metrics(model, case, areas.main, theme, buffer);
        return None;
    }
    match &case.body {
        None => {
            let area = lines_area(model, areas);
            put(
                buffer,
                area.x + 1,
                area.y,
                area.width,
                "comparing…",
                theme.style(Role::Faint),
            );
        }
        Some(body) => comparison(model, (case, body), areas, theme, buffer),
    }
    None
}

/// Draws the lines of the main pane, the mark of the current difference and its position.
fn comparison(
    model: &Model,
    (case, body): (&CaseScreen, &CaseLines),
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let area = lines_area(model, areas);
    if area.y > inside(areas.main).y {
        let row = Rect {
            y: area.y - 1,
            height: 1,
            ..area
        };
        headings(body, row, theme, buffer);
    }
    body_lines(
        &body.lines,
        body.side_by_side,
        case.scroll,
        area,
        theme,
        buffer,
    );
    piece(case, area, theme, buffer);
    let note = difference_text(case, areas.main.width);
    let bottom = areas.main.bottom().saturating_sub(1);
    panel_note(areas.main, bottom, &note, theme.style(Role::Faint), buffer);
    let shown = usize::from(area.height);
    scrollbar(
        areas.main,
        case.scroll,
        shown,
        body.lines.len(),
        theme,
        buffer,
    );
}

/// Draws the headings of the two columns or, if the sides are stacked, a legend of the signs.
fn headings(body: &CaseLines, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let style = theme.style(Role::Title);
    if !body.side_by_side {
        put(
            buffer,
            row.x + 2,
            row.y,
            row.width.saturating_sub(2),
            "- expected   + actual",
            style,
        );
        return;
    }
    let width = column_width(usize::from(row.width)) as u16;
    let middle = row.x + 2 + width;
    put(buffer, row.x + 2, row.y, width, "expected", style);
    put(buffer, middle + 1, row.y, 1, "│", theme.style(Role::Border));
    put(
        buffer,
        middle + 3,
        row.y,
        row.right().saturating_sub(middle + 3),
        "actual",
        style,
    );
}

/// Draws the side pane.
fn draw_side_pane(
    model: &Model,
    case: &CaseScreen,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    match case.mode {
        CaseTab::Compare | CaseTab::Metrics => {
            panel(areas.panel, "", false, theme, buffer);
            all_metrics(model, case, areas.panel, theme, buffer);
        }
        CaseTab::Timeline | CaseTab::Judged => {
            let inner = panel(areas.panel, "", false, theme, buffer);
            let all = case
                .body
                .as_ref()
                .map(|body| &body.beside[..])
                .unwrap_or_default();
            let shown = usize::from(inner.height);
            let scroll = case.beside_scroll.min(all.len().saturating_sub(shown));
            body_lines(all, false, scroll, inner, theme, buffer);
            scrollbar(areas.panel, scroll, shown, all.len(), theme, buffer);
        }
    }
    tabs::draw(shown_tab(case.mode, true), areas.panel, theme, buffer);
}

/// The tab that is named in the side pane or, without one, in the main pane.
fn shown_tab(mode: CaseTab, is_wide: bool) -> CaseTab {
    match mode {
        CaseTab::Compare if is_wide => CaseTab::Metrics,
        mode => mode,
    }
}

/// The tab at a position of the screen, if there is one.
pub(crate) fn tab_at(model: &Model, areas: &Layout, at: Position) -> Option<CaseTab> {
    let (mode, wide) = (model.open_case()?.mode, is_wide(areas));
    let area = if wide { areas.panel } else { areas.main };
    tabs::tab_at(shown_tab(mode, wide), area, at)
}

/// Draws every metric with its full reason.
fn all_metrics(model: &Model, case: &CaseScreen, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let inner = inside(area);
    let lines = verdict_lines(model, usize::from(inner.width), true);
    let at_hand = model.metric_at_hand().map(|metric| &metric.metric);
    let shown = usize::from(inner.height);
    let scroll = case.beside_scroll.min(lines.len().saturating_sub(shown));
    for (row, line) in lines.iter().skip(scroll).take(shown).enumerate() {
        verdict_row(
            line,
            at_hand,
            Rect {
                y: inner.y + row as u16,
                height: 1,
                ..inner
            },
            theme,
            buffer,
        );
    }
    scrollbar(area, scroll, shown, lines.len(), theme, buffer);
}

/// Draws the mark of the current difference, to which "accept" applies.
fn piece(case: &CaseScreen, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let line = case
        .current_line()
        .and_then(|line| line.checked_sub(case.scroll));
    if let Some(row) = line.filter(|row| *row < usize::from(area.height)) {
        put(
            buffer,
            area.x + 1,
            area.y + row as u16,
            1,
            "▸",
            theme.style(Role::Accent),
        );
    }
}

/// Width in columns from which the position of the current difference is shown beside the tabs.
const POSITION_FROM: u16 = 56;
/// Width in columns from which it is shown with its name and keys.
const POSITION_AND_KEYS_FROM: u16 = 72;

/// The position of the current difference among those of the case, with the keys that go to the others. Empty for a
/// single difference.
fn difference_text(case: &CaseScreen, width: u16) -> String {
    let (Some(body), Some(piece)) = (&case.body, case.piece) else {
        return String::new();
    };
    let count = body.pieces.len();
    if case.mode != CaseTab::Compare || count < 2 || width < POSITION_FROM {
        return String::new();
    }
    let position = format!("{} of {count}", piece + 1);
    if width < POSITION_AND_KEYS_FROM {
        return position;
    }
    let (next, previous) = (NEXT_DIFFERENCE.key(), PREVIOUS_DIFFERENCE.key());
    format!("difference {position}  {next} {previous}")
}

/// Draws the lines of the metrics that fit.
fn verdict(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let lines = fitted_lines(model, usize::from(area.width), usize::from(area.height));
    let at_hand = model.metric_at_hand().map(|metric| &metric.metric);
    for (line, row) in lines.iter().zip(area.rows()) {
        verdict_row(line, at_hand, row, theme, buffer);
    }
}

/// Draws a line of the metrics. The metric whose threshold a what-if changes is marked.
fn verdict_row(
    line: &VerdictLine,
    at_hand: Option<&String>,
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    verdict_line(line, row, theme, buffer);
    let name = match line {
        VerdictLine::Metric(_, name, ..) | VerdictLine::Brief(_, name, _) => Some(name),
        _ => None,
    };
    if name.is_some() && name == at_hand {
        put(buffer, row.x, row.y, 1, "▸", theme.style(Role::Accent));
    }
}
