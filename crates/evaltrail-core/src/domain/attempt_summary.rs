//! The summary of an attempt: what lists, filters and tables need of it.

use super::counted;
use super::{
    Attempt, AttemptKey, Cause, Finding, FindingRule, Invocation, JudgeUsage, MetricResult,
    ModelError, ReportedSetup, Score, Status, ToolCounts, ToolUse, TurnEnd, compared_texts,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// The name of the metric that allowed variants of a trajectory decide. A criterion may add a label after a colon.
pub const ALLOWED_TRAJECTORY: &str = "allowed_trajectory";

/// The maximum number of errors of models in a summary.
const MAX_MODEL_ERRORS: usize = 8;

/// The data of an attempt that lists, filters and tables need. A change of its fields is a change of the format of
/// `store::summaries`.
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
    /// Seconds from the first user message to the last response, without waits before retries; `None` if unknown.
    pub latency_s: Option<f64>,
    /// Whether the agent failed to complete the conversation; `None` if unknown.
    pub failed: Option<bool>,
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
    pub spent: Option<JudgeUsage>,
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
    /// How the last incomplete turn ended; [`TurnEnd::Answered`] if all turns were completed.
    pub end: TurnEnd,
    /// The first errors that the model reported, each with its turn, from 1.
    pub model_errors: Vec<(usize, ModelError)>,
    /// How the calls of tools were answered, if evaltrail answered them.
    pub tools: Option<ToolCounts>,
    /// Why no criterion decided the attempt; empty if one did, and for an attempt that errored.
    pub undecided: String,
    /// What the agent reported of itself; `None` if it reported nothing.
    pub setup: Option<Arc<ReportedSetup>>,
}

/// The data of a score that lists, counts, filters and tables need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// The criterion's metric, label included.
    pub metric: String,
    /// The score; `None` when it could not be computed.
    pub score: Option<Score>,
    /// The score needed to pass; `None` for informational metrics.
    pub threshold: Option<f64>,
    /// The outcome.
    pub status: Status,
    /// A sentence that the user can act on.
    pub explanation: String,
    /// The allowed variant of the trajectory that matched, if the score is based on one.
    pub variant: Option<String>,
    /// The scores of its rubrics.
    pub rubrics: Vec<Option<Score>>,
    /// Whether a judge was used.
    pub judged: bool,
    /// Whether one sample of the judge could change the outcome.
    pub unsteady: bool,
}

impl MetricSummary {
    /// The score as a number.
    pub fn score(&self) -> Option<f64> {
        self.score.map(Score::get)
    }
}

impl AttemptSummary {
    /// The title to display: the case's id, the number of the attempt if there are several, and the turn if only one was run.
    pub fn title(&self, repeat: u32) -> String {
        let repeat = if repeat > 1 {
            format!(" #{}", self.key.attempt)
        } else {
            String::new()
        };
        let alone = self
            .turn
            .map(|turn| format!(" (turn {turn} alone)"))
            .unwrap_or_default();
        format!("{}{repeat}{alone}", self.shown_id())
    }

    /// The case's id, also if it is empty.
    pub fn shown_id(&self) -> &str {
        if self.eval_id.is_empty() {
            "(no id)"
        } else {
            &self.eval_id
        }
    }

    /// The allowed variant of the trajectory that matched, if a score is based on one.
    pub fn variant(&self) -> Option<&str> {
        self.metrics
            .iter()
            .find_map(|metric| metric.variant.as_deref())
    }

    /// Whether allowed variants of the trajectory decided the attempt.
    pub fn is_decided_by_variants(&self) -> bool {
        self.metrics
            .iter()
            .any(|metric| is_allowed_trajectory(&metric.metric))
    }

    /// The errors that the model reported, in words: "the model reported SAFETY: blocked by safety". `None` if there is none.
    pub fn model_error_text(&self) -> Option<String> {
        let (turn, first) = self.model_errors.first()?;
        let turn = if self.actual_turns > 1 {
            format!(" (turn {turn})")
        } else {
            String::new()
        };
        let more = match self.model_errors.len() - 1 {
            0 => String::new(),
            more if more + 1 == MAX_MODEL_ERRORS => " and more".into(),
            more => format!(" and {more} more"),
        };
        Some(format!("{}{turn}{more}", first.describe()))
    }

    /// What to know beside the outcome: the errors that the model reported, that the agent did not complete the last request,
    /// that tools were not all answered by stubs, and that the agent kept something of earlier cases. Empty if there is
    /// nothing.
    pub fn remarks(&self) -> String {
        let rest = Some(self.end_remarks()).filter(|rest| !rest.is_empty());
        self.model_error_text()
            .into_iter()
            .chain(rest)
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// [`AttemptSummary::remarks`] without the errors that the model reported.
    pub fn end_remarks(&self) -> String {
        // The error of an errored attempt says what is missing.
        let is_missing = |tools: &ToolCounts| tools.missing > 0 && self.error.is_none();
        let tools = self
            .tools
            .filter(|tools| tools.is_mixed() || is_missing(tools))
            .map(ToolCounts::describe);
        let end = self.end.describe().map(str::to_string);
        let state = self.tools.filter(|tools| tools.keeps_state);
        let state = state.map(|_| "the agent kept state of earlier cases".to_string());
        end.into_iter()
            .chain(tools)
            .chain(state)
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// [`AttemptSummary::reason`] after the errors that the model reported. A reason that only repeats the error is left out.
    pub fn reason_with_model_errors(&self) -> String {
        let mut errors = self.model_errors.iter();
        let mut repeats = |reason: &str| errors.any(|(_, error)| error.text() == reason);
        let reason = Some(self.reason().to_string());
        let reason = reason.filter(|reason| !reason.is_empty() && !repeats(reason));
        self.model_error_text()
            .into_iter()
            .chain(reason)
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Why the attempt did not pass: the error, or the explanation of the first metric that failed or, if none failed,
    /// errored or was not evaluated, or why no criterion decided. Never empty if the attempt was not evaluated or errored.
    pub fn reason(&self) -> Cow<'_, str> {
        if let Some(error) = &self.error {
            return error.as_str().into();
        }
        let of = |status| self.metrics.iter().find(|metric| metric.status == status);
        if self.status == Status::Passed {
            return "".into();
        }
        let worst = of(Status::Failed)
            .or_else(|| of(Status::Errored))
            .or_else(|| of(Status::NotEvaluated));
        let found = worst.map_or(self.undecided.as_str(), |metric| {
            metric.explanation.as_str()
        });
        if !found.is_empty() {
            return found.into();
        }
        match worst.and_then(|metric| Some((metric, metric.score()?, metric.threshold?))) {
            Some((metric, score, threshold)) => {
                let (score, threshold) = compared_texts(score, threshold);
                format!("{} is {score}, {threshold} is needed", metric.metric).into()
            }
            None if self.status == Status::Failed => "".into(),
            None => self.status.label().into(),
        }
    }

    /// Why the attempt has this cause: the explanation of the metric that the cause is about, else [`AttemptSummary::reason`].
    pub fn reason_for(&self, cause: &Cause) -> Cow<'_, str> {
        let (Cause::Rubric { metric: of, .. } | Cause::Other { metric: of, .. }) = cause else {
            return self.reason();
        };
        let is_it = |metric: &&MetricSummary| {
            *metric.metric == **of && metric.status == self.status && !metric.explanation.is_empty()
        };
        match self.metrics.iter().find(is_it) {
            Some(metric) => metric.explanation.as_str().into(),
            None => self.reason(),
        }
    }

    /// Whether the attempt has scores and no threshold that they are compared with.
    pub fn is_only_scored(&self) -> bool {
        let is_informational = |metric: &MetricSummary| metric.status == Status::Informational;
        self.error.is_none()
            && self.metrics.iter().all(is_informational)
            && self.metrics.iter().any(|metric| metric.score.is_some())
    }
}

/// Why no criterion decided an attempt that was not evaluated.
fn undecided(attempt: &Attempt) -> String {
    let is_decided = |metric: &MetricResult| metric.status != Status::Informational;
    if attempt.error.is_some()
        || !matches!(attempt.status, Status::NotEvaluated | Status::Informational)
        || attempt.metrics.iter().any(is_decided)
    {
        return String::new();
    }
    let scored = attempt
        .metrics
        .iter()
        .filter(|metric| metric.score.is_some())
        .count();
    match (attempt.metrics.first(), scored) {
        (None, _) => nothing_to_compare(attempt),
        (Some(metric), 0) if metric.explanation.is_empty() => "no metric has a score".into(),
        (Some(metric), 0) => metric.explanation.clone(),
        (_, scored) => {
            let metrics = counted(scored, "metric");
            // Counts and times are scored without a reference.
            let lacking = if expects_nothing(attempt) {
                format!("{}; ", nothing_to_compare(attempt))
            } else {
                String::new()
            };
            format!("{lacking}{metrics} scored, no threshold")
        }
    }
}

/// Whether a row of a data set has turns and none of them says what is expected.
fn expects_nothing(attempt: &Attempt) -> bool {
    let mut turns = attempt
        .expected
        .iter()
        .filter(|turn| !turn.history)
        .peekable();
    turns.peek().is_some()
        && turns.all(|turn| {
            turn.is_data && turn.final_response.is_none() && !turn.trajectory.is_known()
        })
}

/// What an attempt without any result lacks, in the names of the columns of a data set.
fn nothing_to_compare(attempt: &Attempt) -> String {
    let is_data = attempt.expected.iter().any(|turn| turn.is_data);
    if !is_data {
        return "no criterion was applied".into();
    }
    let expected = || attempt.expected.iter().filter(|turn| !turn.history);
    let has = |found: bool, name: &'static str| found.then_some(name);
    let said = [
        has(
            expected().any(|turn| turn.final_response.is_some()),
            "reference",
        ),
        has(
            expected().any(|turn| turn.trajectory.is_known()),
            "reference_trajectory",
        ),
        has(
            attempt
                .actual
                .iter()
                .any(|turn| turn.final_response.is_some()),
            "response",
        ),
        has(
            attempt.actual.iter().any(|turn| turn.trajectory.is_known()),
            "predicted_trajectory",
        ),
    ];
    let there: Vec<&str> = said.iter().copied().flatten().collect();
    let only = if there.is_empty() {
        String::new()
    } else {
        format!(" (it has {})", there.join(" and "))
    };
    match there.iter().any(|name| name.starts_with("reference")) {
        true => format!("no criterion was applied to the row{only}"),
        false => {
            format!("nothing to compare: the row has no reference or reference_trajectory{only}")
        }
    }
}

impl Attempt {
    /// The errors that the model reported, each with its turn, from 1.
    pub fn model_errors(&self) -> impl Iterator<Item = (usize, &ModelError)> {
        let turns = self.actual.iter().enumerate();
        turns.flat_map(|(at, turn)| turn.model_errors().map(move |error| (at + 1, error)))
    }

    /// The attempt without its turns.
    pub fn summary(&self) -> AttemptSummary {
        let judgements = || {
            self.metrics
                .iter()
                .filter_map(|metric| metric.judgement.as_ref())
        };
        AttemptSummary {
            key: self.key,
            eval_id: self.eval_id.clone(),
            status: self.status,
            adk_status: self.adk_status,
            started: self.started.clone(),
            // Older versions stored 0 where it was not known.
            latency_s: self.latency_s.filter(|seconds| *seconds > 0.0),
            failed: self.failed,
            error: self.error.clone(),
            tries: self.tries,
            turn: self.turn,
            metrics: self.metrics.iter().map(MetricResult::summary).collect(),
            asked: self.asked.clone(),
            unsteady: is_unsteady(&self.metrics),
            disagreement: judgements()
                .map(|judgement| judgement.disagreement())
                .fold(0.0, f64::max),
            spent: judgements()
                .map(|judgement| judgement.spent)
                .chain(self.user_spent)
                .reduce(JudgeUsage::and),
            expected_turns: self.expected.len(),
            actual_turns: self.actual.len(),
            first_failed_turn: first_failed_turn(self),
            causes: self.causes(),
            trajectory: trajectory_hash(self),
            end: last_end(&self.actual),
            model_errors: self
                .model_errors()
                .take(MAX_MODEL_ERRORS)
                .map(|(turn, one)| (turn, one.clone()))
                .collect(),
            tools: self.tool_use.as_ref().map(ToolUse::counts),
            undecided: undecided(self),
            setup: self
                .setup
                .clone()
                .or_else(|| ReportedSetup::new(&self.actual)),
        }
    }
}

fn last_end(turns: &[Invocation]) -> TurnEnd {
    turns
        .iter()
        .rev()
        .map(|turn| turn.end)
        .find(|end| !end.is_answered())
        .unwrap_or_default()
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
    attempt
        .metrics
        .iter()
        .filter(|metric| metric.status == Status::Failed)
        .find_map(|metric| {
            let lowest = metric
                .per_invocation
                .iter()
                .map(|turn| turn.score().unwrap_or(f64::MAX))
                .enumerate();
            lowest
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .map(|(turn, _)| turn)
        })
}

fn is_unsteady(metrics: &[MetricResult]) -> bool {
    let mut deciding = metrics
        .iter()
        .filter(|metric| metric.status != Status::Informational);
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
            explanation: self.stated_explanation().to_string(),
            variant: self.findings.iter().find_map(matched_variant),
            rubrics: self.rubrics.iter().map(|rubric| rubric.score).collect(),
            judged: self.judgement.is_some(),
            unsteady: self.is_unsteady(),
        }
    }
}

fn matched_variant(finding: &Finding) -> Option<String> {
    finding
        .text
        .clone()
        .filter(|_| finding.rule == FindingRule::VariantMatched)
}

/// Whether a metric is [`ALLOWED_TRAJECTORY`], with or without a label.
pub fn is_allowed_trajectory(metric: &str) -> bool {
    metric.split(':').next() == Some(ALLOWED_TRAJECTORY)
}

impl AsRef<AttemptSummary> for AttemptSummary {
    fn as_ref(&self) -> &AttemptSummary {
        self
    }
}
