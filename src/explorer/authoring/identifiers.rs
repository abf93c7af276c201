//! Questions for a name: the id of a case or set that is new, copied or renamed, and tags.

use super::cases::{chosen, copy_case, new_case, rename_case, tag};
use super::set_files::{ENDING, file_of_set, folder_of, is_set};
use super::sets::{copy_set, new_set, on_set, rename_set};
use crate::explorer::prompts::ask;
use crate::explorer::prompts::ask::Purpose;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::dialog::follow_all;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::model::Model;
use evaltrail_core::domain::{clean_line, eval_id_error, free_id, set_id_error};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub(crate) fn ask_new_case(model: &mut Model) -> Vec<Effect> {
    let Some(set) = model.current_set() else {
        return Vec::new();
    };
    ask::open(model, NamedItem::NewCase(set), String::new())
}

pub(crate) fn ask_new_set(model: &mut Model) -> Vec<Effect> {
    let beside = model
        .current_set()
        .and_then(|set| model.view.sets[set].path.path.parent());
    let folder = beside.unwrap_or(&model.folder).to_path_buf();
    ask::open(model, NamedItem::NewSet(folder), String::new())
}

/// Asks for the id of a copy: of the set under the cursor of the tree, else of the case.
pub(crate) fn ask_copy(model: &mut Model) -> Vec<Effect> {
    if let Some(set) = on_set(model) {
        let folder = folder_of(model, set);
        let id = free_id(&model.view.sets[set].path.stem, |id| {
            is_set(model, &folder, id)
        });
        return ask::open(model, NamedItem::CopySet(set), id);
    }
    let Some(case) = model.current_case() else {
        return Vec::new();
    };
    let taken = |id: &str| {
        model
            .file(case.set)
            .is_some_and(|file| file.eval_ids().any(|other| other == id))
    };
    let id = free_id(&model.eval_id(case), taken);
    ask::open(model, NamedItem::CopyCase(case), id)
}

/// Asks for another id: of the set under the cursor of the tree, else of the case.
pub(crate) fn ask_rename(model: &mut Model) -> Vec<Effect> {
    if let Some(set) = on_set(model) {
        let stem = model.view.sets[set].path.stem.clone();
        return ask::open(model, NamedItem::RenameSet(set), stem);
    }
    let Some(case) = model.current_case() else {
        return Vec::new();
    };
    let id = model.eval_id(case).into_owned();
    ask::open(model, NamedItem::RenameCase(case), id)
}

pub(crate) fn ask_tags(model: &mut Model) -> Vec<Effect> {
    let cases = chosen(model);
    let tags = cases
        .first()
        .and_then(|case| model.notes(*case))
        .map(|notes| notes.tags.join(" "));
    ask::open(model, NamedItem::Tags(cases), tags.unwrap_or_default())
}

/// What a line names.
#[derive(Clone, Debug)]
enum NamedItem {
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

impl Purpose for NamedItem {
    fn prompt(&self, model: &Model) -> Cow<'static, str> {
        let stem = |set: usize| clean_line(&model.view.sets[set].path.stem).into_owned();
        let words = match self {
            NamedItem::NewCase(set) => return format!("new case in {} ", stem(*set)).into(),
            NamedItem::CopySet(set) => return format!("copy the set {} as ", stem(*set)).into(),
            NamedItem::RenameSet(set) => {
                return format!("rename the set {} to ", stem(*set)).into();
            }
            NamedItem::CopyCase(_) => "copy as ",
            NamedItem::RenameCase(_) => "rename to ",
            NamedItem::NewSet(_) => "new set ",
            NamedItem::Tags(_) => "tags ",
        };
        words.into()
    }

    fn example(&self) -> &'static str {
        match self {
            NamedItem::Tags(_) => "words separated by spaces; empty removes all tags",
            _ => "an id",
        }
    }

    fn wrong(&self, model: &Model, typed: &str) -> Option<String> {
        let among = |set: usize, but: Option<usize>| {
            let file = model.file(set)?;
            let others = file
                .eval_ids()
                .enumerate()
                .filter(move |(at, _)| Some(*at) != but)
                .map(|(_, id)| id);
            eval_id_error(typed, others)
        };
        let set_id = |folder: &Path| {
            let typed = typed.trim_end_matches(ENDING);
            let taken = is_set(model, folder, typed);
            set_id_error(typed).or(taken.then(|| format!("a set {typed} already exists here")))
        };
        match self {
            NamedItem::NewCase(set) => among(*set, None),
            NamedItem::CopyCase(case) => among(case.set, None),
            NamedItem::RenameCase(case) => among(case.set, Some(case.index)),
            NamedItem::NewSet(folder) => set_id(folder),
            NamedItem::RenameSet(set) if typed == model.view.sets[*set].path.stem => None,
            NamedItem::CopySet(set) | NamedItem::RenameSet(set) => set_id(&folder_of(model, *set)),
            NamedItem::Tags(_) => None,
        }
    }

    fn accept(&self, model: &mut Model, typed: &str) -> Vec<Effect> {
        match self {
            NamedItem::NewCase(set) => new_case(model, *set, typed.to_string()),
            NamedItem::CopyCase(case) => copy_case(model, *case, typed.to_string()),
            NamedItem::RenameCase(case) => rename_case(model, *case, typed.to_string()),
            NamedItem::NewSet(folder) => new_set(model, folder, typed.trim_end_matches(ENDING)),
            NamedItem::CopySet(set) => copy_set(model, *set, typed.trim_end_matches(ENDING)),
            NamedItem::RenameSet(set) => {
                let id = typed.trim_end_matches(ENDING);
                rename_set(model, *set, id, file_of_set(&folder_of(model, *set), id))
            }
            NamedItem::Tags(cases) => tag(model, cases, typed),
        }
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        match self {
            NamedItem::CopyCase(case) | NamedItem::RenameCase(case) => {
                new(*case).map(|now| *case = now).is_some()
            }
            NamedItem::Tags(cases) => follow_all(cases, new),
            _ => true,
        }
    }
}
