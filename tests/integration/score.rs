//! `evaltrail score` and custom metrics, with the real binary, real programs and a real Python.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use serde_json::{Value, json};
use std::process::Output;

impl TestWorkspace {
    fn run(&self, args: &[&str]) -> Output {
        output(
            evaltrail(&self.path().join("home"))
                .args(args)
                .current_dir(self.path()),
        )
    }

    /// The report and the exit code.
    fn score(&self, args: &[&str]) -> (Value, i32) {
        let ran = self.run(&[&["score"], args, &["--json", "-q"]].concat());
        let report = serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
        (report, ran.status.code().unwrap())
    }
}

fn row(id: &str, expected: &str, said: &str) -> Value {
    let calls = |n: &str| json!([{"tool_name": "set", "tool_input": {"id": n}}]);
    json!({"eval_case_id": id, "prompt": "Off", "reference": "Done now please", "response": said,
           "reference_trajectory": calls("1"), "predicted_trajectory": calls(expected)})
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn metric<'a>(report: &'a Value, case: usize, name: &str) -> &'a Value {
    let metrics = report["cases"][case]["metrics"].as_array().unwrap();
    metrics
        .iter()
        .find(|metric| metric["metric"] == name)
        .unwrap_or_else(|| panic!("{name} in {metrics:?}"))
}

#[test]
fn a_table_is_scored_without_an_agent() {
    let good = row("good", "1", "Done now please");
    let bad = row("bad", "2", "It is off");
    let text = format!(
        "{good}\nnot json\n{bad}\n{}\n",
        json!({"prompt": "x", "reference_trajectory": 5, "response": "y"})
    );
    let workspace = TestWorkspace::new(&[("rows.jsonl", text)]);
    let (report, code) = workspace.score(&[
        "rows.jsonl",
        "--metric",
        "bleu,failure,trajectory_single_tool_use:set",
    ]);
    assert_eq!(code, 1);
    let statuses: Vec<&str> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["passed", "errored", "failed", "errored"]);
    assert!(
        report["cases"][1]["error"]
            .as_str()
            .unwrap()
            .contains("line 2"),
        "{}",
        report["cases"][1]
    );
    assert!(
        report["cases"][3]["error"]
            .as_str()
            .unwrap()
            .contains("line 4"),
        "{}",
        report["cases"][3]
    );
    assert_eq!(metric(&report, 0, "trajectory_exact_match")["score"], 1.0);
    assert_eq!(
        metric(&report, 2, "trajectory_single_tool_use:set")["score"],
        1.0
    );
    let summary = report["summary"]["metrics"].as_array().unwrap();
    let exact = summary
        .iter()
        .find(|metric| metric["metric"] == "trajectory_exact_match")
        .unwrap();
    assert_eq!(
        (&exact["valid"], &exact["errored"], &exact["total"]),
        (&json!(2), &json!(2), &json!(4))
    );
    assert_eq!(
        (&exact["mean"], &exact["mean_errors_as_zero"]),
        (&json!(0.5), &json!(0.25))
    );
}

#[test]
fn reports_explain_metric_without_score() {
    let rows = json!({"eval_case_id": "a", "prompt": "x", "response": "y"});
    let workspace = TestWorkspace::new(&[("rows.jsonl", lines(&[rows]))]);
    let args = [
        "rows.jsonl",
        "--metric",
        "bleu",
        "--report",
        "html=r.html",
        "--report",
        "markdown=r.md",
    ];
    let (report, _) = workspace.score(&args);
    let summary = report["summary"]["metrics"].as_array().unwrap();
    let bleu = summary
        .iter()
        .find(|metric| metric["metric"] == "bleu")
        .unwrap();
    let why = metric(&report, 0, "bleu")["explanation"].as_str().unwrap();
    assert!(
        !why.is_empty() && bleu["valid"] == 0 && bleu["why_no_score"] == why,
        "{bleu}"
    );
    for file in ["r.html", "r.md"] {
        let report = std::fs::read_to_string(workspace.path().join(file)).unwrap();
        let row = report.lines().find(|line| line.contains("bleu")).unwrap();
        assert!(row.contains(&format!("bleu (no score: {why})")), "{row}");
    }
}

/// A metric whose columns are missing is not evaluated, and never passes; rows with the same id are separate cases.
/// The default `response_match_score` is ADK's, for which a missing reference is an empty one and scores 0.
#[test]
fn missing_columns_and_duplicated_ids() {
    let rows = [
        json!({"id": "twice", "prompt": "x", "reference": "Done", "response": "Done"}),
        json!({"id": "twice", "prompt": "x", "reference": "Done"}),
        json!({"id": "other", "prompt": "x", "response": "Done"}),
        json!({"id": "big", "prompt": "x", "reference": "Done", "response": "Done",
               "reference_trajectory": [{"tool_name": "f", "tool_input": {"n": 123456789012345678901234567890u128}}],
               "predicted_trajectory": [{"tool_name": "f", "tool_input": {"n": 123456789012345678901234567891u128}}]}),
    ];
    let workspace = TestWorkspace::new(&[("rows.jsonl", lines(&rows))]);
    let (report, code) = workspace.score(&["rows.jsonl", "--metric", "exact_match"]);
    let cases: Vec<(&str, &str)> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| {
            (
                case["eval_id"].as_str().unwrap(),
                case["status"].as_str().unwrap(),
            )
        })
        .collect();
    let unknown = "not_evaluated";
    assert_eq!(
        cases,
        [
            ("twice", unknown),
            ("twice", unknown),
            ("other", unknown),
            ("big", "failed")
        ]
    );
    let adk = metric(&report, 2, "response_match_score");
    assert!(
        adk["explanation"]
            .as_str()
            .unwrap()
            .contains("there is no reference response"),
        "{adk}"
    );
    assert_eq!(code, 1);
    assert_eq!(metric(&report, 0, "exact_match")["score"], 1.0);
    assert!(
        metric(&report, 1, "exact_match")["explanation"]
            .as_str()
            .unwrap()
            .contains("contains no saved response")
    );
    assert!(
        metric(&report, 2, "exact_match")["explanation"]
            .as_str()
            .unwrap()
            .contains("no reference response")
    );
    assert_eq!(
        metric(&report, 3, "trajectory_exact_match")["score"],
        0.0,
        "integers are exact at any size"
    );
}

#[test]
fn an_empty_file_is_an_error_and_no_pass() {
    let workspace =
        TestWorkspace::new(&[("empty.jsonl", String::new()), ("latin.csv", String::new())]);
    std::fs::write(
        workspace.path().join("latin.csv"),
        b"prompt,response\ncaf\xe9,x\n",
    )
    .unwrap();
    for (file, words) in [
        ("empty.jsonl", "an empty file"),
        ("latin.csv", "line 2: byte 19 is not UTF-8"),
    ] {
        let ran = workspace.run(&["score", file]);
        assert_eq!(ran.status.code(), Some(2), "{}", both(&ran));
        assert!(both(&ran).contains(words), "{}", both(&ran));
    }
}

/// Its expected values are no responses, and the results of earlier runs must not be replaced.
#[test]
fn an_eval_set_without_responses_is_not_scored() {
    let set = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": []}]});
    let workspace = TestWorkspace::new(&[("s.evalset.json", set.to_string())]);
    for path in ["s.evalset.json", "."] {
        let scored = workspace.run(&["score", path]);
        assert_eq!(scored.status.code(), Some(2), "{}", both(&scored));
        assert!(
            both(&scored).contains("the file contains no saved responses"),
            "{}",
            both(&scored)
        );
    }
    assert!(!workspace.path().join(".evaltrail/runs").exists());
}

#[test]
fn rules_of_the_folder_decide_under_our_name() {
    let rules = "[[match]]\ntool = \"s*\"\nargs = { id = \"ignore\" }\n";
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", lines(&[row("other", "2", "Done now please")])),
        ("evaltrail.toml", rules.into()),
    ]);
    let (report, code) = workspace.score(&["rows.jsonl"]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(metric(&report, 0, "trajectory_match")["status"], "passed");
    let exact = metric(&report, 0, "trajectory_exact_match");
    assert_eq!(
        (&exact["score"], &exact["status"]),
        (&json!(0.0), &json!("informational"))
    );
}

const SCORER: &str = "import json, sys\ncase = json.load(sys.stdin)\n\
    print(json.dumps({'score': float('Done' in (case['instance']['response'] or '')), 'explanation': case['eval_id']}))\n";

#[test]
fn broken_custom_metric_affects_no_other() {
    let config = "[metrics.says_done]\nkind = \"command\"\ncommand = \"python3 score.py\"\nthreshold = 1.0\n\
        [metrics.word_count]\nkind = \"python\"\nfunction = \"my_metrics.word_count\"\n\
        [metrics.broken]\nkind = \"python\"\nfunction = \"my_metrics.broken\"\nthreshold = 0.5\n\
        [metrics.slow]\nkind = \"python\"\nfunction = \"my_metrics.slow\"\ntimeout = \"300ms\"\n\
        [metrics.nowhere]\nkind = \"command\"\ncommand = \"./no-such-program\"\n\
        [metrics.essential]\nkind = \"tools\"\ntools = [\"set\", \"get\"]\n";
    let python = "import time\n\
        def word_count(instance):\n    print('noise')\n    return {'word_count': len(instance['response'].split())}\n\
        def broken(instance):\n    raise ValueError('no such column')\n\
        def slow(instance):\n    time.sleep(60)\n";
    let workspace = TestWorkspace::new(&[
        (
            "rows.jsonl",
            lines(&[
                row("a", "1", "Done now please"),
                row("b", "1", "Done now please"),
            ]),
        ),
        ("score.py", SCORER.into()),
        ("my_metrics.py", python.into()),
        ("evaltrail.toml", config.into()),
    ]);
    let refused = workspace.run(&["score", "rows.jsonl"]);
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    assert!(
        both(&refused).contains("python3 score.py")
            && both(&refused).contains("my_metrics.word_count"),
        "{}",
        both(&refused)
    );
    let (report, code) = workspace.score(&["rows.jsonl", "--trust"]);
    assert_eq!(code, 1);
    for case in 0..2 {
        assert_eq!(
            metric(&report, case, "says_done")["status"],
            "passed",
            "{report}"
        );
        assert_eq!(metric(&report, case, "word_count")["score"], 3.0);
        assert_eq!(metric(&report, case, "essential")["score"], 0.5);
        assert_eq!(
            metric(&report, case, "trajectory_exact_match")["status"],
            "passed"
        );
        let broken = metric(&report, case, "broken");
        assert_eq!(broken["status"], "errored");
        let why = broken["explanation"].as_str().unwrap();
        assert!(
            why.contains("ValueError: no such column") && why.contains("my_metrics.py\", line"),
            "{why}"
        );
        assert!(
            metric(&report, case, "slow")["explanation"]
                .as_str()
                .unwrap()
                .contains("its limit of 0.3 s")
        );
        assert!(
            metric(&report, case, "nowhere")["explanation"]
                .as_str()
                .unwrap()
                .contains("no-such-program")
        );
        assert_eq!(report["cases"][case]["status"], "errored");
    }
}

/// A custom metric with ADK's signature and ADK's classes.
#[test]
fn adk_custom_metrics_are_called_as_in_adk() {
    let Some(adk) = crate::common::adk() else {
        assert!(
            std::env::var_os("EVALTRAIL_REQUIRE_ADK").is_none(),
            "adk is required here and not found"
        );
        println!("skipped, google-adk is not installed");
        return;
    };
    let function = "from google.adk.evaluation.evaluator import EvaluationResult, PerInvocationResult, EvalStatus\n\
        def counts(eval_metric, actual, expected, scenario):\n    assert eval_metric.metric_name == 'counts'\n    \
        n = sum(len(t.intermediate_data.tool_uses) for t in actual)\n    \
        return EvaluationResult(overall_score=n, overall_eval_status=EvalStatus.PASSED, per_invocation_results=[\n        \
        PerInvocationResult(actual_invocation=a, expected_invocation=e, score=1.0, eval_status=EvalStatus.PASSED)\n        \
        for a, e in zip(actual, expected)])\n\
        def of_turn(actual_invocation, expected_invocation, criterion):\n    \
        return 0.75 if actual_invocation.final_response and expected_invocation.user_content and criterion else 0.0\n\
        def other(one, two, three):\n    return 1.0\n";
    let named = |name: &str| json!({"code_config": {"name": format!("mine.{name}")}});
    let config = json!({
        "criteria": {"counts": 0.5, "of_turn": 0.7, "other": 0.5},
        "custom_metrics": {"counts": named("counts"), "of_turn": named("of_turn"), "other": named("other")},
    });
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", lines(&[row("a", "1", "Done")])),
        ("mine.py", function.into()),
        ("test_config.json", config.to_string()),
    ]);
    let venv = adk.parent().unwrap().parent().unwrap();
    let ran = output(
        evaltrail(&workspace.path().join("home"))
            .args(["score", "rows.jsonl", "--trust", "--json"])
            .env("VIRTUAL_ENV", venv)
            .current_dir(workspace.path()),
    );
    let report: Value =
        serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
    let counts = metric(&report, 0, "counts");
    assert_eq!(
        (&counts["score"], &counts["status"]),
        (&json!(1.0), &json!("passed")),
        "{counts}"
    );
    assert_eq!(counts["per_invocation"][0]["score"], 1.0);
    // The signature of ADK's guide, which ADK 2.13 itself cannot call.
    let of_turn = metric(&report, 0, "of_turn");
    assert_eq!(
        (&of_turn["score"], &of_turn["status"]),
        (&json!(0.75), &json!("passed")),
        "{of_turn}"
    );
    assert_eq!(of_turn["per_invocation"][0]["score"], 0.75);
    let other = metric(&report, 0, "other");
    let words =
        "ADK calls a custom metric with eval_metric, actual_invocations, expected_invocations";
    assert!(
        other["explanation"].as_str().unwrap().contains(words),
        "{other}"
    );
}

/// Rows with escape sequences, markup and formulas in every field that a report shows.
fn hostile() -> String {
    let evil = "=cmd|' /C calc'!A0\u{1b}]0;x\u{7}<script>alert(1)</script>\"'&\u{202e}\u{0}\n| @all [x](http://y)";
    let mut row = row("x", "1", evil);
    row["eval_case_id"] = json!(evil);
    row["prompt"] = json!(evil);
    row["reference"] = json!(evil);
    row["predicted_trajectory"] = json!([{"tool_name": evil, "tool_input": {evil: evil}}]);
    let failed = json!({"eval_case_id": evil, "prompt": "x", "response": json!({"error": evil}).to_string()});
    lines(&[row, failed])
}

#[test]
fn hostile_reports_open_cleanly() {
    let workspace = TestWorkspace::new(&[("rows.jsonl", hostile())]);
    let kinds = [
        "csv",
        "markdown",
        "html",
        "junit",
        "json",
        "vertex",
        "vertex-summary",
        "evaluation-result",
    ];
    let mut args = vec!["score".to_string(), "rows.jsonl".into()];
    args.extend(
        kinds
            .iter()
            .map(|kind| format!("--report={kind}=out.{kind}")),
    );
    let ran = workspace.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    let read =
        |kind: &str| std::fs::read_to_string(workspace.path().join(format!("out.{kind}"))).unwrap();
    for kind in ["csv", "markdown", "html", "junit"] {
        let said = read(kind);
        let steers = |c: &char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        assert!(
            !said.chars().any(|c| steers(&c)) && !said.contains('\u{202e}'),
            "{kind}: {said}"
        );
    }
    let mut table = csv::Reader::from_reader(read("csv").into_bytes().leak() as &[u8]);
    let records: Vec<csv::StringRecord> = table
        .records()
        .map(|record| record.expect("a record"))
        .collect();
    assert_eq!(records.len(), 2);
    for cell in records.iter().flat_map(|record| record.iter()) {
        assert!(!cell.starts_with(['=', '+', '@', '\t', '\r']), "{cell}");
        assert!(
            !cell.starts_with('-') || cell.parse::<f64>().is_ok(),
            "{cell}"
        );
    }
    // The only links lead to cases of the page.
    let html = read("html").to_lowercase();
    let html = html.replace("<a href=\"#case-", "");
    for markup in [
        "<script",
        "javascript:",
        "onerror",
        "<img",
        "<a ",
        "http://y\"",
    ] {
        assert!(!html.contains(markup), "{markup} in {html}");
    }
    assert!(
        html.contains("&lt;script&gt;alert(1)"),
        "the words are there as text"
    );
    assert!(!read("markdown").contains("<script") && !read("markdown").contains("](http://"));
    let mut xml = quick_xml::Reader::from_str(Box::leak(read("junit").into_boxed_str()));
    loop {
        match xml.read_event().expect("well-formed XML") {
            quick_xml::events::Event::Eof => break,
            _ => continue,
        }
    }
    for line in read("vertex").lines() {
        assert!(
            serde_json::from_str::<Value>(line).unwrap()["trajectory_exact_match/score"]
                .is_number()
                || line.contains("\"failure\":1")
        );
    }
    assert!(serde_json::from_str::<Value>(&read("vertex-summary")).unwrap()["row_count"] == 2);
    assert!(
        serde_json::from_str::<Value>(&read("evaluation-result")).unwrap()["eval_case_results"]
            .is_array()
    );
}

/// evaltrail reads its own exports in Vertex's formats.
#[test]
fn our_exports_are_read_again() {
    let workspace = TestWorkspace::new(&[(
        "rows.jsonl",
        lines(&[row("a", "1", "Done now please"), row("b", "2", "no")]),
    )]);
    let (report, _) = workspace.score(&[
        "rows.jsonl",
        "--report=vertex=table.jsonl",
        "--report=evaluation-result=result.json",
    ]);
    let (again, _) = workspace.score(&["table.jsonl"]);
    for case in 0..2 {
        for name in [
            "trajectory_exact_match",
            "response_match_score",
            "rouge_l_sum",
        ] {
            assert_eq!(
                metric(&again, case, name)["score"],
                metric(&report, case, name)["score"],
                "{name}"
            );
        }
    }
    let (recorded, _) = workspace.score(&["result.json"]);
    assert_eq!(metric(&recorded, 1, "trajectory_exact_match")["score"], 0.0);
    // They are no data sets of the workspace.
    let listed = text(&workspace.run(&["list", "."]));
    assert!(listed.contains("rows.jsonl"), "{listed}");
    assert!(
        !listed.contains("table.jsonl") && !listed.contains("result.json"),
        "{listed}"
    );
}

/// For a folder, `run` ignores data sets and `score` ignores eval sets. A data set that is named is run.
#[test]
fn folder_runs_eval_sets_and_scores_data_sets() {
    let set =
        json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "of_the_set", "conversation": []}]});
    let workspace = TestWorkspace::new(&[
        (
            "rows.jsonl",
            lines(&[row("of_the_table", "1", "Done now please")]),
        ),
        ("s.evalset.json", set.to_string()),
        (
            "replay.jsonl",
            json!({"eval_id": "of_the_set", "turns": []}).to_string(),
        ),
    ]);
    let ids = |report: &Value| -> Vec<String> {
        report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|case| case["eval_id"].as_str().unwrap().into())
            .collect()
    };
    assert_eq!(ids(&workspace.score(&["."]).0), ["of_the_table"]);
    let ran = workspace.run(&[
        "run",
        ".",
        "--agent",
        "replay:replay.jsonl?speed=0",
        "--json",
        "-q",
    ]);
    let report: Value =
        serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
    assert_eq!(ids(&report), ["of_the_set"]);
    let named = workspace.run(&[
        "run",
        "rows.jsonl",
        "--agent",
        "replay:replay.jsonl?speed=0",
        "--json",
        "-q",
    ]);
    let report: Value =
        serde_json::from_str(&text(&named)).unwrap_or_else(|_| panic!("{}", both(&named)));
    assert_eq!(ids(&report), ["of_the_table"]);
}

#[test]
fn metrics_are_named_on_the_command_line() {
    let workspace = TestWorkspace::new(&[]);
    let all = text(&workspace.run(&["metrics"]));
    for name in [
        "trajectory_exact_match",
        "tool_parameter_kv_match",
        "rouge_l_sum",
        "session_state_match",
    ] {
        assert!(all.contains(name), "{all}");
    }
    let one = text(&workspace.run(&["metrics", "trajectory_precision"]));
    assert!(
        one.contains("A A against A is 1.0") && one.contains("0 to 1, higher is better"),
        "{one}"
    );
    let json: Value = serde_json::from_str(&text(&workspace.run(&["metrics", "--json"]))).unwrap();
    assert!(json.as_array().unwrap().len() >= 38);
    assert_eq!(
        workspace.run(&["metrics", "nonsense"]).status.code(),
        Some(2)
    );
    let of_vertex = workspace.run(&["metrics", "fluency"]);
    assert!(
        String::from_utf8_lossy(&of_vertex.stderr).contains("judged_fluency"),
        "{of_vertex:?}"
    );
}

/// Scores of a file are informational beside the criteria: one that is no number has its reason and decides nothing.
#[test]
fn non_numeric_scores_decide_nothing() {
    let with = |response: &str, number: &str| {
        format!(
            r#"{{"eval_case_id": "a", "prompt": "Off", "reference": "Done", {response} "safety/score": {number}}}"#
        )
    };
    for (number, status, why) in [
        ("Infinity", "errored", "not a finite number"),
        ("NaN", "informational", "contains no score"),
    ] {
        let workspace =
            TestWorkspace::new(&[("rows.jsonl", with(r#""response": "Done","#, number))]);
        let (report, code) = workspace.score(&["rows.jsonl", "--metric", "exact_match"]);
        let safety = metric(&report, 0, "safety");
        assert_eq!(
            (code, &report["cases"][0]["status"], &safety["status"]),
            (0, &json!("passed"), &json!(status))
        );
        assert!(
            safety["explanation"].as_str().unwrap().contains(why),
            "{safety}"
        );
        // Without a response nothing decides.
        let workspace = TestWorkspace::new(&[("rows.jsonl", with("", number))]);
        let (report, code) = workspace.score(&["rows.jsonl", "--metric", "exact_match"]);
        assert_eq!(
            (code, &report["cases"][0]["status"]),
            (1, &json!("not_evaluated")),
            "{report}"
        );
        let safety = metric(&report, 0, "safety");
        assert!(
            safety["explanation"].as_str().unwrap().contains(why),
            "{safety}"
        );
    }
}

#[test]
fn requested_metric_is_listed_if_all_errored() {
    let workspace = TestWorkspace::new(&[(
        "rows.jsonl",
        lines(&[json!({"prompt": "x", "reference_trajectory": 5, "response": "y"})]),
    )]);
    let ran = workspace.run(&["score", "rows.jsonl", "--metric", "exact_match"]);
    let table = text(&ran);
    let row = table
        .lines()
        .find(|line| line.starts_with("exact_match"))
        .unwrap_or_else(|| panic!("{}", both(&ran)));
    assert!(
        row.contains("0/1/1") && row.contains("1 of 1 attempts errored"),
        "{row}"
    );
}
