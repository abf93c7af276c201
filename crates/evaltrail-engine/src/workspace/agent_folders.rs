//! Folders that contain an agent of ADK, recognised by their files.

use crate::store::read_start;
use std::path::{Path, PathBuf};

/// A folder that contains an ADK agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentFolder {
    /// The application's name: the folder's.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
}

/// Whether a folder contains an ADK agent, by the files that ADK's loader searches for. Nothing is imported.
pub fn is_agent(folder: &Path) -> bool {
    // `home/agent/__init__.py` is a part of the agent `home`, not another agent.
    let is_package_of_agent = folder.file_name().is_some_and(|name| name == "agent")
        && folder
            .parent()
            .is_some_and(|parent| parent.join("__init__.py").is_file());
    if is_package_of_agent {
        return false;
    }
    definition_in(folder).is_some()
}

/// The agent in whose folder a folder is, or whose folder it is.
pub(super) fn nearest_agent(folder: &Path) -> Option<AgentFolder> {
    folder
        .ancestors()
        .find(|folder| is_agent(folder))
        .and_then(agent_folder)
}

/// The module in an agent's folder that defines `get_agent_async` where ADK's servers find no agent: `adk eval` calls the
/// function, the servers do not.
pub(super) fn factory_of(folder: &Path) -> Option<PathBuf> {
    match definition_in(folder)? {
        AgentDefinition::Loaded => None,
        AgentDefinition::Factory(module) => Some(module),
    }
}

/// How a folder defines an agent.
enum AgentDefinition {
    /// ADK's loader finds it.
    Loaded,
    /// The module only defines `get_agent_async`.
    Factory(PathBuf),
}

/// How a folder defines an agent; `None` if it does not. Each module is read once. A module that exists but cannot be read
/// counts as one that ADK's loader finds: the start of the agent then reports the error.
fn definition_in(folder: &Path) -> Option<AgentDefinition> {
    if folder.join("root_agent.yaml").is_file() {
        return Some(AgentDefinition::Loaded);
    }
    let mut factory = None;
    for module in MODULES.iter().map(|module| folder.join(module)) {
        let text = match read_start(&module, MODULE_START) {
            Ok(start) => String::from_utf8_lossy(&start).into_owned(),
            Err(_) if module.is_file() => return Some(AgentDefinition::Loaded),
            Err(_) => continue,
        };
        if exposes_agent(&text) {
            return Some(AgentDefinition::Loaded);
        }
        if factory.is_none() && defines_factory(&text) {
            factory = Some(AgentDefinition::Factory(module));
        }
    }
    factory
}

fn defines_factory(module: &str) -> bool {
    module
        .lines()
        .any(|line| line.trim_start().starts_with("async def get_agent_async("))
}

/// The modules of an agent's folder in which ADK's loader searches for the agent.
const MODULES: &[&str] = &["__init__.py", "agent.py", "agent/__init__.py"];

/// Number of bytes of a module that are read.
const MODULE_START: usize = 256 << 10;

/// Whether the text of a module defines or imports a `root_agent`, or creates an `App`.
fn exposes_agent(module: &str) -> bool {
    module
        .lines()
        .any(|line| names_agent(line.split('#').next().unwrap_or_default()))
}

fn names_agent(line: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = |word: &str| -> Vec<(String, String)> {
        let whole = |(at, _): &(usize, &str)| {
            !line[..*at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
        };
        let around =
            |(at, _): (usize, &str)| (line[..at].to_string(), line[at + word.len()..].to_string());
        line.match_indices(word).filter(whole).map(around).collect()
    };
    let binds =
        |(before, after): &(String, String)| !before.ends_with('.') && !after.starts_with(" as ");
    found("root_agent").iter().any(binds)
        || found("App").iter().any(|(_, after)| after.starts_with('('))
}

pub(super) fn agent_folder(folder: &Path) -> Option<AgentFolder> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    Some(AgentFolder {
        name,
        path: folder.to_path_buf(),
    })
}
