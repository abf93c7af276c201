//! JSON Lines: the position and id of each row, found while the file is streamed.
//!
//! A row takes 24 bytes of memory, whatever its length, so a file of any size can be listed.

use super::columns::ColumnMap;
use crate::formats::index;
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// Keys of a row's id.
const ID_KEYS: &[&str] = &["eval_case_id", "eval_id", "case_id", "id"];
/// Keys of the prompt, from which the id of a row without one is computed.
const ASKED_KEYS: &[&str] = &["prompt", "messages", "request", "source"];
/// Used only if a row has none of those keys, since agents-cli adds the agent's events to it.
const AGENT_DATA_KEYS: &[&str] = &["agent_data", "agentData"];
/// The prompts of other tools and conversations that are rows, used only if a row has none of those keys.
const OTHER_ASKED_KEYS: &[&str] = &[
    "user_input",
    "input",
    "inputs",
    "item",
    "vars",
    "turns",
    "contents",
    "values",
];

/// The rows of a file, in order.
#[derive(Clone, Debug, Default)]
pub struct FileRows {
    rows: Vec<FileRow>,
    /// The ids in the file, concatenated.
    names: String,
    /// For each line without a row: the index of the next row, and the number of such lines so far.
    skipped: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct FileRow {
    start: u64,
    /// The offset of the id in `names`; for a row without an id, the hash of its content.
    id: u64,
    length: u32,
    /// Length of the id in bytes, or [`BY_CONTENT`] or [`BY_LINE`].
    id_length: u32,
}

/// A row without an id: its id is computed from its content.
const BY_CONTENT: u32 = u32::MAX;
/// A row that is not an object: its id is its line.
const BY_LINE: u32 = u32::MAX - 1;

impl FileRows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row's id. If the row has none, it is computed from the prompt, so that it is the same after rows were added or
    /// removed.
    pub fn id(&self, at: usize) -> Cow<'_, str> {
        let row = self.rows[at];
        match row.id_length {
            BY_CONTENT => content_id(row.id).into(),
            BY_LINE => format!("line-{}", self.line(at)).into(),
            length => Cow::Borrowed(&self.names[row.id as usize..][..length as usize]),
        }
    }

    /// The byte range of a row's text.
    pub fn range(&self, at: usize) -> Range<u64> {
        let row = self.rows[at];
        row.start..row.start + u64::from(row.length)
    }

    /// The line number of a row, from 1.
    pub fn line(&self, at: usize) -> usize {
        let before = self.skipped.partition_point(|(row, _)| *row as usize <= at);
        let skipped = before.checked_sub(1).map_or(0, |last| self.skipped[last].1);
        at + 1 + skipped as usize
    }
}

/// An id of 48 bits, without characters that a shell interprets.
fn content_id(hash: u64) -> String {
    // `format!` takes four times as long, and a file may have millions of rows.
    let digit = |at: u32| char::from_digit((hash >> (4 * at)) as u32 & 15, 16).unwrap_or('0');
    "row-".chars().chain((0..12).rev().map(digit)).collect()
}

/// The id of a row, computed from its prompt.
fn id_from(asked: &str) -> String {
    content_id(hash(asked.as_bytes()))
}

fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes) & 0xffff_ffff_ffff
}

/// Finds the rows of a file that is read in chunks of any size.
#[derive(Debug, Default)]
pub struct LineIndexer {
    lines: FileRows,
    columns: ColumnMap,
    /// The beginning of a line whose end has not been read.
    carry: Vec<u8>,
    /// The offset of the next line.
    at: u64,
    passed: u32,
}

impl LineIndexer {
    /// An indexer of a file whose columns are mapped.
    pub fn new(columns: ColumnMap) -> LineIndexer {
        LineIndexer {
            columns,
            ..LineIndexer::default()
        }
    }

    /// Adds the next chunk.
    pub fn push(&mut self, mut chunk: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end + 1);
            chunk = rest;
            if self.carry.is_empty() {
                self.line(line);
            } else {
                self.carry.extend_from_slice(line);
                let whole = std::mem::take(&mut self.carry);
                self.line(&whole);
            }
        }
        self.carry.extend_from_slice(chunk);
    }

    /// Returns the rows after the last chunk.
    pub fn finish(mut self) -> FileRows {
        let last = std::mem::take(&mut self.carry);
        if !last.is_empty() {
            self.line(&last);
        }
        self.lines
    }

    fn line(&mut self, line: &[u8]) {
        let start = self.at;
        self.at += line.len() as u64;
        let bom = if start == 0 && line.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        let body = &line[bom..];
        let space = |byte: &u8| byte.is_ascii_whitespace();
        let lead = body.iter().take_while(|byte| space(byte)).count();
        if lead == body.len() {
            self.passed += 1;
            self.lines
                .skipped
                .push((self.lines.rows.len() as u32, self.passed));
            return;
        }
        let tail = body.iter().rev().take_while(|byte| space(byte)).count();
        let body = &body[lead..body.len() - tail];
        let (id, id_length) = self.id(body);
        let start = start + (bom + lead) as u64;
        self.lines.rows.push(FileRow {
            start,
            id,
            length: body.len().min(u32::MAX as usize) as u32,
            id_length,
        });
    }

    fn id(&mut self, line: &[u8]) -> (u64, u32) {
        let Ok(text) = std::str::from_utf8(line) else {
            return (0, BY_LINE);
        };
        let mapped = ["id", "prompt"].map(|known| self.columns.source_of(known));
        let mapped = [mapped[0].as_slice(), mapped[1].as_slice()];
        let keys = [
            mapped[0],
            mapped[1],
            ID_KEYS,
            ASKED_KEYS,
            AGENT_DATA_KEYS,
            OTHER_ASKED_KEYS,
        ];
        let Ok([own_id, own_prompt, given, asked, agent_data, other]) =
            index::pick(text, 0..text.len(), keys)
        else {
            return (0, BY_LINE);
        };
        let given = own_id.or(given);
        let asked = own_prompt.or(asked).or(agent_data).or(other);
        match given.and_then(|range| given_id(&text[range])) {
            Some(name) if name.len() < BY_LINE as usize => {
                let at = self.lines.names.len() as u64;
                self.lines.names.push_str(&name);
                (at, name.len() as u32)
            }
            _ => (
                hash(asked.map_or(text, |range| &text[range]).as_bytes()),
                BY_CONTENT,
            ),
        }
    }
}

/// A row's id, or one computed from its prompt if it has none.
pub(super) fn row_id(row: &Value, columns: &ColumnMap) -> String {
    let own = |known| columns.source_of(known).into_iter();
    let given = own("id")
        .chain(ID_KEYS.iter().copied())
        .find_map(|key| match row.get(key)? {
            Value::String(text) if !super::calls::is_nothing(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
    given.unwrap_or_else(|| {
        let asked = ["prompt", "messages", "request", "agent_data", "source"];
        let asked = own("prompt")
            .chain(asked)
            .chain(OTHER_ASKED_KEYS.iter().copied());
        id_from(
            &asked
                .filter_map(|key| row.get(key))
                .next()
                .unwrap_or(row)
                .to_string(),
        )
    })
}

/// An id in a file: a string or a number.
fn given_id(raw: &str) -> Option<String> {
    match crate::formats::json::parse(raw).ok()?.value {
        Value::String(text) if !text.is_empty() => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "\u{feff}{\"id\": \"a\", \"prompt\": \"x\"}\n\n  {\"prompt\": \"y\"}\r\n[1]\n{\"id\": 7}";

    fn indexed(chunk: usize) -> FileRows {
        let mut indexer = LineIndexer::default();
        TEXT.as_bytes()
            .chunks(chunk)
            .for_each(|chunk| indexer.push(chunk));
        indexer.finish()
    }

    #[test]
    fn rows_have_ids_and_places_whatever_the_chunks() {
        for chunk in [1, 2, 7, 1000] {
            let lines = indexed(chunk);
            let texts: Vec<&str> = (0..lines.len())
                .map(|at| &TEXT[lines.range(at).start as usize..lines.range(at).end as usize])
                .collect();
            assert_eq!(
                texts,
                [
                    "{\"id\": \"a\", \"prompt\": \"x\"}",
                    "{\"prompt\": \"y\"}",
                    "[1]",
                    "{\"id\": 7}"
                ]
            );
            let ids: Vec<_> = (0..lines.len()).map(|at| lines.id(at)).collect();
            assert_eq!(ids, ["a", &id_from("\"y\""), "line-4", "7"]);
            assert_eq!(
                (0..4).map(|at| lines.line(at)).collect::<Vec<_>>(),
                [1, 3, 4, 5]
            );
        }
    }

    #[test]
    fn content_id_is_independent_of_response() {
        let id = |line: &str| {
            let mut indexer = LineIndexer::default();
            indexer.push(line.as_bytes());
            indexer.finish().id(0).into_owned()
        };
        assert_eq!(
            id("{\"prompt\": \"x\", \"response\": \"1\"}"),
            id("{\"response\": \"2\", \"prompt\": \"x\"}")
        );
        assert_ne!(id("{\"prompt\": \"x\"}"), id("{\"prompt\": \"y\"}"));
    }
}
