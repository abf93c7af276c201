//! Vertex AI's trajectory metrics, as its documentation defines them; the score of a case with several turns is their
//! mean. Decisions where the documentation leaves something open are in the catalog's `choices`.

use super::call_rules::miscounted;
use super::criterion_error::CriterionError;
use super::measure::{
    Evidence, Measure, Outcome, TurnScore, UNKNOWN_CALLS, by_actual_turn, by_turn, flag,
    unknown_calls,
};
use super::trajectory::{TrajectoryOptions, about_call, findings_of};
use crate::diff::json_equal;
use crate::domain::{Criterion, Finding, FindingRule, Invocation, MatchType, ToolCall};

/// The metrics that compare two trajectories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TrajectoryComparison {
    Exact,
    InOrder,
    AnyOrder,
    Precision,
    Recall,
}

impl Measure for TrajectoryComparison {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        by_turn(evidence, |expected, actual| self.turn(expected, actual))
    }
}

impl TrajectoryComparison {
    /// The score of a turn.
    pub(super) fn turn(self, expected: &Invocation, actual: &Invocation) -> TurnScore {
        match unknown_calls(expected, actual) {
            Some(why) => TurnScore::unscored(why),
            None => self.compare(&expected.calls(), &actual.calls()),
        }
    }

    fn compare(self, reference: &[&ToolCall], predicted: &[&ToolCall]) -> TurnScore {
        let (fits, match_type) = match self {
            TrajectoryComparison::Precision => {
                return share(
                    predicted,
                    reference,
                    "made",
                    "expected",
                    FindingRule::CallExtra,
                );
            }
            TrajectoryComparison::Recall => {
                return share(
                    reference,
                    predicted,
                    "expected",
                    "made",
                    FindingRule::CallMissing,
                );
            }
            TrajectoryComparison::Exact => {
                let same = reference
                    .iter()
                    .zip(predicted)
                    .all(|(r, p)| same_call(r, p));
                (same && reference.len() == predicted.len(), MatchType::Exact)
            }
            TrajectoryComparison::InOrder => {
                let mut rest = predicted.iter();
                (
                    reference.iter().all(|r| rest.any(|p| same_call(r, p))),
                    MatchType::InOrder,
                )
            }
            TrajectoryComparison::AnyOrder => (
                each_call_has_a_match(reference, predicted),
                MatchType::AnyOrder,
            ),
        };
        match fits {
            true => TurnScore::scored(
                1.0,
                format!("{} expected, {} made", reference.len(), predicted.len()),
            ),
            false => {
                let options = TrajectoryOptions {
                    match_type,
                    ignore_args: false,
                };
                TurnScore::scored(0.0, "").because(findings_of(options, reference, predicted))
            }
        }
    }
}

/// Whether the calls of `need` can be paired one to one with calls of `have`.
fn each_call_has_a_match(need: &[&ToolCall], have: &[&ToolCall]) -> bool {
    let mut left: Vec<&ToolCall> = have.to_vec();
    need.iter().all(
        |call| match left.iter().position(|other| same_call(call, other)) {
            Some(at) => {
                left.swap_remove(at);
                true
            }
            None => false,
        },
    )
}

/// The share of `these` calls that occur anywhere among `those`; each repetition counts.
fn share(
    these: &[&ToolCall],
    those: &[&ToolCall],
    this: &str,
    that: &str,
    otherwise: FindingRule,
) -> TurnScore {
    if these.is_empty() {
        return TurnScore::unscored(format!("no calls are {this}: 0/0 has no value"));
    }
    let alone = |(_, call): &(usize, &&ToolCall)| !those.iter().any(|other| same_call(call, other));
    let alone: Vec<Finding> = these
        .iter()
        .enumerate()
        .filter(alone)
        .map(|(at, call)| about_call(otherwise, at, call))
        .collect();
    let found = these.len() - alone.len();
    let measured = format!("{found} of {} calls {this} are also {that}", these.len());
    TurnScore::scored(found as f64 / these.len() as f64, measured).because(alone)
}

/// Whether two calls are equal as JSON: numbers by value, `true` is not 1, in any order of keys. Absent arguments
/// count as empty, since a trajectory's `tool_input` is an object. Calls whose arguments are not known are equal by name.
pub(super) fn same_call(a: &ToolCall, b: &ToolCall) -> bool {
    let no_args = serde_json::Map::new();
    let (x, y) = (
        a.args.as_ref().unwrap_or(&no_args),
        b.args.as_ref().unwrap_or(&no_args),
    );
    let is_unknown = a.args_unknown || b.args_unknown;
    let is_equal = || {
        x.len() == y.len()
            && x.iter()
                .all(|(key, v)| y.get(key).is_some_and(|w| json_equal(v, w)))
    };
    a.name == b.name && (is_unknown || is_equal())
}

/// `trajectory_single_tool_use`: whether a tool was called at all.
pub(super) struct SingleToolUse {
    tool: String,
}

impl SingleToolUse {
    pub(super) fn new(criterion: &Criterion) -> Result<Self, CriterionError> {
        let tool = criterion
            .option("tool_name", "toolName")
            .and_then(|value| value.as_str());
        // `trajectory_single_tool_use:search` without an option means the tool `search`.
        let label = criterion.metric.split_once(':').map(|(_, label)| label);
        match tool.or(label).filter(|tool| !tool.is_empty()) {
            Some(tool) => Ok(SingleToolUse {
                tool: tool.to_string(),
            }),
            None => Err(CriterionError::Option {
                option: "tool_name",
                expected: "the name of a tool, here or as trajectory_single_tool_use:NAME",
                found: "none".into(),
            }),
        }
    }
}

impl Measure for SingleToolUse {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        by_actual_turn(evidence, |turn| {
            if !turn.trajectory.is_known() {
                return TurnScore::unscored(UNKNOWN_CALLS);
            }
            let count = turn
                .calls()
                .iter()
                .filter(|call| call.name == self.tool)
                .count();
            match count {
                0 => TurnScore::scored(0.0, "").because(vec![miscounted(
                    FindingRule::ToolCalledTooRarely,
                    &self.tool,
                    1,
                    0,
                )]),
                1 => TurnScore::scored(1.0, format!("{} was called once", self.tool)),
                n => TurnScore::scored(1.0, format!("{} was called {n} times", self.tool)),
            }
        })
    }
}

/// `latency_in_seconds`: how long the agent took.
pub(super) struct Latency;

impl Measure for Latency {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        let turns = evidence.actual.len();
        match evidence.latency_s {
            Some(seconds) => Outcome::whole(Some(seconds), format!("{seconds} s"), turns),
            None => Outcome::none("it is not known how long the agent took", turns),
        }
    }
}

/// `failure`: whether the agent failed.
pub(super) struct Failure;

impl Measure for Failure {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        let turns = evidence.actual.len();
        match (evidence.error, evidence.failed) {
            (Some(error), _) => {
                Outcome::whole(Some(1.0), format!("the agent failed: {error}"), turns)
            }
            (None, Some(failed)) => {
                let why = if failed {
                    "the agent failed"
                } else {
                    "the agent answered"
                };
                Outcome::whole(Some(flag(failed)), why.into(), turns)
            }
            (None, None) => Outcome::none("it is not known whether the agent failed", turns),
        }
    }
}
