//! Requests to an agent's server: with limits, with errors in the words of the server, and without its secrets in them.

use super::memory_limit::parse_answer;
use super::token::Tokens;
use super::{AgentError, ErrorKind, TurnBudget, trace};
use crate::net::http::{
    self, BodyError, cause, chain, client, client_for_turns, retry_after, root_cause,
};
use crate::process::clock::timeout;
use crate::process::open_file_limit_error;
use evaltrail_core::domain::{SentSecrets, ServerSpec, address_without_secrets, with_variables};
use reqwest::header::{
    CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE,
};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use url::Url;

/// The time limit of every request except a turn, which has the attempt's limit.
pub(super) const SHORT_CALL: Duration = Duration::from_secs(30);
/// The maximum size of a response body, in bytes.
pub(super) const MAX_BODY: usize = 32 << 20;
/// The maximum size of the items of one turn as they are sent, in bytes.
pub(super) const MAX_TURN: usize = 256 << 20;
/// The length of a text in which secrets are looked for before it is cut to a beginning, in characters.
const BEGINNING: usize = 16 << 10;
/// The maximum length of the server's own words in an error message, in characters.
const MAX_ERROR_TEXT: usize = 500;

/// The end of an error about a server that cannot be reached.
const IS_IT_RUNNING: &str = "is the server running?";

/// The body of a request.
pub(super) enum RequestBody<'a> {
    None,
    Json(&'a Value),
    /// A form: its content type and its bytes.
    Form(String, Vec<u8>),
}

/// The server of an agent.
#[derive(Debug)]
pub(super) struct Remote {
    client: Client,
    /// For turns. Over plain HTTP, every turn opens a connection: a server may close a used one at any time, and a turn that is
    /// lost this way cannot be sent again, because the agent may have begun it.
    turns: Client,
    base: Url,
    headers: HeaderMap,
    tokens: Option<Tokens>,
    /// What error messages must not contain.
    sent: Arc<SentSecrets>,
    pub(super) idle: Option<Duration>,
    /// What the server says that it asks for, in words.
    authentication: OnceLock<String>,
}

impl Remote {
    /// The server at an address, without headers of its own.
    pub(super) fn plain(address: &str, sent: &Arc<SentSecrets>) -> Result<Remote, AgentError> {
        let base = Url::parse(address)
            .map_err(|error| setup(format!("{}: {error}", address_without_secrets(address))))?;
        let client = client(&base).map_err(setup)?;
        let turns = match base.scheme() {
            "http" => client_for_turns(&base).map_err(setup)?,
            _ => client.clone(),
        };
        let headers = HeaderMap::new();
        Ok(Remote {
            client,
            turns,
            base,
            headers,
            tokens: None,
            sent: sent.clone(),
            idle: None,
            authentication: OnceLock::new(),
        })
    }

    /// The server at an address, with the headers and limits of its specification.
    pub(super) fn from_spec(
        address: &str,
        spec: &ServerSpec,
        sent: &Arc<SentSecrets>,
    ) -> Result<Remote, AgentError> {
        let mut remote = Remote::plain(address, sent)?;
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        for (name, value) in &spec.headers {
            let value = with_variables(value, variable).map_err(|unset| {
                setup(format!(
                    "the header {name} needs {unset}, which is not set in the environment"
                ))
            })?;
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| setup(format!("{name:?} is not the name of a header")))?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                setup(format!(
                    "the value of the header {name} has characters that headers cannot"
                ))
            })?;
            value.set_sensitive(true);
            remote.headers.insert(header, value);
        }
        remote.tokens = spec
            .token_command
            .clone()
            .map(|command| Tokens::new(command, sent.clone()));
        remote.idle = spec.idle_ms.map(Duration::from_millis);
        Ok(remote)
    }

    /// Notes the authentication that the server asks for, to be named where it refuses a request.
    pub(super) fn asks_for(&self, authentication: &str) {
        let _ = self.authentication.set(authentication.to_string());
    }

    /// Checks that something listens at the address, where no proxy is between: most protocols would say so only in the
    /// first turn of each attempt.
    pub(super) async fn check_reachable(&self) -> Result<(), AgentError> {
        http::check_listening(&self.base).await.map_err(|why| {
            self.error(
                ErrorKind::Unavailable,
                format!("cannot reach {}: {why}; {IS_IT_RUNNING}", self.shown()),
            )
        })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The address of the agent.
    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    /// The address with more parts of the path.
    pub(super) fn url(&self, parts: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url
    }

    /// Sends a request and returns the response, whatever its status. A token that the server does not accept is
    /// replaced once.
    async fn send(
        &self,
        client: &Client,
        method: Method,
        url: Url,
        body: &RequestBody<'_>,
        more: &HeaderMap,
    ) -> Result<Response, AgentError> {
        // Keys are sent only to the server to which they belong.
        let is_same = url.origin() == self.base.origin();
        let request = || {
            let request = client
                .request(method.clone(), url.clone())
                .headers(more.clone())
                .headers(trace::headers());
            let request = if is_same {
                request.headers(self.headers.clone())
            } else {
                request
            };
            match body {
                RequestBody::Json(body) => request.json(body),
                RequestBody::Form(kind, bytes) => request
                    .header(CONTENT_TYPE, kind.as_str())
                    .body(bytes.clone()),
                RequestBody::None => request,
            }
        };
        let send = async |request: RequestBuilder| {
            request.send().await.map_err(|error| self.broken(error))
        };
        let Some(tokens) = self.tokens.as_ref().filter(|_| is_same) else {
            return send(request()).await;
        };
        let token = tokens.current().await?;
        let response = send(request().bearer_auth(&token)).await?;
        match response.status() {
            StatusCode::UNAUTHORIZED => {
                send(request().bearer_auth(tokens.renewed(&token).await?)).await
            }
            _ => Ok(response),
        }
    }

    /// Sends a request that is not a turn, and returns its status and its body. Errors: the server did not answer in
    /// time, is busy, or redirects elsewhere.
    pub(super) async fn call(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        headers: &HeaderMap,
    ) -> Result<(StatusCode, String), AgentError> {
        self.call_with(
            method,
            url,
            &body.map_or(RequestBody::None, RequestBody::Json),
            headers,
        )
        .await
    }

    /// [`Remote::call`] with any body.
    pub(super) async fn call_with(
        &self,
        method: Method,
        url: Url,
        body: &RequestBody<'_>,
        headers: &HeaderMap,
    ) -> Result<(StatusCode, String), AgentError> {
        let calling = async {
            let response = self.send(&self.client, method, url, body, headers).await?;
            let status = response.status();
            if is_busy(status) || status.is_redirection() {
                return Err(self.refused(response).await);
            }
            Ok((status, self.text(response).await?))
        };
        timeout(SHORT_CALL, calling)
            .await
            .unwrap_or_else(|_| Err(self.silent(SHORT_CALL)))
    }

    /// Sends a request that is not a turn, and parses the body of a successful response.
    pub(super) async fn ask(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<Value, AgentError> {
        let path = url.path().to_string();
        let (status, text) = self.call(method, url, body, &HeaderMap::new()).await?;
        match status.is_success() {
            true => self.parsed(&text),
            false => Err(self.unsuccessful(status, &path, &text)),
        }
    }

    pub(super) fn parsed(&self, text: &str) -> Result<Value, AgentError> {
        let short = self.beginning(text);
        parse_answer(text).map_err(|error| {
            self.error(
                ErrorKind::Protocol,
                format!("the answer is not JSON ({error}): {short}"),
            )
        })
    }

    /// Sends the request of a turn. Errors: the status is not that of success.
    pub(super) async fn begin_turn(
        &self,
        url: Url,
        body: &Value,
        headers: &HeaderMap,
    ) -> Result<Response, AgentError> {
        self.exchange(Method::POST, url, &RequestBody::Json(body), headers, &[])
            .await
    }

    /// Sends the request of a turn with any method. Errors: the status is not one of `accepted`, or not that of success if
    /// there are none.
    pub(super) async fn exchange(
        &self,
        method: Method,
        url: Url,
        body: &RequestBody<'_>,
        headers: &HeaderMap,
        accepted: &[u16],
    ) -> Result<Response, AgentError> {
        let sending = self.send(&self.turns, method, url, body, headers);
        let response = match self.idle {
            None => sending.await?,
            Some(idle) => timeout(idle, sending)
                .await
                .unwrap_or_else(|_| Err(silence(idle)))?,
        };
        let status = response.status();
        let is_accepted = match accepted {
            [] => status.is_success(),
            accepted => accepted.contains(&status.as_u16()),
        };
        if is_accepted {
            return Ok(response);
        }
        let error = self.refused(response).await;
        // A gateway may have given up on an agent that has begun: the request must not be repeated.
        Err(match status {
            StatusCode::BAD_GATEWAY => AgentError {
                kind: ErrorKind::Protocol,
                ..error
            },
            StatusCode::GATEWAY_TIMEOUT => AgentError {
                kind: ErrorKind::Timeout,
                ..error
            },
            _ => error,
        })
    }

    /// Reads the response to a turn as one value.
    pub(super) async fn json_body(
        &self,
        response: Response,
        budget: &mut TurnBudget,
    ) -> Result<Value, AgentError> {
        let text = self.text(response).await?;
        if text.len() > budget.left() {
            return Err(budget.exceeded());
        }
        let short = self.beginning(&text);
        let (value, size) = budget.parse(&text, |error| {
            self.clean(&format!("the answer is not JSON ({error}): {short}"))
        })?;
        budget.charge(size)?;
        Ok(value)
    }

    pub(super) async fn text(&self, response: Response) -> Result<String, AgentError> {
        http::text(response, MAX_BODY)
            .await
            .map_err(|error| match error {
                BodyError::Broken(error) => self.broken(error),
                BodyError::TooLong => AgentError::new(
                    ErrorKind::Protocol,
                    "the server's response is longer than 32 MB",
                ),
            })
    }

    /// The error of a response without success, in the server's words.
    pub(super) async fn refused(&self, response: Response) -> AgentError {
        let (status, wait) = (response.status(), retry_after(&response));
        let header = |name| Some(response.headers().get(name)?.to_str().ok()?.to_string());
        if let (true, Some(target)) = (status.is_redirection(), header(LOCATION)) {
            let target = without_query(&target);
            let why = format!(
                "the server redirects to {target} ({status}); evaltrail does not follow redirects, so that keys and \
                 messages are sent only to the given address: give the new address if it is right"
            );
            return self.error(ErrorKind::Setup, why);
        }
        let asks = header(WWW_AUTHENTICATE).filter(|_| status == StatusCode::UNAUTHORIZED);
        let path = response.url().path().to_string();
        let text = self.text(response).await.unwrap_or_default();
        let AgentError {
            kind,
            message: mut words,
            ..
        } = self.unsuccessful(status, &path, &text);
        if let Some(asks) = asks {
            words = format!("{words} (it asks for authentication: {asks})");
        }
        AgentError {
            retry_after: wait,
            ..self.error(kind, words)
        }
    }

    /// The error of a status without success: what the server said, and what may be missing.
    fn unsuccessful(&self, status: StatusCode, path: &str, text: &str) -> AgentError {
        let mut words = error_text(status, &self.clean(text));
        if matches!(
            status,
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        ) {
            words = format!("{words} (at {path}); {}", self.init_command());
        }
        let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let (true, Some(asked)) = (is_refused, self.authentication.get()) {
            words = format!("{words}; the agent's card asks for {asked}");
        }
        if is_refused && self.tokens.is_none() && self.headers.is_empty() {
            words = format!(
                "{words}; no authorization was sent: set headers or token_command, or #token_env=NAME in an address"
            );
        }
        let kind = if is_busy(status) {
            ErrorKind::Unavailable
        } else {
            ErrorKind::Protocol
        };
        self.error(kind, words)
    }

    /// How to find out what the server is, if it is of another kind than expected.
    pub(super) fn init_command(&self) -> String {
        format!(
            "to find out what the server is: evaltrail agents init {}",
            self.shown()
        )
    }

    /// The error that a server reports in an answer, in its words; `otherwise` if it gives none.
    pub(super) fn reported(&self, answer: &Value, otherwise: &str) -> AgentError {
        let words = self.clean(&error_message(answer).unwrap_or_else(|| otherwise.to_string()));
        AgentError::new(
            ErrorKind::Agent,
            words.chars().take(MAX_ERROR_TEXT).collect::<String>(),
        )
    }

    /// An error whose message contains no secret of the server.
    pub(super) fn error(&self, kind: ErrorKind, message: impl AsRef<str>) -> AgentError {
        AgentError::new(kind, self.clean(message.as_ref()))
    }

    /// The beginning of what the server sent, for an error message.
    pub(super) fn beginning(&self, text: &str) -> String {
        // Secrets are removed first: a cut could leave a part of one.
        let cut = text
            .char_indices()
            .nth(BEGINNING)
            .map_or(text, |(end, _)| &text[..end]);
        self.clean(cut).chars().take(200).collect()
    }

    /// A value without the secrets that are sent to the server.
    pub(super) fn cleaned(&self, value: &Value) -> Value {
        let mut value = value.clone();
        self.sent.now().mask_foreign(&mut value);
        value
    }

    /// A text without the secrets that are sent to the server.
    pub(super) fn clean(&self, message: &str) -> String {
        self.sent.mask(message)
    }

    pub(super) fn silent(&self, limit: Duration) -> AgentError {
        let why = format!(
            "{} did not answer within {} s",
            self.shown(),
            limit.as_secs_f64()
        );
        AgentError::new(ErrorKind::Timeout, why)
    }

    /// The address, without the parts that may contain secrets.
    pub(super) fn shown(&self) -> String {
        let mut url = self.base.clone();
        url.set_query(None);
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        url.to_string()
    }

    pub(super) fn broken(&self, error: reqwest::Error) -> AgentError {
        let why = chain(cause(&error));
        if let Some(words) = open_file_limit_error(&error) {
            return self.error(ErrorKind::Unavailable, words);
        }
        if error.is_connect() && !error.is_timeout() {
            let why = root_cause(&error);
            return self.error(
                ErrorKind::Unavailable,
                format!("cannot reach {}: {why}; {IS_IT_RUNNING}", self.shown()),
            );
        }
        if error.is_timeout() {
            return AgentError::new(
                ErrorKind::Timeout,
                format!("{} did not answer in time", self.shown()),
            );
        }
        self.error(
            ErrorKind::Protocol,
            format!("the response was cut off: {why}"),
        )
    }
}

pub(super) fn silence(idle: Duration) -> AgentError {
    let why = format!(
        "the agent sent nothing for {} s during the turn",
        idle.as_secs_f64()
    );
    AgentError::new(ErrorKind::Timeout, why)
}

/// Whether the status means that the server is temporarily unavailable, so that the request can be retried.
fn is_busy(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// What a server said with a response that is not a success.
pub(super) fn error_text(status: StatusCode, text: &str) -> String {
    let words = parse_answer(text)
        .ok()
        .and_then(|answer| error_message(&answer));
    let words: String = words
        .unwrap_or_else(|| text.trim().to_string())
        .chars()
        .take(MAX_ERROR_TEXT)
        .collect();
    match words.is_empty() {
        true => format!("the server answered {status}"),
        false => format!("the server answered {status}: {words}"),
    }
}

/// The words of an error in a body: `detail`, `error` or `message`, and the `message` in it if it is an object.
pub(super) fn error_message(answer: &Value) -> Option<String> {
    let detail = ["detail", "error", "message"]
        .iter()
        .find_map(|key| answer.get(key).filter(|value| !value.is_null()))?;
    Some(
        match (detail, detail.get("message").and_then(Value::as_str)) {
            (Value::String(words), _) => words.clone(),
            (_, Some(words)) => words.to_string(),
            _ => detail.to_string(),
        },
    )
}

fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}

pub(super) fn setup(why: impl Into<String>) -> AgentError {
    AgentError::new(ErrorKind::Setup, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// Reads a request with the body `{}`. Returns false if the connection is closed before.
    fn read_request(stream: &mut TcpStream) -> bool {
        let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
        while !request.ends_with(b"{}") {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return false,
                Ok(read) => request.extend_from_slice(&buffer[..read]),
            }
        }
        true
    }

    /// The address of a server that answers the first request of each connection, and closes the connection at the second
    /// without an answer, as servers do where the second arrives while they close.
    fn closing_server() -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    if read_request(&mut stream) {
                        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]";
                        stream.write_all(response).unwrap();
                        read_request(&mut stream);
                    }
                });
            }
        });
        address
    }

    #[tokio::test]
    async fn turn_is_not_sent_on_a_used_connection() {
        let remote = Remote::plain(&closing_server(), &Arc::default()).unwrap();
        let (url, body) = (remote.base().clone(), serde_json::json!({}));
        remote
            .ask(Method::POST, url.clone(), Some(&body))
            .await
            .unwrap();
        for turn in 1..=3 {
            let response = remote
                .begin_turn(url.clone(), &body, &HeaderMap::new())
                .await
                .unwrap_or_else(|error| panic!("turn {turn}: {error}"));
            assert_eq!(remote.text(response).await.unwrap(), "[]");
        }
    }
}
