//! `[[match]]` in a set's criteria: who they are for, and what decides then.

use crate::domain::{Criterion, MatchRule};
use serde_json::Value;

/// The metric that decides under rules.
pub const MATCH: &str = "trajectory_match";
const ADK: &str = "tool_trajectory_avg_score";

/// Criteria under rules. ADK's `tool_trajectory_avg_score` knows none, and its number stays what it is;
/// but where it decides, `trajectory_match` decides in its place, with its threshold and mode.
pub fn with_rules(criteria: Vec<Criterion>, rules: &[MatchRule]) -> Vec<Criterion> {
    if rules.is_empty() {
        return criteria;
    }
    let takes_rules = |criterion: &Criterion| criterion.name().starts_with(MATCH);
    let replaced = criteria.iter().any(takes_rules);
    let mut out = Vec::with_capacity(criteria.len() + 1);
    for mut criterion in criteria {
        if takes_rules(&criterion) {
            criterion.rules = rules.to_vec();
        } else if criterion.name() == ADK && criterion.threshold.is_some() && !replaced {
            out.push(in_place_of(&criterion, rules));
            criterion = informational(criterion);
        }
        out.push(criterion);
    }
    out
}

/// Our metric with the threshold, mode and options of ADK's.
fn in_place_of(criterion: &Criterion, rules: &[MatchRule]) -> Criterion {
    let mode = match criterion.option("match_type", "matchType") {
        None => "strict",
        Some(Value::String(name)) => match name.to_uppercase().replace(['-', ' '], "_").as_str() {
            "IN_ORDER" => "in_order",
            "ANY_ORDER" => "superset",
            _ => "strict",
        },
        Some(number) => match number.as_f64() {
            Some(1.0) => "in_order",
            Some(2.0) => "superset",
            _ => "strict",
        },
    };
    let label = criterion.metric.strip_prefix(ADK).unwrap_or_default();
    let mut ours = Criterion::new(&format!("{MATCH}{label}"), criterion.threshold);
    ours.options.insert("threshold".into(), criterion.threshold.into());
    ours.options.insert("mode".into(), mode.into());
    if let Some(ignore) = criterion.option("ignore_args", "ignoreArgs") {
        ours.options.insert("ignore_args".into(), ignore.clone());
    }
    ours.rules = rules.to_vec();
    ours
}

/// A number without a verdict. What ADK would have said stays to be seen from the written threshold.
fn informational(mut criterion: Criterion) -> Criterion {
    criterion.options.entry("threshold").or_insert(criterion.threshold.into());
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
        let trajectory = Trajectory::Listed { calls, responses: vec![], texts: vec![] };
        Invocation { trajectory, ..Invocation::default() }
    }

    #[test]
    fn ignoring_an_argument_turns_a_case_green_and_adks_number_stays() {
        let criteria = vec![Criterion::new(ADK, Some(1.0))];
        let rules = [MatchRule::about("search_*", "query", "ignore".into())];
        let (expected, actual) = ([turn("weather Oslo")], [turn("Oslo weather")]);
        let evidence = Evidence::turns(Some(&expected), &actual);
        let plain = score_case(&criteria, &evidence);
        assert_eq!((case_status(&plain), adk_status(&plain)), (Status::Failed, Status::Failed));
        let ruled = score_case(&with_rules(criteria, &rules), &evidence);
        assert_eq!((case_status(&ruled), adk_status(&ruled)), (Status::Passed, Status::Failed));
        let adk = ruled.iter().find(|metric| metric.metric == ADK).unwrap();
        assert_eq!((adk.score, adk.status), (Some(0.0), Status::Informational));
    }

    #[test]
    fn the_match_type_becomes_the_mode() {
        let mut criterion = Criterion::new(ADK, Some(0.5));
        criterion.options = json!({"threshold": 0.5, "matchType": 2}).as_object().cloned().unwrap();
        let ruled = with_rules(vec![criterion], &[MatchRule::default()]);
        assert_eq!((ruled[0].options["mode"].as_str(), ruled[0].threshold), (Some("superset"), Some(0.5)));
    }
}
