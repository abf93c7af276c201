//! Cases that are added, copied, renamed, moved, tagged and deleted.

use super::notes::{add_job, notes_job, with_notes};
use super::set_files::shown_path;
use super::show;
use crate::explorer::authoring::proposal::{NOTHING, Proposal};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, ScreenRequest};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use evaltrail_core::domain::{
    CaseNotes, Content, Conversation, EvalCase, Invocation, Trajectory, eval_id_error,
};
use evaltrail_core::formats::{Edit, FileFormat};
use evaltrail_engine::store::{FileAction, FileEdit};
use std::collections::{BTreeMap, BTreeSet};

/// The selected cases, or the one under the cursor.
pub(super) fn chosen(model: &Model) -> Vec<CaseRef> {
    match model.is_on(Context::Browse) && !model.view.browse.selected.is_empty() {
        true => model.view.browse.selected.iter().copied().collect(),
        false => model.current_case().into_iter().collect(),
    }
}

pub(super) fn copy_case(model: &mut Model, case: CaseRef, to: String) -> Vec<Effect> {
    let words = format!("copy {} as {to}", model.eval_id(case));
    let (from, edit) = (
        model.eval_id(case).into_owned(),
        Edit::Copy(case.index, to.clone()),
    );
    with_notes(model, case.set, vec![edit], words, move |notes| {
        if let Some(kept) = notes.get(&from).cloned() {
            notes.insert(to, kept);
        }
    })
}

/// Opens the editor on a case that the file does not have yet.
pub(super) fn new_case(model: &mut Model, set: usize, eval_id: String) -> Vec<Effect> {
    let Some(file) = model.file(set).cloned() else {
        return Vec::new();
    };
    if file.form == FileFormat::TurnList {
        return notices::notify(
            model,
            "files of this older format contain exactly one conversation".into(),
            true,
        );
    }
    // A case begins as its neighbours do: for the same application and user.
    let session_input = file
        .len()
        .checked_sub(1)
        .and_then(|last| file.case(last).ok()?.session_input);
    let known = Trajectory::Listed {
        calls: Vec::new(),
        responses: Vec::new(),
        texts: Vec::new(),
    };
    let turn = Invocation {
        user: Content::text("user", ""),
        trajectory: known,
        ..Invocation::default()
    };
    let case = EvalCase {
        eval_id,
        conversation: Conversation::Turns(vec![turn]),
        session_input: session_input.map(|mut input| {
            input.state.clear();
            input
        }),
        created: model.opened_at + model.now,
        ..EvalCase::default()
    };
    let at = CaseRef {
        set,
        index: file.len(),
    };
    vec![ScreenRequest::EditNewCase(at, Box::new(case)).into()]
}

pub(super) fn rename_case(model: &mut Model, case: CaseRef, to: String) -> Vec<Effect> {
    let Some(file) = model.file(case.set) else {
        return Vec::new();
    };
    match file.case(case.index) {
        Ok(before) => {
            let words = format!("rename {} to {to}", before.eval_id);
            let (from, new) = (before.eval_id.clone(), to.clone());
            let meant = EvalCase {
                eval_id: to,
                ..before
            };
            with_notes(
                model,
                case.set,
                vec![Edit::Case(case.index, Box::new(meant))],
                words,
                move |notes| {
                    if let Some(kept) = notes.remove(&from) {
                        notes.insert(new, kept);
                    }
                },
            )
        }
        Err(problem) => notices::notify(model, problem.to_string(), true),
    }
}

pub(super) fn delete_cases(model: &mut Model) -> Vec<Effect> {
    let cases = chosen(model);
    let sets: BTreeSet<usize> = cases.iter().map(|case| case.set).collect();
    let Some(&set) = sets.first().filter(|_| sets.len() == 1) else {
        return notices::notify(model, "select cases of one set".into(), true);
    };
    let ids: Vec<String> = cases
        .iter()
        .map(|case| model.eval_id(*case).into_owned())
        .collect();
    let words = match ids.as_slice() {
        [id] => format!("delete {id}"),
        ids => format!("delete {} cases", ids.len()),
    };
    let gone = cases.iter().map(|case| case.index).collect();
    with_notes(model, set, vec![Edit::Remove(gone)], words, move |notes| {
        ids.iter().for_each(|id| drop(notes.remove(id)));
    })
}

/// The proposal that moves the chosen cases of one set to another.
pub(super) fn move_cases(model: &Model, target: usize) -> Result<Proposal, String> {
    let cases = chosen(model);
    let sets: BTreeSet<usize> = cases.iter().map(|case| case.set).collect();
    let &source = sets
        .first()
        .filter(|_| sets.len() == 1)
        .ok_or("select cases of one set")?;
    let (from, to) = (model.file(source), model.file(target));
    let (from, to) = from.zip(to).ok_or("the file is not read yet")?;
    let mut text = to.clone();
    let mut ids = Vec::new();
    for case in &cases {
        let read = from
            .case(case.index)
            .map_err(|problem| problem.to_string())?;
        if let Some(why) = eval_id_error(&read.eval_id, text.eval_ids()) {
            return Err(why);
        }
        ids.push(read.eval_id.clone());
        let change = evaltrail_core::formats::append_case(&text, from, case.index);
        let after = change
            .map_err(|error| error.to_string())?
            .apply(text.text())
            .unwrap_or_default();
        let opened = evaltrail_core::formats::SetFile::open(after.into(), "")
            .map_err(|problem| problem.to_string())?;
        text = std::sync::Arc::new(opened);
    }
    let gone = cases.iter().map(|case| case.index).collect();
    let what = if ids.len() == 1 {
        ids[0].clone()
    } else {
        format!("{} cases", ids.len())
    };
    let words = format!("move {what} to {}", model.view.sets[target].path.stem);
    let mut proposal = model.propose(source, vec![Edit::Remove(gone)], words)?;
    let grown = evaltrail_core::formats::json::TextChange::one(0, to.text(), text.text());
    let action = FileAction::Change(to.shared_text(), grown);
    add_job(
        &mut proposal,
        FileEdit {
            path: model.view.sets[target].path.path.clone(),
            action,
        },
        model,
    );
    let kept: Vec<(String, CaseNotes)> = ids
        .iter()
        .filter_map(|id| {
            Some((
                id.clone(),
                model.view.sets[source].notes.for_case(id)?.clone(),
            ))
        })
        .collect();
    let take =
        |notes: &mut BTreeMap<String, CaseNotes>| ids.iter().for_each(|id| drop(notes.remove(id)));
    let jobs = [
        notes_job(model, source, take)?,
        notes_job(model, target, |notes| notes.extend(kept))?,
    ];
    jobs.into_iter()
        .flatten()
        .for_each(|job| add_job(&mut proposal, job, model));
    proposal.meant = None;
    Ok(proposal)
}

pub(super) fn tag(model: &mut Model, cases: &[CaseRef], typed: &str) -> Vec<Effect> {
    let tags: Vec<String> = typed
        .split([' ', ','])
        .filter(|tag| !tag.is_empty())
        .map(str::to_string)
        .collect();
    let mut by_set: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for case in cases {
        by_set
            .entry(case.set)
            .or_default()
            .push(model.eval_id(*case).into_owned());
    }
    let mut jobs = Vec::new();
    for (set, ids) in by_set {
        let job = notes_job(model, set, |notes| {
            for id in &ids {
                notes.entry(id.clone()).or_default().tags = tags.clone();
            }
        });
        match job {
            Ok(job) => jobs.extend(job),
            Err(why) => return notices::notify(model, why, true),
        }
    }
    if jobs.is_empty() {
        return notices::notify(model, NOTHING.into(), false);
    }
    let what = if cases.len() == 1 {
        model.eval_id(cases[0]).into_owned()
    } else {
        format!("{} cases", cases.len())
    };
    let words = format!("tag {what}");
    let proposal = Proposal::new(words, jobs, |job| shown_path(model, &job.path));
    show(model, proposal)
}
