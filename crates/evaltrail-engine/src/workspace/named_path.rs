//! The path that the user names, with links resolved.

use evaltrail_core::domain::most_similar;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A path with the links in its folders resolved. If the file itself is a link, it is not resolved: the set belongs to
/// the folder of the link, and the target may be elsewhere.
pub fn named_path(path: &Path) -> io::Result<PathBuf> {
    let canonical = dunce::canonicalize(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), not_found_message(path)),
        _ => error,
    })?;
    let is_link = fs::symlink_metadata(path)?.is_symlink() && canonical.is_file();
    match (path.file_name(), is_link) {
        (Some(name), true) => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            Ok(dunce::canonicalize(parent.unwrap_or(Path::new(".")))?.join(name))
        }
        _ => Ok(canonical),
    }
}

/// Maximum number of entries of a folder that are searched for a name similar to a missing one.
const MAX_SIMILAR_ENTRIES: usize = 10_000;

/// The error message for a path that does not exist. It suggests an entry with a similar name.
fn not_found_message(path: &Path) -> String {
    let mut missing = path;
    let parent = loop {
        let parent = missing.parent().unwrap_or(Path::new(""));
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        if parent.exists() || parent == missing {
            break parent;
        }
        missing = parent;
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries
        .take(MAX_SIMILAR_ENTRIES)
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    let name = missing.file_name().unwrap_or_default().to_string_lossy();
    if fs::symlink_metadata(missing).is_ok() {
        return "it is a link to something that does not exist".to_string();
    }
    let similar = most_similar(&name, names.iter().map(String::as_str));
    let meant = similar.map(|similar| match parent == Path::new(".") {
        true => similar.to_string(),
        false => parent.join(similar).display().to_string(),
    });
    match meant {
        Some(meant) => format!("there is no such file or folder; did you mean {meant}?"),
        None => "there is no such file or folder".to_string(),
    }
}
