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

#![expect(
    clippy::disallowed_methods,
    reason = "it is part of the only writer of files"
)]

use super::AppFolders;
use super::lock::{SHORT_CHANGE, lock_within};
use super::save::{Replace, SaveError, create, remove, replace};
use super::{read_file, read_text_file};
use evaltrail_core::formats::json::TextChange;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// The size of the log, in bytes, above which its older half is removed at the next edit.
const MAX_LOG_BYTES: u64 = 16 << 20;
/// A log that is larger than this, in bytes, is ignored.
const MAX_READ_LOG_BYTES: u64 = 1 << 30;
/// The maximum size of a file that is edited, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// An action on one file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileEdit {
    /// The file.
    pub path: PathBuf,
    /// The action.
    pub action: FileAction,
}

/// What to do with a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FileAction {
    /// Change the text that was read.
    Change(Arc<str>, TextChange),
    /// Create a file with this text.
    Create(String),
    /// Delete the file, if it has this text.
    Delete(Arc<str>),
}

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

/// The log of edits.
#[derive(Clone, Debug, Default)]
pub struct EditLog {
    /// `None` if the platform has no directory for it: then edits cannot be undone.
    path: Option<PathBuf>,
}

/// An edit as it is stored in the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LoggedEdit {
    id: u64,
    at: String,
    words: String,
    files: Vec<LoggedFile>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct LoggedFile {
    /// Absolute, with the links in its folders resolved.
    path: PathBuf,
    /// Hash of the file before the edit; `None` if it did not exist.
    before: Option<String>,
    after: Option<String>,
    /// The change from the text before the edit (empty if there was no file) to the text after it.
    change: TextChange,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EditLogLine {
    Made(LoggedEdit),
    Undone(u64),
    Redone(u64),
    /// The edit was logged, but could not be made.
    Failed(u64),
}

/// The edits that can be undone or redone, oldest first.
#[derive(Default)]
struct EditHistory {
    edits: Vec<LogRecord>,
    lines: usize,
    newest_id: u64,
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

/// An edit with its state according to the log.
struct LogRecord {
    kept: LoggedEdit,
    undone: bool,
    /// The number of the newest line about it.
    last_line: usize,
    /// The later edit of the same file that makes a redo impossible.
    dropped_by: Option<u64>,
}

impl EditLog {
    /// The log in the user's data directory.
    pub fn in_folder(places: Option<&AppFolders>) -> EditLog {
        EditLog {
            path: places.map(|places| places.data.join("edits.jsonl")),
        }
    }

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
            match write(within, file, false) {
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
            match write(within, one, back) {
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

    /// Locks the log while an edit is made, undone or redone, so that no other process uses the same id or changes the
    /// same edit.
    fn lock(&self) -> io::Result<Option<File>> {
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

    fn append(&self, line: &EditLogLine) -> io::Result<()> {
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

    fn history(&self) -> EditHistory {
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
                let _ = super::write_whole(path, text.as_bytes());
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

/// The current texts of files.
fn texts_of(paths: impl Iterator<Item = PathBuf>) -> Vec<(PathBuf, Option<Arc<str>>)> {
    paths
        .map(|path| {
            (
                path.clone(),
                read_text_file(&path, MAX_FILE_BYTES).ok().map(Arc::from),
            )
        })
        .collect()
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
        .filter(|file| write(within, file, back).is_err())
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

fn hash(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// A path with links resolved. If it is a file, the file itself is not resolved.
fn real(path: &Path) -> PathBuf {
    let canonical = |path: &Path| dunce::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if path.is_dir() {
        return canonical(path);
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    canonical(folder).join(path.file_name().unwrap_or_default())
}

fn logged_file(job: &FileEdit) -> LoggedFile {
    let whole = |old: &str, new: &str| TextChange::one(0, old, new);
    let path = real(&job.path);
    match &job.action {
        FileAction::Change(text, change) => {
            let after = change.apply(text).unwrap_or_default();
            LoggedFile {
                path,
                before: Some(hash(text)),
                after: Some(hash(&after)),
                change: change.clone(),
            }
        }
        FileAction::Create(text) => LoggedFile {
            path,
            before: None,
            after: Some(hash(text)),
            change: whole("", text),
        },
        FileAction::Delete(text) => LoggedFile {
            path,
            before: Some(hash(text)),
            after: None,
            change: whole(text, ""),
        },
    }
}

fn is_as_left(file: &LoggedFile, back: bool) -> bool {
    let left = if back { &file.after } else { &file.before };
    let now = read_text_file(&file.path, MAX_FILE_BYTES)
        .ok()
        .map(|text| hash(&text));
    now == *left
}

/// Makes the edit of a file, or reverses it (`back`).
fn write(
    within: Option<&Path>,
    file: &LoggedFile,
    back: bool,
) -> Result<Option<String>, SaveError> {
    let path = &file.path;
    let (from, to, change) = match back {
        false => (&file.before, &file.after, file.change.clone()),
        true => (&file.after, &file.before, file.change.inverse()),
    };
    let changed = |text: &str| {
        let stale = || SaveError::Changed {
            theirs: text.as_bytes().to_vec(),
        };
        match Some(hash(text)) == *from {
            true => change.apply(text).ok_or_else(stale),
            false => Err(stale()),
        }
    };
    match (from, to) {
        (None, _) => create(path, changed_from_nothing(&change).as_bytes()),
        (Some(_), None) => {
            let text = read(path)?;
            changed(&text)?;
            remove(path, within, text.as_bytes()).map(|()| None)
        }
        (Some(_), Some(_)) => {
            let text = read(path)?;
            let new = changed(&text)?;
            replace(Replace {
                path,
                within,
                read: text.as_bytes(),
                new: new.as_bytes(),
            })
        }
    }
}

fn changed_from_nothing(change: &TextChange) -> String {
    change.apply("").unwrap_or_default()
}

fn read(path: &Path) -> Result<String, SaveError> {
    read_text_file(path, MAX_FILE_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SaveError::Gone,
        _ => SaveError::Io(error),
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(folder: &Path) -> EditLog {
        EditLog {
            path: Some(folder.join("own/edits.jsonl")),
        }
    }

    fn change(path: &Path, new: &str) -> FileEdit {
        let text: Arc<str> = fs::read_to_string(path).unwrap().into();
        let change = TextChange::one(0, &text, new);
        FileEdit {
            path: path.to_path_buf(),
            action: FileAction::Change(text, change),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        /// Compares random sequences of edits, undos and redos with a model that stores whole texts.
        #[test]
        fn walks_end_where_the_model_ends(steps in prop::collection::vec((0..4u8, 0..3usize), 1..25)) {
            let folder = tempfile::tempdir().unwrap();
            let files: Vec<PathBuf> = (0..3).map(|at| folder.path().join(format!("f{at}"))).collect();
            files.iter().for_each(|file| fs::write(file, "0").unwrap());
            let mut models = vec![(vec!["0".to_string()], 0usize); 3];
            for (at, (step, which)) in steps.into_iter().enumerate() {
                let (file, (states, now)) = (&files[which], &mut models[which]);
                match step {
                    0 | 1 => {
                        let new = format!("{at}");
                        log(folder.path()).make(None, "edit", &[change(file, &new)]).unwrap();
                        states.truncate(*now + 1);
                        states.push(new);
                        *now += 1;
                    }
                    2 => {
                        let undone = log(folder.path()).undo(None, std::slice::from_ref(file));
                        prop_assert_eq!(undone.is_ok(), *now > 0);
                        *now = now.saturating_sub(1);
                    }
                    _ => {
                        let redone = log(folder.path()).redo(None, std::slice::from_ref(file));
                        prop_assert_eq!(redone.is_ok(), *now + 1 < states.len());
                        *now = (*now + 1).min(states.len() - 1);
                    }
                }
                prop_assert_eq!(&fs::read_to_string(file).unwrap(), &states[*now]);
            }
        }
    }

    /// If the log is too long, its older half is removed up to the end of a line. The newest edit can still be undone.
    #[test]
    fn a_long_log_keeps_its_newer_half() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path());
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        for file in [&old, &new] {
            fs::write(file, "before").unwrap();
        }
        log.make(None, "old", &[change(&old, "after")]).unwrap();
        let path = folder.path().join("own/edits.jsonl");
        let filler = format!("{{\"{}\": 0}}\n", "x".repeat(1 << 20));
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(filler.repeat(17).as_bytes())
            .unwrap();
        log.make(None, "new", &[change(&new, "after")]).unwrap();
        assert!(log.undo(None, std::slice::from_ref(&new)).is_ok());
        assert!(
            log.undo(None, std::slice::from_ref(&old)).is_err(),
            "it was in the older half"
        );
        assert_eq!(fs::read_to_string(&new).unwrap(), "before");
        let left = fs::read_to_string(&path).unwrap();
        assert!(
            left.len() as u64 > MAX_LOG_BYTES / 3 && (left.len() as u64) < MAX_LOG_BYTES,
            "{}",
            left.len()
        );
        assert!(left.starts_with('{'), "it begins with a whole line");
    }

    #[test]
    fn files_that_could_not_be_put_back_are_named() {
        assert_eq!(left_text(&[]), "");
        let words = left_text(&["a".into(), "b".into()]);
        assert_eq!(words, "; already written, and could not be restored: a, b");
    }

    #[test]
    fn multi_file_edit_is_atomic() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        let jobs = [
            change(&a, "A"),
            FileEdit {
                path: b.clone(),
                action: FileAction::Create("x".into()),
            },
        ];
        let failed = log(folder.path()).make(None, "both", &jobs).unwrap_err();
        assert!(matches!(failed.why, SaveError::Exists));
        assert_eq!(fs::read_to_string(&a).unwrap(), "a");
        let text: Arc<str> = "b".into();
        let jobs = [
            change(&a, "A"),
            FileEdit {
                path: b.clone(),
                action: FileAction::Delete(text),
            },
        ];
        log(folder.path()).make(None, "both", &jobs).unwrap();
        assert!(!b.exists());
        assert_eq!(
            log(folder.path())
                .undo(None, std::slice::from_ref(&b))
                .unwrap()
                .words,
            "both"
        );
        assert_eq!(
            (
                fs::read_to_string(&a).unwrap(),
                fs::read_to_string(&b).unwrap()
            ),
            ("a".into(), "b".into())
        );
    }

    #[test]
    fn file_changed_elsewhere_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "one two").unwrap();
        let job = change(&file, "1 two");
        fs::write(&file, "one TWO").unwrap();
        let failed = log(folder.path()).make(None, "edit", &[job]).unwrap_err();
        assert!(matches!(failed.why, SaveError::Changed { theirs } if theirs == b"one TWO"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "one TWO");
    }

    #[test]
    fn undo_keeps_changes_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "one").unwrap();
        log(folder.path())
            .make(None, "edit", &[change(&file, "two")])
            .unwrap();
        fs::write(&file, "theirs").unwrap();
        assert!(matches!(
            log(folder.path()).undo(None, std::slice::from_ref(&file)),
            Err(UndoError::Moved(..))
        ));
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        fs::write(&file, "two").unwrap();
        log(folder.path())
            .undo(None, std::slice::from_ref(&file))
            .unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
        // Only the incomplete line is lost.
        fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join("own/edits.jsonl"))
            .unwrap()
            .write_all(b"{\"made")
            .unwrap();
        log(folder.path())
            .make(None, "again", &[change(&file, "three")])
            .unwrap();
        assert_eq!(
            log(folder.path())
                .undo(None, std::slice::from_ref(&file))
                .unwrap()
                .words,
            "again"
        );
    }

    #[test]
    fn the_last_edit_is_the_same_from_every_folder() {
        let folder = tempfile::tempdir().unwrap();
        let sub = folder.path().join("sub");
        fs::create_dir(&sub).unwrap();
        let (a, b) = (folder.path().join("a"), sub.join("b"));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        log(folder.path())
            .make(None, "of a", &[change(&a, "A")])
            .unwrap();
        log(folder.path())
            .make(None, "of b", &[change(&b, "B")])
            .unwrap();
        log(folder.path())
            .make(None, "of b again", &[change(&b, "BB")])
            .unwrap();
        let (whole, below) = (Scope::folder(folder.path()), Scope::folder(&sub));
        let words = |scope: &Scope, reversal| {
            log(folder.path())
                .undo_or_redo(scope, None, reversal)
                .map(|done| done.words)
                .unwrap_or_default()
        };
        assert_eq!(words(&below, Reversal::Undo), "of b again");
        assert_eq!(words(&whole, Reversal::Undo), "of b");
        assert_eq!(words(&whole, Reversal::Undo), "of a");
        assert_eq!(words(&whole, Reversal::Undo), "");
        assert_eq!(
            words(&below, Reversal::Redo),
            "of b",
            "only of b: a is outside the folder"
        );
        assert_eq!(
            (
                fs::read_to_string(&a).unwrap(),
                fs::read_to_string(&b).unwrap()
            ),
            ("a".into(), "B".into())
        );
    }

    /// A kill may happen between writing the log and the files; the next undo or redo detects the state.
    #[test]
    fn edits_can_be_undone_after_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        fs::write(&a, "a0").unwrap();
        fs::write(&b, "b0").unwrap();
        let log = log(folder.path());
        log.make(None, "first", &[change(&a, "a1")]).unwrap();
        let both = [change(&a, "a2"), change(&b, "b2")];
        log.make(None, "both", &both).unwrap();
        let undo = || {
            log.undo(None, std::slice::from_ref(&a))
                .map(|done| done.words)
        };
        let redo = || {
            log.redo(None, std::slice::from_ref(&a))
                .map(|done| done.words)
        };
        // Only the line was written, and no file: the edit was not made.
        fs::write(&a, "a1").unwrap();
        fs::write(&b, "b0").unwrap();
        assert_eq!(undo().unwrap(), "first");
        assert_eq!(text(&a), "a0");
        assert_eq!(
            (redo().unwrap(), redo().unwrap()),
            ("first".into(), "both".into())
        );
        // One of two files was written: the whole edit is undone.
        fs::write(&b, "b0").unwrap();
        assert_eq!(undo().unwrap(), "both");
        assert_eq!((text(&a), text(&b)), ("a1".into(), "b0".into()));
        // The undo was logged, but the files were not written: the edit is still made, and is undone again.
        fs::write(&a, "a2").unwrap();
        fs::write(&b, "b2").unwrap();
        assert_eq!(
            (undo().unwrap(), undo().unwrap()),
            ("both".into(), "first".into())
        );
        assert_eq!((text(&a), text(&b)), ("a0".into(), "b0".into()));
    }

    #[test]
    fn two_logs_at_once_take_different_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = (0..4)
            .map(|at| folder.path().join(format!("f{at}")))
            .collect();
        files.iter().for_each(|file| fs::write(file, "0").unwrap());
        std::thread::scope(|scope| {
            for file in &files {
                let log = log(folder.path());
                scope.spawn(move || {
                    for at in 1..8 {
                        log.make(None, "edit", &[change(file, &at.to_string())])
                            .unwrap();
                    }
                });
            }
        });
        for file in &files {
            for at in (0..7).rev() {
                log(folder.path())
                    .undo(None, std::slice::from_ref(file))
                    .unwrap();
                assert_eq!(fs::read_to_string(file).unwrap(), at.to_string());
            }
        }
    }

    #[test]
    fn failed_edit_does_not_change_redo_history() {
        let folder = tempfile::tempdir().unwrap();
        let a = folder.path().join("a");
        fs::write(&a, "a0").unwrap();
        let log = log(folder.path());
        log.make(None, "first", &[change(&a, "a1")]).unwrap();
        log.undo(None, std::slice::from_ref(&a)).unwrap();
        let stale = change(&a, "never");
        fs::write(&a, "theirs").unwrap();
        assert!(log.make(None, "refused", &[stale]).is_err());
        fs::write(&a, "a0").unwrap();
        assert_eq!(
            log.redo(None, std::slice::from_ref(&a)).unwrap().words,
            "first"
        );
        assert!(
            log.redo(None, std::slice::from_ref(&a)).is_err(),
            "a refused edit cannot be redone"
        );
    }
}
