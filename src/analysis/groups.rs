//! Grouping of failures by what they share, without a model.

use crate::domain::Cause;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Failures that share a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureGroup {
    /// What they share.
    pub cause: Cause,
    /// Positions in the list of failures, ascending; at least two.
    pub members: Vec<usize>,
}

/// Failures by what they share. Each failure is in exactly one group or alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureGroups {
    /// The groups, the largest first; of equally large ones the one with the earliest failure.
    pub groups: Vec<FailureGroup>,
    /// Positions of the failures in no group, ascending: they share no cause with each other and none with a group.
    pub alone: Vec<usize>,
}

impl FailureGroups {
    /// The number of failures that are in groups.
    pub fn grouped(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }
}

/// Groups failures, each given as its causes with the most specific one first (see `Attempt::causes`). A failure belongs
/// to the first of its causes that another failure has, too. Where all others with that cause belong elsewhere, it
/// joins the group of another of its causes; what is left is grouped by the causes that most of it share.
pub fn group_failures<'a>(failures: impl IntoIterator<Item = &'a [Cause]>) -> FailureGroups {
    let failures: Vec<&[Cause]> = failures.into_iter().collect();
    let all: Vec<usize> = (0..failures.len()).collect();
    let counts = counted(&failures, &all);
    let mut members: HashMap<&Cause, Vec<usize>> = HashMap::new();
    for &failure in &all {
        if let Some(cause) = failures[failure].iter().find(|cause| counts[cause] > 1) {
            members.entry(cause).or_default().push(failure);
        }
    }
    members.retain(|_, members| members.len() > 1);
    let grouped: HashSet<usize> = members.values().flatten().copied().collect();
    let mut left = all;
    left.retain(|failure| !grouped.contains(failure));
    left.retain(|&failure| {
        let group = failures[failure].iter().find(|cause| members.contains_key(cause));
        group.is_none_or(|cause| {
            members.entry(cause).or_default().push(failure);
            false
        })
    });
    group_rest(&failures, &mut left, &mut members);
    let group = |(cause, mut members): (&Cause, Vec<usize>)| {
        members.sort_unstable();
        FailureGroup { cause: cause.clone(), members }
    };
    let mut groups: Vec<FailureGroup> = members.into_iter().map(group).collect();
    groups.sort_by_key(|group| (Reverse(group.members.len()), group.members[0]));
    FailureGroups { groups, alone: left }
}

/// How many of these failures have each cause.
fn counted<'a>(failures: &[&'a [Cause]], of: &[usize]) -> HashMap<&'a Cause, usize> {
    let mut counts = HashMap::new();
    for cause in of.iter().flat_map(|failure| failures[*failure]) {
        *counts.entry(cause).or_default() += 1;
    }
    counts
}

/// Groups the failures that are in no group yet. The cause that most of them have forms the first group.
fn group_rest<'a>(
    failures: &[&'a [Cause]],
    left: &mut Vec<usize>,
    members: &mut HashMap<&'a Cause, Vec<usize>>,
) {
    let mut holders: Vec<(&Cause, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&Cause, usize> = HashMap::new();
    for &failure in left.iter() {
        for cause in failures[failure] {
            let at = *places.entry(cause).or_insert_with(|| {
                holders.push((cause, Vec::new()));
                holders.len() - 1
            });
            holders[at].1.push(failure);
        }
    }
    holders.sort_by_key(|(_, holders)| Reverse(holders.len()));
    let mut taken: HashSet<usize> = HashSet::new();
    for (cause, mut holders) in holders {
        holders.retain(|failure| !taken.contains(failure));
        if holders.len() > 1 {
            taken.extend(&holders);
            members.insert(cause, holders);
        }
    }
    left.retain(|failure| !taken.contains(failure));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> Cause {
        Cause::Error(text.into())
    }

    /// Causes of an attempt are distinct.
    fn distinct(causes: Vec<Cause>) -> Vec<Cause> {
        let mut seen = HashSet::new();
        causes.into_iter().filter(|cause| seen.insert(cause.clone())).collect()
    }

    fn grouped(failures: &[&[&str]]) -> (Vec<(String, Vec<usize>)>, Vec<usize>) {
        let causes: Vec<Vec<Cause>> =
            failures.iter().map(|causes| causes.iter().map(|one| error(one)).collect()).collect();
        let found = group_failures(causes.iter().map(Vec::as_slice));
        let name = |cause: &Cause| match cause {
            Cause::Error(text) => text.to_string(),
            other => format!("{other:?}"),
        };
        (found.groups.iter().map(|group| (name(&group.cause), group.members.clone())).collect(), found.alone)
    }

    #[test]
    fn failures_with_the_same_first_cause_are_a_group() {
        let (groups, alone) = grouped(&[&["a"], &["b", "a"], &["a"], &["b"], &["b"], &["c"], &[]]);
        assert_eq!(groups, [("b".into(), vec![1, 3, 4]), ("a".into(), vec![0, 2])]);
        assert_eq!(alone, [5, 6]);
    }

    #[test]
    fn a_failure_alone_with_its_first_cause_goes_by_the_next_one() {
        let (groups, alone) = grouped(&[&["own", "a"], &["a"], &["a"], &["x", "y"], &["z", "y"]]);
        assert_eq!(groups, [("a".into(), vec![0, 1, 2]), ("y".into(), vec![3, 4])]);
        assert!(alone.is_empty());
    }

    #[test]
    fn a_cause_is_shared_whatever_its_position() {
        assert_eq!(grouped(&[&["a"], &["b", "a"]]), (vec![("a".into(), vec![0, 1])], vec![]));
        assert_eq!(grouped(&[&["a"], &["b", "a"], &["c", "a"]]).0, [("a".into(), vec![0, 1, 2])]);
        assert_eq!(grouped(&[&["x", "y"], &["y", "x"]]), (vec![("x".into(), vec![0, 1])], vec![]));
        // All others with "a" belong to "b".
        assert_eq!(grouped(&[&["a"], &["b", "a"], &["b"]]), (vec![("b".into(), vec![1, 2])], vec![0]));
    }

    #[test]
    fn the_largest_group_comes_first() {
        let (groups, _) = grouped(&[&["a"], &["a"], &["b"], &["b"], &["b"], &["c"], &["c"]]);
        let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c"]);
    }

    proptest! {
        #[test]
        fn every_failure_is_in_one_place_and_has_the_cause_of_its_group(
            failures in prop::collection::vec(prop::collection::vec(0u8..6, 0..4), 0..40),
        ) {
            let causes: Vec<Vec<Cause>> =
                failures.iter().map(|of| of.iter().map(|one| error(&one.to_string())).collect()).collect();
            let causes: Vec<Vec<Cause>> = causes.into_iter().map(distinct).collect();
            let found = group_failures(causes.iter().map(Vec::as_slice));
            let mut all: Vec<usize> = found.groups.iter().flat_map(|group| group.members.clone()).collect();
            prop_assert_eq!(all.len(), found.grouped());
            all.extend(&found.alone);
            all.sort_unstable();
            prop_assert_eq!(all, (0..failures.len()).collect::<Vec<_>>());
            for group in &found.groups {
                prop_assert!(group.members.len() > 1);
                prop_assert!(group.members.iter().all(|at| causes[*at].contains(&group.cause)));
            }
            let mut seen: HashSet<&Cause> = found.groups.iter().map(|group| &group.cause).collect();
            for failure in &found.alone {
                let own: HashSet<&Cause> = causes[*failure].iter().collect();
                prop_assert!(own.is_disjoint(&seen), "a failure alone shares a cause");
                seen.extend(own);
            }
            prop_assert!(found.groups.is_sorted_by_key(|group| std::cmp::Reverse(group.members.len())));
        }
    }
}
