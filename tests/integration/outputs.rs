//! Files that the user names: reports, recordings and exports. A link at their paths may be another person's.
#![cfg(unix)]

use crate::common::{TestWorkspace, both, evaltrail, output};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Output;

fn workspace() -> TestWorkspace {
    let case = json!({"eval_id": "a", "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": "hi"}]},
        "final_response": {"role": "model", "parts": [{"text": "hello"}]},
    }]});
    let agent = "[agents.known]\nkind = \"replay\"\nrecording = \"r.jsonl\"\nspeed = 0\nfallback = \"hello\"\n";
    TestWorkspace::new(&[
        (
            "w/s.evalset.json",
            json!({"eval_set_id": "s", "eval_cases": [case]}).to_string(),
        ),
        (
            "w/test_config.json",
            r#"{"criteria": {"response_match_score": 0.8}}"#.into(),
        ),
        (
            "w/w.test.json",
            r#"[{"query": "q", "expected_tool_use": [], "reference": "r"}]"#.into(),
        ),
        (
            "w/r.jsonl",
            "{\"eval_id\": \"other\", \"turns\": []}\n".into(),
        ),
        ("w/evaltrail.toml", agent.into()),
        ("outside/mine", "mine".into()),
        ("home/.keep", String::new()),
    ])
}

fn run(workspace: &TestWorkspace, args: &[&str]) -> Output {
    output(
        evaltrail(&workspace.path().join("home"))
            .args(args)
            .current_dir(workspace.path().join("w")),
    )
}

#[test]
fn outputs_through_outside_link_are_refused() {
    let workspace = workspace();
    let (folder, outside) = (workspace.path().join("w"), workspace.path().join("outside"));
    let mine = outside.join("mine");
    symlink(&mine, folder.join("link")).unwrap();
    symlink(&mine, folder.join("link.evalset.json")).unwrap();
    // A folder that is a link, as in a repository that contains one in place of the folder of reports.
    symlink(&outside, folder.join("reports")).unwrap();
    let recorded = run(&workspace, &["run", "s.evalset.json", "--trust"]);
    assert_eq!(recorded.status.code(), Some(0), "{}", both(&recorded));
    let ended = |workspace: &TestWorkspace| {
        fs::read_dir(workspace.path().join("w/.evaltrail/runs"))
            .unwrap()
            .count()
    };
    let runs = ended(&workspace);
    for args in [
        vec!["run", "s.evalset.json", "--trust", "--report", "json=link"],
        vec![
            "run",
            "s.evalset.json",
            "--trust",
            "--report",
            "html=reports/report.html",
        ],
        vec!["run", "s.evalset.json", "--trust", "--record", "link"],
        vec![
            "run",
            "s.evalset.json",
            "--trust",
            "--record",
            "reports/recording.jsonl",
        ],
        vec!["export", "last", "--force", "-o", "link"],
        vec!["export", "last", "--force", "-o", "reports/run.evaltrail"],
        vec![
            "convert",
            "w.test.json",
            "--force",
            "-o",
            "link.evalset.json",
        ],
        vec![
            "convert",
            "w.test.json",
            "-o",
            "reports/converted.evalset.json",
        ],
        vec!["merge", "last", "--report", "json=link"],
        vec!["new", "reports/new.evalset.json"],
        vec!["new", "reports/new.evalset.json:case", "--user", "hi"],
        vec!["demo", "--to", "reports/demo"],
    ] {
        let refused = run(&workspace, &args);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{args:?}: {}",
            both(&refused)
        );
        assert!(
            both(&refused).contains("outside its folder"),
            "{args:?}: {}",
            both(&refused)
        );
    }
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(
        ended(&workspace),
        runs,
        "a report that cannot be written is reported before the run"
    );
}

#[test]
fn inside_link_and_stdout_are_written() {
    let workspace = workspace();
    let folder = workspace.path().join("w");
    symlink("target.json", folder.join("link.json")).unwrap();
    fs::write(folder.join("target.json"), "before").unwrap();
    let linked = run(
        &workspace,
        &[
            "run",
            "s.evalset.json",
            "--trust",
            "-q",
            "--report",
            "json=link.json",
        ],
    );
    assert_eq!(linked.status.code(), Some(0), "{}", both(&linked));
    assert!(
        fs::read_to_string(folder.join("target.json"))
            .unwrap()
            .contains("\"summary\"")
    );
    // Standard output is a file outside of the folder, as after `> file`.
    let file = fs::File::create(workspace.path().join("outside/redirected")).unwrap();
    let mut command = evaltrail(&workspace.path().join("home"));
    command.args([
        "run",
        "s.evalset.json",
        "--trust",
        "-q",
        "--report",
        "csv=/dev/stdout",
    ]);
    let streamed = output(command.stdout(file).current_dir(&folder));
    assert_eq!(streamed.status.code(), Some(0), "{}", both(&streamed));
    assert!(
        fs::read_to_string(workspace.path().join("outside/redirected"))
            .unwrap()
            .contains("response_match_score")
    );
}
