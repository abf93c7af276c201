//! The requested metrics that have no score in some cases, where no status says it.

use evaltrail_core::domain::{AttemptSummary, RunState, Status, clean_line, counted};
use std::collections::HashSet;

/// A requested metric, and the cases in which it has no score.
struct RequestedMetric<'a> {
    name: &'a str,
    cases: HashSet<usize>,
    without: HashSet<usize>,
    /// Whether it has a score somewhere.
    has_score: bool,
    /// Whether an attempt without a score passed or failed by other metrics: nothing else says then that this one is missing.
    is_unsaid: bool,
    /// Why the first attempt without a score has none.
    why: String,
}

/// A line for each requested metric that could not be computed for a case that passed or failed by others: in how many of how many
/// cases, and why. Beside a table of metrics, without those that have no score at all: the table says it.
pub(super) fn unscored_lines(state: &RunState, has_table: bool) -> Vec<String> {
    let criteria = state.plan.sets.iter().flat_map(|set| &set.criteria);
    let mut metrics = requested_metrics(criteria.map(|criterion| criterion.metric.as_str()));
    for attempt in state.finished.iter() {
        metrics.iter_mut().for_each(|metric| metric.add(&attempt));
    }
    let is_listed = |metric: &&RequestedMetric| !has_table || metric.has_score;
    metrics
        .iter()
        .filter(is_listed)
        .filter_map(RequestedMetric::line)
        .collect()
}

/// Each name once.
fn requested_metrics<'a>(names: impl Iterator<Item = &'a str>) -> Vec<RequestedMetric<'a>> {
    let mut metrics: Vec<RequestedMetric> = Vec::new();
    for name in names {
        if metrics.iter().all(|metric| metric.name != name) {
            metrics.push(RequestedMetric {
                name,
                cases: HashSet::new(),
                without: HashSet::new(),
                has_score: false,
                is_unsaid: false,
                why: String::new(),
            });
        }
    }
    metrics
}

impl RequestedMetric<'_> {
    fn add(&mut self, attempt: &AttemptSummary) {
        let mut results = attempt.metrics.iter();
        let Some(result) = results.find(|result| result.metric == self.name) else {
            return;
        };
        self.cases.insert(attempt.key.case);
        if result.score.is_some() {
            self.has_score = true;
            return;
        }
        self.without.insert(attempt.key.case);
        let is_decided = matches!(attempt.status, Status::Passed | Status::Failed);
        self.is_unsaid |= is_decided || attempt.is_only_scored();
        if self.why.is_empty() {
            self.why.clone_from(&result.explanation);
        }
    }

    fn line(&self) -> Option<String> {
        let why = match self.why.is_empty() {
            true => String::new(),
            false => format!(": {}", clean_line(&self.why)),
        };
        self.is_unsaid.then(|| {
            format!(
                "{}: not evaluated in {} of {}{why}",
                clean_line(self.name),
                self.without.len(),
                counted(self.cases.len(), "case")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{Attempt, AttemptKey, MetricResult, Score};

    fn attempt(case: usize, status: Status, score: Option<f64>) -> AttemptSummary {
        let key = AttemptKey { case, attempt: 1 };
        let metric = MetricResult {
            metric: "judged".into(),
            score: score.and_then(Score::new),
            status: Status::Errored,
            explanation: format!("no answer {case}"),
            threshold: None,
            findings: Vec::new(),
            per_invocation: Vec::new(),
            rubrics: Vec::new(),
            criterion: None,
            details: None,
            judgement: None,
        };
        let attempt = Attempt {
            status,
            metrics: vec![metric],
            ..Attempt::blank(key, "a")
        };
        attempt.summary()
    }

    fn line_for(attempts: &[AttemptSummary]) -> Option<String> {
        let mut metrics = requested_metrics(["judged", "judged"].into_iter());
        assert_eq!(metrics.len(), 1);
        attempts.iter().for_each(|attempt| metrics[0].add(attempt));
        metrics[0].line()
    }

    #[test]
    fn missing_scores_of_passed_cases_are_said() {
        let attempts = [
            attempt(0, Status::Passed, Some(1.0)),
            attempt(1, Status::Passed, None),
            attempt(1, Status::Passed, Some(0.5)),
            attempt(2, Status::Errored, None),
        ];
        let line = line_for(&attempts);
        assert_eq!(
            line.as_deref(),
            Some("judged: not evaluated in 2 of 3 cases: no answer 1")
        );
    }

    #[test]
    fn missing_scores_that_decide_are_not_repeated() {
        assert_eq!(line_for(&[attempt(0, Status::Errored, None)]), None);
        assert_eq!(line_for(&[attempt(0, Status::Passed, Some(1.0))]), None);
        assert_eq!(line_for(&[]), None);
    }
}
