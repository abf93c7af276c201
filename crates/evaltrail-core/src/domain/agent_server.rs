//! The server of an agent, as it is named in plans and messages.

use super::ProgramSpec;
use serde::{Deserialize, Serialize};

/// A URL without user name, password, query and fragment, which may contain tokens.
pub(super) fn without_secrets(url: &str) -> String {
    let url = match url.find(['?', '#']) {
        Some(at) => format!("{}{}…", &url[..at], &url[at..=at]),
        None => url.to_string(),
    };
    let Some((scheme, rest)) = url.split_once("://") else {
        return url;
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        Some(at) => format!("{scheme}://…@{}", &rest[at + 1..]),
        None => url,
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentServer {
    /// A server that is already running.
    Url(String),
    /// A server that evaltrail starts; `{port}` is replaced by a free port.
    Start(ProgramSpec),
}
