//! The copies of a bucket in the cache, and the version of each of them.
//!
//! ```text
//! <cache>/buckets/gs/<bucket>/files/<key>     the copies
//! <cache>/buckets/gs/<bucket>/versions.json   the version of each of them
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "it is part of the only writer of files"
)]

use super::app_folders::AppFolders;
use super::copy_address::{FILES, FOLDER};
use super::copy_error::CopyError;
use super::copy_files::{close_to_others, make_private_folder, write_copy};
use super::lock::lock_within;
use super::read::read_file;
use crate::buckets::BucketAddress;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The copies of a bucket. They are locked.
pub(super) struct Copies {
    folder: PathBuf,
    pub(super) versions: BTreeMap<String, String>,
    /// Held open while the copies are locked.
    _lock: File,
}

/// The longest time for which another process may update the copies of a bucket.
const LOCKED_FOR: Duration = Duration::from_secs(300);

/// The form of `versions.json`.
#[derive(Default, Serialize, Deserialize)]
struct Versions {
    format: u32,
    versions: BTreeMap<String, String>,
}

/// The version of the form.
const FORMAT: u32 = 1;
const VERSIONS: &str = "versions.json";
/// The maximum size of that file, in bytes.
const MAX_VERSIONS: u64 = 256 << 20;

impl Copies {
    pub(super) fn open(
        address: &BucketAddress,
        app_folders: &AppFolders,
    ) -> Result<Copies, CopyError> {
        Copies::in_folder(
            app_folders,
            &Path::new(address.scheme.name()).join(&address.bucket),
        )
    }

    /// Opens the copies in a folder of the cache's folder for copies. Others cannot read what is in it.
    pub(super) fn in_folder(app_folders: &AppFolders, name: &Path) -> Result<Copies, CopyError> {
        let all = app_folders.cache.join(FOLDER);
        let folder = all.join(name);
        let cache = |path: &Path| {
            let path = path.display().to_string();
            move |source| CopyError::Cache { path, source }
        };
        make_private_folder(&folder.join(FILES)).map_err(cache(&folder))?;
        close_to_others(&all).map_err(cache(&all))?;
        let lock_path = folder.join("lock");
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options
            .create(true)
            .read(true)
            .append(true)
            .open(&lock_path)
            .map_err(cache(&lock_path))?;
        lock_within(&lock, LOCKED_FOR, "copying from this bucket").map_err(cache(&lock_path))?;
        // Without versions, everything is fetched again.
        let stored: Option<Versions> = read_file(&folder.join(VERSIONS), MAX_VERSIONS)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        let versions = stored
            .filter(|stored| stored.format == FORMAT)
            .unwrap_or_default()
            .versions;
        Ok(Copies {
            folder,
            versions,
            _lock: lock,
        })
    }

    /// The path of the copy of an object or a folder.
    pub(super) fn path_of(&self, key: &str) -> PathBuf {
        let files = self.folder.join(FILES);
        // The drive of a folder on Windows would be another place.
        let name = |part: &str| {
            if cfg!(windows) {
                part.replace(':', "_")
            } else {
                part.to_string()
            }
        };
        if key.is_empty() {
            files
        } else {
            key.split('/')
                .fold(files, |path, part| path.join(name(part)))
        }
    }

    /// Removes the copy of an object that is no longer there.
    pub(super) fn forget(&mut self, key: &str) -> Result<(), CopyError> {
        if self.versions.remove(key).is_none() {
            return Ok(());
        }
        let path = self.path_of(key);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(CopyError::Cache {
                path: path.display().to_string(),
                source,
            }),
            _ => {
                self.remove_empty_folders(&path);
                Ok(())
            }
        }
    }

    /// Removes the folders of a removed copy in which nothing is left: an object may take the place of one.
    fn remove_empty_folders(&self, path: &Path) {
        let files = self.folder.join(FILES);
        let mut folders = path
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != files);
        // A folder that is not empty is not removed.
        while folders
            .next()
            .is_some_and(|folder| fs::remove_dir(folder).is_ok())
        {}
    }

    pub(super) fn save(&self) -> Result<(), CopyError> {
        let path = self.folder.join(VERSIONS);
        let versions = Versions {
            format: FORMAT,
            versions: self.versions.clone(),
        };
        let written = serde_json::to_vec(&versions)
            .map_err(io::Error::from)
            .and_then(|text| write_copy(&path, &text));
        written.map_err(|source| CopyError::Cache {
            path: path.display().to_string(),
            source,
        })
    }
}
