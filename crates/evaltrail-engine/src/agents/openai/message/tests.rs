use super::*;

fn chunk(calls: Value) -> Value {
    json!({"choices": [{"delta": {"tool_calls": calls}}]})
}

fn call(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: Value) -> Value {
    json!([{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}])
}

fn joined(chunks: &[Value]) -> Vec<(String, String, String)> {
    let mut joined = StreamedMessage::default();
    for chunk in chunks {
        joined.add(chunk, &mut |_| ());
    }
    let calls = joined.reply().calls.into_iter();
    calls
        .map(|call| (call.id, call.name, call.arguments))
        .collect()
}

fn expected(calls: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    calls
        .iter()
        .map(|(id, name, args)| (id.to_string(), name.to_string(), args.to_string()))
        .collect()
}

#[test]
fn call_chunks_are_joined_for_any_index_scheme() {
    let (a, b) = (r#"{"city": "A"}"#, r#"{"city": "B"}"#);
    let both = [("a", "get_weather", a), ("b", "get_weather", b)];
    let whole = |index, id| {
        chunk(call(
            index,
            Some(id),
            Some("get_weather"),
            if id == "a" { a } else { b }.into(),
        ))
    };
    let piece = |index: u64, text: &str| chunk(call(Some(index), None, None, text.into()));
    let gaps = [
        chunk(call(Some(0), Some("a"), Some("get_weather"), "".into())),
        chunk(call(Some(3), Some("b"), Some("get_weather"), "".into())),
        piece(0, &a[..9]),
        piece(3, &b[..5]),
        piece(3, &b[5..]),
        piece(0, &a[9..]),
    ];
    assert_eq!(
        joined(&gaps),
        expected(&both),
        "numbers with a gap, in any order"
    );
    assert_eq!(
        joined(&[whole(None, "a"), whole(None, "b")]),
        expected(&both),
        "no numbers"
    );
    assert_eq!(
        joined(&[whole(Some(0), "a"), whole(Some(0), "b")]),
        expected(&both),
        "one number for all"
    );
    let objects = [
        chunk(call(
            Some(0),
            Some("a"),
            Some("get_weather"),
            json!({"city": "A"}),
        )),
        chunk(call(
            Some(0),
            Some("b"),
            Some("get_weather"),
            json!({"city": "B"}),
        )),
    ];
    let compact = [
        ("a", "get_weather", r#"{"city":"A"}"#),
        ("b", "get_weather", r#"{"city":"B"}"#),
    ];
    assert_eq!(joined(&objects), expected(&compact), "arguments as objects");
    let no_ids = [
        chunk(call(Some(0), None, Some("get_weather"), a.into())),
        chunk(call(Some(0), None, Some("get_weather"), b.into())),
    ];
    assert_eq!(
        joined(&no_ids),
        expected(&[("", "get_weather", a), ("", "get_weather", b)]),
        "no ids"
    );
}

#[test]
fn repeated_or_split_names_and_ids_are_merged() {
    let args = r#"{"city": "A"}"#;
    let repeated = [
        chunk(call(
            Some(0),
            Some("a"),
            Some("get_weather"),
            args[..5].into(),
        )),
        chunk(call(
            Some(0),
            Some("a"),
            Some("get_weather"),
            args[5..].into(),
        )),
    ];
    let split = [
        chunk(call(Some(0), Some("a"), Some("get_"), Value::Null)),
        chunk(call(Some(0), None, Some("weather"), args.into())),
    ];
    let unnumbered = [
        chunk(call(None, Some("a"), Some("get_weather"), args[..5].into())),
        chunk(call(None, None, None, args[5..].into())),
    ];
    for chunks in [&repeated, &split, &unnumbered] {
        assert_eq!(joined(chunks), expected(&[("a", "get_weather", args)]));
    }
    assert_eq!(
        joined(&[chunk(call(
            Some(u64::MAX),
            Some("a"),
            Some("t"),
            "{}".into()
        ))])
        .len(),
        1
    );
}

#[test]
fn texts_thoughts_and_the_end_are_joined() {
    let mut joined = StreamedMessage::default();
    let mut heard = String::new();
    for piece in [
        json!({"choices": [{"delta": {"reasoning": "h"}}]}),
        json!({"choices": [{"delta": {"reasoning": "m", "content": "The "}}]}),
        json!({"choices": [{"delta": {"content": [{"type": "text", "text": "end"}]}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "length"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 3}, "model": "m"}),
    ] {
        joined.add(&piece, &mut |text| heard.push_str(text));
    }
    let reply = joined.reply();
    assert_eq!(
        (heard.as_str(), reply.texts[0].text.as_deref()),
        ("The end", Some("The end"))
    );
    assert_eq!(
        (reply.thoughts, reply.usage.unwrap().prompt),
        (vec!["hm".to_string()], Some(3.0))
    );
    assert_eq!(
        (reply.error.unwrap().code.as_str(), reply.model.as_deref()),
        ("length", Some("m"))
    );
}

fn read(message: Value, finish: &str) -> Reply {
    reply_of(message, &finish.into(), &Value::Null)
}

fn texts(reply: &Reply) -> Vec<&str> {
    reply
        .texts
        .iter()
        .filter_map(|part| part.text.as_deref())
        .collect()
}

#[test]
fn thoughts_are_not_part_of_the_response() {
    for message in [
        json!({"content": "4", "reasoning_content": "hm"}),
        json!({"content": "4", "reasoning": "hm", "reasoning_content": "hm"}),
        json!({"content": "4", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
        json!({"content": "<think>hm</think>4"}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "4"}]}),
    ] {
        let reply = read(message.clone(), "stop");
        assert_eq!(
            (texts(&reply), reply.thoughts.clone()),
            (vec!["4"], vec!["hm".to_string()]),
            "{message}"
        );
        assert!(reply.error.is_none() && reply.others.is_empty());
    }
}

#[test]
fn calls_are_read_in_every_form_or_are_unknown() {
    let object =
        json!({"tool_calls": [{"id": "a", "function": {"name": "t", "arguments": {"n": 1}}}]});
    assert_eq!(
        read(object, "tool_calls").calls[0]
            .part()
            .call
            .unwrap()
            .args,
        json!({"n": 1}).as_object().cloned()
    );
    let legacy = read(
        json!({"content": null, "function_call": {"name": "t", "arguments": "{\"n\": 1}"}}),
        "function_call",
    );
    assert_eq!(
        (legacy.calls[0].name.as_str(), legacy.calls[0].form),
        ("t", CallForm::Legacy)
    );
    assert_eq!(legacy.said[0]["function_call"]["name"], "t");
    let answer = crate::agents::openai::chat::result(&legacy.calls[0], "20");
    assert_eq!(
        answer,
        json!({"role": "function", "name": "t", "content": "20"})
    );
    for unknown in [
        json!({"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "t", "input": "x"}}]}),
        json!({"content": [{"type": "tool_use", "name": "t", "input": {}}]}),
        json!({"content": "so", "function_call": "t"}),
    ] {
        let reply = read(unknown.clone(), "stop");
        assert_eq!((reply.calls.len(), reply.others.len()), (0, 1), "{unknown}");
    }
    assert_eq!(
        read(json!({"content": "so"}), "tool_calls").others.len(),
        1,
        "the call is missing"
    );
}

#[test]
fn refusal_and_non_text_content_are_read() {
    let reply = read(json!({"content": null, "refusal": "I will not."}), "stop");
    assert!(reply.refuses && texts(&reply) == ["I will not."]);
    let reply = read(
        json!({"content": [{"type": "text", "text": "Here: "}, {"type": "image_url", "image_url": {}}]}),
        "content_filter",
    );
    assert_eq!(
        (texts(&reply), reply.texts.len(), reply.others.len()),
        (vec!["Here: "], 2, 0)
    );
    assert_eq!(
        reply.error.unwrap().text(),
        "content_filter: the response was blocked or cut by a content filter"
    );
}
