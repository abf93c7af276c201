//! Attempts that ended, as they are represented while evaltrail runs. The fields that counts need are in memory, the summary is
//! in memory or packed together with those of other attempts, and the rest is read from its record when it is needed.

use super::packed_summaries::PackedSummaries;
use super::{Attempt, AttemptKey, AttemptSummary, Cause, Status};
use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// Maximum total size, in bytes of their records, of the attempts that are complete in memory. A small case takes
/// about six times the size of its record in memory.
pub const MAX_FULL_ATTEMPTS: u64 = 4 << 20;

/// Current total size, in bytes of their records, of the attempts that are complete in memory.
static WHOLE: AtomicU64 = AtomicU64::new(0);

/// The attempt that represents its case: the first one with the worst status. `None` without attempts.
pub fn worst_attempt(attempts: &[Arc<EndedAttempt>]) -> Option<&Arc<EndedAttempt>> {
    let worst = Status::worst(attempts.iter().map(|attempt| attempt.status))?;
    attempts.iter().find(|attempt| attempt.status == worst)
}

/// The causes of the attempt that represents a case; `None` if all attempts passed.
pub fn causes_of_worst_attempt(attempts: &[Arc<EndedAttempt>]) -> Option<&[Cause]> {
    let worst = worst_attempt(attempts).filter(|attempt| attempt.status != Status::Passed)?;
    Some(&worst.summary().causes)
}

/// The position of an attempt's record in its journal or result file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedAt {
    /// The offset of the record's first byte.
    pub offset: u64,
    /// The length in bytes.
    pub length: u64,
}

/// A journal or result file that attempts can be read from.
pub trait AttemptRecords: Send + Sync {
    /// Reads an attempt again. The error contains the reason for a failure.
    fn read(&self, at: RecordedAt) -> Result<Arc<Attempt>, String>;
}

/// How much of a recorded attempt stays in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMemory {
    /// The complete attempt, while the total record size of such attempts is at most [`MAX_FULL_ATTEMPTS`] bytes.
    Whole,
    /// Only the summary.
    Summary,
}

/// A function that computes an attempt from another one.
pub type Derivation = Arc<dyn Fn(&Attempt) -> Attempt + Send + Sync>;

/// An attempt that ended. [`EndedAttempt::summary`] returns its summary, and [`EndedAttempt::read`] the complete attempt.
/// What is needed of every attempt of a run is in fields of its own, so that it is known without the summary.
pub struct EndedAttempt {
    /// Which attempt this is.
    pub key: AttemptKey,
    /// The outcome.
    pub status: Status,
    /// [`AttemptSummary::turn`].
    pub turn: Option<u32>,
    /// [`AttemptSummary::unsteady`].
    pub unsteady: bool,
    pub(super) is_decided_by_variants: bool,
    pub(super) summary: Summary,
    pub(super) whole: FullAttempt,
}

/// Where the summary of an attempt is.
pub(super) enum Summary {
    InMemory(Box<AttemptSummary>),
    /// Packed together with others, at this position.
    Packed(Arc<PackedSummaries>, usize),
}

pub(super) enum FullAttempt {
    /// In memory, and recorded if it has a record. Its share of [`MAX_FULL_ATTEMPTS`] is released when it is dropped.
    Held {
        attempt: Arc<Attempt>,
        record: Option<(RecordedAt, Arc<dyn AttemptRecords>)>,
        _reserved: Reserved,
    },
    /// Read again on demand.
    Recorded(RecordedAt, Arc<dyn AttemptRecords>),
    /// Computed again on demand.
    Derived(Arc<EndedAttempt>, Derivation),
}

/// The summary in place of one that is damaged. The file that summaries are read from is signed, so that only a faulty
/// evaltrail can have written it.
static DAMAGED: LazyLock<AttemptSummary> = LazyLock::new(|| {
    let error = "the stored summary of this attempt is damaged: remove the file `summaries` in the folder of its run";
    Attempt {
        status: Status::Errored,
        error: Some(error.into()),
        ..Attempt::blank(
            AttemptKey {
                case: 0,
                attempt: 0,
            },
            "",
        )
    }
    .summary()
});

impl EndedAttempt {
    fn new(summary: AttemptSummary, whole: FullAttempt) -> EndedAttempt {
        EndedAttempt {
            key: summary.key,
            status: summary.status,
            turn: summary.turn,
            unsteady: summary.unsteady,
            is_decided_by_variants: summary.is_decided_by_variants(),
            summary: Summary::InMemory(Box::new(summary)),
            whole,
        }
    }

    /// An attempt without a record: it stays in memory.
    pub fn unrecorded(attempt: impl Into<Arc<Attempt>>) -> EndedAttempt {
        let attempt = attempt.into();
        let summary = attempt.summary();
        EndedAttempt::new(
            summary,
            FullAttempt::Held {
                attempt,
                record: None,
                _reserved: Reserved(0),
            },
        )
    }

    /// An attempt with a record.
    pub fn recorded(
        attempt: impl Into<Arc<Attempt>>,
        at: RecordedAt,
        records: &Arc<dyn AttemptRecords>,
        in_memory: InMemory,
    ) -> EndedAttempt {
        let attempt = attempt.into();
        let summary = attempt.summary();
        let room = || Reserved::reserve(at.length);
        let whole = match (in_memory == InMemory::Whole).then(room).flatten() {
            Some(_reserved) => FullAttempt::Held {
                attempt,
                record: Some((at, records.clone())),
                _reserved,
            },
            None => FullAttempt::Recorded(at, records.clone()),
        };
        EndedAttempt::new(summary, whole)
    }

    /// An attempt with a record, of which only the summary was kept.
    pub(super) fn of_summary(
        summary: AttemptSummary,
        at: RecordedAt,
        records: &Arc<dyn AttemptRecords>,
    ) -> EndedAttempt {
        EndedAttempt::new(summary, FullAttempt::Recorded(at, records.clone()))
    }

    /// An attempt that is derived from another one. `now` is the current result of the derivation; only its summary
    /// is stored, and `again` is applied when the complete attempt is needed.
    pub fn derived(from: &Arc<EndedAttempt>, now: &Attempt, again: &Derivation) -> EndedAttempt {
        EndedAttempt::new(
            now.summary(),
            FullAttempt::Derived(from.clone(), again.clone()),
        )
    }

    /// The same attempt with another key, and a record of its own.
    pub fn moved(
        &self,
        key: AttemptKey,
        at: RecordedAt,
        records: &Arc<dyn AttemptRecords>,
    ) -> EndedAttempt {
        EndedAttempt::of_summary(
            AttemptSummary {
                key,
                ..self.summary().clone()
            },
            at,
            records,
        )
    }

    /// The position of its record, if it has one.
    pub fn recorded_at(&self) -> Option<RecordedAt> {
        self.record().map(|(at, _)| at)
    }

    /// The summary. The first of those that are packed together takes the time to decompress all of them.
    pub fn summary(&self) -> &AttemptSummary {
        match &self.summary {
            Summary::InMemory(summary) => summary,
            Summary::Packed(summaries, at) => summaries.get(*at).unwrap_or(&DAMAGED),
        }
    }

    /// [`AttemptSummary::is_decided_by_variants`].
    pub fn is_decided_by_variants(&self) -> bool {
        self.is_decided_by_variants
    }

    /// Its record, if it has one.
    pub(super) fn record(&self) -> Option<(RecordedAt, &Arc<dyn AttemptRecords>)> {
        match &self.whole {
            FullAttempt::Held { record, .. } => record.as_ref().map(|(at, records)| (*at, records)),
            FullAttempt::Recorded(at, records) => Some((*at, records)),
            FullAttempt::Derived(..) => None,
        }
    }

    /// Whether the complete attempt is in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.whole, FullAttempt::Held { .. })
    }

    /// The complete attempt. The error contains the reason why it can no longer be read.
    pub fn read(&self) -> Result<Arc<Attempt>, String> {
        match &self.whole {
            FullAttempt::Held { attempt, .. } => Ok(attempt.clone()),
            FullAttempt::Derived(from, derivation) => Ok(Arc::new(derivation(&*from.read()?))),
            FullAttempt::Recorded(at, records) => match records.read(*at)? {
                attempt if attempt.key == self.key => Ok(attempt),
                _ => Err("the record was changed".into()),
            },
        }
    }

    /// [`EndedAttempt::read`] with an [`io::Error`] that names the case.
    pub fn read_to_write(&self) -> io::Result<Arc<Attempt>> {
        self.read()
            .map_err(|why| io::Error::other(format!("{}: {why}", self.eval_id)))
    }

    /// Whether [`EndedAttempt::read`] takes noticeable time, because a large record must be read and parsed.
    pub fn is_slow(&self) -> bool {
        const LARGE: u64 = 128 << 10;
        self.bytes_to_read() > LARGE
    }

    /// The number of bytes that [`EndedAttempt::read`] reads.
    pub fn bytes_to_read(&self) -> u64 {
        match &self.whole {
            FullAttempt::Held { .. } => 0,
            FullAttempt::Derived(from, _) => from.bytes_to_read(),
            FullAttempt::Recorded(at, _) => at.length,
        }
    }
}

impl Deref for EndedAttempt {
    type Target = AttemptSummary;

    fn deref(&self) -> &AttemptSummary {
        self.summary()
    }
}

impl fmt::Debug for EndedAttempt {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.summary().fmt(formatter)
    }
}

impl AsRef<AttemptSummary> for EndedAttempt {
    fn as_ref(&self) -> &AttemptSummary {
        self.summary()
    }
}

/// Compares the summaries.
impl PartialEq for EndedAttempt {
    fn eq(&self, other: &EndedAttempt) -> bool {
        self.summary() == other.summary()
    }
}

/// Bytes of [`MAX_FULL_ATTEMPTS`] that are reserved until this is dropped.
pub(super) struct Reserved(u64);

impl Reserved {
    fn reserve(bytes: u64) -> Option<Reserved> {
        let fits = |taken: u64| {
            Some(taken.saturating_add(bytes)).filter(|taken| *taken <= MAX_FULL_ATTEMPTS)
        };
        WHOLE
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .ok()
            .map(|_| Reserved(bytes))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        WHOLE.fetch_sub(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    struct Records(Mutex<Result<Arc<Attempt>, String>>);

    impl AttemptRecords for Records {
        fn read(&self, _: RecordedAt) -> Result<Arc<Attempt>, String> {
            self.0.lock().clone()
        }
    }

    fn attempt() -> Attempt {
        let key = AttemptKey {
            case: 3,
            attempt: 2,
        };
        Attempt {
            status: Status::Passed,
            session_id: "s".into(),
            ..Attempt::blank(key, "x")
        }
    }

    #[test]
    fn attempt_too_large_for_memory_is_read_again() {
        let records = Arc::new(Records(Mutex::new(Ok(Arc::new(attempt())))));
        let source: Arc<dyn AttemptRecords> = records.clone();
        let at = RecordedAt {
            offset: 0,
            length: MAX_FULL_ATTEMPTS + 1,
        };
        let ended = EndedAttempt::recorded(attempt(), at, &source, InMemory::Whole);
        assert_eq!(
            (ended.read().unwrap().session_id.as_str(), ended.is_slow()),
            ("s", true)
        );
        let other = Attempt {
            key: AttemptKey {
                case: 4,
                attempt: 2,
            },
            ..attempt()
        };
        *records.0.lock() = Ok(Arc::new(other));
        assert_eq!(ended.read(), Err("the record was changed".into()));
        *records.0.lock() = Err("it is gone".into());
        assert_eq!(
            ended.read_to_write().unwrap_err().to_string(),
            "x: it is gone"
        );
        assert_eq!(
            (ended.status, ended.key),
            (Status::Passed, attempt().key),
            "what is known stays"
        );
    }

    #[test]
    fn derived_attempt_is_computed_from_its_source() {
        let from = Arc::new(EndedAttempt::unrecorded(attempt()));
        let failed: Derivation = Arc::new(|attempt| Attempt {
            status: Status::Failed,
            ..attempt.clone()
        });
        let derived = EndedAttempt::derived(&from, &failed(&attempt()), &failed);
        assert_eq!(
            (derived.status, derived.read().unwrap().status, from.status),
            (Status::Failed, Status::Failed, Status::Passed)
        );
    }
}
