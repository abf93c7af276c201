//! Agents that speak the protocols of `crates/evaltrail-engine/src/agents`, at servers that misbehave: an endless stream, a huge body, deep
//! nesting, another version, a redirect, a connection that breaks.
#![cfg(unix)]

use crate::common::scripted::{JSON, Received, SSE, ScriptedServer, answer};
use crate::common::{both, evaltrail, output, peak_of, text};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// A protocol at a scripted server: how it is addressed, and what a server sends that works.
struct Kind {
    name: &'static str,
    /// The address after the port.
    address: &'static str,
    /// The type and the body of the reply to a turn.
    reply: (&'static str, &'static str),
    /// A piece of an endless reply.
    endless: &'static str,
}

const KINDS: [Kind; 8] = [
    Kind {
        name: "a2a",
        address: "/",
        reply: (
            SSE,
            "data: {\"result\":{\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"ok\"}]}}}\n\n",
        ),
        endless: "data: {\"result\":{\"statusUpdate\":{\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}}}\n\n",
    },
    Kind {
        name: "ag-ui",
        address: "/",
        reply: (
            SSE,
            "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"ok\"}\n\ndata: {\"type\":\"RUN_FINISHED\"}\n\n",
        ),
        endless: "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"more\"}\n\n",
    },
    Kind {
        name: "agent-engine",
        address: "/v1/engine",
        reply: (
            JSON,
            "{\"author\":\"a\",\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"ok\"}]}}\n",
        ),
        endless: "{\"author\":\"a\",\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"more\"}]}}\n",
    },
    Kind {
        name: "http",
        address: "/chat#response=$.text&body=hi",
        reply: (JSON, "{\"text\":\"ok\"}"),
        endless: "{\"text\":\"more\"}\n",
    },
    Kind {
        name: "langgraph",
        address: "",
        reply: (
            SSE,
            "event: updates\ndata: {\"n\":{\"messages\":[{\"type\":\"ai\",\"id\":\"m\",\"content\":\"ok\"}]}}\n\n",
        ),
        endless: "event: updates\ndata: {\"n\":{\"messages\":[{\"type\":\"ai\",\"content\":\"more\"}]}}\n\n",
    },
    Kind {
        name: "mcp",
        address: "/mcp",
        reply: (
            JSON,
            "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}",
        ),
        endless: "{\"x\": ",
    },
    Kind {
        name: "openai",
        address: "/v1#model=m",
        reply: (
            SSE,
            "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        endless: "data: {\"choices\":[{\"delta\":{\"content\":\"more and more and more of the same words, on and on\"}}]}\n\n",
    },
    Kind {
        name: "openai",
        address: "/v1#model=m&api=responses&stream=false",
        reply: (
            JSON,
            "{\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"ok\"}]}]}",
        ),
        endless: "[",
    },
];

impl Kind {
    /// The address of the agent. A template is in `evaltrail.toml`, because an address cannot contain it.
    fn agent(&self, port: u16, folder: &Path) -> String {
        let kind = self.name;
        if kind != "http" {
            return format!("{kind}+http://127.0.0.1:{port}{}", self.address);
        }
        let config = format!(
            "[agents.shop]\nkind = \"http\"\nurl = \"http://127.0.0.1:{port}/chat\"\nbody = {{ q = \"{{prompt}}\" }}\nresponse = \"$.text\"\n"
        );
        std::fs::write(folder.join("evaltrail.toml"), config).unwrap();
        "shop".into()
    }

    /// Replies to a request that is not a turn. Returns whether it was one.
    fn greets(&self, request: &Received, stream: &mut TcpStream) -> std::io::Result<bool> {
        let port = stream.local_addr()?.port();
        let base = format!("http://127.0.0.1:{port}/");
        let interface =
            json!({"url": base, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        let card = json!({"supportedInterfaces": [interface], "capabilities": {"streaming": true}});
        let greeting = match request.line.split(' ').nth(1).unwrap_or_default() {
            "/.well-known/agent-card.json" => card,
            "/assistants/search" => json!([{"assistant_id": "a", "graph_id": "g"}]),
            "/v1/engine:query" => json!({"output": {"id": "s"}}),
            "/mcp" if request.body["method"] != "tools/call" => {
                let schema = json!({"properties": {"prompt": {"type": "string"}}});
                let tools = json!([{"name": "ask", "inputSchema": schema}]);
                json!({"jsonrpc": "2.0", "id": request.body["id"], "result": {"protocolVersion": "2025-11-25", "tools": tools}})
            }
            path if path.ends_with("/schemas") => json!({}),
            _ => return Ok(false),
        };
        answer(stream, "200 OK", JSON, &greeting.to_string()).map(|()| true)
    }
}

/// Two cases: at the first one the server misbehaves.
fn cases(folder: &Path) {
    let case = |id: &str| {
        json!({"eval_id": id, "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": id}]},
            "final_response": {"role": "model", "parts": [{"text": "ok"}]},
        }]})
    };
    let set = json!({"eval_set_id": "s", "eval_cases": [case("misbehave"), case("behave")]});
    std::fs::write(folder.join("s.evalset.json"), set.to_string()).unwrap();
    let criteria = json!({"criteria": {"response_match_score": 0.8}});
    std::fs::write(folder.join("test_config.json"), criteria.to_string()).unwrap();
}

/// The errors of the first case with each kind. The other case must not be harmed, and memory must be bounded.
fn errors(
    misbehave: impl Fn(&Kind, &mut TcpStream) -> std::io::Result<()> + Send + Sync + Clone + 'static,
) -> Vec<(String, String)> {
    KINDS
        .iter()
        .map(|kind| {
            let misbehave = misbehave.clone();
            let server = ScriptedServer::start(move |request, stream| {
                if kind.greets(request, stream)? {
                    return Ok(());
                }
                match request.body.to_string().contains("misbehave") {
                    true => misbehave(kind, stream),
                    false => answer(stream, "200 OK", kind.reply.0, kind.reply.1),
                }
            });
            let folder = tempfile::tempdir().unwrap();
            cases(folder.path());
            let agent = kind.agent(server.port, folder.path());
            let (idle, _) = peak_and_report(folder.path(), &agent, "s.evalset.json:behave");
            let (peak, report) = peak_and_report(folder.path(), &agent, "s.evalset.json");
            let grown = peak.saturating_sub(idle);
            assert!(
                grown < TURN_MEMORY + BUFFERS,
                "{}: {idle} MB without the reply, {peak} MB with it",
                kind.name
            );
            let case = |at: usize| report["cases"][at].clone();
            assert_eq!(case(1)["status"], "passed", "{}: {}", kind.name, case(1));
            assert_eq!(case(0)["status"], "errored", "{}: {}", kind.name, case(0));
            (
                format!("{}{}", kind.name, kind.address),
                case(0)["error"].as_str().unwrap().to_string(),
            )
        })
        .collect()
}

/// The default of `turn_memory_mb`, in MB.
const TURN_MEMORY: u64 = 64;

/// What a run with a large reply may take for buffers in addition to the reply, in MB.
const BUFFERS: u64 = 20;

/// Runs `target`, which is the eval set in `folder` or a case of it. Returns the largest memory of the process in MB, and the report.
fn peak_and_report(folder: &Path, agent: &str, target: &str) -> (u64, Value) {
    let report = folder.join("report.json");
    let child = evaltrail(folder)
        .current_dir(folder)
        .args(["run", target, "--trust", ".", "--agent", agent])
        .args(["--retries", "0", "--timeout", "300s", "--report"])
        .arg(format!("json={}", report.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let peak = peak_of(child);
    let report = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    (peak, report)
}

#[test]
fn an_endless_reply_is_ended() {
    let endless = |kind: &Kind, stream: &mut TcpStream| {
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\n\r\n",
            kind.reply.0
        )?;
        let pieces = kind.endless.repeat(1000);
        loop {
            stream.write_all(pieces.as_bytes())?;
        }
    };
    for (kind, error) in errors(endless) {
        assert!(error.contains("MB"), "{kind}: {error}");
    }
}

#[test]
fn a_huge_body_is_not_read() {
    let huge = |kind: &Kind, stream: &mut TcpStream| {
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
            kind.reply.0,
            1 << 30
        )?;
        let piece = vec![b'x'; 1 << 20];
        (0..1024).try_for_each(|_| stream.write_all(&piece))
    };
    for (kind, error) in errors(huge) {
        assert!(error.contains("longer than"), "{kind}: {error}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |kind: &Kind, stream: &mut TcpStream| {
        let value = "[".repeat(200_000);
        let body = if kind.reply.0 == SSE {
            format!("data: {value}\n\n")
        } else {
            format!("{value}\n")
        };
        answer(stream, "200 OK", kind.reply.0, &body)
    };
    for (kind, error) in errors(deep) {
        assert!(error.contains("not JSON"), "{kind}: {error}");
    }
}

#[test]
fn a_reply_of_another_protocol_is_an_error() {
    let other =
        |_: &Kind, stream: &mut TcpStream| answer(stream, "200 OK", JSON, "{\"unexpected\": true}");
    for (kind, error) in errors(other) {
        assert!(!error.is_empty(), "{kind}: {error}");
    }
    let refused = |_: &Kind, stream: &mut TcpStream| {
        answer(
            stream,
            "400 Bad Request",
            JSON,
            "{\"error\": {\"message\": \"version 7 is needed\"}}",
        )
    };
    for (kind, error) in errors(refused) {
        assert!(
            error.contains("400 Bad Request: version 7 is needed"),
            "{kind}: {error}"
        );
    }
}

#[test]
fn a_connection_that_breaks_is_an_error() {
    let dies = |kind: &Kind, stream: &mut TcpStream| {
        let half = &kind.reply.1[..kind.reply.1.len() / 2];
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: 4096\r\n\r\n{half}",
            kind.reply.0
        )
    };
    for (kind, error) in errors(dies) {
        assert!(error.contains("cut off"), "{kind}: {error}");
    }
}

#[test]
fn a_redirect_gets_no_key_and_no_message() {
    let elsewhere = ScriptedServer::start(|_, stream| answer(stream, "200 OK", JSON, "{}"));
    let port = elsewhere.port;
    let redirect = move |_: &Kind, stream: &mut TcpStream| {
        let target = format!("http://127.0.0.1:{port}/?token=secret");
        write!(
            stream,
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    };
    for (kind, error) in errors(redirect) {
        assert!(
            error.contains("redirects to") && !error.contains("secret"),
            "{kind}: {error}"
        );
    }
    assert!(
        elsewhere.received().is_empty(),
        "{:?}",
        elsewhere.received()
    );
}

#[test]
fn invalid_agent_address_names_the_problem() {
    let folder = tempfile::tempdir().unwrap();
    cases(folder.path());
    let run = |agent: &str| {
        let mut command: Command = evaltrail(folder.path());
        command.current_dir(folder.path()).args([
            "run",
            "s.evalset.json",
            "--agent",
            agent,
            "--timeout",
            "5s",
        ]);
        both(&output(&mut command))
    };
    let said = run("a2a+http://127.0.0.1:9#token_env=NOT_SET_ANYWHERE");
    assert!(
        said.contains("needs NOT_SET_ANYWHERE, which is not set"),
        "{said}"
    );
    let said = run("a2a+http://127.0.0.1:9#steam=false");
    assert!(
        said.contains("unknown field `steam`, expected `stream` or `binding`"),
        "{said}"
    );
    let said = run("openai+http://127.0.0.1:9/v1");
    assert!(said.contains("missing field `model`"), "{said}");
    let said = run("grpc+http://127.0.0.1:9/v1");
    assert!(said.contains("not a way to reach an agent"), "{said}");
}

#[test]
fn agents_list_is_offline_and_check_connects() {
    let card = json!({"name": "desk", "description": "a desk", "capabilities": {"streaming": true},
        "skills": [{"id": "desk-get_weather", "tags": ["llm", "tools"]}]});
    let a2a = ScriptedServer::start(move |request, stream| {
        let port = stream.local_addr()?.port();
        let mut card = card.clone();
        card["supportedInterfaces"] = json!([{"url": format!("http://127.0.0.1:{port}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
        match request.line.starts_with("GET") {
            true => answer(stream, "200 OK", JSON, &card.to_string()),
            false => answer(stream, "200 OK", KINDS[0].reply.0, KINDS[0].reply.1),
        }
    });
    let shop = ScriptedServer::start(|_, stream| {
        answer(stream, "200 OK", JSON, "{\"text\": \"ok\", \"steps\": []}")
    });
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "[agents.desk]\nkind = \"a2a\"\nurl = \"http://127.0.0.1:{}/\"\n\n[agents.shop]\nkind = \"http\"\nurl = \"http://127.0.0.1:{}/\"\n\
         body = {{ q = \"{{prompt}}\" }}\nresponse = \"$.words\"\ncalls = {{ path = \"$.steps\", name = \"$.name\" }}\n",
        a2a.port, shop.port
    );
    std::fs::write(folder.path().join("evaltrail.toml"), config).unwrap();
    let run = |args: &[&str]| {
        let mut command = evaltrail(folder.path());
        output(command.current_dir(folder.path()).arg("agents").args(args))
    };
    let listed: Value = serde_json::from_str(&text(&run(&["--json"]))).unwrap();
    assert_eq!(
        (&listed[0]["kind"], &listed[1]["kind"]),
        (&json!("a2a"), &json!("http"))
    );
    assert!(
        listed[0]["state"].as_str().unwrap().contains("permission"),
        "{listed}"
    );
    assert!(
        a2a.received().is_empty() && shop.received().is_empty(),
        "a list contacts nobody without permission"
    );

    let checked = run(&["check", "desk", "--trust", "--prompt", "hi"]);
    let said = text(&checked);
    for words in [
        "a desk",
        "1.0, JSON-RPC, streamed",
        "tools: get_weather",
        "does not report all its tool calls",
        "response  ok",
    ] {
        assert!(said.contains(words), "{words}: {}", both(&checked));
    }
    assert!(checked.status.success());

    let checked = run(&["check", "shop", "--trust", "--prompt", "hi"]);
    let said = text(&checked);
    for words in [
        "\"q\": \"hi\"",
        "200 OK",
        "$.words  →  nothing",
        "$.steps  →  []",
    ] {
        assert!(said.contains(words), "{words}: {}", both(&checked));
    }
    assert_eq!(
        (checked.status.code(), shop.received().len()),
        (Some(1), 1),
        "the message is sent once"
    );

    let missing = run(&["check", "nobody"]);
    assert!(
        both(&missing).contains("there is no agent \"nobody\"; known agents: "),
        "{}",
        both(&missing)
    );
}

#[test]
fn adk_js_error_event_is_reported() {
    let event = |at: u64, more: Value| {
        let mut event = json!({"author": "desk", "invocationId": "e", "timestamp": at});
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        format!("data: {event}\n\n")
    };
    let call = json!({"content": {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}}]}});
    let broke = json!({"errorCode": "UNKNOWN_ERROR", "errorMessage": "the model broke on purpose"});
    let reply = event(1_795_294_279_000, call) + &event(1_795_294_280_000, broke);
    let server = ScriptedServer::start(move |request, stream| match request.line.as_str() {
        line if line.contains("/list-apps") => answer(stream, "200 OK", JSON, "[\"app\"]"),
        line if line.contains("/sessions") => answer(stream, "200 OK", JSON, "{\"id\": \"s\"}"),
        _ => answer(stream, "200 OK", SSE, &reply),
    });
    let folder = tempfile::tempdir().unwrap();
    cases(folder.path());
    let mut command = evaltrail(folder.path());
    command
        .current_dir(folder.path())
        .args(["run", "s.evalset.json:behave", "--json", "--agent"]);
    let out = output(command.arg(format!("adk+http://127.0.0.1:{}/app", server.port)));
    let report: Value = serde_json::from_str(&text(&out)).unwrap();
    assert_eq!(
        report["cases"][0]["error"], "UNKNOWN_ERROR: the model broke on purpose",
        "{report}"
    );
    assert_eq!(
        report["cases"][0]["invocations"][0]["actual"]["tool_calls"][0]["name"], "t",
        "{report}"
    );
}

/// A server of A2A that speaks only the other version than its card says, or that fails after it has begun.
#[test]
fn a2a_version_fallback_only_before_start() {
    let run = |begins: bool| {
        let server = ScriptedServer::start(move |request, stream| {
            let port = stream.local_addr()?.port();
            let card = json!({"url": format!("http://127.0.0.1:{port}/"), "protocolVersion": "0.3.0", "capabilities": {"streaming": begins}});
            let unknown = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}});
            let submitted = json!({"result": {"id": "t", "contextId": "c", "kind": "task", "status": {"state": "submitted"}}});
            let message =
                json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "ok"}]});
            let answered = json!({"jsonrpc": "2.0", "id": 1, "result": {"message": message}});
            let body = match request.body["method"].as_str() {
                None => card,
                Some("message/stream") => submitted,
                Some("SendMessage") => answered,
                Some(_) => unknown,
            };
            let pretty = serde_json::to_string_pretty(&body)?;
            answer(stream, "200 OK", JSON, &pretty)
        });
        let folder = tempfile::tempdir().unwrap();
        cases(folder.path());
        let mut command = evaltrail(folder.path());
        command.current_dir(folder.path()).args([
            "run",
            "s.evalset.json:behave",
            "--json",
            "--agent",
        ]);
        let out = output(command.arg(format!("a2a+http://127.0.0.1:{}/", server.port)));
        let report: Value = serde_json::from_str(&text(&out)).unwrap();
        let methods = server
            .received()
            .iter()
            .filter_map(|one| one.body["method"].as_str().map(str::to_string))
            .collect::<Vec<_>>();
        (report["cases"][0].clone(), methods)
    };
    let (case, methods) = run(false);
    assert_eq!(case["status"], "passed", "{case}");
    assert_eq!(methods, ["message/send", "SendMessage"]);
    let (case, methods) = run(true);
    assert_eq!(case["status"], "errored", "{case}");
    assert!(
        !methods.iter().any(|method| method.starts_with("Send")),
        "the message is sent once: {methods:?}"
    );
}

#[test]
fn requests_go_only_to_allowed_server() {
    let elsewhere = ScriptedServer::start(|_, stream| answer(stream, "200 OK", JSON, "{}"));
    let folder = tempfile::tempdir().unwrap();
    cases(folder.path());
    let run = |config: String| {
        std::fs::write(folder.path().join("evaltrail.toml"), config).unwrap();
        let mut command = evaltrail(folder.path());
        command
            .current_dir(folder.path())
            .env("SECRET_KEY", "secret-value");
        both(&output(command.args([
            "run",
            "s.evalset.json",
            "--agent",
            "a",
        ])))
    };
    let at = format!("@127.0.0.1:{}/", elsewhere.port);
    let start = "kind = \"a2a\"\nstart = \"python3 -m http.server {port}\"\n";
    let said = run(format!("[agents.a]\n{start}path = \"{at}\"\n"));
    assert!(said.contains("path must begin with /"), "{said}");
    let headers = "headers = { x-key = \"{env.SECRET_KEY}\" }\n";
    let said = run(format!("[agents.a]\n{start}{headers}"));
    assert!(
        said.contains("and send it SECRET_KEY from your environment"),
        "{said}"
    );
    let url =
        "kind = \"a2a\"\nurl = \"http://127.0.0.1:9/\"\ntoken_command = \"print-token --now\"\n";
    let said = run(format!("[agents.a]\n{url}{headers}"));
    let expected = "with SECRET_KEY from your environment and the token that `print-token --now` prints to http://127.0.0.1:9/";
    assert!(said.contains(expected), "{said}");
    assert!(elsewhere.received().is_empty());
}

/// A card of version 1.0 with an interface at `port`, and more members.
fn a2a_card(port: u16, more: Value) -> String {
    let interface = json!({"url": format!("http://127.0.0.1:{port}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let mut card = json!({"name": "desk", "supportedInterfaces": [interface]});
    card.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    card.to_string()
}

#[test]
fn a2a_card_authentication_is_named() {
    let server = ScriptedServer::start(|request, stream| {
        let card = a2a_card(
            stream.local_addr()?.port(),
            json!({
                "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Desk-Key"}}},
                "securityRequirements": [{"schemes": {"key": {"list": []}}}],
            }),
        );
        match request.line.starts_with("GET") {
            true => answer(stream, "200 OK", JSON, &card),
            false => answer(
                stream,
                "401 Unauthorized",
                JSON,
                "{\"error\": \"who are you?\"}",
            ),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let agent = format!("a2a+http://127.0.0.1:{}/", server.port);
    let mut command = evaltrail(folder.path());
    let checked = output(
        command
            .current_dir(folder.path())
            .args(["agents", "check", &agent, "--trust", "--prompt", "hi"]),
    );
    let said = both(&checked);
    let asked = "an API key in the header \"X-Desk-Key\" (headers)";
    assert!(said.contains(&format!("authentication  {asked}")), "{said}");
    assert!(
        said.contains(&format!("who are you?; the agent's card asks for {asked}")),
        "{said}"
    );
}

#[test]
fn every_report_marks_an_agents_question() {
    let server = ScriptedServer::start(|request, stream| {
        let question =
            json!({"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "Which city?"}]});
        let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": question}});
        let card = a2a_card(stream.local_addr()?.port(), json!({}));
        match request.line.starts_with("GET") {
            true => answer(stream, "200 OK", JSON, &card),
            false => answer(
                stream,
                "200 OK",
                JSON,
                &json!({"jsonrpc": "2.0", "id": request.body["id"], "result": {"task": task}})
                    .to_string(),
            ),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    cases(folder.path());
    let mut command = evaltrail(folder.path());
    command
        .current_dir(folder.path())
        .args(["run", "s.evalset.json:behave", "--trust", "."]);
    command.args(["--agent", &format!("a2a+http://127.0.0.1:{}/", server.port)]);
    let formats = ["junit", "markdown", "html", "csv"];
    for format in formats {
        command.args(["--report", &format!("{format}=report.{format}")]);
    }
    let run = output(&mut command);
    let read = |format: &str| {
        std::fs::read_to_string(folder.path().join(format!("report.{format}"))).unwrap()
    };
    for (name, report) in formats
        .map(|format| (format, read(format)))
        .into_iter()
        .chain([("text", both(&run))])
    {
        assert!(report.contains("asks for input"), "{name}: {report}");
    }
}
