//! What is known about the run under the cursor without reading it.

use super::run_text::{BASELINE, PINNED, name_of};
use crate::explorer::case_list::trend::short;
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::run_list::RunsState;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{fit, put};
use crate::explorer::widgets::{counts_text, panel};
use evaltrail_core::domain::{Shard, counted};
use evaltrail_engine::history::{RunSource, RunSummary, SetCount};
use evaltrail_engine::workspace::SetPath;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

/// Draws the facts about the run under the cursor.
pub(super) fn details(
    model: &Model,
    runs: &RunsState,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let Some(run) = runs.selected() else {
        panel(area, "", false, theme, buffer);
        return;
    };
    let title = fit(
        &name_of(runs, run),
        usize::from(area.width).saturating_sub(8),
    )
    .into_owned();
    panel(area, &title, false, theme, buffer);
    let inner = inside(area);
    let width = usize::from(inner.width.saturating_sub(FACT_NAME + 2));
    let mut facts = facts(model, runs, run, width);
    let rows = usize::from(inner.height);
    if facts.len() > rows && rows > 0 {
        let left = facts.len() - rows + 1;
        facts.truncate(rows - 1);
        facts.push(("", format!("… {}", counted(left, "more line"))));
    }
    for (y, (name, value)) in (inner.y..).zip(&facts) {
        let (x, faint) = (inner.x + 1, theme.style(Role::Faint));
        put(buffer, x, y, FACT_NAME, name, faint);
        let text = theme.style(Role::Text);
        put(
            buffer,
            x + FACT_NAME,
            y,
            width as u16,
            &fit(value, width),
            text,
        );
    }
}

/// Columns for the name of a fact.
const FACT_NAME: u16 = 10;

/// What is known about a run, the most important first, in lines of at most `width` columns where it is a list.
fn facts(
    model: &Model,
    runs: &RunsState,
    run: &RunSummary,
    width: usize,
) -> Vec<(&'static str, String)> {
    let mut facts = vec![("run", run.run_id.clone())];
    let day = run
        .started
        .get(..19)
        .unwrap_or(&run.started)
        .replace('T', " ");
    facts.push((
        "started",
        format!("{day} UTC, {}", model.started_text(&run.started)),
    ));
    facts.extend(special_text(run).map(|words| ("", words)));
    if runs.is_baseline(run) {
        facts.push(("", format!("{BASELINE} the baseline of the folder")));
    } else if runs.is_pinned(run) {
        facts.push(("", format!("{PINNED} pinned: not removed as an old run")));
    }
    let counts = counts_text(run.totals);
    facts.push((
        "attempts",
        format!("{} of {}   {counts}", run.totals.ended(), run.attempts),
    ));
    if let Some(seconds) = run.duration_s {
        let span = match run.merged.is_empty() {
            true => "",
            false => ", from the first start to the last response",
        };
        facts.push(("time", format!("{seconds:.1}s{span}")));
    }
    if !run.agent.is_empty() {
        facts.push(("agent", run.agent.clone()));
    }
    facts.extend(named("sets", &packed(&sets_with_counts(model, run), width)));
    facts.extend(named("criteria", &packed(&run.criteria, width)));
    facts.extend(run.commit.as_ref().map(|commit| ("commit", short(commit))));
    facts.extend(run.judge.clone().map(|judge| ("judge", judge)));
    facts.extend(run.spent.map(|spent| ("judging", spent.describe())));
    facts
}

/// Values in lines of at most `width` columns, as many in a line as fit.
fn packed(values: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for value in values {
        match lines.last_mut() {
            Some(line) if line.width() + value.width() + 3 <= width => {
                line.push_str(" · ");
                line.push_str(value);
            }
            _ => lines.push(value.clone()),
        }
    }
    lines
}

/// One line for each value; the name is before the first.
fn named(name: &'static str, values: &[String]) -> Vec<(&'static str, String)> {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    names.zip(values.iter().cloned()).collect()
}

fn sets_with_counts(model: &Model, run: &RunSummary) -> Vec<String> {
    match &run.source {
        RunSource::Adk { set_id, .. } => vec![set_id.clone()],
        RunSource::Evaltrail { sets, .. } => {
            let line = |set: &SetCount| {
                let shown = SetPath::of_file(&set.path, &model.folder).shown;
                let cases = counted(set.cases, "case");
                format!("{shown}  {cases}")
            };
            sets.iter().map(line).collect()
        }
    }
}

fn special_text(run: &RunSummary) -> Option<String> {
    match &run.source {
        RunSource::Adk { .. } => Some("by ADK".into()),
        RunSource::Evaltrail {
            is_foreign: true, ..
        } => Some("foreign: not recorded by you".into()),
        RunSource::Evaltrail { .. } if !run.is_finished() => Some("unfinished".into()),
        RunSource::Evaltrail { .. } => {
            let shard = run.shard.map(Shard::describe);
            let merged = (!run.merged.is_empty())
                .then(|| format!("merged from {} shards", run.merged.len()));
            shard
                .or(merged)
                .or(run.turn.map(|turn| format!("turn {turn} alone")))
        }
    }
}
