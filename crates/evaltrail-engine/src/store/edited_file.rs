//! A file of an edit: how it is changed, and changed back.

use super::read_text_file;
use super::save::{Replace, create, remove, replace};
use super::save_error::SaveError;
use evaltrail_core::formats::json::TextChange;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// The maximum size of a file that is edited, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// An action on one file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileEdit {
    /// The file.
    pub path: PathBuf,
    /// The action.
    pub action: FileAction,
}

/// What to do with a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FileAction {
    /// Change the text that was read.
    Change(Arc<str>, TextChange),
    /// Create a file with this text.
    Create(String),
    /// Delete the file, if it has this text.
    Delete(Arc<str>),
}

/// The change of a file by an edit, as it is stored in the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LoggedFile {
    /// Absolute, with the links in its folders resolved.
    pub(super) path: PathBuf,
    /// Hash of the file before the edit; `None` if it did not exist.
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// The change from the text before the edit (empty if there was no file) to the text after it.
    change: TextChange,
}

fn hash(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// A path with links resolved. If it is a file, the file itself is not resolved.
pub(super) fn real(path: &Path) -> PathBuf {
    let canonical = |path: &Path| dunce::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if path.is_dir() {
        return canonical(path);
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    canonical(folder).join(path.file_name().unwrap_or_default())
}

/// What is logged about an action.
pub(super) fn logged_file(job: &FileEdit) -> LoggedFile {
    let whole = |old: &str, new: &str| TextChange::one(0, old, new);
    let path = real(&job.path);
    match &job.action {
        FileAction::Change(text, change) => {
            let after = change.apply(text).unwrap_or_default();
            LoggedFile {
                path,
                before: Some(hash(text)),
                after: Some(hash(&after)),
                change: change.clone(),
            }
        }
        FileAction::Create(text) => LoggedFile {
            path,
            before: None,
            after: Some(hash(text)),
            change: whole("", text),
        },
        FileAction::Delete(text) => LoggedFile {
            path,
            before: Some(hash(text)),
            after: None,
            change: whole(text, ""),
        },
    }
}

/// Whether a file is as its change left it (`back`), or as it was before.
pub(super) fn is_as_left(file: &LoggedFile, back: bool) -> bool {
    let left = if back { &file.after } else { &file.before };
    let now = read_text_file(&file.path, MAX_FILE_BYTES)
        .ok()
        .map(|text| hash(&text));
    now == *left
}

/// Makes the edit of a file, or reverses it (`back`).
pub(super) fn change_file(
    within: Option<&Path>,
    file: &LoggedFile,
    back: bool,
) -> Result<Option<String>, SaveError> {
    let path = &file.path;
    let (from, to, change) = match back {
        false => (&file.before, &file.after, file.change.clone()),
        true => (&file.after, &file.before, file.change.inverse()),
    };
    let changed = |text: &str| {
        let stale = || SaveError::Changed {
            theirs: text.as_bytes().to_vec(),
        };
        match Some(hash(text)) == *from {
            true => change.apply(text).ok_or_else(stale),
            false => Err(stale()),
        }
    };
    match (from, to) {
        (None, _) => create(path, changed_from_nothing(&change).as_bytes()),
        (Some(_), None) => {
            let text = read(path)?;
            changed(&text)?;
            remove(path, within, text.as_bytes()).map(|()| None)
        }
        (Some(_), Some(_)) => {
            let text = read(path)?;
            let new = changed(&text)?;
            replace(Replace {
                path,
                within,
                read: text.as_bytes(),
                new: new.as_bytes(),
            })
        }
    }
}

fn changed_from_nothing(change: &TextChange) -> String {
    change.apply("").unwrap_or_default()
}

fn read(path: &Path) -> Result<String, SaveError> {
    read_text_file(path, MAX_FILE_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SaveError::Gone,
        _ => SaveError::Io(error),
    })
}

/// The current texts of files.
pub(super) fn texts_of(paths: impl Iterator<Item = PathBuf>) -> Vec<(PathBuf, Option<Arc<str>>)> {
    paths
        .map(|path| {
            (
                path.clone(),
                read_text_file(&path, MAX_FILE_BYTES).ok().map(Arc::from),
            )
        })
        .collect()
}
