//! Reads and writes objects. All functions block.

use super::address::{BucketAddress, Scheme, is_plain_key};
use super::credentials::{self, Environment};
use futures_util::StreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{
    ClientConfigKey, Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    RetryConfig, UpdateVersion,
};
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::runtime::Runtime;

/// A place in an object store: all objects below a prefix.
#[derive(Clone, Debug)]
pub struct Bucket {
    address: BucketAddress,
    store: Arc<dyn ObjectStore>,
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

/// Why an object store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// There is no such object.
    #[error("{0}: there is no such object")]
    Missing(String),
    /// An object with this key exists.
    #[error("{0}: it exists already")]
    Exists(String),
    /// The object was changed after it was read.
    #[error("{0}: it was changed after it was read")]
    Changed(String),
    /// An object, or the number of objects, is above a limit.
    #[error("{0}")]
    TooLarge(String),
    /// For example that there are no credentials, or the store cannot be reached. Contains the message.
    #[error("{0}")]
    Other(String),
}

/// The maximum number of objects below a prefix.
const MOST_OBJECTS: usize = 200_000;
/// The number of concurrent requests for small objects.
const AT_ONCE: usize = 16;
/// The size of an object in bytes from which it is read alone.
const LARGE: u64 = 16 << 20;
/// The time limit of a request with its content: a large object takes long on a slow line.
const ANSWERED_WITHIN: Duration = Duration::from_secs(900);
/// The time limit for the next part of an answer.
const SILENT_FOR: Duration = Duration::from_secs(30);
/// No request is repeated after this time.
const RETRIED_FOR: Duration = Duration::from_secs(120);

/// The thread of all requests. It is started with the first one.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name("buckets").enable_all().build()
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
    let told = |why: &str| BucketError::Other(format!("{address}: {why}"));
    let runtime = RUNTIME.as_ref().map_err(|error| told(&error.to_string()))?;
    let (done, result) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        let _ = done.send(work.await);
    });
    result.recv().unwrap_or_else(|_| Err(told("the request was aborted")))
}

impl Bucket {
    /// Prepares requests to a store; nothing is sent. Errors: for example that there are no credentials.
    pub fn open(address: &BucketAddress) -> Result<Bucket, BucketError> {
        let told = |why: String| BucketError::Other(format!("{address}: {why}"));
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let machine = machine();
        let environment = Environment {
            variable: &variable,
            read: &|path| std::fs::read_to_string(path).ok(),
            machine: &machine,
        };
        credentials::check(address.scheme, &environment).map_err(told)?;
        // The provider is installed once; a second call fails, which does no harm.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry = RetryConfig { max_retries: 3, retry_timeout: RETRIED_FOR, ..RetryConfig::default() };
        let seconds = |time: Duration| format!("{} seconds", time.as_secs());
        let (within, silent) = (seconds(ANSWERED_WITHIN), seconds(SILENT_FOR));
        let url = format!("{}://{}", address.scheme.name(), address.bucket);
        let store: Result<Arc<dyn ObjectStore>, Error> = match address.scheme {
            Scheme::Folder => Ok(Arc::new(LocalFileSystem::new())),
            Scheme::Gcs => GoogleCloudStorageBuilder::from_env()
                .with_config(GoogleConfigKey::Client(ClientConfigKey::Timeout), within)
                .with_config(GoogleConfigKey::Client(ClientConfigKey::ReadTimeout), silent)
                .with_url(url)
                .with_retry(retry)
                .build()
                .map(shared),
            Scheme::S3 => with_profile(AmazonS3Builder::from_env(), &environment)
                .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), within)
                .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::ReadTimeout), silent)
                .with_url(url)
                .with_retry(retry)
                .build()
                .map(shared),
            Scheme::Azure => MicrosoftAzureBuilder::from_env()
                .with_config(AzureConfigKey::Client(ClientConfigKey::Timeout), within)
                .with_config(AzureConfigKey::Client(ClientConfigKey::ReadTimeout), silent)
                .with_url(url)
                .with_retry(retry)
                .build()
                .map(shared),
        };
        let store = store.map_err(|error| told(words(&error)))?;
        Ok(Bucket { address: address.clone(), store })
    }

    /// The address that was opened.
    pub fn address(&self) -> &BucketAddress {
        &self.address
    }

    /// A place below this one.
    pub fn below(&self, name: &str) -> Bucket {
        Bucket { address: self.named(name), store: self.store.clone() }
    }

    /// Checks whether the store can be reached and has the bucket. Without the permission to list objects this is not
    /// known, which is no error.
    pub fn check(&self) -> Result<(), BucketError> {
        let (store, address) = (self.store.clone(), self.address.clone());
        wait_for(&self.address, async move {
            match store.list(Some(&key_of(&address)?)).next().await {
                Some(Err(Error::PermissionDenied { .. })) | Some(Ok(_)) | None => Ok(()),
                Some(Err(error)) => Err(told(&address, &error)),
            }
        })
    }

    /// All objects below the prefix, sorted by name. Objects whose key is no path are left out.
    pub fn list(&self) -> Result<Vec<StoredObject>, BucketError> {
        let (store, address) = (self.store.clone(), self.address.clone());
        wait_for(&self.address, async move {
            let prefix = if address.key.is_empty() { Key::default() } else { key_of(&address)? };
            let mut found = Vec::new();
            let mut objects = store.list(Some(&prefix));
            while let Some(object) = objects.next().await {
                let object = object.map_err(|error| told(&address, &error))?;
                let key = object.location.to_string();
                let name = match address.key.is_empty() {
                    true => Some(key.as_str()),
                    false => key.strip_prefix(address.key.as_str()).and_then(|rest| rest.strip_prefix('/')),
                };
                if let Some(name) = name.filter(|name| is_plain_key(name)) {
                    found.push(stored(name, &object));
                }
                if found.len() > MOST_OBJECTS {
                    let why = format!(
                        "{address}: there are more than {MOST_OBJECTS} objects; name a folder with fewer"
                    );
                    return Err(BucketError::TooLarge(why));
                }
            }
            found.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(found)
        })
    }

    /// The names of the folders directly below the prefix.
    pub fn folders(&self) -> Result<Vec<String>, BucketError> {
        let (store, address) = (self.store.clone(), self.address.clone());
        wait_for(&self.address, async move {
            let prefix = if address.key.is_empty() { Key::default() } else { key_of(&address)? };
            let found =
                store.list_with_delimiter(Some(&prefix)).await.map_err(|error| told(&address, &error))?;
            let names =
                found.common_prefixes.iter().filter_map(|folder| Some(folder.filename()?.to_string()));
            Ok(names.filter(|name| is_plain_key(name)).collect())
        })
    }

    /// The object with this name; an empty name is that of the address itself. `None` if there is none.
    pub fn object(&self, name: &str) -> Result<Option<StoredObject>, BucketError> {
        let (store, address, name) = (self.store.clone(), self.named(name), name.to_string());
        wait_for(&self.address, async move {
            match store.head(&key_of(&address)?).await {
                Ok(object) => Ok(Some(stored(&name, &object))),
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(told(&address, &error)),
            }
        })
    }

    /// Reads an object of at most `largest` bytes, and its version.
    pub fn read(&self, name: &str, largest: u64) -> Result<(Vec<u8>, String), BucketError> {
        let (store, address) = (self.store.clone(), self.named(name));
        wait_for(&self.address, async move { read(&*store, &address, largest).await })
    }

    /// Reads several objects of at most `largest` bytes each, and passes each to `each` as soon as it is there: its name,
    /// its bytes and its version. Stops at the first error.
    pub fn read_all(
        &self,
        objects: &[StoredObject],
        largest: u64,
        mut each: impl FnMut(&str, Vec<u8>, String) -> Result<(), BucketError>,
    ) -> Result<(), BucketError> {
        let (sender, arrived) = std::sync::mpsc::sync_channel(2);
        let runtime =
            RUNTIME.as_ref().map_err(|error| BucketError::Other(format!("{}: {error}", self.address)))?;
        let (large, small): (Vec<&StoredObject>, Vec<&StoredObject>) =
            objects.iter().partition(|object| object.size >= LARGE);
        let wanted = |objects: Vec<&StoredObject>| -> Vec<(String, BucketAddress)> {
            objects.iter().map(|object| (object.name.clone(), self.named(&object.name))).collect()
        };
        let (large, small) = (wanted(large), wanted(small));
        let store = self.store.clone();
        let task = runtime.spawn(async move {
            let each = |(name, address): (String, BucketAddress)| {
                let store = store.clone();
                async move { (name, read(&*store, &address, largest).await) }
            };
            let small = futures_util::stream::iter(small.into_iter().map(each)).buffer_unordered(AT_ONCE);
            let large = futures_util::stream::iter(large.into_iter().map(each)).buffer_unordered(1);
            let mut reading = std::pin::pin!(small.chain(large));
            while let Some(one) = reading.next().await {
                if tokio::task::block_in_place(|| sender.send(one)).is_err() {
                    return;
                }
            }
        });
        let mut taken = Ok(());
        for (name, read) in arrived {
            taken = read.and_then(|(bytes, etag)| each(&name, bytes, etag));
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
            store.delete(&key_of(&address)?).await.map_err(|error| told(&address, &error))
        })
    }

    /// What the store needs to replace exactly this version.
    fn version_of(&self, name: &str, etag: &str) -> Result<UpdateVersion, BucketError> {
        let (store, address, etag) = (self.store.clone(), self.named(name), etag.to_string());
        wait_for(&self.address, async move {
            match store.head(&key_of(&address)?).await {
                Ok(object) if etag_of(&object) == etag => {
                    Ok(UpdateVersion { e_tag: object.e_tag, version: object.version })
                }
                Ok(_) => Err(BucketError::Changed(address.to_string())),
                Err(error) => Err(told(&address, &error)),
            }
        })
    }

    fn write(&self, name: &str, bytes: Vec<u8>, mode: PutMode) -> Result<String, BucketError> {
        let (store, address) = (self.store.clone(), self.named(name));
        wait_for(&self.address, async move {
            let key = key_of(&address)?;
            let options = PutOptions { mode, ..PutOptions::default() };
            let written = store.put_opts(&key, PutPayload::from(bytes), options).await;
            match written.map_err(|error| told(&address, &error))?.e_tag {
                Some(etag) => Ok(plain_etag(&etag)),
                None => store
                    .head(&key)
                    .await
                    .map(|object| etag_of(&object))
                    .map_err(|error| told(&address, &error)),
            }
        })
    }

    fn named(&self, name: &str) -> BucketAddress {
        if name.is_empty() { self.address.clone() } else { self.address.join(name) }
    }
}

/// Takes the keys of a profile of AWS's files, if the environment has none.
fn with_profile(mut builder: AmazonS3Builder, environment: &Environment) -> AmazonS3Builder {
    let others = ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE"];
    if others.iter().any(|name| (environment.variable)(name).is_some()) {
        return builder;
    }
    let Some(profile) = credentials::aws_profile(environment) else { return builder };
    builder = builder.with_access_key_id(profile.key_id).with_secret_access_key(profile.secret);
    if let Some(token) = profile.token {
        builder = builder.with_token(token);
    }
    match profile.region {
        Some(region) if builder.get_config_value(&AmazonS3ConfigKey::Region).is_none() => {
            builder.with_region(region)
        }
        _ => builder,
    }
}

fn shared<S: ObjectStore>(store: S) -> Arc<dyn ObjectStore> {
    Arc::new(store)
}

fn key_of(address: &BucketAddress) -> Result<Key, BucketError> {
    Key::parse(&address.key).map_err(|error| BucketError::Other(format!("{address}: {error}")))
}

fn stored(name: &str, object: &ObjectMeta) -> StoredObject {
    StoredObject {
        name: name.to_string(),
        size: object.size,
        etag: etag_of(object),
        written: object.last_modified.timestamp(),
    }
}

fn etag_of(object: &ObjectMeta) -> String {
    let version = object.e_tag.as_ref().or(object.version.as_ref());
    version.map_or_else(|| object.last_modified.to_rfc3339(), |version| plain_etag(version))
}

/// A version without quotes: Azure writes them everywhere but in lists.
fn plain_etag(etag: &str) -> String {
    etag.trim_matches('"').to_string()
}

async fn read(
    store: &dyn ObjectStore,
    address: &BucketAddress,
    largest: u64,
) -> Result<(Vec<u8>, String), BucketError> {
    let failed = |error: &Error| told(address, error);
    let object = store.get(&key_of(address)?).await.map_err(|error| failed(&error))?;
    let etag = etag_of(&object.meta);
    let too_large = || match largest >> 20 {
        0 => BucketError::TooLarge(format!("{address}: it has more than {} kB", largest >> 10)),
        mega => BucketError::TooLarge(format!("{address}: it has more than {mega} MB")),
    };
    if object.meta.size > largest {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(object.meta.size as usize);
    let mut pieces = object.into_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| failed(&error))?;
        if bytes.len() + piece.len() > largest as usize {
            return Err(too_large());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok((bytes, etag))
}

fn told(address: &BucketAddress, error: &Error) -> BucketError {
    let named = address.to_string();
    match error {
        Error::NotFound { .. } => BucketError::Missing(named),
        Error::AlreadyExists { .. } => BucketError::Exists(named),
        Error::Precondition { .. } => BucketError::Changed(named),
        Error::PermissionDenied { .. } => BucketError::Other(format!("{named}: permission denied")),
        Error::Unauthenticated { .. } => {
            BucketError::Other(format!("{named}: the store does not accept the credentials"))
        }
        error => BucketError::Other(format!("{named}: {}", shortened(&words(error)))),
    }
}

/// The part of an error of `object_store` that says why: the answer of the store without its XML, or the error of the
/// connection.
fn shortened(text: &str) -> String {
    const ANSWER: &str = "Server returned non-2xx status code: ";
    const CONNECTION: &str = "HTTP error: ";
    if let Some((_, answer)) = text.split_once(ANSWER) {
        let status = answer.split_once(": ").map_or(answer, |(status, _)| status);
        let message = answer.split_once("<Message>").and_then(|(_, rest)| rest.split_once("</Message>"));
        let message = message.map_or_else(String::new, |(message, _)| format!(": {}", message.trim()));
        return format!("the store answered {status}{message}");
    }
    match text.split_once(CONNECTION) {
        Some((_, why)) => format!("the store cannot be reached: {why}"),
        None => text.to_string(),
    }
}

/// The causes of an error in one line, without repetitions.
fn words(error: &Error) -> String {
    let mut told = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        let text = one.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        cause = one.source();
    }
    told.replace('\n', " ")
}

/// The vendor, the product and the tag of this machine, as its firmware reports them, and the version of the firmware,
/// which alone names the vendor of older machines of EC2.
fn machine() -> String {
    let names = ["sys_vendor", "product_name", "chassis_asset_tag", "bios_version"];
    let read = |name: &str| std::fs::read_to_string(Path::new("/sys/class/dmi/id").join(name)).ok();
    names.into_iter().filter_map(read).collect()
}
