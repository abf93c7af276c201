//! The decisions of the queue: their counts, and those that are not carried out yet.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::triage::Queue;
use evaltrail_core::domain::{Decision, DecisionKind};
use std::collections::BTreeMap;

/// The decisions of the queue that are not carried out yet.
pub(super) fn pending(model: &Model, queue: &Queue) -> Vec<(CaseRef, Decision)> {
    let of = |case: CaseRef| {
        Some((
            case,
            model.decision(case).filter(|one| !one.is_applied)?.clone(),
        ))
    };
    queue.cases().filter_map(of).collect()
}

/// Counts the undecided cases and the pending decisions, if results or decisions changed.
pub(crate) fn count(model: &mut Model) {
    let versions = (model.view.outcomes.version, model.decisions.version());
    let Some(queue) = model
        .queue
        .as_ref()
        .filter(|queue| queue.counted != Some(versions))
    else {
        return;
    };
    let undecided = queue
        .cases()
        .filter(|case| model.is_undecided(*case))
        .collect();
    let mut kinds: BTreeMap<DecisionKind, usize> = BTreeMap::new();
    for kind in pending(model, queue)
        .into_iter()
        .filter_map(|(_, decision)| decision.kind)
    {
        *kinds.entry(kind).or_default() += 1;
    }
    if let Some(queue) = &mut model.queue {
        (queue.undecided, queue.pending, queue.counted) = (undecided, kinds, Some(versions));
    }
}
