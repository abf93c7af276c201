//! What identifies an object: its key, and the version that the store gave it.

use super::address::BucketAddress;
use super::errors::BucketError;
use object_store::ObjectMeta;
use object_store::path::Path as Key;

pub(super) fn key_of(address: &BucketAddress) -> Result<Key, BucketError> {
    Key::parse(&address.key).map_err(|error| BucketError::Other(format!("{address}: {error}")))
}

pub(super) fn etag_of(object: &ObjectMeta) -> String {
    let version = object.e_tag.as_ref().or(object.version.as_ref());
    version.map_or_else(
        || object.last_modified.to_rfc3339(),
        |version| plain_etag(version),
    )
}

/// A version without quotes: Azure writes them everywhere but in lists.
pub(super) fn plain_etag(etag: &str) -> String {
    etag.trim_matches('"').to_string()
}
