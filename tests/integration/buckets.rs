//! Data sets, runs and reports in object stores: `gs://`, `s3://`, `az://` and `file://`.
#![cfg(unix)]

use crate::common::scripted::{JSON, SSE, ScriptedServer, answer};
use crate::common::store::{KINDS, ObjectStore};
use crate::common::terminal::Terminal;
use crate::common::{adk_or_skip, both, evaltrail, output, text};
use crate::shards::{answers, comparable, similar_asserts};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A store with a copy of a local folder.
fn with_files(kind: &'static str, folder: &Path) -> Option<ObjectStore> {
    let store = ObjectStore::start(kind)?;
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            let name = format!("data/{}", entry.file_name().to_string_lossy());
            store.put(&name, &std::fs::read(entry.path()).unwrap());
        }
    }
    Some(store)
}

/// Data in a bucket are scored by ten machines, which push their shards; the merged run equals one run on one machine.
#[test]
fn merged_pushed_shards_equal_single_run() {
    for kind in KINDS {
        // Each shard has enough attempts for a block of its journal.
        let workspace = answers(330);
        let Some(store) = with_files(kind, workspace.path()) else {
            return;
        };
        let one = output(
            evaltrail(workspace.path())
                .current_dir(workspace.path())
                .args(["score", "answers.jsonl", "-q", "--report", "json=one.json"]),
        );
        assert_eq!(one.status.code(), Some(1), "{}", both(&one));
        let (data, runs) = (store.address("data/answers.jsonl"), store.address("runs/1"));
        let machine = tempfile::tempdir().unwrap();
        let command = |home: &str, args: &[&str]| {
            let mut command = store.evaltrail(&machine.path().join(home));
            output(command.current_dir(machine.path()).args(args))
        };
        for number in 1..=10 {
            let shard = format!("{number}/10");
            let out = command(
                &shard.replace('/', "_"),
                &["score", &data, "--shard", &shard, "--push", &runs, "-q"],
            );
            assert!(
                matches!(out.status.code(), Some(0 | 1)),
                "{kind}: {}",
                both(&out)
            );
            if number == 9 {
                let board = command("me", &["runs", &runs]);
                assert!(
                    text(&board).contains("297 of 330 attempts done"),
                    "{kind}: {}",
                    both(&board)
                );
                assert!(
                    text(&board).contains("9 of 10 shards complete"),
                    "{kind}: {}",
                    both(&board)
                );
                let merged = command("me", &["merge", &runs]);
                assert_eq!(merged.status.code(), Some(1));
                assert!(
                    both(&merged).contains("shard 10 of 10 not found"),
                    "{kind}: {}",
                    both(&merged)
                );
            }
        }
        let report = store.address("reports/merged.json");
        let merged = command(
            "me",
            &[
                "merge",
                &runs,
                "--report",
                &format!("json={report}"),
                "--report",
                "json=merged.json",
            ],
        );
        assert_eq!(merged.status.code(), Some(1), "{kind}: {}", both(&merged));
        assert!(
            both(&merged).contains("merged 10 of 10 shards: 330 of 330 cases"),
            "{kind}: {}",
            both(&merged)
        );
        let read = |path: &Path| {
            let report: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            comparable(
                &serde_json::to_string_pretty(&report).unwrap(),
                report["run_id"].as_str().unwrap(),
            )
        };
        let (one, merged) = (
            read(&workspace.path().join("one.json")),
            read(&machine.path().join("merged.json")),
        );
        similar_asserts(&one, &merged, kind, "json");
        // The last shard has nothing left to do, and says so.
        let again = command(
            "again",
            &["score", &data, "--shard", "10/10", "--push", &runs, "-q"],
        );
        assert!(
            both(&again).contains("is complete at"),
            "{kind}: {}",
            both(&again)
        );
        let listed = command("me", &["list", "--json", &store.address("data")]);
        assert!(
            text(&listed).contains("answers.jsonl"),
            "{kind}: {}",
            both(&listed)
        );
        explores(&store, machine.path(), &runs);
    }
}

/// The explorer shows the run that several machines made.
fn explores(store: &ObjectStore, home: &Path, runs: &str) {
    let variables = store.variables();
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let program = env!("CARGO_BIN_EXE_evaltrail");
    let mut terminal = Terminal::start_in(program, &[runs], home, (120, 40), home, &variables);
    terminal.wait_for("110/330");
    terminal.wait_for("case_23");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

fn eval_set(replies: &[&str]) -> Vec<u8> {
    let case = |(at, reply): (usize, &&str)| {
        json!({"eval_id": format!("c{at}"), "conversation": [{"user_content": {"role": "user", "parts": [{"text": "go"}]},
            "final_response": {"role": "model", "parts": [{"text": reply}]}}]})
    };
    let cases: Vec<Value> = replies.iter().enumerate().map(case).collect();
    serde_json::to_vec_pretty(&json!({"eval_set_id": "s", "eval_cases": cases})).unwrap()
}

/// An edit is written to the object, and never over a change that somebody else made in the meantime.
#[test]
fn object_edit_refuses_concurrent_change() {
    for kind in ["gs", "s3", "az"] {
        let Some(store) = ObjectStore::start(kind) else {
            return;
        };
        let home = tempfile::tempdir().unwrap();
        let run = |args: &[&str]| {
            output(
                store
                    .evaltrail(home.path())
                    .current_dir(home.path())
                    .args(args),
            )
        };
        store.put("sets/s.evalset.json", &eval_set(&["one", "two"]));
        let set = store.address("sets/s.evalset.json");
        let made = run(&[
            "new",
            &format!("{set}:extra"),
            "--user",
            "Hello",
            "--response",
            "Hi",
        ]);
        assert!(made.status.success(), "{kind}: {}", both(&made));
        assert!(
            both(&made).contains(&format!("created extra in {set}")),
            "{kind}: {}",
            both(&made)
        );
        let fresh = run(&["new", &store.address("sets/fresh")]);
        assert!(fresh.status.success(), "{kind}: {}", both(&fresh));
        // Another machine sees both.
        let other = tempfile::tempdir().unwrap();
        let listed =
            output(
                store
                    .evaltrail(other.path())
                    .args(["list", "--cases", &store.address("sets")]),
            );
        assert!(
            text(&listed).contains("extra") && text(&listed).contains("fresh"),
            "{kind}: {}",
            both(&listed)
        );
        // While the editor is open, somebody else changes the object.
        let theirs = home.path().join("theirs.json");
        std::fs::write(&theirs, eval_set(&["one", "changed by somebody else"])).unwrap();
        let (ready, go) = (home.path().join("ready"), home.path().join("go"));
        let editor = home.path().join("editor.sh");
        let script = format!(
            "#!/bin/sh\nsed -i 's/\"Hi\"/\"Hi there\"/' \"$1\"\ntouch {}\nwhile [ ! -e {} ]; do sleep 0.05; done\n",
            ready.display(),
            go.display()
        );
        std::fs::write(&editor, script).unwrap();
        std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = store.evaltrail(home.path());
        command
            .current_dir(home.path())
            .args(["edit", &format!("{set}:extra")])
            .env("EDITOR", &editor);
        let child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        crate::common::wait_for("the editor", Duration::from_secs(30), || {
            ready.exists().then_some(())
        });
        store.put("sets/s.evalset.json", &std::fs::read(&theirs).unwrap());
        std::fs::write(&go, "").unwrap();
        let edited = child.wait_with_output().unwrap();
        assert!(!edited.status.success(), "{kind}: {}", both(&edited));
        assert!(
            both(&edited).contains("changed by another program"),
            "{kind}: {}",
            both(&edited)
        );
        let listed = run(&["list", "--cases", &set]);
        assert!(
            !text(&listed).contains("extra"),
            "{kind}: theirs stays: {}",
            both(&listed)
        );
        let checked = run(&["check", &set]);
        assert!(checked.status.success(), "{kind}: {}", both(&checked));
    }
}

/// Uses ADK's own managers with the double.
const ADK_MANAGERS: &str = r#"
import sys
from google.auth.credentials import AnonymousCredentials
from google.adk.evaluation.eval_case import EvalCase, Invocation
from google.adk.evaluation.eval_metrics import EvalStatus
from google.adk.evaluation.eval_result import EvalCaseResult
from google.adk.evaluation.gcs_eval_set_results_manager import GcsEvalSetResultsManager
from google.adk.evaluation.gcs_eval_sets_manager import GcsEvalSetsManager
from google.genai import types
options = dict(credentials=AnonymousCredentials(), project="p")
sets, results = GcsEvalSetsManager("evals", **options), GcsEvalSetResultsManager("evals", **options)
def content(role, text):
    return types.Content(role=role, parts=[types.Part(text=text)])
if sys.argv[1] == "write":
    sets.create_eval_set("garden", "beds")
    turn = Invocation(invocation_id="i", user_content=content("user", "Is it dry?"), final_response=content("model", "It is dry."))
    sets.add_eval_case("garden", "beds", EvalCase(eval_id="dry", conversation=[turn]))
    failed = EvalCaseResult(eval_set_id="beds", eval_id="dry", session_id="s", final_eval_status=EvalStatus.FAILED,
        overall_eval_metric_results=[], eval_metric_result_per_invocation=[])
    results.save_eval_set_result("garden", "beds", [failed])
else:
    cases = sets.get_eval_set("garden", "beds").eval_cases
    ids = results.list_eval_set_results("garden")
    result = results.get_eval_set_result("garden", ids[-1])
    statuses = [(case.eval_id, case.final_eval_status.name) for case in result.eval_case_results]
    print([case.eval_id for case in cases], result.eval_set_id, statuses)
"#;

/// Sets that ADK stores in a bucket are run, and ADK reads the results; it reads edits as well.
#[test]
fn bucket_is_interoperable_with_adk() {
    let Some(adk) = adk_or_skip("adk_reads_what_evaltrail_writes_to_its_bucket") else {
        return;
    };
    let Some(store) = ObjectStore::start("gs") else {
        return;
    };
    let managers = |what: &str| {
        let mut command = Command::new(adk.with_file_name("python"));
        command.args(["-W", "ignore", "-c", ADK_MANAGERS, what]);
        let out = output(command.env(
            "STORAGE_EMULATOR_HOST",
            format!("http://127.0.0.1:{}", store.port()),
        ));
        assert!(out.status.success(), "{}", both(&out));
        text(&out)
    };
    managers("write");
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        output(
            store
                .evaltrail(home.path())
                .current_dir(home.path())
                .args(args),
        )
    };
    let listed = run(&["list", "--cases", "gs://evals"]);
    assert!(
        text(&listed).contains("0/1 passed"),
        "ADK's result is read: {}",
        both(&listed)
    );
    let made = run(&[
        "new",
        "gs://evals/garden/evals/eval_sets/beds.evalset.json:wet",
        "--user",
        "Is it wet?",
        "--response",
        "No.",
    ]);
    assert!(made.status.success(), "{}", both(&made));
    let agent = ScriptedServer::start(|request, stream| {
        let event = json!({"invocationId": "i", "author": "garden", "content": {"role": "model", "parts": [{"text": "It is dry."}]}});
        match request.line.contains("/run") {
            true => answer(stream, "200 OK", SSE, &format!("data: {event}\n\n")),
            false => answer(stream, "200 OK", JSON, &json!({"id": "s", "appName": "garden", "userId": "u", "state": {}, "events": [], "lastUpdateTime": 0}).to_string()),
        }
    });
    let agent = format!("adk+http://127.0.0.1:{}/garden", agent.port);
    let ran = run(&[
        "run",
        "gs://evals/garden",
        "--agent",
        &agent,
        "--metric",
        "response_match_score",
        "--trust",
        "-q",
        "--retries",
        "0",
    ]);
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    let seen = managers("read");
    let statuses = "[('dry', 'PASSED'), ('wet', 'FAILED')]";
    assert_eq!(
        seen.trim(),
        format!("['dry', 'wet'] beds {statuses}"),
        "{}",
        both(&ran)
    );
}

#[test]
fn keys_of_an_aws_profile_are_used() {
    let Some(store) = ObjectStore::start("s3") else {
        return;
    };
    store.put("sets/s.evalset.json", &eval_set(&["one"]));
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    let keys = "[work]\naws_access_key_id = x\naws_secret_access_key = x\nregion = us-east-1\n";
    std::fs::write(home.path().join(".aws/credentials"), keys).unwrap();
    let list = |profile: &str| {
        // Each has copies of its own.
        let mut command = store.evaltrail(&home.path().join(profile));
        ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"]
            .iter()
            .for_each(|name| {
                command.env_remove(name);
            });
        command.env("HOME", home.path()).env("AWS_PROFILE", profile);
        output(command.args(["list", &store.address("sets")]))
    };
    let found = list("work");
    assert!(
        text(&found).contains("s.evalset.json  1 case"),
        "{}",
        both(&found)
    );
    assert!(
        both(&list("other")).contains("--profile other"),
        "{}",
        both(&list("other"))
    );
}

#[test]
fn missing_credentials_are_reported_at_once() {
    let home = tempfile::tempdir().unwrap();
    for (address, words) in [
        ("gs://evals/data", "gcloud auth application-default login"),
        ("s3://evals/data", "AWS_ACCESS_KEY_ID"),
        ("az://evals/data", "AZURE_STORAGE_ACCOUNT_NAME"),
    ] {
        for args in [
            vec!["list", address],
            vec!["score", "x.jsonl", "--push", address],
            vec!["runs", address],
        ] {
            std::fs::write(
                home.path().join("x.jsonl"),
                "{\"prompt\": \"a\", \"response\": \"b\", \"reference\": \"b\"}\n",
            )
            .unwrap();
            let mut command = evaltrail(home.path());
            command
                .env_clear()
                .env("EVALTRAIL_HOME", home.path())
                .env("HOME", home.path())
                .env("PATH", "/usr/bin:/bin")
                // Objects of public buckets are read without credentials: those requests end here.
                .env("HTTPS_PROXY", "http://127.0.0.1:1");
            let began = Instant::now();
            let out = output(command.current_dir(home.path()).args(&args));
            assert_eq!(out.status.code(), Some(2), "{args:?}: {}", both(&out));
            assert!(both(&out).contains(words), "{args:?}: {}", both(&out));
            assert!(
                began.elapsed() < Duration::from_secs(5),
                "{args:?} waited for something"
            );
        }
    }
}

/// Without credentials, a store is asked for objects, which are not public here, and nothing is written.
#[test]
fn anonymous_read_is_tried_write_is_refused() {
    let Some(store) = ObjectStore::start("s3") else {
        return;
    };
    store.put("sets/s.evalset.json", &eval_set(&["one"]));
    let home = tempfile::tempdir().unwrap();
    let without = |args: &[&str]| {
        let mut command = store.evaltrail(home.path());
        ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
            .iter()
            .for_each(|name| {
                command.env_remove(name);
            });
        output(
            command
                .env("HOME", home.path())
                .current_dir(home.path())
                .args(args),
        )
    };
    for address in [store.address("sets"), store.address("sets/s.evalset.json")] {
        let found = both(&without(&["list", &address]));
        let denied = "(read without credentials); no credentials for S3";
        assert!(found.contains(denied), "{found}");
    }
    std::fs::write(
        home.path().join("x.jsonl"),
        "{\"prompt\": \"a\", \"response\": \"b\", \"reference\": \"b\"}\n",
    )
    .unwrap();
    let report = format!("json={}", store.address("r.json"));
    let refused = without(&["score", "x.jsonl", "--report", &report]);
    assert!(
        both(&refused).contains("no credentials for S3"),
        "{}",
        both(&refused)
    );
}

/// A mistyped bucket costs no run.
#[test]
fn report_to_missing_bucket_fails_before_run() {
    for kind in ["s3", "az"] {
        let workspace = answers(3);
        let Some(store) = ObjectStore::start(kind) else {
            return;
        };
        let report = format!("json={kind}://nobucket/r.json");
        let mut score = store.evaltrail(workspace.path());
        let out = output(score.current_dir(workspace.path()).args([
            "score",
            "answers.jsonl",
            "--report",
            &report,
        ]));
        let said = both(&out);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(
            said.contains("nobucket/r.json: the store answered 404 Not Found: "),
            "{said}"
        );
        assert!(said.contains("specified") && !said.contains('<'), "{said}");
        assert!(
            !workspace.path().join(".evaltrail").exists(),
            "nothing was scored: {said}"
        );
    }
}
