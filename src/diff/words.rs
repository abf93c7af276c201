//! Differences between two texts, word by word.

use super::diff_sequences;
use std::time::Duration;
use unicode_segmentation::UnicodeSegmentation;

/// Maximum length in bytes for a comparison by words. Longer texts are compared by lines, and [`TextDiff::coarse`] is
/// set.
const WORDS_AT_MOST: usize = 64 * 1024;
/// Time limit of one comparison.
const TIMEOUT: Duration = Duration::from_millis(200);

/// A piece of text that is on both sides or on one side only.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The text.
    pub text: String,
    /// Whether the text is on this side only.
    pub changed: bool,
}

/// Two compared texts, each as a list of common and changed segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextDiff {
    /// The expected text.
    pub expected: Vec<Segment>,
    /// The actual text.
    pub actual: Vec<Segment>,
    /// Whether the texts were compared by lines, because they were too long.
    pub coarse: bool,
}

/// Compares two texts.
pub fn diff_words(expected: &str, actual: &str) -> TextDiff {
    let coarse = expected.len().max(actual.len()) > WORDS_AT_MOST;
    let parts = if coarse { lines } else { split_into_words };
    let (left, right) = (parts(expected), parts(actual));
    let mut out = TextDiff {
        coarse,
        ..TextDiff::default()
    };
    for hunk in diff_sequences(&left, &right, Some(TIMEOUT)) {
        push(&mut out.expected, &left[hunk.left], !hunk.is_equal);
        push(&mut out.actual, &right[hunk.right], !hunk.is_equal);
    }
    out
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn split_into_words(text: &str) -> Vec<&str> {
    text.split_word_bounds().collect()
}

fn push(segments: &mut Vec<Segment>, parts: &[&str], changed: bool) {
    if parts.is_empty() {
        return;
    }
    let text = parts.concat();
    match segments.last_mut() {
        Some(last) if last.changed == changed => last.text.push_str(&text),
        _ => segments.push(Segment { text, changed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marked(segments: &[Segment]) -> String {
        segments
            .iter()
            .map(|s| {
                if s.changed {
                    format!("[{}]", s.text)
                } else {
                    s.text.clone()
                }
            })
            .collect()
    }

    #[test]
    fn words_are_compared_whole() {
        let diff = diff_words("It will rain on Tuesday.", "It should rain on Wednesday.");
        assert_eq!(marked(&diff.expected), "It [will] rain on [Tuesday].");
        assert_eq!(marked(&diff.actual), "It [should] rain on [Wednesday].");
    }

    proptest! {
        #[test]
        fn each_side_is_rebuilt(a in "[a-c \n]{0,40}", b in "[a-c \n]{0,40}") {
            let diff = diff_words(&a, &b);
            let join = |segments: &[Segment]| segments.iter().map(|s| s.text.as_str()).collect::<String>();
            prop_assert_eq!(join(&diff.expected), a);
            prop_assert_eq!(join(&diff.actual), b);
        }
    }
}
