mod forms;

use super::*;
use crate::domain::Invocation;
use crate::domain::{Part, Trajectory, TurnEnd};
use serde_json::json;

fn read(value: Value) -> Result<Vec<Invocation>, String> {
    conversation(JsonNode::top(&value))
        .map(ParsedConversation::expected)
        .map_err(|error| error.to_string())
}

fn turns_of(value: Value) -> Vec<Invocation> {
    read(value.clone()).unwrap_or_else(|error| panic!("{error}\n{value:#}"))
}

/// Calls with arguments, in order.
fn calls(turn: &Invocation) -> Vec<(String, Option<Value>)> {
    turn.calls()
        .iter()
        .map(|call| (call.name.clone(), call.args.clone().map(Value::Object)))
        .collect()
}

fn weather(args: Value) -> Vec<(String, Option<Value>)> {
    vec![("get_weather".to_string(), Some(args))]
}

/// The number of calls in each message of the last turn, where the list tells which calls are of one message.
fn calls_per_message(value: Value) -> Option<Vec<usize>> {
    let turns = conversation(JsonNode::top(&value)).unwrap().into_turns();
    turns.last().unwrap().trajectory.calls_per_message()
}

#[test]
fn lists_of_messages_mark_calls_of_a_message() {
    let call = |id: &str| json!({"id": id, "function": {"name": "f", "arguments": "{}"}});
    let asks = |ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({"role": "assistant", "tool_calls": calls})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "1"});
    let list = json!([
        "x",
        asks(&["a", "b"]),
        result("a"),
        result("b"),
        asks(&["c"]),
        result("c")
    ]);
    assert_eq!(calls_per_message(list), Some(vec![2, 1]));
    let apart = json!(["x", asks(&["a"]), asks(&["b"]), result("a"), result("b")]);
    assert_eq!(calls_per_message(apart), None, "both may be of one message");
    let item =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "1"});
    let items =
        json!([{"role": "user", "content": "x"}, item("a"), output("a"), item("b"), output("b")]);
    assert_eq!(
        calls_per_message(items),
        None,
        "items of a response are no messages"
    );
    let tool = |id: &str| json!({"type": "dynamic-tool", "toolName": "f", "toolCallId": id, "input": {}, "output": 1});
    let steps = json!(["x", {"role": "assistant", "parts": [tool("a"), tool("b")]}]);
    assert_eq!(
        calls_per_message(steps),
        None,
        "the steps of an answer are one message of the AI SDK"
    );
}

#[test]
fn pairs_and_texts_are_messages() {
    let pairs = turns_of(json!([
        ["system", "Be brief."],
        ["human", "hi"],
        ["ai", "ho"]
    ]));
    assert_eq!(
        (pairs[0].user.scored_text(), pairs[0].response_text()),
        ("hi".into(), "ho".into())
    );
    let texts = turns_of(json!(["hi", {"from": "gpt", "value": "ho"}]));
    assert_eq!(
        (texts[0].user.scored_text(), texts[0].response_text()),
        ("hi".into(), "ho".into())
    );
}

#[test]
fn calls_are_unknown_without_agent_message() {
    for list in [
        json!([{"role": "user", "content": "same call once"}]),
        json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "same call twice"}]),
        json!([{"type": "human", "content": "x"}]),
        json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}]}),
    ] {
        assert_eq!(turns_of(list)[0].trajectory, Trajectory::Unknown);
    }
    let answered =
        turns_of(json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]));
    assert!(answered[0].trajectory.is_known() && answered[0].calls().is_empty());
}

#[test]
fn calls_that_langchain_repeats_are_read_once() {
    let repeated = json!([
        {"role": "user", "content": "weather in Lima?"},
        {"role": "assistant",
         "content": [{"type": "text", "text": "Looking."}, {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {}}],
         "tool_calls": [{"name": "get_weather", "args": {"city": "Lima"}, "id": "t1", "type": "tool_call"}],
         "additional_kwargs": {"tool_calls": [{"id": "t1", "function": {"name": "get_weather", "arguments": "{\"city\": \"Lima\"}"}}]}},
        {"role": "tool", "tool_call_id": "t1", "content": "20"},
        {"role": "assistant", "content": "20 degrees."}
    ]);
    let turn = turns_of(repeated).remove(0);
    assert_eq!(calls(&turn), weather(json!({"city": "Lima"})));
    assert_eq!(turn.responses()[0].response, json!({"result": 20}));
    assert_eq!(turn.responses()[0].name, "get_weather");
    // The same call twice is two calls.
    let call = json!({"function": {"name": "f", "arguments": "{}"}});
    let twice = turns_of(json!(["x", {"role": "assistant", "tool_calls": [call, call]}]));
    assert_eq!(twice[0].calls().len(), 2);
}

#[test]
fn calls_of_the_ai_sdk_have_their_results() {
    let args = json!({"city": "Lima"});
    for message in [
        json!({"role": "assistant", "toolInvocations": [{"state": "result", "toolCallId": "c", "toolName": "get_weather", "args": args, "result": {"t": 20}}]}),
        json!({"role": "assistant", "parts": [{"type": "step-start"}, {"type": "tool-get_weather", "toolCallId": "c", "state": "output-available", "input": args, "output": {"t": 20}}]}),
        json!({"role": "assistant", "parts": [{"type": "dynamic-tool", "toolName": "get_weather", "toolCallId": "c", "input": args, "output": {"t": 20}}]}),
    ] {
        let turn = turns_of(json!(["x", message])).remove(0);
        assert_eq!(calls(&turn), weather(args.clone()), "{message}");
        assert_eq!(turn.responses()[0].response, json!({"t": 20}), "{message}");
    }
    let list = json!(["x",
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "get_weather", "input": args}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "get_weather", "output": {"type": "text", "value": "20"}}]}
    ]);
    let turn = turns_of(list).remove(0);
    assert_eq!(
        (calls(&turn), turn.responses()[0].name.as_str()),
        (weather(args), "get_weather")
    );
    assert_eq!(turn.responses()[0].response, json!({"result": "20"}));
}

/// The server of a model calls tools within a message, and the AI SDK stores all steps in one: the answer comes after the last
/// result.
#[test]
fn text_after_results_is_the_response() {
    let searched = json!([
        {"type": "text", "text": "Let me look."},
        {"type": "server_tool_use", "id": "t", "name": "web_search", "input": {"query": "rain"}},
        {"type": "web_search_tool_result", "tool_use_id": "t", "content": [{"type": "web_search_result", "url": "u"}]},
        {"type": "text", "text": "It rains."},
        {"type": "text", "text": "Bye."},
    ]);
    let of_mcp = json!([
        {"type": "text", "text": "Let me look."},
        {"type": "mcp_tool_use", "id": "t", "name": "web_search", "server_name": "s", "input": {"query": "rain"}},
        {"type": "mcp_tool_result", "tool_use_id": "t", "is_error": false, "content": [{"type": "text", "text": "h"}]},
        {"type": "text", "text": "It rains."},
        {"type": "text", "text": "Bye."},
    ]);
    let ui = json!([
        {"type": "step-start"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool-web_search", "toolCallId": "t", "state": "output-available", "input": {"query": "rain"}, "output": {"r": 1}},
        {"type": "step-start"},
        {"type": "text", "text": "It rains."},
        {"type": "text", "text": "Bye."},
    ]);
    for (key, parts) in [("content", searched), ("content", of_mcp), ("parts", ui)] {
        let turn = turns_of(json!(["x", {"role": "assistant", key: parts}])).remove(0);
        assert_eq!(turn.response_text(), "It rains.\nBye.", "{turn:?}");
        assert_eq!(
            calls(&turn),
            [("web_search".to_string(), Some(json!({"query": "rain"})))]
        );
        let texts: Vec<String> = turn
            .intermediate_responses()
            .iter()
            .map(|text| text.text())
            .collect();
        assert_eq!(
            (texts, turn.responses().len()),
            (vec!["Let me look.".to_string()], 1)
        );
    }
    // Without a result in it, the message waits for one.
    let waits = json!(["x", {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "f", "input": {}}, {"type": "text", "text": "One moment."}]}]);
    assert_eq!(turns_of(waits)[0].response_text(), "");
}

#[test]
fn items_of_hosted_tools_begin_an_answer() {
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]});
    for (item, known) in [
        (
            json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "hi"}),
            true,
        ),
        (
            json!({"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": "r"}),
            true,
        ),
        (
            json!({"type": "web_search_call", "id": "w", "action": {"query": "q"}}),
            false,
        ),
        (
            json!({"type": "file_search_call", "id": "w", "queries": ["q"]}),
            false,
        ),
        (
            json!({"type": "mcp_list_tools", "id": "l", "tools": []}),
            true,
        ),
    ] {
        let found = answer(JsonNode::top(&json!([item, said]))).unwrap();
        assert_eq!(found.response.unwrap().scored_text(), "ok", "{item}");
        assert_eq!(found.trajectory.unwrap().is_known(), known, "{item}");
    }
    let custom = json!(["x", {"role": "assistant", "tool_calls": [
        {"id": "1", "type": "custom", "custom": {"name": "f", "input": "hi"}}]}]);
    assert_eq!(
        calls(&turns_of(custom)[0]),
        [("f".to_string(), Some(json!({"tool_input": "hi"})))]
    );
}

/// An answer that was cut is scored, and has the reason.
#[test]
fn answers_that_stopped_early_have_the_reason() {
    let content = json!({"role": "model", "parts": [{"text": "half"}]});
    let message = json!({"role": "assistant", "content": "half"});
    let item = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "half"}]});
    for (value, code) in [
        (
            json!({"candidates": [{"finishReason": "MAX_TOKENS", "content": content}]}),
            Some("MAX_TOKENS"),
        ),
        (
            json!({"candidates": [{"finishReason": "STOP", "content": content}]}),
            None,
        ),
        (
            json!({"choices": [{"finish_reason": "length", "message": message}]}),
            Some("length"),
        ),
        (
            json!({"choices": [{"finish_reason": "stop", "message": message}]}),
            None,
        ),
        (
            json!({"role": "assistant", "content": [{"type": "text", "text": "half"}], "stop_reason": "max_tokens"}),
            Some("max_tokens"),
        ),
        (
            json!({"type": "ai", "content": "half", "response_metadata": {"finish_reason": "content_filter"}}),
            Some("content_filter"),
        ),
        (
            json!({"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [item]}),
            Some("max_output_tokens"),
        ),
    ] {
        let found = answer(JsonNode::top(&value)).unwrap();
        assert_eq!(found.response.unwrap().scored_text(), "half", "{value}");
        assert_eq!(
            found.stopped.first().map(|error| error.code.as_str()),
            code,
            "{value}"
        );
    }
    let row = json!({"prompt": "x", "response": {"choices": [{"finish_reason": "length", "message": message}]}, "reference": "half"});
    let case = crate::formats::vertex::case(&row, &Default::default(), "a").unwrap();
    let saved = &case.saved.unwrap().turns[0];
    assert_eq!(saved.model_errors().next().unwrap().code, "length");
}

/// Members next to a response that are named like calls are refused.
#[test]
fn calls_next_to_a_response_are_refused() {
    let calls = json!([{"name": "f", "args": {}}]);
    for key in ["tool_calls", "function_call", "toolUses"] {
        let value = json!({"response": "r", key: calls});
        let error = answer(JsonNode::top(&value)).unwrap_err().to_string();
        assert!(
            error.contains(&format!("$.{key}: expected no calls beside the response")),
            "{error}"
        );
    }
    assert!(answer(JsonNode::top(&json!({"response": "r", "tool_calls": []}))).is_ok());
}

#[test]
fn role_is_read_from_content_or_author() {
    let message = |role: &str, text: &str| json!({"turn_id": "0", "content": {"role": role, "parts": [{"text": text}]}});
    let turn = turns_of(json!([message("user", "a"), message("model", "b")])).remove(0);
    assert_eq!(
        (turn.user.scored_text(), turn.response_text()),
        ("a".into(), "b".into())
    );
    let authored = |author: &str, text: &str| json!({"author": author, "content": {"parts": [{"text": text}]}});
    let turn = turns_of(json!([authored("user", "a"), authored("home", "b")])).remove(0);
    assert_eq!(
        (turn.user.scored_text(), turn.response_text()),
        ("a".into(), "b".into())
    );
}

#[test]
fn refusals_are_responses() {
    for message in [
        json!({"role": "assistant", "content": null, "refusal": "I cannot."}),
        json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}),
        json!({"type": "ai", "content": "", "additional_kwargs": {"refusal": "I cannot."}}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}),
    ] {
        let turn = turns_of(json!(["x", message])).remove(0);
        assert_eq!(
            (turn.response_text().as_str(), turn.end),
            ("I cannot.", TurnEnd::Refused),
            "{message}"
        );
    }
}

#[test]
fn media_are_parts() {
    let png = json!({"inline_data": {"mime_type": "image/png", "data": "AAAA"}});
    let address = json!({"file_data": {"file_uri": "https://x/a.png"}});
    for (block, expected) in [
        (
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}),
            &png,
        ),
        (
            json!({"type": "image_url", "image_url": "data:image/png;base64,AAAA"}),
            &png,
        ),
        (
            json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"}),
            &png,
        ),
        (
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
            &png,
        ),
        (
            json!({"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "AAAA"}),
            &png,
        ),
        (
            json!({"type": "image", "base64": "AAAA", "mime_type": "image/png"}),
            &png,
        ),
        (
            json!({"type": "image_url", "image_url": {"url": "https://x/a.png"}}),
            &address,
        ),
        (
            json!({"type": "image", "source": {"type": "url", "url": "https://x/a.png"}}),
            &address,
        ),
        (
            json!({"inline_data": {"mime_type": "image/png", "data": "AAAA"}}),
            &png,
        ),
        (
            json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}),
            &json!({"inline_data": {"mime_type": "audio/wav", "data": "AAAA"}}),
        ),
        (
            json!({"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}}),
            &json!({"inline_data": {"mime_type": "application/pdf", "data": "AAAA", "display_name": "a.pdf"}}),
        ),
        // The id of an uploaded file is no address.
        (
            json!({"type": "file", "file": {"file_id": "f1"}}),
            &json!({"file": {"type": "file", "file": {"file_id": "f1"}}}),
        ),
    ] {
        let turn = turns_of(
            json!([{"role": "user", "content": [{"type": "text", "text": "what is it"}, block]}]),
        )
        .remove(0);
        assert_eq!(turn.user.parts[0], Part::text("what is it"));
        assert_eq!(
            Value::Object(turn.user.parts[1].rest.clone()),
            *expected,
            "{block}"
        );
    }
    let spoken = json!(["x", {"role": "assistant", "content": null, "audio": {"id": "a", "data": "AAAA", "transcript": "Hello"}}]);
    assert_eq!(turns_of(spoken)[0].response_text(), "Hello");
}

#[test]
fn reasoning_is_displayed_and_not_the_response() {
    for list in [
        json!(["x", {"role": "assistant", "content": "4", "reasoning_content": "2 + 2"}]),
        json!(["x", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "2 + 2"}]}, {"type": "message", "role": "assistant", "content": "4"}]),
        json!(["x", {"role": "assistant", "content": [{"type": "thinking", "thinking": "2 + 2", "signature": "s"}, {"type": "text", "text": "4"}]}]),
        json!(["x", {"role": "model", "parts": [{"text": "2 + 2", "thought": true}, {"text": "4"}]}]),
    ] {
        let turn = turns_of(list.clone()).remove(0);
        let Trajectory::Listed { texts, .. } = &turn.trajectory else {
            panic!("{list}")
        };
        assert_eq!(
            (turn.response_text().as_str(), texts[0].1[0].thought),
            ("4", true),
            "{list}"
        );
        assert_eq!(texts[0].1[0].text.as_deref(), Some("2 + 2"));
    }
}

#[test]
fn unrecognised_calls_are_refused_or_partial() {
    for (message, problem) in [
        (
            json!({"role": "assistant", "tool_calls": [{"id": "1"}]}),
            "$[1].tool_calls[0]: expected a key \"name\"",
        ),
        (
            json!({"role": "assistant", "tool_calls": "f(x)"}),
            "$[1].tool_calls: expected a list of calls",
        ),
        (
            json!({"role": "assistant", "tool_calls": [{"name": "f", "args": [1]}]}),
            "$[1].tool_calls[0].args: expected",
        ),
        (
            json!({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{oops"}}]}),
            "$[1].tool_calls[0].function.arguments: expected",
        ),
        (
            json!({"role": "assistant", "tool_requests": [{"x": 1}]}),
            "$[1].tool_requests: expected calls in a member that is known",
        ),
        (
            json!({"role": "assistant", "content": [{"type": "super_call", "x": 1}]}),
            "$[1].content[0]: expected a part of a known type",
        ),
        (
            json!({"role": "assistant", "content": [{"type": "do", "name": "f", "arguments": {}}]}),
            "$[1].content[0]: expected a part of a known type",
        ),
        (
            json!({"role": "model", "parts": [{"functionCall": {}}]}),
            "$[1].parts[0]: expected a function call with a name",
        ),
        (
            json!({"role": "model", "parts": [{"toolCall": {"toolType": "x"}}]}),
            "$[1].parts[0].toolCall: expected a call as function_call",
        ),
        (
            json!({"role": "ghost", "content": "x"}),
            "$[1]: expected a message whose role is",
        ),
        (json!({"content": "x"}), "$[1]: expected a message"),
        (json!(7), "$[1]: expected a message"),
    ] {
        let error = read(json!(["x", message])).unwrap_err();
        assert!(error.starts_with(problem), "{error}\n{message}");
    }
    let searched = turns_of(
        json!(["x", {"type": "web_search_call", "id": "w", "action": {"query": "q"}}, {"role": "assistant", "content": "y"}]),
    );
    assert!(matches!(searched[0].trajectory, Trajectory::Partial(_)));
    assert_eq!(searched[0].response_text(), "y");
    let events = searched[0].trajectory.events().unwrap();
    assert_eq!(
        events[0].content.as_ref().unwrap().shown_text(),
        "[web_search_call]"
    );
    let lists = read(json!([[{"role": "user", "content": "x"}]])).unwrap_err();
    assert!(lists.contains("one list of messages"), "{lists}");
}

#[test]
fn results_of_tools_are_objects() {
    for (content, expected) in [
        (json!("20 degrees"), json!({"result": "20 degrees"})),
        (json!(""), json!({"result": ""})),
        (json!("20"), json!({"result": 20})),
        (json!("true"), json!({"result": true})),
        (json!("[1,2]"), json!({"result": [1, 2]})),
        (json!("{\"t\": 1}"), json!({"t": 1})),
        (
            json!([{"type": "text", "text": "20"}, {"type": "text", "text": "degrees"}]),
            json!({"result": "20\ndegrees"}),
        ),
        (
            json!([{"type": "text", "text": "a"}, {"type": "image", "source": {}}]),
            json!({"result": [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]}),
        ),
        (json!(null), json!({"result": null})),
    ] {
        let list = json!(["x", {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": ""}}]},
            {"role": "tool", "tool_call_id": "c", "content": content}]);
        assert_eq!(turns_of(list)[0].responses()[0].response, expected);
    }
    let failed = json!(["x", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "is_error": true, "content": "no"}]}]);
    assert_eq!(
        turns_of(failed)[0].responses()[0].response,
        json!({"error": "no"})
    );
}

#[test]
fn empty_or_blocked_response_has_error_reason() {
    let of = |value: Value| answer(JsonNode::top(&value)).unwrap();
    for (value, why) in [
        (
            json!({"candidates": [], "prompt_feedback": {"block_reason": "SAFETY"}}),
            "the model blocked the prompt: SAFETY",
        ),
        (
            json!({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "no"}}),
            "the model blocked the prompt: OTHER: no",
        ),
        (
            json!({"candidates": [{"finishReason": "MAX_TOKENS"}]}),
            "the response is empty: MAX_TOKENS",
        ),
        (
            json!({"candidates": [{"finish_reason": "STOP", "content": {"role": "model", "parts": [{"text": ""}]}}]}),
            "the response is empty: STOP",
        ),
        (json!({"choices": []}), "the response has no choices"),
        (
            json!({"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}),
            "the response is incomplete: max_output_tokens",
        ),
        (
            json!({"choices": [{"finish_reason": "content_filter", "message": {"role": "assistant", "content": null}}]}),
            "the response is empty: content_filter",
        ),
        (json!({"error": {"code": 429, "message": "quota"}}), "quota"),
    ] {
        let found = of(value.clone());
        assert_eq!(
            (found.response, found.error.as_deref()),
            (None, Some(why)),
            "{value}"
        );
    }
    for nothing in [
        json!(null),
        json!({}),
        json!({"response": null}),
        json!({"response": {}}),
        json!({"parts": []}),
        json!([]),
    ] {
        assert_eq!(of(nothing.clone()), Answer::default(), "{nothing}");
    }
    let called = of(
        json!({"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}}]}),
    );
    assert_eq!(
        (
            called.error,
            called.trajectory.unwrap().calls()[0].name.as_str()
        ),
        (None, "f")
    );
    assert_eq!(
        of(json!({"content": "", "tool_calls": []}))
            .response
            .unwrap()
            .scored_text(),
        "{\"content\":\"\",\"tool_calls\":[]}"
    );
}

#[test]
fn a_turn_without_a_user_message_is_refused() {
    let list = json!([{"role": "assistant", "content": "Hello, I am here."}, {"role": "user", "content": "hi"}]);
    let error = case(JsonNode::top(&list), "x").unwrap_err().to_string();
    assert!(
        error.contains("turn 1 without one (the agent: \"Hello, I am here.\")"),
        "{error}"
    );
}
