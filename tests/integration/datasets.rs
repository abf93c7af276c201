//! Data sets in every format: the same row gives the same case, and an invalid row is reported with its line and does
//! not affect the others.

use evaltrail_core::domain::{Content, Conversation, EvalCase, Trajectory};
use evaltrail_core::formats::{FileFormat, SetFile};
use serde_json::{Value, json};
use std::sync::Arc;

fn open(text: &str) -> SetFile {
    SetFile::open(Arc::from(text), "data").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn cases(file: &SetFile) -> Vec<EvalCase> {
    (0..file.len())
        .map(|at| file.case(at).unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

fn row() -> Value {
    json!({
        "prompt": "Turn off device_2",
        "reference": "Done",
        "reference_trajectory": [{"tool_name": "set", "tool_input": {"id": "d2", "on": false, "n": null}}],
        "response": "It is off.",
        "predicted_trajectory": [{"tool_name": "set", "tool_input": {"id": "d3"}}],
        "latency_in_seconds": 1.5,
        "context": "kitchen"
    })
}

/// Checks the case that was read from `row` in one of the formats.
fn check(case: &EvalCase, form: &str) {
    let Conversation::Turns(turns) = &case.conversation else {
        panic!("{form}")
    };
    assert_eq!(turns.len(), 1, "{form}");
    assert_eq!(
        turns[0].user,
        Content::text("user", "Turn off device_2"),
        "{form}"
    );
    assert_eq!(turns[0].response_text(), "Done", "{form}");
    let call = turns[0].calls()[0].clone();
    assert_eq!(
        call.args,
        json!({"id": "d2", "on": false, "n": null})
            .as_object()
            .cloned(),
        "{form}"
    );
    let saved = case
        .saved
        .as_ref()
        .unwrap_or_else(|| panic!("{form} saved nothing"));
    assert_eq!(saved.turns[0].response_text(), "It is off.", "{form}");
    assert_eq!(
        saved.turns[0].calls()[0].args,
        json!({"id": "d3"}).as_object().cloned(),
        "{form}"
    );
    assert_eq!(saved.latency_s, Some(1.5), "{form}");
    assert_eq!(case.extra["context"], "kitchen", "{form}");
}

const CSV_HEADER: &str = "prompt,reference,reference_trajectory,response,predicted_trajectory,latency_in_seconds,context\n";

#[test]
fn every_form_holds_the_same_case() {
    let row = row();
    let columns: Value = row
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.clone(), json!([v])))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let indexed: Value = row
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.clone(), json!({"0": v})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let python = "\"[{'tool_name': 'set', 'tool_input': {'id': 'd2', 'on': False, 'n': None}}]\"";
    let quoted =
        "\"[{\"\"tool_name\"\": \"\"set\"\", \"\"tool_input\"\": {\"\"id\"\": \"\"d3\"\"}}]\"";
    let csv =
        format!("{CSV_HEADER}Turn off device_2,Done,{python},It is off.,{quoted},1.5,kitchen\n");
    let forms = [
        (FileFormat::Lines, format!("{row}\n")),
        (FileFormat::Lines, format!("\u{feff}{row}\r\n\r\n{row}\r\n")),
        (FileFormat::Frame, json!([row]).to_string()),
        (FileFormat::Frame, columns.to_string()),
        (
            FileFormat::Frame,
            serde_json::to_string_pretty(&indexed).unwrap(),
        ),
        (FileFormat::Table, csv),
    ];
    for (form, text) in forms {
        let file = open(&text);
        assert_eq!(file.form, form, "{text}");
        cases(&file).iter().for_each(|case| check(case, &text));
    }
}

#[test]
fn the_newer_clients_data_set_is_read() {
    let content = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
    let document = json!({"eval_cases": [{
        "eval_case_id": "one",
        "prompt": content("user", "Turn off device_2"),
        "reference": {"response": content("model", "Done")},
        "reference_trajectory": [{"role": "model", "parts": [{"function_call": {"name": "set",
            "args": {"id": "d2", "on": false, "n": null}}}]}],
        "responses": [{"response": content("model", "It is off.")}],
        "intermediate_events": [{"event_id": "e1", "author": "home", "content": {"role": "model",
            "parts": [{"function_call": {"name": "set", "args": {"id": "d3"}}}]}}],
        "latency_in_seconds": 1.5,
        "rubric_groups": {"tone": {"group_id": "g", "rubrics": [{"rubric_id": "polite",
            "content": {"property": {"description": "The answer is polite"}}, "type": "TONE"}]}},
        "session_inputs": {"user_id": "u", "app_name": "home", "state": {"room": "kitchen"}},
        "context": "kitchen"
    }], "candidate_name": "x"});
    let file = open(&document.to_string());
    assert_eq!(
        (file.form, file.eval_id(0).as_ref()),
        (FileFormat::Dataset, "one")
    );
    let case = &cases(&file)[0];
    check(case, "dataset");
    assert_eq!(
        case.rubrics[0].text.as_deref(),
        Some("The answer is polite")
    );
    assert_eq!(
        case.session_input.as_ref().unwrap().state["room"],
        "kitchen"
    );
}

#[test]
fn agent_data_is_read_as_a_saved_conversation() {
    let event = |author: &str, parts: Value| json!({"author": author, "content": {"role": "x", "parts": parts}});
    let document = json!({"eval_cases": [{
        "eval_case_id": "two",
        "reference": {"response": {"role": "model", "parts": [{"text": "Bye"}]}},
        "agent_data": {"agents": {}, "turns": [
            {"turn_index": 0, "events": [
                event("user", json!([{"text": "Hello"}])),
                event("home", json!([{"function_call": {"name": "probe_server", "args": {}}}])),
                event("home", json!([{"function_response": {"name": "probe_server", "response": {"ok": true}}}])),
                {"author": "home", "content": {"role": "model", "parts": [{"text": "Hi"}]}, "state_delta": {"met": true}}
            ]},
            {"turn_index": 1, "events": [event("user", json!([{"text": "Bye"}])), event("home", json!([{"text": "Bye"}]))]}
        ]}
    }]});
    let case = cases(&open(&document.to_string())).remove(0);
    let said: Vec<String> = case
        .turns()
        .iter()
        .map(|turn| turn.user.scored_text())
        .collect();
    assert_eq!(said, ["Hello", "Bye"]);
    let saved = case.saved.unwrap();
    assert_eq!(saved.turns[0].calls()[0].name, "probe_server");
    assert_eq!(
        (
            saved.turns[0].response_text(),
            saved.turns[1].response_text()
        ),
        ("Hi".into(), "Bye".into())
    );
    assert_eq!(saved.state, Some(json!({"met": true})));
}

#[test]
fn requests_and_messages_are_read() {
    let messages = json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "get", "arguments": "{\"c\": 1}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "4"},
        {"role": "assistant", "content": "4 degrees"}
    ]);
    let alone = open(&messages.to_string());
    assert_eq!(
        (
            alone.form,
            alone.len(),
            cases(&alone)[0].turns()[0].calls().len()
        ),
        (FileFormat::Messages, 1, 1)
    );
    let line = json!({"messages": messages}).to_string();
    assert_eq!(
        cases(&open(&line))[0].turns()[0].response_text(),
        "4 degrees"
    );
    let pair = json!({"outputs": messages, "reference_outputs": messages}).to_string();
    let case = cases(&open(&pair)).remove(0);
    // What was saved is recorded as events, what is expected as lists.
    let (saved, expected) = (&case.saved.as_ref().unwrap().turns[0], &case.turns()[0]);
    assert_eq!(
        (saved.calls(), saved.responses()),
        (expected.calls(), expected.responses())
    );
    assert_eq!(
        (&saved.user, &saved.final_response),
        (&expected.user, &expected.final_response)
    );
    let openai = json!({"request": {"messages": [{"role": "user", "content": "Hi"}]},
                        "response": {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}});
    let gemini = json!({"request": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
                        "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}]}});
    for row in [openai, gemini] {
        let case = cases(&open(&row.to_string())).remove(0);
        assert_eq!(case.turns()[0].user.scored_text(), "Hi", "{row}");
        assert_eq!(
            case.saved.unwrap().turns[0].response_text(),
            "Hello",
            "{row}"
        );
    }
}

#[test]
fn unknown_calls_and_failures_are_kept() {
    let trajectory = |cell: Value| {
        let row = json!({"prompt": "x", "reference_trajectory": cell, "response": "y"});
        cases(&open(&row.to_string())).remove(0).turns()[0]
            .trajectory
            .clone()
    };
    for nothing in [Value::Null, json!("")] {
        assert_eq!(trajectory(nothing), Trajectory::Unknown);
    }
    assert!(matches!(trajectory(json!([])), Trajectory::Listed { .. }));
    assert!(matches!(trajectory(json!("[]")), Trajectory::Listed { .. }));
    let failed = |row: Value| {
        cases(&open(&row.to_string()))
            .remove(0)
            .saved
            .unwrap()
            .error
    };
    assert!(failed(json!({"prompt": "x", "response": "", "failure": 1})).is_some());
    let is_failure = |cell: &str| {
        let row = format!(r#"{{"prompt": "x", "response": "y", "failure": {cell}}}"#);
        cases(&open(&row)).remove(0).saved.unwrap().failed
    };
    assert_eq!(
        (is_failure("1"), is_failure("\"0\"")),
        (Some(true), Some(false))
    );
    for unknown in ["NaN", "\"nan\"", "\"NaN\"", "null"] {
        assert_eq!(is_failure(unknown), None, "{unknown}");
    }
    let text = json!({"error": "quota"}).to_string();
    assert_eq!(
        failed(json!({"prompt": "x", "response": text})).as_deref(),
        Some("quota")
    );
    assert_eq!(
        failed(json!({"prompt": "x", "response": "", "failure": 0})),
        None
    );
}

#[test]
fn invalid_row_is_reported_others_are_read() {
    let text = "{\"prompt\": \"a\", \"response\": \"b\"}\n{\"prompt\": oops}\n\n\
                {\"prompt\": \"c\", \"reference_trajectory\": 3}\n\
                {\"prompt\": \"d\", \"reference_trajectory\": \"[{oops\"}\n\
                {\"prompt\": \"e\", \"x\": NaN, \"n\": 123456789012345678901234567890}\n[1]\n";
    let file = open(text);
    let said: Vec<String> = (0..file.len())
        .map(|at| {
            file.case(at)
                .map_or_else(|error| error.to_string(), |case| case.eval_id)
        })
        .collect();
    assert_eq!(said.len(), 6);
    assert!(
        said[0].starts_with("row-") && said[4].starts_with("row-"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("line 2, column 12: expected"),
        "{said:?}"
    );
    assert!(
        said[2].starts_with("line 4, column 41: $.reference_trajectory: expected a list of calls"),
        "{said:?}"
    );
    assert!(
        said[3].starts_with("line 5, column")
            && said[3].contains("as JSON or as the Python literal"),
        "{said:?}"
    );
    assert!(
        said[5].starts_with("line 7, column 1: $: expected an object, found a list of 1"),
        "{said:?}"
    );
    assert_eq!(file.eval_id(5), "line-7");
    assert_eq!(
        cases(&open(text.lines().nth(5).unwrap()))[0].extra["n"].to_string(),
        "123456789012345678901234567890"
    );
}

#[test]
fn a_broken_first_row_does_not_hide_the_others() {
    let file = open("{broken\n{\"prompt\": \"a\", \"response\": \"b\"}\n");
    assert_eq!(
        (file.len(), file.case(0).is_err(), file.case(1).is_ok()),
        (2, true, true)
    );
}

#[test]
fn non_dataset_file_is_rejected_with_reason() {
    for (text, words) in [
        ("", "an empty file"),
        ("\u{feff} \n", "an empty file"),
        ("a,b\n1,2\n", "the columns a, b"),
        ("a text", "a text that begins \"a text\""),
        ("{\"a\": 1}", "an object with 1 key"),
        (
            "{\"eval_set_result_id\": 1, \"eval_case_results\": []}",
            "a result of ADK",
        ),
    ] {
        let error = SetFile::open(Arc::from(text), "x").unwrap_err().to_string();
        assert!(error.contains(words), "{text:?}: {error}");
    }
}

#[test]
fn recorded_scores_are_read() {
    let row = json!({"prompt": "x", "response": "y", "exact_match/score": 1.0, "bleu/score": null,
                     "bleu/explanation": "Error", "m/score": 3, "m/explanation": "fine"});
    let recorded = cases(&open(&row.to_string())).remove(0).recorded;
    let said: Vec<(&str, Option<f64>, &str)> = recorded
        .iter()
        .map(|m| (m.metric.as_str(), m.score(), m.status.label()))
        .collect();
    assert_eq!(
        said,
        [
            ("exact_match", Some(1.0), "informational"),
            ("bleu", None, "errored"),
            ("m", Some(3.0), "informational")
        ]
    );
    let result = json!({"eval_case_results": [{"eval_case_index": 4, "response_candidate_results": [
        {"response_index": 0, "metric_results": {"general_quality_v1": {"metric_name": "general_quality_v1",
            "score": 0.5, "rubric_verdicts": [
                {"evaluated_rubric": {"rubric_id": "a"}, "verdict": true, "reasoning": "it is"},
                {"evaluated_rubric": {"rubric_id": "b"}}]},
          "safety_v1": {"metric_name": "safety_v1", "error_message": "quota"}}}]}], "summary_metrics": []});
    let file = open(&result.to_string());
    assert_eq!(
        (file.form, file.eval_id(0).as_ref()),
        (FileFormat::EvaluationResult, "case-4")
    );
    let recorded = cases(&file).remove(0).recorded;
    assert_eq!(
        recorded[0]
            .rubrics
            .iter()
            .map(|r| r.score())
            .collect::<Vec<_>>(),
        [Some(1.0), Some(0.0)]
    );
    assert_eq!(
        (recorded[1].status.label(), recorded[1].explanation.as_str()),
        ("errored", "quota")
    );
}

/// Reads a data set with one case.
fn one(case: Value) -> EvalCase {
    cases(&open(&json!({"eval_cases": [case]}).to_string())).remove(0)
}

fn said(author: &str, text: &str) -> Value {
    json!({"author": author, "content": {"role": author, "parts": [{"text": text}]}})
}

fn turns_of(case: &EvalCase) -> Vec<(String, bool)> {
    case.turns()
        .iter()
        .map(|turn| (turn.user.scored_text(), turn.history))
        .collect()
}

#[test]
fn trace_without_user_event_uses_row_prompt() {
    let call = json!({"author": "root", "content": {"role": "model", "parts": [
        {"function_call": {"id": "c1", "name": "get_weather", "args": {"city": "Oslo"}}}]}});
    let case = one(json!({
        "eval_case_id": "weather", "prompt": {"role": "user", "parts": [{"text": "Weather in Oslo?"}]},
        "agent_data": {"turns": [{"turn_id": "turn_0", "events": [call, said("root", "4 degrees")]}]},
    }));
    assert_eq!(turns_of(&case), [("Weather in Oslo?".to_string(), false)]);
    let saved = &case.saved.as_ref().unwrap().turns;
    assert_eq!(
        (saved[0].user.scored_text(), saved[0].calls().len()),
        ("Weather in Oslo?".to_string(), 1)
    );
    assert_eq!(saved[0].response_text(), "4 degrees");
}

#[test]
fn second_user_event_splits_turn() {
    let mut events = vec![
        said("user", "Hello"),
        said("root", "Hi, where are you?"),
        said("user", "In Oslo. Weather?"),
    ];
    let open = one(json!({"agent_data": {"turns": [{"events": events}]}}));
    let expected = [
        ("Hello".to_string(), true),
        ("In Oslo. Weather?".to_string(), false),
    ];
    assert_eq!(turns_of(&open), expected);
    assert_eq!(open.turns()[0].response_text(), "Hi, where are you?");
    assert!(open.saved.is_none(), "an open question was not answered");
    events.push(said("root", "4 degrees"));
    let answered = one(json!({"agent_data": {"turns": [{"events": events}]}}));
    assert_eq!(turns_of(&answered), expected);
    let saved: Vec<String> = answered
        .saved
        .unwrap()
        .turns
        .iter()
        .map(|turn| turn.response_text())
        .collect();
    assert_eq!(saved, ["Hi, where are you?", "4 degrees"]);
    let handed_over = json!({"agent_data": {"turns": [
        {"events": [said("user", "Refund?"), said("root", "One moment.")]}, {"events": [said("refunds", "Done.")]},
    ]}});
    assert_eq!(
        turns_of(&one(handed_over)),
        [("Refund?".to_string(), false)],
        "no turn without a user"
    );
    let nothing = one(json!({"prompt": "Hello", "agent_data": {"turns": []}}));
    assert_eq!(turns_of(&nothing), [("Hello".to_string(), false)]);
}

#[test]
fn the_newer_client_is_read_in_camel_case() {
    let file = open(&json!({"evalCases": [{
        "evalCaseId": "w", "agentData": {"turns": [{"events": [said("user", "Hi"), said("root", "Hello")]}]},
        "rubricGroups": {"g": {"rubrics": [{"rubricId": "r", "content": {"property": {"description": "Is polite."}}}]}},
    }]}).to_string());
    assert_eq!((file.form, &*file.eval_id(0)), (FileFormat::Dataset, "w"));
    let case = file.case(0).unwrap();
    assert_eq!(turns_of(&case), [("Hi".to_string(), false)]);
    assert_eq!(case.rubrics[0].text.as_deref(), Some("Is polite."));
}

#[test]
fn result_with_dataset_has_its_prompts() {
    let score = |index: usize| {
        json!({"eval_case_index": index, "response_candidate_results": [
        {"response_index": 0, "metric_results": {"quality": {"metric_name": "quality", "score": 0.5}}}]})
    };
    let dataset = json!({"eval_cases": [
        {"eval_case_id": "weather", "prompt": "Weather in Oslo?", "response": "4 degrees"},
        {"eval_case_id": "bad", "prompt": [1]},
    ]});
    for dataset in [dataset.clone(), json!([dataset])] {
        let file = open(
            &json!({"eval_case_results": [score(0), score(1)], "evaluation_dataset": dataset})
                .to_string(),
        );
        assert_eq!(
            (file.form, &*file.eval_id(0), &*file.eval_id(1)),
            (FileFormat::EvaluationResult, "weather", "bad")
        );
        let case = file.case(0).unwrap();
        assert_eq!(turns_of(&case), [("Weather in Oslo?".to_string(), false)]);
        assert_eq!(case.saved.unwrap().turns[0].response_text(), "4 degrees");
        assert_eq!(case.recorded[0].score(), Some(0.5));
        assert_eq!(
            file.case(1).unwrap().recorded[0].score(),
            Some(0.5),
            "a case that is unreadable hides no score"
        );
    }
}

#[test]
fn synthesized_scenario_keeps_its_turns() {
    let case = one(json!({
        "eval_case_id": "s", "user_scenario": {"starting_prompt": "Hi", "conversation_plan": "ask"},
        "agent_data": {"turns": [{"events": [said("user", "Hi"), said("root", "Hello")]}]},
        "session_inputs": {"app_name": "a", "user_id": "u", "state": {"k": 1}}, "note": "kept",
    }));
    assert!(
        matches!(&case.conversation, Conversation::Scenario(plan) if plan["starting_prompt"] == "Hi")
    );
    assert_eq!(case.session_input.unwrap().state["k"], 1);
    assert_eq!(case.saved.unwrap().turns[0].response_text(), "Hello");
    assert_eq!(case.extra["note"], "kept");
}

#[test]
fn an_empty_list_is_an_empty_set() {
    let file = open("[]");
    assert_eq!((file.form, file.len()), (FileFormat::NamedList, 0));
}

#[test]
fn content_id_ignores_agent_data() {
    let id = |row: Value| open(&format!("{row}\n{row}\n")).eval_id(0).into_owned();
    let asked = json!({"prompt": "Hi", "context": 1});
    let done = json!({"prompt": "Hi", "context": 1, "agent_data": {"turns": []}});
    assert_eq!(id(asked), id(done));
}
