//! Metrics by name, and what criteria may ask of them.

use super::catalog::{Build, Direction, Family, MetricInfo, catalog};
use super::criterion_error::CriterionError;
use super::declared::declared;
use super::measure::Measure;
use crate::domain::{Criterion, CustomMetric, did_you_mean, most_similar};
use serde_json::Value;

/// Finds a metric by name, without the label after a colon.
pub fn info(name: &str) -> Option<&'static MetricInfo> {
    catalog().find(|metric| metric.name == name)
}

/// Which scores of a criterion's metric are better. Templates for a judge state it in their options.
pub(super) fn direction_of(criterion: &Criterion) -> Direction {
    match criterion.options.get("direction").and_then(Value::as_str) {
        Some("lower") => Direction::Lower,
        _ => info(criterion.name()).map_or(Direction::Higher, |metric| metric.direction),
    }
}

/// Builds the metric of a criterion from its options.
pub(super) fn build_measure(criterion: &Criterion) -> Result<Box<dyn Measure>, CriterionError> {
    check_threshold(criterion)?;
    if let Some(custom) = &criterion.custom {
        return declared(custom);
    }
    let metric = info(criterion.name()).ok_or_else(|| unknown(criterion.name()))?;
    if metric.informational && criterion.threshold.is_some() {
        return Err(CriterionError::TakesNoThreshold(metric.name));
    }
    match metric.build {
        Build::Computed(build) => build(criterion),
        Build::Judged(_) | Build::Served(_) => Err(CriterionError::NeedsJudge(metric.name)),
    }
}

/// Checks that scores can be compared with the threshold.
pub(super) fn check_threshold(criterion: &Criterion) -> Result<(), CriterionError> {
    match criterion
        .threshold
        .filter(|threshold| !threshold.is_finite())
    {
        Some(threshold) => Err(CriterionError::Threshold(threshold)),
        None => Ok(()),
    }
}

/// Why a criterion cannot be used because its threshold is not a finite number; `None` if it is one, or there is none.
pub fn unusable_threshold(criterion: &Criterion) -> Option<CriterionError> {
    check_threshold(criterion).err()
}

/// The options of a criterion that its metric does not have and that are thus ignored, each with a sentence. Empty for
/// custom and unknown metrics.
pub fn unknown_options(criterion: &Criterion) -> Vec<(&str, String)> {
    let Some(metric) = info(criterion.name()).filter(|_| criterion.custom.is_none()) else {
        return Vec::new();
    };
    let known = || {
        let own = metric.options.iter().map(|option| option.name);
        own.filter(|name| !name.starts_with('['))
            .chain(["threshold"])
    };
    // Both spellings are accepted: match_type and matchType.
    let without_underscores = |name: &str| name.replace('_', "");
    let is_known = |key: &str| {
        known().any(|name| {
            let has_same_letters = without_underscores(name).eq_ignore_ascii_case(key);
            key == name || has_same_letters && key.starts_with(|c: char| c.is_ascii_lowercase())
        })
    };
    let keys = criterion.options.keys().map(String::as_str);
    keys.filter(|key| !is_known(key))
        .map(|key| {
            let similar = did_you_mean(key, known());
            let text = format!(
                "{} has no option {key:?}, so it is ignored{similar}",
                criterion.name()
            );
            (key, text)
        })
        .collect()
}

/// Why a criterion cannot be used because no metric has its name; `None` if one has.
pub fn unknown_metric(criterion: &Criterion) -> Option<CriterionError> {
    let is_known = criterion.custom.is_some() || info(criterion.name()).is_some();
    (!is_known).then(|| unknown(criterion.name()))
}

/// A metric of ADK's source code that no release of ADK has.
const UNRELEASED: &str = "tool_parameter_match";

fn unknown(name: &str) -> CriterionError {
    if name == UNRELEASED {
        return CriterionError::Unavailable(format!(
            "{UNRELEASED} is in no release of ADK, and evaltrail does not have it; trajectory_match compares \
             arguments, with the rules of [[match]]"
        ));
    }
    if let Some(own) = own_name_of(name) {
        return CriterionError::Unknown {
            name: name.to_string(),
            nearest: Some(own),
        };
    }
    let nearest = most_similar(name, catalog().map(|metric| metric.name));
    CriterionError::Unknown {
        name: name.to_string(),
        nearest,
    }
}

/// The metric of evaltrail for one of Vertex AI's model-based metrics, such as `judged_fluency` for `fluency`.
fn own_name_of(name: &str) -> Option<&'static str> {
    catalog()
        .map(|metric| metric.name)
        .find(|own| own.strip_prefix("judged_") == Some(name))
}

/// Why no score can meet a criterion; `None` if one can.
pub fn unreachable_threshold(criterion: &Criterion) -> Option<String> {
    let metric = info(criterion.name()).filter(|_| criterion.custom.is_none())?;
    let threshold = criterion.threshold?;
    let (low, high) = metric.range.unwrap_or((0.0, f64::INFINITY));
    let is_unreachable = match metric.direction {
        Direction::Higher => threshold > high,
        Direction::Lower => threshold < low,
    };
    let range = if high.is_finite() {
        format!("from {low} to {high}")
    } else {
        format!("at least {low}")
    };
    let name = &criterion.metric;
    is_unreachable.then(|| {
        format!("no score of {name} reaches the threshold {threshold}: its scores are {range}")
    })
}

/// Whether a judge decides a criterion.
pub fn needs_judge(criterion: &Criterion) -> bool {
    match &criterion.custom {
        Some(custom) => matches!(custom, CustomMetric::Judged(_)),
        None => {
            info(criterion.name()).is_some_and(|metric| !matches!(metric.build, Build::Computed(_)))
        }
    }
}

/// Whether ADK defines the metric.
pub fn is_adk(name: &str) -> bool {
    info(name).is_some_and(|metric| metric.family == Family::Adk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unavailable_metric_names_are_explained() {
        for name in [
            "coherence",
            "fluency",
            "groundedness",
            "instruction_following",
            "safety",
            "verbosity",
        ] {
            let why = unknown(name).to_string();
            assert!(
                why.contains(&format!("did you mean \"judged_{name}\"?")),
                "{why}"
            );
        }
        for name in [
            "text_quality",
            "summarization_quality",
            "question_answering_quality",
        ] {
            assert!(
                unknown(name)
                    .to_string()
                    .contains(&format!("\"judged_{name}\"")),
                "{name}"
            );
        }
        let why = unknown("tool_parameter_match").to_string();
        assert!(
            why.contains("no release of ADK") && !why.contains("did you mean"),
            "{why}"
        );
    }

    #[test]
    fn the_suggestion_for_a_long_name_costs_no_time() {
        let long = "tool_trajectory_avg_score".repeat(1 << 18);
        let began = std::time::Instant::now();
        assert!(
            unknown(&long)
                == CriterionError::Unknown {
                    name: long.clone(),
                    nearest: None
                }
        );
        assert!(
            began.elapsed() < std::time::Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
    }

    #[test]
    fn a_threshold_outside_of_the_range_is_found() {
        let why =
            |name: &str, threshold| unreachable_threshold(&Criterion::new(name, Some(threshold)));
        let words = why("response_match_score", 1.5).unwrap();
        assert_eq!(
            words,
            "no score of response_match_score reaches the threshold 1.5: its scores are from 0 to 1"
        );
        assert!(
            why("latency_in_seconds", -1.0)
                .unwrap()
                .contains("at least 0")
        );
        assert!(why("response_evaluation_score", 5.5).is_some());
        let reachable = [
            ("response_match_score", 1.0),
            ("response_evaluation_score", 5.0),
            ("failure", 0.0),
        ];
        assert!(
            reachable
                .into_iter()
                .all(|(name, threshold)| why(name, threshold).is_none())
        );
    }
}
