//! Drawing of one case of two runs.

use crate::explorer::screens::comparison::columns::{
    GAP, fits_side_by_side, side_names, side_width,
};
use crate::explorer::screens::comparison::state::{CaseColumns, ColumnLine, ComparisonScreen};
use crate::explorer::shared::compared_pair::ComparedPair;
use crate::explorer::shared::layout::{Layout, inside};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_spans};
use crate::explorer::widgets::{panel, scrollbar};
use evaltrail_core::analysis::ComparedCase;
use evaltrail_core::domain::{Status, clean_line};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

/// The area of the lines: inside the border, with a column free on each side, below the names of the sides.
pub(super) fn lines_area(main: Rect) -> Rect {
    let inner = inside(main);
    Rect {
        x: inner.x + 1,
        y: inner.y + 1,
        width: inner.width.saturating_sub(2),
        height: inner.height.saturating_sub(1),
    }
}

/// The id of the case, its outcome in both runs and, where there is room, its set.
pub(super) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(screen) = model.screen::<ComparisonScreen>() else {
        return;
    };
    let Some(case) = &screen.case else { return };
    let compared = &screen.pair.found.cases[case.at];
    let id = screen.pair.case_name(compared);
    let mut x = area.x
        + put(
            buffer,
            area.x,
            area.y,
            area.width.saturating_sub(24).max(area.width / 2),
            &id,
            theme.style(Role::Title),
        )
        + 2;
    for (at, attempt) in screen.pair.attempts(compared).into_iter().enumerate() {
        let status = attempt.map(|attempt| attempt.status);
        let words = status.map_or("· no result".into(), |status: Status| {
            format!("{} {}", status.glyph(), status.label())
        });
        let style = status.map_or(theme.style(Role::Faint), |status| theme.status(status));
        if at == 1 {
            x += put(
                buffer,
                x,
                area.y,
                area.right().saturating_sub(x),
                "  →  ",
                theme.style(Role::Faint),
            );
        }
        x += put(
            buffer,
            x,
            area.y,
            area.right().saturating_sub(x),
            &words,
            style,
        );
    }
    let set = set_text(&screen.pair, compared);
    let room = area.right().saturating_sub(x + 2);
    if set.width() <= usize::from(room) {
        put(buffer, x + 2, area.y, room, &set, theme.style(Role::Faint));
    }
}

/// The set of a case; empty if the run has only one.
fn set_text(pair: &ComparedPair, case: &ComparedCase) -> String {
    let (run, at) = match (case.after, case.before) {
        (Some(at), _) => (&pair.after, at),
        (None, Some(at)) => (&pair.before, at),
        (None, None) => return String::new(),
    };
    let plan = &run.state.plan;
    match plan.sets.len() {
        1 => String::new(),
        _ => format!("set {}", clean_line(&plan.case_location(at))),
    }
}

pub(super) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let screen = model.screen::<ComparisonScreen>()?;
    let case = screen.case.as_ref()?;
    let title = format!("{} → {}", screen.pair.before.name, screen.pair.after.name);
    panel(areas.main, &title, true, theme, buffer);
    let area = lines_area(areas.main);
    side_headers(case, area, theme, buffer);
    let rows = usize::from(area.height);
    for (row, line) in case.lines.1.iter().skip(case.scroll).take(rows).enumerate() {
        let y = area.y + row as u16;
        match line {
            ColumnLine::Rule(words) => {
                let used = put(
                    buffer,
                    area.x,
                    y,
                    area.width,
                    &format!("── {words} "),
                    theme.style(Role::Faint),
                );
                let rest = "─".repeat(usize::from(area.width.saturating_sub(used)));
                put(
                    buffer,
                    area.x + used,
                    y,
                    area.width - used,
                    &rest,
                    theme.style(Role::Border),
                );
            }
            ColumnLine::Wide(line) => {
                put_spans(buffer, (area.x, y), area.width, line, theme, Role::Added)
            }
            ColumnLine::Sides(sides) => {
                let room = side_width(usize::from(area.width), sides.len()) as u16;
                for (at, side) in sides.iter().enumerate() {
                    let x = area.x + at as u16 * (room + GAP as u16);
                    let changed = if at == 0 { Role::Removed } else { Role::Added };
                    put_spans(buffer, (x, y), room, side, theme, changed);
                    if at > 0 {
                        put(buffer, x - 2, y, 1, "│", theme.style(Role::Border));
                    }
                }
            }
        }
    }
    scrollbar(
        areas.main,
        case.scroll,
        rows,
        case.lines.1.len(),
        theme,
        buffer,
    );
    None
}

/// The names of the sides above their columns.
fn side_headers(case: &CaseColumns, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let names = side_names(case);
    let y = area.y - 1;
    if !fits_side_by_side(usize::from(area.width)) {
        put(
            buffer,
            area.x,
            y,
            area.width,
            &names.join(", "),
            theme.style(Role::Faint),
        );
        return;
    }
    let room = side_width(usize::from(area.width), names.len()) as u16;
    for (at, name) in names.iter().enumerate() {
        let x = area.x + at as u16 * (room + GAP as u16);
        put(buffer, x, y, room, name, theme.style(Role::Title));
    }
}
