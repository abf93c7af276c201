//! A clone of the repository to work in.

use crate::commands::{command, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A clone of the committed state. The checkout is not changed.
pub struct RepositoryClone {
    _folder: TempDir,
    path: PathBuf,
}

impl RepositoryClone {
    pub fn new() -> anyhow::Result<RepositoryClone> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("evaltrail");
        let (from, to) = (root().display().to_string(), path.display().to_string());
        run(&mut command(
            folder.path(),
            "git",
            &["clone", "-q", &from, &to],
        ))?;
        Ok(RepositoryClone {
            _folder: folder,
            path,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn git(&self, arguments: &[&str]) -> Command {
        command(&self.path, "git", arguments)
    }
}
