//! Attempts that ended, as they are held while evaltrail is open. A summary of each is in memory; the rest is read
//! from where it was recorded when it is needed.

use super::{Attempt, AttemptKey, Finding, FindingRule, MetricResult, Spent, Status};
use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Attempts stay whole in memory up to this many bytes of their records. A record of a small case takes some six
/// times as much memory as it has bytes.
pub const WHOLE_AT_MOST: u64 = 16 << 20;

/// Bytes of the records of attempts that are whole in memory now.
static WHOLE: AtomicU64 = AtomicU64::new(0);

/// What lists, counts, filters and tables need of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptSummary {
    /// Which attempt this is.
    pub key: AttemptKey,
    /// The case's id.
    pub eval_id: String,
    /// What came of it.
    pub status: Status,
    /// What ADK would have said.
    pub adk_status: Status,
    /// When it began, RFC 3339.
    pub started: String,
    /// Seconds from the first word to the last, without waiting for retries.
    pub latency_s: f64,
    /// Why it errored.
    pub error: Option<String>,
    /// How often it was tried, 1 when the first went through.
    pub tries: u32,
    /// The only turn that was run, from 1.
    pub turn: Option<u32>,
    /// The scores.
    pub metrics: Vec<MetricSummary>,
    /// The metrics that it was to be scored by, where it errored before it was.
    pub asked: Vec<String>,
    /// Whether the judge's samples disagree so that the attempt could come out either way: something that decides is
    /// unsteady, and nothing else that decides failed.
    pub unsteady: bool,
    /// How much judges disagree with themselves: the share of outvoted samples of the most disputed metric.
    pub disagreement: f64,
    /// What judging took, where a judge was asked.
    pub spent: Option<Spent>,
    /// Turns that were expected.
    pub expected_turns: usize,
    /// Turns that the agent took.
    pub actual_turns: usize,
    /// The first turn that did not go well, from 0.
    pub first_bad_turn: Option<usize>,
}

/// What lists, counts, filters and tables need of a score.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSummary {
    /// The criterion's metric, label included.
    pub metric: String,
    /// The score; `None` when it could not be computed.
    pub score: Option<f64>,
    /// The score needed to pass; `None` for informational metrics.
    pub threshold: Option<f64>,
    /// What came of it.
    pub status: Status,
    /// A sentence a person can act on.
    pub explanation: String,
    /// The allowed variant of the trajectory that matches, where one decided.
    pub variant: Option<String>,
    /// The scores of its rubrics.
    pub rubrics: Vec<Option<f64>>,
    /// Whether a judge was asked.
    pub judged: bool,
    /// Whether the judge's samples alone would fall on both sides of the threshold.
    pub unsteady: bool,
}

impl AttemptSummary {
    /// The case's name for people: which repetition, where there are several, and which turn, where it was run
    /// alone.
    pub fn title(&self, repeat: u32) -> String {
        let repeat = if repeat > 1 { format!(" #{}", self.key.attempt) } else { String::new() };
        let alone = self.turn.map(|turn| format!(" (turn {turn} alone)")).unwrap_or_default();
        format!("{}{repeat}{alone}", self.eval_id)
    }

    /// The allowed variant of the trajectory that matches, where one decided.
    pub fn variant(&self) -> Option<&str> {
        self.metrics.iter().find_map(|metric| metric.variant.as_deref())
    }

    /// Why it did not pass, in the words of what failed first; empty when it passed.
    pub fn reason(&self) -> &str {
        if let Some(error) = &self.error {
            return error;
        }
        let of = |status| self.metrics.iter().find(|metric| metric.status == status);
        let worst = of(Status::Failed).or_else(|| of(Status::NotEvaluated));
        worst.map_or("", |metric| metric.explanation.as_str())
    }
}

impl Attempt {
    /// The attempt without what was said and done in it.
    pub fn summary(&self) -> AttemptSummary {
        let judgements = || self.metrics.iter().filter_map(|metric| metric.judgement.as_ref());
        AttemptSummary {
            key: self.key,
            eval_id: self.eval_id.clone(),
            status: self.status,
            adk_status: self.adk_status,
            started: self.started.clone(),
            latency_s: self.latency_s,
            error: self.error.clone(),
            tries: self.tries,
            turn: self.turn,
            metrics: self.metrics.iter().map(MetricResult::summary).collect(),
            asked: self.asked.clone(),
            unsteady: is_unsteady(&self.metrics),
            disagreement: judgements().map(|judgement| judgement.disagreement()).fold(0.0, f64::max),
            spent: judgements().map(|judgement| judgement.spent).reduce(Spent::and),
            expected_turns: self.expected.len(),
            actual_turns: self.actual.len(),
            first_bad_turn: first_bad_turn(self),
        }
    }
}

fn first_bad_turn(attempt: &Attempt) -> Option<usize> {
    if attempt.error.is_some() {
        return Some(attempt.actual.len().saturating_sub(1));
    }
    attempt.metrics.iter().filter(|metric| metric.status == Status::Failed).find_map(|metric| {
        let lowest = metric.per_invocation.iter().map(|turn| turn.score.unwrap_or(f64::MAX)).enumerate();
        lowest.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(turn, _)| turn)
    })
}

fn is_unsteady(metrics: &[MetricResult]) -> bool {
    let mut deciding = metrics.iter().filter(|metric| metric.status != Status::Informational);
    deciding.clone().any(MetricResult::is_unsteady)
        && deciding.all(|metric| metric.is_unsteady() || metric.status == Status::Passed)
}

impl MetricResult {
    /// The score without what stands behind it.
    pub fn summary(&self) -> MetricSummary {
        MetricSummary {
            metric: self.metric.clone(),
            score: self.score,
            threshold: self.threshold,
            status: self.status,
            explanation: self.explanation.clone(),
            variant: self.findings.iter().find_map(matched_variant),
            rubrics: self.rubrics.iter().map(|rubric| rubric.score).collect(),
            judged: self.judgement.is_some(),
            unsteady: self.is_unsteady(),
        }
    }
}

fn matched_variant(finding: &Finding) -> Option<String> {
    finding.text.clone().filter(|_| finding.rule == FindingRule::VariantMatched)
}

/// The place of an attempt's record in its journal or result file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedAt {
    /// The first byte of the record, from 0.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

/// A journal or result file from which attempts can be read.
pub trait AttemptRecords: Send + Sync {
    /// Reads an attempt again. The error says why it cannot be read.
    fn read(&self, at: RecordedAt) -> Result<Arc<Attempt>, String>;
}

/// How much of recorded attempts is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMemory {
    /// Whole attempts, as long as the records of all of them together have at most [`WHOLE_AT_MOST`] bytes.
    Whole,
    /// The summaries alone.
    Summary,
}

/// How an attempt that is shown follows from another one.
pub type Derivation = Arc<dyn Fn(&Attempt) -> Attempt + Send + Sync>;

/// An attempt that ended. Its [`AttemptSummary`] is in memory; [`EndedAttempt::read`] returns all of it.
pub struct EndedAttempt {
    summary: AttemptSummary,
    whole: Whole,
}

enum Whole {
    /// In memory. Its share of [`WHOLE_AT_MOST`] is returned when it is dropped.
    Held { attempt: Arc<Attempt>, _reserved: Reserved },
    /// To be read again.
    Recorded(RecordedAt, Arc<dyn AttemptRecords>),
    /// To be computed again.
    Derived(Arc<EndedAttempt>, Derivation),
}

impl EndedAttempt {
    /// An attempt that is recorded nowhere: it stays in memory.
    pub fn unrecorded(attempt: impl Into<Arc<Attempt>>) -> EndedAttempt {
        let attempt = attempt.into();
        EndedAttempt { summary: attempt.summary(), whole: Whole::Held { attempt, _reserved: Reserved(0) } }
    }

    /// An attempt that is recorded.
    pub fn recorded(
        attempt: impl Into<Arc<Attempt>>,
        at: RecordedAt,
        records: &Arc<dyn AttemptRecords>,
        in_memory: InMemory,
    ) -> EndedAttempt {
        let attempt = attempt.into();
        let summary = attempt.summary();
        let room = || Reserved::of(at.length);
        let whole = match (in_memory == InMemory::Whole).then(room).flatten() {
            Some(_reserved) => Whole::Held { attempt, _reserved },
            None => Whole::Recorded(at, records.clone()),
        };
        EndedAttempt { summary, whole }
    }

    /// What follows from another attempt: it was computed now, and is computed again when all of it is looked at.
    pub fn derived(from: &Arc<EndedAttempt>, now: &Attempt, again: &Derivation) -> EndedAttempt {
        EndedAttempt { summary: now.summary(), whole: Whole::Derived(from.clone(), again.clone()) }
    }

    /// What is always in memory.
    pub fn summary(&self) -> &AttemptSummary {
        &self.summary
    }

    /// All of the attempt. The error says why it cannot be read any more.
    pub fn read(&self) -> Result<Arc<Attempt>, String> {
        match &self.whole {
            Whole::Held { attempt, .. } => Ok(attempt.clone()),
            Whole::Derived(from, derivation) => Ok(Arc::new(derivation(&*from.read()?))),
            Whole::Recorded(at, records) => match records.read(*at)? {
                attempt if attempt.key == self.key => Ok(attempt),
                _ => Err("the record was changed".into()),
            },
        }
    }

    /// [`EndedAttempt::read`] for writers.
    pub fn read_to_write(&self) -> io::Result<Arc<Attempt>> {
        self.read().map_err(|why| io::Error::other(format!("{}: {why}", self.eval_id)))
    }

    /// Whether [`EndedAttempt::read`] can be felt: the record is large, and has to be read and understood.
    pub fn is_slow(&self) -> bool {
        const LARGE: u64 = 128 << 10;
        self.bytes_to_read() > LARGE
    }

    /// How many bytes [`EndedAttempt::read`] reads.
    pub fn bytes_to_read(&self) -> u64 {
        match &self.whole {
            Whole::Held { .. } => 0,
            Whole::Derived(from, _) => from.bytes_to_read(),
            Whole::Recorded(at, _) => at.length,
        }
    }
}

impl Deref for EndedAttempt {
    type Target = AttemptSummary;

    fn deref(&self) -> &AttemptSummary {
        &self.summary
    }
}

impl fmt::Debug for EndedAttempt {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.summary.fmt(formatter)
    }
}

/// Compares the summaries.
impl PartialEq for EndedAttempt {
    fn eq(&self, other: &EndedAttempt) -> bool {
        self.summary == other.summary
    }
}

/// Bytes of [`WHOLE_AT_MOST`] that are taken until this is dropped.
struct Reserved(u64);

impl Reserved {
    fn of(bytes: u64) -> Option<Reserved> {
        let fits = |taken: u64| Some(taken.saturating_add(bytes)).filter(|taken| *taken <= WHOLE_AT_MOST);
        WHOLE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok().map(|_| Reserved(bytes))
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
    use std::sync::Mutex;

    struct Records(Mutex<Result<Arc<Attempt>, String>>);

    impl AttemptRecords for Records {
        fn read(&self, _: RecordedAt) -> Result<Arc<Attempt>, String> {
            self.0.lock().unwrap().clone()
        }
    }

    fn attempt() -> Attempt {
        let key = AttemptKey { case: 3, attempt: 2 };
        Attempt { status: Status::Passed, session_id: "s".into(), ..Attempt::blank(key, "x") }
    }

    #[test]
    fn an_attempt_too_large_to_stay_in_memory_is_read_again() {
        let records = Arc::new(Records(Mutex::new(Ok(Arc::new(attempt())))));
        let source: Arc<dyn AttemptRecords> = records.clone();
        let at = RecordedAt { offset: 0, length: WHOLE_AT_MOST + 1 };
        let ended = EndedAttempt::recorded(attempt(), at, &source, InMemory::Whole);
        assert_eq!((ended.read().unwrap().session_id.as_str(), ended.is_slow()), ("s", true));
        let other = Attempt { key: AttemptKey { case: 4, attempt: 2 }, ..attempt() };
        *records.0.lock().unwrap() = Ok(Arc::new(other));
        assert_eq!(ended.read(), Err("the record was changed".into()));
        *records.0.lock().unwrap() = Err("it is gone".into());
        assert_eq!(ended.read_to_write().unwrap_err().to_string(), "x: it is gone");
        assert_eq!((ended.status, ended.key), (Status::Passed, attempt().key), "what is known stays");
    }

    #[test]
    fn what_is_derived_is_computed_from_what_it_follows_from() {
        let from = Arc::new(EndedAttempt::unrecorded(attempt()));
        let failed: Derivation = Arc::new(|attempt| Attempt { status: Status::Failed, ..attempt.clone() });
        let derived = EndedAttempt::derived(&from, &failed(&attempt()), &failed);
        assert_eq!(
            (derived.status, derived.read().unwrap().status, from.status),
            (Status::Failed, Status::Failed, Status::Passed)
        );
    }
}
