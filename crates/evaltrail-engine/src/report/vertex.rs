//! Vertex's formats: the metrics table and summary of `EvalTask`, and the newer client's `EvaluationResult`.

use super::attempts::{attempts_in_order, metric_names, titled};
use super::csv::text as cell_text;
use super::format::{BASE, EarlierRuns, ReportFormat};
use evaltrail_core::domain::MetricSummary;
use evaltrail_core::domain::{
    Attempt, EndedAttempt, Invocation, MetricResult, RunState, Status, plain_json,
};
use evaltrail_core::formats::json::{JsonLayout, write_with_list};
use evaltrail_core::formats::vertex::write_trajectory;
use evaltrail_core::formats::{REPORT_KEY, RESULT_ID};
use evaltrail_core::metrics::aggregates;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::sync::Arc;

/// Vertex's metrics table as JSON Lines, or as CSV.
pub(super) const METRICS_TABLE: ReportFormat = ReportFormat {
    name: "vertex",
    write: write_metrics_table,
    write_csv: Some(write_metrics_csv),
    ..BASE
};

/// Vertex's summary of metrics.
pub(super) const SUMMARY: ReportFormat = ReportFormat {
    name: "vertex-summary",
    write: |state, _, out| writeln!(out, "{:#}", summary(state)),
    ..BASE
};

/// The newer client's `EvaluationResult`.
pub(super) const EVALUATION_RESULT: ReportFormat = ReportFormat {
    name: "evaluation-result",
    write: write_evaluation_result,
    ..BASE
};

/// Writes the metrics table, one row per line: a column that marks the file as a report ([`REPORT_KEY`]), the data set's
/// columns, then `<metric>/score` and `<metric>/explanation`.
fn write_metrics_table(
    state: &RunState,
    _: EarlierRuns<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = metric_names(state);
    attempts_in_order(state)
        .try_for_each(|attempt| writeln!(out, "{}", plain_json(row(&attempt, &names)?)))
}

/// Writes the metrics table as CSV, with the columns of [`write_metrics_table`].
fn write_metrics_csv(state: &RunState, _: EarlierRuns<'_>, out: &mut dyn Write) -> io::Result<()> {
    let names = metric_names(state);
    let mut writer = csv::Writer::from_writer(out);
    let columns = std::iter::once(&REPORT_KEY)
        .chain(COLUMNS)
        .map(|name| cell_text(name));
    let of_metrics = names
        .iter()
        .flat_map(|name| [format!("{name}/score"), format!("{name}/explanation")]);
    writer.write_record(columns.chain(of_metrics.map(|name| cell_text(&name))))?;
    for attempt in attempts_in_order(state) {
        let row = row(&attempt, &names)?;
        let cells = row
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, value)| match value {
                Value::Null => String::new(),
                Value::String(text) => cell_text(text),
                // A trajectory is JSON in its cell.
                other => plain_json(other.clone()).to_string(),
            });
        writer.write_record(cells)?;
    }
    writer.flush()
}

/// The columns of the table before those of the metrics.
const COLUMNS: &[&str] = &[
    "eval_case_id",
    "prompt",
    "reference",
    "response",
    "reference_trajectory",
    "predicted_trajectory",
    "latency_in_seconds",
    "failure",
];

fn row(ended: &EndedAttempt, names: &[String]) -> io::Result<Value> {
    let attempt = ended.read_to_write()?;
    let mut row = Map::new();
    row.insert(REPORT_KEY.into(), env!("CARGO_PKG_VERSION").into());
    let (expected, actual) = (attempt.expected.last(), attempt.actual.last());
    row.insert("eval_case_id".into(), ended.title(1).into());
    row.insert(
        "prompt".into(),
        expected
            .or(actual)
            .map(|turn| turn.user.scored_text())
            .into(),
    );
    row.insert("reference".into(), expected.and_then(response).into());
    // If the agent failed, the response is empty, as the client writes it.
    let failed = attempt.status == Status::Errored;
    let said = actual.and_then(response).or(failed.then(String::new));
    row.insert("response".into(), said.into());
    row.insert(
        "reference_trajectory".into(),
        expected.and_then(write_trajectory).into(),
    );
    row.insert(
        "predicted_trajectory".into(),
        actual.and_then(write_trajectory).filter(|_| !failed).into(),
    );
    row.insert("latency_in_seconds".into(), attempt.latency_s.into());
    let failure = if failed { Some(true) } else { attempt.failed };
    row.insert("failure".into(), failure.map(u8::from).into());
    for name in names {
        let metric = attempt.metrics.iter().find(|metric| metric.metric == *name);
        row.insert(
            format!("{name}/score"),
            metric.and_then(|metric| metric.score()).into(),
        );
        let why = match (metric, &attempt.error) {
            (Some(metric), _) => Some(metric.explanation.clone()),
            (None, error) => error.clone(),
        };
        row.insert(format!("{name}/explanation"), why.into());
    }
    Ok(Value::Object(row))
}

fn response(turn: &Invocation) -> Option<String> {
    turn.final_response
        .as_ref()
        .map(|content| content.scored_text())
}

/// `summary_metrics`: row count, mean and sample deviation of each metric. The numbers of valid and of errored rows of
/// each metric are added, so that errors stay visible, and [`REPORT_KEY`] and the gate.
fn summary(state: &RunState) -> Value {
    let mut summary = Map::new();
    summary.insert(REPORT_KEY.into(), env!("CARGO_PKG_VERSION").into());
    summary.insert("row_count".into(), state.finished.len().into());
    for of in aggregates(attempts_in_order(state)) {
        summary.insert(format!("{}/mean", of.metric), of.mean.into());
        summary.insert(format!("{}/std", of.metric), of.std.into());
        summary.insert(format!("{}/valid", of.metric), of.valid.into());
        summary.insert(format!("{}/errored", of.metric), of.errored.into());
        if state.plan.has_different_scoring(&of.metric) {
            // The mean is over scores that the sets of the run compute in different ways.
            summary.insert(format!("{}/different_options", of.metric), true.into());
        }
    }
    let (gate, counts) = (state.plan.options.gate, state.gate_counts());
    summary.insert("gate/name".into(), gate.name().into());
    summary.insert("gate/passed".into(), counts.passed.into());
    summary.insert(
        "gate/not_passed".into(),
        (counts.planned - counts.passed).into(),
    );
    Value::Object(summary)
}

/// Writes the newer client's result file.
fn write_evaluation_result(
    state: &RunState,
    _: EarlierRuns<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let case = |index: usize| -> io::Result<Option<Value>> {
        let of_case: Vec<Value> = state
            .attempts_of(index)
            .into_iter()
            .enumerate()
            .map(|(at, ended)| {
                let results = metric_results(&*ended.read_to_write()?);
                Ok(json!({"response_index": at, "metric_results": results}))
            })
            .collect::<io::Result<_>>()?;
        Ok((!of_case.is_empty()).then(|| {
            json!({
                "eval_case_index": index,
                "eval_case_id": state.plan.cases.eval_id(index),
                "response_candidate_results": of_case,
            })
        }))
    };
    let scored = metric_names(state);
    let aggregates = aggregates(attempts_in_order(state));
    let summaries: Vec<Value> = titled(state, aggregates.clone())
        .into_iter()
        .zip(aggregates)
        .map(|(titled, of)| {
            let is_one = |metric: &MetricSummary| metric.metric == of.metric && metric.score() == Some(1.0);
            let ones = |attempt: Arc<EndedAttempt>| attempt.metrics.iter().filter(|one| is_one(one)).count();
            let ones: usize = attempts_in_order(state).map(ones).sum();
            let pass_rate = (of.valid > 0 && scored.contains(&of.metric)).then(|| ones as f64 / of.valid as f64);
            json!({
                "metric_name": titled.metric, "num_cases_total": of.total, "num_cases_valid": of.valid,
                "num_cases_error": of.errored, "mean_score": of.mean, "stdev_score": of.std, "pass_rate": pass_rate,
            })
        })
        .collect();
    // The metadata come first, so that the beginning of the file shows what it is.
    let document = json!({
        "metadata": {
            "dataset_id": format!("{RESULT_ID}{}", state.plan.run_id),
            "candidate_names": [state.plan.agent_label()],
            "creation_timestamp": state.plan.started,
        },
        "summary_metrics": summaries,
        "eval_case_results": [],
    });
    let cases = (0..state.plan.cases.len()).filter_map(|index| case(index).transpose());
    let document = (&document, JsonLayout::Indented);
    write_with_list(out, document, "eval_case_results", cases, |text| text)?;
    out.write_all(b"\n")
}

fn metric_results(attempt: &Attempt) -> Value {
    attempt
        .metrics
        .iter()
        .map(|metric| (metric.metric.clone(), metric_result(metric)))
        .collect::<Map<_, _>>()
        .into()
}

/// The result of a metric without nulls, as the client writes it.
fn metric_result(metric: &MetricResult) -> Value {
    let mut out = Map::new();
    out.insert("metric_name".into(), metric.metric.clone().into());
    if let Some(score) = metric.score() {
        out.insert("score".into(), score.into());
    }
    let key = if metric.status == Status::Errored {
        "error_message"
    } else {
        "explanation"
    };
    if !metric.explanation.is_empty() {
        out.insert(key.into(), metric.explanation.clone().into());
    }
    if !metric.rubrics.is_empty() {
        let verdict = |rubric: &evaltrail_core::domain::RubricScore| json!({"evaluated_rubric": {"rubric_id": rubric.rubric_id}, "verdict": rubric.score() == Some(1.0), "reasoning": rubric.rationale});
        out.insert(
            "rubric_verdicts".into(),
            metric.rubrics.iter().map(verdict).collect(),
        );
    }
    Value::Object(out)
}
