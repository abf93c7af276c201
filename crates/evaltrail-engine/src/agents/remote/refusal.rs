//! The errors of responses without success.

use super::endpoint::Remote;
use super::error_body::error_text;
use crate::agents::{AgentError, ErrorKind};
use crate::net::http::retry_after;
use reqwest::header::{LOCATION, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};

impl Remote {
    /// The error of a response without success, in the server's words.
    pub(super) async fn error_of_response(&self, response: Response) -> AgentError {
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
        let (text, unread) = match self.text(response).await {
            Ok(text) => (text, None),
            Err(error) => (String::new(), Some(error.message)),
        };
        let AgentError {
            kind,
            message: mut words,
            ..
        } = self.error_of_status(status, &path, &text);
        if let Some(asks) = asks {
            words = format!("{words} (it asks for authentication: {asks})");
        }
        if let Some(why) = unread {
            words = format!("{words} (the body of the response could not be read: {why})");
        }
        AgentError {
            retry_after: wait,
            ..self.error(kind, words)
        }
    }

    /// The error of a status without success: what the server said, and what may be missing.
    pub(super) fn error_of_status(&self, status: StatusCode, path: &str, text: &str) -> AgentError {
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
    pub(in crate::agents) fn init_command(&self) -> String {
        format!(
            "to find out what the server is: evaltrail agents init {}",
            self.shown()
        )
    }
}

/// Whether the status means that the server is temporarily unavailable, so that the request can be retried.
pub(super) fn is_busy(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}
