//! The triage queue in a pseudo-terminal: 200 cases against a recorded agent, of which 40 fail for six planted causes.

#![cfg(unix)]

use crate::common::terminal::Terminal;
use crate::common::{TestWorkspace, both, evaltrail, output};
use crate::triage::{CAUSES, id, members, row};
use evaltrail_core::domain::{Decision, DecisionKind};
use evaltrail_engine::store::read_decisions;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A case of ADK's format, and what the recorded agent does in it, from a row with both.
pub(crate) fn case_and_recording(case: usize) -> (Value, Value) {
    let row = row(case);
    let uses = |key: &str| -> Vec<Value> {
        let calls = row[key].as_array().unwrap().iter();
        calls
            .map(|call| json!({"name": call["tool_name"], "args": call["tool_input"]}))
            .collect()
    };
    let said = |text: &str| json!({"parts": [{"text": text}], "role": "model"});
    let prompt = row["prompt"].as_str().unwrap();
    let eval_case = json!({
        "eval_id": id(case),
        "conversation": [{
            "invocation_id": "turn-1",
            "user_content": {"parts": [{"text": prompt}], "role": "user"},
            "final_response": said("done"),
            "intermediate_data": {"tool_uses": uses("reference_trajectory")},
        }],
    });
    let calls = uses("predicted_trajectory").into_iter().map(
        |call| json!({"author": "home", "content": {"parts": [{"function_call": call}], "role": "model"}}),
    );
    let last = json!({"author": "home", "content": said("done")});
    let events: Vec<Value> = calls.chain([last]).collect();
    (
        eval_case,
        json!({"eval_id": id(case), "turns": [{"prompt": prompt, "events": events}]}),
    )
}

fn workspace() -> TestWorkspace {
    let (cases, recordings): (Vec<Value>, Vec<Value>) = (0..200).map(case_and_recording).unzip();
    let set = json!({"eval_set_id": "lights", "name": "lights", "eval_cases": cases});
    TestWorkspace::new(&[
        (
            "lights.evalset.json",
            serde_json::to_string_pretty(&set).unwrap(),
        ),
        (
            "home.jsonl",
            recordings.iter().map(|line| format!("{line}\n")).collect(),
        ),
        (
            "test_config.json",
            "{\"criteria\": {\"tool_trajectory_avg_score\": 1.0}}".into(),
        ),
        (
            "evaltrail.toml",
            "[agents.home]\nkind = \"replay\"\nrecording = \"home.jsonl\"\n[run]\njobs = 16\n"
                .into(),
        ),
    ])
}

/// The texts of the user's files.
fn files(workspace: &TestWorkspace) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(workspace.path())
        .unwrap()
        .map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                std::fs::read_to_string(entry.path()).unwrap(),
            )
        })
        .collect()
}

/// A terminal that counts the keys that are pressed.
struct Counted {
    terminal: Terminal,
    pressed: usize,
}

impl Counted {
    fn open(workspace: &TestWorkspace, home: &Path) -> Counted {
        let path = workspace.path().display().to_string();
        let terminal = Terminal::start(env!("CARGO_BIN_EXE_evaltrail"), &[&path], home, (160, 48));
        Counted {
            terminal,
            pressed: 0,
        }
    }

    fn press(&mut self, keys: &str, shown: &str) {
        self.pressed += keys.chars().count();
        self.terminal.keys(keys);
        self.terminal.wait_for(shown);
    }
}

#[test]
fn forty_failures_are_triaged_and_undone() {
    let workspace = workspace();
    let home = workspace.path().join("home");
    let ran = output(
        evaltrail(&home)
            .args(["run", ".", "--trust", "-q"])
            .current_dir(workspace.path()),
    );
    assert!(
        both(&ran).contains("40 of 40 cases that did not pass share 6 causes"),
        "{}",
        both(&ran)
    );
    let before = files(&workspace);
    let mut screen = Counted::open(&workspace, &home);
    screen.terminal.wait_for("✓ 160  ✗ 40");

    screen.press("T", &format!("[1/40] {}", CAUSES[0]));
    screen.press("A", "accept: 7 cases?");
    screen.press("\r", &format!("[8/40] {}", CAUSES[1]));
    // What was decided is kept when the explorer ends, and asked about again when it is taken back.
    screen.press("\x1b", "7 decisions are not carried out yet");
    screen.terminal.keys("q");
    assert_eq!(screen.terminal.wait_for_end(), 0);
    let pressed = screen.pressed + 1;
    let mut screen = Counted {
        pressed,
        ..Counted::open(&workspace, &home)
    };
    screen.terminal.wait_for("✓ 160  ✗ 40");
    screen.press("T", "33 undecided · accept 7");
    screen.press("X", "quarantine until (date), and why");
    screen.press("\r", "quarantine: 7 cases?");
    screen.press("\r", CAUSES[2]);
    screen.press("R", "run again: 7 cases?");
    screen.press("\r", CAUSES[3]);
    screen.press("u", "26 undecided");
    screen.press("R", "run again: 7 cases?");
    screen.press("\r", CAUSES[3]);
    screen.press("C", "why the failure stays");
    screen.press("known", "known");
    screen.press("\r", "comment: 7 cases?");
    screen.press("\r", CAUSES[4]);
    screen.press("I", "Try this for 6 cases?");
    screen.press("\r", CAUSES[5]);
    for (at, case) in members(5).iter().enumerate() {
        screen.terminal.wait_for(case);
        let left = format!("{} undecided", 5 - at);
        screen.press(
            "a",
            if at < 5 {
                &left
            } else {
                "triage: 34 decisions, criteria changed"
            },
        );
    }
    for line in [
        "accept: 13 cases",
        "run again: 7 cases",
        "quarantine: 7 cases",
        "comment: 7 cases",
        "criteria: ",
    ] {
        screen.terminal.wait_for(line);
    }
    assert_eq!(
        files(&workspace),
        before,
        "nothing is written before the summary is confirmed"
    );
    // The changed criteria let these cases pass, too.
    screen.press("\r", "7/7  ✓ 7");
    screen.terminal.wait_for("ended after");
    assert!(screen.pressed <= 60, "{} keys", screen.pressed);

    let after = files(&workspace);
    let set: Value = serde_json::from_str(&after["lights.evalset.json"]).unwrap();
    let accepted = set["eval_cases"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .filter(|(case, now)| case_and_recording(*case).0["conversation"] != now["conversation"]);
    let accepted: Vec<String> = accepted.map(|(case, _)| id(case)).collect();
    let mut expected = [members(0), members(5)].concat();
    expected.sort();
    assert_eq!(accepted, expected);
    let notes: Value = serde_json::from_str(&after["lights.evaltrail.json"]).unwrap();
    let quarantined: Vec<&String> = notes["cases"].as_object().unwrap().keys().collect();
    assert_eq!(quarantined, members(1).iter().collect::<Vec<_>>());
    assert_ne!(after["test_config.json"], before["test_config.json"]);
    let decisions =
        std::fs::read_to_string(workspace.path().join(".evaltrail/decisions.jsonl")).unwrap();
    let last: Value = serde_json::from_str(decisions.lines().last().unwrap()).unwrap();
    assert!(last["at"].as_str().unwrap().starts_with("20"), "{last}");

    // Quarantined failures are counted apart, and do not fail a run.
    screen.terminal.keys("\x1b");
    screen.terminal.wait_for("‖ 7");
    screen.terminal.keys("u");
    screen
        .terminal
        .wait_for("undone: triage: 34 decisions, criteria changed");
    for (name, text) in &before {
        assert_eq!(
            &files(&workspace)[name],
            text,
            "every byte of {name} is as before"
        );
    }
    assert_eq!(files(&workspace).len(), before.len());
    let relaxed = || {
        let decisions = read_decisions(workspace.path());
        let is_relaxed = |decision: &&Decision| decision.kind == Some(DecisionKind::Relax);
        decisions.iter().filter(is_relaxed).count()
    };
    assert_eq!(
        relaxed(),
        0,
        "a failure without its rule is undecided again"
    );
    screen.terminal.keys("U");
    screen
        .terminal
        .wait_for(" done: triage: 34 decisions, criteria changed");
    assert_eq!(files(&workspace), after);
    assert_ne!(relaxed(), 0);
    screen.terminal.keys("q");
    assert_eq!(screen.terminal.wait_for_end(), 0);

    let only = |cause: usize| format!("lights.evalset.json:{}", members(cause).join(","));
    let run = |selected: &str| {
        output(
            evaltrail(&home)
                .args(["run", selected, "--trust", "-q"])
                .current_dir(workspace.path()),
        )
    };
    let quarantined = run(&only(1));
    assert!(
        both(&quarantined).contains("7 quarantined"),
        "{}",
        both(&quarantined)
    );
    assert_eq!(quarantined.status.code(), Some(0), "{}", both(&quarantined));
    assert_eq!(
        run(&only(3)).status.code(),
        Some(1),
        "a comment does not make a failure count less"
    );
    assert_eq!(
        run(&only(4)).status.code(),
        Some(0),
        "the criteria ignore the order"
    );
}

/// What a person accepted is not written over what someone else edited since.
#[test]
fn edited_case_loses_its_accept_decision() {
    let workspace = workspace();
    let home = workspace.path().join("home");
    output(
        evaltrail(&home)
            .args(["run", ".", "--trust", "-q"])
            .current_dir(workspace.path()),
    );
    let mut screen = Counted::open(&workspace, &home);
    screen.terminal.wait_for("✓ 160  ✗ 40");
    screen.press("T", &format!("[1/40] {}", CAUSES[0]));
    screen.press("a", "39 undecided · accept 1");
    let set = workspace.path().join("lights.evalset.json");
    let edited = std::fs::read_to_string(&set)
        .unwrap()
        .replace("\"done\"", "\"edited by a colleague\"");
    std::fs::write(&set, edited).unwrap();
    screen.terminal.wait_for("40 undecided");
    screen.press("\x1b", "T triage");
    screen.terminal.keys("q");
    assert_eq!(screen.terminal.wait_for_end(), 0);
}

/// Two explorers in one workspace: each decides about other cases, and no decision is lost.
#[test]
fn decisions_of_two_explorers_are_merged() {
    let workspace = workspace();
    let home = workspace.path().join("home");
    output(
        evaltrail(&home)
            .args(["run", ".", "--trust", "-q"])
            .current_dir(workspace.path()),
    );
    let before = files(&workspace);
    let mut one = Counted::open(&workspace, &home);
    let mut other = Counted::open(&workspace, &home);
    for screen in [&mut one, &mut other] {
        screen.terminal.wait_for("✓ 160  ✗ 40");
        screen.press("T", &format!("[1/40] {}", CAUSES[0]));
    }
    one.press("c", "why the failure stays");
    one.press("decided here", "decided here");
    one.press("\r", "[2/40]");
    other.press("n", "[2/40]");
    other.press("c", "why the failure stays");
    other.press("decided there", "decided there");
    other.press("\r", "[3/40]");
    // Both decide about the same case: the later one counts.
    one.press("n", "[3/40]");
    one.press("r", "[4/40]");
    other.press("c", "why the failure stays");
    other.press("decided later", "decided later");
    other.press("\r", "[4/40]");
    for screen in [&mut one, &mut other] {
        screen.press("\x1b", "decisions are not carried out yet");
        screen.terminal.keys("q");
        assert_eq!(screen.terminal.wait_for_end(), 0);
    }
    let mut again = Counted::open(&workspace, &home);
    again.terminal.wait_for("✓ 160  ✗ 40");
    again.press("T", "37 undecided · comment 3");
    again.terminal.keys("\x1b");
    again.terminal.wait_for("Eval sets");
    again.terminal.keys("q");
    assert_eq!(again.terminal.wait_for_end(), 0);
    assert_eq!(
        files(&workspace),
        before,
        "nothing is written before a summary is confirmed"
    );
}
