//! Splits the cases of a plan into shards. Every machine computes the same split from the same files.

use crate::store::fingerprint;
use evaltrail_core::domain::{JudgeSpec, PlannedCases, RunOptions, RunPlan, Shard, ShardBy};
use std::collections::HashMap;

/// What decides to which shard a case belongs.
#[derive(Debug, Default)]
pub(super) struct CaseToSplit {
    /// The file and the id of the case.
    pub(super) name: String,
    /// The id of the session that the case names. Cases that share a session run on the same machine.
    pub(super) session: Option<String>,
    /// The seconds that the case took last; `None` without a result.
    pub(super) seconds: Option<f64>,
}

/// A shard of a plan.
pub(super) struct SplitPlan {
    /// The plan with the cases of the shard.
    pub(super) part: RunPlan,
    /// The plan of all shards, without what may differ between their machines.
    pub(super) whole: RunPlan,
    /// SHA-256 of the shard of each case.
    pub(super) split: String,
    /// What the user should know about the split.
    pub(super) remarks: Vec<String>,
}

/// Takes the cases of a shard from a plan. `cases` are those of the plan.
pub(super) fn split(plan: RunPlan, shard: Shard, cases: &[CaseToSplit]) -> SplitPlan {
    let mut remarks = Vec::new();
    let by = match shard.by {
        ShardBy::Time if cases.iter().all(|case| case.seconds.is_none()) => {
            remarks.push("no case has a result yet, so the cases are split by slice".into());
            ShardBy::Slice
        }
        by => by,
    };
    if by == ShardBy::Queue {
        remarks.extend(shared_sessions(cases));
    }
    let shards = assign(cases, shard.of, by);
    let bytes: Vec<u8> = shards
        .iter()
        .flat_map(|shard| shard.to_le_bytes())
        .collect();
    let split = fingerprint(&[&bytes]);
    let own = plan
        .cases
        .iter()
        .zip(shards)
        .filter(|(_, of)| *of + 1 == shard.number);
    // A part of a plan is not too large for a plan.
    let own = PlannedCases::new(own.map(|(case, _)| case)).unwrap_or_default();
    if shard.of > 1 {
        remarks.insert(
            0,
            format!(
                "{}: {} of {} cases",
                shard.describe(),
                own.len(),
                plan.cases.len()
            ),
        );
    }
    let mut part = RunPlan {
        cases: own,
        ..plan.without_cases()
    };
    part.options.shard = Some(shard);
    share_limits(&mut part, shard.of, &mut remarks);
    SplitPlan {
        part,
        whole: comparable(plan),
        split,
        remarks,
    }
}

/// A remark about the cases that name a session that another case names too: a queue does not keep them together.
fn shared_sessions(cases: &[CaseToSplit]) -> Option<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    cases
        .iter()
        .filter_map(|case| case.session.as_deref())
        .for_each(|id| *uses.entry(id).or_default() += 1);
    let sharing: usize = uses.values().filter(|uses| **uses > 1).sum();
    (sharing > 0).then(|| {
        format!(
            "{sharing} cases share a session with another case; from a queue they may run on several machines, \
             --shard keeps them on one"
        )
    })
}

/// Divides limits that are of the whole run.
fn share_limits(plan: &mut RunPlan, shards: u32, remarks: &mut Vec<String>) {
    if let Some(rate) = &mut plan.options.rate {
        let all = std::mem::replace(rate, (*rate / shards).max(1));
        let more = if all < shards {
            " (the minimum: all shards together start more)"
        } else {
            ""
        };
        remarks.push(format!(
            "the rate of {all} attempts a minute is shared by {shards} shards: this one starts {rate}{more}"
        ));
    }
    if let Some(limit) = &mut plan.judge.spending_limit {
        let all = std::mem::replace(limit, *limit / f64::from(shards));
        remarks.push(format!(
            "of the spending limit of {all} for all shards, this one has {limit:.4}"
        ));
    }
}

/// A plan without what differs between machines but not in results: all shards of a run have the same one.
fn comparable(plan: RunPlan) -> RunPlan {
    let RunOptions {
        repeat, turn, gate, ..
    } = plan.options;
    RunPlan {
        run_id: String::new(),
        started: String::new(),
        options: RunOptions {
            repeat,
            turn,
            gate,
            ..RunOptions::default()
        },
        judge: JudgeSpec {
            spending_limit: None,
            ..plan.judge
        },
        ..plan
    }
}

/// The shard of each case, from 0.
fn assign(cases: &[CaseToSplit], shards: u32, by: ShardBy) -> Vec<u32> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_session: HashMap<&str, usize> = HashMap::new();
    for (at, case) in cases.iter().enumerate() {
        let known = case
            .session
            .as_deref()
            .and_then(|session| of_session.get(session).copied());
        match known {
            Some(group) => groups[group].push(at),
            None => {
                of_session.extend(
                    case.session
                        .as_deref()
                        .map(|session| (session, groups.len())),
                );
                groups.push(vec![at]);
            }
        }
    }
    let of_groups: Vec<u32> = match by {
        ShardBy::Slice => (0..groups.len())
            .map(|group| (group as u64 % u64::from(shards)) as u32)
            .collect(),
        ShardBy::Hash => groups
            .iter()
            .map(|group| hashed(&cases[group[0]], shards))
            .collect(),
        // Each machine may take any case.
        ShardBy::Queue => vec![0; groups.len()],
        ShardBy::Time => balanced(&groups, cases, shards),
    };
    let mut assigned = vec![0; cases.len()];
    for (group, shard) in groups.iter().zip(of_groups) {
        group.iter().for_each(|&case| assigned[case] = shard);
    }
    assigned
}

fn hashed(case: &CaseToSplit, shards: u32) -> u32 {
    let name = case.session.as_deref().unwrap_or(&case.name);
    let digest = fingerprint(&[name.as_bytes()]);
    let number = u64::from_str_radix(&digest[..16], 16).unwrap_or_default();
    (number % u64::from(shards)) as u32
}

/// Gives each group, the longest first, to the shard with the least work. A case without a result counts as the mean.
fn balanced(groups: &[Vec<usize>], cases: &[CaseToSplit], shards: u32) -> Vec<u32> {
    let known: Vec<f64> = cases.iter().filter_map(|case| case.seconds).collect();
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    let seconds: Vec<f64> = groups
        .iter()
        .map(|group| {
            group
                .iter()
                .map(|&at| cases[at].seconds.unwrap_or(mean))
                .sum()
        })
        .collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|&a, &b| seconds[b].total_cmp(&seconds[a]));
    let mut loads: std::collections::BinaryHeap<_> = (0..shards)
        .map(|shard| std::cmp::Reverse((Load(0.0), shard)))
        .collect();
    let mut assigned = vec![0; groups.len()];
    for group in order {
        if let Some(std::cmp::Reverse((Load(load), shard))) = loads.pop() {
            assigned[group] = shard;
            loads.push(std::cmp::Reverse((Load(load + seconds[group]), shard)));
        }
    }
    assigned
}

/// Seconds, in a total order.
#[derive(Clone, Copy, Debug)]
struct Load(f64);

impl PartialEq for Load {
    fn eq(&self, other: &Load) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Load {}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Load) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Load {
    fn cmp(&self, other: &Load) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cases_sharing_a_session_are_reported() {
        let cases = [
            case(0, Some(1), None),
            case(1, Some(1), None),
            case(2, Some(2), None),
            case(3, None, None),
        ];
        let said = shared_sessions(&cases).unwrap();
        assert!(said.starts_with("2 cases share a session"), "{said}");
        assert_eq!(shared_sessions(&cases[1..]), None);
    }

    fn case(name: usize, session: Option<u8>, seconds: Option<f64>) -> CaseToSplit {
        CaseToSplit {
            name: name.to_string(),
            session: session.map(|id| id.to_string()),
            seconds,
        }
    }

    #[test]
    fn slices_take_turns_and_times_are_balanced() {
        let cases: Vec<CaseToSplit> = [9.0, 1.0, 1.0, 8.0, 1.0]
            .iter()
            .enumerate()
            .map(|(at, time)| case(at, None, Some(*time)))
            .collect();
        assert_eq!(assign(&cases, 2, ShardBy::Slice), [0, 1, 0, 1, 0]);
        assert_eq!(assign(&cases, 2, ShardBy::Time), [0, 1, 0, 1, 1]);
    }

    #[test]
    fn hash_shard_of_case_ignores_other_cases() {
        let cases = |from: usize| {
            (from..50)
                .map(|at| case(at, None, None))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            assign(&cases(0), 7, ShardBy::Hash)[20..],
            assign(&cases(20), 7, ShardBy::Hash)
        );
    }

    proptest! {
        #[test]
        fn cases_of_one_session_share_a_valid_shard(
            cases in prop::collection::vec((prop::option::of(0u8..4), prop::option::of(0.0..100.0)), 0..60),
            shards in 1u32..9,
            by in prop::sample::select(vec![ShardBy::Slice, ShardBy::Hash, ShardBy::Time]),
        ) {
            let cases: Vec<CaseToSplit> =
                cases.into_iter().enumerate().map(|(at, (session, time))| case(at, session, time)).collect();
            let assigned = assign(&cases, shards, by);
            prop_assert_eq!(assigned.len(), cases.len());
            prop_assert!(assigned.iter().all(|shard| *shard < shards));
            for (at, one) in cases.iter().enumerate() {
                for (other_at, other) in cases.iter().enumerate() {
                    if one.session.is_some() && one.session == other.session {
                        prop_assert_eq!(assigned[at], assigned[other_at]);
                    }
                }
            }
        }
    }
}
