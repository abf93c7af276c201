//! An eval set as the explorer knows it.

use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_engine::history::PastResult;
use evaltrail_engine::workspace::SetPath;
use std::borrow::Cow;
use std::sync::Arc;

/// The state of the explorer. Owned by the event loop; only `update` changes it.
/// Maximum number of results of a set that wait for their cases; beyond it the oldest are dropped.
const MOST_WAITING: usize = 100_000;

/// An eval set, as shown on the screen.
#[derive(Clone, Debug)]
pub struct SetView {
    /// The file.
    pub path: SetPath,
    /// Whether the file is loaded.
    pub state: SetState,
    /// Name of the agent, or the reason why there is none.
    pub agent: Result<String, String>,
    /// Notes that are stored next to the file.
    pub notes: Arc<Notes>,
    /// The text of the file of stubs beside it.
    pub stubs: Option<Arc<str>>,
    /// The most recently read version of the file. It is retained when the file can no longer be read, because the
    /// positions of cases refer to it.
    pub read: Option<Arc<SetFile>>,
    /// Ticket of the request whose result is shown.
    pub loaded: Ticket,
    /// Past results whose cases are not in the most recently read version of the file.
    pub past: Vec<PastResult>,
    /// Like `past`, but results that arrived since evaltrail was started.
    pub waiting: Vec<PastResult>,
    /// Number of pending requests to re-evaluate cases of this set.
    pub reevaluating: usize,
    /// Whether such a request was for an older version of the file, so that outcomes may be out of date.
    pub is_behind: bool,
    /// Summaries of the cases, for the filter.
    pub summaries: Option<Arc<Vec<CaseSummary>>>,
}

/// State of a set's file.
#[derive(Clone, Debug)]
pub enum SetState {
    /// The file is being opened.
    Loading,
    /// The file was read. The digest (SHA-256) is used to detect changes.
    Ready(Arc<SetFile>, String),
    /// The file cannot be read, and why.
    Failed(String),
    /// The file was deleted.
    Gone,
}

/// Summary of a case, for the filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseSummary {
    /// Number of turns.
    pub turns: usize,
    /// The user messages in lower case, for free-text search.
    pub text: String,
    /// Names of the expected tools.
    pub tools: Vec<String>,
    /// Why the case cannot be read, if it cannot.
    pub problem: Option<String>,
}

impl SetView {
    /// A set whose file has not been opened yet.
    pub fn new(path: SetPath) -> SetView {
        SetView {
            path,
            state: SetState::Loading,
            agent: Err("not looked for yet".into()),
            notes: Arc::default(),
            stubs: None,
            read: None,
            loaded: Ticket::default(),
            past: Vec::new(),
            waiting: Vec::new(),
            reevaluating: 0,
            is_behind: false,
            summaries: None,
        }
    }

    /// Whether the file exists.
    pub fn exists(&self) -> bool {
        !matches!(self.state, SetState::Gone)
    }

    /// Stores results until their cases have been read.
    pub(crate) fn store_until_read(&mut self, results: impl IntoIterator<Item = PastResult>) {
        self.waiting.extend(results);
        self.waiting
            .drain(..self.waiting.len().saturating_sub(MOST_WAITING));
    }

    pub(crate) fn appears_again(&mut self, path: SetPath) {
        self.path = path;
        if !self.exists() {
            self.state = SetState::Loading;
        }
    }
}

/// The name of a set in a list of several: that of its file without its ending. If another set has the same, folders are
/// before it, or the whole path if these are the same, too.
pub fn set_label(sets: &[SetView], set: usize) -> Cow<'_, str> {
    let path = &sets[set].path;
    let others = sets
        .iter()
        .map(|view| &view.path)
        .filter(|other| other.path != path.path);
    let others: Vec<&SetPath> = others.filter(|other| other.stem == path.stem).collect();
    label_among(path, &others)
}

fn label_among<'a>(path: &'a SetPath, others: &[&SetPath]) -> Cow<'a, str> {
    if others.is_empty() {
        return Cow::Borrowed(&path.stem);
    }
    let unique = |count: usize| {
        let label = with_folders(path, count);
        others
            .iter()
            .all(|other| with_folders(other, count) != label)
            .then_some(label)
    };
    let most = path.shown.matches('/').count();
    (1..=most)
        .find_map(unique)
        .map_or(Cow::Borrowed(path.shown.as_str()), Cow::Owned)
}

/// The stem of a file with at most this number of its folders.
fn with_folders(path: &SetPath, count: usize) -> String {
    let folders: Vec<&str> = path.shown.split('/').collect();
    let folders = folders.split_last().map_or(&[][..], |(_, folders)| folders);
    let nearest = &folders[folders.len().saturating_sub(count)..];
    nearest
        .iter()
        .copied()
        .chain([path.stem.as_str()])
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_with_same_stem_have_distinct_labels() {
        let path = |shown: &str| {
            let name = shown.rsplit('/').next().unwrap_or_default();
            let stem = name.split('.').next().unwrap_or_default().to_string();
            SetPath {
                shown: shown.into(),
                stem,
                app: None,
                ..SetPath::of_file(shown.as_ref(), "".as_ref())
            }
        };
        let shown = [
            "a/x/s.evalset.json",
            "b/x/s.evalset.json",
            "b/y/s.evalset.json",
            "s.jsonl",
            "b/y/s.test.json",
        ];
        let paths = shown.map(path);
        let label = |at: usize| {
            let others: Vec<&SetPath> = paths
                .iter()
                .filter(|other| other.path != paths[at].path)
                .collect();
            label_among(&paths[at], &others).into_owned()
        };
        let labels = [0, 1, 2, 3, 4].map(label);
        assert_eq!(
            labels,
            [
                "a/x/s",
                "b/x/s",
                "b/y/s.evalset.json",
                "s.jsonl",
                "b/y/s.test.json"
            ]
        );
        assert_eq!(label_among(&paths[0], &[]), "s");
    }
}
