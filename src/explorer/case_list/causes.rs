//! Failures by cause.

use crate::explorer::shared::case_list::Narrowing;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use evaltrail_core::analysis::{CauseTrend, FailureGroup, FailureGroups, group_failures};
use evaltrail_core::domain::{Cause, causes_of_worst_attempt};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// The least number of neighbouring cases whose causes are worth another thread.
const READ_TOGETHER: usize = 1024;

/// Failures that share a cause, or share none with another one.
pub(crate) struct CauseGroup {
    pub(crate) what: Narrowing,
    pub(crate) cases: Vec<CaseRef>,
    /// The groups of cases that share a more specific cause.
    pub(crate) nested: Vec<CauseGroup>,
}

/// The cases among these that failed, and what they share.
fn failures(model: &Model, cases: &[CaseRef]) -> (Vec<CaseRef>, FailureGroups) {
    let causes_of =
        |case: &CaseRef| causes_of_worst_attempt(&model.view.outcomes.get(*case)?.attempts);
    // Summaries are compressed in groups; reading the first one of a group decompresses all of them.
    let failed: Vec<(CaseRef, &[Cause])> = cases
        .par_iter()
        .with_min_len(READ_TOGETHER)
        .filter_map(|case| Some((*case, causes_of(case)?)))
        .collect();
    let found = group_failures(failed.iter().map(|(_, causes)| *causes));
    (failed.into_iter().map(|(case, _)| case).collect(), found)
}

/// What became of the cause of a group over the runs; `None` if that is not known, or if all groups would be new.
pub(crate) fn cause_trend<'a>(model: &'a Model, what: &Narrowing) -> Option<&'a CauseTrend> {
    match what {
        Narrowing::Cause(cause) => trend_of(model, cause),
        Narrowing::Others(_) | Narrowing::Alone | Narrowing::Tool(_) => None,
    }
}

/// The first cause of a failure that is new or came back. A failure that shares it with no other one is a group of its own, so that it
/// is not lost among those that are known.
fn new_cause_of(model: &Model, case: CaseRef) -> Option<&CauseTrend> {
    let causes = causes_of_worst_attempt(&model.view.outcomes.get(case)?.attempts)?;
    let trends = causes.iter().filter_map(|cause| trend_of(model, cause));
    trends
        .into_iter()
        .find(|trend| trend.state().is_new_or_back())
}

/// "new " or "back " for a failure with such a cause, to be shown before its reason; empty for others.
pub(crate) fn new_cause_text(model: &Model, case: CaseRef) -> String {
    let news = new_cause_of(model, case);
    news.map_or_else(String::new, |trend| format!("{} ", trend.state().name()))
}

fn trend_of<'a>(model: &'a Model, cause: &Cause) -> Option<&'a CauseTrend> {
    // In a past run, later ones are not known.
    let is_known = model.opened_run.is_none() && model.trends.runs.len() > 1;
    is_known.then(|| model.trends.causes.get(cause)).flatten()
}

/// Whether the cause of a group, or of one nested in it, is new or came back.
fn has_new_cause(model: &Model, group: &CauseGroup) -> bool {
    let is_new_or_back = |group: &CauseGroup| {
        let trend = cause_trend(model, &group.what);
        trend.is_some_and(|trend| trend.state().is_new_or_back())
    };
    is_new_or_back(group) || group.nested.iter().any(is_new_or_back)
}

/// The outermost groups of the failures among these cases: those that are new or came back, then the others, the largest first; those
/// alone come last.
pub(crate) fn cause_groups(model: &Model, cases: &[CaseRef]) -> Vec<CauseGroup> {
    let (failed, found) = failures(model, cases);
    groups(model, &failed, found.groups, found.alone)
}

/// The most specific groups of the failures among these cases, in the same order.
pub(crate) fn by_cause(model: &Model, cases: &[CaseRef]) -> Vec<(Narrowing, Vec<CaseRef>)> {
    let (failed, found) = failures(model, cases);
    let specific = groups(model, &failed, found.specific(), found.alone);
    specific
        .into_iter()
        .map(|group| (group.what, group.cases))
        .collect()
}

fn groups(
    model: &Model,
    failed: &[CaseRef],
    groups: Vec<FailureGroup>,
    alone: Vec<usize>,
) -> Vec<CauseGroup> {
    let mut others = Vec::new();
    let mut news: Vec<FailureGroup> = Vec::new();
    for at in alone {
        match new_cause_of(model, failed[at]) {
            Some(trend) => news.push(FailureGroup {
                cause: trend.cause.clone(),
                members: vec![at],
                nested: Vec::new(),
            }),
            None => others.push(at),
        }
    }
    let alone = group_of(failed, Narrowing::Alone, others);
    let mut groups: Vec<CauseGroup> = groups
        .into_iter()
        .chain(news)
        .map(|one| cause_group(failed, one))
        .collect();
    groups.sort_by_key(|group| !has_new_cause(model, group));
    for group in &mut groups {
        group.nested.sort_by_key(|one| !has_new_cause(model, one));
    }
    groups.extend((!alone.cases.is_empty()).then_some(alone));
    groups
}

fn cause_group(failed: &[CaseRef], group: FailureGroup) -> CauseGroup {
    let others = if group.nested.is_empty() {
        Vec::new()
    } else {
        group.others()
    };
    let mut nested: Vec<CauseGroup> = group
        .nested
        .into_iter()
        .map(|one| cause_group(failed, one))
        .collect();
    if !others.is_empty() {
        nested.push(group_of(
            failed,
            Narrowing::Others(group.cause.clone()),
            others,
        ));
    }
    CauseGroup {
        nested,
        ..group_of(failed, Narrowing::Cause(group.cause), group.members)
    }
}

fn group_of(failed: &[CaseRef], what: Narrowing, members: Vec<usize>) -> CauseGroup {
    CauseGroup {
        what,
        cases: members.into_iter().map(|at| failed[at]).collect(),
        nested: Vec::new(),
    }
}

/// These cases with the failures by group, the largest first. Cases that did not fail keep their order after them.
pub(crate) fn sorted_by_cause(model: &Model, cases: &[CaseRef]) -> Vec<CaseRef> {
    let groups = by_cause(model, cases);
    let mut sorted: Vec<CaseRef> = groups
        .into_iter()
        .flat_map(|(_, members)| members)
        .collect();
    let failures: FxHashSet<CaseRef> = sorted.iter().copied().collect();
    sorted.extend(cases.iter().filter(|case| !failures.contains(case)));
    sorted
}
