//! Edits of a workspace's files, with undo and redo. Both work after a restart, as long as the file was not changed by
//! another program.
//!
//! ```text
//! make ──▶ a line in the log ──▶ each file is replaced (or created, or deleted)
//! undo ──▶ the newest edit of the file that is not undone ──▶ a line in the log ──▶ the change is reversed
//! ```
//!
//! There is a single log, outside of any workspace. So a folder from elsewhere cannot contain edits that would be
//! undone, and the last edit does not depend on the folder that was opened.

use super::edit_log::{EditLog, EditLogLine, LogRecord, LoggedEdit};
use super::edited_file::{
    FileEdit, LoggedFile, change_file, is_as_left, logged_file, real, texts_of,
};
use super::save_error::SaveError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why an edit was not made. No file was changed, except those in `left`.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}{}", path.display(), left_text(left))]
pub struct FileEditError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub why: SaveError,
    /// Files that were already changed and could not be restored.
    pub left: Vec<PathBuf>,
}

fn left_text(left: &[PathBuf]) -> String {
    let names: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "; already written, and could not be restored: {}",
            names.join(", ")
        ),
    }
}

/// Why an edit was not undone or redone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is no such edit.
    #[error("there is nothing to {0} here")]
    Nothing(&'static str),
    /// The file was changed after the edit.
    #[error("{0} was changed by another program, so the edit \"{1}\" cannot be undone or redone")]
    Moved(String, String),
    /// It could not be written.
    #[error(transparent)]
    Failed(#[from] FileEditError),
}

/// The outcome of an edit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EditOutcome {
    /// A description of the edit.
    pub words: String,
    /// A note for the user, such as that the disk could not be synced.
    pub note: Option<String>,
    /// The files with their new texts; `None` for a deleted one.
    pub written: Vec<(PathBuf, Option<Arc<str>>)>,
}

/// An edit that can be undone or redone.
#[derive(Clone, Debug, PartialEq)]
pub struct ReversibleEdit {
    /// Identifies it in the log.
    pub id: u64,
    /// A description of the edit.
    pub words: String,
    /// When it was made; `None` if the log does not contain a valid time.
    pub made: Option<jiff::Timestamp>,
    /// Its files, absolute, with links in their folders resolved.
    pub files: Vec<PathBuf>,
}

impl ReversibleEdit {
    /// Whether any of these files is one of its files.
    pub fn concerns(&self, files: &[PathBuf]) -> bool {
        files.iter().any(|file| self.files.contains(&real(file)))
    }
}

/// Which edits to consider.
#[derive(Clone, Debug)]
pub enum Scope {
    /// The edits of these files.
    Files(Vec<PathBuf>),
    /// The edits of all files below a folder.
    Folder(PathBuf),
}

impl Scope {
    /// The edits of these files.
    pub fn files(files: &[PathBuf]) -> Scope {
        Scope::Files(files.iter().map(|file| real(file)).collect())
    }

    /// The edits of all files below a folder.
    pub fn folder(folder: &Path) -> Scope {
        Scope::Folder(real(folder))
    }

    fn holds(&self, kept: &LoggedEdit) -> bool {
        kept.files.iter().any(|file| match self {
            Scope::Files(files) => files.contains(&file.path),
            Scope::Folder(folder) => file.path.starts_with(folder),
        })
    }
}

/// Whether an edit is taken back or made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversal {
    /// The newest edit that was not undone is taken back.
    Undo,
    /// The edit that was undone last is made again.
    Redo,
}

impl Reversal {
    /// The verb, for messages.
    pub fn verb(self) -> &'static str {
        match self {
            Reversal::Undo => "undo",
            Reversal::Redo => "redo",
        }
    }
}

impl EditLog {
    /// Makes an edit: of all files, or of none. It is logged before the first file is written, so that an edit that was
    /// interrupted by a kill can be undone as well.
    pub fn make(
        &self,
        within: Option<&Path>,
        words: &str,
        jobs: &[FileEdit],
    ) -> Result<EditOutcome, FileEditError> {
        let lock = self.lock();
        let files: Vec<LoggedFile> = jobs.iter().map(logged_file).collect();
        let id = self.history().newest_id + 1;
        let at = jiff::Timestamp::now().to_string();
        let kept = LoggedEdit {
            id,
            at,
            words: words.to_string(),
            files,
        };
        let logged =
            lock.and_then(|lock| self.append(&EditLogLine::Made(kept.clone())).map(|()| lock));
        let mut notes = Vec::new();
        for (at, file) in kept.files.iter().enumerate() {
            match change_file(within, file, false) {
                Ok(note) => notes.extend(note),
                Err(why) => {
                    let left = change_files(within, &kept.files[..at], true);
                    if left.is_empty() {
                        // If this fails as well, the texts of the files show that the edit was not made.
                        let _ = self.append(&EditLogLine::Failed(id));
                    }
                    return Err(FileEditError {
                        path: jobs[at].path.clone(),
                        why,
                        left,
                    });
                }
            }
        }
        if let Err(error) = logged {
            notes.push(format!("saved, but not recorded for undo: {error}"));
        }
        let written = texts_of(jobs.iter().map(|job| job.path.clone()));
        Ok(EditOutcome {
            words: words.to_string(),
            note: notes.into_iter().next(),
            written,
        })
    }

    /// Undoes the newest edit of any of these files.
    pub fn undo(&self, within: Option<&Path>, files: &[PathBuf]) -> Result<EditOutcome, UndoError> {
        self.undo_or_redo(&Scope::files(files), within, Reversal::Undo)
    }

    /// Redoes the edit that was undone last.
    pub fn redo(&self, within: Option<&Path>, files: &[PathBuf]) -> Result<EditOutcome, UndoError> {
        self.undo_or_redo(&Scope::files(files), within, Reversal::Redo)
    }

    /// The edit that [`EditLog::undo_or_redo`] would undo or redo now, if there is one.
    pub fn next_edit(&self, scope: &Scope, reversal: Reversal) -> Option<ReversibleEdit> {
        let _lock = self.lock();
        let mut edits = self.history().edits;
        correct_newest(&mut edits, scope);
        let kept = &next_edit(&edits, scope, reversal)?.kept;
        Some(ReversibleEdit {
            id: kept.id,
            words: kept.words.clone(),
            made: kept.at.parse().ok(),
            files: kept.files.iter().map(|file| file.path.clone()).collect(),
        })
    }

    /// Undoes the newest edit of a scope, or redoes the one that was undone last.
    pub fn undo_or_redo(
        &self,
        scope: &Scope,
        within: Option<&Path>,
        reversal: Reversal,
    ) -> Result<EditOutcome, UndoError> {
        let _lock = self.lock();
        let mut edits = self.history().edits;
        if let Some(correction) = correct_newest(&mut edits, scope) {
            // If this fails, the next undo or redo finds the same correction.
            let _ = self.append(&correction);
        }
        let Some(LogRecord { kept, .. }) = next_edit(&edits, scope, reversal) else {
            return Err(UndoError::Nothing(reversal.verb()));
        };
        let back = reversal == Reversal::Undo;
        let is_known = |file: &LoggedFile| is_as_left(file, back) || is_as_left(file, !back);
        if let Some(other) = kept.files.iter().find(|file| !is_known(file)) {
            return Err(UndoError::Moved(
                other.path.display().to_string(),
                kept.words.clone(),
            ));
        }
        // Files that were already changed before a kill stay as they are.
        let to_change: Vec<&LoggedFile> = kept
            .files
            .iter()
            .filter(|file| is_as_left(file, back))
            .collect();
        let logged = self.append(&if back {
            EditLogLine::Undone(kept.id)
        } else {
            EditLogLine::Redone(kept.id)
        });
        let mut notes = Vec::new();
        for (at, one) in to_change.iter().enumerate() {
            match change_file(within, one, back) {
                Ok(note) => notes.extend(note),
                Err(why) => {
                    let left = change_files(within, to_change[..at].iter().copied(), !back);
                    let _ = self.append(&if back {
                        EditLogLine::Redone(kept.id)
                    } else {
                        EditLogLine::Undone(kept.id)
                    });
                    return Err(FileEditError {
                        path: one.path.clone(),
                        why,
                        left,
                    }
                    .into());
                }
            }
        }
        if let Err(error) = logged {
            notes.push(format!(
                "done, but not recorded in the log of edits: {error}"
            ));
        }
        let written = texts_of(kept.files.iter().map(|file| file.path.clone()));
        Ok(EditOutcome {
            words: kept.words.clone(),
            note: notes.into_iter().next(),
            written,
        })
    }
}

/// The newest edit that was not undone, or the oldest one that was.
fn next_edit<'a>(
    edits: &'a [LogRecord],
    scope: &Scope,
    reversal: Reversal,
) -> Option<&'a LogRecord> {
    let was_undone = reversal == Reversal::Redo;
    let is_meant = |logged: &&LogRecord| logged.undone == was_undone && scope.holds(&logged.kept);
    match was_undone {
        false => edits.iter().rev().find(is_meant),
        true => edits.iter().find(is_meant),
    }
}

/// Undoes (`back`) or redoes the changes of files, the last one first. Returns those that failed.
fn change_files<'a>(
    within: Option<&Path>,
    files: impl IntoIterator<Item = &'a LoggedFile, IntoIter: DoubleEndedIterator>,
    back: bool,
) -> Vec<PathBuf> {
    let files = files.into_iter().rev();
    files
        .filter(|file| change_file(within, file, back).is_err())
        .map(|file| file.path.clone())
        .collect()
}

/// Corrects the state of the edit that was made, undone or redone last: after a kill between writing the log and the
/// files, the texts of the files decide. Returns the line to log.
fn correct_newest(edits: &mut [LogRecord], scope: &Scope) -> Option<EditLogLine> {
    let of_scope = edits.iter_mut().filter(|logged| scope.holds(&logged.kept));
    let newest = of_scope.max_by_key(|logged| logged.last_line)?;
    // A file that the edit did not change is not evidence.
    let files: Vec<&LoggedFile> = newest
        .kept
        .files
        .iter()
        .filter(|file| file.before != file.after)
        .collect();
    let is_made = |file: &&LoggedFile| is_as_left(file, true);
    let is_not_made = |file: &&LoggedFile| is_as_left(file, false);
    let is_known = |file: &&LoggedFile| is_made(file) || is_not_made(file);
    let undone = match newest.undone {
        _ if files.is_empty() => newest.undone,
        true => !(files.iter().any(is_made) && files.iter().all(is_known)),
        false => files.iter().all(is_not_made),
    };
    if undone == newest.undone {
        return None;
    }
    newest.undone = undone;
    Some(if undone {
        EditLogLine::Undone(newest.kept.id)
    } else {
        EditLogLine::Redone(newest.kept.id)
    })
}

#[cfg(test)]
mod tests;
