//! evaltrail's own files in a workspace's `.evaltrail`. The workspace may come from an untrusted source, so each folder
//! and file is opened relative to its parent, and links are not followed: nothing outside is written or read.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const NAME: &str = ".evaltrail";
/// The maximum size of a file, in bytes. evaltrail does not write larger ones.
const MAX_BYTES: u64 = 4 << 30;

/// A folder that was opened without following links.
#[derive(Debug)]
pub(super) struct EvaltrailFolder {
    path: PathBuf,
    handle: Handle,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OpenMode {
    Read,
    /// It must exist.
    Write,
    /// At its end; it is created if it does not exist.
    Append,
    /// At its end; it must not exist yet.
    Create,
}

impl EvaltrailFolder {
    /// Opens `.evaltrail` of a workspace. Errors: for example that it does not exist.
    pub(super) fn in_workspace(workspace: &Path) -> io::Result<EvaltrailFolder> {
        EvaltrailFolder::opened(workspace.join(NAME), Handle::outer(workspace)?.folder(NAME))
    }

    /// Opens `.evaltrail` of a workspace. It is created if it does not exist, with a `.gitignore` that excludes it.
    pub(super) fn make(workspace: &Path) -> io::Result<EvaltrailFolder> {
        let outer = Handle::outer(workspace)?;
        outer.make_folder(NAME)?;
        let ours = EvaltrailFolder::opened(workspace.join(NAME), outer.folder(NAME))?;
        match ours.open(".gitignore", OpenMode::Create) {
            Ok(mut file) => file.write_all(b"*\n")?,
            // An existing file is not changed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        Ok(ours)
    }

    /// Opens the folder of a run by its path. It is two levels below `.evaltrail`, or it was copied elsewhere.
    pub(super) fn of_run(path: &Path) -> io::Result<EvaltrailFolder> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "not the folder of a run");
        let name = |path: &Path| path.file_name()?.to_str().map(str::to_string);
        let runs = path.parent().ok_or_else(missing)?;
        if runs
            .parent()
            .and_then(Path::file_name)
            .is_none_or(|outer| outer != NAME)
        {
            let folder = Handle::outer(runs)?.folder(&name(path).ok_or_else(missing)?);
            return EvaltrailFolder::opened(path.to_path_buf(), folder);
        }
        let workspace = runs.parent().and_then(Path::parent).ok_or_else(missing)?;
        let (of_runs, of_run) = (
            name(runs).ok_or_else(missing)?,
            name(path).ok_or_else(missing)?,
        );
        EvaltrailFolder::in_workspace(workspace)?
            .folder(&of_runs)?
            .folder(&of_run)
    }

    pub(super) fn folder(&self, name: &str) -> io::Result<EvaltrailFolder> {
        EvaltrailFolder::opened(self.path.join(name), self.handle.folder(name))
    }

    pub(super) fn make_folder(&self, name: &str) -> io::Result<EvaltrailFolder> {
        self.handle.make_folder(name)?;
        self.folder(name)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file for appending. Errors: for example that it exists already.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        self.open(name, OpenMode::Create)
    }

    /// Opens a file for appending. It is created if it does not exist.
    pub(super) fn append(&self, name: &str) -> io::Result<File> {
        self.open(name, OpenMode::Append)
    }

    /// Reads a file.
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let (file, length) = self.open_to_read(name)?;
        let mut bytes = Vec::with_capacity(length as usize + 1);
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file for reading, and returns its length.
    pub(super) fn open_to_read(&self, name: &str) -> io::Result<(File, u64)> {
        let file = self.open(name, OpenMode::Read)?;
        let length = file.metadata()?.len();
        if length > MAX_BYTES {
            let why = format!(
                "{} is too large ({} MB)",
                self.path.join(name).display(),
                length >> 20
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok((file, length))
    }

    /// Replaces a file atomically.
    pub(super) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = format!(".{name}-{}", uuid::Uuid::new_v4().simple());
        let mut file = self.create(&temporary)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| self.handle.rename(&temporary, name));
        if renamed.is_err() {
            let _ = self.handle.remove(&temporary);
        }
        renamed
    }

    /// Gives a file another name, replacing the file that has it.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.handle.rename(from, to)
    }

    /// Shortens a file to this length.
    pub(super) fn cut(&self, name: &str, length: u64) -> io::Result<()> {
        self.open(name, OpenMode::Write)?.set_len(length)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        self.handle.remove(name)
    }

    fn open(&self, name: &str, how: OpenMode) -> io::Result<File> {
        let file = self
            .handle
            .file(name, how)
            .map_err(|error| explained(error, &self.path.join(name)))?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => {
                let why = format!("{} is not a regular file", self.path.join(name).display());
                Err(io::Error::new(io::ErrorKind::InvalidInput, why))
            }
        }
    }

    fn opened(path: PathBuf, handle: io::Result<Handle>) -> io::Result<EvaltrailFolder> {
        let handle = handle.map_err(|error| explained(error, &path))?;
        Ok(EvaltrailFolder { path, handle })
    }
}

/// Replaces the system's error for a link that was not followed, which mentions loops or a missing folder.
fn explained(error: io::Error, path: &Path) -> io::Error {
    match std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        true if error.kind() != io::ErrorKind::AlreadyExists => {
            let why = format!(
                "{} is a link; evaltrail does not follow links to its files",
                path.display()
            );
            io::Error::new(io::ErrorKind::InvalidInput, why)
        }
        _ => error,
    }
}

#[cfg(unix)]
#[derive(Debug)]
struct Handle(std::os::fd::OwnedFd);

#[cfg(unix)]
impl Handle {
    /// Opens the user's folder. Links are followed.
    fn outer(path: &Path) -> io::Result<Handle> {
        Ok(Handle(std::os::fd::OwnedFd::from(File::open(path)?)))
    }

    fn folder(&self, name: &str) -> io::Result<Handle> {
        use rustix::fs::{Mode, OFlags, openat};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Handle(openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Creates a folder that only its owner can read, if it does not exist.
    fn make_folder(&self, name: &str) -> io::Result<()> {
        use rustix::fs::{Mode, mkdirat};
        match mkdirat(&self.0, name, Mode::from_raw_mode(0o700)) {
            Err(rustix::io::Errno::EXIST) => Ok(()),
            made => Ok(made?),
        }
    }

    /// Opens a file. A new one is readable only by its owner, because it may contain responses of agents.
    fn file(&self, name: &str, how: OpenMode) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};
        // Without `NONBLOCK`, opening a pipe without a writer would block.
        let usual = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let flags = match how {
            OpenMode::Read => OFlags::RDONLY,
            OpenMode::Write => OFlags::WRONLY,
            OpenMode::Append => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE,
            OpenMode::Create => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL,
        };
        Ok(File::from(openat(
            &self.0,
            name,
            usual | flags,
            Mode::from_raw_mode(0o600),
        )?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            &self.0,
            name,
            rustix::fs::AtFlags::empty(),
        )?)
    }
}

/// A folder on Windows, where files are not opened relative to a handle. Links are checked before each step.
#[cfg(windows)]
#[derive(Debug)]
struct Handle(PathBuf);

#[cfg(windows)]
impl Handle {
    fn outer(path: &Path) -> io::Result<Handle> {
        Ok(Handle(path.to_path_buf()))
    }

    fn below(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => Err(io::ErrorKind::InvalidInput.into()),
            _ => Ok(path),
        }
    }

    fn folder(&self, name: &str) -> io::Result<Handle> {
        let path = self.below(name)?;
        match std::fs::metadata(&path)?.is_dir() {
            true => Ok(Handle(path)),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn make_folder(&self, name: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.below(name)?)
    }

    fn file(&self, name: &str, how: OpenMode) -> io::Result<File> {
        let mut options = std::fs::OpenOptions::new();
        match how {
            OpenMode::Read => options.read(true),
            OpenMode::Write => options.write(true),
            // Without `read`, Windows would not lock the file.
            OpenMode::Append => options.create(true).read(true).append(true),
            OpenMode::Create => options.create_new(true).append(true),
        };
        options.open(self.below(name)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.below(from)?, self.below(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.below(name)?)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn files_are_private_and_replaced_at_once() {
        let workspace = tempfile::tempdir().unwrap();
        let ours = EvaltrailFolder::make(workspace.path()).unwrap();
        assert_eq!(
            fs::read_to_string(workspace.path().join(".evaltrail/.gitignore")).unwrap(),
            "*\n"
        );
        ours.append("a").unwrap().write_all(b"1").unwrap();
        ours.append("a").unwrap().write_all(b"2").unwrap();
        assert_eq!(ours.read("a").unwrap(), b"12");
        ours.replace("a", b"3").unwrap();
        assert_eq!(ours.read("a").unwrap(), b"3");
        let mode = fs::metadata(workspace.path().join(".evaltrail/a"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let mode = fs::metadata(workspace.path().join(".evaltrail"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(
            ours.create("a").unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(
            fs::read_dir(workspace.path().join(".evaltrail"))
                .unwrap()
                .count(),
            2,
            "no temporary file"
        );
    }

    #[test]
    fn links_and_pipes_are_refused_without_blocking() {
        let (workspace, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "mine").unwrap();
        let ours = EvaltrailFolder::make(workspace.path()).unwrap();
        symlink(outside.path().join("secret"), ours.path().join("link")).unwrap();
        symlink(outside.path(), ours.path().join("runs")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            ours.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        for error in [
            ours.read("link").unwrap_err(),
            ours.append("link").unwrap_err(),
            ours.folder("runs").unwrap_err(),
            ours.make_folder("runs").unwrap_err(),
            EvaltrailFolder::of_run(&ours.path().join("runs/x")).unwrap_err(),
        ] {
            assert!(error.to_string().contains("is a link"), "{error}");
        }
        assert!(
            ours.read("pipe")
                .unwrap_err()
                .to_string()
                .contains("not a regular file")
        );
        assert!(ours.append("pipe").is_err());
        assert_eq!(
            ours.create("link").unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        ours.replace("link", b"ours").unwrap();
        assert_eq!(
            fs::read_to_string(outside.path().join("secret")).unwrap(),
            "mine"
        );
        let another = tempfile::tempdir().unwrap();
        symlink(outside.path(), another.path().join(".evaltrail")).unwrap();
        assert!(
            EvaltrailFolder::make(another.path())
                .unwrap_err()
                .to_string()
                .contains("is a link")
        );
    }
}
