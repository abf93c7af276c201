//! The attempts of a run that ended, in little memory. A run may have millions, and the summary of one takes about
//! 700 bytes. Most of it is equal for all: compressed in blocks, it takes about 50.

use super::ended::{FullAttempt, Summary};
use super::packed_summaries::{PackedSummaries, packed, unpacked};
use super::{AttemptKey, AttemptRecords, AttemptSummary, EndedAttempt, RecordedAt, Status};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};

/// The number of summaries that are compressed together. A larger block compresses better; a smaller one is faster to
/// take a single summary from.
pub const ATTEMPTS_IN_BLOCK: usize = 64;
/// The number of blocks whose decompressed summaries stay in memory although none of their attempts is in use: callers
/// often read neighbouring attempts one after the other.
const MAX_RECENT: usize = 4;

/// Attempts that ended, in that order. Attempts that are complete in memory or have no record are stored in full;
/// of the others, only the compressed summary is stored.
#[derive(Default)]
pub struct FinishedAttempts {
    entries: Vec<FinishedEntry>,
    /// The compressed summaries of the first attempts, [`ATTEMPTS_IN_BLOCK`] in each.
    blocks: Vec<PackedAttempts>,
    /// The attempts after those in `blocks`.
    newest: Vec<Arc<EndedAttempt>>,
    /// The attempts in `blocks` that are stored as they are, by position.
    whole: BTreeMap<usize, Arc<EndedAttempt>>,
    /// The journals that the other attempts in `blocks` can be read from.
    journals: Vec<Arc<dyn AttemptRecords>>,
    /// The summaries of the blocks that were used last, the latest first.
    recent: Mutex<VecDeque<Arc<PackedSummaries>>>,
}

/// A block of compressed summaries.
struct PackedAttempts {
    bytes: Arc<[u8]>,
    /// What the attempts of the block that are in use share, so that it is decompressed once for all of them.
    shared: Mutex<Weak<PackedSummaries>>,
}

/// What is known of an attempt without its summary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct FinishedEntry {
    case: u32,
    attempt: u32,
    offset: u64,
    length: u32,
    /// The turn, from 1, if only one was run; else 0.
    turn: u32,
    /// Index into `journals`.
    journal: u8,
    status: Status,
    unsteady: bool,
    is_decided_by_variants: bool,
}

impl FinishedAttempts {
    /// The number of attempts.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an attempt.
    pub fn push(&mut self, attempt: Arc<EndedAttempt>) {
        let entry = FinishedEntry::new(&attempt);
        let recorded = attempt
            .record()
            .and_then(|(at, journal)| entry.at(at, self.index_of(journal)?));
        if recorded.is_none() || attempt.is_in_memory() {
            self.whole.insert(self.entries.len(), attempt.clone());
        }
        self.entries.push(recorded.unwrap_or(entry));
        self.newest.push(attempt);
        if self.newest.len() == ATTEMPTS_IN_BLOCK {
            self.blocks
                .push(PackedAttempts::new(packed_attempts(&self.newest)));
            self.newest.clear();
        }
    }

    /// The index of a journal, which is added if it is new; `None` if there are too many.
    fn index_of(&mut self, journal: &Arc<dyn AttemptRecords>) -> Option<u8> {
        let known = self
            .journals
            .iter()
            .rposition(|known| Arc::ptr_eq(known, journal));
        let index = u8::try_from(known.unwrap_or(self.journals.len())).ok()?;
        if known.is_none() {
            self.journals.push(journal.clone());
        }
        Some(index)
    }

    /// The attempt at a position. The summaries of its block are decompressed when one of them is needed, and then stay
    /// in memory as long as any attempt of the block is in use.
    pub fn get(&self, at: usize) -> Option<Arc<EndedAttempt>> {
        if let Some(newest) = at.checked_sub(self.blocks.len() * ATTEMPTS_IN_BLOCK) {
            return self.newest.get(newest).cloned();
        }
        if let Some(attempt) = self.whole.get(&at) {
            return Some(attempt.clone());
        }
        let entry = self.entries.get(at)?;
        let summaries = self.summaries(self.blocks.get(at / ATTEMPTS_IN_BLOCK)?);
        Some(Arc::new(EndedAttempt {
            key: entry.key(),
            status: entry.status,
            turn: (entry.turn > 0).then_some(entry.turn),
            unsteady: entry.unsteady,
            is_decided_by_variants: entry.is_decided_by_variants,
            summary: Summary::Packed(summaries, at % ATTEMPTS_IN_BLOCK),
            // Attempts without a record are in `whole`.
            whole: FullAttempt::Recorded(
                entry.record(),
                self.journals.get(usize::from(entry.journal))?.clone(),
            ),
        }))
    }

    /// The summaries of a block.
    fn summaries(&self, block: &PackedAttempts) -> Arc<PackedSummaries> {
        let mut shared = block.shared.lock();
        if let Some(summaries) = shared.upgrade() {
            return summaries;
        }
        let summaries = Arc::new(PackedSummaries::new(block.bytes.clone()));
        *shared = Arc::downgrade(&summaries);
        let mut recent = self.recent.lock();
        recent.truncate(MAX_RECENT - 1);
        recent.push_front(summaries.clone());
        summaries
    }

    /// Which attempt is at a position.
    pub fn key(&self, at: usize) -> Option<AttemptKey> {
        self.entries.get(at).map(FinishedEntry::key)
    }

    /// The status of the attempt at a position.
    pub fn status(&self, at: usize) -> Option<Status> {
        self.entries.get(at).map(|entry| entry.status)
    }

    /// All attempts.
    pub fn iter(&self) -> impl Iterator<Item = Arc<EndedAttempt>> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The keys and statuses of all attempts.
    pub fn statuses(&self) -> impl Iterator<Item = (AttemptKey, Status)> {
        self.entries.iter().map(|entry| (entry.key(), entry.status))
    }

    /// Adds the attempts of a [`packed_block`], whose records are in a journal. Only the last block may have fewer than
    /// [`ATTEMPTS_IN_BLOCK`] attempts. `None` if the block is damaged; of the summaries of a complete block, that is
    /// only noticed when they are needed.
    pub fn push_block(&mut self, block: &[u8], journal: &Arc<dyn AttemptRecords>) -> Option<()> {
        let (entries, summaries): (Vec<FinishedEntry>, &[u8]) =
            postcard::take_from_bytes(block).ok()?;
        let is_complete = entries.len() == ATTEMPTS_IN_BLOCK;
        if !self.newest.is_empty() || entries.is_empty() || entries.len() > ATTEMPTS_IN_BLOCK {
            return None;
        }
        if self.journals.is_empty() {
            self.journals.push(journal.clone());
        }
        self.entries.extend(entries);
        match is_complete {
            true => self.blocks.push(PackedAttempts::new(summaries.into())),
            false => self.newest = self.unpacked_newest(summaries)?,
        }
        Some(())
    }

    /// The attempts after those in `blocks`. `None` if their summaries are damaged.
    fn unpacked_newest(&self, summaries: &[u8]) -> Option<Vec<Arc<EndedAttempt>>> {
        let summaries = unpacked(summaries)?;
        let entries = &self.entries[self.blocks.len() * ATTEMPTS_IN_BLOCK..];
        let attempt = |(summary, entry): (AttemptSummary, &FinishedEntry)| {
            let journal = self.journals.get(usize::from(entry.journal))?;
            Some(Arc::new(EndedAttempt::of_summary(
                summary,
                entry.record(),
                journal,
            )))
        };
        let is_complete = summaries.len() == entries.len();
        is_complete
            .then(|| summaries.into_iter().zip(entries).map(attempt).collect())
            .flatten()
    }
}

impl PackedAttempts {
    fn new(bytes: Arc<[u8]>) -> PackedAttempts {
        PackedAttempts {
            bytes,
            shared: Mutex::default(),
        }
    }
}

impl Clone for PackedAttempts {
    fn clone(&self) -> PackedAttempts {
        PackedAttempts::new(self.bytes.clone())
    }
}

/// The binary form of attempts that ended, all recorded in the same journal. `None` if one has no record.
pub fn packed_block(attempts: &[Arc<EndedAttempt>]) -> Option<Vec<u8>> {
    let entry =
        |attempt: &Arc<EndedAttempt>| FinishedEntry::new(attempt).at(attempt.record()?.0, 0);
    let entries: Vec<FinishedEntry> = attempts.iter().map(entry).collect::<Option<_>>()?;
    let mut block = postcard::to_stdvec(&entries).ok()?;
    block.extend_from_slice(&packed_attempts(attempts));
    Some(block)
}

impl FinishedEntry {
    /// The entry of an attempt without a record.
    fn new(attempt: &EndedAttempt) -> FinishedEntry {
        FinishedEntry {
            // A plan has at most this many cases (`PlannedCases`).
            case: attempt.key.case as u32,
            attempt: attempt.key.attempt,
            offset: 0,
            length: 0,
            turn: attempt.turn.unwrap_or(0),
            journal: 0,
            status: attempt.status,
            unsteady: attempt.unsteady,
            is_decided_by_variants: attempt.is_decided_by_variants(),
        }
    }

    /// The entry with a record; `None` if its length is not representable.
    fn at(self, at: RecordedAt, journal: u8) -> Option<FinishedEntry> {
        Some(FinishedEntry {
            offset: at.offset,
            length: u32::try_from(at.length).ok()?,
            journal,
            ..self
        })
    }

    fn key(&self) -> AttemptKey {
        AttemptKey {
            case: self.case as usize,
            attempt: self.attempt,
        }
    }

    fn record(&self) -> RecordedAt {
        RecordedAt {
            offset: self.offset,
            length: u64::from(self.length),
        }
    }
}

fn packed_attempts(attempts: &[Arc<EndedAttempt>]) -> Arc<[u8]> {
    packed(
        &attempts
            .iter()
            .map(|attempt| attempt.summary())
            .collect::<Vec<_>>(),
    )
}

impl Clone for FinishedAttempts {
    fn clone(&self) -> FinishedAttempts {
        FinishedAttempts {
            entries: self.entries.clone(),
            blocks: self.blocks.clone(),
            newest: self.newest.clone(),
            whole: self.whole.clone(),
            journals: self.journals.clone(),
            recent: Mutex::default(),
        }
    }
}

impl fmt::Debug for FinishedAttempts {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attempt, InMemory};
    use proptest::prelude::*;

    struct Journal;

    impl AttemptRecords for Journal {
        fn read(&self, at: RecordedAt) -> Result<Arc<Attempt>, String> {
            Err(format!("read at {}", at.offset))
        }
    }

    fn attempt(case: usize, error: Option<&str>) -> Attempt {
        let status = if error.is_some() {
            Status::Errored
        } else {
            Status::Passed
        };
        let blank = Attempt::blank(AttemptKey { case, attempt: 1 }, &format!("case-{case}"));
        Attempt {
            status,
            error: error.map(str::to_string),
            latency_s: Some(case as f64 / 3.0),
            ..blank
        }
    }

    fn journal() -> Arc<dyn AttemptRecords> {
        Arc::new(Journal)
    }

    fn recorded(
        case: usize,
        journal: &Arc<dyn AttemptRecords>,
        in_memory: InMemory,
    ) -> Arc<EndedAttempt> {
        let at = RecordedAt {
            offset: case as u64 * 1000,
            length: 10,
        };
        let error = case.is_multiple_of(3).then_some("no answer");
        Arc::new(EndedAttempt::recorded(
            attempt(case, error),
            at,
            journal,
            in_memory,
        ))
    }

    proptest! {
        /// Whatever is stored as it is and what is compressed, every attempt is returned as it was added.
        #[test]
        fn attempts_are_returned_as_they_were_added(kinds in prop::collection::vec(0..3, 0..300)) {
            let journal = journal();
            let added: Vec<Arc<EndedAttempt>> = kinds.iter().enumerate().map(|(case, kind)| match kind {
                0 => Arc::new(EndedAttempt::unrecorded(attempt(case, None))),
                1 => recorded(case, &journal, InMemory::Whole),
                _ => recorded(case, &journal, InMemory::Summary),
            }).collect();
            let mut finished = FinishedAttempts::default();
            added.iter().for_each(|attempt| finished.push(attempt.clone()));
            prop_assert_eq!(finished.len(), added.len());
            prop_assert_eq!(finished.iter().collect::<Vec<_>>(), added.clone());
            for (at, attempt) in added.iter().enumerate() {
                let (known, key) = (finished.get(at).unwrap(), attempt.key);
                prop_assert_eq!((known.key, known.status, known.turn), (key, attempt.status, attempt.turn));
                prop_assert_eq!(known.unsteady, attempt.unsteady);
                prop_assert_eq!(known.is_decided_by_variants(), attempt.is_decided_by_variants());
                prop_assert_eq!(known.read(), attempt.read());
                prop_assert_eq!(finished.key(at), Some(attempt.key));
                prop_assert_eq!(finished.status(at), Some(attempt.status));
            }
        }
    }

    #[test]
    fn only_intact_blocks_are_read_back() {
        let journal = journal();
        for count in [1, ATTEMPTS_IN_BLOCK, 3 * ATTEMPTS_IN_BLOCK + 5] {
            let added: Vec<_> = (0..count)
                .map(|case| recorded(case, &journal, InMemory::Summary))
                .collect();
            let mut read = FinishedAttempts::default();
            for attempts in added.chunks(ATTEMPTS_IN_BLOCK) {
                read.push_block(&packed_block(attempts).unwrap(), &journal)
                    .unwrap();
            }
            assert!(read.iter().eq(added));
            let last = read.get(count - 1).unwrap();
            assert_eq!(
                last.read().unwrap_err(),
                format!("read at {}", (count - 1) * 1000)
            );
        }
        let short = packed_block(&[recorded(0, &journal, InMemory::Whole)]).unwrap();
        for length in 0..short.len() {
            assert!(
                FinishedAttempts::default()
                    .push_block(&short[..length], &journal)
                    .is_none(),
                "{length}"
            );
        }
        let mut two = FinishedAttempts::default();
        assert!(
            two.push_block(&short, &journal).is_some()
                && two.push_block(&short, &journal).is_none()
        );
        let unrecorded = Arc::new(EndedAttempt::unrecorded(attempt(1, None)));
        assert!(packed_block(&[recorded(0, &journal, InMemory::Whole), unrecorded]).is_none());
    }

    #[test]
    fn a_summary_takes_a_fraction_of_its_size() {
        let (journal, mut finished) = (journal(), FinishedAttempts::default());
        (0..100 * ATTEMPTS_IN_BLOCK)
            .for_each(|case| finished.push(recorded(case, &journal, InMemory::Summary)));
        let bytes: usize = finished.blocks.iter().map(|block| block.bytes.len()).sum();
        assert!(
            bytes < 60 * 100 * ATTEMPTS_IN_BLOCK,
            "{} bytes each",
            bytes / 100 / ATTEMPTS_IN_BLOCK
        );
    }
}
