//! ADK's metrics that a judge decides.

use super::metric_info::{BASE, Build, MetricInfo, Need, OptionInfo, judged, option};
use crate::metrics::judged::{
    Hallucinations, ResponseVerdict, RubricMetricKind, Rubrics, UserQuality,
};

const MODEL: OptionInfo = option(
    "judge_model_options",
    "judge_model, judge_model_config, num_samples, parallelism_limit",
    "gemini-2.5-flash, 5 samples",
    "the model and the number of samples; [judge] in evaltrail.toml takes precedence",
);
const INTERMEDIATE: OptionInfo = option(
    "include_intermediate_responses_in_final",
    "true or false",
    "false",
    "the agent's intermediate texts count as part of its response",
);
const RUBRICS: OptionInfo = option(
    "rubrics",
    "a list of {rubric_id, rubric_content: {text_property}}",
    "none",
    "rubrics for every turn of every case, in addition to those in the set",
);
const GROUP: OptionInfo = option(
    "rubric_group_key",
    "a name",
    "all groups",
    "the only group of rubric_groups in a data set whose rubrics are read",
);

const VOTES: &str = "The majority of the samples decides and a tie counts as no, as in ADK. The prompt is evaltrail's \
                     own. A reply that contradicts itself or only quotes the agent has no verdict, and a turn \
                     without a verdict keeps the case from passing; with compat = \"adk\" under [judge] the first \
                     match counts and such a case can pass, as in ADK.";
const RUBRIC_VOTES: &str = "A rubric's majority decides and a tie counts as no; the score is the mean over all rubrics \
                            of all turns, as in ADK. A rubric without a verdict does not count in the score, and \
                            keeps the case from passing. Each turn's replies are read with that turn's rubrics; ADK \
                            reads them with the last turn's, and so does compat = \"adk\".";

pub(super) const RESPONSE_MATCH: MetricInfo = MetricInfo {
    name: "final_response_match_v2",
    summary: "a judge's verdict on whether the response agrees with the reference",
    definition: "1 for a turn whose response a judge finds valid against the reference, else 0; the mean over the \
                 turns with a verdict.",
    choices: VOTES,
    needs: &[Need::ReferenceResponse, Need::Response, Need::Judge],
    options: &[MODEL, INTERMEDIATE],
    build: Build::Judged(|criterion, options, reading| {
        judged(ResponseVerdict::new(criterion, options, reading))
    }),
    ..BASE
};

pub(super) const RESPONSE_QUALITY: MetricInfo = MetricInfo {
    name: "rubric_based_final_response_quality_v1",
    summary: "the share of response rubrics that a judge says yes to",
    definition: "The mean over rubrics: the criterion's, and those of type FINAL_RESPONSE_QUALITY in the set, \
                 and of the groups of a data set that have no type of ADK.",
    choices: RUBRIC_VOTES,
    needs: &[Need::Rubrics, Need::Response, Need::Judge],
    options: &[MODEL, RUBRICS, GROUP, INTERMEDIATE],
    build: Build::Judged(|criterion, options, reading| {
        judged(Rubrics::new(
            RubricMetricKind::FinalResponse,
            criterion,
            options,
            reading,
        ))
    }),
    ..BASE
};

pub(super) const HALLUCINATIONS: MetricInfo = MetricInfo {
    name: "hallucinations_v1",
    summary: "the share of sentences that a judge finds supported",
    definition: "A judge splits each response into sentences, then labels each: supported and not_applicable count \
                 1; unsupported, contradictory and disputed 0. The mean over the sentences of a response, over \
                 the responses of a turn, over the turns.",
    choices: "num_samples and parallelism_limit have no effect, as in ADK: each question is sent once. The sentences \
              are stored with their labels. A sentence without a label does not count in the score, and keeps the \
              case from passing unless compat = \"adk\".",
    needs: &[Need::Events, Need::Judge],
    options: &[
        MODEL,
        option(
            "evaluate_intermediate_nl_responses",
            "true or false",
            "false",
            "each intermediate text is judged too, against the events before it",
        ),
    ],
    build: Build::Judged(|criterion, _, reading| judged(Hallucinations::new(criterion, reading))),
    ..BASE
};

pub(super) const TOOL_USE: MetricInfo = MetricInfo {
    name: "rubric_based_tool_use_quality_v1",
    summary: "the share of tool use rubrics that a judge says yes to",
    definition: "The mean over rubrics: the criterion's, and those of type TOOL_USE_QUALITY in the set. The final \
                 response is not shown to the judge.",
    choices: RUBRIC_VOTES,
    needs: &[Need::Rubrics, Need::Trajectory, Need::Judge],
    options: &[MODEL, RUBRICS, GROUP],
    build: Build::Judged(|criterion, options, reading| {
        judged(Rubrics::new(
            RubricMetricKind::ToolUse,
            criterion,
            options,
            reading,
        ))
    }),
    ..BASE
};

pub(super) const USER_QUALITY: MetricInfo = MetricInfo {
    name: "per_turn_user_simulator_quality_v1",
    summary: "whether the simulated user follows its plan",
    definition: "1 for a first message that is the starting prompt, and for each later one that a judge finds valid; \
                 the sum over the turns at or above the threshold, divided by all turns. The end of the \
                 conversation is judged too, and an early end counts against the last turn.",
    choices: VOTES,
    needs: &[Need::Scenario, Need::Judge],
    options: &[
        MODEL,
        option(
            "stop_signal",
            "a string",
            "</finished>",
            "the message that ends the conversation",
        ),
    ],
    build: Build::Judged(|criterion, options, reading| {
        judged(UserQuality::new(criterion, options, reading))
    }),
    ..BASE
};

pub(super) const TRAJECTORY_QUALITY: MetricInfo = MetricInfo {
    name: "rubric_based_multi_turn_trajectory_quality_v1",
    summary: "the share of trajectory rubrics that a judge says yes to",
    definition: "One judgement of the whole conversation. The mean over rubrics: the criterion's, and those of type \
                 TRAJECTORY_QUALITY in the set.",
    choices: RUBRIC_VOTES,
    needs: &[Need::Rubrics, Need::Events, Need::Judge],
    options: &[MODEL, RUBRICS, GROUP],
    build: Build::Judged(|criterion, options, reading| {
        judged(Rubrics::new(
            RubricMetricKind::Trajectory,
            criterion,
            options,
            reading,
        ))
    }),
    ..BASE
};
