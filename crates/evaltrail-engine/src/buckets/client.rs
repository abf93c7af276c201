//! Reads and writes objects. All functions block.

use super::address::{BucketAddress, is_plain_key};
use super::errors::{BucketError, bucket_error, error_text};
use super::left_out::LeftOut;
use super::listing::{ListingError, MAX_OBJECTS};
use super::object::{etag_of, key_of, plain_etag};
use super::stores::Store;
use super::transfer::{ObjectPart, read, read_parts};
use object_store::{
    Error, ObjectMeta, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use std::future::Future;
use std::sync::{Arc, LazyLock};
use tokio::runtime::Runtime;

/// A folder in an object store: all objects below a prefix.
#[derive(Clone, Debug)]
pub struct Bucket {
    address: BucketAddress,
    store: Store,
    /// Which credentials are missing, if requests are sent without any.
    missing: Option<Arc<str>>,
}

/// An object below the prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredObject {
    /// Its key after the prefix.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The version that the store gave it.
    pub etag: String,
    /// When it was written, in seconds since 1970 by the store's clock.
    pub written: i64,
}

/// The objects below a prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The objects, sorted by name.
    pub objects: Vec<StoredObject>,
    /// The keys that cannot be paths.
    pub left_out: LeftOut,
}

/// The thread of all requests. It is started with the first one.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("buckets")
        .enable_all()
        .build()
});

fn wait_for<T: Send + 'static>(
    address: &BucketAddress,
    work: impl Future<Output = Result<T, BucketError>> + Send + 'static,
) -> Result<T, BucketError> {
    blocking(&address.to_string(), work)
}

/// Waits for the result of requests, on any thread. `address` is named in errors.
pub(super) fn blocking<T: Send + 'static>(
    address: &str,
    work: impl Future<Output = Result<T, BucketError>> + Send + 'static,
) -> Result<T, BucketError> {
    let (done, result) = std::sync::mpsc::channel();
    runtime(address)?.spawn(async move {
        let _ = done.send(work.await);
    });
    let aborted = || BucketError::Other(format!("{address}: the request was aborted"));
    result.recv().unwrap_or_else(|_| Err(aborted()))
}

fn runtime(address: &str) -> Result<&'static Runtime, BucketError> {
    RUNTIME
        .as_ref()
        .map_err(|error| BucketError::Other(format!("{address}: {error}")))
}

impl Bucket {
    /// Prepares requests to a store; nothing is sent. Errors: for example that there are no credentials.
    pub fn open(address: &BucketAddress) -> Result<Bucket, BucketError> {
        let store = Store::open(address, error_text);
        let store = store.map_err(|why| BucketError::Other(format!("{address}: {why}")))?;
        Ok(Bucket {
            address: address.clone(),
            store,
            missing: None,
        })
    }

    /// Prepares requests that only read. Without credentials they are sent without any, which public buckets answer.
    pub fn open_to_read(address: &BucketAddress) -> Result<Bucket, BucketError> {
        let Some(missing) = Store::missing_credentials(address).filter(|_| address.can_be_public())
        else {
            return Bucket::open(address);
        };
        let store = Store::open_public(address, error_text);
        let store =
            store.map_err(|why| BucketError::Other(format!("{address}: {why}; {missing}")))?;
        Ok(Bucket {
            address: address.clone(),
            store,
            missing: Some(missing.into()),
        })
    }

    /// The error of a request, with the credentials that are missing if it was sent without any.
    pub fn explained(&self, error: BucketError) -> BucketError {
        match &self.missing {
            Some(missing) => {
                BucketError::Other(format!("{error} (read without credentials); {missing}"))
            }
            None => error,
        }
    }

    /// The address that was opened.
    pub fn address(&self) -> &BucketAddress {
        &self.address
    }

    /// A folder below this one.
    pub fn below(&self, name: &str) -> Bucket {
        Bucket {
            address: self.named(name),
            ..self.clone()
        }
    }

    /// Checks whether the store can be reached and has the bucket. Without the permission to list objects this is not
    /// known, which is no error.
    pub fn check(&self) -> Result<(), BucketError> {
        let (store, address) = (self.store.clone(), self.address.clone());
        wait_for(&self.address, async move {
            match store.list_some(&address).await {
                Ok(()) | Err(Error::PermissionDenied { .. }) => Ok(()),
                Err(error) => Err(bucket_error(&address, &error)),
            }
        })
    }

    /// All objects below the prefix, sorted by name, and the keys that cannot be paths.
    pub fn list(&self) -> Result<Listing, BucketError> {
        let (store, address) = (self.store.clone(), self.address.clone());
        wait_for(&self.address, async move {
            let (found, mut left_out) = store
                .list(&address)
                .await
                .map_err(|error| listing_error(&address, error))?;
            let mut objects = Vec::with_capacity(found.len());
            for object in &found {
                let key = object.location.as_ref();
                match name_below(&address, key).filter(|name| is_plain_key(name)) {
                    Some(name) => objects.push(stored(name, object)),
                    None => left_out.add(key),
                }
            }
            objects.sort_by(|a, b| a.name.cmp(&b.name));
            objects.dedup_by(|a, b| a.name == b.name);
            Ok(Listing { objects, left_out })
        })
    }

    /// The names of the folders directly below the prefix, and the keys that cannot be paths.
    pub fn folders(&self) -> Result<(Vec<String>, LeftOut), BucketError> {
        let (store, address) = (self.store.clone(), self.address.clone());
        wait_for(&self.address, async move {
            let (found, mut left_out) = store
                .folders(&address)
                .await
                .map_err(|error| listing_error(&address, error))?;
            let (plain, odd): (Vec<String>, Vec<String>) =
                found.into_iter().partition(|name| is_plain_key(name));
            odd.iter().for_each(|name| left_out.add(name));
            Ok((plain, left_out))
        })
    }

    /// The object with this name; an empty name is that of the address itself. `None` if there is none.
    pub fn object(&self, name: &str) -> Result<Option<StoredObject>, BucketError> {
        let (store, address, name) = (self.store.clone(), self.named(name), name.to_string());
        let is_public = self.missing.is_some();
        wait_for(&self.address, async move {
            match store.objects.head(&key_of(&address)?).await {
                Ok(object) => Ok(Some(stored(&name, &object))),
                Err(Error::NotFound { .. }) => Ok(None),
                // Without the permission to list objects, this is the answer for one that does not exist.
                Err(Error::PermissionDenied { .. } | Error::Unauthenticated { .. })
                    if is_public =>
                {
                    Ok(None)
                }
                Err(error) => Err(bucket_error(&address, &error)),
            }
        })
    }

    /// Reads an object of at most `largest` bytes, and its version.
    pub fn read(&self, name: &str, largest: u64) -> Result<(Vec<u8>, String), BucketError> {
        let (store, address) = (self.store.clone(), self.named(name));
        wait_for(&self.address, async move {
            read(&*store.objects, &address, largest).await
        })
    }

    /// Reads several objects and passes their parts to `each`, with the name of the object, as soon as they are there. An
    /// object that has more bytes than `size` is an error. Stops at the first error.
    pub fn read_all(
        &self,
        objects: &[StoredObject],
        mut each: impl FnMut(&str, ObjectPart) -> Result<(), BucketError>,
    ) -> Result<(), BucketError> {
        let runtime = runtime(&self.address.to_string())?;
        let wanted =
            |object: &StoredObject| (object.name.clone(), self.named(&object.name), object.size);
        let (sender, arrived) = std::sync::mpsc::sync_channel(2);
        let reading = read_parts(
            self.store.clone(),
            objects.iter().map(wanted).collect(),
            sender,
        );
        let task = runtime.spawn(reading);
        let mut taken = Ok(());
        for (name, part) in arrived {
            taken = part.and_then(|part| each(&name, part));
            if taken.is_err() {
                break;
            }
        }
        task.abort();
        taken
    }

    /// Writes an object, replacing an existing one. Returns its version.
    pub fn put(&self, name: &str, bytes: Vec<u8>) -> Result<String, BucketError> {
        self.write(name, bytes, PutMode::Overwrite)
    }

    /// Writes an object that must not exist yet. Returns its version.
    pub fn create(&self, name: &str, bytes: Vec<u8>) -> Result<String, BucketError> {
        self.write(name, bytes, PutMode::Create)
    }

    /// Replaces an object that must still have this version. Returns its new version.
    pub fn replace(&self, name: &str, bytes: Vec<u8>, etag: &str) -> Result<String, BucketError> {
        let version = self.version_of(name, etag)?;
        self.write(name, bytes, PutMode::Update(version))
    }

    /// Deletes an object that must still have this version. The store offers no condition, so that a change in the
    /// milliseconds between is lost.
    pub fn delete(&self, name: &str, etag: &str) -> Result<(), BucketError> {
        self.version_of(name, etag)?;
        let (store, address) = (self.store.clone(), self.named(name));
        wait_for(&self.address, async move {
            store
                .objects
                .delete(&key_of(&address)?)
                .await
                .map_err(|error| bucket_error(&address, &error))
        })
    }

    /// What the store needs to replace exactly this version.
    fn version_of(&self, name: &str, etag: &str) -> Result<UpdateVersion, BucketError> {
        let (store, address, etag) = (self.store.clone(), self.named(name), etag.to_string());
        wait_for(&self.address, async move {
            match store.objects.head(&key_of(&address)?).await {
                Ok(object) if etag_of(&object) == etag => Ok(UpdateVersion {
                    e_tag: object.e_tag,
                    version: object.version,
                }),
                Ok(_) => Err(BucketError::Changed(address.to_string())),
                Err(error) => Err(bucket_error(&address, &error)),
            }
        })
    }

    fn write(&self, name: &str, bytes: Vec<u8>, mode: PutMode) -> Result<String, BucketError> {
        let (store, address) = (self.store.clone(), self.named(name));
        wait_for(&self.address, async move {
            let key = key_of(&address)?;
            let options = PutOptions {
                mode,
                ..PutOptions::default()
            };
            let written = store
                .objects
                .put_opts(&key, PutPayload::from(bytes), options)
                .await;
            match written
                .map_err(|error| bucket_error(&address, &error))?
                .e_tag
            {
                Some(etag) => Ok(plain_etag(&etag)),
                None => store
                    .objects
                    .head(&key)
                    .await
                    .map(|object| etag_of(&object))
                    .map_err(|error| bucket_error(&address, &error)),
            }
        })
    }

    fn named(&self, name: &str) -> BucketAddress {
        if name.is_empty() {
            self.address.clone()
        } else {
            self.address.join(name)
        }
    }
}

fn stored(name: &str, object: &ObjectMeta) -> StoredObject {
    StoredObject {
        name: name.to_string(),
        size: object.size,
        etag: etag_of(object),
        written: object.last_modified.timestamp(),
    }
}

/// The name of an object below an address; `None` if its key does not begin with that of the address.
fn name_below<'a>(address: &BucketAddress, key: &'a str) -> Option<&'a str> {
    match address.key.is_empty() {
        true => Some(key),
        false => key
            .strip_prefix(address.key.as_str())
            .and_then(|rest| rest.strip_prefix('/')),
    }
}

fn listing_error(address: &BucketAddress, error: ListingError) -> BucketError {
    match error {
        ListingError::Store(error) => bucket_error(address, &error),
        ListingError::Endless(why) => BucketError::Other(format!("{address}: {why}")),
        ListingError::TooMany => BucketError::TooLarge(format!(
            "{address}: there are more than {MAX_OBJECTS} objects; name a folder with fewer"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tempfile::TempDir;

    fn folder(files: &[(&str, usize)]) -> (TempDir, Bucket) {
        let folder = tempfile::tempdir().unwrap();
        let real = dunce::canonicalize(folder.path()).unwrap();
        for (name, size) in files {
            std::fs::create_dir_all(real.join(name).parent().unwrap()).unwrap();
            let bytes: Vec<u8> = (0..*size).map(|at| at as u8).collect();
            std::fs::write(real.join(name), bytes).unwrap();
        }
        (
            folder,
            Bucket::open(&BucketAddress::of_folder(&real).unwrap()).unwrap(),
        )
    }

    #[test]
    fn objects_are_read_in_parts() {
        let (files, bucket) = folder(&[("large", 600 << 10), ("a/small", 3), ("empty", 0)]);
        let listed = bucket.list().unwrap().objects;
        assert_eq!(
            listed
                .iter()
                .map(|one| (one.name.as_str(), one.size))
                .collect::<Vec<_>>(),
            [("a/small", 3), ("empty", 0), ("large", 600 << 10)]
        );
        let mut parts: BTreeMap<String, Vec<ObjectPart>> = BTreeMap::new();
        let take = |name: &str, part: ObjectPart| {
            parts.entry(name.to_string()).or_default().push(part);
            Ok(())
        };
        bucket.read_all(&listed, take).unwrap();
        for object in &listed {
            let (last, others) = parts[&object.name].split_last().unwrap();
            assert_eq!(last.etag.as_ref(), Some(&object.etag));
            assert!(
                others
                    .iter()
                    .all(|part| part.etag.is_none() && part.bytes.len() >= 256 << 10)
            );
            let whole: Vec<u8> = parts[&object.name]
                .iter()
                .flat_map(|part| part.bytes.clone())
                .collect();
            assert!(
                whole == std::fs::read(files.path().join(&object.name)).unwrap(),
                "{}",
                object.name
            );
        }
        assert_eq!((parts["large"].len(), parts["empty"].len()), (3, 1));
    }

    #[test]
    fn object_larger_than_listed_is_an_error() {
        let (_folder, bucket) = folder(&[("a", 30)]);
        let mut listed = bucket.list().unwrap().objects;
        listed[0].size = 29;
        let error = bucket
            .read_all(&listed, |_, _| Ok(()))
            .unwrap_err()
            .to_string();
        assert!(error.contains("more than the 29 bytes"), "{error}");
    }

    #[test]
    fn object_is_read_up_to_limit() {
        let (_folder, bucket) = folder(&[("a", 3 << 20)]);
        assert_eq!(bucket.read("a", 3 << 20).unwrap().0.len(), 3 << 20);
        let error = |largest: u64| bucket.read("a", largest).unwrap_err().to_string();
        assert!(
            error(2 << 20).ends_with("/a: it has more than 2 MB"),
            "{}",
            error(2 << 20)
        );
        assert!(
            error(5 << 10).ends_with("/a: it has more than 5 kB"),
            "{}",
            error(5 << 10)
        );
    }

    #[test]
    fn only_the_version_that_was_read_is_deleted() {
        let (files, bucket) = folder(&[("a", 3)]);
        let (_, read) = bucket.read("a", 10).unwrap();
        assert_eq!(
            bucket.object("a").unwrap().map(|object| object.etag),
            Some(read.clone())
        );
        std::fs::write(files.path().join("a"), "changed").unwrap();
        assert!(matches!(
            bucket.delete("a", &read),
            Err(BucketError::Changed(_))
        ));
        let now = bucket.object("a").unwrap().unwrap();
        bucket.delete("a", &now.etag).unwrap();
        assert_eq!(
            (bucket.object("a").unwrap(), files.path().join("a").exists()),
            (None, false)
        );
    }

    #[test]
    fn object_is_created_once_and_replaced() {
        let (files, bucket) = folder(&[("b/old", 3)]);
        let etag = bucket.below("b").create("new", b"1".to_vec()).unwrap();
        assert_eq!(
            bucket.object("b/new").unwrap().map(|object| object.etag),
            Some(etag)
        );
        assert!(matches!(
            bucket.create("b/new", b"2".to_vec()),
            Err(BucketError::Exists(_))
        ));
        bucket.put("b/new", b"22".to_vec()).unwrap();
        assert_eq!(std::fs::read(files.path().join("b/new")).unwrap(), b"22");
        assert_eq!(
            bucket
                .below("b/new")
                .object("")
                .unwrap()
                .map(|object| object.size),
            Some(2)
        );
        assert_eq!(bucket.folders().unwrap().0, ["b"]);
    }
}
