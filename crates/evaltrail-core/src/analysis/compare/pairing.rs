//! Which case of one run is which case of the other.

use super::run::{RunToCompare, expectation_of, name_of};
use crate::domain::{AgentSpec, EndedAttempt, RunState};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// The positions of a case in the plans of both runs.
pub(super) type CasePositions = (Option<usize>, Option<usize>);

/// A case that has results in both runs.
pub(super) struct CasePair {
    /// The positions in the plans.
    pub(super) cases: (usize, usize),
    /// The attempts in both runs, which are taken once: their summaries are compressed in memory.
    pub(super) attempts: (Vec<Arc<EndedAttempt>>, Vec<Arc<EndedAttempt>>),
}

impl CasePair {
    pub(super) fn new(
        (before, a): (&RunToCompare, usize),
        (after, b): (&RunToCompare, usize),
    ) -> CasePair {
        CasePair {
            cases: (a, b),
            attempts: (before.attempts_of(a), after.attempts_of(b)),
        }
    }
}

/// The cases of the second run with those of the first run, then those of the first run alone.
pub(super) fn paired(before: &RunToCompare, after: &RunToCompare) -> Vec<CasePositions> {
    let mut found: HashMap<usize, usize> = HashMap::new();
    let mut lost: Vec<usize> = cases_with_results(before).collect();
    pair_by(before, after, &mut lost, &mut found, |run, case| {
        Some((name_of(run, case), run.plan.cases.content_hash(case)))
    });
    pair_by(before, after, &mut lost, &mut found, |run, case| {
        Some(name_of(run, case))
    });
    pair_by(before, after, &mut lost, &mut found, expectation_of);
    let here = cases_with_results(after).map(|at| (found.get(&at).copied(), Some(at)));
    here.chain(lost.into_iter().map(|at| (Some(at), None)))
        .collect()
}

/// Pairs the cases of the second run that are not in `found` with the cases of the first run in `lost` that have the
/// same key, in their order.
fn pair_by<'a, K: Eq + Hash>(
    before: &'a RunToCompare<'a>,
    after: &'a RunToCompare<'a>,
    lost: &mut Vec<usize>,
    found: &mut HashMap<usize, usize>,
    key: impl Fn(&'a RunToCompare<'a>, usize) -> Option<K>,
) {
    let open: Vec<usize> = cases_with_results(after)
        .filter(|at| !found.contains_key(at))
        .collect();
    if lost.is_empty() || open.is_empty() {
        return;
    }
    let mut by_key: HashMap<K, VecDeque<usize>> = HashMap::new();
    for &at in lost.iter() {
        if let Some(key) = key(before, at) {
            by_key.entry(key).or_default().push_back(at);
        }
    }
    let mut paired: HashSet<usize> = HashSet::new();
    for at in open {
        let same = key(after, at).and_then(|key| by_key.get_mut(&key)?.pop_front());
        if let Some(other) = same {
            found.insert(at, other);
            paired.insert(other);
        }
    }
    lost.retain(|at| !paired.contains(at));
}

fn cases_with_results(run: &RunState) -> impl Iterator<Item = usize> {
    (0..run.plan.cases.len()).filter(|at| run.has_ended(*at))
}

fn is_same_content(before: &RunState, a: usize, after: &RunState, b: usize) -> bool {
    before.plan.cases.content_hash(a) == after.plan.cases.content_hash(b)
}

/// Whether the case is not the same in both runs. A renamed case was found by its equal expectation. Where the responses
/// are saved in the cases, new responses are what is compared, so that only what is expected counts.
pub(super) fn is_edited(
    before: &RunToCompare,
    after: &RunToCompare,
    (a, b): (usize, usize),
) -> bool {
    if name_of(before, a) != name_of(after, b) || is_same_content(before, a, after, b) {
        return false;
    }
    let is_saved =
        |run: &RunToCompare, case: usize| run.plan.set_of(case).agent == AgentSpec::Saved;
    let both_saved = is_saved(before, a) && is_saved(after, b);
    let expectation = expectation_of(before, a).filter(|_| both_saved);
    expectation.is_none() || expectation != expectation_of(after, b)
}
