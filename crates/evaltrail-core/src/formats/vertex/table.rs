//! CSV: a header with the names of the columns, and a record for each case.

use super::calls::is_nothing as is_empty_cell;
use super::columns::ColumnMap;
use super::layout::is_known_name;
use super::lines::row_id;
use csv::{Reader, ReaderBuilder, StringRecord};
use csv_core::ReadRecordResult;
use serde_json::{Map, Value};
use std::cell::RefCell;
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
    pub(in crate::formats) fn parse(text: &str, columns: &ColumnMap) -> Option<Table> {
        let (separator, names) = header(text)?;
        names
            .iter()
            .any(|name| is_known_name(name, columns))
            .then_some(())?;
        let skip = text.len() - text.trim_start_matches('\u{FEFF}').len();
        let mut reader = reader(&text[skip..], separator);
        reader.read_record(&mut StringRecord::new()).ok()?;
        let mut table = Table {
            columns: names,
            records: Vec::new(),
            separator,
        };
        table.read(&mut reader, text, skip, columns);
        Some(table)
    }

    fn read(&mut self, reader: &mut Reader<&[u8]>, text: &str, skip: usize, columns: &ColumnMap) {
        let mut record = StringRecord::new();
        loop {
            let start = reader.position().byte() as usize + skip;
            let line = reader.position().line() as usize;
            match reader.read_record(&mut record) {
                Ok(false) => return,
                Ok(true) => {
                    let end = (reader.position().byte() as usize + skip).min(text.len());
                    // Blank lines before a record are not part of it.
                    let blank = text[start..end].len()
                        - text[start..end].trim_start_matches(['\n', '\r']).len();
                    let wrong = (record.len() != self.columns.len()).then(|| {
                        format!(
                            "{} cells, but the header has {}",
                            record.len(),
                            self.columns.len()
                        )
                    });
                    let id = row_id(&self.row_of(record.iter()), columns);
                    let lines = text[start..start + blank]
                        .bytes()
                        .filter(|byte| *byte == b'\n')
                        .count();
                    self.records.push(Record {
                        range: start + blank..end,
                        line: line + lines,
                        id,
                        wrong,
                    });
                }
                Err(error) => {
                    let end = (reader.position().byte() as usize + skip).min(text.len());
                    let id = format!("line-{line}");
                    self.records.push(Record {
                        range: start..end,
                        line,
                        id,
                        wrong: Some(error.to_string()),
                    });
                }
            }
        }
    }

    fn row_of<'a>(&self, cells: impl Iterator<Item = &'a str>) -> Value {
        let cell = |(name, text): (&String, &str)| (name.clone(), typed(text));
        Value::Object(
            self.columns
                .iter()
                .zip(cells)
                .map(cell)
                .collect::<Map<_, _>>(),
        )
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
        Ok(self.row_of(cells_of(&text[record.range.clone()], self.separator)?.iter()))
    }
}

/// The separators of cells.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The separator of a table and the names of its columns: the separator that gives most columns, and a comma if there is
/// only one column.
pub(in crate::formats) fn header(text: &str) -> Option<(u8, Vec<String>)> {
    let head = text.trim_start_matches('\u{FEFF}');
    let names = |separator: u8| {
        let mut record = StringRecord::new();
        reader(head, separator)
            .read_record(&mut record)
            .ok()?
            .then_some(())?;
        Some((
            separator,
            record
                .iter()
                .map(|name| name.trim().to_string())
                .collect::<Vec<_>>(),
        ))
    };
    let found = SEPARATORS.into_iter().filter_map(names);
    found.reduce(|best, other| {
        if other.1.len() > best.1.len() {
            other
        } else {
            best
        }
    })
}

/// The number of cells of the first record.
pub(in crate::formats) fn width_of_record(text: &str, separator: u8) -> Option<usize> {
    let mut record = StringRecord::new();
    reader(text, separator)
        .read_record(&mut record)
        .ok()?
        .then(|| record.len())
}

/// The cells of one record.
struct RecordCells {
    /// The texts of all cells, one after the other.
    text: String,
    /// The end of each cell in the text.
    ends: Vec<usize>,
}

impl RecordCells {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.text[start..*end])
    }
}

thread_local! {
    /// Readers of records with each separator. Building one takes 200 times as long as reading a record, and a clone
    /// of one does not work.
    static READERS: RefCell<[csv_core::Reader; 4]> = RefCell::new(SEPARATORS.map(|separator| {
        csv_core::ReaderBuilder::new().delimiter(separator).build()
    }));
}

/// Splits the text of a record into its cells.
fn cells_of(text: &str, separator: u8) -> Result<RecordCells, String> {
    READERS.with_borrow_mut(|readers| {
        let at = SEPARATORS
            .iter()
            .position(|one| *one == separator)
            .unwrap_or(0);
        let reader = &mut readers[at];
        reader.reset();
        read_cells(reader, text)
    })
}

fn read_cells(reader: &mut csv_core::Reader, text: &str) -> Result<RecordCells, String> {
    let mut input = text.as_bytes();
    // A cell is never longer than its text in the record.
    let mut output = vec![0; text.len() + 1];
    let mut ends = vec![0; 16];
    let (mut written, mut ended) = (0, 0);
    loop {
        let (result, read, out, found) =
            reader.read_record(input, &mut output[written..], &mut ends[ended..]);
        input = &input[read..];
        (written, ended) = (written + out, ended + found);
        match result {
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::OutputFull => output.resize(output.len() * 2, 0),
            ReadRecordResult::OutputEndsFull => ends.resize(ends.len() * 2, 0),
            ReadRecordResult::Record | ReadRecordResult::End => break,
        }
    }
    output.truncate(written);
    ends.truncate(ended);
    Ok(RecordCells {
        text: String::from_utf8(output).map_err(|error| error.to_string())?,
        ends,
    })
}

fn reader(text: &str, separator: u8) -> Reader<&[u8]> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(text.as_bytes())
}

/// A cell: null or its text. The type depends on the column, so it is not determined here.
fn typed(text: &str) -> Value {
    if is_empty_cell(text) {
        Value::Null
    } else {
        Value::String(text.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_keep_their_lines_and_quotes() {
        let text = "\u{feff}prompt,reference_trajectory\r\n\"a, \"\"b\"\"\nc\",\"[{'tool_name': 'f'}]\"\r\n\r\nlast,\n";
        let table = Table::parse(text, &ColumnMap::default()).unwrap();
        assert_eq!(table.len(), 2);
        assert_eq!(table.row(text, 0).unwrap()["prompt"], "a, \"b\"\nc");
        assert_eq!(
            table.row(text, 0).unwrap()["reference_trajectory"],
            "[{'tool_name': 'f'}]"
        );
        assert_eq!(
            table.row(text, 1).unwrap()["reference_trajectory"],
            Value::Null
        );
        assert_eq!((table.line(0), table.line(1)), (2, 5));
    }

    proptest::proptest! {
        /// Records are read one by one as they are read in sequence.
        #[test]
        fn row_read_by_index_equals_written_cells(
            rows in proptest::collection::vec(proptest::collection::vec("[a-z,;\"\n\r\té ]{0,12}", 3), 1..5),
            separator in proptest::sample::select(&SEPARATORS[..]),
        ) {
            let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(Vec::new());
            writer.write_record(["prompt", "response", "reference"]).unwrap();
            rows.iter().for_each(|row| writer.write_record(row).unwrap());
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let table = Table::parse(&text, &ColumnMap::default()).unwrap();
            proptest::prop_assert_eq!(table.len(), rows.len());
            for (at, row) in rows.iter().enumerate() {
                let read = table.row(&text, at).unwrap();
                for (name, cell) in ["prompt", "response", "reference"].into_iter().zip(row) {
                    proptest::prop_assert_eq!(&read[name], &typed(cell));
                }
            }
        }
    }

    #[test]
    fn the_separator_is_that_of_the_header() {
        for separator in [",", ";", "\t", "|"] {
            let text = format!(
                "prompt{separator}response{separator}reference\nq{separator}\"a, b; c\"{separator}d\n"
            );
            let table = Table::parse(&text, &ColumnMap::default()).unwrap();
            let row = table.row(&text, 0).unwrap();
            assert_eq!(
                (&row["response"], &row["reference"]),
                (&"a, b; c".into(), &"d".into()),
                "{separator:?}"
            );
        }
        let one = "prompt\nhow; so\n";
        let table = Table::parse(one, &ColumnMap::default()).unwrap();
        assert_eq!(table.row(one, 0).unwrap()["prompt"], "how; so");
    }

    #[test]
    fn record_of_wrong_width_costs_only_itself() {
        let text = "prompt,response\na,b,c\nd,e\n";
        let table = Table::parse(text, &ColumnMap::default()).unwrap();
        assert_eq!(
            table.row(text, 0).unwrap_err(),
            "3 cells, but the header has 2"
        );
        assert_eq!(table.row(text, 1).unwrap()["response"], "e");
        assert!(Table::parse("a,b\n1,2\n", &ColumnMap::default()).is_none());
    }
}
