//! Replaces, creates and deletes files that the user edits: only if the file still has the content that was read.
//!
//! ```text
//! lock ─▶ compare ─▶ the object, if the file is a copy of one ─▶ temporary file ─▶ sync ─▶ exchange ─▶ compare again ─▶ sync the folder
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "it is part of the only writer of files"
)]

use super::checked_file::{check_kind, open_locked, stays_within};
use super::copy_edit::CopyEdit;
use super::copy_error::CopyError;
use super::exchange::swap_in;
use super::parent_folder::folder_of;
use super::save_error::SaveError;
use super::temporary::{sweep, sync_folder, write_in_same_folder};
use crate::buckets::BucketError;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

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
    let target = dunce::canonicalize(job.path).map_err(SaveError::gone_or_io)?;
    stays_within(job.path, &target, job.within)?;
    let folder = folder_of(&target);
    sweep(folder);
    // Before the comparison, so that the copy is not updated after it.
    let mut copy = CopyEdit::prepare(&target).map_err(SaveError::from_copy)?;
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
        error => SaveError::from_copy(error),
    })?;
    let written = write_in_same_folder(folder, Some((&file, &meta)), |out| out.write_all(job.new));
    let swapped = written
        .map_err(SaveError::from)
        .and_then(|temporary| swap_in(temporary.into_temp_path(), file, &target, job.read));
    swapped.map_err(|error| after_object(error, version.is_some()))?;
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
    let mut copy = CopyEdit::prepare(path).map_err(SaveError::from_copy)?;
    let version = copy
        .as_mut()
        .map(|copy| copy.create(bytes))
        .transpose()
        .map_err(SaveError::from_copy)?;
    create_local(path, folder, bytes).map_err(|error| after_object(error, version.is_some()))?;
    finish_copy(copy.zip(version));
    Ok(sync_folder(folder)
        .err()
        .map(|error| format!("saved, but syncing the disk failed: {error}")))
}

/// Writes the new file on this machine.
fn create_local(path: &Path, folder: &Path, bytes: &[u8]) -> Result<(), SaveError> {
    let temporary = write_in_same_folder(folder, None, |out| out.write_all(bytes))?;
    match temporary.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(SaveError::Exists),
        Err(error) => Err(SaveError::Io(error.error)),
    }
}

/// Deletes a file if it still has the content that was read.
pub fn remove(path: &Path, within: Option<&Path>, read: &[u8]) -> Result<(), SaveError> {
    let target = dunce::canonicalize(path).map_err(SaveError::gone_or_io)?;
    stays_within(path, &target, within)?;
    let mut copy = CopyEdit::prepare(&target).map_err(SaveError::from_copy)?;
    let mut file = open_locked(&target)?;
    let mut found = Vec::new();
    file.read_to_end(&mut found)?;
    if found != read {
        return Err(SaveError::Changed { theirs: found });
    }
    if let Some(copy) = &mut copy {
        copy.remove().map_err(SaveError::from_copy)?;
    }
    fs::remove_file(path).map_err(|error| after_object(error.into(), copy.is_some()))
}

/// An error of the file on this machine: it says so if the object of which the file is a copy was changed already.
fn after_object(error: SaveError, object_changed: bool) -> SaveError {
    match error {
        error if object_changed => SaveError::OnlyObject(error.to_string()),
        error => error,
    }
}

/// Remembers the version of a copy that was written. Without it, the object is fetched again.
fn finish_copy(written: Option<(CopyEdit, String)>) {
    if let Some((mut copy, version)) = written {
        let _ = copy.finish(version);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::store::write_whole;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::PathBuf;

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
