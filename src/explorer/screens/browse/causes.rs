//! Failures by cause.

use crate::analysis::group_failures;
use crate::domain::{Cause, causes_of_first_failure};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::model::Model;
use crate::explorer::screens::browse::state::Narrowing;
use std::collections::HashMap;

/// The groups of the failures among these cases, the largest first; those alone come last.
pub(crate) fn by_cause(model: &Model, cases: &[CaseRef]) -> Vec<(Narrowing, Vec<CaseRef>)> {
    let causes_of = |case: &CaseRef| causes_of_first_failure(&model.outcomes.get(*case)?.attempts);
    let failed: Vec<(CaseRef, &[Cause])> =
        cases.iter().filter_map(|case| Some((*case, causes_of(case)?))).collect();
    let found = group_failures(failed.iter().map(|(_, causes)| *causes));
    let cases = |members: &[usize]| members.iter().map(|at| failed[*at].0).collect::<Vec<_>>();
    let alone = (Narrowing::Alone, cases(&found.alone));
    let groups = found.groups.into_iter().map(|group| {
        let members = cases(&group.members);
        (Narrowing::Cause(group.cause), members)
    });
    groups.chain((!alone.1.is_empty()).then_some(alone)).collect()
}

/// Orders failures by group, the largest first. Cases that did not fail keep their order after them.
pub(super) fn sort_by_cause(model: &Model, cases: &mut [CaseRef]) {
    let groups = by_cause(model, cases);
    let members = groups.iter().flat_map(|(_, members)| members);
    let places: HashMap<CaseRef, usize> = members.enumerate().map(|(at, case)| (*case, at)).collect();
    cases.sort_by_key(|case| places.get(case).copied().unwrap_or(usize::MAX));
}
