//! A cursor that reads JSON text token by token.

use super::SyntaxError;
use std::borrow::Cow;

/// Bytes at which nesting changes or a string begins.
const IS_STRUCTURE: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"\"{}[]";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// Most strings are short. Up to this length in bytes, comparing bytes is faster than calling `memchr`.
const SHORT_STRING: usize = 24;

/// A position in JSON text.
pub(in crate::formats) struct Cursor<'a> {
    text: &'a str,
    pub(in crate::formats) at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the top, after a byte order mark.
    pub(in crate::formats) fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{FEFF}') {
            '\u{FEFF}'.len_utf8()
        } else {
            0
        };
        Cursor { text, at }
    }

    pub(in crate::formats) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(in crate::formats) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Skips white space, then consumes the byte if it is next.
    pub(in crate::formats) fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(in crate::formats) fn expect(
        &mut self,
        byte: u8,
        expected: &str,
    ) -> Result<(), SyntaxError> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.wrong(expected))
        }
    }

    /// An error that names what was found at the current position.
    pub(in crate::formats) fn wrong(&self, expected: &str) -> SyntaxError {
        let found = match self.text[self.at..].chars().next() {
            None => "the end of the file".to_string(),
            Some(c) if c.is_control() => format!("U+{:04X}", c as u32),
            Some(c) => format!("{c:?}"),
        };
        SyntaxError {
            offset: self.at,
            expected: expected.to_string(),
            found,
        }
    }

    /// A word or a number: everything up to the next separator.
    pub(in crate::formats) fn word(&mut self) -> &'a str {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// Reads a string and decodes its escapes. It is borrowed if it has none.
    pub(in crate::formats) fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        self.expect(b'"', "a string")?;
        let mut out = Cow::Borrowed("");
        loop {
            let start = self.at;
            self.at += string_part(&self.text.as_bytes()[start..]);
            // The first part is borrowed.
            out += &self.text[start..self.at];
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.to_mut().push(self.escape()?),
                _ => {
                    return Err(
                        self.wrong("the rest of the string, with control characters escaped")
                    );
                }
            }
        }
    }

    /// Skips a string without building it. The cursor is at its opening quote.
    pub(in crate::formats) fn skip_string(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        let near = bytes.len().min(self.at + SHORT_STRING);
        while self.at < near && !matches!(bytes[self.at], b'"' | b'\\') {
            self.at += 1;
        }
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            match memchr::memchr2(b'"', b'\\', rest) {
                None => {
                    self.at = bytes.len();
                    return Err(self.wrong("the end of the string"));
                }
                Some(offset) => self.at += offset,
            }
            if bytes[self.at] == b'"' {
                self.at += 1;
                return Ok(());
            }
            self.at += 2;
        }
    }

    /// Skips one value without parsing it. Brackets are counted, so nesting needs no recursion.
    pub(in crate::formats) fn skip_value(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => self.skip_nested(),
            _ if self.word().is_empty() => Err(self.wrong("a value")),
            _ => Ok(()),
        }
    }

    /// Skips one value that may be large: as fast as serde_json when it is plain JSON, and leniently
    /// (NaN, partly malformed content) when it is not.
    pub(in crate::formats) fn skip_large_value(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        let rest = serde_json::Deserializer::from_str(&self.text[self.at..]);
        let mut values = rest.into_iter::<serde::de::IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                self.at += values.byte_offset();
                Ok(())
            }
            _ => self.skip_value(),
        }
    }

    fn skip_nested(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.text.as_bytes();
        let mut depth = 0usize;
        loop {
            match bytes[self.at..]
                .iter()
                .position(|&b| IS_STRUCTURE[b as usize])
            {
                Some(offset) => self.at += offset,
                None => self.at = bytes.len(),
            }
            match self.peek() {
                None => return Err(self.wrong("a closing bracket")),
                Some(b'"') => self.skip_string()?,
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(_) => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        self.at += 1;
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.wrong("an escape such as \\n or \\u00e9")),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode(&mut self) -> Result<char, SyntaxError> {
        let start = self.at - 1;
        let first = self.hex4()?;
        let code = match first {
            0xD800..=0xDBFF if self.text[self.at..].starts_with("\\u") => {
                self.at += 1;
                let second = self.hex4()?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(lone_surrogate(start, first));
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| lone_surrogate(start, first))
    }

    fn hex4(&mut self) -> Result<u32, SyntaxError> {
        self.at += 1;
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            return Err(self.wrong("four hexadecimal digits"));
        };
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.wrong("four hexadecimal digits"))
    }
}

/// The number of bytes before a quote, a backslash or a control character.
fn string_part(bytes: &[u8]) -> usize {
    let (near, far) = bytes.split_at(bytes.len().min(SHORT_STRING));
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
    if let Some(end) = near.iter().position(ends) {
        return end;
    }
    let far = &far[..memchr::memchr2(b'"', b'\\', far).unwrap_or(far.len())];
    let control = far.iter().position(|byte| *byte < b' ');
    near.len() + control.unwrap_or(far.len())
}

fn lone_surrogate(offset: usize, code: u32) -> SyntaxError {
    SyntaxError {
        offset,
        expected: "a whole character".into(),
        found: format!("half of a surrogate pair, \\u{code:04x}"),
    }
}
