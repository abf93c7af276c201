//! Templates of HTTP endpoints: what is sent to them, and what is read from their replies.

use crate::common::scripted::{JSON, SSE, ScriptedServer, answer};
use crate::common::{both, evaltrail, output, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Runs one case against a template, and returns the report.
fn run_template(config: &str, server: &ScriptedServer, turns: &[&str]) -> Value {
    run_template_in(&tempfile::tempdir().unwrap(), config, server, turns)
}

fn run_template_in(
    folder: &TempDir,
    config: &str,
    server: &ScriptedServer,
    turns: &[&str],
) -> Value {
    let turn = |text: &&str| {
        json!({"user_content": {"role": "user", "parts": [{"text": text}]},
            "final_response": {"role": "model", "parts": [{"text": "It rains."}]},
            "intermediate_data": {"tool_uses": [{"name": "get", "args": {"city": "Oslo"}}]}})
    };
    let turns: Vec<Value> = turns.iter().map(turn).collect();
    let set = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": turns, "session_input": {"app_name": "a", "user_id": "u 1"}}]});
    std::fs::write(folder.path().join("s.evalset.json"), set.to_string()).unwrap();
    let criteria =
        json!({"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}});
    std::fs::write(folder.path().join("test_config.json"), criteria.to_string()).unwrap();
    let config = config.replace("{port}", &server.port.to_string());
    std::fs::write(
        folder.path().join("evaltrail.toml"),
        format!("[agents.shop]\nkind = \"http\"\n{config}"),
    )
    .unwrap();
    let mut command = evaltrail(folder.path());
    command
        .current_dir(folder.path())
        .args(["run", "--json", "--trust", ".", "--retries", "0"]);
    command.env("SHOP_TOKEN", "shop-secret");
    let out = output(&mut command);
    serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)))
}

#[test]
fn template_fills_request_and_reads_reply() {
    let server = ScriptedServer::start(|_, stream| {
        let step = json!({"type": "tool", "tool": "get", "input": "{\"city\": \"Oslo\"}", "output": {"sky": "rain"}, "agent": "clerk"});
        let reply = json!({"reply": {"text": "It rains."}, "session": {"id": "s-7"}, "steps": [{"type": "thought"}, step], "error": null});
        answer(stream, "200 OK", JSON, &reply.to_string())
    });
    let config = r#"
        url = "http://127.0.0.1:{port}/chat/{user_id}?session={session_id}"
        headers = { authorization = "Bearer {env.SHOP_TOKEN}" }
        body = { message = "{prompt}", history = "{messages}", note = "turn {turn}" }
        session = "$.session.id"
        response = "$.reply.text"
        calls = { path = "$.steps[?@.type=='tool']", name = "$.tool", args = "$.input", response = "$.output", author = "$.agent" }
        error = "$.error.message"
    "#;
    let report = run_template(config, &server, &["Weather \"now\"?", "And later?"]);
    assert_eq!(report["cases"][0]["status"], "passed", "{report}");
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert!(
        received[0].line.starts_with("POST /chat/u%201?session="),
        "{}",
        received[0].line
    );
    assert_eq!(received[1].line, "POST /chat/u%201?session=s-7 HTTP/1.1");
    assert_eq!(
        received[0].header("authorization"),
        Some("Bearer shop-secret")
    );
    assert!(
        received[0]
            .header("traceparent")
            .is_some_and(|trace| trace.len() == 55)
    );
    let first = json!([{"role": "user", "content": "Weather \"now\"?"}]);
    assert_eq!(
        received[0].body,
        json!({"message": "Weather \"now\"?", "history": first, "note": "turn 1"})
    );
    let history = received[1].body["history"].as_array().unwrap();
    assert_eq!(
        history[1],
        json!({"role": "assistant", "content": "It rains."})
    );
    assert_eq!(received[1].body["note"], "turn 2");
}

#[test]
fn template_reads_errors_and_unknown_calls() {
    let server = ScriptedServer::start(|request, stream| {
        let body = match request.body["q"] == "break" {
            true => json!({"text": "It rains.", "error": {"message": "no key shop-secret here"}}),
            false => json!({"text": "It rains."}),
        };
        answer(stream, "200 OK", JSON, &body.to_string())
    });
    let config = r#"
        url = "http://127.0.0.1:{port}/"
        headers = { x-key = "{env.SHOP_TOKEN}" }
        body = { q = "{prompt}" }
        response = "$.text"
        error = "$.error.message"
    "#;
    let report = run_template(config, &server, &["hi"]);
    assert_eq!(report["cases"][0]["status"], "not_evaluated", "{report}");
    assert_eq!(
        report["cases"][0]["metrics"][1]["status"], "passed",
        "{report}"
    );
    let report = run_template(config, &server, &["break"]);
    assert_eq!(
        report["cases"][0]["error"], "no key [redacted] here",
        "a secret of the server is not displayed"
    );
    let missing = config.replace("$.text", "$.words");
    let report = run_template(&missing, &server, &["hi"]);
    assert!(
        report["cases"][0]["error"]
            .as_str()
            .unwrap()
            .contains("nothing at $.words"),
        "{report}"
    );
}

#[test]
fn a_streamed_reply_is_joined() {
    let server = ScriptedServer::start(|_, stream| {
        let events = "event: call\ndata: {\"call\": {\"tool\": \"get\", \"input\": {\"city\": \"Oslo\"}}}\n\n\
                      event: delta\ndata: {\"delta\": \"It \"}\n\nevent: other\ndata: {\"delta\": \"x\"}\n\n\
                      event: delta\ndata: {\"delta\": \"rains.\"}\n\ndata: [DONE]\n\n";
        answer(stream, "200 OK", SSE, events)
    });
    let config = r#"
        url = "http://127.0.0.1:{port}/"
        body = { q = "{prompt}" }
        stream = { event = "delta", text = "$.delta" }
        calls = { path = "$.call", name = "$.tool", args = "$.input" }
    "#;
    let report = run_template(config, &server, &["hi"]);
    assert_eq!(report["cases"][0]["status"], "passed", "{report}");
}

/// What `toUIMessageStreamResponse` of version 6.0 sent for these messages, with other names.
#[test]
fn vercel_preset_reads_calls_and_errors() {
    let server = ScriptedServer::start(|request, stream| {
        let said = request.body["messages"]
            .as_array()
            .and_then(|list| list.last())
            .cloned()
            .unwrap_or_default();
        let items = match said["parts"][0]["text"] == "break" {
            true => vec![
                json!({"type": "start"}),
                json!({"type": "error", "errorText": "the model broke"}),
            ],
            false => vec![
                json!({"type": "start"}),
                json!({"type": "start-step"}),
                json!({"type": "tool-input-start", "toolCallId": "c1", "toolName": "get"}),
                json!({"type": "tool-input-available", "toolCallId": "c1", "toolName": "get", "input": {"city": "Oslo"}}),
                json!({"type": "tool-output-error", "toolCallId": "c1", "errorText": "no such city"}),
                json!({"type": "finish-step"}),
                json!({"type": "text-start", "id": "1"}),
                json!({"type": "text-delta", "id": "1", "delta": "It "}),
                json!({"type": "text-delta", "id": "1", "delta": "rains."}),
                json!({"type": "text-end", "id": "1"}),
                json!({"type": "finish", "finishReason": "stop"}),
            ],
        };
        let lines: String = items
            .iter()
            .map(|item| format!("data: {item}\n\n"))
            .collect();
        answer(stream, "200 OK", SSE, &format!("{lines}data: [DONE]\n\n"))
    });
    let config = "preset = \"vercel-ai\"\nurl = \"http://127.0.0.1:{port}/api/chat\"";
    let report = run_template(config, &server, &["hi", "and then?"]);
    assert_eq!(report["cases"][0]["status"], "passed", "{report}");
    let history = server.received()[1].body["messages"].clone();
    assert_eq!(history[0]["parts"], json!([{"type": "text", "text": "hi"}]));
    assert_eq!(
        (&history[1]["role"], history.as_array().unwrap().len()),
        (&json!("assistant"), 3)
    );
    let report = run_template(config, &server, &["break"]);
    assert_eq!(report["cases"][0]["error"], "the model broke", "{report}");
}

/// The chunks are those of `@mastra/core` 1.71 with a model that plays this conversation.
#[test]
fn mastra_preset_reads_calls_and_errors() {
    let server = ScriptedServer::start(|request, stream| {
        let said = request.body["messages"]
            .as_array()
            .and_then(|list| list.last())
            .cloned()
            .unwrap_or_default();
        let chunk = |kind: &str, payload: Value| json!({"type": kind, "runId": "r", "from": "AGENT", "payload": payload});
        let call = |id: &str, city: &str| json!({"toolCallId": id, "toolName": "get", "args": {"city": city}});
        let items = match said["content"] == "break" {
            true => vec![
                chunk("start", json!({"id": "w"})),
                chunk(
                    "error",
                    json!({"type": "error", "error": {"message": "the model broke", "name": "Error"}}),
                ),
                chunk("finish", json!({"stepResult": {"reason": "error"}})),
            ],
            false => vec![
                chunk("start", json!({"id": "w"})),
                chunk("step-start", json!({"request": {}, "warnings": []})),
                chunk(
                    "tool-call-input-streaming-start",
                    json!({"toolCallId": "c1", "toolName": "get"}),
                ),
                chunk(
                    "tool-call-delta",
                    json!({"argsTextDelta": "{}", "toolCallId": "c1", "toolName": "get"}),
                ),
                chunk("tool-call", call("c1", "Oslo")),
                chunk("tool-call", call("c2", "Nowhere")),
                chunk(
                    "tool-result",
                    json!({"args": {"city": "Oslo"}, "toolCallId": "c1", "toolName": "get", "result": {"temp": 4}}),
                ),
                chunk(
                    "tool-error",
                    json!({"args": {"city": "Nowhere"}, "toolCallId": "c2", "toolName": "get", "error": {"id": "TOOL_EXECUTION_FAILED"}}),
                ),
                chunk("text-start", json!({"id": "1"})),
                chunk("text-delta", json!({"id": "1", "text": "It "})),
                chunk("text-delta", json!({"id": "1", "text": "rains."})),
                chunk("finish", json!({"stepResult": {"reason": "stop"}})),
            ],
        };
        let lines: String = items
            .iter()
            .map(|item| format!("data: {item}\n\n"))
            .collect();
        answer(stream, "200 OK", SSE, &format!("{lines}data: [DONE]\n\n"))
    });
    let config = "preset = \"mastra\"\nurl = \"http://127.0.0.1:{port}/api/agents/w/stream\"";
    let folder = tempfile::tempdir().unwrap();
    let report = run_template_in(&folder, config, &server, &["hi"]);
    let actual = &report["cases"][0]["invocations"][0]["actual"];
    assert_eq!(actual["response"], "It rains.", "{report}");
    let calls = ["Oslo", "Nowhere"].map(|city| json!({"name": "get", "args": {"city": city}}));
    assert_eq!(actual["tool_calls"], json!(calls), "{report}");
    let run = std::fs::read_dir(folder.path().join(".evaltrail/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let journal = std::fs::read_to_string(run.path().join("journal.jsonl")).unwrap();
    assert!(journal.contains(r#""response":{"temp":4}"#), "{journal}");
    assert!(
        journal.contains(r#""response":{"id":"TOOL_EXECUTION_FAILED"}"#),
        "{journal}"
    );
    let report = run_template(config, &server, &["break"]);
    assert_eq!(report["cases"][0]["error"], "the model broke", "{report}");
}

/// The streams of two steps: a text before a call, then thoughts and the answer.
#[test]
fn stream_response_is_text_of_last_step() {
    let ui = vec![
        json!({"type": "start"}),
        json!({"type": "start-step"}),
        json!({"type": "text-start", "id": "0"}),
        json!({"type": "text-delta", "id": "0", "delta": "Let me look "}),
        json!({"type": "text-delta", "id": "0", "delta": "that up."}),
        json!({"type": "text-end", "id": "0"}),
        json!({"type": "tool-input-available", "toolCallId": "c1", "toolName": "get", "input": {"city": "Oslo"}}),
        json!({"type": "tool-output-available", "toolCallId": "c1", "output": 4}),
        json!({"type": "finish-step"}),
        json!({"type": "start-step"}),
        json!({"type": "reasoning-delta", "id": "r", "delta": "hm"}),
        json!({"type": "text-delta", "id": "1", "delta": "It rains."}),
        json!({"type": "text-delta", "id": "2", "delta": "Bye."}),
        json!({"type": "finish", "finishReason": "length", "messageMetadata": {"totalUsage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}}}),
    ];
    let chunk = |kind: &str, payload: Value| json!({"type": kind, "runId": "r", "from": "AGENT", "payload": payload});
    let usage = |tokens: u32| json!({"stepResult": {"reason": "stop"}, "output": {"usage": {"inputTokens": tokens, "outputTokens": 3, "totalTokens": tokens + 3}}});
    let mastra = vec![
        chunk("step-start", json!({})),
        chunk(
            "text-delta",
            json!({"id": "0", "text": "Let me look that up."}),
        ),
        chunk(
            "tool-call",
            json!({"toolCallId": "c1", "toolName": "get", "args": {"city": "Oslo"}}),
        ),
        chunk(
            "tool-result",
            json!({"toolCallId": "c1", "toolName": "get", "result": 4}),
        ),
        chunk("step-finish", usage(5)),
        chunk("step-start", json!({})),
        chunk("reasoning-delta", json!({"id": "r", "text": "hm"})),
        chunk("text-delta", json!({"id": "1", "text": "It rains."})),
        chunk("text-delta", json!({"id": "2", "text": "Bye."})),
        chunk("step-finish", usage(2)),
        chunk(
            "finish",
            json!({"stepResult": {"reason": "length"}, "output": usage(7)["output"]}),
        ),
    ];
    for (preset, items) in [("vercel-ai", ui), ("mastra", mastra)] {
        let lines: String = items
            .iter()
            .map(|item| format!("data: {item}\n\n"))
            .collect();
        let server = ScriptedServer::start(move |_, stream| answer(stream, "200 OK", SSE, &lines));
        let config = format!("preset = \"{preset}\"\nurl = \"http://127.0.0.1:{{port}}/\"");
        let folder = tempfile::tempdir().unwrap();
        let report = run_template_in(&folder, &config, &server, &["hi"]);
        let case = &report["cases"][0];
        let actual = &case["invocations"][0]["actual"];
        assert_eq!(actual["response"], "It rains.\nBye.", "{preset}: {report}");
        assert_eq!(
            actual["tool_calls"].as_array().unwrap().len(),
            1,
            "{preset}: {report}"
        );
        assert_eq!(
            case["model_errors"][0]["code"], "length",
            "{preset}: {report}"
        );
        let run = std::fs::read_dir(folder.path().join(".evaltrail/runs"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let journal = std::fs::read_to_string(run.path().join("journal.jsonl")).unwrap();
        let record: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
        let events = record["actual"][0]["trajectory"]["events"]
            .as_array()
            .unwrap();
        let parts = events.iter().flat_map(|event| {
            event["content"]["parts"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        });
        let texts: Vec<(String, bool)> = parts
            .filter_map(|part| Some((part["text"].as_str()?.to_string(), part["thought"] == true)))
            .collect();
        assert_eq!(
            texts,
            [
                ("Let me look that up.".to_string(), false),
                ("hm".to_string(), true)
            ],
            "{preset}"
        );
        let tokens: f64 = events
            .iter()
            .filter_map(|event| event["usage"]["prompt"].as_f64())
            .sum();
        assert_eq!(tokens, 7.0, "{preset}: {journal}");
        // Each step of Mastra has its own, also one of which all events came before its counts.
        let counts: Vec<f64> = events
            .iter()
            .filter_map(|event| event["usage"]["prompt"].as_f64())
            .collect();
        assert_eq!(
            counts,
            if preset == "mastra" {
                vec![5.0, 2.0]
            } else {
                vec![7.0]
            },
            "{journal}"
        );
        assert_eq!(
            server.received()[0].body["trigger"] == "submit-message",
            preset == "vercel-ai"
        );
    }
}

#[test]
fn form_is_sent_and_check_shows_result() {
    let server = ScriptedServer::start(|_, stream| {
        let long = "x".repeat(5000);
        let items = [
            json!({"type": "noise", "text": long}),
            json!({"type": "call", "tool": "get", "input": {"city": "Oslo"}}),
            json!({"type": "delta", "delta": "It rains."}),
        ];
        let lines: String = items
            .iter()
            .map(|item| format!("data: {item}\n\n"))
            .collect();
        answer(stream, "200 OK", SSE, &lines)
    });
    let config = r#"
        url = "http://127.0.0.1:{port}/runs"
        form = { message = "{prompt}", stream = "true" }
        stream = { event = "delta", text = "$.delta" }
        calls = { path = "$", name = "$.tool", args = "$.input" }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let report = run_template_in(&folder, config, &server, &["a b"]);
    assert_eq!(report["cases"][0]["status"], "passed", "{report}");
    let kind = server.received()[0]
        .header("content-type")
        .unwrap()
        .to_string();
    assert_eq!(kind, "application/x-www-form-urlencoded");
    let mut check = evaltrail(folder.path());
    check
        .current_dir(folder.path())
        .args(["agents", "check", "shop", "--prompt", "hi", "--trust"]);
    let printed = both(&output(&mut check));
    assert!(
        printed.lines().all(|line| line.chars().count() <= 210),
        "{printed}"
    );
    assert!(
        printed.contains("calls     get {\"city\":\"Oslo\"}")
            || printed.contains("calls     get {\"city\": \"Oslo\"}"),
        "{printed}"
    );
    assert!(printed.contains("response  It rains."), "{printed}");
    let found = printed
        .lines()
        .find(|line| line.starts_with("calls     $"))
        .unwrap();
    assert!(
        found.contains("Oslo") && !found.contains("noise"),
        "{printed}"
    );
}
