//! Alignment of expected and actual calls: the pairing with the lowest cost.
//!
//! A call of the same name with other arguments is *changed*, not missing and extra. A missing call that is equal to
//! an extra call at another position has *moved*.

use super::json::count_differences;
use super::{calls_equal, compared_args};
use crate::domain::ToolCall;

/// Maximum number of comparisons; above it, a greedy pairing is used and [`Alignment::coarse`] is set.
const MAX_CELLS: usize = 1_000_000;

/// How an expected and an actual call correspond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// Name and arguments are equal.
    Same,
    /// The same name with other arguments.
    Changed,
    /// Equal, at another position.
    Moved,
    /// Expected, but not called.
    Missing,
    /// Called, but not expected.
    Extra,
}

/// A row of the alignment: positions in the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignedPair {
    /// Position of the expected call.
    pub expected: Option<usize>,
    /// Position of the actual call.
    pub actual: Option<usize>,
    /// How the calls correspond.
    pub kind: PairKind,
}

/// The alignment of two lists of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// The rows in order.
    pub pairs: Vec<AlignedPair>,
    /// Whether the lists were too long for the lowest-cost pairing.
    pub coarse: bool,
}

/// Aligns two lists of calls.
pub fn align(expected: &[&ToolCall], actual: &[&ToolCall]) -> Alignment {
    let cells = (expected.len() + 1).saturating_mul(actual.len() + 1);
    let coarse = cells > MAX_CELLS;
    let pairs = if coarse {
        greedy(expected, actual)
    } else {
        least_cost(expected, actual)
    };
    Alignment {
        pairs: join_moved(pairs, expected, actual),
        coarse,
    }
}

impl Alignment {
    /// The cost of the alignment: 1 for each missing or extra call, 0.5 for a moved one, 0.3 to 0.9 for a changed
    /// one.
    pub fn cost(&self, expected: &[&ToolCall], actual: &[&ToolCall]) -> f64 {
        self.pairs
            .iter()
            .map(|pair| match (pair.kind, pair.expected, pair.actual) {
                (PairKind::Same, ..) => 0.0,
                (PairKind::Moved, ..) => 0.5,
                (PairKind::Changed, Some(e), Some(a)) => changed_cost(expected[e], actual[a]),
                _ => 1.0,
            })
            .sum()
    }
}

/// 0 for equal calls, otherwise [`changed_cost`]; `None` for calls with different names, which are never paired.
fn pair_cost(expected: &ToolCall, actual: &ToolCall) -> Option<f64> {
    if calls_equal(expected, actual, false) {
        Some(0.0)
    } else if expected.name == actual.name {
        Some(changed_cost(expected, actual))
    } else {
        None
    }
}

/// From 0.3 to 0.9, depending on the share of arguments that differ.
fn changed_cost(expected: &ToolCall, actual: &ToolCall) -> f64 {
    let count = |call: &ToolCall| call.args.as_ref().map_or(0, |args| args.len());
    let most = count(expected).max(count(actual)).max(1) as f64;
    let none = serde_json::Map::new();
    let (e, a) = (
        compared_args(expected, actual),
        compared_args(actual, expected),
    );
    let (e, a) = (e.as_deref().unwrap_or(&none), a.as_deref().unwrap_or(&none));
    let differing = count_differences(e, a) as f64;
    0.3 + 0.6 * (differing / most).min(1.0)
}

fn least_cost(expected: &[&ToolCall], actual: &[&ToolCall]) -> Vec<AlignedPair> {
    let (n, m) = (expected.len(), actual.len());
    let at = |i: usize, j: usize| i * (m + 1) + j;
    let mut cost = vec![0.0f64; (n + 1) * (m + 1)];
    let mut pairing: Vec<Option<f64>> = vec![None; (n + 1) * (m + 1)];
    for i in (0..=n).rev() {
        for j in (0..=m).rev() {
            let missing = (i < n).then(|| 1.0 + cost[at(i + 1, j)]);
            let extra = (j < m).then(|| 1.0 + cost[at(i, j + 1)]);
            let paired = (i < n && j < m)
                .then(|| pair_cost(expected[i], actual[j]))
                .flatten();
            pairing[at(i, j)] = paired;
            let paired = paired.map(|c| c + cost[at(i + 1, j + 1)]);
            cost[at(i, j)] = [paired, missing, extra]
                .into_iter()
                .flatten()
                .reduce(f64::min)
                .unwrap_or(0.0);
        }
    }
    let mut pairs = Vec::with_capacity(n.max(m));
    let (mut i, mut j) = (0, 0);
    while i < n || j < m {
        let here = cost[at(i, j)];
        match pairing[at(i, j)] {
            Some(c) if same(here, c + cost[at(i + 1, j + 1)]) => {
                let kind = if c == 0.0 {
                    PairKind::Same
                } else {
                    PairKind::Changed
                };
                pairs.push(AlignedPair {
                    expected: Some(i),
                    actual: Some(j),
                    kind,
                });
                (i, j) = (i + 1, j + 1);
            }
            _ if i < n && same(here, 1.0 + cost[at(i + 1, j)]) => {
                pairs.push(AlignedPair {
                    expected: Some(i),
                    actual: None,
                    kind: PairKind::Missing,
                });
                i += 1;
            }
            _ => {
                pairs.push(AlignedPair {
                    expected: None,
                    actual: Some(j),
                    kind: PairKind::Extra,
                });
                j += 1;
            }
        }
    }
    pairs
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Pairs each expected call with the first equal actual call after the previous match.
fn greedy(expected: &[&ToolCall], actual: &[&ToolCall]) -> Vec<AlignedPair> {
    let mut pairs = Vec::new();
    let mut next = 0;
    for (i, call) in expected.iter().enumerate() {
        let found = actual[next..]
            .iter()
            .take(1000)
            .position(|other| calls_equal(call, other, false));
        match found {
            None => pairs.push(AlignedPair {
                expected: Some(i),
                actual: None,
                kind: PairKind::Missing,
            }),
            Some(offset) => {
                let extra = |j| AlignedPair {
                    expected: None,
                    actual: Some(j),
                    kind: PairKind::Extra,
                };
                pairs.extend((next..next + offset).map(extra));
                pairs.push(AlignedPair {
                    expected: Some(i),
                    actual: Some(next + offset),
                    kind: PairKind::Same,
                });
                next += offset + 1;
            }
        }
    }
    let extra = |j| AlignedPair {
        expected: None,
        actual: Some(j),
        kind: PairKind::Extra,
    };
    pairs.extend((next..actual.len()).map(extra));
    pairs
}

/// Joins a missing call and an equal extra call into one moved pair, at the position of the expected call.
fn join_moved(
    mut pairs: Vec<AlignedPair>,
    expected: &[&ToolCall],
    actual: &[&ToolCall],
) -> Vec<AlignedPair> {
    for at in 0..pairs.len() {
        let (PairKind::Missing, Some(e)) = (pairs[at].kind, pairs[at].expected) else {
            continue;
        };
        let is_twin = |pair: &AlignedPair| {
            pair.kind == PairKind::Extra
                && pair
                    .actual
                    .is_some_and(|a| calls_equal(expected[e], actual[a], false))
        };
        if let Some(twin) = pairs.iter().take(10_000).position(is_twin) {
            let position = pairs[twin].actual;
            pairs[at] = AlignedPair {
                expected: Some(e),
                actual: position,
                kind: PairKind::Moved,
            };
            pairs[twin] = AlignedPair {
                expected: None,
                actual: None,
                kind: PairKind::Extra,
            };
        }
    }
    pairs.retain(|pair| pair.expected.is_some() || pair.actual.is_some());
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn calls(spec: &[(&str, i64)]) -> Vec<ToolCall> {
        spec.iter()
            .map(|(name, x)| ToolCall::new(*name, json!({"x": x, "y": 0}).as_object().cloned()))
            .collect()
    }

    fn kinds(expected: &[(&str, i64)], actual: &[(&str, i64)]) -> Vec<PairKind> {
        let (e, a) = (calls(expected), calls(actual));
        align(&e.iter().collect::<Vec<_>>(), &a.iter().collect::<Vec<_>>())
            .pairs
            .iter()
            .map(|p| p.kind)
            .collect()
    }

    #[test]
    fn other_arguments_are_a_change() {
        use PairKind::*;
        assert_eq!(
            kinds(&[("a", 1), ("b", 1)], &[("a", 1), ("b", 2)]),
            [Same, Changed]
        );
        assert_eq!(kinds(&[("a", 1)], &[("c", 1), ("a", 1)]), [Extra, Same]);
        assert_eq!(kinds(&[("a", 1), ("b", 1)], &[("a", 1)]), [Same, Missing]);
        assert_eq!(
            kinds(&[("a", 1), ("b", 1)], &[("b", 1), ("a", 1)]),
            [Moved, Same]
        );
        assert_eq!(kinds(&[], &[]), []);
    }

    /// A moved call costs less than a missing call and an extra one.
    #[test]
    fn a_moved_call_costs_half() {
        let cost = |expected: &[(&str, i64)], actual: &[(&str, i64)]| {
            let (e, a) = (calls(expected), calls(actual));
            let (e, a): (Vec<_>, Vec<_>) = (e.iter().collect(), a.iter().collect());
            align(&e, &a).cost(&e, &a)
        };
        assert_eq!(cost(&[("a", 1), ("b", 1)], &[("b", 1), ("a", 1)]), 0.5);
        assert_eq!(cost(&[("a", 1)], &[("a", 1)]), 0.0);
        assert_eq!(cost(&[("a", 1)], &[]), 1.0);
    }

    #[test]
    fn the_best_pairing_is_not_the_first() {
        // A greedy pairing would pair `a` with the changed call and report the equal one as extra.
        use PairKind::*;
        assert_eq!(kinds(&[("a", 1)], &[("a", 2), ("a", 1)]), [Extra, Same]);
    }

    proptest! {
        #[test]
        fn every_call_is_in_exactly_one_row(
            e in proptest::collection::vec((0..3usize, 0..2i64), 0..8),
            a in proptest::collection::vec((0..3usize, 0..2i64), 0..8),
        ) {
            let names = ["a", "b", "c"];
            let e: Vec<_> = e.into_iter().map(|(n, x)| (names[n], x)).collect();
            let a: Vec<_> = a.into_iter().map(|(n, x)| (names[n], x)).collect();
            let (e, a) = (calls(&e), calls(&a));
            let (e, a): (Vec<_>, Vec<_>) = (e.iter().collect(), a.iter().collect());
            let best = align(&e, &a);
            let mut left: Vec<_> = best.pairs.iter().filter_map(|p| p.expected).collect();
            let mut right: Vec<_> = best.pairs.iter().filter_map(|p| p.actual).collect();
            left.sort_unstable();
            right.sort_unstable();
            prop_assert_eq!(left, (0..e.len()).collect::<Vec<_>>());
            prop_assert_eq!(right, (0..a.len()).collect::<Vec<_>>());
            let before_moves = |pairs: Vec<AlignedPair>| Alignment { pairs, coarse: false }.cost(&e, &a);
            prop_assert!(before_moves(least_cost(&e, &a)) <= before_moves(greedy(&e, &a)) + 1e-9);
        }
    }
}
