//! The metric that `trajectory_match` replaces because of rules. It still decides about turns in which no rule is about a
//! call, so that a rule changes only what it names.

use super::criterion_error::CriterionError;
use super::matching::CallEquality;
use super::measure::{Evidence, Outcome, TurnScore, by_every_turn, by_turn};
use super::options::word_option;
use super::trajectory::TrajectoryOptions;
use super::vertex_trajectory::TrajectoryComparison;
use crate::domain::{Criterion, Invocation, MatchType};

/// The option of `trajectory_match` with the name of the metric that it replaces.
pub(super) const IN_PLACE_OF: &str = "in_place_of";

const METRICS: &[(&str, CallEquality)] = &[
    ("tool_trajectory_avg_score", CallEquality::Adk),
    ("trajectory_exact_match", CallEquality::Vertex),
    ("trajectory_in_order_match", CallEquality::Vertex),
    ("trajectory_any_order_match", CallEquality::Vertex),
];

/// How the replaced metric of a criterion compares calls; `None` if the criterion replaces none.
pub(super) fn replaced_equality(
    criterion: &Criterion,
) -> Result<Option<CallEquality>, CriterionError> {
    let expected = "tool_trajectory_avg_score, trajectory_exact_match, trajectory_in_order_match or \
                    trajectory_any_order_match";
    word_option(criterion, IN_PLACE_OF, METRICS, expected)
}

/// A replaced metric, with the match type of the criterion that replaces it.
#[derive(Clone, Copy)]
pub(super) enum ReplacedMetric {
    Adk(TrajectoryOptions),
    Vertex(TrajectoryComparison),
}

impl ReplacedMetric {
    /// The metric that compares calls like this. `None` for ignored arguments with the equality of Vertex AI, which has no such
    /// metric.
    pub(super) fn new(
        equality: CallEquality,
        match_type: MatchType,
        ignore_args: bool,
    ) -> Option<ReplacedMetric> {
        match equality {
            CallEquality::Adk => Some(ReplacedMetric::Adk(TrajectoryOptions {
                match_type,
                ignore_args,
            })),
            CallEquality::Vertex if ignore_args => None,
            CallEquality::Vertex => Some(ReplacedMetric::Vertex(match match_type {
                MatchType::Exact => TrajectoryComparison::Exact,
                MatchType::InOrder => TrajectoryComparison::InOrder,
                MatchType::AnyOrder => TrajectoryComparison::AnyOrder,
            })),
        }
    }

    /// The score of a turn in which no rule is about a call.
    pub(super) fn turn(self, expected: &Invocation, actual: &Invocation) -> TurnScore {
        match self {
            ReplacedMetric::Adk(options) => options.turn(expected, actual),
            ReplacedMetric::Vertex(comparison) => comparison.turn(expected, actual),
        }
    }

    /// Scores the turns that the metric scores.
    pub(super) fn by_turn(
        self,
        evidence: &Evidence,
        turn: impl FnMut(&Invocation, &Invocation) -> TurnScore,
    ) -> Outcome {
        match self {
            ReplacedMetric::Adk(_) => by_every_turn(evidence, turn),
            ReplacedMetric::Vertex(_) => by_turn(evidence, turn),
        }
    }
}
