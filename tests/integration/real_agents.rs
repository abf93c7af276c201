//! Agents of real libraries, with fake models, that speak the protocols evaltrail speaks. What evaltrail sees of each case
//! is compared with what the protocol's own client library saw (`shared/oracle/real`).
#![cfg(unix)]

use crate::common::{both, copy_folder, evaltrail, oracle, output, root, text, wait_for};
use serde_json::{Map, Value};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The Python environments, in which `.ci/real-agents` installs the libraries.
pub(crate) fn environment(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("EVALTRAIL_REAL_AGENTS").map(PathBuf::from);
    let folder = folder
        .unwrap_or_else(|| root().join(".real-agents"))
        .join(name);
    let found = folder.join(".complete").is_file() && oracle().is_some();
    if !found {
        let required = std::env::var_os("EVALTRAIL_REQUIRE_REAL_AGENTS").is_some();
        assert!(
            !required,
            "the environment {name} is required here; run .ci/real-agents"
        );
        println!("SKIPPED: the environment {name} is not installed; run .ci/real-agents");
    }
    found.then_some(folder)
}

/// A server of real agents, in a copy of the oracle's folder. It is killed with its children when this is dropped.
struct RealServer {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl RealServer {
    /// Starts a server in a folder of the oracle. `{port}` in the arguments is replaced by the port.
    fn start(environment: &Path, folder: &str, program: &str, args: &[&str]) -> RealServer {
        RealServer::start_prepared(folder, &environment.join("bin").join(program), args, |_| {})
    }

    /// The same for a program at a path, after its folder was prepared.
    fn start_prepared(
        folder: &str,
        program: &Path,
        args: &[&str],
        prepare: impl Fn(&Path),
    ) -> RealServer {
        let workspace = tempfile::tempdir().unwrap();
        copy_folder(&oracle().unwrap().join("real"), workspace.path());
        prepare(&workspace.path().join(folder));
        let port = crate::common::unused_port();
        let log = std::fs::File::create(workspace.path().join("server.log")).unwrap();
        let programs = program.parent().unwrap();
        let path = format!(
            "{}:{}",
            programs.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let child = Command::new(program)
            .args(
                args.iter()
                    .map(|arg| arg.replace("{port}", &port.to_string())),
            )
            .current_dir(workspace.path().join(folder))
            .env("PATH", path)
            .envs([
                ("LANGGRAPH_CLI_NO_ANALYTICS", "1"),
                ("LANGGRAPH_NO_VERSION_CHECK", "true"),
            ])
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        let mut server = RealServer {
            child,
            port,
            folder: workspace,
        };
        wait_for("the server", Duration::from_secs(120), || {
            if let Some(status) = server.child.try_wait().unwrap() {
                panic!("{folder}: the server ended with {status}: {}", server.log());
            }
            server.answers().then_some(())
        });
        server
    }

    /// Whether the server answers a request, whatever the status.
    fn answers(&self) -> bool {
        use std::io::{Read, Write};
        let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let request = format!(
            "GET /nothing HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n",
            self.port
        );
        let mut answer = [0; 4];
        stream.write_all(request.as_bytes()).is_ok() && stream.read_exact(&mut answer).is_ok()
    }

    /// The server's answer in JSON to a request with this body.
    fn post(&self, path: &str, body: &str) -> Value {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        let headers = "Host: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json";
        write!(
            stream,
            "POST {path} HTTP/1.0\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, json) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default()
    }

    fn path(&self, folder: &str) -> PathBuf {
        self.folder.path().join(folder)
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

/// One way to run the cases of a folder.
struct Mode<'a> {
    folder: &'a str,
    /// The agent's address; `{port}` is replaced.
    agent: &'a str,
    /// The recorded expectations.
    expected: &'a str,
    /// The cases; all when empty.
    cases: &'a [&'a str],
}

impl Mode<'_> {
    /// Runs the cases at a server and compares every turn, and the outcome of every case.
    fn check(&self, server: &RealServer) {
        let agent = self.agent.replace("{port}", &server.port.to_string());
        self.check_in(server.folder.path(), &agent, None);
    }

    /// The same for a Python agent in an environment.
    fn check_python(&self, environment: &Path) {
        let workspace = tempfile::tempdir().unwrap();
        copy_folder(&oracle().unwrap().join("real"), workspace.path());
        std::fs::write(workspace.path().join("crewai/crew_object.py"), CREW).unwrap();
        self.check_in(workspace.path(), self.agent, Some(environment));
    }

    fn check_in(&self, workspace: &Path, agent: &str, environment: Option<&Path>) {
        let folder = workspace.join(self.folder);
        let home = tempfile::tempdir().unwrap();
        let recording = home.path().join("recording.jsonl");
        let ids = if self.cases.is_empty() {
            String::new()
        } else {
            format!(":{}", self.cases.join(","))
        };
        let mut command = evaltrail(home.path());
        command.current_dir(&folder).args([
            "run", "--json", "--trust", "-j", "2", "--agent", agent, "--record",
        ]);
        command
            .arg(&recording)
            .arg(format!("cases.evalset.json{ids}"));
        command.envs([("DESK_KEY", "sk-desk"), ("DESK_TOKEN", "ya29.desk")]);
        if let Some(environment) = environment {
            command.env("VIRTUAL_ENV", environment);
        }
        let out = output(&mut command);
        let report: Value = serde_json::from_str(&text(&out))
            .unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
        let recorded = std::fs::read_to_string(&recording).unwrap_or_default();
        let recorded: Map<String, Value> = recorded
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|attempt| {
                (
                    attempt["eval_id"].as_str().unwrap().to_string(),
                    attempt["turns"].clone(),
                )
            })
            .collect();
        let read = |name: &str| -> Value {
            serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
        };
        let (expected, verdicts) = (read(self.expected), read("verdicts.json"));
        let cases = report["cases"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let id = case["eval_id"].as_str().unwrap();
            let label = format!("{agent}, {id}");
            let verdict = &verdicts[self.expected][id];
            assert_eq!(case["status"], verdict["status"], "{label}: {case}");
            let turns = recorded
                .get(id)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            let asks = turns.iter().any(|turn| turn.get("end").is_some());
            assert_eq!(asks, verdict["asks"], "{label}: {turns:?}");
            for (at, expected) in expected["cases"][id]["turns"]
                .as_array()
                .unwrap()
                .iter()
                .enumerate()
            {
                compare_turn(
                    &format!("{label}, turn {}", at + 1),
                    expected,
                    turns.get(at),
                    &case["error"],
                );
            }
        }
    }
}

fn compare_turn(label: &str, expected: &Value, turn: Option<&Value>, error: &Value) {
    let failed = matches!(expected["status"].as_str(), Some("error" | "failed"));
    assert_eq!(
        failed,
        error.is_string() && turn.is_none_or(|turn| turn["error"].is_string()),
        "{label}: {error}"
    );
    // Some servers answer with tracebacks of thousands of characters.
    assert!(
        error
            .as_str()
            .is_none_or(|words| words.chars().count() < 700),
        "{label}: {error}"
    );
    for words in ["on purpose", "no such city: Atlantis"] {
        let both_say = |text: &Value| text.as_str().is_some_and(|text| text.contains(words));
        assert!(
            !both_say(&expected["error"]) || both_say(error),
            "{label}: {error}"
        );
    }
    let Some(turn) = turn else {
        return assert!(
            failed && expected["trajectory"].as_array().is_none_or(Vec::is_empty),
            "{label}"
        );
    };
    let parts = || {
        turn["events"].as_array().unwrap().iter().flat_map(|event| {
            let parts = event["content"]["parts"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            parts
                .into_iter()
                .map(move |part| (event["author"].clone(), part))
        })
    };
    let member = |part: &Value, key: &str| part.get(key).cloned();
    let calls: Vec<(Value, Value)> = parts()
        .filter_map(|(author, part)| Some((author, member(&part, "function_call")?)))
        .collect();
    let responses: Vec<Value> = parts()
        .filter_map(|(_, part)| member(&part, "function_response"))
        .collect();
    let Some(listed) = expected["trajectory"].as_array() else {
        return assert!(
            turn["partial"] == true && calls.is_empty(),
            "{label}: the calls are unknown: {turn}"
        );
    };
    assert!(
        failed || turn.get("partial").is_none(),
        "{label}: the calls are known"
    );
    assert_eq!(calls.len(), listed.len(), "{label}: {calls:?} {listed:?}");
    for ((author, call), expected) in calls.iter().zip(listed) {
        assert_eq!(call["name"], expected["name"], "{label}");
        let args = if expected["args"].is_string() {
            &call["args"]["tool_input"]
        } else {
            &call["args"]
        };
        assert!(
            equal(args, &expected["args"]),
            "{label}: {args} {}",
            expected["args"]
        );
        if let Some(expected) = expected.get("author").filter(|author| author.is_string()) {
            assert_eq!(author, expected, "{label}");
        }
    }
    compare_responses(label, expected, calls.len(), responses);
    if let Some(expected) = expected["response"].as_str() {
        let said = parts().filter(|(_, part)| part["thought"] != true);
        let said = said.filter_map(|(_, part)| Some(part["text"].as_str()?.to_string()));
        let said = said.reduce(|_, last| last).unwrap_or_default();
        let as_json = |text: &str| serde_json::from_str::<Value>(text).ok();
        let is_same =
            said == expected || as_json(&said).is_some() && as_json(&said) == as_json(expected);
        // The question of an interrupt is shown as text; its value is beside it.
        let has_value = |part: &Value| {
            as_json(expected).is_some_and(|value| part["part_metadata"]["interrupt"] == value)
        };
        assert!(
            is_same || parts().any(|(_, part)| has_value(&part)),
            "{label}: {said:?} {expected:?}"
        );
    }
}

fn compare_responses(label: &str, expected: &Value, calls: usize, responses: Vec<Value>) {
    let listed = expected["responses"].as_array().unwrap();
    // The recording of CrewAI has no responses; evaltrail reads them from CrewAI's events.
    if label.starts_with("python:crew") {
        return assert!(
            responses.len() >= calls && listed.is_empty(),
            "{label}: {responses:?}"
        );
    }
    assert_eq!(responses.len(), listed.len(), "{label}: {responses:?}");
    // Tools that run at the same time respond in any order.
    let mut left = responses;
    for expected in listed {
        let names = |one: &Value| expected.get("name").is_none_or(|name| one["name"] == *name);
        let response = match &expected["response"] {
            Value::String(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| expected["response"].clone())
            }
            response => response.clone(),
        };
        let is_expected = |one: &Value| names(one) && equal(&one["response"], &response);
        let at = left
            .iter()
            .position(is_expected)
            .unwrap_or_else(|| panic!("{label}: {expected} is not in {left:?}"));
        left.remove(at);
    }
}

/// Equality of JSON in which an integer equals its float, also above 2^53: some libraries make floats of integers.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => a == b,
    }
}

#[test]
fn adk_over_a2a_with_both_sdks() {
    for (name, version) in [("a2a-adk", "v1"), ("a2a-adk-0.3", "v03")] {
        let Some(environment) = environment(name) else {
            continue;
        };
        let server = RealServer::start(&environment, "adk_a2a", "python", &["server.py", "{port}"]);
        // What is not streamed names no authors, unless ADK's extension is asked for, as evaltrail does.
        let extended: &[_] = if version == "v1" {
            &[("#stream=false", "ext")]
        } else {
            &[]
        };
        for (settings, recorded) in [("", "stream"), ("#stream=false", "send")]
            .iter()
            .chain(extended)
        {
            let agent = format!("a2a+http://127.0.0.1:{{port}}/{settings}");
            let expected = format!("expected.{version}.{recorded}.json");
            Mode {
                folder: "adk_a2a",
                agent: &agent,
                expected: &expected,
                cases: &[],
            }
            .check(&server);
        }
    }
}

#[test]
fn a2a_sdk_versions_and_bindings_match() {
    for (name, program, version) in [
        ("a2a", "server_v1.py", "v1"),
        ("a2a-0.3", "server_v03.py", "v03"),
    ] {
        let Some(environment) = environment(name) else {
            continue;
        };
        let server = RealServer::start(&environment, "a2a_sdk", "python", &[program, "{port}"]);
        let modes = [
            ("", "stream"),
            (
                "#stream=false",
                if version == "v1" { "send" } else { "stream" },
            ),
            ("#binding=http-json", "rest"),
            ("#binding=http-json&stream=false", "rest"),
        ];
        for (settings, recorded) in modes {
            let agent = format!("a2a+http://127.0.0.1:{{port}}/{settings}");
            let expected = format!("expected.{version}.{recorded}.json");
            Mode {
                folder: "a2a_sdk",
                agent: &agent,
                expected: &expected,
                cases: &[],
            }
            .check(&server);
        }
    }
}

#[test]
fn pydantic_ai_over_ag_ui_and_a2a() {
    for (name, ag_ui, a2a) in [
        (
            "pydantic-ai",
            "expected.agui.json",
            "expected.a2a.fasta2a2.json",
        ),
        (
            "pydantic-ai-1",
            "expected.agui.v1x.json",
            "expected.a2a.fasta2a06.json",
        ),
    ] {
        let Some(environment) = environment(name) else {
            continue;
        };
        let server =
            RealServer::start(&environment, "pydantic", "python", &["server.py", "{port}"]);
        let mode = |agent, expected| Mode {
            folder: "pydantic",
            agent,
            expected,
            cases: &[],
        };
        mode("ag-ui+http://127.0.0.1:{port}/ag-ui", ag_ui).check(&server);
        mode("a2a+http://127.0.0.1:{port}/a2a/", a2a).check(&server);
        if name == "pydantic-ai" {
            // The client's tools are answered from the stubs beside the set.
            let stubs = server.path("openai_compat/stubs.jsonl");
            std::fs::copy(stubs, server.path("pydantic/cases.tools.jsonl")).unwrap();
            let agent =
                "ag-ui+http://127.0.0.1:{port}/ag-ui-bare#tools=../openai_compat/tools.json";
            mode(agent, "expected.agui.client_tools.json").check(&server);
        }
    }
}

#[test]
fn graphs_on_a_langgraph_server() {
    let Some(environment) = environment("langgraph") else {
        return;
    };
    let args = [
        "dev",
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--no-browser",
        "--no-reload",
    ];
    let server = RealServer::start(&environment, "langgraph", "langgraph", &args);
    let mode = |agent, cases| Mode {
        folder: "langgraph",
        agent,
        expected: "expected.json",
        cases,
    };
    // Each case names its graph.
    let cases = [
        "weather",
        "parallel",
        "chain",
        "twice",
        "hello",
        "memory",
        "tool_fails",
        "wrong",
        "crash",
        "clerk",
        "interrupt",
    ];
    mode("langgraph+http://127.0.0.1:{port}", &cases).check(&server);
    mode(
        "langgraph+http://127.0.0.1:{port}#assistant=plain&input=question",
        &["plain"],
    )
    .check(&server);
    graph_over_a2a(&server);
}

/// LangGraph's A2A mixes both versions of the protocol, sends each text in growing snapshots, and names tools without
/// their arguments: the responses are whole, and the calls are unknown.
fn graph_over_a2a(server: &RealServer) {
    let found = server.post("/assistants/search", r#"{"graph_id": "desk"}"#);
    let assistant = found[0]["assistant_id"].as_str().unwrap();
    let agent = format!("a2a+http://127.0.0.1:{}/a2a/{assistant}", server.port);
    let home = tempfile::tempdir().unwrap();
    let mut command = evaltrail(home.path());
    command
        .current_dir(server.path("langgraph"))
        .args(["run", "--json", "--agent", &agent]);
    let out = output(command.arg("cases.evalset.json:weather,hello,memory,crash"));
    let report: Value =
        serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
    for case in report["cases"].as_array().unwrap() {
        if case["eval_id"] == "crash" {
            assert_eq!(case["error"], "the model broke on purpose");
            continue;
        }
        assert_eq!(case["status"], "not_evaluated", "{case}");
        for turn in case["invocations"].as_array().unwrap() {
            assert_eq!(
                turn["actual"]["response"], turn["expected"]["response"],
                "{case}"
            );
            assert_eq!(turn["actual"]["calls_known"], false, "{case}");
        }
    }
}

#[test]
fn adk_with_the_tools_of_an_mcp_server() {
    let Some(environment) = environment("mcp-adk") else {
        return;
    };
    let memory = [
        "--session_service_uri",
        "memory://",
        "--artifact_service_uri",
        "memory://",
    ];
    let args: Vec<&str> = ["api_server", "--port", "{port}"]
        .into_iter()
        .chain(memory)
        .chain(["."])
        .collect();
    let server = RealServer::start(&environment, "mcp_adk", "adk", &args);
    let agent = "adk+http://127.0.0.1:{port}/desk_mcp";
    Mode {
        folder: "mcp_adk",
        agent,
        expected: "expected.json",
        cases: &[],
    }
    .check(&server);
}

/// ADK for JavaScript sends times in milliseconds, and failures of the agent as events.
#[test]
fn adk_for_javascript() {
    if !crate::common::has_program("npm") {
        return println!("SKIPPED: npm was not found");
    }
    let Some(environment) = environment("adk-js") else {
        return;
    };
    let node = Path::new("/").join("usr/bin/env");
    let args = [
        "node",
        "cli.js",
        "api_server",
        "-h",
        "127.0.0.1",
        "-p",
        "{port}",
        "agents",
    ];
    let server = RealServer::start_prepared("adk_js", &node, &args, |folder| {
        std::os::unix::fs::symlink(
            environment.join("node_modules"),
            folder.join("node_modules"),
        )
        .unwrap();
        let cli = "import './node_modules/@google/adk-devtools/dist/esm/cli_entrypoint.js';\n";
        std::fs::write(folder.join("cli.js"), cli).unwrap();
    });
    let home = tempfile::tempdir().unwrap();
    let mut command = evaltrail(home.path());
    let agent = format!("adk+http://127.0.0.1:{}/desk_js", server.port);
    command.current_dir(server.path("adk_js")).args([
        "run",
        "cases.evalset.json",
        "--json",
        "--agent",
        &agent,
    ]);
    let out = output(&mut command);
    let report: Value =
        serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
    for case in report["cases"].as_array().unwrap() {
        match case["eval_id"].as_str().unwrap() {
            "crash" => {
                assert_eq!(case["status"], "errored", "{case}");
                assert!(
                    case["error"].as_str().unwrap().contains("on purpose"),
                    "{case}"
                );
            }
            _ => assert_eq!(case["status"], "passed", "{case}"),
        }
        assert!(
            case["latency_s"].as_f64().unwrap() < 60.0,
            "times are in seconds: {case}"
        );
    }
}

#[test]
fn real_mcp_server_runs_as_agent() {
    let Some(environment) = environment("mcp-adk") else {
        return;
    };
    let server = RealServer::start(
        &environment,
        "mcp_adk",
        "python",
        &["tools_server.py", "http", "{port}"],
    );
    let agent = format!("mcp+http://127.0.0.1:{}/mcp#tool=add_note", server.port);
    let home = tempfile::tempdir().unwrap();
    let mut command = evaltrail(home.path());
    command
        .current_dir(server.path("mcp_adk"))
        .args(["run", "--json", "--agent", &agent]);
    let out = output(command.arg("cases.evalset.json:hello"));
    let report: Value =
        serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
    let said = report["cases"][0]["invocations"][0]["actual"]["response"]
        .as_str()
        .unwrap_or_default();
    assert_eq!(
        serde_json::from_str::<Value>(said).ok(),
        Some(serde_json::json!({"saved": true})),
        "{report}"
    );
}

#[test]
fn a_model_behind_openais_interfaces() {
    let Some(environment) = environment("litellm") else {
        return;
    };
    let args = [
        "--config",
        "config.yaml",
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--telemetry",
        "False",
    ];
    let server = RealServer::start(&environment, "openai_compat", "litellm", &args);
    std::fs::copy(
        server.path("openai_compat/stubs.jsonl"),
        server.path("openai_compat/cases.tools.jsonl"),
    )
    .unwrap();
    for api in ["chat", "responses"] {
        for (stream, suffix) in [("true", ".stream"), ("false", "")] {
            let agent = format!(
                "openai+http://127.0.0.1:{{port}}/v1#model=desk&tools=tools.json&token_env=DESK_KEY&api={api}&stream={stream}"
            );
            let expected = format!("expected.{api}{suffix}.json");
            Mode {
                folder: "openai_compat",
                agent: &agent,
                expected: &expected,
                cases: &[],
            }
            .check(&server);
        }
    }
}

#[test]
fn an_agent_in_agent_engines_container() {
    let Some(environment) = environment("agent-engine") else {
        return;
    };
    let server = RealServer::start(
        &environment,
        "agent_engine",
        "python",
        &["server.py", "{port}"],
    );
    let engine = "agent-engine+http://127.0.0.1:{port}/v1/projects/p/locations/us-central1/reasoningEngines/1";
    let agent = format!("{engine}#token_env=DESK_TOKEN");
    Mode {
        folder: "agent_engine",
        agent: &agent,
        expected: "expected.json",
        cases: &[],
    }
    .check(&server);
}

/// A crew with the model and the tools of the oracle, without a function around it.
const CREW: &str = r#"
from crewai import Agent, Crew, Task
from desk_crew import DeskLLM, TOOLS


class Desk:
    def kickoff(self, inputs):
        llm = DeskLLM()
        llm.said = inputs["prompt"]
        agent = Agent(role="desk", goal="serve", backstory="a desk", llm=llm, tools=TOOLS, verbose=False, max_iter=8)
        task = Task(description=llm.said, expected_output="an answer", agent=agent)
        return Crew(agents=[agent], tasks=[task], verbose=False).kickoff()


crew = Desk()
"#;

#[test]
fn python_agents_of_four_libraries() {
    let every: &[&str] = &[];
    // Over AG-UI, a tool that fails has a result in words of the adapter.
    let of_pydantic: &[&str] = &[
        "weather", "parallel", "chain", "twice", "hello", "memory", "wrong", "crash",
    ];
    // The other cases need another graph than the one of the object.
    let of_desk: &[&str] = &[
        "weather",
        "parallel",
        "chain",
        "twice",
        "hello",
        "memory",
        "tool_fails",
        "wrong",
        "crash",
    ];
    for (name, folder, agent, expected, cases) in [
        (
            "openai-agents",
            "openai_agents",
            "python:desk_agent.py:root",
            "expected.json",
            every,
        ),
        (
            "crewai",
            "crewai",
            "python:crew_object.py:crew",
            "expected.json",
            every,
        ),
        (
            "langgraph",
            "langgraph",
            "python:graph.py:desk",
            "expected.json",
            of_desk,
        ),
        (
            "pydantic-ai",
            "pydantic",
            "python:server.py:agent",
            "expected.agui.json",
            of_pydantic,
        ),
    ] {
        let Some(environment) = environment(name) else {
            continue;
        };
        Mode {
            folder,
            agent,
            expected,
            cases,
        }
        .check_python(&environment);
    }
}

#[test]
fn callables_of_vertex() {
    let (Some(oracle), Some(python)) = (oracle(), crate::common::python()) else {
        return println!("SKIPPED: the oracle or Python is missing");
    };
    let workspace = tempfile::tempdir().unwrap();
    copy_folder(&oracle.join("real"), workspace.path());
    let folder = workspace.path().join("vertex_callable");
    let recorded: Value =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    // The same agent in each form of a callable. Vertex's service awaits no coroutine and takes no text alone, so that its
    // results of `run` hold for those; a text alone does not say which tools were called.
    for (name, rows, has_calls) in [
        ("run", "run", true),
        ("run_text", "run_text", true),
        ("run_async", "run", true),
        ("engine", "engine", true),
        ("run_plain", "run", false),
    ] {
        let config = format!(
            "[agents.a]\nkind = \"python\"\nfunction = \"agents.py:{name}\"\npython = \"{}\"\n",
            python.display()
        );
        std::fs::write(folder.join("evaltrail.toml"), config).unwrap();
        let mut command = evaltrail(workspace.path());
        command
            .current_dir(&folder)
            .args(["run", "cases.evalset.json", "--json", "--trust", "."]);
        let out = output(&mut command);
        let report: Value = serde_json::from_str(&text(&out))
            .unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
        let cases = report["cases"].as_array().unwrap();
        let rows = recorded["callables"][rows]["rows"].as_object().unwrap();
        assert_eq!(cases.len(), rows.len());
        for case in cases {
            compare_row(
                name,
                &rows[case["eval_id"].as_str().unwrap()],
                case,
                has_calls,
            );
        }
    }
}

/// Compares a case with the row that Vertex's service made of the same callable.
fn compare_row(name: &str, row: &Value, case: &Value, has_calls: bool) {
    if row["failure"] == 1 {
        assert_eq!(case["status"], "errored", "{name}: {case}");
        return;
    }
    let status = match case["eval_id"].as_str().unwrap() {
        "wrong" if has_calls => "failed",
        _ if has_calls => "passed",
        _ => "not_evaluated",
    };
    assert_eq!(case["status"], status, "{name}: {case}");
    let actual = &case["invocations"][0]["actual"];
    assert_eq!(actual["response"], row["response"], "{name}: {case}");
    if !has_calls {
        return;
    }
    let trajectory = match row["predicted_trajectory"].as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => row["predicted_trajectory"].clone(),
    };
    let calls = trajectory.as_array().unwrap().iter();
    let calls: Vec<Value> = calls
        .map(|call| serde_json::json!({"name": call["tool_name"], "args": call["tool_input"]}))
        .collect();
    assert_eq!(actual["tool_calls"], Value::Array(calls), "{name}: {case}");
}

/// A sub-agent alone, through the unchanged server of ADK.
#[test]
fn sub_agent_of_adk_runs_by_itself() {
    let Some(environment) = environment("a2a-adk") else {
        return;
    };
    let mode = Mode {
        folder: "adk_isolated",
        agent: "adk:desk_app/clerk",
        expected: "expected.json",
        cases: &[],
    };
    mode.check_python(&environment);
    let workspace = tempfile::tempdir().unwrap();
    copy_folder(&oracle().unwrap().join("real"), workspace.path());
    let mut command = evaltrail(workspace.path());
    command
        .current_dir(workspace.path().join("adk_isolated"))
        .env("VIRTUAL_ENV", &environment);
    let out = output(command.args([
        "run",
        ".",
        "--trust",
        "--json",
        "--agent",
        "adk:desk_app/nobody",
    ]));
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(
        error.contains("there is no agent nobody below desk"),
        "{error}"
    );
    assert_eq!(out.status.code(), Some(2));
}
