//! Coverage as text for a terminal.

use super::AgentReport;
use crate::report::Paint;
use evaltrail_core::analysis::{Assertion, CallOutcome, CoverageShare, ToolCoverage};
use evaltrail_core::domain::{Status, clean_line, counted};
use unicode_width::UnicodeWidthStr;

/// Lines of each list that are shown.
const MAX_LINES: usize = 12;
/// Cases that are named with a finding.
const MAX_CASES: usize = 3;

/// The coverage of an agent. Text from outside is cleaned.
pub fn coverage_text(report: &AgentReport, paint: Paint) -> String {
    let coverage = &report.agent.coverage;
    let mut lines = vec![
        format!(
            "{}  {}",
            paint.bold(&clean_line(report.title())),
            paint.faint(&format!(
                "{} in {}, {} with results · {}",
                counted(coverage.cases.len(), "case"),
                counted(report.agent.files, "file"),
                coverage.cases_with_attempts.count(),
                clean_line(&report.source_text()),
            ))
        ),
        String::new(),
    ];
    lines.extend(tool_lines(report, paint));
    lines.push(String::new());
    lines.extend(never_expected_line(report, paint));
    lines.extend(argument_lines(report, paint));
    lines.extend(order_lines(report, paint));
    lines.extend(agent_lines(report, paint));
    lines.extend(state_lines(report, paint));
    lines.push(assertion_line(report, paint));
    let limits = report.limits().into_iter();
    lines.extend(limits.map(|limit| paint.faint(&clean_line(&limit))));
    lines.extend(finding_lines(report, paint));
    lines.join("\n")
}

/// The declared tools that no case expects.
fn never_expected_line(report: &AgentReport, paint: Paint) -> Option<String> {
    let tools = report.agent.coverage.never_expected(&report.waived);
    let text = format!("never expected  {}", clean_line(&tools.join(", ")));
    (!tools.is_empty()).then(|| paint.status(Status::Failed, &text))
}

/// The name of the last row of the table, which cannot be the name of a tool.
const ALL_TOOLS: &str = "(all tools)";
const COLUMNS: [&str; 4] = ["declared", "expected", "called", "passed"];

/// The table of tools. The numbers are numbers of cases.
fn tool_lines(report: &AgentReport, paint: Paint) -> Vec<String> {
    let tools = &report.agent.coverage.tools;
    if tools.is_empty() {
        return vec!["no tool is declared, expected or called".into()];
    }
    let name_width = tools.keys().map(|name| clean_line(name).width()).max();
    let name_width = name_width.unwrap_or(0).clamp(ALL_TOOLS.len(), 40);
    let outcomes: Vec<CallOutcome> = CallOutcome::ALL
        .into_iter()
        .filter(|outcome| {
            tools
                .values()
                .any(|tool| tool.outcomes.contains_key(outcome))
        })
        .collect();
    let labels = COLUMNS
        .into_iter()
        .chain(outcomes.iter().map(|outcome| outcome.heading()));
    let labels: Vec<String> = labels.map(|label| format!("{label:>8}")).collect();
    let mut lines = vec![paint.faint(&format!("{:name_width$}  {}", "tool", labels.join("  ")))];
    for (name, tool) in tools {
        let waived = report
            .waived
            .reason(name)
            .map(|reason| paint.faint(&format!("  waived: {}", clean_line(reason))));
        let name = clean_line(name);
        let padding = " ".repeat(name_width.saturating_sub(name.width()));
        let cells: Vec<String> = tool_cells(tool, &outcomes, &labels, paint);
        lines.push(format!(
            "{name}{padding}  {}{}",
            cells.join("  "),
            waived.unwrap_or_default()
        ));
    }
    let seen =
        |is_seen: fn(&ToolCoverage) -> bool| tools.values().filter(|tool| is_seen(tool)).count();
    let totals = [
        (
            CoverageShare::Tools,
            seen(|tool| !tool.cases.expected.is_empty()),
        ),
        (
            CoverageShare::Called,
            seen(|tool| !tool.cases.called.is_empty()),
        ),
        (
            CoverageShare::Passed,
            seen(|tool| !tool.cases.passed.is_empty()),
        ),
    ];
    let totals = totals.map(|(share, count)| format!("{:>8}", report.share_text(share, count)));
    let all = match coverage_is_known(report) {
        true => report.agent.coverage.declared_tools().count().to_string(),
        false => "–".into(),
    };
    lines.push(format!(
        "{:name_width$}  {all:>8}  {}",
        ALL_TOOLS,
        totals.join("  ")
    ));
    lines
}

fn coverage_is_known(report: &AgentReport) -> bool {
    report.agent.coverage.source.is_some()
}

fn tool_cells(
    tool: &ToolCoverage,
    outcomes: &[CallOutcome],
    labels: &[String],
    paint: Paint,
) -> Vec<String> {
    let declared = match tool.declared {
        Some(true) => "yes",
        Some(false) => "no",
        None => "–",
    };
    let counts = [&tool.cases.expected, &tool.cases.called, &tool.cases.passed];
    let counts = counts.map(|cases| (cases.count(), false));
    let ends = outcomes.iter().map(|outcome| {
        let count = tool.outcomes.get(outcome).map_or(0, |cases| cases.count());
        (count, *outcome == CallOutcome::Error && count > 0)
    });
    let mut cells = vec![match tool.declared {
        Some(false) => paint.status(Status::Failed, &format!("{declared:>8}")),
        _ => format!("{declared:>8}"),
    }];
    for ((at, (count, is_bad)), label) in
        counts.into_iter().chain(ends).enumerate().zip(&labels[1..])
    {
        let width = label.width();
        let text = format!("{count:>width$}");
        let is_gap = count == 0 && at < 3;
        cells.push(match (is_bad, is_gap) {
            (true, _) => paint.status(Status::Errored, &text),
            (_, true) => paint.status(Status::NotEvaluated, &text),
            _ => text,
        });
    }
    cells
}

/// A heading with lines below it, of which at most [`MAX_LINES`] are shown.
fn listed(heading: String, lines: Vec<String>, paint: Paint) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_LINES);
    let mut out = vec![heading];
    out.extend(
        lines
            .into_iter()
            .take(MAX_LINES)
            .map(|line| format!("  {line}")),
    );
    if more > 0 {
        out.push(paint.faint(&format!("  … {more} more (--json has all)")));
    }
    out
}

fn argument_lines(report: &AgentReport, paint: Paint) -> Vec<String> {
    let Some((covered, of)) = report
        .agent
        .coverage
        .share(CoverageShare::Arguments, &report.waived)
    else {
        return Vec::new();
    };
    if of == 0 {
        return Vec::new();
    }
    let missing = report.agent.coverage.missing_classes();
    let counted_tools = missing
        .iter()
        .filter(|(tool, ..)| report.waived.reason(tool).is_none());
    let lines: Vec<String> = counted_tools
        .map(|(tool, argument, labels)| {
            let line = format!("{tool}.{argument}: {}", labels.join(", "));
            clean_line(&line).into_owned()
        })
        .collect();
    let not = if lines.is_empty() { "" } else { "; not:" };
    listed(
        format!("arguments  {covered} of {of} classes of values are expected{not}"),
        lines,
        paint,
    )
}

fn order_lines(report: &AgentReport, paint: Paint) -> Vec<String> {
    let coverage = &report.agent.coverage;
    let mut lines = Vec::new();
    let feasible = coverage.counted_pairs(&report.waived).count();
    if feasible > 0 && !coverage.cases_with_attempts.is_empty() {
        let missing = report.missing_pairs();
        let expected = feasible - missing.len();
        let not = match missing.is_empty() {
            true => "",
            false => "; data flows, but no case expects:",
        };
        let pairs = missing.iter().map(|((first, second), pair)| {
            let cases = counted(pair.data_flow.count(), "case");
            clean_line(&format!("{first} → {second} ({cases})")).into_owned()
        });
        lines.extend(listed(
            format!("pairs  {expected} of {feasible} feasible pairs of calls are expected{not}"),
            pairs.collect(),
            paint,
        ));
    }
    let unexpected = coverage.unexpected_sequences();
    let count = |is: fn(&evaltrail_core::analysis::CasesByColumn) -> bool| {
        coverage
            .sequences
            .values()
            .filter(|cases| is(cases))
            .count()
    };
    let (expected, called) = (
        count(|cases| !cases.expected.is_empty()),
        count(|cases| !cases.called.is_empty()),
    );
    if expected + called > 0 {
        let not = if unexpected.is_empty() {
            ""
        } else {
            "; made, but expected by no case:"
        };
        let sequences = unexpected.iter().map(|(sequence, cases)| {
            let calls = match sequence.is_empty() {
                true => "no calls".to_string(),
                false => sequence.join(" → "),
            };
            clean_line(&format!("{calls} ({})", counted(cases.count(), "case"))).into_owned()
        });
        lines.extend(listed(
            format!("sequences  {expected} expected, {called} made{not}"),
            sequences.collect(),
            paint,
        ));
    }
    lines
}

fn agent_lines(report: &AgentReport, paint: Paint) -> Vec<String> {
    let agents = &report.agent.coverage.agents;
    if agents.len() < 2 {
        return Vec::new();
    }
    let line = |(name, agent): (&String, &evaltrail_core::analysis::AgentCoverage)| {
        let text = format!(
            "{name}: acted in {}; transfers expected in {}, made in {}",
            counted(agent.acted.count(), "case"),
            agent.transfers.expected.count(),
            agent.transfers.called.count()
        );
        clean_line(&text).into_owned()
    };
    let acted = agents
        .values()
        .filter(|agent| !agent.acted.is_empty())
        .count();
    listed(
        format!("agents  {acted} of {} acted", agents.len()),
        agents.iter().map(line).collect(),
        paint,
    )
}

fn state_lines(report: &AgentReport, paint: Paint) -> Vec<String> {
    let line = |(key, state): (&String, &evaltrail_core::analysis::StateCoverage)| {
        let text = format!(
            "{key}: {} at the start, final value stated in {}",
            counted(state.initial.len(), "value"),
            counted(state.asserted.count(), "case")
        );
        clean_line(&text).into_owned()
    };
    let state = &report.agent.coverage.state;
    match state.is_empty() {
        true => Vec::new(),
        false => listed(
            format!("state  {}", counted(state.len(), "key")),
            state.iter().map(line).collect(),
            paint,
        ),
    }
}

fn assertion_line(report: &AgentReport, paint: Paint) -> String {
    let part = |(assertion, cases): (&Assertion, &evaltrail_core::analysis::CaseSet)| {
        let text = format!("{} {}", assertion.label(), cases.count());
        match assertion {
            Assertion::Nothing => paint.status(Status::Failed, &text),
            _ => text,
        }
    };
    let parts: Vec<String> = report.agent.coverage.assertions.iter().map(part).collect();
    format!("cases expect  {}", parts.join(" · "))
}

fn finding_lines(report: &AgentReport, paint: Paint) -> Vec<String> {
    let findings = &report.agent.coverage.findings;
    if findings.is_empty() {
        return Vec::new();
    }
    let line = |finding: &evaltrail_core::analysis::CoverageFinding| {
        let cases = report.case_names(&finding.cases.0, MAX_CASES);
        format!(
            "{}  {}",
            clean_line(&finding.problem.text()),
            paint.faint(&clean_line(&cases))
        )
    };
    let lines = findings.iter().map(line).collect();
    let mut out = vec![String::new()];
    out.extend(listed(counted(findings.len(), "finding"), lines, paint));
    out
}
