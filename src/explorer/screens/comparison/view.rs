//! Drawing of the list of cases of two runs, and of their metrics.

use crate::explorer::screens::comparison::state::{CaseList, ComparisonRow, ComparisonScreen};
use crate::explorer::shared::command_names::{NEXT_COMPARED, PREVIOUS_COMPARED};
use crate::explorer::shared::compared_pair::{ComparedPair, ComparedRun};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::widgets::{panel, panel_note, scrollbar};
use evaltrail_core::analysis::{CaseChange, ChangedCondition, ComparedCase, PassCount};
use evaltrail_core::diff::{Span, Tone, wrap_line};
use evaltrail_core::domain::{
    EndedAttempt, Status, clean_line, difference_text, statistic_text, worst_attempt,
};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// Width in columns from which the metrics are beside the list.
const SIDE_BY_SIDE_FROM: u16 = 120;
/// Columns for the metrics beside the list.
const METRICS_WIDTH: u16 = 58;

pub(super) fn layout(base: Layout, model: &Model) -> Layout {
    let body = base.body;
    let Some(screen) = model.screen::<ComparisonScreen>() else {
        return base;
    };
    if body.width >= SIDE_BY_SIDE_FROM {
        let main = Rect {
            width: body.width - METRICS_WIDTH,
            ..body
        };
        let panel = Rect {
            x: main.right(),
            width: METRICS_WIDTH,
            ..body
        };
        return Layout {
            main,
            panel,
            ..base
        };
    }
    match screen.shows_metrics {
        true => Layout {
            main: Rect::default(),
            panel: body,
            ..base
        },
        false => Layout {
            main: body,
            panel: Rect::default(),
            ..base
        },
    }
}

pub(super) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(screen) = model.screen::<ComparisonScreen>() else {
        return;
    };
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        "compare  ",
        theme.style(Role::Title),
    );
    let words = format!(
        "{} → {}",
        clean_line(&screen.pair.before.name),
        clean_line(&screen.pair.after.name)
    );
    put(
        buffer,
        area.x + used,
        area.y,
        area.width.saturating_sub(used),
        &words,
        theme.style(Role::Text),
    );
}

pub(super) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let screen = model.screen::<ComparisonScreen>()?;
    if !areas.main.is_empty() {
        list(screen, areas.main, theme, buffer);
    }
    if !areas.panel.is_empty() {
        metrics(model, &screen.pair, areas.panel, theme, buffer);
    }
    None
}

/// Which of the runs are unfinished.
fn unfinished_texts(pair: &ComparedPair) -> Vec<String> {
    let runs = [("first", &pair.before), ("second", &pair.after)];
    let text = |(which, run): (&str, &ComparedRun)| {
        let text = run.unfinished_text()?;
        // The separator of the title.
        Some(format!("the {which} run is {}", text.replace(',', ":")))
    };
    runs.into_iter().filter_map(text).collect()
}

fn list(screen: &ComparisonScreen, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let found = &screen.pair.found;
    let unfinished = unfinished_texts(&screen.pair);
    let title = unfinished
        .into_iter()
        .chain(std::iter::once(found.changes_text()))
        .chain(found.unpaired_text())
        .collect::<Vec<_>>()
        .join(", ")
        .replace(", ", " · ");
    let inner = panel(area, &title, true, theme, buffer);
    let note = found.overall.short_passed_text();
    // The counts of cases are worth more than the rate. The frame has two columns on each side of both.
    if title.width() + note.width() + 8 <= usize::from(area.width) {
        panel_note(area, area.y, &note, theme.style(Role::Title), buffer);
    }
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
    let widths = RowWidths::new(screen, inner.width);
    for at in screen.offset..screen.rows.len().min(screen.offset + rows) {
        let row = Rect {
            y: inner.y + (at - screen.offset) as u16,
            height: 1,
            ..inner
        };
        let style = theme.row(at == screen.cursor);
        buffer.set_style(row, style);
        match screen.rows[at] {
            ComparisonRow::Heading(list, count) => {
                let sign = if screen.folded.contains(&list) {
                    "▸"
                } else {
                    "▾"
                };
                let heading = list.heading_text(found);
                let words = format!("{sign} {count} {heading}");
                let look = theme.within(style, role_of(list, theme));
                put(buffer, row.x, row.y, row.width, &words, look);
            }
            ComparisonRow::Case(case) => {
                case_row(
                    &screen.pair,
                    &screen.pair.found.cases[case],
                    widths,
                    row,
                    style,
                    theme,
                    buffer,
                );
            }
        }
    }
    scrollbar(area, screen.offset, rows, screen.rows.len(), theme, buffer);
}

fn role_of(list: CaseList, theme: &Theme) -> Style {
    let change = match list {
        CaseList::Of(change) => change,
        CaseList::Removed => return theme.status(Status::NotEvaluated),
        CaseList::PendingAfter | CaseList::PendingBefore => return theme.style(Role::Title),
    };
    match change {
        CaseChange::Broke | CaseChange::StillFailing => theme.status(Status::Failed),
        CaseChange::Fixed | CaseChange::StillPassing => theme.status(Status::Passed),
        CaseChange::Unclear | CaseChange::Edited | CaseChange::NotEvaluated => {
            theme.status(Status::NotEvaluated)
        }
        CaseChange::OnlyBefore | CaseChange::OnlyAfter => theme.style(Role::Title),
    }
}

/// Columns of the outcomes in both runs, at least.
const OUTCOMES: u16 = 12;
/// Between the outcomes of both runs.
const ARROW: &str = " → ";

/// The widths of the columns of the cases.
#[derive(Clone, Copy)]
struct RowWidths {
    /// The outcomes in both runs, with the indentation before them and the space behind them.
    outcomes: u16,
    name: u16,
}

impl RowWidths {
    /// The widths that the shown rows need.
    fn new(screen: &ComparisonScreen, width: u16) -> RowWidths {
        let rows = screen.rows.iter().skip(screen.offset).take(100);
        let shown = rows.filter_map(|row| match row {
            ComparisonRow::Case(at) => Some(&screen.pair.found.cases[*at]),
            ComparisonRow::Heading(..) => None,
        });
        let (mut name, mut outcomes) = (8, OUTCOMES);
        for case in shown {
            let (before, after) = attempts_in_both(&screen.pair, case);
            let [before, after] = [before, after].map(|side| outcome_text(&side).0.width());
            outcomes = outcomes.max((before + ARROW.width() + after) as u16 + 4);
            name = name.max(screen.pair.case_name(case).width());
        }
        let most = usize::from(width.saturating_sub(outcomes + 2) / 2).max(8);
        RowWidths {
            outcomes,
            name: name.min(most) as u16,
        }
    }
}

/// The attempts of a case in the first and in the second run.
fn attempts_in_both(
    pair: &ComparedPair,
    case: &ComparedCase,
) -> (Vec<Arc<EndedAttempt>>, Vec<Arc<EndedAttempt>>) {
    let attempts = |run: &ComparedRun, at: Option<usize>| at.map(|at| run.state.attempts_of(at));
    (
        attempts(&pair.before, case.before).unwrap_or_default(),
        attempts(&pair.after, case.after).unwrap_or_default(),
    )
}

fn case_row(
    pair: &ComparedPair,
    case: &ComparedCase,
    RowWidths { outcomes, name }: RowWidths,
    row: Rect,
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let mut x = row.x + 2;
    let (before, after) = attempts_in_both(pair, case);
    for (at, (words, status)) in [&before, &after]
        .map(|side| outcome_text(side))
        .into_iter()
        .enumerate()
    {
        let look = status.map_or(theme.style(Role::Faint), |status| theme.status(status));
        if at == 1 {
            x += put(
                buffer,
                x,
                row.y,
                3,
                ARROW,
                theme.within(style, theme.style(Role::Faint)),
            );
        }
        x += put(
            buffer,
            x,
            row.y,
            outcomes,
            &words,
            theme.within(style, look),
        );
    }
    x = x.max(row.x + outcomes);
    put(buffer, x, row.y, name, &pair.case_name(case), style);
    x += name + 2;
    let room = row.right().saturating_sub(x);
    let mut words = row_text(pair, case);
    // Only where it leaves the reason whole.
    if let Some(interval) = interval_text(&before, &after)
        && words.width() + interval.width() + 3 <= usize::from(room)
    {
        words = format!("{words}   {interval}");
    }
    put(
        buffer,
        x,
        row.y,
        room,
        &words,
        theme.within(style, theme.style(Role::Faint)),
    );
}

/// The outcome of a case in a run: the sign of its status and, with several attempts, how many passed.
fn outcome_text(attempts: &[Arc<EndedAttempt>]) -> (String, Option<Status>) {
    let Some(worst) = worst_attempt(attempts) else {
        return ("·".into(), None);
    };
    let rate = match attempts.len() {
        1 => String::new(),
        _ => format!(" {}", PassCount::count(attempts).describe()),
    };
    (
        format!("{}{rate}", worst.status.glyph()),
        Some(worst.status),
    )
}

/// The 95 % intervals of the pass rates of a case in both runs; `None` if it had one evaluated attempt at most in each.
fn interval_text(before: &[Arc<EndedAttempt>], after: &[Arc<EndedAttempt>]) -> Option<String> {
    let [before, after] =
        [before, after].map(|attempts| PassCount::count(attempts).interval_text());
    let words = |interval: Option<String>| interval.unwrap_or_else(|| "–".into());
    (before.is_some() || after.is_some()).then(|| {
        format!(
            "pass rate {} → {} (95 % intervals)",
            words(before),
            words(after)
        )
    })
}

/// What changed beside the outcome, and why the case does not pass.
fn row_text(pair: &ComparedPair, case: &ComparedCase) -> String {
    let [before, after] = pair.attempts(case);
    let why = |attempt: Arc<EndedAttempt>| attempt.reason_with_model_errors();
    let has_passed = after
        .as_ref()
        .is_some_and(|attempt| attempt.status == Status::Passed);
    let reason = match (before, after) {
        // Of a case that passes, why it did not before.
        (Some(before), Some(_)) if has_passed && before.status != Status::Passed => {
            format!("was: {}", why(before))
        }
        (Some(before), Some(after)) if case.has_other_cause => {
            format!("{}; was: {}", why(after), why(before))
        }
        (before, after) => after.or(before).map(why).unwrap_or_default(),
    };
    let mut words = Vec::new();
    if let (true, Some(a)) = (case.changed.contains(&ChangedCondition::Name), case.before) {
        words.push(format!("was {}", pair.before.case_name(a)));
    }
    if let (true, Some(a)) = (case.changed.contains(&ChangedCondition::File), case.before) {
        words.push(format!("was in {}", pair.before.state.plan.set_of(a).file));
    }
    let is_other =
        |of: &&ChangedCondition| !matches!(of, ChangedCondition::Name | ChangedCondition::File);
    let changed: Vec<&str> = case
        .changed
        .iter()
        .filter(is_other)
        .map(|of| of.label())
        .collect();
    if !changed.is_empty() {
        words.push(format!("changed: {}", changed.join(", ")));
    }
    words.push(reason);
    words.join("  ")
}

/// The two runs, every metric with its difference, and whether the differences are more than noise.
fn metrics(model: &Model, pair: &ComparedPair, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let inner = panel(area, "metrics", false, theme, buffer);
    let width = inner.width.saturating_sub(2);
    let lines = run_lines(model, pair)
        .into_iter()
        .chain(setup_lines(pair, usize::from(width)))
        .chain(outcome_lines(pair, usize::from(width)))
        .chain(metric_lines(pair));
    for (y, (text, role)) in (inner.y..inner.bottom()).zip(lines) {
        put(buffer, inner.x + 1, y, width, &text, theme.style(role));
    }
    let has_test = pair
        .found
        .metrics
        .iter()
        .any(|metric| metric.test.p().is_some());
    if has_test && area.height > 12 {
        let y = inner.bottom() - 1;
        let words = "p of scores: each metric by itself";
        put_right(
            buffer,
            inner.right() - 1,
            y,
            inner.width,
            words,
            theme.style(Role::Faint),
        );
    }
}

/// Two lines for each run: its name and when it started, and its agent.
fn run_lines(model: &Model, pair: &ComparedPair) -> Vec<(String, Role)> {
    let mut lines = Vec::new();
    for (title, run) in [("first ", &pair.before), ("second", &pair.after)] {
        let started = model.started_text(&run.state.plan.started);
        let name = clean_line(&run.name);
        let unfinished = run.unfinished_text();
        let unfinished = unfinished
            .map(|text| format!("  {text}"))
            .unwrap_or_default();
        lines.push((
            format!("{title}  {name}  {started}{unfinished}"),
            Role::Text,
        ));
        let agent = run.state.plan.agent_label();
        lines.push((format!("        {}", clean_line(&agent)), Role::Faint));
    }
    lines
}

/// What differs between the agents of the runs, after an empty line.
fn setup_lines(pair: &ComparedPair, width: usize) -> Vec<(String, Role)> {
    let texts = pair.setup.lines();
    let wrapped = texts.iter().flat_map(|text| {
        let span = Span::single_line(&clean_line(text), Tone::Plain);
        wrap_line(&[span], width)
    });
    let line = |line: Vec<Span>| line.into_iter().map(|span| span.text).collect::<String>();
    let lines: Vec<String> = wrapped.map(line).collect();
    let empty = (!lines.is_empty()).then(String::new);
    let lines = empty.into_iter().chain(lines);
    lines.map(|text| (text, Role::Note)).collect()
}

/// Whether the difference of the outcomes is more than noise, between empty lines.
fn outcome_lines(pair: &ComparedPair, width: usize) -> Vec<(String, Role)> {
    let outcomes = Span {
        text: format!("outcomes: {}", pair.found.test_text()),
        tone: Tone::Plain,
        changed: false,
    };
    let wrapped = wrap_line(&[outcomes], width);
    let texts = wrapped
        .into_iter()
        .map(|line| line.into_iter().map(|span| span.text).collect::<String>());
    let empty = || std::iter::once(String::new());
    empty()
        .chain(texts)
        .chain(empty())
        .map(|text| (text, Role::Text))
        .collect()
}

/// Two lines for each metric: its name, and its means in both runs with the test of their difference.
fn metric_lines(pair: &ComparedPair) -> Vec<(String, Role)> {
    let mut lines = Vec::new();
    for metric in &pair.found.metrics {
        let other = metric
            .other_options_text()
            .map(|words| format!("  {words}"))
            .unwrap_or_default();
        let name = clean_line(&metric.metric);
        lines.push((format!("{name}{other}"), Role::Key));
        let test = pair.found.score_text(metric.test);
        let difference = difference_text(metric.after - metric.before, 3);
        let (before, after) = (statistic_text(metric.before), statistic_text(metric.after));
        let words = format!("  {before} → {after}  {difference}  {test}");
        lines.push((words, Role::Text));
    }
    lines
}

/// The position of the open case among the listed ones.
pub(super) fn position_text(model: &Model) -> String {
    let Some(screen) = model.screen::<ComparisonScreen>() else {
        return String::new();
    };
    let Some(open) = &screen.case else {
        return String::new();
    };
    let mut listed = screen
        .rows
        .iter()
        .filter(|row| matches!(row, ComparisonRow::Case(_)));
    let count = listed.clone().count();
    let at = listed
        .position(|row| *row == ComparisonRow::Case(open.at))
        .unwrap_or(0);
    format!(
        "{} of {count}  {} {}",
        at + 1,
        NEXT_COMPARED.key(),
        PREVIOUS_COMPARED.key()
    )
}
