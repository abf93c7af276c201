//! Watch mode, on the command line and in the explorer, in a pseudo-terminal: cases that change are run again.
#![cfg(unix)]

use crate::common::TestWorkspace;
use crate::common::terminal::Terminal;
use crate::queue::case_and_recording;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// Cases 1 to 4, which pass against a recorded agent, and case 5, which fails.
fn workspace() -> TestWorkspace {
    let (cases, recordings): (Vec<Value>, Vec<Value>) = (1..6).map(case_and_recording).unzip();
    TestWorkspace::new(&[
        ("lights.evalset.json", set_text(&cases)),
        (
            "home.jsonl",
            recordings.iter().map(|line| format!("{line}\n")).collect(),
        ),
        ("test_config.json", criteria(1.0)),
        (
            "evaltrail.toml",
            "[agents.home]\nkind = \"replay\"\nrecording = \"home.jsonl\"\n".into(),
        ),
    ])
}

fn set_text(cases: &[Value]) -> String {
    serde_json::to_string_pretty(
        &json!({"eval_set_id": "lights", "name": "lights", "eval_cases": cases}),
    )
    .unwrap()
}

fn criteria(threshold: f64) -> String {
    json!({"criteria": {"tool_trajectory_avg_score": threshold}}).to_string()
}

/// Changes what is expected of case 2: another final response.
fn edit_case_2(workspace: &TestWorkspace, response: &str) {
    let file = workspace.path().join("lights.evalset.json");
    let mut set: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    set["eval_cases"][1]["conversation"][0]["final_response"]["parts"][0]["text"] = json!(response);
    std::fs::write(file, serde_json::to_string_pretty(&set).unwrap()).unwrap();
}

/// Changes the criteria at this time.
fn change_criteria(workspace: &TestWorkspace, threshold: f64, at: SystemTime) {
    let file = workspace.path().join("test_config.json");
    std::fs::write(&file, criteria(threshold)).unwrap();
    std::fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(at)
        .unwrap();
}

/// A time during the latest run.
fn during_the_run(workspace: &TestWorkspace) -> SystemTime {
    let folders = std::fs::read_dir(workspace.path().join(".evaltrail/runs")).unwrap();
    let journals = folders.map(|folder| folder.unwrap().path().join("journal.jsonl"));
    journals
        .map(|journal| journal.metadata().unwrap().modified().unwrap())
        .max()
        .unwrap()
}

fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(60)
}

#[test]
fn the_command_line_runs_changed_cases_again() {
    let (workspace, home) = (workspace(), tempfile::tempdir().unwrap());
    let path = workspace.path().display().to_string();
    let args = ["run", "--watch", &path];
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &args,
        home.path(),
        (120, 60),
    );
    terminal.wait_for("evaltrail 4 passed, 1 failed");
    terminal.wait_for("watching the cases, the criteria and the agent's files; Ctrl-C stops");
    edit_case_2(&workspace, "it is done");
    terminal.wait_for("1 case changed: about 1 s; running");
    terminal.wait_for("evaltrail 1 passed");
    terminal.wait_for("watching; Ctrl-C stops");
    change_criteria(&workspace, 0.5, later());
    terminal.wait_for("5 cases changed: about 1 s; running");
    terminal.wait_until("both runs ended", |screen| {
        screen.matches("watching; Ctrl-C stops").count() == 2
    });
    // The agent may have changed these files itself.
    change_criteria(&workspace, 0.25, during_the_run(&workspace));
    terminal.wait_for("5 cases changed: about 1 s. Run? [y/N]");
    terminal.keys("n\r");
    edit_case_2(&workspace, "it is done twice");
    terminal.wait_until("the case was run", |screen| {
        screen.matches("1 case changed").count() == 2
    });
    terminal.wait_until("the run ended", |screen| {
        screen.matches("watching; Ctrl-C stops").count() == 3
    });
    terminal.keys("\x03");
    terminal.wait_for("no longer watching");
    terminal.wait_for_end();
    assert_eq!(runs(&workspace), 4);
}

#[test]
fn invalid_file_is_named_and_its_repair_found() {
    let (workspace, home) = (workspace(), tempfile::tempdir().unwrap());
    let path = workspace.path().display().to_string();
    let args = ["run", "--watch", &path];
    let program = env!("CARGO_BIN_EXE_evaltrail");
    let mut terminal = Terminal::start(program, &args, home.path(), (120, 60));
    terminal.wait_for("watching the cases, the criteria and the agent's files; Ctrl-C stops");
    let file = workspace.path().join("lights.evalset.json");
    let valid = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        valid.replacen("\"eval_cases\":", "\"eval_cases\"", 1),
    )
    .unwrap();
    terminal.wait_for("lights.evalset.json: line 4, column 16: expected a colon");
    std::fs::write(&file, valid).unwrap();
    edit_case_2(&workspace, "it is done");
    terminal.wait_for("1 case changed: about 1 s; running");
    terminal.wait_for("watching; Ctrl-C stops");
    terminal.keys("\x03");
    terminal.wait_for_end();
    assert_eq!(runs(&workspace), 2);
}

/// The handler of the signals of the first run must not swallow those that arrive after it.
#[test]
fn the_system_ends_watching_after_a_run() {
    for signal in ["-TERM", "-INT"] {
        let (workspace, home) = (workspace(), tempfile::tempdir().unwrap());
        let path = workspace.path().display().to_string();
        let args = ["run", "--watch", &path];
        let mut terminal = Terminal::start(
            env!("CARGO_BIN_EXE_evaltrail"),
            &args,
            home.path(),
            (120, 60),
        );
        terminal.wait_for("watching the cases, the criteria and the agent's files; Ctrl-C stops");
        let program = terminal.pid().to_string();
        assert!(
            std::process::Command::new("kill")
                .args([signal, &program])
                .status()
                .unwrap()
                .success()
        );
        terminal.wait_for("no longer watching");
        assert_eq!(terminal.wait_for_end(), 1, "that of the last run");
    }
}

#[test]
fn explorer_reruns_changed_cases() {
    let (workspace, home) = (workspace(), tempfile::tempdir().unwrap());
    let path = workspace.path().display().to_string();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&path],
        home.path(),
        (150, 40),
    );
    terminal.wait_for("case_005");
    // Nothing is known about how long these cases take.
    terminal.keys("B");
    terminal.wait_for("5 cases are new: time unknown");
    terminal.keys("\r");
    terminal.wait_for("run ended: 4 passed, 1 failed");
    terminal.keys("\x1b");
    terminal.wait_for("Eval sets");
    terminal.keys("W");
    terminal.wait_for("watching: cases that change are run again; W stops");
    terminal.wait_for("watching   agent home");
    edit_case_2(&workspace, "it is done");
    terminal.wait_for("run ended: 1 passed");
    change_criteria(&workspace, 0.5, later());
    terminal.wait_for("run ended: 4 passed, 1 failed");
    change_criteria(&workspace, 0.25, during_the_run(&workspace));
    terminal.wait_for("Run 5 cases?");
    // The question appeared by itself: enter may have been meant for something else.
    terminal.keys("\r");
    terminal.wait_until("the question is answered", |screen| {
        !screen.contains("Run 5 cases?")
    });
    assert!(
        terminal.screen().contains("lights.evalset.json"),
        "the screen stays: {}",
        terminal.screen()
    );
    terminal.keys("W");
    terminal.wait_for("no longer watching; nothing is run by itself");
    // The notices may have been replaced by that of the end at once.
    terminal.keys("!");
    terminal.wait_for("1 case changed: about 1 s; running");
    terminal.wait_for("5 cases changed: about 1 s; running");
    terminal.keys("q");
    terminal.wait_until("the log is closed", |screen| {
        !screen.contains("5 cases changed")
    });
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    assert_eq!(runs(&workspace), 3);
}

fn runs(workspace: &TestWorkspace) -> usize {
    std::fs::read_dir(workspace.path().join(".evaltrail/runs")).map_or(0, Iterator::count)
}
