//! Whether a user can rely on a program: who owns it, and who can change it.

#[cfg(unix)]
use std::fs::{Metadata, read_link, symlink_metadata};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
#[cfg(unix)]
use std::path::Component;
use std::path::{Path, PathBuf};

/// The maximum number of links that lead to a program.
#[cfg(unix)]
const MOST_LINKS: usize = 40;

/// Why a program that was found is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::workspace) enum Refusal {
    /// Another user owns it, or something else that decides what is executed.
    OtherOwner,
    /// Every user can write to this file or folder, which decides what is executed.
    WritableByAll(PathBuf),
}

impl Refusal {
    /// The reason in words, of a program.
    pub(super) fn words(&self, program: &Path) -> String {
        let program = program.display();
        match self {
            Refusal::OtherOwner => format!("{program} belongs to another user"),
            Refusal::WritableByAll(path) => {
                format!("{program} is not used, because every user can write to {}", path.display())
            }
        }
    }
}

/// A user of this machine.
#[cfg(unix)]
#[derive(Clone, Copy)]
pub(super) struct User(pub(super) u32);

#[cfg(unix)]
impl User {
    /// The user who runs evaltrail.
    pub(super) fn this() -> User {
        User(rustix::process::geteuid().as_raw())
    }

    /// Why what is on the way to a path below `environment` is not used: another user than this one and root owns a file, a folder
    /// or a link, or every user can write to a file or folder. The folder in which the environment is, and those above it, are
    /// where the user works, whoever owns them. Who can write to a folder elsewhere can replace what is in it.
    pub(super) fn refusal_on_way_to(self, path: &Path, environment: &Path) -> Option<Refusal> {
        let place = environment.parent().and_then(|place| dunce::canonicalize(place).ok());
        let rest = environment.parent().and_then(|place| path.strip_prefix(place).ok());
        let (Some(place), Some(rest)) = (place, rest) else { return Some(Refusal::OtherOwner) };
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
            if let Some(refusal) =
                Some(&at).filter(|at| !place.starts_with(at)).and_then(|at| self.refusal(at))
            {
                return Some(refusal);
            }
            if let Ok(target) = read_link(&at) {
                links += 1;
                if links > MOST_LINKS {
                    return Some(Refusal::OtherOwner);
                }
                at.pop();
                next.push(target);
            }
        }
        None
    }

    /// Why a file, a folder or, where the path is a link, the link is not used.
    fn refusal(self, path: &Path) -> Option<Refusal> {
        match symlink_metadata(path) {
            Ok(meta) if meta.uid() == self.0 || meta.uid() == 0 => {
                is_writable_by_all(&meta).then(|| Refusal::WritableByAll(path.to_path_buf()))
            }
            _ => Some(Refusal::OtherOwner),
        }
    }
}

/// Whether every user can write to a file, or replace what is in a folder: not if the folder is sticky, as `/tmp` is. Links
/// have no permissions of their own.
#[cfg(unix)]
fn is_writable_by_all(meta: &Metadata) -> bool {
    let (is_writable, is_sticky) = (meta.mode() & 0o002 != 0, meta.is_dir() && meta.mode() & 0o1000 != 0);
    is_writable && !is_sticky && !meta.is_symlink()
}

/// Windows protects the folders of other users by access control lists, which are not read here.
#[cfg(windows)]
#[derive(Clone, Copy)]
pub(super) struct User;

#[cfg(windows)]
impl User {
    pub(super) fn this() -> User {
        User
    }

    pub(super) fn refusal_on_way_to(self, _: &Path, _: &Path) -> Option<Refusal> {
        None
    }
}
