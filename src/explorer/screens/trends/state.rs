//! State of the screen of trends.

use crate::explorer::set_view::SetView;
use crate::explorer::ticket::Ticket;
use crate::history::{History, RunHead, RunSource, SetResults};
use crate::workspace::SetPath;
use std::path::Path;
use std::sync::Arc;

/// State of the screen of trends.
#[derive(Debug, Default)]
pub struct TrendsScreen {
    /// The runs; `None` until they are read.
    pub history: Option<Arc<History>>,
    /// Ticket of the request whose runs are shown.
    pub read: Ticket,
    /// The rows.
    pub series: Vec<Series>,
    /// Index into `series`.
    pub cursor: usize,
    /// First visible row.
    pub offset: usize,
    /// The chosen run, as a position in the history's runs; the latest of the row when `None`.
    pub run: Option<usize>,
    /// Whether the screen was opened from the list of runs.
    pub from_runs: bool,
}

/// A number of a set over the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The set as displayed.
    pub set: String,
    /// The metric; `None` for the share of attempts that passed.
    pub metric: Option<String>,
    /// The values, oldest first.
    pub points: Vec<SeriesPoint>,
}

/// A value of a set in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesPoint {
    /// Position in the history's runs.
    pub run: usize,
    /// The value.
    pub value: f64,
    /// The number of attempts that it is computed from.
    pub attempts: usize,
}

impl TrendsScreen {
    /// Shows these runs. The cursor stays on its row. Foreign runs, files that evaltrail wrote for ADK and runs of single
    /// turns are left out.
    pub(crate) fn put(&mut self, history: Arc<History>, sets: &[SetView], folder: &Path) {
        let here = self.series.get(self.cursor).map(|series| (series.set.clone(), series.metric.clone()));
        let chosen = self.run_head().map(|head| head.path.clone());
        self.series = series_of(&history, sets, folder);
        let is_here = |series: &Series| {
            here.as_ref().is_some_and(|(set, metric)| series.set == *set && series.metric == *metric)
        };
        self.cursor = self.series.iter().position(is_here).unwrap_or(0);
        self.run = chosen.and_then(|path| history.runs.iter().position(|head| head.path == path));
        self.history = Some(history);
    }

    /// The row under the cursor.
    pub fn current(&self) -> Option<&Series> {
        self.series.get(self.cursor)
    }

    /// Position of the chosen run among the points of the row under the cursor: the last one that is not newer.
    pub fn point(&self) -> Option<usize> {
        let points = &self.current()?.points;
        // The history's runs are newest first.
        let not_newer = |point: &SeriesPoint| self.run.is_none_or(|run| point.run >= run);
        points.iter().rposition(not_newer).or_else(|| (!points.is_empty()).then_some(0))
    }

    /// The chosen run.
    pub fn run_head(&self) -> Option<&RunHead> {
        let point = self.current()?.points.get(self.point()?)?;
        self.history.as_ref()?.runs.get(point.run)
    }
}

/// The rows: for each set its pass rate, then its metrics, in the order of the sets. Sets that are no longer in the
/// folder come last.
fn series_of(history: &History, sets: &[SetView], folder: &Path) -> Vec<Series> {
    let mut found: Vec<(usize, Series)> = Vec::new();
    let is_in_trends = |head: &RunHead| !head.is_foreign() && !head.is_copy() && head.turn.is_none();
    for (run, head) in history.runs.iter().enumerate().rev().filter(|(_, head)| is_in_trends(head)) {
        for (set, shown, results) in results_of(head, sets, folder) {
            let ended = results.totals.ended();
            if ended > 0 {
                let value = results.totals.passed as f64 / ended as f64;
                add(&mut found, (set, &shown), None, SeriesPoint { run, value, attempts: ended });
            }
            for metric in &results.metrics {
                if let Some(value) = metric.mean {
                    let point = SeriesPoint { run, value, attempts: metric.scored };
                    add(&mut found, (set, &shown), Some(&metric.metric), point);
                }
            }
        }
    }
    // The sort is stable: the rows of a set stay together, and in the order in which they first appear.
    found.sort_by(|(a, one), (b, other)| {
        (a, &one.set, one.metric.is_some()).cmp(&(b, &other.set, other.metric.is_some()))
    });
    found.into_iter().map(|(_, series)| series).collect()
}

fn add(
    found: &mut Vec<(usize, Series)>,
    (set, shown): (usize, &str),
    metric: Option<&str>,
    point: SeriesPoint,
) {
    let is_it =
        |(_, series): &&mut (usize, Series)| series.set == shown && series.metric.as_deref() == metric;
    match found.iter_mut().find(is_it) {
        Some((_, series)) => series.points.push(point),
        None => {
            let (set_shown, metric) = (shown.to_string(), metric.map(str::to_string));
            found.push((set, Series { set: set_shown, metric, points: vec![point] }));
        }
    }
}

/// The results of a run by set: the set's position (those that are no longer in the folder come last), its name as
/// displayed, and the results.
fn results_of<'a>(
    head: &'a RunHead,
    sets: &[SetView],
    folder: &Path,
) -> Vec<(usize, String, &'a SetResults)> {
    match &head.source {
        RunSource::Evaltrail { sets: counted, .. } => {
            let of = |one: &'a crate::history::SetCount| {
                let at = sets.iter().position(|set| set.path.path == one.path);
                (at.unwrap_or(sets.len()), SetPath::of_file(&one.path, folder).shown, &one.results)
            };
            counted.iter().map(of).collect()
        }
        RunSource::Adk { app_dir, set_id, results, .. } => {
            let is_it = |set: &SetView| {
                set.path.path.starts_with(app_dir)
                    && (set.path.stem == *set_id || set.read.as_ref().is_some_and(|file| file.id == *set_id))
            };
            let at = sets.iter().position(is_it);
            let shown = at.map_or_else(|| set_id.clone(), |at| sets[at].path.shown.clone());
            vec![(at.unwrap_or(sets.len()), shown, results)]
        }
    }
}
