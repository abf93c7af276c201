//! The JSON parser.

use super::SyntaxError;
use super::cursor::Cursor;
use super::path::JsonPath;
use crate::domain::special_number;
use serde_json::{Map, Number, Value};

/// Deeper nesting is refused. ADK itself gives up at about 200.
pub const MAX_DEPTH: usize = 256;

/// A document, and its duplicate keys, which a strict reader would refuse.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The value. If a key is duplicated, the last one counts, as in Python.
    pub value: Value,
    /// The keys that occur more than once in one object.
    pub duplicates: Vec<JsonPath>,
}

/// Memory limit for the list of duplicate keys, in bytes. Further duplicates are not listed.
const MAX_DUPLICATES: usize = 4 << 20;

/// Reads a document.
pub fn parse(text: &str) -> Result<Parsed, SyntaxError> {
    let mut parser = Parser {
        duplicates_left: MAX_DUPLICATES,
        ..Parser::new(text, usize::MAX)
    };
    let value = parser.document()?;
    Ok(Parsed {
        value,
        duplicates: parser.duplicates,
    })
}

/// Why a text was not read within a memory limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParseFailure {
    /// It is not JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Its value needs more memory.
    #[error("it needs too much memory")]
    TooLarge,
}

/// Reads a document whose value may take `most` bytes of memory. Returns the value and the approximate number of bytes
/// that it takes. Reading stops when the limit is exceeded, since a short text can contain a million values.
pub fn parse_within(text: &str, most: usize) -> Result<(Value, usize), ParseFailure> {
    let mut parser = Parser::new(text, most);
    match parser.document() {
        Ok(value) => Ok((value, most - parser.left)),
        Err(_) if parser.is_too_large => Err(ParseFailure::TooLarge),
        Err(error) => Err(error.into()),
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    path: JsonPath,
    duplicates: Vec<JsonPath>,
    /// How many bytes the rest of the value may take.
    left: usize,
    is_too_large: bool,
    /// How many bytes the rest of the list of duplicate keys may take.
    duplicates_left: usize,
}

/// Memory of an element in bytes. A list doubles its capacity when it is full.
pub const ITEM: usize = 2 * size_of::<Value>();
/// Memory of a member in bytes: key, value, hash and index in the table, with spare capacity.
pub const MEMBER: usize = 2 * (size_of::<String>() + size_of::<Value>() + 2 * size_of::<usize>());
/// Overhead of an allocation.
const ALLOCATION: usize = 16;

impl<'a> Parser<'a> {
    fn new(text: &'a str, left: usize) -> Parser<'a> {
        let (cursor, path) = (Cursor::new(text), JsonPath::default());
        Parser {
            cursor,
            path,
            duplicates: Vec::new(),
            left,
            is_too_large: false,
            duplicates_left: 0,
        }
    }

    fn document(&mut self) -> Result<Value, SyntaxError> {
        let value = self.value()?;
        self.cursor.skip_space();
        match self.cursor.peek() {
            Some(_) => Err(self.cursor.wrong("the end of the file")),
            None => Ok(value),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), SyntaxError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.is_too_large = true;
                Err(self.cursor.wrong("a smaller value"))
            }
        }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let text = self.cursor.string()?;
        self.take(text.len() + ALLOCATION)?;
        Ok(text.into_owned())
    }

    fn value(&mut self) -> Result<Value, SyntaxError> {
        self.cursor.skip_space();
        match self.cursor.peek() {
            Some(b'{' | b'[') if self.path.0.len() >= MAX_DEPTH => Err(self
                .cursor
                .wrong(&format!("at most {MAX_DEPTH} levels of nesting"))),
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(Value::String),
            _ => self.scalar(),
        }
    }

    fn object(&mut self) -> Result<Value, SyntaxError> {
        self.cursor.at += 1;
        let mut map = Map::new();
        if self.cursor.take(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.cursor.skip_space();
            if self.cursor.peek() != Some(b'"') {
                return Err(self.cursor.wrong("a key in double quotes"));
            }
            self.take(MEMBER)?;
            let key = self.string()?;
            self.cursor.expect(b':', "a colon after the key")?;
            self.path.0.push(super::Step::Key(key.clone()));
            let value = self.value()?;
            if map.insert(key, value).is_some() {
                self.list_duplicate();
            }
            self.path.0.pop();
            if self.cursor.take(b'}') {
                return Ok(Value::Object(map));
            }
            self.cursor.expect(b',', "a comma or }")?;
        }
    }

    fn list_duplicate(&mut self) {
        let bytes = |step: &super::Step| match step {
            super::Step::Key(key) => key.len() + size_of::<super::Step>(),
            super::Step::Index(_) => size_of::<super::Step>(),
        };
        let size = || self.path.0.iter().map(bytes).sum();
        if self.duplicates_left > 0
            && let Some(left) = self.duplicates_left.checked_sub(size())
        {
            self.duplicates_left = left;
            self.duplicates.push(self.path.clone());
        }
    }

    fn array(&mut self) -> Result<Value, SyntaxError> {
        self.cursor.at += 1;
        let mut items = Vec::new();
        if self.cursor.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            self.take(ITEM)?;
            self.path.0.push(super::Step::Index(items.len()));
            items.push(self.value()?);
            self.path.0.pop();
            if self.cursor.take(b']') {
                return Ok(Value::Array(items));
            }
            self.cursor.expect(b',', "a comma or ]")?;
        }
    }

    fn scalar(&mut self) -> Result<Value, SyntaxError> {
        let start = self.cursor.at;
        let word = self.cursor.word();
        // Numbers are stored in their original spelling.
        self.take(word.len() + ALLOCATION)?;
        match word {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            word if special_number(word).is_some() => {
                Ok(special_number(word).map_or(Value::Null, Value::Number))
            }
            word if is_number(word) => Ok(Value::Number(Number::from_string_unchecked(
                word.to_string(),
            ))),
            word => {
                self.cursor.at = start;
                let mut error = self.cursor.wrong("a value");
                if !word.is_empty() {
                    error.found = format!("{word:?}");
                }
                Err(error)
            }
        }
    }
}

/// Whether a word is a number in JSON's grammar.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::value_text;
    use proptest::prelude::*;

    #[test]
    fn numbers_keep_their_spelling() {
        let parsed =
            parse("[1.0, 1e2, 123456789012345678901234567890, NaN, -Infinity, -0]").unwrap();
        let spelt: Vec<String> = parsed
            .value
            .as_array()
            .unwrap()
            .iter()
            .map(value_text)
            .collect();
        assert_eq!(
            spelt,
            [
                "1.0",
                "1e2",
                "123456789012345678901234567890",
                "NaN",
                "-Infinity",
                "-0"
            ]
        );
    }

    #[test]
    fn errors_have_cause_and_position() {
        let error = parse("{\"a\": 1,}").unwrap_err();
        assert_eq!(
            (error.offset, error.to_string().as_str()),
            (8, "expected a key in double quotes, found '}'")
        );
        assert_eq!(parse("").unwrap_err().found, "the end of the file");
        assert_eq!(
            parse("{a: 1}").unwrap_err().expected,
            "a key in double quotes"
        );
        assert_eq!(parse("[01]").unwrap_err().found, "\"01\"");
        assert_eq!(
            parse("[1] [2]").unwrap_err().expected,
            "the end of the file"
        );
        assert!(
            parse("\"\\ud800\"")
                .unwrap_err()
                .found
                .contains("surrogate")
        );
        assert!(parse("\"a\u{1}\"").is_err());
    }

    #[test]
    fn duplicates_are_reported_and_last_wins() {
        let parsed = parse("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}, \"a\": 3}").unwrap();
        assert_eq!(parsed.value["a"], serde_json::json!(3));
        let told: Vec<String> = parsed.duplicates.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["$.b.c", "$.a"]);
    }

    #[test]
    fn a_value_keeps_within_its_memory() {
        let many = format!("[{}[]]", "[],".repeat(100_000));
        assert_eq!(parse_within(&many, 1 << 20), Err(ParseFailure::TooLarge));
        let broken = format!("{many} and no JSON");
        assert_eq!(
            parse_within(&broken, 1 << 20),
            Err(ParseFailure::TooLarge),
            "reading ended before that"
        );
        assert!(matches!(
            parse_within("[1,", 1 << 20),
            Err(ParseFailure::Syntax(_))
        ));
        let (value, taken) = parse_within(&many, usize::MAX).unwrap();
        assert!(taken >= 100_001 * size_of::<Value>(), "{taken}");
        assert_eq!(parse_within(&many, taken), Ok((value, taken)));
        assert!(parse_within(&many, taken - 1).is_err());
        assert!(parse_within("{\"a\": \"long long long long\"}", 60).is_err());
    }

    #[test]
    fn deep_nesting_is_refused_and_bom_accepted() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(&deep(MAX_DEPTH)).is_ok());
        assert!(
            parse(&deep(MAX_DEPTH + 1))
                .unwrap_err()
                .expected
                .contains("levels")
        );
        assert!(parse(&"[".repeat(1_000_000)).is_err());
        assert!(parse("\u{feff}{}").is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn agrees_with_serde_json(text in "[\\[\\]{}:,\"a0-9.e\\-+ \\\\ntrue]{0,24}") {
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(parse(&text).is_ok(), theirs, "{}", text);
        }
    }
}
