//! Values that are secret, or cannot be, whatever their names.

/// What stands before a secret in the value of a header.
const SCHEMES: [&str; 5] = ["apikey", "basic", "bearer", "key", "token"];
/// What keys and tokens of well-known services begin with, and the minimum length of the rest in bytes.
const KNOWN_KEYS: [(&str, usize); 22] = [
    ("AIza", 30),
    ("AKIA", 16),
    ("eyJ", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("hf_", 20),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("sk-", 16),
    ("sk_", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxs-", 10),
    ("ya29.", 16),
];
/// A shorter number may be an amount or the id of a customer. In digits.
const SHORTEST_NUMBER: usize = 12;
/// A shorter text of letters may be a word.
const SHORTEST_LETTERS: usize = 16;
/// The minimum length of a text that looks random.
const SHORTEST_RANDOM: usize = 20;
/// A shorter piece of a value may be a name with numbers.
const SHORTEST_TOKEN_PIECE: usize = 16;
/// How often letters and digits follow each other in a piece of a token, at least.
const FEWEST_CHANGES: usize = 4;
/// The maximum number of words of a value that is clearly no secret. More may be a passphrase.
const MAX_ORDINARY_WORDS: usize = 3;

/// The part of a header's value after a scheme of authentication; `None` if it has no scheme.
pub(super) fn after_scheme(value: &str) -> Option<&str> {
    let (scheme, rest) = value.trim().split_once(' ')?;
    SCHEMES
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
        .then(|| rest.trim())
}

/// Whether a text is nothing but a scheme of authentication.
pub(super) fn is_scheme(text: &str) -> bool {
    SCHEMES
        .iter()
        .any(|known| text.trim().eq_ignore_ascii_case(known))
}

/// Whether a value is a key or token of a well-known service.
pub(super) fn is_known_key(value: &str) -> bool {
    let is_key = |(prefix, shortest): &(&str, usize)| {
        let rest = value.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.len() >= *shortest && rest.bytes().all(is_of_token))
    };
    KNOWN_KEYS.iter().any(is_key)
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

/// Whether a value contains letters and digits that look as if they were drawn at random: upper case, lower case and digits,
/// which change often. Ids such as UUIDs are not.
pub(super) fn looks_random(value: &str) -> bool {
    value
        .split(|one: char| !one.is_ascii_alphanumeric())
        .any(is_random_piece)
}

fn is_random_piece(piece: &str) -> bool {
    let kind = |byte: u8| (byte.is_ascii_uppercase(), byte.is_ascii_lowercase());
    let kinds: Vec<(bool, bool)> = piece.bytes().map(kind).collect();
    let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let has_all = [(true, false), (false, true), (false, false)]
        .iter()
        .all(|kind| kinds.contains(kind));
    piece.len() >= SHORTEST_RANDOM && has_all && changes * 3 >= piece.len()
}

/// Whether a value occurs in other texts, too, whatever it is called: a word or a short number. Its replacement would change
/// what an agent said.
pub fn is_ordinary(value: &str) -> bool {
    let value = value.trim();
    let is_number =
        value.bytes().all(|byte| byte.is_ascii_digit()) && value.len() < SHORTEST_NUMBER;
    let mut rest = value.chars().skip(1);
    let is_word = value.chars().all(|one| one.is_ascii_alphabetic())
        && value.len() < SHORTEST_LETTERS
        && (rest.all(|one| one.is_ascii_lowercase())
            || value.chars().all(|one| one.is_ascii_uppercase()));
    is_number || is_word
}

/// Whether a value looks like a key or a token: one of a well-known service, random letters and digits, or hexadecimal ones.
pub(super) fn is_token_like(value: &str) -> bool {
    let changes = |piece: &str| {
        let kinds: Vec<bool> = piece.bytes().map(|byte| byte.is_ascii_digit()).collect();
        kinds.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    let is_long =
        |piece: &str| piece.len() >= SHORTEST_TOKEN_PIECE && changes(piece) >= FEWEST_CHANGES;
    is_known_key(value)
        || looks_random(value)
        || value
            .split(|one: char| !one.is_ascii_alphanumeric())
            .any(is_long)
}

/// Whether a value is clearly no secret: at most three words, short numbers or versions (`eu-west-1`, `customer-support-v1`).
pub(super) fn is_plain(value: &str) -> bool {
    let pieces: Vec<&str> = value
        .split(['-', '_', '.', '/', ' '])
        .filter(|piece| !piece.is_empty())
        .collect();
    let digits = |piece: &str| piece.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = |piece: &&&str| (1..piece.len()).contains(&digits(piece));
    let is_short = |piece: &&str| match (digits(piece), piece.len() - digits(piece)) {
        (0, _) => is_ordinary(piece),
        (1..=5, 0) => true,
        // `v12`, `4o`.
        (1..=3, 1..=2) => true,
        // `central1`, of several words.
        (1, _) => {
            pieces.len() > 1
                && is_ordinary(piece.trim_end_matches(|one: char| one.is_ascii_digit()))
        }
        _ => false,
    };
    let has_few_mixed = pieces.iter().filter(is_mixed).count() < 2;
    is_ordinary(value)
        || (has_few_mixed && pieces.len() <= MAX_ORDINARY_WORDS && pieces.iter().all(is_short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_short_numbers_are_ordinary() {
        for value in ["staging", "Google", "EU", "100234", "100000", "", "weather"] {
            assert!(is_ordinary(value), "{value}");
        }
        for value in [
            "100234567890",
            "hunter2",
            "aBcDeFgH",
            "abcdefghijklmnop",
            "two words",
            "a-b",
        ] {
            assert!(!is_ordinary(value), "{value}");
        }
    }

    #[test]
    fn values_of_few_words_are_ordinary() {
        for value in [
            "eu-west-1",
            "us-central1",
            "customer-support-v1",
            "gpt-4o",
            "pre-production",
            "north west",
            "1.2.3",
        ] {
            assert!(is_plain(value) && !is_token_like(value), "{value}");
        }
        for value in [
            "hunter2",
            "3f9a8b7c6d5e4f3a",
            "correct-horse-battery-staple",
            "a1b2c3",
            "x9f-22k-8812",
            "äöü-12x4",
        ] {
            assert!(!is_plain(value), "{value}");
        }
        assert!(
            is_token_like("id 3f9a8b7c6d5e4f3a2b1c") && !is_token_like("CustomerSupportAgent2024")
        );
    }

    #[test]
    fn keys_are_recognised_by_their_form() {
        for value in [
            "sk-proj-abcdefghijklmnop123",
            "ghp_abcdefghijklmnopqrst0123",
            "AKIAABCDEFGHIJKLMNOP",
        ] {
            assert!(is_known_key(value), "{value}");
        }
        for value in [
            "sk-12",
            "task-abcdefghijklmnopqrst",
            "customer-support-v1",
            "sk-this is no key at all",
        ] {
            assert!(!is_known_key(value), "{value}");
        }
        assert_eq!(after_scheme("Bearer abc"), Some("abc"));
        assert_eq!(after_scheme("application/json"), None);
    }

    #[test]
    fn only_random_letters_and_digits_look_random() {
        for value in ["q7Xc2LmZ9tRb4VnK8pWs", "pk:aB3dE5fG7hJ9kL1mN3pQ5r"] {
            assert!(looks_random(value), "{value}");
        }
        for value in [
            "3f9a8b7c-6d5e-4f3a-2b1c-0d9e8f7a6b5c",
            "3f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c",
            "Meta-Llama-3.1-8B-Instruct",
            "CustomerSupportAgent2024Version",
            "application/vnd.api+json;version=2",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ] {
            assert!(!looks_random(value), "{value}");
        }
    }
}
