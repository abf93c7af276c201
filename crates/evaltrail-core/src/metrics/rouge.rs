//! ROUGE as the `rouge_score` package computes it: overlaps of words, of runs of words, and of longest common
//! subsequences. Words are represented by numbers; equal words have equal numbers.

use super::words::shared_runs;

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
    pub(super) fn new(shared: usize, reference: usize, candidate: usize) -> Overlap {
        let precision = shared as f64 / candidate.max(1) as f64;
        let recall = shared as f64 / reference.max(1) as f64;
        let fmeasure = match precision + recall {
            0.0 => 0.0,
            sum => 2.0 * precision * recall / sum,
        };
        Overlap {
            precision,
            recall,
            fmeasure,
        }
    }
}

/// ROUGE-N: the overlap of runs of `n` words, which are numbers below `kinds`.
pub(super) fn rouge_n(reference: &[u32], candidate: &[u32], n: usize, kinds: usize) -> Overlap {
    let runs = |side: &[u32]| (side.len() + 1).saturating_sub(n);
    Overlap::new(
        shared_runs(reference, candidate, n, kinds),
        runs(reference),
        runs(candidate),
    )
}

/// ROUGE-L: the longest common subsequence.
pub(super) fn rouge_l(reference: &[u32], candidate: &[u32]) -> Overlap {
    if reference.is_empty() || candidate.is_empty() {
        return Overlap::default();
    }
    Overlap::new(
        lcs_length(reference, candidate),
        reference.len(),
        candidate.len(),
    )
}

fn lcs_length(a: &[u32], b: &[u32]) -> usize {
    let mut row = vec![0u32; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y {
                diagonal + 1
            } else {
                above.max(row[j])
            };
            diagonal = above;
        }
    }
    row[b.len()] as usize
}

/// ROUGE-Lsum: for each sentence of the reference, the union of its longest common subsequences with all sentences of
/// the candidate. Every word counts at most as often as it occurs on either side.
pub(super) fn rouge_l_sum(reference: &[Vec<u32>], candidate: &[Vec<u32>], kinds: usize) -> Overlap {
    let lengths = |side: &[Vec<u32>]| side.iter().map(Vec::len).sum::<usize>();
    let (m, n) = (lengths(reference), lengths(candidate));
    if m == 0 || n == 0 {
        return Overlap::default();
    }
    let (mut left_reference, mut left_candidate) =
        (counted(reference, kinds), counted(candidate, kinds));
    let mut hits = 0;
    for sentence in reference {
        let mut in_union = vec![false; sentence.len()];
        for other in candidate {
            mark_lcs(sentence, other, &mut in_union);
        }
        for (&word, _) in sentence
            .iter()
            .zip(&in_union)
            .filter(|(_, marked)| **marked)
        {
            let (r, c) = (
                &mut left_reference[word as usize],
                &mut left_candidate[word as usize],
            );
            if *r > 0 && *c > 0 {
                *r -= 1;
                *c -= 1;
                hits += 1;
            }
        }
    }
    Overlap::new(hits, m, n)
}

fn counted(sentences: &[Vec<u32>], kinds: usize) -> Vec<u32> {
    let mut counts = vec![0; kinds];
    for &word in sentences.iter().flatten() {
        counts[word as usize] += 1;
    }
    counts
}

/// Marks the words of `a` that are in a longest common subsequence with `b`: the one that
/// rouge_score's backtracking finds.
fn mark_lcs(a: &[u32], b: &[u32], marked: &mut [bool]) {
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

    #[test]
    fn order_counts_in_l_and_not_in_n() {
        // "the fox quick brown" against "the quick brown fox"
        let (reference, candidate) = ([0, 1, 2, 3], [0, 2, 3, 1]);
        assert_eq!(rouge_n(&reference, &candidate, 1, 4).fmeasure, 1.0);
        assert!((rouge_n(&reference, &candidate, 2, 4).fmeasure - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(rouge_l(&reference, &candidate).fmeasure, 0.75);
    }

    #[test]
    fn order_of_sentences_is_ignored_in_lsum() {
        let (sides, swapped) = ([vec![0, 1], vec![2, 3]], [vec![2, 3], vec![0, 1]]);
        assert_eq!(rouge_l_sum(&sides, &swapped, 4).fmeasure, 1.0);
        assert_eq!(rouge_l_sum(&[], &[], 0), Overlap::default());
    }
}
