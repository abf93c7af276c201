//! Where the cases of a file lie, found without parsing them: one pass that counts brackets.
//!
//! A case is parsed when it is opened, so a file of any size lists in the time it takes to read it.

use super::json::{Cursor, SyntaxError};
use std::ops::Range;

/// A member of an object, or an element of an array: its key and where its value lies.
pub type Member = (String, Range<usize>);

/// What kind of document a text is, by its first byte that is no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Top {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`: an old result file, a document within a string.
    Text,
    /// Anything else.
    Other,
}

/// The kind of a text.
pub fn top(text: &str) -> Top {
    let mut cursor = Cursor::new(text);
    cursor.skip_space();
    match cursor.peek() {
        Some(b'{') => Top::Object,
        Some(b'[') => Top::Array,
        Some(b'"') => Top::Text,
        _ => Top::Other,
    }
}

/// The members of the object at `range`, in order. Values are not looked into.
pub fn members(text: &str, range: Range<usize>) -> Result<Vec<Member>, SyntaxError> {
    let mut found = Vec::new();
    walk_object(text, range, |key, value| {
        found.push((key, value));
        true
    })?;
    Ok(found)
}

/// The first members of the object at `range` whose keys are wanted; stops when all are found.
pub fn pick<const N: usize>(
    text: &str,
    range: Range<usize>,
    wanted: [&[&str]; N],
) -> Result<[Option<Range<usize>>; N], SyntaxError> {
    let mut found: [Option<Range<usize>>; N] = std::array::from_fn(|_| None);
    walk_object(text, range, |key, value| {
        if let Some(at) = wanted.iter().position(|keys| keys.contains(&key.as_str())) {
            found[at] = Some(value);
        }
        found.iter().any(Option::is_none)
    })?;
    Ok(found)
}

/// The elements of the array at `range`, in order.
pub fn elements(text: &str, range: Range<usize>) -> Result<Vec<Range<usize>>, SyntaxError> {
    let mut cursor = Cursor::new(&text[..range.end]);
    cursor.at = cursor.at.max(range.start);
    let mut found = Vec::new();
    cursor.expect(b'[', "a list")?;
    if cursor.take(b']') {
        return Ok(found);
    }
    loop {
        found.push(value_range(&mut cursor)?);
        if !cursor.take(b',') {
            cursor.expect(b']', "a comma or ]")?;
            return Ok(found);
        }
    }
}

fn walk_object(
    text: &str,
    range: Range<usize>,
    mut visit: impl FnMut(String, Range<usize>) -> bool,
) -> Result<(), SyntaxError> {
    let mut cursor = Cursor::new(&text[..range.end]);
    cursor.at = cursor.at.max(range.start);
    cursor.expect(b'{', "an object")?;
    if cursor.take(b'}') {
        return Ok(());
    }
    loop {
        cursor.skip_space();
        let key = cursor.string()?;
        cursor.expect(b':', "a colon after the key")?;
        let value = value_range(&mut cursor)?;
        if !visit(key, value) {
            return Ok(());
        }
        if !cursor.take(b',') {
            return cursor.expect(b'}', "a comma or }");
        }
    }
}

fn value_range(cursor: &mut Cursor) -> Result<Range<usize>, SyntaxError> {
    cursor.skip_space();
    let start = cursor.at;
    cursor.skip_value()?;
    Ok(start..cursor.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_are_found_by_their_bytes() {
        let text = "\u{feff} {\"id\": \"s\", \"cases\": [{\"a\": [1, \"]\"]}, 2 ,\"x\\\"}\"]}";
        let found = members(text, 0..text.len()).unwrap();
        assert_eq!(found[0].0, "id");
        let cases = elements(text, found[1].1.clone()).unwrap();
        let texts: Vec<&str> = cases.into_iter().map(|range| &text[range]).collect();
        assert_eq!(texts, ["{\"a\": [1, \"]\"]}", "2", "\"x\\\"}\""]);
    }

    #[test]
    fn picking_stops_early() {
        let text = "{\"a\": 1, \"b\": 2, broken";
        let [a, b] = pick(text, 0..text.len(), [&["a"], &["b", "B"]]).unwrap();
        assert_eq!((&text[a.unwrap()], &text[b.unwrap()]), ("1", "2"));
        assert!(members(text, 0..text.len()).is_err());
    }
}
