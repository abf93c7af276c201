//! When the files that a set's results depend on were changed last.

use super::{SetPath, Workspace, agent_for, agent_of_set};
use crate::config::{CRITERIA_FILE, FILE_NAME};
use evaltrail_core::formats::SetFile;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Maximum depth of folders that are searched below the agent's folder.
const DEPTH: usize = 6;
/// Maximum number of files of an agent that are looked at.
const FILES: usize = 20_000;
/// Endings of files that an agent is made of: code, settings and prompts.
const SOURCE: [&str; 18] = [
    ".py", ".js", ".ts", ".mjs", ".go", ".rs", ".java", ".kt", ".sh", ".toml", ".yaml", ".yml",
    ".json", ".txt", ".md", ".jinja", ".j2", ".prompt",
];
/// Folders that contain no source of the agent.
const NOT_SOURCE: [&str; 5] = [
    "__pycache__",
    "node_modules",
    "venv",
    "site-packages",
    "target",
];

/// When criteria, configuration or source of the agent of a set were changed last, in Unix seconds: the newest
/// modification time of `test_config.json` beside the set, `evaltrail.toml`, the code, settings and prompts in the agent's
/// folder, and the recording of a replayed agent. `None` if none of these files exists. The files of other agents
/// are not known.
pub fn sources_changed_at(workspace: &Workspace, set: &SetPath, file: &SetFile) -> Option<f64> {
    let configs = [
        set.path.with_file_name(CRITERIA_FILE),
        workspace.root.join(FILE_NAME),
    ];
    let mut newest = configs
        .iter()
        .filter_map(|path| modified(path))
        .reduce(f64::max);
    let mut take = |time: Option<f64>| newest = newest.into_iter().chain(time).reduce(f64::max);
    if let Some(agent) = agent_of_set(workspace, set, file) {
        let mut left = FILES;
        take(newest_below(&agent.path, DEPTH, &mut left));
    }
    if let Ok((_, mut spec)) = agent_for(workspace, set, None, None) {
        take(spec.path_mut().and_then(|path| modified(path)));
    }
    newest
}

/// The folders of a workspace in which a change may affect results: those that were searched for eval sets, and those
/// with the sources of its agents.
pub fn watched_folders(workspace: &Workspace) -> Vec<PathBuf> {
    let mut of_agents = Vec::new();
    workspace
        .agents
        .iter()
        .for_each(|agent| folders_below(&agent.path, DEPTH, &mut of_agents));
    // Those of eval sets come first: only a limited number of folders is watched.
    let mut known = HashSet::new();
    let all = workspace.folders.iter().cloned().chain(of_agents);
    all.filter(|folder| known.insert(folder.clone())).collect()
}

/// Adds a folder and the folders of sources below it. Links are not followed.
fn folders_below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    found.push(folder.to_path_buf());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if depth == 0 || found.len() >= FILES {
            return;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && is_searched(&entry.file_name().to_string_lossy()) {
            folders_below(&entry.path(), depth - 1, found);
        }
    }
}

/// Whether a folder or file with this name is searched.
pub(super) fn is_searched(name: &str) -> bool {
    !name.starts_with('.') && !NOT_SOURCE.contains(&name)
}

fn modified(path: &Path) -> Option<f64> {
    let time = fs::metadata(path)
        .ok()
        .filter(|meta| meta.is_file())?
        .modified()
        .ok()?;
    time.duration_since(UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs_f64())
}

/// The newest modification time of the source files below a folder. Links are not followed.
fn newest_below(folder: &Path, depth: usize, left: &mut usize) -> Option<f64> {
    let entries = fs::read_dir(folder).ok()?;
    let mut newest: Option<f64> = None;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_searched(&name) || *left == 0 {
            continue;
        }
        *left -= 1;
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let time = match () {
            () if kind.is_dir() && depth > 0 => newest_below(&entry.path(), depth - 1, left),
            () if kind.is_file() && is_source(&name) => modified(&entry.path()),
            () => None,
        };
        newest = newest.into_iter().chain(time).reduce(f64::max);
    }
    newest
}

/// Whether a file belongs to an agent, by its name, and not to its evaluations. Databases and logs, which an agent may
/// write while it runs, do not.
pub(super) fn is_source(name: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    ends(&SOURCE)
        && !ends(&[".evalset.json", ".test.json", ".evaltrail.json"])
        && name != CRITERIA_FILE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eval_sets_and_hidden_files_are_no_source() {
        let workspace = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = workspace.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            modified(&path)
        };
        let newest = |depth| newest_below(workspace.path(), depth, &mut 10.clone());
        write("a.evalset.json");
        write(".venv/lib.py");
        write("__pycache__/agent.pyc");
        write("evals/test_config.json");
        write("session.db");
        write("agent.log");
        assert_eq!(newest(3), None);
        let source = write("tools/find.py");
        assert_eq!(newest(3), source);
        assert_eq!(newest(0), None, "the depth is limited");
    }
}
