//! Drawing of the screen of runs.

use crate::explorer::case_list::trend::short;
use crate::explorer::shared::layout::{Layout, case_rows, inside};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::run_list::RunsState;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{fit, put, put_right};
use crate::explorer::widgets::{counts_text, panel, panel_note, scrollbar};
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{Shard, Status};
use evaltrail_engine::history::{RunSource, RunSummary};
use evaltrail_engine::workspace::SetPath;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Position, Rect};
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// Width in columns from which the details of a run are beside the list.
const DETAILS_BESIDE_FROM: u16 = 100;
/// Height in lines from which the details of a run are below the list of a narrower screen.
const DETAILS_BELOW_FROM: u16 = 18;
/// The most lines of the details below the list.
const DETAILS_BELOW: u16 = 12;
/// Columns for the signs: marked, pinned.
const SIGNS: u16 = 4;
/// Sign of the run that is the first of a comparison.
const MARKED: &str = "●";
/// Sign of the run that is the baseline.
const BASELINE: &str = "◆";
/// Sign of another run that is not removed as an old one.
const PINNED: &str = "◇";

pub(super) fn layout(base: Layout, _: &Model) -> Layout {
    let body = base.body;
    let [main, panel] = if body.width >= DETAILS_BESIDE_FROM {
        let details = Constraint::Length(body.width * 2 / 5);
        ratatui::layout::Layout::horizontal([Constraint::Fill(1), details]).areas(body)
    } else if body.height >= DETAILS_BELOW_FROM {
        let details = Constraint::Length(DETAILS_BELOW.min(body.height / 2));
        ratatui::layout::Layout::vertical([Constraint::Fill(1), details]).areas(body)
    } else {
        [body, Rect::default()]
    };
    Layout {
        main,
        panel,
        ..base
    }
}

pub(super) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        "runs  ",
        theme.style(Role::Title),
    );
    let room = area.width.saturating_sub(used);
    put(
        buffer,
        area.x + used,
        area.y,
        room,
        &model.title,
        theme.style(Role::Faint),
    );
}

pub(super) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let runs = &model.runs;
    let mut count = match runs.rows.len() {
        _ if runs.history.is_none() => "runs".to_string(),
        1 => "1 run".to_string(),
        count => format!("{count} runs, newest first"),
    };
    let unreadable = runs
        .history
        .as_ref()
        .map_or(0, |history| history.unreadable.len());
    if unreadable > 0 {
        count = format!("{count}, {unreadable} cannot be read (evaltrail runs says why)");
    }
    panel(areas.main, &count, true, theme, buffer);
    let rows = case_rows(areas);
    if runs.rows.is_empty() {
        let words = match runs.history {
            None => "reading the runs…",
            Some(_) if unreadable > 0 => "no run can be read",
            Some(_) => "no runs here yet",
        };
        put(
            buffer,
            rows.x + 1,
            rows.y,
            rows.width.saturating_sub(1),
            words,
            theme.style(Role::Faint),
        );
    } else {
        list(model, runs, rows, theme, buffer);
        scrollbar(
            areas.main,
            runs.offset,
            usize::from(rows.height),
            runs.rows.len(),
            theme,
            buffer,
        );
    }
    if let Some(first) = runs
        .marked
        .as_ref()
        .and_then(|_| runs.first_of_comparison())
    {
        let words = format!("{MARKED} first of a comparison: {}", name_of(runs, first));
        panel_note(
            areas.main,
            areas.main.bottom() - 1,
            &words,
            theme.style(Role::Note),
            buffer,
        );
    }
    if !areas.panel.is_empty() {
        details(model, runs, areas.panel, theme, buffer);
    }
    None
}

/// Name, or the short id.
fn name_of(runs: &RunsState, run: &RunSummary) -> String {
    let name = runs.name_of(run).map(str::to_string);
    name.unwrap_or_else(|| run.short_id())
}

/// The text and style of a run in a column.
type CellText<'a> = Box<dyn Fn(&RunSummary) -> (String, Style) + 'a>;

/// A column: its heading, its width, whether it is aligned to the right, and the text and style of a run.
struct RunColumn<'a> {
    heading: &'static str,
    width: u16,
    right: bool,
    cell: CellText<'a>,
}

/// The columns that fit, the most important first. The last one takes the rest of the width.
fn columns<'a>(
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
    let widths = MeasuredWidths::of_shown(runs, width);
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
            10,
            true,
            Box::new(move |run| passed_text(run, theme)),
        ),
        column(
            "others",
            16,
            false,
            Box::new(move |run| (others_text(run), others_style(run, theme))),
        ),
        column(
            "started",
            13,
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
        column(
            "sets",
            12,
            false,
            Box::new(move |run| (sets_text(model, run), faint)),
        ),
    ]
}

/// Widths of columns that depend on the runs that are shown.
struct MeasuredWidths {
    name: u16,
    agent: u16,
    /// 0 if no run is of a special kind.
    kind: u16,
}

impl MeasuredWidths {
    fn of_shown(runs: &RunsState, width: u16) -> MeasuredWidths {
        let shown = || {
            let rows = (0..runs.rows.len()).skip(runs.offset).take(100);
            rows.filter_map(|row| runs.row(row))
        };
        let name = shown().map(|run| name_of(runs, run).width()).max();
        let most = usize::from(width / 3).clamp(8, 24);
        let agent = shown().map(|run| run.agent.width()).max();
        let is_special = shown().any(|run| !kind_text(run).is_empty());
        MeasuredWidths {
            name: name.unwrap_or(0).clamp(4, most) as u16,
            agent: agent.unwrap_or(0).clamp(5, 24) as u16,
            kind: if is_special { 12 } else { 0 },
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
fn others_text(run: &RunSummary) -> String {
    counts_text(evaltrail_core::domain::Totals {
        passed: 0,
        ..run.totals
    })
}

fn others_style(run: &RunSummary, theme: &Theme) -> Style {
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
        Some(seconds) if seconds < 100.0 => format!("{seconds:.1} s"),
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

/// The files of the cases of a run.
fn sets_text(model: &Model, run: &RunSummary) -> String {
    match &run.source {
        RunSource::Adk { set_id, .. } => set_id.clone(),
        RunSource::Evaltrail { sets, .. } => {
            let stem = |path| SetPath::of_file(path, &model.folder).stem;
            sets.iter()
                .map(|set| stem(&set.path))
                .collect::<Vec<_>>()
                .join(", ")
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

fn list(model: &Model, runs: &RunsState, rows: Rect, theme: &Theme, buffer: &mut Buffer) {
    let columns = columns(model, runs, rows.width.saturating_sub(SIGNS), theme);
    let mut x = rows.x + SIGNS;
    for column in &columns {
        let room = column.width.saturating_sub(2);
        match column.right {
            true => put_right(
                buffer,
                x + room,
                rows.y - 1,
                room,
                column.heading,
                theme.style(Role::Faint),
            ),
            false => put(
                buffer,
                x,
                rows.y - 1,
                room,
                column.heading,
                theme.style(Role::Faint),
            ),
        };
        x += column.width;
    }
    for at in runs.offset..runs.rows.len().min(runs.offset + usize::from(rows.height)) {
        let Some(run) = runs.row(at) else { continue };
        let row = Rect {
            y: rows.y + (at - runs.offset) as u16,
            height: 1,
            ..rows
        };
        let style = theme.row(at == runs.cursor);
        buffer.set_style(row, style);
        let sign = theme.within(style, theme.style(Role::Accent));
        if runs.marked.as_ref() == Some(&run.path) {
            put(buffer, row.x, row.y, 1, MARKED, sign);
        }
        if runs.is_baseline(run) {
            put(buffer, row.x + 2, row.y, 1, BASELINE, sign);
        } else if runs.is_pinned(run) {
            put(buffer, row.x + 2, row.y, 1, PINNED, sign);
        }
        let mut x = row.x + SIGNS;
        for column in &columns {
            let (words, look) = (column.cell)(run);
            let look = theme.within(style, look);
            let room = column.width.saturating_sub(2);
            match column.right {
                true => put_right(buffer, x + room, row.y, room, &words, look),
                false => put(buffer, x, row.y, room, &words, look),
            };
            x += column.width;
        }
    }
}

/// Everything that is known about the run under the cursor without reading it.
fn details(model: &Model, runs: &RunsState, area: Rect, theme: &Theme, buffer: &mut Buffer) {
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
    for (row, (name, value)) in facts(model, runs, run)
        .iter()
        .enumerate()
        .take(usize::from(inner.height))
    {
        let y = inner.y + row as u16;
        put(
            buffer,
            inner.x + 1,
            y,
            FACT_NAME,
            name,
            theme.style(Role::Faint),
        );
        let x = inner.x + 1 + FACT_NAME;
        put(
            buffer,
            x,
            y,
            inner.right().saturating_sub(x + 1),
            value,
            theme.style(Role::Text),
        );
    }
}

/// Columns for the name of a fact.
const FACT_NAME: u16 = 10;

fn facts(model: &Model, runs: &RunsState, run: &RunSummary) -> Vec<(&'static str, String)> {
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
        facts.push(("time", format!("{seconds:.1} s")));
    }
    if !run.agent.is_empty() {
        facts.push(("agent", run.agent.clone()));
    }
    facts.extend(run.commit.as_ref().map(|commit| ("commit", short(commit))));
    facts.extend(named("criteria", &run.criteria));
    facts.extend(run.judge.clone().map(|judge| ("judge", judge)));
    facts.extend(run.spent.map(|spent| ("judging", spent.describe())));
    facts.extend(named("sets", &set_lines(model, run)));
    facts
}

/// One line for each value; the name is before the first.
fn named(name: &'static str, values: &[String]) -> Vec<(&'static str, String)> {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    names.zip(values.iter().cloned()).collect()
}

fn set_lines(model: &Model, run: &RunSummary) -> Vec<String> {
    match &run.source {
        RunSource::Adk { set_id, .. } => vec![set_id.clone()],
        RunSource::Evaltrail { sets, .. } => {
            let line = |set: &evaltrail_engine::history::SetCount| {
                let shown = SetPath::of_file(&set.path, &model.folder).shown;
                let cases = counted(set.cases, "case");
                format!("{shown}  {cases}")
            };
            sets.iter().map(line).collect()
        }
    }
}
