//! Reading of result files of all ADK versions, plain or double-encoded. The file is indexed first; a case is parsed
//! when it is opened.

use super::eval_case::invocation;
use super::result_session::{RecordedEnd, final_state};
use crate::domain::{
    Attempt, AttemptKey, AttemptRecords, Finding, FindingRule, Invocation, InvocationScore,
    MetricDetails, MetricResult, NotFinite, RecordedAt, Rubric, RubricScore, Score, Status,
    TokenUsage, finite_number,
};
use crate::formats::FileProblem;
use crate::formats::index::{self, RootKind};
use crate::formats::json::{self, JsonPath, JsonPositions, SyntaxError};
use crate::formats::read::{JsonNode, Read};
use crate::metrics::NotRecorded;
use serde_json::Value;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A result file and the positions of its cases.
#[derive(Clone, Debug)]
pub struct ResultFile {
    /// The result's id.
    pub id: String,
    /// The eval set's id.
    pub set_id: String,
    /// Unix seconds.
    pub created: f64,
    /// The cases in the order they finished.
    pub entries: Vec<ResultEntry>,
    text: Arc<str>,
    positions: Arc<JsonPositions>,
}

/// One case of a result, before it is parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultEntry {
    /// The case's id; may repeat.
    pub eval_id: String,
    /// ADK's final status.
    pub status: Option<Status>,
    /// The number of this case among the cases with the same id, from 1.
    pub attempt: u32,
    range: Range<usize>,
}

/// What is found where a set is expected and a file has a result.
pub const ADK_RESULT: &str = "a result of ADK";

/// Whether a JSON document is a result, plain or double-encoded.
pub(in crate::formats) fn is_result(document: &Value) -> bool {
    let has_cases = |value: &Value| {
        let keys = ["eval_case_results", "evalCaseResults"];
        keys.iter().any(|key| value.get(key).is_some())
    };
    match document {
        Value::String(text) => json::parse(text).is_ok_and(|inner| has_cases(&inner.value)),
        document => has_cases(document),
    }
}

impl ResultFile {
    /// Finds the cases of a result file.
    pub fn open(text: Arc<str>) -> Result<ResultFile, FileProblem> {
        let text = match index::root_kind(&text) {
            RootKind::Text => inner_text(&text)?,
            _ => text,
        };
        open_index(&text)
            .map_err(|error| FileProblem::syntax(&text, json::parse(&text).err().unwrap_or(error)))
    }

    /// Whether evaltrail wrote the file: its cases then have a member `evaltrail`.
    pub fn by_evaltrail(&self) -> bool {
        let first = self.entries.first().map(|entry| entry.range.clone());
        let found = first.map(|range| index::pick(&self.text, range, [&["evaltrail"]]));
        matches!(found, Some(Ok([Some(_)])))
    }

    /// The position of a case's text.
    pub fn recorded_at(&self, at: usize) -> RecordedAt {
        let range = &self.entries[at].range;
        RecordedAt {
            offset: range.start as u64,
            length: range.len() as u64,
        }
    }

    /// The id of the run at whose end evaltrail wrote the file, if it did and the file contains the id.
    pub fn copied_run(&self) -> Option<String> {
        let first = self.entries.first()?.range.clone();
        let [id] = index::pick(&self.text, first, [&["evaltrail"]]).ok()?;
        let ours = json::parse(&self.text[id?]).ok()?.value;
        ours["run_id"].as_str().map(str::to_string)
    }

    /// The position of the case whose record is there.
    fn position_of(&self, at: RecordedAt) -> Option<usize> {
        self.entries
            .binary_search_by_key(&at.offset, |entry| entry.range.start as u64)
            .ok()
    }

    /// Reads what the agent did in one case, and the results.
    pub fn attempt(&self, at: usize) -> Result<Attempt, FileProblem> {
        self.case(at).map(|(attempt, _)| attempt)
    }

    /// Reads one case, and which parts of it the file does not record.
    pub fn case(&self, at: usize) -> Result<(Attempt, NotRecorded), FileProblem> {
        let range = self.entries[at].range.clone();
        let parsed = json::parse(&self.text[range.clone()]).map_err(|error| {
            let offset = error.offset + range.start;
            FileProblem::syntax_in(&self.positions, &self.text, SyntaxError { offset, ..error })
        })?;
        let key = AttemptKey {
            case: at,
            attempt: self.entries[at].attempt,
        };
        case_result(JsonNode::top(&parsed.value), key).map_err(|error| {
            let top = JsonPath::default().key("eval_case_results").index(at);
            FileProblem::reading_in(&self.positions, &self.text, error.path.below(&top), error)
        })
    }
}

impl AttemptRecords for ResultFile {
    fn read(&self, at: RecordedAt) -> Result<Arc<Attempt>, String> {
        let entry = self
            .position_of(at)
            .ok_or("the result file has no such case")?;
        self.attempt(entry)
            .map(Arc::new)
            .map_err(|problem| problem.to_string())
    }
}

/// Decodes a file of an ADK version before 1.28, which wrote the document as one JSON string.
fn inner_text(text: &str) -> Result<Arc<str>, FileProblem> {
    let parsed = json::parse(text).map_err(|error| FileProblem::syntax(text, error))?;
    Ok(Arc::from(parsed.value.as_str().unwrap_or_default()))
}

fn open_index(text: &Arc<str>) -> Result<ResultFile, SyntaxError> {
    let mut file = ResultFile {
        id: String::new(),
        set_id: String::new(),
        created: 0.0,
        entries: Vec::new(),
        text: text.clone(),
        positions: Arc::default(),
    };
    let outline = index::outline(text, &["eval_case_results", "evalCaseResults"])?;
    file.entries = outline
        .elements
        .into_iter()
        .map(|range| entry(text, range))
        .collect::<Result<_, _>>()?;
    let mut attempts: HashMap<String, u32> = HashMap::new();
    for entry in &mut file.entries {
        let attempt = attempts.entry(entry.eval_id.clone()).or_default();
        *attempt += 1;
        entry.attempt = *attempt;
    }
    for (key, range) in outline.members {
        let value = |range: Range<usize>| json::parse(&text[range]).map(|parsed| parsed.value);
        match key.as_str() {
            "eval_set_result_id" | "evalSetResultId" => file.id = string(value(range)?),
            "eval_set_id" | "evalSetId" => file.set_id = string(value(range)?),
            "creation_timestamp" | "creationTimestamp" => {
                file.created = finite_number(&value(range)?).unwrap_or(0.0);
            }
            _ => {}
        }
    }
    Ok(file)
}

fn string(value: serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn entry(text: &str, range: Range<usize>) -> Result<ResultEntry, SyntaxError> {
    let wanted: [&[&str]; 2] = [
        &["eval_id", "evalId"],
        &["final_eval_status", "finalEvalStatus"],
    ];
    let [id, status] = index::pick(text, range.clone(), wanted)?;
    let eval_id = match id {
        Some(range) => string(json::parse(&text[range])?.value),
        None => String::new(),
    };
    let status = status.and_then(|range| Status::from_adk(text[range].parse().ok()?));
    Ok(ResultEntry {
        eval_id,
        status,
        attempt: 1,
        range,
    })
}

/// A turn of a result: the expected and the actual one, and its scores.
struct ResultTurn {
    expected: Option<Invocation>,
    actual: Invocation,
    /// Whether the rubrics of the case and of the turn are recorded. ADK copies both to the actual turn.
    has_rubrics: bool,
    scores: Vec<MetricResult>,
}

fn result_turn(node: JsonNode) -> Read<ResultTurn> {
    let expected = node
        .get("expected_invocation")
        .map(invocation)
        .transpose()?;
    let actual = node.need("actual_invocation")?;
    let has_rubrics = actual.object()?.contains_key("rubrics");
    let scores = node.list("eval_metric_results", metric_result)?;
    Ok(ResultTurn {
        expected,
        actual: invocation(actual)?,
        has_rubrics,
        scores,
    })
}

/// The rubrics of the case: those of the first actual turn that are not the turn's own.
fn case_rubrics(turns: &[ResultTurn]) -> Vec<Rubric> {
    let Some(ResultTurn {
        expected, actual, ..
    }) = turns.first()
    else {
        return Vec::new();
    };
    let own = expected
        .as_ref()
        .map(|turn| turn.rubrics.as_slice())
        .unwrap_or_default();
    actual
        .rubrics
        .iter()
        .filter(|rubric| own.iter().all(|other| other.id != rubric.id))
        .cloned()
        .collect()
}

fn case_result(node: JsonNode, key: AttemptKey) -> Read<(Attempt, NotRecorded)> {
    let adk_status = status(node.need("final_eval_status")?)?;
    let mut metrics = node.list("overall_eval_metric_results", metric_result)?;
    let turns = node.list("eval_metric_result_per_invocation", result_turn)?;
    for turn in &turns {
        for (metric, score) in metrics.iter_mut().zip(&turn.scores) {
            metric.per_invocation.push(InvocationScore {
                score: score.score,
                status: score.status,
                explanation: String::new(),
                details: score.details.clone(),
                rubrics: score.rubrics.clone(),
            });
        }
    }
    let ours = node.get("evaltrail");
    let error = ours
        .map(|ours| ours.opt_str("error"))
        .transpose()?
        .flatten();
    explain(&mut metrics, ours)?;
    let session = node.get("session_details");
    let broke = metrics.is_empty() && turns.is_empty() && adk_status == Status::Failed;
    let end = RecordedEnd::read(session.filter(|_| turns.is_empty()));
    let error = error.or_else(|| broke.then_some(end.error));
    let unknown = NotRecorded {
        expected: turns.is_empty(),
        rubrics: !turns.iter().any(|turn| turn.has_rubrics),
        state: true,
        scenario: turns.iter().all(|turn| turn.expected.is_none()),
    };
    let actual = |turns: Vec<ResultTurn>| turns.into_iter().map(|turn| turn.actual).collect();
    let attempt = Attempt {
        status: match error {
            Some(_) => Status::Errored,
            None => crate::domain::case_status(&metrics),
        },
        adk_status,
        latency_s: match turns.is_empty() {
            true => None,
            false => turns.iter().map(|turn| turn.actual.durations.total).sum(),
        },
        failed: Some(error.is_some()),
        error,
        metrics,
        actual_state: session.and_then(final_state),
        rubrics: case_rubrics(&turns),
        expected: turns
            .iter()
            .filter_map(|turn| turn.expected.clone())
            .collect(),
        actual: if turns.is_empty() {
            end.turns.into()
        } else {
            actual(turns)
        },
        session_id: node.opt_str("session_id")?.unwrap_or_default(),
        user_id: node.opt_str("user_id")?.unwrap_or_default(),
        ..Attempt::blank(key, &node.opt_str("eval_id")?.unwrap_or_default())
    };
    Ok((attempt, unknown))
}

fn explain(metrics: &mut [MetricResult], ours: Option<JsonNode>) -> Read<()> {
    let Some(ours) = ours else { return Ok(()) };
    let Some(explanations) = ours.get("explanations") else {
        return Ok(());
    };
    for metric in metrics {
        if let Some(text) = explanations
            .value
            .get(&metric.metric)
            .and_then(|text| text.as_str())
        {
            metric.explanation = text.to_string();
        }
    }
    Ok(())
}

fn status(node: JsonNode) -> Read<Status> {
    let number = node.number()?;
    Status::from_adk(number as u64).ok_or_else(|| node.wrong("a status from 1 to 4"))
}

fn metric_result(node: JsonNode) -> Read<MetricResult> {
    let details = node.get("details");
    let rubrics = match details {
        Some(details) => details.list("rubric_scores", rubric_score)?,
        None => Vec::new(),
    };
    let (number, threshold) = (node.opt_number("score")?, node.opt_number("threshold")?);
    let status = status(node.need("eval_status")?)?;
    let checked = Score::check(number).and_then(|score| {
        Ok((
            score,
            rubrics
                .into_iter()
                .collect::<Result<Vec<RubricScore>, _>>()?,
        ))
    });
    let not_finite = checked.as_ref().err().map(|why| why.to_string());
    let status = if not_finite.is_some() {
        Status::Errored
    } else {
        status
    };
    let (score, rubrics) = checked.unwrap_or_default();
    let findings = match (&not_finite, status) {
        (Some(why), _) => vec![Finding::text(FindingRule::NotEvaluated, why)],
        (None, Status::Failed) => vec![Finding::threshold_missed(number, threshold)],
        (None, Status::NotEvaluated) => vec![Finding::new(FindingRule::NotEvaluated)],
        _ => Vec::new(),
    };
    Ok(MetricResult {
        metric: node.need("metric_name")?.str()?,
        score,
        threshold,
        status,
        explanation: not_finite.unwrap_or_default(),
        findings,
        per_invocation: Vec::new(),
        rubrics,
        criterion: node
            .get("criterion")
            .map(|criterion| criterion.value.clone()),
        details: details.map(metric_details).transpose()?.flatten(),
        judgement: None,
    })
}

/// The inner error is a score that is not finite.
fn rubric_score(node: JsonNode) -> Read<Result<RubricScore, NotFinite>> {
    let (rubric_id, rationale) = (node.need("rubric_id")?.str()?, node.opt_str("rationale")?);
    let score = Score::check(node.opt_number("score")?);
    Ok(score.map(|score| RubricScore {
        rubric_id,
        score,
        rationale,
        votes: None,
    }))
}

fn metric_details(node: JsonNode) -> Read<Option<MetricDetails>> {
    if let Some(tokens) = node.get("token_usage_details") {
        return Ok(Some(MetricDetails::Tokens(TokenUsage {
            total: tokens.opt_number("total_tokens")?,
            input: tokens.opt_number("input_tokens")?,
            prompt: tokens.opt_number("prompt_tokens")?,
            cached: tokens.opt_number("cached_tokens")?,
            tool_use: tokens.opt_number("tool_use_tokens")?,
            output: tokens.opt_number("output_tokens")?,
            candidates: tokens.opt_number("candidates_tokens")?,
            reasoning: tokens.opt_number("reasoning_tokens")?,
        })));
    }
    let Some(seconds) = node.get("duration_details") else {
        return Ok(None);
    };
    Ok(Some(MetricDetails::Seconds {
        total: seconds.opt_number("total_seconds")?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_are_not_finite_are_errored() {
        for number in ["NaN", "Infinity", "-Infinity", "1e999"] {
            let metric = |score: &str, rubric: &str| {
                format!(
                    r#"{{"metric_name": "m", "score": {score}, "threshold": 0.0, "eval_status": 1,
                        "details": {{"rubric_scores": [{{"rubric_id": "r", "score": {rubric}}}]}}}}"#
                )
            };
            let actual = r#"{"user_content": {"parts": [{"text": "hi"}]}}"#;
            let (good, no_score, no_rubric) = (
                metric("0.5", "1.0"),
                metric(number, "1.0"),
                metric("0.5", number),
            );
            let text = format!(
                r#"{{"eval_set_result_id": "r", "eval_set_id": "s", "eval_case_results": [{{
                    "eval_id": "a", "final_eval_status": 1,
                    "overall_eval_metric_results": [{no_score}, {no_rubric}, {good}],
                    "eval_metric_result_per_invocation": [
                        {{"actual_invocation": {actual}, "eval_metric_results": [{good}, {good}, {no_score}]}}
                    ]}}]}}"#
            );
            let attempt = ResultFile::open(text.into()).unwrap().attempt(0).unwrap();
            assert_eq!(attempt.status, Status::Errored, "{number}");
            for metric in &attempt.metrics[..2] {
                assert_eq!(
                    (metric.status, metric.score()),
                    (Status::Errored, None),
                    "{number}"
                );
                assert!(
                    metric.rubrics.is_empty() && !metric.findings.is_empty(),
                    "{number}"
                );
                assert!(
                    metric.explanation.contains("not a finite number"),
                    "{}",
                    metric.explanation
                );
            }
            let last = &attempt.metrics[2];
            assert_eq!((last.status, last.score()), (Status::Passed, Some(0.5)));
            let turn = &last.per_invocation[0];
            assert_eq!(
                (turn.status, turn.score()),
                (Status::Errored, None),
                "{number}"
            );
        }
    }
}
