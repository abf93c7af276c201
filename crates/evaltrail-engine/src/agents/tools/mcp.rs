//! Stands in for an MCP server: answers the calls of its tools, and passes on, or answers, everything else.

use super::attempts::OpenAttempts;
use super::body::{ResponseBody, empty, reply};
use super::received::{ReceiveError, Received, WholeBody};
use super::reply_copy::ReplyCopy;
use crate::agents::AgentError;
use crate::agents::openai::declarations_in;
use crate::agents::remote::setup;
use crate::agents::trace::BAGGAGE;
use crate::net::http::{cause, chain, client};
use crate::stubs::{AttemptTools, ToolAnswer};
use bytes::Bytes;
use evaltrail_core::domain::{McpSource, StubMode, ToolCall, address_without_secrets};
use evaltrail_core::formats::json::{ParseFailure, parse_within};
use futures_util::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use url::Url;

/// The versions of the protocol that are answered without the real server.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The headers that are passed on to the real server, and back.
const PASSED_ON: [&str; 10] = [
    "accept",
    "authorization",
    "baggage",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "traceparent",
];
/// The maximum memory of the values of a reply that is noted, in bytes.
const MAX_REPLY: usize = 64 << 20;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_REQUEST: i32 = -32600;

/// Stands in for one MCP server.
#[derive(Debug)]
pub(super) struct McpProxy {
    /// The real server.
    real: Option<(reqwest::Client, Url)>,
    /// The declarations of the tools, if the real server is asked for calls at most.
    declared: Option<Vec<Value>>,
    attempts: Arc<OpenAttempts>,
}

impl McpProxy {
    /// Errors: the declarations cannot be read, or the address is not valid.
    pub(super) fn new(
        source: &McpSource,
        stubs: StubMode,
        attempts: Arc<OpenAttempts>,
    ) -> Result<McpProxy, AgentError> {
        let real = source.url.as_ref().map(|url| {
            let invalid = |error| setup(format!("{}: {error}", address_without_secrets(url)));
            let url = Url::parse(url).map_err(invalid)?;
            Ok((client(&url).map_err(setup)?, url))
        });
        let may_run = matches!(stubs, StubMode::Off | StubMode::Live);
        let declared = source
            .declarations
            .as_deref()
            .filter(|_| source.url.is_none() || !may_run);
        Ok(McpProxy {
            real: real.transpose()?,
            declared: declared.map(declarations_in).transpose()?,
            attempts,
        })
    }

    /// Answers a request. `session` is the session in its path, if its process belongs to one attempt.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        session: Option<&str>,
    ) -> Response<ResponseBody> {
        let (method, headers) = (request.method().clone(), request.headers().clone());
        let session = session.map(decoded);
        if method != Method::POST {
            return match self.declared {
                Some(_) => empty(StatusCode::METHOD_NOT_ALLOWED),
                None => self.pass_on(method, &headers, Bytes::new(), None).await,
            };
        }
        let refused = |why: ReceiveError| {
            self.attempts.refused(why, session.as_deref());
            empty(why.status())
        };
        let body = match Received::calls().body(request).await {
            Ok(body) => body,
            Err(why) => return refused(why),
        };
        let received = body.json().await;
        let message = match &received {
            Ok(received) => &received.value,
            Err(ReceiveError::Invalid) => &Value::Null,
            Err(why) => return refused(*why),
        };
        if !message.is_object() {
            // A list of messages could contain calls.
            let error = json!({"code": INVALID_REQUEST, "message": "evaltrail answers single messages only"});
            return reply(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
        }
        match (message["method"] == "tools/call", message.get("id")) {
            (true, Some(id)) => {
                let call = ReceivedCall::new(id, &message["params"]);
                // Its tool may take some time.
                drop(received);
                return self
                    .answer_call(call, &headers, body, session.as_deref())
                    .await;
            }
            // Nobody waits for the answer, and the tool must not run.
            (true, None) => return empty(StatusCode::ACCEPTED),
            (false, _) => {}
        }
        match &self.declared {
            Some(declared) => answer_without_server(message, declared),
            None => {
                self.pass_on(method, &headers, body.bytes.clone(), None)
                    .await
            }
        }
    }

    async fn answer_call(
        &self,
        asked: ReceivedCall,
        headers: &HeaderMap,
        body: WholeBody,
        session: Option<&str>,
    ) -> Response<ResponseBody> {
        let ReceivedCall { id, call, .. } = &asked;
        if self.attempts.take_allowed(call) {
            return self
                .pass_on(Method::POST, headers, body.bytes.clone(), None)
                .await;
        }
        let Some(attempt) = self.attempt_of(&asked, headers, session) else {
            let why = format!(
                "a call of {} does not say to which attempt it belongs",
                call.name
            );
            self.attempts.fail_all(&why);
            return answered(id, &Err(why));
        };
        let answer = attempt.answer(call);
        let seen = attempt.saw_call(asked.call);
        let result = match answer {
            ToolAnswer::Live => {
                let note = CallNote {
                    attempt,
                    at: seen,
                    id: asked.id,
                };
                return self
                    .pass_on(Method::POST, headers, body.bytes.clone(), Some(note))
                    .await;
            }
            ToolAnswer::Missing(why) => Err(why),
            ToolAnswer::Given { result, after } => {
                drop(body);
                tokio::time::sleep(after).await;
                result
            }
        };
        let shown = result
            .clone()
            .unwrap_or_else(|words| json!({"error": words}));
        attempt.saw_result(seen, shown);
        answered(&asked.id, &result)
    }

    fn attempt_of(
        &self,
        asked: &ReceivedCall,
        headers: &HeaderMap,
        session: Option<&str>,
    ) -> Option<Arc<AttemptTools>> {
        if let Some(session) = session {
            return self.attempts.of_session(session);
        }
        let in_header = headers.get("baggage").and_then(|value| value.to_str().ok());
        let baggage = asked.baggage.as_deref().or(in_header).unwrap_or_default();
        let members = baggage
            .split(',')
            .filter_map(|member| member.trim().split_once('='));
        let named = members
            .filter(|(name, _)| *name == BAGGAGE)
            .map(|(_, value)| value)
            .next();
        match named {
            Some(value) => self
                .attempts
                .attempt_of_call(&decoded(value.split(';').next().unwrap_or_default())),
            None => self
                .attempts
                .only()
                .inspect(|attempt| attempt.note_unnamed_call()),
        }
    }

    /// Passes a request on to the real server, and its reply back as it arrives.
    async fn pass_on(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
        note: Option<CallNote>,
    ) -> Response<ResponseBody> {
        let Some((client, url)) = &self.real else {
            return empty(StatusCode::NOT_FOUND);
        };
        let asked = client
            .request(method, url.clone())
            .headers(passed_on(headers))
            .body(body)
            .send();
        let got = match asked.await {
            Ok(got) => got,
            Err(error) => {
                let why = chain(cause(&error));
                let shown = address_without_secrets(url.as_str());
                self.attempts.fail_all(&format!(
                    "the MCP server at {shown} cannot be reached: {why}"
                ));
                return empty(StatusCode::BAD_GATEWAY);
            }
        };
        let mut response = empty(got.status());
        *response.headers_mut() = passed_on(got.headers());
        let mut copy = note.map(|note| (note, ReplyCopy::default()));
        let pieces = got
            .bytes_stream()
            .map(Some)
            .chain(futures_util::stream::once(async { None }));
        let frames = pieces.filter_map(move |piece| {
            let frame = match piece {
                Some(Ok(piece)) => {
                    copy.iter_mut().for_each(|(_, copy)| copy.add(&piece));
                    Some(Ok(Frame::data(piece)))
                }
                Some(Err(error)) => Some(Err(io::Error::other(error))),
                None => {
                    if let Some((note, copy)) = copy.take() {
                        note.take(copy);
                    }
                    None
                }
            };
            std::future::ready(frame)
        });
        *response.body_mut() = StreamBody::new(frames).boxed_unsync();
        response
    }
}

/// A call of a tool, as it was received.
struct ReceivedCall {
    /// The id of the message.
    id: Value,
    call: ToolCall,
    baggage: Option<String>,
}

impl ReceivedCall {
    fn new(id: &Value, params: &Value) -> ReceivedCall {
        let tool = params["name"].as_str().unwrap_or_default();
        ReceivedCall {
            id: id.clone(),
            call: ToolCall::new(tool, params["arguments"].as_object().cloned()),
            baggage: params["_meta"]["baggage"].as_str().map(str::to_string),
        }
    }
}

/// A call whose result is noted when the real server has replied.
struct CallNote {
    attempt: Arc<AttemptTools>,
    at: usize,
    id: Value,
}

impl CallNote {
    /// Reads the reply: one message, or events of which one is the result.
    fn take(self, reply: ReplyCopy) {
        let result = reply.bytes().and_then(|reply| result_in(reply, &self.id));
        match result {
            Ok(Some(result)) => self.attempt.saw_result(self.at, result),
            Ok(None) => {}
            Err(limit) => self.attempt.fail(&format!(
                "evaltrail could not receive the result of a tool: {limit}"
            )),
        }
    }
}

/// The result of a tool in the reply to a call: one message, or events of which one is the result. The error is the exceeded
/// limit, in words.
fn result_in(reply: &[u8], id: &Value) -> Result<Option<Value>, String> {
    let text = String::from_utf8_lossy(reply);
    let in_events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    for text in std::iter::once(text.as_ref()).chain(in_events) {
        if let Some(message) = parsed(text.trim())?.filter(|message| message["id"] == *id) {
            return result_of(&message).map(Some);
        }
    }
    Ok(None)
}

/// The value of a text that is JSON; `None` if it is not. The error is the exceeded limit, in words.
fn parsed(text: &str) -> Result<Option<Value>, String> {
    match parse_within(text, MAX_REPLY) {
        Ok((value, _)) => Ok(Some(value)),
        Err(ParseFailure::Syntax(_)) => Ok(None),
        Err(ParseFailure::TooLarge) => Err(format!(
            "what it contains needs more than {} MB of memory",
            MAX_REPLY >> 20
        )),
    }
}

/// The structured content of a result, or its texts. The error is the exceeded limit, in words.
fn result_of(message: &Value) -> Result<Value, String> {
    let result = &message["result"];
    if let Some(structured) = result
        .get("structuredContent")
        .filter(|content| !content.is_null())
    {
        return Ok(structured.clone());
    }
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    let text = texts.join("\n");
    let value = parsed(&text)?.unwrap_or_else(|| text.into());
    Ok(match (result["isError"] == true, message.get("error")) {
        (true, _) => json!({"error": value}),
        (_, Some(error)) => json!({"error": error["message"]}),
        _ => value,
    })
}

fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let passed = PASSED_ON.iter().map(|name| HeaderName::from_static(name));
    passed
        .filter_map(|name| Some((name.clone(), headers.get(&name)?.clone())))
        .collect()
}

fn decoded(text: &str) -> String {
    let pairs = format!("id={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(pairs.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

/// The reply to a call. An error of a tool is part of the result.
fn answered(id: &Value, result: &Result<Value, String>) -> Response<ResponseBody> {
    let (text, is_error) = match result {
        Ok(Value::String(text)) => (text.clone(), false),
        Ok(value) => (value.to_string(), false),
        Err(words) => (words.clone(), true),
    };
    let mut content = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
    if let Ok(value) = result
        && value.is_object()
    {
        content["structuredContent"] = value.clone();
    }
    reply(&json!({"jsonrpc": "2.0", "id": id, "result": content}))
}

/// The answer to a message without the real server.
fn answer_without_server(message: &Value, declared: &[Value]) -> Response<ResponseBody> {
    let Some(id) = message.get("id") else {
        return empty(StatusCode::ACCEPTED);
    };
    let result = match message["method"].as_str() {
        Some("initialize") => {
            let asked = message["params"]["protocolVersion"].as_str();
            let version = asked
                .filter(|asked| VERSIONS.contains(asked))
                .unwrap_or(VERSIONS[3]);
            json!({
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "evaltrail", "version": env!("CARGO_PKG_VERSION")},
            })
        }
        Some("ping") => json!({}),
        Some("tools/list") => {
            json!({"tools": declared.iter().map(declaration).collect::<Vec<_>>()})
        }
        _ => {
            let error = json!({"code": METHOD_NOT_FOUND, "message": "Method not found"});
            return reply(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    reply(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// A declaration in MCP's form.
fn declaration(declared: &Value) -> Value {
    let schema = ["inputSchema", "parameters", "parametersJsonSchema"];
    let schema = schema.iter().find_map(|key| declared.get(key)).cloned();
    json!({
        "name": declared["name"],
        "description": declared.get("description").cloned().unwrap_or_else(|| "".into()),
        "inputSchema": schema.unwrap_or_else(|| json!({"type": "object"})),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_needs_no_more_memory_than_the_limit() {
        let list = format!("[{}0]", "0,".repeat(2_000_000));
        let large = format!(r#"{{"id": 1, "result": {{"structuredContent": {list}}}}}"#);
        let in_text = json!({"id": 1, "result": {"content": [{"text": list}]}}).to_string();
        for reply in [large, in_text] {
            let wrong = result_in(reply.as_bytes(), &json!(1)).unwrap_err();
            assert!(wrong.contains("more than 64 MB"), "{wrong}");
        }
        let small = "event: message\ndata: {\"id\": 1, \"result\": {\"content\": [{\"text\": \"[4]\"}]}}\n\n";
        assert_eq!(result_in(small.as_bytes(), &json!(1)), Ok(Some(json!([4]))));
        assert_eq!(result_in(small.as_bytes(), &json!(2)), Ok(None));
    }
}
