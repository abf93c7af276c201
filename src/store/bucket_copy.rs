//! Copies of folders and objects of object stores. They are in the cache, and are updated whenever they are opened: what
//! the store changed since then is fetched again. An edit of a file of a copy is written to the store first, on the
//! condition that the object still has the version that was fetched.
//!
//! ```text
//! <cache>/buckets/gs/<bucket>/files/<key>     the copies
//! <cache>/buckets/gs/<bucket>/versions.json   the version of each of them
//! ```

use super::lock::try_lock;
use super::places::Places;
use super::read::read_file;
use super::temporary::write_beside;
use crate::buckets::{BigQueryTable, Bucket, BucketAddress, BucketError, Scheme, StoredObject, TableAddress};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The maximum size of an object that is fetched, in bytes.
const LARGEST: u64 = 2 << 30;
/// The maximum size of all objects that one address fetches, in bytes.
const LARGEST_FOLDER: u64 = 8 << 30;
/// The endings of the files that evaltrail reads.
const ENDINGS: [&str; 9] = [".json", ".jsonl", ".ndjson", ".csv", ".toml", ".yaml", ".yml", ".py", ".env"];

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

/// The progress of a copy: the objects that were fetched, and all that are fetched.
pub type OnFetched<'a> = &'a mut dyn FnMut(usize, usize);

/// The copies of a bucket. They are locked.
struct Copies {
    folder: PathBuf,
    versions: BTreeMap<String, String>,
    /// Held open while the copies are locked.
    _lock: File,
}

/// The longest time for which another process may update the copies of a bucket.
const LOCKED_FOR: Duration = Duration::from_secs(300);

/// Locks a file. Errors: another process has it locked for longer than the limit.
fn lock_within(file: &File, limit: Duration) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match try_lock(file) {
            true => return Ok(()),
            false if began.elapsed() > limit => {
                let why = format!(
                    "another evaltrail process has been copying from this bucket for {} s",
                    limit.as_secs()
                );
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            false => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// The form of `versions.json`.
#[derive(Default, Serialize, Deserialize)]
struct Versions {
    format: u32,
    versions: BTreeMap<String, String>,
}

/// The version of the form.
const FORMAT: u32 = 1;

/// Copies what is at an address, or updates the copy, and returns its path. Objects of kinds that evaltrail does not read
/// are left out. `beside` are names of files that belong to an object in the same
/// folder.
pub fn copy_bucket(
    address: &BucketAddress,
    beside: &[String],
    places: &Places,
    on_fetched: OnFetched,
) -> Result<PathBuf, CopyError> {
    let bucket = Bucket::open(address)?;
    let object = if address.name().contains('.') { bucket.object("")? } else { None };
    let mut copies = Copies::open(address, places)?;
    match object {
        Some(object) => copies.update_file(address, object, beside, on_fetched)?,
        None => copies.update_folder(&bucket, on_fetched)?,
    }
    Ok(copies.path_of(&address.key))
}

/// Copies the folders below an address but some, or updates the copies, and returns the path.
pub(super) fn copy_folders(
    address: &BucketAddress,
    but: &[&str],
    places: &Places,
    on_fetched: OnFetched,
) -> Result<PathBuf, CopyError> {
    let bucket = Bucket::open(address)?;
    let mut copies = Copies::open(address, places)?;
    let mut wanted = Vec::new();
    for folder in bucket.folders()?.into_iter().filter(|folder| !but.contains(&folder.as_str())) {
        let named =
            |object: StoredObject| StoredObject { name: format!("{folder}/{}", object.name), ..object };
        wanted.extend(bucket.below(&folder).list()?.into_iter().map(named));
    }
    copies.update(&bucket, wanted, on_fetched)?;
    Ok(copies.path_of(&address.key))
}

/// The path of the copy of an object that does not exist yet. Its folder is created.
pub fn new_copy(address: &BucketAddress, places: &Places) -> Result<PathBuf, CopyError> {
    let path = Copies::open(address, places)?.path_of(&address.key);
    let folder = path.parent().unwrap_or(&path);
    fs::create_dir_all(folder)
        .map_err(|source| CopyError::Cache { path: folder.display().to_string(), source })?;
    Ok(path)
}

/// Copies the rows of a table as lines of JSON, if it changed, and returns the path of the copy.
pub fn copy_table(address: &TableAddress, places: &Places) -> Result<PathBuf, CopyError> {
    let table = BigQueryTable::open(address)?;
    let mut copies = Copies::in_folder(places.cache.join(FOLDER).join(TABLES).join(&address.project))?;
    let key = format!("{}/{}.jsonl", address.dataset, address.table);
    let path = copies.path_of(&key);
    let version = table.version()?;
    if path.is_file() && !version.is_empty() && copies.versions.get(&key) == Some(&version) {
        return Ok(path);
    }
    let (rows, version) = table.read(LARGEST as usize)?;
    write_copy(&path, &rows)
        .map_err(|source| CopyError::Cache { path: path.display().to_string(), source })?;
    copies.versions.insert(key, version);
    copies.save()?;
    Ok(path)
}

impl Copies {
    fn open(address: &BucketAddress, places: &Places) -> Result<Copies, CopyError> {
        Copies::in_folder(places.cache.join(FOLDER).join(address.scheme.name()).join(&address.bucket))
    }

    fn in_folder(folder: PathBuf) -> Result<Copies, CopyError> {
        let cache = |path: &Path| {
            let path = path.display().to_string();
            move |source| CopyError::Cache { path, source }
        };
        fs::create_dir_all(folder.join(FILES)).map_err(cache(&folder))?;
        let lock_path = folder.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&lock_path)
            .map_err(cache(&lock_path))?;
        lock_within(&lock, LOCKED_FOR).map_err(cache(&lock_path))?;
        // Without versions, everything is fetched again.
        let stored: Option<Versions> = read_file(&folder.join(VERSIONS), LARGEST_VERSIONS)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        let versions = stored.filter(|stored| stored.format == FORMAT).unwrap_or_default().versions;
        Ok(Copies { folder, versions, _lock: lock })
    }

    /// The path of the copy of an object or a folder.
    fn path_of(&self, key: &str) -> PathBuf {
        let files = self.folder.join(FILES);
        // The drive of a folder on Windows would be another place.
        let name = |part: &str| if cfg!(windows) { part.replace(':', "_") } else { part.to_string() };
        if key.is_empty() { files } else { key.split('/').fold(files, |path, part| path.join(name(part))) }
    }

    fn update_file(
        &mut self,
        address: &BucketAddress,
        object: StoredObject,
        beside: &[String],
        on_fetched: OnFetched,
    ) -> Result<(), CopyError> {
        let folder = Bucket::open(&address.parent())?;
        let mut wanted = vec![StoredObject { name: address.name().to_string(), ..object }];
        for name in beside {
            match folder.object(name)? {
                Some(object) => wanted.push(object),
                None => self.forget(&address.parent().join(name).key)?,
            }
        }
        self.fetch(&folder, &wanted, on_fetched)
    }

    fn update_folder(&mut self, bucket: &Bucket, on_fetched: OnFetched) -> Result<(), CopyError> {
        let found = bucket.list()?;
        self.update(bucket, found, on_fetched)
    }

    /// Updates the copies of a folder, in which these objects were found.
    fn update(
        &mut self,
        bucket: &Bucket,
        found: Vec<StoredObject>,
        on_fetched: OnFetched,
    ) -> Result<(), CopyError> {
        let all = found.len();
        let is_used = |object: &StoredObject| {
            ENDINGS.iter().any(|ending| object.name.ends_with(ending)) && !is_own(&object.name)
        };
        let wanted: Vec<StoredObject> = found.into_iter().filter(is_used).collect();
        let address = bucket.address();
        if wanted.is_empty() {
            let why = match all {
                0 => "there is nothing at this address",
                _ => "there are no files here that evaltrail reads (.json, .jsonl, .csv)",
            };
            return Err(CopyError::Refused(format!("{address}: {why}")));
        }
        let size: u64 = wanted.iter().map(|object| object.size).sum();
        if size > LARGEST_FOLDER {
            let why = format!("{address}: {} GB are too much to copy; name a folder with less", size >> 30);
            return Err(CopyError::Refused(why));
        }
        let there: HashSet<String> = wanted.iter().map(|object| address.join(&object.name).key).collect();
        let prefix = if address.key.is_empty() { String::new() } else { format!("{}/", address.key) };
        let gone: Vec<String> = self
            .versions
            .keys()
            .filter(|key| key.starts_with(&prefix) && !there.contains(*key))
            .cloned()
            .collect();
        gone.iter().try_for_each(|key| self.forget(key))?;
        self.fetch(bucket, &wanted, on_fetched)
    }

    /// Fetches the objects that changed.
    fn fetch(
        &mut self,
        bucket: &Bucket,
        wanted: &[StoredObject],
        on_fetched: OnFetched,
    ) -> Result<(), CopyError> {
        let key_of = |name: &str| bucket.address().join(name).key;
        let is_stale = |object: &&StoredObject| {
            let key = key_of(&object.name);
            self.versions.get(&key) != Some(&object.etag) || !self.path_of(&key).is_file()
        };
        let stale: Vec<StoredObject> = wanted.iter().filter(is_stale).cloned().collect();
        if stale.is_empty() {
            return self.save();
        }
        let (mut done, mut failed) = (0, None);
        let fetched = bucket.read_all(&stale, LARGEST, |name, bytes, etag| {
            let key = key_of(name);
            let path = self.path_of(&key);
            if let Err(source) = write_copy(&path, &bytes) {
                let path = path.display().to_string();
                let told = BucketError::Other(format!("{path}: {source}"));
                failed = Some(CopyError::Cache { path, source });
                return Err(told);
            }
            self.versions.insert(key, etag);
            done += 1;
            on_fetched(done, stale.len());
            Ok(())
        });
        let saved = self.save();
        if let Some(failed) = failed {
            return Err(failed);
        }
        fetched?;
        saved
    }

    /// Removes the copy of an object that is no longer there.
    fn forget(&mut self, key: &str) -> Result<(), CopyError> {
        if self.versions.remove(key).is_none() {
            return Ok(());
        }
        let path = self.path_of(key);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(CopyError::Cache { path: path.display().to_string(), source })
            }
            _ => Ok(()),
        }
    }

    fn save(&self) -> Result<(), CopyError> {
        let path = self.folder.join(VERSIONS);
        let versions = Versions { format: FORMAT, versions: self.versions.clone() };
        let written =
            serde_json::to_vec(&versions).map_err(io::Error::from).and_then(|text| write_copy(&path, &text));
        written.map_err(|source| CopyError::Cache { path: path.display().to_string(), source })
    }
}

const FOLDER: &str = "buckets";
const FILES: &str = "files";
/// The folder of the copies of tables.
const TABLES: &str = "bq";
const VERSIONS: &str = "versions.json";
/// The maximum size of that file, in bytes.
const LARGEST_VERSIONS: u64 = 256 << 20;

/// Writes a file of the cache atomically.
fn write_copy(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let temporary = write_beside(folder, None, |out| out.write_all(bytes))?;
    temporary.persist(path).map(drop).map_err(|error| error.error)
}

/// Whether an object is one of evaltrail's own files.
fn is_own(name: &str) -> bool {
    // Some file systems ignore the case of names.
    name.split('/').any(|part| part.eq_ignore_ascii_case(".evaltrail"))
}

/// The address of which a path is the copy; `None` if it is none, or one of evaltrail's own files beside it.
pub fn address_of_copy(path: &Path, places: &Places) -> Option<BucketAddress> {
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
    static COPIES: LazyLock<Option<String>> =
        LazyLock::new(|| Some(format!("{}/", Places::find()?.cache.join(FOLDER).to_str()?)));
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
                shown.push_str(&format!("bq://{project}.{}{rest}", table.replacen('/', ".", 1)));
            }
            (Some(scheme), Some(bucket), Some(FILES), Some(rest)) => {
                shown.push_str(&format!("{scheme}://{bucket}/{rest}"));
            }
            _ => shown.push_str(&format!("{copies}{piece}")),
        }
    }
    Cow::Owned(shown)
}

/// An edit of a file that is the copy of an object. The copies are locked until it is dropped.
pub(super) struct CopyEdit {
    path: PathBuf,
    address: BucketAddress,
    copies: Copies,
}

impl CopyEdit {
    /// The edit of a file; `None` if it is no copy.
    pub(super) fn of(path: &Path) -> Result<Option<CopyEdit>, CopyError> {
        let Some(mut places) = Places::find() else { return Ok(None) };
        let Ok(cache) = dunce::canonicalize(&places.cache) else { return Ok(None) };
        places.cache = cache;
        let folder = path.parent().and_then(|folder| dunce::canonicalize(folder).ok());
        let Some(path) = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name)) else {
            return Ok(None);
        };
        let Some(address) = address_of_copy(&path, &places) else { return Ok(None) };
        let copies = Copies::open(&address, &places)?;
        Ok(Some(CopyEdit { path, address, copies }))
    }

    /// Replaces the object, and returns its version for [`CopyEdit::finish`]. If it was changed after it was fetched, the copy
    /// gets its content. Until the edit is finished, the version of the copy is unknown, so that an interrupted edit is
    /// fetched again.
    pub(super) fn replace(&mut self, new: &[u8]) -> Result<String, CopyError> {
        let bucket = Bucket::open(&self.address)?;
        let missing = || BucketError::Missing(self.address.to_string());
        let version = self.copies.versions.remove(&self.address.key).ok_or_else(missing)?;
        self.copies.save()?;
        match bucket.replace("", new.to_vec(), &version) {
            Ok(written) => Ok(written),
            Err(BucketError::Changed(changed)) => {
                let (theirs, etag) = bucket.read("", LARGEST)?;
                write_copy(&self.path, &theirs)
                    .map_err(|source| CopyError::Cache { path: self.path.display().to_string(), source })?;
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
        let version = self.copies.versions.get(&self.address.key).ok_or_else(missing)?;
        Bucket::open(&self.address)?.delete("", version)?;
        self.copies.versions.remove(&self.address.key);
        self.copies.save()
    }

    /// Remembers the version of the copy, after it was written.
    pub(super) fn finish(&mut self, version: String) -> Result<(), CopyError> {
        self.copies.versions.insert(self.address.key.clone(), version);
        self.copies.save()
    }
}
