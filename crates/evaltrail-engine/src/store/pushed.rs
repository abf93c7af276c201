//! Runs in object stores. The machine that executes a run uploads its folder while it is written. Objects cannot be
//! appended to, so that the journal is uploaded in parts.
//!
//! ```text
//! <address>/<run id>/run.json, whole_plan.json
//! <address>/<run id>/journal-<offset of its first byte>.jsonl
//! <address>/claims/…                                           which machine executes what
//! ```

use super::app_folders::AppFolders;
use super::bucket_copy::{Copied, copy_folders};
use super::copy_error::CopyError;
use super::copy_update::OnFetched;
use super::evaltrail_folder::EvaltrailFolder;
use super::full_plan::{WHOLE_PLAN, shard_folders};
use super::journal_line::{JOURNAL, keys_of_line};
use super::plan_file::PLAN;
use super::temporary::new_private_in_same_folder;
use crate::buckets::{Bucket, BucketAddress, BucketError};
use evaltrail_core::domain::AttemptKey;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The maximum size of a part, in bytes, unless a line is longer.
const MAX_PART: u64 = 8 << 20;
const PART: &str = "journal-";
const PART_ENDING: &str = ".jsonl";

/// Why the folder of a run could not be uploaded.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The store failed.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The folder cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Uploads the folder of a run while it is written.
#[derive(Debug)]
pub struct RunPush {
    bucket: Bucket,
    folder: PathBuf,
    /// The number of bytes of the journal that were uploaded.
    sent: u64,
    has_plan: bool,
    /// The attempts that were uploaded by a call that failed afterwards.
    unreported: Vec<AttemptKey>,
    attempts: HashSet<AttemptKey>,
    /// The names of the parts.
    parts: Vec<String>,
}

impl RunPush {
    /// Prepares the upload of a run to a folder of runs.
    pub fn new(runs: &Bucket, folder: &Path) -> RunPush {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        RunPush {
            bucket: runs.below(&name),
            folder: folder.to_path_buf(),
            sent: 0,
            has_plan: false,
            unreported: Vec::new(),
            attempts: HashSet::new(),
            parts: Vec::new(),
        }
    }

    /// Uploads what was written since the last time, and returns the attempts that it contains.
    pub fn send(&mut self) -> Result<Vec<AttemptKey>, PushError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| PushError::Folder { path, source }
        };
        let ours = EvaltrailFolder::of_run(&self.folder).map_err(failed(&self.folder))?;
        if !self.has_plan {
            for name in [WHOLE_PLAN, PLAN] {
                let bytes = ours.read(name).map_err(failed(&self.folder))?;
                self.bucket.put(name, bytes)?;
            }
            self.has_plan = true;
        }
        let (mut journal, length) = ours.open_to_read(JOURNAL).map_err(failed(&self.folder))?;
        while self.sent < length {
            let part = self.next_part(&mut journal).map_err(failed(&self.folder))?;
            if part.is_empty() {
                break;
            }
            let next = self.sent + part.len() as u64;
            let keys: Vec<AttemptKey> = part
                .split(|byte| *byte == b'\n')
                .flat_map(keys_of_line)
                .collect();
            let name = format!("{PART}{:016}{PART_ENDING}", self.sent);
            self.bucket.put(&name, part)?;
            self.parts.push(name);
            self.sent = next;
            self.attempts.extend(&keys);
            self.unreported.extend(keys);
        }
        Ok(std::mem::take(&mut self.unreported))
    }

    /// Checks that everything that was uploaded is still there, and uploads it again if not.
    pub fn confirm(&mut self) -> Result<Vec<AttemptKey>, PushError> {
        let there: HashSet<String> = self
            .bucket
            .list()?
            .objects
            .into_iter()
            .map(|object| object.name)
            .collect();
        if [PLAN, WHOLE_PLAN].iter().any(|name| !there.contains(*name))
            || self.parts.iter().any(|part| !there.contains(part))
        {
            (self.sent, self.has_plan) = (0, false);
            self.parts.clear();
        }
        self.send()
    }

    /// The number of attempts that were uploaded.
    pub fn attempts(&self) -> usize {
        self.attempts.len()
    }

    /// The next complete lines of the journal; nothing if there are none.
    fn next_part(&self, journal: &mut File) -> io::Result<Vec<u8>> {
        let mut most = MAX_PART;
        loop {
            journal.seek(SeekFrom::Start(self.sent))?;
            let mut part = Vec::new();
            let read = journal.take(most).read_to_end(&mut part)?;
            match part.iter().rposition(|byte| *byte == b'\n') {
                Some(end) => {
                    part.truncate(end + 1);
                    return Ok(part);
                }
                None if (read as u64) < most => return Ok(Vec::new()),
                None => most *= 2,
            }
        }
    }
}

/// Copies the runs at an address to the cache, or updates the copy: a folder with a folder for each run.
pub fn copy_pushed_runs(
    address: &BucketAddress,
    app_folders: &AppFolders,
    on_fetched: OnFetched,
) -> Result<Copied, CopyError> {
    let copied = copy_folders(address, &["claims", "queue"], app_folders, on_fetched)?;
    let path = &copied.path;
    let told = |source: io::Error| CopyError::Cache {
        path: path.display().to_string(),
        source,
    };
    for folder in shard_folders(path).map_err(told)? {
        join_parts(&folder).map_err(told)?;
    }
    Ok(copied)
}

/// Whether a folder has runs that were uploaded to it, whose journals are in parts.
pub fn has_pushed_runs(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let mut folders = entries.filter_map(Result::ok).map(|entry| entry.path());
    let first = format!("{PART}{:016}{PART_ENDING}", 0);
    let is_in_parts = |run: &Path| run.join(&first).is_file() || !run.join(JOURNAL).exists();
    folders
        .any(|run| run.join(WHOLE_PLAN).is_file() && run.join(PLAN).is_file() && is_in_parts(&run))
}

/// Writes the journal of a copied run from its parts. A part that is missing ends the journal: lines after a gap may belong
/// to a part that was not written completely.
fn join_parts(folder: &Path) -> io::Result<()> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let offset = name
            .strip_prefix(PART)
            .and_then(|rest| rest.strip_suffix(PART_ENDING));
        if let Some(offset) = offset.and_then(|offset| offset.parse::<u64>().ok()) {
            parts.push((offset, entry.metadata()?.len(), entry.path()));
        }
    }
    parts.sort();
    let mut length = 0;
    parts.retain(|(offset, size, _)| {
        let follows = *offset == length;
        length += if follows { *size } else { 0 };
        follows
    });
    let journal = folder.join(JOURNAL);
    // A run that was copied there as a whole has no parts.
    if parts.is_empty() && journal.exists() {
        return Ok(());
    }
    if fs::metadata(&journal).is_ok_and(|meta| meta.len() == length) {
        return Ok(());
    }
    let mut whole = new_private_in_same_folder(folder)?;
    parts
        .iter()
        .try_for_each(|(_, _, part)| io::copy(&mut File::open(part)?, &mut whole).map(drop))?;
    whole.as_file().sync_all()?;
    whole
        .persist(journal)
        .map(drop)
        .map_err(|error| error.error)
}
