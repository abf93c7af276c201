//! The metrics of two runs.

use super::pairing::CasePair;
use super::run::RunToCompare;
use crate::analysis::permutation::{self, CaseScores};
use crate::analysis::statistics::wilcoxon;
use crate::domain::{Criterion, EndedAttempt, PlannedSet};
use std::collections::HashMap;
use std::sync::Arc;

/// A metric over the cases that have a score in both runs and were not edited.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedMetric {
    /// The criterion's metric, label included.
    pub metric: String,
    /// The number of cases.
    pub cases: usize,
    /// The mean in the first run. The score of a case is the mean over its attempts.
    pub before: f64,
    /// The mean in the second run.
    pub after: f64,
    /// Whether the difference is more than noise.
    pub test: ScoreTest,
    /// The number of these cases that were scored with other options of the metric in the second run: the difference of the
    /// means may come from them.
    pub other_options: usize,
}

/// The test of the difference of a metric. Two-sided p-values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreTest {
    /// No score differs.
    Equal,
    /// The Wilcoxon signed-rank test of the differences of the cases, which have equally many attempts in both runs.
    Wilcoxon(f64),
    /// The test within cases, for other numbers of attempts: with these, differences of equal agents are not symmetric, as
    /// the Wilcoxon test assumes.
    WithinCases(f64),
    /// There is no test: [`super::OutcomeTest::Selected`].
    Selected,
}

impl ScoreTest {
    /// The p-value, if there was a test.
    pub fn p(self) -> Option<f64> {
        match self {
            ScoreTest::Wilcoxon(p) | ScoreTest::WithinCases(p) => Some(p),
            ScoreTest::Equal | ScoreTest::Selected => None,
        }
    }

    /// The name of the test in JSON.
    pub fn key(self) -> Option<&'static str> {
        match self {
            ScoreTest::Wilcoxon(_) => Some("wilcoxon"),
            ScoreTest::WithinCases(_) => Some("within_cases"),
            ScoreTest::Selected => Some("selected"),
            ScoreTest::Equal => None,
        }
    }
}

/// The scores of the metrics of two runs.
pub(super) struct CollectedMetrics<'a> {
    before: &'a RunToCompare<'a>,
    after: &'a RunToCompare<'a>,
    /// In the order in which they first appear in the second run.
    metrics: Vec<Collected>,
}

/// The scores of a metric in the cases of both runs.
struct Collected {
    metric: String,
    cases: Vec<CaseScores>,
    other_options: usize,
    /// Whether it is computed in another way, by the sets of both plans.
    is_other: HashMap<(usize, usize), bool>,
}

impl<'a> CollectedMetrics<'a> {
    pub(super) fn new(
        before: &'a RunToCompare<'a>,
        after: &'a RunToCompare<'a>,
    ) -> CollectedMetrics<'a> {
        CollectedMetrics {
            before,
            after,
            metrics: Vec::new(),
        }
    }

    /// Adds the scores of a case.
    pub(super) fn add(&mut self, pair: &CasePair) {
        let (before, after) = (self.before, self.after);
        let sets = (
            before.plan.cases.set_of(pair.cases.0),
            after.plan.cases.set_of(pair.cases.1),
        );
        self.add_new_metrics(&pair.attempts.1);
        for of in &mut self.metrics {
            let scores = CaseScores {
                before: scores(&pair.attempts.0, &of.metric),
                after: scores(&pair.attempts.1, &of.metric),
            };
            if scores.means().is_none() {
                continue;
            }
            of.cases.push(scores);
            let is_other = *of.is_other.entry(sets).or_insert_with(|| {
                let (old, new) = (&before.plan.sets[sets.0], &after.plan.sets[sets.1]);
                has_other_options(old, new, &of.metric)
            });
            of.other_options += usize::from(is_other);
        }
    }

    fn add_new_metrics(&mut self, attempts: &[Arc<EndedAttempt>]) {
        for metric in attempts.iter().flat_map(|attempt| &attempt.metrics) {
            if !self.metrics.iter().any(|of| of.metric == metric.metric) {
                self.metrics.push(Collected {
                    metric: metric.metric.clone(),
                    cases: Vec::new(),
                    other_options: 0,
                    is_other: HashMap::new(),
                });
            }
        }
    }

    /// Compares the scores of each metric.
    pub(super) fn compare(self) -> Vec<ComparedMetric> {
        self.metrics
            .into_iter()
            .filter_map(compared_metric)
            .collect()
    }
}

/// Whether a metric is computed in another way: with other options or rules. Another threshold changes no score.
fn has_other_options(old: &PlannedSet, new: &PlannedSet, metric: &str) -> bool {
    let of = |set: &PlannedSet| -> Option<Criterion> {
        set.criteria
            .iter()
            .find(|criterion| criterion.metric == metric)
            .map(Criterion::scoring)
    };
    of(old) != of(new)
}

fn compared_metric(of: Collected) -> Option<ComparedMetric> {
    let means: Vec<(f64, f64)> = of.cases.iter().filter_map(CaseScores::means).collect();
    let cases = means.len();
    let mean = |of: fn(&(f64, f64)) -> f64| means.iter().map(of).sum::<f64>() / cases as f64;
    // Means of equal scores in another order may differ in their last digits.
    let differences: Vec<f64> = means
        .iter()
        .map(|(a, b)| ((b - a) * 1e9).round() / 1e9)
        .collect();
    let is_paired = of
        .cases
        .iter()
        .all(|case| case.before.len() == case.after.len());
    let test = match (is_paired, wilcoxon(&differences)) {
        (_, None) => ScoreTest::Equal,
        (true, Some(p)) => ScoreTest::Wilcoxon(p),
        (false, Some(_)) => {
            permutation::scores(&of.cases).map_or(ScoreTest::Equal, ScoreTest::WithinCases)
        }
    };
    (cases > 0).then(|| ComparedMetric {
        metric: of.metric,
        cases,
        before: mean(|(a, _)| *a),
        after: mean(|(_, b)| *b),
        test,
        other_options: of.other_options,
    })
}

/// The scores of the attempts of a case that have one.
fn scores(attempts: &[Arc<EndedAttempt>], metric: &str) -> Vec<f64> {
    let of = |attempt: &Arc<EndedAttempt>| {
        attempt
            .metrics
            .iter()
            .find(|one| one.metric == metric)?
            .score()
    };
    attempts
        .iter()
        .filter_map(of)
        .filter(|score| score.is_finite())
        .collect()
}
