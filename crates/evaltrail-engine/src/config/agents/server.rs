//! Agents on servers that speak a protocol of agents.

use super::presets::with_preset;
use super::split_command;
use crate::config::duration::parse_duration;
use evaltrail_core::domain::{AgentServer, AgentSpec, ProgramSpec, Protocol, ServerSpec};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use url::Url;

/// The keys that agents of every protocol have.
#[derive(Deserialize)]
struct CommonKeys {
    url: Option<String>,
    start: Option<String>,
    path: Option<String>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    idle: Option<String>,
    start_timeout: Option<String>,
    token_command: Option<String>,
    jobs: Option<u32>,
}

const COMMON_KEYS: [&str; 9] = [
    "url",
    "start",
    "start_timeout",
    "path",
    "env",
    "headers",
    "idle",
    "token_command",
    "jobs",
];

/// An agent in `evaltrail.toml`.
pub(crate) struct ServerTable {
    common: CommonKeys,
    protocol: Protocol,
    pub(super) jobs: Option<u32>,
}

impl ServerTable {
    /// Reads the keys beside `kind`. The error is a message.
    pub(super) fn split(kind: &str, table: toml::Table) -> Result<ServerTable, String> {
        let (common, settings): (toml::Table, toml::Table) = table
            .into_iter()
            .partition(|(key, _)| COMMON_KEYS.contains(&key.as_str()));
        let common: CommonKeys = common.try_into().map_err(message)?;
        let protocol =
            protocol(kind, settings).map_err(|why| match why.contains("unknown field") {
                true => format!("{why}, or one of {}", COMMON_KEYS.join(", ")),
                false => why,
            })?;
        Ok(ServerTable {
            jobs: common.jobs,
            common,
            protocol,
        })
    }

    pub(super) fn spec(self, root: &Path) -> Result<AgentSpec, String> {
        let CommonKeys {
            url,
            start,
            start_timeout,
            path,
            env,
            headers,
            idle,
            token_command,
            ..
        } = self.common;
        let starts_within_ms = start_limit(start_timeout.as_deref(), start.is_some())?;
        let program = |command: &str, env: &[String]| {
            let argv = split_command(command).map_err(|error| error.0)?;
            Ok::<_, String>(ProgramSpec {
                argv,
                cwd: root.to_path_buf(),
                env: env.to_vec(),
                ..ProgramSpec::default()
            })
        };
        let server = match (url, start) {
            (Some(url), None) if path.is_none() => AgentServer::Url(checked(&url)?),
            (Some(_), None) => {
                return Err("path needs a start command; with a url, write the path in it".into());
            }
            (None, Some(start)) => {
                let program = ProgramSpec {
                    starts_within_ms,
                    ..program(&start, &env)?
                };
                if !program.argv.iter().any(|word| word.contains("{port}")) {
                    return Err(
                        "start must contain {port}, which is replaced by a free port".into(),
                    );
                }
                AgentServer::Start(program)
            }
            _ => return Err("an agent of this kind has either a url or a start command".into()),
        };
        if path.as_ref().is_some_and(|path| !path.starts_with('/')) {
            return Err("path must begin with /".into());
        }
        let idle = idle
            .map(|idle| parse_duration(&idle).map_err(|why| format!("idle: {why}")))
            .transpose()?;
        let token_command = token_command
            .map(|command| program(&command, &env))
            .transpose()?;
        Ok(AgentSpec::Server(Box::new(ServerSpec {
            protocol: in_folder(self.protocol, root),
            server,
            path: path.unwrap_or_default(),
            headers,
            idle_ms: idle.map(|idle| idle.as_millis() as u64),
            token_command,
        })))
    }
}

/// The time limit for the start of a server, in milliseconds. The error is a message.
pub(super) fn start_limit(written: Option<&str>, is_started: bool) -> Result<Option<u64>, String> {
    let Some(written) = written else {
        return Ok(None);
    };
    if !is_started {
        return Err("start_timeout needs a start command".into());
    }
    let limit = parse_duration(written).map_err(|why| format!("start_timeout: {why}"))?;
    match u64::try_from(limit.as_millis()) {
        Ok(milliseconds @ 1..) => Ok(Some(milliseconds)),
        _ => Err("start_timeout must be longer than 0".into()),
    }
}

/// The protocol of an address that begins with the name of one and `+`, and the rest.
pub(super) fn protocol_of(text: &str) -> Option<(&'static str, &str)> {
    let (name, address) = text.split_once('+')?;
    let known = Protocol::NAMES.into_iter().find(|known| *known == name)?;
    address.starts_with("http").then_some((known, address))
}

/// The address after the name of the protocol. Settings follow the `#`: `http://HOST:PORT/PATH#stream=false`. `token_env`
/// names the environment variable that contains the bearer token, and `idle` is a time limit.
pub(super) fn parse(name: &str, address: &str, base: &Path) -> Result<AgentSpec, String> {
    let (url, fragment) = address.split_once('#').unwrap_or((address, ""));
    let mut headers = BTreeMap::new();
    let mut settings = toml::Table::new();
    let mut idle_ms = None;
    for (key, value) in url::form_urlencoded::parse(fragment.as_bytes()) {
        match key.as_ref() {
            "token_env" => {
                headers.insert(
                    "authorization".to_string(),
                    format!("Bearer {{env.{value}}}"),
                );
            }
            "idle" => {
                let time = parse_duration(&value).map_err(|why| format!("idle: {why}"))?;
                idle_ms = Some(time.as_millis() as u64);
            }
            key => {
                settings.insert(key.to_string(), setting(&value));
            }
        }
    }
    let server = AgentServer::Url(checked(url)?);
    let protocol = in_folder(protocol(name, settings)?, base);
    Ok(AgentSpec::Server(Box::new(ServerSpec {
        protocol,
        server,
        path: String::new(),
        headers,
        idle_ms,
        token_command: None,
    })))
}

/// A setting in an address: a boolean, a whole number or a text.
fn setting(text: &str) -> toml::Value {
    match (text.parse::<bool>(), text.parse::<i64>()) {
        (Ok(flag), _) => flag.into(),
        (_, Ok(number)) => number.into(),
        _ => text.into(),
    }
}

/// The protocol with its settings. The error is a message.
fn protocol(kind: &str, settings: toml::Table) -> Result<Protocol, String> {
    let mut settings = if kind == "http" {
        with_preset(settings)?
    } else {
        settings
    };
    settings.insert("kind".into(), kind.into());
    Protocol::deserialize(toml::Value::Table(settings)).map_err(message)
}

/// The settings with paths that are relative to a folder.
fn in_folder(mut protocol: Protocol, folder: &Path) -> Protocol {
    if let Some(path) = protocol.path_mut() {
        *path = folder.join(&path);
    }
    protocol
}

fn message(error: toml::de::Error) -> String {
    super::error::with_key(&error)
}

fn checked(url: &str) -> Result<String, String> {
    let parsed =
        Url::parse(url).map_err(|error| format!("{url}: {error}; write http://HOST:PORT/PATH"))?;
    match parsed.scheme() {
        "http" | "https" => Ok(url.to_string()),
        _ => Err(format!(
            "{url}: the address must begin with http:// or https://"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{A2aBinding, A2aSettings};

    #[test]
    fn an_address_contains_the_settings() {
        let here = Path::new("/w");
        let AgentSpec::Server(spec) = parse(
            "a2a",
            "http://h:1/x?y=1#stream=false&binding=http-json&token_env=KEY",
            here,
        )
        .unwrap() else {
            panic!("a server")
        };
        assert_eq!(spec.server, AgentServer::Url("http://h:1/x?y=1".into()));
        assert_eq!(
            spec.protocol,
            Protocol::A2a(A2aSettings {
                stream: false,
                binding: Some(A2aBinding::HttpJson)
            })
        );
        assert_eq!(spec.headers["authorization"], "Bearer {env.KEY}");
        let wrong = |text| parse("a2a", text, here).unwrap_err();
        assert!(
            wrong("http://h:1#steam=false").contains("unknown field `steam`"),
            "{}",
            wrong("http://h:1#steam=false")
        );
        assert!(wrong("https//h").contains("https//h"));
        assert_eq!(protocol_of("a2a+https://h"), Some(("a2a", "https://h")));
        assert_eq!(protocol_of("b2b+https://h"), None);
    }
}
