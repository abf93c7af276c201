//! Writes files that only evaltrail writes, and reports: as a whole and atomically, so that the last writer wins, or at
//! their end.

#![expect(
    clippy::disallowed_methods,
    reason = "it is part of the only writer of files"
)]

use super::parent_folder::folder_of;
use super::temporary::{new_in_same_folder, sync_folder, write_in_same_folder};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

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
    new_in_same_folder(folder_of(&target), ".evaltrail-", "", 0o600).map(drop)
}
