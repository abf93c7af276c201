//! Writes whole files atomically.
//!
//! ```text
//! write_whole   evaltrail's own files and reports: the last writer wins
//! replace       files that the user edits: only if the file still has the content that was read
//!     lock ─▶ compare ─▶ the object, if the file is a copy of one ─▶ temporary file ─▶ sync ─▶ exchange ─▶ compare again ─▶ sync the folder
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "it is part of the only writer of files"
)]

use super::bucket_copy::CopyError;
use super::copy_edit::CopyEdit;
use super::temporary::{new_in_same_folder, sweep, sync_folder, write_in_same_folder};
use crate::buckets::BucketError;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for another process that has locked the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Writes a file atomically: writes and syncs a temporary file in the same folder, and renames it. The mode of an
/// existing file is preserved, and links are followed. A file that is not regular (`/dev/stdout`) is written directly.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fill_whole(path, |out| out.write_all(bytes))
}

/// Appends to a file, which is created if it does not exist. Other programs may append to it as well.
pub fn append_to(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?
        .write_all(bytes)
}

/// Like [`write_whole`], for content that is too large for memory: `fill` writes it in pieces. If it fails, the file is
/// unchanged.
pub fn fill_whole(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let buffered = |file: &mut dyn Write| {
        let mut out = io::BufWriter::with_capacity(1 << 16, file);
        fill(&mut out)?;
        out.flush()
    };
    let target = match dunce::canonicalize(path) {
        Ok(target) => target,
        Err(_) => path.to_path_buf(),
    };
    let before = fs::metadata(&target).ok();
    if before.as_ref().is_some_and(|meta| !meta.is_file()) {
        return buffered(&mut OpenOptions::new().write(true).open(&target)?);
    }
    if before
        .as_ref()
        .is_some_and(|meta| meta.permissions().readonly())
    {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the file is read-only",
        ));
    }
    let folder = folder_of(&target);
    let old = before
        .as_ref()
        .and_then(|meta| File::open(&target).ok().map(|file| (file, meta)));
    let temporary = write_in_same_folder(
        folder,
        old.as_ref().map(|(file, meta)| (file, *meta)),
        buffered,
    )?;
    // Windows does not replace files that are open.
    drop(old);
    temporary.persist(&target).map_err(|error| error.error)?;
    // Some file systems cannot sync folders, and the content is already synced.
    let _ = sync_folder(folder);
    Ok(())
}

/// Checks whether [`write_whole`] can probably write a file, without changing it.
pub fn can_write(path: &Path) -> io::Result<()> {
    let target = dunce::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&target) {
        Ok(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(meta) if !meta.is_file() => return Ok(()),
        Ok(meta) if meta.permissions().readonly() => {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the file is read-only",
            ));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // Creates and removes a temporary file: there is no other reliable check.
    new_in_same_folder(folder_of(&target), (".evaltrail-", ""), 0o600).map(drop)
}

/// Why a file was not saved. Except for `Halfway`, the file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Another program changed it after it was read.
    #[error("it was changed by another program after it was read")]
    Changed {
        /// The current content.
        theirs: Vec<u8>,
    },
    /// It no longer exists.
    #[error("it no longer exists; it was deleted or moved")]
    Gone,
    /// It is read-only.
    #[error("it is read-only; nothing was written")]
    ReadOnly,
    /// It is a link to a file outside the opened folder.
    #[error("it is a link to {0}, outside the folder that was opened")]
    Outside(PathBuf),
    /// It has other hard links, which would still refer to the old file.
    #[error(
        "it has other names (hard links), which would still refer to the old text; edit a copy"
    )]
    HardLinked,
    /// Another process has locked it.
    #[error("another evaltrail process has locked it for more than 5 s")]
    Locked,
    /// A file with this name exists.
    #[error("a file with this name already exists")]
    Exists,
    /// The file is a copy of an object, which could not be written. Contains the message.
    #[error("{0}; nothing was written")]
    Bucket(String),
    /// The object has the new text, but its copy on this machine does not. Contains the message.
    #[error("the object has the new text, but its copy on this machine could not be updated: {0}")]
    OnlyObject(String),
    /// An error of the disk, the folder or the system.
    #[error("{0}; the file is unchanged")]
    Io(#[from] io::Error),
    /// The file has the new text. The previous text could not be compared or restored.
    #[error("{why}; the file contains the new text, and the previous text is in {}", aside.display())]
    Halfway {
        /// What failed.
        why: io::Error,
        /// The file that contains the previous text.
        aside: PathBuf,
    },
}

/// The replacement of a file's content.
#[derive(Clone, Copy, Debug)]
pub struct Replace<'a> {
    /// The file, or a link to it.
    pub path: &'a Path,
    /// The folder that must contain the target of a link; `None` for no restriction.
    pub within: Option<&'a Path>,
    /// The content that was read.
    pub read: &'a [u8],
    /// The new content.
    pub new: &'a [u8],
}

/// Replaces a file if it still has the content that was read. Returns a warning, for example if the disk could not be
/// synced.
pub fn replace(job: Replace) -> Result<Option<String>, SaveError> {
    let target = dunce::canonicalize(job.path).map_err(gone_or_io)?;
    stays_within(job.path, &target, job.within)?;
    let folder = folder_of(&target);
    sweep(folder);
    // Before the comparison, so that the copy is not updated after it.
    let mut copy = CopyEdit::prepare(&target).map_err(of_copy)?;
    let file = open_locked(&target)?;
    let meta = file.metadata()?;
    check_kind(&meta)?;
    let mut found = Vec::with_capacity(meta.len() as usize + 1);
    (&file).read_to_end(&mut found)?;
    if found != job.read {
        return Err(SaveError::Changed { theirs: found });
    }
    let replaced = copy.as_mut().map(|copy| copy.replace(job.new)).transpose();
    let version = replaced.map_err(|error| match error {
        // The copy has the content of the object now.
        CopyError::Bucket(BucketError::Changed(_)) => match fs::read(&target) {
            Ok(theirs) => SaveError::Changed { theirs },
            Err(error) => SaveError::Io(error),
        },
        error => of_copy(error),
    })?;
    let written = write_in_same_folder(folder, Some((&file, &meta)), |out| out.write_all(job.new));
    let swapped = written
        .map_err(SaveError::from)
        .and_then(|temporary| swap_in(temporary.into_temp_path(), file, &target, job.read));
    swapped.map_err(|error| match version {
        Some(_) => SaveError::OnlyObject(error.to_string()),
        None => error,
    })?;
    finish_copy(copy.zip(version));
    Ok(sync_folder(folder)
        .err()
        .map(|error| format!("saved, but syncing the disk failed: {error}")))
}

/// Creates a file, which must not exist yet.
pub fn create(path: &Path, bytes: &[u8]) -> Result<Option<String>, SaveError> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    sweep(folder);
    if path.exists() {
        return Err(SaveError::Exists);
    }
    let mut copy = CopyEdit::prepare(path).map_err(of_copy)?;
    let version = copy
        .as_mut()
        .map(|copy| copy.create(bytes))
        .transpose()
        .map_err(of_copy)?;
    let temporary = write_in_same_folder(folder, None, |out| out.write_all(bytes))?;
    temporary
        .persist_noclobber(path)
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => SaveError::Exists,
            _ => SaveError::Io(error.error),
        })?;
    finish_copy(copy.zip(version));
    Ok(sync_folder(folder)
        .err()
        .map(|error| format!("saved, but syncing the disk failed: {error}")))
}

/// Deletes a file if it still has the content that was read.
pub fn remove(path: &Path, within: Option<&Path>, read: &[u8]) -> Result<(), SaveError> {
    let target = dunce::canonicalize(path).map_err(gone_or_io)?;
    stays_within(path, &target, within)?;
    let mut copy = CopyEdit::prepare(&target).map_err(of_copy)?;
    let mut file = open_locked(&target)?;
    let mut found = Vec::new();
    file.read_to_end(&mut found)?;
    if found != read {
        return Err(SaveError::Changed { theirs: found });
    }
    if let Some(copy) = &mut copy {
        copy.remove().map_err(of_copy)?;
    }
    fs::remove_file(path)?;
    Ok(())
}

/// Remembers the version of a copy that was written. Without it, the object is fetched again.
fn finish_copy(written: Option<(CopyEdit, String)>) {
    if let Some((mut copy, version)) = written {
        let _ = copy.finish(version);
    }
}

fn of_copy(error: CopyError) -> SaveError {
    match error {
        CopyError::Bucket(BucketError::Missing(_)) => SaveError::Gone,
        CopyError::Bucket(BucketError::Exists(_)) => SaveError::Exists,
        error => SaveError::Bucket(error.to_string()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn gone_or_io(error: io::Error) -> SaveError {
    match error.kind() {
        io::ErrorKind::NotFound => SaveError::Gone,
        _ => SaveError::Io(error),
    }
}

/// Links are followed only inside the folder that was opened.
fn stays_within(path: &Path, target: &Path, within: Option<&Path>) -> Result<(), SaveError> {
    let Some(root) = within.and_then(|root| dunce::canonicalize(root).ok()) else {
        return Ok(());
    };
    let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    let leaves = !target.starts_with(&root);
    if is_link && leaves {
        Err(SaveError::Outside(target.to_path_buf()))
    } else {
        Ok(())
    }
}

fn check_kind(meta: &Metadata) -> Result<(), SaveError> {
    if !meta.is_file() {
        return Err(SaveError::Io(io::Error::other("not a regular file")));
    }
    if meta.permissions().readonly() {
        return Err(SaveError::ReadOnly);
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(meta) > 1 {
        return Err(SaveError::HardLinked);
    }
    Ok(())
}

/// Opens and locks a file. If the file is replaced while this waits for the lock, the new file is opened.
fn open_locked(target: &Path) -> Result<File, SaveError> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        if fs::metadata(target)
            .map_err(gone_or_io)?
            .permissions()
            .readonly()
        {
            return Err(SaveError::ReadOnly);
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(target)
            .map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    SaveError::ReadOnly
                }
                _ => gone_or_io(error),
            })?;
        match file.try_lock() {
            Ok(())
                if same_file(
                    &file.metadata()?,
                    &fs::metadata(target).map_err(gone_or_io)?,
                ) =>
            {
                return Ok(file);
            }
            // Locks are only advisory; without them, the comparison still detects changes.
            Err(TryLockError::Error(_)) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => {
                return Err(SaveError::Locked);
            }
            Err(TryLockError::WouldBlock) => {
                // Windows does not replace a file that is open.
                drop(file);
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

#[cfg(unix)]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(windows)]
fn same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Exchanges the new file with the old one, and compares the old one. If another program wrote it after it was compared
/// the first time, the exchange is reversed.
fn swap_in(
    temporary: tempfile::TempPath,
    locked: File,
    target: &Path,
    read: &[u8],
) -> Result<(), SaveError> {
    match exchange(&temporary, target) {
        Ok(()) => {
            let aside = fs::read(&temporary);
            if aside.as_ref().is_ok_and(|aside| aside == read) {
                return Ok(());
            }
            if let Err(why) = exchange(&temporary, target) {
                let aside = temporary
                    .keep()
                    .map_err(|error| SaveError::Io(error.error))?;
                return Err(SaveError::Halfway { why, aside });
            }
            Err(match aside {
                Ok(theirs) => SaveError::Changed { theirs },
                Err(error) => SaveError::Io(error),
            })
        }
        Err(_) if !target.exists() => Err(SaveError::Gone),
        // Windows and some file systems cannot exchange names.
        Err(_) => {
            // Windows neither reads a file that another handle has locked nor replaces it.
            if cfg!(windows) {
                drop(locked);
            }
            replace_compared(temporary, target, read)
        }
    }
}

/// Compares the file once more, and replaces it. What another program writes between the two is lost.
fn replace_compared(
    temporary: tempfile::TempPath,
    target: &Path,
    read: &[u8],
) -> Result<(), SaveError> {
    /// How long to wait for programs that have the file open, for example to search it for viruses.
    const OPEN_FOR: Duration = Duration::from_secs(1);
    let theirs = fs::read(target).map_err(gone_or_io)?;
    if theirs != read {
        return Err(SaveError::Changed { theirs });
    }
    let began = Instant::now();
    loop {
        match fs::rename(&temporary, target) {
            Ok(()) => return Ok(()),
            Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                if began.elapsed() > OPEN_FOR {
                    return Err(SaveError::Io(error));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(SaveError::Io(error)),
        }
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn job<'a>(path: &'a Path, read: &'a str, new: &'a str) -> Replace<'a> {
        Replace {
            path,
            within: None,
            read: read.as_bytes(),
            new: new.as_bytes(),
        }
    }

    fn file_in_folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "old").unwrap();
        (folder, file)
    }

    fn count(folder: &tempfile::TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn mode_and_link_stay() {
        let (folder, file) = file_in_folder();
        let link = folder.path().join("l");
        for mode in [0o664, 0o600, 0o755] {
            fs::write(&file, "old").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let _ = fs::remove_file(&link);
            symlink("f", &link).unwrap();
            let before = fs::metadata(&file).unwrap();
            write_whole(&link, b"new").unwrap();
            assert_eq!(replace(job(&link, "new", "newer")).unwrap(), None);
            assert_eq!(fs::read(&file).unwrap(), b"newer");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            let after = fs::metadata(&file).unwrap();
            assert_eq!(after.permissions().mode() & 0o777, mode);
            assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
            assert_eq!(count(&folder), 2);
        }
    }

    #[test]
    fn read_only_is_refused() {
        let (folder, file) = file_in_folder();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(write_whole(&file, b"new").is_err());
        assert!(matches!(
            replace(job(&file, "old", "new")),
            Err(SaveError::ReadOnly)
        ));
        assert_eq!(
            (fs::read(&file).unwrap(), count(&folder)),
            (b"old".to_vec(), 1)
        );
    }

    #[test]
    fn save_keeps_what_others_wrote() {
        let (folder, file) = file_in_folder();
        match replace(job(&file, "older", "new")) {
            Err(SaveError::Changed { theirs }) => assert_eq!(theirs, b"old"),
            other => panic!("{other:?}"),
        }
        assert_eq!(
            (fs::read(&file).unwrap(), count(&folder)),
            (b"old".to_vec(), 1)
        );
        fs::remove_file(&file).unwrap();
        assert!(matches!(
            replace(job(&file, "old", "new")),
            Err(SaveError::Gone)
        ));
        assert!(matches!(remove(&file, None, b"old"), Err(SaveError::Gone)));
        create(&file, b"a").unwrap();
        assert!(matches!(create(&file, b"b"), Err(SaveError::Exists)));
        assert!(matches!(
            remove(&file, None, b"b"),
            Err(SaveError::Changed { .. })
        ));
        remove(&file, None, b"a").unwrap();
        assert_eq!(count(&folder), 0);
    }

    #[test]
    fn concurrent_write_is_restored_after_swap() {
        let (folder, file) = file_in_folder();
        let temporary = write_in_same_folder(folder.path(), None, |out| out.write_all(b"ours"))
            .unwrap()
            .into_temp_path();
        fs::write(&file, "theirs").unwrap();
        match swap_in(temporary, open_locked(&file).unwrap(), &file, b"old") {
            Err(SaveError::Changed { theirs }) => assert_eq!(theirs, b"theirs"),
            other => panic!("{other:?}"),
        }
        assert_eq!(
            (fs::read(&file).unwrap(), count(&folder)),
            (b"theirs".to_vec(), 1)
        );
    }

    #[test]
    fn replace_without_swap_compares_file_first() {
        let (folder, file) = file_in_folder();
        let ours = || {
            write_in_same_folder(folder.path(), None, |out| out.write_all(b"ours"))
                .unwrap()
                .into_temp_path()
        };
        fs::write(&file, "theirs").unwrap();
        let changed = replace_compared(ours(), &file, b"old");
        assert!(matches!(changed, Err(SaveError::Changed { theirs }) if theirs == b"theirs"));
        replace_compared(ours(), &file, b"theirs").unwrap();
        assert_eq!(
            (fs::read(&file).unwrap(), count(&folder)),
            (b"ours".to_vec(), 1)
        );
    }

    #[test]
    fn outside_links_and_hard_links_are_refused() {
        let (folder, file) = file_in_folder();
        let inside = folder.path().join("in");
        fs::create_dir(&inside).unwrap();
        let link = inside.join("l");
        symlink("../f", &link).unwrap();
        let out = Replace {
            within: Some(&inside),
            ..job(&link, "old", "new")
        };
        assert!(matches!(replace(out), Err(SaveError::Outside(_))));
        fs::hard_link(&file, folder.path().join("other")).unwrap();
        assert!(matches!(
            replace(job(&file, "old", "new")),
            Err(SaveError::HardLinked)
        ));
        assert_eq!(fs::read(&file).unwrap(), b"old");
    }

    #[test]
    fn editors_at_once_lose_nothing() {
        const EACH: usize = 100;
        let (_folder, file) = file_in_folder();
        fs::write(&file, "").unwrap();
        let add = |who: usize| {
            for at in 0..EACH {
                let line = format!("{who}:{at}\n");
                loop {
                    let read = fs::read_to_string(&file).unwrap();
                    match replace(job(&file, &read, &format!("{read}{line}"))) {
                        Ok(_) => break,
                        Err(SaveError::Changed { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| add(0));
            scope.spawn(|| add(1));
        });
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2 * EACH);
    }
}
