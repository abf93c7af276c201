//! Requests to the server of an agent: turns, and short calls with a time limit.

use super::connection_errors::silence;
use super::endpoint::Remote;
use super::refusal::is_busy;
use crate::agents::{AgentError, ErrorKind, trace};
use crate::process::clock::timeout;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// The time limit of every request except a turn, which has the attempt's limit.
pub(in crate::agents) const SHORT_CALL: Duration = Duration::from_secs(30);

/// The body of a request.
pub(in crate::agents) enum RequestBody<'a> {
    None,
    Json(&'a Value),
    /// A form: its content type and its bytes.
    Form(String, Vec<u8>),
}

impl Remote {
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
        let is_same = url.origin() == self.base().origin();
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
    pub(in crate::agents) async fn call(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        headers: &HeaderMap,
    ) -> Result<(StatusCode, String), AgentError> {
        self.call_with_body(
            method,
            url,
            &body.map_or(RequestBody::None, RequestBody::Json),
            headers,
        )
        .await
    }

    /// [`Remote::call`] with any body.
    pub(in crate::agents) async fn call_with_body(
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
                return Err(self.error_of_response(response).await);
            }
            Ok((status, self.text(response).await?))
        };
        timeout(SHORT_CALL, calling)
            .await
            .unwrap_or_else(|_| Err(self.silent(SHORT_CALL)))
    }

    /// Sends a request that is not a turn, and parses the body of a successful response.
    pub(in crate::agents) async fn ask(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<Value, AgentError> {
        let path = url.path().to_string();
        let (status, text) = self.call(method, url, body, &HeaderMap::new()).await?;
        match status.is_success() {
            true => self.parsed(&text),
            false => Err(self.error_of_status(status, &path, &text)),
        }
    }

    /// Sends the request of a turn. Errors: the status is not that of success.
    pub(in crate::agents) async fn begin_turn(
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
    pub(in crate::agents) async fn exchange(
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
        let error = self.error_of_response(response).await;
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;

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
