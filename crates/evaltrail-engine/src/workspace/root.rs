//! The folders above a folder: the root of its workspace, and that of its repository.

use super::agent_folders::is_agent;
use crate::config::FILE_NAME;
use std::path::{Path, PathBuf};

/// Names that mark the root of a repository: a folder, or in worktrees a file.
const VERSION_CONTROL: &[&str] = &[".git", ".hg", ".jj"];

/// The root of the workspace to which a folder belongs: the nearest folder upwards with an `evaltrail.toml`; else, in
/// an agent's folder, the parent of that folder; else the folder itself. The search ends at the root of the repository
/// and before a folder of another owner, so that files of other users have no effect.
pub fn root_of(folder: &Path) -> PathBuf {
    let above = above(folder);
    let configured = above.iter().find(|folder| folder.join(FILE_NAME).is_file());
    let holds_agent = || {
        above
            .iter()
            .position(|folder| is_agent(folder))
            .and_then(|at| above.get(at + 1))
    };
    configured
        .or_else(holds_agent)
        .cloned()
        .unwrap_or_else(|| folder.to_path_buf())
}

/// A folder and those above it, up to the root of the repository, as long as they and their configuration have the same
/// owner as the first.
pub(super) fn above(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for one in folder.ancestors() {
        let config = one.join(FILE_NAME);
        let is_foreign =
            !same_owner(one, folder) || (config.exists() && !same_owner(&config, folder));
        if one != folder && is_foreign {
            break;
        }
        found.push(one.to_path_buf());
        if is_repository(one) {
            break;
        }
    }
    found
}

/// The root of the repository that contains a folder, unless a folder between them has another owner.
pub(super) fn repository_of(folder: &Path) -> Option<PathBuf> {
    above(folder).pop().filter(|top| is_repository(top))
}

fn is_repository(folder: &Path) -> bool {
    VERSION_CONTROL
        .iter()
        .any(|name| folder.join(name).exists())
}

#[cfg(unix)]
pub(super) fn same_owner(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| std::fs::metadata(path).map(|meta| meta.uid()).ok();
    owner(a).is_some() && owner(a) == owner(b)
}

#[cfg(windows)]
pub(super) fn same_owner(_: &Path, _: &Path) -> bool {
    true
}
