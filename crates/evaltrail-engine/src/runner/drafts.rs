//! The drafts of a set: what adds them to it, and what drops them, as edits of files.

use super::derived_drafts::source_digest;
use crate::store::{FileAction, FileEdit};
use crate::workspace::{drafts_path, read_text};
use evaltrail_core::analysis::PROVENANCE_KEY;
use evaltrail_core::domain::{EvalCase, eval_id_error};
use evaltrail_core::formats::json::TextChange;
use evaltrail_core::formats::{
    CheckedDraft, Draft, DraftContent, SetFile, append_cases, read_drafts, write_drafts,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file of the drafts of a set, as it was read.
#[derive(Clone, Debug, Default)]
pub struct SetDrafts {
    /// The file of the drafts.
    pub path: PathBuf,
    /// The drafts, with those that were dropped.
    pub drafts: Vec<Draft>,
    /// The text of the file; `None` if there is none.
    text: Option<Arc<str>>,
    /// When it was read, in Unix seconds: accepted cases are created then.
    read_at: f64,
}

impl SetDrafts {
    /// Reads the drafts of a set. There are none when there is no file.
    ///
    /// # Errors
    ///
    /// A message with the path: the file cannot be read, or a line is not a draft.
    pub fn read(set: &Path) -> Result<SetDrafts, String> {
        let path = drafts_path(set);
        let read_at = jiff::Timestamp::now().as_microsecond() as f64 / 1e6;
        if !path.is_file() {
            return Ok(SetDrafts {
                path,
                read_at,
                ..SetDrafts::default()
            });
        }
        let told = |why: String| format!("{}: {why}", path.display());
        let text = read_text(&path).map_err(|error| told(error.to_string()))?;
        let drafts = read_drafts(&text).map_err(|problem| told(problem.to_string()))?;
        Ok(SetDrafts {
            path,
            drafts,
            text: Some(Arc::from(text)),
            read_at,
        })
    }

    /// The drafts that can be accepted, each with its position and its case.
    pub fn cases(&self) -> impl Iterator<Item = (usize, &Draft, &EvalCase)> {
        let drafts = self.drafts.iter().enumerate();
        drafts.filter_map(|(at, draft)| Some((at, draft, draft.case()?)))
    }

    /// The number of drafts that were dropped.
    pub fn dropped(&self) -> usize {
        self.drafts.len() - self.cases().count()
    }

    /// Whether the source of a draft was changed or removed since the draft was derived.
    pub fn is_stale(draft: &Draft, file: &SetFile) -> bool {
        let mut sources = file.positions_of(&draft.source);
        !draft.source_digest.is_empty()
            && !sources.any(|at| source_digest(file, at) == draft.source_digest)
    }

    /// Without the drafts whose sources changed, which can be derived again, and their number.
    pub fn without_stale(self, file: &SetFile) -> (SetDrafts, usize) {
        let before = self.drafts.len();
        let is_fresh = |draft: &Draft| draft.case().is_none() || !SetDrafts::is_stale(draft, file);
        let drafts: Vec<Draft> = self.drafts.into_iter().filter(is_fresh).collect();
        let stale = before - drafts.len();
        (SetDrafts { drafts, ..self }, stale)
    }

    /// The edit after which there are these drafts as well.
    pub fn adding(&self, new: &[Draft]) -> FileEdit {
        let all: Vec<Draft> = self.drafts.iter().chain(new).cloned().collect();
        self.replace(&all)
    }

    /// The edits that add the cases of some drafts to a set, and remove the drafts.
    ///
    /// # Errors
    ///
    /// A message: the set cannot be edited, the id of a draft is not valid or taken, or the source of a draft changed.
    pub fn accepting(
        &self,
        (set, file): (&Path, &SetFile),
        chosen: &BTreeSet<usize>,
    ) -> Result<[FileEdit; 2], String> {
        let mut taken: BTreeSet<String> = file.eval_ids().map(|id| id.into_owned()).collect();
        let mut cases: Vec<EvalCase> = Vec::new();
        for (_, draft, case) in self.cases().filter(|(at, ..)| chosen.contains(at)) {
            let id = &case.eval_id;
            if SetDrafts::is_stale(draft, file) {
                return Err(format!(
                    "{}: its source {:?} was changed or removed since; `evaltrail generate` derives it again",
                    id, draft.source
                ));
            }
            if let Some(why) = eval_id_error(id, std::iter::empty()) {
                return Err(why);
            }
            if !taken.insert(id.clone()) {
                let path = self.path.display();
                return Err(format!(
                    "there is a case {id:?} already; drop the draft, or give it another id in {path}"
                ));
            }
            let mut case = EvalCase {
                created: self.read_at,
                ..case.clone()
            };
            add_check_to_provenance(&mut case, draft);
            cases.push(case);
        }
        let change = append_cases(file, &cases).map_err(|error| error.to_string())?;
        let left = self.drafts.iter().enumerate();
        let left: Vec<Draft> = left
            .filter(|(at, _)| !chosen.contains(at))
            .map(|(_, draft)| draft.clone())
            .collect();
        let of_set = FileEdit {
            path: set.to_path_buf(),
            action: FileAction::Change(file.shared_text(), change),
        };
        Ok([of_set, self.replace(&left)])
    }

    /// The drafts, some of them with the calls of the agent as the expected ones.
    ///
    /// # Errors
    ///
    /// A message: the agent did not always make the same other calls with one of them.
    pub fn with_agent_calls(&self, chosen: &BTreeSet<usize>) -> Result<SetDrafts, String> {
        let mut drafts = self.drafts.clone();
        for at in chosen {
            let Some(draft) = drafts.get_mut(*at) else {
                continue;
            };
            let agent_case = draft
                .check
                .as_mut()
                .and_then(|check| check.agent_case.take());
            let Some(case) = agent_case else {
                let id = draft.case().map_or("", |case| &case.eval_id);
                return Err(format!(
                    "{id}: only a disputed draft has calls of the agent to take; `evaltrail drafts --verify` finds out"
                ));
            };
            draft.content = DraftContent::Case(case);
            draft.text = None;
        }
        Ok(SetDrafts {
            drafts,
            ..self.clone()
        })
    }

    /// The edit after which drafts have what an agent did with them, and the number of those that were changed or removed since.
    pub fn with_checks(&self, checked: &[Draft]) -> (FileEdit, usize) {
        let mut drafts = self.drafts.clone();
        let mut missing = 0;
        for one in checked {
            let same = drafts
                .iter_mut()
                .find(|draft| draft.key() == one.key() && draft.content == one.content);
            match (same, &one.check) {
                (Some(draft), Some(check)) => *draft = draft.with_check(check.clone()),
                _ => missing += 1,
            }
        }
        (self.replace(&drafts), missing)
    }

    /// The edit after which there are new drafts as well, except those that were added since.
    pub fn adding_new(&self, new: &[Draft]) -> FileEdit {
        let is_new = |one: &&Draft| !self.drafts.iter().any(|draft| draft.key() == one.key());
        let new: Vec<Draft> = new.iter().filter(is_new).cloned().collect();
        self.adding(&new)
    }

    /// The edit that drops some drafts.
    pub fn dropping(&self, chosen: &BTreeSet<usize>, reason: &str) -> FileEdit {
        let drafts = self.drafts.iter().enumerate();
        let drafts: Vec<Draft> = drafts
            .map(|(at, draft)| match chosen.contains(&at) {
                true => draft.dropped(reason),
                false => draft.clone(),
            })
            .collect();
        self.replace(&drafts)
    }

    fn replace(&self, drafts: &[Draft]) -> FileEdit {
        let new = write_drafts(drafts);
        let action = match &self.text {
            None => FileAction::Create(new),
            Some(old) if drafts.is_empty() => FileAction::Delete(old.clone()),
            Some(old) => FileAction::Change(old.clone(), TextChange::one(0, old, &new)),
        };
        FileEdit {
            path: self.path.clone(),
            action,
        }
    }
}

/// Adds to the provenance of a case what an agent did with its draft.
fn add_check_to_provenance(case: &mut EvalCase, draft: &Draft) {
    let Some(CheckedDraft { check, .. }) = &draft.check else {
        return;
    };
    let provenance = case.extra.get_mut(PROVENANCE_KEY);
    if let Some(provenance) = provenance.and_then(Value::as_object_mut) {
        provenance.insert("verdict".into(), check.verdict.name().into());
        provenance.insert("verified_attempts".into(), check.attempts.into());
    }
}
