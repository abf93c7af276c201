//! The smallest relaxation of the criteria under which a failed case would pass.

use super::registry::criterion_of;
use super::rules::compared_by;
use super::what_if::{Rescorer, WhatIf};
use crate::diff::{PairKind, align, compared_args, differences};
use crate::domain::{Attempt, MatchRule, MatchType, MetricResult, Status};
use std::sync::Arc;

/// A relaxation of more arguments is not small.
const ARGUMENTS: usize = 3;

/// The smallest change that makes the attempt pass, if there is one.
pub fn relaxation(attempt: &Attempt) -> Option<WhatIf> {
    if attempt.status != Status::Failed {
        return None;
    }
    let failed: Vec<&MetricResult> =
        attempt.metrics.iter().filter(|metric| metric.status == Status::Failed).collect();
    let (calls, others): (Vec<&MetricResult>, Vec<&MetricResult>) =
        failed.into_iter().partition(|metric| compares_calls(metric));
    let thresholds = others.iter().map(|metric| Some((metric.metric.clone(), just_below(metric)?)));
    let thresholds: Option<std::collections::BTreeMap<String, f64>> = thresholds.collect();
    let with_thresholds = |change: WhatIf| Some(WhatIf { thresholds: thresholds.clone()?, ..change });
    let candidates = match calls.first() {
        None => vec![WhatIf::default()],
        Some(metric) => for_calls(attempt, metric),
    };
    let passes = |change: &WhatIf| passes_with(attempt, change);
    candidates.into_iter().filter_map(with_thresholds).filter(|change| !change.is_empty()).find(passes)
}

/// Small changes with which attempts pass, one after the other: an attempt that passes with the changes for those before
/// it adds none. Attempts without a small change add none.
pub fn relaxation_of_all(attempts: impl IntoIterator<Item = Arc<Attempt>>) -> WhatIf {
    let mut change = WhatIf::default();
    for attempt in attempts {
        if change.is_empty() || !passes_with(&attempt, &change) {
            change.add(relaxation(&attempt).unwrap_or_default());
        }
    }
    change
}

/// The smallest change found with which all attempts pass; `None` if there is none.
pub fn common_relaxation(attempts: &[Arc<Attempt>]) -> Option<WhatIf> {
    let change = relaxation_of_all(attempts.iter().cloned());
    let all_pass = !change.is_empty() && attempts.iter().all(|attempt| passes_with(attempt, &change));
    all_pass.then_some(change)
}

/// Whether an attempt passes under a change.
fn passes_with(attempt: &Attempt, change: &WhatIf) -> bool {
    Rescorer::new(change).rescore(attempt).status == Status::Passed
}

fn compares_calls(metric: &MetricResult) -> bool {
    compared_by(&criterion_of(metric)).is_some()
}

/// The score rounded down to two digits, as a threshold; `None` without a score or for a score of 0.
fn just_below(metric: &MetricResult) -> Option<f64> {
    let score = metric.score.filter(|score| *score > 0.0)?;
    Some((score * 100.0).floor() / 100.0)
}

/// Changes that make calls match more easily, smallest first.
fn for_calls(attempt: &Attempt, metric: &MetricResult) -> Vec<WhatIf> {
    let now = compared_by(&criterion_of(metric)).unwrap_or_default().match_type;
    let looser: Vec<Option<MatchType>> = match now {
        MatchType::Exact => vec![None, Some(MatchType::InOrder), Some(MatchType::AnyOrder)],
        MatchType::InOrder => vec![None, Some(MatchType::AnyOrder)],
        MatchType::AnyOrder => vec![None],
    };
    let rules = argument_rules(attempt);
    let mut changes: Vec<WhatIf> =
        looser.iter().skip(1).map(|kind| WhatIf { match_type: *kind, ..WhatIf::default() }).collect();
    if !rules.is_empty() && rules.len() <= ARGUMENTS {
        let with = |kind: &Option<MatchType>| WhatIf {
            match_type: *kind,
            rules: rules.clone(),
            ..WhatIf::default()
        };
        changes.extend(looser.iter().map(with));
    }
    let names =
        |kind: &Option<MatchType>| WhatIf { match_type: *kind, ignore_args: Some(true), ..WhatIf::default() };
    changes.extend(looser.iter().map(names));
    if let Some(threshold) = just_below(metric) {
        let thresholds = [(metric.metric.clone(), threshold)].into();
        changes.push(WhatIf { thresholds, ..WhatIf::default() });
    }
    changes
}

/// A rule for each argument that differs between calls of the same tool.
fn argument_rules(attempt: &Attempt) -> Vec<MatchRule> {
    let mut rules: Vec<MatchRule> = Vec::new();
    for (expected, actual) in attempt.expected.iter().zip(attempt.actual.iter()) {
        let (expected, actual) = (expected.calls(), actual.calls());
        for pair in align(&expected, &actual).pairs {
            let (PairKind::Changed, Some(e), Some(a)) = (pair.kind, pair.expected, pair.actual) else {
                continue;
            };
            let (left, right) =
                (compared_args(expected[e], actual[a]), compared_args(actual[a], expected[e]));
            for found in differences(left.as_deref(), right.as_deref()) {
                let rule = MatchRule::about(&expected[e].name, &found.path, "ignore".into());
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptKey, Content, Criterion, Invocation, ToolCall, Trajectory, case_status};
    use crate::metrics::{Evidence, score_case};
    use serde_json::{Value, json};

    fn attempt(expected: Value, actual: Value, said: &str) -> Attempt {
        let turn = |calls: &Value, said: &str| Invocation {
            trajectory: Trajectory::Listed {
                calls: calls
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|call| ToolCall::new(call[0].as_str().unwrap(), call[1].as_object().cloned()))
                    .collect(),
                responses: vec![],
                texts: vec![],
            },
            final_response: Some(Content::text("model", said)),
            ..Invocation::default()
        };
        let criteria = [
            Criterion::new("tool_trajectory_avg_score", Some(1.0)),
            Criterion::new("response_match_score", Some(0.8)),
        ];
        let mut attempt = Attempt::blank(AttemptKey { case: 0, attempt: 1 }, "x");
        attempt.expected = [turn(&expected, "the lamp is off now")].into();
        attempt.actual = [turn(&actual, said)].into();
        attempt.metrics = score_case(&criteria, &Evidence::of(&attempt));
        attempt.status = case_status(&attempt.metrics);
        attempt
    }

    fn words(expected: Value, actual: Value, said: &str) -> Option<String> {
        relaxation(&attempt(expected, actual, said)).map(|change| change.words().join(" + "))
    }

    #[test]
    fn the_smallest_one_is_found() {
        let same = "the lamp is off now";
        let a = json!(["a", {"x": 1, "y": 2}]);
        let b = json!(["b", {}]);
        assert_eq!(words(json!([a, b]), json!([a, b]), same), None);
        assert_eq!(words(json!([a]), json!([b, a]), same).as_deref(), Some("IN_ORDER"));
        assert_eq!(words(json!([a, b]), json!([b, a]), same).as_deref(), Some("ANY_ORDER"));
        assert_eq!(words(json!([a]), json!([["a", {"x": 3, "y": 2}]]), same).as_deref(), Some("a: x ignore"));
        assert_eq!(
            words(json!([a, b]), json!([b, ["a", {"x": 3, "y": 2}]]), same).as_deref(),
            Some("ANY_ORDER + arguments ignored")
        );
        assert_eq!(
            words(json!([a]), json!([a]), "the lamp is on").as_deref(),
            Some("response_match_score at 0.66")
        );
        assert_eq!(words(json!([a]), json!([]), same), None);
        assert_eq!(
            words(json!([a]), json!([b, a]), "the lamp is on").as_deref(),
            Some("IN_ORDER + response_match_score at 0.66")
        );
    }
}
