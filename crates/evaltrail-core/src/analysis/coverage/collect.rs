//! Collects what cases expect and what their attempts did, one case after the other.

use super::declarations::Declarations;
use super::findings::findings;
use super::seen_tool::{CallSide, SeenTool};
use super::{
    AgentCoverage, Assertion, CallOutcome, CaseSet, CasesByColumn, Coverage, PairCoverage,
    StateCoverage, is_built_in,
};
use crate::domain::{
    Attempt, Conversation, EvalCase, Invocation, Status, TRANSFER_TOOL, ToolCall, Trajectory,
};
use crate::metrics::passes_without_tool;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Different initial values of a key of the session state that are counted.
const MAX_INITIAL_VALUES: usize = 1_000;
/// Tools of a case for which it is computed whether the case passes without their calls.
const MAX_TOOLS_TRIED: usize = 50;

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
    /// By tool: the passing cases that pass as well without its calls, and all for which that was computed.
    needs: BTreeMap<String, (CaseSet, CaseSet)>,
    /// Whether declarations are from elsewhere than the results.
    is_declared_elsewhere: bool,
    /// Cases with an attempt whose agent does not report all calls.
    partial: CaseSet,
    /// Arguments, tools and state keys with too many different values or combinations to count all of them.
    capped: BTreeSet<String>,
}

impl CoverageCollector {
    /// Adds declarations. `source` is shown. What results declare does not count then: they may be older.
    pub fn declare(&mut self, declarations: &Declarations, source: &str) {
        for (name, schema) in &declarations.tools {
            let known = self.declarations.tools.entry(name.clone()).or_default();
            if known.is_none() {
                known.clone_from(schema);
            }
        }
        let root = &mut self.declarations.root_agent;
        *root = root.take().or_else(|| declarations.root_agent.clone());
        for (name, description) in &declarations.descriptions {
            self.declarations.describe_tool(name, description);
        }
        self.declarations
            .agents
            .extend(declarations.agents.iter().cloned());
        self.sources.insert(source.to_string());
        self.is_declared_elsewhere = true;
    }

    /// The tools and agents that are declared, as far as they were added or read from results.
    pub fn declarations(&self) -> &Declarations {
        &self.declarations
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
            self.see_unneeded(at, covered.case, attempt);
        }
        for attempt in covered.attempts {
            let passed = attempt.status == Status::Passed;
            self.see_turns(at, CallSide::Called { passed }, &attempt.actual);
            self.see_data_flow(at, &attempt.actual);
            for turn in attempt.actual.iter() {
                self.see_agents(at, turn);
            }
        }
    }

    /// Notes the tools whose calls the case expects, and whose calls its criteria do not need.
    fn see_unneeded(&mut self, at: usize, case: &EvalCase, attempt: &Attempt) {
        let scored = case.turns().iter().filter(|turn| !turn.history);
        let expected: BTreeSet<&str> = scored
            .flat_map(|turn| turn.calls())
            .map(|call| call.name.as_str())
            .filter(|tool| !is_built_in(tool))
            .collect();
        for tool in expected.into_iter().take(MAX_TOOLS_TRIED) {
            match passes_without_tool(attempt, tool) {
                Some(true) => {
                    let needs = self.needs.entry(tool.to_string()).or_default();
                    needs.0.add(at);
                    needs.1.add(at);
                }
                Some(false) => self.needs.entry(tool.to_string()).or_default().1.add(at),
                None => {}
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
                None => {
                    self.capped.insert(format!("state key {key}"));
                }
            }
        }
        let stated = case.final_session_state.as_ref().and_then(Value::as_object);
        for key in stated.into_iter().flat_map(Map::keys) {
            self.state.entry(key.clone()).or_default().asserted.add(at);
        }
    }

    /// Adds the calls of the turns of a case, or of one of its attempts.
    fn see_turns(&mut self, at: usize, side: CallSide, turns: &[Invocation]) {
        let mut sequence: Vec<String> = Vec::new();
        // The last call, unless a turn with unknown calls follows it.
        let mut last: Option<String> = None;
        let (mut has_turn, mut is_known) = (false, true);
        for turn in turns.iter().filter(|turn| !turn.history) {
            has_turn = true;
            if !turn.trajectory.is_known() {
                (is_known, last) = (false, None);
            }
            let has_responses = !turn.trajectory.responses().is_empty();
            for (call, response) in turn.trajectory.calls_with_responses() {
                self.see_call(at, side, call);
                if has_responses {
                    let outcome = CallOutcome::of_response(response.map(|one| &one.response));
                    let tool = self.tools.entry(call.name.clone()).or_default();
                    let outcomes = match side {
                        CallSide::Expected => &mut tool.expected_outcomes,
                        CallSide::Called { .. } => &mut tool.outcomes,
                    };
                    outcomes.entry(outcome).or_default().add(at);
                }
                if let Some(first) = last.replace(call.name.clone()) {
                    let pair = self.pairs.entry((first, call.name.clone())).or_default();
                    pair.cases.see(side, at);
                }
                sequence.push(call.name.clone());
            }
        }
        match (has_turn, is_known, side) {
            (true, true, _) => self.sequences.entry(sequence).or_default().see(side, at),
            (true, false, CallSide::Called { .. }) => self.partial.add(at),
            _ => {}
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
        let uncounted = tool.add_call(at, side, call);
        self.capped.extend(uncounted);
    }

    /// Notes the pairs of calls, the second directly after the first, between which data flows: an argument of the second has
    /// a value that is equal to a value in the response to the first one, and that the user did not name.
    fn see_data_flow(&mut self, at: usize, turns: &[Invocation]) {
        let mut last: Option<(&str, BTreeSet<String>)> = None;
        let mut said = String::new();
        for turn in turns.iter().filter(|turn| !turn.history) {
            said.push_str(&turn.user.scored_text());
            for (call, response) in turn.trajectory.calls_with_responses() {
                if let Some((first, values)) = &last {
                    let arguments = call.args.iter().flat_map(Map::values);
                    let flows = arguments
                        .flat_map(telling_values)
                        .any(|value| values.contains(&value) && !said.contains(&value));
                    if flows {
                        let pair = (first.to_string(), call.name.clone());
                        self.pairs.entry(pair).or_default().data_flow.add(at);
                    }
                }
                let values = response.map(|one| telling_values(&one.response));
                last = Some((&call.name, values.unwrap_or_default().into_iter().collect()));
            }
        }
    }

    /// Notes which agents acted in a turn, and reads what they declare.
    fn see_agents(&mut self, at: usize, turn: &Invocation) {
        if let (false, Trajectory::Events(events) | Trajectory::Partial(events)) =
            (turn.history, &turn.trajectory)
        {
            let authors: BTreeSet<&str> =
                events.iter().map(|event| event.author.as_str()).collect();
            for author in authors {
                if !author.is_empty() && author != "user" {
                    let agent = self.agents.entry(author.to_string()).or_default();
                    agent.acted.add(at);
                }
            }
        }
        if let Some(details) = &turn.app_details
            && !self.is_declared_elsewhere
            && self.details.as_ref() != Some(details)
        {
            if self.declarations.add(details) {
                self.sources
                    .insert("the agent details in its results".into());
            }
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
            let schema = declarations.tools.get(&name);
            let declared = (is_known && !is_built_in(&name)).then_some(schema.is_some());
            (
                name,
                seen.coverage(declared, schema.and_then(Option::as_ref)),
            )
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
            partial: self.partial,
            capped: self.capped,
            findings: Vec::new(),
        };
        coverage.findings = findings(&coverage, &self.needs);
        coverage
    }
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
    if let Conversation::Scenario(_) = case.conversation {
        return vec![Assertion::Scenario];
    }
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
