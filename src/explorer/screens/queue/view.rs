//! Drawing of the queue: two lines above the case.

use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::triage::Queue;
use crate::explorer::shown_case::view as case_view;
use crate::explorer::widgets::text::{put, put_right};
use evaltrail_core::domain::DecisionKind;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

/// Width in columns from which the numbers are explained.
const NARROW: u16 = 70;
/// Rows above the case.
const ROWS: u16 = 2;

pub(super) fn layout(base: Layout, model: &Model) -> Layout {
    let rows = ROWS.min(base.body.height / 4);
    let body = Rect {
        y: base.body.y + rows,
        height: base.body.height - rows,
        ..base.body
    };
    case_view::layout(
        Layout {
            body,
            main: body,
            ..base
        },
        model,
    )
}

/// The rows above the case.
fn above(areas: &Layout) -> Rect {
    let y = areas.header.bottom() + areas.banner.height;
    Rect {
        y,
        height: areas.body.y.saturating_sub(y),
        ..areas.body
    }
}

pub(super) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    if let Some(queue) = &model.queue {
        position(model, queue, above(areas), theme, buffer);
        tally(model, queue, above(areas), theme, buffer);
    }
    case_view::draw(model, areas, theme, buffer)
}

/// "[3/17] set_light is not called", and how many of this cause are left.
fn position(model: &Model, queue: &Queue, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    if area.height < 1 {
        return;
    }
    let all = queue.cases().count();
    let at = queue.cases().position(|case| case == queue.at).unwrap_or(0);
    let group = queue.group_of(queue.at);
    let (count, left) = group.map_or((0, 0), |group| {
        (
            group.cases.len(),
            group
                .cases
                .iter()
                .filter(|case| queue.undecided.contains(case))
                .count(),
        )
    });
    let right = match group {
        Some(_) if area.width < NARROW => format!("{left} of {count} left"),
        Some(group) if !group.is_shared => format!("{left} of {count} without a shared cause left"),
        _ if count > 1 => format!("{left} of {count} of this cause left"),
        _ => String::new(),
    };
    let words = match group {
        Some(group) if group.is_shared => group.words.clone(),
        _ => model.finding_of(queue.at),
    };
    let used = put_right(
        buffer,
        area.right() - 1,
        area.y,
        area.width / 2,
        &right,
        theme.style(Role::Faint),
    );
    let number = format!("[{}/{all}] ", at + 1);
    let x = area.x + 1;
    let x = x + put(
        buffer,
        x,
        area.y,
        area.width,
        &number,
        theme.style(Role::Accent),
    );
    let room = area.right().saturating_sub(x + used + 2);
    put(buffer, x, area.y, room, &words, theme.style(Role::Title));
}

/// What was decided about the case, what is decided in all, and how many are left.
fn tally(model: &Model, queue: &Queue, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    if area.height < 2 {
        return;
    }
    let y = area.y + 1;
    let left = queue.undecided.len();
    let mut words: Vec<String> = vec![format!("{left} undecided")];
    words.extend(
        queue
            .pending
            .iter()
            .map(|(kind, count)| format!("{} {count}", kind.label())),
    );
    if !queue.change.is_empty() {
        words.push("criteria changed".into());
    }
    let all = words.join(" · ");
    let room = area.width.saturating_sub(2);
    let wide = (all.width() as u16).min(room);
    put_right(
        buffer,
        area.right() - 1,
        y,
        wide,
        &all,
        theme.style(Role::Text),
    );
    let here = match model.decision(queue.at) {
        Some(decision) => {
            let kind = decision.kind.map_or("", DecisionKind::label);
            let note = [decision.until.as_str(), decision.note.as_str()].join(" ");
            format!("decided: {kind} {}", note.trim())
        }
        None if !queue.undecided.contains(&queue.at) => "passes with the changed criteria".into(),
        None => String::new(),
    };
    put(
        buffer,
        area.x + 1,
        y,
        room.saturating_sub(wide + 2),
        &here,
        theme.style(Role::Note),
    );
}
