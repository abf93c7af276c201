//! The kinds of agents: what a case is run against.
//!
//! Another kind is a variant of [`AgentSpec`], a file in `config/agents` (how it is written) and a file in `agents` (how
//! it is reached); the compiler names the matches that need another arm.

use super::ProgramSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The agent that a case is run against.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentSpec {
    /// An application on an ADK server.
    Adk {
        /// The server.
        server: AdkServer,
        /// The application's name there.
        app: String,
    },
    /// A program, started once per attempt.
    Command(ProgramSpec),
    /// No agent: the saved responses in the file are scored.
    Saved,
    /// No agent: the attempts of an earlier run are scored again.
    Kept,
    /// Recorded events, replayed with their timing.
    Replay {
        /// The recording.
        #[serde(with = "super::stored_path")]
        path: PathBuf,
        /// Playback speed in percent; 0 replays without waiting.
        speed: u32,
        /// The response to a message that is not in the recording and not similar to one in it; when `None`, such a
        /// message is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
    },
}

impl AgentSpec {
    /// A short name for a headline.
    pub fn label(&self) -> String {
        match self {
            AgentSpec::Adk { server: AdkServer::Url(url), app } => {
                format!("adk {app} at {}", without_secrets(url))
            }
            AgentSpec::Adk { server: AdkServer::Start(_), app } => format!("adk {app}"),
            AgentSpec::Command(program) => format!("command {}", command_without_secrets(&program.argv)),
            AgentSpec::Saved => "saved responses".into(),
            AgentSpec::Kept => "judged again".into(),
            AgentSpec::Replay { path, .. } => {
                format!("replay {}", path.file_name().unwrap_or_default().to_string_lossy())
            }
        }
    }

    /// The program that is started, if there is one.
    pub fn program(&self) -> Option<&ProgramSpec> {
        match self {
            AgentSpec::Command(program) | AgentSpec::Adk { server: AdkServer::Start(program), .. } => {
                Some(program)
            }
            _ => None,
        }
    }

    /// Mutable access to the program that is started, if there is one.
    pub fn program_mut(&mut self) -> Option<&mut ProgramSpec> {
        match self {
            AgentSpec::Command(program) | AgentSpec::Adk { server: AdkServer::Start(program), .. } => {
                Some(program)
            }
            _ => None,
        }
    }

    /// The URL of a server that is already running, if the agent is reached through one.
    pub fn address(&self) -> Option<&str> {
        match self {
            AgentSpec::Adk { server: AdkServer::Url(url), .. } => Some(url),
            _ => None,
        }
    }

    /// Mutable access to the file or folder that the agent needs, if it needs one.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            AgentSpec::Command(program) | AgentSpec::Adk { server: AdkServer::Start(program), .. } => {
                Some(&mut program.cwd)
            }
            AgentSpec::Replay { path, .. } => Some(path),
            AgentSpec::Adk { server: AdkServer::Url(_), .. } | AgentSpec::Saved | AgentSpec::Kept => None,
        }
    }

    /// The application's name, if there is one.
    pub fn app(&self) -> Option<&str> {
        match self {
            AgentSpec::Adk { app, .. } => Some(app),
            _ => None,
        }
    }
}

/// A URL without user name, password, query and fragment, which may contain tokens.
fn without_secrets(url: &str) -> String {
    let url = match url.find(['?', '#']) {
        Some(at) => format!("{}{}…", &url[..at], &url[at..=at]),
        None => url.to_string(),
    };
    let Some((scheme, rest)) = url.split_once("://") else { return url };
    let host_end = rest.find('/').unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        Some(at) => format!("{scheme}://…@{}", &rest[at + 1..]),
        None => url,
    }
}

/// A command line without the values of options whose names suggest secrets.
fn command_without_secrets(argv: &[String]) -> String {
    let is_secret = |option: &str| {
        let option = option.to_lowercase();
        option.starts_with('-')
            && ["key", "token", "secret", "password"].iter().any(|word| option.contains(word))
    };
    let mut shown: Vec<String> = Vec::new();
    let mut hides_next = false;
    for word in argv {
        let hides = std::mem::take(&mut hides_next);
        shown.push(match word.split_once('=') {
            _ if hides => "…".into(),
            Some((option, _)) if is_secret(option) => format!("{option}=…"),
            _ => {
                hides_next = is_secret(word);
                without_secrets_in(word)
            }
        });
    }
    shown.join(" ")
}

fn without_secrets_in(word: &str) -> String {
    if word.contains("://") { without_secrets(word) } else { word.to_string() }
}

/// How an ADK server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdkServer {
    /// A server that is already running.
    Url(String),
    /// A server that evaltrail starts; `{port}` is replaced by a free port.
    Start(ProgramSpec),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(without_secrets("http://me:secret@host:1/x"), "http://…@host:1/x");
        assert_eq!(without_secrets("http://host/a@b"), "http://host/a@b");
        assert_eq!(without_secrets("http://host/a?key=abc&x=y@z"), "http://host/a?…");
        let argv = ["a", "--api-key", "abc", "--token=abc", "-n", "http://u:abc@h/x"].map(String::from);
        assert_eq!(command_without_secrets(&argv), "a --api-key … --token=… -n http://…@h/x");
    }
}
