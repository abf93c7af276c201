//! Collects what cases expect and what their attempts did, one case after the other.

use super::classes::ArgumentClass;
use super::declarations::{Declarations, Parameter};
use super::findings::findings;
use super::{
    AgentCoverage, ArgumentCoverage, Assertion, CallOutcome, CaseSet, CasesByColumn, Coverage,
    MAX_COUNTED_VALUES, PairCoverage, StateCoverage, ToolCoverage, is_built_in,
};
use crate::domain::{
    Attempt, EvalCase, Invocation, Status, TRANSFER_TOOL, ToolCall, ToolResponse, Trajectory,
};
use crate::metrics::passes_without_tool;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Different initial values of a key of the session state that are counted.
const MAX_INITIAL_VALUES: usize = 1_000;

/// A case with its attempts.
#[derive(Clone, Copy, Debug)]
pub struct CoveredCase<'a> {
    /// How it is shown: file and id.
    pub name: &'a str,
    /// The case.
    pub case: &'a EvalCase,
    /// The attempts that count.
    pub attempts: &'a [Arc<Attempt>],
}

/// Collects coverage.
#[derive(Default)]
pub struct CoverageCollector {
    declarations: Declarations,
    /// Where the declarations are from.
    sources: BTreeSet<String>,
    /// The last agent details that were read, which are usually the same in all attempts.
    details: Option<Value>,
    cases: Vec<String>,
    with_attempts: CaseSet,
    tools: BTreeMap<String, SeenTool>,
    pairs: BTreeMap<(String, String), PairCoverage>,
    sequences: BTreeMap<Vec<String>, CasesByColumn>,
    agents: BTreeMap<String, AgentCoverage>,
    state: BTreeMap<String, StateCoverage>,
    assertions: BTreeMap<Assertion, CaseSet>,
    /// By tool: the cases that pass as well if it is not called.
    unnoticed: BTreeMap<String, CaseSet>,
}

/// What was seen of a tool.
#[derive(Default)]
struct SeenTool {
    cases: CasesByColumn,
    outcomes: BTreeMap<CallOutcome, CaseSet>,
    /// By argument, by the text of the value.
    values: BTreeMap<String, HashMap<String, (Value, CasesByColumn)>>,
    /// By the names of the arguments that a call has. Calls with unknown arguments are left out.
    shapes: BTreeMap<BTreeSet<String>, CasesByColumn>,
}

/// Whether a call is expected or made.
#[derive(Clone, Copy, PartialEq)]
enum CallSide {
    Expected,
    /// By an attempt that passed, or not.
    Called {
        passed: bool,
    },
}

impl CasesByColumn {
    fn see(&mut self, side: CallSide, case: usize) {
        match side {
            CallSide::Expected => self.expected.add(case),
            CallSide::Called { passed } => {
                self.called.add(case);
                if passed {
                    self.passed.add(case);
                }
            }
        }
    }
}

impl CoverageCollector {
    /// Adds declarations. `source` is shown.
    pub fn declare(&mut self, declarations: &Declarations, source: &str) {
        for (name, parameters) in &declarations.tools {
            let known = self.declarations.tools.entry(name.clone()).or_default();
            if known.is_none() {
                known.clone_from(parameters);
            }
        }
        self.declarations
            .agents
            .extend(declarations.agents.iter().cloned());
        self.sources.insert(source.to_string());
    }

    /// Adds a case with its attempts.
    pub fn add_case(&mut self, covered: CoveredCase<'_>) {
        let at = self.cases.len();
        self.cases.push(covered.name.to_string());
        self.see_state(at, covered.case);
        for assertion in assertions_of(covered.case) {
            self.assertions.entry(assertion).or_default().add(at);
        }
        self.see_turns(at, CallSide::Expected, covered.case.turns());
        if !covered.attempts.is_empty() {
            self.with_attempts.add(at);
        }
        let mut attempts = covered.attempts.iter();
        if let Some(attempt) = attempts.find(|attempt| attempt.status == Status::Passed) {
            self.see_unnoticed(at, attempt);
        }
        for attempt in covered.attempts {
            let passed = attempt.status == Status::Passed;
            self.see_turns(at, CallSide::Called { passed }, &attempt.actual);
            self.see_data_flow(at, &attempt.actual);
            attempt
                .actual
                .iter()
                .for_each(|turn| self.see_agents(at, turn));
        }
    }

    /// Notes the tools whose calls no criterion of the case needs.
    fn see_unnoticed(&mut self, at: usize, attempt: &Attempt) {
        let scored = attempt.actual.iter().filter(|turn| !turn.history);
        let tools: BTreeSet<&str> = scored
            .flat_map(|turn| turn.calls())
            .map(|call| call.name.as_str())
            .collect();
        for tool in tools {
            if passes_without_tool(attempt, tool) == Some(true) {
                self.unnoticed.entry(tool.to_string()).or_default().add(at);
            }
        }
    }

    fn see_state(&mut self, at: usize, case: &EvalCase) {
        let initial = case.session_input.iter().flat_map(|input| &input.state);
        for (key, value) in initial {
            let values = &mut self.state.entry(key.clone()).or_default().initial;
            match values.iter().position(|(known, _)| known == value) {
                Some(known) => values[known].1.add(at),
                None if values.len() < MAX_INITIAL_VALUES => {
                    values.push((value.clone(), CaseSet(vec![at])));
                }
                None => {}
            }
        }
        let stated = case.final_session_state.as_ref().and_then(Value::as_object);
        for key in stated.into_iter().flat_map(Map::keys) {
            self.state.entry(key.clone()).or_default().asserted.add(at);
        }
    }

    /// Adds the calls of the turns of a case, or of one of its attempts.
    fn see_turns(&mut self, at: usize, side: CallSide, turns: &[Invocation]) {
        let scored = || turns.iter().filter(|turn| !turn.history);
        let mut sequence = Vec::new();
        for turn in scored() {
            for (position, call) in turn.calls().into_iter().enumerate() {
                self.see_call(at, side, call);
                if side != CallSide::Expected {
                    let response = turn.trajectory.response_to(position);
                    let outcome = CallOutcome::of_response(response.map(|one| &one.response));
                    let tool = self.tools.entry(call.name.clone()).or_default();
                    tool.outcomes.entry(outcome).or_default().add(at);
                }
                sequence.push(call.name.clone());
            }
        }
        for pair in sequence.windows(2) {
            let pair = (pair[0].clone(), pair[1].clone());
            self.pairs.entry(pair).or_default().cases.see(side, at);
        }
        if scored().any(|turn| turn.trajectory != Trajectory::Unknown) {
            self.sequences.entry(sequence).or_default().see(side, at);
        }
    }

    fn see_call(&mut self, at: usize, side: CallSide, call: &ToolCall) {
        if call.name == TRANSFER_TOOL
            && let Some(agent) = call.args.as_ref().and_then(|args| args.get("agent_name"))
            && let Some(agent) = agent.as_str()
        {
            let agent = self.agents.entry(agent.to_string()).or_default();
            agent.transfers.see(side, at);
        }
        let tool = self.tools.entry(call.name.clone()).or_default();
        tool.cases.see(side, at);
        if call.args_unknown {
            return;
        }
        let arguments = arguments_of(call);
        let shape = arguments.iter().map(|(name, _)| name.clone()).collect();
        tool.shapes.entry(shape).or_default().see(side, at);
        for (name, value) in arguments {
            let values = tool.values.entry(name).or_default();
            let text = value.to_string();
            if values.len() < MAX_COUNTED_VALUES || values.contains_key(&text) {
                let (_, cases) = values
                    .entry(text)
                    .or_insert_with(|| (value.clone(), CasesByColumn::default()));
                cases.see(side, at);
            }
        }
    }

    /// Notes the pairs of calls, the second directly after the first, between which data flows: the second has an argument
    /// with a value that the response to the first contains.
    fn see_data_flow(&mut self, at: usize, turns: &[Invocation]) {
        let mut last: Option<(&str, BTreeSet<String>)> = None;
        for turn in turns.iter().filter(|turn| !turn.history) {
            for (position, call) in turn.calls().into_iter().enumerate() {
                if let Some((first, values)) = &last {
                    let arguments = call.args.iter().flat_map(Map::values);
                    let flows = arguments
                        .flat_map(telling_values)
                        .any(|value| values.contains(&value));
                    if flows {
                        let pair = (first.to_string(), call.name.clone());
                        self.pairs.entry(pair).or_default().data_flow.add(at);
                    }
                }
                let response: Option<&ToolResponse> = turn.trajectory.response_to(position);
                let values = response.map(|one| telling_values(&one.response));
                last = Some((&call.name, values.unwrap_or_default().into_iter().collect()));
            }
        }
    }

    /// Notes which agents acted in a turn, and reads what they declare.
    fn see_agents(&mut self, at: usize, turn: &Invocation) {
        if let Trajectory::Events(events) | Trajectory::Partial(events) = &turn.trajectory {
            let acting = events.iter().filter(|event| event.content.is_some());
            let authors: BTreeSet<&str> = acting.map(|event| event.author.as_str()).collect();
            for author in authors
                .into_iter()
                .filter(|author| !author.is_empty() && *author != "user")
            {
                self.agents
                    .entry(author.to_string())
                    .or_default()
                    .acted
                    .add(at);
            }
        }
        if let Some(details) = &turn.app_details
            && self.details.as_ref() != Some(details)
        {
            self.declarations.add(details);
            self.sources
                .insert("the agent details in its results".into());
            self.details = Some(details.clone());
        }
    }

    /// The coverage of all cases.
    pub fn finish(mut self) -> Coverage {
        let is_known = !self.declarations.tools.is_empty();
        let declarations = std::mem::take(&mut self.declarations);
        for name in declarations.tools.keys() {
            self.tools.entry(name.clone()).or_default();
        }
        for name in &declarations.agents {
            self.agents.entry(name.clone()).or_default();
        }
        let tools = self.tools.into_iter().map(|(name, seen)| {
            let parameters = declarations.tools.get(&name);
            let declared = is_known
                .then(|| parameters.is_some())
                .filter(|declared| *declared || !is_built_in(&name));
            let parameters = parameters.and_then(Option::as_deref).unwrap_or_default();
            (name, seen.coverage(declared, parameters))
        });
        let mut agents = self.agents;
        for (name, agent) in &mut agents {
            let is_declared = declarations.agents.contains(name);
            agent.declared = (!declarations.agents.is_empty()).then_some(is_declared);
        }
        let sources: Vec<String> = self.sources.into_iter().collect();
        let mut coverage = Coverage {
            cases: self.cases,
            cases_with_attempts: self.with_attempts,
            source: is_known.then(|| sources.join(", ")),
            tools: tools.collect(),
            pairs: self.pairs,
            sequences: self.sequences,
            agents,
            state: self.state,
            assertions: self.assertions,
            findings: Vec::new(),
        };
        coverage.findings = findings(&coverage, &declarations, &self.unnoticed);
        coverage
    }
}

impl SeenTool {
    fn coverage(self, declared: Option<bool>, parameters: &[Parameter]) -> ToolCoverage {
        let mut arguments: BTreeMap<String, ArgumentCoverage> = BTreeMap::new();
        let is_shown = |name: &&String| {
            !name.contains('.') || parameters.iter().any(|parameter| parameter.name == **name)
        };
        let seen = self.values.keys().filter(is_shown).cloned();
        let declared_names = parameters.iter().map(|parameter| parameter.name.clone());
        for name in seen.chain(declared_names) {
            let argument = self.argument(&name);
            arguments.insert(name, argument);
        }
        for parameter in parameters {
            let classes = ArgumentClass::of_parameter(parameter);
            let classes = classes.into_iter().map(|class| {
                let cases = self.cases_of_class(&parameter.name, &class);
                (class, cases)
            });
            arguments.entry(parameter.name.clone()).or_default().classes = classes.collect();
        }
        ToolCoverage {
            declared,
            cases: self.cases,
            outcomes: self.outcomes,
            arguments,
        }
    }

    /// What was seen of an argument, without its classes.
    fn argument(&self, name: &str) -> ArgumentCoverage {
        let values = || self.values.get(name).into_iter().flat_map(HashMap::values);
        let count =
            |is_of: fn(&CasesByColumn) -> bool| values().filter(|(_, cases)| is_of(cases)).count();
        ArgumentCoverage {
            classes: Vec::new(),
            expected_in: CaseSet::union(values().map(|(_, cases)| &cases.expected)),
            missing_in: CaseSet::union(self.shapes_without(name).map(|cases| &cases.expected)),
            expected_values: count(|cases| !cases.expected.is_empty()),
            called_values: count(|cases| !cases.called.is_empty()),
        }
    }

    /// The calls without an argument; of an argument inside an object, those with the object.
    fn shapes_without(&self, argument: &str) -> impl Iterator<Item = &CasesByColumn> + Clone {
        let outer = argument.split_once('.').map(|(outer, _)| outer.to_string());
        let argument = argument.to_string();
        let shapes = self.shapes.iter().filter(move |(shape, _)| {
            !shape.contains(&argument) && outer.as_ref().is_none_or(|outer| shape.contains(outer))
        });
        shapes.map(|(_, cases)| cases)
    }

    /// The cases with a call whose argument is in a class.
    fn cases_of_class(&self, argument: &str, class: &ArgumentClass) -> CasesByColumn {
        if *class == ArgumentClass::Absent {
            return CasesByColumn::union(self.shapes_without(argument));
        }
        let values = self
            .values
            .get(argument)
            .into_iter()
            .flat_map(HashMap::values);
        let within = values.filter(|(value, _)| class.contains(Some(value)));
        CasesByColumn::union(within.map(|(_, cases)| cases))
    }
}

/// The arguments of a call, and the members of those that are objects.
fn arguments_of(call: &ToolCall) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (name, value) in call.args.iter().flatten() {
        found.push((name.clone(), value));
        for (member, value) in value.as_object().into_iter().flatten() {
            found.push((format!("{name}.{member}"), value));
        }
    }
    found
}

/// The texts and numbers within a value that are long enough that two equal ones are no coincidence.
fn telling_values(value: &Value) -> Vec<String> {
    /// Values that are nested deeper are not compared.
    const DEPTH: usize = 6;
    fn collect(value: &Value, depth: usize, found: &mut Vec<String>) {
        match value {
            Value::String(text) if text.trim().chars().count() >= 4 => {
                found.push(text.trim().to_string());
            }
            Value::Number(number) if number.to_string().len() >= 3 => {
                found.push(number.to_string());
            }
            Value::Array(elements) if depth > 0 => {
                elements
                    .iter()
                    .for_each(|element| collect(element, depth - 1, found));
            }
            Value::Object(members) if depth > 0 => {
                members
                    .values()
                    .for_each(|member| collect(member, depth - 1, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(value, DEPTH, &mut found);
    found
}

/// What a case asserts.
fn assertions_of(case: &EvalCase) -> Vec<Assertion> {
    let scored = || case.turns().iter().filter(|turn| !turn.history);
    let has_response = |turn: &Invocation| {
        let text = turn
            .final_response
            .as_ref()
            .map(|content| content.scored_text());
        text.is_some_and(|text| !text.trim().is_empty())
    };
    let is_stated = [
        (
            Assertion::Calls,
            scored().any(|turn| turn.trajectory.is_known()),
        ),
        (Assertion::Response, scored().any(has_response)),
        (
            Assertion::Rubrics,
            !case.rubrics.is_empty() || scored().any(|turn| !turn.rubrics.is_empty()),
        ),
        (Assertion::State, case.final_session_state.is_some()),
    ];
    let stated: Vec<Assertion> = is_stated
        .into_iter()
        .filter_map(|(assertion, is)| is.then_some(assertion))
        .collect();
    match stated.is_empty() {
        true => vec![Assertion::Nothing],
        false => stated,
    }
}
