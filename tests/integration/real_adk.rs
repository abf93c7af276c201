//! Tests with the real `adk api_server`, `adk eval` and `adk web`, and with agents that run offline.
//!
//! They need google-adk 2.13 (`EVALTRAIL_ADK=/path/to/adk`, a `.venv` here, or PATH), and print a message if they are
//! skipped. `.ci/run` installs it.

use crate::common::{
    ScriptedJudge, Server, adk_or_skip, both, copy_folder, evaltrail, number, oracle, output,
    python, root,
};
use evaltrail_core::domain::{AgentServer, AgentSpec, Progress};
use evaltrail_engine::agents::SessionOptions;
use evaltrail_engine::runner::{ChatEvent, chat};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("readable")).expect("JSON")
}

/// What two runs must agree on: set, case and metric, with score, status and the same per invocation.
type Scores = BTreeMap<(String, String, String), (Option<f64>, u8, Vec<(Option<f64>, u8)>)>;

fn status_number(word: &str) -> u8 {
    match word {
        "PASSED" | "passed" => 1,
        "FAILED" | "failed" => 2,
        "NOT_EVALUATED" | "not_evaluated" => 3,
        "INFORMATIONAL" | "informational" => 4,
        other => panic!("status {other}"),
    }
}

fn our_scores(report: &Value) -> (Scores, BTreeMap<(String, String), u64>) {
    let mut scores = Scores::new();
    let mut cases = BTreeMap::new();
    for case in report["cases"].as_array().expect("cases") {
        let set = case["eval_set"].as_str().unwrap().to_string();
        let id = case["eval_id"].as_str().unwrap().to_string();
        cases.insert(
            (set.clone(), id.clone()),
            case["adk_status"].as_u64().unwrap(),
        );
        for metric in case["metrics"].as_array().unwrap() {
            let per = metric["per_invocation"].as_array().unwrap().iter();
            let per = per
                .map(|p| {
                    (
                        number(&p["score"]),
                        status_number(p["status"].as_str().unwrap()),
                    )
                })
                .collect();
            let name = metric["metric"].as_str().unwrap().to_string();
            let status = status_number(metric["status"].as_str().unwrap());
            scores.insert(
                (set.clone(), id.clone(), name),
                (number(&metric["score"]), status, per),
            );
        }
    }
    (scores, cases)
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9,
        (a, b) => a == b,
    }
}

/// Every run of `adk eval` in the oracle whose metrics need no judge gives the same score and status
/// for each case, metric and invocation.
///
/// Intended differences: (1) runs in which ADK itself crashed are not compared, evaltrail finishes them; (2) a case
/// whose agent raised an exception is `errored` here and FAILED in ADK, `adk_status` is equal; (3) durations are not
/// compared; (4) a metric that cannot be evaluated has no placeholders for its turns in ADK when the case has none;
/// (5) a set in the legacy format is named by its file and not by the path on the command line.
#[test]
fn the_matrix_of_adk_eval() {
    let (Some(adk), Some(oracle)) = (adk_or_skip("the_matrix_of_adk_eval"), oracle()) else {
        return;
    };
    let work = tempfile::tempdir().unwrap();
    let agents = work.path().join("agents");
    copy_folder(&oracle.join("agents"), &agents);
    copy_folder(&oracle.join("evalsets"), &work.path().join("evalsets"));
    let server = Server::start(&adk, "api_server", &agents);
    let matrix = read_json(&oracle.join("results/matrix.json"));
    let crashed: Vec<String> = read_json(&oracle.join("results/runs.json"))
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| !run["crash"].is_null())
        .map(|run| run["run_id"].as_str().unwrap().to_string())
        .collect();
    let expected = read_json(&oracle.join("results/expected_scores.json"));
    let mut compared = 0;
    let mut rows_of: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for row in expected.as_array().unwrap() {
        rows_of
            .entry(row["run_id"].as_str().unwrap())
            .or_default()
            .push(row);
    }
    for run in matrix.as_array().unwrap() {
        let id = run["run_id"].as_str().unwrap();
        let (Some(rows), false) = (rows_of.get(id), crashed.iter().any(|c| c == id)) else {
            continue;
        };
        // ADK leaves a metric that does not exist out; evaltrail refuses it before the agent is called.
        if id.ends_with(".unknown_metric") {
            continue;
        }
        let report = run_ours(work.path(), run, server.port);
        let (ours, cases) = our_scores(&report);
        for row in rows {
            compare_row(id, row, &ours, &cases);
            compared += 1;
        }
    }
    println!(
        "{compared} rows of {} compared",
        expected.as_array().unwrap().len()
    );
    assert!(compared > 1900, "{compared}");
}

/// The same for judged runs, both with the oracle's judge: in ADK's reading the scores and statuses are equal, also
/// for faults of the judge.
#[test]
fn the_judged_matrix_of_adk_eval() {
    let (Some(adk), Some(oracle)) = (adk_or_skip("the_judged_matrix_of_adk_eval"), oracle()) else {
        return;
    };
    let work = tempfile::tempdir().unwrap();
    let agents = work.path().join("agents");
    copy_folder(&oracle.join("agents"), &agents);
    copy_folder(&oracle.join("evalsets"), &work.path().join("evalsets"));
    std::fs::write(
        work.path().join("evaltrail.toml"),
        "[judge]\ncompat = \"adk\"\n",
    )
    .unwrap();
    let server = Server::start(&adk, "api_server", &agents);
    let expected = read_json(&oracle.join("results/judged_scores.json"));
    let mut compared = 0;
    for run in read_json(&oracle.join("results/judged_matrix.json"))
        .as_array()
        .unwrap()
    {
        let id = run["run_id"].as_str().unwrap();
        let judge = ScriptedJudge::start(
            &python().unwrap(),
            &oracle,
            &oracle.join(run["rules"].as_str().unwrap()),
        );
        let report = run_with(work.path(), run, server.port, |command| {
            judge.judges(command)
        });
        let (ours, cases) = our_scores(&report);
        for row in expected
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["run_id"] == id)
        {
            compare_row(id, row, &ours, &cases);
            compared += 1;
        }
    }
    // Results of a set beside its agent are saved in ADK's folder.
    let run = serde_json::json!({
        "agent": "agents/home_automation", "evalset": "home_automation/home_judged.evalset.json",
        "config": "../evalsets/configs/judged_rubrics.json", "cwd": "agents",
    });
    let set = "home_judged.evalset.json";
    std::fs::copy(
        oracle.join("evalsets").join(set),
        agents.join("home_automation").join(set),
    )
    .unwrap();
    std::fs::copy(
        work.path().join("evaltrail.toml"),
        agents.join("evaltrail.toml"),
    )
    .unwrap();
    let judge = ScriptedJudge::start(
        &python().unwrap(),
        &oracle,
        &oracle.join("judge_rules/home.json"),
    );
    run_with(work.path(), &run, server.port, |command| {
        judge.judges(command)
    });
    same_rubrics_as_adk_writes(&oracle, &agents.join("home_automation/.adk/eval_history"));
    println!("{compared} judged rows compared");
    assert_eq!(compared, expected.as_array().unwrap().len());
}

/// Asserts that google-adk accepts evaltrail's result file of `home_judged.rubrics`, and that its rubric verdicts
/// equal those in ADK's file for each case, metric and turn.
fn same_rubrics_as_adk_writes(oracle: &Path, history: &Path) {
    let theirs = read_json(&oracle.join("results/home_judged.rubrics.evalset_result.json"));
    let theirs = theirs
        .as_str()
        .map_or(theirs.clone(), |text| serde_json::from_str(text).unwrap());
    let names = |cases: &Value| -> Vec<String> {
        let metrics = cases[0]["overall_eval_metric_results"].as_array().unwrap();
        metrics
            .iter()
            .map(|metric| metric["metric_name"].as_str().unwrap().to_string())
            .collect()
    };
    // The same folder contains results of other sets with the same metrics.
    let same_run = |ours: &Value| {
        ours["eval_set_id"] == theirs["eval_set_id"]
            && names(&ours["eval_case_results"]) == names(&theirs["eval_case_results"])
    };
    let mut files = std::fs::read_dir(history)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = files
        .find(|file| same_run(&read_json(file)))
        .expect("our result of the same run");
    let model = "import sys; from google.adk.evaluation.eval_result import EvalSetResult as R; R.model_validate_json(open(sys.argv[1]).read())";
    let taken = Command::new(python().unwrap())
        .args(["-c", model])
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        taken.status.success(),
        "{}",
        String::from_utf8_lossy(&taken.stderr)
    );
    let ours = read_json(&file);
    let mut verdicts = 0;
    for case in theirs["eval_case_results"].as_array().unwrap() {
        let mut all = ours["eval_case_results"].as_array().unwrap().iter();
        let mine = all
            .find(|mine| mine["eval_id"] == case["eval_id"])
            .expect("the case");
        let turns = case["eval_metric_result_per_invocation"]
            .as_array()
            .unwrap();
        for (at, turn) in turns.iter().enumerate() {
            for (nth, metric) in turn["eval_metric_results"]
                .as_array()
                .unwrap()
                .iter()
                .enumerate()
            {
                let mine =
                    &mine["eval_metric_result_per_invocation"][at]["eval_metric_results"][nth];
                let of = |metric: &Value| -> Vec<(String, Option<f64>)> {
                    let scores = metric["details"]["rubric_scores"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default();
                    scores
                        .iter()
                        .map(|one| (one["rubric_id"].to_string(), one["score"].as_f64()))
                        .collect()
                };
                assert_eq!(
                    of(mine),
                    of(metric),
                    "{} {}",
                    case["eval_id"],
                    metric["metric_name"]
                );
                verdicts += of(metric).len();
            }
        }
    }
    assert_eq!(verdicts, 20);
}

fn run_ours(work: &Path, run: &Value, port: u16) -> Value {
    run_with(work, run, port, |_| {})
}

fn run_with(work: &Path, run: &Value, port: u16, with: impl Fn(&mut Command)) -> Value {
    let app = run["agent"].as_str().unwrap().rsplit('/').next().unwrap();
    let sets = run["evalset"].as_str().unwrap().split(' ');
    let report = work.join("report.json");
    let folder = run["cwd"]
        .as_str()
        .map_or(work.to_path_buf(), |cwd| work.join(cwd));
    let mut command = evaltrail(&work.join("home"));
    with(&mut command);
    command
        .current_dir(&folder)
        .arg("run")
        .args(sets)
        .args(["-j", "8", "--agent"]);
    command.arg(format!("adk+http://127.0.0.1:{port}/{app}"));
    if let Some(config) = run["config"].as_str() {
        command.arg("--config").arg(config);
    }
    command
        .arg("--report")
        .arg(format!("json={}", report.display()));
    let ran = output(&mut command);
    assert!(
        matches!(ran.status.code(), Some(0 | 1)),
        "{run}: {}",
        both(&ran)
    );
    read_json(&report)
}

/// Where no event reports usage, ADK counts 0 model calls, and evaltrail knows no number.
fn is_unknown_count(metric: &str, score: Option<f64>, theirs: &Value) -> bool {
    metric == "inference_call_count_v1" && score.is_none() && number(theirs) == Some(0.0)
}

fn compare_row(run: &str, row: &Value, ours: &Scores, cases: &BTreeMap<(String, String), u64>) {
    let set = row["eval_set_id"]
        .as_str()
        .unwrap()
        .trim_end_matches(".evalset.json")
        .to_string();
    let case = row["eval_id"].as_str().unwrap().to_string();
    let adk_status = cases
        .get(&(set.clone(), case.clone()))
        .unwrap_or_else(|| panic!("{run}: no {set} {case}"));
    let wanted = status_number(row["final_eval_status"].as_str().unwrap());
    assert_eq!(
        *adk_status,
        u64::from(wanted),
        "{run}: final status of {case}"
    );
    let Some(metric) = row["metric"].as_str() else {
        return;
    };
    let (score, status, per) = ours
        .get(&(set, case.clone(), metric.to_string()))
        .unwrap_or_else(|| panic!("{run}: {case} has no {metric}"));
    assert_eq!(
        *status,
        status_number(row["status"].as_str().unwrap()),
        "{run}: {case} {metric}"
    );
    let theirs: Vec<&Value> = row["per_invocation"].as_array().unwrap().iter().collect();
    assert_eq!(per.len(), theirs.len(), "{run}: {case} {metric}");
    let timed = metric == "invocation_duration_v1";
    let equal = |score: Option<f64>, theirs: &Value| {
        timed || close(score, number(theirs)) || is_unknown_count(metric, score, theirs)
    };
    assert!(
        equal(*score, &row["score"]),
        "{run}: {case} {metric}: {score:?}, {row}"
    );
    for ((score, status), theirs) in per.iter().zip(theirs) {
        assert!(
            equal(*score, &theirs["score"]),
            "{run}: {case} {metric}: {score:?}, {row}"
        );
        assert_eq!(
            *status,
            status_number(theirs["status"].as_str().unwrap()),
            "{run}: {case} {metric}"
        );
    }
}

/// The sample agents get the same scores from evaltrail, without configuration (it starts the server), and from `adk
/// eval`. `adk web` lists and opens the file that evaltrail writes.
#[test]
fn the_sample_agents_and_adk_web() {
    let Some(adk) = adk_or_skip("the_sample_agents_and_adk_web") else {
        return;
    };
    let work = tempfile::tempdir().unwrap();
    let agents = work.path().join("agents");
    copy_folder(&root().join("fixtures/workspace"), &agents);
    std::fs::remove_file(agents.join("evaltrail.toml")).unwrap();
    for (app, set) in [("garden", "watering"), ("library_desk", "loans")] {
        let file = agents.join(app).join(format!("{set}.evalset.json"));
        let report = work.path().join("report.json");
        let path = format!(
            "{}:{}",
            adk.parent().unwrap().display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut command = evaltrail(&work.path().join("home"));
        command.env("PATH", &path).arg("run").arg(&agents).args([
            "--filter",
            &format!("set:{set}"),
            "--trust",
        ]);
        let ran = output(
            command
                .arg("--report")
                .arg(format!("json={}", report.display())),
        );
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{}", both(&ran));
        let (ours, _) = our_scores(&read_json(&report));
        let (before, theirs) = (
            results_of(&agents.join(app)),
            run_theirs(&adk, &agents.join(app), &file),
        );
        compare_result(&ours, &theirs, set);
        assert_eq!(before.len(), 1, "evaltrail wrote one result for {app}");
        assert_eq!(
            results_of(&agents.join(app)).len(),
            2,
            "and adk eval one more"
        );
    }
    let server = Server::start(&adk, "web", &agents);
    for app in ["garden", "library_desk"] {
        let list = server
            .get(&format!("/dev/apps/{app}/eval-results"))
            .expect("adk web lists results");
        for file in results_of(&agents.join(app)) {
            assert!(list.contains(&file), "{file} in {list}");
            let encoded = file.replace(' ', "%20");
            let opened = server
                .get(&format!("/dev/apps/{app}/eval-results/{encoded}"))
                .expect("adk web opens it");
            let opened: Value = serde_json::from_str(&opened).expect("JSON");
            assert!(!opened["evalCaseResults"].as_array().unwrap().is_empty());
        }
    }
}

fn results_of(app: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(app.join(".adk/eval_history"))
        .into_iter()
        .flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names
        .filter_map(|name| {
            name.strip_suffix(".evalset_result.json")
                .map(str::to_string)
        })
        .collect()
}

fn run_theirs(adk: &Path, app: &Path, set: &Path) -> Value {
    let before = results_of(app);
    let ran = output(
        Command::new(adk)
            .arg("eval")
            .arg(app)
            .arg(set)
            .current_dir(app.parent().unwrap()),
    );
    let after = results_of(app);
    let new = after
        .iter()
        .find(|name| !before.contains(name))
        .unwrap_or_else(|| panic!("{}", both(&ran)));
    read_json(
        &app.join(".adk/eval_history")
            .join(format!("{new}.evalset_result.json")),
    )
}

fn compare_result(ours: &Scores, theirs: &Value, set: &str) {
    for case in theirs["eval_case_results"].as_array().unwrap() {
        let id = case["eval_id"].as_str().unwrap();
        for metric in case["overall_eval_metric_results"].as_array().unwrap() {
            let name = metric["metric_name"].as_str().unwrap();
            let (score, status, _) = &ours[&(set.to_string(), id.to_string(), name.to_string())];
            assert_eq!(
                u64::from(*status),
                metric["eval_status"].as_u64().unwrap(),
                "{id} {name}"
            );
            let timed = name == "invocation_duration_v1";
            assert!(
                timed || close(*score, number(&metric["score"])),
                "{id} {name} {score:?} {metric}"
            );
        }
    }
}

/// ADK declares `final_session_state` and never compares it; evaltrail requests the state from the server.
#[test]
fn the_session_state_after_a_run_is_compared() {
    let Some(adk) = adk_or_skip("the_session_state_after_a_run_is_compared") else {
        return;
    };
    let work = tempfile::tempdir().unwrap();
    let agents = work.path().join("agents");
    copy_folder(&root().join("fixtures/workspace"), &agents);
    let case = |id: &str, expected: Value| {
        serde_json::json!({"eval_id": id, "conversation": [{"user_content": {"parts": [{"text": "Water the tomatoes with 4 litres."}], "role": "user"}}],
            "session_input": {"app_name": "garden", "user_id": "u", "state": {"season": "spring", "beds": [1, 2]}},
            "final_session_state": expected})
    };
    let set = serde_json::json!({"eval_set_id": "state", "eval_cases": [
        case("same", serde_json::json!({"season": "spring", "beds": [1, 2.0]})),
        case("part", serde_json::json!({"season": "spring"})),
        case("other", serde_json::json!({"season": "autumn", "beds": [1, 2]})),
        case("none", serde_json::json!({})),
    ]});
    let file = agents.join("garden/state.evalset.json");
    std::fs::write(&file, set.to_string()).unwrap();
    let config = agents.join("state.json");
    let server = Server::start(&adk, "api_server", &agents);
    let agent = format!("adk+http://127.0.0.1:{}/garden", server.port);
    let results = |criteria: Value| -> Vec<(Option<f64>, Value)> {
        std::fs::write(
            &config,
            serde_json::json!({"criteria": criteria}).to_string(),
        )
        .unwrap();
        let ran = output(
            evaltrail(&work.path().join("home"))
                .args([
                    "run",
                    &file.display().to_string(),
                    "--agent",
                    &agent,
                    "--json",
                    "--config",
                ])
                .arg(&config),
        );
        let report: Value =
            serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", both(&ran)));
        let of = |case: &Value| {
            let metrics = case["metrics"].as_array().unwrap();
            let found = metrics
                .iter()
                .find(|m| m["metric"] == "session_state_match");
            (
                found.and_then(|m| m["score"].as_f64()),
                case["status"].clone(),
            )
        };
        report["cases"].as_array().unwrap().iter().map(of).collect()
    };
    let mode =
        |mode: &str| serde_json::json!({"session_state_match": {"threshold": 1, "mode": mode}});
    let scores = |criteria: Value| -> Vec<Option<f64>> {
        results(criteria)
            .into_iter()
            .map(|(score, _)| score)
            .collect()
    };
    assert_eq!(
        scores(mode("exact")),
        [Some(1.0), Some(0.0), Some(0.0), None]
    );
    assert_eq!(
        scores(mode("subset")),
        [Some(1.0), Some(1.0), Some(0.0), None]
    );
    // A declared state is compared also without the criterion, and decides the status.
    let found = results(serde_json::json!({"tool_call_valid": 0}));
    let expected = [
        (Some(1.0), "passed"),
        (Some(1.0), "passed"),
        (Some(0.0), "failed"),
        (None, "passed"),
    ];
    assert_eq!(
        found,
        expected.map(|(score, status)| (score, Value::from(status)))
    );
}

/// A streamed response is reported piece by piece during a conversation; the finished turn contains the whole
/// response.
#[tokio::test]
async fn a_conversation_streams() {
    let Some(adk) = adk_or_skip("a_conversation_streams") else {
        return;
    };
    let agents = tempfile::tempdir().unwrap();
    let app = agents.path().join("speaker");
    std::fs::create_dir(&app).unwrap();
    std::fs::write(app.join("__init__.py"), "from . import agent\n").unwrap();
    std::fs::write(
        app.join("agent.py"),
        r#"
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])

class UserTurns(BaseLlm):
    async def generate_content_async(self, request, stream=False):
        if stream:
            for piece in ["Good", " mor", "ning!"]:
                yield LlmResponse(content=say(piece), partial=True)
        yield LlmResponse(content=say("Good morning!"))

root_agent = LlmAgent(name="speaker", model=UserTurns(model="fake"))
"#,
    )
    .unwrap();
    let server = Server::start(&adk, "api_server", agents.path());
    let server_url = AgentServer::Url(format!("http://127.0.0.1:{}", server.port));
    let spec = AgentSpec::Adk {
        server: server_url,
        app: "speaker".into(),
        agent_name: None,
    };
    let opening = SessionOptions {
        eval_id: String::new(),
        attempt: 1,
        user_id: "u".into(),
        session_id: "s".into(),
        pinned: false,
        state: Default::default(),
        ..SessionOptions::default()
    };
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let say = chat((spec, Default::default()), opening, sender);
    say.send("Hello".into()).await.unwrap();
    let mut heard = Vec::new();
    loop {
        match events.recv().await.expect("the conversation goes on") {
            ChatEvent::Opened(_) => {}
            ChatEvent::Progress(step) => heard.push(step),
            ChatEvent::Turn(turn, _) => {
                assert_eq!(turn.response_text(), "Good morning!");
                break;
            }
            ChatEvent::Broke(why, _) => panic!("{why}"),
        }
    }
    let pieces = ["Good", " mor", "ning!"].map(|piece| Progress::SaysMore(piece.into()));
    assert_eq!(heard[..3], pieces, "{heard:?}");
    assert_eq!(heard[3..], [Progress::Says("Good morning!".into())]);
}
