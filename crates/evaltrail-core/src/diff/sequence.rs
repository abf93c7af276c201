//! The difference of two sequences of texts: lines, sentences or words.

use imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

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

/// Compares two sequences with Myers' algorithm in linear memory. Where many items differ, heuristics keep the time close to
/// linear, and the difference may not be the smallest one. Together the hunks cover both sides in order.
pub fn diff_sequences(left: &[&str], right: &[&str]) -> Vec<Hunk> {
    let mut input = InternedInput::default();
    input.update_before(left.iter().copied());
    input.update_after(right.iter().copied());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let mut hunks = Vec::new();
    let (mut at_left, mut at_right) = (0, 0);
    let mut push = |left: Range<usize>, right: Range<usize>, is_equal| {
        if !left.is_empty() || !right.is_empty() {
            hunks.push(Hunk {
                left,
                right,
                is_equal,
            });
        }
    };
    let range = |range: &Range<u32>| range.start as usize..range.end as usize;
    for changed in diff.hunks() {
        let (before, after) = (range(&changed.before), range(&changed.after));
        push(at_left..before.start, at_right..after.start, true);
        (at_left, at_right) = (before.end, after.end);
        push(before, after, false);
    }
    push(at_left..left.len(), at_right..right.len(), true);
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_replaced_item_is_one_hunk() {
        let hunks = diff_sequences(&["a", "b", "c"], &["a", "x", "c"]);
        let hunk = |at: usize, is_equal| Hunk {
            left: at..at + 1,
            right: at..at + 1,
            is_equal,
        };
        assert_eq!(hunks, [hunk(0, true), hunk(1, false), hunk(2, true)]);
        assert_eq!(diff_sequences(&[], &[]), []);
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
            for hunk in diff_sequences(&left, &right) {
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
