//! ROUGE as the `rouge_score` package computes it: overlaps of words, of n-grams, and of longest
//! common subsequences, for any tokens.

use std::collections::HashMap;
use std::hash::Hash;

/// How much of two texts overlaps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlap {
    /// Overlap by the candidate's length.
    pub precision: f64,
    /// Overlap by the reference's length.
    pub recall: f64,
    /// Their harmonic mean; 0 when either side is empty, also when both are.
    pub fmeasure: f64,
}

impl Overlap {
    fn of(shared: usize, reference: usize, candidate: usize) -> Overlap {
        let precision = shared as f64 / candidate.max(1) as f64;
        let recall = shared as f64 / reference.max(1) as f64;
        let fmeasure = match precision + recall {
            0.0 => 0.0,
            sum => 2.0 * precision * recall / sum,
        };
        Overlap { precision, recall, fmeasure }
    }
}

/// The overlap of two bags of things, and how many they share.
pub(super) fn bag_overlap<T: Hash + Eq>(reference: &[T], candidate: &[T]) -> (Overlap, usize) {
    let mut left: HashMap<&T, usize> = HashMap::with_capacity(reference.len());
    for token in reference {
        *left.entry(token).or_default() += 1;
    }
    let mut shared = 0usize;
    for token in candidate {
        if let Some(count) = left.get_mut(token).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    (Overlap::of(shared, reference.len(), candidate.len()), shared)
}

/// ROUGE-N: the overlap of runs of `n` tokens.
pub fn rouge_n<T: Hash + Eq>(reference: &[T], candidate: &[T], n: usize) -> Overlap {
    let (reference, candidate): (Vec<&[T]>, Vec<&[T]>) =
        (reference.windows(n).collect(), candidate.windows(n).collect());
    bag_overlap(&reference, &candidate).0
}

/// ROUGE-L: the longest common subsequence.
pub fn rouge_l<T: Eq>(reference: &[T], candidate: &[T]) -> Overlap {
    if reference.is_empty() || candidate.is_empty() {
        return Overlap::default();
    }
    Overlap::of(lcs_length(reference, candidate), reference.len(), candidate.len())
}

fn lcs_length<T: Eq>(a: &[T], b: &[T]) -> usize {
    let mut row = vec![0u32; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row[b.len()] as usize
}

/// ROUGE-Lsum: for each sentence of the reference the union of its subsequences with all sentences of
/// the candidate, every token counted no more often than it stands on either side.
pub fn rouge_l_sum<T: Hash + Eq>(reference: &[Vec<T>], candidate: &[Vec<T>]) -> Overlap {
    let lengths = |side: &[Vec<T>]| side.iter().map(Vec::len).sum::<usize>();
    let (m, n) = (lengths(reference), lengths(candidate));
    if m == 0 || n == 0 {
        return Overlap::default();
    }
    let (mut left_reference, mut left_candidate) = (counted(reference), counted(candidate));
    let mut hits = 0;
    for sentence in reference {
        let mut in_union = vec![false; sentence.len()];
        for other in candidate {
            mark_lcs(sentence, other, &mut in_union);
        }
        for token in sentence.iter().zip(&in_union).filter(|(_, marked)| **marked).map(|(token, _)| token) {
            if let (Some(r @ 1..), Some(c @ 1..)) =
                (left_reference.get_mut(token), left_candidate.get_mut(token))
            {
                *r -= 1;
                *c -= 1;
                hits += 1;
            }
        }
    }
    Overlap::of(hits, m, n)
}

fn counted<T: Hash + Eq>(sentences: &[Vec<T>]) -> HashMap<&T, usize> {
    let mut counts = HashMap::new();
    for token in sentences.iter().flatten() {
        *counts.entry(token).or_default() += 1;
    }
    counts
}

/// Marks the tokens of `a` that are in a longest common subsequence with `b`: the one that
/// rouge_score's backtracking finds.
fn mark_lcs<T: Eq>(a: &[T], b: &[T], marked: &mut [bool]) {
    let width = b.len() + 1;
    let mut table = vec![0u32; (a.len() + 1) * width];
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            table[i * width + j] = match a[i - 1] == b[j - 1] {
                true => table[(i - 1) * width + j - 1] + 1,
                false => table[(i - 1) * width + j].max(table[i * width + j - 1]),
            };
        }
    }
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            marked[i - 1] = true;
            (i, j) = (i - 1, j - 1);
        } else if table[i * width + j - 1] > table[(i - 1) * width + j] {
            j -= 1;
        } else {
            i -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn order_counts_in_l_and_not_in_n() {
        let (reference, candidate) = (words("the fox quick brown"), words("the quick brown fox"));
        assert_eq!(rouge_n(&reference, &candidate, 1).fmeasure, 1.0);
        assert!((rouge_n(&reference, &candidate, 2).fmeasure - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(rouge_l(&reference, &candidate).fmeasure, 0.75);
    }

    #[test]
    fn sentences_may_change_places_in_lsum() {
        let sides = [words("one a"), words("two b")];
        let swapped = [words("two b"), words("one a")];
        assert_eq!(rouge_l_sum(&sides, &swapped).fmeasure, 1.0);
        assert_eq!(rouge_l_sum::<&str>(&[], &[]), Overlap::default());
    }
}
