//! Edits of files that are copies of objects: the object is written first, on the condition that it still has the version
//! that was fetched.

use super::app_folders::AppFolders;
use super::copy_address::address_of_copy;
use super::copy_error::CopyError;
use super::copy_files::write_copy;
use super::locked_copies::Copies;
use super::wanted_objects::MAX_FILE;
use crate::buckets::{Bucket, BucketAddress, BucketError};
use std::path::{Path, PathBuf};

/// An edit of a file that is the copy of an object. The copies are locked until it is dropped.
pub(super) struct CopyEdit {
    path: PathBuf,
    address: BucketAddress,
    copies: Copies,
}

impl CopyEdit {
    /// The edit of a file; `None` if it is no copy.
    pub(super) fn prepare(path: &Path) -> Result<Option<CopyEdit>, CopyError> {
        let Some(mut app_folders) = AppFolders::find() else {
            return Ok(None);
        };
        let Ok(cache) = dunce::canonicalize(&app_folders.cache) else {
            return Ok(None);
        };
        app_folders.cache = cache;
        let folder = path
            .parent()
            .and_then(|folder| dunce::canonicalize(folder).ok());
        let Some(path) = folder
            .zip(path.file_name())
            .map(|(folder, name)| folder.join(name))
        else {
            return Ok(None);
        };
        let Some(address) = address_of_copy(&path, &app_folders) else {
            return Ok(None);
        };
        let copies = Copies::open(&address, &app_folders)?;
        Ok(Some(CopyEdit {
            path,
            address,
            copies,
        }))
    }

    /// Replaces the object, and returns its version for [`CopyEdit::finish`]. If it was changed after it was fetched, the copy
    /// gets its content. Until the edit is finished, the version of the copy is unknown, so that an interrupted edit is
    /// fetched again.
    pub(super) fn replace(&mut self, new: &[u8]) -> Result<String, CopyError> {
        let bucket = Bucket::open(&self.address)?;
        let missing = || BucketError::Missing(self.address.to_string());
        let version = self
            .copies
            .versions
            .remove(&self.address.key)
            .ok_or_else(missing)?;
        self.copies.save()?;
        match bucket.replace("", new.to_vec(), &version) {
            Ok(written) => Ok(written),
            Err(BucketError::Changed(changed)) => {
                let (theirs, etag) = bucket.read("", MAX_FILE)?;
                write_copy(&self.path, &theirs).map_err(|source| CopyError::Cache {
                    path: self.path.display().to_string(),
                    source,
                })?;
                self.finish(etag)?;
                Err(BucketError::Changed(changed).into())
            }
            Err(error) => {
                // The object may have been written although there was no answer; then its version differs.
                self.finish(version)?;
                Err(error.into())
            }
        }
    }

    /// Creates the object, which must not exist yet, and returns its version for [`CopyEdit::finish`].
    pub(super) fn create(&mut self, bytes: &[u8]) -> Result<String, CopyError> {
        Ok(Bucket::open(&self.address)?.create("", bytes.to_vec())?)
    }

    /// Deletes the object.
    pub(super) fn remove(&mut self) -> Result<(), CopyError> {
        let missing = || BucketError::Missing(self.address.to_string());
        let version = self
            .copies
            .versions
            .get(&self.address.key)
            .ok_or_else(missing)?;
        Bucket::open(&self.address)?.delete("", version)?;
        self.copies.versions.remove(&self.address.key);
        self.copies.save()
    }

    /// Remembers the version of the copy, after it was written.
    pub(super) fn finish(&mut self, version: String) -> Result<(), CopyError> {
        self.copies
            .versions
            .insert(self.address.key.clone(), version);
        self.copies.save()
    }
}
