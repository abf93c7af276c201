//! The comparison of two runs as text, JSON and Markdown.

mod json;
mod markdown;
mod setup;
mod text;

pub use setup::SetupDifference;

use super::remarks::unsteady_text;
use evaltrail_core::analysis::{
    CaseChange, ChangedCondition, ComparedCase, ComparedMetric, PassCount, RunComparison,
    RunToCompare,
};
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{Gate, RunState, Status, clean_line, worst_attempt};
use std::collections::BTreeSet;

/// Maximum number of cases of a list of changes.
const LISTED: usize = 50;
/// Maximum number of cases of the other lists.
const OTHERS_LISTED: usize = 5;

/// Two runs and their comparison.
pub struct ComparedRuns<'a> {
    /// The first run.
    pub before: RunToCompare<'a>,
    /// The second run.
    pub after: RunToCompare<'a>,
    /// What became of the cases.
    pub found: &'a RunComparison,
    /// The cases that passed in the first run and that the workspace does not have any more, by their positions in it.
    pub removed: &'a BTreeSet<usize>,
}

/// The cases of one change, as a report lists them.
struct ChangeList<'a> {
    title: String,
    status: Status,
    cases: Vec<&'a ComparedCase>,
    /// Maximum number of cases that are listed.
    shown: usize,
}

impl ChangeList<'_> {
    fn left_out(&self) -> usize {
        self.cases.len().saturating_sub(self.shown)
    }
}

impl ComparedRuns<'_> {
    /// The lists that are not empty, in the order of a report. Cases that still pass are in none.
    fn lists(&self) -> Vec<ChangeList<'_>> {
        let changes = [
            (CaseChange::Broke, Status::Failed),
            (CaseChange::Fixed, Status::Passed),
            (CaseChange::Unclear, Status::NotEvaluated),
            (CaseChange::Edited, Status::NotEvaluated),
            (CaseChange::NotEvaluated, Status::NotEvaluated),
            (CaseChange::StillFailing, Status::Failed),
            (CaseChange::OnlyBefore, Status::Informational),
            (CaseChange::OnlyAfter, Status::Informational),
        ];
        let is_removed =
            |case: &&ComparedCase| case.before.is_some_and(|at| self.removed.contains(&at));
        let removed = ChangeList {
            title: "removed, passed in the first run".into(),
            status: Status::NotEvaluated,
            cases: self
                .found
                .cases_with(CaseChange::OnlyBefore)
                .filter(is_removed)
                .collect(),
            shown: LISTED,
        };
        let list = |(change, status): (CaseChange, Status)| {
            let is_change = matches!(
                change,
                CaseChange::Broke | CaseChange::Fixed | CaseChange::Unclear | CaseChange::Edited
            );
            let shown = if is_change { LISTED } else { OTHERS_LISTED };
            let cases = self
                .found
                .cases_with(change)
                .filter(|case| change != CaseChange::OnlyBefore || !is_removed(case));
            let mut cases: Vec<&ComparedCase> = cases.collect();
            cases.sort_by_key(|case| !case.has_other_cause);
            ChangeList {
                title: self.found.heading_text(change),
                status,
                cases,
                shown,
            }
        };
        let mut lists: Vec<ChangeList> = changes.into_iter().map(list).collect();
        lists.insert(3, removed);
        lists.retain(|list| !list.cases.is_empty());
        lists
    }

    /// The limits of the comparison: no common case, unfinished runs, and conditions that differ.
    fn remarks(&self) -> Vec<String> {
        let unfinished = [("first", &self.before), ("second", &self.after)]
            .into_iter()
            .filter_map(|(title, run)| {
                let (all, missing) = (run.needed_attempts(), run.count_outstanding());
                (missing > 0).then(|| {
                    format!("the {title} run is unfinished: {missing} of {all} attempts missing")
                })
            });
        let changed = [
            ChangedCondition::Agent,
            ChangedCondition::Tools,
            ChangedCondition::Criteria,
            ChangedCondition::Judge,
            ChangedCondition::Variant,
        ]
        .into_iter()
        .filter_map(|condition| {
            let count = self.found.changed_in(condition);
            (count > 0).then(|| {
                format!(
                    "{} changed in between for {}",
                    condition.label(),
                    counted(count, "case")
                )
            })
        });
        let is_until = |run: &RunToCompare| matches!(run.plan.options.gate, Gate::Until(_));
        let until = (is_until(&self.before) || is_until(&self.after)).then(|| {
            "cases were run until their pass rate was known: how many attempts there are depends on their outcomes, so that the rates and p are approximate".to_string()
        });
        let nothing_compared = self.found.nothing_compared_text().map(str::to_string);
        nothing_compared
            .into_iter()
            .chain(unfinished)
            .chain(until)
            .chain(changed)
            .chain(
                self.setup()
                    .lines()
                    .iter()
                    .map(|line| clean_line(line).into_owned()),
            )
            .chain(self.found.undecidable_text())
            .collect()
    }

    /// What differs between the agents of the runs.
    fn setup(&self) -> SetupDifference {
        SetupDifference::new(self.before.state, self.after.state)
    }

    /// The name of a case; of a renamed or moved one also what it was before.
    fn name_with_former(&self, case: &ComparedCase) -> String {
        let name = self.name_now(case);
        let (Some(a), Some(b)) = (case.before, case.after) else {
            return name;
        };
        let file = |run: &RunState, at: usize| clean_line(&run.plan.set_of(at).file).into_owned();
        let (is_renamed, has_moved) = (
            case.changed.contains(&ChangedCondition::Name),
            case.changed.contains(&ChangedCondition::File),
        );
        let former = name_of(&self.before, a);
        match (is_renamed, has_moved) {
            (false, false) => name,
            (true, false) => format!("{name} (was {former})"),
            (false, true) => {
                format!(
                    "{name} (was in {}, now in {})",
                    file(&self.before, a),
                    file(&self.after, b)
                )
            }
            (true, true) => {
                format!(
                    "{name} (was {former} in {}, now in {})",
                    file(&self.before, a),
                    file(&self.after, b)
                )
            }
        }
    }

    fn name_now(&self, case: &ComparedCase) -> String {
        match (case.after, case.before) {
            (Some(at), _) => name_of(&self.after, at),
            (None, Some(at)) => name_of(&self.before, at),
            (None, None) => String::new(),
        }
    }

    /// "16 → 17 of 20 comparable cases passed: 1 broke, 2 fixed  (McNemar p 1.0000, could be noise)".
    fn conclusion(&self) -> String {
        let found = self.found;
        let rate = found.rate_change.filter(|_| found.overall.is_repeated());
        let rate = rate
            .map(|change| format!("; {}", change.describe()))
            .unwrap_or_default();
        format!(
            "{}: {}  ({}){rate}",
            found.overall.passed_text(),
            found.changes_text(),
            found.test_text()
        )
    }

    /// The significance of a metric's difference, and whether the options of the metric changed.
    fn metric_text(&self, of: &ComparedMetric) -> String {
        let test = self.found.score_text(of.test);
        [Some(test), of.other_options_text()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    }
}

/// Why a case does not pass; of one that still fails for another reason, also why it did not before.
fn reason_text(
    case: &ComparedCase,
    before: Option<CaseResultWords>,
    after: Option<CaseResultWords>,
) -> String {
    match (before, after) {
        (Some(before), Some(after)) if case.has_other_cause => {
            format!("{}; was: {}", after.reason, before.reason)
        }
        (before, after) => after.or(before).map(|of| of.reason).unwrap_or_default(),
    }
}

/// What differs between the results of a case beside its name and file, in brackets; empty if nothing does.
fn changed_text(case: &ComparedCase) -> String {
    case.other_conditions_text()
        .map(|words| format!("[{words}] "))
        .unwrap_or_default()
}

/// The outcome of a case in one run.
struct CaseResultWords {
    status: Status,
    /// The sign of the status; with several attempts also how many passed, and the 95 % interval of the pass rate.
    sign: String,
    count: PassCount,
    ended: usize,
    reason: String,
}

/// `None` if no attempt of the case ended.
fn outcome_of(run: &RunState, case: usize) -> Option<CaseResultWords> {
    let attempts = run.attempts_of(case);
    let (worst, count) = (worst_attempt(&attempts)?, PassCount::count(&attempts));
    let interval = count
        .interval_text()
        .map(|words| format!(" ({words})"))
        .unwrap_or_default();
    let rate = if attempts.len() > 1 {
        format!(" {}{interval}", count.describe())
    } else {
        String::new()
    };
    Some(CaseResultWords {
        status: worst.status,
        sign: format!("{}{rate}{}", worst.status.glyph(), unsteady_text(worst)),
        count,
        ended: attempts.len(),
        reason: clean_line(&worst.reason_with_model_errors()).into_owned(),
    })
}

fn name_of(run: &RunState, case: usize) -> String {
    format!(
        "{} › {}",
        clean_line(&run.plan.case_location(case)),
        clean_line(run.plan.cases.eval_id(case))
    )
}

/// The time of a run's start, in UTC, to the minute.
pub fn started_text(started: &str) -> String {
    clean_line(started.get(..16).unwrap_or(started)).replace('T', " ")
}

#[cfg(test)]
mod tests;
