//! Python agents of real libraries, and functions and objects without a library (`fixtures/python_agents`). The agents that
//! need a model use the one of `model.py`, a double of OpenAI's chat interface on this machine.
#![cfg(unix)]

use crate::common::{both, copy_folder, evaltrail, output, root, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A copy of the agents, with a running model.
struct Desk {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
    model: Child,
    python: PathBuf,
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.model.kill();
        let _ = self.model.wait();
    }
}

/// The Python of an environment in which `.ci/real-agents` installs libraries.
fn python_of(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("EVALTRAIL_REAL_AGENTS").map(PathBuf::from);
    let folder = folder
        .unwrap_or_else(|| root().join(".real-agents"))
        .join(name);
    let found = folder.join(".complete").is_file();
    if !found {
        let required = std::env::var_os("EVALTRAIL_REQUIRE_REAL_AGENTS").is_some();
        assert!(
            !required,
            "the environment {name} is required here; run .ci/real-agents"
        );
        println!("SKIPPED: the environment {name} is not installed; run .ci/real-agents");
    }
    found.then(|| folder.join("bin/python"))
}

impl Desk {
    fn new(python: PathBuf) -> Desk {
        let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        copy_folder(&root().join("fixtures/python_agents"), folder.path());
        let model = Command::new(&python)
            .args(["model.py", "port"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let port = folder.path().join("port");
        wait_for("the model", Duration::from_secs(60), || {
            port.is_file().then_some(())
        });
        Desk {
            folder,
            home,
            model,
            python,
        }
    }

    fn in_environment(environment: &str) -> Option<Desk> {
        Some(Desk::new(python_of(environment)?))
    }

    fn plain() -> Option<Desk> {
        Some(Desk::new(crate::common::python()?))
    }

    fn command(&self, agent: &str, args: &[&str]) -> Command {
        let config =
            json!({"agents": {"a": {"kind": "python", "function": agent, "python": self.python}}});
        fs::write(
            self.path().join("evaltrail.toml"),
            toml_of(&config["agents"]["a"]),
        )
        .unwrap();
        let mut command = evaltrail(self.home.path());
        command.current_dir(self.path()).args(args);
        command
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs cases, four at once or `jobs`, and returns the report.
    fn run(&self, agent: &str, cases: &[Value], jobs: &str) -> Value {
        let set = json!({"eval_set_id": "s", "eval_cases": cases});
        fs::write(self.path().join("s.evalset.json"), set.to_string()).unwrap();
        let criteria =
            json!({"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0}});
        fs::write(self.path().join("test_config.json"), criteria.to_string()).unwrap();
        let args = ["run", "s.evalset.json", "--json", "--trust", "-j", jobs];
        let out = output(&mut self.command(agent, &args));
        serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|error| panic!("{agent}: {error}: {}", both(&out)))
    }

    /// Why the agent cannot be used, before a case is run.
    fn refusal(&self, agent: &str) -> String {
        let set = json!({"eval_set_id": "s", "eval_cases": [case("one", &[("hi", vec![], "")])]});
        fs::write(self.path().join("s.evalset.json"), set.to_string()).unwrap();
        let out = output(&mut self.command(agent, &["run", "s.evalset.json", "--trust"]));
        assert_eq!(out.status.code(), Some(2), "{}", both(&out));
        both(&out)
    }

    /// The first case of a run of one case with these prompts.
    fn one(&self, agent: &str, prompts: &[&str]) -> Value {
        let turns: Vec<Turn> = prompts.iter().map(|prompt| (*prompt, vec![], "")).collect();
        self.run(agent, &[case("one", &turns)], "1")["cases"][0].clone()
    }
}

fn toml_of(agent: &Value) -> String {
    let line = |key: &str| format!("{key} = {}\n", agent[key]);
    format!(
        "[agents.a]\n{}{}{}",
        line("kind"),
        line("function"),
        line("python")
    )
}

/// A prompt, the expected calls, and the expected response.
type Turn<'a> = (&'a str, Vec<Value>, &'a str);

fn case(id: &str, turns: &[Turn<'_>]) -> Value {
    let turn = |(prompt, calls, response): &Turn<'_>| {
        json!({
            "user_content": {"role": "user", "parts": [{"text": prompt}]},
            "final_response": {"role": "model", "parts": [{"text": response}]},
            "intermediate_data": {"tool_uses": calls, "intermediate_responses": []},
        })
    };
    json!({"eval_id": id, "conversation": turns.iter().map(turn).collect::<Vec<_>>()})
}

fn weather(city: &str, days: usize) -> Value {
    json!({"name": "get_weather", "args": {"city": city, "days": days}})
}

/// Cases of every kind that the model knows. All pass but `breaks`, which is errored after its call.
fn desk_cases() -> Vec<Value> {
    let mut cases: Vec<Value> = (1..=8)
        .map(|n| {
            let (prompt, city) = (format!("Case {n}: weather"), format!("City{n}"));
            let response = format!("Case {n}: {city} has {} degrees", n % 5);
            case(
                &format!("weather{n}"),
                &[(&prompt, vec![weather(&city, n % 5)], &response)],
            )
        })
        .collect();
    let aloud = (
        "Case 11: weather aloud",
        vec![weather("City11", 1)],
        "Case 11: City11 has 1 degrees",
    );
    let second = ("Case 12: count", vec![], "2 messages of the user");
    let east_and_west = vec![weather("East13", 3), weather("West13", 3)];
    let parallel = "Case 13: East13 has 3 degrees and West13 has 3 degrees";
    let twice = vec![weather("City14", 4), weather("Second14", 4)];
    let chain = "Case 14: City14 has 4 degrees and Second14 has 4 degrees";
    let fails = vec![json!({"name": "fail", "args": {"why": "w15"}})];
    cases.extend([
        case("two_turns", &[aloud, second]),
        case(
            "parallel",
            &[("Case 13: parallel", east_and_west, parallel)],
        ),
        case("chain", &[("Case 14: twice", twice, chain)]),
        case(
            "fails",
            &[("Case 15: fails", fails, "Case 15: the tool failed")],
        ),
        case(
            "hello",
            &[("Case 16: hello", vec![], "Hello, this is case 16.")],
        ),
        case("breaks", &[("Case 17: weather breaks", vec![], "")]),
    ]);
    // Each starts anew: the process has run other cases before.
    cases.extend((1..=4).map(|n| {
        case(
            &format!("count{n}"),
            &[("Case 2: count", vec![], "1 messages of the user")],
        )
    }));
    cases
}

fn check_desk(environment: &str, agents: &[&str]) {
    let Some(desk) = Desk::in_environment(environment) else {
        return;
    };
    for agent in agents {
        let report = desk.run(agent, &desk_cases(), "4");
        let cases = report["cases"].as_array().unwrap();
        assert_eq!(cases.len(), desk_cases().len());
        for case in cases {
            if case["eval_id"] == "breaks" {
                assert_eq!(case["status"], "errored", "{agent}: {case}");
                assert!(
                    case["error"].as_str().unwrap().contains("out of luck"),
                    "{agent}: {case}"
                );
                let calls = &case["invocations"][0]["actual"]["tool_calls"];
                assert_eq!(
                    calls[0]["name"], "get_weather",
                    "{agent}: the calls before the error are kept: {case}"
                );
                continue;
            }
            assert_eq!(case["status"], "passed", "{agent}: {case}");
        }
    }
}

#[test]
fn agents_of_agno() {
    check_desk("agno", &["of_agno.py:agent", "of_agno.py:team"]);
}

#[test]
fn agents_of_microsoft_agent_framework() {
    check_desk("agent-framework", &["of_agent_framework.py:agent"]);
}

#[test]
fn agents_of_autogen() {
    check_desk(
        "autogen",
        &[
            "of_autogen.py:agent",
            "of_autogen.py:team",
            "of_autogen.py:desk()",
        ],
    );
}

#[test]
fn agents_of_llama_index() {
    check_desk(
        "llama-index",
        &["of_llama_index.py:agent", "of_llama_index.py:workflow"],
    );
}

#[test]
fn agents_of_smolagents() {
    check_desk("smolagents", &["of_smolagents.py:agent"]);
}

#[test]
fn agents_of_strands() {
    check_desk("strands", &["of_strands.py:agent", "of_strands.py:make()"]);
}

#[test]
fn agents_of_openai_agents_sdk() {
    check_desk("openai-agents", &["of_openai_agents.py:agent"]);
    let Some(desk) = Desk::in_environment("openai-agents") else {
        return;
    };
    let case = desk.one("of_openai_agents.py:one_turn", &["Case 1: weather"]);
    assert!(
        case["error"].as_str().unwrap().contains("MaxTurnsExceeded"),
        "{case}"
    );
    assert_eq!(
        case["invocations"][0]["actual"]["tool_calls"][0],
        weather("City1", 1),
        "{case}"
    );
}

fn responses(case: &Value) -> Vec<String> {
    let turns = case["invocations"].as_array().unwrap().iter();
    turns
        .map(|turn| {
            turn["actual"]["response"]
                .as_str()
                .unwrap_or_default()
                .to_string()
        })
        .collect()
}

#[test]
fn langgraph_messages_of_every_form_are_read() {
    let Some(desk) = Desk::in_environment("langgraph") else {
        return;
    };
    for graph in ["as_dicts", "as_pairs", "as_objects", "with_memory"] {
        let turns: [Turn; 2] = [
            ("hi", vec![], "1 messages of the user"),
            ("ho", vec![], "2 messages of the user"),
        ];
        let report = desk.run(
            &format!("of_langgraph.py:{graph}"),
            &[case("a", &turns), case("b", &turns)],
            "1",
        );
        for case in report["cases"].as_array().unwrap() {
            assert_eq!(case["status"], "passed", "{graph}: {case}");
        }
    }
    let case = desk.one("of_langgraph.py:as_text", &["hi"]);
    assert_eq!(responses(&case), ["1 messages of the user"], "{case}");
    let case = desk.one("of_langgraph.py:without_messages", &["hi"]);
    assert_eq!(responses(&case), ["You asked: hi"], "{case}");
    let refusal = desk.refusal("of_langgraph.py:unclear");
    assert!(
        refusal.contains("no messages but first, second"),
        "{refusal}"
    );
}

#[test]
fn langgraph_interrupt_is_resumed_next_turn() {
    let Some(desk) = Desk::in_environment("langgraph") else {
        return;
    };
    let case = desk.one("of_langgraph.py:asker", &["hi", "red", "hi", "blue"]);
    assert_eq!(
        responses(&case),
        [
            "Which colour?",
            "You like red.",
            "Which colour?",
            "You like blue."
        ],
        "{case}"
    );
    let ends: Vec<&Value> = case["invocations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["actual"]["end"])
        .collect();
    assert_eq!(
        ends,
        [
            &json!("interrupted"),
            &Value::Null,
            &json!("interrupted"),
            &Value::Null
        ],
        "{case}"
    );
    let case = desk.one("of_langgraph.py:asker_with_options", &["hi", "red"]);
    let question = "Which colour?\n{\"question\":\"Which colour?\",\"options\":[\"red\",\"blue\"]}";
    assert_eq!(responses(&case), [question, "You like red."], "{case}");
    let case = desk.one("of_langgraph.py:asker_without_memory", &["hi", "red"]);
    assert!(
        case["error"]
            .as_str()
            .unwrap()
            .contains("compile it with a checkpointer"),
        "{case}"
    );
}

/// Agents that ask a person before a call: the turn ends as interrupted, and the next message decides.
#[test]
fn calls_that_wait_for_approval() {
    for (environment, agent) in [
        ("langchain", "of_langchain.py:with_approval"),
        ("agno", "of_agno.py:with_approval"),
    ] {
        let Some(desk) = Desk::in_environment(environment) else {
            continue;
        };
        let case = desk.one(agent, &["Case 1: weather", "yes", "Case 2: count"]);
        let turn = |at: usize| &case["invocations"][at]["actual"];
        assert_eq!(turn(0)["end"], "interrupted", "{agent}: {case}");
        assert_eq!(
            turn(0)["tool_calls"],
            json!([weather("City1", 1)]),
            "{agent}: {case}"
        );
        assert_eq!(
            turn(1)["response"],
            "Case 1: City1 has 1 degrees",
            "{agent}: {case}"
        );
        assert_eq!(
            turn(1)["tool_calls"],
            json!([]),
            "the call is of the first turn: {agent}: {case}"
        );
        assert_eq!(
            turn(2)["response"],
            "2 messages of the user",
            "{agent}: {case}"
        );
        let case = desk.one(agent, &["Case 1: weather", "not today"]);
        assert!(responses(&case)[1].contains("not today"), "{agent}: {case}");
    }
}

#[test]
fn json_output_and_calls_before_error_are_read() {
    let oslo = json!({"name": "get_weather", "args": {"city": "Oslo"}});
    let as_json =
        |case: &Value| serde_json::from_str::<Value>(responses(case).last().unwrap()).unwrap();
    if let Some(desk) = Desk::in_environment("langgraph") {
        let case = desk.one("of_langgraph.py:structured", &["hi"]);
        assert_eq!(
            as_json(&case),
            json!({"city": "Oslo", "degrees": 4}),
            "{case}"
        );
        assert_eq!(
            case["invocations"][0]["actual"]["tool_calls"],
            json!([oslo]),
            "{case}"
        );
        let case = desk.one("of_langgraph.py:broken", &["hi"]);
        assert!(
            case["error"].as_str().unwrap().contains("out of luck"),
            "{case}"
        );
        assert_eq!(
            case["invocations"][0]["actual"]["tool_calls"],
            json!([oslo]),
            "{case}"
        );
    }
    if let Some(desk) = Desk::in_environment("pydantic-ai") {
        let case = desk.one("of_pydantic_ai.py:structured", &["hi"]);
        assert_eq!(as_json(&case), json!({"city": "a", "degrees": 0}), "{case}");
        assert_eq!(
            case["invocations"][0]["actual"]["tool_calls"],
            json!([]),
            "{case}"
        );
        let error = desk.refusal("of_pydantic_ai.py:with_files");
        assert!(
            error.contains("needs dependencies (Files)") && error.contains("def run("),
            "{error}"
        );
        let case = desk.one("of_pydantic_ai.py:passes_files", &["hi"]);
        assert_eq!(
            case["invocations"][0]["actual"]["tool_calls"][0]["name"], "look",
            "{case}"
        );
    }
    let Some(desk) = Desk::plain() else { return };
    assert_eq!(
        as_json(&desk.one("plain.py:structured", &["hi"])),
        json!({"city": "Oslo", "degrees": 4})
    );
}

#[test]
fn agent_objects_of_adk() {
    let Some(desk) = Desk::in_environment("mcp-adk") else {
        return;
    };
    for agent in [
        "of_adk.py:root_agent",
        "of_adk.py:app",
        "of_adk.py:get_agent_async",
        "of_adk.py:make()",
    ] {
        let oslo = json!({"name": "get_weather", "args": {"city": "Oslo"}});
        let first: Turn = ("weather", vec![oslo], "It is 4.");
        let turns = [first, ("so", vec![], "2 messages of the user")];
        let cases = [
            case("a", &turns),
            case("b", &turns),
            case("breaks", &[("breaks", vec![], "")]),
        ];
        let report = desk.run(agent, &cases, "1");
        let of = |at: usize| &report["cases"][at];
        assert_eq!(
            (&of(0)["status"], &of(1)["status"]),
            (&json!("passed"), &json!("passed")),
            "{agent}: {report}"
        );
        assert!(
            of(2)["error"].as_str().unwrap().contains("out of luck"),
            "{agent}: {report}"
        );
    }
}

#[test]
fn unrunnable_python_objects_are_refused() {
    let Some(desk) = Desk::plain() else { return };
    for (agent, why) in [
        (
            "plain.py:machine",
            "an object of the class plain.Machine, which evaltrail does not know how to run. Wrap it",
        ),
        ("plain.py:without_prompt", "has no parameter for the prompt"),
        (
            "plain.py:Counter",
            "is a class: name an object of it, a function, or plain.py:Counter()",
        ),
        ("plain.py:machine()", "cannot be called"),
        ("plain.py:nobody", "plain has no nobody"),
    ] {
        let out = output(&mut desk.command(agent, &["agents", "check", "a", "--trust"]));
        assert!(
            !out.status.success() && both(&out).contains(why),
            "{agent}: {}",
            both(&out)
        );
    }
    for (agent, why) in [
        ("plain.py:nothing", "returned None"),
        ("plain.py:an_object", "neither a text nor a result"),
        (
            "plain.py:makes",
            "name it with parentheses: python:plain.py:makes()",
        ),
    ] {
        let case = desk.one(agent, &["hi"]);
        assert!(
            case["error"].as_str().unwrap().contains(why),
            "{agent}: {case}"
        );
    }
    assert_eq!(
        responses(&desk.one("plain.py:everything", &["hi", "ho"])),
        ["hi, turn 1", "ho, turn 2"]
    );
    let case = desk.one("plain.py:asks", &["hi", "red"]);
    assert_eq!(
        case["invocations"][0]["actual"]["end"], "interrupted",
        "{case}"
    );
}

#[test]
fn state_across_cases_warns_without_factory() {
    let Some(desk) = Desk::plain() else { return };
    let cases: Vec<Value> = (1..=3)
        .map(|n| case(&format!("c{n}"), &[("hi", vec![], "1")]))
        .collect();
    for (agent, attribute) in [
        ("plain.py:counter", "Counter.history"),
        ("plain.py:counts", "turns"),
    ] {
        let report = desk.run(agent, &cases, "1");
        let kept: Vec<&Value> = report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|case| &case["tools"]["kept_state"])
            .collect();
        assert_eq!(
            kept,
            [&Value::Null, &json!(attribute), &json!(attribute)],
            "{agent}: {report}"
        );
        let out =
            output(&mut desk.command(agent, &["run", "s.evalset.json", "--trust", "-j", "1"]));
        assert!(
            both(&out).contains("the agent keeps state between cases"),
            "{agent}: {}",
            both(&out)
        );
        assert!(!both(&out).contains("0 stubbed"), "{agent}: {}", both(&out));
        let out = output(&mut desk.command(agent, &["agents", "check", "a", "--trust"]));
        assert!(
            both(&out).contains(&format!("{attribute} may keep")),
            "{agent}: {}",
            both(&out)
        );
    }
    let report = desk.run("plain.py:Counter()", &cases, "1");
    assert!(
        report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .all(|case| case["tools"].is_null()),
        "{report}"
    );
    assert!(
        report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .all(|case| responses(case) == ["1"]),
        "{report}"
    );
}

/// One conversation as messages of each kind gives the same calls and the same response.
#[test]
fn returned_messages_are_read_in_every_form() {
    let Some(desk) = Desk::plain() else { return };
    let oslo = json!([{"name": "get_weather", "args": {"city": "Oslo"}}]);
    for form in ["openai", "old_openai", "responses", "anthropic", "bedrock"] {
        let case = desk.one("plain.py:messages", &[form]);
        let actual = &case["invocations"][0]["actual"];
        assert_eq!(
            (&actual["response"], &actual["tool_calls"]),
            (&json!("It is 4."), &oslo),
            "{form}: {case}"
        );
        assert_ne!(actual["calls_known"], false, "{form}: {case}");
    }
    let case = desk.one("plain.py:messages", &["unknown_block"]);
    let actual = &case["invocations"][0]["actual"];
    assert!(
        actual["response"].as_str().unwrap().contains("hologram"),
        "what is not understood is shown: {case}"
    );
    assert_eq!(actual["calls_known"], false, "{case}");
}
