//! Changes of the notes file beside a set: what is kept about its cases.

use super::set_files::shown_path;
use super::show;
use crate::explorer::authoring::proposal::Proposal;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use evaltrail_core::domain::CaseNotes;
use evaltrail_core::formats::Edit;
use evaltrail_engine::store::{FileAction, FileEdit};
use evaltrail_engine::workspace::notes_path;
use std::collections::BTreeMap;

/// Proposes edits of a set, with what is kept beside it.
pub(super) fn with_notes(
    model: &mut Model,
    set: usize,
    edits: Vec<Edit>,
    words: String,
    change: impl FnOnce(&mut BTreeMap<String, CaseNotes>),
) -> Vec<Effect> {
    let proposed = model.propose(set, edits, words).and_then(|mut proposal| {
        if let Some(job) = notes_job(model, set, change)? {
            add_job(&mut proposal, job, model);
        }
        Ok(proposal)
    });
    match proposed {
        Ok(proposal) => show(model, proposal),
        Err(why) => notices::notify(model, why, true),
    }
}

/// The edit of the file beside a set; `None` if the file does not change.
pub(crate) fn notes_job(
    model: &Model,
    set: usize,
    change: impl FnOnce(&mut BTreeMap<String, CaseNotes>),
) -> Result<Option<FileEdit>, String> {
    let view = &model.view.sets[set];
    let mut meant = view.notes.cases.clone();
    change(&mut meant);
    meant.retain(|_, notes| !notes.is_empty());
    if meant == view.notes.cases {
        return Ok(None);
    }
    let change = view
        .notes
        .change(&meant)
        .map_err(|error| error.to_string())?;
    let path = notes_path(&view.path.path);
    let action = match &view.notes.text {
        Some(text) => FileAction::Change(text.clone(), change),
        None => FileAction::Create(change.apply("").unwrap_or_default()),
    };
    Ok(Some(FileEdit { path, action }))
}

pub(crate) fn add_job(proposal: &mut Proposal, job: FileEdit, model: &Model) {
    let more = Proposal::new(String::new(), vec![job], |job| shown_path(model, &job.path));
    proposal.jobs.extend(more.jobs);
    proposal.lines.extend(more.lines);
}
