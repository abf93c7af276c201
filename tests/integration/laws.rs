//! Properties of the metrics for arbitrary trajectories: ranges, implications, symmetry. Rescoring equals scoring.

use evaltrail_core::diff::align;
use evaltrail_core::domain::{
    Attempt, AttemptKey, Content, Criterion, FindingRule, Invocation, MatchRule, MatchType,
    MetricResult, Status, ToolCall, Trajectory, case_status,
};
use evaltrail_core::metrics::{
    Direction, Evidence, Rescorer, WhatIf, catalog, score, score_case, usable, with_rules,
};
use proptest::prelude::*;
use serde_json::json;

type Calls = Vec<(u8, u8)>;

fn turn(calls: &Calls, said: &str) -> Invocation {
    let call = |(name, value): &(u8, u8)| {
        let name = ["get", "set", "log"][usize::from(*name)];
        ToolCall::new(name, json!({"n": value}).as_object().cloned())
    };
    Invocation {
        trajectory: Trajectory::Listed {
            calls: calls.iter().map(call).collect(),
            responses: vec![],
            texts: vec![],
        },
        final_response: Some(Content::text("model", said)),
        ..Invocation::default()
    }
}

fn calls() -> impl Strategy<Value = Calls> {
    prop::collection::vec((0u8..3, 0u8..3), 0..6)
}

/// A turn with calls without arguments, with empty and with unknown ones; or with unknown calls; of ADK or of a data set.
fn odd_turn() -> impl Strategy<Value = Invocation> {
    let call = (0u8..2, 0u8..5).prop_map(|(name, args)| {
        let args = [
            json!(null),
            json!({}),
            json!({"n": 1}),
            json!({"n": true}),
            json!(null),
        ][usize::from(args)]
        .clone();
        let name = ["get", "set"][usize::from(name)];
        ToolCall {
            args_unknown: args.is_null() && name == "get",
            ..ToolCall::new(name, args.as_object().cloned())
        }
    });
    (prop::collection::vec(call, 0..4), any::<bool>(), 0u8..6).prop_map(
        |(calls, is_data, unknown)| {
            let listed = Trajectory::Listed {
                calls,
                responses: vec![],
                texts: vec![],
            };
            let trajectory = if unknown == 0 {
                Trajectory::Unknown
            } else {
                listed
            };
            Invocation {
                trajectory,
                is_data,
                ..Invocation::default()
            }
        },
    )
}

fn score_with(metric: &str, expected: &Calls, actual: &Calls) -> Option<f64> {
    with_options(Criterion::new(metric, None), expected, actual)
}

fn with_options(criterion: Criterion, expected: &Calls, actual: &Calls) -> Option<f64> {
    let (expected, actual) = ([turn(expected, "")], [turn(actual, "")]);
    score(&criterion, &Evidence::turns(Some(&expected), &actual)).score()
}

fn matched(mode: &str, expected: &Calls, actual: &Calls) -> bool {
    let options = json!({"mode": mode}).as_object().cloned().unwrap();
    let criterion = Criterion {
        options,
        ..Criterion::new("trajectory_match", None)
    };
    with_options(criterion, expected, actual) == Some(1.0)
}

proptest! {
    #[test]
    fn exact_implies_in_order_implies_any_order(a in calls(), b in calls()) {
        let [x, y, z] =
            ["exact", "in_order", "any_order"].map(|kind| score_with(&format!("trajectory_{kind}_match"), &a, &b).unwrap());
        prop_assert!(x <= y && y <= z);
        prop_assert_eq!(score_with("trajectory_exact_match", &a, &a), Some(1.0));
        let [strict, in_order, unordered, subset, superset] =
            ["strict", "in_order", "unordered", "subset", "superset"].map(|mode| matched(mode, &a, &b));
        prop_assert!(!strict || (in_order && unordered));
        prop_assert!(!in_order || superset);
        prop_assert_eq!(unordered, subset && superset);
        prop_assert_eq!(subset, matched("superset", &b, &a));
    }

    #[test]
    fn recall_equals_precision_with_sides_swapped(a in calls(), b in calls()) {
        // `trajectory_match_*` compare multisets, one to one; in Vertex's metrics each repeated call counts.
        let recall = score_with("trajectory_match_recall", &a, &b).unwrap();
        prop_assert_eq!(recall == 1.0, score_with("trajectory_any_order_match", &a, &b) == Some(1.0));
        prop_assert_eq!(recall, score_with("trajectory_match_precision", &b, &a).unwrap());
        prop_assert_eq!(score_with("trajectory_recall", &a, &b), score_with("trajectory_precision", &b, &a));
        prop_assert_eq!(score_with("trajectory_match_f1", &a, &b), score_with("trajectory_match_f1", &b, &a));
    }

    #[test]
    fn scores_stay_in_their_ranges(a in calls(), b in calls(), said in "[a-c .,\n]{0,20}", other in "[a-c .,\n]{0,20}") {
        let (expected, actual) = ([turn(&a, &said)], [turn(&b, &other)]);
        let evidence = Evidence { latency_s: Some(0.5), ..Evidence::turns(Some(&expected), &actual) };
        for metric in catalog() {
            let label = if metric.name == "trajectory_single_tool_use" { ":get" } else { "" };
            let criterion = Criterion::new(&format!("{}{label}", metric.name), None);
            let Some(score) = score(&criterion, &evidence).score() else { continue };
            let (low, high) = metric.range.unwrap_or((0.0, f64::MAX));
            // sacrebleu's own score of two equal texts is 100.00000000000004.
            prop_assert!((low..=high + 1e-12).contains(&score), "{} {}", metric.name, score);
        }
    }

    /// A result that did not pass has findings, and the findings of ADK's trajectory metric name the call.
    #[test]
    fn a_result_that_did_not_pass_has_findings(a in calls(), b in calls(), said in "[a-c .]{0,9}", other in "[a-c .]{0,9}") {
        let (expected, actual) = ([turn(&a, &said)], [turn(&b, &other)]);
        let evidence = Evidence { latency_s: Some(0.5), ..Evidence::turns(Some(&expected), &actual) };
        for metric in catalog() {
            let label = if metric.name == "trajectory_single_tool_use" { ":get" } else { "" };
            let best = if metric.direction == Direction::Lower { 0.0 } else { 1.0 };
            let result = score(&Criterion::new(&format!("{}{label}", metric.name), Some(best)), &evidence);
            let undecided = matches!(result.status, Status::Failed | Status::NotEvaluated);
            prop_assert!(!undecided || !result.findings.is_empty(), "{result:?}");
            prop_assert!(result.findings.iter().all(|finding| finding.turn.is_none_or(|turn| turn == 1)));
        }
        let exact = score(&Criterion::new("tool_trajectory_avg_score", Some(1.0)), &evidence);
        prop_assert_eq!(exact.score() == Some(1.0), exact.findings.is_empty());
        prop_assert!(exact.findings.iter().all(|finding| finding.call.is_some() || finding.rule == FindingRule::OrderDiffers));
        let text = serde_json::to_string(&exact).unwrap();
        prop_assert_eq!(serde_json::from_str::<MetricResult>(&text).unwrap(), exact);
    }

    #[test]
    fn alignment_is_no_worse_than_greedy(a in calls(), b in calls()) {
        let (expected, actual) = (turn(&a, ""), turn(&b, ""));
        let (e, a) = (expected.calls(), actual.calls());
        let aligned = align(&e, &a).cost(&e, &a);
        // Pairs equal calls greedily, in order; the others are missing or extra.
        let mut rest = 0;
        let mut paired = 0;
        for call in &e {
            if let Some(at) = (rest..a.len()).find(|&at| evaltrail_core::diff::calls_equal(call, a[at], false)) {
                (rest, paired) = (at + 1, paired + 1);
            }
        }
        prop_assert!(aligned <= (e.len() + a.len() - 2 * paired) as f64 + 1e-9);
    }

    /// Rescoring an outcome with a what-if gives the same as scoring with the changed criteria.
    #[test]
    fn rescoring_equals_scoring(
        a in calls(), b in calls(), said in "[a-c ]{0,12}", kind in 0usize..4, ignore in any::<Option<bool>>(),
        threshold in 0.0f64..1.0, ruled in any::<bool>(),
    ) {
        let criteria = vec![
            Criterion::new("tool_trajectory_avg_score", Some(1.0)),
            Criterion::new("response_match_score", Some(0.8)),
            Criterion::new("trajectory_precision", Some(0.5)),
            Criterion::new("rouge_l", None),
        ];
        let kinds = [None, Some(MatchType::Exact), Some(MatchType::InOrder), Some(MatchType::AnyOrder)];
        let rules = if ruled { vec![MatchRule::about("s*", "n", "ignore".into())] } else { vec![] };
        let thresholds = [("response_match_score".to_string(), threshold)].into();
        let change = WhatIf { match_type: kinds[kind], ignore_args: ignore, thresholds, rules };
        let mut attempt = Attempt::blank(AttemptKey { case: 0, attempt: 1 }, "x");
        (attempt.expected, attempt.actual) = ([turn(&a, "a b c")].into(), [turn(&b, &said)].into());
        attempt.metrics = score_case(&criteria, &Evidence::from_attempt(&attempt));
        attempt.status = case_status(&attempt.metrics);
        let rescored = Rescorer::new(&change).rescore(&attempt);
        let anew = score_case(&change.apply(criteria), &Evidence::from_attempt(&attempt));
        prop_assert_eq!(&rescored.metrics, &anew);
        prop_assert_eq!(rescored.status, case_status(&anew));
    }

    /// A rule about a tool that does not occur changes no score, whatever is known about the calls.
    #[test]
    fn rules_about_other_tools_change_no_score(a in odd_turn(), b in odd_turn(), kind in 0usize..6, rule in 0usize..5) {
        let rule = ["x q ignore", "x optional", "x others ignore", "x q default 1", "set zz ignore"][rule];
        let rules = [MatchRule::parse(rule).unwrap()];
        let (name, options) = [
            ("tool_trajectory_avg_score", json!({})),
            ("tool_trajectory_avg_score", json!({"match_type": "IN_ORDER"})),
            ("tool_trajectory_avg_score", json!({"match_type": "ANY_ORDER", "ignore_args": true})),
            ("trajectory_exact_match", json!({})),
            ("trajectory_in_order_match", json!({})),
            ("trajectory_any_order_match", json!({})),
        ][kind].clone();
        let options = options.as_object().cloned().unwrap();
        let criterion = Criterion { options, ..Criterion::new(name, Some(1.0)) };
        let (expected, actual) = ([a], [b]);
        let evidence = Evidence::turns(Some(&expected), &actual);
        let ruled = with_rules(vec![criterion.clone()], &rules);
        prop_assert_eq!(score(&ruled[0], &evidence).score(), score(&criterion, &evidence).score());
    }

    /// Empty rules change which metric decides, but not the status.
    #[test]
    fn rules_that_say_nothing_decide_as_adk_does(a in calls(), b in calls()) {
        let criteria = vec![Criterion::new("tool_trajectory_avg_score", Some(1.0))];
        let (expected, actual) = ([turn(&a, "")], [turn(&b, "")]);
        let evidence = Evidence::turns(Some(&expected), &actual);
        let plain = case_status(&score_case(&criteria, &evidence));
        let ruled = with_rules(criteria, &[MatchRule::default()]);
        prop_assert!(ruled.iter().all(|criterion| usable(criterion).is_ok()));
        prop_assert_eq!(case_status(&score_case(&ruled, &evidence)), plain);
    }
}

/// What stands in the place of the crate crc-fast, against the check value of the catalogue of CRC algorithms and the
/// examples of the NVM Express NVM Command Set Specification 1.0d, section 5.2.1.3.5.
#[test]
fn crc_64_nvme_is_as_published() {
    let of = |pieces: &[&[u8]]| {
        let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
        pieces.iter().for_each(|piece| digest.update(piece));
        digest.finalize()
    };
    assert_eq!(of(&[b"123456789"]), 0xae8b_1486_0a79_9888);
    assert_eq!(of(&[b"1234", b"", b"56789"]), 0xae8b_1486_0a79_9888);
    let rising: Vec<u8> = (0..4096).map(|at| at as u8).collect();
    let falling: Vec<u8> = rising.iter().map(|byte| !byte).collect();
    assert_eq!(of(&[&[0; 4096]]), 0x6482_d367_eb22_b64e);
    assert_eq!(of(&[&[0xff; 4096]]), 0xc0dd_ba73_02ec_a3ac);
    assert_eq!(of(&[&rising]), 0x3e72_9f5f_6750_449c);
    assert_eq!(of(&[&falling]), 0x9a2d_f64b_8e9e_517e);
}
