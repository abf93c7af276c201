//! `judge_model_options` of a criterion.

use crate::domain::Criterion;
use crate::metrics::criterion_error::CriterionError;
use crate::metrics::options::number;
use serde_json::{Map, Value};

/// The model that a criterion names, and its settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgeOptions {
    /// The model; [`JudgeOptions::MODEL`] when `None`.
    pub model: Option<String>,
    /// The model's settings, as google-genai spells them.
    pub config: Map<String, Value>,
    /// The number of samples of each question; [`JudgeOptions::SAMPLES`] when `None`.
    pub samples: Option<u32>,
    /// Maximum number of concurrent requests for this metric of a case; only the judge's own limit when `None`.
    pub parallelism: Option<u32>,
}

const KEYS: &[(&str, &str)] = &[
    ("judge_model", "judgeModel"),
    ("judge_model_config", "judgeModelConfig"),
    ("num_samples", "numSamples"),
    ("parallelism_limit", "parallelismLimit"),
];

impl JudgeOptions {
    /// ADK's default model.
    pub const MODEL: &'static str = "gemini-2.5-flash";
    /// ADK's default number of samples.
    pub const SAMPLES: u32 = 5;

    /// The number of samples of each question.
    pub fn samples(&self) -> u32 {
        self.samples.unwrap_or(Self::SAMPLES)
    }

    /// Reads the options. Like ADK, it refuses unknown keys.
    pub(super) fn parse(criterion: &Criterion) -> Result<JudgeOptions, CriterionError> {
        let given = match criterion.option("judge_model_options", "judgeModelOptions") {
            None | Some(Value::Null) => return Ok(JudgeOptions::default()),
            Some(Value::Object(map)) => map,
            Some(other) => return Err(wrong("judge_model_options", "an object", other)),
        };
        let known = |key: &str| {
            KEYS.iter()
                .any(|(snake, camel)| key == *snake || key == *camel)
        };
        if let Some(key) = given.keys().find(|key| !known(key)) {
            let expected = "judge_model, judge_model_config, num_samples, parallelism_limit";
            return Err(CriterionError::Option {
                option: "judge_model_options",
                expected,
                found: key.clone(),
            });
        }
        let get = |at: usize| {
            given
                .get(KEYS[at].1)
                .or_else(|| given.get(KEYS[at].0))
                .filter(|value| !value.is_null())
        };
        let text = |at: usize| match get(at) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong(KEYS[at].0, "a string", other)),
        };
        let config = match get(1) {
            None => Map::new(),
            Some(Value::Object(map)) => map.clone(),
            Some(other) => return Err(wrong("judge_model_config", "an object", other)),
        };
        Ok(JudgeOptions {
            model: text(0)?,
            config,
            samples: count(get(2), "num_samples")?,
            parallelism: count(get(3), "parallelism_limit")?,
        })
    }
}

/// Whether ADK 2.13 finds a client for a model's name, with all of its extras installed (`google/adk/models/registry.py`).
pub fn adk_knows_model(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "gemini-",
        "gemma-",
        "model-optimizer-",
        "projects/",
        "apigee/",
        "claude-",
        "gpt-",
    ];
    let is_o = name
        .strip_prefix('o')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    // LiteLLM supports more providers than ADK's own list, so every `provider/model` is accepted.
    let has_provider = name
        .split_once('/')
        .is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
    is_o || has_provider || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Maximum number of samples of a question: more would add no information, and each costs a request.
const MAX_SAMPLES: u32 = 1000;

fn count(value: Option<&Value>, option: &'static str) -> Result<Option<u32>, CriterionError> {
    let Some(value) = value else { return Ok(None) };
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => number(other),
    };
    match number {
        Some(number)
            if (1.0..=f64::from(MAX_SAMPLES)).contains(&number) && number.fract() == 0.0 =>
        {
            Ok(Some(number as u32))
        }
        _ => Err(wrong(option, "a whole number from 1 to 1000", value)),
    }
}

fn wrong(option: &'static str, expected: &'static str, found: &Value) -> CriterionError {
    CriterionError::Option {
        option,
        expected,
        found: found.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(options: Value) -> Result<JudgeOptions, String> {
        let mut criterion = Criterion::new("final_response_match_v2", Some(0.5));
        criterion
            .options
            .insert("judgeModelOptions".into(), options);
        JudgeOptions::parse(&criterion).map_err(|why| why.to_string())
    }

    #[test]
    fn both_spellings_are_read_and_nothing_else() {
        let read_ =
            read(json!({"judge_model": "openai/x", "numSamples": 3, "parallelism_limit": "2"}));
        let options = read_.unwrap();
        assert_eq!(
            (options.model.as_deref(), options.samples()),
            (Some("openai/x"), 3)
        );
        assert_eq!(options.parallelism, Some(2));
        assert_eq!(read(json!({})).unwrap().samples(), 5);
        assert!(
            read(json!({"judge": "x"}))
                .unwrap_err()
                .contains("found judge")
        );
        assert!(
            read(json!({"num_samples": 0}))
                .unwrap_err()
                .contains("from 1")
        );
        assert!(read(json!({"num_samples": 1.5})).is_err());
    }
}
