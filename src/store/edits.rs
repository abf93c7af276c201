//! Edits of a workspace's files: made, taken back and made again, also after a restart, for as long as the
//! file is as we left it.
//!
//! ```text
//! make ──▶ each file replaced (or made, or deleted) ──▶ a line in the log
//! undo ──▶ the newest edit of the file that stands ──▶ its pieces put back ──▶ a line
//! ```
//!
//! There is one log, outside of any workspace: a folder that came from elsewhere brings no edits along that would be
//! taken back, and the last edit is the same from whichever folder it is looked for.

use super::Places;
use super::save::{Replace, SaveError, create, remove, replace};
use crate::formats::json::TextChange;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Older edits than so many bytes of the log are forgotten when it is opened for the next one.
const KEPT: u64 = 16 << 20;

/// What is to be done to one file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileJob {
    /// The file.
    pub path: PathBuf,
    /// What.
    pub deed: Deed,
}

/// What is done to a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// A change of the text that was read.
    Change(Arc<str>, TextChange),
    /// A new file.
    Create(String),
    /// A file of this text goes.
    Delete(Arc<str>),
}

/// Why an edit was not made. No file is changed then.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct EditFailed {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub why: SaveError,
}

/// Why an edit was not taken back or made again.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is none.
    #[error("there is nothing to {0} here")]
    Nothing(&'static str),
    /// The file is not as the edit left it.
    #[error("{0} was changed by something else since; the edit \"{1}\" stays as it is")]
    Moved(String, String),
    /// It could not be written.
    #[error(transparent)]
    Failed(#[from] EditFailed),
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// The edit in words.
    pub words: String,
    /// What to know beside.
    pub note: Option<String>,
    /// The files with their new texts; nothing for one that was deleted.
    pub written: Vec<(PathBuf, Option<Arc<str>>)>,
}

/// Which edits are meant.
#[derive(Clone, Debug)]
pub enum Scope {
    /// Those of these files.
    Files(Vec<PathBuf>),
    /// Those of all files below a folder.
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

    fn holds(&self, kept: &Kept) -> bool {
        kept.files.iter().any(|file| match self {
            Scope::Files(files) => files.contains(&file.path),
            Scope::Folder(folder) => file.path.starts_with(folder),
        })
    }
}

/// The log of edits.
#[derive(Clone, Debug, Default)]
pub struct EditLog {
    /// Nothing where the platform has no place for it: then nothing can be taken back.
    path: Option<PathBuf>,
}

/// An edit as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    id: u64,
    at: String,
    words: String,
    files: Vec<KeptFile>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KeptFile {
    /// Absolute, with the links in its folders resolved.
    path: PathBuf,
    /// Hash of the file before; nothing when there was none.
    before: Option<String>,
    after: Option<String>,
    /// From the text before (empty when there was none) to the one after.
    change: TextChange,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Made(Kept),
    Undone(u64),
    Redone(u64),
}

/// The edits that can be taken back or made again, oldest first.
#[derive(Default)]
struct History {
    edits: Vec<(Kept, bool)>,
}

impl EditLog {
    /// The log in the person's own places.
    pub fn of(places: Option<&Places>) -> EditLog {
        EditLog { path: places.map(|places| places.data.join("edits.jsonl")) }
    }

    /// Makes an edit: all of its files, or none.
    pub fn make(&self, within: Option<&Path>, words: &str, jobs: &[FileJob]) -> Result<Done, EditFailed> {
        let mut files = Vec::new();
        let mut notes = Vec::new();
        for job in jobs {
            let file = kept_file(job);
            match write(within, &file, false) {
                Ok(note) => notes.extend(note),
                Err(why) => {
                    take_back(&files);
                    return Err(EditFailed { path: job.path.clone(), why });
                }
            }
            files.push(file);
        }
        let id = self.history().edits.last().map_or(1, |(last, _)| last.id + 1);
        let at = jiff::Timestamp::now().to_string();
        let kept = Kept { id, at, words: words.to_string(), files };
        if let Err(error) = self.append(&Line::Made(kept)) {
            notes.push(format!("saved, but undo will not know of it: {error}"));
        }
        let written = texts_of(jobs.iter().map(|job| job.path.clone()));
        Ok(Done { words: words.to_string(), note: notes.into_iter().next(), written })
    }

    /// Takes the newest edit of any of these files back.
    pub fn undo(&self, within: Option<&Path>, files: &[PathBuf]) -> Result<Done, UndoError> {
        self.turn(&Scope::files(files), within, true)
    }

    /// Makes the edit again that was taken back last.
    pub fn redo(&self, within: Option<&Path>, files: &[PathBuf]) -> Result<Done, UndoError> {
        self.turn(&Scope::files(files), within, false)
    }

    /// Takes the newest edit of a scope back, or makes the one again that was taken back last.
    pub fn turn(&self, scope: &Scope, within: Option<&Path>, back: bool) -> Result<Done, UndoError> {
        let edits = self.history().edits;
        let meant = |(kept, undone): &&(Kept, bool)| *undone != back && scope.holds(kept);
        let found = if back { edits.iter().rev().find(meant) } else { edits.iter().find(meant) };
        let Some((kept, _)) = found else {
            return Err(UndoError::Nothing(if back { "undo" } else { "redo" }));
        };
        if let Some(other) = kept.files.iter().find(|file| !is_as_left(file, back)) {
            return Err(UndoError::Moved(other.path.display().to_string(), kept.words.clone()));
        }
        let mut notes = Vec::new();
        for (at, one) in kept.files.iter().enumerate() {
            match write(within, one, back) {
                Ok(note) => notes.extend(note),
                Err(why) => {
                    // What was turned so far is turned the other way.
                    kept.files[..at].iter().for_each(|one| drop(write(within, one, !back)));
                    return Err(EditFailed { path: one.path.clone(), why }.into());
                }
            }
        }
        let line = if back { Line::Undone(kept.id) } else { Line::Redone(kept.id) };
        if let Err(error) = self.append(&line) {
            notes.push(format!("done, but it is not kept that it was: {error}"));
        }
        let written = texts_of(kept.files.iter().map(|file| file.path.clone()));
        Ok(Done { words: kept.words.clone(), note: notes.into_iter().next(), written })
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let nowhere =
            || io::Error::new(io::ErrorKind::NotFound, "this platform names no folder to keep it in");
        let path = self.path.as_ref().ok_or_else(nowhere)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = private(OpenOptions::new().create(true).append(true)).open(path)?;
        let _ = file.lock();
        // A line that a crash tore must not tear this one.
        let length = file.metadata()?.len();
        let torn = length > 0 && !fs::read(path).is_ok_and(|bytes| bytes.ends_with(b"\n"));
        let text = format!("{}{}\n", if torn { "\n" } else { "" }, serde_json::to_string(line)?);
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }

    fn history(&self) -> History {
        let Some(path) = &self.path else { return History::default() };
        let mut text = fs::read_to_string(path).unwrap_or_default();
        if text.len() as u64 > KEPT {
            let half = text.ceil_char_boundary(text.len() / 2);
            let line = text[half..].find('\n').map_or(text.len(), |at| half + at + 1);
            text.drain(..line);
            let _ = super::write_whole(path, text.as_bytes());
        }
        let mut history = History::default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            history.take(line);
        }
        history
    }
}

/// The log holds what files say: a new one is for its owner alone.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// What files hold now.
fn texts_of(paths: impl Iterator<Item = PathBuf>) -> Vec<(PathBuf, Option<Arc<str>>)> {
    paths.map(|path| (path.clone(), fs::read_to_string(&path).ok().map(Arc::from))).collect()
}

fn take_back(files: &[KeptFile]) {
    for file in files.iter().rev() {
        let _ = write(None, file, true);
    }
}

fn hash(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// A path with the links in its folders resolved, but not that of a file; of a folder all of them.
fn real(path: &Path) -> PathBuf {
    let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if path.is_dir() {
        return canonical(path);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    canonical(folder).join(path.file_name().unwrap_or_default())
}

fn kept_file(job: &FileJob) -> KeptFile {
    let whole = |old: &str, new: &str| TextChange::one(0, old, new);
    let path = real(&job.path);
    match &job.deed {
        Deed::Change(text, change) => {
            let after = change.apply(text).unwrap_or_default();
            KeptFile { path, before: Some(hash(text)), after: Some(hash(&after)), change: change.clone() }
        }
        Deed::Create(text) => {
            KeptFile { path, before: None, after: Some(hash(text)), change: whole("", text) }
        }
        Deed::Delete(text) => {
            KeptFile { path, before: Some(hash(text)), after: None, change: whole(text, "") }
        }
    }
}

fn is_as_left(file: &KeptFile, back: bool) -> bool {
    let left = if back { &file.after } else { &file.before };
    let now = fs::read_to_string(&file.path).ok().map(|text| hash(&text));
    now == *left
}

/// Writes a file's edit, or its reverse.
fn write(within: Option<&Path>, file: &KeptFile, back: bool) -> Result<Option<String>, SaveError> {
    let path = &file.path;
    let (from, to, change) = match back {
        false => (&file.before, &file.after, file.change.clone()),
        true => (&file.after, &file.before, file.change.inverse()),
    };
    let changed = |text: &str| {
        let stale = || SaveError::Changed { theirs: text.as_bytes().to_vec() };
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
            replace(Replace { path, within, read: text.as_bytes(), new: new.as_bytes() })
        }
    }
}

fn changed_from_nothing(change: &TextChange) -> String {
    change.apply("").unwrap_or_default()
}

fn read(path: &Path) -> Result<String, SaveError> {
    fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SaveError::Gone,
        _ => SaveError::Io(error),
    })
}

impl History {
    fn take(&mut self, line: Line) {
        match line {
            Line::Made(made) => {
                // What was taken back in these files cannot be made again on top of this.
                let touched = |kept: &Kept| {
                    kept.files.iter().any(|file| made.files.iter().any(|new| new.path == file.path))
                };
                self.edits.retain(|(kept, undone)| !(*undone && touched(kept)));
                self.edits.push((made, false));
            }
            Line::Undone(id) => self.mark(id, true),
            Line::Redone(id) => self.mark(id, false),
        }
    }

    fn mark(&mut self, id: u64, undone: bool) {
        if let Some(found) = self.edits.iter_mut().find(|(kept, _)| kept.id == id) {
            found.1 = undone;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(folder: &Path) -> EditLog {
        EditLog { path: Some(folder.join("own/edits.jsonl")) }
    }

    fn change(path: &Path, new: &str) -> FileJob {
        let text: Arc<str> = fs::read_to_string(path).unwrap().into();
        let change = TextChange::one(0, &text, new);
        FileJob { path: path.to_path_buf(), deed: Deed::Change(text, change) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        /// Any walk of edits, undos and redos against a model that keeps whole texts.
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

    #[test]
    fn an_edit_of_several_files_is_made_whole_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        let jobs = [change(&a, "A"), FileJob { path: b.clone(), deed: Deed::Create("x".into()) }];
        let failed = log(folder.path()).make(None, "both", &jobs).unwrap_err();
        assert!(matches!(failed.why, SaveError::Exists));
        assert_eq!(fs::read_to_string(&a).unwrap(), "a");
        let text: Arc<str> = "b".into();
        let jobs = [change(&a, "A"), FileJob { path: b.clone(), deed: Deed::Delete(text) }];
        log(folder.path()).make(None, "both", &jobs).unwrap();
        assert!(!b.exists());
        assert_eq!(log(folder.path()).undo(None, std::slice::from_ref(&b)).unwrap().words, "both");
        assert_eq!(
            (fs::read_to_string(&a).unwrap(), fs::read_to_string(&b).unwrap()),
            ("a".into(), "b".into())
        );
    }

    #[test]
    fn a_file_that_others_changed_elsewhere_is_not_written_either() {
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
    fn what_others_changed_is_not_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "one").unwrap();
        log(folder.path()).make(None, "edit", &[change(&file, "two")]).unwrap();
        fs::write(&file, "theirs").unwrap();
        assert!(matches!(
            log(folder.path()).undo(None, std::slice::from_ref(&file)),
            Err(UndoError::Moved(..))
        ));
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        fs::write(&file, "two").unwrap();
        log(folder.path()).undo(None, std::slice::from_ref(&file)).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
        // A torn line costs itself alone.
        fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join("own/edits.jsonl"))
            .unwrap()
            .write_all(b"{\"made")
            .unwrap();
        log(folder.path()).make(None, "again", &[change(&file, "three")]).unwrap();
        assert_eq!(log(folder.path()).undo(None, std::slice::from_ref(&file)).unwrap().words, "again");
    }

    #[test]
    fn the_last_edit_is_the_same_from_every_folder() {
        let folder = tempfile::tempdir().unwrap();
        let sub = folder.path().join("sub");
        fs::create_dir(&sub).unwrap();
        let (a, b) = (folder.path().join("a"), sub.join("b"));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        log(folder.path()).make(None, "of a", &[change(&a, "A")]).unwrap();
        log(folder.path()).make(None, "of b", &[change(&b, "B")]).unwrap();
        log(folder.path()).make(None, "of b again", &[change(&b, "BB")]).unwrap();
        let (whole, below) = (Scope::folder(folder.path()), Scope::folder(&sub));
        let words = |scope: &Scope, back| {
            log(folder.path()).turn(scope, None, back).map(|done| done.words).unwrap_or_default()
        };
        assert_eq!(words(&below, true), "of b again");
        assert_eq!(words(&whole, true), "of b");
        assert_eq!(words(&whole, true), "of a");
        assert_eq!(words(&whole, true), "");
        assert_eq!(words(&below, false), "of b", "of b alone: a lies elsewhere");
        assert_eq!(
            (fs::read_to_string(&a).unwrap(), fs::read_to_string(&b).unwrap()),
            ("a".into(), "B".into())
        );
    }
}
