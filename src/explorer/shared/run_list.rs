//! State of the screen of runs.

use crate::explorer::shared::ticket::Ticket;
use evaltrail_engine::history::{History, RunSummary, predecessor};
use std::path::PathBuf;
use std::sync::Arc;

/// The screen of runs. The model keeps its state, [`RunsState`], while another screen is shown.
#[derive(Clone, Copy, Debug)]
pub struct RunsScreen;

/// State of the screen of runs.
#[derive(Debug, Default)]
pub struct RunsState {
    /// The runs; `None` until they are read.
    pub history: Option<Arc<History>>,
    /// Ticket of the request whose runs are shown.
    pub read: Ticket,
    /// Positions in `history` of the listed runs.
    pub rows: Vec<usize>,
    /// Index into `rows`.
    pub cursor: usize,
    /// First visible row.
    pub offset: usize,
    /// Whether the cursor stays on the newest run when others arrive: since the screen was opened, it was not moved.
    pub follows_newest: bool,
    /// The path of the run that is marked as the first of a comparison.
    pub marked: Option<PathBuf>,
}

impl RunsState {
    /// Shows these runs. The cursor stays on its run, or on the newest one.
    pub(crate) fn put(&mut self, history: Arc<History>) {
        let here = self.selected().map(|run| run.path.clone());
        self.rows = (0..history.runs.len()).collect();
        let kept = self
            .rows
            .iter()
            .position(|at| Some(&history.runs[*at].path) == here.as_ref());
        self.cursor = match kept {
            _ if self.follows_newest => 0,
            Some(row) => row,
            None => self.cursor.min(self.rows.len().saturating_sub(1)),
        };
        if !history
            .runs
            .iter()
            .any(|run| Some(&run.path) == self.marked.as_ref())
        {
            self.marked = None;
        }
        self.history = Some(history);
    }

    /// The run in a row.
    pub fn row(&self, row: usize) -> Option<&RunSummary> {
        self.history.as_ref()?.runs.get(*self.rows.get(row)?)
    }

    /// The run under the cursor.
    pub fn selected(&self) -> Option<&RunSummary> {
        self.row(self.cursor)
    }

    /// The name that a person gave a run.
    pub fn name_of(&self, run: &RunSummary) -> Option<&str> {
        // Another run may have been planted with the same id.
        let label = self
            .history
            .as_ref()?
            .labels
            .get(&run.run_id)
            .filter(|_| run.is_ours())?;
        label.name.as_deref()
    }

    /// Whether a run is pinned.
    pub fn is_pinned(&self, run: &RunSummary) -> bool {
        let label = self
            .history
            .as_ref()
            .and_then(|history| history.labels.get(&run.run_id));
        run.is_ours() && label.is_some_and(|label| label.pinned)
    }

    /// Whether a run is the baseline.
    pub fn is_baseline(&self, run: &RunSummary) -> bool {
        let history = self.history.as_ref();
        run.is_ours()
            && history.is_some_and(|history| history.baseline.as_ref() == Some(&run.run_id))
    }

    /// The baseline, if it is one of these runs.
    pub fn baseline(&self) -> Option<&RunSummary> {
        let runs = &self.history.as_ref()?.runs;
        runs.iter().find(|run| self.is_baseline(run))
    }

    /// The run that is compared with the one under the cursor: the marked one, else its [`predecessor`].
    pub fn first_of_comparison(&self) -> Option<&RunSummary> {
        let history = self.history.as_ref()?;
        if let Some(marked) = &self.marked {
            return history.runs.iter().find(|run| run.path == *marked);
        }
        let second = self.selected()?;
        let earlier = self.rows.get(self.cursor + 1..)?;
        predecessor(second, earlier.iter().map(|at| &history.runs[*at]))
    }
}
