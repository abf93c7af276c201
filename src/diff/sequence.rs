//! The difference of two sequences of texts: lines or words.

use rustc_hash::FxHashMap;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Consecutive items of both sides. At least one of the ranges is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The items of the left side.
    pub left: Range<usize>,
    /// The items of the right side.
    pub right: Range<usize>,
    /// Whether the items of both sides are the same. Otherwise those of the right side replace those of the left side.
    pub is_equal: bool,
}

/// Compares two sequences with Myers' algorithm, heuristics included. After the timeout the rest is compared coarsely.
/// Together the hunks cover both sides in order.
pub fn diff_sequences(left: &[&str], right: &[&str], timeout: Option<Duration>) -> Vec<Hunk> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    // Numbers instead of texts: they are compared faster, and the algorithm is compiled for one type.
    let mut numbers = FxHashMap::default();
    let (left, right) = (numbered(left, &mut numbers), numbered(right, &mut numbers));
    let (left, right) = (left.as_slice(), right.as_slice());
    let mut hook = Compact::new(Replace::new(Capture::new()), left, right);
    let compared = myers::diff_deadline(
        &mut hook,
        left,
        0..left.len(),
        right,
        0..right.len(),
        deadline,
    );
    match compared {
        Ok(()) => hook
            .into_inner()
            .into_inner()
            .into_ops()
            .into_iter()
            .map(hunk)
            .collect(),
        Err(never) => match never {},
    }
}

fn numbered<'a>(texts: &[&'a str], numbers: &mut FxHashMap<&'a str, usize>) -> Vec<usize> {
    let mut number = |text: &&'a str| {
        let next = numbers.len();
        *numbers.entry(*text).or_insert(next)
    };
    texts.iter().map(&mut number).collect()
}

fn hunk(op: DiffOp) -> Hunk {
    Hunk {
        left: op.old_range(),
        right: op.new_range(),
        is_equal: op.tag() == DiffTag::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_replaced_item_is_one_hunk() {
        let hunks = diff_sequences(&["a", "b", "c"], &["a", "x", "c"], None);
        let hunk = |at: usize, is_equal| Hunk {
            left: at..at + 1,
            right: at..at + 1,
            is_equal,
        };
        assert_eq!(hunks, [hunk(0, true), hunk(1, false), hunk(2, true)]);
        assert_eq!(diff_sequences(&[], &[], None), []);
    }

    proptest! {
        #[test]
        fn hunks_cover_both_sides_and_equal_ones_match(
            left in proptest::collection::vec("[ab]", 0..12),
            right in proptest::collection::vec("[ab]", 0..12),
        ) {
            let left: Vec<&str> = left.iter().map(String::as_str).collect();
            let right: Vec<&str> = right.iter().map(String::as_str).collect();
            let (mut at_left, mut at_right) = (0, 0);
            for hunk in diff_sequences(&left, &right, None) {
                prop_assert_eq!((hunk.left.start, hunk.right.start), (at_left, at_right));
                if hunk.is_equal {
                    prop_assert_eq!(&left[hunk.left.clone()], &right[hunk.right.clone()]);
                }
                (at_left, at_right) = (hunk.left.end, hunk.right.end);
            }
            prop_assert_eq!((at_left, at_right), (left.len(), right.len()));
        }
    }
}
