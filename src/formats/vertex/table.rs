//! CSV: a header with the names of the columns, and a record for each case.

use super::COLUMNS;
use super::frame::row_id;
use super::row::is_empty_cell;
use csv::{Reader, ReaderBuilder, StringRecord};
use serde_json::{Map, Value};
use std::ops::Range;

/// The columns and records of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    records: Vec<Record>,
    separator: u8,
}

#[derive(Clone, Debug, PartialEq)]
struct Record {
    range: Range<usize>,
    line: usize,
    id: String,
    /// Why the record is invalid, if it is.
    wrong: Option<String>,
}

impl Table {
    /// The table in a text; `None` if it is not a data set.
    pub(in crate::formats) fn of(text: &str) -> Option<Table> {
        let head = text.trim_start_matches('\u{FEFF}').lines().next()?;
        let separator = if head.contains('\t') && !head.contains(',') { b'\t' } else { b',' };
        let skip = text.len() - text.trim_start_matches('\u{FEFF}').len();
        let mut reader = reader(&text[skip..], separator);
        let mut record = StringRecord::new();
        reader.read_record(&mut record).ok()?;
        let columns: Vec<String> = record.iter().map(|name| name.trim().to_string()).collect();
        columns.iter().any(|name| COLUMNS.contains(&name.as_str())).then_some(())?;
        let mut table = Table { columns, records: Vec::new(), separator };
        table.read(&mut reader, text, skip);
        Some(table)
    }

    fn read(&mut self, reader: &mut Reader<&[u8]>, text: &str, skip: usize) {
        let mut record = StringRecord::new();
        loop {
            let start = reader.position().byte() as usize + skip;
            let line = reader.position().line() as usize;
            match reader.read_record(&mut record) {
                Ok(false) => return,
                Ok(true) => {
                    let end = (reader.position().byte() as usize + skip).min(text.len());
                    // Blank lines before a record are not part of it.
                    let blank =
                        text[start..end].len() - text[start..end].trim_start_matches(['\n', '\r']).len();
                    let wrong = (record.len() != self.columns.len()).then(|| {
                        format!("{} cells, but the header has {}", record.len(), self.columns.len())
                    });
                    let id = row_id(&self.row_of(&record));
                    let lines = text[start..start + blank].bytes().filter(|byte| *byte == b'\n').count();
                    self.records.push(Record { range: start + blank..end, line: line + lines, id, wrong });
                }
                Err(error) => {
                    let end = (reader.position().byte() as usize + skip).min(text.len());
                    let id = format!("line-{line}");
                    self.records.push(Record { range: start..end, line, id, wrong: Some(error.to_string()) });
                }
            }
        }
    }

    fn row_of(&self, record: &StringRecord) -> Value {
        let cell = |(name, text): (&String, &str)| (name.clone(), typed(text));
        Value::Object(self.columns.iter().zip(record).map(cell).collect::<Map<_, _>>())
    }

    pub(in crate::formats) fn len(&self) -> usize {
        self.records.len()
    }

    pub(in crate::formats) fn id(&self, at: usize) -> &str {
        &self.records[at].id
    }

    pub(in crate::formats) fn line(&self, at: usize) -> usize {
        self.records[at].line
    }

    /// A record as a row. The error says why the record is invalid.
    pub(in crate::formats) fn row(&self, text: &str, at: usize) -> Result<Value, String> {
        let record = &self.records[at];
        if let Some(wrong) = &record.wrong {
            return Err(wrong.clone());
        }
        let mut cells = StringRecord::new();
        let read = reader(&text[record.range.clone()], self.separator).read_record(&mut cells);
        read.map_err(|error| error.to_string())?;
        Ok(self.row_of(&cells))
    }
}

fn reader(text: &str, separator: u8) -> Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(text.as_bytes())
}

/// A cell: null or its text. The type depends on the column, so it is not determined here.
fn typed(text: &str) -> Value {
    if is_empty_cell(text) { Value::Null } else { Value::String(text.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_keep_their_lines_and_quotes() {
        let text = "\u{feff}prompt,reference_trajectory\r\n\"a, \"\"b\"\"\nc\",\"[{'tool_name': 'f'}]\"\r\n\r\nlast,\n";
        let table = Table::of(text).unwrap();
        assert_eq!(table.len(), 2);
        assert_eq!(table.row(text, 0).unwrap()["prompt"], "a, \"b\"\nc");
        assert_eq!(table.row(text, 0).unwrap()["reference_trajectory"], "[{'tool_name': 'f'}]");
        assert_eq!(table.row(text, 1).unwrap()["reference_trajectory"], Value::Null);
        assert_eq!((table.line(0), table.line(1)), (2, 5));
    }

    #[test]
    fn a_record_of_another_width_is_wrong_and_the_rest_is_read() {
        let text = "prompt,response\na,b,c\nd,e\n";
        let table = Table::of(text).unwrap();
        assert_eq!(table.row(text, 0).unwrap_err(), "3 cells, but the header has 2");
        assert_eq!(table.row(text, 1).unwrap()["response"], "e");
        assert!(Table::of("a,b\n1,2\n").is_none());
    }
}
