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
const MAX_LINKS: usize = 40;

/// Why a program that was found is not used: what is wrong with a file, a folder or a link that decides what is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    windows,
    expect(
        dead_code,
        reason = "Windows has no owners and permissions of this kind"
    )
)]
pub(in crate::workspace) enum UnsafePath {
    /// Another user owns it.
    OtherOwner(PathBuf),
    /// Every user can write to it.
    WritableByAll(PathBuf),
    /// It cannot be examined: it does not exist, cannot be read, or is behind too many links.
    Unreadable(PathBuf),
}

impl UnsafePath {
    /// The reason in words, of a program.
    pub(super) fn describe(&self, program: &Path) -> String {
        let (path, why) = match self {
            UnsafePath::OtherOwner(path) => (path, "belongs to another user"),
            UnsafePath::WritableByAll(path) => (path, "can be changed by every user"),
            UnsafePath::Unreadable(path) => (path, "cannot be examined"),
        };
        match path == program {
            true => format!("{} {why}", program.display()),
            false => format!(
                "{} is not used, because {} {why}",
                program.display(),
                path.display()
            ),
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
    pub(super) fn current() -> User {
        User(rustix::process::geteuid().as_raw())
    }

    /// Why what is on the way to a path, below `environment` or absolute, is not used: another user than this one and root owns a
    /// file, a folder or a link, or every user can write to a file or folder. The folder in which the environment is, and those
    /// above it, are where the user works, whoever owns them. Who can write to a folder elsewhere can replace what is in it,
    /// unless it is sticky, as `/tmp` is; but code that is added to a folder of the environment is executed in any case.
    pub(super) fn refusal_on_way_to(self, path: &Path, environment: &Path) -> Option<UnsafePath> {
        let parent = environment
            .parent()
            .and_then(|parent| dunce::canonicalize(parent).ok());
        let Some(parent) = parent else {
            return Some(UnsafePath::Unreadable(path.to_path_buf()));
        };
        let rest = environment
            .parent()
            .and_then(|parent| path.strip_prefix(parent).ok())
            .unwrap_or(path);
        let environment = parent.join(environment.file_name().unwrap_or_default());
        let (mut at, mut links) = (parent.clone(), 0);
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
            let is_last = next.iter().all(|rest| rest.as_os_str().is_empty());
            let may_be_sticky = !is_last && !at.starts_with(&environment);
            if !parent.starts_with(&at)
                && let Some(refusal) = self.refusal(&at, may_be_sticky)
            {
                return Some(refusal);
            }
            if let Ok(target) = read_link(&at) {
                links += 1;
                if links > MAX_LINKS {
                    return Some(UnsafePath::Unreadable(at));
                }
                at.pop();
                next.push(target);
            }
        }
        None
    }

    /// Why a file, a folder or, where the path is a link, the link is not used.
    fn refusal(self, path: &Path, may_be_sticky: bool) -> Option<UnsafePath> {
        let path_buf = path.to_path_buf();
        match symlink_metadata(path) {
            Ok(meta) if meta.uid() != self.0 && meta.uid() != 0 => {
                Some(UnsafePath::OtherOwner(path_buf))
            }
            Ok(meta) => {
                let is_open = is_writable_by_all(&meta) && !(may_be_sticky && is_sticky(&meta));
                is_open.then_some(UnsafePath::WritableByAll(path_buf))
            }
            Err(_) => Some(UnsafePath::Unreadable(path_buf)),
        }
    }
}

/// Whether every user can write to a file or a folder. Links have no permissions of their own.
#[cfg(unix)]
fn is_writable_by_all(meta: &Metadata) -> bool {
    meta.mode() & 0o002 != 0 && !meta.is_symlink()
}

/// Whether users can only replace what they own in a folder.
#[cfg(unix)]
fn is_sticky(meta: &Metadata) -> bool {
    meta.is_dir() && meta.mode() & 0o1000 != 0
}

/// Windows protects the folders of other users by access control lists, which are not read here.
#[cfg(windows)]
#[derive(Clone, Copy)]
pub(super) struct User;

#[cfg(windows)]
impl User {
    pub(super) fn current() -> User {
        User
    }

    pub(super) fn refusal_on_way_to(self, _: &Path, _: &Path) -> Option<UnsafePath> {
        None
    }
}
