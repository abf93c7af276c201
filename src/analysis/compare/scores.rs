//! The metrics of two runs.

use super::run::RunToCompare;
use crate::analysis::permutation::{self, CaseScores};
use crate::analysis::statistics::wilcoxon;
use crate::domain::{Criterion, EndedAttempt, PlannedSet};
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
}

impl ScoreTest {
    /// The p-value, if there was a test.
    pub fn p(self) -> Option<f64> {
        match self {
            ScoreTest::Wilcoxon(p) | ScoreTest::WithinCases(p) => Some(p),
            ScoreTest::Equal => None,
        }
    }

    /// The name of the test in JSON.
    pub fn key(self) -> Option<&'static str> {
        match self {
            ScoreTest::Wilcoxon(_) => Some("wilcoxon"),
            ScoreTest::WithinCases(_) => Some("within_cases"),
            ScoreTest::Equal => None,
        }
    }
}

/// The scores of a metric in the cases of both runs.
struct Collected {
    metric: String,
    cases: Vec<CaseScores>,
    other_options: usize,
}

/// Compares the metrics over these cases, in the order in which they first appear in the second run.
pub(super) fn compared_metrics(
    before: &RunToCompare,
    after: &RunToCompare,
    pairs: &[(usize, usize)],
) -> Vec<ComparedMetric> {
    // One pass over the cases: the summaries of their attempts are compressed in the order of the cases.
    let mut found: Vec<Collected> = Vec::new();
    for &(a, b) in pairs {
        let (old, new) = (before.plan.set_of(a), after.plan.set_of(b));
        let (a, b) = (before.attempts_of(a), after.attempts_of(b));
        for metric in b.iter().flat_map(|attempt| &attempt.metrics) {
            if !found.iter().any(|of| of.metric == metric.metric) {
                let metric = metric.metric.clone();
                found.push(Collected {
                    metric,
                    cases: Vec::new(),
                    other_options: 0,
                });
            }
        }
        for of in &mut found {
            let scores = CaseScores {
                before: scores(&a, &of.metric),
                after: scores(&b, &of.metric),
            };
            if scores.means().is_some() {
                of.cases.push(scores);
                of.other_options += usize::from(has_other_options(old, new, &of.metric));
            }
        }
    }
    found.into_iter().filter_map(compared_metric).collect()
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
