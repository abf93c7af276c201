//! Copies of tables of BigQuery, as lines of JSON.

use super::app_folders::AppFolders;
use super::copy_address::TABLES;
use super::copy_error::CopyError;
use super::copy_files::{begin_copy, finish_copy};
use super::locked_copies::Copies;
use super::wanted_objects::MAX_FILE;
use crate::buckets::{BigQueryTable, BucketError, TableAddress};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Copies the rows of a table as lines of JSON, if it changed, and returns the path of the copy.
pub fn copy_table(address: &TableAddress, app_folders: &AppFolders) -> Result<PathBuf, CopyError> {
    let table = BigQueryTable::open(address)?;
    let mut copies = Copies::in_folder(app_folders, &Path::new(TABLES).join(&address.project))?;
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
