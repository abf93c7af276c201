//! Characters that are escaped in a text: as in addresses (`%2F`), in texts of JSON and of programming languages (`\u002F`,
//! `\/`), and in HTML (`&#47;`), in any mixture, also several times.

use memchr::{memchr3, memmem};

/// The number of times that a text is decoded.
const ROUNDS: usize = 4;
/// The maximum length of an incomplete escape at the end of a text, in bytes. Escapes within escapes have many backslashes.
const MAX_ESCAPE: usize = 32;
/// The names of characters in HTML that must be escaped there.
const NAMES: [(&[u8], char); 5] = [
    (b"amp", '&'),
    (b"lt", '<'),
    (b"gt", '>'),
    (b"quot", '"'),
    (b"apos", '\''),
];

/// A decoded character, or a byte of one that is decoded byte by byte.
#[derive(Clone, Copy)]
struct DecodedChar {
    bytes: [u8; 4],
    length: usize,
}

impl DecodedChar {
    fn byte(byte: u8) -> DecodedChar {
        DecodedChar {
            bytes: [byte, 0, 0, 0],
            length: 1,
        }
    }

    fn char(code: u32) -> Option<DecodedChar> {
        let mut bytes = [0; 4];
        let length = char::from_u32(code)?.encode_utf8(&mut bytes).len();
        Some(DecodedChar { bytes, length })
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The first character that may begin an escape.
fn next_escape_start(text: &[u8]) -> Option<usize> {
    memchr3(b'%', b'\\', b'&', text)
}

/// Whether a text may contain escapes.
pub(super) fn has_escapes(text: &str) -> bool {
    next_escape_start(text.as_bytes()).is_some()
}

/// A text without escapes, for comparisons with another such text.
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    decoding_rounds(text).pop().unwrap_or_default()
}

/// A text as it is, and after each round of decoding, as long as that changes it.
fn decoding_rounds(text: &str) -> Vec<Vec<u8>> {
    let mut rounds = vec![text.as_bytes().to_vec()];
    for _ in 0..ROUNDS {
        let last = &rounds[rounds.len() - 1];
        let next = decoded(last);
        if next.len() == last.len() {
            break;
        }
        rounds.push(next);
    }
    rounds
}

/// A piece of a text that is decoded once.
enum DecodedPiece<'a> {
    Plain(&'a [u8]),
    /// A character, and the length of its escape.
    Escape(DecodedChar, usize),
}

/// The pieces of a text that is decoded once.
fn pieces(text: &[u8]) -> impl Iterator<Item = DecodedPiece<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at;
        let mut plain_end = at + next_escape_start(&text[at..]).unwrap_or(text.len() - at);
        if plain_end == begin {
            let (unit, next) = next_char(text, begin, 1)?;
            if next - begin > 1 {
                at = next;
                return Some(DecodedPiece::Escape(unit, next - begin));
            }
            plain_end = next;
        }
        at = plain_end;
        Some(DecodedPiece::Plain(&text[begin..plain_end]))
    })
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            DecodedPiece::Plain(bytes) => plain.extend_from_slice(bytes),
            DecodedPiece::Escape(unit, _) => plain.extend_from_slice(unit.bytes()),
        }
    }
    plain
}

/// Converts offsets in the decoded form of a text, in ascending order, to offsets in the text itself.
fn map_to_encoded_text(text: &[u8], offsets: &mut [usize]) {
    let (mut before, mut after, mut next) = (0, 0, 0);
    for piece in pieces(text) {
        let (taken, given) = match &piece {
            DecodedPiece::Plain(bytes) => (bytes.len(), bytes.len()),
            DecodedPiece::Escape(unit, length) => (*length, unit.length),
        };
        while let Some(offset) = offsets
            .get_mut(next)
            .filter(|offset| **offset < after + given)
        {
            *offset = before + if taken == given { *offset - after } else { 0 };
            next += 1;
        }
        (before, after) = (before + taken, after + given);
    }
    offsets[next..].fill(text.len());
}

/// Whether one unescaped text contains another.
pub(super) fn contains(plain: &[u8], other: &[u8]) -> bool {
    memmem::find(plain, other).is_some()
}

/// Replaces every occurrence of `plain`, however it is escaped.
pub(super) fn replace_escaped(text: &str, plain: &[u8], with: &str) -> String {
    let mut rounds = decoding_rounds(text);
    let last = rounds.pop().unwrap_or_default();
    let mut offsets: Vec<usize> = memmem::find_iter(&last, plain)
        .flat_map(|start| [start, start + plain.len()])
        .collect();
    drop(last);
    rounds
        .iter()
        .rev()
        .for_each(|before| map_to_encoded_text(before, &mut offsets));
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for range in offsets.chunks_exact(2) {
        if let Some(between) = text
            .get(copied..range[0])
            .filter(|_| text.is_char_boundary(range[1]))
        {
            out.push_str(between);
            out.push_str(with);
            copied = range[1];
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// The part of an unescaped text that was found at an offset of another text.
struct PartialMatch {
    length: usize,
    /// Where the found part ends in the text.
    end: usize,
}

fn matched(text: &[u8], at: usize, plain: &[u8]) -> PartialMatch {
    let (mut length, mut end) = (0, at);
    while length < plain.len()
        && let Some((unit, next)) = next_char(text, end, ROUNDS)
        && plain[length..].starts_with(unit.bytes())
    {
        (length, end) = (length + unit.length, next);
    }
    PartialMatch { length, end }
}

/// The byte offset of a suffix of the text that may be the beginning of an escaped `plain`; the length of the text if there
/// is none.
pub(super) fn partial_match_start(text: &str, plain: &[u8]) -> usize {
    let longest = plain.len().saturating_mul(MAX_ESCAPE);
    let cut_off = incomplete_escape_start(text);
    let is_open = |&at: &usize| {
        let matched = matched(text.as_bytes(), at, plain);
        matched.length < plain.len() && matched.end >= cut_off
    };
    let mut starts =
        (text.len().saturating_sub(longest)..text.len()).filter(|at| text.is_char_boundary(*at));
    starts.find(is_open).unwrap_or(text.len())
}

/// The byte offset of an escape that may be incomplete at the end of a text; the length of the text if there is none.
fn incomplete_escape_start(text: &str) -> usize {
    let is_of_escape = |byte: &&u8| byte.is_ascii_alphanumeric() || b"%\\&#;".contains(byte);
    let length = text
        .as_bytes()
        .iter()
        .rev()
        .take(MAX_ESCAPE)
        .take_while(is_of_escape)
        .count();
    let start = text.len() - length;
    next_escape_start(&text.as_bytes()[start..]).map_or(text.len(), |at| start + at)
}

/// The character at an offset after a number of rounds, and where the next one begins.
fn next_char(text: &[u8], at: usize, rounds: usize) -> Option<(DecodedChar, usize)> {
    let Some(before) = rounds.checked_sub(1) else {
        return text.get(at).map(|byte| (DecodedChar::byte(*byte), at + 1));
    };
    let (first, next) = next_char(text, at, before)?;
    let text = EscapedText {
        text,
        rounds: before,
    };
    let escape = match first.bytes() {
        b"%" => text.percent(next),
        b"\\" => text.backslash(next),
        b"&" => text.entity(next),
        _ => None,
    };
    Some(escape.unwrap_or((first, next)))
}

/// A text that was decoded a number of times.
#[derive(Clone, Copy)]
struct EscapedText<'a> {
    text: &'a [u8],
    rounds: usize,
}

impl EscapedText<'_> {
    /// The character at an offset, if it is of one byte.
    fn byte(self, at: usize) -> Option<(u8, usize)> {
        let (unit, next) = next_char(self.text, at, self.rounds)?;
        (unit.length == 1).then_some((unit.bytes[0], next))
    }

    /// A number of digits.
    fn number(self, at: usize, digits: usize) -> Option<(u32, usize)> {
        (0..digits).try_fold((0, at), |(number, at), _| {
            let (digit, next) = self.byte(at)?;
            Some((number * 16 + char::from(digit).to_digit(16)?, next))
        })
    }

    /// What follows `%`.
    fn percent(self, at: usize) -> Option<(DecodedChar, usize)> {
        let (byte, next) = self.number(at, 2)?;
        Some((DecodedChar::byte(u8::try_from(byte).ok()?), next))
    }

    /// What follows a backslash.
    fn backslash(self, at: usize) -> Option<(DecodedChar, usize)> {
        let (escape, next) = self.byte(at)?;
        let byte = |byte: u8| Some((DecodedChar::byte(byte), next));
        match escape {
            b'"' | b'\'' | b'\\' | b'/' => byte(escape),
            b'n' => byte(b'\n'),
            b'r' => byte(b'\r'),
            b't' => byte(b'\t'),
            b'u' => self.code_unit(next),
            b'x' => {
                let (code, next) = self.number(next, 2)?;
                Some((DecodedChar::char(code)?, next))
            }
            _ => None,
        }
    }

    /// What follows `\u`: a character, or the first half of one.
    fn code_unit(self, at: usize) -> Option<(DecodedChar, usize)> {
        let (code, next) = self.number(at, 4)?;
        if let Some(unit) = DecodedChar::char(code) {
            return Some((unit, next));
        }
        let (_, next) = self.byte(next).filter(|(byte, _)| *byte == b'\\')?;
        let (_, next) = self.byte(next).filter(|(byte, _)| *byte == b'u')?;
        let (second, next) = self.number(next, 4)?;
        let both = char::decode_utf16([code as u16, second as u16])
            .next()?
            .ok()?;
        Some((DecodedChar::char(u32::from(both))?, next))
    }

    /// What follows `&`.
    fn entity(self, at: usize) -> Option<(DecodedChar, usize)> {
        let (mut name, mut at) = (Vec::new(), at);
        loop {
            let (byte, next) = self.byte(at)?;
            at = next;
            match byte {
                b';' => break,
                b'#' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' if name.len() < 8 => name.push(byte),
                _ => return None,
            }
        }
        let code = match name.as_slice() {
            [b'#', b'x' | b'X', digits @ ..] => {
                u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
            name => NAMES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, one)| u32::from(*one))?,
        };
        Some((DecodedChar::char(code)?, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "a/b+c \u{e9}\u{1f600}\\\"<&%41>'\n";

    fn in_json(text: &str) -> String {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_string()
    }

    /// Writes these characters, and all that are not ASCII, as `\u` with four digits.
    fn with_codes(text: &str, escaped: &str) -> String {
        let code = |one: char| {
            let mut units = [0; 2];
            one.encode_utf16(&mut units)
                .iter()
                .map(|unit| format!("\\u{unit:04X}"))
                .collect()
        };
        let is_escaped = |one: char| !one.is_ascii() || escaped.contains(one);
        text.chars()
            .map(|one| {
                if is_escaped(one) {
                    code(one)
                } else {
                    one.to_string()
                }
            })
            .collect()
    }

    fn percent(text: &str, plain: &str) -> String {
        let one = |byte: u8| match plain.contains(char::from(byte)) && byte.is_ascii() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02x}"),
        };
        text.bytes().map(one).collect()
    }

    fn html(text: &str) -> String {
        let text = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        text.replace('"', "&quot;").replace('\'', "&#x27;")
    }

    fn forms(secret: &str) -> Vec<String> {
        let json = in_json(secret);
        vec![
            json.clone(),
            in_json(&in_json(&json)),
            with_codes(&json, "&<>"),
            with_codes(&json, "&<>='+")
                .to_lowercase()
                .replace("\\u003d", "\\u003D"),
            json.replace('/', "\\/"),
            in_json(&json.replace('/', "\\/")),
            html(secret),
            in_json(&html(secret)),
            secret
                .chars()
                .map(|one| format!("&#{};", u32::from(one)))
                .collect(),
            percent(secret, "abc/"),
            percent(secret, "abc/+&'"),
            percent(&percent(secret, "abc"), "abc0123456789"),
            percent(&json, ""),
        ]
    }

    #[test]
    fn text_is_found_in_every_form() {
        let plain = unescaped(SECRET);
        for form in forms(SECRET) {
            let text = format!("key: {form}, and {form}\u{e9}");
            assert!(contains(&unescaped(&text), &plain), "{text}");
            assert_eq!(
                replace_escaped(&text, &plain, "X"),
                "key: X, and X\u{e9}",
                "{form}"
            );
        }
    }

    #[test]
    fn partial_escaped_text_is_found_at_the_end() {
        let plain = unescaped(SECRET);
        for form in forms(SECRET) {
            for (end, _) in form.char_indices().skip(1) {
                let text = format!("the key: {}", &form[..end]);
                assert!(
                    partial_match_start(&text, &plain) <= "the key: ".len(),
                    "{text}"
                );
            }
        }
        for text in [
            "100 % of it",
            "a \\ b",
            "c & d and more",
            "",
            "50 %, and more of them",
        ] {
            assert_eq!(partial_match_start(text, &plain), text.len(), "{text}");
        }
    }

    /// Repeated signs that could begin escapes within escapes: reading them must not take a time that is
    /// exponential in their number.
    #[test]
    fn repeated_escape_signs_are_left_as_they_are() {
        for sign in ["%", "\\", "&", "&#", "%25", "\\u", "&amp;", "\\\\u005c"] {
            let text = sign.repeat((32 << 10) / sign.len());
            assert_eq!(replace_escaped(&text, &unescaped("canary/1"), "X"), text);
            assert!(!contains(&unescaped(&text), b"canary"));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_replaced_without_a_panic(text in "(%|\\\\|&|#|;|u|[0-9a-f]|é|\\PC){0,60}", secret in "[a-f0-9/]{1,6}") {
            let plain = unescaped(&secret);
            let replaced = replace_escaped(&text, &plain, "");
            prop_assert!(replaced.len() <= text.len());
            prop_assert!(partial_match_start(&text, &plain) <= text.len());
        }
    }
}
