//! evaltrail's own metrics.

use super::metric_info::{
    BASE, BOTH_TRAJECTORIES, Build, Family, IGNORE_ARGS, MetricInfo, Need, OptionInfo, computed,
    option,
};
use crate::metrics::intermediate::IntermediateResponses;
use crate::metrics::matched::{MatchReading, MatchedCalls};
use crate::metrics::state::SessionState;

const OWN_OPTIONS: &[OptionInfo] = &[IGNORE_ARGS, RULES];
const RULES: OptionInfo = option(
    "[[match]]",
    "rules in evaltrail.toml",
    "none",
    "how arguments are compared, which calls must or must not come",
);

const fn own(
    name: &'static str,
    build: Build,
    summary: &'static str,
    definition: &'static str,
) -> MetricInfo {
    MetricInfo {
        name,
        family: Family::Own,
        summary,
        definition,
        choices: "Pairs are one to one and as many as can be: A A made against A expected has precision 0.5 and \
                  recall 1. Of no calls made, precision is 1; of none expected, recall is 1. Optional calls that are not made \
                  are not missed. Arguments are equal as in ADK (1 is 1.0 and true).",
        needs: BOTH_TRAJECTORIES,
        options: OWN_OPTIONS,
        source: "evaltrail",
        build,
        ..BASE
    }
}

pub(super) const METRICS: &[MetricInfo] = &[
    MetricInfo {
        options: &[
            option(
                "mode",
                "strict, strict_by_message, in_order, unordered, subset or superset",
                "strict",
                "when two trajectories match",
            ),
            IGNORE_ARGS,
            RULES,
            option(
                "in_place_of",
                "tool_trajectory_avg_score or a trajectory metric of Vertex AI",
                "none",
                "the metric that rules replaced; it compares calls that no rule is about",
            ),
        ],
        ..own(
            "trajectory_match",
            Build::Computed(|criterion| {
                computed(MatchedCalls::new(MatchReading::Match, criterion))
            }),
            "the share of turns whose calls match under the rules of [[match]]",
            "1 for a turn whose calls match under the mode, else 0; the mean over turns. strict: the same calls in \
             order. strict_by_message: the same, with the calls of one message in any order; not evaluated if messages \
             are unknown. in_order: as a subsequence. unordered: the same calls in any order. subset: nothing but \
             expected calls. superset: all expected calls, others allowed. Violated rules about calls: 0.",
        )
    },
    own(
        "trajectory_match_precision",
        Build::Computed(|criterion| {
            computed(MatchedCalls::new(MatchReading::Precision, criterion))
        }),
        "the share of calls made that are paired with an expected call",
        "Pairs by calls made, the mean over turns.",
    ),
    own(
        "trajectory_match_recall",
        Build::Computed(|criterion| computed(MatchedCalls::new(MatchReading::Recall, criterion))),
        "the share of expected calls that are paired with a call made",
        "Pairs by calls expected, the mean over turns.",
    ),
    own(
        "trajectory_match_f1",
        Build::Computed(|criterion| computed(MatchedCalls::new(MatchReading::F1, criterion))),
        "the harmonic mean of trajectory_match_precision and trajectory_match_recall",
        "2PR / (P + R) in each turn, the mean over turns.",
    ),
    MetricInfo {
        name: "intermediate_response_match",
        family: Family::Own,
        summary: "how far the agents give the expected intermediate responses, each by its agent and in order",
        definition: "Expected responses of a turn are paired with actual ones of the same agent, in order, so that the sum \
                     of ROUGE-1 over the pairs is largest; the turn's score is the sum divided by the number of expected \
                     responses. The mean over the turns that expect some.",
        choices: "ROUGE-1 is that of response_match_score. Further responses of agents do not matter. A case that expects no \
                  intermediate responses, or of which they are not known, is not evaluated. An expected response without an \
                  author may be by any agent. ADK and Vertex compare intermediate responses in no metric.",
        needs: &[Need::Events],
        source: "evaltrail",
        build: Build::Computed(|criterion| computed(IntermediateResponses::new(criterion))),
        ..BASE
    },
    MetricInfo {
        name: "session_state_match",
        family: Family::Own,
        summary: "whether the final session state matches final_session_state",
        definition: "1 when the state contains all that is expected (subset) or is equal to it (exact), else 0.",
        choices: "It decides each case that has a final_session_state, with threshold 1, whether or not a criterion \
                  requests it; a criterion sets the mode, or threshold 0. Entries are compared inside objects, lists as \
                  a whole. ADK declares final_session_state and never compares it, so its status is not affected. An \
                  empty one counts as absent. If the agent reports no state, it is not evaluated.",
        needs: &[Need::State],
        options: &[option(
            "mode",
            "subset or exact",
            "subset",
            "whether the state may contain more than expected",
        )],
        source: "evaltrail",
        build: Build::Computed(|criterion| computed(SessionState::new(criterion))),
        ..BASE
    },
];
