//! The outcome of every case of a run in a few bytes, for trends. Stored in the cache folder, in a file for each run, and
//! computed again from the run if the file is missing or outdated.

use crate::store::{fingerprint, read_text_file, write_whole};
use evaltrail_core::domain::{AgentSpec, AttemptSummary, RunState, Status, stored_path};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the format of the files. A file with another version is outdated.
const FORMAT: u32 = 5;
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
}

/// The outcome of a case. The names in the file are short, because there are many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CaseOutcomeLine {
    /// The hash of the case's id.
    #[serde(rename = "i")]
    pub(super) id: u64,
    /// The hash of its content; 0 if it is not known.
    #[serde(rename = "c")]
    pub(super) content: u32,
    /// The worst status of its attempts.
    #[serde(rename = "s")]
    pub(super) status: Status,
    /// The number of attempts that passed.
    #[serde(rename = "p")]
    pub(super) passed: u32,
    /// The number of attempts that were evaluated.
    #[serde(rename = "n")]
    pub(super) evaluated: u32,
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
            };
            by_set[case.set]
                .entry(id)
                .and_modify(|one| *one = None)
                .or_insert(Some(line));
        }
        let paths = state.plan.sets.iter().map(|set| set.path.clone());
        let set = |(path, cases): (PathBuf, BTreeMap<u64, Option<CaseOutcomeLine>>)| SetOutcomes {
            path,
            cases: cases.into_values().flatten().collect(),
        };
        RunOutcomes {
            sets: paths.zip(by_set).map(set).collect(),
        }
    }

    /// The outcomes of a result of ADK, in which attempts with the same id are attempts of one case.
    pub(super) fn of_result(attempts: &[AttemptSummary]) -> RunOutcomes {
        let mut cases: BTreeMap<u64, CaseOutcomeLine> = BTreeMap::new();
        for attempt in attempts {
            let (id, status) = (hash_of_id(&attempt.eval_id), attempt.status);
            let blank = CaseOutcomeLine {
                id,
                content: 0,
                status,
                passed: 0,
                evaluated: 0,
            };
            let line = cases.entry(id).or_insert(blank);
            line.status = Status::worst([line.status, status]).unwrap_or(status);
            line.passed += u32::from(status == Status::Passed);
            line.evaluated += u32::from(status.is_evaluated());
        }
        RunOutcomes {
            sets: vec![SetOutcomes {
                path: PathBuf::new(),
                cases: cases.into_values().collect(),
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
        self.folder.join(format!("{}.json", &id[..16]))
    }

    /// The outcomes of a run; `None` if they are not stored, or were stored before the run changed.
    pub(super) fn read(&self, run: &Path, stamp: &FileStamps) -> Option<RunOutcomes> {
        let text = read_text_file(&self.file_of(run), MAX_BYTES).ok()?;
        let file: OutcomesFile = serde_json::from_str(&text).ok()?;
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
        if let Ok(bytes) = serde_json::to_vec(&file) {
            let _ = std::fs::create_dir_all(&self.folder);
            let _ = write_whole(&self.file_of(run), &bytes);
        }
    }

    /// Removes the outcomes of a run that no longer exists.
    pub(super) fn remove(&self, run: &Path) {
        let _ = std::fs::remove_file(self.file_of(run));
    }
}
