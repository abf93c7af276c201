//! Programs that evaltrail starts.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProgramSpec {
    /// Program and arguments; never a shell's text.
    pub argv: Vec<String>,
    /// The folder in which it runs.
    #[serde(with = "super::stored_path")]
    pub cwd: PathBuf,
    /// Names of environment variables that it gets beside those that every program gets. Their values are stored
    /// nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}

impl ProgramSpec {
    /// A program that gets no further environment variables.
    pub fn new(argv: Vec<String>, cwd: PathBuf) -> ProgramSpec {
        ProgramSpec { argv, cwd, env: Vec::new() }
    }

    /// What is run, for a person who is asked about it. `is_set` tells whether a variable of the environment is set:
    /// one that is not cannot be given away.
    pub fn command_line(&self, is_set: impl Fn(&str) -> bool) -> String {
        let given: Vec<&str> = self.env.iter().map(String::as_str).filter(|name| is_set(name)).collect();
        match given.is_empty() {
            true => self.argv.join(" "),
            false => format!("{} (given {} of your environment)", self.argv.join(" "), given.join(", ")),
        }
    }
}
