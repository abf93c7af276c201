//! The smallest relaxation of the criteria under which failed attempts would pass. It depends on the set of attempts,
//! not on their order: candidates are tried in one order, each with the values that all of the attempts need, and the
//! parts without which all still pass are removed.

mod arguments;

use self::arguments::{ArgumentDifferences, ignores};
use super::Direction;
use super::registry::{direction_of, info};
use super::results::criterion_of;
use super::rules::trajectory_options;
use super::what_if::{Rescorer, WhatIf};
use crate::domain::{Attempt, Criterion, MatchRule, MatchType, MetricResult, Status};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// A relaxation with more rules is not small.
const MAX_RULES: usize = 10;
/// Nor is one with more rules that ignore arguments.
const IGNORED: usize = 3;

/// The smallest change that makes the attempt pass, if there is one.
pub fn relaxation(attempt: &Attempt) -> Option<WhatIf> {
    common_relaxation(&[attempt])
}

/// The smallest change found with which all attempts pass; `None` if there is none, if an attempt did not fail, and if a
/// model reported an error: other criteria do not cure it.
pub fn common_relaxation<A: Borrow<Attempt>>(attempts: &[A]) -> Option<WhatIf> {
    let attempts: Vec<&Attempt> = attempts.iter().map(Borrow::borrow).collect();
    let have_failed = attempts
        .iter()
        .all(|attempt| attempt.status == Status::Failed && attempt.model_errors().next().is_none());
    if attempts.is_empty() || !have_failed {
        return None;
    }
    let found = candidates(&attempts)
        .into_iter()
        .find(|change| all_pass(&attempts, change))?;
    Some(minimal(found, &attempts))
}

/// The smallest change found with which as many of the attempts pass as possible, of those for which there is one. Empty
/// if there is none.
pub fn relaxation_of_all<A: Borrow<Attempt>>(attempts: impl IntoIterator<Item = A>) -> WhatIf {
    let attempts: Vec<A> = attempts.into_iter().collect();
    let attempts: Vec<&Attempt> = attempts
        .iter()
        .map(Borrow::borrow)
        .filter(|attempt| relaxation(attempt).is_some())
        .collect();
    if let Some(change) = common_relaxation(&attempts) {
        return change;
    }
    let mut most: (WhatIf, Vec<&Attempt>) = Default::default();
    for change in candidates(&attempts) {
        let passing: Vec<&Attempt> = attempts
            .iter()
            .copied()
            .filter(|attempt| all_pass(&[attempt], &change))
            .collect();
        if passing.len() > most.1.len() {
            most = (change, passing);
        }
    }
    minimal(most.0, &most.1)
}

/// Whether all attempts pass under a change.
fn all_pass(attempts: &[&Attempt], change: &WhatIf) -> bool {
    let mut rescorer = Rescorer::new(change);
    !change.is_empty()
        && attempts
            .iter()
            .all(|attempt| rescorer.rescore(attempt).status == Status::Passed)
}

/// The change without the parts that are not needed. Parts that turn a comparison off are removed first.
fn minimal(change: WhatIf, attempts: &[&Attempt]) -> WhatIf {
    let is_off = |rule: &&MatchRule| ignores(rule);
    let without_rule = |rule: &MatchRule, change: &WhatIf| {
        let rules = change
            .rules
            .iter()
            .filter(|other| *other != rule)
            .cloned()
            .collect();
        WhatIf {
            rules,
            ..change.clone()
        }
    };
    let mut now = change.clone();
    let mut try_without = |less: &dyn Fn(&WhatIf) -> WhatIf| {
        let less = less(&now);
        if less != now && all_pass(attempts, &less) {
            now = less;
        }
    };
    try_without(&|now| WhatIf {
        ignore_args: None,
        ..now.clone()
    });
    for rule in change.rules.iter().filter(is_off) {
        try_without(&|now| without_rule(rule, now));
    }
    try_without(&|now| WhatIf {
        match_type: None,
        ..now.clone()
    });
    for rule in change.rules.iter().filter(|rule| !is_off(rule)) {
        try_without(&|now| without_rule(rule, now));
    }
    for name in change.thresholds.keys() {
        try_without(&|now| {
            let mut less = now.clone();
            less.thresholds.remove(name);
            less
        });
    }
    now
}

/// The changes that are tried, smallest first. Those that turn a comparison off come after the others.
fn candidates(attempts: &[&Attempt]) -> Vec<WhatIf> {
    let is_of_calls = |metric: &MetricResult| trajectory_options(&criterion_of(metric)).is_some();
    let Some(thresholds) = thresholds(attempts, |metric| !is_of_calls(metric)) else {
        return Vec::new();
    };
    let fail = |attempt: &&Attempt| {
        attempt
            .metrics
            .iter()
            .any(|metric| has_failed(metric) && is_of_calls(metric))
    };
    let mut changes = match attempts.iter().any(fail) {
        true => for_calls(attempts),
        false => vec![WhatIf::default()],
    };
    for change in &mut changes {
        change.thresholds.extend(thresholds.clone());
    }
    changes
}

fn has_failed(metric: &MetricResult) -> bool {
    metric.status == Status::Failed
}

/// Changes with which calls match more easily, smallest first.
fn for_calls(attempts: &[&Attempt]) -> Vec<WhatIf> {
    let differences =
        ArgumentDifferences::within(attempts.iter().map(|attempt| (*attempt, rules_of(attempt))));
    let (exact, ignoring) = argument_changes(&differences);
    let expects_calls =
        |attempt: &&Attempt| attempt.expected.iter().any(|turn| !turn.calls().is_empty());
    // Where a case expects no calls at all, the check could never fail with another match type.
    let types = if attempts.iter().all(expects_calls) {
        looser_types(attempts)
    } else {
        Vec::new()
    };
    let is_off = attempts.iter().any(|attempt| has_unexpected_calls(attempt));
    let with = |arguments: &[WhatIf], types: &[MatchType]| -> Vec<WhatIf> {
        let typed = |change: &WhatIf, kind: &MatchType| WhatIf {
            match_type: Some(*kind),
            ..change.clone()
        };
        arguments
            .iter()
            .flat_map(|change| types.iter().map(move |kind| typed(change, kind)))
            .collect()
    };
    let nothing = [WhatIf::default()];
    let comparing: &[MatchType] = if is_off { &[] } else { &types };
    let mut changes = with(&nothing, comparing);
    let with_types = |arguments: &[WhatIf]| -> Vec<WhatIf> {
        let each = arguments.iter().map(std::slice::from_ref);
        each.flat_map(|change| [change.to_vec(), with(change, comparing)].concat())
            .collect()
    };
    changes.extend(with_types(&exact));
    let of_calls = thresholds(attempts, |metric| {
        trajectory_options(&criterion_of(metric)).is_some()
    });
    changes.extend(of_calls.map(|thresholds| WhatIf {
        thresholds,
        ..WhatIf::default()
    }));
    // What turns a comparison off comes last.
    changes.extend(with_types(&ignoring));
    if is_off {
        changes.extend(with(&nothing, &types));
        changes.extend(with(&exact, &types));
        changes.extend(with(&ignoring, &types));
    }
    changes
}

/// Changes of how arguments are compared: those that compare all of them, and those that ignore some.
fn argument_changes(differences: &ArgumentDifferences) -> (Vec<WhatIf>, Vec<WhatIf>) {
    let lists = [
        differences.rules_for_parts(),
        differences.rules_for_whole_arguments(),
        differences.rules_for_tools(),
    ];
    let ignored = |rules: &[MatchRule]| rules.iter().filter(|rule| ignores(rule)).count();
    let is_small = |rules: &Vec<MatchRule>| {
        (1..=MAX_RULES).contains(&rules.len()) && ignored(rules) <= IGNORED
    };
    let small = lists.into_iter().filter(is_small);
    let (mut ignoring, exact): (Vec<Vec<MatchRule>>, Vec<Vec<MatchRule>>) =
        small.partition(|rules| rules.iter().any(ignores));
    ignoring.dedup();
    let of_rules = |rules| WhatIf {
        rules,
        ..WhatIf::default()
    };
    let mut ignoring: Vec<WhatIf> = ignoring.into_iter().map(of_rules).collect();
    ignoring.push(WhatIf {
        ignore_args: Some(true),
        ..WhatIf::default()
    });
    (exact.into_iter().map(of_rules).collect(), ignoring)
}

/// The rules that the calls of an attempt are compared under.
fn rules_of(attempt: &Attempt) -> Vec<MatchRule> {
    let rules = attempt
        .metrics
        .iter()
        .filter(|metric| has_failed(metric))
        .map(|metric| criterion_of(metric).rules);
    { rules }
        .find(|rules| !rules.is_empty())
        .unwrap_or_default()
}

/// The match types that are looser than one of the present ones and stricter than none.
fn looser_types(attempts: &[&Attempt]) -> Vec<MatchType> {
    let metrics = attempts
        .iter()
        .flat_map(|attempt| &attempt.metrics)
        .filter(|metric| has_failed(metric));
    let present: Vec<MatchType> = metrics
        .filter_map(|metric| trajectory_options(&criterion_of(metric)))
        .map(|options| options.match_type)
        .collect();
    let looser: &[MatchType] = if present.iter().all(|kind| *kind == MatchType::AnyOrder) {
        &[]
    } else if present.contains(&MatchType::Exact) && !present.contains(&MatchType::AnyOrder) {
        &[MatchType::InOrder, MatchType::AnyOrder]
    } else {
        &[MatchType::AnyOrder]
    };
    looser.to_vec()
}

/// Whether calls were made in a turn for which none are expected: there, a looser match type accepts any calls.
fn has_unexpected_calls(attempt: &Attempt) -> bool {
    let mut turns = attempt.expected.iter().zip(attempt.actual.iter());
    turns.any(|(expected, actual)| expected.calls().is_empty() && !actual.calls().is_empty())
}

/// For each metric among `of` that an attempt failed, the strictest threshold that the scores of all attempts reach;
/// `None` if there is none, or if it is the lowest possible score, which everything reaches.
fn thresholds(
    attempts: &[&Attempt],
    of: impl Fn(&MetricResult) -> bool,
) -> Option<BTreeMap<String, f64>> {
    let results = || attempts.iter().flat_map(|attempt| &attempt.metrics);
    let failed: BTreeSet<&String> = results()
        .filter(|metric| has_failed(metric) && of(metric))
        .map(|metric| &metric.metric)
        .collect();
    let threshold_of = |name: &String| {
        let deciding =
            results().filter(|metric| metric.metric == *name && metric.threshold.is_some());
        let scores: Vec<(f64, Criterion)> = deciding
            .map(|metric| Some((metric.score()?, criterion_of(metric))))
            .collect::<Option<_>>()?;
        let direction = direction_of(&scores.first()?.1);
        let scores = scores.iter().map(|(score, _)| *score);
        let loosest = match direction {
            Direction::Higher => scores.fold(f64::INFINITY, f64::min),
            Direction::Lower => scores.fold(f64::NEG_INFINITY, f64::max),
        };
        let is_useful = !is_reached_by_all(name, direction, loosest);
        is_useful.then(|| (name.clone(), short_threshold(name, direction, loosest)))
    };
    failed.into_iter().map(threshold_of).collect()
}

/// The threshold with the fewest decimals, at least two, that is nearest to a score and that the score reaches, but not every
/// score.
fn short_threshold(name: &str, direction: Direction, score: f64) -> f64 {
    /// More decimals than a number near 1 has.
    const MAX_DECIMALS: i32 = 17;
    let is_reached = |threshold: f64| match direction {
        Direction::Higher => threshold <= score,
        Direction::Lower => threshold >= score,
    };
    let of = |decimals: i32| {
        let scale = 10_f64.powi(decimals);
        let nearest = (score * scale).round();
        let next = match direction {
            Direction::Higher => nearest - 1.0,
            Direction::Lower => nearest + 1.0,
        };
        [nearest, next]
            .map(|scaled| scaled / scale)
            .into_iter()
            .find(|threshold| is_reached(*threshold))
    };
    let is_useful = |threshold: &f64| !is_reached_by_all(name, direction, *threshold);
    (2..=MAX_DECIMALS)
        .filter_map(of)
        .find(is_useful)
        .unwrap_or(score)
}

/// Whether every score of a metric reaches a threshold. Scores without a known range are at least 0.
fn is_reached_by_all(name: &str, direction: Direction, threshold: f64) -> bool {
    let range = info(name.split(':').next().unwrap_or_default()).and_then(|metric| metric.range);
    match direction {
        Direction::Higher => threshold <= range.map_or(0.0, |(low, _)| low),
        Direction::Lower => range.is_some_and(|(_, high)| threshold >= high),
    }
}

#[cfg(test)]
mod tests;
