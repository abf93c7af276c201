//! Attempts that ended, as they are represented while evaltrail runs. A summary of each is in memory; the rest is
//! read from its record when it is needed.

use super::{
    Attempt, AttemptKey, Cause, Finding, FindingRule, MetricResult, Spent, Status, ToolCounts, ToolUse,
    TurnEnd,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum total size, in bytes of their records, of the attempts that are complete in memory. A small case takes
/// about six times the size of its record in memory.
pub const WHOLE_AT_MOST: u64 = 4 << 20;

/// Current total size, in bytes of their records, of the attempts that are complete in memory.
static WHOLE: AtomicU64 = AtomicU64::new(0);

/// The data of an attempt that lists, counts, filters and tables need. A change of its fields is a change of
/// the format of `store::summaries`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptSummary {
    /// Which attempt this is.
    pub key: AttemptKey,
    /// The case's id.
    pub eval_id: String,
    /// The outcome.
    pub status: Status,
    /// The outcome by ADK's rules.
    pub adk_status: Status,
    /// Start time, RFC 3339.
    pub started: String,
    /// Seconds from the first user message to the last response, without waits before retries.
    pub latency_s: f64,
    /// Why it errored.
    pub error: Option<String>,
    /// The number of tries; 1 if the first one succeeded.
    pub tries: u32,
    /// The turn, from 1, if only one was run.
    pub turn: Option<u32>,
    /// The scores.
    pub metrics: Vec<MetricSummary>,
    /// The metrics that were requested, if the attempt errored before it was scored.
    pub asked: Vec<String>,
    /// Whether the judge's samples disagree so much that the attempt could pass or fail: at least one metric is
    /// unsteady, and all others passed. Informational metrics do not count.
    pub unsteady: bool,
    /// How much the samples of a judge disagree: the highest share of outvoted samples of any metric.
    pub disagreement: f64,
    /// The cost of judging, if a judge was used.
    pub spent: Option<Spent>,
    /// The number of expected turns.
    pub expected_turns: usize,
    /// The number of actual turns.
    pub actual_turns: usize,
    /// The turn to look at first, from 0: the last one of an errored attempt, or the lowest scored one of the first
    /// failed metric.
    pub first_failed_turn: Option<usize>,
    /// Why it did not pass, the first divergence first.
    pub causes: Vec<Cause>,
    /// A hash of the tool calls of all turns, with their arguments: equal for equal trajectories.
    pub trajectory: u64,
    /// How the agent ended the last turn.
    pub end: TurnEnd,
    /// How the calls of tools were answered, if evaltrail answered them.
    pub tools: Option<ToolCounts>,
}

/// The data of a score that lists, counts, filters and tables need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// The criterion's metric, label included.
    pub metric: String,
    /// The score; `None` when it could not be computed.
    pub score: Option<f64>,
    /// The score needed to pass; `None` for informational metrics.
    pub threshold: Option<f64>,
    /// The outcome.
    pub status: Status,
    /// A sentence that the user can act on.
    pub explanation: String,
    /// The allowed variant of the trajectory that matched, if the score is based on one.
    pub variant: Option<String>,
    /// The scores of its rubrics.
    pub rubrics: Vec<Option<f64>>,
    /// Whether a judge was used.
    pub judged: bool,
    /// Whether one sample of the judge could change the outcome.
    pub unsteady: bool,
}

impl AttemptSummary {
    /// The title to display: the case's id, the repetition if there are several, and the turn if only one was run.
    pub fn title(&self, repeat: u32) -> String {
        let repeat = if repeat > 1 { format!(" #{}", self.key.attempt) } else { String::new() };
        let alone = self.turn.map(|turn| format!(" (turn {turn} alone)")).unwrap_or_default();
        format!("{}{repeat}{alone}", self.eval_id)
    }

    /// The allowed variant of the trajectory that matched, if a score is based on one.
    pub fn variant(&self) -> Option<&str> {
        self.metrics.iter().find_map(|metric| metric.variant.as_deref())
    }

    /// What to know beside the outcome: that the agent did not complete the last request, and that tools were not all
    /// answered by stubs. Empty if there is nothing.
    pub fn remarks(&self) -> String {
        // The error of an errored attempt says what is missing.
        let is_missing = |tools: &ToolCounts| tools.missing > 0 && self.error.is_none();
        let tools = self.tools.filter(|tools| tools.is_mixed() || is_missing(tools)).map(ToolCounts::words);
        let end = self.end.words().map(str::to_string);
        end.into_iter().chain(tools).collect::<Vec<_>>().join("; ")
    }

    /// Why the attempt did not pass: the error, or the explanation of the first metric that failed or, if none failed,
    /// was not evaluated. Empty if the attempt passed.
    pub fn reason(&self) -> &str {
        if let Some(error) = &self.error {
            return error;
        }
        let of = |status| self.metrics.iter().find(|metric| metric.status == status);
        let worst = of(Status::Failed).or_else(|| of(Status::NotEvaluated));
        worst.map_or("", |metric| metric.explanation.as_str())
    }
}

/// The causes of the first of these attempts that did not pass; `None` if all passed.
pub fn causes_of_first_failure(attempts: &[Arc<EndedAttempt>]) -> Option<&[Cause]> {
    let failed = attempts.iter().find(|attempt| attempt.status != Status::Passed)?;
    Some(&failed.summary().causes)
}

impl Attempt {
    /// The attempt without its turns.
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
            first_failed_turn: first_failed_turn(self),
            causes: self.causes(),
            trajectory: trajectory_hash(self),
            end: self.actual.last().map(|turn| turn.end).unwrap_or_default(),
            tools: self.tool_use.as_ref().map(ToolUse::counts),
        }
    }
}

fn trajectory_hash(attempt: &Attempt) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for turn in attempt.actual.iter() {
        for call in turn.calls() {
            hash.update(call.name.as_bytes());
            // The encoding of a value is unambiguous, and so is the end of a name: arguments begin with a brace.
            hash.update(&serde_json::to_vec(&call.args).unwrap_or_default());
        }
        hash.update(b"\n");
    }
    hash.digest()
}

fn first_failed_turn(attempt: &Attempt) -> Option<usize> {
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
    /// The score without findings, turns and judgement.
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
    /// The complete attempt, while the total record size of such attempts is at most [`WHOLE_AT_MOST`] bytes.
    Whole,
    /// Only the summary.
    Summary,
}

/// A function that computes an attempt from another one.
pub type Derivation = Arc<dyn Fn(&Attempt) -> Attempt + Send + Sync>;

/// An attempt that ended. Its [`AttemptSummary`] is in memory; [`EndedAttempt::read`] returns the complete attempt.
pub struct EndedAttempt {
    summary: AttemptSummary,
    whole: Whole,
}

enum Whole {
    /// In memory, and recorded if it has a record. Its share of [`WHOLE_AT_MOST`] is released when it is dropped.
    Held { attempt: Arc<Attempt>, record: Option<(RecordedAt, Arc<dyn AttemptRecords>)>, _reserved: Reserved },
    /// Read again on demand.
    Recorded(RecordedAt, Arc<dyn AttemptRecords>),
    /// Computed again on demand.
    Derived(Arc<EndedAttempt>, Derivation),
}

impl EndedAttempt {
    /// An attempt without a record: it stays in memory.
    pub fn unrecorded(attempt: impl Into<Arc<Attempt>>) -> EndedAttempt {
        let attempt = attempt.into();
        EndedAttempt {
            summary: attempt.summary(),
            whole: Whole::Held { attempt, record: None, _reserved: Reserved(0) },
        }
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
        let room = || Reserved::of(at.length);
        let whole = match (in_memory == InMemory::Whole).then(room).flatten() {
            Some(_reserved) => Whole::Held { attempt, record: Some((at, records.clone())), _reserved },
            None => Whole::Recorded(at, records.clone()),
        };
        EndedAttempt { summary, whole }
    }

    /// An attempt with a record, of which only the summary was kept.
    pub(super) fn of_summary(
        summary: AttemptSummary,
        at: RecordedAt,
        records: &Arc<dyn AttemptRecords>,
    ) -> EndedAttempt {
        EndedAttempt { summary, whole: Whole::Recorded(at, records.clone()) }
    }

    /// An attempt that is derived from another one. `now` is the current result of the derivation; only its summary
    /// is stored, and `again` is applied when the complete attempt is needed.
    pub fn derived(from: &Arc<EndedAttempt>, now: &Attempt, again: &Derivation) -> EndedAttempt {
        EndedAttempt { summary: now.summary(), whole: Whole::Derived(from.clone(), again.clone()) }
    }

    /// The same attempt with another key, and a record of its own.
    pub fn moved(&self, key: AttemptKey, at: RecordedAt, records: &Arc<dyn AttemptRecords>) -> EndedAttempt {
        EndedAttempt::of_summary(AttemptSummary { key, ..self.summary.clone() }, at, records)
    }

    /// The position of its record, if it has one.
    pub fn recorded_at(&self) -> Option<RecordedAt> {
        self.record().map(|(at, _)| at)
    }

    /// The summary, which is always in memory.
    pub fn summary(&self) -> &AttemptSummary {
        &self.summary
    }

    /// Its record, if it has one.
    pub(super) fn record(&self) -> Option<(RecordedAt, &Arc<dyn AttemptRecords>)> {
        match &self.whole {
            Whole::Held { record, .. } => record.as_ref().map(|(at, records)| (*at, records)),
            Whole::Recorded(at, records) => Some((*at, records)),
            Whole::Derived(..) => None,
        }
    }

    /// Whether the complete attempt is in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.whole, Whole::Held { .. })
    }

    /// The complete attempt. The error contains the reason why it can no longer be read.
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

    /// [`EndedAttempt::read`] with an [`io::Error`] that names the case.
    pub fn read_to_write(&self) -> io::Result<Arc<Attempt>> {
        self.read().map_err(|why| io::Error::other(format!("{}: {why}", self.eval_id)))
    }

    /// Whether [`EndedAttempt::read`] takes noticeable time, because a large record must be read and parsed.
    pub fn is_slow(&self) -> bool {
        const LARGE: u64 = 128 << 10;
        self.bytes_to_read() > LARGE
    }

    /// The number of bytes that [`EndedAttempt::read`] reads.
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

impl AsRef<AttemptSummary> for EndedAttempt {
    fn as_ref(&self) -> &AttemptSummary {
        &self.summary
    }
}

impl AsRef<AttemptSummary> for AttemptSummary {
    fn as_ref(&self) -> &AttemptSummary {
        self
    }
}

/// Compares the summaries.
impl PartialEq for EndedAttempt {
    fn eq(&self, other: &EndedAttempt) -> bool {
        self.summary == other.summary
    }
}

/// Bytes of [`WHOLE_AT_MOST`] that are reserved until this is dropped.
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
