//! Python literals, as pandas writes a column of lists to CSV: `[{'tool_name': 'f', 'ok': True}]`.

use serde_json::{Map, Number, Value};
use std::iter::Peekable;
use std::str::Chars;

/// Deeper nesting is refused.
const DEEPEST: usize = 128;

/// Reads a literal; `None` when the text is not a literal.
pub(in crate::formats) fn parse(text: &str) -> Option<Value> {
    let mut reader = LiteralReader {
        chars: text.chars().peekable(),
    };
    let value = reader.value(0)?;
    reader.space();
    reader.chars.peek().is_none().then_some(value)
}

struct LiteralReader<'a> {
    chars: Peekable<Chars<'a>>,
}

impl LiteralReader<'_> {
    fn space(&mut self) {
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {}
    }

    fn take(&mut self, wanted: char) -> bool {
        self.space();
        self.chars.next_if_eq(&wanted).is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        self.space();
        match *self.chars.peek()? {
            '[' => self.sequence(']', depth),
            '(' => self.sequence(')', depth),
            '{' => self.dict(depth),
            '\'' | '"' => self.text().map(Value::String),
            _ => self.word(),
        }
    }

    fn sequence(&mut self, close: char, depth: usize) -> Option<Value> {
        self.chars.next();
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(self.value(depth + 1)?);
            if !self.take(',') {
                return self.take(close).then_some(Value::Array(items));
            }
        }
        Some(Value::Array(items))
    }

    fn dict(&mut self, depth: usize) -> Option<Value> {
        self.chars.next();
        let mut map = Map::new();
        while !self.take('}') {
            let key = match self.value(depth + 1)? {
                Value::String(key) => key,
                Value::Array(_) | Value::Object(_) => return None,
                other => other.to_string(),
            };
            if !self.take(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            map.insert(key, value);
            if !self.take(',') {
                return self.take('}').then_some(Value::Object(map));
            }
        }
        Some(Value::Object(map))
    }

    /// Reads a string and joins adjacent strings to it, as Python does.
    fn text(&mut self) -> Option<String> {
        let mut out = String::new();
        while let Some(quote) = self.chars.next_if(|c| matches!(c, '\'' | '"')) {
            loop {
                match self.chars.next()? {
                    c if c == quote => break,
                    '\\' => out.extend(self.escape()?),
                    '\n' => return None,
                    c => out.push(c),
                }
            }
            self.space();
        }
        Some(out)
    }

    fn escape(&mut self) -> Option<Option<char>> {
        Some(Some(match self.chars.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'a' => '\u{7}',
            '0' => '\0',
            '\n' => return Some(None),
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            c @ ('\\' | '\'' | '"') => c,
            // Python retains the backslash of an unknown escape. That is refused here; no known file has one.
            _ => return None,
        }))
    }

    fn code(&mut self, digits: usize) -> Option<char> {
        let digits: String = self.chars.by_ref().take(digits).collect();
        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
    }

    fn word(&mut self) -> Option<Value> {
        let mut word = String::new();
        while let Some(c) = self
            .chars
            .next_if(|c| c.is_alphanumeric() || matches!(c, '.' | '+' | '-' | '_'))
        {
            word.push(c);
        }
        match word.as_str() {
            "None" => Some(Value::Null),
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "nan" => crate::domain::special_number("NaN").map(Value::Number),
            "inf" => crate::domain::special_number("Infinity").map(Value::Number),
            "-inf" => crate::domain::special_number("-Infinity").map(Value::Number),
            _ => number(&word),
        }
    }
}

fn number(word: &str) -> Option<Value> {
    let plain = word.replace('_', "");
    let plain = plain.strip_prefix('+').unwrap_or(&plain);
    let whole = plain.strip_prefix('-').unwrap_or(plain);
    if !whole.is_empty()
        && whole.bytes().all(|b| b.is_ascii_digit())
        && !(whole.len() > 1 && whole.starts_with('0'))
    {
        return Some(Value::Number(Number::from_string_unchecked(
            plain.to_string(),
        )));
    }
    let float: f64 = plain
        .contains(['.', 'e', 'E'])
        .then(|| plain.parse().ok())??;
    whole
        .starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| Number::from_f64(float).map(Value::Number))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literals_written_by_pandas_are_read() {
        let text = "[{'tool_name': 'set', 'tool_input': {'id': 'it\\'s', \"on\": True, 'n': -1.5, 'x': None,}}, ('a', 1)]";
        let expected = json!([
            {"tool_name": "set", "tool_input": {"id": "it's", "on": true, "n": -1.5, "x": null}}, ["a", 1]
        ]);
        assert_eq!(parse(text), Some(expected));
        assert_eq!(
            parse("'caf\\xe9 \\u2713' ' joined'"),
            Some(json!("café ✓ joined"))
        );
        assert_eq!(
            parse("123456789012345678901234567890").unwrap().to_string(),
            "123456789012345678901234567890"
        );
        assert_eq!(parse("[]"), Some(json!([])));
    }

    #[test]
    fn text_that_is_no_literal_is_refused() {
        for text in [
            "",
            "f(x)",
            "[1",
            "{'a' 1}",
            "[1] 2",
            "__import__('os')",
            "{[1]: 2}",
            "01",
            "'a",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(5000)), None);
    }
}
