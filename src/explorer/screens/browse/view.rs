//! Sets on the left, cases on the right.

use super::tree_offset;
use crate::domain::{AttemptSummary, EndedAttempt, MetricSummary, Status, Totals};
use crate::explorer::commands::CLEAR;
use crate::explorer::layout::TWO_PANES_FROM;
use crate::explorer::screens::browse::state::{Node, Order, Pane};
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::widgets::{counts_text, level, panel, panel_note, score_block, scrollbar, spinner};
use crate::explorer::{CaseRef, Layout, Model, SetState, case_rows, inside};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::HashSet;
use unicode_width::UnicodeWidthStr;

const TREE_WIDTH: u16 = 30;
/// The sign of a case that could come out either way.
const UNSTEADY: &str = "≈";
const METRIC_WIDTH: u16 = 13;
const TIME_WIDTH: u16 = 8;
const TURNS_WIDTH: u16 = 7;
const REPEATS: usize = 10;

pub(crate) fn layout(base: Layout, model: &Model) -> Layout {
    let body = base.body;
    if body.width >= TWO_PANES_FROM {
        let left = Rect { width: TREE_WIDTH, ..body };
        let main = Rect { x: body.x + TREE_WIDTH, width: body.width - TREE_WIDTH, ..body };
        return Layout { left, main, ..base };
    }
    match model.browse.pane {
        Pane::Sets => Layout { left: body, main: Rect::default(), ..base },
        Pane::Cases => Layout { left: Rect::default(), main: body, ..base },
    }
}

/// The folder that was opened.
pub(crate) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let used = put(buffer, area.x, area.y, area.width, "evaltrail  ", theme.style(Role::Title));
    let room = area.width.saturating_sub(used);
    put(buffer, area.x + used, area.y, room, &model.title, theme.style(Role::Faint));
}

pub(crate) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
    if !areas.left.is_empty() {
        tree(model, areas.left, theme, buffer);
    }
    if !areas.main.is_empty() {
        cases(model, areas, theme, buffer);
    }
    None
}

fn tree(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let focused = model.browse.pane == Pane::Sets;
    let inner = panel(area, "Eval sets", focused, theme, buffer);
    let rows = usize::from(inner.height);
    let first = tree_offset(model, rows);
    for (at, node) in model.browse.nodes.iter().enumerate().skip(first).take(rows) {
        let row = Rect { y: inner.y + (at - first) as u16, height: 1, ..inner };
        let style = cursor_style(at == model.browse.node, focused, theme);
        buffer.set_style(row, style);
        match node {
            Node::Group(name) => {
                put(
                    buffer,
                    row.x + 1,
                    row.y,
                    row.width - 1,
                    &format!("▾ {name}"),
                    style.patch(theme.style(Role::Title)),
                );
            }
            Node::Set(set) => set_row(model, *set, row, style, theme, buffer),
        }
    }
    scrollbar(area, first, rows, model.browse.nodes.len(), theme, buffer);
    if model.browse.nodes.is_empty() && !model.looking {
        put(buffer, inner.x + 1, inner.y, inner.width - 1, "no eval sets here", theme.style(Role::Faint));
    }
}

fn set_row(model: &Model, set: usize, row: Rect, style: Style, theme: &Theme, buffer: &mut Buffer) {
    let view = &model.sets[set];
    let totals = model.outcomes.totals(set);
    let (note, note_style) = match &view.state {
        SetState::Loading => ("…".to_string(), theme.style(Role::Faint)),
        SetState::Failed(_) => ("unreadable".to_string(), theme.style(Role::Bad)),
        SetState::Gone => ("deleted".to_string(), theme.style(Role::Bad)),
        SetState::Ready(file, _) => match totals.ended() {
            0 => (format!("{}", file.len()), theme.style(Role::Faint)),
            _ => {
                let all_passed = totals.passed == totals.ended();
                let role = match (all_passed, totals.failed + totals.errored) {
                    (true, _) => Role::Passed,
                    (false, 0) => Role::NotEvaluated,
                    (false, _) => Role::Failed,
                };
                (format!("{}/{}", totals.passed, file.len()), theme.style(role))
            }
        },
    };
    let used = put_right(buffer, row.right() - 1, row.y, row.width / 2, &note, style.patch(note_style));
    put(buffer, row.x + 3, row.y, row.width.saturating_sub(used + 5), &view.path.stem, style);
}

fn cursor_style(here: bool, focused: bool, theme: &Theme) -> Style {
    match (here, focused) {
        (true, true) => theme.style(Role::Text).patch(theme.style(Role::Cursor)),
        (true, false) => theme.style(Role::Text).patch(theme.style(Role::Title)),
        _ => theme.style(Role::Text),
    }
}

/// The columns of the list, by the room there is and the metrics that are in sight.
struct Columns {
    name: u16,
    metrics: Vec<String>,
    turns: bool,
    time: bool,
}

impl Columns {
    fn fit(model: &Model, width: u16, rows: &[CaseRef]) -> Columns {
        let mut metrics: Vec<String> = Vec::new();
        for case in rows {
            let attempt = model.outcomes.get(*case).and_then(|outcome| outcome.attempts.first());
            for metric in attempt.iter().flat_map(|attempt| &attempt.metrics) {
                if metric.threshold.is_some() && !metrics.contains(&metric.metric) {
                    metrics.push(metric.metric.clone());
                }
            }
        }
        let mut room = width.saturating_sub(4 + 24);
        let mut take = |wide: u16| {
            let fits = room >= wide;
            room -= if fits { wide } else { 0 };
            fits
        };
        let time = take(TIME_WIDTH);
        let count = metrics.iter().take_while(|_| take(METRIC_WIDTH)).count();
        metrics.truncate(count);
        let turns = take(TURNS_WIDTH);
        let name = (24 + room).min(56).min(width.saturating_sub(4));
        Columns { name, metrics, turns, time }
    }
}

fn cases(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let area = areas.main;
    let focused = model.browse.pane == Pane::Cases;
    let totals = counts_text(shown_totals(model));
    let room = usize::from(area.width).saturating_sub(totals.width() + 8);
    let inner = panel(area, &list_title(model, room), focused, theme, buffer);
    panel_note(area, area.y, &totals, theme.style(Role::Title), buffer);
    note_reason(model, area, theme, buffer);
    let rows = case_rows(areas);
    let shown = usize::from(rows.height);
    let browse = &model.browse;
    let window: Vec<CaseRef> = browse.visible.iter().skip(browse.offset).take(shown).copied().collect();
    let columns = Columns::fit(model, inner.width, &window);
    heads(&columns, inner, theme, buffer);
    let running = running_cases(model);
    for (row, case) in window.iter().enumerate() {
        let at = browse.offset + row;
        let area = Rect { y: rows.y + row as u16, height: 1, ..rows };
        let style = cursor_style(at == browse.cursor, focused, theme);
        buffer.set_style(area, style);
        case_row(model, *case, area, &columns, (style, running.contains(case)), theme, buffer);
    }
    scrollbar(area, browse.offset, shown, browse.visible.len(), theme, buffer);
    if browse.visible.is_empty() {
        empty_words(model, rows, theme, buffer);
    }
}

/// What is listed; where there is room, which runs the results are from.
fn list_title(model: &Model, room: usize) -> String {
    let name = match model.browse.nodes.get(model.browse.node) {
        Some(Node::Group(name)) => name.clone(),
        Some(Node::Set(set)) => model.sets[*set].path.shown.clone(),
        None => String::new(),
    };
    let order = match model.browse.order {
        Order::File => "",
        Order::Failing => " · failing first",
        Order::Slowest => " · slowest first",
        Order::Disputed => " · most disputed first",
    };
    let filter = match model.browse.filter.is_empty() {
        true => String::new(),
        false => format!(" · {} of /{}", model.browse.visible.len(), model.browse.filter),
    };
    let selected = match model.browse.selected.len() {
        0 => String::new(),
        count => format!(" · {count} selected"),
    };
    let sets = model.browse.nodes.get(model.browse.node).map(|node| node.sets(model)).unwrap_or_default();
    let title = format!("{name}{order}{filter}{selected}");
    match model.runs_words(&sets).map(|words| format!("{title} · {words}")) {
        Some(with_runs) if with_runs.width() <= room => with_runs,
        _ => title,
    }
}

/// Counts over the sets that are listed.
fn shown_totals(model: &Model) -> Totals {
    let sets = model.browse.nodes.get(model.browse.node).map(|node| node.sets(model)).unwrap_or_default();
    let mut totals = Totals::default();
    for set in sets {
        let of_set = model.outcomes.totals(set);
        totals.passed += of_set.passed;
        totals.failed += of_set.failed;
        totals.errored += of_set.errored;
        totals.not_evaluated += of_set.not_evaluated;
    }
    totals
}

/// Why the case under the cursor did not pass or cannot be read, on the lower border.
fn note_reason(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(case) = model.browse.visible.get(model.browse.cursor).copied() else { return };
    let (status, reason) = match model.outcomes.get(case) {
        Some(outcome) => {
            let worst = outcome.attempts.iter().find(|attempt| attempt.status == outcome.worst);
            (outcome.worst, worst.map(|attempt| attempt.reason()).unwrap_or_default())
        }
        None => {
            let summaries = model.sets[case.set].summaries.as_ref();
            let summary = summaries.and_then(|summaries| summaries.get(case.index));
            (Status::Errored, summary.and_then(|summary| summary.problem.as_deref()).unwrap_or_default())
        }
    };
    if !reason.is_empty() && area.width > 20 {
        let words = format!(" {} {reason} ", status.glyph());
        put(buffer, area.x + 2, area.bottom() - 1, area.width - 4, &words, theme.status(status));
    }
}

fn heads(columns: &Columns, inner: Rect, theme: &Theme, buffer: &mut Buffer) {
    let style = theme.style(Role::Faint);
    put(buffer, inner.x + 4, inner.y, columns.name, "case", style);
    let mut x = inner.x + 4 + columns.name;
    if columns.turns {
        put_right(buffer, x + TURNS_WIDTH - 2, inner.y, TURNS_WIDTH, "turns", style);
        x += TURNS_WIDTH;
    }
    for metric in &columns.metrics {
        put(buffer, x, inner.y, METRIC_WIDTH - 1, short_metric(metric), style);
        x += METRIC_WIDTH;
    }
    if columns.time {
        put_right(buffer, x + TIME_WIDTH - 1, inner.y, TIME_WIDTH, "time", style);
    }
}

fn running_cases(model: &Model) -> HashSet<CaseRef> {
    let Some(run) = model.run.as_ref().filter(|run| run.is_live()) else { return HashSet::new() };
    run.in_flight.keys().filter_map(|key| model.case_of(run, *key)).collect()
}

/// The sign of a case, and how it looks.
fn sign(
    model: &Model,
    case: CaseRef,
    (running, is_unreadable): (bool, bool),
    theme: &Theme,
) -> (&'static str, Style) {
    match (running, model.outcomes.get(case)) {
        (true, _) => (spinner(model.now), theme.style(Role::Running)),
        (false, Some(outcome)) if outcome.unsteady => (UNSTEADY, theme.style(Role::Note)),
        (false, Some(outcome)) => (outcome.worst.glyph(), theme.status(outcome.worst)),
        (false, None) if is_unreadable => (Status::Errored.glyph(), theme.style(Role::Bad)),
        (false, None) => ("·", theme.style(Role::Faint)),
    }
}

fn case_row(
    model: &Model,
    case: CaseRef,
    row: Rect,
    columns: &Columns,
    (style, running): (Style, bool),
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let outcome = model.outcomes.get(case);
    let summary = model.sets[case.set].summaries.as_ref().and_then(|summaries| summaries.get(case.index));
    let problem = summary.and_then(|summary| summary.problem.as_ref());
    if model.browse.selected.contains(&case) {
        put(buffer, row.x, row.y, 1, "●", style.patch(theme.style(Role::Accent)));
    }
    let (glyph, glyph_style) = sign(model, case, (running, problem.is_some()), theme);
    put(buffer, row.x + 2, row.y, 1, glyph, style.patch(glyph_style));
    let name = model.eval_id(case);
    let name = if name.is_empty() { "(no id)" } else { &name };
    let used = put(buffer, row.x + 4, row.y, columns.name - 1, name, style);
    if problem.is_some() {
        let room = (columns.name - 1).saturating_sub(used + 1);
        put(buffer, row.x + 5 + used, row.y, room, "unreadable", style.patch(theme.style(Role::Bad)));
    }
    if let Some(summary) = summary.filter(|_| name.starts_with("row-")) {
        // An id from content says nothing to a person; what is asked does.
        let room = (columns.name - 1).saturating_sub(used + 1);
        let asked = summary.text.lines().next().unwrap_or_default();
        put(buffer, row.x + 5 + used, row.y, room, asked, style.patch(theme.style(Role::Faint)));
    }
    let mut x = row.x + 4 + columns.name;
    if columns.turns {
        let summaries = model.sets[case.set].summaries.as_ref();
        if let Some(turns) = summaries.and_then(|s| s.get(case.index)).map(|summary| summary.turns) {
            put_right(buffer, x + TURNS_WIDTH - 2, row.y, TURNS_WIDTH, &turns.to_string(), style);
        }
        x += TURNS_WIDTH;
    }
    let Some(outcome) = outcome else { return };
    let metrics_width = METRIC_WIDTH * columns.metrics.len() as u16;
    let worst = outcome.attempts.iter().find(|attempt| attempt.status == outcome.worst);
    let Some(attempt) = worst.or(outcome.attempts.first()) else { return };
    match outcome.worst {
        Status::Errored => {
            let words = attempt.error.as_deref().unwrap_or("errored");
            put(
                buffer,
                x,
                row.y,
                metrics_width.saturating_sub(1),
                words,
                style.patch(theme.status(Status::Errored)),
            );
        }
        _ => scores(attempt, &columns.metrics, (x, row.y), style, theme, buffer),
    }
    x += metrics_width;
    if columns.time {
        time(&outcome.attempts, (x, row.y), style, buffer);
    }
}

fn scores(
    attempt: &AttemptSummary,
    names: &[String],
    (x, y): (u16, u16),
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    for (at, name) in names.iter().enumerate() {
        let x = x + METRIC_WIDTH * at as u16;
        let Some(metric) = attempt.metrics.iter().find(|metric| metric.metric == *name) else { continue };
        let look = if metric.unsteady { theme.style(Role::Note) } else { theme.status(metric.status) };
        put(buffer, x, y, METRIC_WIDTH - 1, &score_words(metric), style.patch(look));
    }
}

fn score_words(metric: &MetricSummary) -> String {
    if !metric.rubrics.is_empty() {
        return rubric_words(&metric.rubrics);
    }
    match metric.score {
        Some(score) => format!("{score:.2} {}", score_block(score)),
        None => metric.status.glyph().to_string(),
    }
}

/// How many rubrics hold, and a sign for each in its place.
fn rubric_words(rubrics: &[Option<f64>]) -> String {
    let sign = |rubric: &Option<f64>| match rubric {
        Some(score) if *score >= 1.0 => '✓',
        Some(score) if *score > 0.0 => '◐',
        Some(_) => '✗',
        None => '?',
    };
    let held = rubrics.iter().filter(|rubric| rubric.is_some_and(|score| score >= 1.0)).count();
    format!("{held}/{} {}", rubrics.len(), rubrics.iter().map(sign).collect::<String>())
}

/// Seconds; for repetitions, a bar each.
fn time(attempts: &[std::sync::Arc<EndedAttempt>], (x, y): (u16, u16), style: Style, buffer: &mut Buffer) {
    let longest = attempts.iter().map(|attempt| attempt.latency_s).fold(0.0, f64::max);
    let words = match attempts.len() {
        1 => format!("{longest:.1}s"),
        _ => attempts.iter().take(REPEATS.min(7)).map(|a| level(a.latency_s, longest)).collect(),
    };
    put_right(buffer, x + TIME_WIDTH - 1, y, TIME_WIDTH - 1, &words, style);
}

fn empty_words(model: &Model, rows: Rect, theme: &Theme, buffer: &mut Buffer) {
    let failed = match model.browse.nodes.get(model.browse.node) {
        Some(Node::Set(set)) => match &model.sets[*set].state {
            SetState::Failed(why) => Some(why.clone()),
            SetState::Loading => Some("opening…".into()),
            SetState::Gone => Some("the file was deleted".into()),
            SetState::Ready(..) => None,
        },
        _ => None,
    };
    let words = failed.unwrap_or_else(|| match model.browse.filter.is_empty() {
        false => format!("nothing matches the filter; {} clears it", CLEAR.key()),
        true if model.looking => "looking through the folder…".into(),
        true if model.browse.nodes.is_empty() => {
            "no eval sets or data sets here; try `evaltrail demo`".into()
        }
        true => "no cases".into(),
    });
    let span =
        crate::diff::Span { text: crate::domain::clean_line(&words).into_owned(), ..Default::default() };
    let inner = inside(Rect { x: rows.x, ..rows });
    for (row, line) in crate::diff::wrap_line(&[span], usize::from(inner.width)).iter().enumerate() {
        if (row as u16) < inner.height {
            let place = (inner.x, inner.y + row as u16);
            crate::explorer::widgets::text::put_spans(buffer, place, inner.width, line, theme, Role::Text);
        }
    }
}

/// A metric's name without what is the same in all of them.
fn short_metric(name: &str) -> &str {
    match name {
        "tool_trajectory_avg_score" => "trajectory",
        "response_match_score" => "response",
        "trajectory_match" => "matched",
        "session_state_match" => "state",
        "trajectory_exact_match" => "exact",
        "final_response_match_v2" => "judged",
        "rubric_based_final_response_quality_v1" => "rubrics",
        "rubric_based_tool_use_quality_v1" => "tool rubrics",
        "rubric_based_multi_turn_trajectory_quality_v1" => "trail rubrics",
        "hallucinations_v1" => "supported",
        "per_turn_user_simulator_quality_v1" => "user",
        name => name.strip_suffix("_v1").or(name.strip_suffix("_v2")).unwrap_or(name),
    }
}
