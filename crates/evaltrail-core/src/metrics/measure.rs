//! The input and output of metrics, and helpers for metrics that score turn by turn.

use super::sentences::reasons;
use crate::domain::counted;
use crate::domain::{
    Attempt, Finding, FindingRule, Invocation, MetricDetails, Rubric, Status, compared_texts,
    score_text,
};
use serde_json::{Map, Value};

/// Everything that a case can be scored by. Borrowed: the same attempt is scored under many criteria.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The expected turns; `None` for a case without reference turns.
    pub expected: Option<&'a [Invocation]>,
    /// What the agent did.
    pub actual: &'a [Invocation],
    /// Seconds that the agent took, if known.
    pub latency_s: Option<f64>,
    /// Whether the agent failed; `None` if unknown.
    pub failed: Option<bool>,
    /// How the agent failed, if it did.
    pub error: Option<&'a str>,
    /// The expected final session state.
    pub expected_state: Option<&'a Value>,
    /// The actual final session state.
    pub actual_state: Option<&'a Value>,
    /// The case's rubrics, which apply to every turn.
    pub rubrics: &'a [Rubric],
    /// Other fields of the case's file, for templates that name them.
    pub variables: Option<&'a Map<String, Value>>,
    /// The scenario that a simulated user played.
    pub scenario: Option<&'a Value>,
}

impl<'a> Evidence<'a> {
    /// Expected and actual turns, and nothing else.
    pub fn turns(expected: Option<&'a [Invocation]>, actual: &'a [Invocation]) -> Evidence<'a> {
        Evidence {
            expected,
            actual,
            ..Evidence::default()
        }
    }

    /// The evidence of an attempt.
    pub fn from_attempt(attempt: &'a Attempt) -> Evidence<'a> {
        Evidence {
            expected: attempt.scenario.is_none().then_some(&*attempt.expected),
            actual: &attempt.actual,
            // Older versions stored 0 where it was not known.
            latency_s: attempt.latency_s.filter(|seconds| *seconds > 0.0),
            failed: attempt.failed,
            error: attempt
                .error
                .as_deref()
                .filter(|_| attempt.status == Status::Errored),
            expected_state: attempt.expected_state.as_ref(),
            actual_state: attempt.actual_state.as_ref(),
            rubrics: &attempt.rubrics,
            variables: Some(&attempt.variables),
            scenario: attempt.scenario.as_ref(),
        }
    }
}

/// A metric with its options read, ready to score any number of cases.
pub(super) trait Measure: Send + Sync {
    /// Scores one case.
    fn measure(&self, evidence: &Evidence, threshold: Option<f64>) -> Outcome;
}

/// What a metric computes, before it is compared with the threshold.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) score: Option<f64>,
    pub(super) explanation: String,
    /// Findings about the case as a whole; findings about a turn are in the turn.
    pub(super) findings: Vec<Finding>,
    pub(super) per_invocation: Vec<TurnScore>,
    pub(super) details: Vec<Option<MetricDetails>>,
    pub(super) overall: Option<MetricDetails>,
    pub(super) informational: bool,
}

/// The score of one turn, and why.
#[derive(Clone, Default)]
pub(super) struct TurnScore {
    pub(super) score: Option<f64>,
    /// What was counted, in words; empty where the findings contain everything.
    pub(super) measured: String,
    pub(super) findings: Vec<Finding>,
    /// A turn for which nothing is expected, for example one of the file's history.
    pub(super) is_history: bool,
}

impl TurnScore {
    /// A score, and what was counted for it.
    pub(super) fn scored(score: f64, measured: impl Into<String>) -> TurnScore {
        TurnScore {
            score: Some(score),
            measured: measured.into(),
            ..TurnScore::default()
        }
    }

    /// A score of the response, with a finding if it is below 1.
    pub(super) fn of_response(score: f64, measured: impl Into<String>) -> TurnScore {
        let findings = match score < 1.0 {
            true => vec![Finding::new(FindingRule::ResponseDiffers)],
            false => Vec::new(),
        };
        TurnScore::scored(score, measured).because(findings)
    }

    /// A turn that cannot be scored, and why.
    pub(super) fn unscored(why: impl Into<String>) -> TurnScore {
        TurnScore {
            findings: vec![Finding::text(FindingRule::NotEvaluated, why)],
            ..TurnScore::default()
        }
    }

    /// Adds reasons for the score.
    pub(super) fn because(mut self, findings: Vec<Finding>) -> TurnScore {
        self.findings.extend(findings);
        self
    }

    /// What was counted, and the first reasons for the score.
    pub(super) fn describe(&self) -> String {
        let reasons = reasons(&self.findings);
        match (self.measured.is_empty(), reasons.is_empty()) {
            (_, true) => self.measured.clone(),
            (true, _) => reasons,
            (false, false) => format!("{}: {reasons}", self.measured),
        }
    }
}

impl Outcome {
    /// A score of the case as a whole.
    pub(super) fn whole(score: Option<f64>, explanation: String, turns: usize) -> Outcome {
        let turn = TurnScore {
            score,
            ..TurnScore::default()
        };
        Outcome {
            score,
            explanation,
            per_invocation: vec![turn; turns],
            ..Outcome::default()
        }
    }

    /// A score of the case as a whole, and the reasons for it.
    pub(super) fn because(score: f64, findings: Vec<Finding>, turns: usize) -> Outcome {
        Outcome {
            findings: findings.clone(),
            ..Outcome::whole(Some(score), reasons(&findings), turns)
        }
    }

    /// No score, and why.
    pub(super) fn none(why: impl Into<String>, turns: usize) -> Outcome {
        let why: String = why.into();
        let findings = vec![Finding::text(FindingRule::NotEvaluated, why.clone())];
        Outcome {
            findings,
            ..Outcome::whole(None, why, turns)
        }
    }
}

/// Scores turn by turn; the case's score is the mean. If a turn cannot be scored, the case has no score, since a mean
/// over the others would hide it.
pub(super) fn by_turn(
    evidence: &Evidence,
    mut turn: impl FnMut(&Invocation, &Invocation) -> TurnScore,
) -> Outcome {
    // Nothing is expected for a file's history: only the turns after it are scored.
    let scored = evidence
        .expected
        .is_some_and(|turns| turns.iter().any(|turn| !turn.history));
    let mut outcome = all_turns(evidence, |expected, actual| {
        match scored && expected.history {
            true => TurnScore {
                measured: HISTORY.into(),
                is_history: true,
                ..TurnScore::default()
            },
            false => turn(expected, actual),
        }
    });
    if outcome.per_invocation.iter().any(|turn| turn.is_history) {
        let rest: Vec<TurnScore> = outcome
            .per_invocation
            .iter()
            .filter(|turn| !turn.is_history)
            .cloned()
            .collect();
        let of_rest = of_turns(rest);
        (outcome.score, outcome.explanation) = (of_rest.score, of_rest.explanation);
    }
    outcome
}

const HISTORY: &str = "history: nothing is expected of this turn";

/// Why a turn without an expected response has no score.
pub(super) const NO_REFERENCE: &str = "there is no reference response";

/// Like [`by_turn`], for ADK's metrics, which score every turn of ADK's cases. ADK has no data sets with a history.
pub(super) fn by_every_turn(
    evidence: &Evidence,
    turn: impl FnMut(&Invocation, &Invocation) -> TurnScore,
) -> Outcome {
    match evidence
        .expected
        .is_some_and(|turns| turns.iter().any(|turn| turn.is_data))
    {
        true => by_turn(evidence, turn),
        false => all_turns(evidence, turn),
    }
}

fn all_turns(
    evidence: &Evidence,
    mut turn: impl FnMut(&Invocation, &Invocation) -> TurnScore,
) -> Outcome {
    let Some(expected) = evidence.expected else {
        return Outcome::none(
            "the case is a scenario and has no reference turns",
            evidence.actual.len(),
        );
    };
    if let Some(why) = turn_count_mismatch(expected.len(), evidence.actual.len()) {
        return Outcome::none(why, evidence.actual.len());
    }
    of_turns(
        expected
            .iter()
            .zip(evidence.actual)
            .map(|(e, a)| turn(e, a))
            .collect(),
    )
}

/// Like [`by_turn`], for metrics that need no reference.
pub(super) fn by_actual_turn(
    evidence: &Evidence,
    turn: impl Fn(&Invocation) -> TurnScore,
) -> Outcome {
    of_turns(evidence.actual.iter().map(turn).collect())
}

/// The outcome of turns that are all scored.
pub(super) fn of_turns(per_invocation: Vec<TurnScore>) -> Outcome {
    let scored = per_invocation
        .iter()
        .filter(|turn| turn.score.is_some())
        .count();
    let score = match scored == per_invocation.len() {
        true => mean(per_invocation.iter().filter_map(|turn| turn.score)),
        false => None,
    };
    let explanation = explain(&per_invocation, score);
    Outcome {
        score,
        explanation,
        per_invocation,
        ..Outcome::default()
    }
}

/// The explanation of the only turn, or of the lowest one.
fn explain(turns: &[TurnScore], score: Option<f64>) -> String {
    if let [turn] = turns {
        return turn.describe();
    }
    let Some(score) = score else {
        let unscored = turns.iter().position(|turn| turn.score.is_none());
        return unscored.map_or("there are no turns to score".into(), |at| {
            format!("turn {}: {}", at + 1, turns[at].describe())
        });
    };
    let lowest = (0..turns.len()).min_by(|&a, &b| {
        turns[a]
            .score
            .unwrap_or(f64::MAX)
            .total_cmp(&turns[b].score.unwrap_or(f64::MAX))
    });
    let lowest = lowest.map(|at| format!("lowest in turn {}: {}; ", at + 1, turns[at].describe()));
    format!(
        "{}mean of {} turns {}",
        lowest.unwrap_or_default(),
        turns.len(),
        score_text(score)
    )
}

/// A score and the threshold that is needed, as "0.667, 0.67 needed".
pub(super) fn with_threshold(score: f64, threshold: Option<f64>) -> String {
    match threshold {
        Some(needed) => format!("{}, {needed} needed", compared_texts(score, needed).0),
        None => score_text(score),
    }
}

/// Why different numbers of turns cannot be compared. ADK does not compare them, either.
pub(super) fn turn_count_mismatch(expected: usize, actual: usize) -> Option<String> {
    (expected != actual).then(|| {
        format!(
            "the case expects {} and the agent took {}",
            counted(expected, "turn"),
            counted(actual, "turn")
        )
    })
}

pub(super) use crate::domain::mean;

/// Why the calls of one side are not known, if they are not. Unknown is different from none.
pub(super) fn unknown_calls(expected: &Invocation, actual: &Invocation) -> Option<&'static str> {
    if !expected.trajectory.is_known() {
        return Some("the file does not say which calls are expected");
    }
    (!actual.trajectory.is_known()).then_some(UNKNOWN_CALLS)
}

/// Why a metric of the calls that were made has no score.
pub(super) const UNKNOWN_CALLS: &str = "it is not known which calls the agent made";

/// 1 or 0.
pub(super) fn flag(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}
