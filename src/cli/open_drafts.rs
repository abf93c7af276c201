//! The drafts of a set, opened for the commands that show, make, verify, accept and drop them.

use super::output::print_note;
use super::write::make_asking;
use anyhow::{Context, bail};
use evaltrail_core::domain::stored_path::path_below;
use evaltrail_core::domain::{EvalCase, clean_line, did_you_mean};
use evaltrail_core::formats::{CheckedDraft, Draft, SetFile, append_cases};
use evaltrail_engine::runner::SetDrafts;
use evaltrail_engine::store::FileEdit;
use evaltrail_engine::workspace::{SetPath, Workspace, named_path, open_set, root_of};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// Which drafts are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Only {
    All,
    /// Those that keep the expectation of their case.
    Kept,
    /// Those with which an agent made the expected calls each time.
    Verified,
}

impl Only {
    fn includes(self, draft: &Draft) -> bool {
        match self {
            Only::All => true,
            Only::Kept => draft.keeps_expectation,
            Only::Verified => draft.is_verified(),
        }
    }
}

/// A set with its drafts.
pub(super) struct OpenDrafts {
    pub(super) workspace: Workspace,
    pub(super) set: SetPath,
    pub(super) file: SetFile,
    pub(super) drafts: SetDrafts,
}

impl OpenDrafts {
    pub(super) fn open(set_file: &Path) -> anyhow::Result<OpenDrafts> {
        // A missing path is answered with a similar one.
        named_path(set_file).with_context(|| set_file.display().to_string())?;
        if !set_file.is_file() {
            bail!("{}: name the file of a set", set_file.display());
        }
        let whole =
            dunce::canonicalize(set_file).with_context(|| set_file.display().to_string())?;
        // A link is written where it leads, after a question.
        let whole = match set_file.is_symlink() {
            true => std::path::absolute(set_file)?,
            false => whole,
        };
        let folder = whole.parent().unwrap_or(Path::new("."));
        let workspace = Workspace::open(&root_of(folder))?;
        let set = workspace.set_path(&whole);
        let file = open_set(&set).with_context(|| set.shown.clone())?.file;
        // A file that no case can be added to is an error before anything else.
        append_cases(&file, &[EvalCase::default()]).with_context(|| set.shown.clone())?;
        Ok(OpenDrafts {
            drafts: SetDrafts::read(&set.path).map_err(anyhow::Error::msg)?,
            workspace,
            set,
            file,
        })
    }

    /// The path of the drafts below the folder.
    pub(super) fn shown_path(&self) -> String {
        path_below(&self.workspace.root, &self.drafts.path)
    }

    /// The positions of the drafts that were not dropped: those with these ids, or all. Errors: an id that no draft has, or one
    /// that is not meant.
    pub(super) fn chosen(&self, ids: &[String], only: Only) -> anyhow::Result<BTreeSet<usize>> {
        let by_id: HashMap<&str, &Draft> = self
            .drafts
            .cases()
            .map(|(_, draft, case)| (case.eval_id.as_str(), draft))
            .collect();
        for wanted in ids {
            match by_id.get(wanted.as_str()) {
                Some(draft) if only.includes(draft) => {}
                Some(_) if only == Only::Kept => {
                    bail!("the expectation of {wanted:?} is to be decided; leave out --kept");
                }
                Some(_) => bail!("{wanted:?} is not verified; leave out --verified"),
                None => {
                    let meant = did_you_mean(wanted, by_id.keys());
                    bail!("{} has no draft {wanted:?}{meant}", self.shown_path());
                }
            }
        }
        let ids: HashSet<&str> = ids.iter().map(String::as_str).collect();
        let is_chosen = |draft: &Draft, case: &EvalCase| {
            (ids.is_empty() || ids.contains(case.eval_id.as_str())) && only.includes(draft)
        };
        let chosen = self
            .drafts
            .cases()
            .filter(|(_, draft, case)| is_chosen(draft, case));
        Ok(chosen.map(|(at, ..)| at).collect())
    }

    /// Makes edits of the set and its drafts, as one step.
    pub(super) fn make(&self, words: &str, jobs: &[FileEdit]) -> anyhow::Result<()> {
        let done = make_asking(&self.workspace.root, words, jobs)?;
        done.note.iter().for_each(|note| print_note(note));
        Ok(())
    }
}

/// Shorter ids are padded up to this width.
const MAX_PADDING: usize = 50;
/// The width of the longest [`expectation`].
const EXPECTATION_WIDTH: usize = "expectation to decide".len();

/// What is known of the expectation of a draft: the verdict of an agent's attempts, else where it is from.
fn expectation(draft: &Draft) -> String {
    match &draft.check {
        Some(CheckedDraft { check, .. }) => {
            format!("{} in {}", check.verdict.name(), check.attempts)
        }
        None if draft.keeps_expectation => "expectation kept".into(),
        None => "expectation to decide".into(),
    }
}

/// A line for each draft: its id, what differs, and what its expectation is.
pub(super) fn draft_lines(drafts: &[&Draft]) -> Vec<String> {
    let id = |draft: &Draft| {
        let id = draft.case().map(|case| case.eval_id.clone());
        clean_line(&id.unwrap_or_default()).into_owned()
    };
    let ids: Vec<String> = drafts.iter().map(|draft| id(draft)).collect();
    let width = ids.iter().map(|id| id.width()).max().unwrap_or(0);
    let width = width.min(MAX_PADDING);
    let line = |(draft, id): (&&Draft, &String)| {
        let expectation = format!("{:1$}", expectation(draft), EXPECTATION_WIDTH);
        let gap = " ".repeat(width.saturating_sub(id.width()));
        format!("{id}{gap}  {expectation}  {}", clean_line(&draft.summary()))
    };
    drafts.iter().zip(&ids).map(line).collect()
}
