//! `evaltrail agents init`: what an agent is, found by what is there, and the entry that is written.

use crate::common::scripted::{JSON, SSE, ScriptedServer, answer};
use crate::common::server::Double;
use crate::common::{both, evaltrail, output};
use std::path::Path;
use std::process::Output;

fn init(folder: &Path, args: &[&str]) -> Output {
    output(
        evaltrail(&folder.join("home"))
            .current_dir(folder)
            .args(["agents", "init"])
            .args(args),
    )
}

fn config(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("evaltrail.toml")).unwrap_or_default()
}

#[test]
fn init_detects_adk_server_and_adds_app() {
    let folder = tempfile::tempdir().unwrap();
    let server = Double::start();
    let url = format!("http://127.0.0.1:{}", server.port);
    std::fs::write(
        folder.path().join("evaltrail.toml"),
        "# mine\n[run]\njobs = 2\n",
    )
    .unwrap();
    let dry = init(folder.path(), &[&url, "--dry-run"]);
    assert_eq!(
        (dry.status.code(), config(folder.path()).contains("agents")),
        (Some(0), false),
        "{}",
        both(&dry)
    );
    let ran = init(folder.path(), &[&url]);
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    let expected = format!(
        "# mine\n[run]\njobs = 2\n\n[agents.app]\nkind = \"adk\"\nurl = \"{url}\"\napp = \"app\"\n"
    );
    assert_eq!(config(folder.path()), expected);
    let again = init(folder.path(), &[&url]);
    assert!(
        both(&again).contains("has an agent \"app\" already"),
        "{}",
        both(&again)
    );
    assert_eq!(config(folder.path()), expected);
    assert!(
        !server.seen.lock().unwrap().runs.is_empty(),
        "a turn was shown"
    );
}

/// Answers as a LangGraph server with two graphs, and nothing else.
fn graphs() -> ScriptedServer {
    ScriptedServer::start(|request, stream| match request.line.split(' ').nth(1) {
        Some("/assistants/search") => {
            let list = r#"[{"assistant_id": "1", "graph_id": "desk"}, {"assistant_id": "2", "graph_id": "team"}]"#;
            answer(stream, "200 OK", JSON, list)
        }
        _ => answer(stream, "404 Not Found", JSON, "{}"),
    })
}

#[test]
fn of_several_agents_one_must_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = graphs();
    let url = format!("http://127.0.0.1:{}", server.port);
    let ran = init(folder.path(), &[&url]);
    let words = both(&ran);
    assert_eq!(ran.status.code(), Some(2), "{words}");
    assert!(
        words.contains(&format!("evaltrail agents init '{url}#team'")),
        "{words}"
    );
    assert_eq!(config(folder.path()), "");
}

#[test]
fn check_of_wrong_server_kind_suggests_init() {
    let folder = tempfile::tempdir().unwrap();
    let server = graphs();
    let address = format!("a2a+http://127.0.0.1:{}/", server.port);
    let ran = output(
        evaltrail(&folder.path().join("home"))
            .current_dir(folder.path())
            .args(["agents", "check", &address]),
    );
    let hint = format!("evaltrail agents init http://127.0.0.1:{}/", server.port);
    assert!(both(&ran).contains(&hint), "{}", both(&ran));
}

#[test]
fn init_detects_ag_ui_by_sending_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let server = ScriptedServer::start(|request, stream| {
        if !request.line.starts_with("POST / ") || request.body.get("threadId").is_none() {
            return answer(stream, "404 Not Found", JSON, "{}");
        }
        let (thread, run) = (&request.body["threadId"], &request.body["runId"]);
        let events = [
            format!(r#"{{"type":"RUN_STARTED","threadId":{thread},"runId":{run}}}"#),
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#.into(),
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Good day."}"#.into(),
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#.into(),
            format!(r#"{{"type":"RUN_FINISHED","threadId":{thread},"runId":{run}}}"#),
        ];
        let body: String = events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        answer(stream, "200 OK", SSE, &body)
    });
    let ran = init(
        folder.path(),
        &[
            &format!("http://127.0.0.1:{}/", server.port),
            "--name",
            "desk",
        ],
    );
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    assert!(both(&ran).contains("Good day."), "{}", both(&ran));
    let expected = format!(
        "[agents.desk]\nkind = \"ag-ui\"\nurl = \"http://127.0.0.1:{}/\"\n",
        server.port
    );
    assert_eq!(config(folder.path()), expected);
}

#[test]
fn init_imports_python_only_with_trust() {
    let folder = tempfile::tempdir().unwrap();
    let source =
        "open('imported', 'w').close()\n\ndef answer(prompt):\n    return 'You wrote ' + prompt\n";
    std::fs::write(folder.path().join("desk.py"), source).unwrap();
    let refused = init(folder.path(), &["desk.py:answer"]);
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    assert!(!folder.path().join("imported").exists());
    let ran = init(
        folder.path(),
        &["desk.py:answer", "--trust", "--prompt", "Hi"],
    );
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    assert!(both(&ran).contains("You wrote Hi"), "{}", both(&ran));
    assert_eq!(
        config(folder.path()),
        "[agents.answer]\nkind = \"python\"\nfunction = \"desk.py:answer\"\n"
    );
}

#[test]
fn init_writes_nothing_if_agent_fails() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("broken.py"),
        "def answer(prompt):\n    raise ValueError('no')\n",
    )
    .unwrap();
    let ran = init(folder.path(), &["broken.py:answer", "--trust"]);
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    assert!(both(&ran).contains("nothing was written"), "{}", both(&ran));
    assert_eq!(config(folder.path()), "");
    let nowhere = init(folder.path(), &["http://127.0.0.1:9/"]);
    assert!(
        both(&nowhere).contains("nothing answers at http://127.0.0.1:9"),
        "{}",
        both(&nowhere)
    );
}
