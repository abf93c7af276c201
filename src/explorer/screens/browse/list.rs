//! The list of cases.

use super::reason::{note_reason, reason_parts};
use crate::diff::{Span, wrap_line};
use crate::domain::{
    AttemptSummary, MetricSummary, Score, Status, Totals, clean_line, score_text, seconds_text,
};
use crate::explorer::authoring::conditions::can_write_set;
use crate::explorer::case_list::decisions::{quarantine_of, quarantined_totals};
use crate::explorer::case_list::trend::{points, put_sparkline};
use crate::explorer::screens::browse::reason::attempt_text;
use crate::explorer::shared::case_list::{Node, Pane};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::{CLEAR, NEW_CASE};
use crate::explorer::shared::layout::{Layout, case_rows, inside};
use crate::explorer::shared::list_columns::Column;
use crate::explorer::shared::list_order::Order;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::shared::set_view::{SetState, set_label};
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right, put_spans};
use crate::explorer::widgets::{counts_text, panel, panel_note, scrollbar, spinner};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::collections::HashSet;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The sign of a case that could come out either way.
const UNSTEADY: &str = "≈";
/// Sign of a failing case that is quarantined.
const QUARANTINED: &str = "‖";
/// Sign of a case that passed in some of its attempts.
const FLAKY: &str = "±";
/// Columns before the name: selection, sign.
const SIGNS: u16 = 4;
const NAME_AT_LEAST: u16 = 16;
const NAME_AT_MOST: u16 = 40;
const SET_WIDTH: u16 = 14;
const METRIC_WIDTH: u16 = 11;
const REASON_AT_LEAST: u16 = 16;
/// Longer reasons take no room from other columns.
const REASON_WANTED: u16 = 72;
const TIME_WIDTH: u16 = 7;
const TURNS_WIDTH: u16 = 6;
/// As wide as its heading.
const ATTEMPTS_AT_LEAST: u16 = 9;
/// The column of past runs: two, and the space behind them.
const RUNS_AT_LEAST: u16 = 5;
/// At most as many past runs are shown.
const RUNS_SHOWN: usize = 8;

/// The widths of the columns; a column of no width is not shown.
struct Columns {
    name: u16,
    set: u16,
    attempts: u16,
    metrics: Vec<String>,
    turns: u16,
    time: u16,
    runs: u16,
    reason: u16,
}

impl Columns {
    /// Divides the width among the columns that the visible rows have something for. When there is little room, columns
    /// give way in this order: turns, scores but the first, past runs, time, the first score, the set, attempts. The
    /// reason is the last one to go, and gets what is left.
    fn fit(model: &Model, width: u16, rows: &[CaseRef], theme: &Theme) -> Columns {
        let outcomes: Vec<&CaseOutcome> = rows
            .iter()
            .filter_map(|case| model.view.outcomes.get(*case))
            .collect();
        let is_shown = |column: Column| !model.view.browse.hidden.contains(&column);
        let if_shown = |column: Column, width: u16| if is_shown(column) { width } else { 0 };
        let wanted_reason = if_shown(Column::Reason, reason_width(model, rows, theme));
        let mut left = width.saturating_sub(SIGNS);
        let most = match wanted_reason {
            0 => NAME_AT_MOST,
            _ => NAME_AT_MOST.min(left / 2),
        };
        let mut take = |wanted: u16, at_least: u16| {
            let taken = if wanted == 0 || left < at_least {
                0
            } else {
                wanted.min(left)
            };
            left -= taken;
            taken
        };
        let longest = rows
            .iter()
            .map(|case| columns_of(&model.shown_id(*case)) + 2);
        let longest = longest.max().unwrap_or(0).max(NAME_AT_LEAST);
        let name = take(longest.min(most), 1);
        let reserved = take(wanted_reason.min(REASON_AT_LEAST), REASON_AT_LEAST);
        let attempts = take(if_shown(Column::Attempts, attempts_width(&outcomes)), 8);
        let missing = wanted_reason.saturating_sub(reserved);
        let more_reason = if reserved > 0 { take(missing, 1) } else { 0 };
        let set = take(if_shown(Column::Set, set_width(model, rows)), 8);
        let mut metrics = if is_shown(Column::Scores) {
            metrics_of(&outcomes)
        } else {
            Vec::new()
        };
        let first = usize::from(!metrics.is_empty() && take(METRIC_WIDTH, METRIC_WIDTH) > 0);
        let time = if outcomes.is_empty() { 0 } else { TIME_WIDTH };
        let time = take(if_shown(Column::Time, time), TIME_WIDTH);
        let runs = take(
            if_shown(Column::Runs, runs_width(model, rows)),
            RUNS_AT_LEAST,
        );
        let more = metrics
            .iter()
            .skip(1)
            .take_while(|_| take(METRIC_WIDTH, METRIC_WIDTH) > 0)
            .count();
        metrics.truncate(if first > 0 { first + more } else { 0 });
        let turns = take(if_shown(Column::Turns, TURNS_WIDTH), TURNS_WIDTH);
        let rest = take(u16::MAX, 1);
        // Without reasons the names get the rest.
        let (name, reason) = match reserved {
            0 => ((name + rest).min(NAME_AT_MOST.max(name)), 0),
            reserved => (name, reserved + more_reason + rest),
        };
        Columns {
            name,
            set,
            attempts,
            metrics,
            turns,
            time,
            runs,
            reason,
        }
    }
}

/// The width in which four of five reasons of these rows are shown whole; 0 if there is no reason.
fn reason_width(model: &Model, rows: &[CaseRef], theme: &Theme) -> u16 {
    let width = |case: &CaseRef| {
        let parts = reason_parts(model, *case, problem(model, *case), theme);
        parts.iter().map(|(text, _)| columns_of(text)).sum::<u16>()
    };
    let mut widths: Vec<u16> = rows.iter().map(width).filter(|width| *width > 0).collect();
    widths.sort_unstable();
    let wanted = widths.get((widths.len() * 4).div_ceil(5).saturating_sub(1));
    wanted.map_or(0, |width| (*width).clamp(REASON_AT_LEAST, REASON_WANTED))
}

/// The width of the names of the sets, where the list has cases of several.
fn set_width(model: &Model, rows: &[CaseRef]) -> u16 {
    let node = model.view.browse.nodes.get(model.view.browse.node);
    if matches!(node, Some(Node::Set(_)) | None) {
        return 0;
    }
    let label = |case: &CaseRef| columns_of(&set_label(&model.view.sets, case.set)) + 2;
    rows.iter().map(label).max().unwrap_or(0).min(SET_WIDTH)
}

/// The width of a text in columns, as far as a row can be wide.
fn columns_of(text: &str) -> u16 {
    text.width().min(1000) as u16
}

/// Why a case cannot be read.
fn problem(model: &Model, case: CaseRef) -> Option<&str> {
    let summary = model.view.sets[case.set]
        .summaries
        .as_ref()?
        .get(case.index)?;
    summary.problem.as_deref()
}

/// Signs of the attempts and how many passed, where a visible case has more than one.
fn attempts_width(outcomes: &[&CaseOutcome]) -> u16 {
    let most = outcomes
        .iter()
        .map(|outcome| outcome.attempts.len())
        .max()
        .unwrap_or(0);
    if most < 2 {
        0
    } else {
        (attempt_text(&vec![Status::Passed; most]).width() as u16 + 2).max(ATTEMPTS_AT_LEAST)
    }
}

/// The outcomes in past runs, where a visible case has more than one.
fn runs_width(model: &Model, rows: &[CaseRef]) -> u16 {
    let most = rows
        .iter()
        .map(|case| points(model, *case).len())
        .max()
        .unwrap_or(0);
    if most < 2 {
        0
    } else {
        most.clamp(4, RUNS_SHOWN) as u16 + 1
    }
}

/// The metrics with a threshold of these cases: those that some case failed first, else in their order.
fn metrics_of(outcomes: &[&CaseOutcome]) -> Vec<String> {
    let mut metrics: Vec<(String, bool)> = Vec::new();
    for metric in outcomes
        .iter()
        .filter_map(|outcome| outcome.worst_attempt())
        .flat_map(|one| &one.metrics)
    {
        let is_failed = metric.status == Status::Failed;
        match metrics.iter_mut().find(|(name, _)| *name == metric.metric) {
            Some((_, failed)) => *failed |= is_failed,
            None if metric.threshold.is_some() => metrics.push((metric.metric.clone(), is_failed)),
            None => {}
        }
    }
    metrics.sort_by_key(|(_, failed)| !failed);
    metrics.into_iter().map(|(name, _)| name).collect()
}

/// Draws the list into its pane.
pub(super) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let area = areas.main;
    let focused = model.view.browse.pane == Pane::Cases;
    let totals = totals_text(model);
    let room = usize::from(area.width).saturating_sub(totals.width() + 8);
    let inner = panel(area, &list_title(model, room), focused, theme, buffer);
    panel_note(area, area.y, &totals, theme.style(Role::Title), buffer);
    let rows = case_rows(areas);
    let shown = usize::from(rows.height);
    let browse = &model.view.browse;
    let window: Vec<CaseRef> = browse
        .visible
        .iter()
        .skip(browse.offset)
        .take(shown)
        .copied()
        .collect();
    let columns = Columns::fit(model, inner.width, &window, theme);
    if areas.panel.is_empty() {
        note_reason(model, area, theme, buffer);
    }
    heads(&columns, inner, theme, buffer);
    let running = running_cases(model);
    for (row, case) in window.iter().enumerate() {
        let at = browse.offset + row;
        let area = Rect {
            y: rows.y + row as u16,
            height: 1,
            ..rows
        };
        let style = theme.cursor_row(at == browse.cursor, focused);
        buffer.set_style(area, style);
        case_row(
            model,
            *case,
            area,
            &columns,
            (style, running.contains(case)),
            theme,
            buffer,
        );
    }
    scrollbar(
        area,
        browse.offset,
        shown,
        browse.visible.len(),
        theme,
        buffer,
    );
    if browse.visible.is_empty() {
        empty_text(model, rows, theme, buffer);
    }
}

/// What is listed; where there is room, which runs the results are from.
fn list_title(model: &Model, room: usize) -> String {
    let name = match model.view.browse.nodes.get(model.view.browse.node) {
        Some(Node::All) => "all".to_string(),
        Some(Node::Group(name)) => name.clone(),
        Some(Node::Set(set)) => model.view.sets[*set].path.shown.clone(),
        None => String::new(),
    };
    let order = match model.view.browse.order {
        Order::File => String::new(),
        order => format!(" · {}", order.describe()),
    };
    let filter = match model.view.browse.filter.is_empty() {
        true => String::new(),
        false => format!(
            " · {} of /{}",
            model.view.browse.visible.len(),
            model.view.browse.filter
        ),
    };
    let narrowing = match &model.view.browse.narrowing {
        None => String::new(),
        Some(to) => format!(
            "{}: {} · ",
            model.view.browse.visible.len(),
            clean_line(&to.what.describe())
        ),
    };
    let selected = match model.view.browse.selected.len() {
        0 => String::new(),
        count => format!(" · {count} selected"),
    };
    let mut sets = model.sets_at_cursor();
    sets.retain(|set| model.file(*set).is_some());
    let title = format!("{narrowing}{name}{order}{filter}{selected}");
    match model
        .runs_text(&sets)
        .map(|words| format!("{title} · {words}"))
    {
        Some(with_runs) if with_runs.width() <= room => with_runs,
        _ => cut_to(title, room),
    }
}

/// A text that is cut to a width in columns, with an ellipsis.
fn cut_to(text: String, room: usize) -> String {
    if text.width() <= room {
        return text;
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    text.chars().take_while(fits).collect::<String>() + "…"
}

/// Counts over the sets that are listed; flaky cases and failures of quarantined cases are counted apart.
fn totals_text(model: &Model) -> String {
    let sets = model.sets_at_cursor();
    let (mut totals, mut quarantined, mut flaky) = (Totals::default(), 0, 0);
    for set in sets.into_iter().filter(|set| model.file(*set).is_some()) {
        let (of_set, mut of_flaky) = (
            model.view.outcomes.totals(set),
            model.view.outcomes.flaky(set),
        );
        let (apart, both) = quarantined_totals(model, set);
        of_flaky = of_flaky.without(both);
        totals = totals.and(of_set.without(apart).without(of_flaky));
        quarantined += apart.ended();
        flaky += of_flaky.ended();
    }
    let mut words = counts_text(totals);
    for (sign, count) in [(QUARANTINED, quarantined), (FLAKY, flaky)] {
        if count > 0 {
            words += &format!("  {sign} {count}");
        }
    }
    words
}

fn heads(columns: &Columns, inner: Rect, theme: &Theme, buffer: &mut Buffer) {
    let style = theme.style(Role::Faint);
    let mut x = inner.x + SIGNS;
    let mut head = |width: u16, words: &str, right: bool, buffer: &mut Buffer| {
        match right {
            true => put_right(
                buffer,
                (x + width).saturating_sub(1),
                inner.y,
                width,
                words,
                style,
            ),
            false => put(buffer, x, inner.y, width.saturating_sub(1), words, style),
        };
        x += width;
    };
    head(columns.name, "case", false, buffer);
    head(columns.set, "set", false, buffer);
    head(columns.attempts, "attempts", false, buffer);
    columns
        .metrics
        .iter()
        .for_each(|metric| head(METRIC_WIDTH, short_metric(metric), false, buffer));
    head(columns.turns, "turns", true, buffer);
    head(columns.time, "time", true, buffer);
    head(columns.runs, "runs", false, buffer);
    head(columns.reason, "reason", false, buffer);
}

fn running_cases(model: &Model) -> HashSet<CaseRef> {
    let Some(run) = model.live_run() else {
        return HashSet::new();
    };
    run.in_flight
        .keys()
        .filter_map(|key| model.case_of(run, *key))
        .collect()
}

/// The sign of a case, and how it looks.
fn sign(
    model: &Model,
    case: CaseRef,
    (running, is_unreadable): (bool, bool),
    theme: &Theme,
) -> (&'static str, Style) {
    match (running, model.view.outcomes.get(case)) {
        (true, _) => (spinner(model.now), theme.style(Role::Running)),
        (false, Some(outcome)) if outcome.is_failing() && quarantine_of(model, case).is_some() => {
            (QUARANTINED, theme.style(Role::Note))
        }
        (false, Some(outcome)) if outcome.is_flaky => (FLAKY, theme.style(Role::Note)),
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
    let outcome = model.view.outcomes.get(case);
    let summary = model.view.sets[case.set]
        .summaries
        .as_ref()
        .and_then(|summaries| summaries.get(case.index));
    let problem = problem(model, case);
    if model.view.browse.selected.contains(&case) {
        put(
            buffer,
            row.x,
            row.y,
            1,
            "●",
            theme.within(style, theme.style(Role::Accent)),
        );
    }
    let (glyph, glyph_style) = sign(model, case, (running, problem.is_some()), theme);
    put(
        buffer,
        row.x + 2,
        row.y,
        1,
        glyph,
        theme.within(style, glyph_style),
    );
    let mut x = row.x + SIGNS;
    name(model, case, (x, row.y), columns.name, style, theme, buffer);
    x += columns.name;
    put(
        buffer,
        x,
        row.y,
        columns.set.saturating_sub(1),
        &set_label(&model.view.sets, case.set),
        style,
    );
    x += columns.set;
    let worst = outcome.and_then(CaseOutcome::worst_attempt);
    if let Some(outcome) = outcome.filter(|outcome| outcome.attempts.len() > 1) {
        let statuses: Vec<Status> = outcome
            .attempts
            .iter()
            .map(|attempt| attempt.status)
            .collect();
        let look = theme.within(style, theme.status(outcome.worst));
        put(
            buffer,
            x,
            row.y,
            columns.attempts.saturating_sub(1),
            &attempt_text(&statuses),
            look,
        );
    }
    x += columns.attempts;
    if let Some(attempt) = worst.filter(|attempt| attempt.status != Status::Errored) {
        scores(attempt, &columns.metrics, (x, row.y), style, theme, buffer);
    }
    x += METRIC_WIDTH * columns.metrics.len() as u16;
    if let Some(summary) = summary {
        put_right(
            buffer,
            (x + columns.turns).saturating_sub(1),
            row.y,
            columns.turns,
            &summary.turns.to_string(),
            style,
        );
    }
    x += columns.turns;
    if let Some(outcome) = outcome.filter(|_| columns.time > 0) {
        let longest = outcome
            .attempts
            .iter()
            .filter_map(|attempt| attempt.latency_s)
            .reduce(f64::max);
        put_right(
            buffer,
            x + columns.time - 1,
            row.y,
            columns.time,
            &seconds_text(longest),
            style,
        );
    }
    x += columns.time;
    put_sparkline(
        model,
        case,
        (x, row.y),
        columns.runs.saturating_sub(1),
        style,
        theme,
        buffer,
    );
    x += columns.runs;
    let end = x + columns.reason;
    for (text, look) in reason_parts(model, case, problem, theme) {
        let look = theme.within(style, look);
        x += put(buffer, x, row.y, end.saturating_sub(x), &text, look);
    }
}

/// The id of a case; behind it its tags, that it cannot be read, or what a row without an id asks.
fn name(
    model: &Model,
    case: CaseRef,
    (x, y): (u16, u16),
    width: u16,
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let summary = model.view.sets[case.set]
        .summaries
        .as_ref()
        .and_then(|summaries| summaries.get(case.index));
    let id = model.shown_id(case);
    let used = put(buffer, x, y, width.saturating_sub(1), &id, style) + 1;
    let room = width.saturating_sub(used + 1);
    let (words, role) = match (summary, model.notes(case)) {
        (Some(summary), _) if summary.problem.is_some() => ("unreadable".to_string(), Role::Bad),
        // An id made from the content says nothing to a person; what the user asks does.
        (Some(summary), _) if id.starts_with("row-") => (
            summary.text.lines().next().unwrap_or_default().to_string(),
            Role::Faint,
        ),
        (_, Some(notes)) => (
            notes
                .tags
                .iter()
                .map(|tag| format!("#{tag}"))
                .collect::<Vec<_>>()
                .join(" "),
            Role::Faint,
        ),
        _ => return,
    };
    put(
        buffer,
        x + used,
        y,
        room,
        &words,
        theme.within(style, theme.style(role)),
    );
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
        let Some(metric) = attempt.metrics.iter().find(|metric| metric.metric == *name) else {
            continue;
        };
        let look = if metric.unsteady {
            theme.style(Role::Note)
        } else {
            theme.status(metric.status)
        };
        put(
            buffer,
            x,
            y,
            METRIC_WIDTH - 1,
            &summary_score_text(metric),
            theme.within(style, look),
        );
    }
}

fn summary_score_text(metric: &MetricSummary) -> String {
    if !metric.rubrics.is_empty() {
        return rubric_text(&metric.rubrics);
    }
    match metric.score() {
        Some(score) => format!("{} {}", metric.status.glyph(), score_text(score)),
        None => metric.status.glyph().to_string(),
    }
}

/// How many rubrics hold, and a sign for each in its place.
fn rubric_text(rubrics: &[Option<Score>]) -> String {
    let sign = |rubric: &Option<Score>| match rubric {
        Some(score) if *score >= Score::ONE => '✓',
        Some(score) if *score > Score::ZERO => '◐',
        Some(_) => '✗',
        None => '?',
    };
    let held = rubrics
        .iter()
        .filter(|rubric| rubric.is_some_and(|score| score >= Score::ONE))
        .count();
    format!(
        "{held}/{} {}",
        rubrics.len(),
        rubrics.iter().map(sign).collect::<String>()
    )
}

fn empty_text(model: &Model, rows: Rect, theme: &Theme, buffer: &mut Buffer) {
    let failed = match model.view.browse.nodes.get(model.view.browse.node) {
        Some(Node::Set(set)) => match &model.view.sets[*set].state {
            SetState::Failed(why) => Some(why.clone()),
            SetState::Loading => Some("opening…".into()),
            SetState::Gone => Some("the file was deleted".into()),
            SetState::Ready(..) => None,
        },
        _ => None,
    };
    let has_cause = model.view.browse.narrowing.is_some();
    let words = failed.unwrap_or_else(|| match model.view.browse.filter.is_empty() {
        true if has_cause => format!(
            "no case of this cause is here; {} lists all cases",
            CLEAR.key()
        ),
        false => format!("nothing matches the filter; {} clears it", CLEAR.key()),
        true if model.is_searching => "looking through the folder…".into(),
        true if can_write_set(model).is_ok() => format!("no cases; {} adds one", NEW_CASE.key()),
        true => "no cases".into(),
    });
    let span = Span {
        text: clean_line(&words).into_owned(),
        ..Default::default()
    };
    let inner = inside(Rect { x: rows.x, ..rows });
    for (row, line) in wrap_line(&[span], usize::from(inner.width))
        .iter()
        .enumerate()
    {
        if (row as u16) < inner.height {
            let place = (inner.x, inner.y + row as u16);
            put_spans(buffer, place, inner.width, line, theme, Role::Text);
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
        "rubric_based_multi_turn_trajectory_quality_v1" => "trajectory rubrics",
        "hallucinations_v1" => "supported",
        "per_turn_user_simulator_quality_v1" => "user",
        name => name
            .strip_suffix("_v1")
            .or(name.strip_suffix("_v2"))
            .unwrap_or(name),
    }
}
