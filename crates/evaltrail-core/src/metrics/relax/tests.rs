use super::*;
use crate::domain::{
    AttemptKey, Content, Criterion, Invocation, Score, ToolCall, Trajectory, case_status,
};
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
    let mut attempt = Attempt::blank(
        AttemptKey {
            case: 0,
            attempt: 1,
        },
        "x",
    );
    attempt.expected = [turn(&expected, "the lamp is off now")].into();
    attempt.actual = [turn(&actual, said)].into();
    attempt.metrics = score_case(&criteria, &Evidence::from_attempt(&attempt));
    attempt.status = case_status(&attempt.metrics);
    attempt
}

fn suggestion(expected: Value, actual: Value, said: &str) -> Option<String> {
    relaxation(&attempt(expected, actual, said)).map(|change| change.describe().join(" + "))
}

#[test]
fn the_smallest_one_is_found() {
    let same = "the lamp is off now";
    let a = json!(["a", {"x": 1, "y": 2}]);
    let b = json!(["b", {}]);
    assert_eq!(suggestion(json!([a, b]), json!([a, b]), same), None);
    assert_eq!(
        suggestion(json!([a]), json!([b, a]), same).as_deref(),
        Some("IN_ORDER")
    );
    assert_eq!(
        suggestion(json!([a, b]), json!([b, a]), same).as_deref(),
        Some("ANY_ORDER")
    );
    assert_eq!(
        suggestion(json!([a]), json!([["a", {"x": 3, "y": 2}]]), same).as_deref(),
        Some("a: x ignore")
    );
    assert_eq!(
        suggestion(json!([a, b]), json!([b, ["a", {"x": 3, "y": 2}]]), same).as_deref(),
        Some("ANY_ORDER + a: x ignore"),
        "a call that moved is compared with the one of the same tool"
    );
    let named = |name: &str| json!(["a", {"x": 1, "name": name}]);
    assert_eq!(
        suggestion(json!([named("Oslo"), b]), json!([b, named("oslo")]), same).as_deref(),
        Some("ANY_ORDER + a: name case")
    );
    assert_eq!(
        suggestion(json!([a]), json!([a]), "the lamp is on").as_deref(),
        Some("response_match_score at 0.66")
    );
    assert_eq!(suggestion(json!([a]), json!([]), same), None);
    assert_eq!(
        suggestion(json!([a]), json!([b, a]), "the lamp is on").as_deref(),
        Some("IN_ORDER + response_match_score at 0.66")
    );
}

/// Every order of every group of up to three attempts.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = vec![Vec::new()];
    let mut longest = found.clone();
    for _ in 0..3 {
        let longer = |order: &Vec<usize>| {
            let rest = (0..count)
                .filter(|at| !order.contains(at))
                .collect::<Vec<_>>();
            rest.into_iter()
                .map(|at| [order.as_slice(), &[at]].concat())
                .collect::<Vec<_>>()
        };
        longest = longest.iter().flat_map(longer).collect();
        found.extend(longest.clone());
    }
    found
}

#[test]
fn common_change_passes_all_in_any_order() {
    let same = "the lamp is off now";
    let (a, b) = (
        json!(["a", {"x": 1, "l": [1, 2], "n": "Oslo"}]),
        json!(["b", {}]),
    );
    let attempts = [
        attempt(json!([a, b]), json!([a, b]), "the lamp"),
        attempt(json!([a, b]), json!([b, a]), "the lamp is on"),
        attempt(json!([a]), json!([b, a]), same),
        attempt(
            json!([a]),
            json!([["a", {"x": 4, "l": [2, 1], "n": "OSLO"}]]),
            same,
        ),
        attempt(
            json!([a]),
            json!([["a", {"x": 2, "l": [1, 2], "n": "Bergen"}]]),
            same,
        ),
        attempt(
            json!([a]),
            json!([["a", {"l": [2, 1], "n": "Oslo "}]]),
            same,
        ),
        attempt(json!([]), json!([a]), same),
        attempt(json!([a]), json!([]), same),
    ];
    let mut known: BTreeMap<Vec<usize>, Option<WhatIf>> = BTreeMap::new();
    for order in permutations(attempts.len()) {
        let group: Vec<&Attempt> = order.iter().map(|at| &attempts[*at]).collect();
        let found = common_relaxation(&group);
        // The sixth expects no calls at all, the seventh got none.
        let is_possible = !order.is_empty() && !order.contains(&6) && !order.contains(&7);
        assert_eq!(found.is_some(), is_possible, "{order:?}");
        if let Some(change) = &found {
            assert!(all_pass(&group, change), "{order:?} {change:?}");
            assert_eq!(relaxation_of_all(group), *change);
        }
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let first = known.entry(sorted).or_insert_with(|| found.clone());
        assert_eq!(*first, found, "{order:?}");
    }
}

#[test]
fn common_threshold_is_lowest_of_all_scores() {
    let (a, b) = (json!(["a", {}]), json!(["b", {}]));
    let only_response = attempt(json!([a, b]), json!([a, b]), "the lamp");
    let both = attempt(json!([a, b]), json!([b, a]), "the lamp is on");
    let suggestion = |attempts: &[&Attempt]| {
        common_relaxation(attempts).map(|change| change.describe().join(", "))
    };
    let expected = "ANY_ORDER, response_match_score at 0.57";
    assert_eq!(
        suggestion(&[&only_response, &both]).as_deref(),
        Some(expected)
    );
    assert_eq!(
        suggestion(&[&both, &only_response]).as_deref(),
        Some(expected)
    );
}

#[test]
fn threshold_is_score_unless_score_is_minimum() {
    let with_score = |metric: &str, score: f64, threshold: f64| {
        let mut attempt = attempt(json!([]), json!([]), "the lamp is off now");
        attempt.status = Status::Failed;
        attempt.metrics = vec![MetricResult {
            metric: metric.into(),
            score: Score::new(score),
            threshold: Some(threshold),
            status: Status::Failed,
            ..attempt.metrics[1].clone()
        }];
        relaxation(&attempt).map(|change| change.describe().join(", "))
    };
    let judged = |score| with_score("final_response_match_v2", score, 0.8);
    assert_eq!(
        judged(0.57).as_deref(),
        Some("final_response_match_v2 at 0.57")
    );
    assert_eq!(
        judged(0.003).as_deref(),
        Some("final_response_match_v2 at 0.003")
    );
    assert_eq!(judged(0.0), None);
    assert_eq!(
        with_score("response_evaluation_score", 1.0, 3.0),
        None,
        "the lowest of 1 to 5"
    );
    assert_eq!(
        with_score("response_evaluation_score", 1.25, 3.0).as_deref(),
        Some("response_evaluation_score at 1.25")
    );
}

#[test]
fn arguments_are_ignored_only_if_needed() {
    let same = "the lamp is off now";
    let of = |expected: Value, actual: Value| {
        suggestion(json!([["a", expected]]), json!([["a", actual]]), same).unwrap()
    };
    assert_eq!(
        of(json!({"n": "Oslo"}), json!({"n": " oslo"})),
        "a: n case_and_spaces"
    );
    assert_eq!(
        of(json!({"n": [1, 2]}), json!({"n": [2, 1]})),
        "a: n unordered"
    );
    assert_eq!(
        of(
            json!({"n": {"x": [1, 2], "y": 1}}),
            json!({"n": {"x": [2, 1], "y": 1}})
        ),
        "a: n.x unordered"
    );
    assert_eq!(
        of(json!({"n": 1}), json!({"n": 1, "unit": "C"})),
        "a: unit default C"
    );
    assert_eq!(
        of(json!({"n": 1}), json!({"n": 1, "unit": null})),
        "a: unit nullable"
    );
    assert_eq!(
        of(json!({"n": "x", "m": 1}), json!({"n": "y", "m": 2})),
        "a: m tolerance 1 + a: n ignore"
    );
    let many = |value: &str| -> Value {
        ["p", "q", "r", "s"]
            .map(|name| (name.to_string(), value.into()))
            .into_iter()
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    assert_eq!(of(many("x"), many("y")), "a: other arguments ignore");
    assert_eq!(
        of(many("x"), many("X")),
        "a: p case + a: q case + a: r case + a: s case"
    );
}

/// Where no calls are expected, a looser match type would accept any calls.
#[test]
fn match_type_accepting_any_calls_is_avoided() {
    let turn = |calls: &[&str]| Invocation {
        trajectory: Trajectory::Listed {
            calls: calls
                .iter()
                .map(|name| ToolCall::new(*name, None))
                .collect(),
            responses: vec![],
            texts: vec![],
        },
        ..Invocation::default()
    };
    let mut attempt = Attempt::blank(
        AttemptKey {
            case: 0,
            attempt: 1,
        },
        "x",
    );
    attempt.expected = [turn(&["a"]), turn(&[])].into();
    attempt.actual = [turn(&["a"]), turn(&["b"])].into();
    let criteria = [Criterion::new("tool_trajectory_avg_score", Some(1.0))];
    attempt.metrics = score_case(&criteria, &Evidence::from_attempt(&attempt));
    attempt.status = case_status(&attempt.metrics);
    let change = relaxation(&attempt).map(|change| change.describe().join(" + "));
    assert_eq!(change.as_deref(), Some("tool_trajectory_avg_score at 0.5"));
    // With another match type, a case that expects no calls at all could never fail.
    attempt.expected = [turn(&[])].into();
    attempt.actual = [turn(&["b"])].into();
    attempt.metrics = score_case(&criteria, &Evidence::from_attempt(&attempt));
    attempt.status = case_status(&attempt.metrics);
    assert_eq!(
        (attempt.status, relaxation(&attempt)),
        (Status::Failed, None)
    );
}

#[test]
fn suggested_threshold_has_few_decimals() {
    let higher = |score| short_threshold("response_match_score", Direction::Higher, score);
    for (score, threshold) in [
        (8.0 / 17.0, 0.47),
        (2.0 / 9.0, 0.22),
        (2.0 / 3.0, 0.66),
        (0.29, 0.29),
        (0.5, 0.5),
        (0.999_999, 0.99),
        (0.001_29, 0.001),
        (0.004, 0.004),
        (1e-20, 1e-20),
        (f64::MIN_POSITIVE, f64::MIN_POSITIVE),
    ] {
        assert_eq!(higher(score), threshold, "{score}");
    }
    let lower = |score| short_threshold("latency_in_seconds", Direction::Lower, score);
    assert_eq!(lower(1.234), 1.24);
    assert_eq!(lower(1.23), 1.23);
    assert_eq!(lower(1e300), 1e300);
    for at in 1..=2000 {
        let score = f64::from(at) / 2001.0;
        let threshold = higher(score);
        assert!(
            0.0 < threshold && threshold <= score && lower(score) >= score,
            "{score}"
        );
    }
}
