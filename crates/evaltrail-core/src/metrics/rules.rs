//! `[[match]]` in a set's criteria: which metrics follow the rules, and which metric decides.

use super::replaced::IN_PLACE_OF;
use super::trajectory::TrajectoryOptions;
use crate::domain::{Criterion, MatchRule, MatchType};
use serde_json::Value;

/// The metric that decides under rules.
pub const TRAJECTORY_MATCH: &str = "trajectory_match";
/// Metrics that compare calls without rules, with the equivalent mode of `trajectory_match`; `None` if the match type
/// determines it.
const TRAJECTORY_METRICS: &[(&str, Option<&str>)] = &[
    ("tool_trajectory_avg_score", None),
    ("trajectory_exact_match", Some("strict")),
    ("trajectory_in_order_match", Some("in_order")),
    ("trajectory_any_order_match", Some("superset")),
];

/// Applies rules to criteria. ADK's and Vertex AI's metrics follow no rules, and their numbers stay the same; but
/// where one of them decides, `trajectory_match` decides in its place, with its threshold and mode.
pub fn with_rules(criteria: Vec<Criterion>, rules: &[MatchRule]) -> Vec<Criterion> {
    match rules.is_empty() {
        true => criteria,
        false => replace_with_trajectory_match(criteria, rules, |_| true),
    }
}

/// Adds `trajectory_match` in the place of the metrics whose names `of` accepts.
pub(super) fn replace_with_trajectory_match(
    criteria: Vec<Criterion>,
    rules: &[MatchRule],
    of: impl Fn(&str) -> bool,
) -> Vec<Criterion> {
    let takes_rules = |criterion: &Criterion| criterion.name().starts_with(TRAJECTORY_MATCH);
    // The shares of pairs (`trajectory_match_recall` …) do not read rules about calls.
    let has_own_match = criteria
        .iter()
        .any(|criterion| criterion.name() == TRAJECTORY_MATCH);
    let mut out = Vec::with_capacity(criteria.len() + 1);
    for mut criterion in criteria {
        let other = TRAJECTORY_METRICS
            .iter()
            .find(|(name, _)| *name == criterion.name());
        if takes_rules(&criterion) {
            criterion.rules = rules.to_vec();
        } else if let Some((name, mode)) = other
            && criterion.threshold.is_some()
            && !has_own_match
            && of(name)
        {
            out.push(with_trajectory_match(&criterion, *mode, rules));
            criterion = informational(criterion);
        }
        out.push(criterion);
    }
    out
}

/// The metric that replaces a criterion under rules; `None` if none does.
pub(super) fn replacement_of(criterion: &Criterion) -> Option<String> {
    criterion.threshold?;
    replacement_name(&criterion.metric)
}

/// Whether rules replace the first metric by the second one.
pub fn is_replaced_by(metric: &str, other: &str) -> bool {
    replacement_name(metric).as_deref() == Some(other)
}

fn replacement_name(metric: &str) -> Option<String> {
    let name = metric.split(':').next().unwrap_or_default();
    let label = &metric[name.len()..];
    let is_replaced = TRAJECTORY_METRICS.iter().any(|(other, _)| *other == name);
    is_replaced.then(|| format!("{TRAJECTORY_MATCH}{label}"))
}

/// How a metric compares calls; `None` for metrics that do not.
pub fn trajectory_options(criterion: &Criterion) -> Option<TrajectoryOptions> {
    let of_mode = |mode: &str| match mode {
        "in_order" => MatchType::InOrder,
        "superset" | "any_order" => MatchType::AnyOrder,
        _ => MatchType::Exact,
    };
    if criterion.name() == TRAJECTORY_MATCH {
        let mode = criterion
            .options
            .get("mode")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let ignore_args = criterion.options.get("ignore_args") == Some(&Value::Bool(true));
        return Some(TrajectoryOptions {
            match_type: of_mode(mode),
            ignore_args,
        });
    }
    let (_, mode) = TRAJECTORY_METRICS
        .iter()
        .find(|(name, _)| *name == criterion.name())?;
    match mode {
        Some(mode) => Some(TrajectoryOptions {
            match_type: of_mode(mode),
            ignore_args: false,
        }),
        None => TrajectoryOptions::new(criterion).ok(),
    }
}

/// `trajectory_match` with the threshold, mode and options of the other metric.
fn with_trajectory_match(
    criterion: &Criterion,
    mode: Option<&str>,
    rules: &[MatchRule],
) -> Criterion {
    let options = TrajectoryOptions::new(criterion).unwrap_or_default();
    let of_type = match options.match_type {
        MatchType::Exact => "strict",
        MatchType::InOrder => "in_order",
        MatchType::AnyOrder => "superset",
    };
    let label = criterion
        .metric
        .strip_prefix(criterion.name())
        .unwrap_or_default();
    let mut ours = Criterion::new(&format!("{TRAJECTORY_MATCH}{label}"), criterion.threshold);
    ours.options
        .insert("threshold".into(), criterion.threshold.into());
    ours.options
        .insert("mode".into(), mode.unwrap_or(of_type).into());
    // Calls that no rule is about are compared as this metric compares them.
    ours.options
        .insert(IN_PLACE_OF.into(), criterion.name().into());
    if options.ignore_args {
        ours.options.insert("ignore_args".into(), true.into());
    }
    ours.rules = rules.to_vec();
    ours
}

/// Makes a criterion informational. ADK's status can still be computed from the written threshold.
fn informational(mut criterion: Criterion) -> Criterion {
    criterion
        .options
        .entry("threshold")
        .or_insert(criterion.threshold.into());
    criterion.threshold = None;
    criterion
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Invocation, Status, ToolCall, Trajectory, adk_status, case_status};
    use crate::metrics::{Evidence, score_case};
    use serde_json::json;

    fn turn(query: &str) -> Invocation {
        let args = json!({"query": query}).as_object().cloned();
        let calls = vec![ToolCall::new("search_web", args)];
        let trajectory = Trajectory::Listed {
            calls,
            responses: vec![],
            texts: vec![],
        };
        Invocation {
            trajectory,
            ..Invocation::default()
        }
    }

    #[test]
    fn ignore_rule_passes_case_adk_score_unchanged() {
        let criteria = vec![Criterion::new("tool_trajectory_avg_score", Some(1.0))];
        let rules = [MatchRule::about("search_*", "query", "ignore".into())];
        let (expected, actual) = ([turn("weather Oslo")], [turn("Oslo weather")]);
        let evidence = Evidence::turns(Some(&expected), &actual);
        let plain = score_case(&criteria, &evidence);
        assert_eq!(
            (case_status(&plain), adk_status(&plain)),
            (Status::Failed, Status::Failed)
        );
        let ruled = score_case(&with_rules(criteria, &rules), &evidence);
        assert_eq!(
            (case_status(&ruled), adk_status(&ruled)),
            (Status::Passed, Status::Failed)
        );
        let adk = ruled
            .iter()
            .find(|metric| metric.metric == "tool_trajectory_avg_score")
            .unwrap();
        assert_eq!(
            (adk.score(), adk.status),
            (Some(0.0), Status::Informational)
        );
    }

    /// Turns of one call each; `None` is a call without arguments.
    fn called(args: Option<Value>) -> [Invocation; 1] {
        let args = args.map(|args| args.as_object().cloned().unwrap());
        let trajectory = Trajectory::Listed {
            calls: vec![ToolCall::new("list", args)],
            responses: vec![],
            texts: vec![],
        };
        [Invocation {
            trajectory,
            ..Invocation::default()
        }]
    }

    #[test]
    fn rule_changes_only_what_it_names() {
        let pairs = [
            (None, Some(json!({}))),
            (Some(json!({})), None),
            (None, None),
            (Some(json!({"on": true})), Some(json!({"on": 1}))),
            (
                Some(json!({"n": [1, {"m": 2}]})),
                Some(json!({"n": [1.0, {"m": 2.0}]})),
            ),
        ];
        let others = [
            "other q ignore",
            "list other ignore",
            "other forbidden",
            "other optional",
        ];
        for (expected, actual) in pairs {
            let (expected, actual) = (called(expected), called(actual));
            let evidence = Evidence::turns(Some(&expected), &actual);
            for name in TRAJECTORY_METRICS.iter().map(|(name, _)| name) {
                let criteria = vec![Criterion::new(name, Some(1.0))];
                let plain = score_case(&criteria, &evidence);
                for rule in others {
                    let rules = [MatchRule::parse(rule).unwrap()];
                    let ruled = score_case(&with_rules(criteria.clone(), &rules), &evidence);
                    assert_eq!(ruled[0].metric, TRAJECTORY_MATCH);
                    assert_eq!(
                        ruled[0].score(),
                        plain[0].score(),
                        "{name} {rule} {evidence:?}"
                    );
                    assert_eq!(ruled[0].findings, plain[0].findings, "{name} {rule}");
                }
            }
        }
    }

    #[test]
    fn rule_accepts_arguments_that_it_names() {
        let criteria = vec![Criterion::new("tool_trajectory_avg_score", Some(1.0))];
        let (expected, actual) = (called(None), called(Some(json!({"q": 1}))));
        let evidence = Evidence::turns(Some(&expected), &actual);
        for (rule, passes) in [
            ("list q ignore", true),
            ("list others ignore", true),
            ("list z ignore", false),
        ] {
            let rules = [MatchRule::parse(rule).unwrap()];
            let ruled = score_case(&with_rules(criteria.clone(), &rules), &evidence);
            assert_eq!(case_status(&ruled) == Status::Passed, passes, "{rule}");
        }
    }

    #[test]
    fn the_match_type_becomes_the_mode() {
        let mut criterion = Criterion::new("tool_trajectory_avg_score", Some(0.5));
        criterion.options = json!({"threshold": 0.5, "matchType": 2})
            .as_object()
            .cloned()
            .unwrap();
        let ruled = with_rules(vec![criterion], &[MatchRule::default()]);
        assert_eq!(
            (ruled[0].options["mode"].as_str(), ruled[0].threshold),
            (Some("superset"), Some(0.5))
        );
    }

    #[test]
    fn shares_of_pairs_do_not_replace_match() {
        let criteria = ["tool_trajectory_avg_score", "trajectory_match_recall"]
            .map(|name| Criterion::new(name, Some(1.0)));
        let ruled = with_rules(criteria.to_vec(), &[MatchRule::default()]);
        let names: Vec<&str> = ruled.iter().map(Criterion::name).collect();
        assert_eq!(
            names,
            [
                TRAJECTORY_MATCH,
                "tool_trajectory_avg_score",
                "trajectory_match_recall"
            ]
        );
        assert!(
            ruled
                .iter()
                .filter(|criterion| criterion.name().starts_with(TRAJECTORY_MATCH))
                .all(|one| one.rules.len() == 1)
        );
    }

    #[test]
    fn a_mode_is_a_match_type() {
        let of = |mode: &str| {
            let mut criterion = Criterion::new(TRAJECTORY_MATCH, Some(1.0));
            criterion.options = json!({"mode": mode}).as_object().cloned().unwrap();
            trajectory_options(&criterion).unwrap().match_type
        };
        assert_eq!(of("superset"), MatchType::AnyOrder);
        assert_eq!(of("any_order"), MatchType::AnyOrder);
        assert_eq!(of("in_order"), MatchType::InOrder);
        assert_eq!(of("exact"), MatchType::Exact);
    }
}
