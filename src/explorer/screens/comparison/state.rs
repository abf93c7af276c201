//! State of the screen that compares two runs.

use crate::explorer::shared::compared_pair::ComparedPair;
use evaltrail_core::analysis::{CaseChange, ComparedCase, RunComparison};
use evaltrail_core::diff::Line;
use evaltrail_core::domain::Attempt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A list of cases under one heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseList {
    /// The cases with this change, except those that were removed from the workspace.
    Of(CaseChange),
    /// The cases that passed in the first run and that the workspace does not have any more.
    Removed,
    /// The cases of the first run that the second one, which is unfinished, has not run yet.
    PendingAfter,
    /// The cases of the second run that the first one, which is unfinished, has not run yet.
    PendingBefore,
}

impl CaseList {
    /// The list that contains a case.
    fn of_case(pair: &ComparedPair, case: &ComparedCase, is_pending: bool) -> CaseList {
        if is_pending {
            return match case.change {
                CaseChange::OnlyAfter => CaseList::PendingBefore,
                _ => CaseList::PendingAfter,
            };
        }
        if pair.is_removed(case) {
            CaseList::Removed
        } else {
            CaseList::Of(case.change)
        }
    }

    /// All, in display order.
    fn all() -> impl Iterator<Item = CaseList> {
        let pending = [CaseList::PendingAfter, CaseList::PendingBefore];
        let by_change = CaseChange::ALL.into_iter().flat_map(|change| {
            let list = CaseList::Of(change);
            if change == CaseChange::Unclear {
                vec![list, CaseList::Removed]
            } else {
                vec![list]
            }
        });
        by_change.chain(pending)
    }

    /// The heading, after the number of cases.
    pub fn heading_text(self, found: &RunComparison) -> String {
        match self {
            CaseList::Of(change) => found.heading_text(change),
            CaseList::Removed => "removed, passed in the first run".into(),
            CaseList::PendingAfter => "without a result in the second run so far".into(),
            CaseList::PendingBefore => "without a result in the first run so far".into(),
        }
    }
}

/// A row of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonRow {
    /// The heading of a list, with the number of its cases.
    Heading(CaseList, usize),
    /// A case, by its index in [`evaltrail_core::analysis::RunComparison::cases`].
    Case(usize),
}

/// State of the screen that compares two runs.
#[derive(Debug)]
pub struct ComparisonScreen {
    /// The runs.
    pub pair: Arc<ComparedPair>,
    /// The lists whose cases are not shown.
    pub folded: BTreeSet<CaseList>,
    /// The rows.
    pub rows: Vec<ComparisonRow>,
    /// Index into `rows`.
    pub cursor: usize,
    /// First visible row.
    pub offset: usize,
    /// Whether the metrics are shown where there is no room for list and metrics.
    pub shows_metrics: bool,
    /// The open case.
    pub case: Option<CaseColumns>,
}

impl ComparisonScreen {
    pub(crate) fn new(pair: Arc<ComparedPair>) -> ComparisonScreen {
        let folded = [
            CaseChange::StillPassing,
            CaseChange::OnlyBefore,
            CaseChange::OnlyAfter,
        ];
        let pending = [CaseList::PendingAfter, CaseList::PendingBefore];
        let folded = folded.into_iter().map(CaseList::Of).chain(pending);
        let folded = folded.collect();
        let mut screen = ComparisonScreen {
            pair,
            folded,
            rows: Vec::new(),
            cursor: 0,
            offset: 0,
            shows_metrics: false,
            case: None,
        };
        screen.list();
        let first_case = screen
            .rows
            .iter()
            .position(|row| matches!(row, ComparisonRow::Case(_)));
        screen.cursor = first_case.unwrap_or(0);
        screen
    }

    /// Builds the rows.
    pub(crate) fn list(&mut self) {
        self.rows.clear();
        let mut lists: BTreeMap<CaseList, Vec<ComparisonRow>> = BTreeMap::new();
        let pending = self.pair.pending();
        for (at, case) in self.pair.found.cases.iter().enumerate() {
            lists
                .entry(CaseList::of_case(&self.pair, case, pending.contains(&at)))
                .or_default()
                .push(ComparisonRow::Case(at));
        }
        for list in CaseList::all() {
            let Some(mut cases) = lists.remove(&list) else {
                continue;
            };
            self.rows.push(ComparisonRow::Heading(list, cases.len()));
            let has_other_cause = |row: &ComparisonRow| match row {
                ComparisonRow::Case(at) => self.pair.found.cases[*at].has_other_cause,
                ComparisonRow::Heading(..) => false,
            };
            cases.sort_by_key(|row| !has_other_cause(row));
            self.rows
                .extend(cases.into_iter().filter(|_| !self.folded.contains(&list)));
        }
    }

    /// Shows newer results of the same runs. The cursor stays on its case. Returns the open case by its new position.
    pub(crate) fn replace_pair(&mut self, pair: Arc<ComparedPair>) -> Option<usize> {
        let old = self.pair.clone();
        let find = |at: usize| {
            let was = &old.found.cases[at];
            let is_same = |case: &ComparedCase| {
                (was.before.is_some() && case.before == was.before)
                    || (was.after.is_some() && case.after == was.after)
            };
            pair.found.cases.iter().position(is_same)
        };
        let (here, open) = (
            self.case_here().and_then(find),
            self.case.as_ref().and_then(|case| find(case.at)),
        );
        self.pair = pair.clone();
        self.list();
        let row = self
            .rows
            .iter()
            .position(|row| here.is_some_and(|at| *row == ComparisonRow::Case(at)));
        self.cursor = row
            .unwrap_or(self.cursor)
            .min(self.rows.len().saturating_sub(1));
        open
    }

    /// The case under the cursor.
    pub fn case_here(&self) -> Option<usize> {
        match self.rows.get(self.cursor)? {
            ComparisonRow::Case(at) => Some(*at),
            ComparisonRow::Heading(..) => None,
        }
    }
}

/// One case of two runs in columns.
#[derive(Debug)]
pub struct CaseColumns {
    /// Index in [`evaltrail_core::analysis::RunComparison::cases`].
    pub at: usize,
    /// The shown attempts of both runs, or why one cannot be read.
    pub attempts: [Option<Result<Arc<Attempt>, String>>; 2],
    /// What differs between the two results beside what the agent did.
    pub notes: Vec<String>,
    /// Whether only the two runs are compared with each other, without what is expected.
    pub without_expected: bool,
    /// Whether identical rows are hidden.
    pub differences_only: bool,
    /// First visible line.
    pub scroll: usize,
    /// The lines, with the width in columns for which they were built.
    pub lines: (usize, Vec<ColumnLine>),
}

/// A line of a case of two runs.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnLine {
    /// A horizontal rule with a heading.
    Rule(String),
    /// A line over the whole width.
    Wide(Line),
    /// One line of each side, from left to right.
    Sides(Vec<Line>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::shared::compared_pair::ComparedRun;
    use evaltrail_core::analysis::{ComparisonRule, compare_runs};
    use evaltrail_core::domain::{
        AgentSpec, AttemptKey, JudgeSpec, PlannedCase, PlannedCases, PlannedSet, RunEvent,
        RunOptions, RunPlan, Status, UserSpec,
    };
    use evaltrail_core::domain::{EndedAttempt, RunState};

    /// A run of cases that pass, each of the set of this name and with this id. All sets have the same id.
    fn run(cases: &[(&str, &str)]) -> ComparedRun {
        let files: Vec<&str> = cases
            .iter()
            .map(|(file, _)| *file)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let set = |file: &&str| PlannedSet {
            stubs: None,
            tools: Default::default(),
            id: "s".into(),
            file: file.to_string(),
            path: file.into(),
            digest: String::new(),
            agent: AgentSpec::PriorAttempts,
            agent_name: String::new(),
            agent_jobs: None,
            agent_files: None,
            file_cases: None,
            app_dir: None,
            criteria: Vec::new(),
            user: UserSpec::default(),
        };
        let case = |(index, (file, id)): (usize, &(&str, &str))| PlannedCase {
            set: files.iter().position(|other| other == file).unwrap(),
            index,
            eval_id: id.to_string().into(),
            content: id.to_string().into(),
            quarantine: None,
        };
        let plan = RunPlan {
            commit: None,
            run_id: "r".into(),
            started: String::new(),
            sets: files.iter().map(set).collect(),
            cases: PlannedCases::new(cases.iter().enumerate().map(case)).unwrap(),
            options: RunOptions::default(),
            judge: JudgeSpec::standard(),
        };
        let mut state = RunState::new(Arc::new(plan));
        for (at, (_, id)) in cases.iter().enumerate() {
            let key = AttemptKey {
                case: at,
                attempt: 1,
            };
            let attempt = Attempt {
                status: Status::Passed,
                ..Attempt::blank(key, id)
            };
            state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
                attempt,
            ))));
        }
        ComparedRun {
            state,
            name: "r".into(),
        }
    }

    #[test]
    fn cases_that_are_not_run_yet_are_no_difference() {
        let ids = [("a.json", "x"), ("a.json", "y"), ("a.json", "z")];
        let (before, whole) = (run(&ids), run(&ids));
        let mut after = ComparedRun {
            state: RunState::new(whole.state.plan.clone()),
            name: "s".into(),
        };
        let pair = |after: &ComparedRun| {
            Arc::new(ComparedPair {
                found: compare_runs(&before.state, &after.state, &ComparisonRule::default()),
                before: before.clone(),
                after: after.clone(),
                setup: Default::default(),
                removed: BTreeSet::new(),
            })
        };
        let apply = |after: &mut ComparedRun, case: usize| {
            let attempts = whole.state.attempts_of(case);
            after.state.apply(RunEvent::Finished(attempts[0].clone()));
        };
        let headings = |screen: &ComparisonScreen| -> Vec<String> {
            let heading = |row: &ComparisonRow| match row {
                ComparisonRow::Heading(list, count) => {
                    Some(format!("{count} {}", list.heading_text(&screen.pair.found)))
                }
                ComparisonRow::Case(_) => None,
            };
            screen.rows.iter().filter_map(heading).collect()
        };
        apply(&mut after, 0);
        let mut screen = ComparisonScreen::new(pair(&after));
        assert_eq!(
            headings(&screen),
            [
                "1 still passing",
                "2 without a result in the second run so far"
            ]
        );
        assert_eq!(
            screen.pair.after.unfinished_text().unwrap(),
            "unfinished, 1 of 3"
        );
        apply(&mut after, 1);
        apply(&mut after, 2);
        screen.replace_pair(pair(&after));
        assert_eq!(headings(&screen), ["3 still passing"]);
        assert_eq!(screen.pair.after.unfinished_text(), None);
    }

    #[test]
    fn list_shows_removed_cases_and_set_files() {
        let before = run(&[
            ("a.json", "x"),
            ("b.json", "x"),
            ("a.json", "not selected"),
            ("a.json", "gone"),
        ]);
        let after = run(&[("a.json", "x"), ("b.json", "x")]);
        let found = compare_runs(&before.state, &after.state, &ComparisonRule::default());
        let pair = Arc::new(ComparedPair {
            before,
            after,
            found,
            setup: Default::default(),
            removed: BTreeSet::from([3]),
        });
        let mut screen = ComparisonScreen::new(pair);
        screen.folded.clear();
        screen.list();
        let row = |row: &ComparisonRow| match row {
            ComparisonRow::Heading(list, count) => {
                format!("{count} {}", list.heading_text(&screen.pair.found))
            }
            ComparisonRow::Case(at) => screen
                .pair
                .case_name(&screen.pair.found.cases[*at])
                .into_owned(),
        };
        let rows: Vec<String> = screen.rows.iter().map(row).collect();
        assert_eq!(
            rows,
            [
                "1 removed, passed in the first run",
                "gone (a.json)",
                "2 still passing",
                "x (a.json)",
                "x (b.json)",
                "1 only in the first run",
                "not selected (a.json)",
            ]
        );
    }
}
