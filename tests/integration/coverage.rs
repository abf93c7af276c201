//! `evaltrail coverage` against a count of the raw files, and its demands.

use crate::common::{TestWorkspace, both, evaltrail, oracle, output};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The cases in which each tool is declared, expected, called and passed, counted in the raw files.
#[derive(Debug, Default, PartialEq)]
struct RawCount {
    declared: BTreeSet<String>,
    expected: BTreeMap<String, BTreeSet<String>>,
    called: BTreeMap<String, BTreeSet<String>>,
    passed: BTreeMap<String, BTreeSet<String>>,
}

fn get<'a>(value: &'a Value, snake: &str) -> &'a Value {
    let mut camel = String::new();
    for (at, word) in snake.split('_').enumerate() {
        match at {
            0 => camel.push_str(word),
            _ => camel.push_str(&(word[..1].to_uppercase() + &word[1..])),
        }
    }
    value
        .get(snake)
        .or(value.get(&camel))
        .unwrap_or(&Value::Null)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The names of the tools that an invocation calls.
fn tools_of(invocation: &Value) -> BTreeSet<String> {
    let data = get(invocation, "intermediate_data");
    let listed = list(get(data, "tool_uses")).iter();
    let parts = list(get(data, "invocation_events"))
        .iter()
        .flat_map(|event| list(get(get(event, "content"), "parts")));
    listed
        .chain(parts.map(|part| get(part, "function_call")))
        .filter_map(|call| Some(get(call, "name").as_str()?.to_string()))
        .collect()
}

fn declared_names(details: &Value) -> BTreeSet<String> {
    let agents = get(details, "agent_details").as_object();
    agents
        .into_iter()
        .flat_map(|agents| agents.values())
        .flat_map(|agent| list(get(agent, "tool_declarations")))
        .flat_map(|tool| list(get(tool, "function_declarations")))
        .filter_map(|declaration| Some(get(declaration, "name").as_str()?.to_string()))
        .collect()
}

/// Whether the session of a result ends with the state that its case states. ADK compares no states.
fn reaches_stated_state(set: &Value, result: &Value) -> bool {
    let id = get(result, "eval_id");
    let case = list(get(set, "eval_cases"))
        .iter()
        .find(|case| get(case, "eval_id") == id);
    let stated = case.and_then(|case| get(case, "final_session_state").as_object());
    let reached = get(get(result, "session_details"), "state");
    stated.is_none_or(|stated| {
        stated
            .iter()
            .all(|(key, value)| reached.get(key) == Some(value))
    })
}

fn raw_count(set: &Value, result: &Value) -> RawCount {
    let mut count = RawCount::default();
    let mut add = |map: fn(&mut RawCount) -> &mut BTreeMap<String, BTreeSet<String>>,
                   tool: String,
                   case: &str| {
        map(&mut count)
            .entry(tool)
            .or_default()
            .insert(case.to_string());
    };
    for case in list(get(set, "eval_cases")) {
        let id = get(case, "eval_id").as_str().unwrap();
        for tool in list(get(case, "conversation")).iter().flat_map(tools_of) {
            add(|count| &mut count.expected, tool, id);
        }
    }
    let mut declared = BTreeSet::new();
    for case in list(get(result, "eval_case_results")) {
        let id = get(case, "eval_id").as_str().unwrap();
        // Of a case that broke, ADK keeps the calls only in the session.
        for event in list(get(get(case, "session_details"), "events")) {
            for part in list(get(get(event, "content"), "parts")) {
                if let Some(tool) = get(get(part, "function_call"), "name").as_str() {
                    add(|count| &mut count.called, tool.into(), id);
                }
            }
        }
        for turn in list(get(case, "eval_metric_result_per_invocation")) {
            let actual = get(turn, "actual_invocation");
            let names = declared_names(get(actual, "app_details")).into_iter();
            // ADK's own tool is declared by no agent.
            declared.extend(names.filter(|name| name != "transfer_to_agent"));
            for tool in tools_of(actual) {
                if get(case, "final_eval_status") == 1 && reaches_stated_state(set, case) {
                    add(|count| &mut count.passed, tool.clone(), id);
                }
                add(|count| &mut count.called, tool, id);
            }
        }
    }
    RawCount { declared, ..count }
}

/// What the program reports.
fn reported(folder: &Path, home: &Path) -> RawCount {
    let printed = output(evaltrail(home).args(["coverage", "--json"]).arg(folder));
    assert!(printed.status.success(), "{}", both(&printed));
    let report: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let agents = report["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 1, "{report}");
    // The schemas are read: real ADK writes `parameters: null` beside the one that counts.
    const WRONG_ON_PURPOSE: [&str; 2] = [
        "throw_die does not declare color, which is expected",
        "throw_die requires sides, which expected calls do not have",
    ];
    for finding in list(&agents[0]["findings"]) {
        let is_of_arguments = ["undeclared_argument", "missing_argument"]
            .contains(&finding["kind"].as_str().unwrap());
        let message = finding["message"].as_str().unwrap();
        assert!(
            !is_of_arguments || WRONG_ON_PURPOSE.contains(&message),
            "{finding}"
        );
    }
    if !agents[0]["declarations"].is_null() {
        assert!(
            agents[0]["shares"]["arguments"]["of"]
                .as_u64()
                .is_some_and(|of| of > 0),
            "{report}"
        );
    }
    let mut count = RawCount::default();
    for tool in list(&agents[0]["tools"]) {
        let name = tool["name"].as_str().unwrap().to_string();
        if tool["declared"] == true {
            count.declared.insert(name.clone());
        }
        let ids = |column: &str| -> BTreeSet<String> {
            list(&tool["cases"][column])
                .iter()
                .map(|case| {
                    case.as_str()
                        .unwrap()
                        .rsplit_once(".evalset.json:")
                        .unwrap()
                        .1
                        .into()
                })
                .collect()
        };
        for (column, map) in [
            ("expected", &mut count.expected),
            ("called", &mut count.called),
            ("passed", &mut count.passed),
        ] {
            let ids = ids(column);
            if !ids.is_empty() {
                map.insert(name.clone(), ids);
            }
        }
    }
    count
}

/// Sets and the results that real ADK wrote.
#[test]
fn counts_equal_those_of_raw_files() {
    let Some(oracle) = oracle() else {
        return println!("skipped: there is no oracle");
    };
    let desk = tempfile::tempdir().unwrap();
    let (mut results, mut calls) = (0, 0);
    for entry in std::fs::read_dir(oracle.join("results")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some((set, _)) = name
            .strip_suffix(".evalset_result.json")
            .and_then(|name| name.split_once('.'))
        else {
            continue;
        };
        let folder = desk.path().join(&name).join("app");
        let history = folder.join(".adk/eval_history");
        std::fs::create_dir_all(&history).unwrap();
        std::fs::write(folder.join("agent.py"), "root_agent = 1").unwrap();
        let file = format!("{set}.evalset.json");
        std::fs::copy(oracle.join("evalsets").join(&file), folder.join(&file)).unwrap();
        std::fs::copy(&path, history.join(&name)).unwrap();
        let read = |path: &Path| -> Value {
            let value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            // ADK writes a result as a text that contains JSON.
            match value.as_str() {
                Some(text) => serde_json::from_str(text).unwrap(),
                None => value,
            }
        };
        let cases = read(&folder.join(&file));
        // Files of ADK's old form are converted before they are counted.
        if get(&cases, "eval_cases").is_null() {
            continue;
        }
        let expected = raw_count(&cases, &read(&path));
        calls += expected.called.len();
        assert_eq!(
            reported(folder.parent().unwrap(), desk.path()),
            expected,
            "{name}"
        );
        results += 1;
    }
    assert!(
        results >= 12 && calls >= 20,
        "{results} results, {calls} tools"
    );
}

fn set(ids: &[(&str, &[&str])]) -> String {
    let case = |(id, tools): &(&str, &[&str])| {
        let calls: Vec<Value> = tools
            .iter()
            .map(|name| json!({"name": name, "args": {"bed": "roses"}}))
            .collect();
        json!({"eval_id": id, "conversation": [{"user_content": {"parts": [{"text": "go"}], "role": "user"},
            "intermediate_data": {"tool_uses": calls}}]})
    };
    let cases: Vec<Value> = ids.iter().map(case).collect();
    json!({"eval_set_id": "s", "eval_cases": cases}).to_string()
}

const TOOLS: &str = r#"{"tools": [
    {"name": "look", "inputSchema": {"properties": {"bed": {"type": "string"}}, "required": ["bed"]}},
    {"name": "water", "inputSchema": {"properties": {"bed": {"type": "string"}, "litres": {"type": "integer", "minimum": 1}}}},
    {"name": "debug_dump"}]}"#;

#[test]
fn demands_decide_the_exit_code() {
    let workspace = TestWorkspace::new(&[
        (
            "s.evalset.json",
            set(&[("a", &["look"]), ("b", &["look", "sow"])]),
        ),
        ("tools.mcp", TOOLS.into()),
    ]);
    let home = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let mut command = evaltrail(home.path());
        let printed = output(
            command
                .current_dir(workspace.path())
                .arg("coverage")
                .args(line.split(' ')),
        );
        (printed.status.code().unwrap(), both(&printed))
    };
    let known = ". --declarations tools.mcp";
    for (line, code, text) in [
        (".".to_string(), 0, "declared tools: not known"),
        (". --min tools=0".into(), 1, "nothing to take a share of"),
        (".:nobody".into(), 2, "there is no case \"nobody\""),
        (
            format!("{known} --min tools=1 --waive *=x"),
            1,
            "nothing to take a share of",
        ),
        (format!("{known} --min pairs=0"), 1, "no case has results"),
        (known.to_string(), 0, "never expected  debug_dump, water"),
        (format!("{known} --min tools=0.3"), 0, "1 of 3"),
        (
            format!("{known} --min tools=0.5"),
            1,
            "not met: tools: 1 of 3, less than 0.5",
        ),
        (
            format!("{known} --min tools=0.5 --waive debug_*=internal"),
            0,
            "waived: internal",
        ),
        (
            format!("{known} --require wat*"),
            1,
            "not met: water is required, and no case expects it",
        ),
        (
            format!("{known} --require look"),
            0,
            "the agent does not declare sow, which is expected",
        ),
        (
            ". --declarations s.evalset.json".into(),
            2,
            "declares no tool",
        ),
        (". --min tools=2".into(), 2, "a number from 0 to 1"),
        (
            ". --agent nobody".into(),
            2,
            "no eval set here is of the agent nobody",
        ),
    ] {
        let (found, printed) = run(&line);
        assert_eq!(found, code, "{line}: {printed}");
        assert!(printed.contains(text), "{line}: {printed}");
    }
    // What is configured is demanded as well, and an option replaces a configured share.
    let config = "[coverage]\nmin = { tools = 0.6 }\nwaive = { \"debug_*\" = \"internal\" }\n";
    std::fs::write(workspace.path().join("evaltrail.toml"), config).unwrap();
    for (line, code, text) in [
        (
            known.to_string(),
            1,
            "not met: tools: 1 of 2, less than 0.6",
        ),
        (format!("{known} --min tools=0.5"), 0, "waived: internal"),
        (format!("{known} --waive water=later"), 0, "waived: later"),
        (known.replace(". ", ".:a "), 0, "waived: internal"),
    ] {
        let (found, printed) = run(&line);
        assert_eq!(found, code, "{line}: {printed}");
        assert!(printed.contains(text), "{line}: {printed}");
    }
}

#[test]
fn a_hundred_tools_of_1000_cases_are_counted() {
    let tools: Vec<String> = (0..100).map(|at| format!("tool_{at}")).collect();
    let cases: Vec<(String, Vec<&str>)> = (0..1000)
        .map(|at| {
            (
                format!("case_{at}"),
                (0..5).map(|n| tools[(at * 7 + n) % 100].as_str()).collect(),
            )
        })
        .collect();
    let cases: Vec<(&str, &[&str])> = cases
        .iter()
        .map(|(id, tools)| (id.as_str(), &tools[..]))
        .collect();
    let workspace = TestWorkspace::new(&[("s.evalset.json", set(&cases))]);
    let home = tempfile::tempdir().unwrap();
    let mut command = evaltrail(home.path());
    let printed = output(command.args(["coverage", "--json"]).arg(workspace.path()));
    let report: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let tools = report["agents"][0]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 100);
    assert!(
        tools
            .iter()
            .all(|tool| tool["cases"]["expected"].as_array().unwrap().len() == 50)
    );
}

#[cfg(unix)]
#[test]
fn explorer_lists_the_cases_behind_a_number() {
    use crate::common::terminal::Terminal;
    let sets = set(&[("a", &["look"]), ("b", &["look", "sow"]), ("c", &["sow"])]);
    let workspace = TestWorkspace::new(&[("s.evalset.json", sets)]);
    let home = tempfile::tempdir().unwrap();
    let path = workspace.path().display().to_string();
    let binary = env!("CARGO_BIN_EXE_evaltrail");
    let mut terminal = Terminal::start(binary, &[&path], home.path(), (120, 40));
    terminal.wait_for("case");
    terminal.keys("mc");
    terminal.wait_for("coverage of 3 cases, 0 with results");
    assert!(
        terminal.screen().contains("expected 2"),
        "{}",
        terminal.screen()
    );
    // The called column of a case that was never run has no cases, so nothing is listed.
    terminal.keys("\t");
    terminal.wait_for("0 cases (called)");
    terminal.keys("\t\t\tsow\r");
    terminal.wait_for("2: expect sow");
}
