//! Folders of runs: runs that were recorded elsewhere, and runs after a crash or a full disk.
#![cfg(unix)]

use crate::common::server::Double;
use crate::common::{both, copy_folder, evaltrail, output};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn set() -> String {
    let case = |id: &str, answer: &str| {
        json!({"eval_id": id, "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": format!("fine {id}")}]},
            "final_response": {"role": "model", "parts": [{"text": answer}]},
            "intermediate_data": {"tool_uses": []},
        }]})
    };
    json!({"eval_set_id": "s", "eval_cases": [case("a", "ok"), case("b", "nothing like it")]})
        .to_string()
}

struct Desk {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
    server: Double,
}

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("s.evalset.json"), set()).unwrap();
        Desk {
            folder,
            home: tempfile::tempdir().unwrap(),
            server: Double::start(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = evaltrail(self.home.path());
        command.current_dir(self.path()).args(args);
        command
    }

    fn evaltrail(&self, args: &[&str]) -> Output {
        output(&mut self.command(args))
    }

    fn run(&self, args: &[&str]) -> Output {
        let agent = self.server.agent();
        let mut all = vec!["run", "--agent", agent.as_str()];
        all.extend(args);
        self.evaltrail(&all)
    }

    fn ids_run(&self, args: &[&str]) -> Vec<String> {
        let mut all = vec!["--json"];
        all.extend(args);
        let out = self.run(&all);
        let report: Value =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", both(&out)));
        let ids = report["cases"].as_array().unwrap().iter();
        ids.map(|case| case["eval_id"].as_str().unwrap().to_string())
            .collect()
    }

    fn runs(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.path().join(".evaltrail/runs")).unwrap();
        runs.map(|run| run.unwrap().path()).collect()
    }

    /// Number of requests to run the agent that the server received.
    fn asked(&self) -> usize {
        self.server.seen.lock().unwrap().runs.values().sum()
    }
}

/// A run that another user recorded, which came with the folder.
#[test]
fn a_foreign_run_is_shown_and_decides_nothing() {
    let (desk, theirs) = (Desk::new(), Desk::new());
    theirs.run(&["."]);
    copy_folder(
        &theirs.path().join(".evaltrail"),
        &desk.path().join(".evaltrail"),
    );
    let before = fs::read(desk.path().join("s.evalset.json")).unwrap();
    let listed = desk.evaltrail(&["list", "--cases", "."]);
    assert!(both(&listed).contains("foreign"), "{}", both(&listed));
    assert_eq!(
        desk.ids_run(&["--failed", "."]),
        ["a", "b"],
        "nothing is known to have passed"
    );
    let id = theirs.runs()[0]
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let folder = format!(".evaltrail/runs/{id}");
    for run in [id.as_str(), folder.as_str()] {
        let out = desk.evaltrail(&["accept", run, "--write"]);
        assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    }
    assert_eq!(
        fs::read(desk.path().join("s.evalset.json")).unwrap(),
        before
    );
    assert_eq!(
        desk.ids_run(&["--failed", "."]),
        ["b"],
        "a run of one's own decides"
    );
    // The same with an unfinished one.
    let journal = theirs.runs()[0].join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let desk = Desk::new();
    copy_folder(
        &theirs.path().join(".evaltrail"),
        &desk.path().join(".evaltrail"),
    );
    let first = text.split_inclusive('\n').next().unwrap();
    fs::write(desk.runs()[0].join("journal.jsonl"), first).unwrap();
    let out = desk.run(&["--resume", "."]);
    assert!(both(&out).contains("no unfinished run"), "{}", both(&out));
    assert_eq!(desk.asked(), 2);
}

#[test]
fn run_killed_after_last_case_is_concluded() {
    let desk = Desk::new();
    desk.run(&["."]);
    let journal = desk.runs()[0].join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let without_end: String = text
        .split_inclusive('\n')
        .filter(|line| !line.contains("\"ended\":true"))
        .collect();
    assert!(without_end.len() < text.len());
    fs::write(&journal, without_end).unwrap();
    let out = desk.run(&["--resume", "."]);
    assert!(both(&out).contains("2 of 2 done"), "{}", both(&out));
    assert_eq!(desk.asked(), 2, "nothing is run again");
    assert!(both(&desk.run(&["--resume", "."])).contains("no unfinished run"));
}

#[test]
fn run_locked_by_another_process_is_refused() {
    let desk = Desk::new();
    desk.run(&["."]);
    let journal = desk.runs()[0].join("journal.jsonl");
    let first = fs::read_to_string(&journal)
        .unwrap()
        .split_inclusive('\n')
        .next()
        .unwrap()
        .to_string();
    fs::write(&journal, first).unwrap();
    let held = fs::File::options()
        .append(true)
        .open(journal.with_file_name("lock"))
        .unwrap();
    held.lock().unwrap();
    let out = desk.run(&["--resume", "."]);
    assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    assert!(
        both(&out).contains("is being written by another evaltrail"),
        "{}",
        both(&out)
    );
    assert_eq!(desk.asked(), 2);
    drop(held);
    assert!(both(&desk.run(&["--resume", "."])).contains("1 of 2 done"));
    assert_eq!(desk.asked(), 3);
}

#[test]
fn a_set_whose_name_is_no_utf8_is_recorded() {
    let desk = Desk::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.evalset.json");
    fs::rename(desk.path().join("s.evalset.json"), desk.path().join(name)).unwrap();
    let out = desk.run(&["."]);
    assert!(!both(&out).contains("not recorded"), "{}", both(&out));
    assert_eq!(desk.ids_run(&["--failed", "."]), ["b"]);
}

#[test]
fn accept_in_a_copy_changes_only_the_copy() {
    let desk = Desk::new();
    desk.run(&["."]);
    let copy = tempfile::tempdir().unwrap();
    copy_folder(desk.path(), copy.path());
    let before = fs::read(desk.path().join("s.evalset.json")).unwrap();
    let out = desk.evaltrail(&[
        "accept",
        "last",
        "--write",
        "--in",
        copy.path().to_str().unwrap(),
    ]);
    assert!(both(&out).contains("1 case changed"), "{}", both(&out));
    assert_eq!(
        fs::read(desk.path().join("s.evalset.json")).unwrap(),
        before,
        "the original stays as it is"
    );
    assert_ne!(
        fs::read(copy.path().join("s.evalset.json")).unwrap(),
        before
    );
}

/// The disk is full for a while: attempts that cannot be written are retained and written when there is space again.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_was_full_costs_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<Value> = (0..6)
        .map(|n| {
            json!({"eval_id": format!("c{n}"), "conversation": [{
                "user_content": {"role": "user", "parts": [{"text": "go"}]},
                "final_response": {"role": "model", "parts": [{"text": "ok"}]},
            }]})
        })
        .collect();
    let set = json!({"eval_set_id": "s", "eval_cases": cases}).to_string();
    fs::write(folder.path().join("s.evalset.json"), set).unwrap();
    // The disk is full from the second case to the fifth.
    let agent = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n\n\
        [ $n = 2 ] && dd if=/dev/zero of=.evaltrail/filler bs=1k 2>/dev/null\n\
        [ $n = 5 ] && rm .evaltrail/filler\n\
        echo '{\"response\": \"ok\"}'\n";
    fs::write(folder.path().join("agent.sh"), agent).unwrap();
    fs::create_dir(folder.path().join(".evaltrail")).unwrap();
    let home = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k t .evaltrail && {} run -j 1 --agent 'cmd:sh agent.sh' s.evalset.json; \
         cat .evaltrail/runs/*/journal.jsonl > kept.jsonl; {} run --resume --agent 'cmd:sh agent.sh' s.evalset.json",
        env!("CARGO_BIN_EXE_evaltrail"),
        env!("CARGO_BIN_EXE_evaltrail"),
    );
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", &script])
        .current_dir(folder.path())
        .env("EVALTRAIL_HOME", home.path());
    let out = output(&mut command);
    if both(&out).contains("unshare") || both(&out).contains("mount:") {
        println!("skipped: no tmpfs can be mounted here: {}", both(&out));
        return;
    }
    let kept = fs::read_to_string(folder.path().join("kept.jsonl")).unwrap();
    for id in 0..6 {
        assert!(
            kept.contains(&format!("\"eval_id\":\"c{id}\"")),
            "c{id}: {}",
            both(&out)
        );
    }
    assert!(kept.contains("\"ended\":true"), "{kept}");
    assert!(
        both(&out).contains("cannot be recorded now"),
        "{}",
        both(&out)
    );
    assert!(both(&out).contains("is recorded again"), "{}", both(&out));
    assert!(both(&out).contains("no unfinished run"), "{}", both(&out));
}
