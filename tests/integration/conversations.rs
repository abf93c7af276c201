//! Conversations as lists of messages, in files and columns, with the real binary and the real google-adk.

use crate::common::{adk_or_skip, both, copy_folder, evaltrail, output, python, root};
use evaltrail_core::domain::{EvalCase, Invocation, Trajectory};
use evaltrail_core::formats::SetFile;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

fn fixture(name: &str) -> PathBuf {
    root().join("fixtures/conversations").join(name)
}

fn cases_in(text: &str) -> Vec<EvalCase> {
    let file =
        SetFile::open(Arc::from(text), "data").unwrap_or_else(|error| panic!("{error}\n{text}"));
    (0..file.len())
        .map(|at| {
            file.case(at)
                .unwrap_or_else(|error| panic!("{error}\n{text}"))
        })
        .collect()
}

fn cases_of(name: &str) -> Vec<EvalCase> {
    cases_in(&std::fs::read_to_string(fixture(name)).unwrap())
}

fn row(value: Value) -> EvalCase {
    cases_in(&format!("{value}\n")).remove(0)
}

/// The names and arguments of the calls.
fn calls(turn: &Invocation) -> Value {
    turn.calls()
        .iter()
        .map(|call| json!([call.name, call.args]))
        .collect()
}

#[test]
fn items_of_responses_are_read() {
    let cases = cases_of("responses_items.jsonl");
    let golden = &cases[0].turns()[0];
    assert_eq!(calls(golden), json!([["get_weather", {"city": "Oslo"}]]));
    assert_eq!(
        golden.responses()[0].response,
        json!({"result": "4 degrees"})
    );
    assert_eq!(golden.response_text(), "It is 4 degrees.");
    // What a model replied is a saved response.
    assert_eq!(cases[1].turns()[0].user.scored_text(), "weather in Oslo");
    let saved = &cases[1].saved.as_ref().unwrap().turns[0];
    assert_eq!(
        (calls(saved), saved.response_text()),
        (json!([["get_weather", {"city": "Oslo"}]]), "4.".into())
    );
}

#[test]
fn prompt_only_rows_have_unknown_calls() {
    for case in cases_of("prompts_only.jsonl") {
        assert_eq!(case.turns()[0].trajectory, Trajectory::Unknown);
    }
    let home = tempfile::tempdir().unwrap();
    let out = output(
        evaltrail(home.path())
            .arg("check")
            .arg(fixture("prompts_only.jsonl")),
    );
    assert!(out.status.success(), "{}", both(&out));
}

#[test]
fn calls_and_images_of_other_forms_are_read() {
    for name in ["function_call_old.jsonl", "lc_anthropic.jsonl"] {
        let case = cases_of(name).remove(0);
        assert_eq!(
            calls(&case.turns()[0]),
            json!([["get_weather", {"city": "Lima"}]]),
            "{name}"
        );
        assert_eq!(case.turns()[0].response_text(), "20 degrees.", "{name}");
    }
    let image = cases_of("image_user.jsonl").remove(0);
    assert_eq!(
        image.turns()[0].user.shown_text(),
        "what is it\n[image/png, 3 bytes]"
    );
}

const GOLDEN: &[&str] = &[
    "golden_openai.jsonl",
    "golden_openai_old.jsonl",
    "golden_langchain.jsonl",
    "golden_anthropic.jsonl",
    "golden_langgraph.json",
    "golden_contents.json",
    "golden_items.json",
    "golden_human_ai.json",
    "golden_session.json",
];

/// The same conversation in each form: an agent that does exactly this passes.
#[test]
fn the_right_agent_passes_with_every_form() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&root().join("fixtures/conversations"), folder.path());
    let event = |part: Value| json!({"author": "a", "content": {"role": "model", "parts": [part]}});
    let events = [
        event(json!({"function_call": {"name": "ping", "args": {"h": "x"}}})),
        event(json!({"function_response": {"name": "ping", "response": {}}})),
        event(json!({"text": "Done."})),
    ];
    for name in GOLDEN {
        let case = cases_of(name).remove(0);
        let recorded = json!({"eval_id": case.eval_id, "turns": [{"prompt": "same call once", "events": events}]});
        std::fs::write(folder.path().join("agent.jsonl"), format!("{recorded}\n")).unwrap();
        let mut command = evaltrail(&folder.path().join("home"));
        command.current_dir(folder.path()).args([
            "run",
            name,
            "--agent",
            "replay:agent.jsonl?speed=0",
        ]);
        let out = output(command.args(["--metric", "trajectory_exact_match"]));
        assert!(
            out.status.success() && both(&out).contains("1 passed"),
            "{name}: {}",
            both(&out)
        );
    }
}

#[test]
fn a_folder_lists_every_form() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&root().join("fixtures/conversations"), folder.path());
    let out = output(
        evaltrail(&folder.path().join("home"))
            .arg("list")
            .arg(folder.path()),
    );
    let listed = both(&out);
    for entry in std::fs::read_dir(root().join("fixtures/conversations")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(listed.contains(&name), "{name} is not listed:\n{listed}");
    }
}

#[test]
fn rows_without_a_prompt_are_refused() {
    for value in [
        json!({"prompt": null, "reference": "x"}),
        json!({"prompt": "", "reference": "x"}),
        json!({"messages": []}),
    ] {
        let file = SetFile::open(Arc::from(format!("{value}\n")), "data").unwrap();
        let error = file.case(0).map(|case| case.turns().to_vec());
        assert!(
            error.is_err() || error.as_ref().is_ok_and(Vec::is_empty),
            "{value}: {error:?}"
        );
    }
    let file = SetFile::open(Arc::from("{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}, {\"role\": \"assistant\", \"tool_calls\": [{\"id\": 1}]}]}\n"), "d").unwrap();
    let error = file.case(0).unwrap_err().to_string();
    assert!(
        error.contains("line 1, column") && error.contains("$.messages[1].tool_calls[0]"),
        "{error}"
    );
    // A saved response can be scored without the prompt.
    assert!(
        row(json!({"response": "x", "reference": "x"}))
            .saved
            .is_some()
    );
}

#[test]
fn empty_vertex_reference_or_response_is_none() {
    let empty = [
        json!({}),
        json!({"response": null}),
        json!({"response": {}}),
        json!({"parts": []}),
        json!({"response": {"parts": []}}),
        json!(""),
    ];
    for reference in empty {
        let case = row(json!({"prompt": "x", "response": "y", "reference": reference}));
        assert_eq!(case.turns()[0].final_response, None, "{reference}");
    }
    for responses in [json!([{}]), json!([{"response": null}]), json!([])] {
        let case = row(json!({"prompt": "x", "responses": responses, "reference": "y"}));
        assert_eq!(case.saved, None, "{responses}");
    }
}

#[test]
fn blocked_responses_are_errors_and_not_speech() {
    for (response, why) in [
        (
            json!({"candidates": [], "prompt_feedback": {"block_reason": "SAFETY"}}),
            "the model blocked the prompt: SAFETY",
        ),
        (
            json!({"candidates": [{"finish_reason": "SAFETY"}]}),
            "the response is empty: SAFETY",
        ),
        (json!({"choices": []}), "the response has no choices"),
    ] {
        for response in [response.clone(), response.to_string().into()] {
            let saved = row(json!({"prompt": "x", "response": response, "reference": "y"}))
                .saved
                .unwrap();
            assert_eq!(
                (saved.error.as_deref(), saved.failed),
                (Some(why), Some(true)),
                "{response}"
            );
            assert_eq!(saved.turns[0].final_response, None, "{response}");
        }
    }
}

#[test]
fn last_request_message_is_reference() {
    let contents = json!([
        {"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"text": "b"}]},
        {"role": "user", "parts": [{"text": "c"}]}, {"role": "model", "parts": [{"text": "d"}]}
    ]);
    let messages = json!([
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}
    ]);
    for request in [json!({"contents": contents}), json!({"messages": messages})] {
        let case = row(json!({"request": request, "response": "e"}));
        let turns = case.turns();
        assert_eq!(
            (turns.len(), turns[0].history, turns[1].history),
            (2, true, false),
            "{request}"
        );
        assert_eq!(
            (turns[0].response_text(), turns[1].response_text()),
            ("b".into(), "d".into()),
            "{request}"
        );
        assert_eq!(case.saved.unwrap().turns[1].response_text(), "e");
    }
    // A request from the middle of a turn: the calls so far are the agent's.
    let begun = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "4"}
    ]);
    let response = json!({"choices": [{"message": {"role": "assistant", "content": "four"}}]});
    let case = row(json!({"request": {"messages": begun}, "response": response, "reference": "4"}));
    let saved = &case.saved.as_ref().unwrap().turns[0];
    assert_eq!(
        (calls(saved), saved.response_text()),
        (json!([["f", {}]]), "four".into())
    );
    assert_eq!(
        (
            case.turns()[0].trajectory.is_known(),
            case.turns()[0].response_text()
        ),
        (false, "4".into())
    );
}

#[test]
fn names_of_tools_are_trajectories() {
    let case = row(
        json!({"input": "x", "expected_steps": ["search", "book"], "actual_steps": ["search"]}),
    );
    assert_eq!(
        calls(&case.turns()[0]),
        json!([["search", null], ["book", null]])
    );
    assert_eq!(
        calls(&case.saved.unwrap().turns[0]),
        json!([["search", null]])
    );
}

#[test]
fn outputs_take_the_prompt_from_the_inputs() {
    let said = json!([{"role": "assistant", "content": "y"}]);
    let inputs = [
        json!("x"),
        json!({"question": "x"}),
        json!({"messages": [{"role": "user", "content": "x"}]}),
        json!([["human", "x"]]),
    ];
    for inputs in inputs {
        let case = row(json!({"inputs": inputs, "outputs": said, "reference_outputs": said}));
        assert_eq!(case.turns()[0].user.scored_text(), "x", "{inputs}");
        assert_eq!(case.turns()[0].response_text(), "y");
    }
    let lists = SetFile::open(
        Arc::from(format!("{}\n", json!({"prompt": "x", "outputs": [said]}))),
        "d",
    )
    .unwrap();
    assert!(
        lists
            .case(0)
            .unwrap_err()
            .to_string()
            .contains("one list of messages")
    );
}

/// google-adk loads what `convert` writes, with results of tools of every kind, images and audio.
#[test]
fn adk_loads_converted_sets() {
    if adk_or_skip("adk_loads_converted_sets").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let contents = [
        json!("20 degrees"),
        json!(""),
        json!("20"),
        json!("true"),
        json!("[1,2]"),
        json!("{\"t\": 1}"),
        json!(null),
        json!("NaN"),
        json!([{"type": "text", "text": "20"}]),
        json!([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "https://x/a.png"}}]),
    ];
    let result = |content: &Value| {
        json!({"messages": [{"role": "user", "content": "weather?"},
            {"role": "assistant", "content": "Looking.", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": content}, {"role": "assistant", "content": "20."}]})
    };
    let mut rows: Vec<Value> = contents.iter().map(result).collect();
    rows.push(json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo+/w=="}},
            {"type": "image_url", "image_url": {"url": "https://x/a.png"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "f1"}}]},
        {"type": "web_search_call", "id": "w", "action": {}},
        {"role": "assistant", "content": null, "refusal": "no", "reasoning_content": "hm"}]}));
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(folder.path().join("rows.jsonl"), text).unwrap();
    let mut command = evaltrail(&folder.path().join("home"));
    let out = output(command.current_dir(folder.path()).args([
        "convert",
        "rows.jsonl",
        "-o",
        "made.evalset.json",
    ]));
    let said = both(&out);
    assert!(
        out.status.success() && said.contains("11 cases in made.evalset.json"),
        "{said}"
    );
    for lost in [
        "[file]",
        "calls and messages of turns whose calls are not all known",
        "the agent refused",
    ] {
        assert!(said.contains(lost), "{lost}: {said}");
    }
    let load = "import sys; from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file as load\n\
                for case in load(sys.argv[1], 'made').eval_cases:\n\
                \x20   turn = case.conversation[0]\n\
                \x20   print([r.response for r in turn.intermediate_data.tool_responses] if turn.intermediate_data else len(turn.user_content.parts))";
    let file = folder.path().join("made.evalset.json");
    let loaded = Command::new(python().unwrap())
        .args(["-c", load])
        .arg(&file)
        .output()
        .unwrap();
    let loaded = both(&loaded);
    let lines: Vec<&str> = loaded
        .lines()
        .filter(|line| line.starts_with('[') || line.len() == 1)
        .collect();
    assert_eq!(
        lines,
        [
            "[{'result': '20 degrees'}]",
            "[{'result': ''}]",
            "[{'result': 20}]",
            "[{'result': True}]",
            "[{'result': [1, 2]}]",
            "[{'t': 1}]",
            "[{'result': None}]",
            "[{'result': nan}]",
            "[{'result': 20}]",
            "[{'result': [{'type': 'text', 'text': 'a'}, {'type': 'image_url', 'image_url': {'url': 'https://x/a.png'}}]}]",
            "4"
        ],
        "{loaded}"
    );
    let out = output(
        evaltrail(&folder.path().join("home"))
            .args(["check", "--strict"])
            .arg(&file),
    );
    assert!(out.status.success(), "{}", both(&out));
}

#[test]
fn saved_session_file_is_captured() {
    let folder = tempfile::tempdir().unwrap();
    let session = fixture("session.json").display().to_string();
    let capture = |more: &[&str]| {
        let mut command = evaltrail(&folder.path().join("home"));
        command
            .current_dir(folder.path())
            .args(["capture", &session])
            .args(more);
        output(&mut command)
    };
    let refused = capture(&["--into", "new.evalset.json:a"]);
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    for named in [
        "turn 1 has no user message (the agent: \"I warmed up.\")",
        "turn 3 has no user message (the agent calls tick)",
    ] {
        assert!(both(&refused).contains(named), "{}", both(&refused));
    }
    let kept = capture(&["--into", "new.evalset.json:a", "--user-turns-only"]);
    assert!(
        kept.status.success() && both(&kept).contains("left out: turn 3"),
        "{}",
        both(&kept)
    );
    let chosen = capture(&["--into", "new.evalset.json:b", "--turns", "2"]);
    assert!(chosen.status.success(), "{}", both(&chosen));
    let golden = fixture("golden_items.json").display().to_string();
    let mut command = evaltrail(&folder.path().join("home"));
    let listed = output(command.current_dir(folder.path()).args([
        "capture",
        &golden,
        "--into",
        "new.evalset.json:c",
    ]));
    assert!(listed.status.success(), "{}", both(&listed));
    let set: Value = serde_json::from_str(
        &std::fs::read_to_string(folder.path().join("new.evalset.json")).unwrap(),
    )
    .unwrap();
    for at in [0, 1] {
        let case = &set["eval_cases"][at];
        assert_eq!(case["conversation"].as_array().unwrap().len(), 1);
        assert_eq!(
            case["conversation"][0]["user_content"]["parts"][0]["text"],
            "hello"
        );
        assert_eq!(case["session_input"]["app_name"], "home");
    }
    assert_eq!(
        set["eval_cases"][2]["conversation"][0]["intermediate_data"]["tool_uses"][0]["name"],
        "ping"
    );
}

/// A turn without a user message is not sent to an agent as an empty text.
#[test]
fn a_turn_without_a_user_message_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("rows.jsonl"),
        "{\"response\": \"x\", \"reference\": \"x\"}\n",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("agent.jsonl"),
        "{\"eval_id\": \"a\", \"turns\": []}\n",
    )
    .unwrap();
    let mut command = evaltrail(&folder.path().join("home"));
    command
        .current_dir(folder.path())
        .args(["run", "rows.jsonl", "--agent", "replay:agent.jsonl"]);
    let out = output(&mut command);
    assert!(
        both(&out).contains("the row has no prompt"),
        "{}",
        both(&out)
    );
}
