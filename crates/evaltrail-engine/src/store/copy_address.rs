//! Finds the address of which a path in the cache is the copy.
//!
//! ```text
//! <cache>/buckets/gs/<bucket>/files/<key>                     the copies of objects
//! <cache>/buckets/bq/<project>/files/<dataset>/<table>.jsonl  the copies of tables
//! ```

use super::app_folders::AppFolders;
use crate::buckets::{BucketAddress, Scheme};
use std::borrow::Cow;
use std::path::{Component, Path};
use std::sync::LazyLock;

/// The folder of all copies in the cache.
pub(super) const FOLDER: &str = "buckets";
/// The folder of the copies of one bucket, or of the tables of one project.
pub(super) const FILES: &str = "files";
/// The folder of the copies of tables.
pub(super) const TABLES: &str = "bq";

/// The address of which a path is the copy; `None` if it is none, or one of evaltrail's own files beside it.
pub fn address_of_copy(path: &Path, app_folders: &AppFolders) -> Option<BucketAddress> {
    let inside = path.strip_prefix(app_folders.cache.join(FOLDER)).ok()?;
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

/// Whether an object is one of evaltrail's own files.
pub(super) fn is_own(name: &str) -> bool {
    // Some file systems ignore the case of names.
    name.split('/')
        .any(|part| part.eq_ignore_ascii_case(".evaltrail"))
}
