//! Finds the positions of a file's cases without parsing them, in one pass that counts brackets.
//!
//! A case is parsed when it is opened, so listing the cases of a file takes about as long as reading the file.

use super::json::{Cursor, SyntaxError};
use std::borrow::Cow;
use std::ops::Range;

/// A member of an object: its key and the byte range of its value.
pub type Member = (String, Range<usize>);

/// The kind of a document, by its first byte that is not white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
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
pub fn root_kind(text: &str) -> RootKind {
    let mut cursor = Cursor::new(text);
    cursor.skip_space();
    match cursor.peek() {
        Some(b'{') => RootKind::Object,
        Some(b'[') => RootKind::Array,
        Some(b'"') => RootKind::Text,
        _ => RootKind::Other,
    }
}

/// The members of an object and the elements of a long list in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// The members in order. Values are not parsed.
    pub members: Vec<Member>,
    /// The elements of the requested member, when it is a list.
    pub elements: Vec<Range<usize>>,
}

/// The members of the object that is the whole text, and the elements of the list whose key is one of
/// `lists`. Every byte is read once.
pub fn outline(text: &str, lists: &[&str]) -> Result<Outline, SyntaxError> {
    let mut outline = Outline::default();
    walk_object(text, 0..text.len(), |key, cursor| {
        cursor.skip_space();
        let start = cursor.at;
        if lists.contains(&key.as_ref()) && cursor.peek() == Some(b'[') {
            outline.elements = list_at(cursor)?;
        } else {
            cursor.skip_value()?;
        }
        outline.members.push((key.into_owned(), start..cursor.at));
        Ok(true)
    })?;
    Ok(outline)
}

/// The values of the wanted keys in the object at `range`. Each entry of `wanted` lists the spellings of a key. The
/// search stops when all are found.
pub fn pick<const N: usize>(
    text: &str,
    range: Range<usize>,
    wanted: [&[&str]; N],
) -> Result<[Option<Range<usize>>; N], SyntaxError> {
    let mut found: [Option<Range<usize>>; N] = std::array::from_fn(|_| None);
    walk_object(text, range, |key, cursor| {
        let value = value_range(cursor)?;
        if let Some(at) = wanted.iter().position(|keys| keys.contains(&key.as_ref())) {
            found[at] = Some(value);
        }
        Ok(found.iter().any(Option::is_none))
    })?;
    Ok(found)
}

/// The keys of an object, or of the first object of a list, as far as the text goes.
pub fn first_keys(text: &str) -> Vec<String> {
    first_members(text)
        .into_iter()
        .map(|(key, _)| key)
        .collect()
}

/// Like [`first_keys`], with the first byte of each value; 0 where the text ends before it.
pub fn first_members(text: &str) -> Vec<(String, u8)> {
    let start = match root_kind(text) {
        RootKind::Array => text.find('{').unwrap_or(text.len()),
        _ => 0,
    };
    let mut keys = Vec::new();
    // An error is expected: the text may be only the beginning of a file.
    let _ = walk_object(text, start..text.len(), |key, cursor| {
        cursor.skip_space();
        keys.push((key.into_owned(), cursor.peek().unwrap_or(0)));
        value_range(cursor).map(|_| true)
    });
    keys
}

/// The elements of the array at `range`, in order.
pub fn elements(text: &str, range: Range<usize>) -> Result<Vec<Range<usize>>, SyntaxError> {
    let mut cursor = Cursor::new(&text[..range.end]);
    cursor.at = cursor.at.max(range.start);
    list_at(&mut cursor)
}

fn list_at(cursor: &mut Cursor) -> Result<Vec<Range<usize>>, SyntaxError> {
    let mut found = Vec::new();
    cursor.expect(b'[', "a list")?;
    if cursor.take(b']') {
        return Ok(found);
    }
    loop {
        found.push(value_range(cursor)?);
        if !cursor.take(b',') {
            cursor.expect(b']', "a comma or ]")?;
            return Ok(found);
        }
    }
}

fn walk_object<'a>(
    text: &'a str,
    range: Range<usize>,
    mut visit: impl FnMut(Cow<'a, str>, &mut Cursor) -> Result<bool, SyntaxError>,
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
        if !visit(key, &mut cursor)? {
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
    cursor.skip_large_value()?;
    Ok(start..cursor.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_have_byte_ranges() {
        let text = "\u{feff} {\"id\": \"s\", \"cases\": [{\"a\": [1, \"]\"]}, 2 ,\"x\\\"}\"]}";
        let found = outline(text, &["cases"]).unwrap();
        assert_eq!(found.members[0].0, "id");
        let cases = elements(text, found.members[1].1.clone()).unwrap();
        assert_eq!(cases, found.elements);
        let texts: Vec<&str> = cases.into_iter().map(|range| &text[range]).collect();
        assert_eq!(texts, ["{\"a\": [1, \"]\"]}", "2", "\"x\\\"}\""]);
    }

    #[test]
    fn picking_stops_early() {
        let text = "{\"a\": 1, \"b\": 2, broken";
        let [a, b] = pick(text, 0..text.len(), [&["a"], &["b", "B"]]).unwrap();
        assert_eq!((&text[a.unwrap()], &text[b.unwrap()]), ("1", "2"));
        assert!(outline(text, &[]).is_err());
    }
}
