//! Comparison of two runs, case by case.

mod changes;
mod conditions;
mod overall;
mod pairing;
mod run;
mod scores;
mod text;

pub use changes::CaseChange;
pub use conditions::ChangedCondition;
pub use overall::{OutcomeTest, OverallChange, RateChange};
pub use run::{RunConditions, RunToCompare, expectation_in_file, expectation_of};
pub use scores::{ComparedMetric, ScoreTest};
pub use text::p_text;

use super::evidence::{ComparisonRule, Undecidable};
use super::pass_table::PassTable;
use super::stratified::RateTest;
use crate::domain::RunState;
use changes::{changes_of, count_of, has_other_cause, passed_all, table_of};
use conditions::Conditions;
use pairing::{CasePair, paired};
use scores::CollectedMetrics;

/// A case of either run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedCase {
    /// Position in the plan of the first run.
    pub before: Option<usize>,
    /// Position in the plan of the second run.
    pub after: Option<usize>,
    /// What became of it.
    pub change: CaseChange,
    /// What else differs between the two results.
    pub changed: Vec<ChangedCondition>,
    /// Of a case that still fails: whether none of its causes in the first run is one in the second.
    pub has_other_cause: bool,
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
    /// The change of the rate of those that are not quarantined in the second run, if it is significant.
    pub rate_change: Option<RateChange>,
    /// The rule by which cases are said to have changed.
    pub rule: ComparisonRule,
}

impl RunComparison {
    /// The cases of one change.
    pub fn cases_with(&self, change: CaseChange) -> impl Iterator<Item = &ComparedCase> {
        self.cases.iter().filter(move |case| case.change == change)
    }

    /// The significant fall of the rate of all cases that are not quarantined.
    pub fn fall(&self) -> Option<RateChange> {
        self.rate_change.filter(|change| change.is_fall())
    }

    /// What to say if no case has enough attempts for the evidence that the rule wants, so that none can be reported as
    /// changed, or not one case alone.
    pub fn undecidable_text(&self) -> Option<String> {
        let ((_, before), (_, after)) = self.overall.attempts;
        let is_unclear = self.cases_with(CaseChange::Unclear).next().is_some();
        let attempts = format!("with at most {before} and {after} attempts of a case");
        match self.rule.undecidable((before, after)) {
            Some(Undecidable::EachCase) if self.overall.cases > 0 => Some(format!(
                "{attempts}, no case can differ significantly at the level {}: run more attempts, or use --evidence complete",
                self.rule.level
            )),
            Some(Undecidable::OneCase(p)) if is_unclear => Some(format!(
                "{attempts}, one case in which all passed before and none now could be noise ({}): run more attempts",
                p_text(p, 1.0)
            )),
            _ => None,
        }
    }

    /// The cases that broke, and those of which all attempts passed in the first run and none is evaluated in the second. Cases
    /// that are quarantined in the second run are left out.
    pub fn lost<'a>(
        &'a self,
        before: &'a RunState,
        after: &'a RunState,
    ) -> impl Iterator<Item = &'a ComparedCase> {
        let is_lost = move |case: &&ComparedCase| match (case.change, case.before, case.after) {
            (CaseChange::Broke, _, Some(b)) => after.plan.cases.quarantine(b).is_none(),
            (CaseChange::NotEvaluated, Some(a), Some(b)) => {
                after.plan.cases.quarantine(b).is_none()
                    && passed_all(before, a)
                    && count_of(after, b).0.of == 0
            }
            _ => false,
        };
        self.cases.iter().filter(move |case| is_lost(case))
    }

    /// Whether none of the compared cases passed in one of the runs, and others passed there: these cases were run again
    /// because they failed.
    fn is_of_failures_only(&self, before: &RunState, after: &RunState) -> bool {
        let has_passed_alone = |change, run: &RunState, at: fn(&ComparedCase) -> Option<usize>| {
            let mut alone = self.cases_with(change).filter_map(at);
            alone.any(|at| passed_all(run, at))
        };
        let (first, second) = self.overall.passed;
        // Only a later run can be one of cases that failed before.
        let (started, then) = (&after.plan.started, &before.plan.started);
        let is_rerun_of_first = first == 0
            && started >= then
            && has_passed_alone(CaseChange::OnlyBefore, before, |case| case.before);
        let is_rerun_of_second = second == 0
            && then >= started
            && has_passed_alone(CaseChange::OnlyAfter, after, |case| case.after);
        self.overall.cases > 0 && (is_rerun_of_first || is_rerun_of_second)
    }

    /// Without the tests, which do not hold for cases that were chosen by their outcome.
    fn without_tests(mut self) -> RunComparison {
        self.overall.test = OutcomeTest::Selected;
        self.overall.rates_p = None;
        self.rate_change = None;
        for metric in &mut self.metrics {
            metric.test = ScoreTest::Selected;
        }
        self
    }

    /// The cases of which all attempts passed in the first run and that the second does not have: they were not
    /// selected, or removed.
    pub fn removed<'a>(&'a self, before: &'a RunState) -> impl Iterator<Item = &'a ComparedCase> {
        self.cases_with(CaseChange::OnlyBefore)
            .filter(move |case| case.before.is_some_and(|at| passed_all(before, at)))
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
    let mut conditions = Conditions::new(before, after);
    let mut metrics = CollectedMetrics::new(before, after);
    let mut cases: Vec<ComparedCase> = Vec::new();
    let mut comparable = ComparableCases::default();
    for (a, b) in paired(before, after) {
        let mut case = ComparedCase {
            before: a,
            after: b,
            change: match a {
                Some(_) => CaseChange::OnlyBefore,
                None => CaseChange::OnlyAfter,
            },
            changed: Vec::new(),
            has_other_cause: false,
        };
        if let (Some(a), Some(b)) = (a, b) {
            let pair = &CasePair::new((before, a), (after, b));
            case.changed = conditions.changed(pair);
            match table_of(before, after, pair) {
                Ok(table) => {
                    let is_quarantined = after.plan.cases.quarantine(b).is_some();
                    comparable.add(cases.len(), table, !is_quarantined);
                }
                Err(why) => case.change = why,
            }
            if case.change != CaseChange::Edited {
                metrics.add(pair);
            }
        }
        cases.push(case);
    }
    let compared = compared_counts(&comparable.tables, &comparable.counts, rule);
    for (at, change) in comparable.positions.into_iter().zip(compared.changes) {
        let case = &mut cases[at];
        case.change = change;
        if let (CaseChange::StillFailing, Some(a), Some(b)) = (change, case.before, case.after) {
            let pair = CasePair::new((before, a), (after, b));
            case.has_other_cause = has_other_cause(&pair.attempts);
        }
    }
    let found = RunComparison {
        metrics: metrics.compare(),
        cases,
        overall: compared.overall,
        rate_change: compared.rate_change,
        rule: *rule,
    };
    match found.is_of_failures_only(before, after) {
        true => found.without_tests(),
        false => found,
    }
}

/// The cases whose attempts can be compared.
#[derive(Default)]
struct ComparableCases {
    /// Positions in [`RunComparison::cases`].
    positions: Vec<usize>,
    tables: Vec<PassTable>,
    /// Whether the case is not quarantined, so that it counts for the change of the rate.
    counts: Vec<bool>,
}

impl ComparableCases {
    fn add(&mut self, position: usize, table: PassTable, counts: bool) {
        self.positions.push(position);
        self.tables.push(table);
        self.counts.push(counts);
    }
}

/// The comparison of the attempts of comparable cases.
#[derive(Clone, Debug)]
pub struct ComparedCounts {
    /// The change of each case.
    pub changes: Vec<CaseChange>,
    /// All together.
    pub overall: OverallChange,
    /// The change of the rate of all together, if it is significant.
    pub rate_change: Option<RateChange>,
}

/// Compares the attempts of comparable cases, none of which is quarantined.
pub fn compare_counts(tables: &[PassTable], rule: &ComparisonRule) -> ComparedCounts {
    compared_counts(tables, &vec![true; tables.len()], rule)
}

/// `counts` tells for each case whether it is not quarantined, so that it counts for the change of the rate.
fn compared_counts(tables: &[PassTable], counts: &[bool], rule: &ComparisonRule) -> ComparedCounts {
    let test = RateTest::prepare(tables);
    let overall = OverallChange::new(tables, test.as_ref());
    let counted: Vec<PassTable> = tables
        .iter()
        .zip(counts)
        .filter(|(_, counts)| **counts)
        .map(|(table, _)| *table)
        .collect();
    let test = if counted.len() == tables.len() {
        test
    } else {
        RateTest::prepare(&counted)
    };
    ComparedCounts {
        changes: changes_of(tables, rule, test.as_ref()),
        overall,
        rate_change: RateChange::new(&counted, test.as_ref(), rule.level),
    }
}

#[cfg(test)]
mod tests;
