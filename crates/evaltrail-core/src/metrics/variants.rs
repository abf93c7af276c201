//! Several allowed trajectories. If a case's own trajectory does not match and another allowed one does,
//! `allowed_trajectory` decides in place of the metric that compares with the case's own. That metric keeps its score
//! and name and becomes informational; it shows what ADK would report.

use super::Evidence;
use super::results::{BuiltCriterion, criterion_of};
use super::rules::trajectory_options;
use super::sentences::reasons;
use crate::diff::same_calls;
use crate::domain::{
    ALLOWED_TRAJECTORY, Attempt, Criterion, Finding, FindingRule, Invocation, MetricResult,
    SESSION_STATE_MATCH, Status, Trajectory, Variant, is_allowed_trajectory,
};

/// Lets the variants of a case decide where its own trajectory does not match.
pub(super) fn allow_variants<'a>(
    metrics: &mut Vec<MetricResult>,
    criteria: impl Iterator<Item = &'a Criterion> + Clone,
    evidence: &Evidence,
    variants: &[Variant],
) {
    let Some(expected) = evidence.expected.filter(|_| !variants.is_empty()) else {
        return;
    };
    let mut decided = Vec::new();
    for metric in metrics
        .iter_mut()
        .filter(|metric| metric.status == Status::Failed)
    {
        let Some(criterion) = criteria
            .clone()
            .find(|criterion| criterion.metric == metric.metric)
        else {
            continue;
        };
        if trajectory_options(criterion).is_none() {
            continue;
        }
        let scored = BuiltCriterion::new(criterion);
        let matching = variants.iter().filter_map(|variant| {
            let other = with_variant(expected, variant);
            let result = scored.score(&Evidence {
                expected: Some(&other),
                ..*evidence
            });
            (result.status == Status::Passed).then_some((variant, result))
        });
        match { matching }.next() {
            Some((variant, result)) => {
                let score = result.score.unwrap_or_default();
                let matched = Finding::text(FindingRule::VariantMatched, &variant.name);
                decided.push(MetricResult {
                    metric: name_of(&criterion.metric),
                    explanation: format!(
                        "{}: {}",
                        reasons(std::slice::from_ref(&matched)),
                        result.explanation
                    ),
                    findings: vec![matched],
                    score: Some(score),
                    criterion: None,
                    ..result
                });
                metric.status = Status::Informational;
                metric.threshold = None;
                metric.explanation = format!(
                    "{}; compared with the file's own trajectory, where {ALLOWED_TRAJECTORY} decides",
                    metric.explanation
                );
            }
            None => {
                let others = if variants.len() == 1 {
                    "its variant".into()
                } else {
                    format!("any of its {} variants", variants.len())
                };
                metric.explanation = format!("{}; nor does it match {others}", metric.explanation);
            }
        }
    }
    metrics.extend(decided);
}

/// `allowed_trajectory` in place of ADK's metric. In place of other metrics, it has their name as a label.
fn name_of(metric: &str) -> String {
    match metric {
        "tool_trajectory_avg_score" => ALLOWED_TRAJECTORY.to_string(),
        other => format!("{ALLOWED_TRAJECTORY}:{other}"),
    }
}

/// The metric with whose threshold a result is compared: the one that a variant decided in place of.
pub fn decided_metric(metric: &str) -> &str {
    match metric.strip_prefix(ALLOWED_TRAJECTORY) {
        Some("") => "tool_trajectory_avg_score",
        Some(label) => label.strip_prefix(':').unwrap_or(metric),
        None => metric,
    }
}

/// Whether an attempt was scored by a criterion with this metric. A session state is compared without one, too.
pub fn has_criterion(attempt: &Attempt, metric: &str) -> bool {
    let criteria = configured(&attempt.metrics);
    criteria
        .iter()
        .any(|(_, criterion)| criterion.metric == metric)
}

/// The criteria that an attempt was scored by, each with the index of its result. If a variant decided in place of a
/// metric, the criterion has the threshold that the variant was compared with.
pub(super) fn configured(metrics: &[MetricResult]) -> Vec<(usize, Criterion)> {
    // A session state that is compared without a criterion is compared again without one.
    let is_added =
        |metric: &MetricResult| metric.metric == SESSION_STATE_MATCH && metric.criterion.is_none();
    let own = metrics.iter().enumerate();
    let own = own.filter(|(_, metric)| !is_allowed_trajectory(&metric.metric) && !is_added(metric));
    let of = |(at, metric): (usize, &MetricResult)| {
        let criterion = criterion_of(metric);
        let name = name_of(&metric.metric);
        let decided = metrics
            .iter()
            .find(|other| other.metric == name)
            .filter(|_| metric.threshold.is_none());
        let threshold = criterion
            .threshold
            .or(decided.and_then(|decided| decided.threshold));
        (
            at,
            Criterion {
                threshold,
                ..criterion
            },
        )
    };
    own.map(of).collect()
}

/// The expected turns with the trajectories of a variant.
pub fn with_variant(expected: &[Invocation], variant: &Variant) -> Vec<Invocation> {
    let turn = |(at, turn): (usize, &Invocation)| Invocation {
        trajectory: variant
            .turns
            .get(at)
            .cloned()
            .unwrap_or_else(|| turn.trajectory.clone()),
        ..turn.clone()
    };
    expected.iter().enumerate().map(turn).collect()
}

/// The observed trajectories that are neither the case's own nor a variant yet, with their counts, most frequent
/// first.
pub fn candidates(
    expected: &[Invocation],
    variants: &[Variant],
    seen: &[&[Invocation]],
) -> Vec<(Vec<Trajectory>, usize)> {
    let of = |turns: &[Invocation]| {
        turns
            .iter()
            .map(|turn| turn.trajectory.clone())
            .collect::<Vec<_>>()
    };
    let is_same = |a: &[Trajectory], b: &[Trajectory]| {
        a.len() == b.len()
            && a.iter()
                .zip(b)
                .all(|(a, b)| same_calls(&a.calls(), &b.calls()))
    };
    let own = of(expected);
    let is_known = |made: &[Trajectory]| {
        is_same(&own, made) || variants.iter().any(|variant| is_same(&variant.turns, made))
    };
    let mut found: Vec<(Vec<Trajectory>, usize)> = Vec::new();
    for turns in seen.iter().filter(|turns| turns.len() == expected.len()) {
        let trajectories = of(turns);
        if is_known(&trajectories) {
            continue;
        }
        match found
            .iter_mut()
            .find(|(other, _)| is_same(other, &trajectories))
        {
            Some((_, count)) => *count += 1,
            None => found.push((trajectories.iter().map(calls_without_ids).collect(), 1)),
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found
}

/// The calls without ids and responses, which do not matter for a variant.
fn calls_without_ids(trajectory: &Trajectory) -> Trajectory {
    let call = |call: &crate::domain::ToolCall| crate::domain::ToolCall {
        id: None,
        ..call.clone()
    };
    let calls = trajectory.calls().into_iter().map(call).collect();
    Trajectory::Listed {
        calls,
        responses: Vec::new(),
        texts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attempt, AttemptKey, MatchType, ToolCall, adk_status, case_status};
    use crate::metrics::{Rescorer, Scorer, WhatIf};

    fn way(calls: &[&str]) -> Trajectory {
        let calls = calls
            .iter()
            .map(|name| ToolCall::new(*name, None))
            .collect();
        Trajectory::Listed {
            calls,
            responses: Vec::new(),
            texts: Vec::new(),
        }
    }

    fn turn(calls: &[&str]) -> Invocation {
        Invocation {
            trajectory: way(calls),
            ..Invocation::default()
        }
    }

    /// A name that needs quoting.
    const TWICE: &str = "b \"twice\": C:\\temp\u{e9}\n";

    fn evaluated(
        criteria: &[Criterion],
        expected: &[Invocation],
        actual: &[Invocation],
        variants: &[Variant],
    ) -> Attempt {
        let mut attempt = Attempt::blank(
            AttemptKey {
                case: 0,
                attempt: 1,
            },
            "x",
        );
        (attempt.expected, attempt.actual) = (expected.into(), actual.into());
        attempt.variants = variants.to_vec();
        Scorer::new(criteria).evaluate(&mut attempt, |_| None);
        attempt
    }

    /// The variants, too, are compared under the stricter criterion.
    #[test]
    fn variants_are_rescored_by_what_if_criteria() {
        let mut criterion = Criterion::new("tool_trajectory_avg_score", Some(1.0));
        criterion
            .options
            .insert("match_type".into(), "IN_ORDER".into());
        let variants = [Variant {
            name: "b".into(),
            turns: vec![way(&["b"])],
        }];
        let passed = evaluated(
            &[criterion],
            &[turn(&["a"])],
            &[turn(&["b", "c"])],
            &variants,
        );
        assert_eq!(passed.status, Status::Passed);
        let exact = WhatIf {
            match_type: Some(MatchType::Exact),
            ..WhatIf::default()
        };
        let stricter = Rescorer::new(&exact).rescore(&passed);
        assert_eq!(
            (stricter.status, stricter.metrics[0].threshold),
            (Status::Failed, Some(1.0))
        );
        let back = WhatIf {
            match_type: Some(MatchType::AnyOrder),
            ..WhatIf::default()
        };
        assert_eq!(
            Rescorer::new(&back).rescore(&stricter).status,
            Status::Passed
        );
    }

    #[test]
    fn matching_variant_passes_adk_score_unchanged() {
        let criteria = [Criterion::new("tool_trajectory_avg_score", Some(1.0))];
        let variants = [
            Variant {
                name: "c".into(),
                turns: vec![way(&["c"])],
            },
            Variant {
                name: TWICE.into(),
                turns: vec![way(&["b", "b"])],
            },
        ];
        let expected = [turn(&["a"])];
        let scored =
            |actual: &[&str]| evaluated(&criteria, &expected, &[turn(actual)], &variants).metrics;
        let other = scored(&["b", "b"]);
        assert_eq!(case_status(&other), Status::Passed);
        assert_eq!(adk_status(&other), Status::Failed, "ADK knows no variants");
        assert_eq!(
            (other[0].score(), other[0].status),
            (Some(0.0), Status::Informational)
        );
        let named: Vec<_> = other
            .iter()
            .filter_map(|metric| metric.summary().variant)
            .collect();
        assert_eq!(named, [TWICE]);
        let own = scored(&["a"]);
        assert!(own.iter().all(|metric| metric.metric != ALLOWED_TRAJECTORY));
        let none = scored(&["d"]);
        assert_eq!(case_status(&none), Status::Failed);
        assert!(
            none[0]
                .explanation
                .ends_with("nor does it match any of its 2 variants")
        );
    }

    #[test]
    fn frequent_variants_are_first() {
        let (a, b, c) = ([turn(&["a"])], [turn(&["b"])], [turn(&["c"])]);
        let known = [Variant {
            name: "v".into(),
            turns: vec![way(&["c"])],
        }];
        let found = candidates(&a, &known, &[&a, &b, &c, &[turn(&["d"])], &b]);
        let names: Vec<_> = found
            .iter()
            .map(|(way, count)| (way[0].calls()[0].name.as_str(), *count))
            .collect();
        assert_eq!(names, [("b", 2), ("d", 1)]);
    }

    /// The variant's result is not the criterion's own: nothing computes it again under that criterion.
    #[test]
    fn the_result_of_a_variant_has_no_criterion() {
        let criteria = [Criterion::new("tool_trajectory_avg_score", Some(1.0))];
        let variants = [Variant {
            name: "b".into(),
            turns: vec![way(&["b"])],
        }];
        let attempt = evaluated(&criteria, &[turn(&["a"])], &[turn(&["b"])], &variants);
        let allowed = attempt
            .metrics
            .iter()
            .find(|metric| metric.metric.starts_with(ALLOWED_TRAJECTORY))
            .unwrap();
        assert!(allowed.criterion.is_none());
    }
}
