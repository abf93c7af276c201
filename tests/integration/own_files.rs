//! Results that evaltrail wrote into a workspace are not listed as data sets, and open by name.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use serde_json::{Value, json};

fn rows() -> String {
    let row = |case: usize| {
        let call = json!([{"tool_name": "find", "tool_input": {"n": case}}]);
        json!({"eval_id": format!("c{case}"), "prompt": format!("question {case}"), "response": "yes", "reference": "yes",
               "reference_trajectory": call, "predicted_trajectory": call})
    };
    (0..3).map(|case| format!("{}\n", row(case))).collect()
}

fn listed(workspace: &TestWorkspace) -> Vec<String> {
    listed_by("home", workspace)
}

/// The sets that a user with this home folder sees.
fn listed_by(home: &str, workspace: &TestWorkspace) -> Vec<String> {
    let ran = output(
        evaltrail(&workspace.path().join(home))
            .args(["list", "--json", "."])
            .current_dir(workspace.path()),
    );
    let list: Value =
        serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
    list["sets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| set["file"].as_str().unwrap().to_string())
        .collect()
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

fn written() -> TestWorkspace {
    let workspace = TestWorkspace::new(&[("rows.jsonl", rows()), ("out/.keep", String::new())]);
    let mut command = evaltrail(&workspace.path().join("home"));
    command.args([
        "score",
        "rows.jsonl",
        "--metric",
        "trajectory_exact_match:1",
    ]);
    for (format, file) in REPORTS {
        command.args(["--report", &format!("{format}={file}")]);
    }
    let ran = output(command.current_dir(workspace.path()));
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    workspace
}

/// Reports from a CI system or another user: no record of this user has them.
#[test]
fn reports_by_other_users_are_no_data_sets() {
    let workspace = written();
    assert_eq!(listed_by("other", &workspace), ["rows.jsonl"]);
}

#[test]
fn reports_are_no_data_sets_wherever_they_lie() {
    let workspace = written();
    assert_eq!(listed(&workspace), ["rows.jsonl"]);
    std::fs::create_dir(workspace.path().join("elsewhere")).unwrap();
    for (_, file) in REPORTS {
        let name = file.trim_start_matches("out/").replace('.', "_copy.");
        std::fs::rename(
            workspace.path().join(file),
            workspace.path().join("elsewhere").join(name),
        )
        .unwrap();
    }
    assert_eq!(listed(&workspace), ["rows.jsonl"]);
}

/// The same content in another form: no record has its digest.
#[test]
fn reencoded_reports_are_no_data_sets() {
    let workspace = written();
    let exported = output(
        evaltrail(&workspace.path().join("home"))
            .args(["export", "last", "-o", "out/export.evaltrail"])
            .current_dir(workspace.path()),
    );
    assert_eq!(exported.status.code(), Some(0), "{}", both(&exported));
    let run = std::fs::read_dir(workspace.path().join(".evaltrail/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    for file in ["journal.jsonl", "run.json"] {
        std::fs::copy(
            run.path().join(file),
            workspace.path().join("out").join(file),
        )
        .unwrap();
    }
    let forms = workspace.path().join("forms");
    std::fs::create_dir(&forms).unwrap();
    let mut files: Vec<&str> = REPORTS
        .iter()
        .map(|(_, file)| file.trim_start_matches("out/"))
        .collect();
    files.extend(["export.evaltrail", "journal.jsonl", "run.json"]);
    for file in files {
        let bytes = std::fs::read(workspace.path().join("out").join(file)).unwrap();
        let write = |name: String, bytes: &[u8]| std::fs::write(forms.join(name), bytes).unwrap();
        if file != "export.evaltrail" {
            write(format!("packed_{file}.gz"), &packed(&bytes));
            write(format!("packed_{file}"), &packed(&bytes));
        }
        write(format!("set_{file}.evalset.json"), &bytes);
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        write(
            format!("marked_{file}"),
            format!("\u{FEFF}\n{text}").as_bytes(),
        );
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        write(
            format!("wide_{file}"),
            &[0xff, 0xfe].into_iter().chain(units).collect::<Vec<u8>>(),
        );
        let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&text)
            .into_iter()
            .collect();
        let Ok(values) = values else { continue };
        let indented: Vec<String> = values
            .iter()
            .map(|value| serde_json::to_string_pretty(&sorted(value)).unwrap())
            .collect();
        write(format!("indented_{file}"), indented.join("\n").as_bytes());
        write(
            format!("list_{}", file.replace(".jsonl", ".json")),
            json!(values).to_string().as_bytes(),
        );
    }
    assert_eq!(listed_by("other", &workspace), ["rows.jsonl"]);
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut out, bytes).unwrap();
    out.finish().unwrap()
}

/// A value whose objects have their members in the order of their keys.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members
                .iter()
                .map(|(key, member)| (key.clone(), sorted(member)))
                .collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// A table in Vertex's format that another program wrote, and a report without the column that marks it, are data sets.
#[test]
fn tables_of_other_programs_are_data_sets() {
    let workspace = written();
    let report = std::fs::read_to_string(workspace.path().join("out/table.jsonl")).unwrap();
    let marked = format!("\"evaltrail\":\"{}\",", env!("CARGO_PKG_VERSION"));
    assert!(report.lines().all(|row| row.contains(&marked)), "{report}");
    let theirs = report.replace("question", "ask").replace(&marked, "");
    std::fs::write(workspace.path().join("theirs.jsonl"), theirs).unwrap();
    assert_eq!(listed(&workspace), ["rows.jsonl", "theirs.jsonl"]);
}

#[test]
fn own_journals_and_recordings_are_no_data_sets() {
    let workspace = written();
    let run = std::fs::read_dir(workspace.path().join(".evaltrail/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    std::fs::copy(
        run.path().join("journal.jsonl"),
        workspace.path().join("a.evalset.json"),
    )
    .unwrap();
    std::fs::write(
        workspace.path().join("b.evalset.json"),
        "{\"eval_id\":\"c0\",\"turns\":[{\"prompt\":\"x\",\"events\":[]}]}\n",
    )
    .unwrap();
    let result = r#"{"eval_set_result_id": "a_s_1", "eval_set_id": "s", "eval_case_results": []}"#;
    std::fs::write(workspace.path().join("c.evalset.json"), result).unwrap();
    std::fs::write(
        workspace.path().join("d.json.gz"),
        packed(result.as_bytes()),
    )
    .unwrap();
    assert_eq!(listed(&workspace), ["rows.jsonl"]);
}

#[test]
fn reports_open_by_name() {
    let workspace = written();
    for file in ["out/r.csv", "out/table.jsonl", "out/result.json"] {
        let ran = output(
            evaltrail(&workspace.path().join("home"))
                .args(["list", "--json", file])
                .current_dir(workspace.path()),
        );
        let list: Value =
            serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
        assert_eq!(list["sets"][0]["cases"], 3, "{file}: {}", both(&ran));
    }
}

/// Also packed, or in another encoding.
#[test]
fn reports_that_name_their_run_open_it() {
    let workspace = written();
    let open = |file: &str| {
        let mut command = evaltrail(&workspace.path().join("home"));
        both(&output(
            command.args(["open", file]).current_dir(workspace.path()),
        ))
    };
    for (format, file) in REPORTS
        .iter()
        .filter(|(format, _)| ["json", "evaluation-result", "html"].contains(format))
    {
        let bytes = std::fs::read(workspace.path().join(file)).unwrap();
        let units = String::from_utf8(bytes.clone()).unwrap();
        let units = units.encode_utf16().flat_map(u16::to_le_bytes);
        let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(units).collect();
        std::fs::write(workspace.path().join("out/packed"), packed(&bytes)).unwrap();
        std::fs::write(workspace.path().join("out/wide"), wide).unwrap();
        for file in [file, "out/packed", "out/wide"] {
            // There is no terminal, which is found only when there is a run to show.
            assert!(
                open(file).contains("the explorer needs a terminal"),
                "{format} {file}: {}",
                open(file)
            );
        }
    }
    assert!(
        open("out/r.csv").contains("does not name its run"),
        "{}",
        open("out/r.csv")
    );
    assert!(
        open("rows.jsonl").contains("not a run"),
        "{}",
        open("rows.jsonl")
    );
}
