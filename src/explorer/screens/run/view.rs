//! Drawing of the run screen: its panes, the progress and the attempts in flight.

use super::finished::finished;
use super::rows::{PaneRows, TIME, attempt_name};
use crate::explorer::running::events::without_result_text;
use crate::explorer::shared::layout::{Layout, with_preview};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shown_case::preview;
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::widgets::{bar, counts, panel, spinner};
use evaltrail_core::domain::{Gate, InFlight, Progress, RunState, counted, percent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout as Layouts, Position, Rect};
use ratatui::style::Style;

/// Height in rows from which the attempts in flight are above the finished ones, so that reasons have the whole width. On
/// lower screens only one of both is visible.
const BOTH_PANES_FROM: u16 = 10;

pub(crate) fn layout(base: Layout, model: &Model) -> Layout {
    let body = base.body;
    let panel = Rect { height: 3, ..body };
    let rest = Rect {
        y: body.y + 3,
        height: body.height - 3,
        ..body
    };
    let ended = model.run.as_ref().filter(|run| !run.is_live());
    // While the run is live, rows move too often for a preview.
    if let Some(run) = ended {
        let rows = model.run_screen.count() + run.cancelled.len();
        let [main, preview] = with_preview(body, rest, rows);
        return Layout {
            panel,
            main,
            preview,
            ..base
        };
    }
    if rest.height >= BOTH_PANES_FROM {
        let jobs = model.run.as_ref().map_or(1, |run| run.plan.options.jobs);
        let in_flight = u16::try_from(jobs).unwrap_or(u16::MAX).saturating_add(2);
        let in_flight = Constraint::Length(in_flight.min(rest.height / 2));
        let [left, main] = Layouts::vertical([in_flight, Constraint::Fill(1)]).areas(rest);
        return Layout {
            panel,
            left,
            main,
            ..base
        };
    }
    match model.run_screen.in_finished {
        false => Layout {
            panel,
            left: rest,
            main: Rect::default(),
            ..base
        },
        true => Layout {
            panel,
            left: Rect::default(),
            main: rest,
            ..base
        },
    }
}

/// Draws the id of the run.
pub(crate) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let id = model
        .run
        .as_ref()
        .map(|run| run.plan.run_id.as_str())
        .unwrap_or_default();
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        "run ",
        theme.style(Role::Title),
    );
    put(
        buffer,
        area.x + used,
        area.y,
        area.width.saturating_sub(used),
        id,
        theme.style(Role::Faint),
    );
}

pub(crate) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let run = model.run.as_ref()?;
    progress(model, run, areas.panel, theme, buffer);
    if !areas.left.is_empty() {
        in_flight(model, run, areas.left, theme, buffer);
    }
    if !areas.main.is_empty() {
        finished(model, run, areas, theme, buffer);
    }
    if !areas.preview.is_empty() {
        preview::draw(model, areas.preview, theme, buffer);
    }
    None
}

fn progress(model: &Model, run: &RunState, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let all = run.needed_attempts().max(1);
    let done = run.totals.ended();
    let x = area.x + 1;
    let cases = counted(run.plan.cases.len(), "case");
    let repeat = match run.plan.options.repeat {
        1 => String::new(),
        repeat => format!(" × {repeat}"),
    };
    let jobs = run.plan.options.jobs;
    let words = format!(
        "{cases}{repeat}{} · {jobs} at once · {}",
        gate_text(model, run),
        run.plan.agent_label()
    );
    let used = put(
        buffer,
        x,
        area.y,
        area.width - 2,
        &words,
        theme.style(Role::Faint),
    );
    if let Some(left_out) = &model.run_screen.left_out {
        let room = area.width.saturating_sub(used + 4);
        put(
            buffer,
            x + used + 2,
            area.y,
            room,
            left_out,
            theme.style(Role::Note),
        );
    }
    let line = Rect {
        x,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: 1,
    };
    bar(line, done as f64 / all as f64, theme, buffer);
    let used = put(
        buffer,
        x,
        area.y + 2,
        20,
        &format!("{done}/{all}  "),
        theme.style(Role::Title),
    );
    let end = counts(buffer, x + used, area.y + 2, run.totals, theme);
    let room = (area.right() - 1).saturating_sub(end);
    put_right(
        buffer,
        area.right() - 1,
        area.y + 2,
        room,
        &pace(model, run),
        theme.style(Role::Faint),
    );
}

/// The gate, and after the end how many cases pass it; empty if each case has one attempt, which decides.
fn gate_text(model: &Model, run: &RunState) -> String {
    let options = &run.plan.options;
    if options.repeat <= 1 && options.gate == Gate::All {
        return String::new();
    }
    let gate = match options.gate {
        Gate::All => "all attempts must pass".to_string(),
        Gate::Mean => "mean scores must pass".into(),
        Gate::Until(rate) => until_text(run, rate),
        Gate::Rate(rate) => format!("{} % of the attempts must pass", percent(rate)),
    };
    match model.run_screen.passed_gate {
        None => format!(" · {gate}"),
        Some(_) if matches!(options.gate, Gate::Until(_)) => format!(" · {gate}"),
        Some(passed) => format!(" · {gate}: {passed} of {} cases do", run.plan.cases.len()),
    }
}

/// What is known of the cases that are run until their pass rate is known: "pass rate of 80 %: 12 pass, 3 fail, 2 undecided".
fn until_text(run: &RunState, rate: f64) -> String {
    format!(
        "pass rate of {} %: {}",
        percent(rate),
        run.verdict_counts().describe()
    )
}

/// Elapsed time and, once two attempts have ended, speed and estimated remaining time.
fn pace(model: &Model, run: &RunState) -> String {
    if let Some(seconds) = run.ended {
        return format!("ended after {seconds:.1}s{}", without_result_text(run));
    }
    let elapsed = model.now - model.run_screen.began;
    let done = run.totals.ended();
    let Some(pace) = model.run_screen.attempts_per_second(done, model.now) else {
        return format!("{elapsed:.0}s");
    };
    let left = run.count_outstanding() as f64 / pace;
    format!(
        "{pace:.1} attempts/s · {elapsed:.0}s · eta {}",
        duration(left)
    )
}

fn duration(seconds: f64) -> String {
    match seconds.round() as u64 {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds => format!("{}m {:02}s", seconds / 60, seconds % 60),
    }
}

fn in_flight(model: &Model, run: &RunState, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let focused = !model.run_screen.in_finished;
    let inner = panel(area, "in flight", focused, theme, buffer);
    let mut lanes: Vec<_> = run.in_flight.iter().collect();
    lanes.sort_by_key(|(_, lane)| lane.slot);
    let rows = PaneRows::new(&model.run_screen, inner, focused);
    let visible = lanes.iter().enumerate();
    for (at, (key, lane)) in visible.skip(rows.first).take(rows.count()) {
        let (row, style) = rows.background(at, theme, buffer);
        let name = attempt_name(run, **key, lane_name_width(row));
        let elapsed = model.run_screen.elapsed(**key, model.now);
        lane_row(lane, &name, elapsed, row, style, (model.now, theme), buffer);
    }
    if lanes.is_empty() && !run.connecting.is_empty() {
        connecting(model, run, inner, theme, buffer);
    } else if lanes.is_empty() {
        let words = if run.is_live() {
            "nothing yet"
        } else {
            "nothing; the run has ended"
        };
        put(
            buffer,
            inner.x + 1,
            inner.y,
            inner.width - 1,
            words,
            theme.style(Role::Faint),
        );
    }
}

/// Draws what is waited for before the first attempt, a row for each agent.
fn connecting(model: &Model, run: &RunState, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let elapsed = format!("{:.0}s", model.now - model.run_screen.began);
    let rows = area.rows().zip(&run.connecting);
    for (row, (agent, status)) in rows {
        let (x, faint) = (row.x + 1, theme.style(Role::Faint));
        let used = put(buffer, x, row.y, row.width / 3, agent, Style::default());
        let x = x + used + 2;
        let spinner = format!("{} ", spinner(model.now));
        let x = x + put(buffer, x, row.y, 2, &spinner, theme.style(Role::Running));
        let room = row.right().saturating_sub(x + TIME);
        put(buffer, x, row.y, room, status, faint);
        put_right(buffer, row.right(), row.y, TIME - 1, &elapsed, faint);
    }
}

/// Columns for the name of an attempt in flight.
fn lane_name_width(row: Rect) -> u16 {
    (row.width / 3).max(12)
}

fn lane_row(
    lane: &InFlight,
    name: &str,
    elapsed: f64,
    row: Rect,
    style: Style,
    (now, theme): (f64, &Theme),
    buffer: &mut Buffer,
) {
    let name_width = lane_name_width(row);
    put(
        buffer,
        row.x,
        row.y,
        3,
        &format!("{:>2}", lane.slot + 1),
        theme.within(style, theme.style(Role::Faint)),
    );
    put(buffer, row.x + 3, row.y, name_width, name, style);
    let mut x = row.x + 4 + name_width;
    let turn = match lane.turn {
        (0, _) => String::new(),
        (turn, of) => format!("turn {turn}/{of} "),
    };
    x += put(
        buffer,
        x,
        row.y,
        12,
        &turn,
        theme.within(style, theme.style(Role::Faint)),
    );
    x += put(
        buffer,
        x,
        row.y,
        2,
        &format!("{} ", spinner(now)),
        theme.within(style, theme.style(Role::Running)),
    );
    let (words, role) = doing(lane.doing());
    let room = row.right().saturating_sub(x + TIME);
    put(
        buffer,
        x,
        row.y,
        room,
        &words,
        theme.within(style, theme.style(role)),
    );
    let faint = theme.within(style, theme.style(Role::Faint));
    put_right(
        buffer,
        row.right(),
        row.y,
        TIME - 1,
        &format!("{elapsed:.0}s"),
        faint,
    );
}

fn doing(progress: &Progress) -> (String, Role) {
    match progress {
        Progress::Connecting => ("connecting".into(), Role::Faint),
        Progress::Turn { .. } => ("thinking".into(), Role::Faint),
        Progress::Says(text) | Progress::SaysMore(text) => (
            format!("“{}”", text.chars().take(200).collect::<String>()),
            Role::Text,
        ),
        Progress::Calls(call) => (call.chars().take(200).collect(), Role::Tool),
        Progress::Answered { tool, .. } => (format!("{tool} answered"), Role::Faint),
        Progress::Waiting(why) => (format!("waiting: {why}"), Role::Note),
        Progress::Retrying { delay_ms, error } => (
            format!("again in {:.1}s: {error}", *delay_ms as f64 / 1000.0),
            Role::Note,
        ),
        Progress::Scoring => ("scoring".into(), Role::Faint),
        Progress::Judging {
            metric,
            about,
            turn,
            answered,
            of,
        } => (
            format!("judging {answered}/{of}  {} {about} of turn {turn}", metric),
            Role::Faint,
        ),
    }
}
