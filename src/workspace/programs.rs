//! Search for the programs whose paths nobody specified: `adk` and Python. They are found, not run.
//!
//! Other users can write to folders above a workspace (`/tmp`), so virtual environments are searched only up to the root of
//! the repository, or of the workspace if it is in none, and a program of another user in one is never chosen. The folders of
//! PATH and the active environment are the choice of the user, whoever owns them (an installation that users share).

use super::discover::repository_of;
#[cfg(unix)]
use std::fs::{read_link, symlink_metadata};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
#[cfg(unix)]
use std::path::Component;
use std::path::{Path, PathBuf};

/// Names of the folders of virtual environments.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// What decides in a virtual environment which code its Python executes, beside its programs.
const PARTS: [&str; 3] = ["pyvenv.cfg", "lib", "lib64"];
/// The maximum number of links that lead to a program.
#[cfg(unix)]
const MOST_LINKS: usize = 40;

/// What a search found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FoundProgram {
    /// The path of the program.
    pub(super) path: Option<PathBuf>,
    /// Programs that were found first and are not used, because they belong to another user.
    pub(super) foreign: Vec<PathBuf>,
}

/// Finds the `adk` program: in the active virtual environment, in one beside or above the agents, or on PATH.
pub(super) fn find_adk(agents_dir: &Path, root: &Path) -> FoundProgram {
    let program = if cfg!(windows) { "Scripts/adk.exe" } else { "bin/adk" };
    let folders = folders_of(agents_dir, root).into_iter().chain(folders_of(root, root));
    first_own(environments(folders, program).chain(on_path("adk")), User::this())
}

/// Finds the workspace's Python: that of a virtual environment, as for `adk`, else the system's. The error is a message that
/// names what was found and is not used.
pub(super) fn find_python(root: &Path) -> Result<PathBuf, String> {
    let program = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    // Installations of Python for Windows have no `python3`.
    let names = if cfg!(windows) { ["python", "py"] } else { ["python3", "python"] };
    let environments = environments(folders_of(root, root).into_iter(), program);
    first_own(environments.chain(names.into_iter().flat_map(on_path)), User::this()).python()
}

impl FoundProgram {
    fn python(self) -> Result<PathBuf, String> {
        let foreign = self.foreign_words();
        self.path.ok_or_else(|| {
            format!(
                "Python is neither on PATH nor in a virtual environment of the repository{foreign}; install it, or name the \
                 program with the key python"
            )
        })
    }

    /// What was found and is not used, in parentheses; empty if there is nothing.
    pub(super) fn foreign_words(&self) -> String {
        match self.foreign.first() {
            Some(path) => format!(" ({} belongs to another user)", path.display()),
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
    folder.ancestors().take_while(|above| above.starts_with(&last)).map(Path::to_path_buf).collect()
}

/// A program in virtual environments: the active one, and those in these folders.
fn environments(folders: impl Iterator<Item = PathBuf>, program: &str) -> impl Iterator<Item = Candidate> {
    let beside = folders.flat_map(|folder| ENVIRONMENTS.map(|name| folder.join(name)));
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from).filter(|folder| folder.is_absolute());
    // The active one is chosen by the environment, as the folders of PATH are.
    let active = active.into_iter().map(move |folder| Candidate { path: folder.join(program), within: None });
    active.chain(beside.map(move |folder| Candidate { path: folder.join(program), within: Some(folder) }))
}

/// Programs of a name in the folders of PATH. Relative folders of PATH depend on where evaltrail was started, and are left
/// out.
fn on_path(program: &str) -> impl Iterator<Item = Candidate> {
    let found = which::which_all_global(program).into_iter().flatten();
    found.filter(|path| path.is_absolute()).map(|path| Candidate { path, within: None })
}

/// A path at which a program may be.
struct Candidate {
    path: PathBuf,
    /// The virtual environment, which was found by its name.
    within: Option<PathBuf>,
}

impl Candidate {
    /// Whether the user chose the program, or it was found by the name of a folder, and the user, or root, owns everything
    /// that decides what is executed: the program, the folders of its environment, all links on the way and what they lead to.
    fn is_of(&self, user: User) -> bool {
        let Some(folder) = &self.within else { return true };
        let parts = PARTS.map(|part| folder.join(part));
        let mut paths = parts.iter().filter(|part| part.symlink_metadata().is_ok()).chain([&self.path]);
        paths.all(|path| user.owns_every_step_of_path(path, folder))
    }
}

/// The first program that exists and is a user's.
fn first_own(candidates: impl Iterator<Item = Candidate>, user: User) -> FoundProgram {
    let mut found = FoundProgram::default();
    for candidate in candidates.filter(|candidate| candidate.path.is_file()) {
        if candidate.is_of(user) {
            found.path = Some(candidate.path);
            break;
        }
        found.foreign.push(candidate.path);
    }
    found
}

/// A user of this machine.
#[cfg(unix)]
#[derive(Clone, Copy)]
struct User(u32);

#[cfg(unix)]
impl User {
    /// The user who runs evaltrail.
    fn this() -> User {
        User(rustix::process::geteuid().as_raw())
    }

    /// Whether the user, or root, owns all files, folders and links on the way to a path below `environment`. The folder in
    /// which that is, and those above it, are where the user works, whoever owns them. Who owns a folder elsewhere can
    /// replace what is in it.
    fn owns_every_step_of_path(self, path: &Path, environment: &Path) -> bool {
        let place = environment.parent().and_then(|place| dunce::canonicalize(place).ok());
        let rest = environment.parent().and_then(|place| path.strip_prefix(place).ok());
        let (Some(place), Some(rest)) = (place, rest) else { return false };
        let (mut at, mut links) = (place.clone(), 0);
        let mut next: Vec<PathBuf> = vec![rest.to_path_buf()];
        while let Some(path) = next.pop() {
            let mut parts = path.components();
            let Some(part) = parts.next() else { continue };
            next.push(parts.as_path().to_path_buf());
            match part {
                Component::RootDir => at = PathBuf::from("/"),
                Component::ParentDir => drop(at.pop()),
                Component::Normal(name) => at.push(name),
                Component::CurDir | Component::Prefix(_) => {}
            }
            if !place.starts_with(&at) && !self.or_root_owns(&at) {
                return false;
            }
            if let Ok(target) = read_link(&at) {
                links += 1;
                if links > MOST_LINKS {
                    return false;
                }
                at.pop();
                next.push(target);
            }
        }
        true
    }

    /// Whether the user, or root, owns a file, a folder or, where the path is a link, the link.
    fn or_root_owns(self, path: &Path) -> bool {
        symlink_metadata(path).is_ok_and(|meta| meta.uid() == self.0 || meta.uid() == 0)
    }
}

/// Windows protects the folders of other users by access control lists, which are not read here.
#[cfg(windows)]
#[derive(Clone, Copy)]
struct User;

#[cfg(windows)]
impl User {
    fn this() -> User {
        User
    }

    fn owns_every_step_of_path(self, _: &Path, _: &Path) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Creates a file that can be executed, and the folders above it.
    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        #[cfg(unix)]
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn names() -> (&'static str, &'static str) {
        match cfg!(windows) {
            true => ("Scripts/python.exe", "Scripts/adk.exe"),
            false => ("bin/python", "bin/adk"),
        }
    }

    #[test]
    fn an_environment_above_the_repository_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let (python, adk) = names();
        let repository = place.path().join("repository");
        let agents = repository.join("evals/agents");
        fs::create_dir_all(&agents).unwrap();
        fs::create_dir(repository.join(".git")).unwrap();
        program(&place.path().join(".venv").join(python));
        program(&place.path().join(".venv").join(adk));
        let is_in_place = |path: &PathBuf| path.starts_with(place.path());
        assert!(!find_python(&agents).is_ok_and(|path| is_in_place(&path)));
        assert!(!find_adk(&agents, &agents).path.is_some_and(|path| is_in_place(&path)));
        let own = repository.join("venv");
        program(&own.join(python));
        program(&own.join(adk));
        assert_eq!(find_python(&agents), Ok(own.join(python)));
        assert_eq!(find_adk(&agents, &agents).path, Some(own.join(adk)));
    }

    #[test]
    fn without_a_repository_the_search_ends_at_the_root_of_the_workspace() {
        let place = tempfile::tempdir().unwrap();
        let (python, adk) = names();
        let root = place.path().join("work");
        let agents = root.join("agents");
        fs::create_dir_all(&agents).unwrap();
        program(&place.path().join(".venv").join(python));
        program(&place.path().join(".venv").join(adk));
        assert!(!find_python(&root).is_ok_and(|path| path.starts_with(place.path())));
        assert!(!find_adk(&agents, &root).path.is_some_and(|path| path.starts_with(place.path())));
        program(&root.join(".venv").join(adk));
        assert_eq!(find_adk(&agents, &root).path, Some(root.join(".venv").join(adk)));
        // The agents of another folder do not extend the search.
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        assert_eq!(find_adk(&elsewhere, &root).path, Some(root.join(".venv").join(adk)));
    }

    /// The owner of the files is another user than the one who looks for programs.
    #[cfg(unix)]
    #[test]
    fn what_another_user_owns_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".venv/bin/adk");
        program(&path);
        let owner = User::this();
        let other = User(owner.0.wrapping_add(4242));
        let found = |user: User, within: Option<PathBuf>| {
            first_own([Candidate { path: path.clone(), within }].into_iter(), user)
        };
        let in_environment = |user: User| found(user, Some(place.path().join(".venv")));
        let own = FoundProgram { path: Some(path.clone()), foreign: Vec::new() };
        let foreign = FoundProgram { path: None, foreign: vec![path.clone()] };
        assert_eq!(in_environment(owner), own);
        // What root owns may be used by everybody: root could do anything anyway.
        assert_eq!(in_environment(other) == own, owner.0 == 0);
        if owner.0 != 0 {
            assert_eq!(in_environment(other), foreign);
        }
        assert_eq!(found(other, None), own, "on PATH, or in VIRTUAL_ENV");
        let why = foreign.python().unwrap_err();
        assert!(why.contains(&format!("({} belongs to another user)", path.display())), "{why}");
        assert!(FoundProgram::default().python().unwrap_err().contains("neither on PATH"));
    }

    /// The program of the system that every user may start, behind a link in an environment.
    #[cfg(unix)]
    #[test]
    fn a_link_is_owned_by_who_made_it_and_its_target_by_root() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join(".venv/bin/python");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        let candidate = Candidate { path: link.clone(), within: Some(place.path().join(".venv")) };
        assert!(candidate.is_of(User::this()), "links are usual in environments");
        let is_roots = User::this().0 == 0;
        assert_eq!(candidate.is_of(User(User::this().0.wrapping_add(4242))), is_roots);
    }

    /// Gives a path to another user, which only root can. Returns whether it did.
    #[cfg(unix)]
    fn give_away(path: &Path) -> bool {
        const OTHER: u32 = 4242;
        let given = std::os::unix::fs::lchown(path, Some(OTHER), None).is_ok();
        if !given {
            assert!(std::env::var_os("EVALTRAIL_REQUIRE_ROOT").is_none(), "root is required here");
            println!("skipped: only root can create files of another user");
        }
        given
    }

    #[cfg(unix)]
    #[test]
    fn a_program_of_another_user_is_not_used() {
        for part in [".venv", ".venv/bin", ".venv/bin/adk"] {
            let place = tempfile::tempdir().unwrap();
            let root = place.path();
            fs::create_dir(root.join(".git")).unwrap();
            let adk = root.join(".venv/bin/adk");
            program(&adk);
            program(&root.join(".venv/bin/python"));
            assert_eq!(find_adk(root, root).path, Some(adk.clone()));
            if !give_away(&root.join(part)) {
                return;
            }
            let found = find_adk(root, root);
            assert_ne!(found.path.as_ref(), Some(&adk), "{part}");
            assert_eq!(found.foreign.first(), Some(&adk), "{part}");
            let python = find_python(root);
            let is_in_root = python.as_ref().is_ok_and(|path| path.starts_with(root));
            assert_eq!(is_in_root, part == ".venv/bin/adk", "{part}: {python:?}");
            assert!(python.is_ok_and(|path| path.is_absolute()), "never a name that PATH resolves later");
        }
    }

    /// The owner of a folder or link can replace a program in it later.
    #[cfg(unix)]
    #[test]
    fn environment_with_foreign_path_is_not_used() {
        use std::os::unix::fs::symlink;
        type CreateFiles = fn(&Path, &Path);
        let ways: [(&str, &str, CreateFiles); 6] = [
            (".venv is a link to their folder", "elsewhere", |place, work| {
                symlink(place.join("elsewhere"), work.join(".venv")).unwrap();
            }),
            ("a folder above the target of .venv", "deep", |place, work| {
                fs::create_dir(place.join("deep")).unwrap();
                fs::rename(place.join("elsewhere"), place.join("deep/elsewhere")).unwrap();
                symlink("../deep/elsewhere", work.join(".venv")).unwrap();
            }),
            ("bin is a link to their folder", "elsewhere/bin", |_, work| {
                fs::create_dir(work.join(".venv")).unwrap();
                symlink("../../elsewhere/bin", work.join(".venv/bin")).unwrap();
            }),
            ("a link of another user between two own links", "link", |place, work| {
                fs::create_dir_all(work.join(".venv/bin")).unwrap();
                symlink("elsewhere/bin/python", place.join("link")).unwrap();
                symlink(place.join("link"), work.join(".venv/bin/python")).unwrap();
            }),
            ("the folder of the target", "elsewhere/bin", |place, work| {
                fs::create_dir_all(work.join(".venv/bin")).unwrap();
                symlink(place.join("elsewhere/bin/python"), work.join(".venv/bin/python")).unwrap();
            }),
            ("pyvenv.cfg", "work/.venv/pyvenv.cfg", |_, work| {
                program(&work.join(".venv/bin/python"));
                fs::write(work.join(".venv/pyvenv.cfg"), "home = /elsewhere").unwrap();
            }),
        ];
        for (way, theirs, make) in ways {
            let folder = tempfile::tempdir().unwrap();
            let place = dunce::canonicalize(folder.path()).unwrap();
            let work = place.join("work");
            fs::create_dir_all(work.join(".git")).unwrap();
            program(&place.join("elsewhere/bin/python"));
            make(&place, &work);
            let python = work.join(".venv/bin/python");
            assert_eq!(find_python(&work), Ok(python.clone()), "{way}");
            if !give_away(&place.join(theirs)) {
                return;
            }
            assert_ne!(find_python(&work), Ok(python), "{way}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_program_of_another_user_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let (root, planted) = (place.path().join("work"), place.path().join("planted"));
        program(&planted);
        fs::create_dir_all(root.join(".venv/bin")).unwrap();
        std::os::unix::fs::symlink(&planted, root.join(".venv/bin/python")).unwrap();
        assert_eq!(find_python(&root), Ok(root.join(".venv/bin/python")), "links are usual in environments");
        if give_away(&planted) {
            assert_ne!(find_python(&root), Ok(root.join(".venv/bin/python")));
        }
    }
}
