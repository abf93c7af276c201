//! Criteria: a metric with its threshold and options.

use super::{CustomMetric, MatchRule};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A metric with its threshold and options, as specified in a config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// The metric's name, optionally followed by a colon and a label, so that a metric can be used more than once.
    pub metric: String,
    /// The score needed to pass. A criterion without one is informational.
    pub threshold: Option<f64>,
    /// The options as the user wrote them (keys and their casing unchanged), `threshold` included.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// Rules for comparing calls, if the metric supports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<MatchRule>,
    /// The definition of a custom metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomMetric>,
}

impl Default for Criterion {
    fn default() -> Self {
        Criterion::new("", None)
    }
}

impl Criterion {
    /// A criterion with a threshold and no options.
    pub fn new(metric: &str, threshold: Option<f64>) -> Self {
        Criterion {
            metric: metric.to_string(),
            threshold,
            options: Map::new(),
            rules: Vec::new(),
            custom: None,
        }
    }

    /// How the metric is computed: the criterion without its threshold, which changes no score.
    pub fn scoring(&self) -> Criterion {
        let mut scoring = Criterion {
            threshold: None,
            ..self.clone()
        };
        scoring.options.shift_remove("threshold");
        scoring
    }

    /// The metric's name without its label.
    pub fn name(&self) -> &str {
        self.metric.split(':').next().unwrap_or(&self.metric)
    }

    /// An option by its snake case or camel case key; if both are present, camel case takes precedence, as in ADK.
    pub fn option(&self, snake: &str, camel: &str) -> Option<&Value> {
        self.options.get(camel).or_else(|| self.options.get(snake))
    }
}

/// How two trajectories are compared (ADK's `MatchType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MatchType {
    /// Same calls, same order, nothing else.
    #[default]
    Exact,
    /// The expected calls in order, with other calls allowed between them.
    InOrder,
    /// The expected calls in any order, with other calls allowed.
    AnyOrder,
}

impl MatchType {
    /// The name as ADK writes it.
    pub fn name(self) -> &'static str {
        match self {
            MatchType::Exact => "EXACT",
            MatchType::InOrder => "IN_ORDER",
            MatchType::AnyOrder => "ANY_ORDER",
        }
    }
}
/// The criteria in the order of their metrics: their own order decides nothing.
pub fn criteria_by_metric(criteria: &[Criterion]) -> Vec<Criterion> {
    let mut sorted = criteria.to_vec();
    sorted.sort_by(|a, b| a.metric.cmp(&b.metric));
    sorted
}
