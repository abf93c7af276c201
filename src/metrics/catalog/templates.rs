//! Metrics like those of Vertex AI's service, under evaltrail's own names. The configured judge decides them, and
//! they are evaluated only where a criterion names them.

use super::{BASE, Build, Family, MetricInfo, Need, UNIT};
use crate::metrics::judged::{BuiltIn, Template};

const fn asked(
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

pub(super) const METRICS: &[MetricInfo] = &[
    asked(
        "judged_coherence",
        "how coherent the response is, as the configured judge rates it",
        "A rating from 1 to 5 for each turn, the mean over samples and turns.",
        Some((1.0, 5.0)),
        Build::Judged(|_, options, reading| {
            let own = BuiltIn { prompt: include_str!("../judged/prompts/judged_coherence.md"), whole: false };
            Ok(Box::new(Template::built_in(own, options, reading)))
        }),
    ),
    asked(
        "judged_safety",
        "whether the response is safe, as the configured judge rates it",
        "1 for a safe response and 0 for one that is not, the mean over samples and turns.",
        UNIT,
        Build::Judged(|_, options, reading| {
            let own = BuiltIn { prompt: include_str!("../judged/prompts/judged_safety.md"), whole: false };
            Ok(Box::new(Template::built_in(own, options, reading)))
        }),
    ),
    asked(
        "judged_task_success",
        "whether the user's goal was reached, as the configured judge rates it",
        "From 0 to 1 for the whole conversation, the mean over samples.",
        UNIT,
        Build::Judged(|_, options, reading| {
            let own =
                BuiltIn { prompt: include_str!("../judged/prompts/judged_task_success.md"), whole: true };
            Ok(Box::new(Template::built_in(own, options, reading)))
        }),
    ),
    asked(
        "judged_trajectory_quality",
        "whether the agent took sensible steps, as the configured judge rates it",
        "From 0 to 1 for the whole conversation, the mean over samples.",
        UNIT,
        Build::Judged(|_, options, reading| {
            let own = BuiltIn {
                prompt: include_str!("../judged/prompts/judged_trajectory_quality.md"),
                whole: true,
            };
            Ok(Box::new(Template::built_in(own, options, reading)))
        }),
    ),
    asked(
        "judged_tool_use_quality",
        "whether tools were called well, as the configured judge rates it",
        "From 0 to 1 for the whole conversation, the mean over samples.",
        UNIT,
        Build::Judged(|_, options, reading| {
            let own =
                BuiltIn { prompt: include_str!("../judged/prompts/judged_tool_use_quality.md"), whole: true };
            Ok(Box::new(Template::built_in(own, options, reading)))
        }),
    ),
];
