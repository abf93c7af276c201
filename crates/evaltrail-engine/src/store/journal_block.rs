//! Blocks: lines of a journal that have the records of many attempts, compressed and with one signature.
//!
//! ```text
//! {"block":128,"size":214016,"lz4":"…","signature":"…"}
//! ```
//!
//! `block` is the number of records, `size` their length in bytes with a line feed after each, and `lz4` those bytes as a block
//! of LZ4 in Base64. The journal stays a text with one JSON object in each line. Versions before
//! [`RUN_FORMAT`](super::RUN_FORMAT) 4 cannot read blocks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use evaltrail_core::domain::RecordedAt;
use rayon::prelude::*;
use serde::Deserialize;
use std::ops::Range;

/// The beginning of a line with a block.
const BLOCK_NAME: &[u8] = b"{\"block\":";
/// Fewer records are written in lines of their own.
const MIN_RECORDS: usize = 16;
/// A longer record is written in a line of its own, in bytes.
const MAX_RECORD: usize = 64 << 10;
/// No record is added to a block that has at least this size, in bytes before compression.
const FULL_BLOCK: usize = 256 << 10;
/// The maximum size of a block that is read, in bytes before compression.
const MAX_BLOCK: usize = 1 << 20;
/// The maximum length of the line of a block, in bytes.
pub(super) const MAX_BLOCK_LINE: usize = 2 << 20;
/// The maximum ratio of the size of a block to its compressed size. Records that LZ4 compresses better are written in lines of
/// their own, so that a short line cannot make a reader use much memory.
const MAX_RATIO: usize = 100;

/// A line of a journal without its signature.
pub(super) struct UnsignedLine {
    /// The JSON object.
    pub(super) text: Vec<u8>,
    /// The lengths of its records, in bytes: one unless it is a block.
    pub(super) lengths: Vec<usize>,
}

/// The lines for records, in the same order: blocks, and lines of their own for records that are few, long or compressed too well.
pub(super) fn lines_of(records: &[Vec<u8>]) -> Vec<UnsignedLine> {
    let lengths: Vec<usize> = records.iter().map(Vec::len).collect();
    let single = |record: &Vec<u8>| UnsignedLine {
        text: record.clone(),
        lengths: vec![record.len()],
    };
    let lines = |group: Range<usize>| {
        let (records, lengths) = (&records[group.clone()], &lengths[group]);
        let block = match records.len() {
            1 => None,
            _ => block_line(records),
        };
        match block {
            Some(text) => vec![UnsignedLine {
                text,
                lengths: lengths.to_vec(),
            }],
            None => records.iter().map(single).collect(),
        }
    };
    groups(&lengths)
        .into_par_iter()
        .flat_map_iter(lines)
        .collect()
}

/// Divides records, by their lengths, into groups for one block each and groups of one.
fn groups(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut size = 0;
    for (at, length) in lengths.iter().enumerate() {
        let begins = groups.is_empty() || size >= FULL_BLOCK || *length > MAX_RECORD;
        match groups.last_mut() {
            Some(last) if !begins => last.end = at + 1,
            _ => {
                groups.push(at..at + 1);
                size = 0;
            }
        }
        // Nothing is added to a long record.
        size += if *length > MAX_RECORD {
            FULL_BLOCK
        } else {
            *length
        };
    }
    let divided = groups.into_iter().flat_map(|group| match group.len() {
        ..MIN_RECORDS => group.map(|at| at..at + 1).collect(),
        _ => vec![group],
    });
    divided.collect()
}

/// The line of a block, without a signature and a line feed. `None` if the records are compressed too well to be read again.
pub(super) fn block_line(records: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(records.iter().map(|record| record.len() + 1).sum());
    for record in records {
        text.extend_from_slice(record);
        text.push(b'\n');
    }
    let packed = lz4_flex::block::compress(&text);
    let (count, size) = (records.len(), text.len());
    let line = || {
        let packed = STANDARD.encode(&packed);
        format!("{{\"block\":{count},\"size\":{size},\"lz4\":\"{packed}\"}}").into_bytes()
    };
    (size / packed.len() < MAX_RATIO).then(line)
}

/// Whether a line is a block.
pub(super) fn is_block(line: &[u8]) -> bool {
    line.starts_with(BLOCK_NAME)
}

/// The number of records of a line, as it claims without proof; 1 for a line that is not a block.
pub(super) fn claimed_records(line: &[u8]) -> usize {
    let claimed = line.strip_prefix(BLOCK_NAME).map(|rest| {
        // Another writer may add spaces.
        let rest = rest.trim_ascii_start();
        let digits = rest.iter().take(5).take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
    });
    claimed.map_or(1, |claimed| claimed.clamp(1, RecordPosition::MAX_RECORDS))
}

/// The records of a block.
pub(super) struct RecordBlock {
    text: Vec<u8>,
    records: Vec<Range<usize>>,
}

#[derive(Deserialize)]
struct BlockLine<'a> {
    block: usize,
    size: usize,
    lz4: &'a str,
}

impl RecordBlock {
    /// Reads the line of a block, whose signature was removed. `None` if it is not what [`block_line`] writes.
    pub(super) fn read(line: &[u8]) -> Option<RecordBlock> {
        let line: BlockLine<'_> = serde_json::from_slice(line).ok()?;
        let packed = STANDARD.decode(line.lz4).ok()?;
        let is_plausible = line.size <= MAX_BLOCK
            && line.block <= RecordPosition::MAX_RECORDS
            && line.size / MAX_RATIO <= packed.len();
        if !is_plausible {
            return None;
        }
        let text = lz4_flex::block::decompress(&packed, line.size).ok()?;
        let mut from = 0;
        let ends = memchr::memchr_iter(b'\n', &text);
        let records: Vec<Range<usize>> = ends
            .map(|end| std::mem::replace(&mut from, end + 1)..end)
            .collect();
        let is_whole = text.len() == line.size && from == line.size && records.len() == line.block;
        is_whole.then_some(RecordBlock { text, records })
    }

    /// The number of records.
    pub(super) fn count(&self) -> usize {
        self.records.len()
    }

    /// A record, by its position.
    pub(super) fn record(&self, index: usize) -> Option<&[u8]> {
        Some(&self.text[self.records.get(index)?.clone()])
    }

    /// All records.
    pub(super) fn records(&self) -> impl Iterator<Item = &[u8]> {
        self.records.iter().map(|record| &self.text[record.clone()])
    }
}

/// Where the record of an attempt is: in a line of its own, or in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordPosition {
    /// The offset of the line in the journal, in bytes.
    pub(super) line: u64,
    /// The position of the record in its block.
    pub(super) in_block: Option<usize>,
}

impl RecordPosition {
    /// The offset of [`RecordedAt`] has the line in its lower bits, and the position in the block plus one in its upper bits.
    const LINE_BITS: u32 = 48;
    /// The maximum number of records in a block.
    const MAX_RECORDS: usize = (1 << (64 - RecordPosition::LINE_BITS)) - 2;

    /// The position as attempts keep it. `length` is that of the record, in bytes.
    pub(super) fn recorded_at(self, length: usize) -> RecordedAt {
        let position = self.in_block.map_or(0, |at| at as u64 + 1);
        RecordedAt {
            offset: self.line | (position << RecordPosition::LINE_BITS),
            length: length as u64,
        }
    }

    /// The position that an attempt keeps.
    pub(super) fn new(at: RecordedAt) -> RecordPosition {
        let position = at.offset >> RecordPosition::LINE_BITS;
        RecordPosition {
            line: at.offset & ((1 << RecordPosition::LINE_BITS) - 1),
            in_block: (position as usize).checked_sub(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn changed_block_is_read_or_refused(at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let mut line = block_line(&records(50)).unwrap();
            let at = at.index(line.len());
            line[at] = to;
            let claimed = claimed_records(&line);
            prop_assert!((1..=RecordPosition::MAX_RECORDS).contains(&claimed));
            if let Some(block) = RecordBlock::read(&line) {
                prop_assert_eq!(block.records().count(), block.count());
            }
        }
    }

    fn records(count: usize) -> Vec<Vec<u8>> {
        let record = |at| format!("{{\"key\":{at},\"text\":\"{}\"}}", "word ".repeat(at % 7));
        (0..count).map(|at| record(at).into_bytes()).collect()
    }

    #[test]
    fn block_has_the_records_it_was_made_of() {
        let records = records(100);
        let line = block_line(&records).unwrap();
        assert!(is_block(&line) && claimed_records(&line) == 100);
        let block = RecordBlock::read(&line).unwrap();
        assert!(block.records().eq(records.iter().map(Vec::as_slice)));
        assert_eq!(block.record(99), Some(records[99].as_slice()));
        assert_eq!(block.record(100), None);
    }

    #[test]
    fn block_with_false_claims_is_not_read() {
        let line = String::from_utf8(block_line(&records(20)).unwrap()).unwrap();
        let read = |line: &str| RecordBlock::read(line.as_bytes()).is_some();
        assert!(read(&line));
        let size = line.split("\"size\":").nth(1).unwrap();
        let size = size.split(',').next().unwrap().to_string();
        for (from, to) in [
            ("\"block\":20", "\"block\":21".to_string()),
            ("\"block\":20", "\"block\":99999999999999999999".to_string()),
            (
                size.as_str(),
                (size.parse::<usize>().unwrap() + 1).to_string(),
            ),
            (size.as_str(), "18446744073709551615".to_string()),
            ("\"lz4\":\"", "\"lz4\":\"AAAA".to_string()),
        ] {
            assert!(!read(&line.replacen(from, &to, 1)), "{from} {to}");
        }
        let spaced = line.replace(':', ": ");
        assert!(read(&spaced) && claimed_records(spaced.as_bytes()) == 20);
        // Zeros are compressed to the two hundredth part.
        let zeros = [b"0".repeat(1 << 19)];
        assert_eq!(block_line(&zeros), None);
        let alike = vec![b"0".repeat(10_000); 20];
        let lines = lines_of(&alike);
        assert!(lines.iter().all(|line| line.lengths == [10_000]) && lines.len() == 20);
        let packed = STANDARD.encode(lz4_flex::block::compress(&[&zeros[0][..], b"\n"].concat()));
        let size = zeros[0].len() + 1;
        assert!(!read(&format!(
            "{{\"block\":1,\"size\":{size},\"lz4\":\"{packed}\"}}"
        )));
        assert_eq!(claimed_records(b"{\"block\":99999999999999999999,"), 65_534);
        assert_eq!(claimed_records(b"{\"key\":"), 1);
    }

    #[test]
    fn few_or_long_records_are_not_packed() {
        let counts = |lengths: &[usize]| -> Vec<usize> {
            let groups = groups(lengths);
            let all: Vec<usize> = groups.iter().cloned().flatten().collect();
            assert!(all.into_iter().eq(0..lengths.len()));
            groups.iter().map(ExactSizeIterator::len).collect()
        };
        assert_eq!(counts(&[]), [0; 0]);
        assert_eq!(counts(&[10; 15]), [1; 15]);
        assert_eq!(counts(&[10; 16]), [16]);
        let with_long = [vec![10; 20], vec![MAX_RECORD + 1], vec![10; 20]].concat();
        assert_eq!(counts(&with_long), [20, 1, 20]);
        assert_eq!(counts(&[FULL_BLOCK / 32; 80]), [32, 32, 16]);
    }

    #[test]
    fn position_in_a_block_is_kept() {
        for in_block in [None, Some(0), Some(65_533)] {
            let position = RecordPosition {
                line: (1 << 48) - 1,
                in_block,
            };
            assert_eq!(RecordPosition::new(position.recorded_at(7)), position);
            assert_eq!(position.recorded_at(7).length, 7);
        }
    }
}
