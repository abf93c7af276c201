//! A proposed change of files, and its conflicts with changes of the file by others.

use crate::explorer::shared::model::Model;
use evaltrail_core::formats::json::TextChange;
use evaltrail_core::formats::{Edit, PreviewLine, SetFile, plan, preview, rebase};
use evaltrail_engine::store::{FileAction, FileEdit};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The message for an edit that has no effect.
pub(crate) const NOTHING: &str = "nothing would change";

/// Number of context lines around a change.
const AROUND: usize = 2;

/// Maximum number of lines shown of a file that is created or deleted.
const WHOLE: usize = 200;

/// A change that is shown before it is saved.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Description of the change.
    pub words: String,
    /// The changes to each file.
    pub jobs: Vec<FileEdit>,
    /// The changed lines, with the name of the file before the lines of each file.
    pub lines: Vec<ProposalLine>,
    /// First visible line.
    pub scroll: usize,
    /// The version of the set's file that the change is based on, and the edits. `None` if the change does not come
    /// from edits of a set.
    pub meant: Option<(Arc<SetFile>, Vec<Edit>)>,
    /// Whether it is being saved.
    pub saving: bool,
    /// Why it could not be saved.
    pub problem: Option<String>,
    /// Target of the file if it is a link that leads outside the workspace. Saving again writes to it.
    pub outside: Option<PathBuf>,
    /// Set if the file was changed by others since it was read.
    pub conflict: Option<Conflict>,
}

/// A conflict with a change of the file by others.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The file as it is on disk.
    pub theirs: Arc<str>,
    /// The edits applied to `theirs`. `None` if both changes affect the same text, or if that is not known.
    pub merged: Option<Vec<Edit>>,
    /// Whether both changes affect the same text. False for changes of several files, which
    /// are recomputed.
    pub is_overlapping: bool,
}

/// A line of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum ProposalLine {
    /// The name of a file, or a heading.
    Heading(String),
    /// A line of a change.
    Change(PreviewLine),
}

impl Proposal {
    /// Creates a proposal; `shown` formats the name of a file.
    pub fn new(
        words: String,
        jobs: Vec<FileEdit>,
        shown: impl Fn(&FileEdit) -> String,
    ) -> Proposal {
        let mut lines = Vec::new();
        for job in &jobs {
            let label = match job.action {
                FileAction::Create(_) => "  (new file)",
                _ => "",
            };
            lines.push(ProposalLine::Heading(format!("{}{label}", shown(job))));
            lines.extend(lines_of(&job.action));
        }
        Proposal {
            words,
            jobs,
            lines,
            scroll: 0,
            meant: None,
            saving: false,
            problem: None,
            outside: None,
            conflict: None,
        }
    }

    /// Handles a change of a file by others: shows both changes, and tries to merge them.
    pub fn meet(&mut self, path: &Path, theirs: Arc<str>) {
        self.saving = false;
        let is_first = self.jobs.first().is_some_and(|job| job.path == path);
        let now = SetFile::open(theirs.clone(), "").ok();
        let merged = match (&self.meant, &now) {
            (Some((was, edits)), Some(now)) if is_first => {
                rebase(was, now, edits).filter(|again| plan(now, again).is_ok())
            }
            _ => None,
        };
        let of_path = self.jobs.iter().find(|job| job.path == path);
        let Some(FileEdit {
            action: FileAction::Change(read, _),
            ..
        }) = of_path
        else {
            return;
        };
        let their_change = TextChange::one(0, read, &theirs);
        let mut lines = vec![ProposalLine::Heading(
            "changes by others since the file was read".into(),
        )];
        lines.extend(
            preview(read, &their_change, AROUND)
                .into_iter()
                .map(ProposalLine::Change),
        );
        lines.push(ProposalLine::Heading("your changes".into()));
        lines.extend(self.jobs.iter().flat_map(|job| lines_of(&job.action)));
        self.lines = lines;
        self.scroll = 0;
        let is_overlapping = self.meant.is_some() && merged.is_none();
        self.conflict = Some(Conflict {
            theirs,
            merged,
            is_overlapping,
        });
    }
}

fn lines_of(action: &FileAction) -> Vec<ProposalLine> {
    let whole = |text: &str| {
        let mut lines: Vec<String> = text.lines().take(WHOLE).map(str::to_string).collect();
        let more = text.lines().count().saturating_sub(WHOLE);
        lines.extend((more > 0).then(|| format!("… and {more} more lines")));
        lines
    };
    let lines: Vec<PreviewLine> = match action {
        FileAction::Change(text, change) => preview(text, change, AROUND),
        FileAction::Create(text) => whole(text).into_iter().map(PreviewLine::New).collect(),
        FileAction::Delete(text) => whole(text).into_iter().map(PreviewLine::Gone).collect(),
    };
    lines.into_iter().map(ProposalLine::Change).collect()
}

impl Model {
    /// Creates a proposal from edits of a set, without changing files. The error says why the edits cannot be made.
    pub fn propose(&self, set: usize, edits: Vec<Edit>, words: String) -> Result<Proposal, String> {
        let file = self.file(set).ok_or("the file is not read yet")?;
        self.propose_in(set, file, edits, words)
    }

    /// Like [`Model::propose`], but based on an earlier version of the file.
    pub fn propose_in(
        &self,
        set: usize,
        file: &Arc<SetFile>,
        edits: Vec<Edit>,
        words: String,
    ) -> Result<Proposal, String> {
        let change = plan(file, &edits).map_err(|error| error.to_string())?;
        if change.is_empty() {
            return Err(NOTHING.into());
        }
        let view = &self.view.sets[set].path;
        let job = FileEdit {
            path: view.path.clone(),
            action: FileAction::Change(file.shared_text(), change),
        };
        let mut proposal = Proposal::new(words, vec![job], |_| view.shown.clone());
        proposal.meant = Some((file.clone(), edits));
        Ok(proposal)
    }
}
