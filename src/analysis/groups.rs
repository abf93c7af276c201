//! Grouping of failures by what they share, without a model.

use crate::domain::Cause;
use std::collections::HashMap;

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
    /// Positions of the failures that share no cause with another one, ascending.
    pub alone: Vec<usize>,
}

impl FailureGroups {
    /// The number of failures that are in groups.
    pub fn grouped(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }
}

/// Groups failures, each given as its causes with the most specific one first (see `Attempt::causes`). Failures with
/// the same first cause form a group. A failure whose first cause no other one has is grouped by the next cause that
/// it shares.
pub fn group_failures<'a>(failures: impl IntoIterator<Item = &'a [Cause]>) -> FailureGroups {
    let failures: Vec<&[Cause]> = failures.into_iter().collect();
    let mut members: HashMap<&Cause, Vec<usize>> = HashMap::new();
    let mut left: Vec<usize> = (0..failures.len()).collect();
    let depth = failures.iter().map(|causes| causes.len()).max().unwrap_or(0);
    for level in 0..depth {
        let mut joined: HashMap<&Cause, Vec<usize>> = HashMap::new();
        for &failure in &left {
            if let Some(cause) = failures[failure].get(level) {
                joined.entry(cause).or_default().push(failure);
            }
        }
        for (cause, failures) in joined {
            if failures.len() > 1 || members.contains_key(cause) {
                members.entry(cause).or_default().extend(failures);
            }
        }
        let is_left =
            |failure: &usize| failures[*failure].get(level).is_none_or(|cause| !members.contains_key(cause));
        left.retain(is_left);
    }
    let group = |(cause, mut members): (&Cause, Vec<usize>)| {
        members.sort_unstable();
        FailureGroup { cause: cause.clone(), members }
    };
    let mut groups: Vec<FailureGroup> = members.into_iter().map(group).collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.members.len()), group.members[0]));
    FailureGroups { groups, alone: left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> Cause {
        Cause::Error(text.into())
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
            prop_assert!(found.groups.is_sorted_by_key(|group| std::cmp::Reverse(group.members.len())));
        }
    }
}
