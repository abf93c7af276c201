//! The gate of a run: when a case with several attempts passes.

use super::{
    AttemptSummary, RateVerdict, Status, least_attempts, mean, rate_verdict, usual_attempts,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When a case passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// All of its attempts pass.
    #[default]
    All,
    /// For every criterion, the mean of the scores over the attempts meets the threshold, as ADK's `AgentEvaluator` decides.
    Mean,
    /// At least this share of its attempts passes, above 0 and at most 1.
    Rate(f64),
    /// Its attempts show that its pass rate is at least this one, above 0 and below 1. It is run until that is known
    /// ([`SequentialRateTest`](super::SequentialRateTest)).
    Until(f64),
}

impl Gate {
    /// The gate with this name: `all`, `mean`, a share as `0.8` or `80%`, or `until=` and a share. The error is a message.
    pub fn parse(text: &str) -> Result<Gate, String> {
        let text = text.trim();
        match text {
            "all" => return Ok(Gate::All),
            "mean" => return Ok(Gate::Mean),
            _ => {}
        }
        if let Some(demanded) = text.strip_prefix("until=") {
            return parse_pass_rate(demanded).map(Gate::Until);
        }
        let rate = parse_share(text).filter(|rate| *rate > 0.0 && *rate <= 1.0);
        rate.map(Gate::Rate).ok_or_else(|| {
            format!(
                "{text:?} is not all, mean, until=RATE, or a share of the attempts above 0 and at most 1, such as 0.8 or 80%"
            )
        })
    }

    /// The gate as it is written in options.
    pub fn name(self) -> String {
        match self {
            Gate::All => "all".into(),
            Gate::Mean => "mean".into(),
            Gate::Rate(rate) => rate.to_string(),
            Gate::Until(rate) => format!("until={rate}"),
        }
    }

    /// The number of attempts of each case if none is given.
    pub fn usual_attempts(self) -> u32 {
        match self {
            Gate::Until(rate) => usual_attempts(rate),
            Gate::All | Gate::Mean | Gate::Rate(_) => 1,
        }
    }

    /// The number of attempts of each case: the one given for the run, else the configured one, else the usual one of the gate.
    /// [`Gate::Until`] takes the number as the maximum, the other gates as the exact number; so a configured number is ignored if
    /// another gate is given for the run and either of them is [`Gate::Until`].
    pub fn attempts(
        configured: (Option<u32>, Gate),
        (given_attempts, given_gate): (Option<u32>, Option<Gate>),
    ) -> u32 {
        let (attempts, configured_gate) = configured;
        let gate = given_gate.unwrap_or(configured_gate);
        let is_until = |gate: Gate| matches!(gate, Gate::Until(_));
        let is_meant = given_gate.is_none() || !is_until(gate) && !is_until(configured_gate);
        let attempts = attempts.filter(|_| is_meant);
        given_attempts.or(attempts).unwrap_or(gate.usual_attempts())
    }

    /// The gate for attempts of an earlier run, to which no more are added until the pass rate is known.
    pub fn without_repeats(self) -> Gate {
        match self {
            Gate::Until(_) => Gate::All,
            gate => gate,
        }
    }

    /// Why this number of attempts of each case is of no use: with it, no case would ever pass.
    pub fn too_few_attempts(self, repeat: u32) -> Option<String> {
        let Gate::Until(rate) = self else {
            return None;
        };
        match least_attempts(rate) {
            None => Some(format!(
                "{}: no number of attempts shows such a rate",
                self.name()
            )),
            Some(least) if least > repeat => Some(format!(
                "{}: a case that always passes needs {least} attempts to show it, and at most {repeat} are allowed",
                self.name()
            )),
            Some(_) => None,
        }
    }

    /// When a case passes, in words.
    pub fn describe(self) -> String {
        match self {
            Gate::All => "a case passes if all its attempts pass".into(),
            Gate::Mean => {
                "a case passes if the mean of each score over its attempts meets the threshold"
                    .into()
            }
            Gate::Rate(rate) => {
                let percent = percent(rate);
                format!("a case passes if at least {percent} % of its attempts pass")
            }
            Gate::Until(rate) => format!(
                "a case passes if its attempts show a pass rate of at least {} %",
                percent(rate)
            ),
        }
    }

    /// Whether a case passes with these attempts. `planned` is the number of attempts that it was to have: those that are
    /// missing did not pass.
    pub fn passes<'a>(
        self,
        attempts: impl IntoIterator<Item = &'a AttemptSummary> + Clone,
        planned: usize,
    ) -> bool {
        let count = attempts.clone().into_iter().count();
        let passed = attempts
            .clone()
            .into_iter()
            .filter(|attempt| attempt.status == Status::Passed)
            .count();
        count > 0
            && match self {
                Gate::All => passed == planned.max(count),
                // Shares as 0.7 are not exact.
                Gate::Rate(rate) => passed as f64 >= rate * planned.max(count) as f64 - 1e-9,
                Gate::Mean => count >= planned && passes_by_means(attempts),
                Gate::Until(rate) => {
                    let attempts = attempts.into_iter();
                    let numbered = attempts.map(|one| (one.key.attempt, one.status));
                    rate_verdict(rate, numbered) == RateVerdict::Passes
                }
            }
    }
}

/// A pass rate that can be tested, above 0 and below 1. The error is a message.
pub(super) fn parse_pass_rate(text: &str) -> Result<f64, String> {
    let rate = parse_share(text).filter(|rate| *rate > 0.0 && *rate < 1.0);
    rate.ok_or_else(|| {
        format!("{text:?} is not a pass rate above 0 and below 1, such as 0.8 or 80%")
    })
}

/// A share as `0.8` or `80%`.
fn parse_share(text: &str) -> Option<f64> {
    let (number, of) = text
        .strip_suffix('%')
        .map_or((text, 1.0), |percent| (percent.trim_end(), 100.0));
    number.parse::<f64>().ok().map(|number| number / of)
}

/// A share in percent, without the digits that are an error of rounding.
pub fn percent(rate: f64) -> f64 {
    (rate * 1e6).round() / 1e4
}

/// The scores of a criterion in the attempts of a case.
#[derive(Default)]
struct CriterionScores {
    threshold: f64,
    scores: Vec<f64>,
    /// Whether higher scores pass, as far as the outcomes of the attempts tell.
    directions: Vec<bool>,
}

impl CriterionScores {
    /// Whether the mean passes. The direction is that of the attempts if they agree on one, as in ADK.
    fn pass(&self) -> bool {
        if self.scores.is_empty() {
            return false;
        }
        let mean = exact_mean(&self.scores);
        match self.directions.iter().all(|is_higher| !is_higher) && !self.directions.is_empty() {
            true => mean <= self.threshold,
            false => mean >= self.threshold,
        }
    }
}

/// The mean of each criterion decides, as in ADK 2.13 (`AgentEvaluator`, `_process_metrics_and_get_failures`). ADK leaves out
/// the scores that could not be computed; here the case does not pass then: every criterion needs a score that was compared
/// with its threshold in every attempt. An attempt that failed although each of its criteria passed does not pass either.
fn passes_by_means<'a>(attempts: impl IntoIterator<Item = &'a AttemptSummary>) -> bool {
    let mut criteria: BTreeMap<&str, CriterionScores> = BTreeMap::new();
    for attempt in attempts {
        let mut is_explained = attempt.status != Status::Failed;
        if !matches!(attempt.status, Status::Passed | Status::Failed) {
            return false;
        }
        for metric in &attempt.metrics {
            // An informational metric does not count in this case, also where it has a threshold.
            let decides = metric.status != Status::Informational;
            let Some(threshold) = metric.threshold.filter(|_| decides) else {
                continue;
            };
            is_explained |= metric.status == Status::Failed;
            // The score of a judge with a turn that was not judged is no result of the criterion.
            let is_compared = matches!(metric.status, Status::Passed | Status::Failed);
            let Some(score) = metric.score().filter(|_| is_compared) else {
                return false;
            };
            let of = criteria.entry(&metric.metric).or_default();
            of.threshold = threshold;
            of.scores.push(score);
            if score != threshold {
                of.directions
                    .push((score > threshold) == (metric.status == Status::Passed));
            }
        }
        if !is_explained {
            return false;
        }
    }
    !criteria.is_empty() && criteria.values().all(CriterionScores::pass)
}

/// The mean of at least one score, rounded once, as Python's `statistics.mean`, which ADK uses: the mean of equal scores is
/// that score.
fn exact_mean(scores: &[f64]) -> f64 {
    let count = scores.len() as f64;
    if !scores.iter().sum::<f64>().is_finite() {
        return mean(scores.iter().copied()).unwrap_or_default();
    }
    // Knuth's exact sum of two numbers: what rounding loses is added up separately.
    let (sum, lost) = scores.iter().fold((0.0, 0.0), |(sum, lost), score| {
        let next = sum + score;
        let part = next - sum;
        (next, lost + ((sum - (next - part)) + (score - part)))
    });
    let mean: f64 = sum / count;
    mean + (mean.mul_add(-count, sum) + lost) / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attempt, AttemptKey, MetricResult, Score};

    fn attempt(number: u32, scores: &[(&str, Option<f64>, f64)]) -> AttemptSummary {
        let metric = |(name, score, threshold): &(&str, Option<f64>, f64)| MetricResult {
            metric: name.to_string(),
            score: score.and_then(Score::new),
            threshold: Some(*threshold),
            status: Status::from_score(*score, Some(*threshold)),
            explanation: String::new(),
            findings: Vec::new(),
            per_invocation: Vec::new(),
            rubrics: Vec::new(),
            criterion: None,
            details: None,
            judgement: None,
        };
        let metrics: Vec<MetricResult> = scores.iter().map(metric).collect();
        let status = Status::worst(metrics.iter().map(|metric| metric.status)).unwrap();
        Attempt {
            status,
            metrics,
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: number,
                },
                "x",
            )
        }
        .summary()
    }

    #[test]
    fn attempts_are_those_meant_for_the_gate() {
        let until = Gate::Until(0.8);
        let attempts = |configured, given| Gate::attempts(configured, given);
        assert_eq!(attempts((Some(3), Gate::All), (None, None)), 3);
        assert_eq!(attempts((Some(3), Gate::All), (None, Some(Gate::Mean))), 3);
        assert_eq!(attempts((Some(3), Gate::All), (None, Some(until))), 50);
        assert_eq!(attempts((Some(200), until), (None, None)), 200);
        assert_eq!(attempts((Some(200), until), (None, Some(Gate::All))), 1);
        assert_eq!(attempts((None, until), (Some(30), None)), 30);
    }

    #[test]
    fn gates_are_names_or_shares() {
        assert_eq!(Gate::parse("all"), Ok(Gate::All));
        assert_eq!(Gate::parse(" mean "), Ok(Gate::Mean));
        assert_eq!(
            (Gate::parse("0.8"), Gate::parse("80%"), Gate::parse("80 %")),
            {
                let rate = Ok(Gate::Rate(0.8));
                (rate.clone(), rate.clone(), rate)
            }
        );
        for wrong in ["0", "1.1", "nan", "most", "", "-1", "101%"] {
            assert!(Gate::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Gate::Rate(2.0 / 3.0).describe(),
            "a case passes if at least 66.6667 % of its attempts pass"
        );
    }

    #[test]
    fn the_gate_on_the_mean_decides_as_adk_does() {
        // 0.83 of 0.8: one attempt failed.
        let two = [
            attempt(1, &[("m", Some(1.0), 0.8)]),
            attempt(2, &[("m", Some(0.66), 0.8)]),
        ];
        let passes =
            |gate: Gate, attempts: &[AttemptSummary]| gate.passes(attempts, attempts.len());
        assert_eq!(
            (passes(Gate::All, &two), passes(Gate::Mean, &two)),
            (false, true)
        );
        let low = [
            attempt(1, &[("m", Some(0.9), 0.8)]),
            attempt(2, &[("m", Some(0.66), 0.8)]),
        ];
        assert!(!passes(Gate::Mean, &low));
        // Each criterion has its own mean.
        let both = |second: f64| {
            [
                attempt(1, &[("a", Some(1.0), 0.5), ("b", Some(0.2), 0.5)]),
                attempt(2, &[("a", Some(0.0), 0.5), ("b", Some(second), 0.5)]),
            ]
        };
        assert_eq!(
            (
                passes(Gate::Mean, &both(0.8)),
                passes(Gate::Mean, &both(0.7))
            ),
            (true, false)
        );
    }

    #[test]
    fn criterion_without_result_fails_mean_gate() {
        let good = attempt(1, &[("m", Some(1.0), 0.8), ("n", Some(1.0), 0.8)]);
        let second = |status, score: Option<f64>| {
            // The other criterion failed, so the attempt was evaluated.
            let mut other = attempt(2, &[("m", Some(0.7), 0.8), ("n", score, 0.8)]);
            other.metrics[1].status = status;
            other
        };
        assert_eq!(second(Status::Passed, Some(0.9)).status, Status::Failed);
        assert!(Gate::Mean.passes([&good, &second(Status::Passed, Some(0.9))], 2));
        // A judged metric has a score although a turn was not judged.
        for (status, score) in [
            (Status::Errored, None),
            (Status::NotEvaluated, None),
            (Status::NotEvaluated, Some(0.9)),
        ] {
            assert!(
                !Gate::Mean.passes([&good, &second(status, score)], 2),
                "{status:?} {score:?}"
            );
        }
        let unknown = AttemptSummary {
            status: Status::NotEvaluated,
            ..good.clone()
        };
        assert!(
            !Gate::Mean.passes([&good, &unknown], 2),
            "an attempt that was not evaluated"
        );
    }

    #[test]
    fn unexplained_attempt_failure_fails_mean_gate() {
        let good = attempt(1, &[("m", Some(1.0), 0.8)]);
        for status in [Status::Errored, Status::Failed] {
            let other = AttemptSummary {
                status,
                ..attempt(2, &[("m", Some(1.0), 0.8)])
            };
            assert!(!Gate::Mean.passes([&good, &other], 2), "{status:?}");
        }
        assert!(!Gate::Mean.passes([&good], 2), "an attempt is missing");
        assert!(!Gate::Mean.passes([], 1));
    }

    #[test]
    fn the_mean_of_scores_is_rounded_once() {
        for hundredths in 1..100 {
            let score = f64::from(hundredths) / 100.0;
            for count in 1..=12 {
                assert_eq!(
                    exact_mean(&vec![score; count]),
                    score,
                    "{count} scores of {score}"
                );
            }
        }
        // Python 3.13: statistics.mean.
        assert_eq!(exact_mean(&[0.1, 0.2, 0.3]), 0.2);
        assert_eq!(exact_mean(&[0.7, 0.8, 0.9]), 0.8);
        assert_eq!(exact_mean(&[0.9, 0.66, 0.83, 0.81]), 0.8);
        assert_eq!(exact_mean(&[1.0, 1e-17, 0.0]), 1.0 / 3.0);
        assert_eq!(exact_mean(&[1e308, 1e308]), 1e308);
    }

    #[test]
    fn informational_metric_does_not_affect_gate() {
        let mut attempts =
            [1, 2].map(|number| attempt(number, &[("m", Some(1.0), 0.8), ("state", None, 1.0)]));
        for attempt in &mut attempts {
            attempt.status = Status::Passed;
            attempt.metrics[1].status = Status::Informational;
        }
        assert!(Gate::Mean.passes(&attempts, 2));
    }

    #[test]
    fn a_rate_is_a_share_of_all_attempts() {
        let attempts: Vec<AttemptSummary> = [1.0, 1.0, 1.0, 1.0, 0.0]
            .iter()
            .map(|score| attempt(1, &[("m", Some(*score), 0.5)]))
            .collect();
        let passes = |rate: f64, planned: usize| Gate::Rate(rate).passes(&attempts, planned);
        assert_eq!(
            (passes(0.8, 5), passes(0.81, 5), passes(0.8, 6)),
            (true, false, false)
        );
    }

    #[test]
    fn mean_gate_handles_lower_is_better_metrics() {
        let lower = |number: u32, score: f64, status: Status| {
            let mut attempt = attempt(number, &[("seconds", Some(score), 2.0)]);
            attempt.status = status;
            attempt.metrics[0].status = status;
            attempt
        };
        let attempts = |second: f64| {
            [
                lower(1, 1.0, Status::Passed),
                lower(2, second, Status::Failed),
            ]
        };
        assert!(Gate::Mean.passes(&attempts(2.5), 2));
        assert!(!Gate::Mean.passes(&attempts(3.5), 2));
    }
}
