//! A cache of the responses of judges: one file for each response, named by the digest of the request. The file `codes`
//! contains the secret of the codes in the requests.
//!
//! The files are in 256 subfolders by the first two digits of their names, so each subfolder gets the same share. Its
//! size is checked once for every [`CHECK_EVERY`] bytes that are added to it, on average. Above [`SUBFOLDER_LIMIT`],
//! responses are removed in pseudo-random order, regardless of when they were last used: a run requests its responses in the same
//! order each time, so if they do not all fit, each would be the least recently used one just before it is needed.

#![expect(clippy::disallowed_methods, reason = "it reads what evaltrail wrote")]

use super::secret_file::stored_secret;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Size in bytes on disk above which responses are removed from one of the 256 subfolders: 256 MB in all, which are
/// 65,536 responses of the usual size.
const SUBFOLDER_LIMIT: u64 = 1 << 20;
/// The average number of bytes that are added to a subfolder between two checks of its size.
const CHECK_EVERY: u64 = 16 * BLOCK;
/// Size in bytes to which a subfolder above the limit is reduced.
const SIZE_AFTER_CHECK: u64 = SUBFOLDER_LIMIT - CHECK_EVERY;
/// What a file takes at least on a disk, in bytes.
const BLOCK: u64 = 4096;
const CODES: &str = "codes";

/// The cache of the responses of judges.
#[derive(Clone, Debug)]
pub struct JudgeResponseCache {
    folder: PathBuf,
}

/// A cached response, with the tokens that it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedResponse {
    /// The response as it was received.
    pub text: String,
    /// Input tokens.
    #[serde(default)]
    pub input_tokens: u64,
    /// Output tokens.
    #[serde(default)]
    pub output_tokens: u64,
}

impl JudgeResponseCache {
    /// The cache in a folder, which need not exist yet.
    pub fn below(folder: PathBuf) -> JudgeResponseCache {
        JudgeResponseCache { folder }
    }

    /// The secret of the codes in the requests, created on first use. It is part of the cache, because the cached
    /// responses contain the codes.
    pub fn code_key(&self) -> io::Result<[u8; 32]> {
        let named = |error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("{}: {error}", self.folder.join(CODES).display()),
            )
        };
        stored_secret(&self.folder, CODES).map_err(named)
    }

    fn path(&self, digest: &str) -> PathBuf {
        let (subfolder, name) = digest.split_at(digest.len().min(2));
        self.folder.join(subfolder).join(name)
    }

    /// The cached response, if there is one that can be read.
    pub fn get(&self, digest: &str) -> Option<CachedResponse> {
        serde_json::from_slice(&fs::read(self.path(digest)).ok()?).ok()
    }

    /// Stores a response. Now and then, it removes others if there are too many. A response that is larger than a
    /// subfolder may be is not stored.
    pub fn put(&self, digest: &str, answer: &CachedResponse) -> io::Result<()> {
        let path = self.path(digest);
        let bytes = serde_json::to_vec(answer)?;
        let size = size_on_disk(bytes.len() as u64);
        if size > SIZE_AFTER_CHECK {
            return Ok(());
        }
        let subfolder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(subfolder)?;
        // Not synced: a response that is lost in a power failure is requested again.
        let mut file = tempfile::NamedTempFile::new_in(subfolder)?;
        file.write_all(&bytes)?;
        file.persist(&path).map_err(|error| error.error)?;
        match pseudo_random(&[digest]) % (CHECK_EVERY / BLOCK) < size / BLOCK {
            true => reduce(subfolder, digest, &path),
            false => Ok(()),
        }
    }

    /// Removes all responses, and returns their number.
    pub fn clear(&self) -> io::Result<usize> {
        let subfolders = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            subfolders => subfolders?,
        };
        let mut count = 0;
        for subfolder in subfolders {
            let subfolder = subfolder?;
            if subfolder.file_type()?.is_dir() {
                count += fs::read_dir(subfolder.path())?.count();
            }
        }
        fs::remove_dir_all(&self.folder)?;
        Ok(count)
    }
}

fn size_on_disk(length: u64) -> u64 {
    length.next_multiple_of(BLOCK)
}

/// A number that depends on these texts only, and is evenly distributed.
fn pseudo_random(texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}

/// Whether a name is that of a file which is renamed when it is complete.
fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a file was changed within the last hour. If that is not known, it may have been.
fn is_new(file: &fs::Metadata) -> bool {
    const OLD: Duration = Duration::from_secs(3600);
    let age = file.modified().ok().and_then(|at| at.elapsed().ok());
    age.is_none_or(|age| age < OLD)
}

/// Removes files of a subfolder above the limit, except `added`, until it has at most [`SIZE_AFTER_CHECK`] bytes. The
/// digest of the added response decides which.
fn reduce(subfolder: &Path, digest: &str, added: &Path) -> io::Result<()> {
    let mut files: Vec<(u64, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(subfolder)? {
        let entry = entry?;
        let name = entry.file_name();
        let order = pseudo_random(&[digest, &name.to_string_lossy()]);
        match entry.metadata() {
            // Another process may be writing it.
            Ok(file) if is_temporary(&name) && is_new(&file) => {}
            Ok(file) => files.push((order, size_on_disk(file.len()), entry.path())),
            // Removed by another process.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let mut left: u64 = files.iter().map(|(_, size, _)| size).sum();
    if left <= SUBFOLDER_LIMIT {
        return Ok(());
    }
    files.sort_unstable();
    for (_, size, path) in files.into_iter().filter(|(_, _, path)| path != added) {
        if left <= SIZE_AFTER_CHECK {
            break;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => left -= size,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_being_written_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (writing, left, added) = (
            folder.path().join(".tmp1"),
            folder.path().join(".tmp2"),
            folder.path().join("added"),
        );
        for path in [&writing, &left, &added] {
            let file = fs::File::create(path).unwrap();
            file.set_len(SUBFOLDER_LIMIT).unwrap();
        }
        let old = std::time::SystemTime::now() - Duration::from_secs(7200);
        fs::File::options()
            .write(true)
            .open(&left)
            .unwrap()
            .set_modified(old)
            .unwrap();
        reduce(folder.path(), "d", &added).unwrap();
        assert_eq!(
            (writing.exists(), left.exists(), added.exists()),
            (true, false, true)
        );
    }

    fn response(text: &str) -> CachedResponse {
        CachedResponse {
            text: text.into(),
            input_tokens: 3,
            output_tokens: 1,
        }
    }

    #[test]
    fn answers_are_found_again_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let answers = JudgeResponseCache::below(folder.path().join("judge"));
        let key = answers.code_key().unwrap();
        assert_eq!(answers.code_key().unwrap(), key, "the key is stored");
        assert_eq!(answers.get("abcd"), None);
        answers.put("abcd", &response("yes")).unwrap();
        assert_eq!(answers.get("abcd"), Some(response("yes")));
        fs::write(folder.path().join("judge/ab/cd"), "torn").unwrap();
        assert_eq!(answers.get("abcd"), None);
        assert_eq!((answers.clear().unwrap(), answers.clear().unwrap()), (1, 0));
        assert_ne!(
            answers.code_key().unwrap(),
            key,
            "the key is forgotten with the responses"
        );
    }

    /// The number of files in a subfolder.
    fn count(folder: &Path, subfolder: &str) -> usize {
        fs::read_dir(folder.join(subfolder)).unwrap().count()
    }

    #[test]
    fn overfull_cache_has_hits_in_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let answers = JudgeResponseCache::below(folder.path().to_path_buf());
        let most = (SUBFOLDER_LIMIT / BLOCK) as usize;
        answers
            .put("cd0000", &response("in another subfolder"))
            .unwrap();
        let run = |responses: usize| {
            let is_found = |at: &usize| {
                let digest = format!("ab{at:04}");
                let found = answers.get(&digest).is_some();
                if !found {
                    answers.put(&digest, &response("yes")).unwrap();
                }
                found
            };
            (0..responses).filter(is_found).count()
        };
        assert_eq!((run(most), run(most)), (0, most), "all of them fit");
        let all = most * 3 / 2;
        assert_eq!(run(all), most, "the others are new");
        for _ in 0..3 {
            let found = run(all);
            assert!(found > all / 4, "{found} of {all}");
            // The size is checked for one in sixteen, so the limit can be exceeded by several times that.
            assert!(
                count(folder.path(), "ab") < most + 100,
                "{}",
                count(folder.path(), "ab")
            );
        }
        assert!(answers.get("cd0000").is_some());
    }

    #[test]
    fn a_large_response_replaces_several() {
        let folder = tempfile::tempdir().unwrap();
        let answers = JudgeResponseCache::below(folder.path().to_path_buf());
        let most = (SUBFOLDER_LIMIT / BLOCK) as usize;
        for at in 0..most {
            answers
                .put(&format!("ab{at:04}"), &response("yes"))
                .unwrap();
        }
        // Large enough that the size is checked.
        let large = CHECK_EVERY as usize;
        answers
            .put("ab_large", &response(&"x".repeat(large)))
            .unwrap();
        assert!(answers.get("ab_large").is_some());
        let blocks_of_large = large / BLOCK as usize + 1;
        let left = (SIZE_AFTER_CHECK / BLOCK) as usize - blocks_of_large + 1;
        assert_eq!(count(folder.path(), "ab"), left);
        // One that never fits removes none.
        answers
            .put("ab_huge", &response(&"x".repeat(SUBFOLDER_LIMIT as usize)))
            .unwrap();
        assert!(answers.get("ab_huge").is_none());
        assert_eq!(count(folder.path(), "ab"), left);
    }
}
