//! Writing of a what-if to the files of the criteria, after the changed lines were shown.

use super::proposal::Proposal;
use super::set_files::shown_path;
use crate::explorer::shared::active_what_if::ActiveWhatIf;
use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use evaltrail_core::metrics::WhatIf;
use evaltrail_engine::store::FileEdit;
use std::collections::BTreeSet;

/// Has the changes of the files computed that write the what-if: the criteria of the listed sets in which it changes an
/// outcome, or of all listed sets if it changes none; and rules, which are for the whole workspace.
pub(crate) fn plan_to_write(model: &mut Model) -> Vec<Effect> {
    let Some(what_if) = &model.view.what_if else {
        return Vec::new();
    };
    let listed = model.view.browse.visible.iter().map(|case| case.set);
    let listed: BTreeSet<usize> = listed.collect();
    let flipped = what_if
        .status_changes
        .iter()
        .map(|status_change| status_change.case.set);
    let flipped: BTreeSet<usize> = flipped.filter(|set| listed.contains(set)).collect();
    let sets = if flipped.is_empty() { listed } else { flipped };
    let plan = ResultEffect::PlanCriteria(what_if.change.clone(), sets.into_iter().collect());
    vec![Effect::Results(plan)]
}

/// The changes of the files are known: shows them, unless another change is tried by now.
pub(crate) fn planned(
    model: &mut Model,
    change: &WhatIf,
    jobs: Result<Vec<FileEdit>, String>,
) -> Vec<Effect> {
    let is_awaited = model.view.open_dialog.is_none()
        && model
            .view
            .what_if
            .as_ref()
            .is_some_and(|what_if| what_if.change == *change);
    match jobs {
        _ if !is_awaited => Vec::new(),
        Ok(jobs) if jobs.is_empty() => {
            if let Some(what_if) = &mut model.view.what_if {
                what_if.is_written = true;
            }
            notices::notify(model, "the files contain this change already".into(), false)
        }
        Ok(jobs) => {
            let words = ActiveWhatIf::edit_text(change);
            let proposal = Proposal::new(words, jobs, |job| shown_path(model, &job.path));
            model.view.open_dialog = Some(Box::new(proposal));
            Vec::new()
        }
        Err(why) => notices::notify(
            model,
            format!("the criteria cannot be changed: {why}"),
            true,
        ),
    }
}
