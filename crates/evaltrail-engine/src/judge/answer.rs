//! The output of a program, as a metric's result.

use evaltrail_core::domain::{
    Criterion, Finding, FindingRule, InvocationScore, MetricResult, NotFinite, Score, Status,
    float_of,
};
use evaltrail_core::metrics::unscored;
use serde_json::Value;

const REPORTED_NO_REASON: &str = "the program gave no reason";

/// Reads an output: a number, or `{"score", "explanation", "status", "per_invocation"}`; or `{"error"}`.
pub(super) fn result(criterion: &Criterion, turns: usize, answer: &Value) -> MetricResult {
    read_result(criterion, turns, answer)
        .unwrap_or_else(|why| unscored(criterion, turns, Status::Errored, &why))
}

/// The error says what is wrong with the output, or what the program reported as an error.
fn read_result(
    criterion: &Criterion,
    turns: usize,
    answer: &Value,
) -> Result<MetricResult, String> {
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        return Err(reported_error(error, answer));
    }
    let score = Score::check(score_in(answer)?)
        .map_err(|NotFinite(_)| "the metric's score is not finite".to_string())?;
    let reported = reported_status(answer);
    if (score, reported) == (None, Some(Status::Passed)) {
        return Err("the metric passed, but it has no score".into());
    }
    let explanation = answer.get("explanation").and_then(Value::as_str);
    let explanation = match (explanation.unwrap_or_default(), score) {
        ("", None) => "the program gave no score and no reason",
        (explanation, _) => explanation,
    };
    let status = status_of(criterion, score, reported);
    let mut result = unscored(criterion, turns, status, explanation);
    result.score = score;
    let text = if explanation.is_empty() {
        REPORTED_NO_REASON
    } else {
        explanation
    };
    result.findings = vec![Finding::text(FindingRule::ReportedReason, text)];
    let per_invocation = turn_scores(criterion, answer)?;
    if !per_invocation.is_empty() {
        result.per_invocation = per_invocation;
    }
    Ok(result)
}

fn reported_error(error: &Value, answer: &Value) -> String {
    let words = error
        .as_str()
        .map_or_else(|| error.to_string(), str::to_string);
    match answer.get("traceback").and_then(Value::as_str) {
        Some(traceback) => format!("{words}\n{}", traceback.trim_end()),
        None => words,
    }
}

/// The score of an output; `None` if it says that there is none.
fn score_in(answer: &Value) -> Result<Option<f64>, String> {
    match answer {
        Value::Number(number) => Ok(float_of(number)),
        Value::Object(map) => match map.get("score") {
            Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => Ok(float_of(number)),
            Some(other) => Err(format!("the metric's score is not a number: {other}")),
            None => Err("the metric's answer has no \"score\"".into()),
        },
        other => Err(format!(
            "the metric returned neither a number nor an object: {other}"
        )),
    }
}

fn reported_status(value: &Value) -> Option<Status> {
    let number = value.get("status").and_then(Value::as_u64);
    number.and_then(Status::from_adk)
}

/// The status that the program reports; without one, that of the score.
fn status_of(criterion: &Criterion, score: Option<Score>, reported: Option<Status>) -> Status {
    let of_score = || Status::from_score(score.map(Score::get), criterion.threshold);
    reported.unwrap_or_else(of_score)
}

/// The scores of the turns, if the output has them.
fn turn_scores(criterion: &Criterion, answer: &Value) -> Result<Vec<InvocationScore>, String> {
    let read = |turn: &Value| {
        let number = turn.get("score").and_then(Value::as_number);
        let score = Score::check(number.and_then(float_of))?;
        let status = match (score, status_of(criterion, score, reported_status(turn))) {
            (None, Status::Passed) => Status::NotEvaluated,
            (_, status) => status,
        };
        let (explanation, details, rubrics) = (String::new(), None, Vec::new());
        Ok(InvocationScore {
            score,
            status,
            explanation,
            details,
            rubrics,
        })
    };
    let turns = answer.get("per_invocation").and_then(Value::as_array);
    turns
        .into_iter()
        .flatten()
        .map(read)
        .collect::<Result<_, NotFinite>>()
        .map_err(|NotFinite(_)| "the metric's score of a turn is not finite".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn score_and_status(answer: Value) -> (Option<f64>, Status, String) {
        let result = result(&Criterion::new("m", Some(0.5)), 1, &answer);
        (result.score(), result.status, result.explanation)
    }

    #[test]
    fn answers_are_numbers_objects_or_errors() {
        assert_eq!(
            score_and_status(json!(0.5)),
            (Some(0.5), Status::Passed, String::new())
        );
        assert_eq!(
            score_and_status(json!({"score": 0.4, "explanation": "low"})),
            (Some(0.4), Status::Failed, "low".into())
        );
        let (score, status, why) = score_and_status(json!({"score": null}));
        assert_eq!((score, status), (None, Status::NotEvaluated));
        assert!(why.contains("no score and no reason"), "{why}");
        assert_eq!(
            score_and_status(json!({"score": 1, "status": 2})),
            (Some(1.0), Status::Failed, String::new())
        );
        assert_eq!(
            score_and_status(json!({"error": "E: x", "traceback": "at y\n"})).2,
            "E: x\nat y"
        );
        assert_eq!(
            score_and_status(json!({"score": null, "status": 2})).1,
            Status::Failed
        );
        let (score, status, why) = score_and_status(json!({"score": null, "status": 1}));
        assert_eq!(
            (score, status),
            (None, Status::Errored),
            "a case never passes without a score"
        );
        assert!(why.contains("no score"), "{why}");
        for bad in [json!("1"), json!({}), json!({"score": "high"}), json!([1])] {
            assert_eq!(score_and_status(bad).1, Status::Errored);
        }
    }

    #[test]
    fn reason_is_finding_and_turns_have_scores() {
        let of = |answer: Value| result(&Criterion::new("m", Some(0.5)), 2, &answer);
        let reasons = |answer: Value| -> Vec<Option<String>> {
            of(answer)
                .findings
                .into_iter()
                .map(|finding| finding.text)
                .collect()
        };
        assert_eq!(
            reasons(json!({"score": 0.4, "explanation": "low"})),
            [Some("low".to_string())]
        );
        assert_eq!(reasons(json!(0.4)), [Some(REPORTED_NO_REASON.to_string())]);
        let turns = |answer: Value| {
            of(answer)
                .per_invocation
                .iter()
                .map(|turn| (turn.score.map(Score::get), turn.status))
                .collect::<Vec<_>>()
        };
        let own = json!({"score": 1, "per_invocation": [{"score": 0.2}, {"score": 0.7}, {"score": null, "status": 1}]});
        assert_eq!(
            turns(own),
            [
                (Some(0.2), Status::Failed),
                (Some(0.7), Status::Passed),
                (None, Status::NotEvaluated)
            ]
        );
    }

    #[test]
    fn scores_that_are_not_finite_are_errors() {
        for word in ["NaN", "Infinity", "-Infinity"] {
            let number = Value::Number(evaltrail_core::domain::special_number(word).unwrap());
            let (score, status, why) = score_and_status(number.clone());
            assert_eq!((score, status), (None, Status::Errored), "{word}");
            assert!(why.contains("not finite"), "{why}");
            assert_eq!(
                score_and_status(json!({"score": number})).1,
                Status::Errored,
                "{word}"
            );
            let turns = json!({"score": 1.0, "per_invocation": [{"score": number}]});
            assert_eq!(score_and_status(turns).1, Status::Errored, "{word}");
        }
    }
}
