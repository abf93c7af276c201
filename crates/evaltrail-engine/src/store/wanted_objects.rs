//! Which objects of a store are copied, and the limits of their sizes.

use super::copy_address::is_own;
use super::copy_error::CopyError;
use crate::buckets::{BucketAddress, BucketError, LeftOut, StoredObject};
use std::collections::HashSet;

/// The maximum size of an object that is fetched, in bytes.
pub(super) const MAX_FILE: u64 = 2 << 30;
/// The maximum size of all objects that one address fetches, in bytes.
const MAX_FOLDER: u64 = 8 << 30;
/// The endings of the files that evaltrail reads.
const ENDINGS: [&str; 9] = [
    ".json", ".jsonl", ".ndjson", ".csv", ".toml", ".yaml", ".yml", ".py", ".env",
];

/// The objects that are copied, of those that were found. Errors: there are none.
pub(super) fn wanted_objects(
    address: &BucketAddress,
    found: Vec<StoredObject>,
    left_out: &mut LeftOut,
) -> Result<Vec<StoredObject>, CopyError> {
    let all = found.len();
    let is_used = |object: &StoredObject| {
        ENDINGS.iter().any(|ending| object.name.ends_with(ending)) && !is_own(&object.name)
    };
    let wanted: Vec<StoredObject> = found.into_iter().filter(is_used).collect();
    let wanted = without_files_below_files(wanted, left_out);
    if !wanted.is_empty() {
        return Ok(wanted);
    }
    let why = match (all, left_out.count) {
        (0, 0) => "there is nothing at this address".into(),
        (_, 0) => "there are no files here that evaltrail reads (.json, .jsonl, .csv)".into(),
        _ => {
            format!(
                "there are no files here that evaltrail reads (.json, .jsonl, .csv); {left_out}"
            )
        }
    };
    Err(CopyError::Refused(format!("{address}: {why}")))
}

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
pub(super) fn check_sizes(
    address: &BucketAddress,
    objects: &[StoredObject],
) -> Result<(), CopyError> {
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
