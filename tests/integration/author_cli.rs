//! `evaltrail accept`, `edit`, `new` and `capture` with the real binary: output, exit codes and files.

use crate::common::{TestWorkspace, both, copy_folder, evaltrail, output, root, text};
use std::path::PathBuf;
use std::process::Output;

struct Work {
    folder: tempfile::TempDir,
}

impl Work {
    /// The sample workspace, run once.
    fn ran() -> Work {
        let work = Work {
            folder: tempfile::tempdir().unwrap(),
        };
        copy_folder(
            &root().join("fixtures/workspace"),
            &work.folder.path().join("w"),
        );
        let ran = work.evaltrail(&["run", work.path().to_str().unwrap(), "-q"]);
        assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
        work
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    fn watering(&self) -> PathBuf {
        self.path().join("garden/watering.evalset.json")
    }

    fn evaltrail(&self, arguments: &[&str]) -> Output {
        let mut command = evaltrail(&self.folder.path().join("home"));
        command.env("SAMPLE_PACE", "0").args(arguments);
        output(&mut command)
    }

    fn read(&self) -> String {
        std::fs::read_to_string(self.watering()).unwrap()
    }
}

#[test]
fn accept_patch_equals_written_change() {
    let work = Work::ran();
    let (folder, before) = (work.path().display().to_string(), work.read());
    let shown = work.evaltrail(&[
        "accept",
        "last",
        "lettuce_six_litres",
        "rain_tomorrow",
        "--in",
        &folder,
    ]);
    assert!(shown.status.success(), "{}", both(&shown));
    assert_eq!(work.read(), before, "nothing is written without --write");
    let patch = work.folder.path().join("patch");
    std::fs::write(&patch, &shown.stdout).unwrap();
    let git = |arguments: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(arguments)
            .current_dir(work.path())
            .output()
            .unwrap();
        assert!(ran.status.success(), "git {arguments:?}: {}", both(&ran));
    };
    git(&["init", "-q", "."]);
    git(&["apply", patch.to_str().unwrap()]);
    let patched = work.read();
    std::fs::write(work.watering(), &before).unwrap();
    let wrote = work.evaltrail(&[
        "accept",
        "last",
        "lettuce_six_litres",
        "rain_tomorrow",
        "--write",
        "--in",
        &folder,
    ]);
    assert!(wrote.status.success(), "{}", both(&wrote));
    assert_eq!(work.read(), patched, "the patch is what --write writes");
    let ran = work.evaltrail(&[
        "run",
        &format!(
            "{}:lettuce_six_litres,rain_tomorrow",
            work.watering().display()
        ),
        "-q",
    ]);
    assert!(ran.status.success(), "{}", both(&ran));
    let dry = work.evaltrail(&[
        "edit",
        work.watering().to_str().unwrap(),
        "--undo",
        "--dry-run",
    ]);
    assert_eq!(
        dry.status.code(),
        Some(2),
        "nothing is undone: {}",
        both(&dry)
    );
    let undone = work.evaltrail(&["edit", work.watering().to_str().unwrap(), "--undo"]);
    assert!(undone.status.success(), "{}", both(&undone));
    assert_eq!(work.read(), before);
    let redone = work.evaltrail(&["edit", work.watering().to_str().unwrap(), "--redo"]);
    assert!(redone.status.success());
    assert_eq!(work.read(), patched);
    let nothing = work.evaltrail(&["edit", work.watering().to_str().unwrap(), "--redo"]);
    assert!(
        both(&nothing).contains("nothing to redo"),
        "{}",
        both(&nothing)
    );
}

#[test]
fn accept_reports_skipped_cases() {
    let work = Work::ran();
    let folder = work.path().display().to_string();
    let accept =
        |arguments: &[&str]| work.evaltrail(&[&["accept"], arguments, &["--in", &folder]].concat());
    let broken = accept(&["last", "roses_valve"]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(
        both(&broken).contains("roses_valve: the agent did not finish"),
        "{}",
        both(&broken)
    );
    for (arguments, why) in [
        (&["last", "nobody"][..], "no case \"nobody\""),
        (&["ffff"], "there is no run \"ffff\""),
    ] {
        let wrong = accept(arguments);
        assert_eq!(wrong.status.code(), Some(2));
        assert!(both(&wrong).contains(why), "{}", both(&wrong));
    }
    let calls = accept(&["last", "lettuce_wordy", "--only", "calls"]);
    assert!(
        both(&calls).contains("nothing would change"),
        "its calls are as expected: {}",
        both(&calls)
    );
}

fn set(id: &str) -> String {
    format!(
        "{{\"eval_set_id\": \"s\", \"eval_cases\": [\n  {{\"eval_id\": \"{id}\", \"conversation\": [{{\"user_content\": {{\"parts\": [{{\"text\": \"hi\"}}]}}}}]}}\n]}}\n"
    )
}

#[test]
fn edit_rejects_invalid_text_and_preserves_it() {
    let workspace = TestWorkspace::new(&[("s.evalset.json", set("a"))]);
    let file = workspace.path().join("s.evalset.json");
    let edit = |editor: &str| {
        let mut command = evaltrail(workspace.path());
        command
            .env("EDITOR", editor)
            .env_remove("VISUAL")
            .arg("edit")
            .arg(&file);
        output(&mut command)
    };
    let fine = edit("sed -i s/hi/ho/");
    assert!(fine.status.success(), "{}", both(&fine));
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        set("a").replace("hi", "ho")
    );
    let broken = edit("sed -i s/ho/ho\\\"/");
    assert_eq!(broken.status.code(), Some(2));
    let said = both(&broken);
    let kept = said
        .split("what you typed is in ")
        .nth(1)
        .unwrap_or_else(|| panic!("{said}"))
        .trim();
    assert!(std::fs::read_to_string(kept).unwrap().contains("ho\"\""));
    std::fs::remove_file(kept).unwrap();
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        set("a").replace("hi", "ho")
    );
    let other = edit("sed -i s/conversation/conversion/");
    assert!(
        both(&other).contains("expected a key \"conversation\""),
        "{}",
        both(&other)
    );
    let typed = both(&other);
    std::fs::remove_file(typed.split("what you typed is in ").nth(1).unwrap().trim()).unwrap();
}

#[cfg(unix)]
#[test]
fn files_that_cannot_be_replaced_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let outside = TestWorkspace::new(&[("s.evalset.json", set("a"))]);
    let file = outside.path().join("s.evalset.json");
    let from = outside.path().join("new.json");
    std::fs::write(&from, set("a").lines().nth(1).unwrap().replace("hi", "ho")).unwrap();
    let edit = |path: &std::path::Path| {
        let mut command = evaltrail(outside.path());
        command.arg("edit").arg(path).arg("--from").arg(&from);
        output(&mut command)
    };
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
    let refused = edit(&file);
    assert!(
        both(&refused).contains("read-only; nothing was written"),
        "{}",
        both(&refused)
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::hard_link(&file, outside.path().join("other")).unwrap();
    assert!(both(&edit(&file)).contains("hard links"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), set("a"));
}

#[test]
fn new_creates_sets_that_adk_accepts() {
    let workspace = TestWorkspace::new(&[]);
    let new = |target: &str, more: &[&str]| {
        let mut command = evaltrail(workspace.path());
        command
            .current_dir(workspace.path())
            .arg("new")
            .arg(target)
            .args(more);
        output(&mut command)
    };
    let made = new(
        "lights:first",
        &[
            "--user",
            "hi",
            "--response",
            "ho",
            "--user",
            "again",
            "--app",
            "home",
        ],
    );
    assert!(made.status.success(), "{}", both(&made));
    let mut check = evaltrail(workspace.path());
    let checked = output(
        check
            .arg("check")
            .arg(workspace.path().join("lights.evalset.json")),
    );
    assert!(
        text(&checked).contains("0 errors, 0 refused by ADK, 0 warnings"),
        "{}",
        both(&checked)
    );
    for (target, more, why) in [
        (
            "li-ghts",
            &[][..],
            "ADK allows only letters, digits and underscores",
        ),
        ("lights", &[], "already exists"),
        (
            "lights:first",
            &["--user", "x"],
            "there is a case \"first\" in this file already",
        ),
        ("lights:a/b", &["--user", "x"], "is not a valid case id"),
        ("lights:silent", &[], "--user TEXT is required"),
    ] {
        let wrong = new(target, more);
        assert_eq!(wrong.status.code(), Some(2), "{target}");
        assert!(both(&wrong).contains(why), "{target}: {}", both(&wrong));
    }
}

#[test]
fn runs_and_recordings_are_captured() {
    let work = Work::ran();
    let into = |id: &str| format!("{}:{id}", work.watering().display());
    let kept = work.evaltrail(&[
        "capture",
        "run:last",
        "--case",
        "rain_tomorrow",
        "--into",
        &into("as_run"),
    ]);
    assert!(kept.status.success(), "{}", both(&kept));
    let recording = work
        .path()
        .join("recordings/garden.jsonl")
        .display()
        .to_string();
    let kept = work.evaltrail(&[
        "capture",
        &recording,
        "--case",
        "morning_round",
        "--turns",
        "2-3",
        "--into",
        &into("as_recorded"),
    ]);
    assert!(kept.status.success(), "{}", both(&kept));
    assert!(
        both(&kept).contains("the case begins at turn 2"),
        "{}",
        both(&kept)
    );
    let set: serde_json::Value = serde_json::from_str(&work.read()).unwrap();
    let cases = set["eval_cases"].as_array().unwrap();
    let (run, recorded) = (&cases[cases.len() - 2], &cases[cases.len() - 1]);
    assert_eq!(
        run["conversation"][0]["intermediate_data"]["tool_uses"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(run["session_input"]["app_name"], "garden");
    assert_eq!(recorded["conversation"].as_array().unwrap().len(), 2);
    assert_eq!(
        recorded["conversation"][0]["user_content"]["parts"][0]["text"],
        "Check the tomatoes."
    );
    // A set that does not exist yet is created.
    let new = work.path().join("garden/new.evalset.json");
    let target = format!("{}:first", new.display());
    let dry = [
        "capture",
        &recording,
        "--case",
        "morning_round",
        "--into",
        &target,
        "--dry-run",
    ];
    let patch = both(&work.evaltrail(&dry));
    assert!(
        patch.contains("--- /dev/null\n+++ b/") && !new.exists(),
        "{patch}"
    );
    let kept = work.evaltrail(&[
        "capture",
        &recording,
        "--case",
        "morning_round",
        "--into",
        &target,
    ]);
    assert!(kept.status.success(), "{}", both(&kept));
    let set: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&new).unwrap()).unwrap();
    assert_eq!(
        (&set["eval_set_id"], &set["eval_cases"][0]["eval_id"]),
        (&"new".into(), &"first".into())
    );
    for (arguments, why) in [
        (
            vec!["capture", "run:last", "--into", "x"],
            "--into FILE:CASE",
        ),
        (vec!["capture", &recording, "--into", "OTHER"], " more"),
        (
            vec![
                "capture",
                &recording,
                "--case",
                "morning_round",
                "--turns",
                "3-9",
                "--into",
                "OTHER",
            ],
            "turns range from 1 to 4",
        ),
    ] {
        let other = into("other");
        let arguments: Vec<&str> = arguments
            .into_iter()
            .map(|word| if word == "OTHER" { &other } else { word })
            .collect();
        let wrong = work.evaltrail(&arguments);
        assert_eq!(wrong.status.code(), Some(2));
        assert!(both(&wrong).contains(why), "{}", both(&wrong));
    }
}

#[test]
fn edit_refuses_values_that_adk_refuses() {
    let work = Work::ran();
    let before = work.read();
    let set: serde_json::Value = serde_json::from_str(&before).unwrap();
    let target = format!("{}:water_tomatoes", work.watering().display());
    let typed = work.folder.path().join("typed.json");
    for (key, value) in [
        ("colour", serde_json::json!("red")),
        ("invocation_id", serde_json::Value::Null),
    ] {
        let mut case = set["eval_cases"][0].clone();
        case["conversation"][0][key] = value;
        std::fs::write(&typed, case.to_string()).unwrap();
        let refused = work.evaltrail(&["edit", &target, "--from", typed.to_str().unwrap()]);
        assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
        assert!(
            both(&refused).contains("ADK refuses this") && both(&refused).contains(key),
            "{}",
            both(&refused)
        );
        assert_eq!(work.read(), before);
    }
}

/// Without a terminal for the question, nothing is written through the link. The target itself can be named instead.
#[cfg(unix)]
#[test]
fn write_through_outside_link_is_refused() {
    let work = Work::ran();
    let (out, inside) = (
        work.folder.path().join("out"),
        work.folder.path().join("in"),
    );
    std::fs::create_dir_all(&out).unwrap();
    std::fs::create_dir_all(&inside).unwrap();
    let real = out.join("real.evalset.json");
    std::fs::copy(work.watering(), &real).unwrap();
    let link = inside.join("link.evalset.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let before = std::fs::read_to_string(&real).unwrap();
    let typed = work.folder.path().join("typed.json");
    let set: serde_json::Value = serde_json::from_str(&before).unwrap();
    let mut case = set["eval_cases"][0].clone();
    case["conversation"][0]["user_content"]["parts"][0]["text"] = "other".into();
    std::fs::write(&typed, case.to_string()).unwrap();
    let at = |path: &std::path::Path, id: &str| format!("{}:{id}", path.display());
    let (first, made, captured) = (
        at(&link, "water_tomatoes"),
        at(&link, "made"),
        at(&link, "captured"),
    );
    for arguments in [
        vec!["edit", &first, "--from", typed.to_str().unwrap()],
        vec!["new", &made, "--user", "hi"],
        vec![
            "capture",
            "recordings/garden.jsonl",
            "--case",
            "morning_round",
            "--into",
            &captured,
        ],
    ] {
        let mut command = evaltrail(&work.folder.path().join("home"));
        let asked = output(command.current_dir(work.path()).args(&arguments));
        assert_eq!(
            asked.status.code(),
            Some(2),
            "{arguments:?}: {}",
            both(&asked)
        );
        assert!(
            both(&asked).contains("outside its folder"),
            "{arguments:?}: {}",
            both(&asked)
        );
        assert!(
            both(&asked).contains("Name the file itself"),
            "{}",
            both(&asked)
        );
        assert_eq!(std::fs::read_to_string(&real).unwrap(), before);
    }
    let named = work.evaltrail(&[
        "edit",
        &at(&real, "water_tomatoes"),
        "--from",
        typed.to_str().unwrap(),
    ]);
    assert!(named.status.success(), "{}", both(&named));
}

#[test]
fn check_reads_the_notes_of_a_set() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let check = || {
        let mut command = evaltrail(folder.path());
        text(&output(command.arg("check").arg(folder.path())))
    };
    write(
        "s.evalset.json",
        r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": []}]}"#,
    );
    let quarantine = |id: &str, until: &str| {
        format!(
            "{{\"cases\": {{\"{id}\":\n {{\"quarantine\": {{\"since\": \"2026-01-01\", \"until\": \"{until}\"}}}}}}}}"
        )
    };
    write("s.evaltrail.json", &quarantine("a", "2999-01-01"));
    assert!(
        check().contains("0 errors, 0 refused by ADK, 0 warnings"),
        "{}",
        check()
    );
    write("s.evaltrail.json", &quarantine("a", "2026-13-99"));
    let position = "s.evaltrail.json:2:50: error: $.cases.a.quarantine.until: ";
    assert!(
        check().contains(&format!("{position}expected a day such as 2026-12-31")),
        "{}",
        check()
    );
    write("s.evaltrail.json", &quarantine("b", "2999-01-01"));
    assert!(
        check().contains("1:12: warning: the set has no case \"b\", so these notes have no effect"),
        "{}",
        check()
    );
    write("s.evaltrail.json", &quarantine("a", "2026-01-31"));
    assert!(
        check().contains("the quarantine of \"a\" ended on 2026-01-31: its failures count again"),
        "{}",
        check()
    );
}

#[test]
fn check_warns_of_stubs_for_unknown_case() {
    let folder = tempfile::tempdir().unwrap();
    let set = r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": []}]}"#;
    std::fs::write(folder.path().join("s.evalset.json"), set).unwrap();
    let stubs = "{\"tool\": \"t\", \"case\": \"a\", \"response\": 1}\n{\"tool\": \"t\", \"case\": \"b\", \"response\": 1}\n";
    std::fs::write(folder.path().join("s.tools.jsonl"), stubs).unwrap();
    let mut check = evaltrail(folder.path());
    let said = text(&output(check.arg("check").arg(folder.path())));
    assert!(
        said.contains(
            "s.tools.jsonl:2:1: warning: the set has no case \"b\", so this line answers nothing"
        ),
        "{said}"
    );
    assert!(
        !said.contains("case \"a\"") && said.contains("1 warning"),
        "{said}"
    );
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Lines of a log that cannot be read cost those conversations, with their position.
#[test]
fn unreadable_lines_of_a_log_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let good = r#"{"id": "a", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}"#;
    let ghost = r#"{"messages": [{"role": "ghost", "content": "x"}]}"#;
    let log = folder.path().join("log.jsonl");
    std::fs::write(&log, format!("{good}\n{ghost}\n{{\"messages\": [\n")).unwrap();
    let capture = |arguments: &[&str]| {
        let log = log.display().to_string();
        let into = folder.path().join("new.evalset.json:b");
        let into = into.display().to_string();
        let command = ["capture", &log, "--into", &into];
        crate::common::output(
            crate::common::evaltrail(folder.path()).args([&command[..], arguments].concat()),
        )
    };
    let unreadable = capture(&["--case", "2"]);
    assert_eq!(unreadable.status.code(), Some(2));
    assert!(
        stderr(&unreadable).contains("line 2: $[0]: expected a message whose role is"),
        "{}",
        both(&unreadable)
    );
    let saved = capture(&["--case", "a"]);
    assert!(saved.status.success(), "{}", both(&saved));
}

/// Conversations of the recording in a folder without cases, and in the sample, whose cases say the same.
#[test]
fn conversations_that_add_coverage_are_captured() {
    let work = Work::ran();
    let recording = work.path().join("recordings/garden.jsonl");
    let recording = recording.display().to_string();
    let empty = work.folder.path().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let into = empty.join("best.evalset.json").display().to_string();
    let best = |most: &str, rest: &[&str]| {
        let first = ["capture", "--best", most, &recording, "--into", &into];
        let captured = work.evaltrail(&[&first[..], rest].concat());
        assert!(captured.status.success(), "{}", both(&captured));
        stderr(&captured)
    };
    let shown = best("2", &["--dry-run"]);
    assert!(!PathBuf::from(&into).exists(), "a dry run writes nothing");
    let written = best("2", &[]);
    assert_eq!(
        shown.lines().take(2).collect::<Vec<_>>(),
        written.lines().take(2).collect::<Vec<_>>()
    );
    assert!(
        written.contains(
            "of 13 conversations, these add the most to what 0 cases without an agent cover:"
        ),
        "{written}"
    );
    assert!(
        written.contains("2 cases without an application")
            && written.contains("--app NAME sets it"),
        "{written}"
    );
    // What is added to two cases is not what is added to none.
    let more = best("50", &[]);
    assert!(
        more.contains("to what 2 cases without an agent cover:"),
        "{more}"
    );
    assert!(best("50", &[]).contains("compared with"));
    let set: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&into).unwrap()).unwrap();
    let cases = set["eval_cases"].as_array().unwrap();
    let added: Vec<usize> = written
        .lines()
        .chain(more.lines())
        .filter_map(|line| line.split_once('+')?.1.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(
        added.len(),
        cases.len(),
        "a line for each case\n{written}{more}"
    );
    let checked = work.evaltrail(&["check", &into]);
    assert!(checked.status.success(), "{}", both(&checked));

    // The sample has a case with the messages of each conversation.
    let watering = work.watering().display().to_string();
    let before = work.read();
    let known = work.evaltrail(&["capture", "--best", "5", &recording, "--into", &watering]);
    assert!(
        stderr(&known).contains("12 conversations left out: the user says the same"),
        "{}",
        both(&known)
    );
    assert_eq!(work.read(), before);

    // Some attempts of the run are of another agent, and one was not finished.
    let run = work.evaltrail(&["capture", "--best", "5", "run:last", "--into", &watering]);
    for note in [
        "10 conversations left out: not with the agent garden",
        "12 conversations left out: the user says the same",
        "1 conversation cannot be saved: roses_valve: the agent did not finish",
        "nothing is saved: 23 conversations, none to compare",
    ] {
        assert!(stderr(&run).contains(note), "{note}: {}", both(&run));
    }
    let refused = work.evaltrail(&["capture", "a", "b", "--into", &watering]);
    assert!(
        stderr(&refused).contains("--best N saves the best ones of several sources"),
        "{}",
        both(&refused)
    );
    let named = format!("{watering}:id");
    let refused = work.evaltrail(&["capture", "--best", "1", &recording, "--into", &named]);
    assert!(
        stderr(&refused).contains("names only the file"),
        "{}",
        both(&refused)
    );
}
