//! Agents, as they are written on the command line and in `evaltrail.toml`: a file for each kind.
//!
//! A protocol of agents' servers needs nothing here: [`server`] reads them all. Any other kind is registered by its prefix
//! in [`ADDRESSES`] and by its table in [`AgentTable`].

mod adk;
mod command;
mod error;
mod presets;
mod python;
mod replay;
mod server;
mod stubs;

pub use command::split_command;
pub use error::AgentSpecError;

use self::error::with_key;
use self::stubs::StubsKey;
use evaltrail_core::domain::{
    AgentSpec, Protocol, Secrets, ToolsSpec, TraceSource, secrets_in_address,
};
use std::path::Path;

/// Parses the part of an address after the prefix; relative paths are relative to the folder.
type ParseAddress = fn(&str, &Path) -> Result<AgentSpec, AgentSpecError>;

/// The prefixes of addresses.
const ADDRESSES: &[(&str, ParseAddress)] = &[
    ("adk+", adk::parse),
    ("cmd:", command::parse),
    ("python:", python::parse),
    ("replay:", replay::parse),
];

/// An agent in `evaltrail.toml`: the keys of its kind, and those of every agent.
pub(super) struct AgentTable {
    kind: KindTable,
    stubs: Option<StubsKey>,
    traces: TraceSource,
}

/// An agent in `evaltrail.toml`, by its `kind`.
enum KindTable {
    Adk(adk::AdkTable),
    Command(command::CommandTable),
    Replay(replay::ReplayTable),
    Python(python::PythonTable),
    /// Any of the protocols of agents' servers.
    Server(Box<server::ServerTable>),
}

impl TryFrom<toml::Table> for AgentTable {
    type Error = String;

    fn try_from(mut table: toml::Table) -> Result<Self, String> {
        let stubs = table.remove("stubs").map(StubsKey::read).transpose()?;
        let traces = table
            .remove("traces")
            .map_or(Ok(TraceSource::None), stubs::trace_source)?;
        Ok(AgentTable {
            kind: KindTable::read(table)?,
            stubs,
            traces,
        })
    }
}

impl KindTable {
    /// Reads the keys of a kind. The error is a message.
    fn read(mut table: toml::Table) -> Result<KindTable, String> {
        let kind = match table.remove("kind") {
            Some(toml::Value::String(kind)) => kind,
            _ => {
                // `command = "…"` alone may be meant.
                let meant = table
                    .keys()
                    .find(|key| kinds().split(", ").any(|kind| kind == *key));
                let kind = meant.map_or("adk", String::as_str);
                return Err(format!(
                    "kind is missing: add kind = {kind:?}; the kinds are {}",
                    kinds()
                ));
            }
        };
        let wrong = |error: toml::de::Error| with_key(&error);
        Ok(match kind.as_str() {
            "adk" => KindTable::Adk(table.try_into().map_err(wrong)?),
            "command" => KindTable::Command(table.try_into().map_err(wrong)?),
            "python" => KindTable::Python(table.try_into().map_err(wrong)?),
            "replay" => KindTable::Replay(table.try_into().map_err(wrong)?),
            kind if Protocol::NAMES.contains(&kind) => {
                KindTable::Server(Box::new(server::ServerTable::split(kind, table)?))
            }
            _ => {
                return Err(format!(
                    "{kind:?} is not a kind of agent; the kinds are {}",
                    kinds()
                ));
            }
        })
    }
}

fn kinds() -> String {
    let names: Vec<&str> = ["adk", "command", "python", "replay"]
        .into_iter()
        .chain(Protocol::NAMES)
        .collect();
    names.join(", ")
}

impl AgentTable {
    /// Maximum number of concurrent attempts, if the agent has a limit of its own.
    pub(super) fn jobs(&self) -> Option<u32> {
        match &self.kind {
            KindTable::Adk(table) => table.jobs,
            KindTable::Command(table) => table.jobs,
            KindTable::Python(table) => table.jobs,
            KindTable::Replay(table) => table.jobs,
            KindTable::Server(table) => table.jobs,
        }
    }

    /// How the agent's tools are seen and answered, if the file says it; paths are relative to `root`. The error is a message.
    pub(super) fn tools(&mut self, root: &Path) -> Result<Option<ToolsSpec>, String> {
        let tools = self
            .stubs
            .take()
            .map(|stubs| stubs.spec(root))
            .transpose()?;
        if self.traces == TraceSource::None {
            return Ok(tools);
        }
        Ok(Some(ToolsSpec {
            traces: std::mem::take(&mut self.traces),
            ..tools.unwrap_or_default()
        }))
    }

    /// The agent of this name; paths are relative to `root`. The error is a message.
    pub(super) fn spec(self, name: &str, root: &Path) -> Result<AgentSpec, String> {
        match self.kind {
            KindTable::Adk(table) => table.spec(name, root),
            KindTable::Command(table) => table.spec(root),
            KindTable::Python(table) => table.spec(root),
            KindTable::Replay(table) => Ok(table.spec(root)),
            KindTable::Server(table) => table.spec(root),
        }
    }
}

/// Whether a text is an agent's address, and not a name: it begins with the prefix of a kind.
pub fn is_agent_address(text: &str) -> bool {
    ADDRESSES.iter().any(|(prefix, _)| text.starts_with(prefix))
        || server::protocol_of(text).is_some()
}

/// Parses an agent's address: `adk+http://host:port/app`, `a2a+http://host:port`, `cmd:./agent.sh --flag` or
/// `replay:recording.jsonl`.
/// Returns `None` when the text is a name. Relative paths are relative to `base`.
pub fn parse_agent_uri(text: &str, base: &Path) -> Option<Result<AgentSpec, AgentSpecError>> {
    // Errors repeat the address, which follows the name of the protocol.
    let address = text.split_once('+').map_or(text, |(_, address)| address);
    let secrets = Secrets::new(secrets_in_address(address));
    let masked = |error: AgentSpecError| AgentSpecError(secrets.mask(&error.0).into_owned());
    parsed_agent(text, base).map(|spec| spec.map_err(masked))
}

fn parsed_agent(text: &str, base: &Path) -> Option<Result<AgentSpec, AgentSpecError>> {
    let of_kind =
        |(prefix, parse): &(&str, ParseAddress)| Some(parse(text.strip_prefix(prefix)?, base));
    let of_protocol = || {
        let (name, address) = server::protocol_of(text)?;
        Some(
            server::parse(name, address, base)
                .map_err(|why| AgentSpecError(format!("{text}: {why}"))),
        )
    };
    ADDRESSES.iter().find_map(of_kind).or_else(of_protocol).or_else(|| {
        let (scheme, _) = text.split_once("://")?;
        let address = match scheme {
            "http" | "https" => text.trim_end_matches('/'),
            _ => "http://HOST:PORT",
        };
        let in_addresses = Protocol::NAMES.into_iter().filter(|name| *name != "http");
        let protocols: Vec<String> = in_addresses.map(|name| format!("{name}+{address}")).collect();
        Some(Err(AgentSpecError(format!(
            "{scheme}:// is not a way to reach an agent; try adk+{address}/APP, {}, cmd:./program, python:MODULE:NAME or \
             replay:recording.jsonl",
            protocols.join(", ")
        ))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::AgentServer;

    #[test]
    fn uris_name_agents() {
        let base = Path::new("/w");
        let read = |text: &str| parse_agent_uri(text, base).unwrap();
        let server = AgentServer::Url("http://127.0.0.1:8000".into());
        assert_eq!(
            read("adk+http://127.0.0.1:8000/home"),
            Ok(AgentSpec::Adk {
                server,
                app: "home".into(),
                agent_name: None
            })
        );
        let server = AgentServer::Url("https://x/prefix".into());
        assert_eq!(
            read("adk+https://x/prefix/home/"),
            Ok(AgentSpec::Adk {
                server,
                app: "home".into(),
                agent_name: None
            })
        );
        assert_eq!(
            read("replay:r.jsonl?speed=0"),
            Ok(AgentSpec::Replay {
                path: "/w/r.jsonl".into(),
                speed: 0,
                fallback: None
            })
        );
        assert!(
            read("adk+http://x")
                .unwrap_err()
                .0
                .contains("application is missing")
        );
        assert!(
            read("http://x/y")
                .unwrap_err()
                .0
                .contains("try adk+http://x/y/APP")
        );
        assert!(parse_agent_uri("home", base).is_none());
    }

    #[test]
    fn commands_are_split_and_not_expanded() {
        let split = |text| split_command(text).unwrap();
        assert_eq!(
            split("a 'b c' \"d\\\"e\" $HOME"),
            ["a", "b c", "d\"e", "$HOME"]
        );
        assert_eq!(
            split(r"C:\Python\python.exe '\n' \"),
            [r"C:\Python\python.exe", r"\n", r"\"]
        );
        #[cfg(not(windows))]
        assert_eq!(split(r"f\ g a\\b"), ["f g", r"a\b"]);
        #[cfg(windows)]
        assert_eq!(
            split(r"\\srv\agent.exe C:\data\ x"),
            [r"\\srv\agent.exe", r"C:\data\", "x"]
        );
        assert_eq!(split("a ''"), ["a", ""]);
        assert!(split_command("a 'b").is_err() && split_command("  ").is_err());
    }
}
