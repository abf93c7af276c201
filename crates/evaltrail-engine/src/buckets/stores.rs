//! Clients of object stores, with the credentials of the environment.

#![expect(
    clippy::disallowed_methods,
    reason = "the files of credentials are the user's own"
)]

use super::address::{BucketAddress, Scheme};
use super::connection::Connector;
use super::credentials::{self, CredentialVariables};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::list::PaginatedListStore;
use object_store::local::LocalFileSystem;
use object_store::{Error, ObjectStore, RetryConfig};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// No request is repeated after this time.
const RETRIED_FOR: Duration = Duration::from_secs(120);

/// A client of a store.
#[derive(Clone)]
pub(super) struct Store {
    pub(super) objects: Arc<dyn ObjectStore>,
    /// Its listings, page by page; `None` for folders of this machine.
    pub(super) pages: Option<Arc<dyn PaginatedListStore>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.objects.fmt(out)
    }
}

impl Store {
    fn new<S: ObjectStore + PaginatedListStore>(store: S) -> Store {
        let store = Arc::new(store);
        Store {
            objects: store.clone(),
            pages: Some(store),
        }
    }

    /// Prepares requests to the store of an address; nothing is sent. Errors, as a message: for example that there are no
    /// credentials.
    pub(super) fn open(
        address: &BucketAddress,
        words: impl Fn(&Error) -> String,
    ) -> Result<Store, String> {
        Store::open_as(address, words, false)
    }

    /// [`Store::open`] for requests without credentials, which public buckets answer.
    pub(super) fn open_public(
        address: &BucketAddress,
        words: impl Fn(&Error) -> String,
    ) -> Result<Store, String> {
        Store::open_as(address, words, true)
    }

    /// Which credentials are missing, as a message; `None` if there are some.
    pub(super) fn missing_credentials(address: &BucketAddress) -> Option<String> {
        in_environment(|environment| credentials::check(address.scheme, environment).err())
    }

    fn open_as(
        address: &BucketAddress,
        words: impl Fn(&Error) -> String,
        is_public: bool,
    ) -> Result<Store, String> {
        in_environment(|environment| Store::made(address, words, is_public, environment))
    }

    fn made(
        address: &BucketAddress,
        words: impl Fn(&Error) -> String,
        is_public: bool,
        environment: &CredentialVariables,
    ) -> Result<Store, String> {
        if !is_public {
            credentials::check(address.scheme, environment)?;
        }
        let retry = RetryConfig {
            max_retries: 3,
            retry_timeout: RETRIED_FOR,
            ..RetryConfig::default()
        };
        let url = format!("{}://{}", address.scheme.name(), address.bucket);
        let store: Result<Store, Error> = match address.scheme {
            Scheme::Folder => Ok(Store {
                objects: Arc::new(LocalFileSystem::new()),
                pages: None,
            }),
            Scheme::Gcs => unsigned_if(is_public, GoogleCloudStorageBuilder::from_env(), |made| {
                made.with_skip_signature(true)
            })
            .with_http_connector(Connector)
            .with_url(url)
            .with_retry(retry)
            .build()
            .map(Store::new),
            Scheme::S3 => unsigned_if(
                is_public,
                with_profile(AmazonS3Builder::from_env(), environment),
                |made| made.with_skip_signature(true),
            )
            .with_http_connector(Connector)
            .with_url(url)
            .with_retry(retry)
            .build()
            .map(Store::new),
            Scheme::Azure => unsigned_if(is_public, MicrosoftAzureBuilder::from_env(), |made| {
                made.with_skip_signature(true)
            })
            .with_http_connector(Connector)
            .with_url(url)
            .with_retry(retry)
            .build()
            .map(Store::new),
        };
        store.map_err(|error| words(&error))
    }
}

/// A variable of the environment can request the same.
fn unsigned_if<B>(is_public: bool, builder: B, unsigned: impl FnOnce(B) -> B) -> B {
    if is_public {
        unsigned(builder)
    } else {
        builder
    }
}

fn in_environment<T>(look: impl FnOnce(&CredentialVariables) -> T) -> T {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let machine = machine(Path::new("/sys/class/dmi/id"));
    look(&CredentialVariables {
        variable: &variable,
        read: &|path| std::fs::read_to_string(path).ok(),
        machine: &machine,
    })
}

/// Takes the keys of a profile of AWS's files, if the environment has none.
fn with_profile(
    mut builder: AmazonS3Builder,
    environment: &CredentialVariables,
) -> AmazonS3Builder {
    let others = [
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_SKIP_SIGNATURE",
    ];
    if others
        .iter()
        .any(|name| (environment.variable)(name).is_some())
    {
        return builder;
    }
    let Some(profile) = credentials::aws_profile(environment) else {
        return builder;
    };
    builder = builder
        .with_access_key_id(profile.key_id)
        .with_secret_access_key(profile.secret);
    if let Some(token) = profile.token {
        builder = builder.with_token(token);
    }
    match profile.region {
        Some(region)
            if builder
                .get_config_value(&AmazonS3ConfigKey::Region)
                .is_none() =>
        {
            builder.with_region(region)
        }
        _ => builder,
    }
}

/// The vendor, the product and the tag of this machine, as its firmware reports them, and the version of the firmware,
/// which alone names the vendor of older machines of EC2.
fn machine(firmware: &Path) -> String {
    let names = [
        "sys_vendor",
        "product_name",
        "chassis_asset_tag",
        "bios_version",
    ];
    let read = |name: &str| std::fs::read_to_string(firmware.join(name)).ok();
    names.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_is_described_by_firmware() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(machine(folder.path()), "");
        std::fs::write(folder.path().join("sys_vendor"), "Amazon EC2\n").unwrap();
        std::fs::write(folder.path().join("bios_version"), "1.0\n").unwrap();
        assert_eq!(machine(folder.path()), "Amazon EC2\n1.0\n");
    }
}
