//! Drawing of the screen of an attempt in flight.

use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::run_screen::LiveScreen;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::steps::step_lines;
use crate::explorer::widgets::text::{put, put_spans};
use crate::explorer::widgets::{panel, panel_note, scrollbar, spinner};
use evaltrail_core::diff::{Line, Span, Tone};
use evaltrail_core::domain::{InFlight, Progress};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

fn in_flight<'a>(model: &'a Model, live: &LiveScreen) -> Option<&'a InFlight> {
    model.run.as_ref()?.in_flight.get(&live.key)
}

/// Draws the id of the case, the number of the attempt, the turn, and the elapsed time.
pub(crate) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let (Some(live), Some(run)) = (model.screen::<LiveScreen>(), &model.run) else {
        return;
    };
    let id = run.plan.case_name(live.key.case);
    let repeat = if run.plan.options.repeat > 1 {
        format!(" #{}", live.key.attempt)
    } else {
        String::new()
    };
    let name = format!("{id}{repeat}");
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        &name,
        theme.style(Role::Title),
    ) + 2;
    let turn = match in_flight(model, live).map(|flight| flight.turn) {
        Some((turn, of)) if turn > 0 => format!("  turn {turn} of {of}"),
        _ => String::new(),
    };
    let seconds = model.run_screen.elapsed(live.key, model.now);
    let words = format!("{} running{turn}  {seconds:.0}s", spinner(model.now));
    let room = area.width.saturating_sub(used);
    put(
        buffer,
        area.x + used,
        area.y,
        room,
        &words,
        theme.style(Role::Running),
    );
}

pub(crate) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let live = model.screen::<LiveScreen>()?;
    let inner = panel(areas.main, "live transcript", true, theme, buffer);
    panel_note(
        areas.main,
        areas.main.y,
        "not judged yet",
        theme.style(Role::Note),
        buffer,
    );
    let lines = lines(model, live, usize::from(inner.width));
    let shown = usize::from(inner.height);
    let last = lines.len().saturating_sub(shown);
    let first = live.first.unwrap_or(last).min(last);
    for (row, line) in lines.iter().skip(first).take(shown).enumerate() {
        put_spans(
            buffer,
            (inner.x + 1, inner.y + row as u16),
            inner.width - 1,
            line,
            theme,
            Role::Text,
        );
    }
    scrollbar(areas.main, first, shown, lines.len(), theme, buffer);
    None
}

/// Builds the lines of the steps so far, and of the current activity.
pub(super) fn lines(model: &Model, live: &LiveScreen, width: usize) -> Vec<Line> {
    let Some(flight) = in_flight(model, live) else {
        return Vec::new();
    };
    let width = width.saturating_sub(2).max(1);
    let faint = |text: String| {
        vec![Span {
            text,
            tone: Tone::Faint,
            changed: false,
        }]
    };
    let mut lines = Vec::new();
    if flight.transcript.left_out() > 0 {
        lines.push(faint(format!(
            "… {} earlier steps",
            flight.transcript.left_out()
        )));
    }
    flight
        .transcript
        .steps()
        .for_each(|step| lines.extend(step_lines(step, width)));
    let doing = match flight.doing() {
        Progress::Connecting => Some("connecting to the agent"),
        Progress::Turn { .. } | Progress::Answered { .. } => Some("waiting for the agent"),
        Progress::Calls(_) => Some("waiting for the tool"),
        Progress::Scoring => Some("scoring"),
        _ => None,
    };
    lines.extend(doing.map(|words| faint(format!("   {} {words}", spinner(model.now)))));
    lines
}
