//! Comparison of two runs, case by case.

mod conditions;
mod fates;
mod overall;
mod pairing;
mod run;
mod scores;
mod words;

pub use conditions::ChangedCondition;
pub use fates::CaseFate;
pub use overall::{OutcomeTest, OverallChange};
pub use run::{RunConditions, RunToCompare};
pub use scores::{ComparedMetric, ScoreTest};
pub use words::{cases_words, p_words};

use super::evidence::ComparisonRule;
use super::pass_table::PassTable;
use crate::domain::RunState;
use conditions::changed_conditions;
use fates::{evaluated, fates_of, table_of};
use pairing::{Pair, paired};
use scores::compared_metrics;

/// A case of either run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedCase {
    /// Position in the plan of the first run.
    pub before: Option<usize>,
    /// Position in the plan of the second run.
    pub after: Option<usize>,
    /// What became of it.
    pub fate: CaseFate,
    /// What else differs between the two results.
    pub changed: Vec<ChangedCondition>,
}

/// Two runs, compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunComparison {
    /// Every case of either run: in the order of the second run, then those of the first run only.
    pub cases: Vec<ComparedCase>,
    /// The metrics in the order of the second run.
    pub metrics: Vec<ComparedMetric>,
    /// All comparable cases together.
    pub overall: OverallChange,
    /// The rule by which cases are said to have changed.
    pub rule: ComparisonRule,
}

impl RunComparison {
    /// The cases of one fate.
    pub fn of(&self, fate: CaseFate) -> impl Iterator<Item = &ComparedCase> {
        self.cases.iter().filter(move |case| case.fate == fate)
    }

    /// What to say if no case has enough attempts for the evidence that the rule wants: nothing can be reported as changed.
    pub fn undecidable_words(&self) -> Option<String> {
        let ((_, before), (_, after)) = self.overall.attempts;
        let is_undecidable = self.overall.cases > 0 && !self.rule.can_decide((before, after));
        is_undecidable.then(|| {
            format!(
                "with at most {before} and {after} attempts of a case, no case can differ significantly at the level {}: \
                 run more attempts, or use --evidence complete",
                self.rule.level
            )
        })
    }

    /// The cases that broke, and those that passed in the first run and are not evaluated any more. Cases that are
    /// quarantined in the second run are left out.
    pub fn lost<'a>(
        &'a self,
        before: &'a RunState,
        after: &'a RunState,
    ) -> impl Iterator<Item = &'a ComparedCase> {
        let passed_all =
            |run: &RunState, case: usize| evaluated(run, case).is_some_and(|count| count.passed == count.of);
        let is_lost = move |case: &&ComparedCase| match (case.fate, case.before, case.after) {
            (CaseFate::Broke, _, Some(b)) => after.plan.cases.quarantine(b).is_none(),
            (CaseFate::NotEvaluated, Some(a), Some(b)) => {
                after.plan.cases.quarantine(b).is_none()
                    && passed_all(before, a)
                    && evaluated(after, b).is_none()
            }
            _ => false,
        };
        self.cases.iter().filter(move |case| is_lost(case))
    }

    /// The cases of which all attempts passed in the first run and that the second does not have: they were not
    /// selected, or removed.
    pub fn removed<'a>(&'a self, before: &'a RunState) -> impl Iterator<Item = &'a ComparedCase> {
        let passed_all = |case: usize| evaluated(before, case).is_some_and(|count| count.passed == count.of);
        self.of(CaseFate::OnlyBefore).filter(move |case| case.before.is_some_and(passed_all))
    }
}

/// Compares two runs by a rule. A case is identified by its file and id; with several cases of one id, by its content, then
/// by its order. A case that is missing in one run is the same as one that is missing in the other if their expected
/// turns, state, rubrics and scenario are equal: it was renamed or moved. An error of the agent counts as not passed.
pub fn compare_runs<'a>(
    before: impl Into<RunToCompare<'a>>,
    after: impl Into<RunToCompare<'a>>,
    rule: &ComparisonRule,
) -> RunComparison {
    let (before, after) = (&before.into(), &after.into());
    let pairs = paired(before, after);
    let table = |(a, b): &Pair| Some(table_of(before, (*a)?, after, (*b)?));
    let tables: Vec<Option<Result<PassTable, CaseFate>>> = pairs.iter().map(table).collect();
    let comparable: Vec<PassTable> = tables.iter().flatten().flatten().copied().collect();
    let (fates, overall) = compare_counts(&comparable, rule);
    let mut fates = fates.into_iter();
    let case = |((a, b), table): (&Pair, Option<Result<PassTable, CaseFate>>)| {
        let fate = match table {
            Some(Ok(_)) => fates.next().unwrap_or(CaseFate::NotEvaluated),
            Some(Err(why)) => why,
            None if a.is_some() => CaseFate::OnlyBefore,
            None => CaseFate::OnlyAfter,
        };
        let changed = a.zip(*b).map(|(a, b)| changed_conditions(before, a, after, b)).unwrap_or_default();
        ComparedCase { before: *a, after: *b, fate, changed }
    };
    let cases: Vec<ComparedCase> = pairs.iter().zip(tables).map(case).collect();
    let scored = cases.iter().filter(|case| case.fate != CaseFate::Edited);
    let scored: Vec<(usize, usize)> = scored.filter_map(|case| case.before.zip(case.after)).collect();
    RunComparison { metrics: compared_metrics(before, after, &scored), cases, overall, rule: *rule }
}

/// Compares the attempts of comparable cases: the fate of each case, and all together.
pub fn compare_counts(tables: &[PassTable], rule: &ComparisonRule) -> (Vec<CaseFate>, OverallChange) {
    (fates_of(tables, rule), OverallChange::of(tables))
}

#[cfg(test)]
mod tests;
