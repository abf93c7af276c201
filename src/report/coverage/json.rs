//! Coverage as JSON.

use super::AgentReport;
use crate::analysis::{CaseColumns, CaseSet, CoverageShare, ToolCoverage};
use serde_json::{Map, Value, json};

/// The coverage of an agent, with the names of the cases behind each number.
pub fn coverage_json(report: &AgentReport) -> Value {
    let coverage = &report.agent.coverage;
    let names = |cases: &CaseSet| -> Vec<&str> {
        let name = |case: &usize| coverage.cases[*case].as_str();
        cases.0.iter().map(name).collect()
    };
    let columns = |cases: &CaseColumns| json!({"expected": names(&cases.expected), "called": names(&cases.called), "passed": names(&cases.passed)});
    let counts = |cases: &CaseColumns| json!({"expected": cases.expected.count(), "called": cases.called.count(), "passed": cases.passed.count()});
    let arguments = |tool: &ToolCoverage| -> Map<String, Value> {
        let argument = |(name, of): (&String, &crate::analysis::ArgumentCoverage)| {
            let classes: Vec<Value> = of
                .classes
                .iter()
                .map(|(class, cases)| json!({"class": class.label(), "cases": columns(cases)}))
                .collect();
            let values = json!({"expected": of.expected_values, "called": of.called_values});
            (
                name.clone(),
                json!({"distinct_values": values, "classes": classes}),
            )
        };
        tool.arguments.iter().map(argument).collect()
    };
    let tools: Vec<Value> = coverage
        .tools
        .iter()
        .map(|(name, tool)| {
            let outcomes: Map<String, Value> = tool
                .outcomes
                .iter()
                .map(|(outcome, cases)| (outcome.label().replace(' ', "_"), json!(names(cases))))
                .collect();
            json!({
                "name": name, "declared": tool.declared, "waived": report.waived.reason(name),
                "cases": columns(&tool.cases), "outcomes": outcomes, "arguments": arguments(tool),
            })
        })
        .collect();
    let shares: Map<String, Value> = CoverageShare::ALL
        .iter()
        .map(|share| {
            let value = coverage.share(*share, &report.waived);
            let value = value.map(|(covered, of)| json!({"covered": covered, "of": of}));
            (share.name().to_string(), value.unwrap_or(Value::Null))
        })
        .collect();
    let pairs: Vec<Value> = coverage
        .pairs
        .iter()
        .map(|((first, second), pair)| {
            json!({"first": first, "second": second, "feasible": pair.is_feasible(), "data_flow": names(&pair.data_flow), "cases": columns(&pair.cases)})
        })
        .collect();
    let sequences: Vec<Value> = coverage
        .sequences
        .iter()
        .map(|(calls, cases)| json!({"calls": calls, "cases": columns(cases)}))
        .collect();
    let agents: Vec<Value> = coverage
        .agents
        .iter()
        .map(|(name, agent)| {
            json!({"name": name, "declared": agent.declared, "acted": names(&agent.acted), "transfers": counts(&agent.transfers)})
        })
        .collect();
    let state: Map<String, Value> = coverage
        .state
        .iter()
        .map(|(key, state)| {
            let initial: Vec<Value> = state
                .initial
                .iter()
                .map(|(value, cases)| json!({"value": value, "cases": names(cases)}))
                .collect();
            (
                key.clone(),
                json!({"initial": initial, "final_stated": names(&state.asserted)}),
            )
        })
        .collect();
    let assertions: Map<String, Value> = coverage
        .assertions
        .iter()
        .map(|(assertion, cases)| (assertion.label().to_string(), json!(names(cases))))
        .collect();
    let findings: Vec<Value> = coverage
        .findings
        .iter()
        .map(|finding| {
            json!({"kind": finding.problem.kind(), "message": finding.problem.text(), "cases": names(&finding.cases)})
        })
        .collect();
    json!({
        "agent": report.agent.name, "files": report.agent.files, "cases": coverage.cases.len(), "cases_with_results": coverage.with_attempts,
        "declarations": coverage.source, "shares": shares, "tools": tools, "pairs": pairs, "sequences": sequences,
        "agents": agents, "state": state, "assertions": assertions, "findings": findings,
    })
}
