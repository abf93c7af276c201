//! Differences between two texts, word by word.

use similar::{Algorithm, ChangeTag, TextDiffConfig};
use std::time::Duration;

/// Longer texts are compared line by line instead of word by word, and it is said.
const WORDS_AT_MOST: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_millis(200);

/// A stretch of text that is on both sides, or on one.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The text.
    pub text: String,
    /// Whether the other side lacks it.
    pub changed: bool,
}

/// Two texts, each as stretches that the other has or lacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextDiff {
    /// The expected text.
    pub expected: Vec<Segment>,
    /// The actual text.
    pub actual: Vec<Segment>,
    /// The texts were too long for words: whole lines were compared.
    pub coarse: bool,
}

/// Compares two texts.
pub fn diff_words(expected: &str, actual: &str) -> TextDiff {
    let coarse = expected.len().max(actual.len()) > WORDS_AT_MOST;
    let mut config = TextDiffConfig::default();
    config.algorithm(Algorithm::Myers).timeout(PATIENCE);
    let diff = match coarse {
        true => config.diff_lines(expected, actual),
        false => config.diff_unicode_words(expected, actual),
    };
    let mut out = TextDiff { coarse, ..TextDiff::default() };
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut out.expected, text, false);
                push(&mut out.actual, text, false);
            }
            ChangeTag::Delete => push(&mut out.expected, text, true),
            ChangeTag::Insert => push(&mut out.actual, text, true),
        }
    }
    out
}

fn push(segments: &mut Vec<Segment>, text: &str, changed: bool) {
    match segments.last_mut() {
        Some(last) if last.changed == changed => last.text.push_str(text),
        _ => segments.push(Segment { text: text.to_string(), changed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marked(segments: &[Segment]) -> String {
        segments.iter().map(|s| if s.changed { format!("[{}]", s.text) } else { s.text.clone() }).collect()
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
