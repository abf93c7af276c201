//! Copies of folders and objects of object stores. They are in the cache, and are updated whenever they are opened: what
//! the store changed since then is fetched again. An edit of a file of a copy is written to the store first, on the
//! condition that the object still has the version that was fetched.
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
use super::copy_files::{
    IncomingFiles, begin_copy, close_to_others, finish_copy, make_private_folder, write_copy,
};
use super::lock::lock_within;
use super::read::read_file;
use crate::buckets::{
    BigQueryTable, Bucket, BucketAddress, BucketError, LeftOut, Listing, Scheme, StoredObject,
    TableAddress,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// The maximum size of an object that is fetched, in bytes.
pub(super) const MAX_FILE: u64 = 2 << 30;
/// The maximum size of all objects that one address fetches, in bytes.
const MAX_FOLDER: u64 = 8 << 30;
/// The endings of the files that evaltrail reads.
const ENDINGS: [&str; 9] = [
    ".json", ".jsonl", ".ndjson", ".csv", ".toml", ".yaml", ".yml", ".py", ".env",
];

/// Why an address cannot be copied, or an edit cannot be written to it.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The store failed.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The folder of the copies cannot be written.
    #[error("{path}: {source}")]
    Cache {
        /// The file or folder.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// There is nothing at the address, or too much. Contains the message.
    #[error("{0}")]
    Refused(String),
}

/// A copy of what is at an address.
#[derive(Debug)]
pub struct Copied {
    /// Its path.
    pub path: PathBuf,
    /// The objects that were not copied because of their keys.
    pub left_out: LeftOut,
}

/// The progress of a copy: the objects that were fetched, and all that are fetched.
pub type OnFetched<'a> = &'a mut dyn FnMut(usize, usize);

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

/// Copies what is at an address, or updates the copy. Objects of kinds that evaltrail does not read are left out. `beside`
/// are names of files that belong to an object in the same folder.
pub fn copy_bucket(
    address: &BucketAddress,
    beside: &[String],
    places: &AppFolders,
    on_fetched: OnFetched,
) -> Result<Copied, CopyError> {
    let bucket = Bucket::open_to_read(address)?;
    copied(&bucket, beside, places, on_fetched).map_err(|error| match error {
        CopyError::Bucket(error) => CopyError::Bucket(bucket.explained(error)),
        CopyError::Refused(why) => {
            CopyError::Refused(bucket.explained(BucketError::Other(why)).to_string())
        }
        error => error,
    })
}

fn copied(
    bucket: &Bucket,
    beside: &[String],
    places: &AppFolders,
    on_fetched: OnFetched,
) -> Result<Copied, CopyError> {
    let address = bucket.address();
    let object = if address.name().contains('.') {
        bucket.object("")?
    } else {
        None
    };
    let mut copies = Copies::open(address, places)?;
    let left_out = match object {
        Some(object) => copies.update_file(address, object, beside, on_fetched)?,
        None => copies.update(bucket, bucket.list()?, on_fetched)?,
    };
    Ok(Copied {
        path: copies.path_of(&address.key),
        left_out,
    })
}

/// Copies the folders below an address but some, or updates the copies.
pub(super) fn copy_folders(
    address: &BucketAddress,
    but: &[&str],
    places: &AppFolders,
    on_fetched: OnFetched,
) -> Result<Copied, CopyError> {
    let bucket = Bucket::open(address)?;
    let mut copies = Copies::open(address, places)?;
    let (folders, left_out) = bucket.folders()?;
    let mut wanted = Listing {
        objects: Vec::new(),
        left_out,
    };
    for folder in folders
        .into_iter()
        .filter(|folder| !but.contains(&folder.as_str()))
    {
        let named = |object: StoredObject| StoredObject {
            name: format!("{folder}/{}", object.name),
            ..object
        };
        let below = bucket.below(&folder).list()?;
        wanted.objects.extend(below.objects.into_iter().map(named));
        wanted.left_out.extend(below.left_out);
    }
    let left_out = copies.update(&bucket, wanted, on_fetched)?;
    Ok(Copied {
        path: copies.path_of(&address.key),
        left_out,
    })
}

/// The path of the copy of an object that does not exist yet. Its folder is created.
pub fn new_copy(address: &BucketAddress, places: &AppFolders) -> Result<PathBuf, CopyError> {
    let path = Copies::open(address, places)?.path_of(&address.key);
    let folder = path.parent().unwrap_or(&path);
    make_private_folder(folder).map_err(|source| CopyError::Cache {
        path: folder.display().to_string(),
        source,
    })?;
    Ok(path)
}

/// Copies the rows of a table as lines of JSON, if it changed, and returns the path of the copy.
pub fn copy_table(address: &TableAddress, places: &AppFolders) -> Result<PathBuf, CopyError> {
    let table = BigQueryTable::open(address)?;
    let mut copies = Copies::in_folder(places, &Path::new(TABLES).join(&address.project))?;
    let key = format!("{}/{}.jsonl", address.dataset, address.table);
    let path = copies.path_of(&key);
    let version = table.version()?;
    if path.is_file() && !version.is_empty() && copies.versions.get(&key) == Some(&version) {
        return Ok(path);
    }
    let cache = |source| CopyError::Cache {
        path: path.display().to_string(),
        source,
    };
    let mut copy = begin_copy(&path).map_err(cache)?;
    let mut failed = None;
    let version = table.read(MAX_FILE, |lines| {
        copy.write_all(lines).map_err(|source| {
            let told = BucketError::Other(format!("{}: {source}", path.display()));
            failed = Some(source);
            told
        })
    });
    if let Some(source) = failed {
        return Err(cache(source));
    }
    let version = version?;
    finish_copy(copy, &path).map_err(cache)?;
    copies.versions.insert(key, version);
    copies.save()?;
    Ok(path)
}

impl Copies {
    pub(super) fn open(address: &BucketAddress, places: &AppFolders) -> Result<Copies, CopyError> {
        Copies::in_folder(
            places,
            &Path::new(address.scheme.name()).join(&address.bucket),
        )
    }

    /// Opens the copies in a folder of the cache's folder for copies. Others cannot read what is in it.
    fn in_folder(places: &AppFolders, name: &Path) -> Result<Copies, CopyError> {
        let all = places.cache.join(FOLDER);
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
    fn path_of(&self, key: &str) -> PathBuf {
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

    fn update_file(
        &mut self,
        address: &BucketAddress,
        object: StoredObject,
        beside: &[String],
        on_fetched: OnFetched,
    ) -> Result<LeftOut, CopyError> {
        let folder = Bucket::open_to_read(&address.parent())?;
        let mut wanted = vec![StoredObject {
            name: address.name().to_string(),
            ..object
        }];
        for name in beside {
            match folder.object(name)? {
                Some(object) => wanted.push(object),
                None => self.forget(&address.parent().join(name).key)?,
            }
        }
        check_sizes(folder.address(), &wanted)?;
        self.fetch(&folder, &wanted, on_fetched)
    }

    /// Updates the copies of a folder, in which these objects were found.
    fn update(
        &mut self,
        bucket: &Bucket,
        found: Listing,
        on_fetched: OnFetched,
    ) -> Result<LeftOut, CopyError> {
        let Listing {
            objects: found,
            mut left_out,
        } = found;
        let all = found.len();
        let is_used = |object: &StoredObject| {
            ENDINGS.iter().any(|ending| object.name.ends_with(ending)) && !is_own(&object.name)
        };
        let wanted: Vec<StoredObject> = found.into_iter().filter(is_used).collect();
        let wanted = without_files_below_files(wanted, &mut left_out);
        let address = bucket.address();
        if wanted.is_empty() {
            let why = match (all, left_out.count) {
                (0, 0) => "there is nothing at this address".into(),
                (_, 0) => {
                    "there are no files here that evaltrail reads (.json, .jsonl, .csv)".into()
                }
                _ => {
                    format!(
                        "there are no files here that evaltrail reads (.json, .jsonl, .csv); {left_out}"
                    )
                }
            };
            return Err(CopyError::Refused(format!("{address}: {why}")));
        }
        check_sizes(address, &wanted)?;
        let there: HashSet<String> = wanted
            .iter()
            .map(|object| address.join(&object.name).key)
            .collect();
        let prefix = if address.key.is_empty() {
            String::new()
        } else {
            format!("{}/", address.key)
        };
        let gone: Vec<String> = self
            .versions
            .keys()
            .filter(|key| key.starts_with(&prefix) && !there.contains(*key))
            .cloned()
            .collect();
        gone.iter().try_for_each(|key| self.forget(key))?;
        left_out.extend(self.fetch(bucket, &wanted, on_fetched)?);
        Ok(left_out)
    }

    /// Fetches the objects that changed. Returns those that cannot be files here.
    fn fetch(
        &mut self,
        bucket: &Bucket,
        wanted: &[StoredObject],
        on_fetched: OnFetched,
    ) -> Result<LeftOut, CopyError> {
        let key_of = |name: &str| bucket.address().join(name).key;
        let is_stale = |object: &&StoredObject| {
            let key = key_of(&object.name);
            self.versions.get(&key) != Some(&object.etag) || !self.path_of(&key).is_file()
        };
        let stale: Vec<StoredObject> = wanted.iter().filter(is_stale).cloned().collect();
        if stale.is_empty() {
            return self.save().map(|()| LeftOut::default());
        }
        let (mut done, mut failed, mut arriving) = (0, None, IncomingFiles::default());
        let fetched = bucket.read_all(&stale, |name, part| {
            let key = key_of(name);
            let path = self.path_of(&key);
            let etag = part.etag.clone();
            match arriving.take(name, &path, part) {
                Ok(true) => {
                    self.versions.extend(etag.map(|etag| (key, etag)));
                    done += 1;
                    on_fetched(done, stale.len());
                }
                Ok(false) => {}
                Err(source) => {
                    let path = path.display().to_string();
                    let told = BucketError::Other(format!("{path}: {source}"));
                    failed = Some(CopyError::Cache { path, source });
                    return Err(told);
                }
            }
            Ok(())
        });
        let saved = self.save();
        if let Some(failed) = failed {
            return Err(failed);
        }
        fetched?;
        saved.map(|()| arriving.left_out)
    }

    /// Removes the copy of an object that is no longer there.
    fn forget(&mut self, key: &str) -> Result<(), CopyError> {
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

const FOLDER: &str = "buckets";
const FILES: &str = "files";
/// The folder of the copies of tables.
const TABLES: &str = "bq";
const VERSIONS: &str = "versions.json";
/// The maximum size of that file, in bytes.
const MAX_VERSIONS: u64 = 256 << 20;

/// The objects without those below the key of another: a path is either that of a file or of a folder.
fn without_files_below_files(
    mut objects: Vec<StoredObject>,
    left_out: &mut LeftOut,
) -> Vec<StoredObject> {
    let names: HashSet<String> = objects.iter().map(|object| object.name.clone()).collect();
    objects.retain(|object| {
        let is_below = object
            .name
            .match_indices('/')
            .any(|(at, _)| names.contains(&object.name[..at]));
        if is_below {
            left_out.add(&object.name);
        }
        !is_below
    });
    objects
}

/// Checks the sizes that a store names for objects; they are read up to these.
fn check_sizes(address: &BucketAddress, objects: &[StoredObject]) -> Result<(), CopyError> {
    if let Some(large) = objects.iter().find(|object| object.size > MAX_FILE) {
        let why = format!(
            "{}: it has more than {} MB",
            address.join(&large.name),
            MAX_FILE >> 20
        );
        return Err(BucketError::TooLarge(why).into());
    }
    let size = objects
        .iter()
        .try_fold(0u64, |size, object| size.checked_add(object.size));
    match size.filter(|size| *size <= MAX_FOLDER) {
        Some(_) => Ok(()),
        None => {
            let most = MAX_FOLDER >> 30;
            let why = format!(
                "{address}: its objects have more than {most} GB together; name a folder with less"
            );
            Err(CopyError::Refused(why))
        }
    }
}

/// Whether an object is one of evaltrail's own files.
fn is_own(name: &str) -> bool {
    // Some file systems ignore the case of names.
    name.split('/')
        .any(|part| part.eq_ignore_ascii_case(".evaltrail"))
}

/// The address of which a path is the copy; `None` if it is none, or one of evaltrail's own files beside it.
pub fn address_of_copy(path: &Path, places: &AppFolders) -> Option<BucketAddress> {
    let inside = path.strip_prefix(places.cache.join(FOLDER)).ok()?;
    let parts: Option<Vec<&str>> = inside
        .components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let parts = parts?;
    let (scheme, bucket, key) = match parts.as_slice() {
        [scheme, bucket, files, key @ ..] if *files == FILES => (*scheme, *bucket, key.join("/")),
        _ => return None,
    };
    let address = BucketAddress::parse(&format!("{scheme}://{bucket}/{key}")).ok()?;
    (address.scheme != Scheme::Folder && !is_own(&key)).then_some(address)
}

/// A text for people, in which addresses stand in the place of the paths of copies.
pub fn with_addresses(text: &str) -> Cow<'_, str> {
    static COPIES: LazyLock<Option<String>> = LazyLock::new(|| {
        Some(format!(
            "{}/",
            AppFolders::find()?.cache.join(FOLDER).to_str()?
        ))
    });
    let Some(copies) = COPIES.as_deref().filter(|copies| text.contains(*copies)) else {
        return Cow::Borrowed(text);
    };
    let mut pieces = text.split(copies);
    let mut shown = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let mut parts = piece.splitn(4, '/');
        let all = (parts.next(), parts.next(), parts.next(), parts.next());
        match all {
            (Some(TABLES), Some(project), Some(FILES), Some(rest)) => {
                let (table, rest) = rest.split_once(".jsonl").unwrap_or((rest, ""));
                shown.push_str(&format!(
                    "bq://{project}.{}{rest}",
                    table.replacen('/', ".", 1)
                ));
            }
            (Some(scheme), Some(bucket), Some(FILES), Some(rest)) => {
                shown.push_str(&format!("{scheme}://{bucket}/{rest}"));
            }
            _ => shown.push_str(&format!("{copies}{piece}")),
        }
    }
    Cow::Owned(shown)
}
