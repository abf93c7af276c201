//! The layout of a JSON text: the positions of the items in its containers, and the style in which new items
//! are written so that they look like their neighbours.

use super::SyntaxError;
use super::cursor::Cursor;
use crate::domain::python_json;
use serde_json::Value;
use std::ops::Range;

/// Number of bytes of a file from which its line ends and its escapes are detected.
const SAMPLED_BYTES: usize = 16 << 10;

/// A member of an object or an element of an array, with its position.
pub(super) struct LocatedValue {
    /// The key; empty in an array.
    pub(super) key: String,
    /// From the key (in an array, from the value) to the value's end.
    pub(super) all: Range<usize>,
    /// The value.
    pub(super) value: Range<usize>,
}

/// An object or array: the offsets of its brackets, and its items.
pub(super) struct Container {
    pub(super) open: usize,
    pub(super) close: usize,
    pub(super) items: Vec<LocatedValue>,
}

/// Finds the items of the container that begins at an offset, one level deep.
pub(super) fn container(text: &str, at: usize) -> Result<Container, SyntaxError> {
    let mut cursor = Cursor::new(text);
    cursor.at = at;
    let is_object = cursor.take(b'{');
    if !is_object {
        cursor.expect(b'[', "an object or a list")?;
    }
    let end = if is_object { b'}' } else { b']' };
    let mut items = Vec::new();
    if !cursor.take(end) {
        loop {
            cursor.skip_space();
            let start = cursor.at;
            let mut key = String::new();
            if is_object {
                key = cursor.string()?.into_owned();
                cursor.expect(b':', "a colon after the key")?;
                cursor.skip_space();
            }
            let value = cursor.at;
            cursor.skip_value()?;
            items.push(LocatedValue {
                key,
                all: start..cursor.at,
                value: value..cursor.at,
            });
            if cursor.take(end) {
                break;
            }
            cursor.expect(b',', "a comma or a closing bracket")?;
        }
    }
    Ok(Container {
        open: at,
        close: cursor.at - 1,
        items,
    })
}

/// The style of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Style {
    eol: &'static str,
    unit: String,
    colon: String,
    comma: String,
    ascii: bool,
    /// How many levels of brackets have their items on separate lines, counted from the sample's top.
    levels: usize,
}

impl Style {
    /// The style of a sample, an object in a file's text. Line ends and the escaping of characters beyond ASCII
    /// are also detected from the beginning of the file.
    pub(super) fn detect(text: &str, sample: Range<usize>) -> Style {
        let part = &text[sample.clone()];
        let start = &text[..text.floor_char_boundary(SAMPLED_BYTES)];
        let first = container(text, sample.start)
            .ok()
            .and_then(|found| found.items.into_iter().next());
        let colon = first.filter(|item| item.all != item.value).map(|item| {
            let key_end = item.all.start
                + text[item.all.start..item.value.start]
                    .rfind('"')
                    .unwrap_or(0)
                + 1;
            text[key_end..item.value.start].to_string()
        });
        let colon = colon
            .filter(|colon| !colon.contains('\n'))
            .unwrap_or_else(|| ": ".into());
        let walked = walk(part);
        let comma = walked
            .comma
            .unwrap_or_else(|| if colon.ends_with(' ') { ", " } else { "," }.into());
        let eol = if start.contains("\r\n") { "\r\n" } else { "\n" };
        let inner = walked.first_indent.unwrap_or_default();
        let unit = inner
            .strip_prefix(indent_of(text, sample.start))
            .filter(|unit| !unit.is_empty());
        Style {
            eol,
            unit: unit.unwrap_or("  ").to_string(),
            colon,
            comma,
            ascii: start.is_ascii() && (has_escapes(start) || has_escapes(part)),
            levels: walked.levels,
        }
    }

    /// How many levels of a value at this depth below the sample's top have their items on separate lines.
    pub(super) fn levels_at(&self, depth: usize) -> usize {
        self.levels.saturating_sub(depth)
    }

    /// A value as text: the outer `levels` levels have their items on separate lines, the rest is on one line.
    pub(super) fn spell(&self, value: &Value, indent: &str, levels: usize) -> String {
        let items: Vec<String> = match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| {
                    self.member(key, value, &format!("{indent}{}", self.unit), levels)
                })
                .collect(),
            Value::Array(list) => {
                let inner = format!("{indent}{}", self.unit);
                list.iter()
                    .map(|value| self.spell(value, &inner, levels.saturating_sub(1)))
                    .collect()
            }
            other => return self.scalar(other),
        };
        let (open, close) = if value.is_object() {
            ('{', '}')
        } else {
            ('[', ']')
        };
        if items.is_empty() || levels == 0 {
            return format!("{open}{}{close}", items.join(&self.comma));
        }
        format!("{open}{}{close}", self.on_lines(&items, indent))
    }

    /// The text between brackets when each item is on a separate line.
    pub(super) fn on_lines(&self, items: &[String], indent: &str) -> String {
        let gap = format!("{}{indent}{}", self.eol, self.unit);
        format!(
            "{gap}{}{}{indent}",
            items.join(&format!(",{gap}")),
            self.eol
        )
    }

    pub(super) fn comma(&self) -> &str {
        &self.comma
    }

    pub(super) fn unit(&self) -> &str {
        &self.unit
    }

    /// A member on a line with this indentation, inside an object with `levels` levels on separate lines.
    pub(super) fn member(&self, key: &str, value: &Value, indent: &str, levels: usize) -> String {
        let value = self.spell(value, indent, levels.saturating_sub(1));
        format!("{}{}{value}", self.scalar(&key.into()), self.colon)
    }

    fn scalar(&self, value: &Value) -> String {
        let text = value.to_string();
        if value.is_number() {
            return python_json(text);
        }
        if !self.ascii || text.is_ascii() {
            return text;
        }
        let mut out = String::new();
        for c in text.chars() {
            match c.is_ascii() {
                true => out.push(c),
                false => c
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .for_each(|unit| out += &format!("\\u{unit:04x}")),
            }
        }
        out
    }
}

/// The indentation of the line that contains an offset.
pub(super) fn indent_of(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let line = text[start..at].trim_start_matches('\u{FEFF}');
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// How many levels of a value's text have their items on separate lines.
pub(super) fn levels_of(text: &str) -> usize {
    walk(text).levels
}

struct Walked {
    /// The deepest nesting at which a line ends.
    levels: usize,
    /// A comma and the white space after it, between items on the same line.
    comma: Option<String>,
    /// The indentation of the first item on a separate line.
    first_indent: Option<String>,
}

fn walk(text: &str) -> Walked {
    let mut cursor = Cursor::new(text);
    let (mut depth, mut levels) = (0usize, 0);
    let (mut comma, mut first_indent) = (None, None);
    while let Some(byte) = cursor.peek() {
        match byte {
            b'"' if cursor.skip_string().is_ok() => continue,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'\n' => {
                let next = text[cursor.at + 1..].trim_start_matches([' ', '\t']);
                if !next.starts_with(['}', ']']) {
                    levels = levels.max(depth);
                    let blank = text.len() - next.len() - cursor.at - 1;
                    first_indent.get_or_insert_with(|| {
                        text[cursor.at + 1..cursor.at + 1 + blank].to_string()
                    });
                }
            }
            b',' if comma.is_none() => {
                let rest = &text[cursor.at + 1..];
                let next = rest.trim_start_matches([' ', '\t']);
                if !next.starts_with(['\n', '\r']) {
                    comma =
                        Some(text[cursor.at..cursor.at + 1 + rest.len() - next.len()].to_string());
                }
            }
            _ => {}
        }
        cursor.at += 1;
    }
    Walked {
        levels,
        comma,
        first_indent,
    }
}

/// Whether characters beyond ASCII are escaped.
fn has_escapes(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest.as_bytes(), b"\\u") {
        let digits = rest
            .get(at + 2..at + 6)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if digits.is_some_and(|code| code >= 0x80) {
            return true;
        }
        rest = &rest[at + 2..];
    }
    false
}
