//! State of the screen of trends.

use crate::explorer::shared::set_view::SetView;
use crate::explorer::shared::ticket::Ticket;
use evaltrail_engine::history::{
    History, ListedSet, RunSummary, Series, SeriesPoint, collect_series,
};
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

impl TrendsScreen {
    /// Shows these runs. The cursor stays on its row. Foreign runs, files that evaltrail wrote for ADK, runs of single turns
    /// and runs of only some cases of a set are left out.
    pub(crate) fn put(&mut self, history: Arc<History>, sets: &[SetView], folder: &Path) {
        let here = self
            .series
            .get(self.cursor)
            .map(|series| (series.set.clone(), series.metric.clone()));
        let chosen = self.selected_run().map(|run| run.path.clone());
        let listed = |set: &'_ SetView| ListedSet {
            path: set.path.path.clone(),
            ids: set_ids(set),
            cases: set.read.as_ref().map(|file| file.len()),
        };
        let listed: Vec<ListedSet> = sets.iter().map(listed).collect();
        self.series = collect_series(&history, &listed, folder);
        let is_here = |series: &Series| {
            here.as_ref()
                .is_some_and(|(set, metric)| series.set == *set && series.metric == *metric)
        };
        self.cursor = self.series.iter().position(is_here).unwrap_or(0);
        self.run = chosen.and_then(|path| history.runs.iter().position(|run| run.path == path));
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
        points
            .iter()
            .rposition(not_newer)
            .or_else(|| (!points.is_empty()).then_some(0))
    }

    /// The chosen run.
    pub fn selected_run(&self) -> Option<&RunSummary> {
        let point = self.current()?.points.get(self.point()?)?;
        self.history.as_ref()?.runs.get(point.run)
    }
}

/// The ids under which ADK stores results of a set: the name of its file, and its own id.
fn set_ids(set: &SetView) -> Vec<String> {
    let own = set.read.as_ref().map(|file| file.id.clone());
    [set.path.stem.clone()].into_iter().chain(own).collect()
}
