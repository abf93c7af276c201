//! Writing of documents with a list that does not fit in memory, one item after the other.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// How a document with a long list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonLayout {
    /// Each member on a line of its own, indented by two spaces a level.
    Indented,
    /// As short as possible, but for one line for each item of the list.
    LinePerItem,
}

/// Writes an object as JSON. Its member `list`, which is an empty list in `document`, gets the items. `spell` is applied to the
/// text of each item. Every write to `out` consists of whole JSON tokens.
///
/// # Errors
///
/// Errors of `out` and of the items, and `InvalidInput` if `document` has no empty list `list`.
pub fn write_with_list<Item: Serialize>(
    out: &mut dyn Write,
    (document, layout): (&Value, JsonLayout),
    list: &str,
    items: impl Iterator<Item = io::Result<Item>>,
    spell: impl Fn(String) -> String,
) -> io::Result<()> {
    let (text, member, before_item, after_items) = match layout {
        JsonLayout::Indented => (
            serde_json::to_string_pretty(document)?,
            format!("\n  {}: []", Value::from(list)),
            "\n    ",
            "\n  ",
        ),
        JsonLayout::LinePerItem => (
            text_by_members(document)?,
            format!("\n{}:[]", Value::from(list)),
            "\n",
            "\n",
        ),
    };
    let at = text.find(&member).ok_or(io::ErrorKind::InvalidInput)? + member.len() - 1;
    out.write_all(&text.as_bytes()[..at])?;
    let mut is_first = true;
    for item in items {
        let item = item?;
        let mut text = match std::mem::take(&mut is_first) {
            true => Vec::new(),
            false => b",".to_vec(),
        };
        text.extend_from_slice(before_item.as_bytes());
        match layout {
            JsonLayout::Indented => {
                item.serialize(&mut Serializer::with_formatter(&mut text, in_list()?))?;
            }
            JsonLayout::LinePerItem => serde_json::to_writer(&mut text, &item)?,
        }
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        out.write_all(spell(text).as_bytes())?;
    }
    if !is_first {
        out.write_all(after_items.as_bytes())?;
    }
    out.write_all(&text.as_bytes()[at..])
}

/// An object with a line for each member. Texts have no line breaks, so a line begins with the name of a member.
fn text_by_members(document: &Value) -> io::Result<String> {
    let members = document.as_object().ok_or(io::ErrorKind::InvalidInput)?;
    let member =
        |(name, value): (&String, &Value)| format!("\n{}:{value}", Value::from(name.as_str()));
    let members: Vec<String> = members.iter().map(member).collect();
    Ok(format!("{{{}\n}}", members.join(",")))
}

/// The formatter of an item of a list in a document: it indents by two levels more.
fn in_list() -> io::Result<PrettyFormatter<'static>> {
    let mut formatter = PrettyFormatter::new();
    formatter.begin_object(&mut io::sink())?;
    formatter.begin_array(&mut io::sink())?;
    Ok(formatter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn streamed_list_equals_whole_document() {
        for items in [
            vec![],
            vec![json!({"a": [1, {"cases": []}], "b": "x\ny"})],
            vec![json!(1), json!([])],
        ] {
            let document =
                |cases: Value| json!({"before": {"cases": []}, "cases": cases, "after": [2]});
            let written = |layout| {
                let mut written = Vec::new();
                let empty = document(json!([]));
                let items = items.clone().into_iter().map(Ok);
                write_with_list(&mut written, (&empty, layout), "cases", items, |text| text)
                    .unwrap();
                String::from_utf8(written).unwrap()
            };
            let whole = document(items.clone().into());
            let indented = serde_json::to_string_pretty(&whole).unwrap();
            assert_eq!(written(JsonLayout::Indented), indented);
            let short = written(JsonLayout::LinePerItem);
            assert_eq!(serde_json::from_str::<Value>(&short).unwrap(), whole);
            // Five lines without items: the braces and three members. With items: one for each, and one for the end of the list.
            let lines = match items.len() {
                0 => 5,
                count => 6 + count,
            };
            assert_eq!(short.lines().count(), lines, "{short}");
        }
    }
}
