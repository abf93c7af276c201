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

/// Numbers of the words of texts in which words with the same stem may have the same number. Each different word is stemmed
/// once.
pub(super) struct WordNumbers<'a> {
    is_stemmed: bool,
    words: Interner<'a>,
    /// The number of the stem of each word.
    stem_of: Vec<u32>,
    stems: Interner<'a>,
}

impl<'a> WordNumbers<'a> {
    pub(super) fn new(is_stemmed: bool, room: usize) -> WordNumbers<'a> {
        WordNumbers {
            is_stemmed,
            words: Interner::with_room(room),
            stem_of: Vec::new(),
            stems: Interner::default(),
        }
    }

    /// The numbers of the words of a text in lower case.
    pub(super) fn of_text(&mut self, lowered: &'a str) -> Vec<u32> {
        plain_words(lowered).map(|word| self.number(word)).collect()
    }

    fn number(&mut self, word: &'a str) -> u32 {
        let number = self.words.id(Cow::Borrowed(word));
        if !self.is_stemmed {
            return number;
        }
        if number as usize == self.stem_of.len() {
            self.stem_of.push(self.stems.id(stemmed(word)));
        }
        self.stem_of[number as usize]
    }

    /// How many different numbers there are.
    pub(super) fn kinds(&self) -> usize {
        match self.is_stemmed {
            true => self.stems.kinds(),
            false => self.words.kinds(),
        }
    }
}

/// A lower-case word, stemmed if it is long enough.
pub(super) fn stemmed(word: &str) -> Cow<'_, str> {
    match word.len() > STEM_ABOVE {
        true => Cow::Owned(stem(word)),
        false => Cow::Borrowed(word),
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
pub(super) fn plain_words(lowered: &str) -> impl Iterator<Item = &str> {
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
        (at > start).then(|| &lowered[start..at])
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
