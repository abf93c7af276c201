//! Past results of the current cases: they are matched by identity, never by position, and are the same in all
//! commands.
#![cfg(unix)]

use crate::common::server::Double;
use crate::common::{both, evaltrail, output, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

fn case(id: &str, prompt: &str, answer: &str) -> Value {
    json!({"eval_id": id, "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": prompt}]},
        "final_response": {"role": "model", "parts": [{"text": answer}]},
        "intermediate_data": {"tool_uses": []},
    }]})
}

/// A workspace with a test double of an ADK server.
struct Desk {
    folder: tempfile::TempDir,
    server: Double,
}

impl Desk {
    fn new() -> Desk {
        Desk {
            folder: tempfile::tempdir().unwrap(),
            server: Double::start(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, cases: Vec<Value>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let id = path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace(".evalset.json", "");
        std::fs::write(
            path,
            json!({"eval_set_id": id, "eval_cases": cases}).to_string(),
        )
        .unwrap();
    }

    fn evaltrail(&self, args: &[&str]) -> Output {
        let mut command = evaltrail(&self.path().join("home"));
        command.current_dir(self.path()).args(args);
        output(&mut command)
    }

    fn run(&self, args: &[&str]) -> Output {
        let agent = self.server.agent();
        let mut all = vec!["run", "--agent", agent.as_str()];
        all.extend(args);
        self.evaltrail(&all)
    }

    /// Runs cases and returns their ids in order.
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

    fn list(&self) -> String {
        text(&self.evaltrail(&["list", "--cases", "."]))
    }

    fn newest_run(&self) -> PathBuf {
        let runs = std::fs::read_dir(self.path().join(".evaltrail/runs")).unwrap();
        runs.map(|run| run.unwrap().path())
            .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
            .unwrap()
    }
}

fn abc() -> Vec<Value> {
    vec![
        case("a", "fine a", "ok"),
        case("b", "fine b", "nothing like it"),
        case("c", "fine c", "ok"),
    ]
}

#[test]
fn results_follow_cases_after_an_insertion() {
    let desk = Desk::new();
    desk.write("s.evalset.json", abc());
    desk.run(&["."]);
    let mut cases = abc();
    cases.insert(0, case("new", "fine new", "ok"));
    desk.write("s.evalset.json", cases);
    let listed = desk.list();
    for line in ["✓ a", "✗ b", "✓ c", "  new", "2/3 passed, 1 not run"] {
        assert!(listed.contains(line), "{line}: {listed}");
    }
    assert_eq!(desk.ids_run(&["--failed", "."]), ["b"]);
    assert_eq!(
        desk.ids_run(&["--filter", "status:passed", "."]),
        ["a", "c"]
    );
    assert_eq!(
        desk.ids_run(&["--filter", "-status:passed -status:failed", "."]),
        ["new"]
    );
    assert_eq!(
        desk.ids_run(&["--filter", "metric:response_match_score<0.5", "."]),
        ["b"]
    );
    let notes = json!({"cases": {"a": {"tags": ["slow"]}, "c": {"tags": ["slow", "red"]}}});
    std::fs::write(desk.path().join("s.evaltrail.json"), notes.to_string()).unwrap();
    assert_eq!(desk.ids_run(&["--filter", "tag:slow", "."]), ["a", "c"]);
    assert_eq!(desk.ids_run(&["--filter", "-tag:slow", "."]), ["new", "b"]);
    assert_eq!(desk.ids_run(&["--filter", "tag:slow -tag:red", "."]), ["a"]);
}

#[test]
fn run_ends_with_failures_and_next_commands() {
    let desk = Desk::new();
    desk.write("s.evalset.json", abc());
    let said = text(&desk.run(&["--repeat", "2", "."]));
    let end = said
        .split("not passed\n")
        .nth(1)
        .unwrap_or_else(|| panic!("{said}"));
    let lines: Vec<&str> = end.lines().filter(|line| !line.is_empty()).collect();
    assert!(
        lines[0].starts_with("✗ s › b  0/2  "),
        "one line for all attempts of a case: {end}"
    );
    let counts = "evaltrail 4 passed, 2 failed of 6 attempts (3 cases, 2 each)";
    assert!(lines[1].starts_with(counts), "the counts add up: {end}");
    let id = lines[2]
        .strip_prefix("run ")
        .unwrap_or_else(|| panic!("{end}"));
    assert!(desk.newest_run().ends_with(id), "{end}");
    assert!(
        end.contains("evaltrail run . --failed") && end.contains(&format!("evaltrail accept {id}")),
        "{end}"
    );
}

#[test]
fn list_prints_json() {
    let desk = Desk::new();
    desk.write("s.evalset.json", abc());
    desk.ids_run(&["--filter", "-b", "."]);
    let out = desk.evaltrail(&["list", "--json", "--cases", "."]);
    let list: Value =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", both(&out)));
    let set = &list["sets"][0];
    assert_eq!(
        (
            &set["eval_set"],
            &set["cases"],
            &set["passed"],
            &set["not_run"]
        ),
        (&json!("s"), &json!(3), &json!(2), &json!(1))
    );
    assert_eq!(set["runs"].as_array().unwrap().len(), 1);
    let statuses: Vec<&Value> = set["eval_cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| &case["status"])
        .collect();
    assert_eq!(statuses, [&json!("passed"), &Value::Null, &json!("passed")]);
}

#[test]
fn an_edited_case_is_evaluated_again() {
    let desk = Desk::new();
    desk.write("s.evalset.json", abc());
    desk.run(&["."]);
    let mut cases = abc();
    cases[0] = case("a", "fine a", "something else entirely");
    cases[1] = case("b", "fine b", "ok");
    desk.write("s.evalset.json", cases);
    let listed = desk.list();
    assert!(listed.contains("✗ a") && listed.contains("✓ b"), "{listed}");
    assert!(
        listed.contains("2 edited since and re-evaluated"),
        "{listed}"
    );
    assert_eq!(desk.ids_run(&["--failed", "."]), ["a"]);
}

#[test]
fn equal_ids_are_distinguished_by_content() {
    let desk = Desk::new();
    desk.write(
        "s.evalset.json",
        vec![case("x", "fine 1", "ok"), case("x", "fine 2", "not this")],
    );
    desk.run(&["."]);
    desk.write(
        "s.evalset.json",
        vec![case("x", "fine 2", "not this"), case("x", "fine 1", "ok")],
    );
    let listed = desk.list();
    let glyphs: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.trim().get(..5))
        .filter(|start| start.ends_with(" x"))
        .collect();
    assert_eq!(glyphs, ["✗ x", "✓ x"], "{listed}");
    assert_eq!(desk.ids_run(&["--failed", "."]).len(), 1);
}

#[test]
fn single_turn_is_no_result_of_the_case() {
    let desk = Desk::new();
    desk.write("s.evalset.json", abc());
    desk.run(&["."]);
    desk.write("s.evalset.json", abc());
    let alone = desk.run(&["--turn", "1", "s.evalset.json:b"]);
    assert_eq!(alone.status.code(), Some(1), "{}", both(&alone));
    assert!(desk.list().contains("2/3 passed"), "{}", desk.list());
    // A single turn that passes does not make the case pass.
    let turn = |prompt: &str, answer: &str| json!({"user_content": {"parts": [{"text": prompt}]}, "final_response": {"parts": [{"text": answer}]}});
    let two = json!({"eval_id": "two", "conversation": [turn("fine 1", "ok"), turn("fine 2", "not this")]});
    desk.write("s.evalset.json", vec![two]);
    assert_eq!(desk.run(&["."]).status.code(), Some(1));
    let alone = desk.run(&["--turn", "1", "."]);
    assert_eq!(alone.status.code(), Some(0), "{}", both(&alone));
    assert!(desk.list().contains("✗ two"), "{}", desk.list());
    assert_eq!(desk.ids_run(&["--failed", "."]), ["two"]);
}

#[test]
fn old_runs_are_removed_with_their_results() {
    let desk = Desk::new();
    desk.write("s.evalset.json", abc());
    std::fs::write(desk.path().join("evaltrail.toml"), "[history]\nkeep = 2\n").unwrap();
    for id in ["a", "b", "c"] {
        desk.run(&[&format!("s.evalset.json:{id}")]);
    }
    let told = desk.run(&["s.evalset.json:c"]);
    assert!(both(&told).contains("removed"), "{}", both(&told));
    let runs = std::fs::read_dir(desk.path().join(".evaltrail/runs"))
        .unwrap()
        .count();
    assert_eq!(runs, 2);
    assert!(
        desk.list().contains("✓ c") && !desk.list().contains("✓ a"),
        "{}",
        desk.list()
    );
}

#[test]
fn results_of_several_runs_are_labelled() {
    let desk = Desk::new();
    desk.write("s.evalset.json", abc());
    desk.run(&["s.evalset.json:a"]);
    desk.run(&["s.evalset.json:b,c"]);
    assert!(
        desk.list().contains("2/3 passed; from 2 runs"),
        "{}",
        desk.list()
    );
}

#[test]
fn resume_reports_changed_options_and_cases() {
    let desk = Desk::new();
    let two = json!({"eval_id": "two", "conversation": [
        {"user_content": {"parts": [{"text": "fine 1"}]}, "final_response": {"parts": [{"text": "ok"}]}},
        {"user_content": {"parts": [{"text": "fine 2"}]}, "final_response": {"parts": [{"text": "ok"}]}},
    ]});
    desk.write(
        "s.evalset.json",
        vec![two.clone(), case("b", "fine b", "ok")],
    );
    let interrupt = |desk: &Desk| {
        let run = desk.newest_run();
        let journal = run.join("journal.jsonl");
        let written = std::fs::read_to_string(&journal).unwrap();
        std::fs::write(&journal, written.lines().next().unwrap().to_string() + "\n").unwrap();
    };
    desk.run(&["--turn", "1", "-j", "1", "."]);
    interrupt(&desk);
    let refused = desk.run(&["--resume", "."]);
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    assert!(
        both(&refused).contains("turns: turn 1 only before, all turns now"),
        "{}",
        both(&refused)
    );
    let went_on = desk.run(&["--resume", "--turn", "1", "-j", "3", "."]);
    assert!(both(&went_on).contains("1 of 2 done"), "{}", both(&went_on));
    assert!(
        both(&went_on).contains("jobs: 1 before, 3 now"),
        "{}",
        both(&went_on)
    );
    interrupt(&desk);
    let judged = desk.run(&[
        "--resume",
        "--turn",
        "1",
        "--judge",
        "openai/gpt-5",
        "--samples",
        "3",
        ".",
    ]);
    assert_eq!(judged.status.code(), Some(2), "{}", both(&judged));
    assert!(
        both(&judged).contains("judge: from the criteria before, openai/gpt-5"),
        "{}",
        both(&judged)
    );
    assert!(
        both(&judged).contains("samples: from the criteria before, 3 now"),
        "{}",
        both(&judged)
    );
    // A resumed run uses the current options. A plan that was modified is not resumed.
    let went_on = desk.run(&[
        "--resume",
        "--turn",
        "1",
        "-j",
        "3",
        "--timeout",
        "90s",
        ".",
    ]);
    assert_eq!(went_on.status.code(), Some(0), "{}", both(&went_on));
    assert!(
        both(&went_on).contains("time limit: 120 s before, 90 s now"),
        "{}",
        both(&went_on)
    );
    interrupt(&desk);
    let plan = desk.newest_run().join("run.json");
    let stored = std::fs::read_to_string(&plan).unwrap();
    let planted = stored.replacen("\"timeout_ms\": 90000", "\"timeout_ms\": 0", 1);
    assert_ne!(stored, planted);
    std::fs::write(&plan, planted).unwrap();
    let refused = desk.run(&["--resume", "--turn", "1", "."]);
    assert!(
        both(&refused).contains("there is no unfinished run"),
        "{}",
        both(&refused)
    );
    std::fs::write(&plan, stored).unwrap();
    interrupt(&desk);
    desk.write("s.evalset.json", vec![two, case("b", "fine b", "another")]);
    let other = desk.run(&["--resume", "--turn", "1", "."]);
    assert!(both(&other).contains("b changed since"), "{}", both(&other));
    assert!(
        both(&other).contains("starting a new run"),
        "{}",
        both(&other)
    );
}

#[test]
fn damaged_journal_line_loses_only_itself() {
    let desk = Desk::new();
    desk.write(
        "s.evalset.json",
        (0..5)
            .map(|n| case(&format!("c{n}"), &format!("fine {n}"), "ok"))
            .collect(),
    );
    desk.run(&["."]);
    let journal = desk.newest_run().join("journal.jsonl");
    let written = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    let torn: Vec<&str> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| if at == 1 { &line[..40] } else { *line })
        .collect();
    std::fs::write(&journal, torn.join("\n") + "\n").unwrap();
    let before = desk
        .server
        .seen
        .lock()
        .unwrap()
        .runs
        .values()
        .sum::<usize>();
    assert!(
        desk.list().contains("4/4 passed, 1 not run"),
        "{}",
        desk.list()
    );
    let resumed = desk.run(&["--resume", "."]);
    assert!(both(&resumed).contains("4 of 5 done"), "{}", both(&resumed));
    assert!(
        both(&resumed).contains("1 attempt of its journal cannot be read"),
        "{}",
        both(&resumed)
    );
    assert_eq!(
        desk.server
            .seen
            .lock()
            .unwrap()
            .runs
            .values()
            .sum::<usize>(),
        before + 1,
        "one case ran again"
    );
}

#[test]
fn planted_runs_do_not_break_anything() {
    let desk = Desk::new();
    desk.write("s.evalset.json", abc());
    desk.run(&["."]);
    let plan = desk.newest_run().join("run.json");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replace("\"set\": 0", "\"set\": 99")).unwrap();
    let listed = desk.evaltrail(&["list", "."]);
    assert_eq!(listed.status.code(), Some(0), "{}", both(&listed));
    assert!(!both(&desk.run(&["--resume", "."])).contains("panic"));
}

/// Two agents with a set of the same name each, and results of ADK under the set's own id.
#[test]
fn results_of_adk_belong_to_the_agents_own_set() {
    let desk = Desk::new();
    for agent in ["one", "two"] {
        std::fs::create_dir_all(desk.path().join(agent)).unwrap();
        std::fs::write(desk.path().join(agent).join("agent.py"), "root_agent = 1").unwrap();
        let set = json!({"eval_set_id": format!("id_of_{agent}"), "eval_cases": [case("a", "fine a", "ok")]});
        std::fs::write(
            desk.path().join(agent).join("same.evalset.json"),
            set.to_string(),
        )
        .unwrap();
    }
    let result = json!({
        "eval_set_result_id": "two_x_1.0", "eval_set_result_name": "two_x_1.0", "eval_set_id": "id_of_two",
        "creation_timestamp": 1.0, "eval_case_results": [{
            "eval_set_id": "id_of_two", "eval_id": "a", "final_eval_status": 2,
            "overall_eval_metric_results": [], "eval_metric_result_per_invocation": [], "session_id": "s",
        }],
    });
    let history = desk.path().join("two/.adk/eval_history");
    std::fs::create_dir_all(&history).unwrap();
    std::fs::write(
        history.join("two_x_1.0.evalset_result.json"),
        result.to_string(),
    )
    .unwrap();
    let listed = desk.list();
    assert!(
        listed.contains("one/same.evalset.json  1 case   not run"),
        "{listed}"
    );
    assert!(
        listed.contains("two/same.evalset.json  1 case   0/1 passed"),
        "{listed}"
    );
    // With the name of the file as the id of the set, as `adk web` writes it.
    let result = result.to_string().replace("id_of_two", "same");
    std::fs::write(history.join("two_x_1.0.evalset_result.json"), result).unwrap();
    let listed = desk.list();
    assert!(
        listed.contains("one/same.evalset.json  1 case   not run"),
        "{listed}"
    );
    assert!(
        listed.contains("two/same.evalset.json  1 case   0/1 passed"),
        "{listed}"
    );
}

#[test]
fn subfolder_run_equals_workspace_run() {
    let work = tempfile::tempdir().unwrap();
    crate::common::copy_folder(
        &crate::common::root().join("fixtures/workspace"),
        work.path(),
    );
    // The recordings are replayed without waiting.
    let config = work.path().join("evaltrail.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let fast = text.replace("\nfallback", "\nspeed = 0\nfallback");
    std::fs::write(&config, fast).unwrap();
    let run = |args: &[&str]| {
        let mut command = evaltrail(&work.path().join("home"));
        output(
            command
                .current_dir(work.path())
                .env("SAMPLE_PACE", "0")
                .args(["run", "--json"])
                .args(args),
        )
    };
    let cases = |out: &Output| -> Vec<(Value, Value, Value)> {
        let report: Value =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", both(out)));
        let of = |case: &Value| {
            let scores = case["metrics"].as_array().unwrap().iter();
            let scores = scores.filter(|metric| metric["metric"] != "invocation_duration_v1");
            let scores: Vec<Value> = scores.map(|metric| metric["score"].clone()).collect();
            (
                case["file"].clone(),
                case["eval_id"].clone(),
                Value::from(scores),
            )
        };
        report["cases"].as_array().unwrap().iter().map(of).collect()
    };
    let all = cases(&run(&["."]));
    for target in ["garden", "garden/watering.evalset.json"] {
        let part = cases(&run(&[target]));
        let expected: Vec<_> = all
            .iter()
            .filter(|(file, ..)| file.as_str().unwrap().starts_with(target))
            .cloned()
            .collect();
        assert!(!part.is_empty() && part == expected, "{target}");
    }
    let again = cases(&run(&["--failed", "garden"]));
    assert!(
        !again.is_empty() && again.len() < 10,
        "the runs of the workspace are those of its folders"
    );
    assert!(!work.path().join("garden/.evaltrail").exists());
}
