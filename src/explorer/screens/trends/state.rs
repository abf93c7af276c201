//! State of the screen of trends.

use crate::analysis::wilson_interval;
use crate::domain::Totals;
use crate::domain::stored_path::path_below;
use crate::explorer::shared::set_view::SetView;
use crate::explorer::shared::ticket::Ticket;
use crate::history::{CriteriaNumbers, History, RunSource, RunSummary, SetCount, SetResults};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
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
    /// Its path; empty for a set of ADK that is no longer in the folder.
    pub path: PathBuf,
    /// The metric; `None` for the share of evaluated attempts that passed.
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
    /// The interval that contains the true pass rate with 95 % confidence; `None` for a metric, for a single case, and if the
    /// number of evaluated cases is not known.
    pub interval: Option<(f64, f64)>,
    /// The number of the criteria: equal for runs whose values are comparable. A metric depends on its own options, the share
    /// that passed on all criteria.
    pub criteria: u32,
}

impl TrendsScreen {
    /// Shows these runs. The cursor stays on its row. Foreign runs, files that evaltrail wrote for ADK, runs of single turns
    /// and runs of only some cases of a set are left out.
    pub(crate) fn put(&mut self, history: Arc<History>, sets: &[SetView], folder: &Path) {
        let here = self
            .series
            .get(self.cursor)
            .map(|series| (series.set.clone(), series.metric.clone()));
        let chosen = self.run_head().map(|head| head.path.clone());
        self.series = series_of(&history, sets, folder);
        let is_here = |series: &Series| {
            here.as_ref()
                .is_some_and(|(set, metric)| series.set == *set && series.metric == *metric)
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
        points
            .iter()
            .rposition(not_newer)
            .or_else(|| (!points.is_empty()).then_some(0))
    }

    /// The chosen run.
    pub fn run_head(&self) -> Option<&RunSummary> {
        let point = self.current()?.points.get(self.point()?)?;
        self.history.as_ref()?.runs.get(point.run)
    }
}

/// Collects the rows.
#[derive(Default)]
struct Rows {
    series: Vec<(usize, Series)>,
    /// The criteria of each of them.
    criteria: Vec<CriteriaNumbers<usize>>,
    /// Positions in `series`, by set as displayed and metric.
    places: HashMap<(String, Option<String>), usize>,
}

impl Rows {
    fn add(
        &mut self,
        history: &History,
        set: &SetOfRun,
        metric: Option<&str>,
        mut point: SeriesPoint,
    ) {
        let key = (set.shown.clone(), metric.map(str::to_string));
        let (series, criteria) = (&mut self.series, &mut self.criteria);
        let at = *self
            .places
            .entry(key)
            .or_insert_with_key(|(shown, metric)| {
                let (shown, metric, path) = (shown.clone(), metric.clone(), set.path.clone());
                series.push((
                    set.at,
                    Series {
                        set: shown,
                        path,
                        metric,
                        points: Vec::new(),
                    },
                ));
                criteria.push(CriteriaNumbers::default());
                series.len() - 1
            });
        let is_other = |a: &usize, b: &usize| {
            let (a, b) = (&history.runs[*a], &history.runs[*b]);
            match metric {
                None => a.has_other_criteria(b, &set.path),
                Some(metric) => a.has_other_scoring(b, &set.path, metric),
            }
        };
        point.criteria = criteria[at].number(point.run, is_other);
        series[at].1.points.push(point);
    }
}

/// A set of a run with its results.
struct SetOfRun<'a> {
    /// Position of the set; sets that are no longer in the folder come last.
    at: usize,
    shown: String,
    path: PathBuf,
    /// The number of its cases; `None` if it is not known.
    cases: Option<usize>,
    results: &'a SetResults,
}

/// The interval of a pass rate. Attempts of the same case depend on each other, so that each case counts once.
fn pass_rate_interval(rate: f64, totals: Totals, cases: Option<usize>) -> Option<(f64, f64)> {
    let (evaluated, ended) = (totals.evaluated(), totals.ended());
    let independent = match cases? {
        cases if ended <= cases => evaluated,
        cases if ended == evaluated => cases,
        // It is not known of which cases the attempts are that were not evaluated.
        _ => return None,
    };
    (independent > 1).then(|| wilson_interval(rate, independent))
}

/// The rows: for each set its pass rate, then its metrics, in the order of the sets. Runs of only some of the cases of a
/// set are left out, because their numbers are about other cases.
fn series_of(history: &History, sets: &[SetView], folder: &Path) -> Vec<Series> {
    let mut rows = Rows::default();
    let positions: HashMap<&Path, usize> = sets
        .iter()
        .enumerate()
        .map(|(at, set)| (set.path.path.as_path(), at))
        .collect();
    for (run, head) in history
        .runs
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, head)| head.is_in_trends())
    {
        for set in sets_of_run(head, sets, &positions, folder) {
            let totals = set.results.totals;
            if let Some(value) = set.results.pass_rate {
                let point = SeriesPoint {
                    run,
                    value,
                    attempts: totals.evaluated(),
                    interval: pass_rate_interval(value, totals, set.cases),
                    criteria: 0,
                };
                rows.add(history, &set, None, point);
            }
            for metric in &set.results.metrics {
                if let Some(value) = metric.mean {
                    let point = SeriesPoint {
                        run,
                        value,
                        attempts: metric.scored,
                        interval: None,
                        criteria: 0,
                    };
                    rows.add(history, &set, Some(&metric.metric), point);
                }
            }
        }
    }
    let mut found = rows.series;
    // The sort is stable: the metrics of a set are in the order in which they first appear.
    found.sort_by(|(a, one), (b, other)| {
        (a, &one.set, one.metric.is_some()).cmp(&(b, &other.set, other.metric.is_some()))
    });
    found.into_iter().map(|(_, series)| series).collect()
}

/// The sets of a run of which all cases were run, as far as it is known.
fn sets_of_run<'a>(
    head: &'a RunSummary,
    sets: &[SetView],
    positions: &HashMap<&Path, usize>,
    folder: &Path,
) -> Vec<SetOfRun<'a>> {
    match &head.source {
        RunSource::Evaltrail { sets: counted, .. } => {
            let of = |one: &'a SetCount| SetOfRun {
                at: positions
                    .get(one.path.as_path())
                    .copied()
                    .unwrap_or(sets.len()),
                shown: path_below(folder, &one.path),
                path: one.path.clone(),
                cases: Some(one.cases),
                results: &one.results,
            };
            counted
                .iter()
                .filter(|one| one.is_whole != Some(false))
                .map(of)
                .collect()
        }
        RunSource::Adk {
            app_dir,
            set_id,
            results,
            ..
        } => {
            let is_it = |set: &SetView| {
                set.path.path.starts_with(app_dir)
                    && (set.path.stem == *set_id
                        || set.read.as_ref().is_some_and(|file| file.id == *set_id))
            };
            let at = sets.iter().position(is_it);
            let path = at.map_or_else(PathBuf::new, |at| sets[at].path.path.clone());
            let shown = at.map_or_else(|| set_id.clone(), |_| path_below(folder, &path));
            vec![SetOfRun {
                at: at.unwrap_or(sets.len()),
                shown,
                path,
                cases: None,
                results,
            }]
        }
    }
}
