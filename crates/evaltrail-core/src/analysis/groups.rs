//! Grouping of failures by what they share, without a model.

use crate::domain::Cause;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Failures that share a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureGroup {
    /// What they share.
    pub cause: Cause,
    /// Positions in the list of failures, ascending.
    pub members: Vec<usize>,
    /// The groups of members that share a more specific cause, the largest first. A member is in at most one.
    pub nested: Vec<FailureGroup>,
}

/// Failures by what they share. Each failure is in exactly one group or alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureGroups {
    /// The groups, each of at least two failures, the largest first; of equally large ones the one with the earliest
    /// failure.
    pub groups: Vec<FailureGroup>,
    /// Positions of the failures in no group, ascending: they share no cause with each other and none with a group.
    pub alone: Vec<usize>,
}

impl FailureGroup {
    fn new(cause: &Cause, mut members: Vec<usize>) -> FailureGroup {
        members.sort_unstable();
        FailureGroup {
            cause: cause.clone(),
            members,
            nested: Vec::new(),
        }
    }

    /// The members that are in no nested group.
    pub fn others(&self) -> Vec<usize> {
        let nested: HashSet<usize> = self
            .nested
            .iter()
            .flat_map(|group| &group.members)
            .copied()
            .collect();
        self.members
            .iter()
            .copied()
            .filter(|member| !nested.contains(member))
            .collect()
    }
}

impl FailureGroups {
    /// The number of failures that are in groups.
    pub fn grouped(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// The most specific groups, the largest first: the nested ones, and the other members of the groups around them, of
    /// which there may be only one.
    pub fn specific(&self) -> Vec<FailureGroup> {
        let parts = |group: &FailureGroup| {
            let others = group.others();
            let rest = (!others.is_empty()).then(|| FailureGroup::new(&group.cause, others));
            group.nested.iter().cloned().chain(rest).collect::<Vec<_>>()
        };
        let mut specific: Vec<FailureGroup> = self.groups.iter().flat_map(parts).collect();
        largest_first(&mut specific);
        specific
    }
}

/// Groups failures, each given as its causes with the most specific one first (see `Attempt::causes`). A failure belongs
/// to the first of its causes that another failure has, too. Where all others with that cause belong elsewhere, it
/// joins the group of another of its causes; what is left is grouped by the causes that most of it share. Groups and
/// failures alone with the same general cause ([`Cause::general`]) form a group around them.
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
        let group = failures[failure]
            .iter()
            .find(|cause| members.contains_key(cause));
        group.is_none_or(|cause| {
            members.entry(cause).or_default().push(failure);
            false
        })
    });
    group_rest(&failures, &mut left, &mut members);
    let mut groups: Vec<FailureGroup> = members
        .into_iter()
        .map(|(cause, members)| FailureGroup::new(cause, members))
        .collect();
    largest_first(&mut groups);
    let mut groups = nest(&failures, groups, &mut left);
    largest_first(&mut groups);
    FailureGroups {
        groups,
        alone: left,
    }
}

fn largest_first(groups: &mut [FailureGroup]) {
    groups.sort_by_key(|group| (Reverse(group.members.len()), group.members[0]));
}

/// Groups and single failures with the same general cause.
#[derive(Default)]
struct SameGeneralCause {
    groups: Vec<FailureGroup>,
    alone: Vec<usize>,
}

impl SameGeneralCause {
    fn failures(&self) -> usize {
        self.groups
            .iter()
            .map(|group| group.members.len())
            .sum::<usize>()
            + self.alone.len()
    }
}

/// Puts groups and failures alone that share a general cause into a group. Returns all outermost groups.
fn nest(
    failures: &[&[Cause]],
    groups: Vec<FailureGroup>,
    alone: &mut Vec<usize>,
) -> Vec<FailureGroup> {
    let general = |cause: &Cause| cause.general().unwrap_or_else(|| cause.clone());
    let mut kinds: Vec<(Cause, SameGeneralCause)> = Vec::new();
    let mut positions: HashMap<Cause, usize> = HashMap::new();
    let mut position_of = |kinds: &mut Vec<(Cause, SameGeneralCause)>, cause: Cause| {
        *positions.entry(cause).or_insert_with_key(|cause| {
            kinds.push((cause.clone(), SameGeneralCause::default()));
            kinds.len() - 1
        })
    };
    for group in groups {
        let at = position_of(&mut kinds, general(&group.cause));
        kinds[at].1.groups.push(group);
    }
    for &failure in alone.iter() {
        for cause in failures[failure]
            .iter()
            .map(general)
            .collect::<HashSet<_>>()
        {
            let at = position_of(&mut kinds, cause);
            kinds[at].1.alone.push(failure);
        }
    }
    let earliest = |kind: &SameGeneralCause| {
        let groups = kind.groups.iter().map(|group| group.members[0]);
        groups.chain(kind.alone.first().copied()).min()
    };
    kinds.sort_by_cached_key(|(cause, kind)| {
        (Reverse(kind.failures()), earliest(kind), cause.describe())
    });
    let mut taken: HashSet<usize> = HashSet::new();
    let outermost = kinds.into_iter().flat_map(|(cause, mut kind)| {
        kind.alone.retain(|failure| !taken.contains(failure));
        match (kind.groups.len(), kind.alone.len()) {
            (0, 0 | 1) | (1, 0) => kind.groups,
            _ => {
                taken.extend(&kind.alone);
                vec![around(&cause, kind)]
            }
        }
    });
    let outermost = outermost.collect();
    alone.retain(|failure| !taken.contains(failure));
    outermost
}

/// The group of everything with a general cause. A group that has exactly this cause is not nested in it.
fn around(cause: &Cause, kind: SameGeneralCause) -> FailureGroup {
    let members = kind
        .groups
        .iter()
        .flat_map(|group| &group.members)
        .chain(&kind.alone)
        .copied()
        .collect();
    let nested = kind
        .groups
        .into_iter()
        .filter(|group| group.cause != *cause)
        .collect();
    FailureGroup {
        nested,
        ..FailureGroup::new(cause, members)
    }
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
    let mut positions: HashMap<&Cause, usize> = HashMap::new();
    for &failure in left.iter() {
        for cause in failures[failure] {
            let at = *positions.entry(cause).or_insert_with(|| {
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
    use crate::domain::FindingRule;
    use proptest::prelude::*;

    fn error(text: &str) -> Cause {
        Cause::Error(text.into())
    }

    /// Causes of an attempt are distinct.
    fn distinct(causes: Vec<Cause>) -> Vec<Cause> {
        let mut seen = HashSet::new();
        causes
            .into_iter()
            .filter(|cause| seen.insert(cause.clone()))
            .collect()
    }

    fn grouped(failures: &[&[&str]]) -> (Vec<(String, Vec<usize>)>, Vec<usize>) {
        let causes: Vec<Vec<Cause>> = failures
            .iter()
            .map(|causes| causes.iter().map(|one| error(one)).collect())
            .collect();
        let found = group_failures(causes.iter().map(Vec::as_slice));
        let name = |cause: &Cause| match cause {
            Cause::Error(text) => text.to_string(),
            other => format!("{other:?}"),
        };
        (
            found
                .groups
                .iter()
                .map(|group| (name(&group.cause), group.members.clone()))
                .collect(),
            found.alone,
        )
    }

    #[test]
    fn failures_with_same_first_cause_are_grouped() {
        let (groups, alone) = grouped(&[&["a"], &["b", "a"], &["a"], &["b"], &["b"], &["c"], &[]]);
        assert_eq!(
            groups,
            [("b".into(), vec![1, 3, 4]), ("a".into(), vec![0, 2])]
        );
        assert_eq!(alone, [5, 6]);
    }

    #[test]
    fn unshared_cause_falls_back_to_next_cause() {
        let (groups, alone) = grouped(&[&["own", "a"], &["a"], &["a"], &["x", "y"], &["z", "y"]]);
        assert_eq!(
            groups,
            [("a".into(), vec![0, 1, 2]), ("y".into(), vec![3, 4])]
        );
        assert!(alone.is_empty());
    }

    #[test]
    fn a_cause_is_shared_whatever_its_position() {
        assert_eq!(
            grouped(&[&["a"], &["b", "a"]]),
            (vec![("a".into(), vec![0, 1])], vec![])
        );
        assert_eq!(
            grouped(&[&["a"], &["b", "a"], &["c", "a"]]).0,
            [("a".into(), vec![0, 1, 2])]
        );
        assert_eq!(
            grouped(&[&["x", "y"], &["y", "x"]]),
            (vec![("x".into(), vec![0, 1])], vec![])
        );
        // All others with "a" belong to "b".
        assert_eq!(
            grouped(&[&["a"], &["b", "a"], &["b"]]),
            (vec![("b".into(), vec![1, 2])], vec![0])
        );
    }

    /// The causes of 2 and 3 are "a" first, which they share with each other, and not "b".
    #[test]
    fn first_shared_cause_names_the_group() {
        let (groups, alone) = grouped(&[&["b"], &["b"], &["own", "a", "b"], &["a"]]);
        assert_eq!(groups, [("b".into(), vec![0, 1]), ("a".into(), vec![2, 3])]);
        assert!(alone.is_empty());
    }

    fn argument(tool: &str, name: &str) -> Cause {
        Cause::Call {
            rule: FindingRule::ArgumentDiffers,
            tool: tool.into(),
            argument: Some(name.into()),
        }
    }

    /// The causes of groups, with their members.
    fn named(found: &FailureGroups) -> Vec<(String, Vec<usize>)> {
        found
            .groups
            .iter()
            .map(|group| (group.cause.describe().to_string(), group.members.clone()))
            .collect()
    }

    #[test]
    fn shared_cause_has_no_more_general_group() {
        let failures = [
            vec![argument("set", "level"), argument("set", "color")],
            vec![argument("set", "color"), argument("set", "level")],
        ];
        let found = group_failures(failures.iter().map(Vec::as_slice));
        assert_eq!(
            named(&found),
            [("set.level differs".to_string(), vec![0, 1])]
        );
    }

    /// Failure 0 could be in both groups. The larger one has it.
    #[test]
    fn failure_with_two_causes_joins_larger_group() {
        let failures = [
            vec![argument("get", "room"), argument("set", "room")],
            vec![argument("set", "level")],
            vec![argument("set", "color")],
            vec![argument("get", "level")],
        ];
        let found = group_failures(failures.iter().map(Vec::as_slice));
        assert_eq!(
            named(&found),
            [("arguments of set differ".to_string(), vec![0, 1, 2])]
        );
        assert_eq!(found.alone, [3]);
        // With a group and a failure alone.
        let failures = [
            vec![argument("get", "room"), argument("set", "room")],
            vec![argument("set", "level")],
            vec![argument("set", "level")],
            vec![argument("get", "level")],
        ];
        let found = group_failures(failures.iter().map(Vec::as_slice));
        assert_eq!(
            named(&found),
            [("arguments of set differ".to_string(), vec![0, 1, 2])]
        );
    }

    #[test]
    fn groups_with_same_general_cause_are_nested() {
        let argument = |name: &str| Cause::Call {
            rule: FindingRule::ArgumentDiffers,
            tool: "set".into(),
            argument: Some(name.into()),
        };
        let missing = Cause::Call {
            rule: FindingRule::CallMissing,
            tool: "set".into(),
            argument: None,
        };
        let failures = [
            vec![argument("level")],
            vec![argument("color")],
            vec![argument("level"), missing.clone()],
            vec![argument("room")],
            vec![missing],
            vec![error("a")],
        ];
        let found = group_failures(failures.iter().map(Vec::as_slice));
        assert_eq!(
            found.alone,
            [4, 5],
            "an error of its own, and one whose cause is shared only with a case of another group"
        );
        let [set] = &found.groups[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            (set.cause.describe().as_str(), &set.members[..]),
            ("arguments of set differ", &[0, 1, 2, 3][..])
        );
        let [level] = &set.nested[..] else {
            panic!("{set:?}")
        };
        assert_eq!(
            (level.cause.describe().as_str(), &level.members[..]),
            ("set.level differs", &[0, 2][..])
        );
        assert_eq!(set.others(), [1, 3]);
        let specific: Vec<_> = found
            .specific()
            .into_iter()
            .map(|group| (group.cause.describe(), group.members))
            .collect();
        let expected = [
            ("set.level differs", vec![0, 2]),
            ("arguments of set differ", vec![1, 3]),
        ];
        assert_eq!(
            specific,
            expected.map(|(words, members)| (words.to_string(), members))
        );
    }

    #[test]
    fn the_largest_group_comes_first() {
        let (groups, _) = grouped(&[&["a"], &["a"], &["b"], &["b"], &["b"], &["c"], &["c"]]);
        let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c"]);
    }

    proptest! {
        #[test]
        fn each_failure_is_in_at_most_one_group(
            failures in prop::collection::vec(prop::collection::vec(0u8..12, 0..4), 0..40),
        ) {
            // Two tools with three arguments each, and errors.
            let cause = |one: &u8| match one {
                0..6 => Cause::Call {
                    rule: FindingRule::ArgumentDiffers,
                    tool: (one % 2).to_string().into(),
                    argument: Some((one / 2).to_string().into()),
                },
                _ => error(&one.to_string()),
            };
            let causes = failures.iter().map(|of| distinct(of.iter().map(cause).collect()));
            let causes: Vec<Vec<Cause>> = causes.collect();
            let has = |at: &usize, shared: &Cause| {
                causes[*at].iter().any(|one| one == shared || one.general().as_ref() == Some(shared))
            };
            let found = group_failures(causes.iter().map(Vec::as_slice));
            let mut all: Vec<usize> = found.groups.iter().flat_map(|group| group.members.clone()).collect();
            prop_assert_eq!(all.len(), found.grouped());
            all.extend(&found.alone);
            all.sort_unstable();
            prop_assert_eq!(all, (0..failures.len()).collect::<Vec<_>>());
            for group in &found.groups {
                prop_assert!(group.members.len() > 1);
                prop_assert!(group.members.iter().all(|at| has(at, &group.cause)));
                for nested in &group.nested {
                    prop_assert!(nested.members.len() > 1 && nested.nested.is_empty());
                    prop_assert_eq!(nested.cause.general(), Some(group.cause.clone()));
                    prop_assert!(nested.members.iter().all(|at| has(at, &nested.cause)));
                }
            }
            let mut parts: Vec<usize> = found.specific().into_iter().flat_map(|group| group.members).collect();
            prop_assert_eq!(parts.len(), found.grouped());
            parts.sort_unstable();
            parts.dedup();
            prop_assert_eq!(parts.len(), found.grouped(), "each failure is in one of the most specific groups");
            let mut seen: HashSet<Cause> = found.specific().into_iter().chain(found.groups.clone()).map(|group| group.cause).collect();
            for failure in &found.alone {
                let general = causes[*failure].iter().filter_map(Cause::general);
                let own: HashSet<Cause> = causes[*failure].iter().cloned().chain(general).collect();
                prop_assert!(own.is_disjoint(&seen), "a failure alone shares a cause");
                seen.extend(own);
            }
            prop_assert!(found.groups.is_sorted_by_key(|group| std::cmp::Reverse(group.members.len())));
        }
    }
}
