//! Applications on an ADK server.

use super::error::AgentSpecError;
use super::server::start_limit;
use super::split_command;
use evaltrail_core::domain::{AgentServer, AgentSpec, ProgramSpec};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdkTable {
    url: Option<String>,
    start: Option<String>,
    start_timeout: Option<String>,
    app: Option<String>,
    #[serde(default)]
    env: Vec<String>,
    pub(super) jobs: Option<u32>,
}

impl AdkTable {
    pub(super) fn spec(self, name: &str, root: &Path) -> Result<AgentSpec, String> {
        let starts_within_ms = start_limit(self.start_timeout.as_deref(), self.start.is_some())?;
        let server = match (self.url, self.start) {
            (Some(_), _) if !self.env.is_empty() => {
                return Err(
                    "env needs a start command; an agent with a url is already running".into(),
                );
            }
            (Some(url), None) => AgentServer::Url(url.trim_end_matches('/').to_string()),
            (None, Some(start)) => {
                let argv = split_command(&start).map_err(|error| error.0)?;
                if !argv.iter().any(|word| word.contains("{port}")) {
                    return Err(
                        "start must contain {port}, which is replaced by a free port".into(),
                    );
                }
                AgentServer::Start(ProgramSpec {
                    argv,
                    cwd: root.to_path_buf(),
                    env: self.env,
                    starts_within_ms,
                    ..ProgramSpec::default()
                })
            }
            _ => return Err("an adk agent has either a url or a start command".into()),
        };
        let app = self.app.unwrap_or_else(|| name.to_string());
        Ok(AgentSpec::Adk {
            server,
            app,
            agent_name: None,
        })
    }
}

/// The server's address and, as the last part of the path, the application.
pub(super) fn parse(text: &str, _: &Path) -> Result<AgentSpec, AgentSpecError> {
    let wrong =
        |why: &str| AgentSpecError(format!("adk+{text}: {why}; write adk+http://HOST:PORT/APP"));
    let mut url = url::Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("the address must begin with http:// or https://"));
    }
    let mut parts: Vec<String> = url
        .path_segments()
        .into_iter()
        .flatten()
        .map(str::to_string)
        .collect();
    parts.retain(|part| !part.is_empty());
    let app = parts
        .pop()
        .ok_or_else(|| wrong("the application is missing"))?;
    url.set_path(&parts.join("/"));
    let server = AgentServer::Url(url.to_string().trim_end_matches('/').to_string());
    Ok(AgentSpec::Adk {
        server,
        app,
        agent_name: None,
    })
}
