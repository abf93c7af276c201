//! Temporary files beside the files that they will replace. They are locked while they are written, so that files that
//! a crash left are recognised and removed.

use crate::process::has_ended;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;
use tempfile::NamedTempFile;

const PREFIX: &str = ".evaltrail-";
const SUFFIX: &str = ".tmp";
/// The age after which a temporary file counts as left over.
const OLD: Duration = Duration::from_secs(60);

/// Writes a new file in a folder and syncs it. It has the mode, owner and attributes of the file that it will replace,
/// if there is one.
pub(super) fn write_in_same_folder(
    folder: &Path,
    before: Option<(&File, &Metadata)>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    let mut temporary = create(folder, before.is_some())?;
    fill(temporary.as_file_mut())?;
    copy_metadata(temporary.as_file(), before)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// Creates a file in a folder that only its owner can read.
pub(super) fn new_private_in_same_folder(folder: &Path) -> io::Result<NamedTempFile> {
    create(folder, true)
}

fn create(folder: &Path, is_private: bool) -> io::Result<NamedTempFile> {
    let prefix = format!("{PREFIX}{}-", std::process::id());
    // A public file gets the permissions that the umask allows.
    let temporary = new_in_same_folder(
        folder,
        &prefix,
        SUFFIX,
        if is_private { 0o600 } else { 0o666 },
    )?;
    // If files cannot be locked, `sweep` does not remove any.
    let _ = temporary.as_file().try_lock();
    Ok(temporary)
}

/// Creates a file with a name that no other has. Errors are those of the system: they do not contain the name, which tells users
/// nothing.
pub(super) fn new_in_same_folder(
    folder: &Path,
    prefix: &str,
    suffix: &str,
    mode: u32,
) -> io::Result<NamedTempFile> {
    let create_new = |path: &Path| {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        options.open(path)
    };
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(prefix)
        .suffix(suffix)
        .make_in(folder, create_new)
}

/// Removes evaltrail's temporary files that a crash left in a folder.
pub fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = name
            .strip_prefix(PREFIX)
            .filter(|rest| rest.ends_with(SUFFIX));
        if ours.is_some_and(|rest| is_left_behind(rest, &entry))
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether the process that wrote the file has ended. Process ids are reused, so an old file counts as left over too.
fn is_left_behind(name: &str, entry: &fs::DirEntry) -> bool {
    let writer = name.split('-').next().and_then(|pid| pid.parse().ok());
    let Ok(meta) = entry.metadata() else {
        return false;
    };
    let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
    meta.is_file() && (writer.is_some_and(has_ended) || age.is_some_and(|age| age > OLD))
}

#[cfg(unix)]
fn copy_metadata(file: &File, before: Option<(&File, &Metadata)>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let Some((old, meta)) = before else {
        return Ok(());
    };
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (meta.uid(), meta.gid()) {
        std::os::unix::fs::fchown(file, Some(meta.uid()), Some(meta.gid())).map_err(|_| {
            let why =
                "the file belongs to another user or group, and replacing it would change that";
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        })?;
    }
    copy_attributes(old, file);
    file.set_permissions(fs::Permissions::from_mode(meta.mode() & 0o7777))
}

#[cfg(windows)]
fn copy_metadata(_: &File, _: Option<(&File, &Metadata)>) -> io::Result<()> {
    Ok(())
}

/// Copies extended attributes, including access control lists. Attributes that the file system rejects are skipped.
#[cfg(target_os = "linux")]
fn copy_attributes(from: &File, to: &File) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    let mut names = vec![0u8; 16 << 10];
    let Ok(length) = flistxattr(from, &mut names) else {
        return;
    };
    for name in names[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let mut value = vec![0u8; 64 << 10];
        if let Ok(length) = fgetxattr(from, name, &mut value) {
            let _ = fsetxattr(to, name, &value[..length], XattrFlags::empty());
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn copy_attributes(_: &File, _: &File) {}

/// Syncs a folder, so that new names in it are durable.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows has no such operation.
#[cfg(windows)]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        // No process has such a high id.
        let stray = folder.path().join(".evaltrail-2147483646-abc.tmp");
        fs::write(&stray, "x").unwrap();
        // Windows is not asked for processes, so that the age counts.
        #[cfg(windows)]
        File::options()
            .write(true)
            .open(&stray)
            .unwrap()
            .set_modified(std::time::SystemTime::now() - 2 * OLD)
            .unwrap();
        fs::write(folder.path().join("mine.tmp"), "x").unwrap();
        let busy = write_in_same_folder(folder.path(), None, |out| out.write_all(b"new")).unwrap();
        sweep(folder.path());
        assert!(!stray.exists());
        assert!(busy.path().exists() && folder.path().join("mine.tmp").exists());
    }
}
