//! Sets that are added, copied, renamed, moved and deleted.

use super::cases::{chosen, delete_cases, move_cases};
use super::set_files::{file_of_set, folder_of, shown_path};
use super::show;
use crate::explorer::authoring::proposal::Proposal;
use crate::explorer::shared::case_list::{Pane, TreeNode};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::set_view::SetView;
use evaltrail_core::formats::{Edit, FileFormat, blank_set};
use evaltrail_engine::store::{FileAction, FileEdit};
use evaltrail_engine::workspace::{notes_path, stubs_path};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Proposes to delete the set under the cursor of the tree, else the selected cases.
pub(crate) fn delete(model: &mut Model) -> Vec<Effect> {
    match on_set(model) {
        Some(set) => delete_set(model, set),
        None => delete_cases(model),
    }
}

/// The set under the cursor of the tree, when that has the keys.
pub(super) fn on_set(model: &Model) -> Option<usize> {
    let tree = model.is_on(Context::Browse) && model.view.browse.pane == Pane::Sets;
    match model.view.browse.nodes.get(model.view.browse.node) {
        Some(TreeNode::Set(set)) if tree => Some(*set),
        _ => None,
    }
}

pub(super) fn new_set(model: &mut Model, folder: &Path, id: &str) -> Vec<Effect> {
    let path = file_of_set(folder, id);
    let text = blank_set(id, None, model.opened_at + model.now);
    let job = FileEdit {
        path,
        action: FileAction::Create(text),
    };
    let proposal = Proposal::new(format!("create the set {id}"), vec![job], |job| {
        shown_path(model, &job.path)
    });
    show(model, proposal)
}

/// The path of a file beside a set.
type PathBeside = fn(&Path) -> PathBuf;

/// The files beside a set that belong to it: its notes, and its stubs.
fn sidecar_texts(view: &SetView) -> impl Iterator<Item = (PathBeside, &Arc<str>)> {
    let files: [(PathBeside, &Option<Arc<str>>); 2] =
        [(notes_path, &view.notes.text), (stubs_path, &view.stubs)];
    files
        .into_iter()
        .filter_map(|(path_of, text)| Some((path_of, text.as_ref()?)))
}

fn delete_set(model: &mut Model, set: usize) -> Vec<Effect> {
    let Some(file) = model.file(set) else {
        return Vec::new();
    };
    let view = &model.view.sets[set];
    let mut jobs = vec![FileEdit {
        path: view.path.path.clone(),
        action: FileAction::Delete(file.shared_text()),
    }];
    for (path_of, text) in sidecar_texts(view) {
        jobs.push(FileEdit {
            path: path_of(&view.path.path),
            action: FileAction::Delete(text.clone()),
        });
    }
    let words = format!(
        "delete the set {} and its {} cases",
        view.path.stem,
        file.len()
    );
    let proposal = Proposal::new(words, jobs, |job| shown_path(model, &job.path));
    show(model, proposal)
}

/// A set of the same cases under another id, with what is kept beside it.
pub(super) fn copy_set(model: &mut Model, set: usize, id: &str) -> Vec<Effect> {
    let Some(file) = model.file(set) else {
        return Vec::new();
    };
    let view = &model.view.sets[set];
    let change = match file.form {
        FileFormat::EvalSet => {
            evaltrail_core::formats::plan(file, &[Edit::Set("eval_set_id", id.to_string())])
        }
        _ => Ok(Default::default()),
    };
    let text = match change {
        Ok(change) => change.apply(file.text()).unwrap_or_default(),
        Err(error) => return notices::notify(model, error.to_string(), true),
    };
    let to = file_of_set(&folder_of(model, set), id);
    let words = format!("copy the set {} as {id}", view.path.stem);
    let mut jobs = vec![FileEdit {
        path: to.clone(),
        action: FileAction::Create(text),
    }];
    for (path_of, text) in sidecar_texts(view) {
        jobs.push(FileEdit {
            path: path_of(&to),
            action: FileAction::Create(text.to_string()),
        });
    }
    let proposal = Proposal::new(words, jobs, |job| shown_path(model, &job.path));
    show(model, proposal)
}

/// The file gets another name, and the set another id: ADK finds a set by its file and runs it by its id.
pub(super) fn rename_set(model: &mut Model, set: usize, id: &str, to: PathBuf) -> Vec<Effect> {
    let Some(file) = model.file(set).cloned() else {
        return Vec::new();
    };
    let view = &model.view.sets[set];
    let change = match file.form {
        FileFormat::EvalSet => {
            evaltrail_core::formats::plan(&file, &[Edit::Set("eval_set_id", id.to_string())])
        }
        _ => Ok(Default::default()),
    };
    let change = match change {
        Ok(change) => change,
        Err(error) => return notices::notify(model, error.to_string(), true),
    };
    let new = change.apply(file.text()).unwrap_or_default();
    let seen = FileEdit {
        path: view.path.path.clone(),
        action: FileAction::Change(file.shared_text(), change),
    };
    let words = format!("rename the set {} to {id}", view.path.stem);
    let mut jobs = vec![
        FileEdit {
            path: to.clone(),
            action: FileAction::Create(new),
        },
        FileEdit {
            path: view.path.path.clone(),
            action: FileAction::Delete(file.shared_text()),
        },
    ];
    for (path_of, text) in sidecar_texts(view) {
        jobs.push(FileEdit {
            path: path_of(&to),
            action: FileAction::Create(text.to_string()),
        });
        jobs.push(FileEdit {
            path: path_of(&view.path.path),
            action: FileAction::Delete(text.clone()),
        });
    }
    // What is shown is the change of the text, not a file that goes and one that comes.
    let heading = format!(
        "{}  →  {}",
        view.path.shown,
        shown_path(model, &jobs[0].path)
    );
    let mut proposal = Proposal::new(words, vec![seen], |_| heading.clone());
    proposal.jobs = jobs;
    show(model, proposal)
}

/// The sets that the selected cases, or the set under the cursor, could move to, each with its path.
pub(crate) fn targets(model: &Model) -> Vec<(usize, String)> {
    let from: BTreeSet<usize> = match on_set(model) {
        Some(set) => {
            // A set moves to another folder: to where one of these is.
            let here = model.view.sets[set].path.path.parent();
            model
                .listed_sets()
                .filter(|at| model.view.sets[*at].path.path.parent() == here)
                .collect()
        }
        None => chosen(model).iter().map(|case| case.set).collect(),
    };
    let other = |at: &usize| {
        !from.contains(at)
            && model
                .file(*at)
                .is_some_and(|file| file.form == FileFormat::EvalSet)
    };
    model
        .listed_sets()
        .filter(other)
        .map(|at| (at, model.view.sets[at].path.shown.clone()))
        .collect()
}

/// Moves the chosen cases of one set to another.
pub(crate) fn move_to(model: &mut Model, target: usize) -> Vec<Effect> {
    if let Some(set) = on_set(model) {
        let from = &model.view.sets[set].path;
        let to = model.view.sets[target]
            .path
            .path
            .with_file_name(from.path.file_name().unwrap_or_default());
        let id = from.stem.clone();
        return rename_set(model, set, &id, to);
    }
    match move_cases(model, target) {
        Ok(proposal) => show(model, proposal),
        Err(why) => notices::notify(model, why, true),
    }
}
