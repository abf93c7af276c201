//! Hostile requests to the server that agents ask: each is refused, and the calls of other attempts are still answered.

use super::server::ToolServer;
use crate::domain::{McpSource, StubMode, ToolsSpec, TraceSource};
use crate::stubs::{AttemptTools, StubFile};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use url::Url;

const DECLARATIONS: &str = r#"[{"name": "get", "description": "", "parameters": {"type": "object"}}]"#;

/// A server with one attempt under way, whose tool `get` has an answer.
struct Desk {
    server: ToolServer,
    address: String,
    client: Client,
    #[expect(dead_code, reason = "the attempt ends with it")]
    admission: super::Admission,
    #[expect(dead_code, reason = "removed with it")]
    folder: tempfile::TempDir,
}

impl Desk {
    async fn start() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let declarations = folder.path().join("tools.json");
        std::fs::write(&declarations, DECLARATIONS).unwrap();
        let source = McpSource { url: None, declarations: Some(declarations) };
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
        let admission = server.admit("session", tools).await;
        let address = server.url();
        let client = crate::net::http::client(&Url::parse(&address).unwrap()).unwrap();
        Desk { server, address, client, admission, folder }
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: impl Into<reqwest::Body>) -> Response {
        let request = self.client.post(format!("{}/{path}", self.address));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(body).send().await.unwrap()
    }

    /// Asserts the status of the answer to a body. The server does not read a body that is too long to its end, so that
    /// a client may see the end of the connection instead of the answer.
    async fn asserts_status(&self, path: &str, headers: &[(&str, &str)], body: Vec<u8>, status: StatusCode) {
        let is_too_long = body.len() > 16 << 20;
        let shown = String::from_utf8_lossy(&body[..body.len().min(10)]).into_owned();
        let request = self.client.post(format!("{}/{path}", self.address)).body(body);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        match request.send().await {
            Ok(answer) => assert_eq!(answer.status(), status, "{path} {shown}"),
            Err(error) => assert!(is_too_long, "{path} {shown}: {error}"),
        }
    }

    async fn asserts_that_calls_are_answered(&self) {
        let call = json!({"session": "session", "tool": "get", "args": {}}).to_string();
        let answer: Value =
            serde_json::from_str(&self.post("call", &[], call).await.text().await.unwrap()).unwrap();
        assert_eq!(answer, json!({"response": {"n": 1}}));
    }
}

#[tokio::test]
async fn hostile_calls_are_refused() {
    let desk = Desk::start().await;
    let huge = || "x".repeat(17 << 20);
    let deep = || "[".repeat(200_000);
    for (path, body, status) in [
        ("call", huge(), StatusCode::BAD_REQUEST),
        ("call", deep(), StatusCode::BAD_REQUEST),
        ("call", "no JSON".into(), StatusCode::BAD_REQUEST),
        ("other", "{}".into(), StatusCode::NOT_FOUND),
        ("../call", "{}".into(), StatusCode::NOT_FOUND),
        ("mcp/OTHER", "{}".into(), StatusCode::NOT_FOUND),
        ("mcp/DESK", huge(), StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        desk.asserts_status(path, &[], body.into_bytes(), status).await;
    }
    let without_token = desk.address.rsplit_once('/').unwrap().0.to_string() + "/call";
    assert_eq!(desk.client.post(without_token).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    for body in [deep(), json!([{"method": "tools/call", "id": 1}]).to_string()] {
        let refused = desk.post("mcp/DESK", &[], body).await.text().await.unwrap();
        assert!(refused.contains("single messages only"), "{refused}");
    }
    let other = json!({"session": "../session", "tool": "get"}).to_string();
    assert!(desk.post("call", &[], other).await.text().await.unwrap().contains("not part of the evaluation"));
    desk.asserts_that_calls_are_answered().await;
}

#[tokio::test]
async fn hostile_batches_of_spans_are_refused() {
    let desk = Desk::start().await;
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let compressed = [("content-encoding", "gzip")];
    let inbox = desk.server.traces().unwrap().clone();
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let open = inbox.open(trace);
    for (headers, body, status) in [
        (&compressed[..], gzip(&vec![0; 64 << 20]), StatusCode::PAYLOAD_TOO_LARGE),
        (&compressed[..], b"no gzip".to_vec(), StatusCode::BAD_REQUEST),
        // Broken Protobuf, one that is nested too deeply, and one that is too long.
        (&[][..], vec![0xff; 100], StatusCode::BAD_REQUEST),
        (&[][..], [0x0a, 0x7f].repeat(100_000), StatusCode::BAD_REQUEST),
        (&[][..], vec![0; 17 << 20], StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        desk.asserts_status("v1/traces", headers, body, status).await;
    }
    let of_others = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0af7651916cd43dd8448eb211c80319d", "spanId": "00f067aa0ba902b7", "name": "invoke_agent"}]}]}]}"#;
    let json = [("content-type", "application/json")];
    assert_eq!(desk.post("v1/traces", &json, of_others).await.status(), StatusCode::OK);
    assert_eq!(desk.post("v1/traces", &json, "[".repeat(200_000)).await.status(), StatusCode::BAD_REQUEST);
    let own = of_others.replace("319d", "319c").replace("\"name\"", "\"parentSpanId\": \"caller\", \"name\"");
    assert_eq!(desk.post("v1/traces", &json, own).await.status(), StatusCode::OK);
    let names: Vec<String> = open.close("caller").await.spans.into_iter().map(|span| span.trace).collect();
    assert_eq!(names, [trace]);
    desk.asserts_that_calls_are_answered().await;
}
