//! Finding what is there.

use crate::config::{ConfigFile, ConfigProblem, FILE_NAME};
use crate::formats::{HEAD, looks_like_cases};
use std::fs;
use std::path::{Path, PathBuf};

/// Deeper folders are not looked into.
const DEEPEST: usize = 12;
const SKIPPED: &[&str] = &["node_modules", "__pycache__", "target", "venv", "site-packages"];

/// A folder that was opened, and what it holds.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// The folder.
    pub root: PathBuf,
    /// The folders that were looked into, which are worth watching.
    pub folders: Vec<PathBuf>,
    /// The ADK agents in it.
    pub agents: Vec<AgentFolder>,
    /// The eval sets in it, sorted by path.
    pub sets: Vec<SetPath>,
    /// What `evaltrail.toml` says.
    pub config: ConfigFile,
}

/// A folder that holds an ADK agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentFolder {
    /// The application's name: the folder's.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
}

/// An eval set file, before it is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPath {
    /// The file.
    pub path: PathBuf,
    /// The path as shown: relative to the workspace.
    pub shown: String,
    /// The name without folders and endings.
    pub stem: String,
    /// The ADK agent in whose folder it lies.
    pub app: Option<String>,
}

impl SetPath {
    /// A file of a workspace.
    pub fn of_file(path: &Path, root: &Path) -> SetPath {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = stem_of(&name).to_string();
        let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let app = path.ancestors().skip(1).find(|folder| is_agent(folder)).and_then(agent_folder);
        SetPath { path: path.to_path_buf(), shown, stem, app: app.map(|agent| agent.name) }
    }

    /// Whether it is a data set by its name, and none of ADK's files: one for scoring rather than for running.
    pub fn is_data(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        !name.ends_with(".evalset.json") && !name.ends_with(".test.json")
    }
}

/// Why a folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// It is not there, or cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// What was opened.
        path: String,
        /// What happened.
        source: std::io::Error,
    },
    /// Its `evaltrail.toml` is wrong.
    #[error("{path}: {source}")]
    Config {
        /// The file.
        path: String,
        /// What is wrong.
        source: ConfigProblem,
    },
}

impl Workspace {
    /// Opens a folder, or the folder of a file; then that file is its only set.
    pub fn open(path: &Path) -> Result<Workspace, WorkspaceError> {
        let io = |source| WorkspaceError::Io { path: path.display().to_string(), source };
        let path = fs::canonicalize(path).map_err(io)?;
        let is_file = fs::metadata(&path).map_err(io)?.is_file();
        let root = match path.parent() {
            Some(parent) if is_file => root_of(parent),
            _ => path.clone(),
        };
        let mut workspace = Workspace { config: read_config(&root)?, root, ..Workspace::default() };
        if is_file {
            let app = path.parent().filter(|folder| is_agent(folder)).and_then(agent_folder);
            workspace.agents.extend(app);
            workspace.add_set(&path);
            workspace.folders.extend(path.parent().map(Path::to_path_buf));
        } else {
            workspace.walk(&path, 0, &mut 0);
        }
        workspace.sets.sort_by(|a, b| a.shown.cmp(&b.shown));
        workspace.agents.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(workspace)
    }

    fn walk(&mut self, folder: &Path, depth: usize, looked_into: &mut usize) {
        self.folders.push(folder.to_path_buf());
        if is_agent(folder) {
            self.agents.extend(agent_folder(folder));
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
            let name = name.to_string_lossy();
            if kind.is_dir() && depth < DEEPEST && !name.starts_with('.') && !SKIPPED.contains(&name.as_ref())
            {
                self.walk(&entry.path(), depth + 1, looked_into);
            } else if kind.is_file() && holds_cases(&entry.path(), &name, looked_into) {
                self.add_set(&entry.path());
            }
        }
    }

    fn add_set(&mut self, path: &Path) {
        self.sets.push(SetPath::of_file(path, &self.root));
    }

    /// The folder of an agent by name. Of several of that name the one that holds the file goes first.
    pub fn agent_folder(&self, name: &str, file: Option<&Path>) -> Option<&AgentFolder> {
        let named = || self.agents.iter().filter(|agent| agent.name == name);
        let holds = |agent: &&AgentFolder| file.is_some_and(|file| file.starts_with(&agent.path));
        named().filter(holds).max_by_key(|agent| agent.path.components().count()).or_else(|| named().next())
    }
}

/// By its name, or by how it begins. Of files that may be anything, so many are looked into.
fn holds_cases(path: &Path, name: &str, looked_into: &mut usize) -> bool {
    const LOOKED_INTO: usize = 5000;
    if name.ends_with(super::beside::ENDING) {
        return false;
    }
    if name.ends_with(".evalset.json") || name.ends_with(".test.json") {
        return true;
    }
    let maybe = DATA.iter().any(|ending| name.ends_with(ending)) && name != "test_config.json";
    if !maybe || *looked_into >= LOOKED_INTO {
        return false;
    }
    *looked_into += 1;
    head_of(path).is_ok_and(|head| looks_like_cases(name, &head))
}

/// Endings of files that may hold cases.
pub(super) const DATA: &[&str] = &[".jsonl", ".ndjson", ".csv", ".tsv", ".json"];

/// The name of a file of cases, without its ending.
fn stem_of(name: &str) -> &str {
    let endings = [".evalset.json", ".test.json"].iter().chain(DATA);
    let stem = endings.into_iter().find_map(|ending| name.strip_suffix(ending));
    stem.filter(|stem| !stem.is_empty()).unwrap_or(name)
}

fn head_of(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut head = Vec::with_capacity(HEAD);
    fs::File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The workspace of a single file: the nearest folder above with an `evaltrail.toml`; else its own,
/// or the one above when that is an agent's.
fn root_of(folder: &Path) -> PathBuf {
    if let Some(root) = folder.ancestors().find(|folder| folder.join(FILE_NAME).is_file()) {
        return root.to_path_buf();
    }
    match folder.parent() {
        Some(above) if is_agent(folder) => above.to_path_buf(),
        _ => folder.to_path_buf(),
    }
}

/// An ADK agent's folder, by what lies in it. Nothing is imported.
fn is_agent(folder: &Path) -> bool {
    folder.join("root_agent.yaml").is_file()
        || (folder.join("agent.py").is_file() && mentions_agent(&folder.join("agent.py")))
}

fn mentions_agent(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains("root_agent") || text.contains("App("))
}

fn agent_folder(folder: &Path) -> Option<AgentFolder> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    Some(AgentFolder { name, path: folder.to_path_buf() })
}

fn read_config(root: &Path) -> Result<ConfigFile, WorkspaceError> {
    let path = root.join(FILE_NAME);
    let Ok(text) = fs::read_to_string(&path) else { return Ok(ConfigFile::default()) };
    ConfigFile::parse(&text, root)
        .map_err(|source| WorkspaceError::Config { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn agents_and_sets_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "agents/home/agent.py", "root_agent = 1");
        write(root, "agents/home/lights.evalset.json", "{}");
        write(root, "agents/home/tests/old.test.json", "[]");
        write(root, "other/x.evalset.json", "{}");
        write(root, ".hidden/y.evalset.json", "{}");
        write(root, "agents/home/.adk/eval_history/z.evalset_result.json", "{}");
        let workspace = Workspace::open(root).unwrap();
        let found: Vec<_> = workspace.sets.iter().map(|s| (s.stem.as_str(), s.app.as_deref())).collect();
        assert_eq!(found, [("lights", Some("home")), ("old", Some("home")), ("x", None)]);
        assert_eq!(workspace.agents.len(), 1);
        let one = Workspace::open(&root.join("agents/home/lights.evalset.json")).unwrap();
        assert_eq!((one.sets.len(), one.sets[0].app.as_deref()), (1, Some("home")));
        assert!(Workspace::open(&root.join("none")).is_err());
    }
}
