//! What a metric is given, what it gives back, and what all metrics by turn share.

use crate::domain::{Attempt, Invocation, MetricDetails, Rubric, Status, Trajectory};
use serde_json::{Map, Value};

/// All that a case can be scored by. Borrowed: the same outcome is scored under many criteria.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The expected turns; `None` for a case without reference turns.
    pub expected: Option<&'a [Invocation]>,
    /// What the agent did.
    pub actual: &'a [Invocation],
    /// Seconds the agent took, where they are known.
    pub latency_s: Option<f64>,
    /// How the agent failed, if it did.
    pub error: Option<&'a str>,
    /// The session's state that is expected afterwards.
    pub expected_state: Option<&'a Value>,
    /// The session's state afterwards.
    pub actual_state: Option<&'a Value>,
    /// The case's rubrics, which hold for every turn.
    pub rubrics: &'a [Rubric],
    /// What else the case's file has, for templates that name it.
    pub variables: Option<&'a Map<String, Value>>,
    /// The scenario that a simulated user played.
    pub scenario: Option<&'a Value>,
}

impl<'a> Evidence<'a> {
    /// Expected and actual turns, and nothing else.
    pub fn turns(expected: Option<&'a [Invocation]>, actual: &'a [Invocation]) -> Evidence<'a> {
        Evidence { expected, actual, ..Evidence::default() }
    }

    /// What an attempt holds.
    pub fn of(attempt: &'a Attempt) -> Evidence<'a> {
        Evidence {
            expected: attempt.scenario.is_none().then_some(&*attempt.expected),
            actual: &attempt.actual,
            latency_s: Some(attempt.latency_s).filter(|seconds| *seconds > 0.0),
            error: attempt.error.as_deref().filter(|_| attempt.status == Status::Errored),
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
    pub(super) per_invocation: Vec<Turn>,
    pub(super) details: Vec<Option<MetricDetails>>,
    pub(super) overall: Option<MetricDetails>,
    pub(super) informational: bool,
}

/// The score of one turn, and why.
pub(super) type Turn = (Option<f64>, String);

impl Outcome {
    /// A score of the case as a whole.
    pub(super) fn whole(score: Option<f64>, explanation: String, turns: usize) -> Outcome {
        Outcome {
            score,
            explanation,
            per_invocation: vec![(score, String::new()); turns],
            ..Outcome::default()
        }
    }

    /// No score, and why.
    pub(super) fn none(explanation: impl Into<String>, turns: usize) -> Outcome {
        Outcome::whole(None, explanation.into(), turns)
    }
}

/// Scores turn by turn; the case's score is the mean. A turn that cannot be scored leaves the case
/// without a score, since a mean over the others would hide it.
pub(super) fn by_turn(
    evidence: &Evidence,
    mut turn: impl FnMut(&Invocation, &Invocation) -> Turn,
) -> Outcome {
    // Of a file's history nothing is expected: only the turns after it are scored.
    let scored = evidence.expected.is_some_and(|turns| turns.iter().any(|turn| !turn.history));
    let mut outcome = by_every_turn(evidence, |expected, actual| match scored && expected.history {
        true => (None, HISTORY.to_string()),
        false => turn(expected, actual),
    });
    if scored && outcome.per_invocation.iter().any(|(_, why)| why == HISTORY) {
        let rest: Vec<Turn> =
            outcome.per_invocation.iter().filter(|(_, why)| why != HISTORY).cloned().collect();
        let of_rest = of_turns(rest);
        (outcome.score, outcome.explanation) = (of_rest.score, of_rest.explanation);
    }
    outcome
}

const HISTORY: &str = "history: nothing is expected of this turn";

/// The same for ADK's metrics, to which every turn counts.
pub(super) fn by_every_turn(
    evidence: &Evidence,
    mut turn: impl FnMut(&Invocation, &Invocation) -> Turn,
) -> Outcome {
    let Some(expected) = evidence.expected else {
        return Outcome::none(
            "the case expects nothing: a scenario has no reference turns",
            evidence.actual.len(),
        );
    };
    if let Some(outcome) = unlike_turns(expected.len(), evidence.actual.len()) {
        return outcome;
    }
    let turns: Vec<Turn> = expected.iter().zip(evidence.actual).map(|(e, a)| turn(e, a)).collect();
    of_turns(turns)
}

/// The same for metrics that need no reference.
pub(super) fn by_actual_turn(evidence: &Evidence, turn: impl Fn(&Invocation) -> Turn) -> Outcome {
    of_turns(evidence.actual.iter().map(turn).collect())
}

fn of_turns(per_invocation: Vec<Turn>) -> Outcome {
    let scored = per_invocation.iter().filter(|(score, _)| score.is_some()).count();
    let score = match scored == per_invocation.len() {
        true => mean(per_invocation.iter().filter_map(|(score, _)| *score)),
        false => None,
    };
    let explanation = explain(&per_invocation, score);
    Outcome { score, explanation, per_invocation, ..Outcome::default() }
}

/// The one turn's reason, or the lowest turn's.
fn explain(turns: &[Turn], score: Option<f64>) -> String {
    if let [(_, why)] = turns {
        return why.clone();
    }
    let Some(score) = score else {
        let unscored = turns.iter().position(|(score, _)| score.is_none());
        return unscored
            .map_or("there are no turns to score".into(), |at| format!("turn {}: {}", at + 1, turns[at].1));
    };
    let lowest = (0..turns.len())
        .min_by(|&a, &b| turns[a].0.unwrap_or(f64::MAX).total_cmp(&turns[b].0.unwrap_or(f64::MAX)));
    let lowest = lowest.map(|at| format!("; lowest in turn {}: {}", at + 1, turns[at].1));
    format!("mean of {} turns {score:.2}{}", turns.len(), lowest.unwrap_or_default())
}

/// Unlike numbers of turns cannot be compared, in ADK neither.
pub(super) fn unlike_turns(expected: usize, actual: usize) -> Option<Outcome> {
    (expected != actual).then(|| {
        let why = format!("the case expects {} and the agent took {}", turns(expected), turns(actual));
        Outcome::none(why, actual)
    })
}

fn turns(count: usize) -> String {
    if count == 1 { "1 turn".into() } else { format!("{count} turns") }
}

/// The mean; nothing of nothing.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Why one side's calls are not known, if they are not: unknown is not the same as none.
pub(super) fn unknown_calls(expected: &Invocation, actual: &Invocation) -> Option<String> {
    if expected.trajectory == Trajectory::Unknown {
        return Some("the file does not say which calls are expected".into());
    }
    (actual.trajectory == Trajectory::Unknown).then(|| "it is not known which calls the agent made".into())
}

/// 1 or 0.
pub(super) fn flag(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}
