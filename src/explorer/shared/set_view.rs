//! An eval set as the explorer knows it.

use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_engine::history::PastResult;
use evaltrail_engine::workspace::SetPath;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of results of a set that wait for their cases; beyond it the oldest are dropped.
const MAX_WAITING: usize = 100_000;

/// An eval set, as shown on the screen.
#[derive(Clone, Debug)]
pub struct SetView {
    /// The file.
    pub path: SetPath,
    /// The name in lists of several sets.
    pub label: String,
    /// Whether the file is loaded.
    pub state: SetState,
    /// Name of the agent, or the reason why there is none.
    pub agent: Result<String, String>,
    /// Notes that are stored next to the file.
    pub notes: Arc<Notes>,
    /// The text of the file of stubs beside it.
    pub stubs: Option<Arc<str>>,
    /// A hash of the criteria that a run would use now, if they are known.
    pub criteria: Option<u64>,
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
    /// Whether the summarised file is a document with a syntax error, of which no case can be run.
    pub is_malformed: bool,
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
    /// What the user says first: a line of at most [`MAX_PROMPT`](CaseSummary::MAX_PROMPT) characters.
    pub prompt: Box<str>,
    /// The user messages in lower case, for free-text search.
    pub text: String,
    /// Names of the expected tools.
    pub tools: Vec<String>,
    /// Why the case cannot be read, if it cannot.
    pub problem: Option<String>,
    /// Whether that is a syntax error of the whole file.
    pub is_syntax_error: bool,
}

impl CaseSummary {
    /// More of a prompt is never shown in a list.
    pub const MAX_PROMPT: usize = 200;
}

impl SetView {
    /// A set whose file has not been opened yet.
    pub fn new(path: SetPath) -> SetView {
        SetView {
            label: path.stem.clone(),
            path,
            state: SetState::Loading,
            agent: Err("not looked for yet".into()),
            notes: Arc::default(),
            stubs: None,
            criteria: None,
            read: None,
            loaded: Ticket::default(),
            past: Vec::new(),
            waiting: Vec::new(),
            reevaluating: 0,
            is_behind: false,
            summaries: None,
            is_malformed: false,
        }
    }

    /// Whether the file as a whole cannot be read.
    pub fn cannot_be_read(&self) -> bool {
        match self.state {
            SetState::Failed(_) => true,
            SetState::Ready(..) => self.is_malformed,
            SetState::Loading | SetState::Gone => false,
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
            .drain(..self.waiting.len().saturating_sub(MAX_WAITING));
    }

    pub(crate) fn appears_again(&mut self, path: SetPath) {
        self.path = path;
        if !self.exists() {
            self.state = SetState::Loading;
        }
    }
}

/// Names the sets for lists of several: by the file without its ending. If another set has the same name, folders are
/// before it, or the whole path if these are the same, too.
pub(crate) fn label_sets(sets: &mut [SetView]) {
    let mut same_stem: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, view) in sets.iter().enumerate() {
        same_stem.entry(&view.path.stem).or_default().push(at);
    }
    let mut labels = vec![String::new(); sets.len()];
    for positions in same_stem.into_values() {
        let paths: Vec<&SetPath> = positions.iter().map(|at| &sets[*at].path).collect();
        for (at, label) in positions.iter().zip(distinct_labels(&paths)) {
            labels[*at] = label;
        }
    }
    for (view, label) in sets.iter_mut().zip(labels) {
        view.label = label;
    }
}

/// Labels of files with the same stem: each with as few folders as tell it apart from the others.
fn distinct_labels(paths: &[&SetPath]) -> Vec<String> {
    if let [one] = paths {
        return vec![one.stem.clone()];
    }
    let folders = |path: &SetPath| path.shown.matches('/').count();
    let deepest = paths.iter().map(|path| folders(path)).max().unwrap_or(0);
    let mut labels: Vec<Option<String>> = vec![None; paths.len()];
    for count in 1..=deepest {
        let now: Vec<String> = paths.iter().map(|path| with_folders(path, count)).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        now.iter()
            .for_each(|label| *times.entry(label).or_default() += 1);
        for (at, label) in labels.iter_mut().enumerate() {
            if label.is_none() && times[now[at].as_str()] == 1 && count <= folders(paths[at]) {
                *label = Some(now[at].clone());
            }
        }
    }
    let whole = labels.into_iter().zip(paths);
    whole
        .map(|(label, path)| label.unwrap_or_else(|| path.shown.clone()))
        .collect()
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
        let paths: Vec<&SetPath> = paths.iter().collect();
        assert_eq!(
            distinct_labels(&paths),
            [
                "a/x/s",
                "b/x/s",
                "b/y/s.evalset.json",
                "s.jsonl",
                "b/y/s.test.json"
            ]
        );
        assert_eq!(distinct_labels(&paths[..1]), ["s"]);
    }
}
