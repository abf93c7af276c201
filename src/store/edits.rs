//! Edits of a workspace's files: made, taken back and made again, also after a restart, for as long as the
//! file is as we left it.
//!
//! ```text
//! make ──▶ each file replaced (or made, or deleted) ──▶ a line in .evaltrail/edits.jsonl
//! undo ──▶ the newest edit of the file that stands ──▶ its pieces put back ──▶ a line
//! ```

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

/// Which edits are meant: those of files, or all below a folder. Their logs lie in the folder that was open when they
/// were made, so several are looked at.
#[derive(Clone, Debug)]
pub struct Scope {
    of: ScopeOf,
    /// The folders with a log.
    logs: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
enum ScopeOf {
    Files(Vec<PathBuf>),
    Folder(PathBuf),
}

impl Scope {
    /// The edits of these files.
    pub fn files(workspace: &Path, files: &[PathBuf]) -> Scope {
        let folders = files.iter().filter_map(|file| file.parent().map(Path::to_path_buf));
        let logs = logs(std::iter::once(workspace.to_path_buf()).chain(folders));
        Scope { of: ScopeOf::Files(files.iter().map(|file| real(file)).collect()), logs }
    }

    /// The edits of all files below a folder of a workspace; `below` are folders in it that may have been open.
    pub fn folder(workspace: &Path, folder: &Path, below: &[PathBuf]) -> Scope {
        let folders = [workspace.to_path_buf(), folder.to_path_buf()].into_iter();
        let logs = logs(folders.chain(below.iter().cloned()));
        Scope { of: ScopeOf::Folder(real(folder)), logs }
    }

    fn holds(&self, base: &Path, kept: &Kept) -> bool {
        kept.files.iter().any(|file| {
            let path = base.join(&file.path);
            match &self.of {
                ScopeOf::Files(files) => files.contains(&path),
                ScopeOf::Folder(folder) => path.starts_with(folder),
            }
        })
    }
}

/// The folders with a log among these and those above them, each once.
fn logs(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.map(|folder| real(&folder)) {
        for above in folder.ancestors() {
            if !found.iter().any(|known| known == above) && log(above).is_file() {
                found.push(above.to_path_buf());
            }
        }
    }
    found
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
    /// Relative to the workspace where it lies in it.
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

/// The edits of a workspace that can be taken back or made again, oldest first.
#[derive(Default)]
struct History {
    edits: Vec<(Kept, bool)>,
}

/// Makes an edit: all of its files, or none.
pub fn make(
    workspace: &Path,
    within: Option<&Path>,
    words: &str,
    jobs: &[FileJob],
) -> Result<Done, EditFailed> {
    let mut files = Vec::new();
    let mut notes = Vec::new();
    for job in jobs {
        let file = kept_file(workspace, job);
        match write(workspace, within, &file, false) {
            Ok(note) => notes.extend(note),
            Err(why) => {
                take_back(workspace, &files);
                return Err(EditFailed { path: job.path.clone(), why });
            }
        }
        files.push(file);
    }
    let id = History::load(workspace).edits.last().map_or(1, |(last, _)| last.id + 1);
    let at = jiff::Timestamp::now().to_string();
    let kept = Kept { id, at, words: words.to_string(), files };
    if let Err(error) = append(workspace, &Line::Made(kept)) {
        notes.push(format!("saved, but undo will not know of it: {error}"));
    }
    let written = texts_of(jobs.iter().map(|job| job.path.clone()));
    Ok(Done { words: words.to_string(), note: notes.into_iter().next(), written })
}

/// Takes the newest edit of any of these files back.
pub fn undo(workspace: &Path, within: Option<&Path>, files: &[PathBuf]) -> Result<Done, UndoError> {
    turn(&Scope::files(workspace, files), within, true)
}

/// Makes the edit again that was taken back last.
pub fn redo(workspace: &Path, within: Option<&Path>, files: &[PathBuf]) -> Result<Done, UndoError> {
    turn(&Scope::files(workspace, files), within, false)
}

/// Takes the newest edit of a scope back, or makes the one again that was taken back last.
pub fn turn(scope: &Scope, within: Option<&Path>, back: bool) -> Result<Done, UndoError> {
    let mut edits: Vec<(&Path, Kept, bool)> = Vec::new();
    for base in &scope.logs {
        let of_log = History::load(base).edits.into_iter();
        edits.extend(of_log.map(|(kept, undone)| (base.as_path(), kept, undone)));
    }
    let time = |kept: &Kept| kept.at.parse::<jiff::Timestamp>().unwrap_or_default();
    edits.sort_by_key(|(_, kept, _)| time(kept));
    let meant = |(base, kept, undone): &&(&Path, Kept, bool)| *undone != back && scope.holds(base, kept);
    let found = if back { edits.iter().rev().find(meant) } else { edits.iter().find(meant) };
    let Some((base, kept, _)) = found else {
        return Err(UndoError::Nothing(if back { "undo" } else { "redo" }));
    };
    if let Some(other) = kept.files.iter().find(|file| !is_as_left(base, file, back)) {
        return Err(UndoError::Moved(other.path.display().to_string(), kept.words.clone()));
    }
    let mut notes = Vec::new();
    for (at, one) in kept.files.iter().enumerate() {
        match write(base, within, one, back) {
            Ok(note) => notes.extend(note),
            Err(why) => {
                // What was turned so far is turned the other way.
                kept.files[..at].iter().for_each(|one| drop(write(base, within, one, !back)));
                return Err(EditFailed { path: base.join(&one.path), why }.into());
            }
        }
    }
    let line = if back { Line::Undone(kept.id) } else { Line::Redone(kept.id) };
    if let Err(error) = append(base, &line) {
        notes.push(format!("done, but it is not kept that it was: {error}"));
    }
    let written = texts_of(kept.files.iter().map(|file| base.join(&file.path)));
    Ok(Done { words: kept.words.clone(), note: notes.into_iter().next(), written })
}

/// What files hold now.
fn texts_of(paths: impl Iterator<Item = PathBuf>) -> Vec<(PathBuf, Option<Arc<str>>)> {
    paths.map(|path| (path.clone(), fs::read_to_string(&path).ok().map(Arc::from))).collect()
}

fn take_back(workspace: &Path, files: &[KeptFile]) {
    for file in files.iter().rev() {
        let _ = write(workspace, None, file, true);
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

fn kept_path(workspace: &Path, path: &Path) -> PathBuf {
    let path = real(path);
    path.strip_prefix(real(workspace)).map(Path::to_path_buf).unwrap_or(path)
}

fn kept_file(workspace: &Path, job: &FileJob) -> KeptFile {
    let whole = |old: &str, new: &str| TextChange::one(0, old, new);
    let path = kept_path(workspace, &job.path);
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

fn is_as_left(workspace: &Path, file: &KeptFile, back: bool) -> bool {
    let left = if back { &file.after } else { &file.before };
    let now = fs::read_to_string(workspace.join(&file.path)).ok().map(|text| hash(&text));
    now == *left
}

/// Writes a file's edit, or its reverse.
fn write(
    workspace: &Path,
    within: Option<&Path>,
    file: &KeptFile,
    back: bool,
) -> Result<Option<String>, SaveError> {
    let path = workspace.join(&file.path);
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
        (None, _) => create(&path, changed_from_nothing(&change).as_bytes()),
        (Some(_), None) => {
            let text = read(&path)?;
            changed(&text)?;
            remove(&path, within, text.as_bytes()).map(|()| None)
        }
        (Some(_), Some(_)) => {
            let text = read(&path)?;
            let new = changed(&text)?;
            replace(Replace { path: &path, within, read: text.as_bytes(), new: new.as_bytes() })
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

fn log(workspace: &Path) -> PathBuf {
    workspace.join(".evaltrail/edits.jsonl")
}

fn append(workspace: &Path, line: &Line) -> io::Result<()> {
    super::journal::own_folder(workspace)?;
    let path = log(workspace);
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    let _ = file.lock();
    // A line that a crash tore must not tear this one.
    let length = file.metadata()?.len();
    let torn = length > 0 && !fs::read(&path).is_ok_and(|bytes| bytes.ends_with(b"\n"));
    let text = format!("{}{}\n", if torn { "\n" } else { "" }, serde_json::to_string(line)?);
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

impl History {
    fn load(workspace: &Path) -> History {
        let path = log(workspace);
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        if text.len() as u64 > KEPT {
            let half = text.ceil_char_boundary(text.len() / 2);
            let line = text[half..].find('\n').map_or(text.len(), |at| half + at + 1);
            text.drain(..line);
            let _ = super::write_whole(&path, text.as_bytes());
        }
        let mut history = History::default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            history.take(line);
        }
        history
    }

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
                        make(folder.path(), None, "edit", &[change(file, &new)]).unwrap();
                        states.truncate(*now + 1);
                        states.push(new);
                        *now += 1;
                    }
                    2 => {
                        let undone = undo(folder.path(), None, std::slice::from_ref(file));
                        prop_assert_eq!(undone.is_ok(), *now > 0);
                        *now = now.saturating_sub(1);
                    }
                    _ => {
                        let redone = redo(folder.path(), None, std::slice::from_ref(file));
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
        let failed = make(folder.path(), None, "both", &jobs).unwrap_err();
        assert!(matches!(failed.why, SaveError::Exists));
        assert_eq!(fs::read_to_string(&a).unwrap(), "a");
        let text: Arc<str> = "b".into();
        let jobs = [change(&a, "A"), FileJob { path: b.clone(), deed: Deed::Delete(text) }];
        make(folder.path(), None, "both", &jobs).unwrap();
        assert!(!b.exists());
        assert_eq!(undo(folder.path(), None, std::slice::from_ref(&b)).unwrap().words, "both");
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
        let failed = make(folder.path(), None, "edit", &[job]).unwrap_err();
        assert!(matches!(failed.why, SaveError::Changed { theirs } if theirs == b"one TWO"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "one TWO");
    }

    #[test]
    fn what_others_changed_is_not_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "one").unwrap();
        make(folder.path(), None, "edit", &[change(&file, "two")]).unwrap();
        fs::write(&file, "theirs").unwrap();
        assert!(matches!(undo(folder.path(), None, std::slice::from_ref(&file)), Err(UndoError::Moved(..))));
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        fs::write(&file, "two").unwrap();
        undo(folder.path(), None, std::slice::from_ref(&file)).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
        // A torn line costs itself alone.
        fs::OpenOptions::new().append(true).open(log(folder.path())).unwrap().write_all(b"{\"made").unwrap();
        make(folder.path(), None, "again", &[change(&file, "three")]).unwrap();
        assert_eq!(undo(folder.path(), None, std::slice::from_ref(&file)).unwrap().words, "again");
    }

    #[test]
    fn the_last_edit_is_the_same_from_every_folder() {
        let folder = tempfile::tempdir().unwrap();
        let sub = folder.path().join("sub");
        fs::create_dir(&sub).unwrap();
        let (a, b) = (folder.path().join("a"), sub.join("b"));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        make(folder.path(), None, "of a", &[change(&a, "A")]).unwrap();
        make(&sub, None, "of b", &[change(&b, "B")]).unwrap();
        make(folder.path(), None, "of b again", &[change(&b, "BB")]).unwrap();
        let whole = Scope::folder(folder.path(), folder.path(), std::slice::from_ref(&sub));
        let below = Scope::folder(&sub, &sub, &[]);
        let words = |scope: &Scope, back| turn(scope, None, back).map(|done| done.words).unwrap_or_default();
        assert_eq!(words(&below, true), "of b again", "the log of a folder above is looked at");
        assert_eq!(words(&whole, true), "of b", "and those of folders below");
        assert_eq!(words(&whole, true), "of a");
        assert_eq!(words(&whole, true), "");
        assert_eq!(words(&below, false), "of b", "of b alone: a lies elsewhere");
        assert_eq!(
            (fs::read_to_string(&a).unwrap(), fs::read_to_string(&b).unwrap()),
            ("a".into(), "B".into())
        );
    }
}
