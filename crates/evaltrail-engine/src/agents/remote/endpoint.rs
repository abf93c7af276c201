//! The address of a server, and the headers, tokens and limits of the requests to it.

use super::setup_error::setup;
use crate::agents::AgentError;
use crate::agents::token::Tokens;
use crate::net::http::{client, client_for_turns};
use evaltrail_core::domain::{SentSecrets, ServerSpec, address_without_secrets, with_variables};
use reqwest::Client;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use url::Url;

/// The server of an agent.
#[derive(Debug)]
pub(in crate::agents) struct Remote {
    pub(super) client: Client,
    /// For turns. Over plain HTTP, every turn opens a connection: a server may close a used one at any time, and a turn that is
    /// lost this way cannot be sent again, because the agent may have begun it.
    pub(super) turns: Client,
    base: Url,
    pub(super) headers: HeaderMap,
    pub(super) tokens: Option<Tokens>,
    /// What error messages must not contain.
    pub(super) sent: Arc<SentSecrets>,
    pub(in crate::agents) idle: Option<Duration>,
    /// What the server says that it asks for, in words.
    pub(super) authentication: OnceLock<String>,
}

impl Remote {
    /// The server at an address, without headers of its own.
    pub(in crate::agents) fn plain(
        address: &str,
        sent: &Arc<SentSecrets>,
    ) -> Result<Remote, AgentError> {
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
    pub(in crate::agents) fn from_spec(
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
    pub(in crate::agents) fn asks_for(&self, authentication: &str) {
        let _ = self.authentication.set(authentication.to_string());
    }

    pub(in crate::agents) fn client(&self) -> &Client {
        &self.client
    }

    /// The address of the agent.
    pub(in crate::agents) fn base(&self) -> &Url {
        &self.base
    }

    /// The address with more parts of the path.
    pub(in crate::agents) fn url(&self, parts: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url
    }

    /// The address, without the parts that may contain secrets.
    pub(in crate::agents) fn shown(&self) -> String {
        let mut url = self.base.clone();
        url.set_query(None);
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        url.to_string()
    }
}
