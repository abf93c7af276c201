//! Finding the position of one value in a text.

use super::SyntaxError;
use super::cursor::Cursor;
use super::path::{JsonPath, Step};

/// Byte offset of the value at a path, or of the deepest part of the path that exists.
/// If a key is duplicated, the last one counts, as in parsing.
pub fn locate(text: &str, path: &JsonPath) -> usize {
    let mut cursor = Cursor::new(text);
    cursor.skip_space();
    for step in &path.0 {
        let here = cursor.at;
        let found = match step {
            Step::Key(key) => find_key(&mut cursor, key),
            Step::Index(index) => find_index(&mut cursor, *index),
        };
        match found {
            Ok(Some(at)) => cursor.at = at,
            _ => return here,
        }
    }
    cursor.at
}

/// Line and column (in characters), both from 1, of a byte offset.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let mut column = before[start..].chars().count() + 1;
    if start == 0 && before.starts_with('\u{FEFF}') {
        column -= 1;
    }
    (line, column)
}

fn find_key(cursor: &mut Cursor, wanted: &str) -> Result<Option<usize>, SyntaxError> {
    let mut found = None;
    if !cursor.take(b'{') || cursor.take(b'}') {
        return Ok(None);
    }
    loop {
        cursor.skip_space();
        let key = cursor.string()?;
        cursor.expect(b':', "a colon")?;
        cursor.skip_space();
        if key == wanted {
            found = Some(cursor.at);
        }
        cursor.skip_value()?;
        if !cursor.take(b',') {
            return Ok(found);
        }
    }
}

fn find_index(cursor: &mut Cursor, wanted: usize) -> Result<Option<usize>, SyntaxError> {
    if !cursor.take(b'[') || cursor.take(b']') {
        return Ok(None);
    }
    for index in 0.. {
        cursor.skip_space();
        if index == wanted {
            return Ok(Some(cursor.at));
        }
        cursor.skip_value()?;
        if !cursor.take(b',') {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_value() {
        let text = "{\n  \"a\": [1, {\"b\\n\": \"x\"}],\n  \"é\": 2, \"c\": 3\n}";
        let path = JsonPath::default().key("a").index(1).key("b\n");
        let at = locate(text, &path);
        assert!(text[at..].starts_with("\"x\""));
        assert_eq!(position(text, at), (2, 20));
        let c = locate(text, &JsonPath::default().key("c"));
        assert_eq!(position(text, c), (3, 16));
        let missing = locate(text, &JsonPath::default().key("a").index(1).key("none"));
        assert!(text[missing..].starts_with("{\"b"));
    }
}
