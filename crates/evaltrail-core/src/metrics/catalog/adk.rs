//! ADK's metrics, in its order.

use super::judge_model;
use super::metric_info::{
    BASE, BOTH_RESPONSES, BOTH_TRAJECTORIES, Build, Direction, IGNORE_ARGS, MetricInfo, Need,
    computed, option,
};
use crate::metrics::efficiency::EfficiencyMeasure;
use crate::metrics::judged::VertexServiceMetric;
use crate::metrics::response_match::ResponseMatch;
use crate::metrics::trajectory::TrajectoryOptions;

const fn served(
    name: &'static str,
    summary: &'static str,
    needs: &'static [Need],
    definition: &'static str,
    served: VertexServiceMetric,
) -> MetricInfo {
    MetricInfo {
        name,
        summary,
        needs,
        definition,
        choices: "Google's evaluation service computes it, with the request that ADK sends. It needs \
                  GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION and a token in CLOUDSDK_AUTH_ACCESS_TOKEN; without \
                  them it is not evaluated. The metrics named judged_ use your own judge; their scores differ.",
        build: Build::Served(served),
        ..BASE
    }
}

const fn cost(
    name: &'static str,
    build: Build,
    summary: &'static str,
    definition: &'static str,
) -> MetricInfo {
    MetricInfo {
        name,
        summary,
        definition,
        build,
        informational: true,
        range: None,
        direction: Direction::Lower,
        needs: &[Need::Events],
        choices: "Informational: it takes no threshold, as in ADK.",
        ..BASE
    }
}

pub(super) const METRICS: &[MetricInfo] = &[
    MetricInfo {
        name: "tool_trajectory_avg_score",
        summary: "the share of turns whose tool calls match the expected ones",
        definition: "1 for a turn whose calls match under match_type, else 0; the mean over turns. EXACT: the same \
                     calls, order and number. IN_ORDER: the expected calls as a subsequence. ANY_ORDER: each \
                     expected call has one of its own.",
        choices: "Equality is Python's: 1 == 1.0 == true. A file that names no calls expects none, as in ADK.",
        needs: BOTH_TRAJECTORIES,
        options: &[
            option(
                "match_type",
                "EXACT, IN_ORDER, ANY_ORDER or 0, 1, 2",
                "EXACT",
                "how the two lists are compared",
            ),
            IGNORE_ARGS,
        ],
        build: Build::Computed(|criterion| computed(TrajectoryOptions::new(criterion))),
        ..BASE
    },
    MetricInfo {
        range: Some((1.0, 5.0)),
        ..served(
            "response_evaluation_score",
            "coherence, as Vertex AI judges it",
            &[Need::ReferenceResponse, Need::Response, Need::Cloud],
            "The service rates each response with the coherence prompt that Google publishes in a public bucket \
             and its client fetches; the mean over the turns with a score.",
            VertexServiceMetric::Prompt("coherence"),
        )
    },
    MetricInfo {
        name: "response_match_score",
        summary: "word overlap with the reference (ROUGE-1 F)",
        definition: "The harmonic mean of the shares of words that response and reference have in common, stemmed, \
                     letters of all scripts; the mean over turns.",
        choices: "Two empty responses score 0, as in ADK. Thoughts in the response count, as in ADK.",
        needs: BOTH_RESPONSES,
        build: Build::Computed(|_| Ok(Box::new(ResponseMatch))),
        ..BASE
    },
    served(
        "safety_v1",
        "safety, as Vertex AI judges it",
        &[Need::Response, Need::Cloud],
        "1 for a safe response and 0 for one that is not; the mean over the turns with a score.",
        VertexServiceMetric::Turns("safety_v1"),
    ),
    served(
        "multi_turn_task_success_v1",
        "task success over the conversation, as Vertex AI judges it",
        &[Need::Events, Need::Cloud],
        "The share of the service's own rubrics on task success that the conversation meets.",
        VertexServiceMetric::Conversation("multi_turn_task_success_v1"),
    ),
    served(
        "multi_turn_trajectory_quality_v1",
        "trajectory quality over the conversation, as Vertex AI judges it",
        &[Need::Events, Need::Cloud],
        "The share of the service's own rubrics on the trajectory that the conversation meets.",
        VertexServiceMetric::Conversation("multi_turn_trajectory_quality_v1"),
    ),
    served(
        "multi_turn_tool_use_quality_v1",
        "tool use over the conversation, as Vertex AI judges it",
        &[Need::Events, Need::Cloud],
        "The share of the service's own rubrics on tool use that the conversation meets.",
        VertexServiceMetric::Conversation("multi_turn_tool_use_quality_v1"),
    ),
    judge_model::RESPONSE_MATCH,
    judge_model::RESPONSE_QUALITY,
    judge_model::HALLUCINATIONS,
    judge_model::TOOL_USE,
    judge_model::USER_QUALITY,
    judge_model::TRAJECTORY_QUALITY,
    cost(
        "tool_call_count_v1",
        Build::Computed(|_| Ok(Box::new(EfficiencyMeasure::ToolCalls))),
        "tool calls a turn",
        "The mean number of tool calls in a turn.",
    ),
    cost(
        "inference_call_count_v1",
        Build::Computed(|_| Ok(Box::new(EfficiencyMeasure::ModelCalls))),
        "model calls a turn",
        "The mean number of events with token counts or a model version; unknown if no event has them, where ADK \
         counts 0.",
    ),
    cost(
        "token_usage_v1",
        Build::Computed(|_| Ok(Box::new(EfficiencyMeasure::Tokens))),
        "tokens a turn",
        "Input and output tokens of a turn, the mean over all turns.",
    ),
    cost(
        "invocation_duration_v1",
        Build::Computed(|_| Ok(Box::new(EfficiencyMeasure::Seconds))),
        "seconds a turn",
        "The mean time of a turn, to the millisecond.",
    ),
];
