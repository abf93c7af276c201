//! Preview of the case under the cursor: why it did not pass, the user's message, and the first difference.

use crate::explorer::case_list::trend::{points, put_sparkline};
use crate::explorer::shared::case_lines::{BodyLine, CaseLines};
use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::command_names::RUNS;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shown_case::draw_lines::{
    body_line, body_lines, preview_events_width, verdict_line,
};
use crate::explorer::shown_case::fitted_verdict::fitted_reasons;
use crate::explorer::shown_case::refresh;
use crate::explorer::shown_case::verdict::{VerdictLine, verdict_lines};
use crate::explorer::widgets::attempts::{FLAKY, attempt_text};
use crate::explorer::widgets::panel;
use crate::explorer::widgets::text::put;
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::Status;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// At most as many past runs are shown.
const RUNS_SHOWN: u16 = 12;
/// Maximum number of lines of the user's message above the first difference.
const USER_LINES: usize = 2;

/// Where the preview is, in a run without any result.
const NO_RESULT: &str = "no attempt has a result, so the run is not recorded";

pub(crate) fn draw(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(case) = &model.view.preview else {
        let inner = panel(area, "", false, theme, buffer);
        if model.is_on(Context::Run) {
            let has_results = model.run.as_ref().is_some_and(|run| run.totals.ended() > 0);
            let newer = format!(
                "a newer run has results of this case; {} opens this run as it was",
                RUNS.key()
            );
            let text = match has_results {
                true => newer.as_str(),
                false => NO_RESULT,
            };
            let width = inner.width.saturating_sub(1);
            put(
                buffer,
                inner.x + 1,
                inner.y,
                width,
                text,
                theme.style(Role::Faint),
            );
        }
        return;
    };
    let inner = panel(area, &model.shown_id(case.at), false, theme, buffer);
    let mut y = status_line(model, case, inner, theme, buffer);
    let width = usize::from(inner.width);
    let mut reasons: Vec<VerdictLine> = verdict_lines(model, width, false);
    reasons.retain(is_a_reason);
    // At least one line is left for the comparison.
    let left = usize::from(inner.bottom().saturating_sub(y + 1));
    let room = usize::from(inner.height / 2).max(3).min(left);
    for line in fitted_reasons(model, reasons, width, room) {
        verdict_line(
            &line,
            Rect {
                x: inner.x,
                y,
                width: inner.width,
                height: 1,
            },
            theme,
            buffer,
        );
        y += 1;
    }
    let below = Rect {
        y,
        height: inner.bottom().saturating_sub(y),
        ..inner
    };
    match &case.body {
        _ if below.is_empty() => {}
        Some(body) => comparison_and_events(body, case.turn, inner, below, theme, buffer),
        None => {
            put(
                buffer,
                below.x + 1,
                below.y,
                below.width - 1,
                "comparing…",
                theme.style(Role::Faint),
            );
        }
    }
}

/// Status, attempts and tags. Returns the next row.
fn status_line(
    model: &Model,
    case: &CaseScreen,
    inner: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> u16 {
    let row = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(1),
        height: 1,
        ..inner
    };
    let mut used = put_outcome(model, case, row, theme, buffer);
    if used > 0 && points(model, case.at).len() > 1 && used + 2 < row.width {
        used += 2;
        let room = RUNS_SHOWN.min(row.width - used);
        used += put_sparkline(
            model,
            case.at,
            (row.x + used, row.y),
            room,
            theme.style(Role::Text),
            theme,
            buffer,
        );
    }
    for tag in model.notes(case.at).iter().flat_map(|notes| &notes.tags) {
        let words = format!("  #{tag}");
        used += put(
            buffer,
            row.x + used,
            row.y,
            row.width.saturating_sub(used),
            &words,
            theme.style(Role::Faint),
        );
    }
    if used == 0 { row.y } else { row.y + 1 }
}

/// Draws the status, the statuses of several attempts, and the turn if there are several. Returns the number of columns
/// used.
fn put_outcome(
    model: &Model,
    case: &CaseScreen,
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> u16 {
    let Some(outcome) = model.view.outcomes.get(case.at) else {
        return 0;
    };
    let mut used = 0;
    let mut write = |words: &str, style: Style| {
        let room = row.width.saturating_sub(used);
        used += put(buffer, row.x + used, row.y, room, words, style);
    };
    let statuses: Vec<Status> = outcome
        .attempts
        .iter()
        .map(|attempt| attempt.status)
        .collect();
    let is_flaky = PassCount::of_statuses(statuses.iter().copied()).is_flaky();
    match is_flaky {
        true => write(&format!("{FLAKY} flaky"), theme.style(Role::Note)),
        false => {
            let unsteady = if outcome.unsteady { ", unsteady" } else { "" };
            let (glyph, label) = (outcome.worst.glyph(), outcome.worst.label());
            write(
                &format!("{glyph} {label}{unsteady}"),
                theme.status(outcome.worst),
            );
        }
    }
    if statuses.len() > 1 {
        let words = format!("  {}", attempt_text(&statuses));
        write(&words, theme.style(Role::Text));
    }
    let turns = model.turns_shown();
    if turns > 1 {
        let words = format!("  turn {} of {turns}", case.turn + 1);
        write(&words, theme.style(Role::Faint));
    }
    used
}

/// Updates the preview to the case under the cursor and its latest result.
pub(crate) fn follow_cursor(model: &mut Model) {
    if !model.has_preview() {
        return;
    }
    let has_room = !layout(model).preview.is_empty();
    let case = model.view.screen.previewed(model).filter(|_| has_room);
    let wanted = case.map(|case| {
        (
            case,
            model.view.sets[case.set].loaded,
            model.view.outcomes.get(case).map(|outcome| outcome.shown),
        )
    });
    if model.view.previewed != wanted || (wanted.is_none() && model.view.preview.is_some()) {
        model.view.preview = case.map(|case| Box::new(refresh::view_of(model, case)));
        model.view.previewed = wanted;
    }
}

/// Whether a line shows why the case did not pass.
fn is_a_reason(line: &VerdictLine) -> bool {
    !matches!(
        line,
        VerdictLine::Metric(Status::Passed | Status::Informational, ..)
    )
}

/// Draws the comparison, with the events of the turn beside it or, on a narrow preview, below it.
fn comparison_and_events(
    body: &CaseLines,
    turn: usize,
    inner: Rect,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let events = events_of(body, turn);
    let width = preview_events_width(inner).filter(|_| !events.is_empty());
    let beside = width.filter(|width| *width < inner.width);
    let left = Rect {
        width: area.width - beside.map_or(0, |width| width + 1),
        ..area
    };
    let rows = difference(body, turn, left, theme, buffer);
    let area = match beside {
        Some(width) => {
            let x = left.right();
            for y in area.top()..area.bottom() {
                put(buffer, x, y, 1, "│", theme.style(Role::Border));
            }
            Rect {
                x: x + 1,
                width,
                ..area
            }
        }
        None => {
            let y = (area.y + rows + 1).min(area.bottom());
            Rect {
                y,
                height: area.bottom() - y,
                ..area
            }
        }
    };
    if width.is_some() {
        body_lines(events, false, 0, area, theme, buffer);
    }
}

/// The lines of the side pane from this turn on; all if they have no turns.
fn events_of(body: &CaseLines, turn: usize) -> &[BodyLine] {
    let is_heading = |line: &&BodyLine| matches!(line, BodyLine::Turn(..));
    let position = body.turns.iter().position(|one| one.turn == turn);
    let headings = body
        .beside
        .iter()
        .enumerate()
        .filter(|(_, line)| is_heading(line));
    let start = headings.map(|(at, _)| at).nth(position.unwrap_or(0));
    &body.beside[start.unwrap_or(0)..]
}

/// Draws the comparison, and returns the number of rows drawn. A comparison that does not fit begins at the first difference,
/// with the beginning of the user's message above it.
fn difference(
    body: &CaseLines,
    turn: usize,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> u16 {
    let rows = usize::from(area.height);
    let lines = &body.lines[body.lines_of(turn)];
    let start = body.lines_of(turn).start;
    let (heading, lines) = match lines.first() {
        Some(BodyLine::Turn(..)) => (1, &lines[1..]),
        _ => (0, lines),
    };
    let first = body.pieces.iter().find(|piece| piece.turn == turn);
    let first = first.map_or(0, |piece| piece.line - start - heading);
    let user = lines
        .iter()
        .take_while(|line| matches!(line, BodyLine::Wide(_)))
        .count();
    let is_cut = first + 1 >= rows;
    let user_lines = if rows > USER_LINES + 2 {
        user.min(USER_LINES)
    } else {
        0
    };
    let above = lines.iter().take(user_lines).filter(|_| is_cut);
    let rest = lines.iter().skip(if is_cut {
        first.saturating_sub(1).max(user_lines)
    } else {
        0
    });
    let mut drawn = 0;
    for line in above.chain(rest).take(rows) {
        let row = Rect {
            y: area.y + drawn,
            height: 1,
            ..area
        };
        body_line(line, body.side_by_side, row, theme, buffer);
        drawn += 1;
    }
    drawn
}
