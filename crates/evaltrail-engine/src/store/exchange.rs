//! Puts a new file in the place of an old one, if the old one still has the expected content.

#![expect(
    clippy::disallowed_methods,
    reason = "it is part of the only writer of files"
)]

use super::save_error::SaveError;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Exchanges the new file with the old one, and compares the old one. If another program wrote it after it was compared
/// the first time, the exchange is reversed.
pub(super) fn swap_in(
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
    let theirs = fs::read(target).map_err(SaveError::gone_or_io)?;
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
    use crate::store::checked_file::open_locked;
    use crate::store::temporary::write_in_same_folder;
    use std::path::PathBuf;

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
}
