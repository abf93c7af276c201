//! `eval_config.yaml` of google-agents-cli: which metrics are computed, and the ones that the file defines.
//!
//! ```yaml
//! metrics_to_run: [final_response_quality, turn_count]
//! custom_metrics:
//!   - name: turn_count
//!     custom_function_file: metrics.py
//! ```

use crate::domain::JudgeTemplate;
use serde_json::Value;

/// The names that agents-cli looks for.
pub const AGENTS_CLI_CONFIGS: &[&str] =
    &["eval_config.yaml", "eval_config.yml", "eval_config.json"];

/// A metric that the file names.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredMetric {
    /// Its name in the file.
    pub name: String,
    /// The only group of `rubric_groups` whose rubrics it reads.
    pub rubric_group: Option<String>,
    /// How it is computed.
    pub kind: ConfiguredKind,
}

/// How a metric of the file is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfiguredKind {
    /// By the metric with this name.
    Known(String),
    /// By a judge.
    Judged(JudgeTemplate),
    /// By `evaluate` in this Python source.
    Source(String),
    /// By `evaluate` in this Python file, relative to the folder of the config.
    File(String),
    /// Not at all, and why.
    Unavailable(String),
}

/// The managed metrics of agents-cli with the metrics of ADK that compute the same.
const MANAGED: &[(&str, &str)] = &[
    (
        "final_response_quality",
        "rubric_based_final_response_quality_v1",
    ),
    (
        "final_response_reference_free",
        "rubric_based_final_response_quality_v1",
    ),
    ("tool_use_quality", "rubric_based_tool_use_quality_v1"),
    ("final_response_match", "final_response_match_v2"),
    ("hallucination", "hallucinations_v1"),
    ("safety", "safety_v1"),
    ("multi_turn_task_success", "multi_turn_task_success_v1"),
    (
        "multi_turn_trajectory_quality",
        "multi_turn_trajectory_quality_v1",
    ),
    (
        "multi_turn_tool_use_quality",
        "multi_turn_tool_use_quality_v1",
    ),
];

/// Reads the file, which is YAML or JSON. The error is a message.
pub fn read_agents_cli_config(text: &str) -> Result<Vec<ConfiguredMetric>, String> {
    let file: Value = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
    if !file.is_object() {
        return Err("expected metrics_to_run and custom_metrics".into());
    }
    let list = |key: &str| match file.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.clone()),
        Some(_) => Err(format!("{key}: expected a list")),
    };
    let (chosen, defined) = (list("metrics_to_run")?, list("custom_metrics")?);
    let mut metrics = Vec::new();
    for (at, one) in defined.iter().enumerate() {
        let metric = defined_metric(one).map_err(|why| format!("custom_metrics[{at}]: {why}"))?;
        metrics.push(metric);
    }
    // Without a list, all metrics that are defined are computed.
    if file.get("metrics_to_run").is_none() {
        return Ok(metrics);
    }
    let choose = |(at, one): (usize, &Value)| {
        let name = one
            .as_str()
            .or_else(|| one.get("name").and_then(Value::as_str));
        let name =
            name.ok_or_else(|| format!("metrics_to_run[{at}]: expected the name of a metric"))?;
        let own = metrics.iter().find(|metric| metric.name == name).cloned();
        let mut metric = own.unwrap_or_else(|| managed(name));
        metric.rubric_group = group_of(one).or(metric.rubric_group);
        Ok(metric)
    };
    chosen.iter().enumerate().map(choose).collect()
}

fn managed(name: &str) -> ConfiguredMetric {
    let plain = name.to_lowercase();
    let known = MANAGED
        .iter()
        .find(|(managed, adk)| *managed == plain || *adk == plain);
    let known = known.map_or(name, |(_, adk)| adk).to_string();
    ConfiguredMetric {
        name: name.into(),
        rubric_group: None,
        kind: ConfiguredKind::Known(known),
    }
}

fn group_of(metric: &Value) -> Option<String> {
    let parameters = metric.get("metric_spec_parameters").unwrap_or(metric);
    let group = parameters
        .get("rubric_group_key")
        .or_else(|| metric.get("rubric_group_name"));
    group.and_then(Value::as_str).map(str::to_string)
}

/// A metric of `custom_metrics`. The error is a message.
fn defined_metric(metric: &Value) -> Result<ConfiguredMetric, String> {
    let text = |key: &str| metric.get(key).and_then(Value::as_str).map(str::to_string);
    let name = text("name")
        .filter(|name| !name.is_empty())
        .ok_or("expected a name")?;
    let is_remote =
        text("execution").is_some_and(|execution| execution.eq_ignore_ascii_case("remote"));
    let kind = match (
        text("custom_function"),
        text("custom_function_file"),
        text("prompt_template"),
    ) {
        (Some(_), Some(_), _) => {
            return Err("expected either custom_function or custom_function_file".into());
        }
        (Some(_), None, _) | (None, Some(_), _) if is_remote => ConfiguredKind::Unavailable(
            "it runs in the sandbox of Vertex AI (execution: remote)".into(),
        ),
        (Some(source), None, _) => ConfiguredKind::Source(source),
        (None, Some(file), _) => ConfiguredKind::File(file),
        (None, None, Some(prompt)) => ConfiguredKind::Judged(JudgeTemplate {
            prompt,
            system: text("judge_model_system_instruction"),
            model: text("judge_model"),
            samples: metric
                .get("judge_model_sampling_count")
                .and_then(Value::as_u64)
                .and_then(|count| u32::try_from(count).ok())
                .filter(|count| *count > 0),
            ..JudgeTemplate::default()
        }),
        // A managed metric with settings of its own.
        (None, None, None) => {
            managed(&text("metric_spec_name").unwrap_or_else(|| name.clone())).kind
        }
    };
    Ok(ConfiguredMetric {
        name,
        rubric_group: group_of(metric),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_metrics_are_managed_ones_and_own_ones() {
        let text = "metrics_to_run:\n  - final_response_quality\n  - turn_count\n  - rating\n  - sandboxed\n\
                    custom_metrics:\n  - name: turn_count\n    custom_function: |\n      def evaluate(instance):\n          return 1\n\
                    \x20 - name: rating\n    prompt_template: 'Rate {response}'\n    judge_model_sampling_count: 3\n\
                    \x20 - name: sandboxed\n    execution: remote\n    custom_function: x\n\
                    \x20 - name: unused\n    custom_function_file: x.py\n";
        let found = read_agents_cli_config(text).unwrap();
        let names: Vec<&str> = found.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "final_response_quality",
                "turn_count",
                "rating",
                "sandboxed"
            ]
        );
        assert_eq!(
            found[0].kind,
            ConfiguredKind::Known("rubric_based_final_response_quality_v1".into())
        );
        assert!(
            matches!(&found[1].kind, ConfiguredKind::Source(source) if source.starts_with("def evaluate"))
        );
        assert!(
            matches!(&found[2].kind, ConfiguredKind::Judged(template) if template.samples == Some(3))
        );
        assert!(matches!(&found[3].kind, ConfiguredKind::Unavailable(_)));
    }

    #[test]
    fn a_key_chooses_the_group_of_rubrics() {
        let text = "{\"metrics_to_run\": [{\"name\": \"final_response_quality\", \
                    \"metric_spec_parameters\": {\"rubric_group_key\": \"g1\"}}]}";
        assert_eq!(
            read_agents_cli_config(text).unwrap()[0]
                .rubric_group
                .as_deref(),
            Some("g1")
        );
    }

    #[test]
    fn mistakes_name_their_position() {
        let said = |text: &str| read_agents_cli_config(text).unwrap_err();
        assert!(said("- x").contains("metrics_to_run"));
        assert_eq!(said("metrics_to_run: x"), "metrics_to_run: expected a list");
        assert_eq!(
            said("custom_metrics: [{}]"),
            "custom_metrics[0]: expected a name"
        );
        assert!(said("a: [").contains("line 2"));
    }
}
