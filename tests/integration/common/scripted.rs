//! An HTTP server whose replies a test writes.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub const SSE: &str = "text/event-stream";
pub const JSON: &str = "application/json";

/// A request that a server received.
#[derive(Clone, Debug)]
pub struct Received {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// A server whose replies a test writes.
pub struct ScriptedServer {
    pub port: u16,
    pub received: Arc<Mutex<Vec<Received>>>,
}

impl ScriptedServer {
    pub fn start(
        reply: impl Fn(&Received, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> ScriptedServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (seen, reply) = (received.clone(), Arc::new(reply));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (seen, reply) = (seen.clone(), reply.clone());
                std::thread::spawn(move || {
                    if let Some(request) = read_request(&stream) {
                        seen.lock().unwrap().push(request.clone());
                        // A client that has seen enough closes the connection.
                        let _ = reply(&request, &mut stream);
                    }
                });
            }
        });
        ScriptedServer { port, received }
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

/// The request; `None` if the client closes the connection before it sends one.
pub fn read_request(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((key, value)) = header.trim().split_once(':') else {
            break;
        };
        headers.push((key.to_lowercase(), value.trim().to_string()));
    }
    let length = headers
        .iter()
        .find(|(key, _)| key == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Received {
        line: line.trim().to_string(),
        headers,
        body,
    })
}

pub fn answer(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}
