//! Causes of failures over runs: which are new, which came back, which go on, and which are gone.
//!
//! A cause contains no values and no positions ([`Cause`]), so that it is the same in every run. A case has a cause from the run
//! in which an attempt failed for it until a later run in which the case was evaluated and no attempt did. A run of other
//! cases changes nothing, and neither does one in which the case could not be evaluated.

use crate::domain::Cause;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What became of a cause by the latest run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CauseState {
    /// A case has it, and it was seen in one run only.
    New,
    /// A case has it again, since one run, after no case had it any more.
    Back,
    /// A case has it, and had it in more than one run without an end in between.
    Ongoing,
    /// No case has it any more.
    Gone,
}

impl CauseState {
    /// The name for display and in files.
    pub fn name(self) -> &'static str {
        match self {
            CauseState::New => "new",
            CauseState::Back => "back",
            CauseState::Ongoing => "ongoing",
            CauseState::Gone => "gone",
        }
    }

    /// Whether it needs a look: it was not there before.
    pub fn is_new_or_back(self) -> bool {
        matches!(self, CauseState::New | CauseState::Back)
    }
}

/// How often a cause was seen in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseCount {
    /// Position of the run, the oldest first.
    pub run: usize,
    /// The number of cases with an attempt that failed for it.
    pub cases: u32,
    /// The number of these attempts.
    pub attempts: u32,
}

/// A cause over the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseTrend {
    /// The cause.
    pub cause: Cause,
    /// The runs in which it was seen, oldest first; at least one.
    pub seen: Vec<CauseCount>,
    /// The first run of the latest period in which a case had it, without a run between in which no case did.
    pub since: usize,
    /// The run after which no case had it any more, before `since`; `None` if it was not there before.
    pub gone_before: Option<usize>,
    /// The run after which no case has it any more; `None` if a case has it.
    pub gone: Option<usize>,
    /// The last run before `since` in which one of the cases that have the cause at `since` was evaluated; `None` if there is none.
    pub last_without: Option<usize>,
    /// The number of cases that have it.
    pub cases: usize,
    /// The number of cases that did not have it before the latest run in which it was seen.
    pub joined: usize,
    /// The files of the cases that had it in `since`.
    pub files: BTreeSet<u64>,
}

impl CauseTrend {
    /// What became of it by the latest run.
    pub fn state(&self) -> CauseState {
        let seen_since = || self.seen.iter().filter(|one| one.run >= self.since).count();
        match self.gone {
            Some(_) => CauseState::Gone,
            None if seen_since() > 1 => CauseState::Ongoing,
            None if self.gone_before.is_some() => CauseState::Back,
            None => CauseState::New,
        }
    }

    /// The first run in which it was seen.
    pub fn first_seen(&self) -> usize {
        self.seen.first().map_or(self.since, |one| one.run)
    }

    /// Its state relative to an earlier run, not to the latest one: new or back if its latest period began after that run.
    pub fn state_since(&self, run: usize) -> CauseState {
        match self.gone {
            Some(_) => CauseState::Gone,
            None if self.since <= run => CauseState::Ongoing,
            None if self.first_seen() <= run => CauseState::Back,
            None => CauseState::New,
        }
    }

    /// The latest run in which it was seen.
    pub fn last_seen(&self) -> usize {
        self.seen.last().map_or(self.since, |one| one.run)
    }
}

/// The causes of all failures over the runs.
#[derive(Clone, Debug, Default)]
pub struct CauseHistory {
    trends: Vec<CauseTrend>,
    /// Positions in `trends`.
    by_cause: HashMap<Cause, usize>,
}

impl CauseHistory {
    /// A cause, if it was seen in some run.
    pub fn get(&self, cause: &Cause) -> Option<&CauseTrend> {
        self.by_cause.get(cause).map(|at| &self.trends[*at])
    }

    /// What became of a cause; `None` if it was not seen in any run.
    pub fn state(&self, cause: &Cause) -> Option<CauseState> {
        self.get(cause).map(CauseTrend::state)
    }

    /// The position of a cause, which is added if it is not there.
    fn position(&mut self, cause: &Cause) -> usize {
        if let Some(at) = self.by_cause.get(cause) {
            return *at;
        }
        let at = self.trends.len();
        self.by_cause.insert(cause.clone(), at);
        self.trends.push(CauseTrend {
            cause: cause.clone(),
            seen: Vec::new(),
            since: 0,
            gone_before: None,
            gone: None,
            last_without: None,
            cases: 0,
            joined: 0,
            files: BTreeSet::new(),
        });
        at
    }

    /// All causes: the new ones first, then those that came back, those that go on, and those that are gone; within these, those of
    /// most cases first, and the ones that were seen last.
    pub fn all(&self) -> Vec<&CauseTrend> {
        let mut all: Vec<&CauseTrend> = self.trends.iter().collect();
        all.sort_by_key(|one| {
            let latest = std::cmp::Reverse(one.last_seen());
            (one.state(), std::cmp::Reverse(one.cases), latest)
        });
        all
    }
}

/// The cases of a file in a run.
#[derive(Clone, Debug)]
pub struct ObservedFile<'a> {
    /// What identifies the file over the runs.
    pub file: u64,
    /// Whether all cases that the file had were run. Of other cases that were known, nothing is known any more.
    pub is_whole: bool,
    /// Why its cases did not pass.
    pub causes: &'a [Cause],
    /// The cases that were run.
    pub cases: Vec<ObservedCase<'a>>,
}

/// A case in a run.
#[derive(Clone, Copy, Debug)]
pub struct ObservedCase<'a> {
    /// What identifies it in its file over the runs.
    pub case: u64,
    /// Whether its attempts passed or failed. If some did neither, the causes that it had before stay.
    pub is_evaluated: bool,
    /// Its causes, each with the number of attempts that failed for it, as positions among the causes of the file.
    pub causes: &'a [(u32, u32)],
}

/// Builds a [`CauseHistory`], run by run.
#[derive(Debug, Default)]
pub struct CauseHistoryBuilder {
    history: CauseHistory,
    /// What is known of the cases of each file.
    files: HashMap<u64, KnownCases>,
}

/// The cases of a file.
#[derive(Debug, Default)]
struct KnownCases {
    /// The causes that each case has, as positions in the history. Cases without one are not contained.
    current: HashMap<u64, Vec<usize>>,
    /// The cases that were evaluated, each with the latest run.
    evaluated: HashMap<u64, usize>,
    /// The latest run with cases of the file.
    latest: usize,
}

/// What a run changes.
#[derive(Default)]
struct RunChanges {
    /// The causes that were seen.
    counts: HashMap<usize, CauseCount>,
    /// The latest earlier run that evaluated one of the cases with a cause.
    last_without: HashMap<usize, usize>,
    /// The causes that some case no longer has.
    lost: HashSet<usize>,
    /// The numbers of cases that have a cause now, and had not before.
    joined: HashMap<usize, usize>,
    /// The files of the cases with a cause.
    files: HashMap<usize, BTreeSet<u64>>,
}

impl CauseHistoryBuilder {
    /// Adds a run, which is newer than all before.
    pub fn add_run(&mut self, run: usize, files: &[ObservedFile<'_>]) {
        let mut changes = RunChanges::default();
        for file in files {
            let mut known = self.files.remove(&file.file).unwrap_or_default();
            let mut positions: Vec<Option<usize>> = vec![None; file.causes.len()];
            for case in &file.cases {
                self.add_case(run, file, case, (&mut known, &mut positions), &mut changes);
            }
            if file.is_whole {
                let there: HashSet<u64> = file.cases.iter().map(|case| case.case).collect();
                known.evaluated.retain(|case, _| there.contains(case));
                known.current.retain(|case, causes| {
                    let is_there = there.contains(case);
                    if !is_there {
                        remove_causes(&mut self.history.trends, causes, &mut changes.lost);
                    }
                    is_there
                });
            }
            known.latest = run;
            self.files.insert(file.file, known);
        }
        let lost = std::mem::take(&mut changes.lost);
        self.note_seen(run, changes);
        self.end_lost(run, lost);
    }

    /// Adds a case of a run. `positions` are those of the causes of its file in the history, as far as a case had them.
    fn add_case(
        &mut self,
        run: usize,
        file: &ObservedFile<'_>,
        observed: &ObservedCase<'_>,
        (known, positions): (&mut KnownCases, &mut [Option<usize>]),
        changes: &mut RunChanges,
    ) {
        let evaluated_before = known.evaluated.get(&observed.case).copied();
        let mut now: Vec<usize> = Vec::with_capacity(observed.causes.len());
        for (cause, attempts) in observed.causes {
            let at = *cause as usize;
            let (Some(cause), Some(position)) = (file.causes.get(at), positions.get_mut(at)) else {
                continue;
            };
            let at = *position.get_or_insert_with(|| self.history.position(cause));
            let count = changes.counts.entry(at).or_insert(CauseCount {
                run,
                cases: 0,
                attempts: 0,
            });
            count.cases += 1;
            count.attempts += attempts;
            changes.files.entry(at).or_default().insert(file.file);
            if let Some(before) = evaluated_before {
                let latest = changes.last_without.entry(at).or_insert(before);
                *latest = (*latest).max(before);
            }
            now.push(at);
        }
        self.replace(known, observed, now, changes);
        if observed.is_evaluated {
            known.evaluated.insert(observed.case, run);
        }
    }

    /// Notes the causes that no case has any more.
    fn end_lost(&mut self, run: usize, lost: HashSet<usize>) {
        for at in lost {
            let trend = &mut self.history.trends[at];
            if trend.cases == 0 && trend.gone.is_none() {
                trend.gone = Some(run);
            }
        }
    }

    /// The history of the runs that were added, the newest of which is `last`. The cases of files that are not there any more have no
    /// cause since the run after the last one with cases of the file.
    pub fn finish(mut self, last: usize, is_there: impl Fn(u64) -> bool) -> CauseHistory {
        let mut lost: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
        for (file, known) in std::mem::take(&mut self.files) {
            // A file of the newest run may have been deleted by the agent: what failed there did fail.
            if known.latest < last && !is_there(file) {
                let lost = lost.entry(known.latest + 1).or_default();
                let causes = known.current.values();
                causes.for_each(|causes| remove_causes(&mut self.history.trends, causes, lost));
            }
        }
        // The latest end counts, if several files with a cause were deleted.
        for (run, lost) in lost.into_iter().rev() {
            self.end_lost(run, lost);
        }
        self.history
    }

    /// Replaces the causes that a case has.
    fn replace(
        &mut self,
        known: &mut KnownCases,
        observed: &ObservedCase<'_>,
        mut now: Vec<usize>,
        changes: &mut RunChanges,
    ) {
        let before = known.current.remove(&observed.case).unwrap_or_default();
        if !observed.is_evaluated {
            now.extend(&before);
        }
        now.sort_unstable();
        now.dedup();
        for cause in &now {
            self.history.trends[*cause].cases += 1;
            if !before.contains(cause) {
                *changes.joined.entry(*cause).or_default() += 1;
            }
        }
        remove_causes(&mut self.history.trends, &before, &mut changes.lost);
        if !now.is_empty() {
            known.current.insert(observed.case, now);
        }
    }

    /// Notes the causes that were seen in a run.
    fn note_seen(&mut self, run: usize, changes: RunChanges) {
        for (at, count) in changes.counts {
            let trend = &mut self.history.trends[at];
            let begins = trend.seen.is_empty() || trend.gone.is_some();
            trend.seen.push(count);
            trend.joined = changes.joined.get(&at).copied().unwrap_or(0);
            if begins {
                trend.since = run;
                trend.gone_before = trend.gone.take();
                trend.last_without = changes.last_without.get(&at).copied();
                trend.files = changes.files.get(&at).cloned().unwrap_or_default();
            }
        }
    }
}

/// Removes the causes of a case, which no longer has them.
fn remove_causes(trends: &mut [CauseTrend], causes: &[usize], lost: &mut HashSet<usize>) {
    for cause in causes {
        trends[*cause].cases -= 1;
        lost.insert(*cause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(name: &str) -> Cause {
        Cause::Error(name.into())
    }

    /// A case, whether it was evaluated, and its causes.
    type Observed = (u64, bool, Vec<(u32, u32)>);
    /// A run of a file: the cases that were run, each with whether it was evaluated and the names of its causes.
    type Run<'a> = &'a [(u64, bool, &'a [&'a str])];

    fn history(runs: &[Run<'_>], is_whole: bool) -> CauseHistory {
        let mut builder = CauseHistoryBuilder::default();
        for (at, run) in runs.iter().enumerate() {
            let mut causes: Vec<Cause> = Vec::new();
            let mut cases: Vec<Observed> = Vec::new();
            for (case, is_evaluated, names) in *run {
                let positions = names.iter().map(|name| {
                    causes.push(cause(name));
                    (causes.len() as u32 - 1, 1)
                });
                cases.push((*case, *is_evaluated, positions.collect()));
            }
            let observed = cases
                .iter()
                .map(|(case, is_evaluated, causes)| ObservedCase {
                    case: *case,
                    is_evaluated: *is_evaluated,
                    causes,
                });
            let file = ObservedFile {
                file: 0,
                is_whole,
                causes: &causes,
                cases: observed.collect(),
            };
            builder.add_run(at, &[file]);
        }
        builder.finish(runs.len() - 1, |_| true)
    }

    fn states(runs: &[Run<'_>]) -> Vec<(String, &'static str)> {
        let found = history(runs, false);
        let mut states: Vec<_> = found
            .all()
            .into_iter()
            .map(|one| (one.cause.describe(), one.state().name()))
            .collect();
        states.sort();
        states
    }

    fn expected<'a>(states: &[(&str, &'a str)]) -> Vec<(String, &'a str)> {
        let described = |(name, state): &(&str, &'a str)| (cause(name).describe(), *state);
        states.iter().map(described).collect()
    }

    #[test]
    fn state_after_each_of_four_runs() {
        let runs: [Run; 4] = [
            &[(1, true, &["a"]), (2, true, &[])],
            &[(1, true, &["a"]), (2, true, &["b"])],
            &[(1, true, &[]), (2, true, &["b"])],
            &[(1, true, &["a"]), (2, true, &[])],
        ];
        assert_eq!(states(&runs[..1]), expected(&[("a", "new")]));
        assert_eq!(
            states(&runs[..2]),
            expected(&[("a", "ongoing"), ("b", "new")])
        );
        assert_eq!(
            states(&runs[..3]),
            expected(&[("a", "gone"), ("b", "ongoing")])
        );
        assert_eq!(states(&runs), expected(&[("a", "back"), ("b", "gone")]));
        let found = history(&runs, false);
        let a = found.get(&cause("a")).unwrap();
        assert_eq!(
            (a.first_seen(), a.last_seen(), a.since, a.gone_before),
            (0, 3, 3, Some(2))
        );
        assert_eq!((a.last_without, a.cases, a.seen.len()), (Some(2), 1, 3));
    }

    #[test]
    fn run_of_other_cases_changes_nothing() {
        let runs: [Run; 3] = [
            &[(1, true, &["a"]), (2, true, &[])],
            &[(2, true, &[])],
            &[(2, true, &["b"])],
        ];
        assert_eq!(states(&runs), expected(&[("a", "new"), ("b", "new")]));
    }

    #[test]
    fn cause_moves_to_another_case() {
        let runs: [Run; 2] = [
            &[(1, true, &["a"]), (2, true, &[])],
            &[(1, true, &[]), (2, true, &["a"])],
        ];
        assert_eq!(states(&runs), expected(&[("a", "ongoing")]));
    }

    #[test]
    fn error_does_not_end_a_cause() {
        let runs: [Run; 3] = [
            &[(1, true, &["a"])],
            &[(1, false, &["down"])],
            &[(1, true, &["a"])],
        ];
        assert_eq!(
            states(&runs[..2]),
            expected(&[("a", "new"), ("down", "new")])
        );
        assert_eq!(
            states(&runs),
            expected(&[("a", "ongoing"), ("down", "gone")])
        );
    }

    #[test]
    fn two_causes_of_a_case_count_it_once_each() {
        let found = history(&[&[(1, true, &["a", "b"]), (2, true, &["a"])]], false);
        let count = |name: &str| {
            let one = found.get(&cause(name)).unwrap();
            (one.cases, one.seen[0].cases, one.seen[0].attempts)
        };
        assert_eq!((count("a"), count("b")), ((2, 2, 2), (1, 1, 1)));
        assert_eq!(found.all()[0].cause, cause("a"), "the largest comes first");
    }

    /// All of a file that has one case, which was evaluated.
    fn file<'a>(file: u64, causes: &'a [Cause], case_causes: &'a [(u32, u32)]) -> ObservedFile<'a> {
        ObservedFile {
            file,
            is_whole: true,
            causes,
            cases: vec![ObservedCase {
                case: 1,
                is_evaluated: true,
                causes: case_causes,
            }],
        }
    }

    #[test]
    fn cause_moves_to_another_file() {
        let cause = [cause("a")];
        let mut builder = CauseHistoryBuilder::default();
        builder.add_run(0, &[file(7, &cause, &[(0, 1)]), file(8, &cause, &[])]);
        builder.add_run(1, &[file(7, &cause, &[]), file(8, &cause, &[(0, 2)])]);
        builder.add_run(2, &[file(7, &cause, &[(0, 1)]), file(8, &cause, &[(0, 1)])]);
        let found = builder.finish(2, |_| true);
        let one = found.get(&cause[0]).unwrap();
        assert_eq!((one.state(), one.cases), (CauseState::Ongoing, 2));
        let counts: Vec<_> = one
            .seen
            .iter()
            .map(|one| (one.cases, one.attempts))
            .collect();
        assert_eq!(counts, [(1, 1), (1, 2), (2, 2)]);
    }

    #[test]
    fn causes_of_removed_cases_are_gone() {
        let runs: [Run; 2] = [&[(1, true, &["a"])], &[(2, true, &[])]];
        let found = history(&runs, true);
        assert_eq!(found.state(&cause("a")), Some(CauseState::Gone));
    }

    #[test]
    fn causes_of_deleted_files_are_gone() {
        let causes = [cause("a"), cause("of no case")];
        let mut builder = CauseHistoryBuilder::default();
        builder.add_run(0, &[file(7, &causes, &[(0, 1)])]);
        builder.add_run(1, &[file(8, &causes, &[(0, 1)])]);
        let found = builder.finish(1, |file| file == 8);
        let one = found.get(&causes[0]).unwrap();
        assert_eq!((one.state(), one.cases), (CauseState::Ongoing, 1));
        assert!(found.get(&causes[1]).is_none(), "no case has it");
    }

    #[test]
    fn deleted_file_ends_its_causes_once() {
        let causes = [cause("a")];
        let gone = |runs: usize| {
            let mut builder = CauseHistoryBuilder::default();
            builder.add_run(0, &[file(7, &causes, &[(0, 1)])]);
            (1..runs).for_each(|run| builder.add_run(run, &[file(8, &causes, &[])]));
            let found = builder.finish(runs - 1, |file| file == 8);
            found.get(&causes[0]).unwrap().gone
        };
        assert_eq!([1, 2, 5].map(gone), [None, Some(1), Some(1)]);
    }

    #[test]
    fn state_since_a_run_is_not_that_of_the_latest() {
        let runs: [Run; 4] = [
            &[(1, true, &[])],
            &[(1, true, &["a"])],
            &[(1, true, &["a"])],
            &[(1, true, &["a"])],
        ];
        let found = history(&runs, false);
        let one = found.get(&cause("a")).unwrap();
        let states = [0, 1].map(|run| one.state_since(run));
        assert_eq!(states, [CauseState::New, CauseState::Ongoing]);
    }
}
