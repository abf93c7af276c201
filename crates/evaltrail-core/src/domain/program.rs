//! Programs that evaltrail starts.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProgramSpec {
    /// The program and its arguments; not interpreted by a shell.
    pub argv: Vec<String>,
    /// The working directory.
    #[serde(with = "super::stored_path")]
    pub cwd: PathBuf,
    /// Names of environment variables that are passed to it in addition to those that every program gets. Their
    /// values are not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// How long to wait for a server to answer after its start, in milliseconds; `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_within_ms: Option<u64>,
    /// Environment variables that evaltrail sets when it starts the program. They are not stored.
    #[serde(skip)]
    pub variables: Vec<(String, String)>,
}

impl ProgramSpec {
    /// A program without additional environment variables.
    pub fn new(argv: Vec<String>, cwd: PathBuf) -> ProgramSpec {
        ProgramSpec {
            argv,
            cwd,
            ..ProgramSpec::default()
        }
    }

    /// The command line to display in a trust question. `is_set` returns whether an environment variable is set:
    /// variables that are not set are omitted.
    pub fn command_line(&self, is_set: impl Fn(&str) -> bool) -> String {
        let given: Vec<&str> = self
            .env
            .iter()
            .map(String::as_str)
            .filter(|name| is_set(name))
            .collect();
        match given.is_empty() {
            true => self.argv.join(" "),
            false => format!(
                "{} (with {} from your environment)",
                self.argv.join(" "),
                given.join(", ")
            ),
        }
    }
}
