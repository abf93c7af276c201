//! Authoring with the real google-adk: a session of `adk api_server` and a real trace become cases that pass in
//! evaltrail and in `adk eval`; a late turn runs after the expected history; the chat screen saves a conversation.
//!
//! These tests need google-adk 2.13, as those in `real_adk.rs` do.

use crate::common::terminal::Terminal;
use crate::common::{Server, adk, both, copy_folder, evaltrail, output, python, root};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

struct Real {
    adk: PathBuf,
    server: Server,
    agents: PathBuf,
    work: tempfile::TempDir,
}

/// Starts a server with the sample's agents. `None`: google-adk is not installed.
fn real(test: &str) -> Option<Real> {
    let Some(adk) = adk() else {
        assert!(
            std::env::var_os("EVALTRAIL_REQUIRE_ADK").is_none(),
            "adk is required here and not found"
        );
        println!("{test}: skipped, google-adk is not installed");
        return None;
    };
    let work = tempfile::tempdir().unwrap();
    let agents = work.path().join("agents");
    copy_folder(&root().join("fixtures/workspace"), &agents);
    let server = Server::start(&adk, "api_server", &agents);
    Some(Real {
        adk,
        server,
        agents,
        work,
    })
}

impl Real {
    fn set(&self) -> PathBuf {
        self.agents.join("garden/kept.evalset.json")
    }

    fn agent(&self) -> String {
        format!("adk+http://127.0.0.1:{}/garden", self.server.port)
    }

    fn evaltrail(&self, arguments: &[&str]) -> std::process::Output {
        output(evaltrail(&self.work.path().join("home")).args(arguments))
    }

    fn passes_here_and_in_adk(&self, case: &str) {
        let target = format!("{}:{case}", self.set().display());
        let ran = self.evaltrail(&["run", &target, "--agent", &self.agent(), "-q"]);
        assert!(ran.status.success(), "{}", both(&ran));
        let mut eval = Command::new(&self.adk);
        eval.arg("eval")
            .arg(self.agents.join("garden"))
            .arg(&target)
            .current_dir(&self.agents);
        let theirs = both(&output(&mut eval));
        assert!(
            theirs.contains("Tests passed: 1") && theirs.contains("Tests failed: 0"),
            "{theirs}"
        );
    }
}

/// Sends a POST request without evaltrail's HTTP client.
fn post(port: u16, path: &str, body: &Value) -> String {
    use std::io::{Read, Write};
    let body = body.to_string();
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let headers = format!(
        "POST {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{headers}{body}").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.lines().next().unwrap().contains(" 200"), "{answer}");
    answer
}

const MORNING: &[&str] = &[
    "Good morning!",
    "Check the tomatoes.",
    "Then water them, 5 litres.",
];

#[test]
fn captured_session_passes_here_and_in_adk() {
    let Some(real) = real("a_session_becomes_a_case") else {
        return;
    };
    let sessions = "/apps/garden/users/visitor/sessions";
    post(
        real.server.port,
        sessions,
        &json!({"sessionId": "s1", "state": {"season": "spring"}}),
    );
    for words in MORNING {
        let message = json!({"role": "user", "parts": [{"text": words}]});
        let body = json!({"appName": "garden", "userId": "visitor", "sessionId": "s1", "newMessage": message});
        post(real.server.port, "/run", &body);
    }
    let made = real.evaltrail(&["new", real.set().to_str().unwrap()]);
    assert!(made.status.success(), "{}", both(&made));
    let session = format!("http://127.0.0.1:{}{sessions}/s1", real.server.port);
    let into = |case: &str| format!("{}:{case}", real.set().display());
    let kept = real.evaltrail(&["capture", &session, "--into", &into("whole")]);
    assert!(kept.status.success(), "{}", both(&kept));
    let set: Value = serde_json::from_str(&std::fs::read_to_string(real.set()).unwrap()).unwrap();
    let case = &set["eval_cases"][0];
    assert_eq!(
        case["session_input"]["state"],
        json!({"season": "spring"}),
        "ADK loses it"
    );
    assert_eq!(case["conversation"].as_array().unwrap().len(), 3);
    real.passes_here_and_in_adk("whole");
    let first = real.evaltrail(&[
        "capture",
        &session,
        "--into",
        &into("first"),
        "--turns",
        "1",
    ]);
    assert!(first.status.success(), "{}", both(&first));
    real.passes_here_and_in_adk("first");
    let check = real.evaltrail(&["check", real.set().to_str().unwrap()]);
    assert!(check.status.success(), "{}", both(&check));
    let lost = real.evaltrail(&["capture", &format!("{session}0"), "--into", &into("lost")]);
    assert!(both(&lost).contains("Session not found"), "{}", both(&lost));
}

#[test]
fn a_late_turn_runs_on_the_expected_history() {
    let Some(real) = real("a_late_turn_runs") else {
        return;
    };
    let set = real.agents.join("garden/watering.evalset.json");
    let target = format!("{}:morning_round", set.display());
    let report = |turn: &str| -> Value {
        let ran = real.evaltrail(&[
            "run",
            &target,
            "--agent",
            &real.agent(),
            "--turn",
            turn,
            "--json",
        ]);
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", both(&ran)))
    };
    let third = report("3");
    let case = &third["cases"][0];
    assert_eq!(
        (&case["turn"], case["invocations"].as_array().unwrap().len()),
        (&json!(3), 1),
        "{third}"
    );
    assert_eq!(case["error"], Value::Null, "{third}");
    assert!(
        !case["invocations"][0]["actual"]["tool_calls"]
            .as_array()
            .unwrap()
            .is_empty(),
        "{third}"
    );
    let history = real.agents.join("garden/.adk/eval_history");
    assert!(!history.exists(), "a turn alone is not in ADK's history");
    assert!(
        report("9")["cases"][0]["error"]
            .as_str()
            .unwrap()
            .contains("there is no turn 9")
    );
}

/// An agent that transfers refunds to another agent; each names itself in its response.
const DESK: &str = r#"
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent.parent))
from google.adk.agents import LlmAgent
from scripted_model import ScriptedModel

HANDS_OVER = {"I want a refund": [[("transfer_to_agent", {"agent_name": "refunds"})]]}
refunds = LlmAgent(name="refunds", model=ScriptedModel(script={}, fallback="the refund desk"))
root_agent = LlmAgent(
    name="desk", model=ScriptedModel(script=HANDS_OVER, fallback="the front desk"), sub_agents=[refunds]
)
"#;

#[test]
fn single_turn_runs_on_transferred_agent() {
    let Some(real) = real("a_turn_alone_is_answered") else {
        return;
    };
    let app = real.agents.join("desk");
    std::fs::create_dir(&app).unwrap();
    std::fs::write(app.join("agent.py"), DESK).unwrap();
    std::fs::write(app.join("__init__.py"), "from . import agent\n").unwrap();
    let turn = |user: &str, calls: Value, said: &str| {
        json!({
            "user_content": {"role": "user", "parts": [{"text": user}]},
            "final_response": {"role": "model", "parts": [{"text": said}]},
            "intermediate_data": {"tool_uses": calls},
        })
    };
    let over = json!([{"name": "transfer_to_agent", "args": {"agent_name": "refunds"}}]);
    let set = json!({"eval_set_id": "handed", "eval_cases": [{
        "eval_id": "refund",
        "conversation": [
            turn("I want a refund", over, "the refund desk"),
            turn("BK-1", json!([]), "the refund desk"),
            turn("Thank you", json!([]), "the refund desk"),
        ],
    }]});
    let file = app.join("handed.evalset.json");
    std::fs::write(&file, set.to_string()).unwrap();
    let agent = format!("adk+http://127.0.0.1:{}/desk", real.server.port);
    for turn in ["1", "2", "3"] {
        let ran = real.evaltrail(&[
            "run",
            file.to_str().unwrap(),
            "--agent",
            &agent,
            "--turn",
            turn,
            "--json",
        ]);
        let report: Value =
            serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", both(&ran)));
        let said = report["cases"][0]["invocations"][0]["actual"].to_string();
        assert!(said.contains("the refund desk"), "turn {turn}: {report}");
    }
}

/// Runs the agent and prints the spans that google-adk records, as OTLP JSON.
const TRACED: &str = r#"
import asyncio, importlib, json, os, sys
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = sys.argv[2]
sys.path.insert(0, sys.argv[1])
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from google.adk.runners import InMemoryRunner
from google.genai import types
agent = importlib.import_module("garden.agent").root_agent

async def talk():
    runner = InMemoryRunner(agent=agent, app_name="garden")
    session = await runner.session_service.create_session(app_name="garden", user_id="u")
    for text in sys.argv[3:]:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass

def value(v):
    if isinstance(v, bool):
        return {"boolValue": v}
    if isinstance(v, int):
        return {"intValue": str(v)}
    if isinstance(v, (list, tuple)):
        return {"arrayValue": {"values": [value(x) for x in v]}}
    return {"doubleValue": v} if isinstance(v, float) else {"stringValue": str(v)}

asyncio.run(talk())
spans = [{"traceId": format(s.context.trace_id, "032x"), "spanId": format(s.context.span_id, "016x"), "name": s.name,
          "startTimeUnixNano": str(s.start_time), "attributes": [{"key": k, "value": value(v)} for k, v in s.attributes.items()]}
         for s in exporter.get_finished_spans()]
print(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
"#;

#[test]
fn a_genuine_trace_becomes_a_case_that_passes() {
    let Some(real) = real("a_genuine_trace") else {
        return;
    };
    let traced = |content: &str, name: &str| -> PathBuf {
        let mut traced = Command::new(python().unwrap());
        traced
            .env("SAMPLE_PACE", "0")
            .args(["-W", "ignore", "-c", TRACED])
            .arg(&real.agents)
            .arg(content)
            .args(MORNING);
        let ran = output(&mut traced);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let line = text
            .lines()
            .find(|line| line.starts_with("{\"resourceSpans\""))
            .unwrap_or_else(|| panic!("{}", both(&ran)));
        let path = real.work.path().join(name);
        std::fs::write(&path, line).unwrap();
        path
    };
    let into = format!("{}:traced", real.set().display());
    assert!(
        real.evaltrail(&["new", real.set().to_str().unwrap()])
            .status
            .success()
    );
    let bare = traced("false", "bare.json");
    let refused = real.evaltrail(&["capture", bare.to_str().unwrap(), "--into", &into]);
    assert!(
        both(&refused).contains("CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT"),
        "{}",
        both(&refused)
    );
    let whole = traced("SPAN_AND_EVENT", "whole.json");
    let kept = real.evaltrail(&["capture", whole.to_str().unwrap(), "--into", &into]);
    assert!(kept.status.success(), "{}", both(&kept));
    real.passes_here_and_in_adk("traced");
}

/// A conversation in the chat screen is saved as a case, and the case passes.
#[test]
fn a_chat_is_saved_as_a_case() {
    let Some(real) = real("what_was_talked") else {
        return;
    };
    std::fs::write(
        real.agents.join("evaltrail.toml"),
        format!(
            "[agents.garden]\nkind = \"adk\"\nurl = \"http://127.0.0.1:{}\"\napp = \"garden\"\n",
            real.server.port
        ),
    )
    .unwrap();
    let home = tempfile::tempdir().unwrap();
    let garden = real.agents.to_str().unwrap();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[garden],
        home.path(),
        (120, 40),
    );
    terminal.wait_for("watering      10");
    terminal.keys("fwater_tom\r");
    terminal.wait_for("not run");
    terminal.keys("C");
    terminal.wait_for("send the cases to");
    terminal.keys("y");
    terminal.wait_for("enter send");
    terminal.keys("Check the tomatoes.\r");
    terminal.wait_for("calls read_soil");
    terminal.wait_for("not saved as a case");
    terminal.keys("\x13");
    terminal.wait_for("save as");
    terminal.keys("talked\r");
    terminal.wait_for("save the conversation as talked");
    terminal.keys("\r");
    // The title of the proposal has the same text, so the whole notice is compared.
    terminal.wait_until("saved", |screen| {
        screen
            .lines()
            .any(|line| line.starts_with(" done: save the conversation as talked"))
    });
    terminal.keys("\x1b");
    terminal.wait_for("watering      11");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    let target = format!(
        "{}:talked",
        real.agents.join("garden/watering.evalset.json").display()
    );
    let ran = real.evaltrail(&["run", &target, "--agent", &real.agent(), "-q"]);
    assert!(ran.status.success(), "{}", both(&ran));
    assert!(home.path().join("edits.jsonl").is_file());
}
