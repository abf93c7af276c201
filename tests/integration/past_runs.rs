//! Past runs: the screen of runs, a run opened as it was, two runs in columns, the baseline, and a run as one file.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use crate::triage::row;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;
use std::process::Output;

const SCORE: [&str; 4] = [
    "score",
    "--metric",
    "trajectory_exact_match:1",
    "rows.jsonl",
];

fn rows_text(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// A folder with two runs: in the second, case_001 broke, case_005 was fixed, and of case_010 something else is
/// expected.
fn workspace_with_two_runs() -> TestWorkspace {
    let mut rows: Vec<Value> = (0..20).map(row).collect();
    let workspace = TestWorkspace::new(&[("rows.jsonl", rows_text(&rows))]);
    run(&workspace, &SCORE);
    rows[1]["predicted_trajectory"] = json!([]);
    rows[5]["predicted_trajectory"] = rows[5]["reference_trajectory"].clone();
    rows[10]["reference_trajectory"] = json!([{"tool_name": "now_expected", "tool_input": {}}]);
    std::fs::write(workspace.path().join("rows.jsonl"), rows_text(&rows)).unwrap();
    run(&workspace, &SCORE);
    workspace
}

fn home(workspace: &TestWorkspace) -> std::path::PathBuf {
    workspace.path().join("home")
}

fn run(workspace: &TestWorkspace, args: &[&str]) -> Output {
    output(
        evaltrail(&home(workspace))
            .args(args)
            .current_dir(workspace.path()),
    )
}

fn ids(workspace: &TestWorkspace) -> Vec<String> {
    let listed: Value = serde_json::from_str(&text(&run(workspace, &["runs", "--json"]))).unwrap();
    let runs = listed["runs"].as_array().unwrap().iter();
    runs.map(|run| run["run_id"].as_str().unwrap().to_string())
        .collect()
}

#[cfg(unix)]
#[test]
fn past_run_opens_unchanged_and_compares() {
    use crate::common::terminal::Terminal;
    let workspace = workspace_with_two_runs();
    let ids = ids(&workspace);
    let path = workspace.path().display().to_string();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&path],
        &home(&workspace),
        (150, 40),
    );
    terminal.wait_for("✓ 16  ✗ 4");
    terminal.keys("H");
    terminal.wait_for("2 runs, newest first");
    terminal.keys("j\r");
    terminal.wait_for(&format!("past run just now: {}, as it was", ids[1]));
    terminal.keys("/case_010\r\r");
    terminal.wait_for("case_010  ✗ failed");
    terminal.wait_for("set_light");
    assert!(
        !terminal.screen().contains("now_expected"),
        "what was expected then: {}",
        terminal.screen()
    );
    terminal.keys("r");
    terminal.wait_for("a past run is open, which cannot be changed");
    terminal.keys("\x1b");
    terminal.wait_for("1 match /case_010");
    terminal.keys("\x1b");
    terminal.wait_for("case_011");
    terminal.keys("\x1b");
    terminal.wait_for("2 runs, newest first");
    terminal.keys("gc");
    terminal.wait_for("1 broke · 1 fixed");
    terminal.wait_for("▾ 1 edited between the runs, not comparable");
    terminal.wait_for("16 → 16 of 19 passed");
    terminal.keys("\r");
    terminal.wait_for("case_001  ✓ passed  →  ✗ failed");
    terminal.wait_for("expected                                         first run");
    terminal.keys("nn");
    terminal.wait_for("the case was edited between the runs");
    terminal.wait_for("3 of 5");
    terminal.keys("b");
    terminal.wait_until("two sides", |screen| !screen.contains("│ expected"));
    terminal.keys("\x1b");
    terminal.wait_for("1 broke · 1 fixed");
    terminal.keys("\x1b");
    terminal.wait_for("2 runs, newest first");
    terminal.keys("\x1b");
    terminal.wait_until("the list of cases", |screen| {
        !screen.contains("2 runs, newest first")
    });
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// Results that the command line records while the explorer is open are shown, also those of the first run of a folder.
#[cfg(unix)]
#[test]
fn explorer_shows_results_of_other_programs() {
    use crate::common::terminal::Terminal;
    let rows: Vec<Value> = (0..20).map(row).collect();
    let workspace = TestWorkspace::new(&[("rows.jsonl", rows_text(&rows))]);
    let path = workspace.path().display().to_string();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&path],
        &home(&workspace),
        (150, 40),
    );
    terminal.wait_for("not run yet");
    run(&workspace, &SCORE);
    terminal.wait_for("✓ 16  ✗ 4");
    terminal.wait_for(&format!(
        "results recorded by another program are shown: run {}",
        ids(&workspace)[0]
    ));
    terminal.keys("H");
    terminal.wait_for("1 run");
    run(&workspace, &SCORE);
    terminal.wait_for("2 runs, newest first");
    terminal.wait_for(&format!("are shown: run {}", ids(&workspace)[0]));
    terminal.keys("\x1b");
    terminal.wait_until("the list of cases", |screen| {
        !screen.contains("2 runs, newest first")
    });
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// Nothing that is lost is lost without a word.
#[cfg(unix)]
#[test]
fn a_run_that_cannot_be_read_is_named() {
    use crate::common::terminal::Terminal;
    let workspace = workspace_with_two_runs();
    let ids = ids(&workspace);
    let plan = workspace
        .path()
        .join(".evaltrail/runs")
        .join(&ids[1])
        .join("run.json");
    std::fs::write(&plan, "{\"format\": ").unwrap();
    let listed = run(&workspace, &["runs"]);
    assert!(
        text(&listed).contains(&ids[0]) && !text(&listed).contains(&ids[1]),
        "{}",
        both(&listed)
    );
    let named = format!("a run cannot be read: {}", plan.display());
    assert!(
        both(&listed).contains(&named),
        "{named:?} is not in {}",
        both(&listed)
    );
    let json: Value = serde_json::from_str(&text(&run(&workspace, &["runs", "--json"]))).unwrap();
    assert_eq!(
        json["unreadable"].as_array().map(Vec::len),
        Some(1),
        "{json}"
    );
    let path = workspace.path().display().to_string();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&path],
        &home(&workspace),
        (150, 40),
    );
    terminal.wait_for("✓ 16  ✗ 4");
    terminal.keys("H");
    terminal.wait_for("1 run, 1 cannot be read (evaltrail runs says why)");
}

#[cfg(unix)]
#[test]
fn explorer_names_pins_and_deletes_runs() {
    use crate::common::terminal::Terminal;
    let workspace = workspace_with_two_runs();
    let ids = ids(&workspace);
    let path = workspace.path().display().to_string();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&path],
        &home(&workspace),
        (150, 40),
    );
    terminal.wait_for("✓ 16  ✗ 4");
    terminal.keys("H");
    terminal.wait_for("2 runs, newest first");
    terminal.keys("jebefore\r");
    terminal.wait_for("before  ");
    terminal.keys("P");
    terminal.wait_for("written as the baseline to evaltrail-baseline.json");
    terminal.wait_for("◆ before");
    // The line stays open when the file cannot be written.
    std::fs::write(workspace.path().join("x.evaltrail"), "").unwrap();
    terminal.keys("\x13\x15x.evaltrail\r");
    terminal.wait_for("export the run to x.evaltrail");
    terminal.wait_for("x.evaltrail exists already");
    terminal.keys("\x1b");
    terminal.keys("gd");
    terminal.wait_for("Delete this run?");
    terminal.keys("y");
    terminal.wait_for("1 run");
    terminal.keys("\x1b");
    // The results are those of the run that is left, for the cases as they are now.
    terminal.wait_for("last run is the baseline");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    assert!(
        !workspace
            .path()
            .join(".evaltrail/runs")
            .join(&ids[0])
            .exists()
    );
    assert!(text(&run(&workspace, &["runs"])).contains("baseline · “before” · rows.jsonl"));
    for (args, error) in [
        (["compare", "before", "last"], "are the same run"),
        (["compare", "beforex", "last"], "did you mean \"before\"?"),
        (
            ["compare", ".evaltrail", "last"],
            "it is a folder, not a run; `evaltrail compare --in .evaltrail`",
        ),
    ] {
        let named = run(&workspace, &args);
        assert!(both(&named).contains(error), "{error}: {}", both(&named));
    }
}

/// The page shows the numbers of the sets over the runs, and what became of the cases since the baseline; a redacted page
/// does not name other runs.
#[test]
fn html_report_shows_earlier_runs_and_baseline() {
    let workspace = workspace_with_two_runs();
    let pinned = run(&workspace, &["runs", "pin", &ids(&workspace)[1]]);
    assert_eq!(pinned.status.code(), Some(0), "{}", both(&pinned));
    let page = |more: &[&str]| {
        let args = [&SCORE[..], &["-q", "--report", "html=r.html"], more].concat();
        run(&workspace, &args);
        std::fs::read_to_string(workspace.path().join("r.html")).unwrap()
    };
    let whole = page(&[]);
    assert!(
        whole.contains("<h2>Compared with the baseline</h2>"),
        "{whole}"
    );
    assert!(whole.contains("1 broke, 1 fixed"), "{whole}");
    // Of three runs: a point for each and two lines in each chart, of the pass rate and of the metric at least.
    let charts = whole.matches("<svg class=\"runs\"").count();
    assert!(charts >= 2, "{whole}");
    assert_eq!(whole.matches("<circle").count(), 3 * charts);
    assert_eq!(whole.matches("<line").count(), 2 * charts);
    let redacted = page(&["--redact"]);
    assert!(redacted.contains("1 broke, 1 fixed") && !redacted.contains("<circle"));
}

#[test]
fn baseline_comparison_needs_no_stored_run() {
    let workspace = workspace_with_two_runs();
    let ids = ids(&workspace);
    let refused = run(&workspace, &["score", "rows.jsonl", "--fail-on", "broke"]);
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    assert!(
        both(&refused).contains("there is no evaltrail-baseline.json here"),
        "{}",
        both(&refused)
    );
    let pinned = run(&workspace, &["runs", "pin", &ids[1]]);
    assert_eq!(pinned.status.code(), Some(0), "{}", both(&pinned));
    // Only the file is there, as in a fresh clone in CI.
    std::fs::remove_dir_all(workspace.path().join(".evaltrail")).unwrap();
    let mut args = SCORE.to_vec();
    args.extend(["--fail-on", "broke", "-q"]);
    let compared = run(&workspace, &args);
    let said = both(&compared);
    assert!(
        said.contains("vs baseline: 1 broke, 1 fixed, 1 edited, not comparable"),
        "{said}"
    );
    assert_eq!(compared.status.code(), Some(1));
    let listed = text(&run(&workspace, &["compare", "baseline", "last"]));
    assert!(
        listed.contains("1 broke\n  ✓ → ✗ rows › case_001"),
        "{listed}"
    );
    // Without what broke, the failures that were there before do not fail the run.
    let mut rows: Vec<Value> = (0..20).map(row).collect();
    rows[1]["eval_id"] = json!("renamed");
    std::fs::write(workspace.path().join("rows.jsonl"), rows_text(&rows)).unwrap();
    let same = run(&workspace, &args);
    assert!(
        both(&same).contains("vs baseline: 0 broke, 0 fixed\n"),
        "a renamed case is found: {}",
        both(&same)
    );
    assert_eq!(
        (same.status.code(), both(&same).contains("4 failed")),
        (Some(0), true),
        "{}",
        both(&same)
    );
    let baseline =
        std::fs::read_to_string(workspace.path().join("evaltrail-baseline.json")).unwrap();
    assert!(
        !baseline.contains(&workspace.path().display().to_string()),
        "no path of this machine"
    );
    std::fs::write(
        workspace.path().join("evaltrail-baseline.json"),
        "{\"format\": 9, \"plan\": 1}",
    )
    .unwrap();
    let broken = run(&workspace, &args);
    assert_eq!(
        broken.status.code(),
        Some(2),
        "a baseline that cannot be read is not ignored: {}",
        both(&broken)
    );
}

#[test]
fn pinned_runs_are_not_removed_as_old_ones() {
    let workspace = workspace_with_two_runs();
    let first = ids(&workspace)[1].clone();
    run(&workspace, &["runs", "pin", &first]);
    std::fs::write(
        workspace.path().join("evaltrail.toml"),
        "[history]\nkeep = 1\n",
    )
    .unwrap();
    let removed = both(&run(&workspace, &SCORE));
    assert!(removed.contains("1 run was removed"), "{removed}");
    assert_eq!(
        (ids(&workspace).len(), ids(&workspace)[1].as_str()),
        (2, first.as_str())
    );
    run(&workspace, &["runs", "unpin", &first]);
    run(&workspace, &SCORE);
    assert_eq!(ids(&workspace).len(), 1);
}

#[test]
fn only_cases_that_changed_are_run_again() {
    let mut rows: Vec<Value> = (0..20).map(row).collect();
    let workspace = TestWorkspace::new(&[("rows.jsonl", rows_text(&rows))]);
    let changed = || {
        let ran = run(&workspace, &["score", "rows.jsonl", "--changed", "--json"]);
        let report: Option<Value> = serde_json::from_str(&text(&ran)).ok();
        let cases = report
            .map(|report| report["cases"].as_array().unwrap().clone())
            .unwrap_or_default();
        cases
            .iter()
            .map(|case| case["eval_id"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(changed().len(), 20, "nothing has a result");
    assert_eq!(changed().len(), 0);
    rows[3]["prompt"] = json!("another one");
    rows.push(row(20));
    std::fs::write(workspace.path().join("rows.jsonl"), rows_text(&rows)).unwrap();
    assert_eq!(changed(), ["case_003", "case_020"]);
    assert_eq!(changed().len(), 0);
    let criteria = "{\"criteria\": {\"response_match_score\": 0.5}}";
    std::fs::write(workspace.path().join("test_config.json"), criteria).unwrap();
    assert_eq!(changed().len(), 21, "the criteria changed");
    assert_eq!(changed().len(), 0);
}

#[test]
fn number_of_failures_can_be_tolerated() {
    let rows: Vec<Value> = (0..40).map(row).collect();
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", rows_text(&rows)),
        ("home.jsonl", String::new()),
    ]);
    let mut args = SCORE.to_vec();
    args.extend(["--max-failures", "8"]);
    assert_eq!(
        run(&workspace, &args).status.code(),
        Some(0),
        "8 of 40 fail"
    );
    args.pop();
    args.push("7");
    assert_eq!(run(&workspace, &args).status.code(), Some(1));
}

/// Runs whose eval set was deleted, one that a newer evaltrail wrote, and one that another user planted.
#[cfg(unix)]
#[test]
fn orphaned_newer_foreign_runs_are_labelled() {
    use crate::common::terminal::Terminal;
    let workspace = workspace_with_two_runs();
    let ids = ids(&workspace);
    std::fs::remove_file(workspace.path().join("rows.jsonl")).unwrap();
    std::fs::write(workspace.path().join("other.jsonl"), rows_text(&[row(30)])).unwrap();
    let runs = workspace.path().join(".evaltrail/runs");
    let copy = |name: &str, change: &dyn Fn(String) -> String| {
        std::fs::create_dir(runs.join(name)).unwrap();
        std::fs::copy(
            runs.join(&ids[0]).join("journal.jsonl"),
            runs.join(name).join("journal.jsonl"),
        )
        .unwrap();
        let plan = std::fs::read_to_string(runs.join(&ids[0]).join("run.json")).unwrap();
        std::fs::write(runs.join(name).join("run.json"), change(plan)).unwrap();
    };
    copy("newer", &|plan| {
        plan.replacen("\"format\": 4", "\"format\": 99", 1)
    });
    copy("planted", &|plan| {
        plan.replace("\"eval_id\": \"case_001\"", "\"eval_id\": \"case_one\"")
    });
    let path = workspace.path().display().to_string();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&path],
        &home(&workspace),
        (150, 40),
    );
    terminal.wait_for("other.jsonl");
    terminal.keys("H");
    // The planted run is listed after the user's own, and named.
    terminal.wait_for("3 runs, newest first, 1 cannot be read");
    let screen = terminal.screen();
    assert_eq!(screen.matches("foreign").count(), 1, "{screen}");
    let of_planted = screen
        .lines()
        .position(|line| line.contains("foreign"))
        .unwrap();
    assert!(
        screen
            .lines()
            .take(of_planted)
            .any(|line| line.contains(&ids[1])),
        "{screen}"
    );
    // The set of this run was deleted; its cases are as they were.
    terminal.keys("\r");
    terminal.wait_for(&format!("past run just now: {}, as it was", ids[0]));
    terminal.wait_for("✓ 16  ✗ 4");
    terminal.keys("q");
    terminal.wait_for("3 runs, newest first");
    terminal.keys("c");
    terminal.wait_for("broke");
    terminal.keys("\x1b");
    terminal.wait_for("3 runs, newest first");
    // Trends know only the user's own runs.
    terminal.keys("V");
    terminal.wait_for("run 2 of 2");
    terminal.wait_for("rows.jsonl");
    terminal.keys("\x1b");
    terminal.wait_for("3 runs, newest first");
    terminal.keys("\x1b");
    terminal.wait_for("Eval sets");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    let compared = run(&workspace, &["compare", &ids[1], "planted"]);
    assert_ne!(compared.status.code(), Some(0), "{}", both(&compared));
}

/// An export of a run whose texts contain secrets from the environment, from `.env`, and of a known form.
fn exported(workspace: &TestWorkspace) -> String {
    let file = workspace.path().join("run.evaltrail");
    let ran = output(
        evaltrail(&home(workspace))
            .args(["export", "last", "-o", &file.display().to_string()])
            .env("SERVICE_TOKEN", "canary-from-the-environment")
            .current_dir(workspace.path()),
    );
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    let mut unpacked = String::new();
    GzDecoder::new(std::fs::File::open(file).unwrap())
        .read_to_string(&mut unpacked)
        .unwrap();
    unpacked
}

fn workspace_with_secrets() -> TestWorkspace {
    let mut rows: Vec<Value> = (0..20).map(row).collect();
    rows[0]["response"] = json!("the token is canary-from-the-environment, \"canary/of+the file\"");
    rows[1]["response"] =
        json!("http://me:canary-in-an-address@host/ and Bearer canary0123456789abc");
    let env = "API_KEY='canary/of+the file'\nCOLOUR=green-and-blue\n".to_string();
    let workspace = TestWorkspace::new(&[("rows.jsonl", rows_text(&rows)), (".env", env)]);
    run(&workspace, &SCORE);
    workspace
}

#[test]
fn export_contains_no_secret_or_local_path() {
    let workspace = workspace_with_secrets();
    let run = std::fs::read_dir(workspace.path().join(".evaltrail/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let run = evaltrail_engine::store::load_run(&run.path(), None).unwrap();
    let has_secret = run.state.finished.iter().any(|attempt| {
        let attempt = attempt.read().unwrap();
        serde_json::to_string(&*attempt).unwrap().contains("canary")
    });
    assert!(has_secret, "the run itself contains them");
    let unpacked = exported(&workspace);
    assert!(!unpacked.contains("canary"), "{unpacked}");
    assert!(!unpacked.contains("signature"), "{unpacked}");
    assert!(
        !unpacked.contains(&workspace.path().display().to_string()),
        "{unpacked}"
    );
    assert!(
        unpacked
            .lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "still JSON"
    );
    assert_eq!(
        unpacked.lines().count(),
        2 + 20 + 1,
        "header, plan, attempts, end"
    );
}

#[test]
fn export_to_html_is_a_report_without_secrets() {
    let workspace = workspace_with_secrets();
    let export = |file: &str| {
        let ran = output(
            evaltrail(&home(&workspace))
                .args(["export", "last", "-o", file])
                .env("SERVICE_TOKEN", "canary-from-the-environment")
                .current_dir(workspace.path()),
        );
        assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
        std::fs::read_to_string(workspace.path().join(file)).unwrap()
    };
    for (file, beginning) in [
        ("report.html", "<!doctype html>"),
        ("report.md", "## "),
        ("report.xml", "<?xml"),
        ("report.json", "{"),
        ("report.csv", "eval_set,"),
    ] {
        let report = export(file);
        assert!(report.starts_with(beginning), "{file}: {report:.200}");
        assert!(report.contains("rows"), "{file}: {report}");
        let secret = report.find("canary").map(|at| &report[at..at + 40]);
        assert_eq!(secret, None, "{file}");
    }
    let listed = both(&run(&workspace, &["list"]));
    assert!(!listed.contains("report."), "no data set: {listed}");
}

#[cfg(unix)]
#[test]
fn an_exported_run_shows_the_same_elsewhere() {
    use crate::common::terminal::Terminal;
    let workspace = workspace_with_secrets();
    exported(&workspace);
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("from-ci.evaltrail");
    std::fs::copy(workspace.path().join("run.evaltrail"), &file).unwrap();
    let open = |args: &[&str]| {
        let file = file.display().to_string();
        let args: Vec<&str> = ["open", &file]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        Terminal::start(
            env!("CARGO_BIN_EXE_evaltrail"),
            &args,
            elsewhere.path(),
            (150, 42),
        )
    };
    let mut there = open(&[]);
    there.wait_for("✓ 15  ✗ 5");
    there.wait_for("past foreign run ");
    let path = workspace.path().display().to_string();
    let mut here = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&path],
        &home(&workspace),
        (150, 42),
    );
    here.wait_for("✓ 15  ✗ 5");
    // The same list, case and causes.
    let cases = |screen: &str| -> Vec<String> {
        let rows = screen.lines().filter_map(|line| line.split("││").nth(1));
        rows.filter(|row| row.contains("case_"))
            .map(str::to_string)
            .collect()
    };
    assert_eq!(cases(&there.screen()).len(), 20, "{}", there.screen());
    let listed = cases(&there.screen());
    here.wait_until("the same list", |screen| cases(screen) == listed);
    there.keys("F");
    there.wait_for("share 2 causes");
    there.keys("\x1b");
    there.wait_until("the dialog is closed", |screen| {
        !screen.contains("share 2 causes")
    });
    there.keys("q");
    assert_eq!(there.wait_for_end(), 0);
    here.keys("q");
    here.wait_for_end();
    let mut one = open(&["case_005"]);
    one.wait_for("case_005  ✗ failed");
    one.keys("q");
    one.wait_for("✓ 15  ✗ 5");
    one.keys("q");
    assert_eq!(one.wait_for_end(), 0);
}

#[test]
fn a_file_that_is_no_exported_run_is_refused() {
    let workspace = workspace_with_secrets();
    exported(&workspace);
    let packed = std::fs::read(workspace.path().join("run.evaltrail")).unwrap();
    let gz = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let open = |bytes: &[u8]| {
        let file = workspace.path().join("x.evaltrail");
        std::fs::write(&file, bytes).unwrap();
        run(&workspace, &["open", "x.evaltrail"])
    };
    for (bytes, why) in [
        (
            b"not gzip".to_vec(),
            "it is not a run that was written by evaltrail export",
        ),
        (
            gz("{}\n"),
            "it is not a run that was written by evaltrail export",
        ),
        (
            gz("{\"evaltrail_run\": 9, \"run_id\": \"a\"}\n{}\n"),
            "newer evaltrail",
        ),
        (
            gz("{\"evaltrail_run\": 1, \"run_id\": \"../../up\"}\n{}\n"),
            "the id of the run is not valid",
        ),
        (
            gz("{\"evaltrail_run\": 1, \"run_id\": \"a\"}\n"),
            "the file is damaged or incomplete",
        ),
        (
            packed[..packed.len() / 2].to_vec(),
            "the file is damaged or incomplete",
        ),
    ] {
        let refused = open(&bytes);
        assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
        assert!(both(&refused).contains(why), "{why}: {}", both(&refused));
    }
    assert!(!Path::new("/tmp/up").exists());
}

/// Otherwise a run could be deleted that is not meant.
#[test]
fn run_name_is_unique_export_needs_force() {
    let workspace = workspace_with_two_runs();
    let ids = ids(&workspace);
    let beginning = &ids[1][..4];
    let refused = run(&workspace, &["runs", "name", &ids[0], beginning]);
    assert_eq!(refused.status.code(), Some(2));
    let why = format!("{beginning}: the id of run {} begins with it", ids[1]);
    assert!(both(&refused).contains(&why), "{}", both(&refused));
    assert_eq!(
        run(&workspace, &["runs", "name", &ids[0], " before "])
            .status
            .code(),
        Some(0)
    );
    let refused = run(&workspace, &["runs", "name", &ids[1], "before"]);
    assert!(
        both(&refused).contains(&format!("before: run {} has this name", ids[0])),
        "{}",
        both(&refused)
    );
    // A label that another machine wrote.
    let label = json!({"run": ids[1], "name": "before", "pinned": false});
    let labels = workspace.path().join(".evaltrail/run_labels.jsonl");
    let known = std::fs::read_to_string(&labels).unwrap();
    std::fs::write(&labels, format!("{known}{label}\n")).unwrap();
    let refused = run(&workspace, &["runs", "delete", "before"]);
    assert!(
        both(&refused).contains("\"before\" stands for more than one run"),
        "{}",
        both(&refused)
    );
    let file = workspace.path().join("notes.evaltrail");
    std::fs::write(&file, "mine").unwrap();
    let refused = run(&workspace, &["export", &ids[0], "-o", "notes.evaltrail"]);
    assert!(
        both(&refused).contains("notes.evaltrail: the file exists already; --force replaces it")
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let forced = run(
        &workspace,
        &["export", &ids[0], "-o", "notes.evaltrail", "--force"],
    );
    assert_eq!(forced.status.code(), Some(0));
    assert_ne!(std::fs::read(&file).unwrap(), b"mine");
    // Not even with --force is a data set replaced by a run.
    let other = run(
        &workspace,
        &["export", &ids[0], "-o", "rows.jsonl", "--force"],
    );
    assert!(both(&other).contains(".jsonl is not a format of reports"));
}

/// Every kind of file that evaltrail writes, opened by its name.
#[cfg(unix)]
#[test]
fn own_files_open_or_suggest_a_command() {
    use crate::common::terminal::Terminal;
    let workspace = workspace_with_two_runs();
    let mut args = SCORE.to_vec();
    let reports = [
        "json=r.json",
        "evaluation-result=e.json",
        "vertex-summary=v.json",
        "vertex=t.jsonl",
        "csv=c.csv",
    ];
    reports
        .iter()
        .for_each(|report| args.extend(["--report", report]));
    let ran = run(&workspace, &args);
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    let id = ids(&workspace).remove(0);
    let journal = format!(".evaltrail/runs/{id}/journal.jsonl");
    exported(&workspace);
    // Without a terminal, a file of a run is found to be one.
    for file in ["r.json", "e.json", &journal, "run.evaltrail"] {
        for args in [&["open", file][..], &[file]] {
            let ran = run(&workspace, args);
            assert_eq!(ran.status.code(), Some(2));
            assert!(
                both(&ran).contains("without one, use the reports of the run"),
                "{file}: {}",
                both(&ran)
            );
        }
    }
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[&workspace.path().join("r.json").display().to_string()],
        &home(&workspace),
        (150, 40),
    );
    terminal.wait_for("✓ 16  ✗ 4");
    terminal.keys("q");
    terminal.wait_for_end();
    let recording = "{\"eval_id\": \"a\", \"turns\": []}\n";
    std::fs::write(workspace.path().join("recording.jsonl"), recording).unwrap();
    let of_adk = json!({"eval_set_result_id": "x", "eval_set_id": "s", "eval_case_results": []});
    std::fs::write(
        workspace.path().join("x.evalset_result.json"),
        of_adk.to_string(),
    )
    .unwrap();
    for (file, words) in [
        (
            "v.json",
            "is a report of evaltrail that does not name its run: `evaltrail runs` lists",
        ),
        (
            "t.jsonl",
            "is a report of evaltrail that does not name its run",
        ),
        (
            "c.csv",
            "is a report of evaltrail that does not name its run",
        ),
        (
            "recording.jsonl",
            "is a recording of agents: `evaltrail run SET --agent replay:recording.jsonl`",
        ),
        (
            "x.evalset_result.json",
            "is a result of ADK: `evaltrail` opens it with H",
        ),
    ] {
        for args in [&["open", file][..], &[file]] {
            let ran = run(&workspace, args);
            assert_eq!(ran.status.code(), Some(2), "{file}: {}", both(&ran));
            assert!(both(&ran).contains(words), "{file}: {}", both(&ran));
        }
    }
    // A report of a run that is stored elsewhere.
    let elsewhere = TestWorkspace::new(&[]);
    std::fs::copy(
        workspace.path().join("r.json"),
        elsewhere.path().join("r.json"),
    )
    .unwrap();
    let ran = run(&elsewhere, &["open", "r.json"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(
        both(&ran).contains(&format!("is of run {id}, which is not stored here")),
        "{}",
        both(&ran)
    );
}

/// With few open files the list is the same, or says what is missing.
#[cfg(unix)]
#[test]
fn low_fd_limit_hides_no_result_silently() {
    let workspace = workspace_with_two_runs();
    let runs = workspace.path().join(".evaltrail/runs");
    let first = ids(&workspace).remove(0);
    for at in 0..150 {
        let copy = runs.join(format!("copy{at}"));
        std::fs::create_dir(&copy).unwrap();
        for file in ["journal.jsonl", "run.json"] {
            std::fs::copy(runs.join(&first).join(file), copy.join(file)).unwrap();
        }
    }
    let list = |limit: Option<u32>| {
        let _ = std::fs::remove_dir_all(home(&workspace).join("cache"));
        let limit = limit
            .map(|limit| format!("ulimit -n {limit}; "))
            .unwrap_or_default();
        let listed = evaltrail(&home(&workspace));
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &format!("{limit}exec \"$0\" list --cases .")])
            .arg(listed.get_program());
        shell
            .env("EVALTRAIL_HOME", home(&workspace))
            .current_dir(workspace.path());
        output(&mut shell)
    };
    let all = list(None);
    assert!(text(&all).contains("16/20 passed"), "{}", both(&all));
    assert_eq!(both(&list(Some(128))), both(&all));
    for limit in [24, 16, 12, 10, 8, 6] {
        let few = list(Some(limit));
        assert!(
            !few.stderr.is_empty() || text(&few) == text(&all),
            "with {limit}: {}",
            both(&few)
        );
    }
}

/// A run that cannot be read is not taken for one that is not there.
#[test]
fn unreadable_run_is_not_treated_as_absent() {
    let workspace = workspace_with_two_runs();
    for id in ids(&workspace) {
        let plan = workspace
            .path()
            .join(".evaltrail/runs")
            .join(&id)
            .join("run.json");
        let text = std::fs::read_to_string(&plan).unwrap();
        std::fs::write(&plan, text.replacen("\"format\": 4", "\"format\": 99", 1)).unwrap();
    }
    let listed = run(&workspace, &["list"]);
    assert_eq!(listed.status.code(), Some(0), "{}", both(&listed));
    assert_eq!(
        both(&listed).matches("results cannot be read: ").count(),
        2,
        "{}",
        both(&listed)
    );
    let json: Value = serde_json::from_str(&text(&run(&workspace, &["list", "--json"]))).unwrap();
    assert_eq!(
        json["unreadable"].as_array().map(Vec::len),
        Some(2),
        "{json}"
    );
    let mut args = SCORE.to_vec();
    args.push("--failed");
    let failed = run(&workspace, &args);
    assert_eq!(failed.status.code(), Some(2), "{}", both(&failed));
    assert!(
        both(&failed).contains("--failed: rows.jsonl has no results that can be read"),
        "{}",
        both(&failed)
    );
}
