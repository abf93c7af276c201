//! One line of a journal: its signature, and its attempt or a cost.

use super::journal_block::{RecordBlock, is_block};
use super::run_key::{RunKey, SIGNATURE_LENGTH};
use evaltrail_core::domain::{Attempt, AttemptKey, JudgeUsage};
use serde::{Deserialize, Serialize};
use std::io;

/// The name of the journal in the folder of a run.
pub(super) const JOURNAL: &str = "journal.jsonl";
/// The maximum length of a line in a signed run, in bytes. A longer line counts as damaged.
pub(super) const MAX_SIGNED_LINE: usize = 256 << 20;
/// The maximum length of a line in a foreign run, in bytes. It is lower because a crafted line can take a multiple of
/// its length in memory.
pub(super) const MAX_FOREIGN_LINE: usize = 2 << 20;
/// The maximum length of the other parts of a line: the signature and the line feed.
pub(super) const MAX_OUTER_BYTES: usize = 256;
/// The last line of the journal of a complete run.
pub(super) const END: &[u8] = b"{\"ended\":true}";
/// The beginning of that line with its signature.
pub(super) const SIGNED_END: &[u8] = b"{\"ended\":true,\"signature\":\"";

/// The beginning of the line of an attempt: its key is the first member.
const KEY_NAME: &[u8] = b"{\"key\":";
const SIGNATURE_NAME: &[u8] = b",\"signature\":\"";
const SIGNATURE_END: &[u8] = b"\"}";

/// The beginning of a [`SpentOnCancelledLine`].
const SPENT_NAME: &[u8] = b"{\"spent_on_cancelled\":";

/// A line with what judges spent on attempts that were cancelled.
#[derive(Serialize, Deserialize)]
pub(super) struct SpentOnCancelledLine {
    pub(super) spent_on_cancelled: JudgeUsage,
}

impl SpentOnCancelledLine {
    /// What such a line contains; `None` if it is another line.
    pub(super) fn read(line: &[u8]) -> Option<JudgeUsage> {
        let is_spent = line.starts_with(SPENT_NAME);
        is_spent
            .then(|| serde_json::from_slice(line).ok())
            .flatten()
            .map(|line: SpentOnCancelledLine| line.spent_on_cancelled)
    }
}

/// Adds the signature as the last member of the object.
pub(super) fn sign_line(line: &mut Vec<u8>, key: &RunKey, run_id: &str) {
    let signature = key.signature(&[run_id.as_bytes(), line]);
    line.pop();
    line.extend([SIGNATURE_NAME, signature.as_bytes(), SIGNATURE_END].concat());
}

/// Returns a line without its signature; `None` if the signature is not valid for this key and run.
pub(super) fn verified(line: &[u8], key: &RunKey, run_id: &str) -> Option<Vec<u8>> {
    let without_end = line.strip_suffix(SIGNATURE_END)?;
    let (before, signature) =
        without_end.split_at_checked(without_end.len().checked_sub(SIGNATURE_LENGTH)?)?;
    let mut signed = before.strip_suffix(SIGNATURE_NAME)?.to_vec();
    signed.push(b'}');
    key.has_signed(
        &[run_id.as_bytes(), &signed],
        std::str::from_utf8(signature).ok()?,
    )
    .then_some(signed)
}

/// The line of an attempt, without a signature, with another key. Errors: it is not the line of an attempt.
pub(super) fn with_key(line: &[u8], key: AttemptKey) -> io::Result<Vec<u8>> {
    // Writing a key and a comma in front of the rest is much faster than parsing and writing the attempt.
    let rest = line.strip_prefix(KEY_NAME).and_then(|rest| {
        let end = memchr::memchr(b'}', rest)?;
        let (written, rest) = rest.split_at(end + 1);
        serde_json::from_slice::<AttemptKey>(written).ok()?;
        Some(rest)
    });
    let Some(rest) = rest else {
        let attempt = read_attempt(line).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "a line of the journal was changed",
            )
        })?;
        return Ok(serde_json::to_vec(&Attempt { key, ..attempt })?);
    };
    Ok([KEY_NAME, &serde_json::to_vec(&key)?, rest].concat())
}

/// The keys of the attempts in a line, which evaltrail wrote: of one, of those of a block, or of none.
pub(super) fn keys_of_line(line: &[u8]) -> Vec<AttemptKey> {
    #[derive(Deserialize)]
    struct Keyed {
        key: AttemptKey,
    }
    let key = |record: &[u8]| Some(serde_json::from_slice::<Keyed>(record).ok()?.key);
    match is_block(line) {
        false => key(line).into_iter().collect(),
        true => RecordBlock::read(line)
            .map(|block| block.records().filter_map(key).collect())
            .unwrap_or_default(),
    }
}

pub(super) fn read_attempt(line: &[u8]) -> Option<Attempt> {
    if let Ok(attempt) = serde_json::from_slice(line) {
        return Some(attempt);
    }
    // serde_json has a lower limit for the depth of nested arguments than evaltrail's reader of eval sets.
    let parsed = evaltrail_core::formats::json::parse(std::str::from_utf8(line).ok()?).ok()?;
    serde_json::from_value(parsed.value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_lines_and_blocks_are_read() {
        let key = |case| AttemptKey { case, attempt: 1 };
        let record = |case| serde_json::to_vec(&Attempt::blank(key(case), "a")).unwrap();
        assert_eq!(keys_of_line(&record(7)), [key(7)]);
        let records: Vec<Vec<u8>> = (0..20).map(record).collect();
        let block = crate::store::journal_block::block_line(&records).unwrap();
        let keys: Vec<AttemptKey> = (0..20).map(key).collect();
        assert_eq!(keys_of_line(&block), keys);
        assert_eq!(keys_of_line(END), []);
    }

    #[test]
    fn only_the_key_of_a_line_is_replaced() {
        let key = |case, attempt| AttemptKey { case, attempt };
        let attempt = Attempt::blank(key(3, 1), "an id with } and \"key\":");
        let line = serde_json::to_vec(&attempt).unwrap();
        let moved = Attempt {
            key: key(12, 2),
            ..attempt
        };
        assert_eq!(
            with_key(&line, key(12, 2)).unwrap(),
            serde_json::to_vec(&moved).unwrap()
        );
        // A line of another writer, whose members are in another order.
        let mut other: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let first = other.as_object_mut().unwrap().shift_remove("key").unwrap();
        other["key"] = first;
        let moved_other = with_key(&serde_json::to_vec(&other).unwrap(), key(12, 2)).unwrap();
        assert_eq!(read_attempt(&moved_other), Some(moved));
        assert!(with_key(b"{}", key(1, 1)).is_err());
    }
}
