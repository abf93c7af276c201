//! The outcomes of every case over the runs.

use super::criteria::CriteriaNumbers;
use super::index::History;
use super::latest::HistorySet;
use super::outcomes::{CaseOutcomeLine, SetOutcomes, hash_of_id};
use super::read_outcomes::OutcomesByFile;
use super::run_summary::RunSummary;
use evaltrail_core::analysis::{
    CasePoint, CauseHistory, CauseHistoryBuilder, CauseTrend, ObservedCase, ObservedFile,
};
use evaltrail_core::domain::Status;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The maximum number of outcomes of cases in memory.
const MAX_POINTS: usize = 1_000_000;

/// The outcomes of the cases of a workspace over its runs. Foreign runs, unfinished attempts and runs of single turns are
/// left out.
#[derive(Clone, Debug, Default)]
pub struct CaseTrends {
    /// The runs, oldest first.
    pub runs: Vec<RunSummary>,
    /// Whether all runs are contained; if not, there were too many outcomes, and the oldest runs are left out.
    pub is_complete: bool,
    /// The runs that cannot be read, each with the error.
    pub unreadable: Vec<String>,
    /// Why cases did not pass, over the runs.
    pub causes: CauseHistory,
    /// The outcomes by file and by the hash of the case's id, oldest first.
    points: HashMap<PathBuf, HashMap<u64, Vec<CasePoint>>>,
}

impl CaseTrends {
    /// The outcomes of a case, oldest first; `run` is a position in `runs`. Empty for cases with equal ids, which cannot
    /// be told apart.
    pub fn of_case(&self, path: &Path, eval_id: &str) -> &[CasePoint] {
        let points = self
            .points
            .get(path)
            .and_then(|cases| cases.get(&hash_of_id(eval_id)));
        points.map_or(&[], Vec::as_slice)
    }
}

impl CaseTrends {
    /// What else changed in the files of a cause's cases, between the last run that evaluated these without it and the first one with
    /// it, or between the last run with it and the one that ended it; empty if that is not known.
    pub fn changes_at(&self, cause: &CauseTrend) -> Vec<String> {
        let (before, after) = match cause.gone {
            Some(gone) => (Some(cause.last_seen()), gone),
            None => (cause.last_without, cause.since),
        };
        let run = |at: usize| self.runs.get(at);
        let Some((before, after)) = before.and_then(run).zip(run(after)) else {
            return Vec::new();
        };
        let mut changed = Vec::new();
        let of_cause = |path: &Path| cause.files.contains(&hash_of_file(path));
        let paths = after.set_keys().into_iter().map(|(path, _)| path);
        for words in paths
            .filter(|path| of_cause(path))
            .flat_map(|path| before.changes_until(after, path))
        {
            if !changed.contains(&words) {
                changed.push(words);
            }
        }
        changed
    }
}

/// The number of runs that are read at the same time, before their points are counted.
const READ_TOGETHER: usize = 64;

/// The outcomes of the newest runs, as many as fit in memory.
struct NewestOutcomes {
    /// The runs, newest first.
    runs: Vec<(RunSummary, OutcomesByFile)>,
    /// Whether all runs are contained.
    is_complete: bool,
    /// The runs that cannot be read, each with the error.
    unreadable: Vec<String>,
}

impl History {
    /// The outcomes of the cases of these sets.
    pub fn trends(&self, sets: &[HistorySet]) -> CaseTrends {
        let newest = self.newest_outcomes(sets);
        let mut trends = CaseTrends {
            is_complete: newest.is_complete,
            unreadable: newest.unreadable,
            ..CaseTrends::default()
        };
        let mut criteria = HashMap::new();
        let mut causes = CauseHistoryBuilder::default();
        for (at, (run, outcomes)) in newest.runs.into_iter().rev().enumerate() {
            causes.add_run(at, &observed(&run, &outcomes));
            trends.add_run(run, outcomes, &mut criteria);
        }
        let there: HashSet<u64> = trends
            .points
            .keys()
            .filter(|path| path.exists())
            .map(|path| hash_of_file(path))
            .collect();
        let last = trends.runs.len().saturating_sub(1);
        trends.causes = causes.finish(last, |file| there.contains(&file));
        trends
    }

    fn newest_outcomes(&self, sets: &[HistorySet]) -> NewestOutcomes {
        let mut newest = NewestOutcomes {
            runs: Vec::new(),
            is_complete: true,
            unreadable: self
                .unreadable
                .iter()
                .map(|(_, error)| error.clone())
                .collect(),
        };
        let mut count = 0;
        let runs: Vec<&RunSummary> = self.runs.iter().filter(|run| run.is_in_trends()).collect();
        for (run, outcomes) in runs
            .chunks(READ_TOGETHER)
            .flat_map(|runs| self.read_together(runs, sets))
        {
            let outcomes = match outcomes {
                Ok(outcomes) => outcomes,
                Err(error) => {
                    newest.unreadable.extend(run.path.exists().then_some(error));
                    continue;
                }
            };
            count += outcomes
                .iter()
                .map(|(_, set)| set.cases.len())
                .sum::<usize>();
            if count > MAX_POINTS {
                newest.is_complete = false;
                break;
            }
            newest.runs.push((run.clone(), outcomes));
        }
        newest
    }
}

/// What identifies a file over the runs.
fn hash_of_file(path: &Path) -> u64 {
    hash_of_id(&path.to_string_lossy())
}

/// The causes of a run.
fn observed<'a>(summary: &RunSummary, outcomes: &'a OutcomesByFile) -> Vec<ObservedFile<'a>> {
    let case = |line: &'a CaseOutcomeLine| ObservedCase {
        case: line.id,
        is_evaluated: matches!(line.status, Status::Passed | Status::Failed),
        causes: &line.causes,
    };
    let file = |(path, set): &'a (PathBuf, SetOutcomes)| ObservedFile {
        file: hash_of_file(path),
        is_whole: summary.set(path).and_then(|set| set.is_whole) == Some(true),
        causes: &set.causes,
        cases: set.cases.iter().map(case).collect(),
    };
    outcomes.iter().map(file).collect()
}

impl CaseTrends {
    /// Adds the outcomes of a run that is newer than all others. `criteria` numbers the criteria of each file.
    fn add_run(
        &mut self,
        summary: RunSummary,
        outcomes: OutcomesByFile,
        criteria: &mut HashMap<PathBuf, CriteriaNumbers<usize>>,
    ) {
        let run = self.runs.len();
        self.runs.push(summary);
        for (path, set) in outcomes {
            let is_other =
                |a: &usize, b: &usize| self.runs[*a].has_other_criteria(&self.runs[*b], &path);
            let criteria = criteria
                .entry(path.clone())
                .or_default()
                .number(run, is_other);
            let cases = self.points.entry(path).or_default();
            for line in set.cases {
                let CaseOutcomeLine {
                    id,
                    content,
                    status,
                    passed,
                    evaluated,
                    causes: _,
                } = line;
                let point = CasePoint {
                    run,
                    status,
                    passed,
                    evaluated,
                    content,
                    criteria,
                };
                cases.entry(id).or_default().push(point);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{AppFolders, RunFolder, RunKey};
    use evaltrail_core::domain::{
        AgentSpec, Attempt, AttemptKey, JudgeSpec, PlannedCase, PlannedCases, PlannedSet,
        RunOptions, RunPlan, Status,
    };

    fn plan(run_id: &str, workspace: &Path, ids: &[&str]) -> RunPlan {
        let set = PlannedSet {
            stubs: None,
            tools: Default::default(),
            id: "s".into(),
            file: "s.json".into(),
            path: workspace.join("s.json"),
            digest: String::new(),
            agent: AgentSpec::PriorAttempts,
            agent_name: String::new(),
            agent_jobs: None,
            agent_files: None,
            file_cases: None,
            app_dir: None,
            criteria: Vec::new(),
            user: Default::default(),
        };
        let case = |(index, id): (usize, &&str)| PlannedCase {
            set: 0,
            index,
            eval_id: id.to_string().into(),
            content: format!("content of {id}").into(),
            quarantine: None,
        };
        RunPlan {
            run_id: run_id.into(),
            started: "2026-01-01T00:00:00Z".into(),
            commit: Some(format!("commit of {run_id}")),
            sets: vec![set],
            cases: PlannedCases::new(ids.iter().enumerate().map(case)).unwrap(),
            options: RunOptions {
                repeat: 2,
                ..RunOptions::default()
            },
            judge: JudgeSpec::standard(),
        }
    }

    /// Records a run in which every attempt has this status, except that the first attempt of each case passes.
    fn record(plan: &RunPlan, workspace: &Path, key: Option<RunKey>, status: Status) {
        let mut folder = RunFolder::create(workspace, plan, key).unwrap();
        for (case, planned) in plan.cases.iter().enumerate() {
            for (attempt, status) in [(1, Status::Passed), (2, status)] {
                let blank = Attempt::blank(AttemptKey { case, attempt }, &planned.eval_id);
                folder.append(&Attempt { status, ..blank }).unwrap();
            }
        }
        folder.end().unwrap();
    }

    #[test]
    fn trends_use_only_own_runs_with_any_cache() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let home = |name: &str| AppFolders {
            data: folder.path().join(name),
            cache: folder.path().join(name).join("cache"),
            config: folder.path().join(name),
        };
        let (ours, others) = (home("ours"), home("others"));
        let key = |app_folders: &AppFolders| RunKey::open(app_folders).ok();
        record(
            &plan("first", &workspace, &["a", "b", "b"]),
            &workspace,
            key(&ours),
            Status::Failed,
        );
        record(
            &plan("planted", &workspace, &["a"]),
            &workspace,
            key(&others),
            Status::Errored,
        );
        record(
            &plan("second", &workspace, &["a"]),
            &workspace,
            key(&ours),
            Status::Passed,
        );
        let trends = || History::open(&workspace, &[], Some(&ours)).trends(&[]);
        let found = trends();
        let runs: Vec<_> = found
            .runs
            .iter()
            .map(|summary| (summary.run_id.as_str(), summary.commit.as_deref()))
            .collect();
        assert_eq!(
            runs,
            [
                ("first", Some("commit of first")),
                ("second", Some("commit of second"))
            ]
        );
        let set = workspace.join("s.json");
        let of_case = |trends: &CaseTrends, id: &str| {
            let points = trends.of_case(&set, id).iter();
            points
                .map(|point| (point.run, point.status, point.passed, point.evaluated))
                .collect::<Vec<_>>()
        };
        let a = vec![(0, Status::Failed, 1, 2), (1, Status::Passed, 2, 2)];
        assert_eq!((of_case(&found, "a"), found.is_complete), (a.clone(), true));
        assert_eq!(of_case(&found, "b"), [], "two cases have this id");
        let content = |run: usize| found.of_case(&set, "a")[run].content;
        assert!(content(0) != 0 && content(0) == content(1));
        // The cache is only a cache, also if a file of it belongs to an older version of the run.
        assert_eq!(of_case(&trends(), "a"), a);
        let cached = walk(&ours.cache);
        assert!(cached.len() >= 3, "{cached:?}");
        cached
            .iter()
            .for_each(|file| std::fs::write(file, "{}").unwrap());
        assert_eq!(of_case(&trends(), "a"), a);
        std::fs::remove_dir_all(&ours.cache).unwrap();
        assert_eq!(of_case(&trends(), "a"), a);
    }

    fn walk(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .flat_map(|path| {
                if path.is_dir() {
                    walk(&path)
                } else {
                    vec![path]
                }
            })
            .collect()
    }
}
