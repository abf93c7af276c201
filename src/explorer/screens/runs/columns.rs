//! The columns of the list of runs.

use super::run_text::name_of;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::run_list::RunsState;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::counts_text;
use evaltrail_core::domain::{Status, Totals, counted};
use evaltrail_engine::history::{RunSource, RunSummary, SetCount};
use evaltrail_engine::workspace::SetPath;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// The text and style of a run in a column.
type CellText<'a> = Box<dyn Fn(&RunSummary) -> (String, Style) + 'a>;

/// A column: its heading, its width, whether it is aligned to the right, and the text and style of a run.
pub(super) struct RunColumn<'a> {
    pub(super) heading: &'static str,
    pub(super) width: u16,
    pub(super) right: bool,
    pub(super) cell: CellText<'a>,
}

/// The columns that fit, the most important first. The last one takes the rest of the width.
pub(super) fn columns<'a>(
    model: &'a Model,
    runs: &'a RunsState,
    width: u16,
    theme: &'a Theme,
) -> Vec<RunColumn<'a>> {
    let mut room = width;
    let fits = |column: &RunColumn| {
        let fits = column.width <= room;
        room -= column.width.min(room);
        fits
    };
    let mut columns: Vec<RunColumn<'a>> = all_columns(model, runs, width, theme)
        .into_iter()
        .take_while(fits)
        .collect();
    let used: u16 = columns.iter().map(|column| column.width).sum();
    if let Some(last) = columns.last_mut().filter(|last| !last.right) {
        last.width += width.saturating_sub(used);
    }
    columns
}

fn all_columns<'a>(
    model: &'a Model,
    runs: &'a RunsState,
    width: u16,
    theme: &'a Theme,
) -> Vec<RunColumn<'a>> {
    let (text, faint) = (theme.style(Role::Text), theme.style(Role::Faint));
    let widths = MeasuredWidths::of_shown(model, runs, width);
    let column = |heading, width, right, cell: CellText<'a>| RunColumn {
        heading,
        width,
        right,
        cell,
    };
    vec![
        column(
            "run",
            widths.name + 2,
            false,
            Box::new(move |run| (name_of(runs, run), text)),
        ),
        column(
            "attempts",
            ATTEMPTS,
            true,
            Box::new(move |run| passed_text(run, theme)),
        ),
        column(
            "not ✓",
            widths.not_passed + 2,
            false,
            Box::new(move |run| (not_passed_text(run), not_passed_style(run, theme))),
        ),
        column(
            "started",
            STARTED,
            false,
            Box::new(move |run| (model.started_text(&run.started), faint)),
        ),
        column(
            "",
            widths.kind,
            false,
            Box::new(move |run| (kind_text(run).into(), theme.style(Role::Note))),
        ),
        column(
            "sets",
            widths.sets + 2,
            false,
            Box::new(move |run| (sets_text(model, run), faint)),
        ),
        column(
            "time",
            9,
            true,
            Box::new(move |run| (time_text(run), faint)),
        ),
        column(
            "agent",
            widths.agent + 2,
            false,
            Box::new(move |run| (run.agent.clone(), text)),
        ),
    ]
}

/// Widths of the columns of attempts and of the start.
const ATTEMPTS: u16 = 10;
const STARTED: u16 = 13;
/// Width of the column that says why a run is not one of the user's own complete runs.
const KIND: u16 = 12;
/// Less of the names of the sets is not shown.
const MIN_SETS: u16 = 8;

/// Widths of columns that depend on the runs that are shown.
struct MeasuredWidths {
    name: u16,
    not_passed: u16,
    sets: u16,
    agent: u16,
    /// 0 if no run is of a special kind.
    kind: u16,
}

impl MeasuredWidths {
    fn of_shown(model: &Model, runs: &RunsState, width: u16) -> MeasuredWidths {
        let shown = || {
            let rows = (0..runs.rows.len()).skip(runs.offset).take(100);
            rows.filter_map(|row| runs.row(row))
        };
        let measured = |text: &dyn Fn(&RunSummary) -> String, least: usize, most: usize| {
            let width = shown().map(|run| text(run).width()).max();
            width.unwrap_or(0).clamp(least, most) as u16
        };
        let is_special = shown().any(|run| !kind_text(run).is_empty());
        let most = usize::from(width / 4).clamp(11, 24);
        let kind = if is_special { KIND } else { 0 };
        let name = measured(&|run| name_of(runs, run), 4, most);
        let not_passed = measured(&not_passed_text, 6, 14);
        let sets = measured(&|run| sets_text(model, run), 4, most);
        // A part of the names of the sets says more than none.
        let left = width.saturating_sub(name + 2 + ATTEMPTS + not_passed + 2 + STARTED + kind + 2);
        MeasuredWidths {
            name,
            not_passed,
            sets: if left >= MIN_SETS {
                sets.min(left)
            } else {
                sets
            },
            agent: measured(&|run| run.agent.clone(), 5, 24),
            kind,
        }
    }
}

fn passed_text(run: &RunSummary, theme: &Theme) -> (String, Style) {
    let words = format!("{}/{}", run.totals.passed, run.attempts);
    let all = run.totals.passed == run.attempts && run.attempts > 0;
    (
        words,
        theme.style(if all { Role::Passed } else { Role::Text }),
    )
}

/// The counts of attempts that did not pass.
fn not_passed_text(run: &RunSummary) -> String {
    counts_text(Totals {
        passed: 0,
        ..run.totals
    })
}

fn not_passed_style(run: &RunSummary, theme: &Theme) -> Style {
    let worst = [Status::Failed, Status::Errored, Status::NotEvaluated]
        .into_iter()
        .find(|status| {
            run.totals
                .each()
                .iter()
                .any(|(count, of)| of == status && *count > 0)
        });
    worst.map_or(theme.style(Role::Faint), |status| theme.status(status))
}

fn time_text(run: &RunSummary) -> String {
    match run.duration_s {
        None => String::new(),
        Some(seconds) if seconds < 100.0 => format!("{seconds:.1}s"),
        Some(seconds) => format!("{} min", (seconds / 60.0).round()),
    }
}

/// Why a run is not one of the user's own complete runs of all turns.
fn kind_text(run: &RunSummary) -> &'static str {
    match &run.source {
        RunSource::Adk { .. } => "ADK",
        RunSource::Evaltrail {
            is_foreign: true, ..
        } => "foreign",
        RunSource::Evaltrail { .. } if !run.is_finished() => "unfinished",
        RunSource::Evaltrail { .. } if run.shard.is_some() => "shard",
        RunSource::Evaltrail { .. } if run.turn.is_some() => "one turn",
        RunSource::Evaltrail { .. } => "",
    }
}

/// The files of the cases of a run, with the number of cases of those that were not run as a whole.
fn sets_text(model: &Model, run: &RunSummary) -> String {
    match &run.source {
        RunSource::Adk { set_id, .. } => set_id.clone(),
        RunSource::Evaltrail { sets, .. } => {
            let text = |set: &SetCount| {
                let stem = SetPath::of_file(&set.path, &model.folder).stem;
                match set.is_whole {
                    Some(false) => format!("{stem} ({})", counted(set.cases, "case")),
                    _ => stem,
                }
            };
            sets.iter().map(text).collect::<Vec<_>>().join(", ")
        }
    }
}
