//! The cases of a set that a run contains.

use crate::history::{CaseResult, find_case};
use crate::workspace::SetPath;
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::{
    CaseKey, Quarantine, Query, Subject, causes_of_worst_attempt, did_you_mean, search_text,
};
use evaltrail_core::formats::{Notes, SetFile};
use std::collections::BTreeSet;

/// The positions of the selected cases, in the file's order.
pub(super) fn choose(file: &SetFile, selection: &Selection) -> Result<Vec<usize>, String> {
    for id in &selection.ids {
        if file.positions_of(id).next().is_none() {
            let similar = did_you_mean(id, file.eval_ids());
            return Err(format!("there is no case {id:?}{similar}"));
        }
    }
    let mut chosen: BTreeSet<usize> = match &selection.cases {
        None => (0..file.len()).collect(),
        Some(cases) => {
            let found: Vec<Option<usize>> = cases
                .iter()
                .map(|case| find_case(file, &case.eval_id, &case.content))
                .collect();
            if let Some(at) = found.iter().position(Option::is_none) {
                return Err(format!(
                    "case {:?} is no longer in the file",
                    cases[at].eval_id
                ));
            }
            found.into_iter().flatten().collect()
        }
    };
    if !selection.ids.is_empty() {
        let named = selection.ids.iter().flat_map(|id| file.positions_of(id));
        let named: BTreeSet<usize> = named.collect();
        chosen.retain(|at| named.contains(at));
    }
    Ok(chosen.into_iter().collect())
}

/// A case to filter.
pub(super) struct Filtered<'a> {
    pub(super) file: &'a SetFile,
    pub(super) at: usize,
    pub(super) set: &'a SetPath,
    pub(super) agent: &'a str,
    /// The current day, as `2026-12-31`.
    pub(super) day: &'a str,
}

impl Filtered<'_> {
    pub(super) fn fits(&self, query: &Query, notes: &Notes, result: Option<&CaseResult>) -> bool {
        let case = self.file.case(self.at).ok();
        let turns = case.as_ref().map_or(&[][..], |case| case.turns());
        let tools: Vec<String> = turns
            .iter()
            .flat_map(|turn| turn.calls())
            .map(|call| call.name.clone())
            .collect();
        let text: Vec<String> = turns
            .iter()
            .map(|turn| search_text(&turn.user.shown_text()))
            .collect();
        let eval_id = self.file.eval_id(self.at);
        let first = result.and_then(|result| result.attempts.first());
        query.matches(&Subject {
            eval_id: &eval_id,
            set: &self.set.stem,
            agent: self.agent,
            turns: turns.len(),
            text: &text.join("\n"),
            tools: &tools,
            tags: notes
                .for_case(&eval_id)
                .map_or(&[], |notes| notes.tags.as_slice()),
            status: result.map(CaseResult::status),
            unsteady: result.is_some_and(CaseResult::is_unsteady),
            quarantined: quarantine_on(notes, &eval_id, self.day).is_some(),
            flaky: result.is_some_and(|result| PassCount::count(&result.attempts).is_flaky()),
            metrics: first.map_or(&[], |attempt| attempt.metrics.as_slice()),
            causes: result
                .and_then(|result| causes_of_worst_attempt(&result.attempts))
                .unwrap_or_default(),
        })
    }
}

/// Cases of one file.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The file.
    pub set: SetPath,
    /// The cases by id; all when empty.
    pub ids: Vec<String>,
    /// The cases by id and content; all when `None`. Both conditions apply.
    pub cases: Option<Vec<CaseKey>>,
}

impl Selection {
    /// All cases of a file.
    pub fn all(set: SetPath) -> Selection {
        Selection {
            set,
            ids: Vec::new(),
            cases: None,
        }
    }
}

/// The quarantine of a case, if it holds on this day.
pub(super) fn quarantine_on(notes: &Notes, eval_id: &str, day: &str) -> Option<Quarantine> {
    let quarantine = notes.for_case(eval_id)?.quarantine.clone();
    quarantine.filter(|quarantine| quarantine.is_active_on(day))
}
