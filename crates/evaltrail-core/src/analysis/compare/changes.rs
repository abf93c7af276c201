//! What became of the cases of two runs.

use super::pairing::{CasePair, is_edited};
use super::run::RunToCompare;
use crate::analysis::evidence::{ComparisonRule, OverallFall, lost};
use crate::analysis::pass_table::PassTable;
use crate::analysis::repeats::PassCount;
use crate::analysis::stratified::RateTest;
use crate::domain::{Cause, EndedAttempt, RunState, Status, worst_attempt};
use std::collections::HashSet;
use std::sync::Arc;

/// What became of a case from the first run to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CaseChange {
    /// There is evidence that it passes less often: [`crate::analysis::ChangeEvidence`].
    Broke,
    /// There is evidence that it passes more often.
    Fixed,
    /// All attempts passed in one of the runs, as far as they were evaluated, and not all in the other, which chance may explain.
    Unclear,
    /// The case was edited between the runs, so that its outcomes cannot be compared.
    Edited,
    /// No attempt was evaluated in one of the runs, or not all in which case none of the others failed: whether the outcome
    /// changed is not known.
    NotEvaluated,
    /// Not all attempts passed in either run.
    StillFailing,
    /// All attempts passed in both runs.
    StillPassing,
    /// It has a result in the first run only.
    OnlyBefore,
    /// It has a result in the second run only.
    OnlyAfter,
}

impl CaseChange {
    /// All, in display order.
    pub const ALL: [CaseChange; 9] = [
        CaseChange::Broke,
        CaseChange::Fixed,
        CaseChange::Unclear,
        CaseChange::Edited,
        CaseChange::NotEvaluated,
        CaseChange::StillFailing,
        CaseChange::StillPassing,
        CaseChange::OnlyBefore,
        CaseChange::OnlyAfter,
    ];

    /// The name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            CaseChange::Broke => "broke",
            CaseChange::Fixed => "fixed",
            CaseChange::Unclear => "unclear",
            CaseChange::Edited => "edited",
            CaseChange::NotEvaluated => "not_evaluated",
            CaseChange::StillFailing => "still_failing",
            CaseChange::StillPassing => "still_passing",
            CaseChange::OnlyBefore => "only_before",
            CaseChange::OnlyAfter => "only_after",
        }
    }

    /// The heading of a list of such cases.
    pub fn heading(self) -> &'static str {
        match self {
            CaseChange::Broke => "broke",
            CaseChange::Fixed => "fixed",
            CaseChange::Unclear => "unclear: could be noise, more attempts decide",
            CaseChange::Edited => "edited between the runs, not comparable",
            CaseChange::NotEvaluated => "not, or not completely, evaluated in one of the runs",
            CaseChange::StillFailing => "still failing",
            CaseChange::StillPassing => "still passing",
            CaseChange::OnlyBefore => "only in the first run",
            CaseChange::OnlyAfter => "only in the second run",
        }
    }
}

/// The attempts of a case that were evaluated, and the number of the others.
pub(super) fn count_of(run: &RunState, case: usize) -> (PassCount, usize) {
    count_attempts(&run.attempts_of(case))
}

fn count_attempts(attempts: &[Arc<EndedAttempt>]) -> (PassCount, usize) {
    let count = PassCount::count(attempts);
    (count, attempts.len() - count.of)
}

/// Whether all attempts of a case were evaluated and passed.
pub(super) fn passed_all(run: &RunState, case: usize) -> bool {
    let (count, not_evaluated) = count_of(run, case);
    count.passed_all(not_evaluated) == Some(true)
}

/// The attempts of a case in both runs, or why they cannot be compared. An attempt that was not evaluated is left out,
/// whatever the others are: to leave out the case depending on them would favour one run.
pub(super) fn table_of(
    before: &RunToCompare,
    after: &RunToCompare,
    pair: &CasePair,
) -> Result<PassTable, CaseChange> {
    if is_edited(before, after, pair.cases) {
        return Err(CaseChange::Edited);
    }
    let (before, missing_before) = count_attempts(&pair.attempts.0);
    let (after, missing_after) = count_attempts(&pair.attempts.1);
    match before.of.min(after.of) {
        0 => Err(CaseChange::NotEvaluated),
        _ => Ok(PassTable {
            before,
            after,
            not_evaluated: (missing_before, missing_after),
        }),
    }
}

/// Whether the attempts that did not pass have no cause in common, and say something else. Attempts without a known cause are not
/// other ones; two metrics that say the same, such as a metric and the rule that replaces it, are one reason.
pub(super) fn has_other_cause((before, after): &(Attempts, Attempts)) -> bool {
    let reason = |attempts: &Attempts| worst_attempt(attempts).map(|one| one.reason().into_owned());
    if reason(before) == reason(after) {
        return false;
    }
    let old: HashSet<&Cause> = causes(before).collect();
    let mut new = causes(after).peekable();
    !old.is_empty() && new.peek().is_some() && !new.any(|cause| old.contains(cause))
}

type Attempts = Vec<Arc<EndedAttempt>>;

/// The causes of the attempts that did not pass.
fn causes(attempts: &[Arc<EndedAttempt>]) -> impl Iterator<Item = &Cause> {
    let unsuccessful = attempts
        .iter()
        .filter(|attempt| attempt.status != Status::Passed);
    unsuccessful.flat_map(|attempt| &attempt.summary().causes)
}

/// The changes of comparable cases.
pub(super) fn changes_of(
    tables: &[PassTable],
    rule: &ComparisonRule,
    test: Option<&RateTest>,
) -> Vec<CaseChange> {
    let mirrored: Vec<PassTable> = tables.iter().map(|table| table.mirrored()).collect();
    let lost_cases = lost(tables, rule, OverallFall::from_test(test, rule.level));
    let won_cases = lost(&mirrored, rule, OverallFall::mirrored(test, rule.level));
    let changes = lost_cases.into_iter().zip(won_cases);
    tables
        .iter()
        .zip(changes)
        .map(|(table, (is_lost, is_won))| change_of(*table, is_lost, is_won))
        .collect()
}

fn change_of(table: PassTable, is_lost: bool, is_won: bool) -> CaseChange {
    match table.passed_all() {
        _ if is_lost => CaseChange::Broke,
        _ if is_won => CaseChange::Fixed,
        (Some(true), Some(true)) => CaseChange::StillPassing,
        (Some(false), Some(false)) => CaseChange::StillFailing,
        (Some(false), _) | (_, Some(false)) => CaseChange::Unclear,
        // No attempt failed or errored, and some were not evaluated.
        (None, _) | (_, None) => CaseChange::NotEvaluated,
    }
}
