//! `test_config.json`: which metrics, with which thresholds and options.

use crate::domain::Criterion;
use crate::formats::FileProblem;
use crate::formats::json::{self, JsonPath};
use crate::formats::read::{Node, ReadError, describe, lax_float, lookup};
use serde_json::{Map, Value};

/// What a config file asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvalConfig {
    /// The criteria in the file's order.
    pub criteria: Vec<Criterion>,
    /// Custom metrics by name, as the file gives them.
    pub custom_metrics: Map<String, Value>,
    /// The simulated user's settings, as the file gives them.
    pub user_simulator: Option<Value>,
}

/// Why a config cannot be used.
pub type ConfigError = FileProblem;

/// What ADK scores by when no config is given.
pub fn default_criteria() -> Vec<Criterion> {
    vec![
        Criterion::new("tool_trajectory_avg_score", Some(1.0)),
        Criterion::new("response_match_score", Some(0.8)),
    ]
}

/// Reads a config in ADK's form.
pub fn read_config(text: &str) -> Result<EvalConfig, ConfigError> {
    let parsed = json::parse(text).map_err(|error| FileProblem::syntax(text, error))?;
    config(Node::top(&parsed.value)).map_err(|error| FileProblem::reading(text, &JsonPath::default(), error))
}

fn config(node: Node) -> Result<EvalConfig, ReadError> {
    let map = node.object()?;
    let criteria = match lookup(map, "criteria") {
        None => Vec::new(),
        Some((_, value)) => criteria(value, JsonPath::default().key("criteria"))?,
    };
    Ok(EvalConfig {
        criteria,
        custom_metrics: node.get("custom_metrics").map(custom_metrics).transpose()?.unwrap_or_default(),
        user_simulator: node.get("user_simulator_config").map(|n| n.value.clone()),
    })
}

fn criteria(value: &Value, path: JsonPath) -> Result<Vec<Criterion>, ReadError> {
    let Some(map) = value.as_object() else {
        return Err(ReadError { path, expected: "an object of criteria".into(), found: describe(value) });
    };
    map.iter().map(|(metric, value)| criterion(metric, value, path.key(metric))).collect()
}

fn criterion(metric: &str, value: &Value, path: JsonPath) -> Result<Criterion, ReadError> {
    if let Some(options) = value.as_object() {
        let (key, threshold) = match lookup(options, "threshold") {
            Some((key, threshold)) => (key.as_str(), threshold),
            None => {
                let expected = "a \"threshold\" in the criterion".to_string();
                return Err(ReadError { path, expected, found: "none".into() });
            }
        };
        let threshold = lax_float(threshold).ok_or_else(|| ReadError {
            path: path.key(key),
            expected: "a number".into(),
            found: describe(threshold),
        })?;
        return Ok(Criterion {
            metric: metric.into(),
            threshold: Some(threshold),
            options: options.clone(),
            ..Criterion::default()
        });
    }
    match lax_float(value) {
        Some(threshold) => Ok(Criterion::new(metric, Some(threshold))),
        None => Err(ReadError {
            path,
            expected: "a threshold (a number) or an object with one".into(),
            found: describe(value),
        }),
    }
}

fn custom_metrics(node: Node) -> Result<Map<String, Value>, ReadError> {
    for (name, metric) in node.object()? {
        let code = metric.as_object().and_then(|map| lookup(map, "code_config"));
        if code.is_none() {
            let path = node.path().key(name);
            let expected = "a \"code_config\" with the function's dotted name".into();
            return Err(ReadError { path, expected, found: describe(metric) });
        }
    }
    Ok(node.object()?.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_are_numbers_or_objects() {
        let text = r#"{"criteria": {"a": 1, "b": "0.5", "c": {"threshold": true, "matchType": 1}}}"#;
        let config = read_config(text).unwrap();
        let thresholds: Vec<_> = config.criteria.iter().map(|c| c.threshold).collect();
        assert_eq!(thresholds, [Some(1.0), Some(0.5), Some(1.0)]);
        assert_eq!(config.criteria[2].option("match_type", "matchType"), Some(&serde_json::json!(1)));
    }

    #[test]
    fn errors_point_at_the_value() {
        let error = read_config("{\n \"criteria\": {\n  \"a\": null}}").unwrap_err();
        assert_eq!((error.line, error.column, error.path.as_str()), (3, 8, "$.criteria.a"));
        let error = read_config("{\"criteria\": {\"a\": {}}}").unwrap_err();
        assert!(error.to_string().contains("expected a \"threshold\" in the criterion, found none"));
    }
}
