//! A table for spreadsheets: one row per attempt, two columns per metric.

use super::attempts::{attempts_in_order, metric_names};
use super::format::{BASE, EarlierRuns, ReportFormat};
use evaltrail_core::domain::{EndedAttempt, RunState, ToolCounts, clean};
use evaltrail_core::formats::REPORT_COLUMNS;
use std::io::{self, Write};

/// A table with one row per attempt.
pub(super) const REPORT: ReportFormat = ReportFormat {
    name: "csv",
    ending: "csv",
    write: write_csv_report,
    ..BASE
};

/// Writes the report of a run. Errors: those of `out`, and attempts that cannot be read.
fn write_csv_report(state: &RunState, _: EarlierRuns<'_>, out: &mut dyn Write) -> io::Result<()> {
    let metrics = metric_names(state);
    let mut writer = csv::Writer::from_writer(out);
    let mut header: Vec<String> = REPORT_COLUMNS.iter().map(ToString::to_string).collect();
    header.extend(metrics.iter().flat_map(|m| {
        [
            text(&format!("{m}/score")),
            text(&format!("{m}/explanation")),
        ]
    }));
    writer.write_record(&header)?;
    for attempt in attempts_in_order(state) {
        writer.write_record(row(state, &attempt, &metrics)?)?;
    }
    writer.flush()
}

fn row(state: &RunState, ended: &EndedAttempt, metrics: &[String]) -> io::Result<Vec<String>> {
    let attempt = ended.read_to_write()?;
    let set = state.plan.set_of(attempt.key.case);
    let last = attempt.expected.last().or(attempt.actual.last());
    let prompt = last.map(|turn| turn.user.scored_text()).unwrap_or_default();
    let response = attempt
        .actual
        .last()
        .map(|turn| turn.response_text())
        .unwrap_or_default();
    let mut cells = vec![
        text(&set.id),
        text(&set.file),
        text(&ended.title(1)),
        attempt.key.attempt.to_string(),
        attempt.status.key().to_string(),
        state
            .plan
            .cases
            .quarantine(attempt.key.case)
            .map_or(String::new(), |one| text(&one.until)),
        attempt
            .latency_s
            .map(|seconds| seconds.to_string())
            .unwrap_or_default(),
        text(attempt.error.as_deref().unwrap_or_default()),
        text(&prompt),
        text(&response),
        text(ended.end.describe().unwrap_or_default()),
    ];
    let counts = |tools: ToolCounts| {
        [
            tools.stubbed,
            tools.nearest,
            tools.faults,
            tools.live,
            tools.missing,
        ]
    };
    let tools = ended.tools.map(counts);
    let reason = text(&ended.reason());
    cells.extend(
        [0, 1, 2, 3, 4].map(|at| tools.map_or(String::new(), |counts| counts[at].to_string())),
    );
    let model_errors: Vec<String> = attempt
        .model_errors()
        .map(|(_, error)| error.text())
        .collect();
    cells.push(text(&model_errors.join("; ")));
    cells.push(attempt.adk_status.key().to_string());
    cells.push(reason);
    cells.push((state.plan.cases.index_in_file(attempt.key.case) + 1).to_string());
    for name in metrics {
        let metric = attempt.metrics.iter().find(|metric| metric.metric == *name);
        cells.push(
            metric
                .and_then(|metric| metric.score())
                .map(|score| score.to_string())
                .unwrap_or_default(),
        );
        cells.push(text(
            metric.map_or("", |metric| metric.stated_explanation()),
        ));
    }
    Ok(cells)
}

/// A cell that no spreadsheet treats as a formula, without hidden and control characters.
pub(super) fn text(text: &str) -> String {
    let cleaned = clean(text);
    // If the list separator is a semicolon, a spreadsheet begins a new cell after each.
    let parts: Vec<String> = cleaned
        .split(';')
        .map(|part| match is_formula(part) {
            true => format!("'{part}"),
            false => part.to_string(),
        })
        .collect();
    parts.join(";")
}

fn is_formula(text: &str) -> bool {
    text.trim_start()
        .starts_with(['=', '+', '-', '@', '\t', '\r', '|', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        for evil in [
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            " =1",
            "\t=1",
            "=cmd|'/c calc'!A0",
        ] {
            assert!(
                text(evil).starts_with('\''),
                "{evil:?} became {:?}",
                text(evil)
            );
        }
        assert_eq!(text("plain = text"), "plain = text");
    }
}
