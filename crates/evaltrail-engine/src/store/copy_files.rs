//! The files of the copies of objects. Others cannot read them.

use super::temporary::new_private_in_same_folder;
use crate::buckets::{LeftOut, ObjectPart};
use std::collections::{HashMap, HashSet};
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Writes a file of the cache atomically. Others cannot read it.
pub(super) fn write_copy(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = begin_copy(path)?;
    file.write_all(bytes)?;
    finish_copy(file, path)
}

/// Creates the temporary file that becomes a file of the cache, with [`finish_copy`].
pub(super) fn begin_copy(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(path);
    make_private_folder(folder)?;
    new_private_in_same_folder(folder)
}

pub(super) fn finish_copy(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Creates a folder, and those above it, that only their owner can read.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Takes the permission to read a folder from all but its owner. A folder of another user stays as it is.
#[cfg(unix)]
pub(super) fn close_to_others(folder: &Path) -> io::Result<()> {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    if fs::metadata(folder)?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    match fs::set_permissions(folder, Permissions::from_mode(0o700)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        closed => closed,
    }
}

/// The cache of a user of Windows cannot be read by others.
#[cfg(windows)]
pub(super) fn close_to_others(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Copies whose parts arrive.
#[derive(Default)]
pub(super) struct IncomingFiles {
    /// By the name of the object.
    files: HashMap<String, NamedTempFile>,
    /// The names of the objects that cannot be files here.
    refused: HashSet<String>,
    /// The objects that cannot be files here.
    pub(super) left_out: LeftOut,
}

impl IncomingFiles {
    /// Writes a part of an object, and returns whether the copy is complete.
    pub(super) fn take(&mut self, name: &str, path: &Path, part: ObjectPart) -> io::Result<bool> {
        if self.refused.contains(name) {
            return Ok(false);
        }
        let written = self.write(name, path, part);
        match written {
            Err(error) if is_about_name(&error) => {
                self.files.remove(name);
                self.refused.insert(name.to_string());
                self.left_out.add(name);
                Ok(false)
            }
            written => written,
        }
    }

    fn write(&mut self, name: &str, path: &Path, part: ObjectPart) -> io::Result<bool> {
        let mut file = match self.files.remove(name) {
            Some(file) => file,
            None => begin_copy(path)?,
        };
        file.write_all(&part.bytes)?;
        let is_complete = part.etag.is_some();
        match is_complete {
            true => finish_copy(file, path)?,
            false => drop(self.files.insert(name.to_string(), file)),
        }
        Ok(is_complete)
    }
}

/// Whether an error is that a file system does not accept a name, or has something else in its place.
fn is_about_name(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory,
    };
    matches!(
        error.kind(),
        AlreadyExists | InvalidFilename | InvalidInput | IsADirectory | NotADirectory
    )
}
