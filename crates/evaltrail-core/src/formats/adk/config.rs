//! `test_config.json`: which metrics, with which thresholds and options.

use crate::domain::Criterion;
use crate::formats::FileProblem;
use crate::formats::json::{self, JsonPath};
use crate::formats::read::{JsonNode, ReadError, describe, lax_float, lookup};
use serde_json::{Map, Value};

/// The contents of a config file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvalConfig {
    /// The criteria in the file's order.
    pub criteria: Vec<Criterion>,
    /// Custom metrics by name, as they are in the file.
    pub custom_metrics: Map<String, Value>,
    /// The simulated user's settings, as they are in the file.
    pub user_simulator: Option<Value>,
}

/// Why a config cannot be used.
pub type ConfigError = FileProblem;

/// The criteria that ADK uses when there is no config.
pub fn default_criteria() -> Vec<Criterion> {
    vec![
        Criterion::new("tool_trajectory_avg_score", Some(1.0)),
        Criterion::new("response_match_score", Some(0.8)),
    ]
}

/// Reads a config in ADK's form.
pub fn read_config(text: &str) -> Result<EvalConfig, ConfigError> {
    let parsed = json::parse(text).map_err(|error| FileProblem::syntax(text, error))?;
    config(JsonNode::top(&parsed.value))
        .map_err(|error| FileProblem::reading(text, &JsonPath::default(), error))
}

/// Returns the text of a config with changed criteria. Without a config, `defaults` are the criteria before the
/// change. Only what changes is rewritten.
pub fn change_criteria(
    text: Option<&str>,
    defaults: &[Criterion],
    change: impl FnOnce(Vec<Criterion>) -> Vec<Criterion>,
) -> Result<String, ConfigError> {
    let fresh = || {
        let named = defaults
            .iter()
            .map(|criterion| (criterion.metric.clone(), criterion.threshold.into()));
        let criteria: Map<String, Value> = named.collect();
        serde_json::to_string_pretty(&serde_json::json!({"criteria": criteria})).unwrap_or_default()
            + "\n"
    };
    let mut text = text.map_or_else(fresh, str::to_string);
    let before = read_config(&text)?.criteria;
    let after = change(before.clone());
    let key = match lookup(
        &json::parse(&text)
            .ok()
            .and_then(|p| p.value.as_object().cloned())
            .unwrap_or_default(),
        "criteria",
    ) {
        Some((key, _)) => key.clone(),
        None => "criteria".to_string(),
    };
    let path = JsonPath::default().key(&key);
    let wrong = |text: &str, error| FileProblem::syntax(text, error);
    for criterion in after.iter().filter(|criterion| !before.contains(criterion)) {
        if criterion.threshold.is_none() {
            // Without a threshold the criterion is informational, and a config contains only criteria that decide.
            text = json::remove_member(&text, &path, &criterion.metric)
                .map_err(|error| wrong(&text, error))?;
            continue;
        }
        let known = before.iter().find(|other| other.metric == criterion.metric);
        let plain = known.is_none_or(|known| known.options.is_empty());
        let only_threshold = criterion.options.keys().all(|key| key == "threshold");
        text = match (plain, only_threshold) {
            (true, true) => {
                json::set_member(&text, &path, &criterion.metric, &criterion.threshold.into())
            }
            (true, false) => {
                let mut options = Map::new();
                options.insert("threshold".into(), criterion.threshold.into());
                options.extend(criterion.options.clone());
                json::set_member(&text, &path, &criterion.metric, &Value::Object(options))
            }
            (false, _) => {
                let object = path.key(&criterion.metric);
                let old = known.map(|known| known.options.clone()).unwrap_or_default();
                criterion
                    .options
                    .iter()
                    .filter(|(key, value)| old.get(*key) != Some(value))
                    .try_fold(text.clone(), |text, (key, value)| {
                        // A key in camelCase keeps its spelling.
                        let spelt =
                            lookup(&old, key).map_or(key.as_str(), |(spelt, _)| spelt.as_str());
                        json::set_member(&text, &object, spelt, value)
                    })
            }
        }
        .map_err(|error| wrong(&text, error))?;
    }
    Ok(text)
}

fn config(node: JsonNode) -> Result<EvalConfig, ReadError> {
    let map = node.object()?;
    let criteria = match lookup(map, "criteria") {
        None => Vec::new(),
        Some((_, value)) => criteria(value, JsonPath::default().key("criteria"))?,
    };
    Ok(EvalConfig {
        criteria,
        custom_metrics: node
            .get("custom_metrics")
            .map(custom_metrics)
            .transpose()?
            .unwrap_or_default(),
        user_simulator: node.get("user_simulator_config").map(|n| n.value.clone()),
    })
}

fn criteria(value: &Value, path: JsonPath) -> Result<Vec<Criterion>, ReadError> {
    let Some(map) = value.as_object() else {
        return Err(ReadError {
            path,
            expected: "an object of criteria".into(),
            found: describe(value),
        });
    };
    map.iter()
        .map(|(metric, value)| criterion(metric, value, path.key(metric)))
        .collect()
}

fn criterion(metric: &str, value: &Value, path: JsonPath) -> Result<Criterion, ReadError> {
    if let Some(options) = value.as_object() {
        let (key, threshold) = match lookup(options, "threshold") {
            Some((key, threshold)) => (key.as_str(), threshold),
            None => {
                let expected = "a \"threshold\" in the criterion".to_string();
                return Err(ReadError {
                    path,
                    expected,
                    found: "none".into(),
                });
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

fn custom_metrics(node: JsonNode) -> Result<Map<String, Value>, ReadError> {
    for (name, metric) in node.object()? {
        let code = metric
            .as_object()
            .and_then(|map| lookup(map, "code_config"));
        if code.is_none() {
            let path = node.path().key(name);
            let expected = "a \"code_config\" with the function's dotted name".into();
            return Err(ReadError {
                path,
                expected,
                found: describe(metric),
            });
        }
    }
    Ok(node.object()?.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_are_numbers_or_objects() {
        let text =
            r#"{"criteria": {"a": 1, "b": "0.5", "c": {"threshold": true, "matchType": 1}}}"#;
        let config = read_config(text).unwrap();
        let thresholds: Vec<_> = config.criteria.iter().map(|c| c.threshold).collect();
        assert_eq!(thresholds, [Some(1.0), Some(0.5), Some(1.0)]);
        assert_eq!(
            config.criteria[2].option("match_type", "matchType"),
            Some(&serde_json::json!(1))
        );
    }

    #[test]
    fn unchanged_criteria_keep_their_text() {
        let threshold = |metric: &str, value: f64| {
            let metric = metric.to_string();
            move |mut criteria: Vec<Criterion>| {
                let found = criteria
                    .iter_mut()
                    .find(|criterion| criterion.metric == metric)
                    .unwrap();
                found.threshold = Some(value);
                found.options.insert("threshold".into(), value.into());
                criteria
            }
        };
        let text = "{\n  \"criteria\": {\n    \"a\": 1,\n    \"b\": { \"threshold\": 1.0, \"matchType\": 1 }\n  }, \"x\": 1e2\n}";
        assert_eq!(
            change_criteria(Some(text), &[], threshold("a", 0.5)).unwrap(),
            text.replace("\"a\": 1,", "\"a\": 0.5,")
        );
        assert_eq!(
            change_criteria(Some(text), &[], threshold("b", 0.5)).unwrap(),
            text.replace("1.0", "0.5")
        );
        let fresh = change_criteria(
            None,
            &default_criteria(),
            threshold("response_match_score", 0.7),
        )
        .unwrap();
        assert_eq!(
            read_config(&fresh).unwrap().criteria[1].threshold,
            Some(0.7)
        );
    }

    #[test]
    fn errors_point_at_the_value() {
        let error = read_config("{\n \"criteria\": {\n  \"a\": null}}").unwrap_err();
        assert_eq!(
            (error.line, error.column, error.path.as_str()),
            (3, 8, "$.criteria.a")
        );
        let error = read_config("{\"criteria\": {\"a\": {}}}").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("expected a \"threshold\" in the criterion, found none")
        );
    }
}
