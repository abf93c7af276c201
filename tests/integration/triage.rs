//! Triage of the failures of a run: 200 cases, of which 40 fail for six planted causes.

use crate::common::{Place, both, evaltrail, output, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The planted causes, in the words of the groups.
const CAUSES: [&str; 6] = [
    "set_light is not called",
    "level of set_light differs",
    "log is called and not expected",
    "device of set_light differs",
    "find is called at another position",
    "find is not called",
];

/// The planted cause of a case, by its position in [`CAUSES`]: every fifth case fails.
fn planted(case: usize) -> Option<usize> {
    case.is_multiple_of(5).then_some(case / 5 % CAUSES.len())
}

fn id(case: usize) -> String {
    format!("case_{case:03}")
}

fn row(case: usize) -> Value {
    let call = |tool: &str, input: Value| json!({"tool_name": tool, "tool_input": input});
    let find = || call("find", json!({"room": format!("r{case}")}));
    let light = |device: String, level: usize| call("set_light", json!({"device": device, "level": level}));
    let right = || light(format!("d{case}"), case % 7);
    let actual = match planted(case).map(|cause| CAUSES[cause]) {
        None => vec![find(), right()],
        Some("set_light is not called") => vec![find()],
        Some("level of set_light differs") => vec![find(), light(format!("d{case}"), 99 + case)],
        Some("log is called and not expected") => vec![find(), right(), call("log", json!({"x": case}))],
        Some("device of set_light differs") => vec![find(), light(format!("wrong{case}"), case % 7)],
        Some("find is called at another position") => vec![right(), find()],
        Some(_) => Vec::new(),
    };
    json!({
        "eval_id": id(case), "prompt": format!("do {case}"), "response": "done", "reference": "done",
        "reference_trajectory": [find(), right()], "predicted_trajectory": actual,
    })
}

fn place() -> Place {
    let rows: String = (0..200).map(|case| format!("{}\n", row(case))).collect();
    Place::new(&[("rows.jsonl", rows)])
}

fn members(cause: usize) -> Vec<String> {
    (0..200).filter(|case| planted(*case) == Some(cause)).map(id).collect()
}

#[test]
fn a_run_ends_with_its_causes_and_reports_name_every_member() {
    let place = place();
    let report = |name: &str| place.path().join(name).display().to_string();
    let ran = output(
        evaltrail(&place.path().join("home"))
            .args(["score", "--metric", "trajectory_exact_match:1", "rows.jsonl"])
            .args(["--report", &format!("json={}", report("r.json"))])
            .args(["--report", &format!("markdown={}", report("r.md"))])
            .args(["--report", &format!("html={}", report("r.html"))])
            .current_dir(place.path()),
    );
    let said = text(&ran);
    let end = said.split("not passed\n").nth(1).unwrap_or_else(|| panic!("{}", both(&ran)));
    assert!(end.starts_with("40 of 40 cases that did not pass share 6 causes\n"), "{end}");
    for (at, cause) in CAUSES.iter().enumerate() {
        let block = end.split(&format!("✗ {} × {cause}\n", members(at).len())).nth(1);
        let block = block.unwrap_or_else(|| panic!("no block for {cause}: {end}"));
        assert!(block.trim_start().starts_with(&format!("✗ rows › {}", members(at)[0])), "{block}");
    }
    let json: Value = serde_json::from_str(&std::fs::read_to_string(report("r.json")).unwrap()).unwrap();
    let groups: BTreeMap<&str, Vec<&str>> = json["summary"]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| {
            let ids = group["cases"].as_array().unwrap().iter();
            (group["cause"].as_str().unwrap(), ids.map(|case| case["eval_id"].as_str().unwrap()).collect())
        })
        .collect();
    assert_eq!(groups.len(), CAUSES.len());
    for (at, cause) in CAUSES.iter().enumerate() {
        assert_eq!(groups[cause], members(at), "{cause}");
    }
    let markdown = std::fs::read_to_string(report("r.md")).unwrap();
    assert!(markdown.contains("**40 of 40 cases that did not pass share 6 causes**"), "{markdown}");
    assert!(markdown.contains("| 7 | level of set\\_light differs | "), "{markdown}");
    let html = std::fs::read_to_string(report("r.html")).unwrap();
    let block = html.split("<summary>7 × device of set_light differs</summary>").nth(1).unwrap();
    let listed = block.split("</details>").next().unwrap().matches("<li>").count();
    assert_eq!(listed, 7);
}

#[cfg(unix)]
#[test]
fn the_explorer_lists_the_cases_of_one_cause() {
    use crate::common::terminal::Terminal;
    let place = place();
    let home = place.path().join("home");
    let score = ["score", "--metric", "trajectory_exact_match:1", "rows.jsonl"];
    output(evaltrail(&home).args(score).current_dir(place.path()));
    let path = place.path().display().to_string();
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_evaltrail"), &[&path], &home, (160, 40));
    terminal.wait_for("✓ 160  ✗ 40");
    for (at, cause) in CAUSES.iter().enumerate() {
        terminal.keys("F");
        terminal.wait_for("40 of 40 failures share 6 causes");
        terminal.keys(cause);
        terminal.wait_for(&format!("› {cause}"));
        terminal.keys("\r");
        terminal.wait_for(&format!("· {}: {cause}", members(at).len()));
        let listed: Vec<String> = (0..200).map(id).filter(|id| is_listed(&terminal.screen(), id)).collect();
        assert_eq!(listed, members(at), "{}", terminal.screen());
    }
    terminal.keys("\x1b");
    terminal.wait_for("✓ case_001");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// Whether a row of the list, which begins with the sign of the case, shows this case.
#[cfg(unix)]
fn is_listed(screen: &str, id: &str) -> bool {
    screen.contains(&format!("✗ {id} ")) || screen.contains(&format!("✓ {id} "))
}
