//! Data sets of every form hold the same cases; bad rows are told by their lines and the rest is read.

use evaltrail::domain::{Content, Conversation, EvalCase, Trajectory};
use evaltrail::formats::{Form, SetFile};
use serde_json::{Value, json};
use std::sync::Arc;

fn open(text: &str) -> SetFile {
    SetFile::open(Arc::from(text), "data").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn cases(file: &SetFile) -> Vec<EvalCase> {
    (0..file.len()).map(|at| file.case(at).unwrap_or_else(|error| panic!("{error}"))).collect()
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

/// What every form must make of the row.
fn check(case: &EvalCase, form: &str) {
    let Conversation::Turns(turns) = &case.conversation else { panic!("{form}") };
    assert_eq!(turns.len(), 1, "{form}");
    assert_eq!(turns[0].user, Content::text("user", "Turn off device_2"), "{form}");
    assert_eq!(turns[0].response_text(), "Done", "{form}");
    let call = turns[0].calls()[0].clone();
    assert_eq!(call.args, json!({"id": "d2", "on": false, "n": null}).as_object().cloned(), "{form}");
    let saved = case.saved.as_ref().unwrap_or_else(|| panic!("{form} saved nothing"));
    assert_eq!(saved.turns[0].response_text(), "It is off.", "{form}");
    assert_eq!(saved.turns[0].calls()[0].args, json!({"id": "d3"}).as_object().cloned(), "{form}");
    assert_eq!(saved.latency_s, Some(1.5), "{form}");
    assert_eq!(case.extra["context"], "kitchen", "{form}");
}

const CSV_HEAD: &str =
    "prompt,reference,reference_trajectory,response,predicted_trajectory,latency_in_seconds,context\n";

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
    let quoted = "\"[{\"\"tool_name\"\": \"\"set\"\", \"\"tool_input\"\": {\"\"id\"\": \"\"d3\"\"}}]\"";
    let csv = format!("{CSV_HEAD}Turn off device_2,Done,{python},It is off.,{quoted},1.5,kitchen\n");
    let forms = [
        (Form::Lines, format!("{row}\n")),
        (Form::Lines, format!("\u{feff}{row}\r\n\r\n{row}\r\n")),
        (Form::Frame, json!([row]).to_string()),
        (Form::Frame, columns.to_string()),
        (Form::Frame, serde_json::to_string_pretty(&indexed).unwrap()),
        (Form::Table, csv),
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
    assert_eq!((file.form, file.eval_id(0).as_ref()), (Form::Dataset, "one"));
    let case = &cases(&file)[0];
    check(case, "dataset");
    assert_eq!(case.rubrics[0].text.as_deref(), Some("The answer is polite"));
    assert_eq!(case.session_input.as_ref().unwrap().state["room"], "kitchen");
}

#[test]
fn agent_data_is_a_conversation_that_was_held() {
    let event =
        |author: &str, parts: Value| json!({"author": author, "content": {"role": "x", "parts": parts}});
    let document = json!({"eval_cases": [{
        "eval_case_id": "two",
        "reference": {"response": {"role": "model", "parts": [{"text": "Bye"}]}},
        "agent_data": {"agents": {}, "turns": [
            {"turn_index": 0, "events": [
                event("user", json!([{"text": "Hello"}])),
                event("home", json!([{"function_call": {"name": "greet", "args": {}}}])),
                event("home", json!([{"function_response": {"name": "greet", "response": {"ok": true}}}])),
                {"author": "home", "content": {"role": "model", "parts": [{"text": "Hi"}]}, "state_delta": {"met": true}}
            ]},
            {"turn_index": 1, "events": [event("user", json!([{"text": "Bye"}])), event("home", json!([{"text": "Bye"}]))]}
        ]}
    }]});
    let case = cases(&open(&document.to_string())).remove(0);
    let said: Vec<String> = case.turns().iter().map(|turn| turn.user.scored_text()).collect();
    assert_eq!(said, ["Hello", "Bye"]);
    let saved = case.saved.unwrap();
    assert_eq!(saved.turns[0].calls()[0].name, "greet");
    assert_eq!((saved.turns[0].response_text(), saved.turns[1].response_text()), ("Hi".into(), "Bye".into()));
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
    assert_eq!((alone.form, alone.len(), cases(&alone)[0].turns()[0].calls().len()), (Form::Messages, 1, 1));
    let line = json!({"messages": messages}).to_string();
    assert_eq!(cases(&open(&line))[0].turns()[0].response_text(), "4 degrees");
    let pair = json!({"outputs": messages, "reference_outputs": messages}).to_string();
    let case = cases(&open(&pair)).remove(0);
    assert_eq!(case.saved.as_ref().unwrap().turns, case.turns());
    let openai = json!({"request": {"messages": [{"role": "user", "content": "Hi"}]},
                        "response": {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}});
    let gemini = json!({"request": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
                        "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}]}});
    for row in [openai, gemini] {
        let case = cases(&open(&row.to_string())).remove(0);
        assert_eq!(case.turns()[0].user.scored_text(), "Hi", "{row}");
        assert_eq!(case.saved.unwrap().turns[0].response_text(), "Hello", "{row}");
    }
}

#[test]
fn unknown_is_not_empty_and_failures_are_kept() {
    let trajectory = |cell: Value| {
        let row = json!({"prompt": "x", "reference_trajectory": cell, "response": "y"});
        cases(&open(&row.to_string())).remove(0).turns()[0].trajectory.clone()
    };
    for nothing in [Value::Null, json!("")] {
        assert_eq!(trajectory(nothing), Trajectory::Unknown);
    }
    assert!(matches!(trajectory(json!([])), Trajectory::Listed { .. }));
    assert!(matches!(trajectory(json!("[]")), Trajectory::Listed { .. }));
    let failed = |row: Value| cases(&open(&row.to_string())).remove(0).saved.unwrap().error;
    assert!(failed(json!({"prompt": "x", "response": "", "failure": 1})).is_some());
    let text = json!({"error": "quota"}).to_string();
    assert_eq!(failed(json!({"prompt": "x", "response": text})).as_deref(), Some("quota"));
    assert_eq!(failed(json!({"prompt": "x", "response": "", "failure": 0})), None);
}

#[test]
fn a_bad_row_is_told_by_its_line_and_the_rest_is_read() {
    let text = "{\"prompt\": \"a\", \"response\": \"b\"}\n{\"prompt\": oops}\n\n\
                {\"prompt\": \"c\", \"reference_trajectory\": 3}\n\
                {\"prompt\": \"d\", \"reference_trajectory\": \"[{oops\"}\n\
                {\"prompt\": \"e\", \"x\": NaN, \"n\": 123456789012345678901234567890}\n[1]\n";
    let file = open(text);
    let said: Vec<String> = (0..file.len())
        .map(|at| file.case(at).map_or_else(|error| error.to_string(), |case| case.eval_id))
        .collect();
    assert_eq!(said.len(), 6);
    assert!(said[0].starts_with("row-") && said[4].starts_with("row-"), "{said:?}");
    assert!(said[1].starts_with("line 2, column 12: expected"), "{said:?}");
    assert!(
        said[2].starts_with("line 4, column 41: $.reference_trajectory: expected a list of calls"),
        "{said:?}"
    );
    assert!(
        said[3].starts_with("line 5, column") && said[3].contains("as JSON or as the Python literal"),
        "{said:?}"
    );
    assert!(said[5].starts_with("line 7, column 1: $: expected an object, found a list of 1"), "{said:?}");
    assert_eq!(file.eval_id(5), "line-7");
    assert_eq!(
        cases(&open(text.lines().nth(5).unwrap()))[0].extra["n"].to_string(),
        "123456789012345678901234567890"
    );
}

#[test]
fn a_broken_first_row_does_not_hide_the_others() {
    let file = open("{broken\n{\"prompt\": \"a\", \"response\": \"b\"}\n");
    assert_eq!((file.len(), file.case(0).is_err(), file.case(1).is_ok()), (2, true, true));
}

#[test]
fn what_is_no_data_set_says_what_was_looked_for() {
    for (text, words) in [
        ("", "an empty file"),
        ("\u{feff} \n", "an empty file"),
        ("a,b\n1,2\n", "a text that begins \"a,b\""),
        ("{\"a\": 1}", "an object with 1 keys"),
        ("[]", "a list of 0"),
        ("{\"eval_set_result_id\": 1, \"eval_case_results\": []}", "a result file of ADK"),
    ] {
        let error = SetFile::open(Arc::from(text), "x").unwrap_err().to_string();
        assert!(error.contains(words), "{text:?}: {error}");
    }
}

#[test]
fn scores_that_a_file_brings_along_are_kept() {
    let row = json!({"prompt": "x", "response": "y", "exact_match/score": 1.0, "bleu/score": null,
                     "bleu/explanation": "Error", "m/score": 3, "m/explanation": "fine"});
    let recorded = cases(&open(&row.to_string())).remove(0).recorded;
    let said: Vec<(&str, Option<f64>, &str)> =
        recorded.iter().map(|m| (m.metric.as_str(), m.score, m.status.label())).collect();
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
    assert_eq!((file.form, file.eval_id(0).as_ref()), (Form::EvaluationResult, "case-4"));
    let recorded = cases(&file).remove(0).recorded;
    assert_eq!(recorded[0].rubrics.iter().map(|r| r.score).collect::<Vec<_>>(), [Some(1.0), Some(0.0)]);
    assert_eq!((recorded[1].status.label(), recorded[1].explanation.as_str()), ("errored", "quota"));
}
