//! Layouts of projects and habits of ADK's users: agents beside their sets, the order of arguments of `adk eval`, the agent of
//! `[run]`, and what `-v` prints.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use serde_json::{Value, json};
use std::process::Output;

fn set(ids: &[&str]) -> String {
    let case = |id: &&str| {
        json!({"eval_id": id, "conversation": [{
            "user_content": {"parts": [{"text": "hello"}], "role": "user"},
            "final_response": {"parts": [{"text": "echo hello"}], "role": "model"},
        }]})
    };
    json!({"eval_set_id": "s", "eval_cases": ids.iter().map(case).collect::<Vec<_>>()}).to_string()
}

/// An agent that answers with the message.
const ECHO: &str = "while read -r line; do printf '{\"response\": \"echo hello\"}\\n'; done";

fn run_in(workspace: &TestWorkspace, args: &[&str]) -> Output {
    output(
        evaltrail(&workspace.path().join("home"))
            .current_dir(workspace.path())
            .args(args),
    )
}

fn listed(workspace: &TestWorkspace, path: &str) -> Value {
    let out = run_in(workspace, &["list", path, "--json"]);
    serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{error}: {}", both(&out)))
}

#[test]
fn agents_next_to_the_sets_folder_are_found() {
    let workspace = TestWorkspace::new(&[
        ("project/agents/desk/agent.py", "root_agent = 1".into()),
        ("project/evalsets/s.evalset.json", set(&["a"])),
        ("elsewhere/t.evalset.json", set(&["a"])),
        ("below/clerk/agent.py", "root_agent = 1".into()),
        ("below/s.evalset.json", set(&["a"])),
    ]);
    let agents = |path: &str| listed(&workspace, path)["agents"].clone();
    let desk = json!([{"name": "desk", "kind": "ADK agent"}]);
    let found = listed(&workspace, "project/evalsets/s.evalset.json");
    assert_eq!(
        found["sets"][0]["file"], "evalsets/s.evalset.json",
        "relative to the folder of both: {found}"
    );
    // What is listed are the agents in the opened folder.
    assert_eq!(agents("project"), desk);
    let unknown = run_in(
        &workspace,
        &[
            "run",
            "project/evalsets/s.evalset.json",
            "--agent",
            "nobody",
        ],
    );
    assert!(
        both(&unknown).contains("known agents: desk"),
        "{}",
        both(&unknown)
    );
    let below = run_in(
        &workspace,
        &["run", "below/s.evalset.json", "--agent", "nobody"],
    );
    assert!(
        both(&below).contains("known agents: clerk"),
        "below the set: {}",
        both(&below)
    );
    let elsewhere = run_in(
        &workspace,
        &["run", "elsewhere/t.evalset.json", "--agent", "nobody"],
    );
    assert!(
        !both(&elsewhere).contains("desk"),
        "another project: {}",
        both(&elsewhere)
    );
    // By its folder, relative to the current one.
    let by_folder = run_in(
        &workspace,
        &[
            "run",
            "elsewhere/t.evalset.json",
            "--agent",
            "adk:project/agents/desk",
        ],
    );
    assert!(
        !both(&by_folder).contains("there is no"),
        "{}",
        both(&by_folder)
    );
}

#[test]
fn adk_eval_only_agent_prints_run_hint() {
    let workspace = TestWorkspace::new(&[
        ("desk/__init__.py", "from . import agent".into()),
        (
            "desk/agent.py",
            "async def get_agent_async():\n    return None, None\n".into(),
        ),
        ("desk/s.evalset.json", set(&["a"])),
    ]);
    let ran = run_in(&workspace, &["run", "desk/s.evalset.json"]);
    assert!(
        both(&ran).contains("--agent python:desk/agent.py:get_agent_async"),
        "{}",
        both(&ran)
    );
}

/// `adk eval AGENT SET:case` runs only that set.
#[test]
#[cfg(unix)]
fn adk_eval_argument_order_is_accepted() {
    let workspace = TestWorkspace::new(&[
        ("desk/agent.py", "root_agent = 1".into()),
        ("desk/mine.evalset.json", set(&["a", "b"])),
        ("desk/other.evalset.json", set(&["c"])),
        ("sets/far.evalset.json", set(&["d", "e"])),
        ("echo.sh", ECHO.into()),
        (
            "evaltrail.toml",
            "[agents.desk]\nkind = \"command\"\ncommand = \"sh echo.sh\"\n".into(),
        ),
    ]);
    let ids = |args: &[&str]| -> Vec<String> {
        let out = run_in(
            &workspace,
            &[&["run"], args, &["--json", "--trust"]].concat(),
        );
        let report: Value = serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
        assert!(both(&out).contains("with the agent desk"), "{}", both(&out));
        report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|case| case["eval_id"].as_str().unwrap().into())
            .collect()
    };
    assert_eq!(ids(&["desk", "sets/far.evalset.json:e"]), ["e"]);
    assert_eq!(ids(&["desk", "desk/mine.evalset.json"]), ["a", "b"]);
    assert_eq!(
        ids(&["desk", "mine:b"]),
        ["b"],
        "a set of the folder by its id"
    );
}

#[test]
#[cfg(unix)]
fn configured_agent_runs_and_v_prints_turns() {
    let agents = "[agents.one]\nkind = \"command\"\ncommand = \"sh echo.sh\"\n[agents.two]\nkind = \"command\"\ncommand = \"false\"\n";
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set(&["a"])),
        ("echo.sh", ECHO.into()),
        (
            "evaltrail.toml",
            format!("[run]\nagent = \"one\"\n{agents}"),
        ),
    ]);
    let ran = run_in(
        &workspace,
        &[
            "run",
            "s.evalset.json",
            "-v",
            "--trust",
            "--metric",
            "response_match_score",
        ],
    );
    let said = text(&ran);
    for line in [
        "turn 1             hello",
        "expected response  echo hello",
        "actual response    echo hello",
        "expected calls",
    ] {
        assert!(said.contains(line), "{line}: {}", both(&ran));
    }
    std::fs::write(
        workspace.path().join("evaltrail.toml"),
        format!("[run]\nagent = \"cmd:false\"\n{agents}"),
    )
    .unwrap();
    let refused = run_in(&workspace, &["run", "s.evalset.json", "--trust"]);
    assert!(
        both(&refused).contains("[run] agent: there is no agent"),
        "{}",
        both(&refused)
    );
}

/// The hints of a run in a folder whose name is that of a subcommand.
#[test]
fn hints_name_a_folder_and_no_subcommand() {
    let workspace = TestWorkspace::new(&[("agents/s.evalset.json", set(&["a"]))]);
    let ran = run_in(
        &workspace,
        &["run", "agents/s.evalset.json", "--agent", "cmd:false"],
    );
    assert!(
        text(&ran).contains("explore: evaltrail ./agents"),
        "{}",
        both(&ran)
    );
}

#[test]
fn runs_lists_only_sets_with_cases_in_the_run() {
    let workspace = TestWorkspace::new(&[
        ("one.evalset.json", set(&["a"])),
        ("two.evalset.json", set(&["b"])),
    ]);
    run_in(
        &workspace,
        &["run", ".", "--agent", "cmd:false", "--filter", "set:two"],
    );
    let runs = run_in(&workspace, &["runs", ".", "--json"]);
    let runs: Value = serde_json::from_slice(&runs.stdout).unwrap();
    assert_eq!(
        runs["runs"][0]["sets"],
        json!(["two.evalset.json"]),
        "{runs}"
    );
}

/// The table that pandas reads.
#[test]
fn vertexs_table_is_csv_in_a_csv_file() {
    let row = json!({"prompt": "a", "response": "b", "reference": "b", "latency_in_seconds": 1.5, "failure": 0,
        "predicted_trajectory": [{"tool_name": "t", "tool_input": {"x": 1}}],
        "reference_trajectory": [{"tool_name": "t", "tool_input": {"x": 1}}]});
    let workspace = TestWorkspace::new(&[("rows.jsonl", format!("{row}\n"))]);
    let ran = run_in(
        &workspace,
        &[
            "score",
            "rows.jsonl",
            "--report",
            "vertex=t.csv",
            "--metric",
            "trajectory_exact_match",
        ],
    );
    let file = std::fs::read_to_string(workspace.path().join("t.csv"))
        .unwrap_or_else(|_| panic!("{}", both(&ran)));
    let mut reader = csv::Reader::from_reader(file.as_bytes());
    let header: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_string)
        .collect();
    let record = reader.records().next().unwrap().unwrap();
    let cell = |name: &str| record[header.iter().position(|one| one == name).unwrap()].to_string();
    let calls: Value = serde_json::from_str(&cell("predicted_trajectory")).unwrap();
    assert_eq!(calls[0]["tool_name"], "t");
    assert_eq!(
        (cell("latency_in_seconds"), cell("failure")),
        ("1.5".into(), "0".into())
    );
    assert_eq!(cell("trajectory_exact_match/score"), "1.0");
    let again = run_in(&workspace, &["list", "."]);
    assert!(
        !text(&again).contains("t.csv"),
        "a report is no data set: {}",
        text(&again)
    );
}
