//! Programs that are started for each attempt.

use super::error::AgentSpecError;
use evaltrail_core::domain::{AgentSpec, ProgramSpec};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandTable {
    command: String,
    #[serde(default)]
    env: Vec<String>,
    pub(super) jobs: Option<u32>,
}

impl CommandTable {
    pub(super) fn spec(self, root: &Path) -> Result<AgentSpec, String> {
        let argv = split_command(&self.command).map_err(|error| error.0)?;
        Ok(AgentSpec::Command(ProgramSpec {
            argv,
            cwd: root.to_path_buf(),
            env: self.env,
            ..ProgramSpec::default()
        }))
    }
}

pub(super) fn parse(command: &str, base: &Path) -> Result<AgentSpec, AgentSpecError> {
    Ok(AgentSpec::Command(ProgramSpec::new(
        split_command(command)?,
        base.to_path_buf(),
    )))
}

/// Splits a command into program and arguments. Quotes group words, and a backslash escapes a quote, a space or another
/// backslash; on Windows only a quote. Before any other character it stands for itself. Nothing is expanded, since no
/// shell is involved.
pub fn split_command(text: &str) -> Result<Vec<String>, AgentSpecError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') if chars.peek().is_some_and(|next| is_escaped(*next)) => {
                word.get_or_insert_default().extend(chars.next());
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(AgentSpecError(format!(
            "a quote is not closed in the command {text:?}"
        )));
    }
    words.extend(word);
    if words.is_empty() {
        return Err(AgentSpecError("the command is empty".into()));
    }
    Ok(words)
}

fn is_escaped(c: char) -> bool {
    let is_quote = matches!(c, '"' | '\'');
    // Paths on Windows have backslashes before anything.
    is_quote || (cfg!(not(windows)) && (c.is_whitespace() || c == '\\'))
}
