//! Discovery of the eval sets and agents in a workspace.

use super::named_path::named_path;
use super::root::{above, repository_of, root_of, same_owner};
use super::sets::read_config_text;
use crate::config::{CRITERIA_FILE, ConfigFile, ConfigProblem, FILE_NAME};
use crate::store::{AppFolders, WrittenFiles, read_start, read_tail};
use crate::workspace::agent_folders::{agent_folder, nearest_agent};
use crate::workspace::{AgentFolder, SetPath, is_agent};
use evaltrail_core::domain::stored_path::path_below;
use evaltrail_core::formats::adk::RESULT_ENDING;
use evaltrail_core::formats::{
    ColumnMap, FILE_START, FileContent, TAIL, content_of, decoded_text, is_own_result, may_be_data,
};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// Deeper folders are not searched.
const DEEPEST: usize = 12;
const SKIPPED: &[&str] = &[
    "node_modules",
    "__pycache__",
    "target",
    "venv",
    "site-packages",
];

/// A folder that was opened, with its agents, eval sets and configuration.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// The folder.
    pub root: PathBuf,
    /// The folders that were searched and have to be watched.
    pub folders: Vec<PathBuf>,
    /// The ADK agents in it.
    pub agents: Vec<AgentFolder>,
    /// The eval sets in it, sorted by path.
    pub sets: Vec<SetPath>,
    /// The result files of ADK in the folder that was opened, without those in hidden folders below it.
    pub adk_results: Vec<PathBuf>,
    /// The folders and files in it that cannot be read, each with the error: they may contain eval sets.
    pub unreadable: Vec<String>,
    /// The contents of `evaltrail.toml`.
    pub config: ConfigFile,
}

/// Why a folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// It does not exist or cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The path that was opened.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Its `evaltrail.toml` is invalid.
    #[error("{path}: {source}")]
    Config {
        /// The file.
        path: String,
        /// What is wrong.
        source: ConfigProblem,
    },
}

impl Workspace {
    /// The agents that can be named: those of the configuration and the ADK agents in the folder, sorted.
    pub fn agent_names(&self) -> Vec<String> {
        let configured = self.config.agents.keys().cloned();
        let in_folder = self.agents.iter().map(|agent| agent.name.clone());
        configured
            .chain(in_folder)
            .collect::<BTreeSet<String>>()
            .into_iter()
            .collect()
    }

    /// Opens a folder, or a file, which is then the only set. The workspace's root is searched upwards ([`root_of`]);
    /// only the sets in the opened folder are listed.
    pub fn open(path: &Path) -> Result<Workspace, WorkspaceError> {
        Workspace::open_with(path, &ColumnMap::default())
    }

    /// Like [`Workspace::open`], with columns that are mapped on the command line: they replace those of the
    /// configuration, unless there are none.
    pub fn open_with(path: &Path, columns: &ColumnMap) -> Result<Workspace, WorkspaceError> {
        let io = |source| WorkspaceError::Io {
            path: path.display().to_string(),
            source,
        };
        let opened = named_path(path).map_err(io)?;
        let is_file = fs::metadata(&opened).map_err(io)?.is_file();
        let folder = match opened.parent() {
            Some(parent) if is_file => parent.to_path_buf(),
            _ => opened.clone(),
        };
        let root = root_of(outside_own_folder(&folder));
        let mut workspace = Workspace {
            config: read_config(&root)?,
            root,
            ..Workspace::default()
        };
        if !columns.is_empty() {
            workspace.config.columns = columns.clone();
        }
        if is_file {
            workspace.sets.push(workspace.set_path(&opened));
            workspace.folders.push(folder.clone());
        } else {
            let mut walk = FolderWalk {
                looks_for_sets: true,
                ..FolderWalk::default()
            };
            let app = opened.parent().and_then(nearest_agent);
            let app = app.map(|agent| agent.name);
            walk.folder(&mut workspace, &opened, app.as_deref(), 0);
            walk.links(&mut workspace);
        }
        workspace.find_agents_around(&folder);
        if workspace.agents.is_empty()
            && workspace.config.agents.is_empty()
            && workspace.root == folder
        {
            workspace.find_sibling_agents(&folder, is_file);
        }
        workspace.sets.sort_by(|a, b| a.shown.cmp(&b.shown));
        workspace.agents.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(workspace)
    }

    /// Finds the agents outside the opened folder: those whose folders contain it and, if the workspace has a
    /// configuration, all others in the workspace.
    fn find_agents_around(&mut self, opened: &Path) {
        if *opened != self.root && self.root.join(FILE_NAME).is_file() {
            let mut walk = FolderWalk::default();
            walk.folder(self, &self.root.clone(), None, 0);
            self.folders.push(self.root.clone());
        }
        let around = opened
            .ancestors()
            .take_while(|folder| folder.starts_with(&self.root));
        for agent in around
            .filter(|folder| is_agent(folder))
            .filter_map(agent_folder)
        {
            if !self.agents.contains(&agent) {
                self.agents.push(agent);
            }
        }
        self.folders.sort();
        self.folders.dedup();
    }

    /// Finds the agents beside the opened folder, where neither it nor a folder above is that of an agent or has a
    /// configuration: `agents/` and `evalsets/` are in the same folder in many projects. The folder that contains both is then
    /// the root, as if it was opened itself. Of a file (`is_file`), the agents below its folder come first.
    fn find_sibling_agents(&mut self, opened: &Path, is_file: bool) {
        let Some((root, agents)) = agents_around(opened, is_file) else {
            return;
        };
        for set in &mut self.sets {
            set.shown = path_below(&root, &set.path);
        }
        (self.root, self.agents) = (root, agents);
    }

    /// A file of the workspace.
    pub fn set_path(&self, path: &Path) -> SetPath {
        SetPath {
            columns: self.config.columns.clone(),
            ..SetPath::of_file(path, &self.root).with_agent()
        }
    }

    /// The folder of an agent by name. If several have the name, one that contains the file is preferred.
    pub fn agent_folder(&self, name: &str, file: Option<&Path>) -> Option<&AgentFolder> {
        let named = || self.agents.iter().filter(|agent| agent.name == name);
        let holds = |agent: &&AgentFolder| file.is_some_and(|file| file.starts_with(&agent.path));
        named()
            .filter(holds)
            .max_by_key(|agent| agent.path.components().count())
            .or_else(|| named().next())
    }
}

/// A walk through folders.
#[derive(Default)]
struct FolderWalk {
    looks_for_sets: bool,
    /// Number of files whose beginning was read.
    looked_into: usize,
    /// The reports and recordings that were written, wherever they are now. Read when a file may be one of them.
    written: OnceCell<WrittenFiles>,
    /// Canonical paths of the folders that were visited. Each is visited once, even if several links lead to it.
    seen: HashSet<PathBuf>,
    /// Links to folders. They are visited after all folders.
    linked: Vec<LinkedFolder>,
}

/// A link to a folder.
struct LinkedFolder {
    path: PathBuf,
    /// The agent in whose folder it is.
    app: Option<String>,
    depth: usize,
}

impl FolderWalk {
    /// Visits a folder, and those in it. `app_above`: the agent in whose folder it is.
    fn folder(
        &mut self,
        workspace: &mut Workspace,
        folder: &Path,
        app_above: Option<&str>,
        depth: usize,
    ) {
        let canonical = dunce::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        if !self.seen.insert(canonical) {
            return;
        }
        if self.looks_for_sets {
            workspace.folders.push(folder.to_path_buf());
        }
        let agent = is_agent(folder).then(|| agent_folder(folder)).flatten();
        let app = agent.as_ref().map(|agent| agent.name.clone());
        let app = app.as_deref().or(app_above);
        if let Some(agent) = agent
            && !workspace.agents.contains(&agent)
        {
            workspace.agents.push(agent);
        }
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
        let entries = entries.unwrap_or_else(|error| {
            self.note(workspace, folder, &error);
            Vec::new()
        });
        for entry in entries {
            let (Some((kind, is_link)), name) =
                (kind_within(&entry, &workspace.root), entry.file_name())
            else {
                continue;
            };
            let name = name.to_string_lossy();
            let path = entry.path();
            if kind.is_dir()
                && depth < DEEPEST
                && !name.starts_with('.')
                && !SKIPPED.contains(&name.as_ref())
            {
                match is_link {
                    true => self.linked.push(LinkedFolder {
                        path,
                        app: app.map(str::to_string),
                        depth: depth + 1,
                    }),
                    false => self.folder(workspace, &path, app, depth + 1),
                }
            } else if self.looks_for_sets && kind.is_file() && name.ends_with(RESULT_ENDING) {
                workspace.adk_results.push(path);
            } else if self.looks_for_sets && kind.is_file() {
                match self.content(&path, &name, &workspace.config.columns) {
                    Ok(FileContent::Other) => {}
                    Ok(content) => {
                        let is_unknown_data = content == FileContent::UnknownData;
                        workspace.sets.push(SetPath {
                            is_unknown_data,
                            app: app.map(str::to_string),
                            columns: workspace.config.columns.clone(),
                            ..SetPath::of_file(&path, &workspace.root)
                        });
                    }
                    Err(error) => self.note(workspace, &path, &error),
                }
            }
        }
    }

    /// Notes that a path cannot be read. One that was removed in the meantime is not noted.
    fn note(&self, workspace: &mut Workspace, path: &Path, error: &io::Error) {
        if self.looks_for_sets && error.kind() != io::ErrorKind::NotFound {
            workspace
                .unreadable
                .push(format!("{}: {error}", path_below(&workspace.root, path)));
        }
    }

    /// What a file contains, by its name or by its beginning; a result that evaltrail wrote is none of a workspace's
    /// sets. The number of files that are read is limited. Errors: the file may contain cases and cannot be read.
    fn content(&mut self, path: &Path, name: &str, columns: &ColumnMap) -> io::Result<FileContent> {
        const LOOKED_INTO: usize = 5000;
        if name.ends_with(super::sidecar_files::NOTES_ENDING) {
            return Ok(FileContent::Other);
        }
        let is_named_as_set = name.ends_with(".evalset.json") || name.ends_with(".test.json");
        let by_name = if is_named_as_set {
            FileContent::Cases
        } else {
            FileContent::Other
        };
        if !may_be_data(name) || name == CRITERIA_FILE || self.looked_into >= LOOKED_INTO {
            return Ok(by_name);
        }
        self.looked_into += 1;
        let start = match read_start(path, FILE_START) {
            Ok(start) => start,
            // It is reported where it is opened.
            Err(_) if is_named_as_set => return Ok(by_name),
            Err(error) => return Err(error),
        };
        let content = match content_of(name, &start, columns) {
            FileContent::UnknownData if is_named_as_set => FileContent::Cases,
            FileContent::UnknownData if name.ends_with(super::sidecar_files::STUBS_ENDING) => {
                FileContent::Other
            }
            FileContent::UnknownData if WrittenFiles::is_record(&decoded_text(&start)) => {
                FileContent::Other
            }
            FileContent::Other => by_name,
            content => content,
        };
        let is_result = content != FileContent::Other
            && (is_own_result(&start, || read_tail(path, TAIL).unwrap_or_default())
                || self
                    .written
                    .get_or_init(|| WrittenFiles::load(AppFolders::find().as_ref()))
                    .contains(path));
        Ok(if is_result {
            FileContent::Other
        } else {
            content
        })
    }

    /// Visits the targets of links to folders, unless they were already visited.
    fn links(&mut self, workspace: &mut Workspace) {
        while let Some(LinkedFolder { path, app, depth }) = self.linked.pop() {
            self.folder(workspace, &path, app.as_deref(), depth);
        }
    }
}

/// The type of a folder's entry, and whether the entry is a link. For a link it is the type of its target; `None` if
/// the target is outside of the root.
fn kind_within(entry: &DirEntry, root: &Path) -> Option<(FileType, bool)> {
    let kind = entry.file_type().ok()?;
    if !kind.is_symlink() {
        return Some((kind, false));
    }
    let target = dunce::canonicalize(entry.path())
        .ok()
        .filter(|target| target.starts_with(root))?;
    Some((fs::metadata(target).ok()?.file_type(), true))
}

/// The folder that contains `.evaltrail`, for a folder in it: standard input is stored there.
fn outside_own_folder(folder: &Path) -> &Path {
    let own = folder
        .ancestors()
        .find(|one| one.file_name().is_some_and(|name| name == ".evaltrail"));
    own.and_then(Path::parent).unwrap_or(folder)
}

/// The nearest folder above a folder that contains agents, and these. Searched are the folders of the repository, and those
/// in the current folder; of each, the folders in it and one level below. `itself`: the folder itself is searched first.
fn agents_around(folder: &Path, itself: bool) -> Option<(PathBuf, Vec<AgentFolder>)> {
    let current = std::env::current_dir()
        .ok()
        .and_then(|current| dunce::canonicalize(current).ok());
    let repository = repository_of(folder);
    let is_searched = |above: &PathBuf| {
        let within = |top: &Option<PathBuf>| top.as_ref().is_some_and(|top| above.starts_with(top));
        above == folder || within(&repository) || within(&current)
    };
    above(folder)
        .into_iter()
        .skip(usize::from(!itself))
        .take_while(is_searched)
        .find_map(|above| {
            let near = folders_in(&above);
            let below = near.iter().flat_map(|folder| folders_in(folder));
            let agents: Vec<AgentFolder> = near
                .iter()
                .cloned()
                .chain(below)
                .filter(|one| is_agent(one))
                .filter_map(|one| agent_folder(&one))
                .collect();
            (!agents.is_empty()).then_some((above, agents))
        })
}

/// The folders in a folder, except hidden ones, links and those that contain no agents. Their number is limited.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    const MAX: usize = 200;
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(MAX);
    let is_searched = |entry: &DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        !name.starts_with('.')
            && !SKIPPED.contains(&name.as_ref())
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && same_owner(&entry.path(), folder)
    };
    let mut found: Vec<PathBuf> = entries
        .filter(is_searched)
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

fn read_config(root: &Path) -> Result<ConfigFile, WorkspaceError> {
    let path = root.join(FILE_NAME);
    let text = match read_config_text(&path, root) {
        Ok(text) => text,
        // For a dangling link the error is also "not found", but the file exists.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&path).is_err() =>
        {
            return Ok(ConfigFile::default());
        }
        Err(source) => {
            return Err(WorkspaceError::Io {
                path: path.display().to_string(),
                source,
            });
        }
    };
    ConfigFile::parse(&text, root).map_err(|source| WorkspaceError::Config {
        path: path.display().to_string(),
        source,
    })
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
        write(
            root,
            "agents/home/.adk/eval_history/z.evalset_result.json",
            "{}",
        );
        write(root, "other/copy.evalset_result.json", "{}");
        let workspace = Workspace::open(root).unwrap();
        let results: Vec<_> = workspace
            .adk_results
            .iter()
            .filter_map(|result| result.file_name())
            .collect();
        assert_eq!(results, ["copy.evalset_result.json"]);
        let found: Vec<_> = workspace
            .sets
            .iter()
            .map(|s| (s.stem.as_str(), s.app.as_deref()))
            .collect();
        assert_eq!(
            found,
            [("lights", Some("home")), ("old", Some("home")), ("x", None)]
        );
        assert_eq!(workspace.agents.len(), 1);
        let one = Workspace::open(&root.join("agents/home/lights.evalset.json")).unwrap();
        assert_eq!(
            (one.sets.len(), one.sets[0].app.as_deref()),
            (1, Some("home"))
        );
        assert!(Workspace::open(&root.join("none")).is_err());
    }

    #[test]
    fn agents_are_found_by_exposed_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, file, text, expected) in [
            ("plain", "agent.py", "root_agent = Agent()", true),
            ("app", "agent.py", "app = App(name='x')", true),
            (
                "init",
                "__init__.py",
                "from .agent_code import root_agent",
                true,
            ),
            (
                "renamed",
                "__init__.py",
                "from .code import make as root_agent",
                true,
            ),
            ("package", "agent/__init__.py", "root_agent = x", true),
            ("package", "__init__.py", "", true),
            ("package/agent", "agent.py", "root_agent = x", false),
            ("yaml", "root_agent.yaml", "name: x", true),
            (
                "comparison",
                "agent.py",
                "comparison_root_agent = Agent()",
                false,
            ),
            (
                "comment",
                "agent.py",
                "# the root_agent is elsewhere",
                false,
            ),
            ("server", "agent.py", "api = FastApp(x)", false),
            (
                "other",
                "agent.py",
                "print(other.root_agent)\nfrom x import root_agent as other",
                false,
            ),
        ] {
            write(folder.path(), &format!("{name}/{file}"), text);
            assert_eq!(is_agent(&folder.path().join(name)), expected, "{name}");
        }
    }

    #[test]
    fn workspace_is_found_up_to_repository_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = &dunce::canonicalize(folder.path()).unwrap();
        write(root, "evaltrail.toml", "");
        write(root, "w/evaltrail.toml", "[run]\njobs = 3");
        write(root, "w/garden/agent.py", "root_agent = 1");
        write(root, "w/garden/tests/a.evalset.json", "{}");
        write(root, "w/desk/agent.py", "root_agent = 1");
        write(root, "w/desk/b.evalset.json", "{}");
        write(root, "w/sets/of/june/d.evalset.json", "{}");
        write(root, "repository/.git", "a worktree has a file here");
        write(root, "repository/x/c.evalset.json", "{}");
        for opened in [
            "w",
            "w/garden",
            "w/garden/tests",
            "w/garden/tests/a.evalset.json",
        ] {
            let workspace = Workspace::open(&root.join(opened)).unwrap();
            assert_eq!(workspace.root, root.join("w"), "{opened}");
            assert_eq!(workspace.config.jobs, Some(3), "{opened}");
            let agents: Vec<&str> = workspace
                .agents
                .iter()
                .map(|agent| agent.name.as_str())
                .collect();
            assert_eq!(agents, ["desk", "garden"], "{opened}");
            let shown: Vec<&str> = workspace
                .sets
                .iter()
                .map(|set| set.shown.as_str())
                .collect();
            let all = [
                "desk/b.evalset.json",
                "garden/tests/a.evalset.json",
                "sets/of/june/d.evalset.json",
            ];
            assert_eq!(
                shown,
                if opened == "w" { &all[..] } else { &all[1..2] },
                "{opened}"
            );
        }
        let deep = Workspace::open(&root.join("w/sets/of/june")).unwrap();
        assert_eq!(
            (deep.root, deep.config.jobs),
            (root.join("w"), Some(3)),
            "also without an agent nearby"
        );
        let outside = Workspace::open(&root.join("repository/x")).unwrap();
        assert_eq!(
            outside.root,
            root.join("repository/x"),
            "a configuration above the repository is ignored"
        );
    }

    #[cfg(unix)]
    #[test]
    fn only_links_within_root_are_followed_once() {
        use std::os::unix::fs::symlink;
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = &dunce::canonicalize(folder.path()).unwrap();
        write(root, "shared/common.evalset.json", "{}");
        write(root, ".shared/evals/hidden.evalset.json", "{}");
        write(root, "agents/home/agent.py", "root_agent = 1");
        write(outside.path(), "secret.evalset.json", "{}");
        let home = root.join("agents/home");
        symlink(
            "../../shared/common.evalset.json",
            home.join("common.evalset.json"),
        )
        .unwrap();
        symlink("../../.shared/evals", home.join("evals")).unwrap();
        symlink("../..", home.join("around")).unwrap();
        symlink(outside.path(), home.join("outside")).unwrap();
        symlink(
            outside.path().join("secret.evalset.json"),
            home.join("secret.evalset.json"),
        )
        .unwrap();
        let workspace = Workspace::open(root).unwrap();
        let found: Vec<_> = workspace
            .sets
            .iter()
            .map(|s| (s.shown.as_str(), s.app.as_deref()))
            .collect();
        let home_app = Some("home");
        assert_eq!(
            found,
            [
                ("agents/home/common.evalset.json", home_app),
                ("agents/home/evals/hidden.evalset.json", home_app),
                ("shared/common.evalset.json", None),
            ]
        );
        let named = Workspace::open(&home.join("secret.evalset.json")).unwrap();
        assert_eq!(
            named.sets[0].path,
            home.join("secret.evalset.json"),
            "a link belongs to its own folder"
        );
        assert_eq!(named.root, root.join("agents"));
    }
}
