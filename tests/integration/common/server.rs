//! A test double for an ADK server. It checks requests strictly and simulates faults; the user's message selects the
//! fault.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The variant of ADK whose API the server imitates.
#[derive(Clone, Copy, PartialEq)]
pub enum Dialect {
    Python,
    /// The session's id is only in the path, unknown fields are rejected, and errors are server-sent events of type
    /// `error`.
    Go,
}

/// The server and what it received.
pub struct Double {
    pub port: u16,
    pub seen: Arc<Mutex<Seen>>,
    is_stopped: Arc<AtomicBool>,
}

#[derive(Default)]
pub struct Seen {
    /// Number of runs, by prompt.
    pub runs: HashMap<String, usize>,
    /// State of the sessions that exist, by id.
    pub sessions: HashMap<String, Value>,
    /// Number of deleted sessions.
    pub deleted: usize,
    /// Number of requests with a prompt that starts with `busy`, by prompt. The first one gets status 429.
    pub busy: HashMap<String, usize>,
    /// Requests that ADK would reject.
    pub wrong: Vec<String>,
}

impl Double {
    pub fn start() -> Double {
        Double::speaking(Dialect::Python)
    }

    pub fn speaking(dialect: Dialect) -> Double {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stops = is_stopped.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stops.load(Ordering::SeqCst) {
                    break;
                }
                let seen = shared.clone();
                std::thread::spawn(move || serve(stream, &seen, dialect));
            }
        });
        Double {
            port,
            seen,
            is_stopped,
        }
    }

    /// Ends the server: connections are refused from now on.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }

    pub fn agent(&self) -> String {
        format!("adk+http://127.0.0.1:{}/app", self.port)
    }
}

struct Request {
    method: String,
    path: String,
    body: Value,
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        method,
        path,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

fn serve(stream: TcpStream, seen: &Mutex<Seen>, dialect: Dialect) {
    let Some(request) = read(&stream) else { return };
    let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", ["list-apps"]) => answer(&stream, "200 OK", "[\"app\"]"),
        // It describes nothing, as servers in other languages than Python.
        ("GET", ["apps", "app", "app-info"]) => answer(&stream, "404 Not Found", "{}"),
        ("POST", ["apps", "app", "users", _, "sessions"]) if dialect == Dialect::Go => {
            answer(
                &stream,
                "400 Bad Request",
                "{\"error\": \"unknown field sessionId\"}",
            );
        }
        ("POST", ["apps", "app", "users", _, "sessions", id]) if dialect == Dialect::Go => {
            let known: Vec<&String> = request
                .body
                .as_object()
                .map(|map| map.keys().collect())
                .unwrap_or_default();
            if known != ["state"] {
                seen.lock().unwrap().wrong.push(request.body.to_string());
            }
            seen.lock()
                .unwrap()
                .sessions
                .insert(id.to_string(), request.body["state"].clone());
            answer(
                &stream,
                "200 OK",
                &json!({"id": id, "lastUpdateTime": 1}).to_string(),
            );
        }
        ("POST", ["apps", "app", "users", _, "sessions"]) => {
            let id = request.body["sessionId"]
                .as_str()
                .unwrap_or("made-up")
                .to_string();
            seen.lock()
                .unwrap()
                .sessions
                .insert(id.clone(), request.body["state"].clone());
            answer(
                &stream,
                "200 OK",
                &json!({"id": id, "appName": "app"}).to_string(),
            );
        }
        ("DELETE", ["apps", "app", "users", _, "sessions", id]) => {
            let mut seen = seen.lock().unwrap();
            if seen.sessions.remove(*id).is_some() {
                seen.deleted += 1;
            }
            drop(seen);
            answer(&stream, "200 OK", "null");
        }
        ("POST", ["run_sse"]) => run(stream, &request.body, seen),
        _ => {
            seen.lock()
                .unwrap()
                .wrong
                .push(format!("{} {}", request.method, request.path));
            answer(&stream, "404 Not Found", "{\"detail\": \"Not Found\"}");
        }
    }
}

fn answer(mut stream: &TcpStream, status: &str, body: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

fn event(text: &str) -> String {
    let event = json!({
        "invocationId": "e-1", "author": "app", "timestamp": 1.0,
        "content": {"role": "model", "parts": [{"text": text}]},
    });
    format!("data: {event}\n\n")
}

fn run(mut stream: TcpStream, body: &Value, seen: &Mutex<Seen>) {
    let prompt = body["newMessage"]["parts"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    {
        let mut seen = seen.lock().unwrap();
        let known = body["sessionId"]
            .as_str()
            .is_some_and(|id| seen.sessions.contains_key(id));
        if !known || body["appName"] != "app" || body["streaming"] != false {
            seen.wrong.push(body.to_string());
        }
        *seen.runs.entry(prompt.clone()).or_default() += 1;
    }
    let headers = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let end = "0\r\n\r\n";
    let mut write = |text: String| {
        stream
            .write_all(text.as_bytes())
            .and_then(|()| stream.flush())
    };
    let _ = match prompt.split(' ').next().unwrap_or_default() {
        "silent" => {
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        "drip" => {
            let _ = write(format!("{headers}{}", chunk(&event("I begin"))));
            (0..300).try_for_each(|_| {
                std::thread::sleep(Duration::from_millis(100));
                write(chunk(": still here\n"))
            })
        }
        "broken" => write("HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 21\r\n\r\nInternal Server Error".into()),
        "garbage" => write(format!("{headers}{}{end}", chunk("data: {not json}\n\n"))),
        "nothing" => write(format!("{headers}{end}")),
        "cut" => write(format!("{headers}{}", &chunk(&event("half an"))[..40])),
        "named" => {
            let error = "event: error\ndata: {\"error\": \"tool failed\"}\n\n";
            write(format!("{headers}{}{end}", chunk(error)))
        }
        "hostile" => {
            let bad = "\u{1b}]0;owned\u{7}\u{9b}31m \u{202e}evil \u{200b} a\tb\r\n::set-env name=x::y";
            write(format!("{headers}{}{end}", chunk(&event(&format!("{bad}{}", "y".repeat(1 << 20))))))
        }
        "raises" => {
            let error = "data: {\"error\": \"RuntimeError: no such tool\"}\n\n";
            write(format!("{headers}{}{}{end}", chunk(&event("I try")), chunk(error)))
        }
        "busy" => {
            let mut seen = seen.lock().unwrap();
            let times = seen.busy.entry(prompt.clone()).or_default();
            *times += 1;
            let first = *times == 1;
            drop(seen);
            match first {
                true => write("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into()),
                false => write(format!("{headers}{}{end}", chunk(&event("ok")))),
            }
        }
        "overloaded" => write("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy".into()),
        "slow" => {
            std::thread::sleep(Duration::from_millis(300));
            write(format!("{headers}{}{end}", chunk(&event("ok"))))
        }
        _ => {
            std::thread::sleep(Duration::from_millis(4));
            write(format!("{headers}{}{end}", chunk(&event("ok"))))
        }
    };
}
