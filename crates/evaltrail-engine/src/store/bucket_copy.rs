//! Copies of folders and objects of object stores. They are in the cache, and are updated whenever they are opened: what
//! the store changed since then is fetched again.

use super::app_folders::AppFolders;
use super::copy_error::CopyError;
use super::copy_files::make_private_folder;
use super::copy_update::OnFetched;
use super::locked_copies::Copies;
use crate::buckets::{Bucket, BucketAddress, BucketError, LeftOut, Listing, StoredObject};
use std::path::PathBuf;

/// A copy of what is at an address.
#[derive(Debug)]
pub struct Copied {
    /// Its path.
    pub path: PathBuf,
    /// The objects that were not copied because of their keys.
    pub left_out: LeftOut,
}

/// Copies what is at an address, or updates the copy. Objects of kinds that evaltrail does not read are left out. `beside`
/// are names of files that belong to an object in the same folder.
pub fn copy_bucket(
    address: &BucketAddress,
    beside: &[String],
    app_folders: &AppFolders,
    on_fetched: OnFetched,
) -> Result<Copied, CopyError> {
    let bucket = Bucket::open_to_read(address)?;
    copied(&bucket, beside, app_folders, on_fetched).map_err(|error| match error {
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
    app_folders: &AppFolders,
    on_fetched: OnFetched,
) -> Result<Copied, CopyError> {
    let address = bucket.address();
    let object = if address.name().contains('.') {
        bucket.object("")?
    } else {
        None
    };
    let mut copies = Copies::open(address, app_folders)?;
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
    app_folders: &AppFolders,
    on_fetched: OnFetched,
) -> Result<Copied, CopyError> {
    let bucket = Bucket::open(address)?;
    let mut copies = Copies::open(address, app_folders)?;
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
pub fn new_copy(address: &BucketAddress, app_folders: &AppFolders) -> Result<PathBuf, CopyError> {
    let path = Copies::open(address, app_folders)?.path_of(&address.key);
    let folder = path.parent().unwrap_or(&path);
    make_private_folder(folder).map_err(|source| CopyError::Cache {
        path: folder.display().to_string(),
        source,
    })?;
    Ok(path)
}
