//! Opens and locks a file that will be changed, and checks that it may be.

#![expect(
    clippy::disallowed_methods,
    reason = "it is part of the only writer of files"
)]

use super::save_error::SaveError;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for another process that has locked the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Links are followed only inside the folder that was opened.
pub(super) fn stays_within(
    path: &Path,
    target: &Path,
    within: Option<&Path>,
) -> Result<(), SaveError> {
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

/// Checks that a file is regular, can be written, and has no other names.
pub(super) fn check_kind(meta: &Metadata) -> Result<(), SaveError> {
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
pub(super) fn open_locked(target: &Path) -> Result<File, SaveError> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        if fs::metadata(target)
            .map_err(SaveError::gone_or_io)?
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
                _ => SaveError::gone_or_io(error),
            })?;
        match file.try_lock() {
            Ok(())
                if same_file(
                    &file.metadata()?,
                    &fs::metadata(target).map_err(SaveError::gone_or_io)?,
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
