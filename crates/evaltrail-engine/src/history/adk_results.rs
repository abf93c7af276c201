//! The attempts of a result of ADK, with the parts of their cases that it does not record.

use super::find_case::find_case;
use crate::store::read_text_file;
use evaltrail_core::domain::{
    Attempt, AttemptKey, AttemptRecords, Derivation, EndedAttempt, EvalCase, InMemory, Status,
};
use evaltrail_core::formats::SetFile;
use evaltrail_core::formats::adk::ResultFile;
use evaltrail_core::metrics::{completed_attempt, explained_attempt};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The attempt of an entry of a result. What the result does not record of the case is as `case` has it now. An entry that
/// cannot be read is an errored attempt, with the reason.
pub(super) fn ended_attempt(
    file: &Arc<ResultFile>,
    at: usize,
    key: AttemptKey,
    case: Option<Arc<EvalCase>>,
    in_memory: InMemory,
) -> EndedAttempt {
    let entry = &file.entries[at];
    let (attempt, unknown) = match file.case(at) {
        Ok(read) => read,
        Err(problem) => {
            return EndedAttempt::unrecorded(Attempt {
                status: Status::Errored,
                adk_status: entry.status.unwrap_or(Status::NotEvaluated),
                error: Some(format!("the result of this case cannot be read: {problem}")),
                ..Attempt::blank(key, &entry.eval_id)
            });
        }
    };
    let again: Derivation = Arc::new(move |recorded: &Attempt| {
        let recorded = Attempt {
            key,
            ..recorded.clone()
        };
        let completed = case
            .as_ref()
            .map(|case| completed_attempt(&recorded, unknown, case));
        explained_attempt(completed.unwrap_or(recorded))
    });
    let now = again(&attempt);
    let records: Arc<dyn AttemptRecords> = file.clone();
    let recorded = EndedAttempt::recorded(attempt, file.recorded_at(at), &records, in_memory);
    EndedAttempt::derived(&Arc::new(recorded), &now, &again)
}

/// The cases of a set by their ids, each read once.
pub(super) struct CasesOfSet<'a> {
    file: Option<&'a SetFile>,
    read: HashMap<String, Option<(usize, Arc<EvalCase>)>>,
}

impl<'a> CasesOfSet<'a> {
    pub(super) fn new(file: Option<&'a SetFile>) -> CasesOfSet<'a> {
        CasesOfSet {
            file,
            read: HashMap::new(),
        }
    }

    /// The position of a case, and the case; `None` if there is none or it is ambiguous.
    pub(super) fn get(&mut self, eval_id: &str) -> Option<(usize, Arc<EvalCase>)> {
        if !self.read.contains_key(eval_id) {
            let found = self.file.and_then(|file| {
                let at = find_case(file, eval_id, "")?;
                Some((at, Arc::new(file.case(at).ok()?)))
            });
            self.read.insert(eval_id.to_string(), found);
        }
        self.read.get(eval_id).cloned().flatten()
    }
}

/// The maximum size of a result file, in bytes.
const MAX_RESULT: u64 = 1 << 30;

pub(super) fn open_result(path: &Path) -> Result<ResultFile, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = read_text_file(path, MAX_RESULT).map_err(|error| named(&error))?;
    ResultFile::open(Arc::from(text)).map_err(|error| named(&error))
}
