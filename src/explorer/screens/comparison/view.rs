//! Drawing of the list of cases of two runs, and of their metrics.

use crate::analysis::{CaseFate, ComparedCase};
use crate::domain::EndedAttempt;
use crate::domain::{Status, clean_line};
use crate::explorer::Layout;
use crate::explorer::model::{Model, Screen};
use crate::explorer::screens::comparison::state::{ComparedPair, ComparisonRow, ComparisonScreen};
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::widgets::{panel, panel_note, scrollbar};
use crate::report::p_words;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// Width in columns from which the metrics are beside the list.
const BESIDE_FROM: u16 = 120;
/// Columns for the metrics beside the list.
const METRICS_WIDTH: u16 = 58;

pub(super) fn layout(base: Layout, model: &Model) -> Layout {
    let body = base.body;
    let Screen::Comparison(screen) = &model.screen else { return base };
    if body.width >= BESIDE_FROM {
        let main = Rect { width: body.width - METRICS_WIDTH, ..body };
        let panel = Rect { x: main.right(), width: METRICS_WIDTH, ..body };
        return Layout { main, panel, ..base };
    }
    match screen.shows_metrics {
        true => Layout { main: Rect::default(), panel: body, ..base },
        false => Layout { main: body, panel: Rect::default(), ..base },
    }
}

pub(super) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Screen::Comparison(screen) = &model.screen else { return };
    let used = put(buffer, area.x, area.y, area.width, "compare  ", theme.style(Role::Title));
    let words = format!("{} → {}", clean_line(&screen.pair.before.name), clean_line(&screen.pair.after.name));
    put(buffer, area.x + used, area.y, area.width.saturating_sub(used), &words, theme.style(Role::Text));
}

pub(super) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
    let Screen::Comparison(screen) = &model.screen else { return None };
    if !areas.main.is_empty() {
        list(screen, areas.main, theme, buffer);
    }
    if !areas.panel.is_empty() {
        metrics(model, &screen.pair, areas.panel, theme, buffer);
    }
    None
}

fn list(screen: &ComparisonScreen, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let count = |fate| screen.pair.found.of(fate).count();
    let title = format!("{} broke · {} fixed", count(CaseFate::Broke), count(CaseFate::Fixed));
    let inner = panel(area, &title, true, theme, buffer);
    panel_note(area, area.y, &passed_words(&screen.pair), theme.style(Role::Title), buffer);
    if screen.rows.is_empty() {
        put(
            buffer,
            inner.x + 1,
            inner.y,
            inner.width.saturating_sub(1),
            "no case has a result",
            theme.style(Role::Faint),
        );
    }
    let rows = usize::from(inner.height);
    let name = name_width(screen, inner.width);
    for at in screen.offset..screen.rows.len().min(screen.offset + rows) {
        let row = Rect { y: inner.y + (at - screen.offset) as u16, height: 1, ..inner };
        let style = theme.row(at == screen.cursor);
        buffer.set_style(row, style);
        match screen.rows[at] {
            ComparisonRow::Heading(fate, count) => {
                let sign = if screen.folded.contains(&fate) { "▸" } else { "▾" };
                let words = format!("{sign} {count} {}", heading(fate));
                let look = theme.within(style, role_of(fate, theme));
                put(buffer, row.x, row.y, row.width, &words, look);
            }
            ComparisonRow::Case(case) => {
                case_row(&screen.pair, &screen.pair.found.cases[case], name, row, style, theme, buffer);
            }
        }
    }
    scrollbar(area, screen.offset, rows, screen.rows.len(), theme, buffer);
}

/// "37 → 41 of 52 passed", over the cases that can be compared.
fn passed_words(pair: &ComparedPair) -> String {
    let count = |fate| pair.found.of(fate).count();
    let (broke, fixed) = (count(CaseFate::Broke), count(CaseFate::Fixed));
    let (passing, failing) = (count(CaseFate::StillPassing), count(CaseFate::StillFailing));
    let all = broke + fixed + passing + failing;
    format!("{} → {} of {all} passed", passing + broke, passing + fixed)
}

fn heading(fate: CaseFate) -> &'static str {
    match fate {
        CaseFate::Broke => "broke",
        CaseFate::Fixed => "fixed",
        CaseFate::Edited => "edited between the runs, not comparable",
        CaseFate::NotEvaluated => "not evaluated in one of the runs, not comparable",
        CaseFate::StillFailing => "still failing",
        CaseFate::StillPassing => "still passing",
        CaseFate::OnlyBefore => "only in the first run",
        CaseFate::OnlyAfter => "only in the second run",
    }
}

fn role_of(fate: CaseFate, theme: &Theme) -> Style {
    match fate {
        CaseFate::Broke | CaseFate::StillFailing => theme.status(Status::Failed),
        CaseFate::Fixed | CaseFate::StillPassing => theme.status(Status::Passed),
        CaseFate::Edited | CaseFate::NotEvaluated => theme.status(Status::NotEvaluated),
        CaseFate::OnlyBefore | CaseFate::OnlyAfter => theme.style(Role::Title),
    }
}

/// Columns of the outcomes in both runs.
const OUTCOMES: u16 = 12;

fn name_width(screen: &ComparisonScreen, width: u16) -> u16 {
    let shown = screen.rows.iter().skip(screen.offset).take(100).filter_map(|row| match row {
        ComparisonRow::Case(at) => Some(screen.pair.eval_id(&screen.pair.found.cases[*at]).width()),
        ComparisonRow::Heading(..) => None,
    });
    let most = usize::from(width).saturating_sub(usize::from(OUTCOMES) + 2) / 2;
    shown.max().unwrap_or(0).clamp(8, most.max(8)) as u16
}

fn case_row(
    pair: &ComparedPair,
    case: &ComparedCase,
    name: u16,
    row: Rect,
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let mut x = row.x + 2;
    let before = outcome_words(case.before.map(|at| pair.before.state.attempts_of(at)));
    let after = outcome_words(case.after.map(|at| pair.after.state.attempts_of(at)));
    for (at, (words, status)) in [before, after].into_iter().enumerate() {
        let look = status.map_or(theme.style(Role::Faint), |status| theme.status(status));
        if at == 1 {
            x += put(buffer, x, row.y, 3, " → ", theme.within(style, theme.style(Role::Faint)));
        }
        x += put(buffer, x, row.y, OUTCOMES / 2, &words, theme.within(style, look));
    }
    x = x.max(row.x + OUTCOMES);
    put(buffer, x, row.y, name, pair.eval_id(case), style);
    x += name + 2;
    let words = row_words(pair, case);
    let room = row.right().saturating_sub(x);
    put(buffer, x, row.y, room, &words, theme.within(style, theme.style(Role::Faint)));
}

/// The outcome of a case in a run: the sign of its status and, with several attempts, how many passed.
fn outcome_words(attempts: Option<Vec<Arc<EndedAttempt>>>) -> (String, Option<Status>) {
    let attempts = attempts.unwrap_or_default();
    if attempts.is_empty() {
        return ("·".into(), None);
    }
    let passed = attempts.iter().filter(|attempt| attempt.status == Status::Passed).count();
    let failed = attempts.iter().find(|attempt| attempt.status != Status::Passed);
    let status = failed.map_or(Status::Passed, |attempt| attempt.status);
    let rate = if attempts.len() > 1 { format!(" {passed}/{}", attempts.len()) } else { String::new() };
    (format!("{}{rate}", status.glyph()), Some(status))
}

/// What changed beside the outcome, and why the case does not pass.
fn row_words(pair: &ComparedPair, case: &ComparedCase) -> String {
    let changed: Vec<&str> = case.changed.iter().map(|condition| condition.label()).collect();
    let [before, after] = pair.attempts(case);
    let reason = after.or(before).map(|attempt| attempt.reason().to_string()).unwrap_or_default();
    let was = match (case.before, case.after) {
        (Some(a), Some(b)) if pair.before.eval_id(a) != pair.after.eval_id(b) => {
            format!("was {}  ", pair.before.eval_id(a))
        }
        _ => String::new(),
    };
    match changed.is_empty() {
        true => format!("{was}{reason}"),
        false => format!("{was}changed: {}  {reason}", changed.join(", ")),
    }
}

/// The two runs, every metric with its difference, and whether the differences are more than noise.
fn metrics(model: &Model, pair: &ComparedPair, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let inner = panel(area, "metrics", false, theme, buffer);
    let mut y = inner.y;
    let width = inner.width.saturating_sub(2);
    let mut line = |text: &str, role: Role, buffer: &mut Buffer| {
        if y < inner.bottom() {
            put(buffer, inner.x + 1, y, width, text, theme.style(role));
            y += 1;
        }
    };
    for (title, run) in [("first ", &pair.before), ("second", &pair.after)] {
        let started = model.started_words(&run.state.plan.started);
        line(&format!("{title}  {}  {started}", clean_line(&run.name)), Role::Text, buffer);
        line(&format!("        {}", clean_line(&run.state.plan.agent_label())), Role::Faint, buffer);
    }
    line("", Role::Text, buffer);
    let changed = match pair.found.of(CaseFate::Broke).count() + pair.found.of(CaseFate::Fixed).count() {
        0 => "no case changed its outcome".to_string(),
        _ => format!("outcomes: McNemar {}", p_words(pair.found.p())),
    };
    line(&changed, Role::Text, buffer);
    line("", Role::Text, buffer);
    for metric in &pair.found.metrics {
        line(&clean_line(&metric.metric), Role::Key, buffer);
        let p = metric.p.map_or("no score differs".to_string(), p_words);
        let difference = metric.after - metric.before;
        let words = format!("  {:.3} → {:.3}  {difference:+.3}  {p}", metric.before, metric.after);
        line(&words, Role::Text, buffer);
    }
    if pair.found.metrics.iter().any(|metric| metric.p.is_some()) && area.height > 12 {
        let y = inner.bottom() - 1;
        let words = "p of scores: Wilcoxon, each metric by itself";
        put_right(buffer, inner.right() - 1, y, inner.width, words, theme.style(Role::Faint));
    }
}
