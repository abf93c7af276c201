//! Whether the files of an agent are those of another run: a hash of its code, settings and prompts.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads files only to compare them"
)]

use super::changed::{is_searched, is_source};
use crate::config::FILE_NAME;
use evaltrail_core::formats::is_own_result;
use std::fs;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Maximum depth of folders below the agent's folder.
const DEPTH: usize = 6;
/// Maximum number of files and folders.
const MAX_ENTRIES: usize = 2_000;
/// The name of the file with the baseline.
const BASELINE: &str = "evaltrail-baseline.json";
/// The number of bytes by which a file that evaltrail wrote is recognised.
const HEAD: usize = 4096;
/// Maximum size of all files, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// A hash of the names and contents of the source files below a folder; equal for equal files. `None` if there is none, if one
/// cannot be read, and if there are too many to be read before each run. Links are not followed.
pub fn agent_files_hash(folder: &Path) -> Option<String> {
    let mut files = Vec::new();
    find(folder, DEPTH, &mut MAX_ENTRIES.clone(), &mut files)?;
    files.sort();
    let mut hasher = Xxh3::new();
    let (mut left, mut has_any) = (MAX_BYTES, false);
    for file in &files {
        left = left.checked_sub(fs::metadata(file).ok()?.len())?;
        let below = file.strip_prefix(folder).ok()?;
        let name = below.to_string_lossy().replace('\\', "/");
        let bytes = fs::read(file).ok()?;
        // Reports and recordings that evaltrail wrote are no part of the agent.
        let start = &bytes[..bytes.len().min(HEAD)];
        if is_own_result(start, || bytes[bytes.len().saturating_sub(HEAD)..].to_vec()) {
            continue;
        }
        has_any = true;
        // With its length, so that the end of one text is not taken for the begin of the next one.
        for part in [name.as_bytes(), &bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    has_any.then(|| format!("{:032x}", hasher.digest128()))
}

/// Whether a file configures evaltrail, or is the baseline, by its name.
fn is_of_evaltrail(name: &str) -> bool {
    name == FILE_NAME || name == BASELINE
}

/// Adds the source files below a folder. `None` if there are more entries than `left`, or if a folder cannot be listed.
fn find(folder: &Path, depth: usize, left: &mut usize, files: &mut Vec<PathBuf>) -> Option<()> {
    for entry in fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_searched(&name) {
            continue;
        }
        *left = left.checked_sub(1)?;
        let kind = entry.file_type().ok()?;
        if kind.is_dir() && depth > 0 {
            find(&entry.path(), depth - 1, left, files)?;
        } else if kind.is_file() && is_source(&name) && !is_of_evaltrail(&name) {
            files.push(entry.path());
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_of_names_and_contents_of_sources() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(agent_files_hash(folder.path()), None);
        write("agent.py", "a");
        write("prompts/base.md", "b");
        let first = agent_files_hash(folder.path()).unwrap();
        write("a.evalset.json", "{}");
        write(".adk/session.db", "x");
        write("agent.log", "x");
        write("evaltrail.toml", "[run]");
        write("evaltrail-baseline.json", "{}");
        write("report.md", "## Agent evaluation\n\nx");
        assert_eq!(agent_files_hash(folder.path()), Some(first.clone()));
        write("prompts/base.md", "c");
        let second = agent_files_hash(folder.path()).unwrap();
        assert_ne!(first, second);
        write("prompts/base.md", "b");
        assert_eq!(agent_files_hash(folder.path()), Some(first.clone()));
        fs::rename(folder.path().join("agent.py"), folder.path().join("b.py")).unwrap();
        assert_ne!(agent_files_hash(folder.path()), Some(first));
    }
}
