//! The folder of a file that is written.

use std::path::Path;

/// The folder of a file; the current one for a name alone.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
