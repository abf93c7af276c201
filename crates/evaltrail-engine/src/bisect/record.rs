//! What is known of a search so far, in a file, so that it can continue after an interruption.

use super::git::{GitRepository, Worktrees};
use crate::store::{
    AppFolders, fingerprint, make_private_folder, read_file, try_lock_at, write_whole,
};
use evaltrail_core::analysis::PassCount;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// How long the files of an interrupted search are kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The name of the file with what is known.
const RECORD: &str = "search.json";
/// The name of the file that is locked while a search goes on.
const LOCK: &str = "lock";

/// Where the files of a search are: below the cache of the user, readable by nobody else. Locked until it is dropped.
#[derive(Debug)]
pub struct SearchFolder {
    path: PathBuf,
    _lock: File,
}

impl SearchFolder {
    /// The folder of a search. Searches with equal parts have the same one, so that one continues the other. Errors: there is
    /// no home folder, it cannot be created, or the same search goes on.
    pub fn create(parts: &[&str]) -> io::Result<SearchFolder> {
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        let name = fingerprint(&parts);
        let path = searches()?.join(&name[..16]);
        make_private_folder(&path.join(WORKTREES))?;
        match try_lock_at(&path.join(LOCK))? {
            Some(lock) => Ok(SearchFolder { path, _lock: lock }),
            None => Err(io::Error::other("the same search is going on")),
        }
    }

    /// The folder of the worktrees.
    pub fn worktrees(&self) -> PathBuf {
        self.path.join(WORKTREES)
    }

    /// The file with what is known.
    pub fn file(&self) -> PathBuf {
        self.path.join(RECORD)
    }

    /// Removes the folder with everything in it.
    pub fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The name of the folder of the worktrees.
const WORKTREES: &str = "worktrees";

/// The folder of all searches.
fn searches() -> io::Result<PathBuf> {
    let folders = AppFolders::find();
    let folders = folders.ok_or_else(|| io::Error::other("there is no home folder"))?;
    Ok(folders.cache.join("bisect"))
}

/// Removes the worktrees and files of searches that were interrupted long ago.
pub async fn remove_old_searches(repository: &GitRepository) {
    let entries = searches().and_then(std::fs::read_dir);
    for folder in entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        let changed = std::fs::metadata(folder.join(LOCK)).and_then(|file| file.modified());
        let is_old = changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT));
        if !is_old {
            continue;
        }
        if let Ok(Some(_lock)) = try_lock_at(&folder.join(LOCK)) {
            Worktrees::new(repository.clone(), folder.join(WORKTREES))
                .remove()
                .await;
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

/// What is known of the code of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateRecord {
    /// The attempts by case: how many passed, and how many there are.
    pub attempts: Vec<(usize, usize)>,
    /// Why the cases cannot be run, if they cannot.
    pub skipped: Option<String>,
}

impl StateRecord {
    /// The attempts by case.
    pub fn counts(&self) -> impl Iterator<Item = PassCount> {
        let counts = self.attempts.iter();
        counts.map(|(passed, of)| PassCount {
            passed: *passed,
            of: *of,
        })
    }

    /// Adds attempts, by case.
    pub fn add(&mut self, counts: &[PassCount]) {
        self.attempts.resize(counts.len(), (0, 0));
        for (sum, count) in self.attempts.iter_mut().zip(counts) {
            sum.0 += count.passed;
            sum.1 += count.of;
        }
    }
}

/// What is known of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// By the id of the commit that was run.
    pub states: BTreeMap<String, StateRecord>,
    /// Whether errors of the agent are what is searched: at the bad end, it did not start or each attempt errored. Else code with
    /// which that is so cannot be run. `None` until the bad end was run.
    pub searches_errors: Option<bool>,
}

/// The file of a search.
#[derive(Debug)]
pub struct BisectionFile {
    path: PathBuf,
    /// What is known.
    pub record: SearchRecord,
}

impl BisectionFile {
    /// Reads the file of an interrupted search, or begins one. Errors: the file cannot be read.
    pub fn open(path: PathBuf) -> io::Result<BisectionFile> {
        let record = match read_file(&path, MAX_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => SearchRecord::default(),
            Err(error) => return Err(error),
        };
        Ok(BisectionFile { path, record })
    }

    /// Adds what is known of a commit, and stores it.
    pub fn add(&mut self, commit: &str, counts: &[PassCount]) -> io::Result<()> {
        self.state(commit).add(counts);
        self.store()
    }

    /// Notes that the cases cannot be run with the code of a commit, and stores it.
    pub fn skip(&mut self, commit: &str, why: String) -> io::Result<()> {
        self.state(commit).skipped = Some(why);
        self.store()
    }

    fn state(&mut self, commit: &str) -> &mut StateRecord {
        self.record.states.entry(commit.to_string()).or_default()
    }

    fn store(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.record).map_err(io::Error::other)?;
        write_whole(&self.path, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_there_after_an_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search.json");
        let mut file = BisectionFile::open(path.clone()).unwrap();
        let count = |passed, of| PassCount { passed, of };
        file.add("aa", &[count(1, 2), count(0, 2)]).unwrap();
        file.add("aa", &[count(2, 2), count(1, 2)]).unwrap();
        file.skip("bb", "it does not start".into()).unwrap();
        let again = BisectionFile::open(path.clone()).unwrap();
        assert_eq!(again.record, file.record);
        let counts: Vec<PassCount> = again.record.states["aa"].counts().collect();
        assert_eq!(counts, [count(3, 4), count(1, 4)]);
        std::fs::remove_file(&path).unwrap();
        let empty = BisectionFile::open(path).unwrap().record;
        assert_eq!(empty, SearchRecord::default());
    }
}
