//! Runs that several machines execute in parts: `--shard` and `evaltrail merge`.
#![cfg(unix)]

use crate::common::{TestWorkspace, both, evaltrail, output, text, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

/// A folder with answers to score: some are right, some are not, and one has no response.
pub(crate) fn answers(count: usize) -> TestWorkspace {
    let row = |at: usize| {
        let call = |n: usize| json!([{"tool_name": "t", "tool_input": {"n": n}}]);
        let mut row = json!({"eval_case_id": format!("case_{at}"), "prompt": "go", "reference": "done it",
            "reference_trajectory": call(at), "predicted_trajectory": call(at - at % 3), "latency_in_seconds": at});
        if at != 5 {
            row["response"] = "done it".into();
        }
        format!("{row}\n")
    };
    let config = json!({"criteria": {"trajectory_exact_match": 1.0, "response_match_score": 0.8}});
    TestWorkspace::new(&[
        ("answers.jsonl", (0..count).map(row).collect()),
        ("test_config.json", config.to_string()),
        ("evaltrail.toml", String::new()),
    ])
}

/// Scores the answers of a folder, or a part of them.
fn score(workspace: &Path, arguments: &[&str]) -> Output {
    let mut command = evaltrail(workspace);
    output(
        command
            .current_dir(workspace)
            .args(["score", "answers.jsonl", "-q"])
            .args(arguments),
    )
}

fn merge(workspace: &Path, arguments: &[&str]) -> Output {
    output(
        evaltrail(workspace)
            .current_dir(workspace)
            .arg("merge")
            .args(arguments),
    )
}

/// The ids of the cases of a JSON report.
fn ids(report: &Value) -> BTreeSet<String> {
    let cases = report["cases"].as_array().unwrap();
    cases
        .iter()
        .map(|case| case["eval_id"].as_str().unwrap().to_string())
        .collect()
}

/// A report without times, ids of runs and durations.
pub(crate) fn comparable(report: &str, run: &str) -> String {
    const TIMES: [&str; 4] = ["\"started\"", "\"duration_s\"", "timestamp=", "time="];
    let without_times =
        |line: &str| match TIMES.iter().find_map(|time| Some((time, line.find(time)?))) {
            None => line.to_string(),
            Some((time, at)) => {
                let rest = &line[at + time.len()..];
                let value = rest
                    .split([' ', ',', '>'])
                    .find(|value| !value.trim_matches([':', ' ']).is_empty());
                line.replacen(value.unwrap_or_default(), "…", 1)
            }
        };
    let lines: Vec<String> = report
        .replace(run, "RUN")
        .lines()
        .map(without_times)
        .collect();
    lines.join("\n")
}

fn run_ids(workspace: &Path) -> Vec<String> {
    let listed = output(
        evaltrail(workspace)
            .current_dir(workspace)
            .args(["runs", "--json"]),
    );
    let listed: Value = serde_json::from_str(&text(&listed)).unwrap();
    listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run_id"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn ten_merged_shards_equal_one_run() {
    for by in ["slice", "hash", "time"] {
        let workspace = answers(33);
        let reports =
            |name: &str| ["json", "junit", "csv"].map(|format| format!("{format}={name}.{format}"));
        let with = |name: &str| {
            reports(name)
                .iter()
                .flat_map(|to| ["--report".to_string(), to.clone()])
                .collect()
        };
        let one: Vec<String> = with("one");
        // The times of this run decide how the cases are split by time.
        let whole = score(
            workspace.path(),
            &one.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        assert_eq!(whole.status.code(), Some(1), "{}", both(&whole));
        let one_id = run_ids(workspace.path())[0].clone();
        let mut sizes = Vec::new();
        for number in 1..=10 {
            let shard = format!("{number}/10:{by}");
            // Shards start in any order, and in folders of their own, without the results of the others.
            let part = score(workspace.path(), &["--shard", &shard, "--json"]);
            let report: Value = serde_json::from_str(&text(&part)).unwrap();
            sizes.push(ids(&report).len());
            move_runs(
                workspace.path(),
                &[&one_id],
                &workspace.path().join(format!("artefacts/{number}")),
            );
        }
        assert_eq!(sizes.iter().sum::<usize>(), 33, "{by}: {sizes:?}");
        if by == "slice" {
            assert_eq!(sizes, [4, 4, 4, 3, 3, 3, 3, 3, 3, 3]);
        }
        let all: Vec<String> = with("merged");
        let arguments: Vec<&str> = ["artefacts"]
            .into_iter()
            .chain(all.iter().map(String::as_str))
            .collect();
        let merged = merge(workspace.path(), &arguments);
        assert_eq!(
            merged.status.code(),
            Some(1),
            "some failed: {}",
            both(&merged)
        );
        assert!(
            both(&merged).contains("merged 10 of 10 shards: 33 of 33 cases"),
            "{}",
            both(&merged)
        );
        let merged_id = run_ids(workspace.path())
            .into_iter()
            .find(|id| *id != one_id)
            .unwrap();
        for format in ["json", "junit", "csv"] {
            let read = |name: &str, run: &str| {
                let report =
                    std::fs::read_to_string(workspace.path().join(format!("{name}.{format}")))
                        .unwrap();
                comparable(&report, run)
            };
            similar_asserts(
                &read("one", &one_id),
                &read("merged", &merged_id),
                by,
                format,
            );
        }
    }
}

pub(crate) fn similar_asserts(one: &str, merged: &str, by: &str, format: &str) {
    let differing = one
        .lines()
        .zip(merged.lines())
        .find(|(one, merged)| one != merged);
    assert_eq!(differing, None, "{format}, by {by}");
    assert_eq!(
        one.lines().count(),
        merged.lines().count(),
        "{format}, by {by}"
    );
}

/// Moves the runs of a workspace elsewhere, but for some.
fn move_runs(workspace: &Path, stay: &[&str], to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(workspace.join(".evaltrail/runs")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if !stay.contains(&name.as_str()) {
            std::fs::rename(entry.path(), to.join(&name)).unwrap();
        }
    }
}

/// Scores three shards, each in a folder `artefacts/N`, and returns the journals.
fn three_shards(workspace: &Path) -> Vec<PathBuf> {
    let journal = |number: u32| {
        score(workspace, &["--shard", &format!("{number}/3")]);
        let to = workspace.join(format!("artefacts/{number}"));
        move_runs(workspace, &[], &to);
        let run = std::fs::read_dir(&to).unwrap().next().unwrap().unwrap();
        run.path().join("journal.jsonl")
    };
    (1..=3).map(journal).collect()
}

#[test]
fn merge_reports_missing_shard_and_its_cases() {
    let workspace = answers(10);
    three_shards(workspace.path());
    std::fs::remove_dir_all(workspace.path().join("artefacts/2")).unwrap();
    let merged = merge(
        workspace.path(),
        &["artefacts", "--max-failures", "100", "--json"],
    );
    assert_eq!(
        merged.status.code(),
        Some(1),
        "what was not run is not successful"
    );
    let said = String::from_utf8_lossy(&merged.stderr).into_owned();
    assert!(
        said.contains("merged 2 of 3 shards: 7 of 10 cases\nshard 2 of 3 not found\n"),
        "{said}"
    );
    assert!(
        said.contains("not run, or not all their attempts: case_1, case_4, case_7\n"),
        "{said}"
    );
    let report: Value = serde_json::from_str(&text(&merged)).unwrap();
    let missing = ["case_1", "case_4", "case_7"]
        .map(|id| json!({"eval_set": "answers", "file": "answers.jsonl", "eval_id": id}));
    assert_eq!(report["not_run"], json!(missing));
    assert_eq!(run_ids(workspace.path()).len(), 1);
}

#[test]
fn merge_reads_damaged_shard_journals() {
    let workspace = answers(12);
    let journals = three_shards(workspace.path());
    let lines = |journal: &Path| -> Vec<String> {
        std::fs::read_to_string(journal)
            .unwrap()
            .lines()
            .map(str::to_string)
            .collect()
    };
    // Torn in its last result, with the mark of the end lost.
    let torn = lines(&journals[0])[..4].join("\n");
    std::fs::write(&journals[0], &torn[..torn.len() - 10]).unwrap();
    // Doubled lines count once, and their order does not matter.
    let mut doubled = lines(&journals[1]);
    doubled.extend(lines(&journals[1]));
    doubled.reverse();
    std::fs::write(&journals[1], doubled.join("\n") + "\n").unwrap();
    let merged = merge(workspace.path(), &["artefacts", "--json"]);
    let said = String::from_utf8_lossy(&merged.stderr).into_owned();
    assert!(
        said.contains("the last line of its journal is incomplete, and is ignored"),
        "{said}"
    );
    assert!(
        said.contains("merged 3 of 3 shards: 11 of 12 cases"),
        "{said}"
    );
    // Shard 1 is run again, and both runs are merged.
    score(workspace.path(), &["--shard", "1/3"]);
    let again = merge(
        workspace.path(),
        &["artefacts", ".evaltrail/runs", "--json"],
    );
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(said.contains("shard 1 was run 2 times"), "{said}");
    assert!(
        said.contains("merged 3 of 3 shards: 12 of 12 cases"),
        "{said}"
    );
    let report: Value = serde_json::from_str(&text(&again)).unwrap();
    assert_eq!(ids(&report).len(), 12);
    let of_case = |id: &str| {
        report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|case| case["eval_id"] == id)
            .count()
    };
    assert_eq!((of_case("case_0"), of_case("case_1")), (1, 1));
}

#[test]
fn shards_of_different_plans_are_refused() {
    let workspace = answers(6);
    score(workspace.path(), &["--shard", "1/2"]);
    std::fs::write(
        workspace.path().join("test_config.json"),
        json!({"criteria": {"response_match_score": 0.5}}).to_string(),
    )
    .unwrap();
    score(workspace.path(), &["--shard", "2/2"]);
    let refused = merge(workspace.path(), &[".evaltrail/runs"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        both(&refused).contains("are not shards of one run: the criteria"),
        "{}",
        both(&refused)
    );
    let other = answers(6);
    score(other.path(), &["--shard", "1/2"]);
    score(other.path(), &["--shard", "2/3"]);
    let refused = merge(other.path(), &[".evaltrail/runs"]);
    assert!(
        both(&refused).contains("shard 1 of 2, by slice and shard 2 of 3, by slice"),
        "{}",
        both(&refused)
    );
    let nothing = merge(other.path(), &["answers.jsonl"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", both(&nothing));
}

#[test]
fn shard_is_read_from_ci_and_can_be_empty() {
    let workspace = answers(3);
    let mut command = evaltrail(workspace.path());
    command.current_dir(workspace.path()).args([
        "score",
        "answers.jsonl",
        "--shard",
        "auto",
        "--json",
    ]);
    let asked = output(command.env("CI_NODE_INDEX", "2").env("CI_NODE_TOTAL", "2"));
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(
        said.contains("--shard auto: 2/2, from CI_NODE_INDEX and CI_NODE_TOTAL of GitLab"),
        "{said}"
    );
    let report: Value = serde_json::from_str(&text(&asked)).unwrap();
    assert_eq!(ids(&report), BTreeSet::from(["case_1".to_string()]));
    let unknown = score(workspace.path(), &["--shard", "auto"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        both(&unknown).contains("set EVALTRAIL_SHARD=K/N"),
        "{}",
        both(&unknown)
    );
    let empty = score(workspace.path(), &["--shard", "4/4"]);
    assert_eq!(empty.status.code(), Some(0), "{}", both(&empty));
    assert!(
        both(&empty).contains("shard 4 of 4, by slice: 0 of 3 cases"),
        "{}",
        both(&empty)
    );
}

/// The errors that evaltrail printed.
fn said(run: &Output) -> String {
    String::from_utf8_lossy(&run.stderr).into_owned()
}

#[test]
fn file_unreadable_by_all_shards_fails_merge() {
    let workspace = answers(4);
    std::fs::write(workspace.path().join("broken.evalset.json"), b"\xff").unwrap();
    for number in 1..=2 {
        let mut command = evaltrail(workspace.path());
        command.current_dir(workspace.path()).args([
            "score",
            "answers.jsonl",
            "broken.evalset.json",
            "-q",
        ]);
        output(command.args(["--shard", &format!("{number}/2")]));
    }
    let merged = merge(
        workspace.path(),
        &[".evaltrail/runs", "--max-failures", "9"],
    );
    assert_eq!(merged.status.code(), Some(2), "{}", both(&merged));
    assert!(
        said(&merged).contains("broken.evalset.json: "),
        "{}",
        said(&merged)
    );
}

#[test]
fn time_shards_contain_every_case_once() {
    let workspace = answers(11);
    score(workspace.path(), &[]);
    for number in 1..=3 {
        score(workspace.path(), &["--shard", &format!("{number}/3:time")]);
    }
    // Where the times differ, so does the split, which is refused.
    let other = answers(11);
    score(other.path(), &["--shard", "1/3:time"]);
    move_runs(other.path(), &[], &workspace.path().join("mixed"));
    let own = std::fs::read_dir(workspace.path().join(".evaltrail/runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let own: Vec<PathBuf> = own
        .filter(|run| run.join("whole_plan.json").exists())
        .collect();
    let refused = merge(workspace.path(), &["mixed", own[0].to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said(&refused).contains("split by the times of different earlier results"),
        "{}",
        said(&refused)
    );
    let merged = merge(workspace.path(), &[".evaltrail/runs"]);
    assert!(
        said(&merged).contains("merged 3 of 3 shards: 11 of 11 cases"),
        "{}",
        said(&merged)
    );
}

#[test]
fn merged_shards_do_not_replace_missing_ones() {
    let workspace = answers(6);
    let shard = |number: u32| score(workspace.path(), &["--shard", &format!("{number}/3")]);
    (1..=3).for_each(|number| drop(shard(number)));
    merge(workspace.path(), &[".evaltrail/runs"]);
    shard(1);
    shard(2);
    let merged = merge(
        workspace.path(),
        &[".evaltrail/runs", "--max-failures", "9"],
    );
    assert_eq!(merged.status.code(), Some(1), "{}", both(&merged));
    assert!(
        said(&merged).contains("3 runs of shards are left out: they are merged already"),
        "{}",
        said(&merged)
    );
    assert!(
        said(&merged).contains("shard 3 of 3 not found"),
        "{}",
        said(&merged)
    );
    // The merged run is resumed, and stays the one that contains the shards.
    let resumed = run_ids(workspace.path())[0].clone();
    let mut command = evaltrail(workspace.path());
    command
        .current_dir(workspace.path())
        .args(["runs", "--json"]);
    let listed: Value = serde_json::from_str(&text(&output(&mut command))).unwrap();
    let run = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["run_id"] == resumed.as_str())
        .unwrap();
    assert_eq!(run["merged"].as_array().unwrap().len(), 2);
    // Those that are named are merged again.
    let run = |path: PathBuf| {
        path.join("whole_plan.json")
            .exists()
            .then(|| path.display().to_string())
    };
    let runs = std::fs::read_dir(workspace.path().join(".evaltrail/runs")).unwrap();
    let named: Vec<String> = runs
        .filter_map(|entry| run(entry.unwrap().path()))
        .collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(named.len(), 5);
    let again = merge(workspace.path(), &named);
    assert!(
        said(&again).contains("merged 3 of 3 shards: 6 of 6 cases"),
        "{}",
        said(&again)
    );
}

#[test]
fn shards_of_the_newest_job_are_merged() {
    let workspace = answers(4);
    let shard = |job: &str, number: u32| {
        let mut command = evaltrail(workspace.path());
        command
            .current_dir(workspace.path())
            .env("EVALTRAIL_JOB", job);
        output(command.args([
            "score",
            "answers.jsonl",
            "-q",
            "--shard",
            &format!("{number}/2"),
        ]))
    };
    shard("1", 1);
    shard("1", 2);
    shard("2", 1);
    let merged = merge(
        workspace.path(),
        &[".evaltrail/runs", "--max-failures", "9"],
    );
    assert!(
        said(&merged).contains("2 runs of shards are left out"),
        "{}",
        said(&merged)
    );
    assert!(
        said(&merged).contains("(EVALTRAIL_JOB 2)\nmerged 1 of 2 shards"),
        "{}",
        said(&merged)
    );
    assert_eq!(merged.status.code(), Some(1));
}

#[test]
fn merge_accepts_copies_and_foreign_shards() {
    let workspace = answers(9);
    three_shards(workspace.path());
    // A copy from before the run was complete.
    let run = std::fs::read_dir(workspace.path().join("artefacts/1"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let early = workspace
        .path()
        .join("artefacts/0")
        .join(run.file_name().unwrap());
    std::fs::create_dir_all(&early).unwrap();
    for name in ["run.json", "whole_plan.json", "journal.jsonl"] {
        let text = std::fs::read_to_string(run.join(name)).unwrap();
        let kept = if name == "journal.jsonl" {
            text.lines().next().unwrap().to_string() + "\n"
        } else {
            text
        };
        std::fs::write(early.join(name), kept).unwrap();
    }
    // As another user, whose key did not sign the shards.
    let home = tempfile::tempdir().unwrap();
    let mut command = evaltrail(home.path());
    let merged = output(
        command
            .current_dir(workspace.path())
            .args(["merge", "artefacts"]),
    );
    assert!(
        said(&merged).contains("merged 3 of 3 shards: 9 of 9 cases\n"),
        "{}",
        said(&merged)
    );
    assert!(
        said(&merged).contains("4 of 4 runs were not recorded by you"),
        "{}",
        said(&merged)
    );
    assert!(
        !said(&merged).contains("damaged") && !said(&merged).contains("was run 2 times"),
        "{}",
        said(&merged)
    );
}

#[test]
fn hostile_shards_are_refused() {
    let attack = |file: &str, change: &dyn Fn(&mut Value)| {
        let workspace = answers(4);
        for number in 1..=2 {
            score(workspace.path(), &["--shard", &format!("{number}/2")]);
        }
        for run in std::fs::read_dir(workspace.path().join(".evaltrail/runs")).unwrap() {
            let path = run.unwrap().path().join(file);
            let mut value: Value =
                serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            change(&mut value);
            std::fs::write(&path, value.to_string()).unwrap();
        }
        let merged = merge(
            workspace.path(),
            &[".evaltrail/runs", "--max-failures", "9"],
        );
        (
            merged.status.code(),
            both(&merged),
            run_ids(workspace.path()).len(),
        )
    };
    for (file, change, words) in [
        (
            "run.json",
            &(|run: &mut Value| run["options"]["shard"]["of"] = 4_000_000_000_u32.into())
                as &dyn Fn(&mut Value),
            "which shard it is",
        ),
        (
            "run.json",
            &|run| run["options"]["shard"]["number"] = 0.into(),
            "which shard it is",
        ),
        (
            "run.json",
            &|run| run["run_id"] = "../../x".into(),
            "not one of evaltrail's",
        ),
        (
            "run.json",
            &|run| run["started"] = "yesterday".into(),
            "when it started",
        ),
        (
            "whole_plan.json",
            &|whole| whole["plan"]["sets"][0]["path"] = "/etc/passwd".into(),
            "outside of the workspace",
        ),
        (
            "whole_plan.json",
            &|whole| whole["plan"]["sets"][0]["path"] = "../x.jsonl".into(),
            "outside of the workspace",
        ),
        (
            "whole_plan.json",
            &|whole| whole["plan"]["cases"][0]["set"] = 7.into(),
            "refers to set 7",
        ),
        (
            "whole_plan.json",
            &|whole| whole["plan"]["options"]["repeat"] = 0.into(),
            "it has 0 attempts",
        ),
        (
            "whole_plan.json",
            &|whole| whole["plan"]["options"]["repeat"] = 4_000_000_000_u32.into(),
            "attempts",
        ),
    ] {
        let (code, said, runs) = attack(file, change);
        assert_eq!((code, runs), (Some(2), 2), "{words}: {said}");
        assert!(said.contains(words), "{words}: {said}");
    }
    let (code, said, _) = attack("run.json", &|run| {
        run["options"]["repeat"] = u32::MAX.into()
    });
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("it has 8589934590 attempts; at most 5000000 are possible"),
        "{said}"
    );
    // What a shard says about repetitions does not count.
    let (code, said, _) = attack("run.json", &|run| run["options"]["repeat"] = 0.into());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("0 of 4 cases"), "{said}");
}

#[test]
fn unmerged_shards_survive_run_cleanup() {
    let workspace = answers(8);
    std::fs::write(
        workspace.path().join("evaltrail.toml"),
        "[history]\nkeep = 1\n",
    )
    .unwrap();
    for number in 1..=4 {
        score(workspace.path(), &["--shard", &format!("{number}/4")]);
    }
    assert_eq!(run_ids(workspace.path()).len(), 4);
    merge(workspace.path(), &[".evaltrail/runs"]);
    let listed = text(&output(
        evaltrail(workspace.path())
            .current_dir(workspace.path())
            .arg("runs"),
    ));
    assert!(
        listed.contains("merged from 4 runs") && listed.contains("shard 3 of 4, by slice"),
        "{listed}"
    );
    // Neither in the trends nor in the way any more.
    score(workspace.path(), &[]);
    assert_eq!(run_ids(workspace.path()).len(), 1);
}

#[test]
fn old_runs_beyond_the_size_are_removed() {
    let workspace = answers(2);
    std::fs::write(
        workspace.path().join("evaltrail.toml"),
        "[history]\nmax_mb = 1\n",
    )
    .unwrap();
    let run = || {
        let before = run_ids(workspace.path());
        let told = score(workspace.path(), &[]);
        let new = run_ids(workspace.path());
        let new = new.into_iter().find(|id| !before.contains(id)).unwrap();
        (new, both(&told))
    };
    let grow = |id: &str| {
        let file = workspace
            .path()
            .join(".evaltrail/runs")
            .join(id)
            .join("large");
        std::fs::write(file, vec![0; 2_000_000]).unwrap();
    };
    let (first, told) = run();
    assert!(!told.contains("max_mb"), "{told}");
    grow(&first);
    let (second, told) = run();
    assert!(
        told.contains("1 run was removed") && told.contains("at most 50 runs and 1 MB are kept"),
        "{told}"
    );
    assert_eq!(run_ids(workspace.path()), [second.as_str()]);
    // The newest run of all cases is kept beside a newer one of a single case.
    grow(&second);
    let one = score(workspace.path(), &["--filter", "id:case_1"]);
    assert!(
        both(&one).contains("the runs in .evaltrail have 3 MB; more than [history] max_mb = 1"),
        "{}",
        both(&one)
    );
    assert_eq!(run_ids(workspace.path()).len(), 2);
    let pinned = output(
        evaltrail(workspace.path())
            .current_dir(workspace.path())
            .args(["runs", "pin", &second]),
    );
    assert!(pinned.status.success(), "{}", text(&pinned));
    let (third, told) = run();
    let kept = run_ids(workspace.path());
    assert!(kept.contains(&second) && kept.contains(&third), "{kept:?}");
    assert!(
        told.contains("the runs in .evaltrail have 3 MB; more than [history] max_mb = 1"),
        "{told}"
    );
}

#[test]
fn the_system_can_end_a_shard_and_it_is_resumed() {
    let case = |id: &str| json!({"eval_id": id, "conversation": [{"user_content": {"role": "user", "parts": [{"text": id}]}}]});
    let set = json!({"eval_set_id": "s", "eval_cases": [case("a"), case("b"), case("c")]});
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set.to_string()),
        ("test_config.json", json!({"criteria": {"tool_trajectory_avg_score": 1.0}}).to_string()),
        ("evaltrail.toml", String::new()),
        // The first case is answered at once, the others never, until the file `fast` is there.
        ("slow", "#!/bin/sh\nread request\ncase \"$request\" in *'\"a\"'*) ;; *) touch began; while [ ! -e fast ]; do sleep 0.05; done;; esac\necho '{\"response\": \"ok\", \"predicted_trajectory\": []}'\n".into()),
    ]);
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(
        workspace.path().join("slow"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let command = |arguments: &[&str]| {
        let mut command = evaltrail(workspace.path());
        command.current_dir(workspace.path()).args([
            "run",
            "s.evalset.json",
            "--agent",
            "cmd:./slow",
            "--trust",
            "-j",
            "1",
        ]);
        command.args(["--shard", "1/1"]).args(arguments);
        command
    };
    let child = command(&[])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the second case", Duration::from_secs(30), || {
        workspace.path().join("began").exists().then_some(())
    });
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", both(&ended));
    assert!(
        both(&ended).contains("1 passed, 2 not run"),
        "{}",
        both(&ended)
    );
    std::fs::write(workspace.path().join("fast"), "").unwrap();
    let resumed = output(&mut command(&["--resume"]));
    assert!(both(&resumed).contains("1 of 3 done"), "{}", both(&resumed));
    assert_eq!(resumed.status.code(), Some(0), "{}", both(&resumed));
    let merged = merge(workspace.path(), &[".evaltrail/runs"]);
    assert_eq!(merged.status.code(), Some(0), "{}", both(&merged));
}
