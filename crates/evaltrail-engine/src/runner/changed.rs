//! The cases that changed since their latest result, and what a run of them would take.

use super::chosen_cases::Selection;
use super::past::past_results;
use crate::history::{PastResult, PastResults, find_case};
use crate::workspace::{OpenSet, SetPath, Workspace, criteria_for, open_set, sources_changed_at};
use evaltrail_core::domain::{
    CaseKey, Criterion, EndedAttempt, InMemory, JudgeUsage, RunBy, RunOptions, VerdictParsing,
};
use evaltrail_core::formats::SetFile;
use evaltrail_core::metrics::JudgedMetric;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A case whose latest result is not about the case, the criteria and the agent as they are now.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedCase {
    /// Identifies the case in its file.
    pub key: CaseKey,
    /// Its position in the file, from 0.
    pub at: usize,
    /// Differs whenever the case, or the files on which the results of its set depend, are changed again.
    pub version: CaseVersion,
    /// Whether it has no result.
    pub is_new: bool,
    /// Whether a criterion of its set asks a judge.
    pub asks_judge: bool,
    /// What an attempt took: of its latest result or, without one, on average in its set. `None` if the set has none.
    pub took: Option<AttemptCost>,
}

/// Files that were changed this long after the end of a run, in seconds, may have been changed by its agent.
const AFTER_RUN_S: f64 = 2.0;

/// Of the versions of the case with an id at a position in a file, this many are stored. Cases with equal ids have different
/// positions.
const MAX_VERSIONS: usize = 64;

/// The changed cases that watch mode does not run again, by file and id: the latest of their versions.
#[derive(Debug, Default)]
pub struct SeenCases {
    versions: HashMap<(PathBuf, String), VecDeque<SeenVersion>>,
    /// When the sources of a set were changed last, in nanoseconds since 1970.
    sources: HashMap<PathBuf, u128>,
}

#[derive(Debug)]
struct SeenVersion {
    key: CaseKey,
    at: usize,
    version: CaseVersion,
}

impl SeenCases {
    /// Adds a case in its current version.
    pub fn add(&mut self, file: &Path, case: &ChangedCase) {
        let versions = self
            .versions
            .entry((file.to_path_buf(), case.key.eval_id.clone()))
            .or_default();
        versions.retain(|seen| seen.key != case.key);
        versions.push_back(SeenVersion {
            key: case.key.clone(),
            at: case.at,
            version: case.version.clone(),
        });
        let of_position = || versions.iter().filter(|seen| seen.at == case.at).count();
        if of_position() > MAX_VERSIONS
            && let Some(oldest) = versions.iter().position(|seen| seen.at == case.at)
        {
            versions.remove(oldest);
        }
        self.sources.insert(file.to_path_buf(), case.version.1);
    }

    /// Whether a case is there in its current version.
    pub fn contains(&self, file: &Path, case: &ChangedCase) -> bool {
        let versions = self
            .versions
            .get(&(file.to_path_buf(), case.key.eval_id.clone()));
        versions
            .into_iter()
            .flatten()
            .any(|seen| seen.key == case.key && seen.version == case.version)
    }

    /// Whether the sources of a case's set were changed during this run, perhaps by the agent itself. The run is given as
    /// its beginning and end in Unix seconds. Sources that were added with a case do not count.
    pub fn may_be_of_agent(
        &self,
        file: &Path,
        case: &ChangedCase,
        (began, ended): (f64, f64),
    ) -> bool {
        let changed = case.version.1 as f64 / 1e9;
        self.sources.get(file) != Some(&case.version.1)
            && (began..=ended + AFTER_RUN_S).contains(&changed)
    }
}

/// The hash of a case's content, and when the sources of its set were changed last, in nanoseconds since 1970.
pub type CaseVersion = (String, u128);

/// What an attempt took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttemptCost {
    /// Seconds.
    pub seconds: f64,
    /// What its judges spent, if one was asked.
    pub spent: Option<JudgeUsage>,
}

/// The cases that changed since their latest results.
#[derive(Debug, Default)]
pub struct FoundChanges {
    /// For each selection, its changed cases in the order of the file; `None` if the file cannot be opened.
    pub of_selections: Vec<Option<Vec<ChangedCase>>>,
    /// The files that cannot be opened, each with the error.
    pub unopened: Vec<String>,
    /// The runs that cannot be read, each with the error: cases with results in them count as changed.
    pub unreadable: Vec<String>,
}

/// The changed cases of each selection. Results of single turns and foreign ones do not count.
pub fn changed_cases(workspace: &Workspace, selections: &[Selection]) -> FoundChanges {
    let mut unopened = Vec::new();
    let open = |selection: &Selection| {
        let failed = |error| unopened.push(format!("{}: {error}", selection.set.shown));
        open_set(&selection.set).map_err(failed).ok()
    };
    let opened: Vec<Option<OpenSet>> = selections.iter().map(open).collect();
    let both = selections.iter().zip(&opened);
    let files: Vec<(&SetPath, &SetFile)> = both
        .clone()
        .filter_map(|(selection, open)| Some((&selection.set, &open.as_ref()?.file)))
        .collect();
    let PastResults {
        results,
        unreadable,
    } = past_results(workspace, &files, InMemory::Summary);
    let of_selection = |(selection, open): (&Selection, &Option<OpenSet>)| {
        Some(changed_of(
            workspace,
            selection,
            &open.as_ref()?.file,
            &results,
        ))
    };
    FoundChanges {
        of_selections: both.map(of_selection).collect(),
        unopened,
        unreadable,
    }
}

fn changed_of(
    workspace: &Workspace,
    selection: &Selection,
    file: &SetFile,
    past: &[PastResult],
) -> Vec<ChangedCase> {
    let changed_at = sources_changed_at(workspace, &selection.set, file);
    let of_set = past
        .iter()
        .filter(|result| result.origin.file == selection.set.path && result.turn().is_none());
    // The newest result comes last.
    let mut latest: BTreeMap<usize, &PastResult> = BTreeMap::new();
    for result in
        of_set.filter(|result| matches!(result.origin.run.by, RunBy::Evaltrail | RunBy::Adk))
    {
        if let Some(at) = find_case(file, &result.eval_id, &result.content) {
            latest.insert(at, result);
        }
    }
    let is_current = |at: usize, result: &PastResult| {
        let ran = result.origin.run.started_at();
        file.content_hash(at) == result.content
            && ran.is_some_and(|ran| changed_at.is_none_or(|changed| changed < ran))
    };
    let asks_judge = asks_judge(workspace, selection, file);
    let usual = mean(latest.values().flat_map(|result| &result.attempts));
    let version_of_sources = changed_at.map_or(0, |seconds| (seconds * 1e9) as u128);
    let changed = |at: usize| {
        let result = latest.get(&at).copied();
        if result.is_some_and(|result| is_current(at, result)) {
            return None;
        }
        let content = file.content_hash(at);
        Some(ChangedCase {
            version: (content.clone(), version_of_sources),
            key: CaseKey {
                eval_id: file.eval_id(at).into_owned(),
                content,
            },
            at,
            is_new: result.is_none(),
            asks_judge,
            took: result.and_then(|result| mean(&result.attempts)).or(usual),
        })
    };
    let chosen = chosen_ids(selection);
    let is_chosen = |at: &usize| {
        chosen
            .as_ref()
            .is_none_or(|ids| ids.contains(file.eval_id(*at).as_ref()))
    };
    (0..file.len())
        .filter(is_chosen)
        .filter_map(changed)
        .collect()
}

/// Whether a criterion of a set asks a judge. Criteria that cannot be read count as one that does.
fn asks_judge(workspace: &Workspace, selection: &Selection, file: &SetFile) -> bool {
    let criteria = criteria_for(workspace, &selection.set, file, None, &[]);
    let is_judged = |criterion: &Criterion| {
        !matches!(
            JudgedMetric::new(criterion, VerdictParsing::default(), None),
            Ok(None)
        )
    };
    criteria.map_or(true, |(criteria, _)| criteria.iter().any(is_judged))
}

/// The ids of the selected cases; all when `None`.
fn chosen_ids(selection: &Selection) -> Option<HashSet<&str>> {
    let named =
        (!selection.ids.is_empty()).then(|| selection.ids.iter().map(String::as_str).collect());
    let chosen = selection
        .cases
        .as_ref()
        .map(|cases| cases.iter().map(|case| case.eval_id.as_str()).collect());
    match (named, chosen) {
        (Some(named), Some(chosen)) => {
            Some(HashSet::intersection(&named, &chosen).copied().collect())
        }
        (one, other) => one.or(other),
    }
}

/// The mean of what these attempts took; `None` without attempts whose time is known.
fn mean<'a>(attempts: impl IntoIterator<Item = &'a Arc<EndedAttempt>>) -> Option<AttemptCost> {
    let (mut count, mut seconds, mut spent) = (0u32, 0.0, None::<JudgeUsage>);
    for attempt in attempts {
        let Some(latency) = attempt.latency_s else {
            continue;
        };
        count += 1;
        seconds += latency;
        spent = spent
            .into_iter()
            .chain(attempt.spent)
            .reduce(JudgeUsage::and);
    }
    let share = |of: JudgeUsage| of.times(1.0 / f64::from(count));
    (count > 0).then(|| AttemptCost {
        seconds: seconds / f64::from(count),
        spent: spent.map(share),
    })
}

/// What a run of some cases would take, estimated from their latest results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunEstimate {
    /// The number of cases.
    pub cases: usize,
    /// The number of them that have no result.
    pub new: usize,
    /// Seconds; `None` if none of the cases has a result to estimate from.
    pub seconds: Option<f64>,
    /// Whether judges are asked.
    pub asks_judge: bool,
    /// What judges would spend, if one was asked in the latest results.
    pub spent: Option<JudgeUsage>,
}

/// Runs that take at most as many seconds, and ask no judge, start without a question.
const SMALL_S: f64 = 60.0;

impl RunEstimate {
    /// The estimate for cases that are run with these options. Cases without an estimate count as the mean of the others.
    pub fn from_cases<'a>(
        cases: impl IntoIterator<Item = &'a ChangedCase>,
        options: &RunOptions,
    ) -> RunEstimate {
        let cases: Vec<&ChangedCase> = cases.into_iter().collect();
        let took: Vec<AttemptCost> = cases.iter().filter_map(|case| case.took).collect();
        let attempts = (cases.len() as f64 / took.len().max(1) as f64) * f64::from(options.repeat);
        let longest = took.iter().map(|one| one.seconds).fold(0.0, f64::max);
        let all: f64 = took.iter().map(|one| one.seconds).sum::<f64>() * attempts;
        let spent = took
            .iter()
            .filter_map(|one| one.spent)
            .reduce(JudgeUsage::and);
        let paced = options.rate.map_or(0.0, |rate| {
            cases.len() as f64 * f64::from(options.repeat) * 60.0 / f64::from(rate.max(1))
        });
        let seconds = (all / f64::from(options.jobs.max(1)))
            .max(longest)
            .max(paced);
        RunEstimate {
            cases: cases.len(),
            new: cases.iter().filter(|case| case.is_new).count(),
            seconds: (!took.is_empty()).then_some(seconds),
            asks_judge: spent.is_some() || cases.iter().any(|case| case.asks_judge),
            spent: spent.map(|spent| spent.times(attempts)),
        }
    }

    /// Whether the run may start without a question: it takes little time, and asks no judge.
    pub fn is_small(&self) -> bool {
        !self.asks_judge && self.seconds.is_some_and(|seconds| seconds <= SMALL_S)
    }

    /// "12 cases changed, 3 of them new: about 40 s, judges about 60 answers, cost 0.02"
    pub fn describe(&self) -> String {
        let cases = match (self.cases, self.new) {
            (1, 0) => "1 case changed".to_string(),
            (1, 1) => "1 case is new".to_string(),
            (cases, 0) => format!("{cases} cases changed"),
            (cases, new) if cases == new => format!("{cases} cases are new"),
            (cases, new) => format!("{cases} cases changed, {new} of them new"),
        };
        let time = match self.seconds {
            None => "time unknown".to_string(),
            Some(seconds) if seconds < 90.0 => format!("about {:.0} s", seconds.max(1.0).ceil()),
            Some(seconds) => format!("about {:.0} min", seconds / 60.0),
        };
        let judges = match self.spent {
            None if self.asks_judge => ", and judges are asked".to_string(),
            None => String::new(),
            Some(spent) => {
                let answers = spent.asked + spent.cached;
                let cost = spent
                    .cost
                    .map(|cost| format!(", cost about {cost:.2}"))
                    .unwrap_or_default();
                format!(", about {answers} answers of judges{cost}")
            }
        };
        format!("{cases}: {time}{judges}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(seconds: Option<f64>, asked: u32) -> ChangedCase {
        let spent = (asked > 0).then(|| JudgeUsage {
            asked,
            cost: Some(f64::from(asked) / 100.0),
            ..JudgeUsage::default()
        });
        ChangedCase {
            key: CaseKey {
                eval_id: "a".into(),
                content: String::new(),
            },
            at: 0,
            version: (String::new(), 0),
            is_new: seconds.is_none(),
            asks_judge: asked > 0,
            took: seconds.map(|seconds| AttemptCost { seconds, spent }),
        }
    }

    fn totals_text(cases: &[ChangedCase], jobs: u32, repeat: u32) -> (String, bool) {
        let options = RunOptions {
            jobs,
            repeat,
            ..RunOptions::default()
        };
        let estimate = RunEstimate::from_cases(cases, &options);
        (estimate.describe(), estimate.is_small())
    }

    #[test]
    fn a_run_is_estimated_from_the_latest_results() {
        let said = |cases: &[ChangedCase], jobs, repeat| totals_text(cases, jobs, repeat).0;
        let ten = vec![case(Some(6.0), 0); 10];
        assert_eq!(said(&ten, 1, 1), "10 cases changed: about 60 s");
        assert_eq!(said(&ten, 4, 1), "10 cases changed: about 15 s");
        assert_eq!(said(&ten, 4, 12), "10 cases changed: about 3 min");
        assert_eq!(
            said(&ten[..1], 4, 1),
            "1 case changed: about 6 s",
            "no shorter than an attempt"
        );
        let with_new = [case(Some(6.0), 0), case(None, 0)];
        assert_eq!(
            said(&with_new, 1, 1),
            "2 cases changed, 1 of them new: about 12 s"
        );
        assert_eq!(said(&[case(None, 0)], 1, 1), "1 case is new: time unknown");
        let judged = [case(Some(1.0), 5), case(Some(1.0), 5)];
        let with_judges = "2 cases changed: about 4 s, about 20 answers of judges, cost about 0.20";
        assert_eq!(said(&judged, 1, 2), with_judges);
    }

    #[test]
    fn only_latest_versions_of_case_are_stored() {
        let version = |at: usize| {
            let key = CaseKey {
                eval_id: "a".into(),
                content: at.to_string(),
            };
            ChangedCase {
                key,
                version: (at.to_string(), 0),
                ..case(None, 0)
            }
        };
        let mut seen = SeenCases::default();
        (0..1000).for_each(|at| seen.add(Path::new("f"), &version(at)));
        assert!(
            seen.contains(Path::new("f"), &version(999))
                && !seen.contains(Path::new("f"), &version(0))
        );
        assert_eq!(
            seen.versions.values().map(VecDeque::len).sum::<usize>(),
            MAX_VERSIONS
        );
    }

    #[test]
    fn all_cases_with_one_id_are_stored() {
        let with_id = |at: usize| {
            let key = CaseKey {
                eval_id: "a".into(),
                content: at.to_string(),
            };
            ChangedCase {
                key,
                at,
                version: (at.to_string(), 0),
                ..case(None, 0)
            }
        };
        let mut seen = SeenCases::default();
        let cases: Vec<ChangedCase> = (0..3 * MAX_VERSIONS).map(with_id).collect();
        cases.iter().for_each(|case| seen.add(Path::new("f"), case));
        let unseen = cases
            .iter()
            .filter(|case| !seen.contains(Path::new("f"), case))
            .count();
        assert_eq!(unseen, 0, "they would be run again for ever");
    }

    #[test]
    fn source_changes_during_a_run_are_detected() {
        let changed_at = |seconds: u128| ChangedCase {
            version: (String::new(), seconds * 1_000_000_000),
            ..case(Some(1.0), 0)
        };
        let (file, run) = (Path::new("s.json"), (100.0, 110.0));
        let mut seen = SeenCases::default();
        let during =
            [99, 100, 110, 111, 113].map(|at| seen.may_be_of_agent(file, &changed_at(at), run));
        assert_eq!(during, [false, true, true, true, false]);
        seen.add(file, &changed_at(105));
        assert!(seen.contains(file, &changed_at(105)) && !seen.contains(file, &changed_at(106)));
        assert!(
            !seen.may_be_of_agent(file, &changed_at(105), run),
            "only the case was edited"
        );
    }

    #[test]
    fn only_short_run_without_judges_is_small() {
        let is_small = |cases: &[ChangedCase]| totals_text(cases, 1, 1).1;
        assert!(is_small(&[case(Some(60.0), 0)]));
        assert!(!is_small(&[case(Some(61.0), 0)]));
        assert!(!is_small(&[case(Some(1.0), 1)]));
        assert!(!is_small(&[case(None, 0)]), "nothing is known about it");
        let now_judged = ChangedCase {
            asks_judge: true,
            ..case(Some(1.0), 0)
        };
        assert!(
            !is_small(&[now_judged]),
            "the latest results are from before the criteria changed"
        );
        let slow = RunOptions {
            rate: Some(1),
            ..RunOptions::default()
        };
        assert!(
            !RunEstimate::from_cases(&[case(Some(1.0), 0), case(Some(1.0), 0)], &slow).is_small()
        );
    }
}
