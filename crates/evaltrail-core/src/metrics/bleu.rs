//! Sentence BLEU as sacrebleu computes it by default: up to four words, tokeniser 13a, case kept, exponential
//! smoothing. Scores range from 0 to 1, where sacrebleu's range from 0 to 100.

use super::words::{Interner, shared_runs};
use std::borrow::Cow;

const MAX_N: usize = 4;

/// A BLEU score with its components.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bleu {
    /// The score with all four lengths, between 0 and 1.
    pub score: f64,
    /// The score up to the longest run of words that the candidate has.
    pub effective_order: f64,
    /// Runs of 1 to 4 words that occur in both texts.
    pub matches: [usize; MAX_N],
    /// Runs of 1 to 4 words in the candidate.
    pub totals: [usize; MAX_N],
    /// Words in the candidate.
    pub candidate_length: usize,
    /// Words in the reference.
    pub reference_length: usize,
    /// The factor for a candidate that is shorter than the reference: 1 means no penalty.
    pub brevity_penalty: f64,
}

/// Compares a candidate with one reference.
pub fn bleu(reference: &str, candidate: &str) -> Bleu {
    let (reference, candidate) = (prepared(reference), prepared(candidate));
    let mut interner = Interner::with_room((reference.len() + candidate.len()) / 5);
    let reference = interner.all(split(&reference).map(Cow::Borrowed));
    let candidate = interner.all(split(&candidate).map(Cow::Borrowed));
    let mut bleu = Bleu {
        candidate_length: candidate.len(),
        reference_length: reference.len(),
        brevity_penalty: brevity(reference.len(), candidate.len()),
        ..Bleu::default()
    };
    for n in 1..=MAX_N {
        bleu.totals[n - 1] = (candidate.len() + 1).saturating_sub(n);
        bleu.matches[n - 1] = shared_runs(&reference, &candidate, n, interner.kinds());
    }
    (bleu.score, bleu.effective_order) = (bleu.of_order(false), bleu.of_order(true));
    bleu
}

fn brevity(reference: usize, candidate: usize) -> f64 {
    match (candidate < reference, candidate) {
        (false, _) => 1.0,
        (true, 0) => 0.0,
        (true, _) => (1.0 - reference as f64 / candidate as f64).exp(),
    }
}

impl Bleu {
    fn of_order(&self, effective: bool) -> f64 {
        /// The value that sacrebleu uses for the logarithm of zero.
        const LOG_ZERO: f64 = -9_999_999_999.0;
        if self.matches.iter().all(|&count| count == 0) {
            return 0.0;
        }
        let mut order = MAX_N;
        let mut smooth = 1.0;
        let mut logs = [LOG_ZERO; MAX_N];
        for (n, log) in logs.iter_mut().enumerate() {
            if self.totals[n] == 0 {
                break;
            }
            if effective {
                order = n + 1;
            }
            let total = self.totals[n] as f64;
            let precision = match self.matches[n] {
                0 => {
                    smooth *= 2.0;
                    100.0 / (smooth * total)
                }
                count => 100.0 * count as f64 / total,
            };
            *log = precision.ln();
        }
        let mean = logs[..order].iter().sum::<f64>() / order as f64;
        self.brevity_penalty * mean.exp() / 100.0
    }
}

/// The words of a text, as tokeniser 13a of mteval splits them.
fn split(prepared: &str) -> impl Iterator<Item = &str> {
    prepared.split(is_space).filter(|word| !word.is_empty())
}

/// A text with spaces between its words, as tokeniser 13a inserts them.
fn prepared(text: &str) -> String {
    let mut text = Cow::Borrowed(text.trim_end_matches(is_space));
    // Most texts contain none of these.
    if text.contains(['<', '&', '\n']) {
        let replaced = text
            .replace("<skipped>", "")
            .replace("-\n", "")
            .replace('\n', " ");
        let unescaped = |text: String| {
            text.replace("&quot;", "\"")
                .replace("&amp;", "&")
                .replace("&lt;", "<")
                .replace("&gt;", ">")
        };
        text = Cow::Owned(if replaced.contains('&') {
            unescaped(replaced)
        } else {
            replaced
        });
    }
    let apart = punctuation_apart(&format!(" {text} "));
    let marked = match apart.contains(['.', ',']) {
        true => before_non_digit(&after_non_digit(&apart)),
        false => apart,
    };
    if marked.contains('-') {
        dash_after_digit(&marked)
    } else {
        marked
    }
}

/// `([\{-\~\[-\` -\&\(-\+\:-\@\/])` → ` \1 `
fn punctuation_apart(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if matches!(c, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/') {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    out
}

/// `([^0-9])([\.,])` → `\1 \2 `
fn after_non_digit(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        if !c.is_ascii_digit()
            && let Some(mark) = chars.next_if(|next| matches!(next, '.' | ','))
        {
            out.extend([' ', mark, ' ']);
        }
    }
    out
}

/// `([\.,])([^0-9])` → ` \1 \2`
fn before_non_digit(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '.' | ',')
            && let Some(next) = chars.next_if(|next| !next.is_ascii_digit())
        {
            out.extend([' ', c, ' ', next]);
        } else {
            out.push(c);
        }
    }
    out
}

/// `([0-9])(-)` → `\1 \2 `
fn dash_after_digit(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut digit = false;
    for c in text.chars() {
        match digit && c == '-' {
            true => out.push_str(" - "),
            false => out.push(c),
        }
        digit = c.is_ascii_digit();
    }
    out
}

/// Whether Python's `split` and `strip` treat a character as white space.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bleu_equals_reference_values() {
        let close = |a: f64, b: f64| (a - b).abs() < 5e-5;
        let found = bleu("The cat is on the mat.", "The cat sat on the mat.");
        assert!(close(found.score, 0.4889) && close(found.effective_order, 0.4889));
        let found = bleu("its 3.5 dollars", "It's 3.50 dollars");
        assert!(close(found.score, 0.0) && close(found.effective_order, 0.2752));
    }

    #[test]
    fn punctuation_stands_apart_but_in_numbers() {
        let split = |text: &str| {
            split(&prepared(text))
                .map(str::to_string)
                .collect::<Vec<_>>()
                .join("|")
        };
        assert_eq!(split("It's $3.50, isn't it?"), "It's|$|3.50|,|isn't|it|?");
        assert_eq!(split("1-2 a-b"), "1|-|2|a-b");
    }
}
