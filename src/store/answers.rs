//! A cache of the responses of judges: one file for each response, named by the digest of the request.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// The cache of the responses of judges.
#[derive(Clone, Debug)]
pub struct Answers {
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

impl Answers {
    /// The cache in a folder, which need not exist yet.
    pub fn below(folder: PathBuf) -> Answers {
        Answers { folder }
    }

    fn path(&self, digest: &str) -> PathBuf {
        let (shelf, name) = digest.split_at(digest.len().min(2));
        self.folder.join(shelf).join(name)
    }

    /// The cached response, if there is one that can be read.
    pub fn get(&self, digest: &str) -> Option<CachedResponse> {
        serde_json::from_slice(&fs::read(self.path(digest)).ok()?).ok()
    }

    /// Stores a response.
    pub fn put(&self, digest: &str, answer: &CachedResponse) -> io::Result<()> {
        let path = self.path(digest);
        if let Some(shelf) = path.parent() {
            fs::create_dir_all(shelf)?;
        }
        let shelf = path.parent().unwrap_or(&self.folder);
        // Not synced: a response that is lost in a power failure is requested again.
        let mut file = tempfile::NamedTempFile::new_in(shelf)?;
        file.write_all(&serde_json::to_vec(answer)?)?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes all responses, and returns their number.
    pub fn clear(&self) -> io::Result<usize> {
        let shelves = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            shelves => shelves?,
        };
        let mut count = 0;
        for shelf in shelves {
            count += fs::read_dir(shelf?.path())?.count();
        }
        fs::remove_dir_all(&self.folder)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_again_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::below(folder.path().join("judge"));
        let kept = CachedResponse { text: "yes".into(), input_tokens: 3, output_tokens: 1 };
        assert_eq!(answers.get("abcd"), None);
        answers.put("abcd", &kept).unwrap();
        assert_eq!(answers.get("abcd"), Some(kept));
        fs::write(folder.path().join("judge/ab/cd"), "torn").unwrap();
        assert_eq!(answers.get("abcd"), None);
        assert_eq!((answers.clear().unwrap(), answers.clear().unwrap()), (1, 0));
    }
}
