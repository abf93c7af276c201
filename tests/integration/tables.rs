//! Data sets of other tools and with other columns, by the commands that people run on them.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

fn ran(folder: &Path, args: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    output(evaltrail(home.path()).current_dir(folder).args(args))
}

/// The JSON report of a command.
fn json(folder: &Path, args: &[&str]) -> Value {
    let out = ran(folder, args);
    serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)))
}

fn statuses(report: &Value) -> Vec<(String, String)> {
    let field = |case: &Value, name: &str| case[name].as_str().unwrap_or_default().to_string();
    let cases = report["cases"].as_array().unwrap();
    cases
        .iter()
        .map(|case| (field(case, "eval_id"), field(case, "status")))
        .collect()
}

const RENAMED: &str = "{\"question\": \"q\", \"answer\": \"a\", \"ground_truth\": \"a\"}\n\
                       {\"question\": \"q2\", \"answer\": \"b\", \"ground_truth\": \"c\"}\n";

#[test]
fn unknown_columns_are_named_and_can_be_mapped() {
    let workspace = TestWorkspace::new(&[
        ("renamed.jsonl", RENAMED.into()),
        ("package.json", "{\"name\": \"x\"}".into()),
    ]);
    let folder = workspace.path();
    let needed = "found the columns question, answer, ground_truth; map them with --columns";
    for args in [
        ["check", "renamed.jsonl"],
        ["score", "renamed.jsonl"],
        ["list", "."],
        ["check", "."],
    ] {
        let out = ran(folder, &args);
        assert!(both(&out).contains(needed), "{args:?}: {}", both(&out));
        assert!(
            !both(&out).contains("package.json"),
            "{args:?}: {}",
            both(&out)
        );
    }
    assert_eq!(
        ran(folder, &["list", "."]).status.code(),
        Some(0),
        "it is no eval set that is broken"
    );
    assert_eq!(
        ran(folder, &["check", "renamed.jsonl"]).status.code(),
        Some(2)
    );
    let mapped = "--columns=prompt=question,response=answer,reference=ground_truth";
    let report = json(
        folder,
        &[
            "score",
            "renamed.jsonl",
            mapped,
            "--metric",
            "exact_match",
            "--json",
        ],
    );
    assert_eq!(report["summary"]["passed"], 1, "{report}");
    let user = &report["cases"][0]["invocations"][0]["user"];
    assert_eq!(user, "q");
    std::fs::write(
        folder.join("evaltrail.toml"),
        "[columns]\nprompt = \"question\"\nresponse = \"answer\"\nreference = \"ground_truth\"\n",
    )
    .unwrap();
    let again = json(folder, &["score", ".", "--json"]);
    assert_eq!(again["summary"]["cases"], 2, "{again}");
    let converted = ran(
        folder,
        &["convert", "renamed.jsonl", "-o", "new.evalset.json"],
    );
    assert!(
        both(&converted).contains("2 cases in new.evalset.json"),
        "{}",
        both(&converted)
    );
    let set = std::fs::read_to_string(folder.join("new.evalset.json")).unwrap();
    assert!(set.contains("\"text\": \"q2\""), "{set}");
}

#[test]
fn files_without_cases_are_named_by_kind() {
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:a1\nsize 4\n";
    let workspace =
        TestWorkspace::new(&[("data.jsonl", lfs.into()), ("set.evalset.json", lfs.into())]);
    std::fs::write(
        workspace.path().join("run.eval"),
        b"PK\x03\x04\x14\0\0\0_journal/start.json",
    )
    .unwrap();
    let listed = ran(workspace.path(), &["list", "."]);
    let words = both(&listed);
    assert_eq!(
        words
            .matches("a pointer of Git LFS: run git lfs pull")
            .count(),
        2,
        "{words}"
    );
    assert!(
        words.contains("run.eval          a log of Inspect (.eval)"),
        "{words}"
    );
    let checked = ran(workspace.path(), &["check", "run.eval"]);
    assert!(
        both(&checked).contains("a log of Inspect"),
        "{}",
        both(&checked)
    );
    assert!(!both(&checked).contains("UTF-8"), "{}", both(&checked));
}

#[test]
fn semicolon_and_utf16_tables_are_read() {
    let workspace =
        TestWorkspace::new(&[("a.csv", "prompt;response;reference\nq;a, b;a, b\n".into())]);
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(
            "prompt\tresponse\treference\nä\tyes\tyes\n"
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        )
        .collect();
    std::fs::write(workspace.path().join("b.tsv"), utf16).unwrap();
    let report = json(
        workspace.path(),
        &["score", ".", "--metric", "exact_match", "--json"],
    );
    assert_eq!(report["summary"]["passed"], 2, "{report}");
}

/// One table counts the same rows in every metric.
#[test]
fn rows_without_reference_are_not_evaluated() {
    let rows = "{\"prompt\":\"a\",\"response\":\"x\",\"reference\":\"x\"}\n{\"prompt\":\"b\",\"response\":\"y\"}\n\
                {\"prompt\":\"c\",\"response\":\"z\",\"reference\":null}\n{\"prompt\":\"d\",\"response\":\"w\",\"reference\":\"\"}\n";
    let workspace = TestWorkspace::new(&[("d.jsonl", rows.into())]);
    let report = json(workspace.path(), &["score", "d.jsonl", "--json"]);
    let found: Vec<String> = statuses(&report)
        .into_iter()
        .map(|(_, status)| status)
        .collect();
    assert_eq!(
        found,
        ["passed", "not_evaluated", "not_evaluated", "not_evaluated"]
    );
    for metric in report["summary"]["metrics"].as_array().unwrap() {
        assert_eq!(
            (&metric["valid"], &metric["total"]),
            (&1.into(), &4.into()),
            "{metric}"
        );
    }
    for case in &report["cases"].as_array().unwrap()[1..] {
        assert_eq!(case["reason"], "there is no reference response", "{case}");
    }
}

#[test]
fn a_status_always_has_a_reason() {
    let rows = "{\"prompt\": [\"price\", \"details\"], \"predicted_trajectory\": \
                [[{\"tool_name\": \"price\", \"tool_input\": {}}], [{\"tool_name\": \"details\", \"tool_input\": {}}]]}";
    let workspace = TestWorkspace::new(&[("data.json", rows.into())]);
    let why = "nothing to compare: the row has no reference or reference_trajectory (it has predicted_trajectory)";
    let out = ran(
        workspace.path(),
        &[
            "score",
            "data.json",
            "--report",
            "junit=r.xml",
            "--report",
            "csv=r.csv",
        ],
    );
    assert!(both(&out).matches(why).count() >= 2, "{}", both(&out));
    for report in ["r.xml", "r.csv"] {
        let report = std::fs::read_to_string(workspace.path().join(report)).unwrap();
        assert!(report.contains(why), "{report}");
    }
    let report = json(workspace.path(), &["score", "data.json", "--json"]);
    assert_eq!(report["cases"][1]["reason"], why);
}

#[test]
fn results_without_thresholds_are_scored() {
    let result = "{\"eval_case_results\": [{\"eval_case_index\": 0, \"response_candidate_results\": [{\"metric_results\": \
                  {\"quality\": {\"score\": 5.0}, \"safety\": {\"score\": 1.0}}}]}]}";
    let workspace = TestWorkspace::new(&[("results.json", result.into())]);
    let listed = ran(workspace.path(), &["list", "."]);
    assert!(
        both(&listed).contains("1 case   1 scored, no threshold"),
        "{}",
        both(&listed)
    );
    let scored = ran(workspace.path(), &["score", "results.json"]);
    assert!(
        both(&scored).contains("2 metrics scored, no threshold"),
        "{}",
        both(&scored)
    );
}

/// The rubrics of a group are read whatever its name is, and `convert` writes the group in both directions.
#[test]
fn groups_of_rubrics_survive_a_conversion() {
    let rows = "{\"eval_cases\": [{\"eval_case_id\": \"book\", \"prompt\": \"Book.\", \"rubric_groups\": {\"g1\": {\"rubrics\": \
                [{\"rubric_id\": \"confirms\", \"content\": {\"property\": {\"description\": \"Confirms.\"}}}]}}}]}";
    let workspace = TestWorkspace::new(&[("d.json", rows.into())]);
    let checked = ran(workspace.path(), &["check", "d.json"]);
    assert!(
        both(&checked).contains("0 errors") && both(&checked).contains("0 warnings"),
        "{}",
        both(&checked)
    );
    ran(
        workspace.path(),
        &["convert", "d.json", "-o", "d.evalset.json"],
    );
    let set: Value = serde_json::from_str(
        &std::fs::read_to_string(workspace.path().join("d.evalset.json")).unwrap(),
    )
    .unwrap();
    let case = &set["eval_cases"][0];
    assert_eq!(case["rubrics"][0]["type"], "FINAL_RESPONSE_QUALITY");
    assert_eq!(case["rubric_groups"]["g1"][0], "confirms");
    ran(
        workspace.path(),
        &["convert", "d.evalset.json", "-o", "again.jsonl"],
    );
    let row: Value = serde_json::from_str(
        &std::fs::read_to_string(workspace.path().join("again.jsonl")).unwrap(),
    )
    .unwrap();
    assert_eq!(
        row["rubric_groups"]["g1"]["rubrics"][0]["rubric_id"], "confirms",
        "{row}"
    );
}

/// The scaffold of agents-cli: one of three cases has a reference, and the config names a file that is missing here.
#[test]
fn agents_cli_scaffold_scores_reference_rows() {
    let row = |id: &str, prompt: &str, answer: &str, reference: &str| {
        format!(
            "{{\"eval_case_id\": \"{id}\", \"prompt\": {{\"parts\": [{{\"text\": \"{prompt}\"}}]}}, \
             \"responses\": [{{\"response\": {{\"parts\": [{{\"text\": \"{answer}\"}}]}}}}]{reference}}}"
        )
    };
    let reference = ", \"reference\": {\"response\": {\"parts\": [{\"text\": \"It is Paris.\"}]}}";
    let rows = [
        row("greeting", "Hello", "Hi.", ""),
        row("capital", "Capital?", "It is Paris.", reference),
    ];
    let config = "metrics_to_run:\n  - custom_response_quality\ncustom_metrics:\n  - name: custom_response_quality\n    \
                  custom_function_file: response_quality.py\n";
    let workspace = TestWorkspace::new(&[
        (
            "datasets/basic-dataset.json",
            format!("{{\"eval_cases\": [{}]}}", rows.join(", ")),
        ),
        ("eval_config.yaml", config.into()),
        ("evaltrail.toml", String::new()),
    ]);
    let report = json(
        workspace.path(),
        &["score", "datasets/basic-dataset.json", "--json"],
    );
    let expected = [("greeting", "not_evaluated"), ("capital", "passed")];
    assert_eq!(
        statuses(&report),
        expected.map(|(id, status)| (id.to_string(), status.to_string()))
    );
    let metrics = report["cases"][1]["metrics"].as_array().unwrap();
    let own = metrics
        .iter()
        .find(|metric| metric["metric"] == "custom_response_quality")
        .unwrap();
    assert_eq!(
        own["explanation"], "there is no file response_quality.py",
        "{own}"
    );
}

#[test]
fn standard_input_is_scored() {
    let workspace = TestWorkspace::new(&[("evaltrail.toml", String::new())]);
    let home = tempfile::tempdir().unwrap();
    let mut command = evaltrail(home.path());
    command
        .current_dir(workspace.path())
        .args(["score", "-", "--metric", "exact_match", "--json"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let rows = b"{\"prompt\": \"q\", \"response\": \"a\", \"reference\": \"a\"}\n";
    child.stdin.take().unwrap().write_all(rows).unwrap();
    let out = child.wait_with_output().unwrap();
    let report: Value =
        serde_json::from_str(&text(&out)).unwrap_or_else(|_| panic!("{}", both(&out)));
    assert_eq!(report["summary"]["passed"], 1, "{report}");
    let empty = ran(workspace.path(), &["score", "-"]);
    assert!(
        both(&empty).contains("standard input: it is empty"),
        "{}",
        both(&empty)
    );
}

#[test]
fn cases_with_equal_ids_are_distinguished() {
    let rows = "{\"id\":\"same\",\"prompt\":\"a\",\"response\":\"x\",\"reference\":\"y\"}\n\
                {\"id\":\"same\",\"prompt\":\"b\",\"response\":\"x\",\"reference\":\"z\"}\n";
    let workspace = TestWorkspace::new(&[("d.jsonl", rows.into())]);
    let reports = [
        "--report",
        "junit=r.xml",
        "--report",
        "markdown=r.md",
        "--report",
        "html=r.html",
    ];
    let out = ran(
        workspace.path(),
        &[&["score", "d.jsonl"], &reports[..]].concat(),
    );
    let reports = ["r.xml", "r.md", "r.html"]
        .map(|name| std::fs::read_to_string(workspace.path().join(name)).unwrap());
    for words in [both(&out)].iter().chain(&reports) {
        for position in ["case 1", "case 2"] {
            assert!(words.contains(position), "{words}");
        }
    }
    let report = json(workspace.path(), &["score", "d.jsonl", "--json"]);
    assert_eq!(
        (
            &report["cases"][0]["position"],
            &report["cases"][1]["position"]
        ),
        (&1.into(), &2.into())
    );
}

#[cfg(unix)]
#[test]
fn a_file_with_a_colon_is_listed_by_case() {
    let workspace = TestWorkspace::new(&[("day:1.jsonl", "{\"id\":\"a\",\"prompt\":\"x\",\"response\":\"y\"}\n{\"id\":\"b\",\"prompt\":\"x\",\"response\":\"y\"}\n".into())]);
    let listed = ran(workspace.path(), &["list", "day:1.jsonl:b"]);
    assert!(
        both(&listed).contains("    b\n") || text(&listed).lines().any(|line| line.trim() == "b"),
        "{}",
        both(&listed)
    );
    assert!(
        !text(&listed).lines().any(|line| line.trim() == "a"),
        "{}",
        both(&listed)
    );
    let missing = ran(workspace.path(), &["list", "day:1.jsonl:c"]);
    assert!(
        both(&missing).contains("there is no case \"c\""),
        "{}",
        both(&missing)
    );
}

#[test]
fn row_without_prompt_column_is_not_run() {
    let workspace = TestWorkspace::new(&[(
        "d.jsonl",
        "{\"question\": \"q\", \"response\": \"a\", \"reference\": \"a\"}\n".into(),
    )]);
    let why = "the row has no prompt; its other columns are question: --columns prompt=NAME reads one as the prompt";
    let checked = ran(workspace.path(), &["check", "d.jsonl"]);
    assert!(both(&checked).contains(why), "{}", both(&checked));
    let run = ran(
        workspace.path(),
        &["run", "d.jsonl", "--agent", "cmd:cat", "--trust"],
    );
    assert!(both(&run).contains(why), "{}", both(&run));
}

#[test]
fn check_reports_bad_simulators_and_rules() {
    let set = "{\"eval_set_id\": \"s\", \"eval_cases\": [{\"eval_id\": \"a\", \"criteria\": {}, \"conversation\": \
               [{\"user_content\": {\"parts\": [{\"text\": \"x\"}]}}]}]}";
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set.into()),
        ("test_config.json", String::new()),
    ]);
    let checked = |user: &str| {
        let config = format!(
            "{{\"criteria\": {{\"response_match_score\": 0.8}}, \"userSimulatorConfig\": {{\"type\": \"{user}\"}}}}"
        );
        std::fs::write(workspace.path().join("test_config.json"), config).unwrap();
        both(&ran(workspace.path(), &["check", "."]))
    };
    assert!(
        checked("nobody").contains("expected llm_backed or llm_audio, found the text \"nobody\"")
    );
    assert!(checked("llm_audio").contains("does not simulate users of type \"llm_audio\""));
    std::fs::write(
        workspace.path().join("evaltrail.toml"),
        "[[match]]\ntool = \"a\"\nargs = { \"\" = \"ignore\" }\n\n[[match]]\ntool = \"b\"\nmin = 3\nmax = 1\n",
    )
    .unwrap();
    let rules = checked("llm_backed");
    assert!(
        rules.contains("evaltrail.toml:1:1: error: match[0]: ")
            && rules.contains("the name of an argument")
    );
    assert!(
        rules.contains("evaltrail.toml:5:1: error: match[1]: ")
            && rules.contains("min = 3 and max = 1")
    );
    std::fs::remove_file(workspace.path().join("evaltrail.toml")).unwrap();
    let plain = checked("llm_backed");
    assert!(
        !plain.contains("userSimulatorConfig")
            && plain.contains("criteria of a case have no effect"),
        "{plain}"
    );
}
