//! How the tools of an agent are seen and answered: the keys `stubs` and `traces` of any agent.

use evaltrail_core::domain::{McpSource, StubMode, ToolsSpec, TraceSource};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use url::Url;

/// `stubs = true`, the name of a mode, or a table.
pub(super) enum StubsKey {
    Mode(StubMode),
    Table(StubsTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StubsTable {
    unmatched: Option<StubMode>,
    /// By environment variable: the URL of an MCP server, or a table.
    #[serde(default)]
    mcp: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpTable {
    url: Option<String>,
    declarations: Option<PathBuf>,
}

/// `traces = true`, or `"HOST:PORT"` of this machine. The error is a message.
pub(super) fn trace_source(value: toml::Value) -> Result<TraceSource, String> {
    let wrong = "traces: expected true, or the HOST:PORT of this machine to which the agent exports its spans";
    match value {
        toml::Value::Boolean(true) => Ok(TraceSource::Started),
        toml::Value::Boolean(false) => Ok(TraceSource::None),
        toml::Value::String(address) => {
            let url = Url::parse(&format!("http://{address}")).ok();
            let is_here =
                |url: &Url| matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
            match url.filter(is_here).and_then(|url| url.port()) {
                Some(_) => Ok(TraceSource::At(address.replace("localhost", "127.0.0.1"))),
                None => Err(format!("{wrong}; {address:?} is not one")),
            }
        }
        _ => Err(wrong.into()),
    }
}

impl StubsKey {
    /// Reads the key. The error is a message.
    pub(super) fn read(value: toml::Value) -> Result<StubsKey, String> {
        let wrong = |error: toml::de::Error| format!("stubs: {}", super::error::with_key(&error));
        match value {
            toml::Value::Boolean(is_on) => Ok(StubsKey::Mode(if is_on {
                StubMode::Fail
            } else {
                StubMode::Off
            })),
            toml::Value::String(_) => Ok(StubsKey::Mode(value.try_into().map_err(wrong)?)),
            toml::Value::Table(table) => Ok(StubsKey::Table(table.try_into().map_err(wrong)?)),
            _ => Err(
                "stubs: expected true, a mode such as \"live\", or a table with unmatched and mcp"
                    .into(),
            ),
        }
    }

    /// How tools are answered; paths are relative to `root`. The error is a message.
    pub(super) fn spec(self, root: &Path) -> Result<ToolsSpec, String> {
        let table = match self {
            StubsKey::Mode(stubs) => {
                return Ok(ToolsSpec {
                    stubs,
                    ..ToolsSpec::default()
                });
            }
            StubsKey::Table(table) => table,
        };
        let mcp = table.mcp.into_iter().map(|(variable, key)| {
            let source =
                mcp_source(key, root).map_err(|why| format!("stubs.mcp.{variable}: {why}"))?;
            Ok((variable, source))
        });
        Ok(ToolsSpec {
            stubs: table.unmatched.unwrap_or(StubMode::Fail),
            mcp: mcp.collect::<Result<_, String>>()?,
            ..ToolsSpec::default()
        })
    }
}

/// The URL of an MCP server, or a table; paths are relative to `root`. The error is a message.
fn mcp_source(key: toml::Value, root: &Path) -> Result<McpSource, String> {
    let source = match key {
        toml::Value::String(url) => McpSource {
            url: Some(url),
            declarations: None,
        },
        key => {
            let table: McpTable = key
                .try_into()
                .map_err(|error| super::error::with_key(&error))?;
            McpSource {
                url: table.url,
                declarations: table.declarations.map(|path| root.join(path)),
            }
        }
    };
    if source == McpSource::default() {
        return Err("write the url of the server, or a file with declarations".into());
    }
    if let Some(url) = &source.url {
        let parsed = Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(format!(
                "{url}: the address must begin with http:// or https://"
            ));
        }
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_are_a_switch_a_mode_or_a_table() {
        let read = |text: &str| {
            let table: toml::Table = toml::from_str(text).unwrap();
            StubsKey::read(table["stubs"].clone()).and_then(|key| key.spec(Path::new("/w")))
        };
        assert_eq!(read("stubs = true").unwrap().stubs, StubMode::Fail);
        assert_eq!(read("stubs = \"live\"").unwrap().stubs, StubMode::Live);
        let spec =
            read("stubs = { mcp = { A = \"http://h/mcp\", B = { declarations = \"b.json\" } } }")
                .unwrap();
        assert_eq!(spec.mcp["A"].url.as_deref(), Some("http://h/mcp"));
        assert_eq!(
            spec.mcp["B"].declarations.as_deref(),
            Some(Path::new("/w/b.json"))
        );
        for (wrong, why) in [
            ("stubs = \"x\"", "unknown variant"),
            (
                "stubs = { mcp = { A = { declaration = \"x\" } } }",
                "stubs.mcp.A: unknown field `declaration`",
            ),
            ("stubs = { mcp = { A = \"h\" } }", "stubs.mcp.A: h"),
            ("stubs = { modes = 1 }", "unknown field `modes`"),
        ] {
            let found = read(wrong).unwrap_err();
            assert!(found.contains(why), "{wrong}: {found}");
        }
    }
}
