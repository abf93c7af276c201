//! Words as small numbers: two texts are compared many times, so equal words are identified once.

use super::porter::stem;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Words of more characters than this are stemmed.
const STEM_ABOVE: usize = 3;

/// Gives equal words equal numbers, from 0.
#[derive(Default)]
pub(super) struct Interner<'a> {
    /// Words of up to seven bytes; the key contains their bytes and length.
    short: FxHashMap<u64, u32>,
    long: FxHashMap<Cow<'a, str>, u32>,
}

impl<'a> Interner<'a> {
    pub(super) fn with_room(words: usize) -> Interner<'a> {
        let short = FxHashMap::with_capacity_and_hasher(words, Default::default());
        Interner {
            short,
            ..Interner::default()
        }
    }

    /// The number of a word.
    pub(super) fn id(&mut self, word: Cow<'a, str>) -> u32 {
        let next = self.kinds() as u32;
        match short_key(word.as_bytes()) {
            Some(key) => *self.short.entry(key).or_insert(next),
            None => *self.long.entry(word).or_insert(next),
        }
    }

    /// How many different words there are.
    pub(super) fn kinds(&self) -> usize {
        self.short.len() + self.long.len()
    }

    pub(super) fn all(&mut self, words: impl Iterator<Item = Cow<'a, str>>) -> Vec<u32> {
        words.map(|word| self.id(word)).collect()
    }
}

/// A short word as a number that no other word has.
fn short_key(word: &[u8]) -> Option<u64> {
    if word.len() > 7 {
        return None;
    }
    let bytes = word
        .iter()
        .fold(0u64, |key, byte| key << 8 | u64::from(*byte));
    Some(bytes | (word.len() as u64) << 56)
}

/// A text in lower case, as rouge_score's tokeniser converts it.
pub(super) fn lowered(text: &str) -> String {
    if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.to_lowercase()
    }
}

/// The words of a lower-case text: runs of a-z and 0-9; other scripts have none.
pub(super) fn plain_words(lowered: &str, stemmed: bool) -> impl Iterator<Item = Cow<'_, str>> {
    let bytes = lowered.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !bytes[at].is_ascii_alphanumeric() {
            at += 1;
        }
        let start = at;
        while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
            at += 1;
        }
        (at > start).then(|| match stemmed && at - start > STEM_ABOVE {
            true => Cow::Owned(stem(&lowered[start..at])),
            false => Cow::Borrowed(&lowered[start..at]),
        })
    })
}

/// How many items two lists share, each counted at most as often as it occurs on either side. Items are numbers below
/// `kinds`.
pub(super) fn shared(reference: &[u32], candidate: &[u32], kinds: usize) -> usize {
    let mut left = vec![0u32; kinds];
    for &id in reference {
        left[id as usize] += 1;
    }
    let mut shared = 0;
    for &id in candidate {
        if left[id as usize] > 0 {
            left[id as usize] -= 1;
            shared += 1;
        }
    }
    shared
}

/// Like [`shared`], for runs of `n` items.
pub(super) fn shared_runs(reference: &[u32], candidate: &[u32], n: usize, kinds: usize) -> usize {
    if n == 1 {
        return shared(reference, candidate, kinds);
    }
    // Runs become numbers, too: sorted, they are counted without a table.
    let keys = |side: &[u32]| {
        let mut keys: Vec<u128> = side
            .windows(n)
            .map(|run| {
                run.iter()
                    .fold(0u128, |key, id| key << 32 | u128::from(*id))
            })
            .collect();
        keys.sort_unstable();
        keys
    };
    debug_assert!(n <= 4, "four numbers of 32 bits fill a key");
    let (a, b) = (keys(reference), keys(candidate));
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_words_have_equal_numbers() {
        let mut interner = Interner::default();
        let words = [
            "a",
            "",
            "a\0",
            "\0a",
            "abcdefg",
            "abcdefgh",
            "abcdefghi",
            "é",
            "a",
        ];
        let ids = interner.all(words.iter().map(|word| Cow::Borrowed(*word)));
        assert_eq!(
            (ids, interner.kinds()),
            (vec![0, 1, 2, 3, 4, 5, 6, 7, 0], 8)
        );
    }

    #[test]
    fn shared_runs_count_minimum_of_both_sides() {
        let (a, b) = ([0, 1, 0, 1, 2], [1, 0, 1, 0, 1]);
        assert_eq!(shared_runs(&a, &b, 1, 3), 4);
        assert_eq!(shared_runs(&a, &b, 2, 3), 3);
        assert_eq!(shared_runs(&a, &b, 4, 3), 1);
        assert_eq!(shared_runs(&a, &[0], 2, 3), 0);
    }
}
