//! ADK's tokeniser for `response_match_score` (2.6 and later): letters of all scripts, with rouge_score's own rules
//! for plain ASCII.

use super::words::{lowered, plain_words, stemmed};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The tokens of a text, stemmed.
pub fn adk_tokens(text: &str) -> Vec<String> {
    if text.is_ascii() {
        return rouge_tokens(text, true);
    }
    let mut tokens = Vec::new();
    for token in split(text) {
        match token.is_ascii() {
            true => ascii_tokens(&token, &mut tokens),
            false => tokens.push(token),
        }
    }
    tokens
}

/// The tokens of rouge_score's own tokeniser: runs of a-z and 0-9, lower-cased; other scripts yield none.
pub fn rouge_tokens(text: &str, is_stemmed: bool) -> Vec<String> {
    let token = |word| match is_stemmed {
        true => stemmed(word).into_owned(),
        false => word.to_string(),
    };
    plain_words(&lowered(text)).map(token).collect()
}

fn ascii_tokens(token: &str, out: &mut Vec<String>) {
    let words = token
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    out.extend(words.map(|word| stemmed(word).into_owned()));
}

/// Splits normalised, lower-cased text at non-word characters; Chinese, Japanese and Korean text character by
/// character, Thai, Lao, Khmer and Myanmar text by base character with its marks.
fn split(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut flush = |word: &mut String| {
        if !word.is_empty() {
            tokens.push(std::mem::take(word));
        }
    };
    let lowered = lower(text);
    for c in lowered.chars() {
        if is_cjk(c) {
            flush(&mut word);
            word.push(c);
            flush(&mut word);
        } else if is_southeast_asian(c) {
            if !is_mark(c) {
                flush(&mut word);
            }
            word.push(c);
        } else if is_word(c) {
            word.push(c);
        } else {
            flush(&mut word);
        }
    }
    flush(&mut word);
    tokens
}

fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkc().collect::<String>().to_lowercase()
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3040}'..='\u{30FF}' | '\u{AC00}'..='\u{D7AF}')
}

fn is_southeast_asian(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1780}'..='\u{17FF}' | '\u{1000}'..='\u{109F}')
}

fn is_mark(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Characters that are unassigned in Unicode 14 and letters, numbers or marks in a later version (with unassigned
/// neighbours). Python 3.11, which computed the known answers, uses Unicode 14.
const LATER_THAN_UNICODE_14: &[(u32, u32)] = &[
    (0x558, 0x558),
    (0x58B, 0x58C),
    (0x5C8, 0x5C9),
    (0x88F, 0x88F),
    (0x897, 0x897),
    (0xB53, 0xB54),
    (0xC5C, 0xC5C),
    (0xCDC, 0xCDC),
    (0xCF3, 0xCF3),
    (0xECE, 0xECE),
    (0x1ACF, 0x1AF0),
    (0x1C89, 0x1C8A),
    (0x208F, 0x208F),
    (0x209D, 0x209F),
    (0xA7CB, 0xA7CF),
    (0xA7D2, 0xA7D2),
    (0xA7D4, 0xA7D4),
    (0xA7DA, 0xA7F1),
    (0xAB6C, 0xAB6D),
    (0x105C0, 0x105F3),
    (0x107BB, 0x107BF),
    (0x10940, 0x10959),
    (0x10D40, 0x10D85),
    (0x10EC2, 0x10EFF),
    (0x1123F, 0x11241),
    (0x11380, 0x113E2),
    (0x116D0, 0x116E3),
    (0x11B0A, 0x11BF9),
    (0x11DB0, 0x11DF1),
    (0x11F00, 0x11F5A),
    (0x1246F, 0x1246F),
    (0x12475, 0x1247F),
    (0x12550, 0x12686),
    (0x1342F, 0x1342F),
    (0x13440, 0x143FA),
    (0x16100, 0x16139),
    (0x16D40, 0x16D79),
    (0x16EA0, 0x16ED3),
    (0x16FF2, 0x16FF6),
    (0x187F8, 0x187FF),
    (0x18CD6, 0x18CFF),
    (0x18D09, 0x191D2),
    (0x1B123, 0x1B132),
    (0x1B155, 0x1B155),
    (0x1B168, 0x1B168),
    (0x1CCF0, 0x1CCF9),
    (0x1D127, 0x1D128),
    (0x1D250, 0x1D2D3),
    (0x1D6A6, 0x1D6A6),
    (0x1DF1F, 0x1DFFF),
    (0x1E030, 0x1E08F),
    (0x1E4D0, 0x1E6FF),
    (0x2B739, 0x2B73F),
    (0x2B81E, 0x2B81E),
    (0x2CEA2, 0x2CEAD),
    (0x2EBF0, 0x2EE5D),
    (0x31350, 0x3FC3F),
];

fn is_later(c: char) -> bool {
    let at = LATER_THAN_UNICODE_14.partition_point(|(_, last)| *last < c as u32);
    LATER_THAN_UNICODE_14
        .get(at)
        .is_some_and(|(first, _)| *first <= c as u32)
}

/// Python's `isalnum`, or a mark.
fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let group = c.general_category_group();
    !is_later(c)
        && matches!(
            group,
            GeneralCategoryGroup::Letter
                | GeneralCategoryGroup::Number
                | GeneralCategoryGroup::Mark
        )
}
