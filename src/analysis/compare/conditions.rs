//! What differs between the two results of a case beside what the agent did.

use super::run::{RunToCompare, tools_of, variant_of};
use crate::domain::{Criterion, PlannedSet, criteria_by_metric};

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

/// The conditions that differ, in their order.
pub(super) fn changed_conditions(
    before: &RunToCompare,
    a: usize,
    after: &RunToCompare,
    b: usize,
) -> Vec<ChangedCondition> {
    let (old, new) = (before.plan.set_of(a), after.plan.set_of(b));
    let is_judged = |run: &RunToCompare, case: usize| {
        run.attempts_of(case).iter().any(|attempt| attempt.metrics.iter().any(|metric| metric.judged))
    };
    let judged = is_judged(before, a) || is_judged(after, b);
    let has = [
        (ChangedCondition::Criteria, criteria_of(old) != criteria_of(new)),
        (ChangedCondition::Agent, is_other_agent(before, a, after, b)),
        (ChangedCondition::Tools, tools_of(before, a).zip(tools_of(after, b)).is_some_and(|(a, b)| a != b)),
        (ChangedCondition::Judge, judged && is_other_judge(before, after)),
        (ChangedCondition::Variant, variant_of(before, a) != variant_of(after, b)),
        (ChangedCondition::Name, before.plan.cases.eval_id(a) != after.plan.cases.eval_id(b)),
        (ChangedCondition::File, old.path != new.path),
    ];
    has.into_iter().filter(|(_, differs)| *differs).map(|(condition, _)| condition).collect()
}

/// The criteria without secrets. Their order decides nothing.
fn criteria_of(set: &PlannedSet) -> Vec<Criterion> {
    criteria_by_metric(&set.without_secrets().criteria)
}

/// Whether the agents differ. With a run that is not stored as a whole, their labels are compared.
fn is_other_agent(before: &RunToCompare, a: usize, after: &RunToCompare, b: usize) -> bool {
    let label = |run: &RunToCompare, case: usize| {
        let set = run.plan.cases.set(case);
        let known = run.conditions.and_then(|conditions| conditions.agents.get(set).cloned());
        known.unwrap_or_else(|| run.plan.sets[set].agent_label())
    };
    match before.conditions.or(after.conditions) {
        None => {
            let stored = |run: &RunToCompare, case: usize| run.plan.set_of(case).agent.without_secrets();
            stored(before, a) != stored(after, b)
        }
        Some(_) => label(before, a) != label(after, b),
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
