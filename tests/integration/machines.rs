//! Machines that work on one run: claims and take-over of shards (`--push`), and the queue of cases (`--queue`).
#![cfg(unix)]

use crate::common::terminal::Terminal;
use crate::common::{TestWorkspace, both, copy_folder, evaltrail, output, root, text, wait_for};
use crate::shards::answers;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// Cases `a` to `f` for an agent that answers the first three at once, and the others when the file `fast` is there.
fn slow_workspace() -> TestWorkspace {
    let case = |id: &str| json!({"eval_id": id, "conversation": [{"user_content": {"role": "user", "parts": [{"text": id}]}}]});
    let cases: Vec<Value> = ["a", "b", "c", "d", "e", "f"].map(case).to_vec();
    let agent = "#!/bin/sh\nread request\ncase \"$request\" in *'\"a\"'*|*'\"b\"'*|*'\"c\"'*) ;; *) while [ ! -e fast ]; do sleep 0.05; done;; esac\necho '{\"response\": \"ok\", \"predicted_trajectory\": []}'\n";
    let workspace = TestWorkspace::new(&[
        (
            "s.evalset.json",
            json!({"eval_set_id": "s", "eval_cases": cases}).to_string(),
        ),
        (
            "test_config.json",
            json!({"criteria": {"tool_trajectory_avg_score": 1.0}}).to_string(),
        ),
        ("evaltrail.toml", String::new()),
        ("slow", agent.into()),
    ]);
    std::fs::set_permissions(
        workspace.path().join("slow"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    workspace
}

/// A machine with a folder of its own for evaltrail's files.
fn machine(workspace: &Path, name: &str, args: &[&str]) -> Command {
    let mut command = evaltrail(&workspace.join("homes").join(name));
    command
        .current_dir(workspace)
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn pushing(workspace: &Path, name: &str) -> Command {
    let args = [
        "run",
        "s.evalset.json",
        "--agent",
        "cmd:./slow",
        "--trust",
        "-j",
        "1",
        "--push",
        "runs",
        "--lease",
        "6s",
    ];
    machine(workspace, name, &args)
}

/// What `evaltrail runs` says about the runs that were pushed.
fn board(workspace: &Path) -> Value {
    let out = output(&mut machine(
        workspace,
        "board",
        &["runs", "runs", "--json"],
    ));
    serde_json::from_str(&text(&out)).unwrap_or(Value::Null)
}

fn wait_until_pushed(workspace: &Path, attempts: u64) {
    wait_for("the upload", PATIENCE, || {
        (board(workspace)["totals"]["passed"].as_u64() == Some(attempts)).then_some(())
    });
}

/// A machine that is killed loses only the case in flight: the same command on another one continues the shard.
#[test]
fn killed_machine_shard_is_resumed_elsewhere() {
    let workspace = slow_workspace();
    let mut first = pushing(workspace.path(), "first").spawn().unwrap();
    wait_until_pushed(workspace.path(), 3);
    // Another machine with the same shard says so, and does nothing.
    let second = output(&mut pushing(workspace.path(), "second"));
    assert_eq!(second.status.code(), Some(2), "{}", both(&second));
    assert!(
        both(&second).contains("is being run by"),
        "{}",
        both(&second)
    );
    first.kill().unwrap();
    first.wait().unwrap();
    std::fs::write(workspace.path().join("fast"), "").unwrap();
    let third = output(&mut pushing(workspace.path(), "third"));
    assert_eq!(third.status.code(), Some(0), "{}", both(&third));
    assert!(
        both(&third).contains("3 of 6 cases are done"),
        "{}",
        both(&third)
    );
    let board = board(workspace.path());
    assert_eq!(
        (&board["totals"]["passed"], &board["parts"][0]["state"]),
        (&json!(6), &json!("complete")),
        "{board}"
    );
    let merged = output(&mut machine(workspace.path(), "me", &["merge", "runs"]));
    assert_eq!(merged.status.code(), Some(0), "{}", both(&merged));
    assert!(both(&merged).contains("6 of 6 cases"), "{}", both(&merged));
    let last = output(&mut pushing(workspace.path(), "fourth"));
    assert!(both(&last).contains("is complete at"), "{}", both(&last));
    assert_eq!(
        last.status.code(),
        Some(0),
        "as the run ended: {}",
        both(&last)
    );
}

/// The explorer shows what machines upload while it is open.
#[test]
fn explorer_refreshes_ongoing_pushed_run() {
    let workspace = slow_workspace();
    let mut machine = pushing(workspace.path(), "first").spawn().unwrap();
    wait_until_pushed(workspace.path(), 3);
    let home = workspace.path().join("homes/me");
    std::fs::create_dir_all(&home).unwrap();
    let program = env!("CARGO_BIN_EXE_evaltrail");
    let mut explorer = Terminal::start_in(
        program,
        &["./runs"],
        &home,
        (120, 30),
        workspace.path(),
        &[],
    );
    explorer.wait_for("3 attempts left");
    explorer.keys("\x1b[B\r");
    explorer.wait_for("user  b");
    std::fs::write(workspace.path().join("fast"), "").unwrap();
    assert!(machine.wait().unwrap().success());
    explorer.keys("q");
    explorer.wait_for("all attempts ended");
    explorer.wait_until("the results and turns of all cases", |screen| {
        ["d", "e", "f"].iter().all(|id| {
            let row = screen
                .lines()
                .find(|line| line.contains(&format!("\u{2713} {id} ")));
            row.is_some_and(|row| row.contains("1.00         1"))
        })
    });
    assert!(
        explorer.screen().contains("\u{2500} b \u{2500}"),
        "the cursor stays: {}",
        explorer.screen()
    );
    explorer.keys("q");
    explorer.wait_for_end();
}

/// A shard is not green because its failures came before a take-over.
#[test]
fn failures_before_a_take_over_count() {
    let workspace = slow_workspace();
    let agent = std::fs::read_to_string(workspace.path().join("slow")).unwrap();
    // The case `a` calls a tool that is not expected.
    let wrong = "*'\"a\"'*) echo '{\"response\": \"ok\", \"predicted_trajectory\": [{\"tool_name\": \"t\", \"tool_input\": {}}]}'; exit;; *'\"b\"'*";
    let agent = agent.replace("*'\"a\"'*|*'\"b\"'*", wrong);
    assert!(agent.contains("exit;;"));
    std::fs::write(workspace.path().join("slow"), agent).unwrap();
    let mut first = pushing(workspace.path(), "first").spawn().unwrap();
    wait_until_pushed(workspace.path(), 2);
    first.kill().unwrap();
    first.wait().unwrap();
    std::fs::write(workspace.path().join("fast"), "").unwrap();
    let second = output(&mut pushing(workspace.path(), "second"));
    assert!(
        both(&second).contains("of which 1 attempt did not pass"),
        "{}",
        both(&second)
    );
    assert_eq!(second.status.code(), Some(1), "{}", both(&second));
    assert!(
        both(&second).contains("5 passed, 1 failed"),
        "the report has all: {}",
        both(&second)
    );
    let again = output(&mut pushing(workspace.path(), "third"));
    assert!(
        both(&again).contains("6 cases, 1 attempt did not pass"),
        "{}",
        both(&again)
    );
    assert_eq!(again.status.code(), Some(1), "{}", both(&again));
    let tolerant = output(pushing(workspace.path(), "fourth").args(["--max-failures", "1"]));
    assert_eq!(
        tolerant.status.code(),
        Some(0),
        "by the options of this call: {}",
        both(&tolerant)
    );
}

fn scoring(workspace: &Path, name: &str, args: &[&str]) -> Output {
    let score = [
        "score",
        "answers.jsonl",
        "-q",
        "--push",
        "runs",
        "--max-failures",
        "99",
    ];
    output(&mut machine(workspace, name, &[&score[..], args].concat()))
}

/// The folder of the only run that was pushed.
fn pushed_run(workspace: &Path) -> PathBuf {
    let mut folders = std::fs::read_dir(workspace.join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folders
        .find(|folder| folder.join("run.json").is_file())
        .unwrap()
}

/// A mark is not believed: the results count.
#[test]
fn a_shard_without_its_results_is_not_complete() {
    let workspace = answers(6);
    assert_eq!(
        scoring(workspace.path(), "first", &[]).status.code(),
        Some(0)
    );
    std::fs::remove_file(pushed_run(workspace.path()).join("journal-0000000000000000.jsonl"))
        .unwrap();
    let state = board(workspace.path())["parts"][0]["state"]
        .as_str()
        .unwrap()
        .to_string();
    assert_eq!(state, "marked as complete, but results are missing");
    let again = scoring(workspace.path(), "second", &[]);
    assert!(
        both(&again).contains("the results of 6 of 6 cases are missing"),
        "{}",
        both(&again)
    );
    assert_eq!(again.status.code(), Some(1));
    // A run that cannot be read may be one with failures.
    let other = answers(6);
    assert_eq!(scoring(other.path(), "first", &[]).status.code(), Some(0));
    std::fs::create_dir(other.path().join("runs/damaged")).unwrap();
    for name in ["run.json", "whole_plan.json"] {
        std::fs::write(other.path().join("runs/damaged").join(name), "{").unwrap();
    }
    let merged = output(&mut machine(
        other.path(),
        "me",
        &["merge", "runs", "--max-failures", "99"],
    ));
    assert!(both(&merged).contains("not merged:"), "{}", both(&merged));
    assert_eq!(merged.status.code(), Some(1), "{}", both(&merged));
}

/// Whatever vanishes during a run is uploaded again at its end.
#[test]
fn deleted_push_target_is_recreated_at_end() {
    let workspace = slow_workspace();
    let run = pushing(workspace.path(), "first").spawn().unwrap();
    wait_until_pushed(workspace.path(), 3);
    std::fs::remove_dir_all(workspace.path().join("runs")).unwrap();
    std::fs::write(workspace.path().join("fast"), "").unwrap();
    let run = run.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", both(&run));
    let merged = output(&mut machine(workspace.path(), "me", &["merge", "runs"]));
    assert!(both(&merged).contains("6 of 6 cases"), "{}", both(&merged));
    assert_eq!(merged.status.code(), Some(0), "{}", both(&merged));
}

/// The sample has a judge that replays a recording of the workspace.
#[test]
fn machines_can_use_different_folders() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let runs = folders[0].path().join("runs");
    for (number, folder) in (1..).zip(&folders) {
        copy_folder(
            &root().join("fixtures/workspace"),
            &folder.path().join("sample"),
        );
        let shard = format!("{number}/2");
        let args = [
            "run",
            "sample",
            "--trust",
            "-q",
            "--shard",
            &shard,
            "--push",
            runs.to_str().unwrap(),
        ];
        let out = output(machine(folder.path(), "home", &args).env("SAMPLE_PACE", "0"));
        assert!(matches!(out.status.code(), Some(0 | 1)), "{}", both(&out));
    }
    let merged = output(&mut machine(
        folders[0].path(),
        "me",
        &["merge", "runs", "--into", "sample"],
    ));
    assert!(
        both(&merged).contains("merged 2 of 2 shards"),
        "{}",
        both(&merged)
    );
}

#[test]
fn wrong_addresses_are_refused() {
    let workspace = answers(3);
    for (to, words) in [
        (".", "the eval sets are there"),
        ("gs:/team/runs", "this kind of address is not known"),
        (
            "https://x.example/runs",
            "this kind of address is not known",
        ),
    ] {
        let out = output(&mut machine(
            workspace.path(),
            "home",
            &["score", "answers.jsonl", "-q", "--push", to],
        ));
        assert_eq!(out.status.code(), Some(2), "{to}: {}", both(&out));
        assert!(both(&out).contains(words), "{to}: {}", both(&out));
    }
    assert_eq!(
        scoring(workspace.path(), "first", &[]).status.code(),
        Some(0)
    );
    let other = scoring(workspace.path(), "second", &["--shard", "1/2"]);
    assert_eq!(other.status.code(), Some(2), "{}", both(&other));
    assert!(
        both(&other).contains("it is the place of another run"),
        "{}",
        both(&other)
    );
}

/// A machine that the system ends with SIGTERM gives its shard up, so that another one need not wait for it.
#[test]
fn released_shard_is_resumed_immediately() {
    let workspace = slow_workspace();
    let first = pushing(workspace.path(), "first").spawn().unwrap();
    wait_until_pushed(workspace.path(), 3);
    let pid = rustix::process::Pid::from_child(&first);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let first = first.wait_with_output().unwrap();
    assert_eq!(first.status.code(), Some(130), "{}", both(&first));
    let state = board(workspace.path())["parts"][0]["state"]
        .as_str()
        .unwrap()
        .to_string();
    assert!(state.contains("interrupted"), "{state}");
    std::fs::write(workspace.path().join("fast"), "").unwrap();
    let second = output(&mut pushing(workspace.path(), "second"));
    assert_eq!(second.status.code(), Some(0), "{}", both(&second));
    assert!(
        !both(&second).contains("waiting for a heartbeat"),
        "{}",
        both(&second)
    );
    assert!(
        both(&second).contains("3 of 6 cases are done"),
        "{}",
        both(&second)
    );
}

fn worker(workspace: &Path, number: usize) -> Child {
    let report = format!("json=report{number}.json");
    let args = [
        "score",
        "answers.jsonl",
        "-q",
        "--queue",
        "runs",
        "--lease",
        "6s",
        "--report",
        &report,
    ];
    machine(workspace, &number.to_string(), &args)
        .spawn()
        .unwrap()
}

/// The status of each case of a report.
fn statuses(path: &Path) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = report["cases"].as_array().unwrap();
    let status = |case: &Value| {
        (
            case["eval_id"].as_str().unwrap().into(),
            case["status"].as_str().unwrap().into(),
        )
    };
    let found: BTreeMap<String, String> = cases.iter().map(status).collect();
    assert_eq!(found.len(), cases.len(), "each case once");
    found
}

/// What a machine does not record is lost: it leaves the cases of a queue to the others.
#[test]
fn machine_that_cannot_record_skips_queue() {
    let (faulty, healthy) = (answers(12), answers(12));
    let runs = healthy.path().join("runs");
    std::fs::write(faulty.path().join(".evaltrail"), "not a folder").unwrap();
    let take = |workspace: &Path| {
        // A path with `..` is that of the same folder.
        let to = runs.join("../runs");
        output(&mut machine(
            workspace,
            "home",
            &[
                "score",
                "answers.jsonl",
                "-q",
                "--queue",
                to.to_str().unwrap(),
            ],
        ))
    };
    let nothing = take(faulty.path());
    assert_eq!(nothing.status.code(), Some(2), "{}", both(&nothing));
    assert!(
        both(&nothing).contains("nothing is run, because other machines need"),
        "{}",
        both(&nothing)
    );
    let all = take(healthy.path());
    assert!(
        both(&all).contains("this machine ran 12 of 12 attempts"),
        "{}",
        both(&all)
    );
}

/// Eight machines take 2,000 cases from a queue, and three of them are killed: each of the others has the result of every
/// case once, and they are those of one machine.
#[test]
fn queue_has_one_result_per_case_after_kills() {
    const CASES: usize = 600;
    let workspace = answers(CASES);
    let one = output(&mut machine(
        workspace.path(),
        "one",
        &["score", "answers.jsonl", "-q", "--report", "json=one.json"],
    ));
    assert_eq!(one.status.code(), Some(1), "{}", both(&one));
    let mut workers: Vec<Child> = (0..8)
        .map(|number| worker(workspace.path(), number))
        .collect();
    let done = || {
        // A machine that is killed may leave a temporary file of the store.
        let is_mark = |entry: &std::fs::DirEntry| entry.file_name().len() == 7;
        let ended = |entry: std::fs::DirEntry| {
            let marks = std::fs::read_dir(entry.path().join("done")).ok()?;
            Some(marks.filter_map(Result::ok).filter(is_mark).count())
        };
        let entries = std::fs::read_dir(workspace.path().join("runs/queue"))
            .into_iter()
            .flatten();
        entries
            .filter_map(|entry| ended(entry.ok()?))
            .sum::<usize>()
    };
    wait_for("the first cases", PATIENCE, || (done() > 100).then_some(()));
    for gone in workers.drain(..3) {
        let mut gone = gone;
        gone.kill().unwrap();
        gone.wait().unwrap();
    }
    assert!(done() < CASES, "some are left");
    let expected = statuses(&workspace.path().join("one.json"));
    for (worker, number) in workers.into_iter().zip(3..) {
        let ended = worker.wait_with_output().unwrap();
        assert_eq!(
            ended.status.code(),
            Some(1),
            "some failed: {}",
            both(&ended)
        );
        assert!(
            both(&ended).contains("merged the runs of 8 machines: 600 of 600 cases"),
            "{}",
            both(&ended)
        );
        assert_eq!(
            statuses(&workspace.path().join(format!("report{number}.json"))),
            expected
        );
    }
    assert_eq!(done(), CASES);
    // A worker that comes late has nothing to do, and reports the same.
    let late = output(&mut machine(
        workspace.path(),
        "late",
        &["score", "answers.jsonl", "-q", "--queue", "runs"],
    ));
    assert!(
        both(&late).contains("this machine ran 0 of 600 attempts"),
        "{}",
        both(&late)
    );
    // The files of another plan do not belong to this queue.
    std::fs::write(
        workspace.path().join("test_config.json"),
        json!({"criteria": {"response_match_score": 0.5}}).to_string(),
    )
    .unwrap();
    let other = output(&mut machine(
        workspace.path(),
        "other",
        &["score", "answers.jsonl", "-q", "--queue", "runs"],
    ));
    assert_eq!(other.status.code(), Some(2), "{}", both(&other));
    assert!(
        both(&other).contains("it is the place of another run"),
        "{}",
        both(&other)
    );
}
