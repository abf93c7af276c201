//! What does not fit together: expectations that no agent can meet, and those that many wrong agents meet.

use super::declarations::Declarations;
use super::{Assertion, CaseSet, Coverage};
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
    /// A case expects a call without an argument that the tool requires: tool, argument.
    MissingArgument(String, String),
    /// All expected calls have the same value, so that an agent that always sends it passes: tool, argument.
    ConstantArgument(String, String),
    /// Cases pass as well if this tool, which they call, is not called.
    UnnoticedTool(String),
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
            CoverageProblem::MissingArgument(..) => "missing_argument",
            CoverageProblem::ConstantArgument(..) => "constant_argument",
            CoverageProblem::UnnoticedTool(_) => "unnoticed_tool",
            CoverageProblem::NoAssertion => "no_assertion",
        }
    }

    /// The tool that it is about; `None` if it is about none.
    pub fn tool(&self) -> Option<&str> {
        match self {
            CoverageProblem::UndeclaredTool(tool)
            | CoverageProblem::UndeclaredCall(tool)
            | CoverageProblem::UnnoticedTool(tool)
            | CoverageProblem::UndeclaredArgument(tool, _)
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
            CoverageProblem::MissingArgument(tool, argument) => {
                format!("{tool} requires {argument}, which expected calls do not have")
            }
            CoverageProblem::ConstantArgument(tool, argument) => format!(
                "{tool}.{argument} has one value in all expected calls: an agent that always sends it passes"
            ),
            CoverageProblem::UnnoticedTool(tool) => {
                format!("no criterion notices when {tool} is not called")
            }
            CoverageProblem::NoAssertion => {
                "neither calls nor a response, rubrics or state are expected".into()
            }
        }
    }
}

/// The findings of a coverage, in the order of their kinds. `unnoticed` has the tools whose calls no criterion needs.
pub(super) fn findings(
    coverage: &Coverage,
    declarations: &Declarations,
    unnoticed: &BTreeMap<String, CaseSet>,
) -> Vec<CoverageFinding> {
    let mut found = Vec::new();
    let mut add = |problem: CoverageProblem, cases: &CaseSet| {
        if !cases.is_empty() {
            let cases = cases.clone();
            found.push(CoverageFinding { problem, cases });
        }
    };
    for (name, tool) in &coverage.tools {
        if tool.declared == Some(false) {
            add(
                CoverageProblem::UndeclaredTool(name.clone()),
                &tool.cases.expected,
            );
            if tool.cases.expected.is_empty() {
                add(
                    CoverageProblem::UndeclaredCall(name.clone()),
                    &tool.cases.called,
                );
            }
        }
        let Some(Some(parameters)) = declarations.tools.get(name) else {
            continue;
        };
        for (argument, of) in &tool.arguments {
            let declared = parameters.iter().find(|one| one.name == *argument);
            match declared {
                None if of.expected_values > 0 => {
                    add(
                        CoverageProblem::UndeclaredArgument(name.clone(), argument.clone()),
                        &of.expected_in,
                    );
                }
                Some(one) if one.required => {
                    add(
                        CoverageProblem::MissingArgument(name.clone(), argument.clone()),
                        &of.missing_in,
                    );
                }
                _ => {}
            }
        }
    }
    for (name, tool) in &coverage.tools {
        for (argument, of) in &tool.arguments {
            if of.expected_values == 1 && of.expected_in.count() >= MIN_CASES_OF_CONSTANT {
                let problem = CoverageProblem::ConstantArgument(name.clone(), argument.clone());
                add(problem, &of.expected_in);
            }
        }
    }
    for (tool, cases) in unnoticed {
        add(CoverageProblem::UnnoticedTool(tool.clone()), cases);
    }
    if let Some(cases) = coverage.assertions.get(&Assertion::Nothing) {
        add(CoverageProblem::NoAssertion, cases);
    }
    found
}
