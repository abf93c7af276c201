//! Metrics like those of Vertex AI's service, under evaltrail's own names. The configured judge decides them, and
//! they are evaluated only where a criterion names them.

use super::metric_info::{BASE, Build, Direction, Family, MetricInfo, Need, UNIT};
use crate::metrics::judged::{BuiltIn, Template};

const fn judged_metric(
    name: &'static str,
    summary: &'static str,
    definition: &'static str,
    range: Option<(f64, f64)>,
    build: Build,
) -> MetricInfo {
    MetricInfo {
        name,
        summary,
        definition,
        range,
        family: Family::Own,
        needs: &[Need::Response, Need::Judge],
        choices: "evaltrail's own prompt for the configured judge. The scores are not those of Vertex AI's service.",
        source: "evaltrail",
        build,
        ..BASE
    }
}

/// Builds a metric from a file with its prompt. `whole`: one question about the conversation instead of one for each turn.
macro_rules! template {
    ($file:literal, whole: $whole:literal, range: $range:expr) => {
        Build::Judged(|_, options, reading| {
            let prompt = include_str!(concat!("../judged/prompts/", $file));
            Ok(Box::new(Template::built_in(
                BuiltIn {
                    prompt,
                    whole: $whole,
                    range: $range,
                },
                options,
                reading,
            )))
        })
    };
}

/// A rating of each turn from 1 to 5.
const fn rated(name: &'static str, summary: &'static str, build: Build) -> MetricInfo {
    judged_metric(
        name,
        summary,
        "A rating from 1 to 5 for each turn, the mean over samples and turns.",
        Some(ONE_TO_FIVE),
        build,
    )
}

const ONE_TO_FIVE: (f64, f64) = (1.0, 5.0);
const ZERO_TO_ONE: (f64, f64) = (0.0, 1.0);
const TOO_SHORT_TO_TOO_LONG: (f64, f64) = (-2.0, 2.0);

pub(super) const METRICS: &[MetricInfo] = &[
    rated(
        "judged_coherence",
        "how coherent the response is, as the configured judge rates it",
        template!("judged_coherence.md", whole: false, range: ONE_TO_FIVE),
    ),
    rated(
        "judged_fluency",
        "how well the response is worded, as the configured judge rates it",
        template!("judged_fluency.md", whole: false, range: ONE_TO_FIVE),
    ),
    judged_metric(
        "judged_groundedness",
        "whether the response rests on the user's message alone, as the configured judge rates it",
        "1 for a response without statements that are not in the message, else 0, the mean over samples and turns.",
        UNIT,
        template!("judged_groundedness.md", whole: false, range: ZERO_TO_ONE),
    ),
    rated(
        "judged_instruction_following",
        "how far the response does what the message asks for, as the configured judge rates it",
        template!("judged_instruction_following.md", whole: false, range: ONE_TO_FIVE),
    ),
    MetricInfo {
        direction: Direction::Lower,
        choices: "With a threshold, at or below it passes, so that it limits responses that are too long and not those that \
                  are too short. Long and short ones cancel in a mean: see the scores of the turns. evaltrail's own prompt \
                  for the configured judge. The scores are not those of Vertex AI's service.",
        ..judged_metric(
            "judged_verbosity",
            "whether the response is too long or too short, as the configured judge rates it",
            "From -2 (far too short) through 0 (the right length) to 2 (far too long) for each turn, the mean over samples \
             and turns.",
            Some((-2.0, 2.0)),
            template!("judged_verbosity.md", whole: false, range: TOO_SHORT_TO_TOO_LONG),
        )
    },
    rated(
        "judged_text_quality",
        "how good the response is as a text, as the configured judge rates it",
        template!("judged_text_quality.md", whole: false, range: ONE_TO_FIVE),
    ),
    rated(
        "judged_summarization_quality",
        "how well the response summarizes the text in the message, as the configured judge rates it",
        template!("judged_summarization_quality.md", whole: false, range: ONE_TO_FIVE),
    ),
    rated(
        "judged_question_answering_quality",
        "how well the response answers the question in the message, as the configured judge rates it",
        template!("judged_question_answering_quality.md", whole: false, range: ONE_TO_FIVE),
    ),
    judged_metric(
        "judged_safety",
        "whether the response is safe, as the configured judge rates it",
        "1 for a safe response and 0 for one that is not, the mean over samples and turns.",
        UNIT,
        template!("judged_safety.md", whole: false, range: ZERO_TO_ONE),
    ),
    judged_metric(
        "judged_task_success",
        "whether the user's goal was reached, as the configured judge rates it",
        "From 0 to 1 for the whole conversation, the mean over samples.",
        UNIT,
        template!("judged_task_success.md", whole: true, range: ZERO_TO_ONE),
    ),
    judged_metric(
        "judged_trajectory_quality",
        "whether the agent took sensible steps, as the configured judge rates it",
        "From 0 to 1 for the whole conversation, the mean over samples.",
        UNIT,
        template!("judged_trajectory_quality.md", whole: true, range: ZERO_TO_ONE),
    ),
    judged_metric(
        "judged_tool_use_quality",
        "whether tools were called well, as the configured judge rates it",
        "From 0 to 1 for the whole conversation, the mean over samples.",
        UNIT,
        template!("judged_tool_use_quality.md", whole: true, range: ZERO_TO_ONE),
    ),
];
