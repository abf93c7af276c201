//! The form in which texts are searched.

use unicode_normalization::UnicodeNormalization;

/// A text as it is searched: in lower case, and without accents, so that "cafe" finds "Café". Marks of scripts in which they are
/// letters, such as the vowels of Devanagari, are kept.
pub fn search_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd()
        .filter(|c| !is_accent(*c))
        .nfc()
        .flat_map(char::to_lowercase)
        // The sigma at the end of a word is another character in lower case.
        .map(|c| if c == 'ς' { 'σ' } else { c })
        .collect()
}

/// Whether a text contains another, as they are searched; `needle` is a [`search_text`].
pub(super) fn contains(hay: &str, needle: &str) -> bool {
    if needle.is_empty() {
        return true;
    }
    if !hay.is_ascii() || !needle.is_ascii() {
        return search_text(hay).contains(needle);
    }
    hay.as_bytes()
        .windows(needle.len())
        .any(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

/// Whether a character is one of Unicode's Combining Diacritical Marks, which Latin, Greek and Cyrillic letters use.
fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_case_are_ignored() {
        for (text, expected) in [
            ("Café Zürich", "cafe zurich"),
            ("Cafe\u{301}", "cafe"),
            ("ΆΛΦΑ", "αλφα"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδός", "οδοσ"),
            ("Straße", "straße"),
            ("हिन्दी", "हिन्दी"),
            ("한국어", "한국어"),
            ("東京 5 L", "東京 5 l"),
        ] {
            assert_eq!(search_text(text), expected);
        }
        assert!(contains("im Café", "cafe") && !contains("im Café", "tee"));
    }
}
