//! Search for the programs whose paths nobody specified: `adk` and Python. They are found, not run.
//!
//! Other users can write to folders above a workspace (`/tmp`), so virtual environments are searched only up to the root of
//! the repository, or of the workspace if it is in none, and a program in one that another user owns or can change is never chosen. The folders of
//! PATH and the active environment are the choice of the user, whoever owns them (an installation that users share).

mod user;

use super::root::repository_of;
use crate::store::read_start;
use std::path::{Path, PathBuf};
use user::{UnsafePath, User};

/// Names of the folders of virtual environments.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// What decides in a virtual environment which code its Python executes, beside its programs.
const PARTS: [&str; 3] = ["pyvenv.cfg", "lib", "lib64"];
/// The maximum length of the line in which a script names its interpreter, in bytes.
const MAX_FIRST_LINE: usize = 512;
/// The maximum number of versions of Python in an environment.
const MAX_VERSIONS: usize = 20;

/// What a search found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FoundProgram {
    /// The path of the program.
    pub(super) path: Option<PathBuf>,
    /// Programs that were found first and are not used.
    pub(super) refused: Vec<(PathBuf, UnsafePath)>,
}

/// Finds the `adk` program: in the active virtual environment, in one beside or above the agents, or on PATH.
pub(super) fn find_adk(agents_dir: &Path, root: &Path) -> FoundProgram {
    let program = if cfg!(windows) {
        "Scripts/adk.exe"
    } else {
        "bin/adk"
    };
    let folders = folders_of(agents_dir, root)
        .into_iter()
        .chain(folders_of(root, root));
    first_own(
        environments(folders, program).chain(on_path("adk")),
        User::current(),
    )
}

/// Finds the workspace's Python: that of a virtual environment, as for `adk`, else the system's. The error is a message that
/// names what was found and is not used.
pub(super) fn find_python(root: &Path) -> Result<PathBuf, String> {
    let program = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    // Installations of Python for Windows have no `python3`.
    let names = if cfg!(windows) {
        ["python", "py"]
    } else {
        ["python3", "python"]
    };
    let environments = environments(folders_of(root, root).into_iter(), program);
    first_own(
        environments.chain(names.into_iter().flat_map(on_path)),
        User::current(),
    )
    .python()
}

impl FoundProgram {
    fn python(self) -> Result<PathBuf, String> {
        let refused = self.refusal_note();
        self.path.ok_or_else(|| {
            format!(
                "Python is neither on PATH nor in a virtual environment of the repository{refused}; install it, or name the \
                 program with the key python"
            )
        })
    }

    /// What was found and is not used, in parentheses; empty if there is nothing.
    pub(super) fn refusal_note(&self) -> String {
        match self.refused.first() {
            Some((path, refusal)) => format!(" ({})", refusal.describe(path)),
            None => String::new(),
        }
    }
}

/// A folder and those above it, up to the root of its repository; outside of repositories, up to the workspace's root.
fn folders_of(folder: &Path, root: &Path) -> Vec<PathBuf> {
    let last = match repository_of(folder) {
        Some(repository) => repository,
        None if folder.starts_with(root) => root.to_path_buf(),
        None => folder.to_path_buf(),
    };
    folder
        .ancestors()
        .take_while(|above| above.starts_with(&last))
        .map(Path::to_path_buf)
        .collect()
}

/// A program in virtual environments: the active one, and those in these folders.
fn environments(
    folders: impl Iterator<Item = PathBuf>,
    program: &str,
) -> impl Iterator<Item = Candidate> {
    let beside = folders.flat_map(|folder| ENVIRONMENTS.map(|name| folder.join(name)));
    let active = std::env::var_os("VIRTUAL_ENV")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    // The active one is chosen by the environment, as the folders of PATH are.
    let active = active.into_iter().map(move |folder| Candidate {
        path: folder.join(program),
        within: None,
    });
    active.chain(beside.map(move |folder| Candidate {
        path: folder.join(program),
        within: Some(folder),
    }))
}

/// Programs of a name in the folders of PATH. Relative folders of PATH depend on where evaltrail was started, and are left
/// out.
fn on_path(program: &str) -> impl Iterator<Item = Candidate> {
    let found = which::which_all_global(program).into_iter().flatten();
    found
        .filter(|path| path.is_absolute())
        .map(|path| Candidate { path, within: None })
}

/// A path at which a program may be.
struct Candidate {
    path: PathBuf,
    /// The virtual environment, which was found by its name.
    within: Option<PathBuf>,
}

impl Candidate {
    /// Why the program is not used; `None` if the user chose it. If it was found by the name of a folder, the user, or root, must
    /// own everything that decides what is executed, and not every user may be able to change it: the program and its
    /// interpreter, the folders of its environment, all links on the way and what they lead to.
    fn refusal_for(&self, user: User) -> Option<UnsafePath> {
        let folder = self.within.as_ref()?;
        let parts = PARTS
            .map(|part| folder.join(part))
            .into_iter()
            .chain(packages_of(folder));
        let parts = parts
            .chain(interpreters_of(folder))
            .chain(interpreter_of(&self.path));
        let parts = parts.filter(|part| part.symlink_metadata().is_ok());
        parts
            .chain([self.path.clone()])
            .find_map(|path| user.refusal_on_way_to(&path, folder))
    }
}

/// The folders of the packages of an environment, one for each version of Python.
fn packages_of(environment: &Path) -> impl Iterator<Item = PathBuf> {
    let versions = std::fs::read_dir(environment.join("lib"))
        .into_iter()
        .flatten();
    versions
        .flatten()
        .take(MAX_VERSIONS)
        .map(|version| version.path().join("site-packages"))
}

/// The interpreters in an environment: its programs are scripts that name one of them.
fn interpreters_of(environment: &Path) -> impl Iterator<Item = PathBuf> {
    let programs = std::fs::read_dir(environment.join("bin"))
        .into_iter()
        .flatten()
        .flatten();
    let pythons = programs.filter(|program| {
        program
            .file_name()
            .as_encoded_bytes()
            .starts_with(b"python")
    });
    pythons.take(MAX_VERSIONS).map(|program| program.path())
}

/// The interpreter that the first line of a script names.
fn interpreter_of(script: &Path) -> Option<PathBuf> {
    let start = read_start(script, MAX_FIRST_LINE).ok()?;
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let path = String::from_utf8_lossy(line)
        .split_whitespace()
        .next()
        .map(PathBuf::from)?;
    path.is_absolute().then_some(path)
}

/// The first program that exists and that the user can rely on.
fn first_own(candidates: impl Iterator<Item = Candidate>, user: User) -> FoundProgram {
    let mut found = FoundProgram::default();
    for candidate in candidates.filter(|candidate| candidate.path.is_file()) {
        let Some(refusal) = candidate.refusal_for(user) else {
            found.path = Some(candidate.path);
            break;
        };
        found.refused.push((candidate.path, refusal));
    }
    found
}

#[cfg(test)]
mod tests;
