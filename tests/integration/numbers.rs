//! Numbers that are none, unknown numbers, and statistics, with the real binary and real programs.
#![cfg(unix)]

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use serde_json::{Value, json};
use std::process::Output;

fn call(workspace: &TestWorkspace, args: &[&str]) -> Output {
    output(
        evaltrail(&workspace.path().join("home"))
            .args(args)
            .current_dir(workspace.path()),
    )
}

fn report(workspace: &TestWorkspace, args: &[&str]) -> Value {
    let ran = call(workspace, &[args, &["--json", "-q"]].concat());
    serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)))
}

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let list = list.as_array().unwrap();
    list.iter()
        .find(|metric| metric["metric"] == name)
        .unwrap_or_else(|| panic!("{name} in {list:?}"))
}

/// An agent that responds with the prompt, and with the state that the prompt names after "state".
const AGENT: &str = r#"#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    prompt = json.loads(line)["prompt"]
    result = {"response": prompt, "predicted_trajectory": []}
    if prompt.startswith("state "):
        result["state"] = json.loads(prompt[6:])
    print(json.dumps(result), flush=True)
"#;

fn case(id: &str, prompt: &str, state: Value) -> Value {
    json!({"eval_id": id, "final_session_state": state, "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": prompt}]},
        "final_response": {"role": "model", "parts": [{"text": prompt}]},
        "intermediate_data": {"tool_uses": []},
    }]})
}

fn with_agent(cases: &[Value]) -> TestWorkspace {
    let set = json!({"eval_set_id": "s", "eval_cases": cases});
    TestWorkspace::new(&[
        ("s.evalset.json", set.to_string()),
        ("agent.py", AGENT.into()),
    ])
}

const RUN: &[&str] = &[
    "run",
    "s.evalset.json",
    "--agent",
    "cmd:python3 agent.py",
    "--trust",
];

#[test]
fn the_final_session_state_of_a_case_decides() {
    let oslo = || json!({"last_city": "Oslo"});
    let workspace = with_agent(&[
        case(
            "same",
            r#"state {"last_city": "Oslo", "preferred_units": "celsius"}"#,
            oslo(),
        ),
        case("other", r#"state {"last_city": "Rome"}"#, oslo()),
        case("missing", r#"state {"preferred_units": "celsius"}"#, oslo()),
        case("unknown", "no state", oslo()),
        case("undeclared", r#"state {"x": 1}"#, json!({})),
    ]);
    let found = report(&workspace, RUN);
    let statuses: Vec<(&str, &str, u64)> = found["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| {
            let of = |key: &str| case[key].as_str().unwrap();
            (
                of("eval_id"),
                of("status"),
                case["adk_status"].as_u64().unwrap(),
            )
        })
        .collect();
    let passed_in_adk = 1;
    assert_eq!(
        statuses,
        [
            ("same", "passed", passed_in_adk),
            ("other", "failed", passed_in_adk),
            ("missing", "failed", passed_in_adk),
            ("unknown", "not_evaluated", passed_in_adk),
            ("undeclared", "passed", passed_in_adk),
        ]
    );
    let shown = text(&call(&workspace, RUN));
    assert!(
        shown.contains("last_city: expected \"Oslo\", got \"Rome\""),
        "{shown}"
    );
    assert!(shown.contains("ADK status: passed"), "{shown}");
    let config = json!({"criteria": {"response_match_score": 0.8,
        "session_state_match": {"threshold": 1, "mode": "exact"}}});
    std::fs::write(
        workspace.path().join("test_config.json"),
        config.to_string(),
    )
    .unwrap();
    let exact = report(&workspace, RUN);
    assert_eq!(
        exact["cases"][0]["status"], "failed",
        "another entry is an error on request"
    );
    assert_eq!(exact["cases"][4]["status"], "passed");
}

/// What such an agent spends is not known: it is no 0. How it ran is in the summary, as in Vertex's.
#[test]
fn unknown_counts_of_a_run_are_absent() {
    let workspace = with_agent(&[case("a", "x", json!({})), case("b", "y", json!({}))]);
    let found = report(&workspace, RUN);
    let summary = &found["summary"]["metrics"];
    for name in ["inference_call_count_v1", "token_usage_v1"] {
        let of = named(summary, name);
        assert_eq!(
            (&of["mean"], &of["valid"], &of["total"]),
            (&Value::Null, &json!(0), &json!(2)),
            "{of}"
        );
    }
    assert_eq!(
        named(summary, "tool_call_count_v1")["mean"],
        0.0,
        "it reported that it called none"
    );
    let latency = named(summary, "latency_in_seconds");
    assert!(
        latency["mean"].as_f64().unwrap() > 0.0 && latency["valid"] == 2,
        "{latency}"
    );
    assert_eq!(named(summary, "failure")["mean"], 0.0);
    let shown = text(&call(&workspace, RUN));
    assert!(
        shown.contains("latency_in_seconds") && shown.contains("failure"),
        "{shown}"
    );
}

/// Errored attempts count in the total of the metrics that are added, as in that of the criteria.
#[test]
fn errors_count_for_every_metric() {
    let agent = "import sys\nsys.exit(3)\n";
    let workspace = with_agent(&[case("a", "x", json!({})), case("b", "y", json!({}))]);
    std::fs::write(workspace.path().join("agent.py"), agent).unwrap();
    let found = report(&workspace, &[RUN, &["--retries", "0"]].concat());
    for name in [
        "response_match_score",
        "tool_call_count_v1",
        "invocation_duration_v1",
    ] {
        let of = named(&found["summary"]["metrics"], name);
        assert_eq!(
            (&of["errored"], &of["total"]),
            (&json!(2), &json!(2)),
            "{of}"
        );
    }
}

fn row(id: &str, more: Value) -> Value {
    let mut row = json!({"eval_case_id": id, "prompt": "p", "response": "the lamp is off", "reference": "the lamp is off"});
    row.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    row
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// NaN and the infinities are errors in every metric, also with a threshold that every number meets.
#[test]
fn a_number_that_is_none_never_passes() {
    let config = "[metrics.printed]\nkind = \"command\"\ncommand = \"echo NaN\"\nthreshold = 0.0\n\
        [metrics.endless]\nkind = \"command\"\ncommand = \"echo Infinity\"\nthreshold = 0.0\n\
        [metrics.returned]\nkind = \"python\"\nfunction = \"mine.returned\"\nthreshold = 0.0\n";
    let workspace = TestWorkspace::new(&[
        (
            "rows.jsonl",
            lines(&[row("a", json!({})), row("b", json!({}))]),
        ),
        (
            "mine.py",
            "def returned(instance):\n    return {'returned': float('-inf')}\n".into(),
        ),
        ("evaltrail.toml", config.into()),
    ]);
    let found = report(&workspace, &["score", "rows.jsonl", "--trust"]);
    for name in ["printed", "endless", "returned"] {
        let one = named(&found["cases"][0]["metrics"], name);
        assert_eq!(
            (&one["status"], &one["score"]),
            (&json!("errored"), &Value::Null),
            "{one}"
        );
        assert!(
            one["explanation"].as_str().unwrap().contains("not finite"),
            "{one}"
        );
        assert!(!one["findings"].as_array().unwrap().is_empty(), "{one}");
        let of = named(&found["summary"]["metrics"], name);
        let counts = (&of["mean"], &of["valid"], &of["errored"], &of["total"]);
        assert_eq!(
            counts,
            (&Value::Null, &json!(0), &json!(2), &json!(2)),
            "{of}"
        );
    }
}

#[test]
fn score_columns_are_finite_or_explained() {
    let columns = "\"quality/score\": NaN, \"safety/score\": Infinity, \"fluency/score\": 0.5";
    let text =
        lines(&[row("a", json!({}))]).replace("\"prompt\"", &format!("{columns}, \"prompt\""));
    let workspace = TestWorkspace::new(&[("rows.jsonl", text)]);
    let found = report(&workspace, &["score", "rows.jsonl"]);
    let of = |name: &str| named(&found["cases"][0]["metrics"], name).clone();
    assert_eq!(of("fluency")["score"], 0.5);
    let listed = found["cases"][0]["metrics"].as_array().unwrap();
    assert!(
        listed
            .iter()
            .all(|one| one["metric"] != "quality" || one["score"].is_null()),
        "{listed:?}"
    );
    let safety = of("safety");
    assert_eq!(
        (&safety["status"], &safety["score"]),
        (&json!("errored"), &Value::Null),
        "{safety}"
    );
    assert!(
        safety["explanation"]
            .as_str()
            .unwrap()
            .contains("not a finite number"),
        "{safety}"
    );
}

/// A duration that cannot be one is refused with its position, and unknown durations and failures are no numbers.
#[test]
fn durations_are_plausible_or_refused() {
    let workspace = TestWorkspace::new(&[(
        "rows.jsonl",
        lines(&[
            row("good", json!({"latency_in_seconds": 1.5})),
            row("negative", json!({"latency_in_seconds": -5.0})),
            row("endless", json!({"latency_in_seconds": 1e308})),
            row("text", json!({"latency_in_seconds": "soon"})),
            row("absent", json!({})),
            row("flag", json!({"latency_in_seconds": true})),
        ]),
    )]);
    let found = report(
        &workspace,
        &[
            "score",
            "rows.jsonl",
            "--metric",
            "latency_in_seconds,failure",
        ],
    );
    for (at, status) in [
        "passed", "errored", "errored", "errored", "passed", "errored",
    ]
    .into_iter()
    .enumerate()
    {
        let case = &found["cases"][at];
        assert_eq!(case["status"], status, "{case}");
        let error = case["error"].as_str().unwrap_or_default();
        assert_eq!(
            error.contains("latency_in_seconds"),
            status == "errored",
            "{error}"
        );
    }
    assert_eq!(
        found["cases"][4]["latency_s"],
        Value::Null,
        "it is not known"
    );
    assert_eq!(
        named(&found["summary"]["metrics"], "latency_in_seconds")["mean"],
        1.5
    );
}

/// What was asked for and could not be computed stays in the table, with the reason.
#[test]
fn a_requested_metric_does_not_vanish() {
    let workspace = TestWorkspace::new(&[(
        "rows.jsonl",
        lines(&[row("a", json!({})), row("b", json!({}))]),
    )]);
    let shown = text(&call(
        &workspace,
        &[
            "score",
            "rows.jsonl",
            "--metric",
            "bleu,latency_in_seconds,failure",
        ],
    ));
    for (name, why) in [
        (
            "latency_in_seconds",
            "it is not known how long the agent took",
        ),
        ("failure", "it is not known whether the agent failed"),
    ] {
        let line = shown
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{shown}"));
        assert!(line.contains("0/0/2") && line.ends_with(why), "{line}");
    }
}

/// No other line of the output has the score of a metric that does not decide.
#[test]
fn requested_metric_of_single_case_is_in_table() {
    let workspace = TestWorkspace::new(&[("rows.jsonl", lines(&[row("a", json!({}))]))]);
    let shown = text(&call(
        &workspace,
        &["score", "rows.jsonl", "--metric", "bleu"],
    ));
    let line = shown
        .lines()
        .find(|line| line.starts_with("bleu"))
        .unwrap_or_else(|| panic!("{shown}"));
    assert!(line.contains("1.00") && line.contains("1/0/1"), "{line}");
}

/// 2 of 3 does not reach 0.67, and looks like less.
#[test]
fn failed_score_is_not_rounded_to_threshold() {
    let config = "[metrics.share]\nkind = \"command\"\ncommand = \"echo 0.6666666666666666\"\nthreshold = 0.67\n";
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", lines(&[row("a", json!({}))])),
        ("evaltrail.toml", config.into()),
    ]);
    let shown = text(&call(&workspace, &["score", "rows.jsonl", "--trust"]));
    assert!(
        shown.contains("✗ rows › a  share is 0.667, 0.67 is needed"),
        "{shown}"
    );
}

#[test]
fn unreachable_threshold_is_warned_about() {
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", lines(&[row("a", json!({}))])),
        (
            "config.json",
            json!({"criteria": {"response_match_score": 1.5}}).to_string(),
        ),
    ]);
    let warning = "no score of response_match_score reaches the threshold 1.5";
    let ran = call(
        &workspace,
        &["score", "rows.jsonl", "--config", "config.json"],
    );
    assert!(both(&ran).contains(warning), "{}", both(&ran));
    std::fs::rename(
        workspace.path().join("config.json"),
        workspace.path().join("test_config.json"),
    )
    .unwrap();
    let checked = call(&workspace, &["check", "test_config.json"]);
    assert!(both(&checked).contains(warning), "{}", both(&checked));
}

/// Reports of repeated cases count cases and attempts apart, and have pass@k over the same cases for every k.
#[test]
fn repeated_cases_are_counted_once() {
    // The agent passes in its first attempt only.
    let agent = "import json, os, sys\nfor line in sys.stdin:\n    first = not os.path.exists('seen')\n    open('seen', 'w')\n    \
        print(json.dumps({'response': 'x' if first else 'z', 'predicted_trajectory': []}), flush=True)\n";
    let workspace = with_agent(&[case("a", "x", json!({}))]);
    std::fs::write(workspace.path().join("agent.py"), agent).unwrap();
    let reports = ["--report", "html=r.html", "--report", "markdown=r.md"];
    let found = report(
        &workspace,
        &[RUN, &["--repeat", "4", "-j", "1"], &reports].concat(),
    );
    let summary = &found["summary"];
    assert_eq!(
        (&summary["cases"], &summary["attempts"]),
        (&json!(1), &json!(4)),
        "{summary}"
    );
    assert_eq!(
        (&summary["pass_rate"], &summary["flaky"]),
        (&json!(0.25), &json!(1)),
        "{summary}"
    );
    let read = |name: &str| std::fs::read_to_string(workspace.path().join(name)).unwrap();
    for page in [read("r.html"), read("r.md")] {
        assert!(
            page.contains("pass@k") && page.contains("1 case is flaky"),
            "{page}"
        );
    }
}
