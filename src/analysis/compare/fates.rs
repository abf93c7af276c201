//! What became of the cases of two runs.

use super::pairing::is_edited;
use super::run::RunToCompare;
use crate::analysis::evidence::{ComparisonRule, lost};
use crate::analysis::pass_table::PassTable;
use crate::analysis::repeats::PassCount;
use crate::domain::{RunState, Status};

/// What became of a case from the first run to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CaseFate {
    /// There is evidence that it passes less often: [`crate::analysis::ChangeEvidence`].
    Broke,
    /// There is evidence that it passes more often.
    Fixed,
    /// All attempts passed in one of the runs and not all in the other, which chance may explain.
    Unclear,
    /// The case was edited between the runs, so that its outcomes cannot be compared.
    Edited,
    /// It was not evaluated in one of the runs, so that its outcomes cannot be compared.
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

impl CaseFate {
    /// All, in display order.
    pub const ALL: [CaseFate; 9] = [
        CaseFate::Broke,
        CaseFate::Fixed,
        CaseFate::Unclear,
        CaseFate::Edited,
        CaseFate::NotEvaluated,
        CaseFate::StillFailing,
        CaseFate::StillPassing,
        CaseFate::OnlyBefore,
        CaseFate::OnlyAfter,
    ];

    /// The name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            CaseFate::Broke => "broke",
            CaseFate::Fixed => "fixed",
            CaseFate::Unclear => "unclear",
            CaseFate::Edited => "edited",
            CaseFate::NotEvaluated => "not_evaluated",
            CaseFate::StillFailing => "still_failing",
            CaseFate::StillPassing => "still_passing",
            CaseFate::OnlyBefore => "only_before",
            CaseFate::OnlyAfter => "only_after",
        }
    }

    /// The heading of a list of such cases.
    pub fn heading(self) -> &'static str {
        match self {
            CaseFate::Broke => "broke",
            CaseFate::Fixed => "fixed",
            CaseFate::Unclear => "unclear: could be noise, more attempts decide",
            CaseFate::Edited => "edited between the runs, not comparable",
            CaseFate::NotEvaluated => "not evaluated in one of the runs, not comparable",
            CaseFate::StillFailing => "still failing",
            CaseFate::StillPassing => "still passing",
            CaseFate::OnlyBefore => "only in the first run",
            CaseFate::OnlyAfter => "only in the second run",
        }
    }
}

/// The attempts of a case, counted. `None` if an attempt was not evaluated and none failed or errored: whether all of them
/// pass is not known.
pub(super) fn evaluated(run: &RunState, case: usize) -> Option<PassCount> {
    let attempts = run.attempts_of(case);
    let count = PassCount::of(&attempts);
    let is_known = count.passed < count.of || attempts.iter().all(|attempt| attempt.status == Status::Passed);
    (count.of > 0 && is_known).then_some(count)
}

/// The attempts of a case in both runs, or why they cannot be compared.
pub(super) fn table_of(
    before: &RunToCompare,
    a: usize,
    after: &RunToCompare,
    b: usize,
) -> Result<PassTable, CaseFate> {
    if is_edited(before, a, after, b) {
        return Err(CaseFate::Edited);
    }
    let counts = evaluated(before, a).zip(evaluated(after, b));
    counts.map(|(before, after)| PassTable { before, after }).ok_or(CaseFate::NotEvaluated)
}

/// The fates of comparable cases.
pub(super) fn fates_of(tables: &[PassTable], rule: &ComparisonRule) -> Vec<CaseFate> {
    let mirrored: Vec<PassTable> = tables.iter().map(|table| table.mirrored()).collect();
    let changes = lost(tables, rule).into_iter().zip(lost(&mirrored, rule));
    tables.iter().zip(changes).map(|(table, change)| fate_of(*table, change)).collect()
}

fn fate_of(table: PassTable, (is_lost, is_won): (bool, bool)) -> CaseFate {
    let passed_all = |count: PassCount| count.passed == count.of;
    match (passed_all(table.before), passed_all(table.after)) {
        _ if is_lost => CaseFate::Broke,
        _ if is_won => CaseFate::Fixed,
        (true, true) => CaseFate::StillPassing,
        (false, false) => CaseFate::StillFailing,
        _ => CaseFate::Unclear,
    }
}
