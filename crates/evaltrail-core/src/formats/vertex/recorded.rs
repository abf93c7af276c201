//! Scores that a file already contains: columns `<metric>/score` of a metrics table, and the client's
//! evaluation results.

use super::calls::is_nothing;
use crate::domain::{EvalCase, Finding, FindingRule, MetricResult, RubricScore, Score, Status};
use crate::formats::read::{JsonNode, Read, below, lax_float};
use serde_json::Value;

const PARTS: &[&str] = &[
    "/score",
    "/explanation",
    "/pairwise_choice",
    "/raw_output",
    "/per_rubric_result",
    "/raw_outputs",
];

/// Whether a column belongs to a metric.
pub(super) fn is_column(key: &str) -> bool {
    PARTS.iter().any(|part| key.ends_with(part))
}

/// The scores in a row's columns. They have no thresholds, so they are informational.
pub(super) fn columns(node: JsonNode) -> Vec<MetricResult> {
    let Some(map) = node.value.as_object() else {
        return Vec::new();
    };
    map.iter()
        .filter_map(|(key, value)| Some((key.strip_suffix("/score")?, value)))
        .map(|(metric, value)| {
            // pandas writes NaN where there is no value.
            let score = match value {
                Value::String(text) if is_nothing(text) => None,
                value => lax_float(value).filter(|score| !score.is_nan()),
            };
            let explanation = map
                .get(&format!("{metric}/explanation"))
                .and_then(Value::as_str);
            let explanation = explanation
                .filter(|words| !is_nothing(words))
                .unwrap_or_default();
            // The service's client writes "Error" where a request failed.
            let errored = score.is_none() && explanation == "Error";
            match (score, explanation) {
                (None, "") => result(metric, None, "the file contains no score", errored),
                _ => result(metric, score, explanation, errored),
            }
        })
        .collect()
}

fn result(metric: &str, score: Option<f64>, explanation: &str, errored: bool) -> MetricResult {
    let not_finite = Score::check(score).err().map(|why| why.to_string());
    let (score, errored) = (score.and_then(Score::new), errored || not_finite.is_some());
    let explanation = not_finite.as_deref().unwrap_or(explanation);
    let rule = if score.is_some() {
        FindingRule::ReportedReason
    } else {
        FindingRule::NotEvaluated
    };
    MetricResult {
        metric: metric.to_string(),
        score,
        threshold: None,
        status: match (score, errored) {
            (Some(_), _) => Status::Informational,
            (None, true) => Status::Errored,
            (None, false) => Status::NotEvaluated,
        },
        explanation: explanation.to_string(),
        findings: vec![Finding::text(rule, explanation)],
        per_invocation: Vec::new(),
        rubrics: Vec::new(),
        criterion: None,
        details: None,
        judgement: None,
    }
}

/// Reads an element of `eval_case_results`: the scores of the first response. It does not contain the case itself.
pub(in crate::formats) fn result_case(node: JsonNode, eval_id: &str) -> Read<EvalCase> {
    let mut recorded = Vec::new();
    if let Some(candidate) = node.need("response_candidate_results")?.items()?.next() {
        for (name, metric) in candidate.need("metric_results")?.object()? {
            let metric = JsonNode::top(metric);
            let one = result_metric(name, metric).unwrap_or_else(|error| {
                let why = format!("the recorded result cannot be read: {error}");
                result(name, None, &why, true)
            });
            recorded.push(one);
        }
    }
    Ok(EvalCase {
        eval_id: eval_id.into(),
        recorded,
        ..EvalCase::default()
    })
}

fn result_metric(name: &str, metric: JsonNode) -> Read<MetricResult> {
    let error = metric.opt_str("error_message")?;
    let is_error = error.is_some();
    let text = error.or(metric.opt_str("explanation")?);
    let score = metric.opt_number("score")?;
    Ok(MetricResult {
        rubrics: metric.list("rubric_verdicts", verdict)?,
        ..result(name, score, &text.unwrap_or_default(), is_error)
    })
}

/// A missing verdict means no: `false` is omitted in Protobuf's JSON.
fn verdict(node: JsonNode) -> Read<RubricScore> {
    let text = |path: &[&str]| {
        below(node.value, path)
            .and_then(Value::as_str)
            .map(str::to_string)
    };
    let yes = node
        .value
        .get("verdict")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let words = text(&["evaluated_rubric", "content", "property", "description"]);
    Ok(RubricScore {
        rubric_id: text(&["evaluated_rubric", "rubric_id"])
            .or(words)
            .unwrap_or_default(),
        score: Some(Score::of_flag(yes)),
        rationale: text(&["reasoning"]),
        votes: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unreadable_result_is_errored() {
        let results = json!({"response_candidate_results": [{"metric_results": {
            "safety": {"score": 0.5, "explanation": "fine"},
            "fluency": {"score": "high"},
        }}]});
        let case = result_case(JsonNode::top(&results), "one").unwrap();
        let read: Vec<_> = case
            .recorded
            .iter()
            .map(|one| (one.metric.as_str(), one.status))
            .collect();
        assert_eq!(
            read,
            [
                ("safety", Status::Informational),
                ("fluency", Status::Errored)
            ]
        );
        assert_eq!(
            case.recorded[1].explanation,
            "the recorded result cannot be read: $.score: expected a number, found the text \"high\""
        );
    }
}
