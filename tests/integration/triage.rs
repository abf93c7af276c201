//! Triage of the failures of a run: 200 cases, of which 40 fail for six planted causes.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The planted causes, in the words of the groups.
pub(crate) const CAUSES: [&str; 6] = [
    "set_light is not called",
    "set_light.level differs",
    "log is called and not expected",
    "set_light.device differs",
    "find is called at another position",
    "find is not called",
];

/// The planted cause of a case, by its position in [`CAUSES`]: every fifth case fails.
pub(crate) fn planted(case: usize) -> Option<usize> {
    case.is_multiple_of(5).then_some(case / 5 % CAUSES.len())
}

pub(crate) fn id(case: usize) -> String {
    format!("case_{case:03}")
}

pub(crate) fn row(case: usize) -> Value {
    let call = |tool: &str, input: Value| json!({"tool_name": tool, "tool_input": input});
    let find = || call("find", json!({"room": format!("r{case}")}));
    let light =
        |device: String, level: usize| call("set_light", json!({"device": device, "level": level}));
    let right = || light(format!("d{case}"), case % 7);
    let actual = match planted(case).map(|cause| CAUSES[cause]) {
        None => vec![find(), right()],
        Some("set_light is not called") => vec![find()],
        Some("set_light.level differs") => vec![find(), light(format!("d{case}"), 99 + case)],
        Some("log is called and not expected") => {
            vec![find(), right(), call("log", json!({"x": case}))]
        }
        Some("set_light.device differs") => {
            vec![find(), light(format!("wrong{case}"), case % 7)]
        }
        Some("find is called at another position") => vec![right(), find()],
        Some(_) => Vec::new(),
    };
    json!({
        "eval_id": id(case), "prompt": format!("do {case}"), "response": "done", "reference": "done",
        "reference_trajectory": [find(), right()], "predicted_trajectory": actual,
    })
}

fn workspace() -> TestWorkspace {
    let rows: String = (0..200).map(|case| format!("{}\n", row(case))).collect();
    TestWorkspace::new(&[("rows.jsonl", rows)])
}

pub(crate) fn members(cause: usize) -> Vec<String> {
    (0..200)
        .filter(|case| planted(*case) == Some(cause))
        .map(id)
        .collect()
}

#[test]
fn run_and_reports_list_causes_with_members() {
    let workspace = workspace();
    let report = |name: &str| workspace.path().join(name).display().to_string();
    let ran = output(
        evaltrail(&workspace.path().join("home"))
            .args([
                "score",
                "--metric",
                "trajectory_exact_match:1",
                "rows.jsonl",
            ])
            .args(["--report", &format!("json={}", report("r.json"))])
            .args(["--report", &format!("markdown={}", report("r.md"))])
            .args(["--report", &format!("html={}", report("r.html"))])
            .current_dir(workspace.path()),
    );
    let said = text(&ran);
    let end = said
        .split("not passed\n")
        .nth(1)
        .unwrap_or_else(|| panic!("{}", both(&ran)));
    assert!(
        end.starts_with("40 of 40 cases that did not pass share 6 causes\n"),
        "{end}"
    );
    for (at, cause) in CAUSES.iter().enumerate() {
        let share = if members(at).len() == 7 {
            "18 %"
        } else {
            "15 %"
        };
        let block = end
            .split(&format!("✗ {} × {cause}  {share}\n", members(at).len()))
            .nth(1);
        let block = block.unwrap_or_else(|| panic!("no block for {cause}: {end}"));
        assert!(
            block
                .trim_start()
                .starts_with(&format!("✗ rows › {}", members(at)[0])),
            "{block}"
        );
    }
    assert!(
        end.contains("all would pass with set_light: level ignore\n"),
        "{end}"
    );
    let nested = "✗ 14 × arguments of set_light differ  35 %\n    all would pass with set_light: device ignore, \
                  set_light: level ignore\n  ✗ 7 × set_light.level differs  18 %\n";
    assert!(end.contains(nested), "{end}");
    let json: Value =
        serde_json::from_str(&std::fs::read_to_string(report("r.json")).unwrap()).unwrap();
    let changes: BTreeMap<&str, &Value> = json["summary"]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["cause"].as_str().unwrap(), &group["would_pass_with"]))
        .collect();
    assert_eq!(
        changes["set_light.device differs"],
        "set_light: device ignore"
    );
    assert_eq!(
        changes["find is not called"],
        &Value::Null,
        "nothing small makes them pass"
    );
    let groups: BTreeMap<&str, Vec<&str>> = json["summary"]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| {
            let ids = group["cases"].as_array().unwrap().iter();
            (
                group["cause"].as_str().unwrap(),
                ids.map(|case| case["eval_id"].as_str().unwrap()).collect(),
            )
        })
        .collect();
    assert_eq!(groups.len(), CAUSES.len());
    for (at, cause) in CAUSES.iter().enumerate() {
        assert_eq!(groups[cause], members(at), "{cause}");
    }
    let markdown = std::fs::read_to_string(report("r.md")).unwrap();
    assert!(
        markdown.contains("**40 of 40 cases that did not pass share 6 causes**"),
        "{markdown}"
    );
    let level = "| 7 | 18 % | ↳ set\\_light.level differs (all would pass with set\\_light: level ignore) | ";
    assert!(markdown.contains(level), "{markdown}");
    let html = std::fs::read_to_string(report("r.html")).unwrap();
    let block = html
        .split("<summary>7 × set_light.device differs (18 %)</summary>")
        .nth(1)
        .unwrap();
    let listed = block
        .split("</details>")
        .next()
        .unwrap()
        .matches("<li>")
        .count();
    assert_eq!(listed, 7);
    let run_id = json["run_id"].as_str().unwrap();
    assert_eq!(html.matches("<p>to open it: ").count(), 40);
    let command = format!("evaltrail open run-{run_id}.evaltrail {}", members(0)[0]);
    assert!(
        html.contains(&format!("<code>{command}</code>")),
        "{command}"
    );
    let exported = output(
        evaltrail(&workspace.path().join("home"))
            .args(["export", run_id])
            .current_dir(workspace.path()),
    );
    assert_eq!(exported.status.code(), Some(0), "{}", both(&exported));
    assert!(
        workspace
            .path()
            .join(format!("run-{run_id}.evaltrail"))
            .is_file(),
        "the file that the command names"
    );
}

/// Two sets with the same id, in two folders.
#[test]
fn sets_with_equal_ids_are_named_by_file() {
    let rows: String = [10, 17].map(|case| format!("{}\n", row(case))).concat();
    let workspace = TestWorkspace::new(&[("a/rows.jsonl", rows.clone()), ("b/rows.jsonl", rows)]);
    let report = |name: &str| {
        workspace
            .path()
            .join("reports")
            .join(name)
            .display()
            .to_string()
    };
    std::fs::create_dir(workspace.path().join("reports")).unwrap();
    let ran = output(
        evaltrail(&workspace.path().join("home"))
            .args(["score", "--metric", "trajectory_exact_match:1", "."])
            .args(
                ["json=r.json", "markdown=r.md", "html=r.html", "junit=r.xml"]
                    .iter()
                    .flat_map(|of| {
                        let (kind, name) = of.split_once('=').unwrap();
                        ["--report".to_string(), format!("{kind}={}", report(name))]
                    }),
            )
            .current_dir(workspace.path()),
    );
    let json: Value =
        serde_json::from_str(&std::fs::read_to_string(report("r.json")).unwrap()).unwrap();
    let group = &json["summary"]["groups"][0];
    let mut files: Vec<&str> = group["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["file"].as_str().unwrap())
        .collect();
    files.dedup();
    assert_eq!(files, ["a/rows.jsonl", "b/rows.jsonl"], "{group}");
    let read = |name: &str| std::fs::read_to_string(report(name)).unwrap();
    for folder in ["a", "b"] {
        let name = format!("rows ({folder}/rows.jsonl) › ");
        assert!(text(&ran).contains(&name), "{}", both(&ran));
        assert!(read("r.html").contains(&name), "{}", read("r.html"));
        assert!(read("r.md").contains(&name), "{}", read("r.md"));
        let class = format!("classname=\"rows ({folder}/rows.jsonl)\"");
        assert!(read("r.xml").contains(&class), "{}", read("r.xml"));
    }
}

#[cfg(unix)]
#[test]
fn the_explorer_lists_the_cases_of_one_cause() {
    use crate::common::terminal::Terminal;
    let workspace = workspace();
    let home = workspace.path().join("home");
    let score = [
        "score",
        "--metric",
        "trajectory_exact_match:1",
        "rows.jsonl",
    ];
    output(evaltrail(&home).args(score).current_dir(workspace.path()));
    let path = workspace.path().display().to_string();
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_evaltrail"), &[&path], &home, (160, 40));
    terminal.wait_for("✓ 160  ✗ 40");
    // Nested groups fold, and the smallest change for all cases of a group is on the last line.
    terminal.keys("F");
    terminal.wait_for("▾ arguments of set_light differ");
    terminal.wait_for("all would pass with set_light: device ignore, set_light: level");
    terminal.keys("\t");
    terminal.wait_for("▸ arguments of set_light differ");
    assert!(
        !terminal.screen().contains("set_light.level differs"),
        "{}",
        terminal.screen()
    );
    terminal.keys("\r");
    terminal.wait_for("14: arguments of set_light differ · ");
    for (at, cause) in CAUSES.iter().enumerate() {
        terminal.keys("F");
        terminal.wait_for("40 of 40 not passed share 6 causes");
        terminal.keys(cause);
        terminal.wait_for(&format!("› {cause}"));
        terminal.keys("\r");
        terminal.wait_for(&format!("{}: {cause} · ", members(at).len()));
        let listed: Vec<String> = (0..200)
            .map(id)
            .filter(|id| is_listed(&terminal.screen(), id))
            .collect();
        assert_eq!(listed, members(at), "{}", terminal.screen());
    }
    // A what-if under which the cases would pass leaves them in the list.
    terminal.keys("Fset_light.level");
    terminal.wait_for("› set_light.level");
    terminal.keys("\r");
    terminal.wait_for("✗ case_005");
    terminal.keys("=");
    terminal.wait_for("✓ case_005");
    terminal.wait_for("7: set_light.level differs · ");
    terminal.keys("wd");
    terminal.wait_for("✗ case_005");
    terminal.keys("\x1b");
    terminal.wait_for("✗ case_000");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// Whether a row of the list, which begins with the sign of the case, shows this case.
#[cfg(unix)]
fn is_listed(screen: &str, id: &str) -> bool {
    screen.contains(&format!("✗ {id} ")) || screen.contains(&format!("✓ {id} "))
}

/// Rows with the differences of a later morning: what broke, what was fixed, an edited expectation, a new name.
#[test]
fn two_runs_are_compared_case_by_case() {
    let workspace = workspace();
    let home = workspace.path().join("home");
    let run = |args: &[&str]| output(evaltrail(&home).args(args).current_dir(workspace.path()));
    let score = || {
        run(&[
            "score",
            "--metric",
            "trajectory_exact_match:1",
            "rows.jsonl",
        ])
    };
    let refused = run(&["compare"]);
    assert!(
        both(&refused).contains("nothing has been run here yet"),
        "{}",
        both(&refused)
    );
    score();
    let refused = run(&["compare"]);
    assert!(
        both(&refused).contains("there is no run before the last one"),
        "{}",
        both(&refused)
    );
    let mut rows: Vec<Value> = (0..200).map(row).collect();
    let (broken, mended, edited, renamed) = (1, 5, 10, 3);
    rows[broken]["predicted_trajectory"] = json!([]);
    rows[mended]["predicted_trajectory"] = rows[mended]["reference_trajectory"].clone();
    rows[edited]["reference_trajectory"] = rows[edited]["predicted_trajectory"].clone();
    rows[renamed]["eval_id"] = json!("a new name");
    let text_of = |rows: &[Value]| {
        rows.iter()
            .map(|row| format!("{row}\n"))
            .collect::<String>()
    };
    std::fs::write(workspace.path().join("rows.jsonl"), text_of(&rows)).unwrap();
    score();
    let ran = run(&["compare", "--fail-on", "broke", "--json"]);
    assert_eq!(ran.status.code(), Some(1), "a case broke: {}", both(&ran));
    let json: Value = serde_json::from_str(&text(&ran)).unwrap();
    let of = |fate: &str| -> Vec<&str> {
        let cases = json["cases"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|case| case["fate"] == fate);
        cases
            .map(|case| case["after"]["eval_id"].as_str().unwrap())
            .collect()
    };
    assert_eq!(
        (of("broke"), of("fixed"), of("edited")),
        (vec!["case_001"], vec!["case_005"], vec!["case_010"])
    );
    assert_eq!(
        (of("still_failing").len(), of("still_passing").len()),
        (38, 159)
    );
    assert_eq!(
        (
            &json["counts"]["only_before"],
            &json["counts"]["only_after"]
        ),
        (&json!(0), &json!(0))
    );
    let named: Vec<&Value> = json["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["changed"] == json!(["name"]))
        .collect();
    assert_eq!(
        (&named[0]["before"]["eval_id"], named.len()),
        (&json!("case_003"), 1)
    );
    assert_eq!(json["mcnemar_p"], 1.0);
    let said = text(&run(&["compare", "previous", "last"]));
    for line in [
        "1 broke\n  ✓ → ✗ rows › case_001  find: missing; set_light: missing (call 2)\n",
        "1 fixed\n  ✗ → ✓ rows › case_005\n",
        "1 edited between the runs, not comparable\n  ✗ → ✓ rows › case_010\n",
        "160 → 160 of 199 comparable cases passed: 1 broke, 1 fixed  (McNemar p 1.0000, could be noise; 2 of 199 outcomes changed, too few to see any difference)",
    ] {
        assert!(said.contains(line), "{line:?} is not in {said}");
    }
    assert_eq!(
        run(&["compare"]).status.code(),
        Some(0),
        "without --fail-on nothing is a failure"
    );
    let reported = run(&[
        "compare",
        "--report",
        "markdown=c.md",
        "--report",
        "json=c.json",
    ]);
    assert_eq!(reported.status.code(), Some(0), "{}", both(&reported));
    let report = |name: &str| std::fs::read_to_string(workspace.path().join(name)).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&report("c.json")).unwrap(),
        json
    );
    for lines in [
        "**160 → 160 of 199 comparable cases passed: 1 broke, 1 fixed",
        "### 1 broke\n\n| first | second | case | reason |\n|---|---|---|---|\n| ✓ | ✗ | rows › case\\_001 | find: missing",
    ] {
        assert!(
            report("c.md").contains(lines),
            "{lines:?} is not in {}",
            report("c.md")
        );
    }
    let refused = run(&["compare", "--report", "html=c.html"]);
    assert!(
        both(&refused).contains("a comparison is written as json or markdown"),
        "{}",
        both(&refused)
    );
}

#[test]
fn the_runs_of_a_folder_are_listed() {
    let workspace = workspace();
    let home = workspace.path().join("home");
    let evaltrail_in = |folder: &std::path::Path, args: &[&str]| {
        output(evaltrail(&home).args(args).current_dir(folder))
    };
    let run = |args: &[&str]| evaltrail_in(workspace.path(), args);
    assert_eq!(
        text(&run(&["runs"])),
        "no runs here yet; evaltrail run . starts one\n"
    );
    run(&[
        "score",
        "--metric",
        "trajectory_exact_match:1",
        "rows.jsonl",
    ]);
    run(&[
        "score",
        "--metric",
        "trajectory_exact_match:1",
        "rows.jsonl:case_000,case_001",
    ]);
    // A run that came with the folder: recorded with another person's key.
    let other = workspace.path().join("other home");
    output(
        evaltrail(&other)
            .args(["score", "rows.jsonl:case_002"])
            .current_dir(workspace.path()),
    );
    let listed: Value = serde_json::from_str(&text(&run(&["runs", "--json"]))).unwrap();
    let runs = listed["runs"].as_array().unwrap();
    let of = |key: &str| {
        runs.iter()
            .map(|run| run[key].clone())
            .collect::<Vec<Value>>()
    };
    assert_eq!(
        of("attempts"),
        [json!(2), json!(200), json!(1)],
        "newest first, foreign ones last"
    );
    assert_eq!(of("passed"), [json!(1), json!(160), json!(1)]);
    assert_eq!(of("foreign"), [json!(false), json!(false), json!(true)]);
    assert_eq!(
        of("agent"),
        ["saved responses"; 3].map(|label| json!(label))
    );
    assert!(
        runs.iter().all(|run| run["duration_s"].as_f64().is_some()),
        "{runs:?}"
    );
    assert_eq!(
        of("finished"),
        [json!(true), json!(true), Value::Null],
        "the end of a foreign run is not believed"
    );
    let said = text(&run(&["runs"]));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 4, "{said}");
    assert!(
        lines[1].contains(" 1/2 ") && lines[2].contains(" 160/200 "),
        "{said}"
    );
    assert!(
        lines[3].ends_with("rows.jsonl · saved responses · foreign: not recorded by you"),
        "{said}"
    );
    let id = runs[1]["run_id"].as_str().unwrap();
    let compared = text(&run(&["compare", &id[..6], "last"]));
    assert!(compared.contains("198 only in the first run"), "{compared}");
    for foreign in [&runs[2]["path"], &runs[2]["run_id"]] {
        let refused = run(&["compare", foreign.as_str().unwrap(), "last"]);
        assert!(both(&refused).contains("is foreign"), "{}", both(&refused));
    }
    let refused = run(&["compare", "last", "last"]);
    assert!(
        both(&refused).contains("are the same run"),
        "{}",
        both(&refused)
    );
    let filter = [
        "score",
        "--filter",
        "cause:\"set_light.level\"",
        "--json",
        "-q",
        "rows.jsonl",
    ];
    let rerun: Value = serde_json::from_str(&text(&run(&filter))).unwrap();
    let ids = rerun["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["eval_id"].as_str().unwrap());
    assert_eq!(
        ids.collect::<Vec<_>>(),
        members(1),
        "the cases of one cause are scored again"
    );
}
