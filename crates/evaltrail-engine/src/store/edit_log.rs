//! The log of edits: a line for each edit that is made, undone or redone, and what these lines say about the edits.

#![expect(
    clippy::disallowed_methods,
    reason = "it is part of the only writer of files"
)]

use super::edited_file::LoggedFile;
use super::lock::{SHORT_CHANGE, lock_within};
use super::{AppFolders, read_file, write_whole};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// The size of the log, in bytes, above which its older half is removed at the next edit.
pub(super) const MAX_LOG_BYTES: u64 = 16 << 20;
/// A log that is larger than this, in bytes, is ignored.
const MAX_READ_LOG_BYTES: u64 = 1 << 30;

/// The log of edits.
#[derive(Clone, Debug, Default)]
pub struct EditLog {
    /// `None` if the platform has no directory for it: then edits cannot be undone.
    pub(super) path: Option<PathBuf>,
}

/// An edit as it is stored in the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LoggedEdit {
    pub(super) id: u64,
    pub(super) at: String,
    pub(super) words: String,
    pub(super) files: Vec<LoggedFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EditLogLine {
    Made(LoggedEdit),
    Undone(u64),
    Redone(u64),
    /// The edit was logged, but could not be made.
    Failed(u64),
}

/// The edits that can be undone or redone, oldest first.
#[derive(Default)]
pub(super) struct EditHistory {
    pub(super) edits: Vec<LogRecord>,
    lines: usize,
    pub(super) newest_id: u64,
}

/// An edit with its state according to the log.
pub(super) struct LogRecord {
    pub(super) kept: LoggedEdit,
    pub(super) undone: bool,
    /// The number of the newest line about it.
    pub(super) last_line: usize,
    /// The later edit of the same file that makes a redo impossible.
    dropped_by: Option<u64>,
}

impl EditLog {
    /// The log in the user's data directory.
    pub fn in_folder(app_folders: Option<&AppFolders>) -> EditLog {
        EditLog {
            path: app_folders.map(|app_folders| app_folders.data.join("edits.jsonl")),
        }
    }

    /// Locks the log while an edit is made, undone or redone, so that no other process uses the same id or changes the
    /// same edit.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = private(OpenOptions::new().create(true).read(true).append(true))
            .open(path.with_extension("lock"))?;
        // If files cannot be locked, the comparison of the texts still detects other changes.
        lock_within(&file, SHORT_CHANGE, "making an edit")?;
        Ok(Some(file))
    }

    pub(super) fn append(&self, line: &EditLogLine) -> io::Result<()> {
        let nowhere = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                "this platform defines no data folder",
            )
        };
        let path = self.path.as_ref().ok_or_else(nowhere)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = private(OpenOptions::new().create(true).append(true)).open(path)?;
        // An incomplete line that a crash left must not damage this one.
        let length = file.metadata()?.len();
        let torn = length > 0
            && !read_file(path, MAX_READ_LOG_BYTES).is_ok_and(|bytes| bytes.ends_with(b"\n"));
        let text = format!(
            "{}{}\n",
            if torn { "\n" } else { "" },
            serde_json::to_string(line)?
        );
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }

    pub(super) fn history(&self) -> EditHistory {
        let Some(path) = &self.path else {
            return EditHistory::default();
        };
        // An incomplete line that a crash left may end within a character; it is ignored.
        let mut text =
            String::from_utf8_lossy(&read_file(path, MAX_READ_LOG_BYTES).unwrap_or_default())
                .into_owned();
        if text.len() as u64 > MAX_LOG_BYTES {
            let half = text.ceil_char_boundary(text.len() / 2);
            let line = text[half..]
                .find('\n')
                .map_or(text.len(), |at| half + at + 1);
            // The newest edit is retained, however large it is.
            if line < text.len() {
                text.drain(..line);
                let _ = write_whole(path, text.as_bytes());
            }
        }
        let mut history = EditHistory::default();
        for line in text
            .lines()
            .filter_map(|line| serde_json::from_str::<EditLogLine>(line).ok())
        {
            history.take(line);
        }
        history.edits.retain(|logged| logged.dropped_by.is_none());
        history
    }
}

/// Makes a new file readable only by its owner, because the log contains the texts of files.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

impl EditHistory {
    fn take(&mut self, line: EditLogLine) {
        self.lines += 1;
        match line {
            EditLogLine::Made(made) => {
                self.newest_id = self.newest_id.max(made.id);
                // Undone edits of these files cannot be redone after this one.
                let touched = |kept: &LoggedEdit| {
                    kept.files
                        .iter()
                        .any(|file| made.files.iter().any(|new| new.path == file.path))
                };
                for logged in self
                    .edits
                    .iter_mut()
                    .filter(|logged| logged.undone && touched(&logged.kept))
                {
                    logged.dropped_by.get_or_insert(made.id);
                }
                self.edits.push(LogRecord {
                    kept: made,
                    undone: false,
                    last_line: self.lines,
                    dropped_by: None,
                });
            }
            EditLogLine::Undone(id) => self.mark(id, true),
            EditLogLine::Redone(id) => self.mark(id, false),
            EditLogLine::Failed(id) => {
                self.edits.retain(|logged| logged.kept.id != id);
                for logged in self
                    .edits
                    .iter_mut()
                    .filter(|logged| logged.dropped_by == Some(id))
                {
                    logged.dropped_by = None;
                }
            }
        }
    }

    fn mark(&mut self, id: u64, undone: bool) {
        if let Some(found) = self.edits.iter_mut().find(|logged| logged.kept.id == id) {
            (found.undone, found.last_line) = (undone, self.lines);
        }
    }
}
