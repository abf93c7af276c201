//! Cases and sets that come, go, move and get other names.

use super::show;
use crate::domain::{
    CaseNotes, Content, Conversation, EvalCase, Invocation, Trajectory, clean_line, eval_id_error, free_id,
    set_id_error,
};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::effect::Effect;
use crate::explorer::effect::SetEffect;
use crate::explorer::global;
use crate::explorer::model::{Model, Screen};
use crate::explorer::overlays::ask::{self, Purpose};
use crate::explorer::overlays::follow_all;
use crate::explorer::overlays::proposal::{NOTHING, Proposal};
use crate::explorer::screens::browse::state::{Node, Pane};
use crate::explorer::screens::edit;
use crate::explorer::screens::edit::state::EditScreen;
use crate::formats::{Edit, Form, blank_set};
use crate::store::{FileAction, FileJob};
use crate::workspace::notes_path;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const ENDING: &str = ".evalset.json";

pub(crate) fn ask_new_case(model: &mut Model) -> Vec<Effect> {
    let Some(set) = model.current_set() else { return Vec::new() };
    ask::open(model, SetLine::NewCase(set), String::new())
}

pub(crate) fn ask_new_set(model: &mut Model) -> Vec<Effect> {
    let beside = model.current_set().and_then(|set| model.sets[set].path.path.parent());
    let folder = beside.unwrap_or(&model.folder).to_path_buf();
    ask::open(model, SetLine::NewSet(folder), String::new())
}

/// Asks for the id of a copy: of the set under the cursor of the tree, else of the case.
pub(crate) fn ask_copy(model: &mut Model) -> Vec<Effect> {
    if let Some(set) = on_set(model) {
        let folder = folder_of(model, set);
        let id = free_id(&model.sets[set].path.stem, |id| is_set(model, &folder, id));
        return ask::open(model, SetLine::CopySet(set), id);
    }
    let Some(case) = model.current_case() else { return Vec::new() };
    let taken = |id: &str| model.file(case.set).is_some_and(|file| file.eval_ids().any(|other| other == id));
    let id = free_id(&model.eval_id(case), taken);
    ask::open(model, SetLine::CopyCase(case), id)
}

/// Asks for another id: of the set under the cursor of the tree, else of the case.
pub(crate) fn ask_rename(model: &mut Model) -> Vec<Effect> {
    if let Some(set) = on_set(model) {
        let stem = model.sets[set].path.stem.clone();
        return ask::open(model, SetLine::RenameSet(set), stem);
    }
    let Some(case) = model.current_case() else { return Vec::new() };
    let id = model.eval_id(case).into_owned();
    ask::open(model, SetLine::RenameCase(case), id)
}

pub(crate) fn ask_tags(model: &mut Model) -> Vec<Effect> {
    let cases = chosen(model);
    let tags = cases.first().and_then(|case| model.notes(*case)).map(|notes| notes.tags.join(" "));
    ask::open(model, SetLine::Tags(cases), tags.unwrap_or_default())
}

/// Proposes to delete the set under the cursor of the tree, else the selected cases.
pub(crate) fn delete(model: &mut Model) -> Vec<Effect> {
    match on_set(model) {
        Some(set) => delete_set(model, set),
        None => delete_cases(model),
    }
}

/// The set under the cursor of the tree, when that has the keys.
fn on_set(model: &Model) -> Option<usize> {
    let tree = matches!(model.screen, Screen::Browse) && model.browse.pane == Pane::Sets;
    match model.browse.nodes.get(model.browse.node) {
        Some(Node::Set(set)) if tree => Some(*set),
        _ => None,
    }
}

/// The selected cases, or the one under the cursor.
fn chosen(model: &Model) -> Vec<CaseRef> {
    match matches!(model.screen, Screen::Browse) && !model.browse.selected.is_empty() {
        true => model.browse.selected.iter().copied().collect(),
        false => model.current_case().into_iter().collect(),
    }
}

fn folder_of(model: &Model, set: usize) -> PathBuf {
    model.sets[set].path.path.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Whether there is a set of this id in a folder.
fn is_set(model: &Model, folder: &Path, id: &str) -> bool {
    let path = file_of_set(folder, id);
    model.sets.iter().any(|view| view.exists() && view.path.path == path)
}

/// What a line names.
#[derive(Clone, Debug)]
enum SetLine {
    /// A new case in a set.
    NewCase(usize),
    /// A copy of a case.
    CopyCase(CaseRef),
    /// A case, which gets another id.
    RenameCase(CaseRef),
    /// A new set in this folder.
    NewSet(PathBuf),
    /// A copy of a set.
    CopySet(usize),
    /// A set, which gets another id.
    RenameSet(usize),
    /// Tags of cases.
    Tags(Vec<CaseRef>),
}

impl Purpose for SetLine {
    fn prompt(&self, model: &Model) -> Cow<'static, str> {
        let stem = |set: usize| clean_line(&model.sets[set].path.stem).into_owned();
        let words = match self {
            SetLine::NewCase(set) => return format!("new case in {} ", stem(*set)).into(),
            SetLine::CopySet(set) => return format!("copy the set {} as ", stem(*set)).into(),
            SetLine::RenameSet(set) => return format!("rename the set {} to ", stem(*set)).into(),
            SetLine::CopyCase(_) => "copy as ",
            SetLine::RenameCase(_) => "rename to ",
            SetLine::NewSet(_) => "new set ",
            SetLine::Tags(_) => "tags ",
        };
        words.into()
    }

    fn example(&self) -> &'static str {
        match self {
            SetLine::Tags(_) => "words separated by spaces; empty removes all tags",
            _ => "an id",
        }
    }

    fn wrong(&self, model: &Model, typed: &str) -> Option<String> {
        let among = |set: usize, but: Option<usize>| {
            let file = model.file(set)?;
            let others =
                file.eval_ids().enumerate().filter(move |(at, _)| Some(*at) != but).map(|(_, id)| id);
            eval_id_error(typed, others)
        };
        let set_id = |folder: &Path| {
            let typed = typed.trim_end_matches(ENDING);
            let taken = is_set(model, folder, typed);
            set_id_error(typed).or(taken.then(|| format!("a set {typed} already exists here")))
        };
        match self {
            SetLine::NewCase(set) => among(*set, None),
            SetLine::CopyCase(case) => among(case.set, None),
            SetLine::RenameCase(case) => among(case.set, Some(case.index)),
            SetLine::NewSet(folder) => set_id(folder),
            SetLine::RenameSet(set) if typed == model.sets[*set].path.stem => None,
            SetLine::CopySet(set) | SetLine::RenameSet(set) => set_id(&folder_of(model, *set)),
            SetLine::Tags(_) => None,
        }
    }

    fn accept(&self, model: &mut Model, typed: &str) -> Vec<Effect> {
        match self {
            SetLine::NewCase(set) => new_case(model, *set, typed.to_string()),
            SetLine::CopyCase(case) => copy_case(model, *case, typed.to_string()),
            SetLine::RenameCase(case) => rename_case(model, *case, typed.to_string()),
            SetLine::NewSet(folder) => new_set(model, folder, typed.trim_end_matches(ENDING)),
            SetLine::CopySet(set) => copy_set(model, *set, typed.trim_end_matches(ENDING)),
            SetLine::RenameSet(set) => {
                let id = typed.trim_end_matches(ENDING);
                rename_set(model, *set, id, file_of_set(&folder_of(model, *set), id))
            }
            SetLine::Tags(cases) => tag(model, cases, typed),
        }
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        match self {
            SetLine::CopyCase(case) | SetLine::RenameCase(case) => {
                new(*case).map(|now| *case = now).is_some()
            }
            SetLine::Tags(cases) => follow_all(cases, new),
            _ => true,
        }
    }
}

fn copy_case(model: &mut Model, case: CaseRef, to: String) -> Vec<Effect> {
    let words = format!("copy {} as {to}", model.eval_id(case));
    let (from, edit) = (model.eval_id(case).into_owned(), Edit::Copy(case.index, to.clone()));
    with_notes(model, case.set, vec![edit], words, move |notes| {
        if let Some(kept) = notes.get(&from).cloned() {
            notes.insert(to, kept);
        }
    })
}

/// Opens the editor on a case that the file does not have yet.
fn new_case(model: &mut Model, set: usize, eval_id: String) -> Vec<Effect> {
    let Some(file) = model.file(set).cloned() else { return Vec::new() };
    if file.form == Form::TurnList {
        return global::notify(
            model,
            "files of this older format contain exactly one conversation".into(),
            true,
        );
    }
    // A case begins as its neighbours do: for the same application and user.
    let session_input = file.len().checked_sub(1).and_then(|last| file.case(last).ok()?.session_input);
    let known = Trajectory::Listed { calls: Vec::new(), responses: Vec::new(), texts: Vec::new() };
    let turn = Invocation { user: Content::text("user", ""), trajectory: known, ..Invocation::default() };
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
    let at = CaseRef { set, index: file.len() };
    let mut screen = EditScreen::new(at, file, case, false);
    screen.is_new = true;
    screen.cursor = 2;
    model.screen = Screen::Edit(Box::new(screen));
    let mut effects = vec![Effect::Sets(SetEffect::CollectTools(set))];
    effects.extend(edit::edit_field(model));
    effects
}

fn rename_case(model: &mut Model, case: CaseRef, to: String) -> Vec<Effect> {
    let Some(file) = model.file(case.set) else { return Vec::new() };
    match file.case(case.index) {
        Ok(before) => {
            let words = format!("rename {} to {to}", before.eval_id);
            let (from, new) = (before.eval_id.clone(), to.clone());
            let meant = EvalCase { eval_id: to, ..before };
            with_notes(model, case.set, vec![Edit::Case(case.index, Box::new(meant))], words, move |notes| {
                if let Some(kept) = notes.remove(&from) {
                    notes.insert(new, kept);
                }
            })
        }
        Err(problem) => global::notify(model, problem.to_string(), true),
    }
}

fn delete_cases(model: &mut Model) -> Vec<Effect> {
    let cases = chosen(model);
    let sets: BTreeSet<usize> = cases.iter().map(|case| case.set).collect();
    let Some(&set) = sets.first().filter(|_| sets.len() == 1) else {
        return global::notify(model, "select cases of one set".into(), true);
    };
    let ids: Vec<String> = cases.iter().map(|case| model.eval_id(*case).into_owned()).collect();
    let words = match ids.as_slice() {
        [id] => format!("delete {id}"),
        ids => format!("delete {} cases", ids.len()),
    };
    let gone = cases.iter().map(|case| case.index).collect();
    with_notes(model, set, vec![Edit::Remove(gone)], words, move |notes| {
        ids.iter().for_each(|id| drop(notes.remove(id)));
    })
}

/// Proposes edits of a set, with what is kept beside it.
fn with_notes(
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
        Err(why) => global::notify(model, why, true),
    }
}

/// What is done to the file beside a set; nothing when it stays.
pub(crate) fn notes_job(
    model: &Model,
    set: usize,
    change: impl FnOnce(&mut BTreeMap<String, CaseNotes>),
) -> Result<Option<FileJob>, String> {
    let view = &model.sets[set];
    let mut meant = view.notes.cases.clone();
    change(&mut meant);
    meant.retain(|_, notes| !notes.is_empty());
    if meant == view.notes.cases {
        return Ok(None);
    }
    let change = view.notes.change(&meant).map_err(|error| error.to_string())?;
    let path = notes_path(&view.path.path);
    let action = match &view.notes.text {
        Some(text) => FileAction::Change(text.clone(), change),
        None => FileAction::Create(change.apply("").unwrap_or_default()),
    };
    Ok(Some(FileJob { path, action }))
}

fn add_job(proposal: &mut Proposal, job: FileJob, model: &Model) {
    let more = Proposal::new(String::new(), vec![job], |job| shown(model, &job.path));
    proposal.jobs.extend(more.jobs);
    proposal.lines.extend(more.lines);
}

/// A path as sets are shown: relative to the workspace where a set in the same folder is, else the file's name.
pub(super) fn shown(model: &Model, path: &Path) -> String {
    let beside = model.sets.iter().find(|view| view.path.path.parent() == path.parent());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match beside.and_then(|view| view.path.shown.rsplit_once(['/', '\\'])) {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name,
    }
}

pub(super) fn file_of_set(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}{ENDING}"))
}

fn new_set(model: &mut Model, folder: &Path, id: &str) -> Vec<Effect> {
    let path = file_of_set(folder, id);
    let text = blank_set(id, None, model.opened_at + model.now);
    let job = FileJob { path, action: FileAction::Create(text) };
    let proposal = Proposal::new(format!("create the set {id}"), vec![job], |job| shown(model, &job.path));
    show(model, proposal)
}

fn delete_set(model: &mut Model, set: usize) -> Vec<Effect> {
    let Some(file) = model.file(set) else { return Vec::new() };
    let view = &model.sets[set];
    let mut jobs =
        vec![FileJob { path: view.path.path.clone(), action: FileAction::Delete(file.shared_text()) }];
    if let Some(text) = &view.notes.text {
        jobs.push(FileJob { path: notes_path(&view.path.path), action: FileAction::Delete(text.clone()) });
    }
    let words = format!("delete the set {} and its {} cases", view.path.stem, file.len());
    let proposal = Proposal::new(words, jobs, |job| shown(model, &job.path));
    show(model, proposal)
}

/// A set of the same cases under another id, with what is kept beside it.
fn copy_set(model: &mut Model, set: usize, id: &str) -> Vec<Effect> {
    let Some(file) = model.file(set) else { return Vec::new() };
    let view = &model.sets[set];
    let change = match file.form {
        Form::EvalSet => crate::formats::plan(file, &[Edit::Set("eval_set_id", id.to_string())]),
        _ => Ok(Default::default()),
    };
    let text = match change {
        Ok(change) => change.apply(file.text()).unwrap_or_default(),
        Err(error) => return global::notify(model, error.to_string(), true),
    };
    let to = file_of_set(&folder_of(model, set), id);
    let words = format!("copy the set {} as {id}", view.path.stem);
    let mut jobs = vec![FileJob { path: to.clone(), action: FileAction::Create(text) }];
    if let Some(notes) = &view.notes.text {
        jobs.push(FileJob { path: notes_path(&to), action: FileAction::Create(notes.to_string()) });
    }
    let proposal = Proposal::new(words, jobs, |job| shown(model, &job.path));
    show(model, proposal)
}

/// The file gets another name, and the set another id: ADK finds a set by its file and runs it by its id.
fn rename_set(model: &mut Model, set: usize, id: &str, to: PathBuf) -> Vec<Effect> {
    let Some(file) = model.file(set).cloned() else { return Vec::new() };
    let view = &model.sets[set];
    let change = match file.form {
        Form::EvalSet => crate::formats::plan(&file, &[Edit::Set("eval_set_id", id.to_string())]),
        _ => Ok(Default::default()),
    };
    let change = match change {
        Ok(change) => change,
        Err(error) => return global::notify(model, error.to_string(), true),
    };
    let new = change.apply(file.text()).unwrap_or_default();
    let (from_notes, to_notes) = (notes_path(&view.path.path), notes_path(&to));
    let seen =
        FileJob { path: view.path.path.clone(), action: FileAction::Change(file.shared_text(), change) };
    let words = format!("rename the set {} to {id}", view.path.stem);
    let mut jobs = vec![
        FileJob { path: to, action: FileAction::Create(new) },
        FileJob { path: view.path.path.clone(), action: FileAction::Delete(file.shared_text()) },
    ];
    if let Some(text) = &view.notes.text {
        jobs.push(FileJob { path: to_notes, action: FileAction::Create(text.to_string()) });
        jobs.push(FileJob { path: from_notes, action: FileAction::Delete(text.clone()) });
    }
    // What is shown is the change of the text, not a file that goes and one that comes.
    let heading = format!("{}  →  {}", view.path.shown, shown(model, &jobs[0].path));
    let mut proposal = Proposal::new(words, vec![seen], |_| heading.clone());
    proposal.jobs = jobs;
    show(model, proposal)
}

/// The sets that the selected cases, or the set under the cursor, could move to, each with its path.
pub(crate) fn targets(model: &Model) -> Vec<(usize, String)> {
    let from: BTreeSet<usize> = match on_set(model) {
        Some(set) => {
            // A set moves to another folder: to where one of these is.
            let here = model.sets[set].path.path.parent();
            model.listed_sets().filter(|at| model.sets[*at].path.path.parent() == here).collect()
        }
        None => chosen(model).iter().map(|case| case.set).collect(),
    };
    let other =
        |at: &usize| !from.contains(at) && model.file(*at).is_some_and(|file| file.form == Form::EvalSet);
    model.listed_sets().filter(other).map(|at| (at, model.sets[at].path.shown.clone())).collect()
}

/// Moves the chosen cases of one set to another.
pub(crate) fn move_to(model: &mut Model, target: usize) -> Vec<Effect> {
    if let Some(set) = on_set(model) {
        let from = &model.sets[set].path;
        let to = model.sets[target].path.path.with_file_name(from.path.file_name().unwrap_or_default());
        let id = from.stem.clone();
        return rename_set(model, set, &id, to);
    }
    match moved(model, target) {
        Ok(proposal) => show(model, proposal),
        Err(why) => global::notify(model, why, true),
    }
}

fn moved(model: &Model, target: usize) -> Result<Proposal, String> {
    let cases = chosen(model);
    let sets: BTreeSet<usize> = cases.iter().map(|case| case.set).collect();
    let &source = sets.first().filter(|_| sets.len() == 1).ok_or("select cases of one set")?;
    let (from, to) = (model.file(source), model.file(target));
    let (from, to) = from.zip(to).ok_or("the file is not read yet")?;
    let mut text = to.clone();
    let mut ids = Vec::new();
    for case in &cases {
        let read = from.case(case.index).map_err(|problem| problem.to_string())?;
        if let Some(why) = eval_id_error(&read.eval_id, text.eval_ids()) {
            return Err(why);
        }
        ids.push(read.eval_id.clone());
        let change = crate::formats::append_case(&text, from, case.index);
        let after = change.map_err(|error| error.to_string())?.apply(text.text()).unwrap_or_default();
        let opened =
            crate::formats::SetFile::open(after.into(), "").map_err(|problem| problem.to_string())?;
        text = std::sync::Arc::new(opened);
    }
    let gone = cases.iter().map(|case| case.index).collect();
    let what = if ids.len() == 1 { ids[0].clone() } else { format!("{} cases", ids.len()) };
    let words = format!("move {what} to {}", model.sets[target].path.stem);
    let mut proposal = model.propose(source, vec![Edit::Remove(gone)], words)?;
    let grown = crate::formats::json::TextChange::one(0, to.text(), text.text());
    let action = FileAction::Change(to.shared_text(), grown);
    add_job(&mut proposal, FileJob { path: model.sets[target].path.path.clone(), action }, model);
    let kept: Vec<(String, CaseNotes)> =
        ids.iter().filter_map(|id| Some((id.clone(), model.sets[source].notes.of(id)?.clone()))).collect();
    let take = |notes: &mut BTreeMap<String, CaseNotes>| ids.iter().for_each(|id| drop(notes.remove(id)));
    let jobs = [notes_job(model, source, take)?, notes_job(model, target, |notes| notes.extend(kept))?];
    jobs.into_iter().flatten().for_each(|job| add_job(&mut proposal, job, model));
    proposal.meant = None;
    Ok(proposal)
}

fn tag(model: &mut Model, cases: &[CaseRef], typed: &str) -> Vec<Effect> {
    let tags: Vec<String> =
        typed.split([' ', ',']).filter(|tag| !tag.is_empty()).map(str::to_string).collect();
    let mut by_set: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for case in cases {
        by_set.entry(case.set).or_default().push(model.eval_id(*case).into_owned());
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
            Err(why) => return global::notify(model, why, true),
        }
    }
    if jobs.is_empty() {
        return global::notify(model, NOTHING.into(), false);
    }
    let what = if cases.len() == 1 {
        model.eval_id(cases[0]).into_owned()
    } else {
        format!("{} cases", cases.len())
    };
    let words = format!("tag {what}");
    let proposal = Proposal::new(words, jobs, |job| shown(model, &job.path));
    show(model, proposal)
}
