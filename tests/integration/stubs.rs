//! Tools that are answered from stubs, with the agents of real libraries: ADK by its plugin, Python agents in their
//! worker, and any agent by a server that stands in for its MCP server. The tools of the agents are broken on purpose, so
//! that a call that reaches one is noticed.
#![cfg(unix)]

use crate::common::scripted::{JSON, ScriptedServer, answer};
use crate::common::terminal::Terminal;
use crate::common::{adk_or_skip, both, copy_folder, evaltrail, oracle, output, text, wait_for};
use crate::real_agents::environment;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Answers for all cases of the desk.
const STUBS: &str = r#"{"tool": "get_weather", "args": {"city": "Oslo"}, "match": "subset", "response": {"city": "Oslo", "temp_c": 4}}
{"tool": "get_weather", "args": {"city": "Rome"}, "match": "subset", "response": {"city": "Rome", "temp_c": 21}}
{"tool": "book_table", "args": {"city": "Rome"}, "match": "subset", "response": {"booked": true, "id": "Rome-2"}}
{"tool": "book_table", "args": {"city": "Atlantis"}, "match": "subset", "error": "no such city: Atlantis"}
{"tool": "add_note", "response": {"saved": true}}
"#;

/// A copy of the oracle's agents.
struct Desk {
    workspace: tempfile::TempDir,
    folder: PathBuf,
}

impl Desk {
    /// The agents, of which one folder is the workspace.
    fn new(folder: &str) -> Desk {
        let workspace = tempfile::tempdir().unwrap();
        copy_folder(&oracle().unwrap().join("real"), workspace.path());
        let folder = workspace.path().join(folder);
        Desk { workspace, folder }
    }

    /// The desk as an ADK application with tools of its own.
    fn of_adk(adk: &Path, keys: &str) -> Desk {
        let desk = Desk::new("adk_isolated");
        let cases =
            std::fs::read(desk.workspace.path().join("mcp_adk/cases.evalset.json")).unwrap();
        std::fs::write(desk.folder.join("cases.evalset.json"), cases).unwrap();
        desk.configure(&format!(
            "kind = \"adk\"\napp = \"desk_app\"\n{}\n{keys}",
            start(adk)
        ));
        desk
    }

    fn configure(&self, keys: &str) {
        std::fs::write(
            self.folder.join("evaltrail.toml"),
            format!("[agents.a]\n{keys}\n"),
        )
        .unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// Makes every tool fail.
    fn break_tools(&self) {
        let path = self.workspace.path().join("common/desk.py");
        let source = std::fs::read_to_string(&path).unwrap();
        let mut broken = source.clone();
        for answer in [
            "    return {\"city\"",
            "    if city == \"Atlantis\"",
            "    return {\"saved\"",
        ] {
            broken = broken.replace(
                answer,
                &format!("    raise RuntimeError(\"a live tool ran\")\n{answer}"),
            );
        }
        assert_eq!(broken.matches("a live tool ran").count(), 3);
        std::fs::write(path, broken).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = evaltrail(self.workspace.path());
        command
            .current_dir(&self.folder)
            .args(["run", "cases.evalset.json", "--agent", "a", "--trust"])
            .args(args);
        command
    }

    /// Runs the cases, and returns the report and all output.
    fn run(&self, args: &[&str]) -> (Value, String) {
        let out = output(self.command(args).arg("--json"));
        let report = serde_json::from_str(&text(&out))
            .unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
        (report, both(&out))
    }
}

fn start(adk: &Path) -> String {
    let memory = "--session_service_uri memory:// --artifact_service_uri memory://";
    format!(
        "start = \"{} api_server --port {{port}} {memory} .\"",
        adk.display()
    )
}

fn cases(report: &Value) -> BTreeMap<String, Value> {
    let cases = report["cases"].as_array().unwrap().iter();
    cases
        .map(|case| (case["eval_id"].as_str().unwrap().to_string(), case.clone()))
        .collect()
}

/// The outcomes of all cases, for comparison.
fn statuses(report: &Value) -> BTreeMap<String, String> {
    cases(report)
        .into_iter()
        .map(|(id, case)| (id, case["status"].as_str().unwrap().to_string()))
        .collect()
}

/// What agents did, without times and ids.
fn recorded(desk: &Desk, name: &str) -> BTreeMap<String, Value> {
    let bare = |turn: &Value| {
        let events = turn["events"].as_array().unwrap().iter();
        json!({"events": events.map(|event| json!([event["author"], without_ids(&event["content"])])).collect::<Vec<_>>(), "error": turn["error"]})
    };
    let attempts = desk.read(name);
    let attempts = attempts
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    attempts
        .map(|one| {
            (
                one["eval_id"].as_str().unwrap().into(),
                one["turns"].as_array().unwrap().iter().map(bare).collect(),
            )
        })
        .collect()
}

fn without_ids(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members
                .iter()
                .filter(|(key, _)| *key != "id" && *key != "timestamp");
            kept.map(|(key, value)| (key.clone(), without_ids(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        Value::Array(items) => items.iter().map(without_ids).collect(),
        _ => value.clone(),
    }
}

#[test]
fn recorded_answers_replay_without_tools() {
    let Some(adk) = adk_or_skip("stubs of ADK") else {
        return;
    };
    let desk = Desk::of_adk(&adk, "");
    let (live, said) = desk.run(&["--record-tools", "--record", "live.jsonl"]);
    assert!(
        said.contains("8 answers of tools recorded in cases.tools.jsonl"),
        "{said}"
    );
    let stubs = desk.read("cases.tools.jsonl");
    assert!(
        stubs.contains("9007199254740993") && !stubs.contains("transfer_to_agent"),
        "{stubs}"
    );
    let again = desk.run(&["--record-tools"]).1;
    assert!(
        said.contains("1 call got no answer")
            && again.contains("no answer of a tool is new")
            && again.contains("9 already in it"),
        "{again}"
    );
    assert_eq!(desk.read("cases.tools.jsonl"), stubs);

    desk.break_tools();
    let (broken, _) = desk.run(&[]);
    assert!(
        cases(&broken)["weather"]["error"]
            .as_str()
            .unwrap()
            .contains("a live tool ran"),
        "{broken}"
    );
    let (replayed, said) = desk.run(&["--stubs", "--record", "replayed.jsonl"]);
    assert_eq!(statuses(&replayed), statuses(&live), "{said}");
    let (live, mut replayed) = (
        recorded(&desk, "live.jsonl"),
        recorded(&desk, "replayed.jsonl"),
    );
    // A tool that raised has no answer to record.
    assert!(
        replayed["tool_fails"][0]["error"]
            .as_str()
            .unwrap()
            .contains("no answer is recorded"),
        "{replayed:?}"
    );
    replayed.insert("tool_fails".into(), live["tool_fails"].clone());
    assert_eq!(live, replayed);
}

#[test]
fn a_server_that_does_not_ask_runs_no_case() {
    let Some(adk) = adk_or_skip("stubs of ADK") else {
        return;
    };
    let desk = Desk::of_adk(&adk, "");
    let config = desk
        .read("evaltrail.toml")
        .replace("start = \"", "start = \"env -u PYTHONPATH ");
    desk.write("evaltrail.toml", &config);
    let out = output(&mut desk.command(&["--stubs"]));
    let error = both(&out);
    assert_eq!(out.status.code(), Some(2), "{error}");
    for words in [
        "9 attempts are not run",
        "does not ask evaltrail before it calls tools",
        "Failed to load plugin",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn unmatched_call_follows_stubs_option() {
    let Some(adk) = adk_or_skip("stubs of ADK") else {
        return;
    };
    let desk = Desk::of_adk(&adk, "stubs = true");
    let line = r#"{"tool": "get_weather", "args": {"city": "Oslo", "days": 5}, "response": {}}"#;
    let unused =
        r#"{"tool": "get_weather", "args": {"city": "Bergen"}, "case": "weather", "response": {}}"#;
    desk.write("cases.tools.jsonl", &format!("{line}\n{unused}\n"));
    let (report, _) = desk.run(&[]);
    let weather = &cases(&report)["weather"];
    let why = "no answer is recorded for get_weather {\"city\":\"Oslo\",\"days\":3}; nearest: line 1 of the stubs, days differs";
    assert_eq!(
        (weather["status"].as_str(), weather["error"].as_str()),
        (Some("errored"), Some(why)),
        "{weather}"
    );
    assert_eq!(
        weather["tools"]["missing"][0]["call"]["name"],
        "get_weather"
    );
    assert_eq!(weather["tools"]["unused"], json!([2]));

    // The tools run where no stub answers, and the result says so.
    let out = output(&mut desk.command(&[
        "--stubs=live",
        "--report",
        "junit=r.xml",
        "--report",
        "markdown=r.md",
    ]));
    let said = both(&out);
    assert!(
        said.contains("tools: 0 stubbed · 10 live · 0 missing · 1 stub not used"),
        "{said}"
    );
    assert!(
        desk.read("r.xml")
            .contains("<system-out>tools: 0 stubbed · 1 live"),
        "{}",
        desk.read("r.xml")
    );
    assert!(
        desk.read("r.md").contains("tools from stubs, else live"),
        "{}",
        desk.read("r.md")
    );

    let (report, _) = desk.run(&["--stubs=error"]);
    let weather = &cases(&report)["weather"];
    assert_eq!(
        (weather["status"].as_str(), &weather["error"]),
        (Some("passed"), &Value::Null),
        "{weather}"
    );
    assert_eq!(weather["tools"]["missing"].as_array().unwrap().len(), 1);
}

#[test]
fn tools_are_made_to_fail() {
    let Some(adk) = adk_or_skip("stubs of ADK") else {
        return;
    };
    let desk = Desk::of_adk(&adk, "");
    let faults = [
        "--tool-fault",
        "get_*=error:503 busy",
        "--tool-fault",
        "book_table=timeout:200ms",
        "--record",
        "r.jsonl",
    ];
    let (report, _) = desk.run(&faults);
    let chain = &cases(&report)["chain"];
    assert_eq!(
        (&chain["tools"]["faults"], chain["status"].as_str()),
        (&json!(2), Some("passed")),
        "{chain}"
    );
    assert!(chain["latency_s"].as_f64().unwrap() >= 0.2, "{chain}");
    let did = recorded(&desk, "r.jsonl")["chain"].to_string();
    assert!(
        did.contains("503 busy") && did.contains("did not answer in time"),
        "{did}"
    );
}

#[test]
fn python_tools_are_answered_in_their_worker() {
    for (name, folder, function) in [
        ("openai-agents", "openai_agents", "desk_agent.py:root"),
        ("pydantic-ai", "pydantic", "server.py:agent"),
        ("langgraph", "langgraph", "graph.py:desk"),
        ("crewai", "crewai", "desk_crew.py:run"),
    ] {
        let Some(environment) = environment(name) else {
            continue;
        };
        let desk = Desk::new(folder);
        desk.break_tools();
        desk.write("cases.tools.jsonl", STUBS);
        let python = environment.join("bin/python");
        desk.configure(&format!(
            "kind = \"python\"\nfunction = \"{function}\"\npython = \"{}\"\nstubs = true",
            python.display()
        ));
        let (report, said) = desk.run(&[]);
        let cases = cases(&report);
        for id in ["weather", "parallel", "chain", "twice"] {
            // CrewAI runs parallel calls in threads, and reports them in the order in which those start.
            if (name, id) != ("crewai", "parallel") {
                assert_eq!(
                    cases[id]["status"], "passed",
                    "{name} {id}: {}\n{said}",
                    cases[id]
                );
            }
            let (stubbed, live) = (
                cases[id]["tools"]["stubbed"].as_u64(),
                &cases[id]["tools"]["live"],
            );
            assert!(
                stubbed >= Some(1) && live.is_null(),
                "{name} {id}: {}",
                cases[id]
            );
        }
        assert!(!said.contains("a live tool ran"), "{name}: {said}");
    }
}

#[test]
fn plain_python_agent_rejects_stubs() {
    let Some(python) = crate::common::python() else {
        return println!("SKIPPED: Python is missing");
    };
    // Its own files: this test needs none of the recorded agents.
    let workspace = tempfile::tempdir().unwrap();
    let desk = Desk {
        folder: workspace.path().to_path_buf(),
        workspace,
    };
    desk.write(
        "agents.py",
        "def run(prompt):\n    return {\"response\": prompt}\n",
    );
    let cases = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": "hi"}]},
    }]}]});
    desk.write("cases.evalset.json", &cases.to_string());
    desk.configure(&format!(
        "kind = \"python\"\nfunction = \"agents.py:run\"\npython = \"{}\"\nstubs = true",
        python.display()
    ));
    let out = output(&mut desk.command(&[]));
    let error = both(&out);
    assert_eq!(out.status.code(), Some(2), "{error}");
    assert!(
        error.contains("imports none of the libraries whose tools evaltrail can answer"),
        "{error}"
    );
}

/// An ADK agent whose tools are those of an MCP server.
fn mcp_desk(environment: &Path, kind: &str, stubs: &str) -> Desk {
    let desk = Desk::new("mcp_adk");
    desk.break_tools();
    desk.write("cases.tools.jsonl", STUBS);
    std::fs::copy(
        desk.workspace.path().join("openai_compat/tools.json"),
        desk.folder.join("tools.json"),
    )
    .unwrap();
    desk.configure(&format!(
        "{}\n{kind}\n[agents.a.stubs]\n{stubs}",
        start(&environment.join("bin/adk"))
    ));
    desk
}

const OF_ADK: &str = "kind = \"adk\"\napp = \"desk_mcp\"";
/// ADK's server by a template: a call is known to be of a case only by the trace context.
const BY_TEMPLATE: &str = r#"kind = "http"
path = "/run"
response = "$[-1].content.parts[-1].text"
[agents.a.body]
appName = "desk_mcp"
userId = "u"
sessionId = "{session_id}"
newMessage = { role = "user", parts = [{ text = "{prompt}" }] }
[agents.a.calls]
path = "$[*].content.parts[*].functionCall"
name = "$.name"
args = "$.args"
"#;

#[test]
fn mcp_tools_are_answered_without_their_server() {
    let Some(environment) = environment("mcp-adk") else {
        return;
    };
    let desk = mcp_desk(
        &environment,
        OF_ADK,
        "mcp.MCP_URL = { declarations = \"tools.json\" }",
    );
    let (report, said) = desk.run(&["--record", "r.jsonl"]);
    for id in ["weather", "parallel", "chain", "twice", "memory"] {
        assert_eq!(cases(&report)[id]["status"], "passed", "{said}");
    }
    desk.write(
        "cases.tools.jsonl",
        &STUBS.replace("\"temp_c\": 4", "\"temp_c\": -40"),
    );
    desk.run(&["--record", "r.jsonl"]);
    assert!(
        recorded(&desk, "r.jsonl")["weather"]
            .to_string()
            .contains("-40")
    );
}

/// Eight cases that ask the same, each with an answer of its own.
fn eight_cases(desk: &Desk) {
    let case = |at: usize| {
        json!({"eval_id": format!("c{at}"), "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": "Weather in Oslo for 3 days?"}]},
            "final_response": {"role": "model", "parts": [{"text": "Oslo: 4 degrees and rain."}]},
            "intermediate_data": {"tool_uses": [{"name": "get_weather", "args": {"city": "Oslo", "days": 3}}]},
        }]})
    };
    let set = json!({"eval_set_id": "cases", "eval_cases": (1..=8).map(case).collect::<Vec<_>>()});
    desk.write("cases.evalset.json", &set.to_string());
    let stub = |at: usize| json!({"tool": "get_weather", "args": "ignore", "case": format!("c{at}"), "after_ms": 50, "response": {"temp_c": at}});
    let stubs: Vec<String> = (1..=8)
        .map(|at| stub(at).to_string().replace("\"args\":\"ignore\",", ""))
        .collect();
    desk.write("cases.tools.jsonl", &stubs.join("\n"));
}

#[test]
fn trace_context_separates_parallel_cases() {
    let Some(environment) = environment("mcp-adk") else {
        return;
    };
    let desk = mcp_desk(
        &environment,
        BY_TEMPLATE,
        "mcp.MCP_URL = { declarations = \"tools.json\" }",
    );
    eight_cases(&desk);
    let with_sessions = desk
        .read("evaltrail.toml")
        .replace("--port", "--auto_create_session --port");
    desk.write("evaltrail.toml", &with_sessions);
    let one_at_a_time = "cases ran one at a time, because the calls of the agent's tools do not say to which case they belong";
    for propagates in [true, false] {
        if !propagates {
            let without =
                with_sessions.replace("start = \"", "start = \"env OTEL_PROPAGATORS=tracecontext ");
            desk.write("evaltrail.toml", &without);
        }
        let (report, said) = desk.run(&["-j", "8"]);
        for (id, case) in cases(&report) {
            assert_eq!(case["status"], "passed", "{id}: {case}");
            // The only line of the case answered its only call.
            assert_eq!(
                (&case["tools"]["stubbed"], &case["tools"]["unused"]),
                (&json!(1), &Value::Null),
                "{id}: {case}"
            );
        }
        let said = said + &both(&output(&mut desk.command(&["-j", "8"])));
        assert_eq!(said.contains(one_at_a_time), !propagates, "{said}");
    }
}

#[test]
fn wrong_mcp_variable_or_server_is_an_error() {
    let Some(environment) = environment("mcp-adk") else {
        return;
    };
    // With the misspelt variable, the agent starts a server of its own.
    for (mcp, why) in [
        (
            "mcp.MCP_ADRESS = { declarations = \"tools.json\" }",
            "(get_weather) did not ask evaltrail",
        ),
        (
            "mcp.MCP_URL = \"http://127.0.0.1:1/mcp\"",
            "the MCP server at http://127.0.0.1:1/mcp cannot be reached",
        ),
    ] {
        let desk = mcp_desk(&environment, BY_TEMPLATE, mcp);
        eight_cases(&desk);
        let with_sessions = desk
            .read("evaltrail.toml")
            .replace("--port", "--auto_create_session --port");
        desk.write("evaltrail.toml", &with_sessions);
        let (report, said) = desk.run(&["--stubs"]);
        let first = &cases(&report)["c1"];
        assert!(
            first["error"]
                .as_str()
                .is_some_and(|error| error.contains(why)),
            "{first}\n{said}"
        );
    }
}

#[test]
fn mcp_calls_are_forwarded_and_recorded() {
    let Some(environment) = environment("mcp-adk") else {
        return;
    };
    let port = crate::common::unused_port();
    let desk = Desk::new("mcp_adk");
    let mut server = Command::new(environment.join("bin/python"))
        .args(["tools_server.py", "http", &port.to_string()])
        .current_dir(&desk.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the MCP server", Duration::from_secs(60), || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    let mcp = format!("unmatched = \"live\"\nmcp.MCP_URL = \"http://127.0.0.1:{port}/mcp\"");
    desk.configure(&format!(
        "{}\n{OF_ADK}\n[agents.a.stubs]\n{mcp}",
        start(&environment.join("bin/adk"))
    ));
    let (live, said) = desk.run(&["--record-tools"]);
    server.kill().unwrap();
    server.wait().unwrap();
    let cases_of = cases(&live);
    for id in ["weather", "parallel", "chain", "twice", "memory"] {
        assert_eq!(
            (
                &cases_of[id]["status"],
                cases_of[id]["tools"]["stubbed"].as_u64()
            ),
            (&json!("passed"), Some(0)),
            "{id}: {said}"
        );
    }
    assert_eq!(
        cases_of["parallel"]["tools"]["live"], 2,
        "each call is counted once: {said}"
    );
    assert!(said.contains("recorded in cases.tools.jsonl"), "{said}");
}

#[test]
fn killed_run_leaves_no_agent_server() {
    let Some(adk) = adk_or_skip("stubs of ADK") else {
        return;
    };
    let desk = Desk::of_adk(&adk, "stubs = true");
    desk.write(
        "cases.tools.jsonl",
        &STUBS.replace(
            "\"tool\": \"get_weather\"",
            "\"tool\": \"get_weather\", \"after_ms\": 60000",
        ),
    );
    let mut child = desk
        .command(&["--json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let folder = desk.folder.canonicalize().unwrap();
    wait_for("the server", Duration::from_secs(60), || {
        (!servers_in(&folder).is_empty()).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the end of the server", Duration::from_secs(20), || {
        servers_in(&folder).is_empty().then_some(())
    });
}

/// The processes of ADK servers that run in a folder.
fn servers_in(folder: &Path) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_server = |process: &PathBuf| {
        let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
        std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder)
            && String::from_utf8_lossy(&command).contains("api_server")
    };
    processes.filter(is_server).collect()
}

#[test]
fn missing_answer_is_added_from_earlier_run() {
    let Some(adk) = adk_or_skip("stubs of ADK") else {
        return;
    };
    let desk = Desk::of_adk(&adk, "");
    desk.run(&[]);
    let (report, _) = desk.run(&["--stubs"]);
    assert_eq!(cases(&report)["weather"]["status"], "errored");
    let folder = desk.folder.to_str().unwrap();
    let mut terminal = Terminal::start(
        env!("CARGO_BIN_EXE_evaltrail"),
        &[folder],
        desk.workspace.path(),
        (150, 40),
    );
    terminal.wait_for("! weather");
    terminal.keys("fweather\r");
    terminal.wait_for("tools: 0 stubbed · 0 live · 1 missing");
    terminal.keys("a");
    terminal.wait_for("add 1 of 1 missing answers of tools for weather");
    terminal.keys("\r");
    terminal.wait_for("done: add 1 of 1 missing answers");
    assert!(
        desk.read("cases.tools.jsonl").contains("\"temp_c\":4"),
        "{}",
        desk.read("cases.tools.jsonl")
    );
    terminal.keys("qqq");
    assert_eq!(terminal.wait_for_end(), 0);
    let (report, _) = desk.run(&["--stubs"]);
    assert_eq!(cases(&report)["weather"]["status"], "passed");
}

/// The model asks for the weather, and repeats what the tool answered.
#[test]
fn chat_marks_answers_from_stubs() {
    let model = ScriptedServer::start(|request, stream| {
        let last = request.body["messages"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        let message = match last["role"] == "tool" {
            true => {
                json!({"content": format!("The tool said {}", last["content"].as_str().unwrap())})
            }
            false => {
                let args = json!({"city": last["content"]}).to_string();
                json!({"tool_calls": [{"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": args}}]})
            }
        };
        answer(
            stream,
            "200 OK",
            JSON,
            &json!({"choices": [{"message": message, "finish_reason": "stop"}]}).to_string(),
        )
    });
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let case = json!({"eval_id": "one", "conversation": [{"user_content": {"role": "user", "parts": [{"text": "Oslo"}]}}]});
    write(
        "desk.evalset.json",
        &json!({"eval_set_id": "desk", "eval_cases": [case]}).to_string(),
    );
    write("desk.tools.jsonl", STUBS);
    let url = format!("http://127.0.0.1:{}/v1", model.port);
    write(
        "evaltrail.toml",
        &format!(
            "[agents.desk]\nkind = \"openai\"\nurl = \"{url}\"\nmodel = \"m\"\nstream = false\n"
        ),
    );
    let program = env!("CARGO_BIN_EXE_evaltrail");
    let mut terminal = Terminal::start(
        program,
        &[folder.path().to_str().unwrap()],
        folder.path(),
        (120, 40),
    );
    terminal.wait_for("not run");
    terminal.keys("C");
    terminal.wait_for("send the cases to");
    terminal.keys("y");
    terminal.wait_for("answered from stubs; a call without one ends the chat");
    terminal.keys("Oslo\r");
    terminal.wait_for("The tool said");
    assert!(
        terminal.screen().contains("\"temp_c\":4"),
        "{}",
        terminal.screen()
    );
    terminal.wait_for("enter send");
    terminal.keys("Atlantis\r");
    terminal.wait_for("no answer is recorded for get_weather");
}
