//! Vertex's prompt templates (`PointwiseMetricPromptTemplate` of google-cloud-aiplatform): sections in a fixed order, joined to one prompt.

use evaltrail_core::domain::JudgeTemplate;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The keys of `kind = "pointwise"` and `kind = "pairwise"`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawTemplate {
    /// A whole prompt with placeholders, instead of sections.
    prompt: Option<String>,
    criteria: BTreeMap<String, String>,
    rating_rubric: BTreeMap<String, String>,
    input_variables: Vec<String>,
    instruction: Option<String>,
    metric_definition: Option<String>,
    evaluation_steps: BTreeMap<String, String>,
    few_shot_examples: Vec<String>,
    system_instruction: Option<String>,
    judge_model: Option<String>,
    samples: Option<u32>,
    direction: Option<BetterScores>,
    baseline: Option<String>,
    flip: Option<bool>,
    pub(super) threshold: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BetterScores {
    Higher,
    Lower,
}

impl RawTemplate {
    pub(super) fn template(self, pairwise: bool) -> Result<JudgeTemplate, String> {
        let baseline = match (pairwise, &self.baseline) {
            (false, Some(_)) => return Err("only a pairwise metric has a baseline".into()),
            (false, None) => None,
            (true, name) => Some(
                name.clone()
                    .unwrap_or_else(|| "baseline_model_response".into()),
            ),
        };
        if self.samples == Some(0) {
            return Err("samples must be 1 or more".into());
        }
        let has_sections = !self.criteria.is_empty() || !self.rating_rubric.is_empty();
        let prompt = match (&self.prompt, has_sections) {
            (Some(_), true) => {
                return Err("a metric has either a prompt, or criteria and rating_rubric".into());
            }
            (Some(prompt), false) => prompt.clone(),
            (None, _) if self.criteria.is_empty() || self.rating_rubric.is_empty() => {
                return Err("criteria and rating_rubric are required, or a prompt".into());
            }
            (None, _) => self.sections(baseline.as_deref()),
        };
        Ok(JudgeTemplate {
            prompt,
            system: self.system_instruction,
            model: self.judge_model,
            samples: self.samples,
            lower_is_better: self.direction == Some(BetterScores::Lower),
            flip: baseline.is_some() && self.flip.unwrap_or(true),
            baseline,
        })
    }

    fn sections(&self, baseline: Option<&str>) -> String {
        let what = match baseline {
            Some(_) => {
                "two responses, A and B, to the same input. Say which is better, or that they are the same"
            }
            None => "a response. Rate it by the criteria, on the scale of the rating rubric",
        };
        let instruction = format!("You are given {what}.");
        let mut out = format!(
            "# Instruction\n{}\n\n# Evaluation\n",
            self.instruction.as_ref().unwrap_or(&instruction)
        );
        let mut section = |heading: &str, text: String| {
            if !text.is_empty() {
                out.push_str(&format!("## {heading}\n{text}\n\n"));
            }
        };
        section(
            "Metric Definition",
            self.metric_definition.clone().unwrap_or_default(),
        );
        section("Criteria", lines(&self.criteria));
        section("Rating Rubric", lines(&self.rating_rubric));
        let steps = "Hold the response against each criterion, then rate it.".to_string();
        let steps = if self.evaluation_steps.is_empty() {
            steps
        } else {
            lines(&self.evaluation_steps)
        };
        section("Evaluation Steps", steps);
        section("Evaluation Examples", self.few_shot_examples.join("\n"));
        out.push_str("# User Inputs and AI-generated Response\n## User Inputs\n");
        let of_response = |name: &String| name == "response" || Some(name.as_str()) == baseline;
        for name in self
            .input_variables
            .iter()
            .filter(|name| !of_response(name))
        {
            out.push_str(&format!("### {name}\n{{{name}}}\n\n"));
        }
        match baseline {
            None => out.push_str("## AI-generated Response\n{response}\n"),
            Some(_) => out.push_str("## Response A\n{response_a}\n\n## Response B\n{response_b}\n"),
        }
        out
    }
}

/// Sorted by key, as Vertex renders them.
fn lines(map: &BTreeMap<String, String>) -> String {
    map.iter()
        .map(|(key, value)| format!("{key}: {value}"))
        .collect::<Vec<_>>()
        .join("\n")
}
