//! Judged metrics compared with ADK's results for the same responses: ADK's reading gives equal results; the careful
//! reading gives the right verdict or none, and all its differences are listed.

use crate::common::judge::judged_case;
use evaltrail_core::domain::{
    Content, Criterion, Invocation, InvocationEvent, JudgeUsage, JudgedQuestion, MetricResult,
    Part, QuestionId, Rubric, Sample, Score, Status, ToolCall, ToolResponse, Trajectory,
    VerdictParsing,
};
use evaltrail_core::formats::json;
use evaltrail_core::metrics::{Evidence, JudgedMetric, replies};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::PathBuf;

fn rows(kind: &str) -> Vec<Value> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let whole = root.join("../shared/oracle/vectors/judge_parse.jsonl");
    let part = root.join("fixtures/vectors/judge_parse.jsonl");
    let text = std::fs::read_to_string(if whole.exists() { whole } else { part }).unwrap();
    let rows = text.lines().map(|line| json::parse(line).unwrap().value);
    let rows: Vec<Value> = rows.filter(|row| row["kind"] == kind).collect();
    assert!(!rows.is_empty());
    println!("{kind}: {} rows", rows.len());
    rows
}

fn content(text: &str) -> Content {
    Content::text("model", text)
}

fn rubrics(list: &Value) -> Vec<Rubric> {
    let text = |value: &Value| value.as_str().map(str::to_string);
    let rubric = |one: &Value| Rubric {
        id: text(&one["rubric_id"]).unwrap(),
        text: text(&one["rubric_content"]["text_property"]),
        kind: text(&one["type"]),
        ..Rubric::default()
    };
    list.as_array().into_iter().flatten().map(rubric).collect()
}

fn event(event: &Value) -> InvocationEvent {
    let mut parts: Vec<Part> = Vec::new();
    for text in event["texts"].as_array().into_iter().flatten() {
        parts.extend(content(text.as_str().unwrap()).parts);
    }
    for call in event["calls"].as_array().into_iter().flatten() {
        let call = ToolCall::new(
            call["name"].as_str().unwrap(),
            call["args"].as_object().cloned(),
        );
        parts.push(Part {
            call: Some(call),
            ..Part::default()
        });
    }
    for one in event["responses"].as_array().into_iter().flatten() {
        let name = one["name"].as_str().unwrap().to_string();
        let response = ToolResponse {
            id: None,
            name,
            response: one["response"].clone(),
        };
        parts.push(Part {
            response: Some(response),
            ..Part::default()
        });
    }
    InvocationEvent {
        author: event["author"].as_str().unwrap().into(),
        content: Some(Content {
            parts,
            ..Content::default()
        }),
        ..InvocationEvent::default()
    }
}

/// Expected and actual turns of a row.
fn turns(row: &Value) -> (Vec<Invocation>, Vec<Invocation>) {
    let turn = |one: &Value, side: &str| Invocation {
        user: content(one["user"].as_str().unwrap()),
        final_response: one[side].as_str().map(content),
        rubrics: rubrics(&one["rubrics"]),
        trajectory: Trajectory::Events(
            one["events"]
                .as_array()
                .into_iter()
                .flatten()
                .map(event)
                .collect(),
        ),
        ..Invocation::default()
    };
    let all = row["invocations"].as_array().unwrap();
    (
        all.iter().map(|one| turn(one, "expected")).collect(),
        all.iter().map(|one| turn(one, "actual")).collect(),
    )
}

/// A sample with a reply: several parts are joined by line breaks, as in ADK.
fn sample(reply: &Value) -> Sample {
    let said = |text: String| Sample {
        reply: Some(text),
        ..Sample::default()
    };
    if let Some(text) = reply.as_str() {
        return said(text.to_string());
    }
    if let Some(parts) = reply["parts"].as_array() {
        let parts: Vec<&str> = parts.iter().map(|part| part.as_str().unwrap()).collect();
        return said(parts.join("\n"));
    }
    if reply["no_content"] == true {
        return said(String::new());
    }
    let why = reply["error"]
        .as_str()
        .unwrap_or("the judge said nothing")
        .to_string();
    Sample {
        error: Some(why),
        ..Sample::default()
    }
}

/// Answers the questions in ADK's order, one after the other. Returns the result and the number of calls.
fn judge(
    metric: &JudgedMetric,
    evidence: &Evidence,
    replies: &[Value],
) -> Result<(MetricResult, usize), String> {
    let mut left: VecDeque<&Value> = replies.iter().collect();
    let mut answered: Vec<JudgedQuestion> = Vec::new();
    let mut calls = 0;
    let mut case = judged_case(metric, evidence);
    loop {
        let mut questions = case.questions(&answered)?;
        questions.sort_by_key(|question| question.id);
        let Some(question) = questions.into_iter().next() else {
            break;
        };
        let samples: Vec<Sample> = (0..question.samples)
            .map(|_| {
                sample(
                    left.pop_front()
                        .unwrap_or_else(|| panic!("ADK asks less often: {}", question.prompt)),
                )
            })
            .collect();
        calls += samples.len();
        answered.push(JudgedQuestion {
            id: question.id,
            about: question.about.into(),
            samples,
        });
    }
    Ok((
        case.result(answered, "scripted", JudgeUsage::default()),
        calls,
    ))
}

fn metric(name: &str, options: &Value, reading: VerdictParsing) -> JudgedMetric {
    let options = options.as_object().cloned().unwrap_or_default();
    let threshold = options.get("threshold").and_then(Value::as_f64);
    let criterion = Criterion {
        options,
        ..Criterion::new(name, threshold)
    };
    JudgedMetric::new(&criterion, reading, None)
        .unwrap()
        .unwrap()
}

fn float(value: &Value) -> Option<f64> {
    value.to_string().parse().ok()
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9,
        (a, b) => a == b,
    }
}

fn status(word: &Value) -> Status {
    match word.as_str().unwrap() {
        "PASSED" => Status::Passed,
        "FAILED" => Status::Failed,
        _ => Status::NotEvaluated,
    }
}

/// The score of one turn with one sample.
fn verdict(row: &Value, reading: VerdictParsing) -> Option<f64> {
    let one = json!({"threshold": 0.5, "judge_model_options": {"num_samples": 1}});
    let turn = Invocation {
        final_response: Some(content("Answer")),
        ..Invocation::default()
    };
    let (turns, turns_) = ([turn.clone()], [turn]);
    let evidence = Evidence::turns(Some(&turns), &turns_);
    let metric = metric("final_response_match_v2", &one, reading);
    judge(&metric, &evidence, std::slice::from_ref(&row["reply"]))
        .unwrap()
        .0
        .score()
}

#[test]
fn verdicts_are_read_as_adk_reads_them() {
    for row in rows("verdict") {
        assert!(
            close(verdict(&row, VerdictParsing::Adk), float(&row["score"])),
            "{row}"
        );
    }
}

/// A table of differences: tag of the row, score in the careful reading, reason.
type Differences = [(&'static str, Option<f64>, &'static str)];

/// Verdicts that the careful reading scores differently from ADK.
const VERDICTS: &Differences = &[
    ("quoted 'Valid'", Some(1.0), "letter case does not matter"),
    ("quoted 'VALID'", Some(1.0), "letter case does not matter"),
    ("quoted 'True'", Some(1.0), "letter case does not matter"),
    ("quoted 'not valid'", Some(0.0), "it says so"),
    (
        "quoted 'valid.'",
        Some(1.0),
        "an end of a sentence is part of no word",
    ),
    (
        "quoted 'valid!'",
        Some(1.0),
        "an end of a sentence is part of no word",
    ),
    ("bare True", Some(1.0), "letter case does not matter"),
    ("in a list True", Some(1.0), "letter case does not matter"),
    ("bare partially valid", Some(0.0), "as with an underscore"),
    (
        "in a list partially valid",
        Some(0.0),
        "as with an underscore",
    ),
    (
        "bare in a list partially valid",
        Some(0.0),
        "as with an underscore",
    ),
    ("space before the colon", Some(1.0), "JSON allows it"),
    (
        "single quotes",
        Some(1.0),
        "the key, a colon and a word are clear enough",
    ),
    (
        "key without quotes",
        Some(1.0),
        "the key, a colon and a word are clear enough",
    ),
    (
        "smart quotes",
        Some(1.0),
        "the key, a colon and a word are clear enough",
    ),
    (
        "escaped quotes",
        Some(1.0),
        "the key, a colon and a word are clear enough",
    ),
    ("twice, valid first", None, "it contradicts itself"),
    (
        "quoted in the reasoning",
        None,
        "it contradicts itself, and is no JSON that could tell which counts",
    ),
    ("other key, nonsense", None, "perhaps is no verdict"),
    ("both keys, other first", None, "it contradicts itself"),
    ("semicolon end", Some(1.0), "the word is whole"),
    ("list of two", None, "it contradicts itself"),
    ("comment", Some(1.0), "the word is whole"),
];

/// Responses to rubrics (score of the sample) that the careful reading scores differently from ADK.
const RUBRICS: &Differences = &[
    ("one twice", Some(1.0), "it contradicts itself on one"),
    (
        "id wins over the property",
        None,
        "the id of one with the text of another means neither",
    ),
    (
        "verdict 'unknown'",
        Some(1.0),
        "that is no verdict; ADK finds the letters \"no\"",
    ),
    (
        "verdict 'none'",
        Some(1.0),
        "that is no verdict; ADK finds the letters \"no\"",
    ),
    (
        "verdict 'I do not know'",
        Some(1.0),
        "that is no verdict; ADK finds the letters \"no\"",
    ),
    (
        "verdict 'north'",
        Some(1.0),
        "that is no verdict; ADK finds the letters \"no\"",
    ),
    (
        "verdict 'notable'",
        Some(1.0),
        "that is no verdict; ADK finds the letters \"no\"",
    ),
    ("missing verdict of one", Some(1.0), "the other has one"),
    ("missing property of one", Some(0.5), "the id is enough"),
    ("verdict without a space", Some(1.0), "a space says nothing"),
    (
        "rationale without a space",
        Some(1.0),
        "a space says nothing",
    ),
    (
        "property without a space",
        Some(1.0),
        "a space says nothing",
    ),
    (
        "bold labels with the colon outside",
        Some(1.0),
        "decoration says nothing",
    ),
    ("numbered", Some(1.0), "decoration says nothing"),
    (
        "prose around",
        Some(1.0),
        "the line after the block is of no rubric",
    ),
    ("as json", Some(1.0), "it is clear enough"),
    ("cut in the second block", Some(1.0), "the first is whole"),
];

fn differ(rows: Vec<Value>, listed: &Differences, ours: impl Fn(&Value) -> Option<f64>) {
    // The repository contains only a part of the vectors.
    let whole = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/oracle")
        .exists();
    let mut left: VecDeque<_> = listed.iter().collect();
    let mut wrong = Vec::new();
    for row in rows {
        let (ours, tag) = (ours(&row), row["tags"][0].as_str().unwrap());
        let position = left
            .iter()
            .position(|(listed, score, _)| *listed == tag && close(*score, ours));
        if let Some(at) = position.filter(|at| *at == 0 || !whole) {
            left.drain(..=at);
        } else if !close(ours, float(&row["score"])) {
            wrong.push(format!(
                "{tag}: {ours:?}, in ADK {}: {}",
                row["score"], row["reply"]
            ));
        }
    }
    assert!(wrong.is_empty(), "not listed:\n{}", wrong.join("\n"));
    assert!(left.is_empty() || !whole, "listed and not found: {left:?}");
}

#[test]
fn the_careful_reading_is_right_or_silent() {
    differ(rows("verdict"), VERDICTS, |row| {
        verdict(row, VerdictParsing::Careful)
    });
    differ(rows("rubrics"), RUBRICS, |row| {
        rubric_verdicts(row, VerdictParsing::Careful).0
    });
}

#[test]
fn rubric_answers_are_read_as_adk_reads_them() {
    for row in rows("rubrics") {
        let blocks = replies::adk_blocks(row["reply"].as_str().unwrap());
        let parsed = row["parsed"].as_array().unwrap();
        assert_eq!(blocks.len(), parsed.len(), "{row}");
        for (ours, adks) in blocks.iter().zip(parsed) {
            assert_eq!(
                ours.rubric_id.as_deref(),
                adks["rubric_id"].as_str(),
                "{row}"
            );
            assert_eq!(ours.property, adks["property"].as_str().unwrap(), "{row}");
            assert_eq!(ours.rationale, adks["rationale"].as_str().unwrap(), "{row}");
            assert!(close(ours.score, float(&adks["score"])), "{row}");
        }
        let (score, verdicts) = rubric_verdicts(&row, VerdictParsing::Adk);
        assert!(close(score, float(&row["score"])), "{score:?} {row}");
        let adks = row["rubric_scores"].as_array().unwrap();
        assert_eq!(verdicts.len(), adks.len(), "{row}");
        for ((id, score), adks) in verdicts.iter().zip(adks) {
            assert!(
                id == adks["rubric_id"].as_str().unwrap() && close(*score, float(&adks["score"])),
                "{row}"
            );
        }
    }
}

fn rubric_verdicts(
    row: &Value,
    reading: VerdictParsing,
) -> (Option<f64>, Vec<(String, Option<f64>)>) {
    let options = json!({
        "threshold": 0.5, "judge_model_options": {"num_samples": 1}, "rubrics": row["rubrics"],
    });
    let turn = Invocation {
        final_response: Some(content("Answer")),
        ..Invocation::default()
    };
    let (expected, actual) = ([turn.clone()], [turn]);
    let evidence = Evidence::turns(Some(&expected), &actual);
    let metric = metric(row["metric"].as_str().unwrap(), &options, reading);
    let (result, _) = judge(&metric, &evidence, std::slice::from_ref(&row["reply"])).unwrap();
    let sample = &result.judgement.unwrap().questions[0].samples[0];
    (
        sample.score(),
        sample
            .verdicts
            .iter()
            .map(|one| (one.rubric_id.clone(), one.score()))
            .collect(),
    )
}

#[test]
fn sentences_and_labels_match_adk() {
    for row in rows("sentences") {
        let wanted: Vec<&str> = row["sentences"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s.as_str().unwrap())
            .collect();
        assert_eq!(
            replies::sentences(row["reply"].as_str().unwrap()),
            wanted,
            "{row}"
        );
    }
    for row in rows("validation") {
        let blocks = replies::labelled(row["reply"].as_str().unwrap());
        let adks = row["results"].as_array().unwrap();
        assert_eq!(blocks.len(), adks.len(), "{row}");
        for (ours, adks) in blocks.iter().zip(adks) {
            assert_eq!(ours.sentence, adks["sentence"].as_str().unwrap(), "{row}");
            assert_eq!(ours.label, adks["label"].as_str().unwrap(), "{row}");
            assert_eq!(ours.rationale, adks["rationale"].as_str().unwrap(), "{row}");
            assert_eq!(
                ours.supporting.as_deref(),
                adks["supporting_excerpt"].as_str(),
                "{row}"
            );
            assert_eq!(
                ours.contradicting.as_deref(),
                adks["contradicting_excerpt"].as_str(),
                "{row}"
            );
        }
        let scores: Vec<f64> = blocks
            .iter()
            .filter_map(|block| block.score(VerdictParsing::Adk))
            .collect();
        let score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
        assert!(close(score, float(&row["score"])), "{row}");
    }
}

#[test]
fn judged_metrics_equal_those_of_adk() {
    for row in rows("evaluate") {
        let metric = metric(
            row["metric"].as_str().unwrap(),
            &row["criterion"],
            VerdictParsing::Adk,
        );
        let (expected, actual) = turns(&row);
        let expected = (row["no_expected"] != true).then_some(&expected[..]);
        let evidence = Evidence::turns(expected, &actual);
        let replies = row["replies"].as_array().unwrap();
        let wanted = &row["result"];
        let (result, calls) = match judge(&metric, &evidence, replies) {
            Ok(judged) => judged,
            Err(_) => {
                assert!(wanted["error"].is_string(), "{row}");
                continue;
            }
        };
        assert!(wanted["error"].is_null(), "{row}");
        assert_eq!(calls as u64, row["judge_calls"].as_u64().unwrap(), "{row}");
        assert!(
            close(result.score(), float(&wanted["score"])),
            "{:?} {row}",
            result.score()
        );
        assert_eq!(result.status, status(&wanted["status"]), "{row}");
        let by_turn = wanted["per_invocation"].as_array().unwrap();
        assert_eq!(result.per_invocation.len(), by_turn.len(), "{row}");
        for (ours, adks) in result.per_invocation.iter().zip(by_turn) {
            assert!(close(ours.score(), float(&adks["score"])), "{row}");
            assert_eq!(ours.status, status(&adks["status"]), "{row}");
            same_rubrics(&ours.rubrics, &adks["rubric_scores"], &row);
        }
        same_rubrics(&result.rubrics, &wanted["rubric_scores"], &row);
    }
}

fn same_rubrics(ours: &[evaltrail_core::domain::RubricScore], adks: &Value, row: &Value) {
    let adks = adks.as_array().cloned().unwrap_or_default();
    assert_eq!(ours.len(), adks.len(), "{row}");
    for (ours, adks) in ours.iter().zip(&adks) {
        assert_eq!(ours.rubric_id, adks["rubric_id"].as_str().unwrap(), "{row}");
        assert!(close(ours.score(), float(&adks["score"])), "{row}");
        if let Some(rationale) = adks["rationale"].as_str() {
            assert_eq!(ours.rationale.as_deref(), Some(rationale), "{row}");
        }
    }
}

/// The careful reading passes only what ADK passes, and nothing of which a part was not judged.
#[test]
fn careful_reading_passes_no_adk_failure() {
    let mut gaps = 0;
    for row in rows("evaluate") {
        let name = row["metric"].as_str().unwrap();
        let metric = metric(name, &row["criterion"], VerdictParsing::Careful);
        let (expected, actual) = turns(&row);
        let evidence = Evidence::turns(Some(&expected), &actual);
        let Ok(_) = judged_case(&metric, &evidence).questions(&[]) else {
            continue;
        };
        let failed = row["replies"]
            .as_array()
            .unwrap()
            .iter()
            .any(|reply| sample(reply).error.is_some());
        let Ok((result, _)) = judge(&metric, &evidence, row["replies"].as_array().unwrap()) else {
            continue;
        };
        if row["result"]["error"].is_string() {
            continue;
        }
        let adks = status(&row["result"]["status"]);
        if result.status == Status::Passed {
            assert_eq!(adks, Status::Passed, "{row}");
            assert!(!failed, "{row}");
        }
        if failed {
            assert_eq!(result.status, Status::Errored, "{row}");
        }
        // The responses of each turn are read with the rubrics of that turn.
        if row["tags"][0] == "the last invocation's rubrics rule" {
            assert_eq!(
                (result.score(), float(&row["result"]["score"])),
                (Some(0.75), Some(1.0)),
                "{row}"
            );
        }
        let gap = [
            "one rubric never judged",
            "an invocation not evaluated is left out",
        ];
        if gap.contains(&row["tags"][0].as_str().unwrap()) && adks == Status::Passed {
            assert_eq!(result.status, Status::NotEvaluated, "{row}");
            gaps += 1;
        }
    }
    println!("{gaps} passes of ADK hide what was not judged");
    let whole = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/oracle")
        .exists();
    assert!(gaps > 0 || !whole);
}

#[test]
fn questions_are_ordered_by_text_before_step() {
    assert!(
        QuestionId {
            turn: 0,
            text: 1,
            step: 0
        } > QuestionId {
            turn: 0,
            text: 0,
            step: 1
        }
    );
}

/// Turns of the history are not judged, and do not prevent the case from passing.
#[test]
fn turns_of_history_are_not_judged() {
    let turn = |history| Invocation {
        final_response: Some(content("Answer")),
        history,
        ..Invocation::default()
    };
    let (expected, actual) = ([turn(true), turn(false)], [turn(true), turn(false)]);
    let evidence = Evidence::turns(Some(&expected), &actual);
    let options = json!({"threshold": 0.5, "judge_model_options": {"num_samples": 1}});
    let metric = metric("final_response_match_v2", &options, VerdictParsing::Careful);
    let replies = [json!("{\"is_the_agent_response_valid\": \"valid\"}")];
    let (result, calls) = judge(&metric, &evidence, &replies).unwrap();
    assert_eq!(
        (calls, result.status, result.score()),
        (1, Status::Passed, Some(1.0))
    );
}

/// The result of a custom template; `replies` contains the samples of each question.
fn rated(baseline: bool, lower: bool, threshold: f64, replies: &[&[&str]]) -> MetricResult {
    use evaltrail_core::domain::{CustomMetric, JudgeTemplate};
    let template = JudgeTemplate {
        prompt: if baseline {
            "{response_a} {response_b}"
        } else {
            "{response}"
        }
        .into(),
        baseline: baseline.then(|| "baseline".to_string()),
        flip: baseline,
        lower_is_better: lower,
        ..JudgeTemplate::default()
    };
    let criterion = Criterion {
        custom: Some(CustomMetric::Judged(template)),
        ..Criterion::new("own", Some(threshold))
    };
    let metric = JudgedMetric::new(&criterion, VerdictParsing::Careful, None)
        .unwrap()
        .unwrap();
    let turn = Invocation {
        final_response: Some(content("Answer")),
        ..Invocation::default()
    };
    let turns = [turn];
    let answered = replies
        .iter()
        .enumerate()
        .map(|(step, replies)| JudgedQuestion {
            id: QuestionId {
                step,
                ..QuestionId::default()
            },
            about: String::new(),
            samples: replies
                .iter()
                .map(|reply| Sample {
                    reply: Some((*reply).into()),
                    ..Sample::default()
                })
                .collect(),
        });
    judged_case(&metric, &Evidence::turns(None, &turns)).result(
        answered.collect(),
        "j",
        JudgeUsage::default(),
    )
}

/// The score that each sample alone would give depends only on that sample.
#[test]
fn score_per_sample_is_computed() {
    let rated = rated(
        false,
        false,
        0.5,
        &[&[r#"{"score": 1}"#, r#"{"score": 0}"#, r#"{"score": 0.5}"#]],
    );
    assert_eq!(
        rated.judgement.unwrap().alone,
        [1.0, 0.0, 0.5].map(Score::new)
    );
}

/// Scores whose sum is not finite.
#[test]
fn huge_scores_survive_serialization() {
    let huge = r#"{"score": 1e308}"#;
    let rated = rated(false, false, 0.5, &[&[huge, huge, r#"{"score": 1}"#, huge]]);
    assert!(
        rated.score().unwrap() > 7e307 && rated.status == Status::Passed,
        "{rated:?}"
    );
    assert!(rated.judgement.as_ref().unwrap().reach.is_some());
    let stored = serde_json::to_string(&rated).unwrap();
    assert_eq!(
        serde_json::from_str::<MetricResult>(&stored).unwrap(),
        rated
    );
}

#[test]
fn pair_order_sampling_reports_position_bias() {
    use evaltrail_core::domain::{CustomMetric, JudgeTemplate};
    for (samples, each) in [(1, 1), (2, 1), (3, 2), (5, 3), (6, 3)] {
        let template = JudgeTemplate {
            prompt: "{response_a} {response_b}".into(),
            baseline: Some("baseline".into()),
            flip: true,
            samples: Some(samples),
            ..JudgeTemplate::default()
        };
        let criterion = Criterion {
            custom: Some(CustomMetric::Judged(template)),
            ..Criterion::new("own", Some(0.5))
        };
        let metric = JudgedMetric::new(&criterion, VerdictParsing::Careful, None)
            .unwrap()
            .unwrap();
        let turns = [Invocation {
            final_response: Some(content("Answer")),
            ..Invocation::default()
        }];
        let variables = json!({"baseline": "Another."})
            .as_object()
            .cloned()
            .unwrap();
        let evidence = Evidence {
            variables: Some(&variables),
            ..Evidence::turns(None, &turns)
        };
        let asked: Vec<u32> = judged_case(&metric, &evidence)
            .questions(&[])
            .unwrap()
            .iter()
            .map(|one| one.samples)
            .collect();
        assert_eq!(asked, [each, each], "{samples} samples");
    }
    let (a, b) = (r#"{"pairwise_choice": "A"}"#, r#"{"pairwise_choice": "B"}"#);
    // The judge always chooses the second response: the candidate in one order, the baseline in the other.
    let biased = rated(true, false, 0.5, &[&[b, b, b], &[b, b, b]]);
    let judgement = biased.judgement.as_ref().unwrap();
    let bias = judgement.position_bias.map(Score::get);
    assert_eq!(
        (biased.score(), bias, biased.is_unsteady()),
        (Some(0.5), Some(1.0), true)
    );
    assert!(
        biased.explanation.contains("position bias +1.00"),
        "{}",
        biased.explanation
    );
    assert!(
        judgement.disagreement() > 0.49,
        "half of the votes are lost"
    );
    let once = rated(true, false, 0.5, &[&[b], &[b]]);
    assert!(
        once.is_unsteady(),
        "one sample of each order is enough to tell"
    );
    let fair = rated(true, false, 0.5, &[&[b, b], &[a, a]]);
    let bias = fair
        .judgement
        .as_ref()
        .unwrap()
        .position_bias
        .map(Score::get);
    assert_eq!(
        (fair.score(), bias, fair.is_unsteady()),
        (Some(1.0), Some(0.0), false)
    );
}

/// Checks all splits by brute force: a result is unsteady if its verdict changes or is lost when one sample gets the
/// verdict of another sample.
#[test]
fn unsteady_flag_matches_brute_force() {
    let one = json!({"threshold": 0.5, "judge_model_options": {"num_samples": 1}});
    let metric = metric("final_response_match_v2", &one, VerdictParsing::Careful);
    let turns = [Invocation {
        final_response: Some(content("Answer")),
        ..Invocation::default()
    }];
    let evidence = Evidence::turns(Some(&turns), &turns);
    let said = |word: &str| format!("{{\"is_the_agent_response_valid\": \"{word}\"}}");
    let outcome = |yes: u32, no: u32| match (yes, no) {
        (0, 0) => None,
        (yes, no) => Some(yes > no),
    };
    let mut wrong = Vec::new();
    for (yes, no, none) in
        (0..=8).flat_map(|y| (0..=8 - y).flat_map(move |n| (0..=8 - y - n).map(move |u| (y, n, u))))
    {
        let words = ["valid"].repeat(yes as usize).into_iter();
        let words = words
            .chain(["invalid"].repeat(no as usize))
            .chain(["perhaps"].repeat(none as usize));
        let samples: Vec<Sample> = words
            .map(|word| Sample {
                reply: Some(said(word)),
                ..Sample::default()
            })
            .collect();
        let own = outcome(yes, no);
        if samples.is_empty() || own.is_none() {
            continue;
        }
        let counts = [yes, no, none];
        let mut turns_over = false;
        for (of, like) in (0..3).flat_map(|of| (0..3).map(move |like| (of, like))) {
            if of != like && counts[of] > 0 && counts[like] > 0 {
                let mut after = counts;
                after[of] -= 1;
                after[like] += 1;
                turns_over |= outcome(after[0], after[1]) != own;
            }
        }
        let answered = vec![JudgedQuestion {
            id: QuestionId::default(),
            about: String::new(),
            samples,
        }];
        let result = judged_case(&metric, &evidence).result(answered, "j", JudgeUsage::default());
        if result.is_unsteady() != turns_over {
            wrong.push((yes, no, none, result.is_unsteady()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn stability_respects_lower_is_better() {
    let of = |threshold, replies: &[&str]| rated(false, true, threshold, &[replies]).is_unsteady();
    let (low, high) = (r#"{"score": 1}"#, r#"{"score": 3}"#);
    assert!(of(2.0, &[low, high]) && of(1.0, &[low, low, high]));
    assert!(!of(0.5, &[low, low, high]) && !of(3.0, &[low, high, high]));
}
