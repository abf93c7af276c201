//! The one writer of whole files: all or nothing, in place of what was there.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file whole: a temporary one beside it, synced, then renamed over it, keeping the mode of
/// what was there and following a link to where it leads. What is no regular file (`/dev/stdout`)
/// is written to directly.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(_) => path.to_path_buf(),
    };
    let before = fs::metadata(&target).ok();
    if before.as_ref().is_some_and(|meta| !meta.is_file()) {
        return fs::OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    if before.as_ref().is_some_and(|meta| meta.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".evaltrail-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    set_mode(temporary.as_file(), before.as_ref())?;
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    sync_folder(folder);
    Ok(())
}

#[cfg(unix)]
fn set_mode(file: &fs::File, before: Option<&fs::Metadata>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = before.map_or(0o644, |meta| meta.permissions().mode());
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &fs::File, _: Option<&fs::Metadata>) -> io::Result<()> {
    Ok(())
}

/// Makes the new name durable. Some file systems cannot, and the content is safe without it.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn mode_and_link_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("f"), folder.path().join("l"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
        symlink("f", &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o664);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn read_only_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(write_whole(&file, b"new").is_err());
        assert_eq!(fs::read(&file).unwrap(), b"old");
    }
}
