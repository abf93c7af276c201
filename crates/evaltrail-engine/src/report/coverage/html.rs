//! Coverage as one HTML page without scripts: numbers of cases on a background that is stronger the larger they are.

use super::AgentReport;
use crate::report::html::{escaped, page_begin};
use evaltrail_core::analysis::{
    ArgumentCoverage, CallOutcome, CasesByColumn, CoverageShare, ToolCoverage,
};
use evaltrail_core::domain::counted;
use std::fmt::Write;

/// Cases that are named with a finding.
const MAX_CASES: usize = 20;

/// The coverage of agents.
pub fn coverage_html(reports: &[AgentReport]) -> String {
    let mut out = page_begin("<title>evaltrail coverage");
    out.push_str("<h1>Coverage</h1>\n");
    for report in reports {
        agent(report, &mut out);
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn agent(report: &AgentReport, out: &mut String) {
    let coverage = &report.agent.coverage;
    let _ = writeln!(
        out,
        "<h2>{}</h2>\n<p>{} in {}, {} with results · {}</p>",
        escaped(report.title()),
        counted(coverage.cases.len(), "case"),
        counted(report.agent.files, "file"),
        coverage.cases_with_attempts.count(),
        escaped(&report.source_text())
    );
    shares(report, out);
    let most = coverage
        .tools
        .values()
        .flat_map(|tool| counts_of(&tool.cases))
        .max()
        .unwrap_or(0);
    out.push_str("<table>\n<tr><th>tool</th><th>declared</th><th class=\"n\">expected</th><th class=\"n\">called</th><th class=\"n\">passed</th><th class=\"n\">call error</th></tr>\n");
    for (name, tool) in &coverage.tools {
        tool_row(report, name, tool, most, out);
    }
    out.push_str("</table>\n");
    for (name, tool) in &coverage.tools {
        arguments(name, tool, most, out);
    }
    findings(report, out);
}

fn shares(report: &AgentReport, out: &mut String) {
    let known = CoverageShare::ALL.into_iter().filter_map(|share| {
        let (covered, of) = report.agent.coverage.share(share, &report.waived)?;
        Some(format!("{} {covered} of {of}", share.name()))
    });
    let known: Vec<String> = known.collect();
    if !known.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", known.join(" · "));
    }
}

fn counts_of(cases: &CasesByColumn) -> [usize; 3] {
    [&cases.expected, &cases.called, &cases.passed].map(|cases| cases.count())
}

fn tool_row(report: &AgentReport, name: &str, tool: &ToolCoverage, most: usize, out: &mut String) {
    let declared = match (report.waived.reason(name), tool.declared) {
        (Some(reason), _) => format!("waived: {}", escaped(reason)),
        (_, Some(true)) => "yes".into(),
        (_, Some(false)) => "<span class=\"failed\">no</span>".into(),
        (_, None) => "–".into(),
    };
    let errors = tool.outcomes.get(&CallOutcome::Error);
    let _ = writeln!(
        out,
        "<tr><th>{}</th><td>{declared}</td>{}<td class=\"n\">{}</td></tr>",
        escaped(name),
        cells(&tool.cases, most),
        errors.map_or(0, |cases| cases.count())
    );
}

/// The classes of the arguments of a tool.
fn arguments(name: &str, tool: &ToolCoverage, most: usize, out: &mut String) {
    let is_classed = |(_, argument): &(&String, &ArgumentCoverage)| !argument.classes.is_empty();
    let mut classed = tool.arguments.iter().filter(is_classed).peekable();
    if classed.peek().is_none() {
        return;
    }
    let _ = writeln!(
        out,
        "<details><summary>Arguments of {}</summary>\n<table>",
        escaped(name)
    );
    out.push_str("<tr><th>argument</th><th>class</th><th class=\"n\">expected</th><th class=\"n\">called</th><th class=\"n\">passed</th></tr>\n");
    for (argument, of) in classed {
        for (class, cases) in &of.classes {
            let _ = writeln!(
                out,
                "<tr><th>{}</th><td>{}</td>{}</tr>",
                escaped(argument),
                escaped(&class.label()),
                cells(cases, most)
            );
        }
    }
    out.push_str("</table>\n</details>\n");
}

/// The cells of the three columns.
fn cells(cases: &CasesByColumn, most: usize) -> String {
    let cell = |count: usize| {
        let share = count as f64 / most.max(1) as f64;
        let strength = if count == 0 { 0.0 } else { 0.1 + 0.6 * share };
        format!("<td class=\"n\" style=\"background:rgb(91 127 166 / {strength:.2})\">{count}</td>")
    };
    counts_of(cases).map(cell).concat()
}

fn findings(report: &AgentReport, out: &mut String) {
    let findings = &report.agent.coverage.findings;
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<h3>{}</h3>\n<table>",
        counted(findings.len(), "finding")
    );
    for finding in findings {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td><i>{}</i></td></tr>",
            escaped(&finding.problem.text()),
            escaped(&report.case_names(&finding.cases.0, MAX_CASES))
        );
    }
    out.push_str("</table>\n");
}
