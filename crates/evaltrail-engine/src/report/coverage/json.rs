//! Coverage as JSON.

use super::AgentReport;
use evaltrail_core::analysis::{
    ArgumentCoverage, CaseSet, CasesByColumn, Coverage, CoverageShare, ToolCoverage,
};
use serde_json::{Map, Value, json};

/// The coverage of an agent, with the names of the cases behind each number.
pub fn coverage_json(report: &AgentReport) -> Value {
    let coverage = &report.agent.coverage;
    let tools: Vec<Value> = coverage
        .tools
        .iter()
        .map(|(name, tool)| tool_json(report, name, tool))
        .collect();
    let assertions: Map<String, Value> = coverage
        .assertions
        .iter()
        .map(|(assertion, cases)| (assertion.label().to_string(), names(coverage, cases)))
        .collect();
    let findings: Vec<Value> = coverage
        .findings
        .iter()
        .map(|finding| {
            json!({
                "kind": finding.problem.kind(),
                "message": finding.problem.text(),
                "cases": names(coverage, &finding.cases),
            })
        })
        .collect();
    json!({
        "agent": report.agent.name,
        "files": report.agent.files,
        "cases": coverage.cases.len(),
        "cases_with_results": coverage.cases_with_attempts.count(),
        "declarations": coverage.source,
        "never_expected": coverage.never_expected(&report.waived),
        "shares": shares_json(report),
        "tools": tools,
        "pairs": pairs_json(coverage),
        "sequences": sequences_json(coverage),
        "agents": agents_json(coverage),
        "state": state_json(coverage),
        "assertions": assertions,
        "findings": findings,
        "limits": report.limits(),
    })
}

fn names(coverage: &Coverage, cases: &CaseSet) -> Value {
    let name = |case: &usize| coverage.cases[*case].as_str();
    cases.0.iter().map(name).collect::<Vec<_>>().into()
}

fn columns(coverage: &Coverage, cases: &CasesByColumn) -> Value {
    json!({
        "expected": names(coverage, &cases.expected),
        "called": names(coverage, &cases.called),
        "passed": names(coverage, &cases.passed),
    })
}

/// Null where the whole is not known.
fn shares_json(report: &AgentReport) -> Map<String, Value> {
    let share = |share: &CoverageShare| {
        let value = report.agent.coverage.share(*share, &report.waived);
        let value = value.map(|(covered, of)| json!({"covered": covered, "of": of}));
        (share.name().to_string(), value.unwrap_or(Value::Null))
    };
    CoverageShare::ALL.iter().map(share).collect()
}

fn tool_json(report: &AgentReport, name: &str, tool: &ToolCoverage) -> Value {
    let coverage = &report.agent.coverage;
    let outcomes: Map<String, Value> = tool
        .outcomes
        .iter()
        .map(|(outcome, cases)| {
            let key = outcome.label().replace(' ', "_");
            (key, names(coverage, cases))
        })
        .collect();
    let arguments: Map<String, Value> = tool
        .arguments
        .iter()
        .map(|(name, argument)| (name.clone(), argument_json(coverage, argument)))
        .collect();
    json!({
        "name": name,
        "declared": tool.declared,
        "waived": report.waived.reason(name),
        "cases": columns(coverage, &tool.cases),
        "outcomes": outcomes,
        "arguments": arguments,
    })
}

fn argument_json(coverage: &Coverage, argument: &ArgumentCoverage) -> Value {
    let classes: Vec<Value> = argument
        .classes
        .iter()
        .map(|(class, cases)| json!({"class": class.label(), "cases": columns(coverage, cases)}))
        .collect();
    json!({
        "distinct_values": {"expected": argument.expected_values, "called": argument.called_values},
        "classes": classes,
    })
}

fn pairs_json(coverage: &Coverage) -> Vec<Value> {
    let pair =
        |((first, second), pair): (&(String, String), &evaltrail_core::analysis::PairCoverage)| {
            json!({
                "first": first,
                "second": second,
                "feasible": pair.is_feasible(),
                "data_flow": names(coverage, &pair.data_flow),
                "cases": columns(coverage, &pair.cases),
            })
        };
    coverage.pairs.iter().map(pair).collect()
}

fn sequences_json(coverage: &Coverage) -> Vec<Value> {
    let sequence = |(calls, cases): (&Vec<String>, &CasesByColumn)| json!({"calls": calls, "cases": columns(coverage, cases)});
    coverage.sequences.iter().map(sequence).collect()
}

fn agents_json(coverage: &Coverage) -> Vec<Value> {
    let agent = |(name, agent): (&String, &evaltrail_core::analysis::AgentCoverage)| {
        json!({
            "name": name,
            "declared": agent.declared,
            "acted": names(coverage, &agent.acted),
            "transfers": columns(coverage, &agent.transfers),
        })
    };
    coverage.agents.iter().map(agent).collect()
}

fn state_json(coverage: &Coverage) -> Map<String, Value> {
    let key = |(key, state): (&String, &evaltrail_core::analysis::StateCoverage)| {
        let initial: Vec<Value> = state
            .initial
            .iter()
            .map(|(value, cases)| json!({"value": value, "cases": names(coverage, cases)}))
            .collect();
        let stated = names(coverage, &state.asserted);
        (
            key.clone(),
            json!({"initial": initial, "final_stated": stated}),
        )
    };
    coverage.state.iter().map(key).collect()
}
