//! How the tools of an agent are seen and answered: the keys `stubs` and `traces` of any agent.

use crate::domain::{McpSource, StubMode, ToolsSpec, TraceSource};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use url::Url;

/// `stubs = true`, or a table.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum StubsKey {
    Switch(bool),
    Table(StubsTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StubsTable {
    unmatched: Option<StubMode>,
    #[serde(default)]
    mcp: BTreeMap<String, McpKey>,
}

/// The URL of an MCP server, or a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum McpKey {
    Url(String),
    Table(McpTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpTable {
    url: Option<String>,
    declarations: Option<PathBuf>,
}

/// `traces = true`, or `"HOST:PORT"` of this machine. The error is a message.
pub(super) fn trace_source(value: toml::Value) -> Result<TraceSource, String> {
    let wrong =
        "traces: expected true, or the HOST:PORT of this machine to which the agent exports its spans";
    match value {
        toml::Value::Boolean(true) => Ok(TraceSource::Started),
        toml::Value::Boolean(false) => Ok(TraceSource::None),
        toml::Value::String(place) => {
            let url = Url::parse(&format!("http://{place}")).ok();
            let is_here = |url: &Url| matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
            match url.filter(is_here).and_then(|url| url.port()) {
                Some(_) => Ok(TraceSource::At(place.replace("localhost", "127.0.0.1"))),
                None => Err(format!("{wrong}; {place:?} is not one")),
            }
        }
        _ => Err(wrong.into()),
    }
}

impl StubsKey {
    /// Reads the key. The error is a message.
    pub(super) fn read(value: toml::Value) -> Result<StubsKey, String> {
        match value {
            toml::Value::Boolean(is_on) => Ok(StubsKey::Switch(is_on)),
            toml::Value::Table(table) => match table.try_into() {
                Ok(table) => Ok(StubsKey::Table(table)),
                Err(error) => Err(format!("stubs: {}", error.message())),
            },
            _ => Err("stubs: expected true, false or a table with unmatched and mcp".into()),
        }
    }

    /// How tools are answered; paths are relative to `root`. The error is a message.
    pub(super) fn spec(self, root: &Path) -> Result<ToolsSpec, String> {
        let table = match self {
            StubsKey::Switch(is_on) => {
                let stubs = if is_on { StubMode::Fail } else { StubMode::Off };
                return Ok(ToolsSpec { stubs, ..ToolsSpec::default() });
            }
            StubsKey::Table(table) => table,
        };
        let mcp = table.mcp.into_iter().map(|(variable, key)| {
            let source = key.source(root).map_err(|why| format!("stubs.mcp.{variable}: {why}"))?;
            Ok((variable, source))
        });
        Ok(ToolsSpec {
            stubs: table.unmatched.unwrap_or(StubMode::Fail),
            mcp: mcp.collect::<Result<_, String>>()?,
            ..ToolsSpec::default()
        })
    }
}

impl McpKey {
    fn source(self, root: &Path) -> Result<McpSource, String> {
        let source = match self {
            McpKey::Url(url) => McpSource { url: Some(url), declarations: None },
            McpKey::Table(McpTable { url, declarations }) => {
                McpSource { url, declarations: declarations.map(|path| root.join(path)) }
            }
        };
        if source == McpSource::default() {
            return Err("write the url of the server, or a file with declarations".into());
        }
        if let Some(url) = &source.url {
            let parsed = Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
            if !matches!(parsed.scheme(), "http" | "https") {
                return Err(format!("{url}: the address must begin with http:// or https://"));
            }
        }
        Ok(source)
    }
}
