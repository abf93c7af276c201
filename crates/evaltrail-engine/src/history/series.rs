//! The pass rate and the metrics of each set over the runs of a workspace.

use super::{CriteriaNumbers, History, RunSource, RunSummary, SetCount, SetResults};
use evaltrail_core::analysis::wilson_interval;
use evaltrail_core::domain::stored_path::path_below;
use evaltrail_core::domain::{Totals, score_text};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A set whose numbers are collected.
#[derive(Clone, Debug)]
pub struct ListedSet {
    /// Its file.
    pub path: PathBuf,
    /// The ids under which ADK stores its results.
    pub ids: Vec<String>,
    /// The number of its cases; `None` if it cannot be read.
    pub cases: Option<usize>,
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

/// The numbers of the sets of a run over the runs of its workspace.
#[derive(Clone, Debug, Default)]
pub struct RunTrends {
    /// The runs of the workspace, newest first.
    pub runs: Vec<RunSummary>,
    /// The numbers with more than one run.
    pub series: Vec<Series>,
}

impl RunTrends {
    /// The numbers of some sets. `folder` is the folder that displayed paths are relative to.
    pub fn new(history: History, sets: &[ListedSet], folder: &Path) -> RunTrends {
        let is_listed = |path: &Path| sets.iter().any(|set| set.path == path);
        let mut series = collect_series(&history, sets, folder);
        series.retain(|series| series.points.len() > 1 && is_listed(&series.path));
        RunTrends {
            runs: history.runs,
            series,
        }
    }
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

impl Series {
    /// Name of the row within its set.
    pub fn name(&self) -> &str {
        self.metric.as_deref().unwrap_or("passed")
    }

    /// A value in the unit of the row: percent for the share that passed.
    pub fn describe(&self, value: f64) -> String {
        match self.metric {
            None => format!("{:.0} %", value * 100.0),
            Some(_) => score_text(value),
        }
    }

    /// The lowest and the highest value of the chart: round numbers around all values.
    pub fn scale(&self) -> (f64, f64) {
        let (lowest, highest) = self.range();
        let bounds = self.points.iter().filter_map(|point| point.interval);
        let (lowest, highest) = bounds.fold((lowest, highest), |(lowest, highest), (low, high)| {
            (lowest.min(low), highest.max(high))
        });
        let step = 10f64
            .powf((highest - lowest).max(0.01).log10().floor())
            .max(0.1);
        let (low, high) = (
            (lowest / step).floor() * step,
            (highest / step).ceil() * step,
        );
        match low < high {
            true => (low, high),
            // One value has no range of its own.
            false if low >= 0.0 && high <= 1.0 => (0.0, 1.0),
            false => (low - step, high + step),
        }
    }

    /// The lowest and the highest value.
    pub fn range(&self) -> (f64, f64) {
        let values = || self.points.iter().map(|point| point.value);
        (
            values().fold(f64::INFINITY, f64::min),
            values().fold(f64::NEG_INFINITY, f64::max),
        )
    }
}

/// Collects the rows.
#[derive(Default)]
struct SeriesBuilder {
    series: Vec<(usize, Series)>,
    /// The criteria of each of them.
    criteria: Vec<CriteriaNumbers<usize>>,
    /// Positions in `series`, by set as displayed and metric.
    positions: HashMap<(String, Option<String>), usize>,
}

impl SeriesBuilder {
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
            .positions
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

/// More results of ADK in a row with the same number of cases are not taken for results of a part.
const MAX_PARTS: usize = 3;

/// The numbers of cases of each set in its runs.
#[derive(Default)]
struct CaseCounts {
    /// By set as displayed; the runs are in the order in which they were made.
    by_set: HashMap<String, Vec<(usize, usize)>>,
}

impl CaseCounts {
    fn add(&mut self, run: usize, set: &SetOfRun) {
        if let Some(cases) = set.cases {
            self.by_set
                .entry(set.shown.clone())
                .or_default()
                .push((run, cases));
        }
    }

    /// Whether a result of ADK, which does not say of how many cases it is, is of only some of them: the nearest earlier run
    /// with another number has more, and so has the nearest later one or, without one, the file; and there are at most
    /// [`MAX_PARTS`] with this number in a row.
    fn is_part(&self, run: usize, set: &SetOfRun, in_file: Option<usize>) -> bool {
        let Some(counts) = self.by_set.get(&set.shown) else {
            return false;
        };
        let Some(at) = counts.iter().position(|(other, _)| *other == run) else {
            return false;
        };
        let cases = counts[at].1;
        let is_same = |(_, other): &&(usize, usize)| *other == cases;
        let (before, after) = counts.split_at(at);
        let alike_before = before.iter().rev().take_while(is_same).count();
        let alike_after = after.iter().take_while(is_same).count();
        let before = before
            .iter()
            .rev()
            .nth(alike_before)
            .map(|(_, cases)| *cases);
        let after = after.get(alike_after).map(|(_, cases)| *cases).or(in_file);
        let has_more = |other: Option<usize>| other.is_some_and(|other| other > cases);
        // So many in a row are rather the whole of a file that was shorter then.
        let is_short = alike_before + alike_after <= MAX_PARTS;
        is_short && has_more(before) && has_more(after)
    }
}

/// The rows: for each set its pass rate, then its metrics, in the order of the sets. Runs of only some of the cases of a
/// set are left out, because their numbers are about other cases.
pub fn collect_series(history: &History, sets: &[ListedSet], folder: &Path) -> Vec<Series> {
    let mut rows = SeriesBuilder::default();
    let positions: HashMap<&Path, usize> = sets
        .iter()
        .enumerate()
        .map(|(at, set)| (set.path.as_path(), at))
        .collect();
    let runs = || {
        let runs = history.runs.iter().enumerate().rev();
        runs.filter(|(_, summary)| summary.is_in_trends())
    };
    let mut counts = CaseCounts::default();
    for (run, summary) in runs() {
        for set in sets_of_run(summary, sets, &positions, folder) {
            counts.add(run, &set);
        }
    }
    for (run, summary) in runs() {
        for set in sets_of_run(summary, sets, &positions, folder) {
            let in_file = sets.get(set.at).and_then(|listed| listed.cases);
            if !summary.is_evaltrail() && counts.is_part(run, &set, in_file) {
                continue;
            }
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
    run: &'a RunSummary,
    sets: &[ListedSet],
    positions: &HashMap<&Path, usize>,
    folder: &Path,
) -> Vec<SetOfRun<'a>> {
    match &run.source {
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
            cases,
            ..
        } => {
            let is_it = |set: &ListedSet| set.path.starts_with(app_dir) && set.ids.contains(set_id);
            let at = sets.iter().position(is_it);
            let path = at.map_or_else(PathBuf::new, |at| sets[at].path.clone());
            let shown = at.map_or_else(|| set_id.clone(), |_| path_below(folder, &path));
            vec![SetOfRun {
                at: at.unwrap_or(sets.len()),
                shown,
                path,
                cases: Some(*cases),
                results,
            }]
        }
    }
}
