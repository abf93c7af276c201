//! Runs with several attempts, compared with the real binary: by rates, with evidence, with the baseline; the gate; the
//! command that runs the failures again.
#![cfg(unix)]

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

/// An agent whose attempts of a case pass (`P`) or fail (`F`) in the order that the file `plan.CASE` has.
const AGENT: &str = r#"#!/bin/sh
read request
case=$(echo "$request" | sed 's/.*"prompt":"\([a-z0-9]*\)".*/\1/')
done=$(cat "done.$case" 2>/dev/null || echo 0)
echo $((done + 1)) > "done.$case"
case $(cut -c $((done + 1)) "plan.$case") in
  P) echo '{"response": "ok", "predicted_trajectory": []}' ;;
  *) echo '{"response": "wrong", "predicted_trajectory": []}' ;;
esac
"#;

fn set_of(name: &str, cases: &[&str]) -> String {
    let case = |id: &&str| {
        json!({"eval_id": id, "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": id}]},
            "final_response": {"role": "model", "parts": [{"text": "ok"}]},
            "intermediate_data": {"tool_uses": []},
        }]})
    };
    json!({"eval_set_id": name, "eval_cases": cases.iter().map(case).collect::<Vec<_>>()})
        .to_string()
}

fn workspace_with(cases: &[&str]) -> TestWorkspace {
    let criteria = json!({"criteria": {"response_match_score": 0.5}});
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set_of("s", cases)),
        ("test_config.json", criteria.to_string()),
        ("evaltrail.toml", String::new()),
        ("agent", AGENT.into()),
    ]);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(workspace.path().join("agent"), mode).unwrap();
    workspace
}

/// Runs evaltrail with an agent whose attempts have these outcomes.
fn run(workspace: &TestWorkspace, plans: &[(&str, &str)], args: &[&str]) -> Output {
    for (case, plan) in plans {
        std::fs::write(workspace.path().join(format!("plan.{case}")), plan).unwrap();
        let _ = std::fs::remove_file(workspace.path().join(format!("done.{case}")));
    }
    let mut command = evaltrail(&workspace.path().join("home"));
    command.current_dir(workspace.path()).args(args);
    if args[0] == "run" {
        command.args(["--agent", "cmd:./agent", "--trust", "-j", "1"]);
    }
    output(&mut command)
}

/// Ten cases of which eight pass in one attempt, and 41 of 50 attempts of five each.
const CASES: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
const ONE: [(&str, &str); 10] = [
    ("a", "P"),
    ("b", "P"),
    ("c", "P"),
    ("d", "P"),
    ("e", "P"),
    ("f", "P"),
    ("g", "P"),
    ("h", "P"),
    ("i", "F"),
    ("j", "F"),
];
const FIVE: [(&str, &str); 10] = [
    ("a", "PPPPF"),
    ("b", "PPFPP"),
    ("c", "PPPPP"),
    ("d", "FPPPP"),
    ("e", "PFPPP"),
    ("f", "PPPFP"),
    ("g", "PPPPF"),
    ("h", "PFPPP"),
    ("i", "PPPPF"),
    ("j", "FPPPP"),
];

#[test]
fn more_attempts_are_not_a_regression() {
    let workspace = workspace_with(&CASES);
    run(&workspace, &ONE, &["run", "s.evalset.json"]);
    run(&workspace, &[], &["runs", "pin", "last"]);
    let compared = run(
        &workspace,
        &FIVE,
        &[
            "run",
            "s.evalset.json",
            "--repeat",
            "5",
            "--fail-on",
            "broke",
        ],
    );
    let said = both(&compared);
    assert_eq!(compared.status.code(), Some(0), "{said}");
    assert!(
        said.contains(
            "vs baseline: 0 broke, 0 fixed, 7 unclear; 80.0 % → 82.0 % of attempts passed"
        ),
        "{said}"
    );
    for (first, second) in [("baseline", "last"), ("last", "baseline")] {
        let listed = text(&run(
            &workspace,
            &[],
            &["compare", first, second, "--fail-on", "broke"],
        ));
        assert!(
            listed.contains(
                ": 0 broke, 0 fixed, 7 unclear  (by rates, because the numbers of evaluated attempts differ: "
            ),
            "{listed}"
        );
        assert!(
            listed.contains("could be noise")
                && !listed.contains("McNemar")
                && !listed.contains("Wilcoxon"),
            "{listed}"
        );
        assert!(
            listed.contains("4/5 (38–96 %)"),
            "the interval of a rate: {listed}"
        );
        let json: Value = serde_json::from_str(&text(&run(
            &workspace,
            &[],
            &["compare", first, second, "--json"],
        )))
        .unwrap();
        assert_eq!(
            (&json["mcnemar_p"], &json["overall"]["test"]),
            (&Value::Null, &json!("rates")),
            "{json}"
        );
        assert_eq!(
            (&json["counts"]["broke"], &json["rule"]["level"]),
            (&json!(0), &json!(0.05))
        );
    }
    // The rule can be set, on the command line and for the workspace.
    let any = [
        "compare",
        "baseline",
        "last",
        "--fail-on",
        "broke",
        "--evidence",
        "any",
    ];
    let listed = run(&workspace, &[], &any);
    assert_eq!(listed.status.code(), Some(1), "{}", both(&listed));
    assert!(
        both(&listed).contains(": 7 broke, 0 fixed"),
        "{}",
        both(&listed)
    );
    std::fs::write(
        workspace.path().join("evaltrail.toml"),
        "[compare]\nevidence = \"any\"\nlevel = 0.01\n",
    )
    .unwrap();
    let listed = run(
        &workspace,
        &[],
        &[
            "compare",
            "baseline",
            "last",
            "--json",
            "--fail-on",
            "broke",
        ],
    );
    let json: Value = serde_json::from_str(&text(&listed)).unwrap();
    assert_eq!(json["rule"], json!({"level": 0.01, "evidence": "any"}));
    assert_eq!(listed.status.code(), Some(1));
    let back = run(
        &workspace,
        &[],
        &[
            "compare",
            "baseline",
            "last",
            "--fail-on",
            "broke",
            "--evidence",
            "complete",
        ],
    );
    assert_eq!(back.status.code(), Some(0), "{}", both(&back));
}

#[test]
fn case_that_stops_passing_counts_as_broke() {
    let workspace = workspace_with(&CASES);
    let mut plans = FIVE;
    plans[1].1 = "PPPPP";
    run(
        &workspace,
        &plans,
        &["run", "s.evalset.json", "--repeat", "5"],
    );
    run(&workspace, &[], &["runs", "pin", "last"]);
    plans[1].1 = "FFFFF";
    let args = [
        "run",
        "s.evalset.json",
        "--repeat",
        "5",
        "--fail-on",
        "broke",
    ];
    let compared = run(&workspace, &plans, &args);
    assert_eq!(compared.status.code(), Some(1), "{}", both(&compared));
    assert!(
        both(&compared).contains("vs baseline: 1 broke, 0 fixed"),
        "{}",
        both(&compared)
    );
    assert!(
        both(&compared).contains("passed before: s › b\n"),
        "{}",
        both(&compared)
    );
}

#[test]
fn significant_pass_rate_drop_fails_run() {
    let workspace = workspace_with(&CASES);
    let mut plans = ONE.map(|(case, _)| (case, "PPPPP"));
    plans[0].1 = "PPPPF";
    run(
        &workspace,
        &plans,
        &["run", "s.evalset.json", "--repeat", "5"],
    );
    run(&workspace, &[], &["runs", "pin", "last"]);
    let worse = ONE.map(|(case, _)| (case, "PFPPF"));
    let fell = "; the pass rate fell from 98.0 % to 60.0 % (p < 0.0001)";
    let compared = run(
        &workspace,
        &worse,
        &[
            "run",
            "s.evalset.json",
            "--repeat",
            "5",
            "--fail-on",
            "broke",
        ],
    );
    assert_eq!(compared.status.code(), Some(1), "{}", both(&compared));
    assert!(
        both(&compared).contains("vs baseline: 0 broke, 0 fixed, 9 unclear; "),
        "{}",
        both(&compared)
    );
    assert!(both(&compared).contains(fell), "{}", both(&compared));
    let listed = run(
        &workspace,
        &[],
        &["compare", "baseline", "last", "--fail-on", "broke"],
    );
    assert_eq!(
        (listed.status.code(), both(&listed).contains(fell)),
        (Some(1), true),
        "{}",
        both(&listed)
    );
    let json = run(
        &workspace,
        &[],
        &[
            "compare",
            "baseline",
            "last",
            "--json",
            "--fail-on",
            "removed",
        ],
    );
    assert_eq!(json.status.code(), Some(0));
    let json: Value = serde_json::from_str(&text(&json)).unwrap();
    assert_eq!(
        json["overall"]["rate_change"]["direction"], "fell",
        "{json}"
    );
    assert_eq!(json["cases"][0]["after"]["evaluated"], 5, "{json}");
    // Better is no failure.
    run(&workspace, &[], &["runs", "pin", "last"]);
    let better = run(
        &workspace,
        &plans,
        &[
            "run",
            "s.evalset.json",
            "--repeat",
            "5",
            "--fail-on",
            "broke",
        ],
    );
    assert_eq!(better.status.code(), Some(0), "{}", both(&better));
    assert!(
        both(&better).contains("; the pass rate rose from 60.0 % to 98.0 %"),
        "{}",
        both(&better)
    );
}

#[test]
fn renamed_cases_and_files_are_not_removed() {
    let workspace = workspace_with(&["a", "b"]);
    let plans = [("a", "P"), ("b", "P"), ("z", "P")];
    run(&workspace, &plans, &["run", "s.evalset.json"]);
    run(&workspace, &[], &["runs", "pin", "last"]);
    std::fs::write(
        workspace.path().join("other.evalset.json"),
        set_of("other", &["z"]),
    )
    .unwrap();
    let args = ["run", "other.evalset.json", "--fail-on", "removed"];
    // Another file is run than the one that has the cases under its new name.
    std::fs::rename(
        workspace.path().join("s.evalset.json"),
        workspace.path().join("t.evalset.json"),
    )
    .unwrap();
    let ran = run(&workspace, &plans, &args);
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    assert!(both(&ran).contains("2 not in this run"), "{}", both(&ran));
    // A case has another name.
    let renamed = std::fs::read_to_string(workspace.path().join("t.evalset.json")).unwrap();
    let renamed = renamed.replace("\"eval_id\":\"b\"", "\"eval_id\":\"renamed\"");
    assert!(renamed.contains("renamed"), "{renamed}");
    std::fs::write(workspace.path().join("t.evalset.json"), renamed).unwrap();
    let ran = run(&workspace, &plans, &args);
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    std::fs::write(workspace.path().join("t.evalset.json"), set_of("s", &["a"])).unwrap();
    let ran = run(&workspace, &plans, &args);
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    assert!(
        both(&ran).contains("1 removed that passed\n  removed, passed before: s › b"),
        "{}",
        both(&ran)
    );
}

#[test]
fn removed_passing_cases_can_fail_a_run() {
    let workspace = workspace_with(&["a", "b", "c"]);
    let plans = [("a", "P"), ("b", "P"), ("c", "F")];
    run(&workspace, &plans, &["run", "s.evalset.json"]);
    run(&workspace, &[], &["runs", "pin", "last"]);
    let selected = run(
        &workspace,
        &plans,
        &["run", "s.evalset.json:a", "--fail-on", "broke,removed"],
    );
    assert_eq!(
        selected.status.code(),
        Some(0),
        "not selected is not removed: {}",
        both(&selected)
    );
    assert!(
        both(&selected).contains("0 broke, 0 fixed, 2 not in this run\n"),
        "{}",
        both(&selected)
    );
    std::fs::write(workspace.path().join("s.evalset.json"), set_of("s", &["a"])).unwrap();
    let said = "vs baseline: 0 broke, 0 fixed, 1 not in this run, 1 removed that passed\n  removed, passed before: s › b\n";
    for (fail_on, code) in [("broke", 0), ("removed", 1), ("broke,removed", 1)] {
        let ran = run(
            &workspace,
            &plans,
            &["run", "s.evalset.json", "--fail-on", fail_on],
        );
        assert_eq!(ran.status.code(), Some(code), "{fail_on}: {}", both(&ran));
        assert!(both(&ran).contains(said), "{}", both(&ran));
        let compared = run(
            &workspace,
            &[],
            &["compare", "baseline", "last", "--fail-on", fail_on],
        );
        assert_eq!(
            compared.status.code(),
            Some(code),
            "{fail_on}: {}",
            both(&compared)
        );
        assert!(
            both(&compared).contains("1 removed, passed in the first run\n"),
            "{}",
            both(&compared)
        );
    }
}

#[test]
fn renamed_file_case_is_reported_as_moved() {
    let workspace = workspace_with(&["a", "b"]);
    let plans = [("a", "P"), ("b", "P")];
    run(&workspace, &plans, &["run", "s.evalset.json"]);
    std::fs::rename(
        workspace.path().join("s.evalset.json"),
        workspace.path().join("t.evalset.json"),
    )
    .unwrap();
    run(
        &workspace,
        &[("a", "F"), ("b", "P")],
        &["run", "t.evalset.json"],
    );
    let listed = text(&run(&workspace, &[], &["compare"]));
    let said = "✓ → ✗ s › a (was in s.evalset.json, now in t.evalset.json)";
    assert!(listed.contains(said), "{listed}");
}

/// Two attempts of each case: of `half`, one passes.
fn ran_with_gate(workspace: &TestWorkspace, args: &[&str]) -> (i32, Value) {
    let mut line = vec!["run", "s.evalset.json", "--repeat", "2", "--json"];
    line.extend(args);
    let ran = run(
        workspace,
        &[("all", "PP"), ("half", "PF"), ("none", "FF")],
        &line,
    );
    let json =
        serde_json::from_str(&text(&ran)).unwrap_or_else(|error| panic!("{error}: {}", both(&ran)));
    (ran.status.code().unwrap(), json)
}

#[test]
fn gate_decides_exit_code_and_reports() {
    let workspace = workspace_with(&["all", "half"]);
    let gate = |args: &[&str]| {
        let (code, json) = ran_with_gate(&workspace, args);
        (code, json["summary"]["gate"].clone())
    };
    let of = |name: &str, passed: usize, not_passed: usize| json!({"name": name, "passed": passed, "not_passed": not_passed, "quarantined": 0});
    assert_eq!(gate(&[]), (1, of("all", 1, 1)));
    // The mean of 1.0 and 0.0 is 0.5, which the threshold asks for.
    assert_eq!(gate(&["--gate", "mean"]), (0, of("mean", 2, 0)));
    assert_eq!(gate(&["--gate", "50%"]), (0, of("0.5", 2, 0)));
    assert_eq!(gate(&["--gate", "0.6"]), (1, of("0.6", 1, 1)));
    std::fs::write(
        workspace.path().join("evaltrail.toml"),
        "[run]\ngate = \"mean\"\n",
    )
    .unwrap();
    assert_eq!(gate(&[]), (0, of("mean", 2, 0)));
    assert_eq!(gate(&["--gate", "all"]), (1, of("all", 1, 1)));
    let reports = ["junit=j.xml", "markdown=m.md", "html=h.html"]
        .iter()
        .flat_map(|to| ["--report", to]);
    let args: Vec<&str> = ["run", "s.evalset.json", "--repeat", "2"]
        .into_iter()
        .chain(reports)
        .collect();
    let plans = [("all", "PP"), ("half", "PF")];
    let ran = run(&workspace, &plans, &args);
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    let said = "gate mean: 2 of 2 cases pass (a case passes if the mean of each score over its attempts meets the threshold)";
    assert!(both(&ran).contains(said), "{}", both(&ran));
    for file in ["m.md", "h.html"] {
        let report = std::fs::read_to_string(workspace.path().join(file)).unwrap();
        assert!(report.contains("gate mean: 2 of 2 cases pass"), "{report}");
    }
    let junit = std::fs::read_to_string(workspace.path().join("j.xml")).unwrap();
    assert!(
        junit.contains("failures=\"0\" errors=\"0\" skipped=\"1\"") && !junit.contains("<failure"),
        "{junit}"
    );
    assert!(junit.contains("the case passes by --gate mean"), "{junit}");
    let fast = run(
        &workspace,
        &plans,
        &["run", "s.evalset.json", "--repeat", "2", "--fail-fast"],
    );
    assert_eq!(fast.status.code(), Some(2), "{}", both(&fast));
    assert!(
        both(&fast).contains("--fail-fast counts attempts"),
        "{}",
        both(&fast)
    );
}

#[test]
fn max_failures_counts_cases_under_mean_gate() {
    let workspace = workspace_with(&["all", "half", "none"]);
    let code = |args: &[&str]| ran_with_gate(&workspace, args).0;
    assert_eq!(code(&["--gate", "mean"]), 1);
    assert_eq!(
        code(&["--gate", "mean", "--max-failures", "1"]),
        0,
        "a case, not two attempts"
    );
    assert_eq!(
        (
            code(&["--max-failures", "2"]),
            code(&["--max-failures", "3"])
        ),
        (1, 0),
        "three attempts"
    );
}

/// The line that says how to run the failures again, as words.
fn rerun_hint(said: &str) -> Vec<String> {
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("rerun:   evaltrail "));
    line.unwrap_or_else(|| panic!("no hint in {said}"))
        .split(' ')
        .map(str::to_string)
        .collect()
}

fn cases_of(ran: &Output) -> Vec<(String, String)> {
    let json: Value =
        serde_json::from_str(&text(ran)).unwrap_or_else(|error| panic!("{error}: {}", both(ran)));
    let of = |case: &Value| {
        (
            case["eval_id"].as_str().unwrap().to_string(),
            case["metrics"][0]["metric"].to_string(),
        )
    };
    json["cases"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn the_hint_runs_exactly_the_failures_again() {
    let workspace = workspace_with(&["a", "b"]);
    std::fs::write(
        workspace.path().join("other.evalset.json"),
        set_of("other", &["c", "d"]),
    )
    .unwrap();
    std::fs::write(
        workspace.path().join("more.evalset.json"),
        set_of("more", &["e"]),
    )
    .unwrap();
    let criteria =
        json!({"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.9}});
    std::fs::write(workspace.path().join("c.json"), criteria.to_string()).unwrap();
    let plans = [
        ("a", "PFPF"),
        ("b", "PPPP"),
        ("c", "FPFP"),
        ("d", "PPPP"),
        ("e", "FFFF"),
    ];
    run(&workspace, &plans, &["run", "more.evalset.json"]);
    let first = [
        "run",
        "s.evalset.json",
        "other.evalset.json",
        "--config",
        "c.json",
        "--repeat",
        "2",
    ];
    let ran = run(&workspace, &plans, &first);
    let hint = rerun_hint(&both(&ran));
    let expected = "run s.evalset.json other.evalset.json --failed=ID --agent cmd:./agent --config c.json --jobs 1 --repeat 2 --trust";
    let without_id = hint.iter().map(|word| {
        if word.starts_with("--failed=") {
            "--failed=ID"
        } else {
            word
        }
    });
    assert_eq!(
        without_id.collect::<Vec<_>>().join(" "),
        expected,
        "{}",
        both(&ran)
    );
    let run_id = hint
        .iter()
        .find_map(|word| word.strip_prefix("--failed="))
        .unwrap();
    assert!(
        both(&output(
            evaltrail(&workspace.path().join("home"))
                .current_dir(workspace.path())
                .arg("runs")
        ))
        .contains(run_id)
    );
    let home = workspace.path().join("home");
    let again = |hint: &[String]| {
        output(
            evaltrail(&home)
                .current_dir(workspace.path())
                .args(hint)
                .arg("--json"),
        )
    };
    let case = |id: &str| (id.to_string(), "\"tool_trajectory_avg_score\"".to_string());
    assert_eq!(
        cases_of(&again(&hint)),
        [case("a"), case("a"), case("c"), case("c")]
    );
    // A filter by the result does not match any more after the run: the hint names the run.
    let filtered = [
        "run",
        "s.evalset.json",
        "--config",
        "c.json",
        "--repeat",
        "2",
        "--filter",
        "status:failed",
    ];
    let ran = run(&workspace, &plans, &filtered);
    let hint = rerun_hint(&both(&ran));
    assert!(
        hint.iter().any(|word| word.starts_with("--failed=")),
        "{hint:?}"
    );
    assert_eq!(cases_of(&again(&hint)), [case("a"), case("a")]);
}

#[test]
fn rerun_hint_respects_shard_and_gate() {
    let workspace = workspace_with(&["a", "b", "c", "d"]);
    let plans = [("a", "FFFF"), ("b", "FFFF"), ("c", "FFFF"), ("d", "FFFF")];
    let home = workspace.path().join("home");
    let again = |ran: &Output| {
        let hint = rerun_hint(&both(ran));
        let ran = output(
            evaltrail(&home)
                .current_dir(workspace.path())
                .args(hint)
                .arg("--json"),
        );
        cases_of(&ran)
            .into_iter()
            .map(|(case, _)| case)
            .collect::<Vec<_>>()
    };
    // The earlier failures are not of the shard.
    run(&workspace, &plans, &["run", "s.evalset.json"]);
    let shard = run(
        &workspace,
        &plans,
        &["run", "s.evalset.json", "--shard", "1/4"],
    );
    assert_eq!(again(&shard).len(), 1, "{}", both(&shard));
    let plans = [("a", "PFPF"), ("b", "FFFF"), ("c", "PPPP"), ("d", "PPPP")];
    let rate = run(
        &workspace,
        &plans,
        &["run", "s.evalset.json", "--repeat", "2", "--gate", "0.5"],
    );
    assert_eq!(again(&rate), ["b", "b"], "{}", both(&rate));
}

#[test]
fn results_of_mixed_criteria_are_marked() {
    let workspace = workspace_with(&["a", "b"]);
    std::fs::create_dir(workspace.path().join("t")).unwrap();
    std::fs::write(
        workspace.path().join("t/t.evalset.json"),
        set_of("t", &["a"]),
    )
    .unwrap();
    let plans = [("a", "PPPP"), ("b", "PPPP")];
    let criteria = |file: &str, match_type: &str| {
        let trajectory = json!({"threshold": 1.0, "match_type": match_type});
        let criteria = json!({"criteria": {"tool_trajectory_avg_score": trajectory}});
        std::fs::write(workspace.path().join(file), criteria.to_string()).unwrap();
    };
    criteria("test_config.json", "EXACT");
    criteria("t/test_config.json", "EXACT");
    let means = || {
        let ran = run(
            &workspace,
            &plans,
            &["run", "s.evalset.json", "t/t.evalset.json"],
        );
        let line = both(&ran)
            .lines()
            .find(|line| line.starts_with("tool_trajectory_avg_score"))
            .map(str::to_string);
        line.unwrap_or_else(|| panic!("{}", both(&ran)))
    };
    assert!(!means().contains("different options"));
    criteria("t/test_config.json", "ANY_ORDER");
    assert!(
        means().starts_with("tool_trajectory_avg_score (different options) "),
        "{}",
        means()
    );
    // One case is run again with other criteria: the counts of the set are of both.
    let listed = |args: &[&str]| both(&run(&workspace, &plans, args));
    assert!(
        !listed(&["list"]).contains("different criteria"),
        "{}",
        listed(&["list"])
    );
    criteria("test_config.json", "ANY_ORDER");
    run(&workspace, &plans, &["run", "s.evalset.json:b"]);
    assert!(
        listed(&["list"]).contains("2/2 passed; from 2 runs with different criteria"),
        "{}",
        listed(&["list"])
    );
    let json: Value =
        serde_json::from_str(&text(&run(&workspace, &[], &["list", "--json"]))).unwrap();
    let differ: Vec<&Value> = json["sets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| &set["different_criteria"])
        .collect();
    assert_eq!(differ, [&json!(true), &json!(false)], "{json}");
    let compared = listed(&["compare"]);
    assert!(compared.contains("other options in 1 case"), "{compared}");
}

/// Each case is run until it is known whether its pass rate is at least the demanded one, or for the largest number of attempts.
#[test]
fn cases_are_run_until_their_rate_is_known() {
    let workspace = workspace_with(&["good", "bad", "edge"]);
    let plans = [
        ("good", "P".repeat(40)),
        ("bad", "F".repeat(40)),
        ("edge", "PPPPF".repeat(8)),
    ];
    let plans: Vec<(&str, &str)> = plans
        .iter()
        .map(|(case, plan)| (*case, plan.as_str()))
        .collect();
    let ran = run(
        &workspace,
        &plans,
        &["run", ".", "--repeat", "until=0.8,max=40", "--json"],
    );
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    let json: Value = serde_json::from_str(&text(&ran)).unwrap();
    let attempts = |case: &str| {
        let cases = json["cases"].as_array().unwrap().iter();
        cases.filter(|attempt| attempt["eval_id"] == case).count()
    };
    assert_eq!((attempts("good"), attempts("edge")), (24, 40));
    assert!((2..=6).contains(&attempts("bad")), "{}", attempts("bad"));
    assert_eq!(json["summary"]["gate"]["name"], "until=0.8");
    assert_eq!(json["summary"]["gate"]["passed"], 1);
    assert_eq!(json["not_run"], json!([]));
    // Nothing is left to resume, and the run counts as complete.
    let listed = text(&run(&workspace, &[], &["runs"]));
    assert!(!listed.contains("unfinished"), "{listed}");

    let summary = both(&run(
        &workspace,
        &plans,
        &["run", ".", "--repeat", "until=0.8,max=40"],
    ));
    let expected = "repeat until=0.8: 1 pass, 1 fail, 1 undecided after 40 attempts";
    assert!(summary.contains(expected), "{summary}");
    assert!(!summary.contains("not run"), "{summary}");
    // Without a largest number it is 50, and without a case that stays undecided, the exit code is that of the verdicts.
    let good = ["run", ".:good", "--repeat", "until=80%", "-q"];
    let ran = run(&workspace, &plans, &good);
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    let wrong = ["run", ".", "--repeat", "until=0.8", "--gate", "all"];
    assert_eq!(run(&workspace, &plans, &wrong).status.code(), Some(2));
}

/// Attempts of a case that run at the same time reach a verdict, and none is left.
#[test]
fn attempts_at_once_reach_a_verdict() {
    let workspace = workspace_with(&["a"]);
    // Each attempt takes its number with a lock.
    let agent = r#"#!/bin/sh
read request
until mkdir lock 2>/dev/null; do :; done
done=$(cat done 2>/dev/null || echo 0)
echo $((done + 1)) > done
rmdir lock
case $done in
  1|2|3) echo '{"response": "wrong", "predicted_trajectory": []}' ;;
  *) echo '{"response": "ok", "predicted_trajectory": []}' ;;
esac
"#;
    std::fs::write(workspace.path().join("agent"), agent).unwrap();
    let mut command = evaltrail(&workspace.path().join("home"));
    let args = [
        "run",
        ".",
        "--repeat",
        "until=0.5,max=30",
        "--json",
        "-j",
        "4",
    ];
    let agent = ["--agent", "cmd:./agent", "--trust"];
    let ran = output(command.current_dir(workspace.path()).args(args).args(agent));
    let json: Value = serde_json::from_str(&text(&ran)).unwrap();
    let verdicts = &json["summary"]["gate"]["verdicts"];
    assert_eq!(verdicts["pass"], 1, "{}", both(&ran));
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    assert_eq!(json["not_run"], json!([]));
}

/// A limit with which no case could pass is refused, and the usual limit depends on the rate.
#[test]
fn limit_of_attempts_allows_a_case_to_pass() {
    let workspace = workspace_with(&["a"]);
    let plan = "P".repeat(150);
    let plans = [("a", plan.as_str())];
    let refused = run(
        &workspace,
        &plans,
        &["run", ".", "--repeat", "until=0.9,max=50"],
    );
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    assert!(
        both(&refused).contains("needs 53 attempts"),
        "{}",
        both(&refused)
    );
    let ran = run(
        &workspace,
        &plans,
        &[
            "run",
            ".",
            "--repeat",
            "until=0.9",
            "-q",
            "--report=junit=r.xml",
        ],
    );
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    // An undecided case is a failure in JUnit, although all of its attempts passed.
    let ran = run(
        &workspace,
        &[("a", "PPPPPPPPPF".repeat(6).as_str())],
        &[
            "run",
            ".",
            "--repeat",
            "until=0.8,max=30",
            "--report=junit=r.xml",
        ],
    );
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    let junit = std::fs::read_to_string(workspace.path().join("r.xml")).unwrap();
    assert!(
        junit.contains("undecided after 30 attempts, of which 27 passed"),
        "{junit}"
    );
    assert!(both(&ran).contains("undecided: a 27/30"), "{}", both(&ran));
}

/// A case that passes by the gate is no failure with a new cause, although one of its attempts failed.
#[test]
fn new_causes_of_passing_cases_do_not_count() {
    let workspace = workspace_with(&["a"]);
    let passes = "P".repeat(60);
    let args = [
        "run",
        ".",
        "--repeat",
        "until=0.5",
        "--fail-on",
        "new-cause",
        "-q",
    ];
    let first = run(&workspace, &[("a", &passes)], &args);
    assert_eq!(first.status.code(), Some(0), "{}", both(&first));
    let flaky = format!("PPF{passes}");
    let second = run(&workspace, &[("a", &flaky)], &args);
    assert_eq!(second.status.code(), Some(0), "{}", both(&second));
    let fails = "F".repeat(60);
    let third = run(
        &workspace,
        &[("a", &fails)],
        &["run", ".", "--fail-on", "new-cause", "-q"],
    );
    // The cause of the attempt that failed before is known.
    assert_eq!(third.status.code(), Some(0), "{}", both(&third));
}
