//! What does not fit together: expectations that no agent can meet, and those that many wrong agents meet.

use super::declarations::Parameter;
use super::{ArgumentCoverage, Assertion, CaseSet, Coverage, SchemaKnowledge, ToolCoverage};
use crate::domain::counted;
use std::collections::BTreeMap;

/// A constant argument is reported from this number of cases on.
const MIN_CASES_OF_CONSTANT: usize = 3;

/// What does not fit together.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverageFinding {
    /// What it is.
    pub problem: CoverageProblem,
    /// The cases.
    pub cases: CaseSet,
}

/// The kinds of findings.
#[derive(Clone, Debug, PartialEq)]
pub enum CoverageProblem {
    /// A case expects a tool that the agent does not declare.
    UndeclaredTool(String),
    /// An attempt called a tool that the agent does not declare.
    UndeclaredCall(String),
    /// A case expects an argument that the tool does not declare: tool, argument.
    UndeclaredArgument(String, String),
    /// A case expects a value that the tool's declaration does not allow: tool, argument, the value as JSON.
    ForbiddenValue(String, String, String),
    /// A case expects a call without an argument that the tool requires: tool, argument.
    MissingArgument(String, String),
    /// All expected calls have the same value, so that an agent that always sends it passes: tool, argument.
    ConstantArgument(String, String),
    /// Cases that expect the tool pass as well without its calls: the tool, and the number of cases for which that was
    /// computed.
    UnneededCalls(String, usize),
    /// A case asserts nothing.
    NoAssertion,
}

impl CoverageProblem {
    /// A word that identifies the kind, for JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            CoverageProblem::UndeclaredTool(_) => "undeclared_tool",
            CoverageProblem::UndeclaredCall(_) => "undeclared_call",
            CoverageProblem::UndeclaredArgument(..) => "undeclared_argument",
            CoverageProblem::ForbiddenValue(..) => "forbidden_value",
            CoverageProblem::MissingArgument(..) => "missing_argument",
            CoverageProblem::ConstantArgument(..) => "constant_argument",
            CoverageProblem::UnneededCalls(..) => "unneeded_calls",
            CoverageProblem::NoAssertion => "no_assertion",
        }
    }

    /// The tool that it is about; `None` if it is about none.
    pub fn tool(&self) -> Option<&str> {
        match self {
            CoverageProblem::UndeclaredTool(tool)
            | CoverageProblem::UndeclaredCall(tool)
            | CoverageProblem::UnneededCalls(tool, _)
            | CoverageProblem::UndeclaredArgument(tool, _)
            | CoverageProblem::ForbiddenValue(tool, ..)
            | CoverageProblem::MissingArgument(tool, _)
            | CoverageProblem::ConstantArgument(tool, _) => Some(tool),
            CoverageProblem::NoAssertion => None,
        }
    }

    /// The finding as a message.
    pub fn text(&self) -> String {
        match self {
            CoverageProblem::UndeclaredTool(tool) => {
                format!("the agent does not declare {tool}, which is expected")
            }
            CoverageProblem::UndeclaredCall(tool) => {
                format!("the agent does not declare {tool}, which was called")
            }
            CoverageProblem::UndeclaredArgument(tool, argument) => {
                format!("{tool} does not declare {argument}, which is expected")
            }
            CoverageProblem::ForbiddenValue(tool, argument, value) => {
                format!("{tool}.{argument} does not allow a value that is expected: {value}")
            }
            CoverageProblem::MissingArgument(tool, argument) => {
                format!("{tool} requires {argument}, which expected calls do not have")
            }
            CoverageProblem::ConstantArgument(tool, argument) => format!(
                "{tool}.{argument} has one value in all expected calls: an agent that always sends it passes"
            ),
            CoverageProblem::UnneededCalls(tool, of) => format!(
                "{tool} is expected, and passing cases pass as well without its calls ({} passed)",
                counted(*of, "case")
            ),
            CoverageProblem::NoAssertion => {
                "no calls, response, rubrics or state are stated".into()
            }
        }
    }
}

/// The findings of a coverage, in the order of their kinds. `needs` has for each tool the passing cases that pass as well
/// without its calls, and all for which that was computed.
pub(super) fn findings(
    coverage: &Coverage,
    needs: &BTreeMap<String, (CaseSet, CaseSet)>,
) -> Vec<CoverageFinding> {
    let mut found = Vec::new();
    for (name, tool) in &coverage.tools {
        add_impossible(name, tool, &mut found);
    }
    for (name, tool) in &coverage.tools {
        let constant = tool.arguments.iter().filter(|(_, of)| is_constant(of));
        for (argument, of) in constant {
            let problem = CoverageProblem::ConstantArgument(name.clone(), argument.clone());
            add_finding(&mut found, problem, &of.expected_in);
        }
    }
    for (tool, (without, all)) in needs {
        let problem = CoverageProblem::UnneededCalls(tool.clone(), all.count());
        add_finding(&mut found, problem, without);
    }
    if let Some(cases) = coverage.assertions.get(&Assertion::Nothing) {
        add_finding(&mut found, CoverageProblem::NoAssertion, cases);
    }
    found
}

fn add_finding(found: &mut Vec<CoverageFinding>, problem: CoverageProblem, cases: &CaseSet) {
    if !cases.is_empty() {
        let cases = cases.clone();
        found.push(CoverageFinding { problem, cases });
    }
}

/// Adds the calls of a tool that no agent can make as expected, or that it does not declare.
fn add_impossible(name: &str, tool: &ToolCoverage, found: &mut Vec<CoverageFinding>) {
    if tool.declared == Some(false) {
        match tool.cases.expected.is_empty() {
            false => {
                let problem = CoverageProblem::UndeclaredTool(name.into());
                add_finding(found, problem, &tool.cases.expected);
            }
            true => {
                let problem = CoverageProblem::UndeclaredCall(name.into());
                add_finding(found, problem, &tool.cases.called);
            }
        }
    }
    if tool.declared != Some(true) || tool.schema == SchemaKnowledge::Unknown {
        return;
    }
    for (argument, of) in &tool.arguments {
        let (tool_name, argument) = (name.to_string(), argument.clone());
        match &of.declaration {
            None if tool.schema == SchemaKnowledge::Closed => {
                let problem = CoverageProblem::UndeclaredArgument(tool_name, argument);
                add_finding(found, problem, &of.expected_in);
            }
            Some(parameter) => {
                if let Some(value) = &of.forbidden_value {
                    let (tool, argument) = (tool_name.clone(), argument.clone());
                    let value = value.to_string();
                    let problem = CoverageProblem::ForbiddenValue(tool, argument, value);
                    add_finding(found, problem, &of.forbidden_in);
                }
                if parameter.required {
                    let problem = CoverageProblem::MissingArgument(tool_name, argument);
                    add_finding(found, problem, &of.missing_in);
                }
            }
            None => {}
        }
    }
}

/// Whether an agent that always sends one value meets all expected calls, although others are allowed.
fn is_constant(argument: &ArgumentCoverage) -> bool {
    let only_one = |parameter: &Parameter| parameter.values.len() == 1;
    argument.expected_values == 1
        && argument.missing_in.is_empty()
        && argument.expected_in.count() >= MIN_CASES_OF_CONSTANT
        && !argument.declaration.as_ref().is_some_and(only_one)
}
