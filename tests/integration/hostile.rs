//! Malicious folders, with the real binary: nothing outside the folder is written, and planted files have no effect.
#![cfg(unix)]

use crate::common::{TestWorkspace, both, evaltrail, output};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

fn set(words: &str) -> String {
    let turn = json!({"user_content": {"parts": [{"text": words}]}, "final_response": {"parts": [{"text": "ok"}]}});
    json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [turn]}]})
        .to_string()
}

fn rows() -> String {
    json!({"eval_case_id": "a", "prompt": "x", "reference": "ok", "response": "ok"}).to_string()
        + "\n"
}

/// Runs evaltrail in a folder, with a home folder beside it.
fn run(folder: &Path, home: &str, args: &[&str]) -> Output {
    let mut command = evaltrail(&folder.parent().unwrap().join(home));
    output(command.args(args).current_dir(folder))
}

#[test]
fn a_planted_log_of_edits_writes_nothing() {
    let workspace = TestWorkspace::new(&[
        ("w/s.evalset.json", set("before")),
        ("victim.evalset.json", set("mine")),
    ]);
    let (folder, victim) = (
        workspace.path().join("w"),
        workspace.path().join("victim.evalset.json"),
    );
    let mut case: serde_json::Value = serde_json::from_str(&set("after")).unwrap();
    std::fs::write(
        workspace.path().join("case.json"),
        case["eval_cases"][0].take().to_string(),
    )
    .unwrap();
    let edited = run(
        &folder,
        "attacker",
        &["edit", "../victim.evalset.json:a", "--from", "../case.json"],
    );
    assert!(edited.status.success(), "{}", both(&edited));
    let log = std::fs::read_to_string(workspace.path().join("attacker/edits.jsonl")).unwrap();
    let now = std::fs::read_to_string(&victim).unwrap();
    assert!(now.contains("after"));
    std::fs::create_dir(folder.join(".evaltrail")).unwrap();
    for path in [victim.to_str().unwrap(), "../victim.evalset.json"] {
        let planted = log.replace(victim.canonicalize().unwrap().to_str().unwrap(), path);
        std::fs::write(folder.join(".evaltrail/edits.jsonl"), planted).unwrap();
        for target in ["s.evalset.json", "../victim.evalset.json"] {
            let undone = run(&folder, "home", &["edit", target, "--undo"]);
            assert!(
                both(&undone).contains("there is nothing to undo here"),
                "{}",
                both(&undone)
            );
        }
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), now);
    }
    // With the home folder of the edit, it can be undone.
    assert!(
        run(
            &folder,
            "attacker",
            &["edit", "../victim.evalset.json", "--undo"]
        )
        .status
        .success()
    );
    assert!(std::fs::read_to_string(&victim).unwrap().contains("mine"));
}

/// Each of evaltrail's own files and folders as a link to a path outside.
#[test]
fn links_in_our_own_folder_are_not_followed() {
    for link in [".evaltrail", ".evaltrail/runs", ".evaltrail/.gitignore"] {
        let workspace =
            TestWorkspace::new(&[("w/rows.jsonl", rows()), ("outside/kept", "mine\n".into())]);
        let (folder, outside) = (workspace.path().join("w"), workspace.path().join("outside"));
        let target = if link.ends_with("ignore") {
            outside.join("new")
        } else {
            outside.clone()
        };
        if link != ".evaltrail" {
            std::fs::create_dir(folder.join(".evaltrail")).unwrap();
        }
        symlink(&target, folder.join(link)).unwrap();
        let scored = run(&folder, "home", &["score", "rows.jsonl"]);
        assert_eq!(scored.status.code(), Some(0), "{link}: {}", both(&scored));
        let there: Vec<_> = std::fs::read_dir(&outside)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(there, ["kept"], "{link}");
        if !link.ends_with("ignore") {
            assert!(
                both(&scored).contains("is a link"),
                "{link}: {}",
                both(&scored)
            );
            assert!(
                both(&scored).contains("not recorded"),
                "{link}: {}",
                both(&scored)
            );
        }
    }
}

/// A configuration that is not a regular file in the folder is rejected, and nothing of its content is shown.
#[test]
fn config_must_be_regular_file_in_folder() {
    let criteria = json!({"criteria": {"response_match_score": 0.5}}).to_string();
    for name in ["evaltrail.toml", "test_config.json"] {
        for (what, make) in planted() {
            let workspace = TestWorkspace::new(&[
                ("w/rows.jsonl", rows()),
                ("secret", "machine canary-secret\n".into()),
            ]);
            let folder = workspace.path().join("w");
            if name == "evaltrail.toml" {
                std::fs::write(folder.join("test_config.json"), &criteria).unwrap();
            }
            make(&folder.join(name), workspace.path());
            for args in [
                &["score", "rows.jsonl"][..],
                &["list", "."],
                &["check", "."],
            ] {
                let ran = run(&folder, "home", args);
                let said = both(&ran);
                assert!(!said.contains("canary"), "{name} {what} {args:?}: {said}");
                // The criteria of a set are read only when it is scored.
                if name == "evaltrail.toml" || args[0] == "score" {
                    assert_eq!(ran.status.code(), Some(2), "{name} {what} {args:?}: {said}");
                    assert!(said.contains(name), "{name} {what} {args:?}: {said}");
                }
            }
        }
    }
}

type Make = fn(&Path, &Path);

fn planted() -> Vec<(&'static str, Make)> {
    vec![
        ("link", |path, workspace| {
            symlink(workspace.join("secret"), path).unwrap()
        }),
        ("link to the environment", |path, _| {
            symlink("/proc/self/environ", path).unwrap()
        }),
        ("link to nothing", |path, workspace| {
            symlink(workspace.join("none"), path).unwrap()
        }),
        ("device", |path, _| symlink("/dev/zero", path).unwrap()),
        ("folder", |path, _| std::fs::create_dir(path).unwrap()),
        ("Latin-1", |path, _| {
            std::fs::write(path, b"[run] # \xe9\n").unwrap()
        }),
        ("pipe", |path, _| {
            assert!(
                std::process::Command::new("mkfifo")
                    .arg(path)
                    .status()
                    .unwrap()
                    .success()
            );
        }),
        ("large", |path, _| {
            std::fs::File::create(path)
                .unwrap()
                .set_len(1 << 40)
                .unwrap()
        }),
    ]
}
