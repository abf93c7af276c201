//! Files of sets: their names, and whether one is taken.

use crate::explorer::shared::model::Model;
use std::path::{Path, PathBuf};

pub(super) const ENDING: &str = ".evalset.json";

pub(super) fn folder_of(model: &Model, set: usize) -> PathBuf {
    model.view.sets[set]
        .path
        .path
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

/// Whether there is a set of this id in a folder.
pub(super) fn is_set(model: &Model, folder: &Path, id: &str) -> bool {
    let path = file_of_set(folder, id);
    model
        .view
        .sets
        .iter()
        .any(|view| view.exists() && view.path.path == path)
}

/// A path as sets are shown: relative to the workspace where a set in the same folder is, else the file's name.
pub(crate) fn shown_path(model: &Model, path: &Path) -> String {
    let beside = model
        .view
        .sets
        .iter()
        .find(|view| view.path.path.parent() == path.parent());
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    match beside.and_then(|view| view.path.shown.rsplit_once(['/', '\\'])) {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name,
    }
}

pub(super) fn file_of_set(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}{ENDING}"))
}
