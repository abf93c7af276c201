//! `evaltrail generate` and `evaltrail drafts` with the real binary: what is derived, accepted, dropped and taken back.

use crate::common::{adk, both, copy_folder, evaltrail, output, python, root, text};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The sample workspace.
struct Work {
    folder: tempfile::TempDir,
}

impl Work {
    fn new() -> Work {
        let work = Work {
            folder: tempfile::tempdir().unwrap(),
        };
        copy_folder(
            &root().join("fixtures/workspace"),
            &work.folder.path().join("w"),
        );
        work
    }

    fn set(&self) -> PathBuf {
        self.folder.path().join("w/garden/watering.evalset.json")
    }

    /// The set, with the ids of cases or drafts.
    fn target(&self, ids: &str) -> String {
        match ids {
            "" => self.set().display().to_string(),
            ids => format!("{}:{ids}", self.set().display()),
        }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        output(evaltrail(&self.folder.path().join("home")).args(arguments))
    }

    /// Runs a command that must succeed.
    fn done(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert_eq!(done.status.code(), Some(0), "{}", both(&done));
        both(&done)
    }

    fn set_text(&self) -> String {
        std::fs::read_to_string(self.set()).unwrap()
    }

    /// The lines of the file of drafts; none if there is no file.
    fn drafts(&self) -> Vec<Value> {
        let file = self.set().with_file_name("watering.drafts.jsonl");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The id of the first draft of a kind.
    fn id_of(&self, kind: &str) -> String {
        let drafts = self.drafts();
        let draft = drafts
            .iter()
            .find(|draft| draft["evaltrail_draft"] == kind && draft["case"].is_object());
        draft.unwrap()["case"]["eval_id"]
            .as_str()
            .unwrap()
            .to_string()
    }
}

#[test]
fn drafts_are_beside_the_set_until_accepted() {
    let work = Work::new();
    let before = work.set_text();
    let shown = work.done(&["generate", &work.target(""), "--count", "6", "--dry-run"]);
    assert!(shown.contains("nothing was written"), "{shown}");
    assert!(work.drafts().is_empty());
    let made = work.done(&["generate", &work.target(""), "--count", "6"]);
    assert!(made.contains("6 drafts: "), "{made}");
    assert_eq!(work.drafts().len(), 6);
    assert_eq!(work.set_text(), before);
    let listed = work.done(&["list", &work.folder.path().join("w").display().to_string()]);
    assert!(!listed.contains("drafts"), "{listed}");
    let opened = work.run(&[&work
        .set()
        .with_file_name("watering.drafts.jsonl")
        .display()
        .to_string()]);
    assert!(
        both(&opened).contains("has drafts of cases"),
        "{}",
        both(&opened)
    );

    let again = work.done(&["generate", &work.target(""), "--count", "1"]);
    assert!(again.contains("6 drafts already"), "{again}");
    let file = work.set().with_file_name("watering.drafts.jsonl");
    let valid = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{valid}{{\"evaltrail_draft\": 1}}\n")).unwrap();
    let checked = work.run(&["check", &work.target("")]);
    assert!(
        both(&checked).contains("watering.drafts.jsonl:8:1"),
        "{}",
        both(&checked)
    );
    std::fs::write(&file, valid).unwrap();
    let id = work.id_of("value");
    let case = work.done(&["drafts", &work.target(&id)]);
    assert!(
        case.contains("expectation to decide") && case.contains("\"evaltrail_generated\""),
        "{case}"
    );
    work.done(&["drafts", &work.target(&id), "--accept"]);
    assert!(work.set_text().contains(&format!("\"eval_id\": \"{id}\"")));
    assert_eq!(work.drafts().len(), 6);
    work.done(&["edit", &work.target(""), "--undo"]);
    assert_eq!((work.set_text(), work.drafts().len()), (before, 7));
}

/// A draft is about its source as it was, and its id is free when it is accepted.
#[test]
fn missing_set_is_answered_with_similar_name() {
    let work = Work::new();
    let set = work.set();
    let missing = set.with_file_name("waterin.evalset.json");
    for command in ["generate", "drafts"] {
        let ran = work.run(&[command, &missing.display().to_string()]);
        assert_eq!(ran.status.code(), Some(2), "{command}");
        let words = both(&ran);
        let meant = format!(
            "there is no such file or folder; did you mean {}?",
            set.display()
        );
        assert!(words.contains(&meant), "{command}: {words}");
    }
    let folder = set.parent().unwrap().display().to_string();
    let ran = both(&work.run(&["drafts", &folder]));
    assert!(ran.contains("name the file of a set"), "{ran}");
    let ran = work.run(&["drafts", &work.target("x"), "--drop", " "]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(both(&ran).contains("say why"), "{}", both(&ran));
}

#[test]
fn stale_drafts_and_taken_ids_are_refused() {
    let work = Work::new();
    let ids = ["water_tomatoes", "beans_are_wet"].join(",");
    work.done(&["generate", &work.target(&ids), "--kind", "wording"]);
    let refused = |arguments: &[&str], error: &str| {
        let before = (work.set_text(), work.drafts());
        let refused = work.run(arguments);
        assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
        assert!(
            both(&refused).contains(error),
            "{error}: {}",
            both(&refused)
        );
        assert_eq!((work.set_text(), work.drafts()), before);
    };
    let accept = |id: &str| work.target(&format!("{id}_wording"));
    work.done(&["new", &accept("beans_are_wet"), "--user", "hello"]);
    refused(
        &["drafts", &accept("beans_are_wet"), "--accept"],
        "there is a case",
    );
    let changed = work
        .set_text()
        .replacen("\"litres\": 4", "\"litres\": 5", 1);
    std::fs::write(work.set(), changed).unwrap();
    refused(
        &["drafts", &accept("water_tomatoes"), "--accept"],
        "was changed or removed since",
    );
    let again = work.done(&[
        "generate",
        &work.target("water_tomatoes"),
        "--kind",
        "wording",
    ]);
    assert!(again.contains("removed: the source was changed"), "{again}");
    work.done(&["drafts", &accept("water_tomatoes"), "--accept"]);
}

/// From the folder of the set, other sets of its agent are known as well, and the set is not another one.
#[test]
fn relative_path_gives_the_same_drafts() {
    let work = Work::new();
    let whole = work.done(&["generate", &work.target(""), "--dry-run"]);
    let mut command = evaltrail(&work.folder.path().join("home"));
    command.current_dir(work.set().parent().unwrap()).args([
        "generate",
        "watering.evalset.json",
        "--dry-run",
    ]);
    assert_eq!(both(&output(&mut command)), whole);
}

#[cfg(unix)]
#[test]
fn explorer_derives_and_accepts_drafts() {
    use crate::common::terminal::Terminal;
    let work = Work::new();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&work.target("")],
        &work.folder.path().join("home"),
        (120, 40),
    );
    terminal.wait_for("water_tomatoes");
    terminal.keys("cp");
    terminal.wait_for("derive 20 drafts from the cases");
    terminal.keys("\r");
    terminal.wait_for("20 drafts   enter add to the set, tab drop, esc close");
    terminal.keys("\r");
    terminal.wait_for("add the draft");
    terminal.keys("\r");
    terminal.wait_for("19 drafts   enter add");
    terminal.keys("\t");
    terminal.wait_for("reason to drop");
    terminal.keys("\r");
    terminal.wait_for("say why");
    terminal.keys("asks for nothing\r");
    terminal.wait_for("drop the draft");
    terminal.wait_for("dropped: asks for nothing");
    terminal.keys("\r");
    terminal.wait_for("18 drafts   enter add");
    terminal.keys("\x1b");
    terminal.wait_for("enter open");
    let states: Vec<bool> = work
        .drafts()
        .iter()
        .map(|draft| draft["case"].is_object())
        .collect();
    assert_eq!(states.iter().filter(|is_case| **is_case).count(), 18);
    assert_eq!(states.len(), 19);
    let reason = |draft: &Value| draft["dropped"] == "asks for nothing";
    assert!(work.drafts().iter().any(reason));
    assert!(work.set_text().contains("evaltrail_generated"));
}

#[test]
fn dropped_drafts_are_not_proposed_again() {
    let work = Work::new();
    let generate = [
        "generate",
        &work.target(""),
        "--kind",
        "wording",
        "--count",
        "50",
    ];
    work.done(&generate);
    let all = work.drafts().len();
    let refused = work.run(&["drafts", &work.target(""), "--accept"]);
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    let unknown = work.run(&["drafts", &work.target("water_tomato_wording"), "--accept"]);
    assert!(
        both(&unknown).contains("did you mean"),
        "{}",
        both(&unknown)
    );
    let id = work.id_of("wording");
    work.done(&["drafts", &work.target(&id), "--drop", "asks for nothing"]);
    let dropped = &work.drafts()[0];
    assert_eq!(dropped["dropped"], "asks for nothing");
    assert!(dropped["case"].is_null());
    let again = work.done(&generate);
    assert!(
        again.contains(&format!("{} drafts already, 1 dropped before", all - 1)),
        "{again}"
    );
    let json: Value =
        serde_json::from_str(&text(&work.run(&["drafts", &work.target(""), "--json"]))).unwrap();
    assert_eq!(json["drafts"].as_array().map(Vec::len), Some(all - 1));
    work.done(&["drafts", &work.target(""), "--kept", "--accept"]);
    assert_eq!(work.drafts().len(), 1, "the dropped one");
    let again = work.done(&generate);
    let known = format!("{} accepted before, 1 dropped before", all - 1);
    assert!(
        again.contains("no new draft") && again.contains(&known),
        "{again}"
    );
}

/// Accepted drafts are cases of ADK, which keeps where they are from.
#[test]
fn adk_reads_accepted_drafts() {
    let (Some(_), Some(python)) = (adk(), python()) else {
        return;
    };
    let work = Work::new();
    work.done(&["generate", &work.target(""), "--count", "100"]);
    let ids: Vec<String> = work
        .drafts()
        .iter()
        .map(|draft| draft["case"]["eval_id"].as_str().unwrap().to_string())
        .collect();
    work.done(&["drafts", &work.target(&ids.join(",")), "--accept"]);
    let script = "import sys
from google.adk.evaluation.eval_set import EvalSet
cases = EvalSet.model_validate_json(open(sys.argv[1]).read()).eval_cases
print(sum('evaltrail_generated' in (case.model_extra or {}) for case in cases))";
    let read = output(Command::new(python).args(["-c", script]).arg(work.set()));
    assert!(read.status.success(), "{}", both(&read));
    assert_eq!(text(&read).trim(), ids.len().to_string());
}
