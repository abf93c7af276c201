//! Messages, pieces of messages and artifacts of agents that speak Agent2Agent: none is lost, and the response is the same
//! whether it is streamed or not.

use crate::common::scripted::{JSON, SSE, ScriptedServer, answer};
use crate::common::{both, evaltrail, output, text};
use serde_json::{Value, json};

fn message(id: &str, text: &str) -> Value {
    json!({"kind": "message", "role": "agent", "messageId": id, "parts": [{"kind": "text", "text": text}]})
}

fn status(state: &str, message: Option<Value>) -> Value {
    let status = json!({"state": state, "message": message});
    json!({"kind": "status-update", "taskId": "t1", "contextId": "c1", "status": status, "final": state != "working"})
}

fn artifact(id: &str, text: &str, append: bool) -> Value {
    let artifact = json!({"artifactId": id, "parts": [{"kind": "text", "text": text}]});
    json!({"kind": "artifact-update", "taskId": "t1", "contextId": "c1", "append": append, "artifact": artifact})
}

/// A finished task with artifacts of several parts, and a history.
fn task(state: Value, artifacts: &[(&str, &[&str])], history: &[Value]) -> Value {
    let artifact = |(id, texts): &(&str, &[&str])| {
        let parts: Vec<Value> = texts
            .iter()
            .map(|text| json!({"kind": "text", "text": text}))
            .collect();
        json!({"artifactId": id, "parts": parts})
    };
    let artifacts: Vec<Value> = artifacts.iter().map(artifact).collect();
    json!({"kind": "task", "id": "t1", "contextId": "c1", "status": state, "artifacts": artifacts, "history": history})
}

/// The response, the intermediate texts and the end of a turn for which the server sends these items.
fn turn(items: Vec<Value>, streams: bool) -> (String, Vec<String>, Value) {
    let server = ScriptedServer::start(move |request, stream| {
        if !request.line.starts_with("POST") {
            let url = format!("http://127.0.0.1:{}/", stream.local_addr()?.port());
            let card = json!({"protocolVersion": "0.3.0", "url": url, "preferredTransport": "JSONRPC", "name": "desk", "capabilities": {"streaming": streams}});
            return answer(stream, "200 OK", JSON, &card.to_string());
        }
        let framed = |item: &Value| {
            json!({"jsonrpc": "2.0", "id": request.body["id"], "result": item}).to_string()
        };
        match streams {
            true => {
                let lines: String = items
                    .iter()
                    .map(|item| format!("data: {}\n\n", framed(item)))
                    .collect();
                answer(stream, "200 OK", SSE, &lines)
            }
            false => answer(stream, "200 OK", JSON, &framed(&items[0])),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let case = json!({"eval_id": "c", "conversation": [{"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "x"}]}}]});
    let set = json!({"eval_set_id": "s", "eval_cases": [case]});
    std::fs::write(folder.path().join("s.evalset.json"), set.to_string()).unwrap();
    let criteria = json!({"criteria": {"response_match_score": 0.8}});
    std::fs::write(folder.path().join("test_config.json"), criteria.to_string()).unwrap();
    let agent = format!("a2a+http://127.0.0.1:{}/", server.port);
    let mut command = evaltrail(folder.path());
    command.current_dir(folder.path()).args([
        "run",
        "s.evalset.json",
        "--json",
        "--agent",
        &agent,
        "--retries",
        "0",
    ]);
    let out = output(&mut command);
    let report: Value =
        serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
    let actual = report["cases"][0]["invocations"][0]["actual"].clone();
    let run = std::fs::read_dir(folder.path().join(".evaltrail/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let journal = std::fs::read_to_string(run.path().join("journal.jsonl")).unwrap();
    let record: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap_or_default();
    let events = &record["actual"][0]["trajectory"];
    let events = ["partial", "events"]
        .iter()
        .find_map(|key| events[*key].as_array())
        .cloned()
        .unwrap_or_default();
    let texts = events.iter().flat_map(|event| {
        event["content"]["parts"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    });
    let texts = texts
        .filter_map(|part| part["text"].as_str().map(str::to_string))
        .collect();
    (
        actual["response"].as_str().unwrap_or_default().to_string(),
        texts,
        actual["end"].clone(),
    )
}

fn assert_turn(
    name: &str,
    items: Vec<Value>,
    streams: bool,
    response: &str,
    others: &[&str],
    end: Option<&str>,
) {
    let (actual, texts, ended) = turn(items, streams);
    let others: Vec<String> = others.iter().map(|text| text.to_string()).collect();
    assert_eq!(
        (actual.as_str(), texts, ended.as_str()),
        (response, others, end),
        "{name}"
    );
}

#[test]
fn final_status_message_is_the_response() {
    let end = |state: &str, text: &str| status(state, Some(message("m9", text)));
    assert_turn(
        "artifact, then completed with a message",
        vec![
            status("working", None),
            artifact("a1", "search notes: 3 hits", false),
            end("completed", "The museum opens at ten."),
        ],
        true,
        "The museum opens at ten.",
        &["search notes: 3 hits"],
        None,
    );
    assert_turn(
        "artifact, then a question",
        vec![
            status("working", None),
            artifact("a1", "Drafted the mail.", false),
            end("input-required", "May I send it to Kim?"),
        ],
        true,
        "May I send it to Kim?",
        &["Drafted the mail."],
        Some("input_required"),
    );
    assert_turn(
        "working, then completed with a message",
        vec![
            status("working", Some(message("m1", "Thinking"))),
            end("completed", "At ten."),
        ],
        true,
        "At ten.",
        &["Thinking"],
        None,
    );
    assert_turn(
        "the message repeats the artifact",
        vec![
            artifact("a1", "At ten.", false),
            end("completed", "At ten."),
        ],
        true,
        "At ten.",
        &[],
        None,
    );
}

#[test]
fn artifact_chunks_join_into_response() {
    let completed = || status("completed", None);
    let pieces = vec![
        artifact("a1", "The museum ", false),
        artifact("a1", "opens at ", true),
        artifact("a1", "ten.", true),
        completed(),
    ];
    assert_turn(
        "appended",
        pieces,
        true,
        "The museum opens at ten.",
        &[],
        None,
    );
    let replaced = vec![
        artifact("a1", "The museum ", false),
        artifact("a1", "opens at ", true),
        artifact("a1", "The museum opens at ten.", false),
        completed(),
    ];
    assert_turn(
        "replaced",
        replaced,
        true,
        "The museum opens at ten.",
        &[],
        None,
    );
    let lost = vec![
        artifact("a1", "The museum ", false),
        artifact("a1", "opens at ", true),
        artifact("a1", "ten.", false),
        completed(),
    ];
    assert_turn(
        "replaced by another text",
        lost,
        true,
        "ten.",
        &["The museum opens at "],
        None,
    );
    let two = vec![
        artifact("a1", "Part one.", false),
        artifact("a2", "Part two.", false),
        completed(),
    ];
    assert_turn(
        "two artifacts",
        two,
        true,
        "Part one.\nPart two.",
        &[],
        None,
    );
    let whole = task(
        json!({"state": "completed"}),
        &[("a1", &["Case ", "3: ", "4 degrees"]), ("a2", &["Done."])],
        &[],
    );
    assert_turn(
        "not streamed",
        vec![whole],
        false,
        "Case 3: 4 degrees\nDone.",
        &[],
        None,
    );
}

#[test]
fn pieces_of_messages_are_joined_by_their_id() {
    let pieces = |mut last: Vec<Value>| {
        let texts = ["Hello", ", this is", " case ", "3."];
        let mut items: Vec<Value> = texts.iter().map(|text| message("m1", text)).collect();
        items.append(&mut last);
        items
    };
    assert_turn(
        "pieces",
        pieces(vec![]),
        true,
        "Hello, this is case 3.",
        &[],
        None,
    );
    let whole = message("m1", "Hello, this is case 3.");
    let user = json!({"kind": "message", "role": "user", "messageId": "u", "parts": [{"kind": "text", "text": "hi"}]});
    let end = task(json!({"state": "completed"}), &[], &[user, whole.clone()]);
    assert_turn(
        "pieces, then the history",
        pieces(vec![end.clone()]),
        true,
        "Hello, this is case 3.",
        &[],
        None,
    );
    assert_turn(
        "the history alone",
        vec![end],
        false,
        "Hello, this is case 3.",
        &[],
        None,
    );
    let growing = vec![
        status("working", Some(message("m1", "Oslo: 4 degr"))),
        status("working", Some(message("m2", "Oslo: 4 degrees and rain."))),
        artifact("a1", "Oslo: 4 degrees and rain.", false),
        status("completed", None),
    ];
    assert_turn(
        "growing snapshots",
        growing,
        true,
        "Oslo: 4 degrees and rain.",
        &[],
        None,
    );
    let two = vec![
        status("working", Some(message("m1", "Let me look."))),
        status("working", Some(message("m2", "It is four."))),
        status("completed", None),
    ];
    assert_turn(
        "two messages",
        two,
        true,
        "It is four.",
        &["Let me look."],
        None,
    );
}
