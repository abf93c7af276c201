//! Every test vector of the oracle that this version supports: its result must equal ADK's.
//!
//! With `../shared/oracle` beside the checkout all rows are compared; without it, the part of them in
//! `fixtures/vectors`.

use evaltrail_core::domain::{
    Criterion, Invocation, MatchRule, MatchType, Status, ToolCall, Trajectory,
};
use evaltrail_core::formats::SetFile;
use evaltrail_core::formats::adk::{self, Severity, invocations_of, read_event};
use evaltrail_core::formats::json;
use evaltrail_core::metrics::{self, Evidence};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

fn rows(kind: &str) -> Vec<Value> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let whole = root
        .join("../shared/oracle/vectors")
        .join(format!("{kind}.jsonl"));
    let part = root.join("fixtures/vectors").join(format!("{kind}.jsonl"));
    let path = if whole.exists() { whole } else { part };
    let text = std::fs::read_to_string(&path).expect("vectors are kept in fixtures/vectors");
    let rows: Vec<Value> = text
        .lines()
        .map(|line| json::parse(line).expect("a row").value)
        .collect();
    assert!(!rows.is_empty());
    println!("{kind}: {} rows of {}", rows.len(), path.display());
    rows
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {row}"))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.to_string().parse().ok(),
    }
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= 1e-9,
        (a, b) => a == b,
    }
}

#[test]
fn porter_stem() {
    for row in rows("porter_stem") {
        assert_eq!(
            metrics::stem(text(&row, "word")),
            text(&row, "stem"),
            "{row}"
        );
    }
}

#[test]
fn tokenize() {
    for row in rows("tokenize") {
        let expected: Vec<&str> = row["adk"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t.as_str().unwrap())
            .collect();
        assert_eq!(metrics::adk_tokens(text(&row, "text")), expected, "{row}");
    }
}

#[test]
fn rouge1() {
    for row in rows("rouge1") {
        let ours = metrics::rouge1(text(&row, "reference"), text(&row, "candidate"));
        for (key, ours) in [
            ("precision", ours.precision),
            ("recall", ours.recall),
            ("fmeasure", ours.fmeasure),
        ] {
            assert!(
                close(Some(ours), number(&row[key])),
                "{key} {ours} in {row}"
            );
        }
    }
}

#[test]
fn rouge_score() {
    for row in rows("tokenize") {
        let tokens = |key: &str| -> Vec<&str> {
            row[key]
                .as_array()
                .unwrap()
                .iter()
                .map(|t| t.as_str().unwrap())
                .collect()
        };
        assert_eq!(
            metrics::rouge_tokens(text(&row, "text"), true),
            tokens("plain_stem"),
            "{row}"
        );
        assert_eq!(
            metrics::rouge_tokens(text(&row, "text"), false),
            tokens("plain"),
            "{row}"
        );
    }
    type Score = fn(&str, &str, bool) -> metrics::Overlap;
    let kinds: [(&str, Score, [&str; 2]); 4] = [
        (
            "rouge1",
            |r, c, stem| metrics::rouge_n_of(1, r, c, stem),
            ["plain_stem", "plain"],
        ),
        (
            "rouge2",
            |r, c, stem| metrics::rouge_n_of(2, r, c, stem),
            ["stem", "no_stem"],
        ),
        ("rougeL", metrics::rouge_l_of, ["stem", "no_stem"]),
        ("rougeLsum", metrics::rouge_l_sum_of, ["stem", "no_stem"]),
    ];
    for (kind, score, [stemmed, plain]) in kinds {
        for row in rows(kind) {
            for (key, stem) in [(stemmed, true), (plain, false)] {
                let ours = score(text(&row, "reference"), text(&row, "candidate"), stem);
                let parts = [
                    ("precision", ours.precision),
                    ("recall", ours.recall),
                    ("fmeasure", ours.fmeasure),
                ];
                for (part, ours) in parts {
                    assert!(
                        close(Some(ours), number(&row[key][part])),
                        "{kind} {key} {part} {ours} in {row}"
                    );
                }
            }
        }
    }
}

#[test]
fn bleu() {
    for row in rows("bleu") {
        let ours = metrics::bleu(text(&row, "reference"), text(&row, "candidate"));
        assert!(
            close(Some(ours.score), number(&row["bleu"])),
            "{} in {row}",
            ours.score
        );
        assert!(
            close(
                Some(ours.effective_order),
                number(&row["bleu_effective_order"])
            ),
            "{ours:?} in {row}"
        );
        let detail = &row["detail"];
        assert_eq!(serde_json::json!(ours.matches), detail["matches"], "{row}");
        assert_eq!(serde_json::json!(ours.totals), detail["totals"], "{row}");
        assert!(
            close(
                Some(ours.brevity_penalty),
                number(&detail["brevity_penalty"])
            ),
            "{row}"
        );
        assert_eq!(
            serde_json::json!(ours.candidate_length),
            detail["candidate_length"],
            "{row}"
        );
        assert_eq!(
            serde_json::json!(ours.reference_length),
            detail["reference_length"],
            "{row}"
        );
    }
}

/// Known scores of text metrics: prediction, reference; ROUGE 1, 2, L, Lsum; BLEU with effective order and without.
#[test]
fn the_golden_table_of_text_metrics() {
    let table: &[(&str, &str, [f64; 6])] = &[
        (
            "The cat sat on the mat.",
            "The cat is on the mat.",
            [0.8333, 0.6, 0.8333, 0.8333, 0.4889, 0.4889],
        ),
        (
            "the quick brown fox",
            "the fox quick brown",
            [1.0, 0.3333, 0.75, 0.75, 0.3799, 0.3799],
        ),
        (
            "Line one here.\nLine two there.",
            "Line two there.\nLine one here.",
            [1.0, 0.8, 0.5, 1.0, 0.7186, 0.7186],
        ),
        (
            "It's 3.50 dollars",
            "its 3.5 dollars",
            [0.4444, 0.0, 0.4444, 0.4444, 0.2752, 0.0],
        ),
        (
            "12:30 PM flight to São Paulo",
            "flight to Sao Paulo at 12:30 pm",
            [0.75, 0.4286, 0.375, 0.375, 0.2388, 0.2388],
        ),
        ("running dogs", "run dog", [0.0; 6]),
        ("", "a b", [0.0; 6]),
        ("a b", "", [0.0; 6]),
    ];
    for (said, reference, expected) in table {
        let bleu = metrics::bleu(reference, said);
        let ours = [
            metrics::rouge_n_of(1, reference, said, false).fmeasure,
            metrics::rouge_n_of(2, reference, said, false).fmeasure,
            metrics::rouge_l_of(reference, said, false).fmeasure,
            metrics::rouge_l_sum_of(reference, said, false).fmeasure,
            bleu.effective_order,
            bleu.score,
        ];
        for (ours, expected) in ours.iter().zip(expected) {
            assert!(
                (ours - expected).abs() <= 5e-5,
                "{said:?} against {reference:?}: {ours} and {expected}"
            );
        }
    }
    assert_eq!(
        metrics::rouge_n_of(1, "run dog", "running dogs", true).fmeasure,
        1.0
    );
}

#[test]
fn vertex_trajectory() {
    for row in rows("vertex_trajectory") {
        let turn = |key: &str| {
            let call = |call: &Value| {
                let args = call["tool_input"].as_object().cloned();
                ToolCall::new(call["tool_name"].as_str().unwrap(), args)
            };
            let calls = row[key].as_array().unwrap().iter().map(call).collect();
            let trajectory = Trajectory::Listed {
                calls,
                responses: vec![],
                texts: vec![],
            };
            [Invocation {
                trajectory,
                ..Invocation::default()
            }]
        };
        let (expected, actual) = (turn("reference"), turn("predicted"));
        let score = |metric: &str| {
            metrics::score(
                &Criterion::new(metric, None),
                &Evidence::turns(Some(&expected), &actual),
            )
            .score()
        };
        for metric in [
            "exact_match",
            "in_order_match",
            "any_order_match",
            "precision",
            "recall",
        ] {
            let name = format!("trajectory_{metric}");
            assert!(
                close(score(&name), number(&row[&name])),
                "{name} {:?} of {row}",
                score(&name)
            );
        }
        for name in
            ["exact", "in_order", "any_order"].map(|kind| format!("trajectory_{kind}_match"))
        {
            let evidence = Evidence::turns(Some(&expected), &actual);
            let ruled = score_under_other_rule(Criterion::new(&name, Some(1.0)), &evidence);
            assert!(
                close(ruled, number(&row[&name])),
                "{name} {ruled:?} of {row}"
            );
        }
        let used = format!("trajectory_single_tool_use:{}", text(&row, "tool_name"));
        if !text(&row, "tool_name").is_empty() {
            assert!(
                close(score(&used), number(&row["trajectory_single_tool_use"])),
                "{row}"
            );
        }
        let other = &row["other_readings"];
        let ours = |metric: &str, key: &str| (score(metric), number(&other[key]));
        for (ours, theirs) in [
            ours("trajectory_match_precision", "precision_one_to_one"),
            ours("trajectory_match_recall", "recall_one_to_one"),
        ] {
            // Calls are paired by Python's equality, for which 1 equals true.
            let loose = row.to_string().contains("true") || row.to_string().contains("false");
            assert!(
                theirs.is_none() || loose || close(ours, theirs),
                "{ours:?} {theirs:?} of {row}"
            );
        }
    }
}

/// The score of a criterion under a rule for a tool that is never called.
fn score_under_other_rule(criterion: Criterion, evidence: &Evidence) -> Option<f64> {
    let rules = [MatchRule::about("no_such_tool", "q", "ignore".into())];
    let ruled = metrics::with_rules(vec![criterion], &rules);
    let score = metrics::score(&ruled[0], evidence);
    assert_eq!(score.metric, metrics::TRAJECTORY_MATCH);
    score.score()
}

fn calls(value: &Value) -> Invocation {
    let call = |value: &Value| {
        ToolCall::new(
            value["name"].as_str().unwrap_or_default(),
            value.get("args").and_then(Value::as_object).cloned(),
        )
    };
    let calls = value
        .as_array()
        .expect("a list of calls")
        .iter()
        .map(call)
        .collect();
    Invocation {
        trajectory: Trajectory::Listed {
            calls,
            responses: vec![],
            texts: vec![],
        },
        ..Invocation::default()
    }
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Passed => "PASSED",
        Status::Failed | Status::Errored => "FAILED",
        Status::NotEvaluated => "NOT_EVALUATED",
        Status::Informational => "INFORMATIONAL",
    }
}

#[test]
fn trajectory() {
    for row in rows("trajectory") {
        let turns = |key: &str| -> Vec<Invocation> {
            row[key].as_array().unwrap().iter().map(calls).collect()
        };
        let (expected, actual) = (turns("expected"), turns("actual"));
        for (name, result) in row["results"].as_object().unwrap() {
            let ignore = name.ends_with("_NAMES");
            let mut options = Map::new();
            options.insert("match_type".into(), name.trim_end_matches("_NAMES").into());
            options.insert("ignore_args".into(), ignore.into());
            let threshold = number(&row["threshold"]);
            let criterion = Criterion {
                metric: "tool_trajectory_avg_score".into(),
                threshold,
                options,
                ..Criterion::default()
            };
            let ours = metrics::score(&criterion, &Evidence::turns(Some(&expected), &actual));
            if result.get("error").is_some() {
                assert_eq!(ours.status, Status::NotEvaluated, "{name} of {row}");
                continue;
            }
            assert!(
                close(ours.score(), number(&result["score"])),
                "{name} {:?} of {row}",
                ours.score()
            );
            assert_eq!(
                status_name(ours.status),
                text(result, "status"),
                "{name} of {row}"
            );
            let evidence = Evidence::turns(Some(&expected), &actual);
            let ruled = threshold.and_then(|_| score_under_other_rule(criterion, &evidence));
            assert!(
                threshold.is_none() || close(ruled, number(&result["score"])),
                "{name} under a rule {ruled:?} of {row}"
            );
            let per: Vec<(Option<f64>, &str)> = ours
                .per_invocation
                .iter()
                .map(|p| (p.score(), status_name(p.status)))
                .collect();
            let theirs: Vec<(Option<f64>, &str)> = result["per_invocation"]
                .as_array()
                .unwrap()
                .iter()
                .map(|pair| (number(&pair[0]), pair[1].as_str().unwrap()))
                .collect();
            assert_eq!(per, theirs, "{name} of {row}");
        }
    }
}

#[test]
fn events_to_invocations() {
    for row in rows("events_to_invocations") {
        let events: Vec<adk::Event> = row["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| read_event(e).expect("an event"))
            .collect();
        let ours = invocations_of(&events);
        let theirs = row["invocations"].as_array().unwrap();
        assert_eq!(ours.len(), theirs.len(), "{row}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(ours.id, text(theirs, "invocation_id"), "{row}");
            assert_eq!(ours.user.scored_text(), text(theirs, "user_text"), "{row}");
            assert_eq!(ours.response_text(), text(theirs, "final_text"), "{row}");
            assert_eq!(
                ours.final_response.is_none(),
                theirs["final_response"].is_null(),
                "{row}"
            );
            let calls: Vec<(&str, Option<Value>)> = ours
                .calls()
                .iter()
                .map(|c| (c.name.as_str(), c.args.clone().map(Value::Object)))
                .collect();
            let expected: Vec<(&str, Option<Value>)> = theirs["tool_calls"]
                .as_array()
                .unwrap()
                .iter()
                .map(|c| {
                    (
                        c["name"].as_str().unwrap_or_default(),
                        c.get("args").filter(|a| !a.is_null()).cloned(),
                    )
                })
                .collect();
            assert_eq!(calls, expected, "{row}");
            let Trajectory::Events(kept) = &ours.trajectory else {
                panic!("events are kept as events")
            };
            let expected = theirs["events"].as_array().unwrap();
            assert_eq!(kept.len(), expected.len(), "{row}");
            for (kept, expected) in kept.iter().zip(expected) {
                assert_eq!(kept.author, text(expected, "author"), "{row}");
                assert_eq!(
                    kept.content.is_none(),
                    expected["content"].is_null(),
                    "{row}"
                );
                assert_eq!(
                    kept.usage.is_some(),
                    expected["has_usage"] == Value::Bool(true),
                    "{row}"
                );
                assert_eq!(
                    kept.model_version.as_deref(),
                    expected["model_version"].as_str(),
                    "{row}"
                );
            }
        }
    }
}

/// The issues for which ADK rejects a text, according to `check`. An id that is used twice is refused when the file is run, not when
/// it is read.
fn refusals(text: &str) -> Vec<adk::Issue> {
    let issues = adk::check_text(text, "", adk::KnownNames::default());
    issues
        .into_iter()
        .filter(|issue| issue.severity != Severity::Warning)
        .filter(|issue| !issue.message.contains("`adk eval` refuses to run the file"))
        .collect()
}

#[test]
fn evalset_validity() {
    for row in rows("evalset_validity") {
        let document = text(&row, "text");
        let refused = refusals(document);
        if row["loads"] == Value::Bool(true) {
            assert!(
                refused.is_empty(),
                "ADK reads this, check says {refused:?}: {row}"
            );
            let file =
                SetFile::open(Arc::from(document), "x").unwrap_or_else(|e| panic!("{e}: {row}"));
            for at in 0..file.len() {
                file.case(at).unwrap_or_else(|e| panic!("{e}: {row}"));
            }
        } else {
            assert!(
                !refused.is_empty(),
                "ADK refuses this and check is silent: {row}"
            );
        }
    }
}

#[test]
fn evalconfig_validity() {
    for row in rows("evalconfig_validity") {
        let read = adk::read_config(text(&row, "text"));
        let accepted = row["accepted"] == Value::Bool(true);
        assert_eq!(read.is_ok(), accepted, "{read:?} of {row}");
        let Ok(config) = read else { continue };
        let warned = adk::check_text(
            text(&row, "text"),
            "test_config",
            adk::KnownNames::default(),
        );
        for metric in row["metrics"].as_array().unwrap() {
            let name = text(metric, "metric");
            let Some(ours) = config.criteria.iter().find(|c| c.metric == name) else {
                let added = metrics::score_case(&config.criteria, &Evidence::turns(Some(&[]), &[]));
                assert!(added.iter().any(|m| m.metric == name), "{name} of {row}");
                continue;
            };
            assert!(
                close(ours.threshold, number(&metric["threshold"])),
                "{name} of {row}"
            );
            let usable = metrics::usable(ours).is_ok();
            let warns = warned.iter().any(|issue| issue.path.contains(name));
            match metric["usable"] == Value::Bool(true) {
                // A model that ADK does not know is a warning, because `[judge]` can specify another model.
                false if text(&row, "text").contains("judge_model\"") => {
                    assert!(warns, "{name} of {row}")
                }
                false => assert!(!usable && warns, "{name} of {row}"),
                true => assert!(usable || warns, "{name} of {row}"),
            }
            if let Some(wanted) = metric["match_type"].as_str() {
                let options = metrics::TrajectoryOptions::new(ours).expect("usable");
                let types = [MatchType::Exact, MatchType::InOrder, MatchType::AnyOrder];
                assert!(
                    types
                        .into_iter()
                        .any(|t| t.name() == wanted && t == options.match_type),
                    "{row}"
                );
                assert_eq!(
                    Value::Bool(options.ignore_args),
                    metric["ignore_args"],
                    "{row}"
                );
            }
        }
    }
}

#[test]
fn genuine_results_are_read() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/results");
    let Ok(found) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is not here", folder.display());
        return;
    };
    let mut read = 0;
    for path in found.map(|entry| entry.expect("an entry").path()) {
        if !path.to_string_lossy().ends_with(".evalset_result.json") {
            continue;
        }
        let document = std::fs::read_to_string(&path).expect("readable");
        let plain = adk::ResultFile::open(Arc::from(document.as_str())).expect("a result");
        let doubled = Value::String(document).to_string();
        let double = adk::ResultFile::open(Arc::from(doubled)).expect("a result in a string");
        assert_eq!(plain.entries.len(), double.entries.len());
        for at in 0..plain.entries.len() {
            let attempt = plain
                .attempt(at)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert_eq!(Some(attempt.adk_status), plain.entries[at].status);
            assert_eq!(attempt, double.attempt(at).expect("the same"));
        }
        read += 1;
    }
    assert!(read > 0);
}
