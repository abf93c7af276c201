//! Python functions and agent objects.

use super::error::AgentSpecError;
use super::split_command;
use evaltrail_core::domain::{AgentSpec, ProgramSpec};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PythonTable {
    function: String,
    /// The program; the workspace's Python when it is missing.
    python: Option<String>,
    #[serde(default)]
    env: Vec<String>,
    pub(super) jobs: Option<u32>,
}

impl PythonTable {
    pub(super) fn spec(self, root: &Path) -> Result<AgentSpec, String> {
        let function = checked(&self.function).map_err(|error| error.0)?;
        let argv = self
            .python
            .as_deref()
            .map(split_command)
            .transpose()
            .map_err(|error| error.0)?;
        let program = ProgramSpec {
            argv: argv.unwrap_or_default(),
            cwd: root.to_path_buf(),
            env: self.env,
            ..ProgramSpec::default()
        };
        Ok(AgentSpec::Python { function, program })
    }
}

/// `MODULE:NAME` or `FILE.py:NAME`; with `()` at the end, `NAME` is called for each session.
pub(super) fn parse(text: &str, base: &Path) -> Result<AgentSpec, AgentSpecError> {
    Ok(AgentSpec::Python {
        function: checked(text)?,
        program: ProgramSpec::new(Vec::new(), base.to_path_buf()),
    })
}

fn checked(text: &str) -> Result<String, AgentSpecError> {
    match text.rsplit_once(':') {
        Some((module, name))
            if !module.is_empty() && !name.is_empty() && !module.starts_with('-') =>
        {
            Ok(text.to_string())
        }
        _ => Err(AgentSpecError(format!(
            "{text:?} names no function: write MODULE:NAME or FILE.py:NAME"
        ))),
    }
}
