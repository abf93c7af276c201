//! Trends over runs: since when a case fails, the commit then, and the numbers of each set over the runs.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use crate::triage::row;
use serde_json::{Value, json};

/// Records a run in which only the cases in `broken` fail, at this commit.
fn record(workspace: &TestWorkspace, commit: char, broken: &[usize]) {
    let rows = (0..6).map(|case| {
        let mut row = row(case + 1 + case / 4);
        row["eval_id"] = json!(format!("case_{case}"));
        if broken.contains(&case) {
            row["predicted_trajectory"] = json!([]);
        }
        format!("{row}\n")
    });
    std::fs::write(
        workspace.path().join("rows.jsonl"),
        rows.collect::<String>(),
    )
    .unwrap();
    let git = workspace.path().join(".git");
    std::fs::create_dir_all(&git).unwrap();
    std::fs::write(git.join("HEAD"), commit.to_string().repeat(40)).unwrap();
    let score = [
        "score",
        "-q",
        "--metric",
        "trajectory_exact_match:1",
        "rows.jsonl",
    ];
    let ran = output(
        evaltrail(&workspace.path().join("home"))
            .args(score)
            .current_dir(workspace.path()),
    );
    assert_eq!(
        ran.status.code(),
        Some(i32::from(!broken.is_empty())),
        "{}",
        both(&ran)
    );
}

fn workspace_with_runs() -> TestWorkspace {
    let workspace = TestWorkspace::new(&[]);
    for (commit, broken) in [
        ('a', &[1, 2][..]),
        ('b', &[2]),
        ('c', &[2, 3]),
        ('d', &[2, 3]),
    ] {
        record(&workspace, commit, broken);
    }
    workspace
}

fn listed(workspace: &TestWorkspace) -> Vec<Value> {
    let home = workspace.path().join("home");
    let ran = output(
        evaltrail(&home)
            .args(["runs", "--json"])
            .current_dir(workspace.path()),
    );
    let json: Value = serde_json::from_str(&text(&ran)).unwrap();
    json["runs"].as_array().unwrap().clone()
}

#[test]
fn runs_list_commit_and_results_per_set() {
    let runs = listed(&workspace_with_runs());
    let commits: Vec<&str> = runs
        .iter()
        .map(|run| &run["commit"].as_str().unwrap()[..1])
        .collect();
    assert_eq!(commits, ["d", "c", "b", "a"], "newest first");
    let passed: Vec<&Value> = runs
        .iter()
        .map(|run| &run["by_set"][0]["totals"]["passed"])
        .collect();
    assert_eq!(passed, [4, 4, 5, 4]);
    let metrics = runs[0]["by_set"][0]["metrics"].as_array().unwrap();
    let exact = metrics
        .iter()
        .find(|metric| metric["metric"] == "trajectory_exact_match:1");
    let exact = exact
        .or(metrics
            .iter()
            .find(|metric| metric["metric"] == "trajectory_exact_match"))
        .unwrap();
    assert!(
        (exact["mean"].as_f64().unwrap() - 4.0 / 6.0).abs() < 1e-9,
        "{exact}"
    );
    assert_eq!(exact["scored"], 6);
}

#[cfg(unix)]
#[test]
fn explorer_shows_first_failure_and_trend() {
    use crate::common::terminal::Terminal;
    let workspace = workspace_with_runs();
    let ids: Vec<String> = listed(&workspace)
        .iter()
        .map(|run| run["run_id"].as_str().unwrap().to_string())
        .collect();
    let (path, home) = (
        workspace.path().display().to_string(),
        workspace.path().join("home"),
    );
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_evaltrail"), &[&path], &home, (200, 40));
    terminal.wait_for("✓ 4  ✗ 2");
    // The outcomes of the runs are a column of the list.
    terminal.wait_for("██▁▁");
    terminal.keys("/case_3\r\r");
    terminal.wait_for("case_3  ✗ failed");
    terminal.wait_for(&format!("failing since run {}", &ids[1][..10]));
    // The words are wrapped.
    terminal.wait_for(&format!("{}), 2 runs", "c".repeat(12)));
    terminal.wait_for(&"b".repeat(12));
    terminal.keys("\x1b");
    terminal.wait_for("F causes");
    terminal.keys("/\x15case_2\r");
    terminal.wait_for("did not pass in any of its 4 runs");
    // A run of one case is not a run of the set.
    let one = [
        "score",
        "-q",
        "--metric",
        "trajectory_exact_match:1",
        "rows.jsonl:case_3",
    ];
    output(evaltrail(&home).args(one).current_dir(workspace.path()));
    terminal.keys("V");
    terminal.wait_for("each set over its runs");
    terminal.wait_for("run 4 of 4");
    terminal.wait_for("67 % of 6 attempts (+0 pp), 95 % interval 30–90 %");
    terminal.keys("h");
    terminal.wait_for("67 % of 6 attempts (-17 pp), 95 % interval 30–90 %");
    terminal.wait_for("changed since the run before: the commit");
    terminal.keys("\r");
    terminal.wait_for(&format!("past run just now: {}, as it was", ids[1]));
    assert!(
        !terminal.screen().contains("failing since"),
        "later runs are not known in it"
    );
    terminal.keys("q");
    terminal.wait_for("run 3 of 4");
    terminal.keys("q");
    terminal.wait_for("F causes");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}
