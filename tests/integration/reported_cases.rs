//! Small inputs for faults that people reported in public for tools of this field, each with the result that is right.
//!
//! The files of `../shared/cases` beside the checkout are used; without it, their copies in `fixtures/reported_cases`. The tests
//! with the agent of ADK need google-adk, like those of `real_adk`.

use crate::common::scripted::{JSON, ScriptedServer, answer};
use crate::common::{
    Server, adk, adk_or_skip, both, copy_folder, evaltrail, has_program, output, python, root,
    text, wait_for,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A copy of one of the folders, in which commands are executed.
struct CaseFolder {
    folder: tempfile::TempDir,
}

fn source(name: &str) -> PathBuf {
    let shared = root().join("../shared/cases");
    let cases = if shared.is_dir() {
        shared
    } else {
        root().join("fixtures/reported_cases")
    };
    cases.join(name)
}

impl CaseFolder {
    fn copy(name: &str) -> CaseFolder {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(&source(name), folder.path());
        CaseFolder { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn read(&self, file: &str) -> String {
        let path = self.path().join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn json_file(&self, file: &str) -> Value {
        serde_json::from_str(&self.read(file)).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path().join(file), text).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = evaltrail(&self.path().join("home"));
        command.current_dir(self.path());
        command
    }

    fn ran(&self, args: &[&str]) -> Output {
        output(self.command().args(args))
    }

    fn printed(&self, args: &[&str]) -> String {
        both(&self.ran(args))
    }

    /// What a command printed, and its JSON report.
    fn reported(&self, args: &[&str]) -> (String, Value) {
        let out = self.ran(&[args, &["--report", "json=report.json"]].concat());
        let report = std::fs::read_to_string(self.path().join("report.json"));
        let report = report.unwrap_or_else(|_| panic!("{}", both(&out)));
        (both(&out), serde_json::from_str(&report).unwrap())
    }

    /// Writes the answers of the scripted agent to the messages of these cases as a recording, so that they can be replayed
    /// without ADK. Returns the agent.
    fn recorded(&self, cases: &[(&str, &str)]) -> String {
        let script: Value = serde_json::from_str(
            &std::fs::read_to_string(source("agents/scripted/script.json")).unwrap(),
        )
        .unwrap();
        let event = |event: &Value| {
            let mut event = event.clone();
            event["author"] = event.get("author").cloned().unwrap_or("scripted".into());
            event
        };
        let line = |(eval_id, prompt): &(&str, &str)| {
            let events: Vec<Value> = script[*prompt]
                .as_array()
                .unwrap()
                .iter()
                .map(event)
                .collect();
            json!({"eval_id": eval_id, "turns": [{"prompt": prompt, "events": events}]}).to_string()
                + "\n"
        };
        self.write(
            "agent.recording",
            &cases.iter().map(line).collect::<String>(),
        );
        "replay:agent.recording?speed=0".into()
    }
}

fn field<'a>(report: &'a Value, eval_id: &str, key: &str) -> &'a Value {
    let mut cases = report["cases"].as_array().unwrap().iter();
    &cases
        .find(|case| case["eval_id"] == eval_id)
        .unwrap_or_else(|| panic!("{eval_id} in {report}"))[key]
}

fn statuses(report: &Value) -> Vec<&str> {
    report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["status"].as_str().unwrap())
        .collect()
}

/// The server of the scripted agent of ADK.
struct ScriptedAgent {
    server: Server,
    _agents: tempfile::TempDir,
}

impl ScriptedAgent {
    fn start(test: &str) -> Option<ScriptedAgent> {
        let adk = adk_or_skip(test)?;
        let agents = tempfile::tempdir().unwrap();
        copy_folder(&source("agents"), agents.path());
        Some(ScriptedAgent {
            server: Server::start(&adk, "api_server", agents.path()),
            _agents: agents,
        })
    }

    fn agent(&self) -> String {
        format!("adk+http://127.0.0.1:{}/scripted", self.server.port)
    }
}

/// The copies in this repository are the same files.
#[test]
fn copies_of_the_reported_files_are_equal() {
    let shared = root().join("../shared/cases");
    if !shared.is_dir() {
        return println!("skipped: there is no ../shared/cases, the copies are used");
    }
    let copies = root().join("fixtures/reported_cases");
    let mut folders = vec![copies.clone()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!path.ends_with("__pycache__")).then_some(path));
                continue;
            }
            let original = shared.join(path.strip_prefix(&copies).unwrap());
            let same = std::fs::read(&original).unwrap() == std::fs::read(&path).unwrap();
            assert!(same, "{} is not as {}", path.display(), original.display());
            count += 1;
        }
    }
    assert!(count > 30, "{count} files");
}

/// Row 15, with the criteria of the folder.
#[test]
fn model_errors_are_the_reason_and_the_cause() {
    let Some(server) = ScriptedAgent::start("model_errors_are_the_reason_and_the_cause") else {
        return;
    };
    let folder = CaseFolder::copy("15-empty-and-error");
    let (printed, report) =
        folder.reported(&["run", ".", "--agent", &server.agent(), "--retries", "0"]);
    assert_eq!(
        statuses(&report),
        ["failed", "failed", "failed", "errored"],
        "{printed}"
    );
    let score = |eval_id: &str, at: usize| field(&report, eval_id, "metrics")[at]["score"].clone();
    assert_eq!(
        (score("blocked", 0), score("blocked", 1)),
        (json!(1.0), json!(0.0)),
        "scores are ADK's"
    );
    for (eval_id, words) in [
        ("blocked", "SAFETY: blocked by safety"),
        ("error_after_tool", "UNKNOWN_ERROR: Unknown error."),
    ] {
        let (code, message) = words.split_once(": ").unwrap();
        let error = &field(&report, eval_id, "model_errors")[0];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(code), &json!(message)),
            "{eval_id}"
        );
        let reason = field(&report, eval_id, "reason").as_str().unwrap();
        assert!(
            reason.starts_with(&format!("the model reported {words}")),
            "{eval_id}: {reason}"
        );
        let line = printed
            .lines()
            .find(|line| line.contains(&format!("› {eval_id} ")))
            .unwrap();
        assert!(line.contains(words), "{line}");
        let calls = field(&report, eval_id, "invocations")[0]["actual"]["tool_calls"]
            .as_array()
            .unwrap();
        assert_eq!(
            calls.len(),
            usize::from(eval_id == "error_after_tool"),
            "{eval_id}"
        );
    }
    assert_eq!(
        field(&report, "raises", "error"),
        "RuntimeError: boom in the agent"
    );
    let run = std::fs::read_dir(folder.path().join(".evaltrail/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let journal = std::fs::read_to_string(run.path().join("journal.jsonl")).unwrap();
    assert!(
        journal.contains("\"code\":\"SAFETY\",\"message\":\"blocked by safety\""),
        "{journal}"
    );
    let of_cause = [
        "run",
        ".",
        "--agent",
        &server.agent(),
        "--failed",
        "--filter",
        "cause:\"reported SAFETY\"",
    ];
    let (printed, report) = folder.reported(&of_cause);
    assert_eq!(
        (statuses(&report), &report["cases"][0]["eval_id"]),
        (vec!["failed"], &json!("blocked")),
        "{printed}"
    );
}

/// Row 15, where only the trajectory is a criterion: the statuses are ADK's, and no line is a bare pass.
#[test]
fn model_errors_are_reported_with_their_text() {
    let Some(server) = ScriptedAgent::start("model_errors_are_reported_with_their_text") else {
        return;
    };
    let folder = CaseFolder::copy("15-empty-and-error");
    folder.write(
        "test_config.json",
        "{\"criteria\": {\"tool_trajectory_avg_score\": 1.0}}",
    );
    let (printed, report) =
        folder.reported(&["run", ".", "--agent", &server.agent(), "--retries", "0"]);
    assert_eq!(
        statuses(&report),
        ["passed", "passed", "passed", "errored"],
        "{printed}"
    );
    for (eval_id, words) in [
        ("blocked", "SAFETY: blocked by safety"),
        ("error_after_tool", "UNKNOWN_ERROR"),
    ] {
        let line = printed
            .lines()
            .find(|line| line.contains(&format!("› {eval_id} ")))
            .unwrap();
        assert!(
            line.contains("⚠ the model reported") && line.contains(words),
            "{line}"
        );
    }
    assert!(printed.contains("ADK status: passed"), "{printed}");
}

/// Row 18.
#[test]
fn prediction_only_rows_name_missing_column() {
    let folder = CaseFolder::copy("18-predicted-for-reference");
    let (printed, report) = folder.reported(&["score", "data.json"]);
    assert_eq!(statuses(&report), ["not_evaluated", "not_evaluated"]);
    let reason = "the row has no reference or reference_trajectory (it has predicted_trajectory)";
    for case in report["cases"].as_array().unwrap() {
        assert!(case["reason"].as_str().unwrap().contains(reason), "{case}");
    }
    assert!(printed.contains(reason), "{printed}");
}

/// Row 20.
#[test]
fn response_items_become_calls_and_messages() {
    let folder = CaseFolder::copy("20-responses-items");
    let (printed, report) = folder.reported(&["score", "calls.jsonl"]);
    let turns: Vec<&Value> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| &case["invocations"][0])
        .collect();
    let calls = json!([{"name": "get_weather", "args": {"city": "Oslo"}}]);
    assert_eq!(turns.len(), 2, "{printed}");
    for turn in &turns {
        assert_eq!(turn["user"], "weather in Oslo");
    }
    assert_eq!(
        (
            &turns[0]["expected"]["tool_calls"],
            &turns[1]["actual"]["tool_calls"]
        ),
        (&calls, &calls)
    );
    assert_eq!(turns[0]["expected"]["response"], "It is 4 degrees.");
    assert_eq!(turns[1]["actual"]["response"], "4.");
    let converted = folder.printed(&["convert", "calls.jsonl", "-o", "calls.evalset.json"]);
    let set = folder.json_file("calls.evalset.json");
    let results = &set["eval_cases"][0]["conversation"][0]["intermediate_data"]["tool_responses"];
    assert_eq!(
        results[0]["response"],
        json!({"result": "4 degrees"}),
        "{converted}"
    );
}

/// A server that is ended with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Row 41.
#[test]
fn a2a_texts_are_in_response_or_events() {
    let Some(python) = python() else {
        return println!("skipped: Python is not installed");
    };
    let folder = CaseFolder::copy("41-a2a-status-message");
    let port = crate::common::unused_port();
    let mut server = Command::new(python);
    server
        .arg(folder.path().join("server.py"))
        .arg(port.to_string())
        .stdin(Stdio::null());
    let _server = Ended(server.spawn().unwrap());
    wait_for("the server", Duration::from_secs(60), || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    let agent = format!("a2a+http://127.0.0.1:{port}/");
    let (printed, report) = folder.reported(&[
        "run",
        "set.evalset.json",
        "--agent",
        &agent,
        "--retries",
        "0",
    ]);
    // The case in which a text replaces another one expects both.
    for (eval_id, response, others, status) in [
        (
            "artifact_then_status",
            "The museum opens at ten.",
            vec!["search notes: 3 hits"],
            "passed",
        ),
        (
            "partial_then_asks",
            "May I send it to Kim?",
            vec!["Drafted the mail."],
            "passed",
        ),
        ("append_true", "The museum opens at ten.", vec![], "passed"),
        (
            "last_replaces",
            "ten.",
            vec!["The museum opens at "],
            "failed",
        ),
        ("two_artifacts", "Part one.\nPart two.", vec![], "passed"),
        (
            "status_only",
            "The museum opens at ten.",
            vec!["Thinking"],
            "passed",
        ),
        (
            "single_last_frame",
            "The museum opens at ten.",
            vec![],
            "passed",
        ),
    ] {
        let actual = &field(&report, eval_id, "invocations")[0]["actual"];
        assert_eq!(actual["response"], response, "{eval_id}: {printed}");
        let texts: Vec<&str> = actual["intermediate_responses"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|other| other["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts, others, "{eval_id}");
        assert_eq!(field(&report, eval_id, "status"), status, "{eval_id}");
    }
    assert_eq!(
        field(&report, "failed_with_words", "error"),
        "quota of the tool is used up"
    );
}

/// Row 44.
#[test]
fn unknown_columns_are_named_listed_and_mapped() {
    let folder = CaseFolder::copy("44-columns");
    for args in [
        ["check", "renamed.jsonl"],
        ["score", "renamed.jsonl"],
        ["list", "."],
    ] {
        let printed = folder.printed(&args);
        let line = printed
            .lines()
            .find(|line| line.contains("renamed.jsonl"))
            .unwrap_or_default();
        assert!(
            line.contains("found the columns question, answer, ground_truth"),
            "{args:?}: {printed}"
        );
        assert!(
            line.contains("prompt, messages, input, reference"),
            "{args:?}: {printed}"
        );
    }
    let map = [
        "--columns",
        "prompt=question,response=answer,reference=ground_truth",
    ];
    let (_, mapped) = folder.reported(
        &[
            &["score", "renamed.jsonl", "--metric", "exact_match"],
            &map[..],
        ]
        .concat(),
    );
    assert_eq!(mapped["summary"]["passed"], 1, "{mapped}");
    assert_eq!(mapped["cases"][0]["invocations"][0]["user"], "q");
    let (printed, camel) = folder.reported(&["score", "camel.jsonl"]);
    assert_eq!(statuses(&camel), ["passed"], "{printed}");
    let calls = json!([{"name": "x", "args": {"a": 1}}]);
    assert_eq!(
        camel["cases"][0]["invocations"][0]["expected"]["tool_calls"],
        calls
    );
}

/// Row 45.
#[test]
fn prompts_without_calls_expect_unknown_calls() {
    let folder = CaseFolder::copy("45-prompt-only");
    for (file, cases) in [
        (
            "prompt.jsonl",
            &[("row-4ebe8a499973", "same call once")][..],
        ),
        (
            "msgs.jsonl",
            &[
                ("row-ba8c7ab9a229", "same call once"),
                ("row-4996b5647c68", "same call twice"),
            ][..],
        ),
    ] {
        let agent = folder.recorded(cases);
        let names = "trajectory_exact_match,trajectory_precision,tool_trajectory_avg_score,trajectory_match_f1";
        let (printed, report) =
            folder.reported(&["run", file, "--agent", &agent, "--metric", names]);
        for case in report["cases"].as_array().unwrap() {
            assert_eq!(case["status"], "not_evaluated", "{printed}");
            let turn = &case["invocations"][0];
            assert_eq!(turn["expected"]["tool_calls"], Value::Null, "{turn}");
            assert_eq!(turn["actual"]["tool_calls"][0]["name"], "ping", "{turn}");
            for name in names.split(',') {
                let metric = case["metrics"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|one| one["metric"] == name);
                let metric = metric.unwrap_or_else(|| panic!("{name}: {case}"));
                assert_eq!(metric["score"], Value::Null, "{metric}");
                assert_ne!(metric["explanation"], "", "{metric}");
            }
        }
        let (_, plain) = folder.reported(&["run", file, "--agent", &agent]);
        let reason = plain["cases"][0]["reason"].as_str().unwrap();
        assert!(
            reason.contains("the row has no reference or reference_trajectory"),
            "{reason}"
        );
    }
}

/// Row 46.
#[test]
fn rows_without_a_reference_count_in_no_metric() {
    let folder = CaseFolder::copy("46-some-references");
    let (printed, report) = folder.reported(&["score", "d.jsonl"]);
    assert_eq!(
        statuses(&report),
        ["passed", "not_evaluated", "not_evaluated", "not_evaluated"],
        "{printed}"
    );
    let metrics = report["summary"]["metrics"].as_array().unwrap();
    assert!(metrics.len() > 2, "{metrics:?}");
    for metric in metrics {
        assert_eq!(
            (&metric["valid"], &metric["total"]),
            (&json!(1), &json!(4)),
            "{metric}"
        );
        assert_eq!(metric["mean"], 1.0, "{metric}");
    }
    for case in &report["cases"].as_array().unwrap()[1..] {
        assert_eq!(case["reason"], "there is no reference response", "{case}");
    }
}

/// Row 47.
#[test]
fn calls_and_images_of_messages_are_read() {
    let folder = CaseFolder::copy("47-lc-messages");
    let checked = folder.printed(&["check", "."]);
    assert!(checked.contains("3 files checked: 0 errors"), "{checked}");
    let (_, report) = folder.reported(&["score", "."]);
    let calls = json!([{"name": "get_weather", "args": {"city": "Lima"}}]);
    for set in ["function_call_old", "lc_anthropic"] {
        let mut cases = report["cases"].as_array().unwrap().iter();
        let case = cases.find(|case| case["eval_set"] == set).unwrap();
        let turns = case["invocations"].as_array().unwrap();
        assert_eq!(
            (turns.len(), &turns[0]["expected"]["tool_calls"]),
            (1, &calls),
            "{set}"
        );
        assert_eq!(turns[0]["expected"]["response"], "20 degrees.", "{set}");
    }
    folder.printed(&["convert", "image_user.jsonl", "-o", "image.evalset.json"]);
    let set = folder.json_file("image.evalset.json");
    let parts = &set["eval_cases"][0]["conversation"][0]["user_content"]["parts"];
    assert_eq!(parts[0]["text"], "what is it");
    assert_eq!(
        parts[1]["inline_data"],
        json!({"mime_type": "image/png", "data": "AAAA"}),
        "{parts}"
    );
}

/// Row 47b.
#[test]
fn expected_conversation_passes_in_every_form() {
    let folder = CaseFolder::copy("47b-right-agent-fails");
    for name in ["openai.jsonl", "langchain.jsonl", "openai_old.jsonl"] {
        let (_, report) = folder.reported(&["score", name]);
        let id = report["cases"][0]["eval_id"].as_str().unwrap();
        let agent = folder.recorded(&[(id, "same call once")]);
        let (printed, report) = folder.reported(&["run", name, "--agent", &agent]);
        assert_eq!(statuses(&report), ["passed"], "{name}: {printed}");
        let exact = report["cases"][0]["metrics"].as_array().unwrap().iter();
        let scores: Vec<&Value> = exact
            .filter(|metric| {
                metric["metric"]
                    .as_str()
                    .unwrap()
                    .starts_with("trajectory_")
            })
            .map(|metric| &metric["score"])
            .collect();
        assert!(
            scores.len() > 2 && scores.iter().all(|score| **score == json!(1.0)),
            "{name}: {scores:?}"
        );
    }
}

/// Row 48.
#[test]
fn scaffold_passes_case_with_reference() {
    let folder = CaseFolder::copy("48-scaffold");
    let agent = folder.recorded(&[
        ("greeting", "Hello, what can you help me with?"),
        ("weather_query", "What's the weather like in San Francisco?"),
        ("capital_lookup", "What is the capital of France?"),
    ]);
    let (printed, report) =
        folder.reported(&["run", "basic-dataset.json", "--agent", &agent, "--trust"]);
    assert_eq!(
        statuses(&report),
        ["not_evaluated", "not_evaluated", "passed"],
        "{printed}"
    );
    assert_eq!(
        field(&report, "greeting", "reason"),
        "there is no reference response"
    );
    // The metric of the config, whose file is not there. A metric that is defined and not in `metrics_to_run` is not added.
    let metrics = field(&report, "capital_lookup", "metrics")
        .as_array()
        .unwrap();
    let own = metrics
        .iter()
        .find(|metric| metric["metric"] == "custom_response_quality")
        .unwrap();
    assert_eq!(own["explanation"], "there is no file response_quality.py");
    if !has_program("python3") {
        return println!("skipped: the function of the config needs Python");
    }
    let config = folder
        .read("eval_config.yaml")
        .replace("  - custom_response_quality", "  - agent_turn_count");
    folder.write("eval_config.yaml", &config);
    let (printed, report) =
        folder.reported(&["run", "basic-dataset.json", "--agent", &agent, "--trust"]);
    let metrics = field(&report, "capital_lookup", "metrics")
        .as_array()
        .unwrap();
    let turns = metrics
        .iter()
        .find(|metric| metric["metric"] == "agent_turn_count")
        .unwrap();
    assert_eq!(turns["score"], 1.0, "{printed}");
}

/// Row 49.
#[test]
fn texts_of_tools_become_objects_that_adk_loads() {
    let folder = CaseFolder::copy("49-convert-tool-text");
    for (name, result) in [
        ("text", json!("20 degrees")),
        ("number", json!(20)),
        ("list", json!([1, 2])),
    ] {
        let (from, to) = (format!("{name}.jsonl"), format!("{name}.evalset.json"));
        let converted = folder.printed(&["convert", &from, "-o", &to]);
        assert!(converted.contains("1 case in"), "{converted}");
        let set = folder.json_file(&to);
        let results =
            &set["eval_cases"][0]["conversation"][0]["intermediate_data"]["tool_responses"];
        assert_eq!(results[0]["response"], json!({"result": result}), "{name}");
        let checked = folder.printed(&["check", &to]);
        assert!(checked.contains("0 errors, 0 refused by ADK"), "{checked}");
    }
    let Some(adk) = adk() else {
        return println!("skipped: google-adk is not installed");
    };
    let load = "import sys\nfrom google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file as load\n\
                for file in sys.argv[1:]: print(len(load(file, 'x').eval_cases))";
    let mut command = Command::new(adk.parent().unwrap().join("python"));
    command.current_dir(folder.path()).args(["-c", load]);
    let loaded = output(command.args([
        "text.evalset.json",
        "number.evalset.json",
        "list.evalset.json",
    ]));
    assert_eq!(text(&loaded).trim(), "1\n1\n1", "{}", both(&loaded));
}

/// Row 52.
#[test]
fn rubric_groups_are_judged_and_converted() {
    let judge = ScriptedServer::start(|request, stream| {
        let prompt = request.body["messages"].to_string();
        let codes = crate::common::judge::codes(&prompt);
        let verdicts: Vec<Value> = ["confirms", "polite"]
            .iter()
            .filter(|id| prompt.contains(&format!("[id: {id}]")))
            .zip(codes)
            .map(|(id, code)| json!({"id": id, "evidence": "e", "rationale": "r", "code": code, "verdict": "yes"}))
            .collect();
        let content = json!({ "verdicts": verdicts }).to_string();
        let choice =
            json!({"message": {"role": "assistant", "content": content}, "finish_reason": "stop"});
        let reply =
            json!({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
        answer(stream, "200 OK", JSON, &reply.to_string())
    });
    let folder = CaseFolder::copy("52-rubric-groups");
    let toml = folder
        .read("evaltrail.toml")
        .replace(":7812", &format!(":{}", judge.port));
    folder.write("evaltrail.toml", &toml);
    let judged = || {
        let mut command = folder.command();
        command
            .env("OPENAI_API_KEY", "key")
            .args(["score", "d.json", "--trust", "--json", "-q"]);
        let out = output(&mut command);
        let report: Value =
            serde_json::from_str(&text(&out)).unwrap_or_else(|_| panic!("{}", both(&out)));
        let case = report["cases"][0].clone();
        let rubrics = case["metrics"][0]["rubrics"].as_array().unwrap().iter();
        let ids: Vec<String> = rubrics
            .map(|one| one["rubric_id"].as_str().unwrap().to_string())
            .collect();
        (case["status"].clone(), ids, both(&out))
    };
    let (status, ids, printed) = judged();
    assert_eq!(
        (&status, &ids[..]),
        (&json!("passed"), &["confirms".to_string()][..]),
        "{printed}"
    );
    let converted = folder.printed(&["convert", "d.json", "-o", "d.evalset.json"]);
    let case = &folder.json_file("d.evalset.json")["eval_cases"][0];
    assert_eq!(case["rubrics"][0]["rubric_id"], "confirms", "{converted}");
    assert_eq!(case["rubric_groups"]["g1"][0], "confirms", "{case}");
    // One of two groups is selected.
    let mut data = folder.json_file("d.json");
    data["eval_cases"][0]["rubric_groups"]["g2"] = json!({"rubrics": [{"rubric_id": "polite", "content": {"property": {"description": "Is polite."}}}]});
    folder.write("d.json", &data.to_string());
    std::fs::remove_file(folder.path().join("d.evalset.json")).unwrap();
    assert_eq!(judged().1, ["confirms", "polite"]);
    let mut config = folder.json_file("test_config.json");
    config["criteria"]["rubric_based_final_response_quality_v1"]["rubric_group_key"] = "g2".into();
    folder.write("test_config.json", &config.to_string());
    let (_, ids, printed) = judged();
    assert_eq!(ids, ["polite"], "{printed}");
}

/// Row 04.
#[test]
fn turns_without_user_message_are_left_out() {
    let folder = CaseFolder::copy("04-no-user-event");
    let checked = folder.printed(&["check", "empty_user.evalset.json"]);
    for line in [
        "[0].conversation[0].user_content: expected",
        "[1].conversation[0]: the turn has no user message",
        "[2].conversation[0]: the turn has no user message",
    ] {
        assert!(checked.contains(line), "{line}: {checked}");
    }
    let capture = |more: &[&str]| {
        folder.ran(
            &[
                &["capture", "session.json", "--into", "new.evalset.json:a"],
                more,
            ]
            .concat(),
        )
    };
    let refused = capture(&[]);
    assert_eq!(refused.status.code(), Some(2));
    for turn in [
        "turn 1 has no user message (the agent: \"I warmed up.\")",
        "turn 3 has no user message (the agent calls tick)",
    ] {
        assert!(both(&refused).contains(turn), "{}", both(&refused));
    }
    let captured = capture(&["--user-turns-only"]);
    assert!(captured.status.success(), "{}", both(&captured));
    let turns = folder.json_file("new.evalset.json")["eval_cases"][0]["conversation"].clone();
    assert_eq!(turns.as_array().unwrap().len(), 1, "{turns}");
    assert_eq!(turns[0]["user_content"]["parts"][0]["text"], "hello");
    assert_eq!(turns[0]["final_response"]["parts"][0]["text"], "Hi.");
}

/// Row 29.
#[test]
fn swapped_calls_would_pass_in_any_order() {
    let Some(server) = ScriptedAgent::start("swapped_calls_would_pass_in_any_order") else {
        return;
    };
    let folder = CaseFolder::copy("29-parallel-order");
    let (printed, report) = folder.reported(&["run", ".", "--agent", &server.agent()]);
    assert_eq!(statuses(&report), ["failed"], "{printed}");
    assert!(printed.contains("same calls in another order"), "{printed}");
    assert!(printed.contains("would pass with ANY_ORDER"), "{printed}");
    let metric = &report["cases"][0]["metrics"][0];
    assert_eq!(
        metric["findings"],
        json!([{"rule": "order_differs", "turn": 1}])
    );
    #[cfg(unix)]
    {
        use crate::common::terminal::Terminal;
        let path = folder.path().display().to_string();
        let home = folder.path().join("home");
        let screen = Terminal::start(env!("CARGO_BIN_EXE_evaltrail"), &[&path], &home, (150, 40));
        screen.wait_for("swapped");
        screen.wait_for("same calls in another order");
        screen.wait_for("would pass with ANY_ORDER");
    }
}

/// Row 40.
#[test]
fn only_turns_without_text_run_in_background() {
    let Some(server) = ScriptedAgent::start("only_turns_without_text_run_in_background") else {
        return;
    };
    let folder = CaseFolder::copy("40-long-running");
    let (printed, report) = folder.reported(&["run", ".", "--agent", &server.agent()]);
    assert_eq!(statuses(&report), ["passed", "failed"], "{printed}");
    let end = |eval_id: &str, turn: usize| {
        field(&report, eval_id, "invocations")[turn]["actual"]["end"].clone()
    };
    assert_eq!(end("goes_on", 0), Value::Null, "it has a text");
    assert_eq!(end("stops", 0), "long_running");
    assert_eq!(end("stops", 1), Value::Null);
    assert_eq!(
        printed
            .matches("a tool continues in the background")
            .count(),
        1,
        "the sum: {printed}"
    );
    let sum = "1 conversation has a turn that ended without an answer: a tool continues in the background";
    assert!(printed.contains(sum), "{printed}");
}

/// Row 34.
#[test]
fn git_lfs_pointers_name_the_command() {
    let folder = CaseFolder::copy("34-broken-lines");
    let words = "a pointer of Git LFS: run git lfs pull";
    assert_eq!(folder.printed(&["list", "."]).matches(words).count(), 2);
    for file in ["lfs.jsonl", "lfs.evalset.json"] {
        for verb in ["check", "score"] {
            let out = folder.ran(&[verb, file]);
            assert!(
                both(&out).contains(words) && !out.status.success(),
                "{verb}: {}",
                both(&out)
            );
        }
    }
}

/// Row 03b.
#[test]
fn semicolons_separate_cells() {
    let folder = CaseFolder::copy("03b-csv");
    assert!(
        folder
            .printed(&["list", "."])
            .contains("semicolon.csv  1 case")
    );
    let (printed, report) = folder.reported(&["score", "semicolon.csv", "--metric", "exact_match"]);
    let turn = &report["cases"][0]["invocations"][0];
    assert_eq!(
        (&turn["user"], &turn["actual"]["response"]),
        (&json!("q"), &json!("a, b")),
        "{printed}"
    );
    assert_eq!(report["summary"]["passed"], 1, "{printed}");
}

/// Row 35.
#[test]
fn equal_ids_are_labelled_in_every_output() {
    let folder = CaseFolder::copy("35-duplicate-ids");
    let prompts = ["four steps", "same call once", "same call twice"];
    let agent = folder.recorded(&prompts.map(|prompt| ("same", prompt)));
    let formats = ["junit", "markdown", "html", "csv"];
    let reports: Vec<String> = formats
        .iter()
        .map(|name| format!("--report={name}=report.{name}"))
        .collect();
    let reports: Vec<&str> = reports.iter().map(String::as_str).collect();
    let (printed, report) =
        folder.reported(&[&["run", ".", "--agent", &agent], &reports[..]].concat());
    let positions: Vec<String> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| format!("{}:{}", case["file"].as_str().unwrap(), case["position"]))
        .collect();
    let mut sorted = positions.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "other.evalset.json:1",
            "set.evalset.json:1",
            "set.evalset.json:2"
        ]
    );
    let files = formats.map(|name| (name, folder.read(&format!("report.{name}"))));
    for (name, words) in [("terminal", printed)].into_iter().chain(files) {
        // Without the signs that keep Markdown from being interpreted.
        let words = words.replace('\\', "").replace("<!-- -->", "");
        assert!(words.contains("other.evalset.json"), "{name}: {words}");
        let of_set = ["case 1", "case 2"];
        let in_cells = [",1,", ",2,"];
        let parts = if name == "csv" { in_cells } else { of_set };
        assert!(
            words.contains("set.evalset.json") && parts.iter().all(|part| words.contains(part)),
            "{name}: {words}"
        );
    }
}
