//! Differences between two texts, word by word.

use super::diff_sequences;
use std::borrow::Cow;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// The length in bytes from which texts are compared by sentences first, and by words where sentences differ.
const SENTENCES_FROM: usize = 32 << 10;
/// The maximum length in bytes of a changed part that is compared by words. A longer one is changed as a whole, and
/// [`TextDiff::coarse`] is set.
const MAX_BY_WORDS: usize = 1 << 20;
/// The minimum number of words of a common part that is shortened where only differences are shown.
const MIN_SHORTENED: usize = 40;
/// How many words of a shortened common part are shown beside a change.
const CONTEXT: usize = 8;

/// A part of two compared texts.
#[derive(Clone, Debug, PartialEq)]
pub enum TextPart {
    /// On both sides.
    Same(String),
    /// Different on both sides; one of them may be empty.
    Changed {
        /// The expected text.
        expected: String,
        /// The actual text.
        actual: String,
    },
    /// A common part that is not shown: its number of words.
    Hidden(usize),
}

/// Two compared texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextDiff {
    /// The parts, in order. No two parts of the same kind follow each other.
    pub parts: Vec<TextPart>,
    /// Whether a part was too long to be compared by words.
    pub coarse: bool,
}

/// Compares two texts. `\r\n` and `\n` are the same line end.
pub fn diff_words(expected: &str, actual: &str) -> TextDiff {
    let (expected, actual) = (with_unix_line_ends(expected), with_unix_line_ends(actual));
    let (expected, actual) = (expected.as_ref(), actual.as_ref());
    let mut diff = TextDiff::default();
    if expected.len().max(actual.len()) < SENTENCES_FROM {
        diff.compare_words(expected, actual);
        return diff;
    }
    let (left, right) = (sentences(expected), sentences(actual));
    for hunk in diff_sequences(&left, &right) {
        let (left, right) = (left[hunk.left].concat(), right[hunk.right].concat());
        match hunk.is_equal {
            true => diff.push_same(left),
            false if left.len().max(right.len()) > MAX_BY_WORDS => {
                diff.coarse = true;
                diff.push_changed(left, right);
            }
            false => diff.compare_words(&left, &right),
        }
    }
    diff
}

fn with_unix_line_ends(text: &str) -> Cow<'_, str> {
    match text.contains("\r\n") {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    }
}

impl TextDiff {
    /// Whether the texts differ.
    pub fn is_changed(&self) -> bool {
        let is_changed = |part: &TextPart| matches!(part, TextPart::Changed { .. });
        self.parts.iter().any(is_changed)
    }

    /// The same texts, where the middle of each long common part is hidden.
    pub fn without_common(self) -> TextDiff {
        let last = self.parts.len().saturating_sub(1);
        let shortened = |(at, part): (usize, TextPart)| match part {
            TextPart::Same(text) => shorten(text, at > 0, at < last),
            part => vec![part],
        };
        TextDiff {
            parts: self
                .parts
                .into_iter()
                .enumerate()
                .flat_map(shortened)
                .collect(),
            coarse: self.coarse,
        }
    }

    fn compare_words(&mut self, expected: &str, actual: &str) {
        let (left, right) = (split_into_words(expected), split_into_words(actual));
        for hunk in diff_sequences(&left, &right) {
            let (left, right) = (left[hunk.left].concat(), right[hunk.right].concat());
            match hunk.is_equal {
                true => self.push_same(left),
                false => self.push_changed(left, right),
            }
        }
    }

    fn push_same(&mut self, text: String) {
        match self.parts.last_mut() {
            Some(TextPart::Same(last)) => last.push_str(&text),
            _ => self.parts.push(TextPart::Same(text)),
        }
    }

    fn push_changed(&mut self, left: String, right: String) {
        match self.parts.last_mut() {
            Some(TextPart::Changed { expected, actual }) => {
                expected.push_str(&left);
                actual.push_str(&right);
            }
            _ => self.parts.push(TextPart::Changed {
                expected: left,
                actual: right,
            }),
        }
    }
}

/// A common text, without its middle if it is long. `has_before` and `has_after` tell whether changed parts are beside it.
fn shorten(text: String, has_before: bool, has_after: bool) -> Vec<TextPart> {
    let words = word_ranges(&text);
    let from = if has_before { CONTEXT } else { 0 };
    let to = words
        .len()
        .saturating_sub(if has_after { CONTEXT } else { 0 });
    if words.len() < MIN_SHORTENED || !(has_before || has_after) {
        return vec![TextPart::Same(text)];
    }
    let start = &text[..words[from].start];
    let tail = words.get(to).map_or("", |word| &text[word.start..]);
    let parts = [
        TextPart::Same(start.trim_end().to_string()),
        TextPart::Hidden(to - from),
        TextPart::Same(tail.to_string()),
    ];
    let is_empty = |part: &TextPart| matches!(part, TextPart::Same(text) if text.is_empty());
    parts.into_iter().filter(|part| !is_empty(part)).collect()
}

/// The words of a text, also of a language without spaces.
fn word_ranges(text: &str) -> Vec<Range<usize>> {
    let range = |(at, word): (usize, &str)| at..at + word.len();
    text.unicode_word_indices().map(range).collect()
}

/// The sentences and lines of a text, each with what separates it from the next one.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut ends) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'.' | b'!' | b'?' | b'\n' => ends = true,
            b' ' | b'\r' => {}
            _ if ends && text.is_char_boundary(at) => {
                let has_gap = matches!(text.as_bytes()[at - 1], b' ' | b'\n');
                if has_gap {
                    found.push(&text[start..at]);
                    start = at;
                }
                ends = false;
            }
            _ => ends = false,
        }
    }
    found.push(&text[start..]);
    found
}

fn split_into_words(text: &str) -> Vec<&str> {
    text.split_word_bounds().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marked(diff: &TextDiff) -> [String; 2] {
        let side = |is_expected: bool| {
            let part = |part: &TextPart| match part {
                TextPart::Same(text) => text.clone(),
                TextPart::Changed { expected, .. } if is_expected => format!("[{expected}]"),
                TextPart::Changed { actual, .. } => format!("[{actual}]"),
                TextPart::Hidden(words) => format!("<{words}>"),
            };
            diff.parts.iter().map(part).collect()
        };
        [side(true), side(false)]
    }

    #[test]
    fn words_are_not_split_by_the_diff() {
        let diff = diff_words("It will rain on Tuesday.", "It should rain on Wednesday.");
        assert_eq!(
            marked(&diff),
            [
                "It [will] rain on [Tuesday].",
                "It [should] rain on [Wednesday]."
            ]
        );
    }

    #[test]
    fn line_ends_are_no_difference() {
        let diff = diff_words("one\r\ntwo", "one\ntwo");
        assert_eq!(diff.parts, [TextPart::Same("one\ntwo".into())]);
    }

    #[test]
    fn one_changed_word_is_found_in_a_long_text() {
        for separator in [" ", "\n", ". "] {
            let text = |word: &str| -> String {
                let words = (0..40_000).map(|at| match at {
                    21_000 => word.to_string(),
                    at => format!("w{at}"),
                });
                words.collect::<Vec<_>>().join(separator)
            };
            let diff = diff_words(&text("before"), &text("after"));
            assert_eq!((diff.parts.len(), diff.coarse), (3, false), "{separator:?}");
            let shown = marked(&diff.without_common());
            let start = format!("<20992>w20992{separator}");
            assert!(shown[0].starts_with(&start), "{}", &shown[0][..60]);
            assert!(shown[0].contains(&format!("{separator}[before]{separator}w21001")));
            assert!(
                shown[1].contains("[after]") && shown[1].ends_with("<18991>"),
                "{}",
                shown[1]
            );
        }
    }

    #[test]
    fn texts_without_spaces_are_shortened() {
        let text = |word: &str| {
            format!(
                "{}{word}{}",
                "今日は晴れです。".repeat(30),
                "明日は雨です。".repeat(30)
            )
        };
        let shown = marked(&diff_words(&text("雪"), &text("風")).without_common());
        assert!(
            shown[0].starts_with('<') && shown[0].ends_with('>'),
            "{}",
            shown[0]
        );
        assert!(shown[0].chars().count() < 80, "{}", shown[0]);
    }

    #[test]
    fn short_common_parts_stay() {
        let text = |word: &str| format!("{} {word} {}", "a ".repeat(30), "b ".repeat(30));
        let diff = diff_words(&text("x"), &text("y"));
        assert_eq!(diff.clone().without_common(), diff);
        let same = diff_words(&"a ".repeat(100), &"a ".repeat(100));
        assert_eq!(same.clone().without_common(), same, "nothing differs");
    }

    proptest! {
        #[test]
        fn each_side_is_rebuilt(a in "[a-c. \n]{0,40}", b in "[a-c. \n]{0,40}", is_long: bool) {
            let long = |text: &str| match is_long {
                true => format!("{text}{}", ". é ".repeat(SENTENCES_FROM / 5)),
                false => text.to_string(),
            };
            let (a, b) = (long(&a), long(&b));
            let diff = diff_words(&a, &b);
            let (mut left, mut right) = (String::new(), String::new());
            for part in &diff.parts {
                match part {
                    TextPart::Same(text) => {
                        left += text;
                        right += text;
                    }
                    TextPart::Changed { expected, actual } => {
                        left += expected;
                        right += actual;
                    }
                    TextPart::Hidden(_) => prop_assert!(false),
                }
            }
            prop_assert_eq!(left, a);
            prop_assert_eq!(right, b);
        }
    }
}
