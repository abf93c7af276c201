//! Traces that real libraries wrote, read as conversations, and spans that agents export while they run.
#![cfg(unix)]

use crate::common::scripted::{JSON, ScriptedServer, answer};
use crate::common::{both, copy_folder, evaltrail, oracle, output, root, text, wait_for};
use crate::real_agents::environment;
use evaltrail_core::formats::spans::{TracedConversation, conversations, read_spans};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The conversations in a trace of the oracle.
fn traced(name: &str) -> Option<Vec<TracedConversation>> {
    let Some(oracle) = oracle() else {
        println!("SKIPPED: the oracle is missing");
        return None;
    };
    let text = std::fs::read_to_string(oracle.join("real/traces").join(name)).unwrap();
    Some(conversations(&read_spans(&text).unwrap()))
}

/// Versions 2 and 5 are among the traces of the oracle.
#[test]
fn pydantic_ai_trace_versions_agree() {
    for version in [3, 4, 6] {
        let path = root().join(format!(
            "fixtures/traces/pydantic-ai-2.68.v{version}.otlp.json"
        ));
        let found = conversations(&read_spans(&std::fs::read_to_string(path).unwrap()).unwrap());
        assert_eq!((found.len(), found[0].turns.len()), (1, 1), "{version}");
        let turn = &found[0].turns[0];
        assert_eq!(
            (found[0].agent.as_deref(), found[0].missing.len()),
            (Some("desk"), 0),
            "{version}"
        );
        assert_eq!(
            turn.user.scored_text(),
            "Weather in Oslo for 3 days?",
            "{version}"
        );
        let response = turn.final_response.as_ref().map(|said| said.scored_text());
        assert_eq!(
            response.as_deref(),
            Some("Oslo: 4 degrees and rain."),
            "{version}"
        );
        let calls: Vec<Value> = turn
            .calls()
            .iter()
            .map(|call| json!([call.name, call.args]))
            .collect();
        assert_eq!(
            json!(calls),
            json!([["get_weather", {"city": "Oslo", "days": 3}]]),
            "{version}"
        );
        let result = turn
            .trajectory
            .response_to(0)
            .map(|one| one.response.clone());
        assert_eq!(
            result,
            Some(json!({"city": "Oslo", "days": 3, "temp_c": 4, "sky": "rain"})),
            "{version}"
        );
    }
}

#[test]
fn traces_of_each_library_are_conversations() {
    let weather = || json!([["get_weather", {"city": "Oslo", "days": 3}, {"city": "Oslo", "days": 3, "temp_c": 4, "sky": "rain"}]]);
    let note = |name: &str, args: Value, result: Value| json!([[name, args, result], ["add_note", {"text": "milk"}, {"saved": true}]]);
    let (asks, answers) = (
        Some("Weather in Oslo for 3 days?"),
        Some("Oslo: 4 degrees and rain."),
    );
    let (clerk, noted) = (Some("Let the clerk note: milk."), Some("Noted: milk."));
    for (name, agent, user, calls, response) in [
        (
            "adk-2.13.clerk.otlp.json",
            Some("desk"),
            clerk,
            note(
                "transfer_to_agent",
                json!({"agent_name": "clerk"}),
                json!({"result": null}),
            ),
            Some("I have what I need.\nNoted: milk."),
        ),
        (
            "pydantic-ai-2.68.v2.otlp.json",
            Some("desk"),
            asks,
            weather(),
            answers,
        ),
        (
            "pydantic-ai-2.68.v5.otlp.json",
            Some("desk"),
            asks,
            weather(),
            answers,
        ),
        // The span of the tool has the bare text; its name is in the call that the model asked for.
        (
            "langgraph-1.2.openinference.otlp.json",
            None,
            clerk,
            json!([["add_note", {"text": "milk"}, {"saved": true}]]),
            noted,
        ),
        (
            "openai-agents-0.24.openinference.otlp.json",
            Some("desk"),
            None,
            note("transfer_to_clerk", json!({}), json!({"result": "clerk"})),
            None,
        ),
        (
            "langsmith-0.15.runs.jsonl",
            Some("desk"),
            asks,
            weather(),
            answers,
        ),
        (
            "langfuse-5.otlp.json",
            Some("desk"),
            Some("Weather?"),
            // The name of the positional argument is not recorded.
            json!([["get_weather", null, {"temp_c": 4}]]),
            Some("4 degrees"),
        ),
    ] {
        let Some(found) = traced(name) else { return };
        assert_eq!(found.len(), 1, "{name}");
        let turn = &found[0].turns[0];
        assert_eq!(found[0].agent.as_deref(), agent, "{name}");
        assert_eq!(turn.user.scored_text(), user.unwrap_or_default(), "{name}");
        assert_eq!(
            turn.final_response
                .as_ref()
                .map(|said| said.scored_text())
                .as_deref(),
            response,
            "{name}"
        );
        let made = turn.calls();
        let did = made.iter().enumerate().map(|(at, call)| {
            json!([
                call.name,
                call.args,
                turn.trajectory
                    .response_to(at)
                    .map(|one| one.response.clone())
            ])
        });
        assert_eq!(did.collect::<Value>(), calls, "{name}");
        let has_all = user.is_some() && made.iter().all(|call| call.args.is_some());
        assert_eq!(
            found[0].missing.is_empty(),
            has_all,
            "{name}: {:?}",
            found[0].missing
        );
    }
}

/// The token for spans at a fixed address.
const TOKEN: &str = "0123456789abcdef-token";

/// ADK's server by a template that says nothing about calls.
const SILENT: &str = r#"kind = "http"
response = "$[-1].content.parts[-1].text"
[agents.a.body]
appName = "desk_app"
userId = "u"
sessionId = "{session_id}"
newMessage = { role = "user", parts = [{ text = "{prompt}" }] }
"#;

/// The agent's configuration, its folder, and how its server is started on a port.
fn silent_desk(environment: &Path) -> (tempfile::TempDir, PathBuf, String) {
    let workspace = tempfile::tempdir().unwrap();
    copy_folder(&oracle().unwrap().join("real"), workspace.path());
    let folder = workspace.path().join("adk_isolated");
    std::fs::copy(
        workspace.path().join("mcp_adk/cases.evalset.json"),
        folder.join("cases.evalset.json"),
    )
    .unwrap();
    let memory = "--session_service_uri memory:// --artifact_service_uri memory://";
    let start = format!(
        "{} api_server --auto_create_session --port {{port}} {memory} .",
        environment.join("bin/adk").display()
    );
    (workspace, folder, start)
}

fn run(workspace: &Path, folder: &Path) -> Value {
    let mut command = evaltrail(workspace);
    command.env("EVALTRAIL_TRACES_TOKEN", TOKEN);
    command.current_dir(folder).args([
        "run",
        "cases.evalset.json",
        "--agent",
        "a",
        "--trust",
        "--json",
        "-j",
        "8",
    ]);
    let out = output(&mut command);
    serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)))
}

/// Compares the outcomes with those over ADK's own protocol.
fn check(report: &Value, workspace: &Path) {
    let verdicts = std::fs::read_to_string(workspace.join("mcp_adk/verdicts.json")).unwrap();
    let verdicts: Value = serde_json::from_str(&verdicts).unwrap();
    for case in report["cases"].as_array().unwrap() {
        let id = case["eval_id"].as_str().unwrap();
        // An error of a function ends the turn; one of an MCP server is an answer.
        let expected = if id == "tool_fails" {
            &json!("errored")
        } else {
            &verdicts["expected.json"][id]["status"]
        };
        assert_eq!(&case["status"], expected, "{id}: {case}");
    }
}

#[test]
fn silent_agent_calls_come_from_its_spans() {
    let Some(environment) = environment("mcp-adk") else {
        return;
    };
    let (workspace, folder, start) = silent_desk(&environment);
    let config = |traces: &str| {
        format!("[agents.a]\nstart = \"{start}\"\npath = \"/run\"\n{traces}\n{SILENT}")
    };
    std::fs::write(folder.join("evaltrail.toml"), config("")).unwrap();
    let unknown = run(workspace.path(), &folder);
    assert_eq!(
        unknown["cases"][0]["status"], "not_evaluated",
        "{}",
        unknown["cases"][0]
    );
    std::fs::write(folder.join("evaltrail.toml"), config("traces = true")).unwrap();
    let report = run(workspace.path(), &folder);
    check(&report, workspace.path());
    assert_eq!(report["cases"].as_array().unwrap().len(), 9);
}

#[test]
fn spans_of_running_server_are_received() {
    let Some(environment) = environment("mcp-adk") else {
        return;
    };
    let (workspace, folder, start) = silent_desk(&environment);
    let [port, traces] = [(); 2].map(|()| crate::common::unused_port());
    let command = start.replace("{port}", &port.to_string());
    let words: Vec<&str> = command.split(' ').collect();
    let mut server = std::process::Command::new(words[0])
        .args(&words[1..])
        .current_dir(&folder)
        .env(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("http://127.0.0.1:{traces}/{TOKEN}"),
        )
        .env("OTEL_BSP_SCHEDULE_DELAY", "200")
        .env(
            "OTEL_SEMCONV_STABILITY_OPT_IN",
            "gen_ai_latest_experimental",
        )
        .env(
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
            "SPAN_AND_EVENT",
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the server", Duration::from_secs(60), || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    let config = format!(
        "[agents.a]\nurl = \"http://127.0.0.1:{port}/run\"\ntraces = \"127.0.0.1:{traces}\"\n{SILENT}"
    );
    std::fs::write(folder.join("evaltrail.toml"), config).unwrap();
    let report = run(workspace.path(), &folder);
    server.kill().unwrap();
    server.wait().unwrap();
    check(&report, workspace.path());
}

/// An agent whose spans show its calls, and what the receiver at a fixed address answers to requests without the token and
/// of pages.
#[test]
fn spans_at_a_fixed_address_need_the_token() {
    let traces = crate::common::unused_port();
    let statuses = Arc::new(Mutex::new(Vec::new()));
    let seen = statuses.clone();
    let agent = ScriptedServer::start(move |request, stream| {
        let trace = request
            .header("traceparent")
            .and_then(|header| header.split('-').nth(1))
            .unwrap_or_default();
        let spans = json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": trace, "spanId": "00f067aa0ba902b7",
            "name": "execute_tool", "attributes": [{"key": "gen_ai.tool.name", "value": {"stringValue": "get"}},
            {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": "{}"}}]}]}]}]}).to_string();
        let token = format!("/{TOKEN}");
        for (path, origin) in [
            ("", ""),
            ("/0123456789abcdef-other", ""),
            (&token, "Origin: http://x\r\n"),
            (&token, ""),
        ] {
            let mut out = std::net::TcpStream::connect(("127.0.0.1", traces))?;
            let length = spans.len();
            write!(
                out,
                "POST {path}/v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{origin}Content-Length: {length}\r\nConnection: close\r\n\r\n{spans}"
            )?;
            let mut line = String::new();
            std::io::BufReader::new(out).read_line(&mut line)?;
            seen.lock().unwrap().push(line[9..12].to_string());
        }
        answer(stream, "200 OK", JSON, r#"{"response": "ok"}"#)
    });
    let workspace = tempfile::tempdir().unwrap();
    let config = format!(
        "[agents.a]\nkind = \"http\"\nurl = \"http://127.0.0.1:{}/\"\nresponse = \"$.response\"\ntraces = \"127.0.0.1:{traces}\"\n[agents.a.body]\nprompt = \"{{prompt}}\"\n",
        agent.port
    );
    std::fs::write(workspace.path().join("evaltrail.toml"), config).unwrap();
    let set = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": "go"}]},
        "intermediate_data": {"tool_uses": [{"name": "get", "args": {}}]}}]}]});
    std::fs::write(workspace.path().join("cases.evalset.json"), set.to_string()).unwrap();
    let criteria = json!({"criteria": {"tool_trajectory_avg_score": 1.0}});
    std::fs::write(
        workspace.path().join("test_config.json"),
        criteria.to_string(),
    )
    .unwrap();
    let report = run(workspace.path(), workspace.path());
    assert_eq!(report["cases"][0]["status"], "passed", "{report}");
    assert_eq!(*statuses.lock().unwrap(), ["404", "404", "403", "200"]);
    let mut without = evaltrail(workspace.path());
    without
        .env_remove("EVALTRAIL_TRACES_TOKEN")
        .current_dir(workspace.path());
    let out = output(without.args(["run", "cases.evalset.json", "--agent", "a", "--trust", "-q"]));
    assert!(
        both(&out).contains("set EVALTRAIL_TRACES_TOKEN"),
        "{}",
        both(&out)
    );
}

#[test]
fn traces_are_scored_against_a_set() {
    let Some(oracle) = oracle() else {
        return println!("SKIPPED: the oracle is missing");
    };
    let workspace = tempfile::tempdir().unwrap();
    copy_folder(&oracle.join("real/mcp_adk"), workspace.path());
    std::fs::copy(
        oracle.join("real/traces/pydantic-ai-2.68.v5.otlp.json"),
        workspace.path().join("t.json"),
    )
    .unwrap();
    let mut command = evaltrail(workspace.path());
    command.current_dir(workspace.path()).args([
        "run",
        "cases.evalset.json:weather,hello",
        "--agent",
        "replay:t.json",
        "--json",
    ]);
    let out = output(&mut command);
    let report: Value =
        serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
    assert_eq!(
        (
            &report["cases"][0]["eval_id"],
            &report["cases"][0]["status"]
        ),
        (&json!("weather"), &json!("passed"))
    );
    assert_eq!(
        report["cases"][1]["status"], "errored",
        "the trace has no such message"
    );
}
