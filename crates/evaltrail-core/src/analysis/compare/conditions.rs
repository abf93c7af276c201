//! What differs between the two results of a case beside what the agent did.

use super::pairing::CasePair;
use super::run::{RunToCompare, tools_of, variant_of};
use crate::domain::{AgentSpec, Criterion, EndedAttempt, PlannedSet, criteria_by_metric};
use std::collections::HashMap;
use std::sync::Arc;

/// A condition that differs between the two results of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangedCondition {
    /// The criteria.
    Criteria,
    /// The agent.
    Agent,
    /// How tools were answered: from stubs, from other stubs, or live.
    Tools,
    /// The judge. Only for cases with a judged metric.
    Judge,
    /// The allowed variant that the score is based on: what the agent did may be allowed now, and was not before.
    Variant,
    /// The case's id.
    Name,
    /// The case's file.
    File,
}

impl ChangedCondition {
    /// The name for display and in JSON.
    pub fn label(self) -> &'static str {
        match self {
            ChangedCondition::Criteria => "criteria",
            ChangedCondition::Agent => "agent",
            ChangedCondition::Tools => "answers of tools",
            ChangedCondition::Judge => "judge",
            ChangedCondition::Variant => "variant",
            ChangedCondition::Name => "name",
            ChangedCondition::File => "file",
        }
    }
}

/// Compares the conditions of the cases of two runs. What depends on the sets of the cases is compared once for each pair of
/// sets.
pub(super) struct Conditions<'a> {
    before: &'a RunToCompare<'a>,
    after: &'a RunToCompare<'a>,
    is_other_judge: bool,
    /// By the sets of both plans.
    of_sets: HashMap<(usize, usize), ConditionsOfSets>,
}

/// Which conditions of two sets differ.
#[derive(Clone, Copy)]
struct ConditionsOfSets {
    criteria: bool,
    agent: bool,
    tools: bool,
    file: bool,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(before: &'a RunToCompare<'a>, after: &'a RunToCompare<'a>) -> Conditions<'a> {
        let is_other_judge = is_other_judge(before, after);
        Conditions {
            before,
            after,
            is_other_judge,
            of_sets: HashMap::new(),
        }
    }

    /// The conditions that differ between a case of the first run and one of the second, in their order.
    pub(super) fn changed(&mut self, pair: &CasePair) -> Vec<ChangedCondition> {
        let (before, after) = (self.before, self.after);
        let (a, b) = pair.cases;
        let sets = (before.plan.cases.set_of(a), after.plan.cases.set_of(b));
        let of_sets = self
            .of_sets
            .entry(sets)
            .or_insert_with(|| conditions_of_sets(before, after, sets.0, sets.1));
        let is_judged = |attempts: &[Arc<EndedAttempt>]| {
            attempts
                .iter()
                .any(|attempt| attempt.metrics.iter().any(|metric| metric.judged))
        };
        let has = [
            (ChangedCondition::Criteria, of_sets.criteria),
            (ChangedCondition::Agent, of_sets.agent),
            (ChangedCondition::Tools, of_sets.tools),
            (
                ChangedCondition::Judge,
                self.is_other_judge && (is_judged(&pair.attempts.0) || is_judged(&pair.attempts.1)),
            ),
            (
                ChangedCondition::Variant,
                variant_of(before, a, &pair.attempts.0) != variant_of(after, b, &pair.attempts.1),
            ),
            (
                ChangedCondition::Name,
                before.plan.cases.eval_id(a) != after.plan.cases.eval_id(b),
            ),
            (ChangedCondition::File, of_sets.file),
        ];
        has.into_iter()
            .filter(|(_, differs)| *differs)
            .map(|(condition, _)| condition)
            .collect()
    }
}

fn conditions_of_sets(
    before: &RunToCompare,
    after: &RunToCompare,
    set_before: usize,
    set_after: usize,
) -> ConditionsOfSets {
    let (old, new) = (&before.plan.sets[set_before], &after.plan.sets[set_after]);
    let tools = tools_of(before, set_before).zip(tools_of(after, set_after));
    ConditionsOfSets {
        criteria: criteria_of(old) != criteria_of(new),
        agent: is_other_agent(before, after, set_before, set_after),
        tools: tools.is_some_and(|(a, b)| a != b),
        file: old.path != new.path,
    }
}

/// The criteria without secrets. Their order decides nothing.
fn criteria_of(set: &PlannedSet) -> Vec<Criterion> {
    criteria_by_metric(&set.without_secrets().criteria)
}

/// Whether the agents of two sets differ. With a run that is not stored as a whole, their labels are compared. Which agent made
/// attempts that were scored again is not known.
fn is_other_agent(
    before: &RunToCompare,
    after: &RunToCompare,
    set_before: usize,
    set_after: usize,
) -> bool {
    let label = |run: &RunToCompare, set: usize| {
        let known = run
            .conditions
            .and_then(|conditions| conditions.agents.get(set).cloned());
        known.unwrap_or_else(|| run.plan.sets[set].agent_label())
    };
    let is_scored_again =
        |run: &RunToCompare, set: usize| run.plan.sets[set].agent == AgentSpec::PriorAttempts;
    if is_scored_again(before, set_before) || is_scored_again(after, set_after) {
        return false;
    }
    match before.conditions.or(after.conditions) {
        None => {
            let stored =
                |run: &RunToCompare, set: usize| run.plan.sets[set].agent.without_secrets();
            stored(before, set_before) != stored(after, set_after)
        }
        Some(_) => label(before, set_before) != label(after, set_after),
    }
}

fn is_other_judge(before: &RunToCompare, after: &RunToCompare) -> bool {
    let label = |run: &RunToCompare| match run.conditions {
        Some(conditions) => conditions.judge.clone(),
        None => run.plan.judge.label(),
    };
    match before.conditions.or(after.conditions) {
        None => before.plan.judge.without_secrets() != after.plan.judge.without_secrets(),
        Some(_) => label(before) != label(after),
    }
}
