//! Positions of many values in one text. Containers that were scanned are cached, so that finding the positions of
//! thousands of problems in a large file takes about as long as finding one.

use super::cursor::Cursor;
use super::path::{JsonPath, Step};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Characters are counted up to each multiple of this number of bytes.
const STRIDE: usize = 4096;

/// A cache of positions in one text. All calls must pass the same text.
#[derive(Debug, Default)]
pub struct JsonPositions {
    marks: OnceLock<Marks>,
    /// By the offset of an object or a list.
    children: Mutex<HashMap<usize, Children>>,
}

#[derive(Debug)]
struct Marks {
    /// Offsets at which lines begin.
    lines: Vec<usize>,
    /// Characters before each multiple of [`STRIDE`].
    characters: Vec<usize>,
}

/// Offsets of the values in an object or a list, as far as it can be read.
#[derive(Debug)]
enum Children {
    Members(HashMap<String, usize>),
    Items(Vec<usize>),
    None,
}

impl JsonPositions {
    /// Line and column (in characters), both from 1, of the value at a path, or of the deepest part of the path that
    /// exists. If a key is duplicated, the last one counts, as in parsing.
    pub fn line_and_column(&self, text: &str, path: &JsonPath) -> (usize, usize) {
        self.position(text, self.offset(text, path))
    }

    /// The byte offset of the value at a path, or of the deepest part of the path that exists.
    pub fn offset(&self, text: &str, path: &JsonPath) -> usize {
        let mut cursor = Cursor::new(text);
        cursor.skip_space();
        let mut at = cursor.at;
        // A panic cannot leave an incomplete entry.
        let mut known = self.children.lock();
        for step in &path.0 {
            let children = known.entry(at).or_insert_with(|| children(text, at));
            let found = match (children, step) {
                (Children::Members(members), Step::Key(key)) => members.get(key).copied(),
                (Children::Items(items), Step::Index(index)) => items.get(*index).copied(),
                _ => None,
            };
            match found {
                Some(child) => at = child,
                None => return at,
            }
        }
        at
    }

    /// Line and column (in characters), both from 1, of a byte offset.
    pub fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let marks = self.marks.get_or_init(|| Marks::find(text));
        let offset = text.floor_char_boundary(offset);
        let line = marks.lines.partition_point(|&start| start <= offset).max(1);
        let start = marks.lines[line - 1];
        let mut column =
            marks.characters_before(text, offset) - marks.characters_before(text, start) + 1;
        if start == 0 && offset > 0 && text.starts_with('\u{FEFF}') {
            column -= 1;
        }
        (line, column)
    }
}

impl Marks {
    fn find(text: &str) -> Marks {
        let bytes = text.as_bytes();
        let lines = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1))
            .collect();
        let mut before = 0;
        let characters = std::iter::once(0)
            .chain(bytes.chunks(STRIDE).map(|chunk| {
                before += count(chunk);
                before
            }))
            .collect();
        Marks { lines, characters }
    }

    fn characters_before(&self, text: &str, offset: usize) -> usize {
        let mark = offset / STRIDE;
        self.characters[mark] + count(&text.as_bytes()[mark * STRIDE..offset])
    }
}

/// How many characters begin in these bytes.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

fn children(text: &str, at: usize) -> Children {
    let mut cursor = Cursor::new(text);
    cursor.at = at;
    match cursor.peek() {
        Some(b'{') => Children::Members(members(&mut cursor)),
        Some(b'[') => Children::Items(items(&mut cursor)),
        _ => Children::None,
    }
}

fn members(cursor: &mut Cursor) -> HashMap<String, usize> {
    let mut found = HashMap::new();
    cursor.take(b'{');
    let mut next = || {
        cursor.skip_space();
        let key = cursor.string().ok()?;
        cursor.expect(b':', "a colon").ok()?;
        cursor.skip_space();
        let at = cursor.at;
        cursor.skip_value().ok()?;
        Some((key, at, cursor.take(b',')))
    };
    while let Some((key, at, goes_on)) = next() {
        found.insert(key.into_owned(), at);
        if !goes_on {
            break;
        }
    }
    found
}

fn items(cursor: &mut Cursor) -> Vec<usize> {
    let mut found = Vec::new();
    if !cursor.take(b'[') || cursor.take(b']') {
        return found;
    }
    loop {
        cursor.skip_space();
        found.push(cursor.at);
        if cursor.skip_value().is_err() || !cursor.take(b',') {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{locate, position};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_equal_those_of_repeated_search() {
        let text =
            "\u{feff}{\n  \"a\": [1, {\"b\\n\": \"x\"}],\n  \"é\": 2, \"c\": 3, \"a\": [[], {}]\n}";
        let positions = JsonPositions::default();
        let top = JsonPath::default();
        let paths = [
            top.clone(),
            top.key("a"),
            top.key("a").index(1),
            top.key("a").index(1).key("none"),
            top.key("a").index(7),
            top.key("é"),
            top.key("c").key("x"),
            top.index(0),
        ];
        for path in &paths {
            let at = locate(text, path);
            assert_eq!(positions.offset(text, path), at, "{path}");
            assert_eq!(
                positions.line_and_column(text, path),
                position(text, at),
                "{path}"
            );
        }
    }

    proptest! {
        #[test]
        fn positions_are_those_of_counting(text in "[a\né{}\"\u{feff}]{0,40}", offset in 0..60usize) {
            prop_assert_eq!(JsonPositions::default().position(&text, offset), position(&text, offset));
            let long = text.repeat(700);
            let offset = offset * 400;
            prop_assert_eq!(JsonPositions::default().position(&long, offset), position(&long, offset));
        }

        #[test]
        fn any_text_is_looked_through(text in "[\\[\\]{}:,\"ab1 ]{0,30}", first in 0..3usize) {
            let path = JsonPath::default().index(first).key("a");
            prop_assert_eq!(JsonPositions::default().offset(&text, &path), locate(&text, &path));
        }
    }
}
