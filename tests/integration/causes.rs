//! Causes of failures over runs: on the command line, in reports, and in the explorer.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use crate::triage::row;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Output;

/// What a case of a run does.
#[derive(Clone, Copy)]
enum Case {
    Passes,
    /// It does not call `set_light`.
    NotCalled,
    /// It calls a tool that is not expected.
    Extra,
}
use Case::{Extra, NotCalled, Passes};

struct Runs {
    workspace: TestWorkspace,
}

impl Runs {
    fn new() -> Runs {
        let workspace = TestWorkspace::new(&[]);
        Runs { workspace }
    }

    fn home(&self) -> PathBuf {
        self.workspace.path().join("home")
    }

    fn evaltrail(&self, args: &[&str]) -> Output {
        let folder = self.workspace.path();
        output(evaltrail(&self.home()).args(args).current_dir(folder))
    }

    /// Scores a run of three cases.
    fn score(&self, cases: [Case; 3], more: &[&str]) -> Output {
        let expected = json!([{"tool_name": "set_light", "tool_input": {"level": 1}}]);
        let extra = json!({"tool_name": "log", "tool_input": {}});
        let rows = cases.iter().enumerate().map(|(at, case)| {
            let mut row = row(1);
            row["eval_id"] = json!(format!("case_{at}"));
            row["reference_trajectory"] = expected.clone();
            row["predicted_trajectory"] = match case {
                Passes => expected.clone(),
                NotCalled => json!([]),
                Extra => json!([expected[0], extra]),
            };
            format!("{row}\n")
        });
        let file = self.workspace.path().join("rows.jsonl");
        std::fs::write(file, rows.collect::<String>()).unwrap();
        let score = ["score", "-q", "--metric", "trajectory_exact_match:1"];
        let args: Vec<&str> = score.iter().chain(more).copied().collect();
        self.evaltrail(&[&args[..], &["rows.jsonl"]].concat())
    }

    /// The state of each cause, with the number of its cases.
    fn states(&self) -> Vec<(String, String, u64)> {
        let found = self.evaltrail(&["causes", "--all", "--json"]);
        let json: Value = serde_json::from_str(&text(&found)).unwrap();
        let causes = json["causes"].as_array().unwrap().iter();
        let mut states: Vec<_> = causes
            .map(|one| {
                let text = |name: &str| one[name].as_str().unwrap().to_string();
                (text("cause"), text("state"), one["cases"].as_u64().unwrap())
            })
            .collect();
        states.sort();
        states
    }
}

const NOT_CALLED: &str = "set_light is not called";
const EXTRA: &str = "log is called and not expected";

fn state(cause: &str, state: &str, cases: u64) -> (String, String, u64) {
    (cause.into(), state.into(), cases)
}

#[test]
fn causes_over_four_runs_have_their_states() {
    let runs = Runs::new();
    runs.score([NotCalled, Passes, Passes], &[]);
    assert_eq!(runs.states(), [state(NOT_CALLED, "new", 1)]);
    runs.score([NotCalled, Extra, Passes], &[]);
    let second = [state(EXTRA, "new", 1), state(NOT_CALLED, "ongoing", 1)];
    assert_eq!(runs.states(), second);
    runs.score([Passes, Extra, Extra], &[]);
    let third = [state(EXTRA, "ongoing", 2), state(NOT_CALLED, "gone", 0)];
    assert_eq!(runs.states(), third);
    // Only one case is run, which has never failed for this cause: the others keep what they have.
    runs.score([NotCalled, Passes, Passes], &[]);
    let fourth = [state(EXTRA, "gone", 0), state(NOT_CALLED, "back", 1)];
    assert_eq!(runs.states(), fourth);

    let listed = text(&runs.evaltrail(&["causes"]));
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines[0].starts_with("back        1 case      ██·█  set_light is not called"),
        "{listed}"
    );
    assert!(lines[1].trim().starts_with("again since run "), "{listed}");
    assert_eq!(
        *lines.last().unwrap(),
        "2 causes over 4 runs: 0 new, 1 back, 0 ongoing, 1 gone"
    );
    let code = |args: &[&str]| runs.evaltrail(args).status.code();
    assert_eq!(code(&["causes", "--fail-on", "news"]), Some(1));
    assert_eq!(code(&["causes", "--fail-on", "new"]), Some(0));
    assert_eq!(code(&["causes", "--since", "nothing"]), Some(2));
}

#[test]
fn run_of_a_part_keeps_the_causes_of_others() {
    let runs = Runs::new();
    runs.score([NotCalled, Passes, Passes], &[]);
    let one = [
        "score",
        "-q",
        "--metric",
        "trajectory_exact_match:1",
        "rows.jsonl:case_2",
    ];
    runs.evaltrail(&one);
    assert_eq!(runs.states(), [state(NOT_CALLED, "new", 1)]);
}

#[test]
fn new_cause_fails_a_run_and_is_first() {
    let runs = Runs::new();
    let gate = ["--fail-on", "new-cause"];
    let code = |ran: &Output| (ran.status.code(), both(ran));
    // Without an earlier run, every cause is new.
    let first = code(&runs.score([NotCalled, NotCalled, Passes], &gate));
    assert_eq!(first.0, Some(1), "{}", first.1);
    let second = code(&runs.score([NotCalled, NotCalled, Passes], &gate));
    assert_eq!(second.0, Some(0), "{}", second.1);
    assert!(second.1.contains("in 2 runs since run "), "{}", second.1);
    let reports = [
        "--github",
        "--report",
        "markdown=r.md",
        "--report",
        "json=r.json",
    ];
    let third = code(&runs.score(
        [NotCalled, NotCalled, Extra],
        &[&gate[..], &reports].concat(),
    ));
    assert_eq!(third.0, Some(1), "{}", third.1);
    let reason = "--fail-on new-cause: a cause is new or came back: ";
    assert!(third.1.contains(reason), "{}", third.1);
    let annotations: Vec<&str> = third
        .1
        .lines()
        .filter(|line| line.starts_with("::error"))
        .collect();
    assert!(
        annotations.last().unwrap().contains("case_2 (new)"),
        "{}",
        third.1
    );
    let read = |name: &str| std::fs::read_to_string(runs.workspace.path().join(name)).unwrap();
    assert!(
        read("r.md").contains("set\\_light is not called (**in 3 runs since run "),
        "{}",
        read("r.md")
    );
    let json: Value = serde_json::from_str(&read("r.json")).unwrap();
    assert_eq!(json["summary"]["groups"][0]["state"], "ongoing");
    let fourth = code(&runs.score([Passes, Passes, Extra], &gate));
    assert_eq!(fourth.0, Some(0), "{}", fourth.1);
    assert!(
        fourth.1.contains("gone: set_light is not called"),
        "{}",
        fourth.1
    );
}

#[test]
fn reports_say_what_broke_since_the_baseline() {
    let runs = Runs::new();
    runs.score([NotCalled, Passes, Passes], &[]);
    let pinned = runs.evaltrail(&["runs", "pin", "last"]);
    assert_eq!(pinned.status.code(), Some(0), "{}", both(&pinned));
    let reports = [
        "--fail-on=broke",
        "--report=markdown=r.md",
        "--report=junit=r.xml",
        "--report=json=r.json",
    ];
    let ran = runs.score([NotCalled, Passes, Extra], &reports);
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    let read = |name: &str| std::fs::read_to_string(runs.workspace.path().join(name)).unwrap();
    let markdown = read("r.md");
    let rows: Vec<&str> = markdown
        .lines()
        .filter(|line| line.starts_with("| ✗"))
        .collect();
    assert!(
        markdown.contains("**vs baseline: 1 broke, 0 fixed"),
        "{markdown}"
    );
    assert!(
        rows[0].contains("case\\_2 | passed in the baseline: "),
        "{markdown}"
    );
    assert!(!rows[1].contains("passed in the baseline"), "{markdown}");
    let junit = read("r.xml");
    assert_eq!(
        junit.matches("message=\"passed in the baseline: ").count(),
        1,
        "{junit}"
    );
    let json: Value = serde_json::from_str(&read("r.json")).unwrap();
    let broke = json["summary"]["baseline"]["broke"].as_array().unwrap();
    assert_eq!(broke.len(), 1, "{json}");
    assert_eq!(broke[0]["eval_id"], "case_2");
}

/// What was not judged is not green, and what is quarantined is not red.
#[test]
fn gate_of_new_causes_counts_what_a_run_judged() {
    let runs = Runs::new();
    let gate = ["--fail-on", "new-cause"];
    runs.score([NotCalled, Passes, Passes], &[]);
    let notes = json!({"version": 1, "cases": {"case_1": {"quarantine": {"until": "2999-01-01", "since": "2026-01-01"}}}});
    std::fs::write(
        runs.workspace.path().join("rows.evaltrail.json"),
        notes.to_string(),
    )
    .unwrap();
    let quarantined = runs.score([NotCalled, Extra, Passes], &gate);
    assert_eq!(quarantined.status.code(), Some(0), "{}", both(&quarantined));
    let not_judged = [
        "score",
        "-q",
        "--metric",
        "no_such_metric_here:1",
        "rows.jsonl",
    ];
    assert_ne!(
        runs.evaltrail(&[&not_judged[..], &gate].concat())
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn states_since_a_run_are_gated() {
    let runs = Runs::new();
    runs.score([Passes, Passes, Passes], &[]);
    let listed = text(&runs.evaltrail(&["runs", "--json"]));
    let json: Value = serde_json::from_str(&listed).unwrap();
    let first = json["runs"][0]["run_id"].as_str().unwrap().to_string();
    runs.score([NotCalled, Passes, Passes], &[]);
    runs.score([NotCalled, Passes, Passes], &[]);
    let code = |args: &[&str]| runs.evaltrail(args).status.code();
    assert_eq!(code(&["causes", "--fail-on", "news"]), Some(0));
    assert_eq!(
        code(&["causes", "--since", &first, "--fail-on", "news"]),
        Some(1)
    );
    assert_eq!(
        code(&["causes", "--since", "last", "--fail-on", "news"]),
        Some(0)
    );
}

#[cfg(unix)]
#[test]
fn explorer_lists_new_causes_first() {
    use crate::common::terminal::Terminal;
    let runs = Runs::new();
    runs.score([NotCalled, NotCalled, Passes], &[]);
    runs.score([NotCalled, NotCalled, Extra], &[]);
    let path = runs.workspace.path().display().to_string();
    let program = env!("CARGO_BIN_EXE_evaltrail");
    let mut terminal = Terminal::start(program, &[&path], &runs.home(), (140, 40));
    // The row says so, as soon as the earlier runs are read.
    terminal.wait_for("new log: not expected");
    terminal.keys("F");
    // The cursor is on the new cause.
    terminal.wait_for("new log is called and not expected");
    terminal.wait_for("new: first seen in run ");
    terminal.keys("\x1b[B");
    terminal.wait_for("seen in 2 of 2 runs, since run ");
    terminal.keys("\x1b");
    terminal.wait_for("F causes");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}
