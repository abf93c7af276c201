//! The server that is asked how calls are answered. It listens on this machine only, and its paths begin with a random
//! token, so that only the processes that evaltrail started know it. At a fixed address, the user chooses the token.
//! Pages in a browser are refused: they send a header `Origin`.

use super::attempts::{AttemptRegistration, OpenAttempts};
use super::body::{ResponseBody, empty, reply};
use super::mcp::McpProxy;
use super::received::{ReceiveError, Received};
use super::traces::{TraceInbox, TraceListener};
use crate::agents::AgentError;
use crate::agents::remote::setup;
use crate::stubs::{AttemptTools, ToolAnswer};
use evaltrail_core::domain::{ProgramSpec, ToolCall, ToolsSpec, TraceSource};
use hyper::body::Incoming;
use hyper::header::ORIGIN;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

/// The maximum number of connections at the same time. For another one, the oldest is closed that has not sent the token.
const MAX_CONNECTIONS: usize = 512;
/// The time limit for the headers of a request, from when the connection is ready for it.
const HEADERS_WITHIN: Duration = Duration::from_secs(60);
/// The maximum memory of the headers of a request, in bytes.
const MAX_HEADERS: usize = 64 << 10;
/// How long the server waits after a connection could not be accepted.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// The environment variable that tells an agent's process the address.
pub(super) const ADDRESS_VARIABLE: &str = "EVALTRAIL_TOOLS";
/// The paths to which the exporters of OpenTelemetry and of Langfuse send spans.
const TRACE_PATHS: [&str; 2] = ["v1/traces", "api/public/otel/v1/traces"];
/// The environment variables that make a program export its spans soon, with the arguments of tools.
const EXPORT: [(&str, &str); 6] = [
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
    ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
    ("OTEL_BSP_SCHEDULE_DELAY", "200"),
    (
        "OTEL_SEMCONV_STABILITY_OPT_IN",
        "gen_ai_latest_experimental",
    ),
    (
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        "SPAN_AND_EVENT",
    ),
    ("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "true"),
];
/// The environment variables that take the address to which spans are sent.
const EXPORT_TO: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "LANGFUSE_BASE_URL",
    "LANGFUSE_HOST",
];
/// The environment variable that takes the address for spans alone, and is preferred to those.
const EXPORT_SPANS_TO: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// How a connection of HTTP/2 begins, over which gRPC works.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";
/// The environment variable with the token for spans at a fixed address.
const TRACES_TOKEN: &str = "EVALTRAIL_TRACES_TOKEN";
/// The minimum length of that token.
const SHORTEST_TOKEN: usize = 16;
/// What stands for the id of the session in the address of an MCP server.
const SESSION: &str = "{session}";

/// The server. It stops when this is dropped.
#[derive(Debug)]
pub(crate) struct ToolServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
    /// Receives spans at an address of its own.
    #[expect(dead_code, reason = "stops with the server")]
    listener: Option<Arc<TraceListener>>,
}

#[derive(Debug)]
struct Shared {
    /// The first part of every path.
    token: String,
    /// Whether the agent's process has said that it will ask before each call.
    has_handshake: AtomicBool,
    attempts: Arc<OpenAttempts>,
    /// By the environment variable from which the agent takes the address.
    mcp: BTreeMap<String, McpProxy>,
    traces: Option<Arc<TraceInbox>>,
}

/// What answers the requests at an address.
#[derive(Clone)]
enum Answering {
    /// Everything, at paths that begin with the token.
    All(Arc<Shared>),
    /// Spans only, at paths that begin with the token.
    Traces(String, Arc<TraceInbox>),
}

impl ToolServer {
    /// Starts the server. `is_sure` tells whether every call says to which attempt it belongs.
    pub(crate) async fn start(tools: &ToolsSpec, is_sure: bool) -> Result<ToolServer, AgentError> {
        let failed = |error: io::Error| setup(format!("no port for the server of tools: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let attempts = Arc::new(OpenAttempts::new(is_sure));
        let mut mcp = BTreeMap::new();
        for (variable, source) in &tools.mcp {
            mcp.insert(
                variable.clone(),
                McpProxy::new(source, tools.stubs, attempts.clone())?,
            );
        }
        let listener_of_traces = match &tools.traces {
            TraceSource::At(host_port) => Some(listen_for_traces(host_port)?),
            TraceSource::None | TraceSource::Started => None,
        };
        let traces = match (&tools.traces, &listener_of_traces) {
            (TraceSource::Started, _) => Some(Arc::default()),
            (_, listener) => listener.as_ref().map(|listener| listener.inbox.clone()),
        };
        let shared = Arc::new(Shared {
            token: uuid::Uuid::new_v4().simple().to_string(),
            has_handshake: AtomicBool::new(false),
            attempts,
            mcp,
            traces,
        });
        let serving = tokio::spawn(serve(listener, Answering::All(shared.clone())));
        Ok(ToolServer {
            address,
            shared,
            serving,
            listener: listener_of_traces,
        })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/{}", self.address, self.shared.token)
    }

    /// Tells the program its addresses, by environment variables. `{session}` in them stands for the id of the session if
    /// the program has one process for each attempt.
    pub(crate) fn send_addresses(&self, program: &mut ProgramSpec, is_per_attempt: bool) {
        program
            .variables
            .push((ADDRESS_VARIABLE.into(), self.url()));
        if self.shared.traces.is_some() {
            let set = |(name, value): (&str, &str)| (name.to_string(), value.to_string());
            program.variables.extend(EXPORT.map(set));
            program
                .variables
                .extend(EXPORT_TO.map(|name| (name.to_string(), self.url())));
            program.variables.push((
                EXPORT_SPANS_TO.into(),
                format!("{}/{}", self.url(), TRACE_PATHS[0]),
            ));
        }
        for variable in self.shared.mcp.keys() {
            let session = if is_per_attempt {
                format!("/{SESSION}")
            } else {
                String::new()
            };
            program.variables.push((
                variable.clone(),
                format!("{}/mcp/{variable}{session}", self.url()),
            ));
        }
    }

    /// Receives the spans of turns, if they are asked for.
    pub(crate) fn traces(&self) -> Option<&Arc<TraceInbox>> {
        self.shared.traces.as_ref()
    }

    /// Whether evaltrail stands in for MCP servers.
    pub(crate) fn has_mcp(&self) -> bool {
        !self.shared.mcp.is_empty()
    }

    /// Whether the agent's process has said that it asks before each call.
    pub(crate) fn has_handshake(&self) -> bool {
        self.shared.has_handshake.load(Ordering::Acquire)
    }

    /// Lets an attempt start, as soon as its calls can be told apart from those of other attempts.
    pub(crate) async fn register_attempt(
        &self,
        session: &str,
        tools: Arc<AttemptTools>,
    ) -> AttemptRegistration {
        self.shared.attempts.register_attempt(session, tools).await
    }
}

/// The environment variables of the process of one attempt.
pub(crate) fn for_session(variables: &[(String, String)], session: &str) -> Vec<(String, String)> {
    let session: String = url::form_urlencoded::byte_serialize(session.as_bytes()).collect();
    variables
        .iter()
        .map(|(name, value)| (name.clone(), value.replace(SESSION, &session)))
        .collect()
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Receives spans at an address.
fn listen_for_traces(address: &str) -> Result<Arc<TraceListener>, AgentError> {
    let token = traces_token(address, std::env::var(TRACES_TOKEN).ok()).map_err(setup)?;
    let serve_traces = |listener: std::net::TcpListener, inbox| {
        Ok(tokio::spawn(serve(
            TcpListener::from_std(listener)?,
            Answering::Traces(token, inbox),
        )))
    };
    TraceListener::at(address, serve_traces)
        .map_err(|error| setup(format!("traces cannot be received at {address}: {error}")))
}

/// The token for spans at an address. The error is a message: there is none that others cannot guess.
fn traces_token(address: &str, token: Option<String>) -> Result<String, String> {
    let is_token = |token: &String| {
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_".contains(one);
        token.len() >= SHORTEST_TOKEN && token.chars().all(is_plain)
    };
    token.filter(is_token).ok_or_else(|| {
        format!(
            "spans at {address} need a token, so that no other program can send any: set {TRACES_TOKEN} to at least \
             {SHORTEST_TOKEN} random letters and digits, and start the agent with OTEL_EXPORTER_OTLP_ENDPOINT=http://{address}/TOKEN"
        )
    })
}

/// A connection.
struct OpenConnection {
    task: AbortHandle,
    /// Whether it has sent the token.
    is_known: Arc<AtomicBool>,
}

/// Closes the oldest connection that has not sent the token, if there are too many. Returns whether another one can be
/// accepted.
fn close_oldest_if_full(open: &mut VecDeque<OpenConnection>) -> bool {
    open.retain(|connection| !connection.task.is_finished());
    if open.len() < MAX_CONNECTIONS {
        return true;
    }
    let without_token = open
        .iter()
        .position(|connection| !connection.is_known.load(Ordering::Relaxed));
    match without_token.and_then(|at| open.remove(at)) {
        Some(oldest) => {
            oldest.task.abort();
            true
        }
        None => false,
    }
}

async fn serve(listener: TcpListener, answering: Answering) {
    let (mut connections, mut open) = (JoinSet::new(), VecDeque::new());
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            // For example, there are too many open files.
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        while !close_oldest_if_full(&mut open) {
            connections.join_next().await;
        }
        let (answering, is_known) = (answering.clone(), Arc::new(AtomicBool::new(false)));
        let (seen, inbox) = (is_known.clone(), answering.inbox().cloned());
        let answer = move |request: Request<Incoming>| {
            let (answering, seen) = (answering.clone(), seen.clone());
            async move { Ok::<_, Infallible>(answering.answer(request, &seen).await) }
        };
        let task = connections.spawn(async move {
            if let Some(inbox) = inbox.filter(|inbox| !inbox.is_over_grpc())
                && is_http2(&stream).await
            {
                inbox.saw_grpc();
                return;
            }
            let mut connection = hyper::server::conn::http1::Builder::new();
            connection
                .timer(TokioTimer::new())
                .header_read_timeout(HEADERS_WITHIN)
                .max_buf_size(MAX_HEADERS);
            let _ = connection
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
        open.push_back(OpenConnection { task, is_known });
    }
}

/// Whether a connection begins as those of HTTP/2 do.
async fn is_http2(stream: &TcpStream) -> bool {
    let mut first = [0; HTTP2_PREFACE.len()];
    let peeked = tokio::time::timeout(HEADERS_WITHIN, stream.peek(&mut first)).await;
    matches!(peeked, Ok(Ok(_))) && first == HTTP2_PREFACE
}

impl Answering {
    /// Receives the spans, if they are asked for.
    fn inbox(&self) -> Option<&Arc<TraceInbox>> {
        match self {
            Answering::All(shared) => shared.traces.as_ref(),
            Answering::Traces(_, inbox) => Some(inbox),
        }
    }

    fn token(&self) -> &str {
        match self {
            Answering::All(shared) => &shared.token,
            Answering::Traces(token, _) => token,
        }
    }

    /// Answers a request. `is_known` becomes true if it has the token; the body of another one is not read.
    async fn answer(
        &self,
        request: Request<Incoming>,
        is_known: &AtomicBool,
    ) -> Response<ResponseBody> {
        if request.headers().contains_key(ORIGIN) {
            return empty(StatusCode::FORBIDDEN);
        }
        let path = request.uri().path().trim_start_matches('/').to_string();
        let Some((_, rest)) = path
            .split_once('/')
            .filter(|(token, _)| *token == self.token())
        else {
            return empty(StatusCode::NOT_FOUND);
        };
        is_known.store(true, Ordering::Relaxed);
        let is_traces = request.method() == Method::POST && TRACE_PATHS.contains(&rest);
        match (self, self.inbox()) {
            (_, Some(inbox)) if is_traces => inbox.receive(request).await,
            (Answering::All(shared), _) => shared.answer(request, rest).await,
            (Answering::Traces(..), _) => empty(StatusCode::NOT_FOUND),
        }
    }
}

impl Shared {
    /// Answers a request. `path` is the part after the token.
    async fn answer(&self, request: Request<Incoming>, path: &str) -> Response<ResponseBody> {
        let is_post = request.method() == Method::POST;
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["mcp", variable, session @ ..] if session.len() < 2 => match self.mcp.get(*variable) {
                Some(stand_in) => stand_in.answer(request, session.first().copied()).await,
                None => empty(StatusCode::NOT_FOUND),
            },
            ["hello"] if is_post => {
                self.has_handshake.store(true, Ordering::Release);
                reply(&json!({}))
            }
            ["call"] if is_post => match received_call(request).await {
                Ok((session, call)) => reply(&self.answer_call(&session, call).await),
                Err(why) => {
                    self.attempts.refused(why, None);
                    empty(why.status())
                }
            },
            _ => empty(StatusCode::NOT_FOUND),
        }
    }

    /// How a call is answered: `response`, `live`, or `error` if nothing answers it.
    async fn answer_call(&self, session: &str, call: ToolCall) -> Value {
        let Some(attempt) = self.attempts.of_session(session) else {
            return json!({"error": "evaltrail: this session is not part of the evaluation, or it has ended"});
        };
        match attempt.answer(&call) {
            ToolAnswer::Given { result, after } => {
                drop(call);
                tokio::time::sleep(after).await;
                // Many libraries end the turn when a tool raises: an agent shows what it does only with an answer.
                json!({"response": result.unwrap_or_else(|words| json!({"error": words}))})
            }
            ToolAnswer::Live => {
                attempt.allow(call);
                json!({"live": true})
            }
            ToolAnswer::Missing(why) => json!({"error": why}),
        }
    }
}

/// The session and the call that a request asks about. The memory of the request is free when they are returned: an answer may
/// be given after some time only.
async fn received_call(request: Request<Incoming>) -> Result<(String, ToolCall), ReceiveError> {
    let asked = Received::calls().body(request).await?.json().await?;
    let text = |key: &str| asked.value[key].as_str().unwrap_or_default();
    let call = ToolCall::new(text("tool"), asked.value["args"].as_object().cloned());
    Ok((text("session").to_string(), call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_address_requires_strong_token() {
        let token = |text: &str| traces_token("127.0.0.1:4318", Some(text.to_string()));
        assert_eq!(token("0123456789abcdef"), Ok("0123456789abcdef".into()));
        for wrong in ["", "short", "0123456789abcde/", "0123456789 abcdef"] {
            assert!(
                token(wrong)
                    .unwrap_err()
                    .contains("set EVALTRAIL_TRACES_TOKEN"),
                "{wrong}"
            );
        }
        assert!(
            traces_token("127.0.0.1:4318", None)
                .unwrap_err()
                .contains("http://127.0.0.1:4318/TOKEN")
        );
    }
}
