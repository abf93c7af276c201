//! Whether a text states a value: as whole words, whatever the case of its letters.

use crate::domain::{finite_number, search_text};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// A text in which values are looked for.
pub(super) struct SearchedText {
    /// In lower case.
    lower: String,
    /// In lower case and without accents.
    plain: String,
}

impl SearchedText {
    pub(super) fn new(text: &str) -> SearchedText {
        let lower = lower_case(text);
        SearchedText {
            plain: search_text(&lower),
            lower,
        }
    }

    /// Whether the text contains a value, which is no list or object. A value that cannot be written, such as a blank text or true, is
    /// not contained. Accents may be added to a value, and not removed from it.
    pub(super) fn states(&self, value: &Value) -> bool {
        let spellings = match value {
            Value::String(text) => spellings_of_text(text),
            Value::Number(_) => spellings_of_number(value),
            _ => Vec::new(),
        };
        spellings.iter().any(|spelling| self.has_word(spelling))
    }

    /// Whether the text contains some words, as whole words.
    pub(super) fn has_word(&self, word: &str) -> bool {
        let word = lower_case(word);
        let text = match word.is_ascii() {
            true => &self.plain,
            false => &self.lower,
        };
        !word.is_empty() && has_whole_word(text, &word)
    }
}

/// The values within a value that a text can state: texts that are not blank, and numbers. Of a list its elements, of an object its
/// members.
pub(super) fn written_values(value: &Value) -> Vec<&Value> {
    match value {
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        Value::String(_) | Value::Number(_) => vec![value],
        Value::Array(elements) => elements.iter().flat_map(written_values).collect(),
        Value::Object(members) => members.values().flat_map(written_values).collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// A text in the form in which it is compared: lower case, single spaces, and the simplest form of equivalent characters.
fn lower_case(text: &str) -> String {
    let simple = text.nfkc().map(|c| match c {
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        '‐' | '‑' | '–' | '−' => '-',
        c => c,
    });
    let lower = simple.collect::<String>().to_lowercase();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text as a user may write it: `ice_cream` with a space.
fn spellings_of_text(text: &str) -> Vec<String> {
    let with_spaces = text.replace(['_', '-'], " ");
    vec![text.to_string(), with_spaces]
}

/// A number as a user may write it: 2.0 as 2, 2.5 with a comma, 1500 with separators.
fn spellings_of_number(value: &Value) -> Vec<String> {
    /// Above it, not every integer is a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let Some(number) = finite_number(value) else {
        return Vec::new();
    };
    let written = value.to_string();
    let shortest = match number.abs() < EXACT {
        true => number.to_string(),
        false => written.clone(),
    };
    let mut spellings = vec![written, shortest.replace('.', ",")];
    if !shortest.contains('.') {
        let grouped = |separator: &str| with_separators(&shortest, separator);
        spellings.extend([",", ".", " ", "'"].map(grouped));
    }
    spellings.push(shortest);
    spellings
}

/// The digits of an integer in groups of three.
fn with_separators(digits: &str, separator: &str) -> String {
    let mut grouped = String::new();
    for (at, c) in digits.char_indices() {
        let rest = digits.len() - at;
        let follows_digit = grouped.ends_with(|c: char| c.is_ascii_digit());
        if follows_digit && rest.is_multiple_of(3) {
            grouped.push_str(separator);
        }
        grouped.push(c);
    }
    grouped
}

/// Whether a text contains a word that is no part of another word or number. A number may be followed by its unit, as in "5km".
fn has_whole_word(text: &str, word: &str) -> bool {
    let (first, last) = (word.chars().next(), word.chars().next_back());
    let begins_as_number = is_digit(word.trim_start_matches('-').chars().next());
    let ends_as_number = is_digit(last);
    let may_have_unit = begins_as_number && ends_as_number;
    let mut found = text.match_indices(word);
    found.any(|(at, _)| {
        let before = &text[..at];
        let after = &text[at + word.len()..];
        let is_end_of_word = joins(before.chars().next_back(), first);
        let is_end_of_number = begins_as_number && continues_number_before(before);
        let is_begin_of_word = !may_have_unit && joins(last, after.chars().next());
        let is_begin_of_number = ends_as_number && continues_number_after(after);
        let is_part = [
            is_end_of_word,
            is_end_of_number,
            is_begin_of_word,
            is_begin_of_number,
        ];
        !is_part.contains(&true)
    })
}

/// Whether a number that follows a text is only the end of another one: of "1.5", "10:30" or "-4".
fn continues_number_before(before: &str) -> bool {
    let mut before = before.chars().rev();
    let (last, last_but_one) = (before.next(), before.next());
    last == Some('-') || is_mark_in_number(last) && is_digit(last_but_one)
}

/// Whether a number that a text follows is only the beginning of another one, or of a word with an underscore.
fn continues_number_after(after: &str) -> bool {
    let mut after = after.chars();
    let (first, second) = (after.next(), after.next());
    is_digit(first) || first == Some('_') || is_mark_in_number(first) && is_digit(second)
}

fn is_digit(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_digit())
}

fn is_mark_in_number(c: Option<char>) -> bool {
    matches!(c, Some('.' | ',' | '-' | ':' | '/' | '\''))
}

/// Whether two neighbouring characters are of one word. In scripts without spaces between words, that is not known, and they are not.
fn joins(one: Option<char>, other: Option<char>) -> bool {
    let is_of_word = |c: Option<char>| {
        c.is_some_and(|c| (c.is_alphanumeric() || c == '_') && !is_written_without_spaces(c))
    };
    is_of_word(one) && is_of_word(other)
}

/// Whether a character is of a script without spaces between words, or, as Korean, without spaces before particles.
fn is_written_without_spaces(c: char) -> bool {
    matches!(
        u32::from(c),
        // Thai, Lao, Myanmar, Khmer
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF
        // Kana, Han, Hangul
        | 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF
        | 0x20000..=0x3FFFF
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn states(text: &str, value: Value) -> bool {
        SearchedText::new(text).states(&value)
    }

    #[test]
    fn texts_are_stated_as_whole_words() {
        for (text, value) in [
            ("Water the ROSES, please", "roses"),
            ("in Málaga", "Malaga"),
            ("IN MÁLAGA", "Málaga"),
            ("in  the\nnorth   bed", "north bed"),
            ("O’Brien’s garden", "O'Brien"),
            ("two scoops of ice cream", "ice_cream"),
            ("東京の天気", "東京"),
            ("서울의 날씨", "서울"),
            ("bed-4711 is dry", "bed-4711"),
            ("at 2026‑03‑01", "2026-03-01"),
        ] {
            assert!(states(text, value.into()), "{text}: {value}");
        }
        for (text, value) in [
            ("Water the tomatoes", "tomato"),
            ("in Malaga", "Málaga"),
            ("rose_bed", "rose"),
            ("", "roses"),
            ("roses", ""),
            ("roses", " "),
        ] {
            assert!(!states(text, value.into()), "{text}: {value}");
        }
    }

    #[test]
    fn number_in_a_text_value_is_whole() {
        for (text, value) in [
            ("Clean room 4, please.", "room 4"),
            ("room 4.", "room 4"),
            ("room 4: 5 litres", "room 4"),
            ("Take 2 beds.", "2 beds"),
            ("on 2026-03-01, noon", "2026-03-01"),
        ] {
            assert!(states(text, value.into()), "{text}: {value}");
        }
        for (text, value) in [
            ("Clean room 4.5", "room 4"),
            ("Clean room 4,5", "room 4"),
            ("Clean room 4-5", "room 4"),
            ("Clean room 42", "room 4"),
            ("Clean room 4b", "room 4"),
            ("1.2 beds", "2 beds"),
            ("2 bedsteads", "2 beds"),
            ("on 2026-03-01-17", "2026-03-01"),
        ] {
            assert!(!states(text, value.into()), "{text}: {value}");
        }
    }

    #[test]
    fn numbers_are_stated_in_usual_spellings() {
        for (text, value) in [
            ("2 litres", json!(2)),
            ("2 litres", json!(2.0)),
            ("5km, 5", json!(5)),
            ("It is $1,500.", json!(1500)),
            ("1.234.567 Euro", json!(1_234_567)),
            ("2,5 Liter", json!(2.5)),
            ("minus: −4", json!(-4)),
            ("−1,500 m", json!(-1500)),
        ] {
            assert!(states(text, value.clone()), "{text}: {value}");
        }
        for text in [
            "14 litres",
            "1.4",
            "4.5",
            "4,000",
            "-4",
            "4:30",
            "a4",
            "44",
            "3-4",
            "4_x",
        ] {
            assert!(!states(text, json!(4)), "{text}");
        }
    }

    #[test]
    fn digits_are_grouped_from_the_end() {
        for (digits, grouped) in [
            ("1", "1"),
            ("123", "123"),
            ("1234", "1,234"),
            ("-123456", "-123,456"),
        ] {
            assert_eq!(with_separators(digits, ","), grouped);
        }
    }

    #[test]
    fn only_texts_and_numbers_can_be_written() {
        let value = json!({"a": ["x", " ", 1, true], "b": null, "c": {"d": "y"}});
        assert_eq!(
            written_values(&value),
            [&json!("x"), &json!(1), &json!("y")]
        );
        assert!(written_values(&json!([])).is_empty());
        assert!(!states("true", json!(true)));
    }
}
