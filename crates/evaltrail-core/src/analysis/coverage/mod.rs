//! What the cases of an agent cover: which of its tools they expect and call, with which arguments, in which order.
//!
//! ```text
//! declarations ──┐
//! cases ─────────┼──CoverageCollector──▶ Coverage: tools, arguments, pairs, sequences, agents, state, assertions
//! attempts ──────┘                          └──gates──▶ what is demanded and not covered
//! ```
//!
//! There are three columns: *expected* (the expected side of a case asks for it), *called* (an attempt did it) and *passed*
//! (an attempt that passed did it). Each is a number of cases. What is not declared is never a share of something.

mod additions;
mod classes;
mod collect;
mod declarations;
mod findings;
mod gates;
mod outcome;
mod seen_tool;

pub use additions::{Addition, BestAdditions, CandidateCase, CoverageItem};
pub use classes::ArgumentClass;
pub use collect::{CoverageCollector, CoveredCase};
pub use declarations::{Declarations, Parameter, ToolSchema};
pub use findings::{CoverageFinding, CoverageProblem};
pub use gates::{CoverageGates, CoverageShare, GateFailure, WaivedTools};
pub use outcome::CallOutcome;

use crate::domain::TRANSFER_TOOL;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The cases that something was seen in, by their positions, in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseSet(pub Vec<usize>);

impl CaseSet {
    /// Adds a case. Cases are added in ascending order.
    fn add(&mut self, case: usize) {
        if self.0.last() != Some(&case) {
            self.0.push(case);
        }
    }

    /// The number of cases.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no case.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The cases of several.
    fn union<'a>(sets: impl Iterator<Item = &'a CaseSet>) -> CaseSet {
        let mut all: Vec<usize> = sets.flat_map(|set| set.0.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        CaseSet(all)
    }
}

/// In which cases something is expected, called, and called in an attempt that passed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CasesByColumn {
    /// Cases whose expected side has it.
    pub expected: CaseSet,
    /// Cases of which an attempt did it.
    pub called: CaseSet,
    /// Cases of which an attempt did it and passed.
    pub passed: CaseSet,
}

impl CasesByColumn {
    fn union<'a>(all: impl Iterator<Item = &'a CasesByColumn> + Clone) -> CasesByColumn {
        CasesByColumn {
            expected: CaseSet::union(all.clone().map(|one| &one.expected)),
            called: CaseSet::union(all.clone().map(|one| &one.called)),
            passed: CaseSet::union(all.map(|one| &one.passed)),
        }
    }
}

/// The coverage of an agent.
#[derive(Debug)]
pub struct CoveredAgent {
    /// The name; `None` for sets without an agent.
    pub name: Option<String>,
    /// The number of files of its cases.
    pub files: usize,
    /// The coverage.
    pub coverage: Coverage,
    /// The file of each case of the coverage, and its position in it.
    pub positions: Vec<(Arc<PathBuf>, usize)>,
}

/// What the cases of an agent cover.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// The cases, as they are shown: file and id.
    pub cases: Vec<String>,
    /// Cases with at least one attempt.
    pub cases_with_attempts: CaseSet,
    /// Where the declarations are from; `None` if the tools that the agent declares are not known.
    pub source: Option<String>,
    /// By name: declared tools, and those that were expected or called.
    pub tools: BTreeMap<String, ToolCoverage>,
    /// Ordered pairs of tools, the second directly after the first.
    pub pairs: BTreeMap<(String, String), PairCoverage>,
    /// Sequences of calls of whole cases.
    pub sequences: BTreeMap<Vec<String>, CasesByColumn>,
    /// By name: agents that are declared, to which a call transferred, or that acted.
    pub agents: BTreeMap<String, AgentCoverage>,
    /// By key of the session state.
    pub state: BTreeMap<String, StateCoverage>,
    /// By what a case asserts.
    pub assertions: BTreeMap<Assertion, CaseSet>,
    /// Cases with an attempt whose agent does not report all calls.
    pub partial: CaseSet,
    /// Arguments, tools and state keys with too many different values or combinations to count all of them.
    pub capped: BTreeSet<String>,
    /// What does not fit together, or is tested by nothing.
    pub findings: Vec<CoverageFinding>,
}

/// What is known of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCoverage {
    /// Whether the agent declares it; `None` if its declarations are not known.
    pub declared: Option<bool>,
    /// What is known of the schema of its parameters.
    pub schema: SchemaKnowledge,
    /// The cases.
    pub cases: CasesByColumn,
    /// How its calls ended, as numbers of cases.
    pub outcomes: BTreeMap<CallOutcome, CaseSet>,
    /// How its expected calls ended, by the responses that the cases contain.
    pub expected_outcomes: BTreeMap<CallOutcome, CaseSet>,
    /// By name, as declared or as in the calls.
    pub arguments: BTreeMap<String, ArgumentCoverage>,
}

/// What is known of the schema of a tool's parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaKnowledge {
    /// Nothing.
    #[default]
    Unknown,
    /// The parameters; other arguments are, or may be, allowed as well.
    Open,
    /// All parameters.
    Closed,
}

/// What is known of an argument.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgumentCoverage {
    /// The classes of its values; empty if the tool does not declare it.
    pub classes: Vec<(ArgumentClass, CasesByColumn)>,
    /// How the tool declares it; `None` if it does not.
    pub declaration: Option<Parameter>,
    /// Cases with an expected call that has the argument.
    pub expected_in: CaseSet,
    /// Cases with an expected call that does not have it.
    pub missing_in: CaseSet,
    /// Cases with an expected call whose value the declaration does not allow.
    pub forbidden_in: CaseSet,
    /// One of these values.
    pub forbidden_value: Option<Value>,
    /// Different values in expected calls. At most [`MAX_COUNTED_VALUES`] are counted.
    pub expected_values: usize,
    /// Different values in calls of attempts. At most [`MAX_COUNTED_VALUES`] are counted.
    pub called_values: usize,
}

/// Different values of an argument that are counted.
pub const MAX_COUNTED_VALUES: usize = 10_000;

/// What is known of a tool that is called directly after another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairCoverage {
    /// The cases.
    pub cases: CasesByColumn,
    /// Cases in which an argument of the second call has a value that the response to the first one contains.
    pub data_flow: CaseSet,
}

impl PairCoverage {
    /// Whether the order is one that the agent needs: a case expects it, or data flows from one call to the other.
    pub fn is_feasible(&self) -> bool {
        !self.cases.expected.is_empty() || !self.data_flow.is_empty()
    }
}

/// What is known of an agent among several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentCoverage {
    /// Whether it is declared; `None` if that is not known.
    pub declared: Option<bool>,
    /// Transfers to it.
    pub transfers: CasesByColumn,
    /// Cases in which it acted.
    pub acted: CaseSet,
}

/// What is known of a key of the session state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateCoverage {
    /// Different initial values, and their cases.
    pub initial: Vec<(Value, CaseSet)>,
    /// Cases that state the final value.
    pub asserted: CaseSet,
}

/// What a case asserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assertion {
    /// Calls of tools, or that there are none.
    Calls,
    /// A final response.
    Response,
    /// Rubrics.
    Rubrics,
    /// The final session state.
    State,
    /// A scenario for a simulated user, which criteria judge.
    Scenario,
    /// Nothing: only criteria without an expectation can fail the case.
    Nothing,
}

impl Assertion {
    /// The assertion in a word.
    pub fn label(self) -> &'static str {
        match self {
            Assertion::Calls => "calls",
            Assertion::Response => "response",
            Assertion::Rubrics => "rubrics",
            Assertion::State => "state",
            Assertion::Scenario => "scenario",
            Assertion::Nothing => "nothing",
        }
    }
}

impl Coverage {
    /// The tools that the agent declares.
    pub fn declared_tools(&self) -> impl Iterator<Item = (&String, &ToolCoverage)> {
        let is_declared = |(_, tool): &(&String, &ToolCoverage)| tool.declared == Some(true);
        self.tools.iter().filter(is_declared)
    }

    /// The declared tools that no case expects, without waived ones.
    pub fn never_expected(&self, waived: &WaivedTools) -> Vec<&str> {
        let declared = self.declared_tools();
        declared
            .filter(|(name, tool)| tool.cases.expected.is_empty() && waived.reason(name).is_none())
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// The pairs that are feasible, see [`PairCoverage::is_feasible`].
    pub fn feasible_pairs(&self) -> impl Iterator<Item = (&(String, String), &PairCoverage)> {
        self.pairs.iter().filter(|(_, pair)| pair.is_feasible())
    }

    /// The classes of all arguments: tool, argument, class and its cases.
    pub fn classes(
        &self,
    ) -> impl Iterator<Item = (&String, &String, &ArgumentClass, &CasesByColumn)> {
        self.tools.iter().flat_map(|(tool, of)| {
            of.arguments.iter().flat_map(move |(argument, of)| {
                of.classes
                    .iter()
                    .map(move |(class, cases)| (tool, argument, class, cases))
            })
        })
    }

    /// The classes of an argument that no case expects: tool, argument, and the labels of the classes.
    pub fn missing_classes(&self) -> Vec<(&str, &str, Vec<String>)> {
        let mut found: Vec<(&str, &str, Vec<String>)> = Vec::new();
        let missing = self
            .classes()
            .filter(|(.., cases)| cases.expected.is_empty());
        for (tool, argument, class, _) in missing {
            match found.last_mut() {
                Some((last, of, labels)) if last == tool && of == argument => {
                    labels.push(class.label());
                }
                _ => found.push((tool, argument, vec![class.label()])),
            }
        }
        found
    }

    /// The sequences of calls that attempts made and no case expects, with their cases, most frequent first.
    pub fn unexpected_sequences(&self) -> Vec<(&Vec<String>, &CaseSet)> {
        let mut found: Vec<(&Vec<String>, &CaseSet)> = self
            .sequences
            .iter()
            .filter(|(_, cases)| cases.expected.is_empty() && !cases.called.is_empty())
            .map(|(sequence, cases)| (sequence, &cases.called))
            .collect();
        found.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.count()));
        found
    }
}

/// Whether a tool is ADK's own, which no agent declares.
fn is_built_in(tool: &str) -> bool {
    tool == TRANSFER_TOOL || tool.starts_with("adk_request_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Attempt, AttemptKey, Content, Conversation, EvalCase, Invocation, Status, ToolCall,
        ToolResponse, Trajectory,
    };
    use serde_json::json;

    /// A turn with these calls and their responses.
    fn turn(calls: &[(&str, Value, Value)]) -> Invocation {
        let response = |(name, _, response): &(&str, Value, Value)| ToolResponse {
            name: name.to_string(),
            response: response.clone(),
            ..ToolResponse::default()
        };
        Invocation {
            user: Content::text("user", "go"),
            trajectory: Trajectory::Listed {
                calls: calls
                    .iter()
                    .map(|(name, args, _)| ToolCall::new(*name, args.as_object().cloned()))
                    .collect(),
                responses: calls.iter().map(response).collect(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        }
    }

    fn case(turns: Vec<Invocation>) -> EvalCase {
        EvalCase {
            conversation: Conversation::Turns(turns),
            ..EvalCase::default()
        }
    }

    fn attempt(status: Status, turns: Vec<Invocation>) -> Arc<Attempt> {
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        Arc::new(Attempt {
            status,
            actual: turns.into(),
            ..Attempt::blank(key, "a")
        })
    }

    /// The tools `look` (bed: required text) and `water` (bed, litres: optional number from 1, default 2), and `drain`.
    fn declarations() -> Value {
        json!([
            {"name": "look", "parameters": {"properties": {"bed": {"type": "string"}}, "required": ["bed"]}},
            {"name": "water", "parameters": {"required": ["bed"], "properties": {"bed": {"type": "string"},
                "litres": {"type": "number", "minimum": 1, "default": 2}}}},
            {"name": "drain", "parameters": {"properties": {}}},
        ])
    }

    fn covered(cases: &[(EvalCase, Vec<Arc<Attempt>>)], declared: bool) -> Coverage {
        let mut collector = CoverageCollector::default();
        if declared {
            let mut known = Declarations::default();
            assert!(known.add(&declarations()));
            collector.declare(&known, "a file");
        }
        for (at, (case, attempts)) in cases.iter().enumerate() {
            collector.add_case(CoveredCase {
                name: &format!("case {at}"),
                case,
                attempts,
            });
        }
        collector.finish()
    }

    fn example() -> Vec<(EvalCase, Vec<Arc<Attempt>>)> {
        let look = (
            "look",
            json!({"bed": "roses"}),
            json!({"result": "soil of bed-4711 is dry"}),
        );
        let water = |args: Value, response: Value| ("water", args, response);
        let first = turn(&[look.clone(), water(json!({"bed": "roses"}), json!(null))]);
        let failing = turn(&[
            look.clone(),
            water(
                json!({"bed": "soil of bed-4711 is dry", "litres": 1}),
                json!({"error": "no tap"}),
            ),
            ("drain", json!({}), json!({})),
        ]);
        vec![
            (
                case(vec![first.clone()]),
                vec![
                    attempt(Status::Passed, vec![first.clone()]),
                    attempt(Status::Failed, vec![failing]),
                ],
            ),
            (case(vec![first]), Vec::new()),
            (case(vec![Invocation::default()]), Vec::new()),
        ]
    }

    #[test]
    fn tools_are_counted_by_case() {
        let coverage = covered(&example(), true);
        let counts = |tool: &str| {
            let cases = &coverage.tools[tool].cases;
            [&cases.expected, &cases.called, &cases.passed].map(CaseSet::count)
        };
        assert_eq!(counts("look"), [2, 1, 1]);
        assert_eq!(counts("water"), [2, 1, 1]);
        assert_eq!(counts("drain"), [0, 1, 0]);
        let none = WaivedTools::default();
        assert_eq!(coverage.share(CoverageShare::Tools, &none), Some((2, 3)));
        assert_eq!(coverage.share(CoverageShare::Called, &none), Some((3, 3)));
        assert_eq!(coverage.share(CoverageShare::Passed, &none), Some((2, 3)));
        let waived = WaivedTools(vec![("dr*".into(), "by hand".into())]);
        assert_eq!(coverage.share(CoverageShare::Tools, &waived), Some((2, 2)));
        assert_eq!(coverage.cases_with_attempts, CaseSet(vec![0]));
        let outcomes: Vec<_> = coverage.tools["water"].outcomes.keys().copied().collect();
        assert_eq!(outcomes, [CallOutcome::Empty, CallOutcome::Error]);
    }

    #[test]
    fn classes_of_values_are_counted_by_case() {
        let coverage = covered(&example(), true);
        let litres = &coverage.tools["water"].arguments["litres"];
        let counts: Vec<(String, usize, usize)> = litres
            .classes
            .iter()
            .map(|(class, cases)| (class.label(), cases.expected.count(), cases.called.count()))
            .collect();
        let expected = [
            ("absent", 2, 1),
            ("2", 0, 0),
            ("limit 1", 0, 1),
            ("other number", 0, 0),
        ];
        assert_eq!(
            counts,
            expected.map(|(label, e, c)| (label.to_string(), e, c))
        );
    }

    #[test]
    fn pair_is_feasible_by_expectation_or_data_flow() {
        let coverage = covered(&example(), true);
        let pair = |first: &str, second: &str| &coverage.pairs[&(first.into(), second.into())];
        assert!(pair("look", "water").is_feasible());
        assert_eq!(pair("look", "water").data_flow.count(), 1);
        assert!(
            !pair("water", "drain").is_feasible(),
            "it was made, and nothing flows"
        );
        let sequence: Vec<String> = ["look", "water", "drain"].map(String::from).into();
        assert_eq!(
            coverage.unexpected_sequences(),
            [(&sequence, &CaseSet(vec![0]))]
        );
    }

    #[test]
    fn without_declarations_nothing_is_a_share() {
        let coverage = covered(&example(), false);
        assert_eq!(coverage.tools["look"].declared, None);
        assert_eq!(
            coverage.share(CoverageShare::Tools, &WaivedTools::default()),
            None
        );
        let gates = CoverageGates {
            min: vec![(CoverageShare::Tools, 0.0)],
            ..CoverageGates::default()
        };
        assert_eq!(
            coverage.failures(&gates),
            [GateFailure::UnknownTotal(CoverageShare::Tools)]
        );
    }

    #[test]
    fn demands_that_are_not_met_are_reported() {
        let coverage = covered(&example(), true);
        let gates = CoverageGates {
            min: vec![(CoverageShare::Tools, 0.66), (CoverageShare::Passed, 0.67)],
            require: ["l*", "dr*", "pay_*"].map(String::from).into(),
            waived: WaivedTools::default(),
        };
        assert_eq!(
            coverage.failures(&gates),
            [
                GateFailure::BelowMinimum(CoverageShare::Passed, 2, 3, 0.67),
                GateFailure::NotExpected("drain".into()),
                GateFailure::NoSuchTool("pay_*".into()),
            ]
        );
    }

    #[test]
    fn constant_is_one_value_in_three_cases() {
        let has_constant = |beds: &[&str]| {
            let cases = beds.iter().map(|bed| {
                let calls = [("look", json!({"bed": bed}), json!(null))];
                (case(vec![turn(&calls)]), Vec::new())
            });
            let coverage = covered(&cases.collect::<Vec<_>>(), true);
            let constant = CoverageProblem::ConstantArgument("look".into(), "bed".into());
            let mut found = coverage.findings.iter();
            found.any(|finding| finding.problem == constant)
        };
        assert!(has_constant(&["roses", "roses", "roses"]));
        assert!(!has_constant(&["roses", "roses"]));
        assert!(!has_constant(&["roses", "roses", "herbs"]));
    }

    #[test]
    fn impossible_and_empty_expectations_are_found() {
        let unknown = turn(&[
            ("sow", json!({}), json!(null)),
            ("water", json!({"depth": 1, "litres": "two"}), json!(null)),
        ]);
        let transfer = turn(&[(TRANSFER_TOOL, json!({"agent_name": "shop"}), json!(null))]);
        let cases = [
            (case(vec![unknown]), Vec::new()),
            (case(vec![transfer]), Vec::new()),
            (case(vec![Invocation::default()]), Vec::new()),
        ];
        let coverage = covered(&cases, true);
        let found: Vec<(CoverageProblem, Vec<usize>)> = coverage
            .findings
            .iter()
            .map(|finding| (finding.problem.clone(), finding.cases.0.clone()))
            .collect();
        let of = |tool: &str, argument: &str| (tool.to_string(), argument.to_string());
        let (water, depth) = of("water", "depth");
        let bed = "bed".to_string();
        assert_eq!(
            found,
            [
                (CoverageProblem::UndeclaredTool("sow".into()), vec![0]),
                (
                    CoverageProblem::MissingArgument(water.clone(), bed),
                    vec![0]
                ),
                (
                    CoverageProblem::UndeclaredArgument(water.clone(), depth),
                    vec![0]
                ),
                (
                    CoverageProblem::ForbiddenValue(water, "litres".into(), "\"two\"".into()),
                    vec![0]
                ),
                (CoverageProblem::NoAssertion, vec![2]),
            ]
        );
        assert_eq!(coverage.agents["shop"].transfers.expected.count(), 1);
    }
}
