//! Export of a run to a file that can be opened elsewhere, without secrets.

use super::redaction::Redaction;
use crate::store::{LoadedRun, export_run};
use crate::workspace::Workspace;
use std::path::Path;

/// Writes a run to a file. Values of environment variables and of `.env` files whose names say that they are secret or
/// that agents and judges are given, and texts that look like credentials, are replaced; so are the paths of the
/// workspace and of the home folder.
pub fn export(workspace: &Workspace, run: &LoadedRun, to: &Path) -> std::io::Result<()> {
    let known = Redaction::of(workspace, Some(&run.state.plan));
    export_run(run, &workspace.root, to, |line| known.redact(line))
}
