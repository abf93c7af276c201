//! The outcome of every case of a run in a few bytes, for trends. Stored in the cache folder, in a file for each run, and
//! computed again from the run if the file is missing or outdated.

use crate::store::{fingerprint, read_file, write_whole};
use evaltrail_core::domain::{
    AgentSpec, AttemptSummary, Cause, PlannedSet, RunState, Status, stored_path,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The version of the format of the files. A file with another version is outdated.
const FORMAT: u32 = 7;
/// The maximum size of a file, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// The outcomes of the cases of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunOutcomes {
    pub(super) sets: Vec<SetOutcomes>,
}

/// The outcomes of the cases of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SetOutcomes {
    /// The file; empty for a result of ADK.
    #[serde(with = "stored_path")]
    pub(super) path: PathBuf,
    /// The cases with an attempt that ended. Cases with equal ids are left out, because they cannot be told apart.
    pub(super) cases: Vec<CaseOutcomeLine>,
    /// Why they did not pass.
    pub(super) causes: Vec<Cause>,
}

/// Why attempts of a file did not pass.
#[derive(Default)]
struct CauseTable {
    causes: Vec<Cause>,
    positions: HashMap<Cause, u32>,
}

impl CauseTable {
    /// The causes of the attempts of a case, each with the number of attempts that have it.
    fn counts<'a>(&mut self, attempts: impl Iterator<Item = &'a [Cause]>) -> Vec<(u32, u32)> {
        let mut counts: Vec<(u32, u32)> = Vec::new();
        for cause in attempts.flatten() {
            let at = self.position(cause);
            match counts.iter_mut().find(|(known, _)| *known == at) {
                Some((_, count)) => *count += 1,
                None => counts.push((at, 1)),
            }
        }
        counts
    }

    fn position(&mut self, cause: &Cause) -> u32 {
        if let Some(at) = self.positions.get(cause) {
            return *at;
        }
        let at = self.causes.len() as u32;
        self.positions.insert(cause.clone(), at);
        self.causes.push(cause.clone());
        at
    }
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CaseOutcomeLine {
    /// The hash of the case's id.
    pub(super) id: u64,
    /// The hash of its content; 0 if it is not known.
    pub(super) content: u32,
    /// The worst status of its attempts.
    pub(super) status: Status,
    /// The number of attempts that passed.
    pub(super) passed: u32,
    /// The number of attempts that were evaluated.
    pub(super) evaluated: u32,
    /// The causes of its attempts, as positions among those of the file, each with the number of attempts that have it.
    pub(super) causes: Vec<(u32, u32)>,
}

/// The hash by which outcomes are found.
pub(super) fn hash_of_id(eval_id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(eval_id.as_bytes())
}

fn hash_of_content(content: &str) -> u32 {
    match content {
        "" => 0,
        // Never 0, which means that the content is not known.
        content => (xxhash_rust::xxh3::xxh3_64(content.as_bytes()) as u32).max(1),
    }
}

impl RunOutcomes {
    /// The outcomes of a run of evaltrail.
    pub(super) fn of_run(state: &RunState) -> RunOutcomes {
        let mut by_set: Vec<BTreeMap<u64, Option<CaseOutcomeLine>>> =
            vec![BTreeMap::new(); state.plan.sets.len()];
        let mut causes: Vec<CauseTable> = Vec::new();
        causes.resize_with(state.plan.sets.len(), CauseTable::default);
        for (at, case) in state.plan.cases.iter().enumerate() {
            let tally = state.tally(at);
            let Some(status) = tally.worst else { continue };
            let id = hash_of_id(&case.eval_id);
            // Saved responses are part of the content: other responses are no edit of the case.
            let is_saved = state.plan.sets[case.set].agent == AgentSpec::Saved;
            let content = if is_saved {
                0
            } else {
                hash_of_content(&case.content)
            };
            let line = CaseOutcomeLine {
                id,
                content,
                status,
                passed: tally.passed as u32,
                evaluated: tally.evaluated as u32,
                causes: match tally.passed == tally.ended {
                    true => Vec::new(),
                    false => {
                        let attempts = state.attempts_of(at);
                        let of_attempts = attempts.iter().map(|one| &one.summary().causes[..]);
                        causes[case.set].counts(of_attempts)
                    }
                },
            };
            by_set[case.set]
                .entry(id)
                .and_modify(|one| *one = None)
                .or_insert(Some(line));
        }
        let sets = state.plan.sets.iter().zip(by_set).zip(causes);
        let set = |((set, cases), causes): (
            (&PlannedSet, BTreeMap<u64, Option<CaseOutcomeLine>>),
            CauseTable,
        )| SetOutcomes {
            path: set.path.clone(),
            cases: cases.into_values().flatten().collect(),
            causes: causes.causes,
        };
        RunOutcomes {
            sets: sets.map(set).collect(),
        }
    }

    /// The outcomes of a result of ADK, in which attempts with the same id are attempts of one case.
    pub(super) fn of_result(attempts: &[AttemptSummary]) -> RunOutcomes {
        let mut cases: BTreeMap<u64, CaseOutcomeLine> = BTreeMap::new();
        let mut causes = CauseTable::default();
        for attempt in attempts {
            let (id, status) = (hash_of_id(&attempt.eval_id), attempt.status);
            let blank = CaseOutcomeLine {
                id,
                content: 0,
                status,
                passed: 0,
                evaluated: 0,
                causes: Vec::new(),
            };
            let line = cases.entry(id).or_insert(blank);
            line.status = Status::worst([line.status, status]).unwrap_or(status);
            line.passed += u32::from(status == Status::Passed);
            line.evaluated += u32::from(status.is_evaluated());
            for (cause, count) in causes.counts(std::iter::once(&attempt.causes[..])) {
                match line.causes.iter_mut().find(|(known, _)| *known == cause) {
                    Some((_, known)) => *known += count,
                    None => line.causes.push((cause, count)),
                }
            }
        }
        RunOutcomes {
            sets: vec![SetOutcomes {
                path: PathBuf::new(),
                cases: cases.into_values().collect(),
                causes: causes.causes,
            }],
        }
    }
}

/// The sizes and times of the files of a run when it was read.
type FileStamps = [(u64, u128)];

#[derive(Serialize, Deserialize)]
struct OutcomesFile {
    format: u32,
    /// The id of the key with which the run was verified.
    key: String,
    stamp: Vec<(u64, u128)>,
    outcomes: RunOutcomes,
}

/// The folder of the files.
#[derive(Clone, Debug)]
pub(super) struct OutcomesCache {
    folder: PathBuf,
    key: String,
}

impl OutcomesCache {
    /// The cache beside an index.
    pub(super) fn new(index: &Path, key: &str) -> OutcomesCache {
        OutcomesCache {
            folder: index.with_extension(""),
            key: key.to_string(),
        }
    }

    fn file_of(&self, run: &Path) -> PathBuf {
        let id = fingerprint(&[run.as_os_str().as_encoded_bytes()]);
        self.folder.join(format!("{}.outcomes", &id[..16]))
    }

    /// The outcomes of a run; `None` if they are not stored, or were stored before the run changed.
    pub(super) fn read(&self, run: &Path, stamp: &FileStamps) -> Option<RunOutcomes> {
        let bytes = read_file(&self.file_of(run), MAX_BYTES).ok()?;
        let file: OutcomesFile = postcard::from_bytes(&bytes).ok()?;
        (file.format == FORMAT && file.key == self.key && file.stamp == stamp)
            .then_some(file.outcomes)
    }

    /// Stores the outcomes of a run. It is only a cache, so an error is ignored.
    pub(super) fn write(&self, run: &Path, stamp: &FileStamps, outcomes: &RunOutcomes) {
        let (key, stamp, outcomes) = (self.key.clone(), stamp.to_vec(), outcomes.clone());
        let file = OutcomesFile {
            format: FORMAT,
            key,
            stamp,
            outcomes,
        };
        if let Ok(bytes) = postcard::to_stdvec(&file) {
            let _ = std::fs::create_dir_all(&self.folder);
            let _ = write_whole(&self.file_of(run), &bytes);
        }
    }

    /// Removes the outcomes of a run that no longer exists.
    pub(super) fn remove(&self, run: &Path) {
        let _ = std::fs::remove_file(self.file_of(run));
    }
}
