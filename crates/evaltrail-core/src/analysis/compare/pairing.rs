//! Which case of one run is which case of the other.

use super::run::{RunToCompare, expectation_of, name_of};
use crate::domain::{AgentSpec, EndedAttempt, RunState};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{HashMap, VecDeque};
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
    let mut unpaired: Vec<usize> = cases_with_results(before).collect();
    let mut pairs: Vec<CasePositions> = cases_with_results(after)
        .map(|at| (None, Some(at)))
        .collect();
    let same = common_start(before, after, &unpaired, &pairs);
    for (pair, at) in pairs.iter_mut().zip(unpaired.drain(..same)) {
        pair.0 = Some(at);
    }
    pair_by(before, after, &mut unpaired, &mut pairs, |run, case| {
        Some((name_of(run, case), run.plan.cases.content_hash(case)))
    });
    pair_by(before, after, &mut unpaired, &mut pairs, |run, case| {
        Some(name_of(run, case))
    });
    pair_by(before, after, &mut unpaired, &mut pairs, expectation_of);
    pairs.extend(unpaired.into_iter().map(|at| (Some(at), None)));
    pairs
}

/// How many cases at the beginning of both runs have the same name and content, one after the other. They are pairs whatever
/// follows: of several cases with one name and content, the first ones are a pair.
fn common_start(
    before: &RunToCompare,
    after: &RunToCompare,
    unpaired: &[usize],
    pairs: &[CasePositions],
) -> usize {
    let mut sets: FxHashMap<(usize, usize), bool> = FxHashMap::default();
    let mut is_same = |(a, (_, b)): (&usize, &CasePositions)| {
        let (a, Some(b)) = (*a, *b) else {
            return false;
        };
        let of_sets = (before.plan.cases.set_of(a), after.plan.cases.set_of(b));
        let is_same_file = *sets
            .entry(of_sets)
            .or_insert_with(|| before.plan.sets[of_sets.0].path == after.plan.sets[of_sets.1].path);
        is_same_file
            && before.plan.cases.eval_id(a) == after.plan.cases.eval_id(b)
            && is_same_content(before, a, after, b)
    };
    unpaired
        .iter()
        .zip(pairs)
        .take_while(|pair| is_same(*pair))
        .count()
}

/// Pairs the cases of the second run that are not paired yet with those of the first run in `unpaired` that have the same key,
/// in their order.
fn pair_by<'a, K: Eq + Hash>(
    before: &'a RunToCompare<'a>,
    after: &'a RunToCompare<'a>,
    unpaired: &mut Vec<usize>,
    pairs: &mut [CasePositions],
    key: impl Fn(&'a RunToCompare<'a>, usize) -> Option<K>,
) {
    if unpaired.is_empty() || pairs.iter().all(|(at, _)| at.is_some()) {
        return;
    }
    // The keys are texts of files, which may be chosen so that they collide in a faster hash.
    let mut by_key: HashMap<K, VecDeque<usize>> = HashMap::new();
    for &at in unpaired.iter() {
        if let Some(key) = key(before, at) {
            by_key.entry(key).or_default().push_back(at);
        }
    }
    let mut found: FxHashSet<usize> = FxHashSet::default();
    for (before, at) in pairs.iter_mut().filter(|(before, _)| before.is_none()) {
        let key = at.and_then(|at| key(after, at));
        *before = key.and_then(|key| by_key.get_mut(&key)?.pop_front());
        found.extend(*before);
    }
    unpaired.retain(|at| !found.contains(at));
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
