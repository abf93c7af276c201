//! The attempts of a run that ended, in little memory. A run may have millions, and the summary of one takes about
//! 700 bytes. Most of it is equal for all: compressed in blocks, it takes about 50.

use super::{AttemptKey, AttemptRecords, AttemptSummary, EndedAttempt, RecordedAt, Status};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of summaries that are compressed together. A larger block compresses better; a smaller one is faster to
/// take a single summary from.
const BLOCK: usize = 64;
/// The number of blocks that stay decompressed, for those who look at attempts near each other.
const UNPACKED_AT_MOST: usize = 4;

/// Attempts that ended, in that order. Attempts that are complete in memory or have no record are stored as they are,
/// of all others the compressed summary is.
#[derive(Default)]
pub struct FinishedAttempts {
    places: Vec<Place>,
    /// The compressed summaries of the first attempts, [`BLOCK`] in each.
    blocks: Vec<Arc<[u8]>>,
    /// The attempts after those in `blocks`.
    newest: Vec<Arc<EndedAttempt>>,
    /// The attempts in `blocks` that are stored as they are, by position.
    whole: BTreeMap<usize, Arc<EndedAttempt>>,
    /// The journals that the other attempts in `blocks` can be read from.
    journals: Vec<Arc<dyn AttemptRecords>>,
    /// The blocks that were decompressed last, the latest first.
    unpacked: Mutex<VecDeque<(usize, Arc<[Arc<EndedAttempt>]>)>>,
}

/// What is known of an attempt without its summary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    case: u32,
    attempt: u32,
    offset: u64,
    /// 0 without a record.
    length: u32,
    /// Index into `journals`.
    journal: u8,
    status: Status,
}

impl FinishedAttempts {
    /// The number of attempts.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds an attempt.
    pub fn push(&mut self, attempt: Arc<EndedAttempt>) {
        let place = Place {
            // A plan has at most this many cases (`PlannedCases`).
            case: attempt.key.case as u32,
            attempt: attempt.key.attempt,
            offset: 0,
            length: 0,
            journal: 0,
            status: attempt.status,
        };
        let recorded = attempt.record().and_then(|(at, journal)| self.recorded(place, at, journal));
        if recorded.is_none() || attempt.is_in_memory() {
            self.whole.insert(self.places.len(), attempt.clone());
        }
        self.places.push(recorded.unwrap_or(place));
        self.newest.push(attempt);
        if self.newest.len() == BLOCK {
            self.blocks.push(packed(&self.newest));
            self.newest.clear();
        }
    }

    /// The place of an attempt with its record; `None` if it is not representable.
    fn recorded(&mut self, place: Place, at: RecordedAt, journal: &Arc<dyn AttemptRecords>) -> Option<Place> {
        let known = self.journals.iter().rposition(|known| Arc::ptr_eq(known, journal));
        let index = u8::try_from(known.unwrap_or(self.journals.len())).ok()?;
        let length = u32::try_from(at.length).ok()?;
        if known.is_none() {
            self.journals.push(journal.clone());
        }
        Some(Place { offset: at.offset, length, journal: index, ..place })
    }

    /// The attempt at a position.
    pub fn get(&self, at: usize) -> Option<Arc<EndedAttempt>> {
        if let Some(newest) = at.checked_sub(self.blocks.len() * BLOCK) {
            return self.newest.get(newest).cloned();
        }
        match self.whole.get(&at) {
            Some(attempt) => Some(attempt.clone()),
            None => self.unpacked(at / BLOCK).get(at % BLOCK).cloned(),
        }
    }

    /// Which attempt is at a position.
    pub fn key(&self, at: usize) -> Option<AttemptKey> {
        self.places.get(at).map(Place::key)
    }

    /// The status of the attempt at a position.
    pub fn status(&self, at: usize) -> Option<Status> {
        self.places.get(at).map(|place| place.status)
    }

    /// All attempts.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Arc<EndedAttempt>> + Clone {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The keys and statuses of all attempts.
    pub fn statuses(&self) -> impl Iterator<Item = (AttemptKey, Status)> {
        self.places.iter().map(|place| (place.key(), place.status))
    }

    fn unpacked(&self, block: usize) -> Arc<[Arc<EndedAttempt>]> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = unpacked.iter().position(|(known, _)| *known == block) {
            return unpacked[at].1.clone();
        }
        let packed = self.blocks.get(block);
        let attempts = packed.and_then(|packed| self.unpacked_from(packed, block)).unwrap_or_default();
        unpacked.truncate(UNPACKED_AT_MOST - 1);
        unpacked.push_front((block, attempts.clone()));
        attempts
    }

    /// Decompresses the summaries of a block. `None` if it is damaged.
    fn unpacked_from(&self, block: &[u8], number: usize) -> Option<Arc<[Arc<EndedAttempt>]>> {
        let bytes = lz4_flex::decompress_size_prepended(block).ok()?;
        let summaries: Vec<AttemptSummary> = postcard::from_bytes(&bytes).ok()?;
        let places = self.places[number * BLOCK..].iter().take(BLOCK);
        if summaries.len() != places.len() {
            return None;
        }
        // Attempts without a record are in `whole`.
        let attempt = |(summary, place): (AttemptSummary, &Place)| {
            let journal = self.journals.get(usize::from(place.journal))?;
            Some(Arc::new(EndedAttempt::of_summary(summary, place.record(), journal)))
        };
        summaries.into_iter().zip(places).map(attempt).collect()
    }

    /// The binary form; `None` if some attempt has no record, or not in the same journal as the others.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        if self.journals.len() > 1 || self.places.iter().any(|place| place.length == 0) {
            return None;
        }
        let last = (!self.newest.is_empty()).then(|| packed(&self.newest));
        let blocks: Vec<&Arc<[u8]>> = self.blocks.iter().chain(&last).collect();
        let lengths: Vec<usize> = blocks.iter().map(|block| block.len()).collect();
        let mut bytes = postcard::to_stdvec(&(&self.places, lengths)).ok()?;
        blocks.into_iter().for_each(|block| bytes.extend_from_slice(block));
        Some(bytes)
    }

    /// Reads the binary form of attempts whose records are in a journal. `None` if it is damaged; of a block of
    /// summaries, that is only noticed when it is decompressed.
    pub fn of_bytes(bytes: &[u8], journal: Arc<dyn AttemptRecords>) -> Option<FinishedAttempts> {
        let ((places, lengths), mut rest): ((Vec<Place>, Vec<usize>), &[u8]) =
            postcard::take_from_bytes(bytes).ok()?;
        if lengths.len() != places.len().div_ceil(BLOCK) || places.iter().any(|place| place.journal != 0) {
            return None;
        }
        let mut blocks: Vec<Arc<[u8]>> = Vec::with_capacity(lengths.len());
        for length in lengths {
            let block;
            (block, rest) = rest.split_at_checked(length)?;
            blocks.push(block.into());
        }
        let complete = places.len() / BLOCK;
        let last = blocks.split_off(complete).pop();
        let mut attempts = FinishedAttempts { places, blocks, journals: vec![journal], ..Default::default() };
        if let Some(last) = last {
            attempts.newest = attempts.unpacked_from(&last, complete)?.to_vec();
        }
        Some(attempts)
    }
}

impl Place {
    fn key(&self) -> AttemptKey {
        AttemptKey { case: self.case as usize, attempt: self.attempt }
    }

    fn record(&self) -> RecordedAt {
        RecordedAt { offset: self.offset, length: u64::from(self.length) }
    }
}

fn packed(attempts: &[Arc<EndedAttempt>]) -> Arc<[u8]> {
    let summaries: Vec<&AttemptSummary> = attempts.iter().map(|attempt| attempt.summary()).collect();
    // Writing to memory does not fail.
    let bytes = postcard::to_stdvec(&summaries).unwrap_or_default();
    lz4_flex::compress_prepend_size(&bytes).into()
}

impl Clone for FinishedAttempts {
    fn clone(&self) -> FinishedAttempts {
        FinishedAttempts {
            places: self.places.clone(),
            blocks: self.blocks.clone(),
            newest: self.newest.clone(),
            whole: self.whole.clone(),
            journals: self.journals.clone(),
            unpacked: Mutex::default(),
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
        let status = if error.is_some() { Status::Errored } else { Status::Passed };
        let blank = Attempt::blank(AttemptKey { case, attempt: 1 }, &format!("case-{case}"));
        Attempt { status, error: error.map(str::to_string), latency_s: case as f64 / 3.0, ..blank }
    }

    fn journal() -> Arc<dyn AttemptRecords> {
        Arc::new(Journal)
    }

    fn recorded(case: usize, journal: &Arc<dyn AttemptRecords>, in_memory: InMemory) -> Arc<EndedAttempt> {
        let at = RecordedAt { offset: case as u64 * 1000, length: 10 };
        let error = (case % 3 == 0).then_some("no answer");
        Arc::new(EndedAttempt::recorded(attempt(case, error), at, journal, in_memory))
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
            prop_assert_eq!(finished.iter().rev().last(), added.first().cloned());
            for (at, attempt) in added.iter().enumerate() {
                prop_assert_eq!(finished.key(at), Some(attempt.key));
                prop_assert_eq!(finished.status(at), Some(attempt.status));
                prop_assert_eq!(finished.get(at).unwrap().read(), attempt.read());
            }
            prop_assert_eq!(finished.to_bytes().is_some(), kinds.iter().all(|kind| *kind != 0));
        }
    }

    #[test]
    fn the_binary_form_is_read_back_and_a_damaged_one_is_not() {
        for count in [0, 1, BLOCK, BLOCK + 1, 5 * BLOCK] {
            let journal = journal();
            let mut finished = FinishedAttempts::default();
            (0..count).for_each(|case| finished.push(recorded(case, &journal, InMemory::Summary)));
            let bytes = finished.to_bytes().unwrap();
            let read = FinishedAttempts::of_bytes(&bytes, journal.clone()).unwrap();
            assert!(read.iter().eq(finished.iter()));
            let last = count.checked_sub(1).and_then(|last| read.get(last));
            let why = last.map(|last| last.read().unwrap_err());
            assert_eq!(why, count.checked_sub(1).map(|last| format!("read at {}", last * 1000)));
            for length in 0..bytes.len().min(2000) {
                assert!(FinishedAttempts::of_bytes(&bytes[..length], journal.clone()).is_none(), "{length}");
            }
        }
    }

    #[test]
    fn attempts_of_two_journals_have_no_binary_form() {
        let mut finished = FinishedAttempts::default();
        finished.push(recorded(0, &journal(), InMemory::Summary));
        finished.push(recorded(1, &journal(), InMemory::Summary));
        assert!(finished.to_bytes().is_none());
    }

    #[test]
    fn a_summary_takes_a_fraction_of_its_size() {
        let (journal, mut finished) = (journal(), FinishedAttempts::default());
        (0..100 * BLOCK).for_each(|case| finished.push(recorded(case, &journal, InMemory::Summary)));
        let bytes: usize = finished.blocks.iter().map(|block| block.len()).sum();
        assert!(bytes < 60 * 100 * BLOCK, "{} bytes each", bytes / 100 / BLOCK);
    }
}
