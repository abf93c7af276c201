//! Hostile requests to the server that agents ask: each is refused, and the calls of other attempts are still answered.

use super::server::ToolServer;
use crate::stubs::{AttemptTools, StubFile};
use evaltrail_core::domain::{McpSource, StubMode, ToolsSpec, TraceSource};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use url::Url;

const DECLARATIONS: &str =
    r#"[{"name": "get", "description": "", "parameters": {"type": "object"}}]"#;

/// A server with one attempt under way, whose tool `get` has an answer.
struct TestServer {
    server: ToolServer,
    tools: Arc<AttemptTools>,
    address: String,
    client: Client,
    #[expect(dead_code, reason = "the attempt ends with it")]
    admission: super::AttemptRegistration,
    #[expect(dead_code, reason = "removed with it")]
    folder: tempfile::TempDir,
    #[expect(dead_code, reason = "the tests share the memory of the process")]
    alone: tokio::sync::MutexGuard<'static, ()>,
}

static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

impl TestServer {
    async fn start() -> TestServer {
        let alone = ALONE.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let declarations = folder.path().join("tools.json");
        std::fs::write(&declarations, DECLARATIONS).unwrap();
        let source = McpSource {
            url: None,
            declarations: Some(declarations),
        };
        let spec = ToolsSpec {
            stubs: StubMode::Fail,
            mcp: BTreeMap::from([("DESK".to_string(), source)]),
            traces: TraceSource::Started,
            ..ToolsSpec::default()
        };
        let server = ToolServer::start(&spec, true).await.unwrap();
        let stubs = Arc::new(StubFile::parse(r#"{"tool": "get", "response": {"n": 1}}"#).unwrap());
        let tools = Arc::new(AttemptTools::new((&spec, false), stubs, "c", &[]));
        tools.begin_turn(1);
        let admission = server.register_attempt("session", tools.clone()).await;
        let address = server.url();
        let client = crate::net::http::client(&Url::parse(&address).unwrap()).unwrap();
        TestServer {
            server,
            tools,
            address,
            client,
            admission,
            folder,
            alone,
        }
    }

    async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> Response {
        let request = self.client.post(format!("{}/{path}", self.address));
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        request.body(body).send().await.unwrap()
    }

    /// Asserts the status of the answer to a body. The server does not read a body that is too long to its end, so that
    /// a client may see the end of the connection instead of the answer.
    async fn asserts_status(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
        status: StatusCode,
    ) {
        let is_too_long = body.len() > 16 << 20;
        let shown = String::from_utf8_lossy(&body[..body.len().min(10)]).into_owned();
        let request = self
            .client
            .post(format!("{}/{path}", self.address))
            .body(body);
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        match request.send().await {
            Ok(answer) => assert_eq!(answer.status(), status, "{path} {shown}"),
            Err(error) => assert!(is_too_long, "{path} {shown}: {error}"),
        }
    }

    async fn asserts_that_calls_are_answered(&self) {
        let call = json!({"session": "session", "tool": "get", "args": {}}).to_string();
        let answer: Value =
            serde_json::from_str(&self.post("call", &[], call).await.text().await.unwrap())
                .unwrap();
        assert_eq!(answer, json!({"response": {"n": 1}}));
    }
}

#[tokio::test]
async fn hostile_calls_are_refused() {
    let server = TestServer::start().await;
    let huge = || "x".repeat(17 << 20);
    let deep = || "[".repeat(200_000);
    for (path, body, status) in [
        ("call", huge(), StatusCode::PAYLOAD_TOO_LARGE),
        ("call", deep(), StatusCode::BAD_REQUEST),
        ("call", "no JSON".into(), StatusCode::BAD_REQUEST),
        ("other", "{}".into(), StatusCode::NOT_FOUND),
        ("../call", "{}".into(), StatusCode::NOT_FOUND),
        ("mcp/OTHER", "{}".into(), StatusCode::NOT_FOUND),
        ("mcp/DESK", huge(), StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        server
            .asserts_status(path, &[], body.into_bytes(), status)
            .await;
    }
    let without_token = server.address.rsplit_once('/').unwrap().0.to_string() + "/call";
    assert_eq!(
        server
            .client
            .post(without_token)
            .send()
            .await
            .unwrap()
            .status(),
        StatusCode::NOT_FOUND
    );
    for body in [
        deep(),
        json!([{"method": "tools/call", "id": 1}]).to_string(),
    ] {
        let refused = server
            .post("mcp/DESK", &[], body)
            .await
            .text()
            .await
            .unwrap();
        assert!(refused.contains("single messages only"), "{refused}");
    }
    let other = json!({"session": "../session", "tool": "get"}).to_string();
    assert!(
        server
            .post("call", &[], other)
            .await
            .text()
            .await
            .unwrap()
            .contains("not part of the evaluation")
    );
    server.asserts_that_calls_are_answered().await;
}

#[tokio::test]
async fn invalid_server_url_is_shown_without_secrets() {
    let url = Some("http://me:canary@host:wrong/x?key=canary".to_string());
    let source = McpSource {
        url,
        declarations: None,
    };
    let mcp = BTreeMap::from([("DESK".to_string(), source)]);
    let spec = ToolsSpec {
        stubs: StubMode::Live,
        mcp,
        ..ToolsSpec::default()
    };
    let error = ToolServer::start(&spec, true).await.unwrap_err().message;
    assert!(
        error.starts_with("http://…@host:wrong/x?key=…: "),
        "{error}"
    );
}

/// The agent sees a tool that fails, which says nothing about the agent.
#[tokio::test]
async fn oversized_call_is_recorded_as_failure() {
    // The members of a list take many times the memory of its text.
    let many = json!({"session": "session", "tool": "get", "args": {"list": vec![0; 4 << 20]}})
        .to_string();
    let too_long = "x".repeat(17 << 20);
    for (path, body, why) in [
        ("call", &too_long, "16 MB"),
        ("mcp/DESK", &too_long, "16 MB"),
        ("call", &many, "44 MB of memory"),
        ("mcp/DESK/session", &many, "44 MB of memory"),
    ] {
        let server = TestServer::start().await;
        // The connection may be closed before the body was sent.
        let _ = server
            .client
            .post(format!("{}/{path}", server.address))
            .body(body.clone())
            .send()
            .await;
        let failure = server.tools.failure().unwrap_or_default();
        assert!(
            failure.contains("could not receive a call") && failure.contains(why),
            "{path}: {failure}"
        );
        server.asserts_that_calls_are_answered().await;
    }
}

/// The headers of requests are in no budget: they are small.
#[tokio::test]
async fn too_large_headers_are_refused() {
    let server = TestServer::start().await;
    for (bytes, is_read) in [(30 << 10, true), (200 << 10, false)] {
        let asked = server
            .client
            .post(format!("{}/hello", server.address))
            .header("x-large", "x".repeat(bytes));
        let status = asked.send().await.map(|answer| answer.status());
        // The connection may be closed before all headers were sent.
        assert_eq!(
            status.is_ok_and(|status| status.is_success()),
            is_read,
            "{bytes}"
        );
    }
    server.asserts_that_calls_are_answered().await;
}

#[tokio::test]
async fn spans_do_not_take_the_memory_of_calls() {
    use tokio::io::AsyncWriteExt;
    let server = TestServer::start().await;
    let (host, token) = server
        .address
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut unfinished = tokio::net::TcpStream::connect(host).await.unwrap();
    let headers =
        format!("POST /{token}/v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\n\r\n");
    unfinished.write_all(headers.as_bytes()).await.unwrap();
    // Most of it has been received when it is written: the buffers of a connection are smaller.
    unfinished.write_all(&vec![b' '; 15_000_000]).await.unwrap();
    let text = "x".repeat(15 << 20);
    let call = json!({"session": "session", "tool": "get", "args": {"text": text}}).to_string();
    assert_eq!(
        server.post("call", &[], call).await.status(),
        StatusCode::OK
    );
    assert_eq!(server.tools.failure(), None);
}

/// A page in a browser sends its origin with each request.
#[tokio::test]
async fn requests_of_pages_are_refused() {
    let server = TestServer::start().await;
    let origin = [("origin", "https://example.com")];
    for path in ["call", "hello", "v1/traces", "mcp/DESK"] {
        server
            .asserts_status(path, &origin, b"{}".to_vec(), StatusCode::FORBIDDEN)
            .await;
    }
    assert!(!server.server.has_handshake());
    server.asserts_that_calls_are_answered().await;
}

/// Bodies that never arrive, and connections that never send anything, do not keep others out.
#[cfg(unix)]
#[tokio::test]
async fn unfinished_requests_do_not_keep_spans_out() {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpStream;
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let server = TestServer::start().await;
    let (host, token) = server
        .address
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let inbox = server.server.traces().unwrap().clone();
    let open = inbox.open("0af7651916cd43dd8448eb211c80319c");
    let mut waiting = Vec::new();
    for number in 0..600 {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let path = if number % 2 == 0 { "other" } else { token };
        let headers = format!(
            "POST /{path}/v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\n\r\n"
        );
        let request = if number < 550 { headers } else { String::new() };
        // A connection that was closed to make room for another one.
        let _ = stream.write_all(request.as_bytes()).await;
        let _ = stream.write_all(&[b' '; 1000]).await;
        waiting.push(stream);
    }
    let own = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "00f067aa0ba902b7", "parentSpanId": "caller", "name": "invoke_agent"}]}]}]}"#;
    let post = server.post("v1/traces", &[("content-type", "application/json")], own);
    let answer = tokio::time::timeout(std::time::Duration::from_secs(20), post).await;
    assert_eq!(answer.expect("spans are kept out").status(), StatusCode::OK);
    assert_eq!(open.close("caller").await.spans.len(), 1);
    server.asserts_that_calls_are_answered().await;
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A batch with one span: the agent's outermost one in a turn.
fn own_span() -> String {
    let span = json!({"traceId": TRACE, "spanId": "00f067aa0ba902b7", "parentSpanId": "caller", "name": "invoke_agent"});
    json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string()
}

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

impl TestServer {
    /// Sends the agent's outermost span, and asserts that it is in the turn. Returns whether spans may be missing in it.
    async fn is_truncated(&self, open: super::traces::OpenTrace<'_>) -> bool {
        assert_eq!(
            self.post("v1/traces", &JSON, own_span()).await.status(),
            StatusCode::OK
        );
        let found = open.close("caller").await;
        let traces: Vec<&str> = found.spans.iter().map(|span| span.trace.as_str()).collect();
        assert_eq!(traces, [TRACE]);
        found.is_truncated
    }
}

/// A turn during which a batch was lost may have had more calls.
#[tokio::test]
async fn refused_span_batch_marks_turn_truncated() {
    let server = TestServer::start().await;
    let inbox = server.server.traces().unwrap().clone();
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let compressed = [("content-encoding", "gzip")];
    // Millions of values in a short batch.
    let values = own_span().replace(
        "\"name\"",
        &format!("\"attributes\": [{}0], \"name\"", "0,".repeat(4 << 20)),
    );
    for (headers, body, status) in [
        (
            &compressed[..],
            gzip(&vec![0; 64 << 20]),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
        (
            &compressed[..],
            b"no gzip".to_vec(),
            StatusCode::BAD_REQUEST,
        ),
        // Broken Protobuf, one that is nested too deeply, and one that is too long.
        (&[][..], vec![0xff; 100], StatusCode::BAD_REQUEST),
        (
            &[][..],
            [0x0a, 0x7f].repeat(100_000),
            StatusCode::BAD_REQUEST,
        ),
        (&[][..], vec![0; 17 << 20], StatusCode::PAYLOAD_TOO_LARGE),
        (
            &JSON[..],
            "[".repeat(200_000).into_bytes(),
            StatusCode::BAD_REQUEST,
        ),
        (
            &JSON[..],
            values.into_bytes(),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
    ] {
        let open = inbox.open(TRACE);
        let shown = String::from_utf8_lossy(&body[..body.len().min(10)]).into_owned();
        server
            .asserts_status("v1/traces", headers, body, status)
            .await;
        assert!(
            server.is_truncated(open).await,
            "{status} {shown}: a span of the turn may have been in it"
        );
    }
    server.asserts_that_calls_are_answered().await;
}

#[tokio::test]
async fn incomplete_span_batch_marks_turn_truncated() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = TestServer::start().await;
    let inbox = server.server.traces().unwrap().clone();
    let open = inbox.open(TRACE);
    let (host, token) = server
        .address
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut broken = tokio::net::TcpStream::connect(host).await.unwrap();
    let headers =
        format!("POST /{token}/v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{");
    broken.write_all(headers.as_bytes()).await.unwrap();
    broken.shutdown().await.unwrap();
    // The server closes the connection when it has answered.
    let _ = broken.read_to_end(&mut Vec::new()).await;
    assert!(server.is_truncated(open).await);
}

#[tokio::test]
async fn unrelated_span_batch_does_not_truncate_turn() {
    let server = TestServer::start().await;
    let inbox = server.server.traces().unwrap().clone();
    let open = inbox.open(TRACE);
    let of_others = own_span().replace("319c", "319d");
    assert_eq!(
        server.post("v1/traces", &JSON, of_others).await.status(),
        StatusCode::OK
    );
    // Millions of empty spans in a short batch.
    server
        .asserts_status("v1/traces", &[], [0x12, 0].repeat(7 << 20), StatusCode::OK)
        .await;
    assert!(!server.is_truncated(open).await);
}

/// What a client of gRPC sends first.
#[tokio::test]
async fn an_export_over_grpc_is_recognised() {
    let server = TestServer::start().await;
    let inbox = server.server.traces().unwrap().clone();
    assert!(!inbox.is_over_grpc());
    let address = Url::parse(&server.address)
        .unwrap()
        .socket_addrs(|| None)
        .unwrap();
    let mut stream = std::net::TcpStream::connect(&address[..]).unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap();
    let open = inbox.open("01");
    assert_eq!(open.close("caller").await.spans.len(), 0);
    assert!(inbox.is_over_grpc());
    server.asserts_that_calls_are_answered().await;
}
