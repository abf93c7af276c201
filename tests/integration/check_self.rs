//! `evaltrail check --self` with the real binary: planted faults of cases are found, and sound cases have none.

use crate::common::{TestWorkspace, both, evaltrail, output, root};
use serde_json::{Value, json};

/// A case with one turn.
fn case(id: &str, prompt: &str, tools: &[&str], response: &str) -> Value {
    let calls: Vec<Value> = tools
        .iter()
        .map(|name| json!({"name": name, "args": {}}))
        .collect();
    json!({
        "eval_id": id,
        "conversation": [{
            "invocation_id": "t",
            "user_content": {"parts": [{"text": prompt}], "role": "user"},
            "final_response": {"parts": [{"text": response}], "role": "model"},
            "intermediate_data": {"tool_uses": calls},
        }],
    })
}

fn with_state(mut case: Value, lamp: &str) -> Value {
    case["final_session_state"] = json!({"lamp": lamp});
    case
}

/// A folder with criteria and a set of these cases.
fn folder(name: &str, criteria: Value, cases: &[Value]) -> [(String, String); 2] {
    let set = json!({"eval_set_id": name, "name": name, "eval_cases": cases});
    [
        (
            format!("{name}/{name}.evalset.json"),
            serde_json::to_string_pretty(&set).unwrap(),
        ),
        (
            format!("{name}/test_config.json"),
            json!({"criteria": criteria}).to_string(),
        ),
    ]
}

#[test]
fn planted_faults_of_cases_are_found() {
    let exact = json!({"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8});
    let in_order =
        json!({"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "IN_ORDER"}});
    let files: Vec<(String, String)> = [
        folder(
            "exact",
            exact,
            &[
                case("sound", "water", &["water_bed"], "The bed got water."),
                case(
                    "same_again",
                    "water",
                    &["water_bed"],
                    "The bed got its water.",
                ),
                case("empty_response", "hello", &[], ""),
                case("other_call", "water", &["open_valve"], "The bed got water."),
                case(
                    "other_answer",
                    "water",
                    &["water_bed"],
                    "Ask somebody else about that.",
                ),
                case("forbidden", "format it", &["format_disk"], "It is done."),
                with_state(case("lamp_on", "lamp", &[], "The lamp is on."), "on"),
                with_state(case("lamp_off", "lamp", &[], "The lamp is on."), "off"),
            ],
        ),
        folder(
            "any_calls",
            in_order.clone(),
            &[
                case("nothing_expected", "rain", &[], "It will rain."),
                case("one_expected", "look", &["look"], ""),
            ],
        ),
        folder(
            "no_threshold",
            json!({"response_match_score": 0.0}),
            &[case("anything", "rain", &[], "It will rain.")],
        ),
        folder(
            "too_high",
            json!({"response_match_score": 1.5}),
            &[case("unreachable", "rain", &[], "It will rain.")],
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let rule = "[[match]]\ntool = \"format_disk\"\nforbidden = true\n";
    let mut all: Vec<(&str, String)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.clone()))
        .collect();
    all.push(("evaltrail.toml", rule.into()));
    let work = TestWorkspace::new(&all);
    let checked = output(
        evaltrail(&work.path().join("home"))
            .args(["check", "--self"])
            .arg(work.path()),
    );
    assert_eq!(checked.status.code(), Some(1), "{}", both(&checked));
    let printed = both(&checked);
    let mut found: Vec<(&str, &str)> = printed
        .lines()
        .filter_map(|line| {
            let mut parts = line.split(": ").skip(1);
            Some((parts.next()?, parts.next()?))
        })
        .filter(|(kind, _)| ["cannot pass", "too weak", "contradiction"].contains(kind))
        .collect();
    let mut expected = vec![
        ("too weak", "nothing_expected"),
        ("too weak", "anything"),
        ("cannot pass", "empty_response"),
        ("contradiction", "other_call"),
        ("contradiction", "other_answer"),
        ("cannot pass", "forbidden"),
        ("contradiction", "lamp_off"),
        ("cannot pass", "unreachable"),
    ];
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{printed}");
    assert!(
        printed.contains(
            "12 cases of 4 sets checked against themselves: 3 cannot pass, 2 too weak, 3 contradict another case"
        ),
        "{printed}"
    );
}

#[test]
fn sample_workspace_has_no_faults() {
    let folder = root().join("fixtures/workspace");
    let home = tempfile::tempdir().unwrap();
    let checked = output(evaltrail(home.path()).args(["check", "--self"]).arg(folder));
    assert_eq!(checked.status.code(), Some(0), "{}", both(&checked));
}
