//! Writing of documents with a list that does not fit in memory, one item after the other.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Writes a document as indented JSON. Its member `list`, which is an empty list in `document`, gets the items.
/// `spell` is applied to the text of each item. Every write to `out` consists of whole JSON tokens.
///
/// # Errors
///
/// Errors of `out` and of the items, and `InvalidInput` if `document` has no empty list `list`.
pub fn write_with_list<Item: Serialize>(
    out: &mut dyn Write,
    document: &Value,
    list: &str,
    items: impl Iterator<Item = io::Result<Item>>,
    spell: impl Fn(String) -> String,
) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    let member = format!("\n  {}: []", Value::from(list));
    let at = text.find(&member).ok_or(io::ErrorKind::InvalidInput)? + member.len() - 1;
    out.write_all(&text.as_bytes()[..at])?;
    let mut is_first = true;
    for item in items {
        let before = if std::mem::take(&mut is_first) {
            "\n    "
        } else {
            ",\n    "
        };
        let mut text = before.as_bytes().to_vec();
        item?.serialize(&mut Serializer::with_formatter(&mut text, in_list()?))?;
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        out.write_all(spell(text).as_bytes())?;
    }
    if !is_first {
        out.write_all(b"\n  ")?;
    }
    out.write_all(&text.as_bytes()[at..])
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
            let mut written = Vec::new();
            let empty = document(json!([]));
            write_with_list(
                &mut written,
                &empty,
                "cases",
                items.clone().into_iter().map(Ok),
                |text| text,
            )
            .unwrap();
            let whole = serde_json::to_string_pretty(&document(items.into())).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), whole);
        }
    }
}
