//! Errors that models report although the agent's turn does not fail: in the terminal, in every report, in the journal and in
//! the causes of failures.

use crate::common::scripted::{JSON, Received, SSE, ScriptedServer, answer};
use crate::common::{both, evaltrail, output, text};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::path::Path;

/// A case that expects a text, and a call of `lookup` if `n` is given.
fn case(id: &str, n: Option<u32>) -> Value {
    let calls: Vec<Value> = n
        .iter()
        .map(|n| json!({"name": "lookup", "args": {"n": n}}))
        .collect();
    json!({"eval_id": id, "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": id}]},
        "final_response": {"role": "model", "parts": [{"text": "Some answer."}]},
        "intermediate_data": {"tool_uses": calls},
    }]})
}

fn write_set(folder: &Path, cases: &[Value], criteria: Value) {
    let set = json!({"eval_set_id": "empties", "eval_cases": cases});
    std::fs::write(folder.join("s.evalset.json"), set.to_string()).unwrap();
    std::fs::write(
        folder.join("test_config.json"),
        json!({"criteria": criteria}).to_string(),
    )
    .unwrap();
}

/// Sends the events of ADK's sample agent for these messages over `/run_sse`.
fn adk(request: &Received, stream: &mut TcpStream) -> std::io::Result<()> {
    let event = |more: Value| {
        let mut event = json!({"author": "scripted", "invocationId": "e-1"});
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        event
    };
    let called = |n: u32| {
        vec![
            event(
                json!({"content": {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "lookup", "args": {"n": n}}}]}}),
            ),
            event(
                json!({"content": {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "lookup", "response": {"ok": true}}}]}}),
            ),
        ]
    };
    let said = |text: &str, reason: &str| {
        event(
            json!({"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason}),
        )
    };
    let events = match request.body["newMessage"]["parts"][0]["text"].as_str() {
        Some("blocked" | "blocked again") => {
            vec![event(
                json!({"errorCode": "SAFETY", "errorMessage": "blocked by safety", "content": null}),
            )]
        }
        Some("error after tool") => {
            let mut events = called(2);
            events.push(event(
                json!({"errorCode": "UNKNOWN_ERROR", "errorMessage": "Unknown error."}),
            ));
            events
        }
        Some("raises") => {
            let mut events = called(3);
            events.push(json!({"error": "RuntimeError: boom in the agent"}));
            events
        }
        Some("cut") => vec![said("Some answer.", "MAX_TOKENS")],
        Some("complete") => vec![said("Some answer.", "STOP")],
        _ => vec![],
    };
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    match path {
        "/list-apps" => answer(stream, "200 OK", JSON, "[\"scripted\"]"),
        "/run_sse" => {
            let lines: String = events
                .iter()
                .map(|event| format!("data: {event}\n\n"))
                .collect();
            answer(stream, "200 OK", SSE, &lines)
        }
        path if path.ends_with("/sessions") => answer(stream, "200 OK", JSON, "{\"id\": \"s-1\"}"),
        _ => answer(stream, "200 OK", JSON, "{}"),
    }
}

fn run(folder: &Path, agent: &str) -> (String, Value) {
    let mut command = evaltrail(folder);
    command.current_dir(folder).args([
        "run",
        "s.evalset.json",
        "--agent",
        agent,
        "--retries",
        "0",
        "--trust",
    ]);
    for report in ["json", "html", "markdown", "junit", "csv"] {
        command.args(["--report", &format!("{report}=report.{report}")]);
    }
    let out = output(&mut command);
    let report = std::fs::read_to_string(folder.join("report.json"))
        .unwrap_or_else(|_| panic!("{}", both(&out)));
    (text(&out), serde_json::from_str(&report).unwrap())
}

#[test]
fn passing_model_errors_are_in_every_report() {
    let server = ScriptedServer::start(adk);
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        case("blocked", None),
        case("error after tool", Some(2)),
        case("raises", Some(3)),
        case("cut", None),
        case("complete", None),
    ];
    write_set(
        folder.path(),
        &cases,
        json!({"tool_trajectory_avg_score": 1.0}),
    );
    let (printed, report) = run(
        folder.path(),
        &format!("adk+http://127.0.0.1:{}/scripted", server.port),
    );
    // The statuses are ADK's.
    let of = |at: usize| report["cases"][at].clone();
    let statuses: Vec<Value> = (0..5).map(|at| of(at)["status"].clone()).collect();
    assert_eq!(
        statuses,
        ["passed", "passed", "errored", "passed", "passed"],
        "{printed}"
    );
    assert_eq!(of(0)["adk_status"], 1);
    let error = &of(0)["model_errors"][0];
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("SAFETY"), &json!("blocked by safety"))
    );
    assert_eq!(
        (&error["turn"], &error["author"]),
        (&json!(1), &json!("scripted"))
    );
    assert_eq!(of(1)["model_errors"][0]["code"], "UNKNOWN_ERROR");
    assert_eq!(
        of(3)["model_errors"][0]["code"],
        "MAX_TOKENS",
        "a finish reason beside a text"
    );
    assert_eq!(of(4).get("model_errors"), None);
    assert_eq!(report["summary"]["model_errors"], 3);
    let line = |name: &str| {
        printed
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_default()
            .to_string()
    };
    let blocked = line("✓ empties › blocked");
    assert!(
        blocked.ends_with("⚠ the model reported SAFETY: blocked by safety  ADK status: passed"),
        "{printed}"
    );
    assert!(!line("✓ empties › complete").contains('⚠'), "{printed}");
    let summary = "⚠ the model reported an error in 3 attempts, 3 of them passed: MAX_TOKENS ×1, SAFETY ×1, UNKNOWN_ERROR ×1";
    assert!(printed.contains(summary), "{printed}");
    for name in ["html", "markdown", "junit", "csv"] {
        let report = std::fs::read_to_string(folder.path().join(format!("report.{name}"))).unwrap();
        let report = report.replace('\\', "").replace("<!-- -->", "");
        assert!(
            report.contains("SAFETY: blocked by safety"),
            "{name}: {report}"
        );
        assert!(
            report.contains("UNKNOWN_ERROR: Unknown error."),
            "{name}: {report}"
        );
    }
    let run = std::fs::read_dir(folder.path().join(".evaltrail/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let journal = std::fs::read_to_string(run.path().join("journal.jsonl")).unwrap();
    assert!(
        journal.contains("\"code\":\"SAFETY\"") && journal.contains("\"code\":\"MAX_TOKENS\""),
        "{journal}"
    );
}

#[test]
fn model_error_is_cause_without_suggestion() {
    let server = ScriptedServer::start(adk);
    let folder = tempfile::tempdir().unwrap();
    write_set(
        folder.path(),
        &[case("blocked", None), case("blocked again", None)],
        json!({"response_match_score": 0.8}),
    );
    let (printed, report) = run(
        folder.path(),
        &format!("adk+http://127.0.0.1:{}/scripted", server.port),
    );
    assert_eq!(report["summary"]["failed"], 2, "{printed}");
    let group = &report["summary"]["groups"][0];
    assert_eq!(group["cause"], "the model reported SAFETY", "{report}");
    assert_eq!(group["would_pass_with"], Value::Null, "{report}");
    assert!(!printed.contains("would pass with"), "{printed}");
    assert!(
        printed.contains("the model reported SAFETY: blocked by safety; "),
        "{printed}"
    );
}

/// The reply of a kind of agent with a finish reason, and the words that are expected.
struct Finish {
    kind: &'static str,
    address: &'static str,
    content: &'static str,
    reply: &'static str,
    words: &'static str,
}

const FINISHES: [Finish; 6] = [
    Finish {
        kind: "openai",
        address: "/v1#model=m&stream=false",
        content: JSON,
        reply: r#"{"choices":[{"message":{"content":"Some answer."},"finish_reason":"length"}]}"#,
        words: "length: the response was cut at the token limit",
    },
    Finish {
        kind: "openai",
        address: "/v1#model=m",
        content: SSE,
        reply: "data: {\"choices\":[{\"delta\":{\"content\":\"Some answer.\"},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n",
        words: "content_filter: the response was blocked or cut by a content filter",
    },
    Finish {
        kind: "openai",
        address: "/v1#model=m&api=responses&stream=false",
        content: JSON,
        reply: r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"Some answer."}]}]}"#,
        words: "max_output_tokens: the response was cut at the token limit",
    },
    Finish {
        kind: "langgraph",
        address: "",
        content: SSE,
        reply: "event: updates\ndata: {\"n\":{\"messages\":[{\"type\":\"ai\",\"id\":\"m\",\"content\":\"Some answer.\",\"response_metadata\":{\"stop_reason\":\"max_tokens\"}}]}}\n\n",
        words: "max_tokens: the response was cut at the token limit",
    },
    Finish {
        kind: "agent-engine",
        address: "/v1/engine",
        content: JSON,
        reply: "{\"author\":\"a\",\"finish_reason\":\"RECITATION\",\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Some answer.\"}]}}\n",
        words: "RECITATION: the response was blocked because it repeats a source",
    },
    Finish {
        kind: "a2a",
        address: "/",
        content: JSON,
        reply: r#"{"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Some answer."}],"metadata":{"adk_error_code":"SAFETY"}}}}"#,
        words: "SAFETY: the response was blocked or cut by a content filter",
    },
];

#[test]
fn every_agent_kind_reports_finish_reason() {
    for finish in &FINISHES {
        let server = ScriptedServer::start(move |request, stream| {
            let path = request.line.split(' ').nth(1).unwrap_or_default();
            let base = format!("http://127.0.0.1:{}/", stream.local_addr()?.port());
            let card = json!({"supportedInterfaces": [{"url": base, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
            let greeting = match path {
                "/.well-known/agent-card.json" => card,
                "/assistants/search" => json!([{"assistant_id": "a", "graph_id": "g"}]),
                "/v1/engine:query" => json!({"output": {"id": "s"}}),
                path if path.ends_with("/schemas") => json!({}),
                _ => return answer(stream, "200 OK", finish.content, finish.reply),
            };
            answer(stream, "200 OK", JSON, &greeting.to_string())
        });
        let folder = tempfile::tempdir().unwrap();
        write_set(
            folder.path(),
            &[case("hi", None)],
            json!({"response_match_score": 0.8}),
        );
        let agent = format!(
            "{}+http://127.0.0.1:{}{}",
            finish.kind, server.port, finish.address
        );
        let (printed, report) = run(folder.path(), &agent);
        assert_eq!(report["cases"][0]["status"], "passed", "{agent}: {printed}");
        assert!(
            printed.contains(&format!("⚠ the model reported {}", finish.words)),
            "{agent}: {printed}"
        );
    }
}

/// A session that cannot be created because the server's database is locked is created again.
#[test]
fn session_creation_retries_after_http_500() {
    let tries = std::sync::atomic::AtomicU32::new(0);
    let server = ScriptedServer::start(move |request, stream| {
        let creates = request.line.starts_with("POST") && request.line.contains("/sessions ");
        match creates && tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2 {
            true => answer(
                stream,
                "500 Internal Server Error",
                "text/plain",
                "Internal Server Error",
            ),
            false => adk(request, stream),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    write_set(
        folder.path(),
        &[case("complete", None)],
        json!({"response_match_score": 0.8}),
    );
    let (printed, report) = run(
        folder.path(),
        &format!("adk+http://127.0.0.1:{}/scripted", server.port),
    );
    assert_eq!(report["cases"][0]["status"], "passed", "{printed}");
}
