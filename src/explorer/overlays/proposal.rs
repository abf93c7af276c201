//! A change of files that a person looks at before it is made.

use crate::explorer::model::Model;
use crate::formats::json::TextChange;
use crate::formats::{Edit, PreviewLine, SetFile, plan, preview, rebase};
use crate::store::{Deed, FileJob};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is said when an edit comes to nothing.
pub(crate) const NOTHING: &str = "nothing would change";
/// Lines shown around a change.
const AROUND: usize = 2;
/// Of a file that comes or goes as a whole, so many lines are shown.
const WHOLE: usize = 200;

/// A change that is shown and not made yet.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// What it does, in words.
    pub words: String,
    /// What is done to which file.
    pub jobs: Vec<FileJob>,
    /// The lines that change, file by file: the file's name before its lines.
    pub lines: Vec<ProposalLine>,
    /// The first line shown.
    pub scroll: usize,
    /// Where it comes from: the set's file as it was read, and what is meant.
    pub meant: Option<(Arc<SetFile>, Vec<Edit>)>,
    /// Whether it is being made.
    pub saving: bool,
    /// Why it was not made.
    pub problem: Option<String>,
    /// The file is a link to this one, outside the folder; saving again writes there.
    pub outside: Option<PathBuf>,
    /// Someone else changed the file since it was read.
    pub conflict: Option<Conflict>,
}

/// What someone else made of a file meanwhile.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The file as it is now.
    pub theirs: Arc<str>,
    /// The same edit on their file; nothing when they changed the same place.
    pub merged: Option<Vec<Edit>>,
}

/// A line of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum ProposalLine {
    /// A file's name, or a heading.
    Heading(String),
    /// A line of a change.
    Change(PreviewLine),
}

impl Proposal {
    /// A proposal to do something to files.
    pub fn new(words: String, jobs: Vec<FileJob>, shown: impl Fn(&FileJob) -> String) -> Proposal {
        let mut lines = Vec::new();
        for job in &jobs {
            lines.push(ProposalLine::Heading(shown(job)));
            lines.extend(lines_of(&job.deed));
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

    /// Takes in that someone else changed the file, and looks whether both changes go together.
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
        let Some(FileJob { deed: Deed::Change(read, _), .. }) = of_path else { return };
        let their_change = TextChange::one(0, read, &theirs);
        let mut lines = vec![ProposalLine::Heading("what the file has become since it was read".into())];
        lines.extend(preview(read, &their_change, AROUND).into_iter().map(ProposalLine::Change));
        lines.push(ProposalLine::Heading("what you meant".into()));
        lines.extend(self.jobs.iter().flat_map(|job| lines_of(&job.deed)));
        self.lines = lines;
        self.scroll = 0;
        self.conflict = Some(Conflict { theirs, merged });
    }
}

fn lines_of(deed: &Deed) -> Vec<ProposalLine> {
    let whole = |text: &str| {
        let mut lines: Vec<String> = text.lines().take(WHOLE).map(str::to_string).collect();
        let more = text.lines().count().saturating_sub(WHOLE);
        lines.extend((more > 0).then(|| format!("… and {more} more lines")));
        lines
    };
    let lines: Vec<PreviewLine> = match deed {
        Deed::Change(text, change) => preview(text, change, AROUND),
        Deed::Create(text) => whole(text).into_iter().map(PreviewLine::New).collect(),
        Deed::Delete(text) => whole(text).into_iter().map(PreviewLine::Gone).collect(),
    };
    lines.into_iter().map(ProposalLine::Change).collect()
}

impl Model {
    /// What edits of a set would change; nothing changes yet. The error says why they cannot be made.
    pub fn propose(&self, set: usize, edits: Vec<Edit>, words: String) -> Result<Proposal, String> {
        let file = self.file(set).ok_or("the file is not read yet")?;
        self.propose_in(set, file, edits, words)
    }

    /// The same for a set's file as it was read earlier.
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
        let view = &self.sets[set].path;
        let job = FileJob { path: view.path.clone(), deed: Deed::Change(file.shared_text(), change) };
        let mut proposal = Proposal::new(words, vec![job], |_| view.shown.clone());
        proposal.meant = Some((file.clone(), edits));
        Ok(proposal)
    }
}
