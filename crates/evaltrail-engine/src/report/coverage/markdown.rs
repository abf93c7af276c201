//! Coverage as Markdown, for comments on pull requests.

use super::AgentReport;
use crate::report::markdown_cell::cell;
use evaltrail_core::analysis::CoverageShare;
use evaltrail_core::domain::counted;

/// Cases that are named with a finding.
const MAX_CASES: usize = 3;

/// The coverage of an agent.
pub fn coverage_markdown(report: &AgentReport) -> String {
    let coverage = &report.agent.coverage;
    let mut out = format!(
        "## Coverage: {}\n\n{} in {}, {} with results · {}\n\n",
        cell(report.title()),
        counted(coverage.cases.len(), "case"),
        counted(report.agent.files, "file"),
        coverage.cases_with_attempts.count(),
        cell(&report.source_text())
    );
    let never = coverage.never_expected(&report.waived);
    if !never.is_empty() {
        out.push_str(&format!(
            "**Never expected:** {}\n\n",
            cell(&never.join(", "))
        ));
    }
    out.push_str("| tool | declared | expected | called | passed |\n|---|---|---:|---:|---:|\n");
    for (name, tool) in &coverage.tools {
        let declared = match (report.waived.reason(name), tool.declared) {
            (Some(reason), _) => format!("waived: {}", cell(reason)),
            (_, Some(true)) => "yes".into(),
            (_, Some(false)) => "**no**".into(),
            (_, None) => "–".into(),
        };
        out.push_str(&format!(
            "| {} | {declared} | {} | {} | {} |\n",
            cell(name),
            tool.cases.expected.count(),
            tool.cases.called.count(),
            tool.cases.passed.count()
        ));
    }
    let is_known = |share| coverage.share(share, &report.waived).is_some();
    if CoverageShare::ALL.into_iter().any(is_known) {
        out.push_str("\n| share | covered |\n|---|---|\n");
    }
    for share in CoverageShare::ALL {
        if let Some((covered, of)) = coverage.share(share, &report.waived) {
            out.push_str(&format!("| {} | {covered} of {of} |\n", share.name()));
        }
    }
    if !coverage.findings.is_empty() {
        out.push_str("\n| finding | cases |\n|---|---|\n");
        for finding in &coverage.findings {
            let cases = report.case_names(&finding.cases.0, MAX_CASES);
            out.push_str(&format!(
                "| {} | {} |\n",
                cell(&finding.problem.text()),
                cell(&cases)
            ));
        }
    }
    out
}
