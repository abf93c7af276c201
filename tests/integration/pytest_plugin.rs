//! The plugin for pytest of the Python package, with the real pytest.
#![cfg(unix)]

use crate::common::{TestWorkspace, both, copy_folder, output, root, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The Python of the tests against the real ADK, if it has pytest.
fn python() -> Option<PathBuf> {
    let found = std::env::var_os("EVALTRAIL_ADK")
        .map(PathBuf::from)?
        .with_file_name("python");
    let has_pytest = Command::new(&found)
        .args(["-c", "import pytest"])
        .output()
        .is_ok_and(|tried| tried.status.success());
    if !has_pytest {
        assert!(
            std::env::var_os("EVALTRAIL_REQUIRE_ADK").is_none(),
            "{} has no pytest",
            found.display()
        );
        println!("SKIPPED: {} has no pytest", found.display());
    }
    has_pytest.then_some(found)
}

fn pytest(python: &Path, folder: &Path, arguments: &[&str]) -> Output {
    let beside = Path::new(env!("CARGO_BIN_EXE_evaltrail")).parent().unwrap();
    let path = format!(
        "{}:{}",
        beside.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut command = Command::new(python);
    command.current_dir(folder).args([
        "-m",
        "pytest",
        "-p",
        "evaltrail.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]);
    command
        .env("PYTHONPATH", root().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PATH", path);
    command
        .env("EVALTRAIL_HOME", folder.join("home"))
        .env_remove("PYTEST_ADDOPTS");
    output(command.args(arguments))
}

#[test]
fn sample_workspace_cases_are_pytest_items() {
    let Some(python) = python() else { return };
    let workspace = TestWorkspace::new(&[]);
    let folder = workspace.path().join("w");
    copy_folder(&root().join("fixtures/workspace"), &folder);
    // The agent is started by evaltrail, and must not be imported by pytest.
    std::fs::write(
        folder.join("garden/__init__.py"),
        "raise RuntimeError('imported')\n",
    )
    .unwrap();
    let ran = pytest(
        &python,
        &folder,
        &[
            "--evaltrail",
            "--evaltrail-args=--trust",
            "-rA",
            "garden",
            "library_desk",
        ],
    );
    let said = text(&ran);
    for line in [
        "PASSED garden/watering.evalset.json::water_tomatoes",
        "FAILED garden/watering.evalset.json::lettuce_six_litres",
        "FAILED library_desk/loans.evalset.json::reading_room",
    ] {
        assert!(said.contains(line), "{line}: {}", both(&ran));
    }
    assert!(
        said.contains(
            "failed: tool_trajectory_avg_score 0.00 (needs 1): water_bed.litres: expected 6, got 5"
        ),
        "{said}"
    );
    assert!(
        said.contains("errored: RuntimeError: the catalogue is being rebuilt"),
        "{said}"
    );
    assert_eq!(ran.status.code(), Some(1));
    // evaltrail itself has the same outcomes.
    let counts = |status: &str| said.matches(&format!("{status} garden/")).count();
    assert_eq!((counts("PASSED"), counts("FAILED")), (5, 8), "{said}");

    let chosen = pytest(
        &python,
        &folder,
        &[
            "--evaltrail",
            "--evaltrail-args=--trust",
            "-k",
            "water_tomatoes",
        ],
    );
    assert!(text(&chosen).contains("1 passed"), "{}", both(&chosen));
    assert_eq!(chosen.status.code(), Some(0));
    let runs = std::fs::read_dir(folder.join(".evaltrail/runs"))
        .unwrap()
        .count();
    assert!(runs >= 2, "one run for each file");
}

#[test]
fn plugin_is_opt_in_and_reports_refusals() {
    let Some(python) = python() else { return };
    let set = r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {"role": "user", "parts": [{"text": "hi"}]}}]}]}"#;
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set.into()),
        ("broken.evalset.json", "{".into()),
        (
            "evaltrail.toml",
            "[agents.shop]\nkind = \"command\"\ncommand = \"./agent\"\n".into(),
        ),
    ]);
    let nothing = pytest(&python, workspace.path(), &[]);
    assert_eq!(nothing.status.code(), Some(5), "{}", both(&nothing));
    let refused = pytest(
        &python,
        workspace.path(),
        &[
            "--evaltrail",
            "--evaltrail-args=--agent shop",
            "s.evalset.json",
        ],
    );
    assert!(text(&refused).contains("--trust"), "{}", both(&refused));
    let broken = pytest(
        &python,
        workspace.path(),
        &["--evaltrail", "broken.evalset.json"],
    );
    assert!(
        text(&broken).contains("broken.evalset.json") && broken.status.code() == Some(2),
        "{}",
        both(&broken)
    );
}

/// A set whose agent answers every message in the same way, with these ids.
fn workspace_with_cases(ids: impl Iterator<Item = String>) -> TestWorkspace {
    let case = |id: String| {
        serde_json::json!({"eval_id": id, "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": "hi"}]},
            "final_response": {"role": "model", "parts": [{"text": "hello"}]},
        }]})
    };
    let cases: Vec<serde_json::Value> = ids.map(case).collect();
    let set = serde_json::json!({"eval_set_id": "s", "eval_cases": cases});
    TestWorkspace::new(&[
        ("s.evalset.json", set.to_string()),
        ("test_config.json", r#"{"criteria": {"response_match_score": 0.8}}"#.into()),
        ("recording.jsonl", "{\"eval_id\": \"other\", \"turns\": []}\n".into()),
        (
            "evaltrail.toml",
            "[agents.known]\nkind = \"replay\"\nrecording = \"recording.jsonl\"\nspeed = 0\nfallback = \"hello\"\n".into(),
        ),
    ])
}

/// More ids than fit into a command line.
#[test]
fn any_number_of_cases_is_run() {
    const CASES: usize = 5200;
    let Some(python) = python() else { return };
    let workspace =
        workspace_with_cases((0..CASES).map(|at| format!("case_{at:04}_{}", "x".repeat(40))));
    let ran = pytest(
        &python,
        workspace.path(),
        &[
            "--evaltrail",
            "--evaltrail-args=--trust --agent known",
            "-q",
        ],
    );
    assert!(
        text(&ran).contains(&format!("{CASES} passed")),
        "{}",
        both(&ran)
    );
}

#[test]
fn any_case_id_is_a_separate_pytest_item() {
    let Some(python) = python() else { return };
    // Longer than a variable of the environment may be.
    let long = "x".repeat(140_000);
    let ids = [
        &long,
        "with\0nul",
        "with,comma",
        "with\nline",
        "",
        "\u{1b}[31m",
        "plain",
    ];
    let workspace = workspace_with_cases(ids.into_iter().map(String::from));
    let ran = pytest(
        &python,
        workspace.path(),
        &[
            "--evaltrail",
            "--evaltrail-args=--trust --agent known",
            "-rA",
        ],
    );
    assert!(text(&ran).contains("7 passed"), "{}", both(&ran));
    let arguments = [
        "--evaltrail",
        "--evaltrail-args=--trust --agent known",
        "-k",
        "comma",
    ];
    let chosen = pytest(&python, workspace.path(), &arguments);
    assert!(text(&chosen).contains("1 passed"), "{}", both(&chosen));
}

/// One attempt of `half` passes and the other one does not: its mean score is the threshold. That of `low` is below it in a
/// third digit.
#[test]
fn pytest_uses_gate_and_score_precision() {
    let Some(python) = python() else { return };
    let workspace = workspace_with_cases(["half", "low"].into_iter().map(String::from));
    let agent = r#"#!/bin/sh
read request
count=$(cat count 2>/dev/null || echo 0)
echo $((count + 1)) > count
if [ $((count % 2)) = 0 ]; then echo '{"response": "hello"}'; else echo '{"response": "hello you there"}'; fi
"#;
    std::fs::write(workspace.path().join("agent"), agent).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(workspace.path().join("agent"), executable).unwrap();
    let pytest = |options: &str, criterion: &str| {
        std::fs::write(
            workspace.path().join("test_config.json"),
            format!("{{\"criteria\": {{\"response_match_score\": {criterion}}}}}"),
        )
        .unwrap();
        let arguments = format!("--evaltrail-args=--trust --agent cmd:./agent -j 1 {options}");
        pytest(
            &python,
            workspace.path(),
            &["--evaltrail", &arguments, "-rA"],
        )
    };
    // The scores of the attempts are 1.0 and 0.5.
    let strict = pytest("--repeat 2", "0.75");
    assert!(text(&strict).contains("2 failed"), "{}", both(&strict));
    assert!(
        text(&strict).contains("(1 of 2 attempts passed)"),
        "{}",
        both(&strict)
    );
    for options in ["--repeat 2 --gate mean", "--repeat 2 --gate 50%"] {
        let ran = pytest(options, "0.75");
        assert!(text(&ran).contains("2 passed"), "{options}: {}", both(&ran));
    }
    let near = pytest("", "0.501");
    assert!(
        text(&near).contains("response_match_score 0.500 (needs 0.501)"),
        "{}",
        both(&near)
    );
}
