//! The index of runs: their cases and results in numbers, so that not every run has to be read. It can be rebuilt from
//! the runs at any time, so it is stored in the cache folder.

#![expect(clippy::disallowed_methods, reason = "it reads what evaltrail wrote")]

use super::outcomes::OutcomesCache;
use crate::history::read_summary::read_summary;
use crate::history::{RunSource, RunSummary};
use crate::store::{
    AppFolders, RunKey, RunLabel, baseline_run_id, fingerprint, read_run_labels, run_folders,
    write_whole,
};
use evaltrail_core::domain::unix_seconds;
use evaltrail_core::formats::adk::{RESULT_ENDING, app_history, storage_history};
use rayon::iter::Either;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

/// The version of the format of the index. An index with another version is rebuilt.
const FORMAT: u32 = 16;

/// The runs of a workspace.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The runs, newest first; foreign ones last.
    pub runs: Vec<RunSummary>,
    /// The folders and result files that cannot be read, each with the error, in words.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Names and pins, by the run's id.
    pub labels: HashMap<String, RunLabel>,
    /// The id of the run that is the baseline, if there is one.
    pub baseline: Option<String>,
    /// The outcomes of the cases of each run.
    pub(super) cache: Option<OutcomesCache>,
    /// The key that signs this user's runs.
    pub(super) key: Option<RunKey>,
}

/// An entry of the index: a run, and the sizes and times of its files when it was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct IndexedRun {
    stamp: Vec<(u64, u128)>,
    #[serde(rename = "head")]
    run: RunSummary,
}

#[derive(Serialize, Deserialize)]
struct IndexFile {
    format: u32,
    /// The id of the key with which the runs were verified. With another key the index is rebuilt.
    key: String,
    entries: Vec<IndexedRun>,
}

impl History {
    /// Finds the runs of a workspace. Runs that changed after the index was written are read again. `app_dirs` are the agents' folders, where ADK stores its results.
    pub fn open(root: &Path, app_dirs: &[PathBuf], app_folders: Option<&AppFolders>) -> History {
        let mut unreadable: Vec<(PathBuf, String)> = Vec::new();
        let key = app_folders.and_then(|app_folders| open_key(app_folders, &mut unreadable));
        let key_id = key.as_ref().map(RunKey::id).unwrap_or_default();
        let index = app_folders.map(|app_folders| index_path(app_folders, root));
        let cache = index
            .as_deref()
            .map(|index| OutcomesCache::new(index, &key_id));
        let read_known = || index.as_deref().map(|index| read_index(index, &key_id));
        let find = || with_stamps(list_runs(root, app_dirs, &mut unreadable));
        let (known, found) = rayon::join(read_known, find);
        let mut known = known.unwrap_or_default();
        let (mut entries, unread) = take_unchanged(found, &mut known);
        let changed = !unread.is_empty();
        let (new, failed): (Vec<IndexedRun>, Vec<(PathBuf, String)>) = unread
            .into_par_iter()
            .partition_map(|run| run.read(key.as_ref()));
        entries.extend(new);
        unreadable.extend(failed);
        if let Some(index) = index.filter(|_| changed || !known.is_empty()) {
            // The index is only a cache, so an error is ignored.
            let _ = write_index(&index, &key_id, &entries);
            if let Some(cache) = &cache {
                known.keys().for_each(|path| cache.remove(path));
            }
        }
        let mut runs: Vec<RunSummary> = entries.into_iter().map(|entry| entry.run).collect();
        remove_copies(&mut runs);
        sort_newest_first(&mut runs);
        mark_merged(&mut runs);
        History {
            runs,
            unreadable,
            labels: read_run_labels(root),
            baseline: baseline_run_id(root),
            cache,
            key,
        }
    }

    /// The runs that are signed with this user's key, newest first.
    pub fn ours(&self) -> impl Iterator<Item = &RunSummary> {
        self.runs.iter().filter(|run| run.is_ours())
    }
}

/// Opens the key that signs runs. An error is added to `unreadable`.
fn open_key(app_folders: &AppFolders, unreadable: &mut Vec<(PathBuf, String)>) -> Option<RunKey> {
    let failed = |error: io::Error| {
        let why = format!("the key that signs runs: {error}; all runs count as foreign");
        unreadable.push((app_folders.data.clone(), why));
    };
    RunKey::open(app_folders).map_err(failed).ok()
}

/// The runs of evaltrail, and the result files of ADK, each of these with the folder of its agent. Folders that cannot be
/// listed are added to `unreadable`.
fn list_runs<'a>(
    root: &Path,
    app_dirs: &'a [PathBuf],
    unreadable: &mut Vec<(PathBuf, String)>,
) -> Vec<(PathBuf, Option<&'a Path>)> {
    let mut listed = |found: io::Result<Vec<PathBuf>>, folder: &Path| {
        let failed = |error: io::Error| {
            unreadable.push((
                folder.to_path_buf(),
                format!("{}: {error}", folder.display()),
            ));
            Vec::new()
        };
        found.unwrap_or_else(failed)
    };
    let ours = listed(run_folders(root), &root.join(".evaltrail").join("runs"));
    let ours = ours.into_iter().map(|path| (path, None));
    let folders = app_dirs
        .iter()
        .flat_map(|dir| [app_history(dir), storage_history(dir)].map(|of| (dir, of)));
    let adk = folders.flat_map(|(dir, folder)| {
        let files = listed(result_files(&folder), &folder);
        files.into_iter().map(|path| (path, Some(dir.as_path())))
    });
    ours.chain(adk).collect()
}

/// A run that was found: its path, the folder of the agent for a result file of ADK, and the sizes and times of its files.
type FoundRun<'a> = (PathBuf, Option<&'a Path>, Vec<(u64, u128)>);

/// The runs with the sizes and times of their files, which are looked up on all processors.
fn with_stamps(runs: Vec<(PathBuf, Option<&Path>)>) -> Vec<FoundRun<'_>> {
    runs.into_par_iter()
        .map(|(path, app_dir)| {
            let stamp = stamp_of(&path, app_dir.is_some());
            (path, app_dir, stamp)
        })
        .collect()
}

/// A run that is not in the index, or has changed since.
struct UnreadRun<'a> {
    path: PathBuf,
    /// The folder of the agent, for a result file of ADK.
    app_dir: Option<&'a Path>,
    stamp: Vec<(u64, u128)>,
}

impl UnreadRun<'_> {
    /// The entry of the run, or the error with its path.
    fn read(self, key: Option<&RunKey>) -> Either<IndexedRun, (PathBuf, String)> {
        match read_summary(&self.path, self.app_dir, key) {
            Ok(run) => Either::Left(IndexedRun {
                stamp: self.stamp,
                run,
            }),
            Err(error) => Either::Right((self.path, error)),
        }
    }
}

/// Divides the runs that were found: the entries of those that have not changed, and the runs that have to be read. `known`
/// retains the entries of runs that no longer exist.
fn take_unchanged<'a>(
    found: Vec<FoundRun<'a>>,
    known: &mut HashMap<PathBuf, IndexedRun>,
) -> (Vec<IndexedRun>, Vec<UnreadRun<'a>>) {
    let (mut unchanged, mut unread) = (Vec::new(), Vec::new());
    for (path, app_dir, stamp) in found {
        match known.remove(&path).filter(|entry| entry.stamp == stamp) {
            Some(entry) => unchanged.push(entry),
            None => unread.push(UnreadRun {
                path,
                app_dir,
                stamp,
            }),
        }
    }
    (unchanged, unread)
}

/// Removes the files that evaltrail wrote for ADK at the end of a run that is there too. A file without the id of its run is
/// from an older version: it was written after the run started.
fn remove_copies(runs: &mut Vec<RunSummary>) {
    let is_copy = |summary: &RunSummary| {
        matches!(
            summary.source,
            RunSource::Adk {
                by_evaltrail: true,
                ..
            }
        )
    };
    if !runs.iter().any(is_copy) {
        return;
    }
    let started = |summary: &RunSummary| unix_seconds(&summary.started).unwrap_or(f64::MIN);
    let own: HashMap<String, f64> = runs
        .iter()
        .filter(|summary| summary.is_evaltrail())
        .map(|summary| (summary.run_id.clone(), started(summary)))
        .collect();
    runs.retain(|summary| match &summary.source {
        RunSource::Adk {
            by_evaltrail: true,
            copied_run: Some(run),
            ..
        } => !own.contains_key(run),
        RunSource::Adk {
            by_evaltrail: true,
            copied_run: None,
            ..
        } => own.values().all(|began| *began > started(summary)),
        _ => true,
    });
}

/// Marks the shards, and the earlier merged runs of shards, whose results are in a merged run of this user, too. The runs
/// are sorted, the newest first.
fn mark_merged(runs: &mut [RunSummary]) {
    let mut merged: HashSet<String> = HashSet::new();
    for run in runs {
        let all = |ids: &[String]| !ids.is_empty() && ids.iter().all(|id| merged.contains(id));
        run.is_in_merged =
            (run.shard.is_some() && merged.contains(&run.run_id)) || all(&run.merged);
        if run.is_ours() {
            merged.extend(run.merged.iter().cloned());
        }
    }
}

fn sort_newest_first(runs: &mut Vec<RunSummary>) {
    let times = runs.drain(..).map(|run| (time_of(&run), run));
    let mut timed: Vec<(f64, RunSummary)> = times.collect();
    timed.sort_by(|(a_time, a), (b_time, b)| {
        b.number
            .cmp(&a.number)
            .then_with(|| b_time.total_cmp(a_time))
    });
    // The user's own runs are in the order in which they were recorded. If their times contradict it, because the clock
    // was wrong, a run counts as no newer than the one that was recorded after it.
    let mut latest = f64::INFINITY;
    for (time, _) in timed.iter_mut().filter(|(_, run)| run.is_ours()) {
        latest = latest.min(*time);
        *time = latest;
    }
    // The sort is stable: runs with equal times stay in this order.
    timed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    runs.extend(timed.into_iter().map(|(_, run)| run));
}

/// When a run started. A foreign run comes last, because it must not hide the user's own runs.
fn time_of(run: &RunSummary) -> f64 {
    match run.source {
        RunSource::Evaltrail {
            is_foreign: true, ..
        } => f64::MIN,
        _ => unix_seconds(&run.started).unwrap_or(f64::MIN),
    }
}

fn index_path(app_folders: &AppFolders, root: &Path) -> PathBuf {
    let id = fingerprint(&[root.as_os_str().as_encoded_bytes()]);
    app_folders
        .cache
        .join("history")
        .join(format!("{}.json", &id[..16]))
}

fn read_index(path: &Path, key: &str) -> HashMap<PathBuf, IndexedRun> {
    let read = fs::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<IndexFile>(&bytes).ok());
    let entries = read
        .filter(|file| file.format == FORMAT && file.key == key)
        .map(|file| file.entries)
        .unwrap_or_default();
    entries
        .into_iter()
        .map(|entry| (entry.run.path.clone(), entry))
        .collect()
}

fn write_index(path: &Path, key: &str, entries: &[IndexedRun]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = IndexFile {
        format: FORMAT,
        key: key.to_string(),
        entries: entries.to_vec(),
    };
    write_whole(path, &serde_json::to_vec(&file)?)
}

/// The sizes and modification times of the files from which an entry is created.
pub(super) fn stamp_of(path: &Path, is_file: bool) -> Vec<(u64, u128)> {
    let of = |path: &Path| {
        let meta = fs::metadata(path).ok()?;
        let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some((meta.len(), modified.as_nanos()))
    };
    let files = match is_file {
        true => vec![path.to_path_buf()],
        false => vec![path.join("run.json"), path.join("journal.jsonl")],
    };
    files
        .iter()
        .map(|file| of(file).unwrap_or_default())
        .collect()
}

/// The results of ADK in a folder; none if the folder does not exist.
fn result_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        entries => entries?,
    };
    let paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    let is_result = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(RESULT_ENDING))
    };
    Ok(paths.into_iter().filter(is_result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::SetResults;
    use evaltrail_core::domain::Totals;

    fn run(run_id: &str, started: &str, number: u64, source: RunSource) -> RunSummary {
        RunSummary {
            run_id: run_id.into(),
            path: run_id.into(),
            started: started.into(),
            commit: None,
            source,
            agent: String::new(),
            criteria: Vec::new(),
            judge: None,
            duration_s: None,
            spent: None,
            turn: None,
            attempts: 1,
            totals: Totals::default(),
            ended: true,
            number,
            shard: None,
            merged: Vec::new(),
            is_in_merged: false,
        }
    }

    /// The clock was wrong: at 2036 in the second run, and at 2001 in the last.
    #[test]
    fn the_order_of_runs_is_that_of_their_recording() {
        let ours = || RunSource::Evaltrail {
            sets: Vec::new(),
            is_foreign: false,
        };
        let adk = || RunSource::Adk {
            app_dir: "a".into(),
            set_id: "s".into(),
            by_evaltrail: false,
            copied_run: None,
            results: SetResults::default(),
            cases: 1,
            criteria_id: 0,
        };
        let foreign = RunSource::Evaltrail {
            sets: Vec::new(),
            is_foreign: true,
        };
        let mut runs = vec![
            run("first", "2026-01-01T00:00:00Z", 1, ours()),
            run("adk before", "2025-12-31T00:00:00Z", 0, adk()),
            run("second", "2036-01-01T00:00:00Z", 2, ours()),
            run("planted", "2040-01-01T00:00:00Z", 0, foreign),
            run("third", "2026-01-03T00:00:00Z", 3, ours()),
            run("adk after", "2026-01-04T00:00:00Z", 0, adk()),
        ];
        sort_newest_first(&mut runs);
        let order: Vec<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
        assert_eq!(
            order,
            [
                "adk after",
                "third",
                "second",
                "first",
                "adk before",
                "planted"
            ]
        );
        runs.push(run("last", "2001-01-01T00:00:00Z", 4, ours()));
        sort_newest_first(&mut runs);
        let of_ours: Vec<&str> = runs
            .iter()
            .filter(|run| run.is_ours())
            .map(|run| run.run_id.as_str())
            .collect();
        assert_eq!(of_ours, ["last", "third", "second", "first"]);
    }

    /// The results that evaltrail writes for ADK at the end of a run.
    #[test]
    fn copies_for_adk_are_not_listed() {
        let ours = || RunSource::Evaltrail {
            sets: Vec::new(),
            is_foreign: false,
        };
        let copy = |copied_run: Option<&str>| RunSource::Adk {
            app_dir: "a".into(),
            set_id: "s".into(),
            by_evaltrail: true,
            copied_run: copied_run.map(str::to_string),
            results: SetResults::default(),
            cases: 1,
            criteria_id: 0,
        };
        let mut runs = vec![
            run("run", "2026-01-02T00:00:00Z", 1, ours()),
            run("copy", "2026-01-02T00:00:01Z", 0, copy(Some("run"))),
            run(
                "copy of another",
                "2026-01-02T00:00:02Z",
                0,
                copy(Some("removed")),
            ),
            run(
                "later, without the id",
                "2026-01-02T00:00:03Z",
                0,
                copy(None),
            ),
            run(
                "earlier, without the id",
                "2026-01-01T00:00:00Z",
                0,
                copy(None),
            ),
        ];
        remove_copies(&mut runs);
        let left: Vec<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
        assert_eq!(left, ["run", "copy of another", "earlier, without the id"]);
    }
}
