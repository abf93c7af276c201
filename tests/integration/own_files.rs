//! Results that evaltrail wrote into a workspace are not listed as data sets, and open by name.

use crate::common::{Place, both, evaltrail, output, text};
use serde_json::{Value, json};

fn rows() -> String {
    let row = |case: usize| {
        let call = json!([{"tool_name": "find", "tool_input": {"n": case}}]);
        json!({"eval_id": format!("c{case}"), "prompt": format!("question {case}"), "response": "yes", "reference": "yes",
               "reference_trajectory": call, "predicted_trajectory": call})
    };
    (0..3).map(|case| format!("{}\n", row(case))).collect()
}

fn listed(place: &Place) -> Vec<String> {
    listed_by("home", place)
}

/// The sets that a user with this home folder sees.
fn listed_by(home: &str, place: &Place) -> Vec<String> {
    let ran =
        output(evaltrail(&place.path().join(home)).args(["list", "--json", "."]).current_dir(place.path()));
    let list: Value = serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
    list["sets"].as_array().unwrap().iter().map(|set| set["file"].as_str().unwrap().to_string()).collect()
}

const REPORTS: &[(&str, &str)] = &[
    ("json", "out/r.json"),
    ("csv", "out/r.csv"),
    ("vertex", "out/table.jsonl"),
    ("evaluation-result", "out/result.json"),
    ("vertex-summary", "out/summary.json"),
    ("html", "out/page.json"),
    ("junit", "out/junit.evalset.json"),
    ("markdown", "out/md.test.json"),
];

fn written() -> Place {
    let place = Place::new(&[("rows.jsonl", rows()), ("out/.keep", String::new())]);
    let mut command = evaltrail(&place.path().join("home"));
    command.args(["score", "rows.jsonl", "--metric", "trajectory_exact_match:1"]);
    for (format, file) in REPORTS {
        command.args(["--report", &format!("{format}={file}")]);
    }
    let ran = output(command.current_dir(place.path()));
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    place
}

/// Reports from a CI system or another user: no record of this user has them.
#[test]
fn reports_that_another_user_wrote_are_no_data_sets() {
    let place = written();
    // Files of these names are eval sets, whatever is in them.
    for file in ["out/junit.evalset.json", "out/md.test.json"] {
        std::fs::remove_file(place.path().join(file)).unwrap();
    }
    assert_eq!(listed_by("other", &place), ["rows.jsonl"]);
}

#[test]
fn reports_are_no_data_sets_wherever_they_lie() {
    let place = written();
    assert_eq!(listed(&place), ["rows.jsonl"]);
    std::fs::create_dir(place.path().join("elsewhere")).unwrap();
    for (_, file) in REPORTS {
        let name = file.trim_start_matches("out/").replace('.', "_copy.");
        std::fs::rename(place.path().join(file), place.path().join("elsewhere").join(name)).unwrap();
    }
    assert_eq!(listed(&place), ["rows.jsonl"]);
}

/// A table in Vertex's format that another program wrote, and a report without the column that marks it, are data sets.
#[test]
fn tables_of_others_are_data_sets() {
    let place = written();
    let report = std::fs::read_to_string(place.path().join("out/table.jsonl")).unwrap();
    let marked = format!("\"evaltrail\":\"{}\",", env!("CARGO_PKG_VERSION"));
    assert!(report.lines().all(|row| row.contains(&marked)), "{report}");
    let theirs = report.replace("question", "ask").replace(&marked, "");
    std::fs::write(place.path().join("theirs.jsonl"), theirs).unwrap();
    assert_eq!(listed(&place), ["rows.jsonl", "theirs.jsonl"]);
}

#[test]
fn journals_and_recordings_are_no_data_sets() {
    let place = written();
    let run = std::fs::read_dir(place.path().join(".evaltrail/runs")).unwrap().next().unwrap().unwrap();
    std::fs::copy(run.path().join("journal.jsonl"), place.path().join("a.evalset.json")).unwrap();
    std::fs::write(
        place.path().join("b.evalset.json"),
        "{\"eval_id\":\"c0\",\"turns\":[{\"prompt\":\"x\",\"events\":[]}]}\n",
    )
    .unwrap();
    assert_eq!(listed(&place), ["rows.jsonl"]);
}

#[test]
fn reports_open_by_name() {
    let place = written();
    for file in ["out/r.csv", "out/table.jsonl", "out/result.json"] {
        let ran = output(
            evaltrail(&place.path().join("home")).args(["list", "--json", file]).current_dir(place.path()),
        );
        let list: Value = serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
        assert_eq!(list["sets"][0]["cases"], 3, "{file}: {}", both(&ran));
    }
}
