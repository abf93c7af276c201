//! The past results of the cases of a workspace, for the explorer, `list`, `--failed`, `--filter`, `--resume` and
//! `accept`.

use crate::config::{DEFAULT_RUNS_KEPT, LARGE_RUNS_MB};
use crate::history::{
    CaseTrends, History, HistorySet, ListedSet, PastResults, PastRun, RunLimits, RunSource,
    RunSummary, RunTrends, recorded_results, remove_old_runs,
};
use crate::store::{AppFolders, LoadedRun, all_run_folders, run_folders, run_size};
use crate::workspace::{SetPath, Workspace, agent_named, agent_of_set, open_set};
use evaltrail_core::domain::{InMemory, PlannedSet, RunPlan, RunState, clean_line};
use evaltrail_core::formats::SetFile;
use evaltrail_core::formats::adk::{app_history, storage_app};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The runs of a workspace.
pub fn history_of(workspace: &Workspace) -> History {
    History::open(
        &workspace.root,
        &app_dirs(workspace),
        AppFolders::find().as_ref(),
    )
}

/// The numbers of the sets of a run over the runs of a workspace.
pub fn trends_of_run(workspace: &Workspace, plan: &RunPlan) -> RunTrends {
    let listed = |set: &PlannedSet| ListedSet {
        path: set.path.clone(),
        ids: vec![set.id.clone()],
        cases: set.file_cases,
    };
    let sets: Vec<ListedSet> = plan.sets.iter().map(listed).collect();
    RunTrends::new(history_of(workspace), &sets, &workspace.root)
}

/// The folders of the agents, where ADK stores its results.
pub fn app_dirs(workspace: &Workspace) -> Vec<PathBuf> {
    let stored = workspace
        .sets
        .iter()
        .filter_map(|set| storage_app(&set.path).map(Path::to_path_buf));
    let app_dirs = workspace
        .agents
        .iter()
        .map(|agent| agent.path.clone())
        .chain(stored);
    app_dirs.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The existing folders that change when a program records results in the workspace: the folders of results, the folders
/// above them, and the newest folders of runs, whose runs may not have ended.
pub fn result_folders(workspace: &Workspace) -> Vec<PathBuf> {
    /// The maximum number of runs whose journals are watched. More runs are not expected at the same time.
    const MAX_RUNS: usize = 16;
    // If they cannot be listed, the history reports it. A run whose plan is not written yet is watched: it is written into
    // its folder, so that the folder above does not change again.
    let mut runs = all_run_folders(&workspace.root).unwrap_or_default();
    runs.sort_by_cached_key(|run| Reverse(run.metadata().and_then(|meta| meta.modified()).ok()));
    runs.truncate(MAX_RUNS);
    let of_app = |dir: PathBuf| [dir.join(".adk"), app_history(&dir), dir];
    let own = workspace.root.join(".evaltrail");
    let folders = [workspace.root.clone(), own.join("runs"), own];
    let all = folders
        .into_iter()
        .chain(runs)
        .chain(app_dirs(workspace).into_iter().flat_map(of_app));
    all.filter(|folder| folder.is_dir())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// Removes the oldest of the user's own runs beyond the configured number and size. Returns a message about what was removed, or
/// that the runs have become large.
pub fn remove_old(workspace: &Workspace) -> Option<String> {
    let config = &workspace.config;
    let limits = RunLimits {
        runs: config.keep.unwrap_or(DEFAULT_RUNS_KEPT).max(1),
        bytes: config.max_runs_mb.map(|mb| mb.saturating_mul(MB)),
    };
    // The run that just ended is not in the index yet; it is read only if there may be a run too many.
    let (runs, size) = match runs_with_size(workspace) {
        Ok(found) => found,
        Err(error) => {
            return Some(format!(
                "old runs are not removed, because they cannot be listed: {error}"
            ));
        }
    };
    let is_too_large = limits.bytes.is_some_and(|most| size > most);
    let removed = match runs > limits.runs || is_too_large {
        true => remove_old_runs(&history_of(workspace), limits),
        false => Vec::new(),
    };
    let size_now = match removed.is_empty() {
        true => size,
        false => runs_with_size(workspace).map_or(size, |(_, size)| size),
    };
    let texts = [
        removed_text(&removed, limits),
        size_text(size_now, config.max_runs_mb),
    ];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

const MB: u64 = 1_000_000;

/// The number of runs of a workspace, and their size in bytes.
fn runs_with_size(workspace: &Workspace) -> io::Result<(usize, u64)> {
    let runs = run_folders(&workspace.root)?;
    let size = runs.iter().map(|run| run_size(run)).sum();
    Ok((runs.len(), size))
}

/// `2 runs were removed, …`; `None` if none was.
fn removed_text(removed: &[RunSummary], limits: RunLimits) -> Option<String> {
    let oldest = removed.iter().map(|run| run.started.as_str()).min()?;
    let day = oldest.get(..10).unwrap_or(oldest);
    let runs = match removed.len() {
        1 => "1 run was".to_string(),
        count => format!("{count} runs were"),
    };
    let keep = limits.runs;
    let limit = match limits.bytes {
        None => format!("the newest {keep} are kept ([history] keep"),
        Some(bytes) => format!(
            "at most {keep} runs and {} MB are kept ([history] keep and max_mb",
            bytes / MB
        ),
    };
    Some(format!(
        "{runs} removed, the oldest from {day}; {limit} in evaltrail.toml)"
    ))
}

/// A message that the runs have more than the configured size, or have become large where no size is configured; else `None`.
fn size_text(size: u64, max_mb: Option<u64>) -> Option<String> {
    let most = max_mb.unwrap_or(LARGE_RUNS_MB);
    let is_large = size > most.saturating_mul(MB);
    let why = match max_mb {
        Some(most) => format!(
            "more than [history] max_mb = {most} in evaltrail.toml: pinned runs, shards that are not merged, the newest run of \
             each set and runs of others are not removed"
        ),
        None => "[history] max_mb in evaltrail.toml limits that".to_string(),
    };
    let size = size.div_ceil(MB);
    is_large.then(|| format!("the runs in .evaltrail have {size} MB; {why}"))
}

/// The newest results of the cases of these files. Scores that a file contains come before all runs.
pub fn past_results(
    workspace: &Workspace,
    files: &[(&SetPath, &SetFile)],
    in_memory: InMemory,
) -> PastResults {
    results_in(&history_of(workspace), workspace, files, in_memory)
}

/// The message about a run whose results cannot be read.
pub fn unreadable_text(error: impl AsRef<str>) -> String {
    format!("results cannot be read: {}", clean_line(error.as_ref()))
}

/// [`past_results`] without those of shards: they come while other shards of the same run still start, and would change
/// which cases those take.
pub(super) fn results_before_shards(
    workspace: &Workspace,
    files: &[(&SetPath, &SetFile)],
) -> PastResults {
    let mut history = history_of(workspace);
    history.runs.retain(|run| run.shard.is_none());
    results_in(&history, workspace, files, InMemory::Summary)
}

fn results_in(
    history: &History,
    workspace: &Workspace,
    files: &[(&SetPath, &SetFile)],
    in_memory: InMemory,
) -> PastResults {
    let recorded = files
        .iter()
        .flat_map(|(set, file)| recorded_results(&set.path, file));
    let sets: Vec<HistorySet> = files
        .iter()
        .map(|(set, file)| history_set(workspace, set, file))
        .collect();
    let PastResults {
        results,
        unreadable,
    } = history.latest(&sets, in_memory);
    PastResults {
        results: recorded.chain(results).collect(),
        unreadable,
    }
}

/// The outcomes of all cases over the runs of a workspace, of which the newest is this one. `None` if it is not stored there, or is
/// one that is not compared with others, such as a run of one turn.
pub fn case_trends_up_to(workspace: &Workspace, state: &RunState) -> Option<CaseTrends> {
    let history = history_of(workspace);
    history.store_outcomes(state);
    let trends = trends_of(workspace, &history, || {
        let open = |set| Some((set, open_set(set).ok()?.file));
        workspace.sets.iter().filter_map(open).collect()
    });
    let newest = trends.runs.last()?;
    (newest.run_id == state.plan.run_id).then_some(trends)
}

/// The outcomes of all cases over the runs of a workspace. `files` opens the files of the workspace; it is only called if
/// there are results of ADK, which have to be matched with the ids in the files.
pub fn case_trends<'a>(
    workspace: &Workspace,
    files: impl FnOnce() -> Vec<(&'a SetPath, SetFile)>,
) -> CaseTrends {
    trends_of(workspace, &history_of(workspace), files)
}

fn trends_of<'a>(
    workspace: &Workspace,
    history: &History,
    files: impl FnOnce() -> Vec<(&'a SetPath, SetFile)>,
) -> CaseTrends {
    let has_adk = history.runs.iter().any(|run| !run.is_evaltrail());
    let files = if has_adk { files() } else { Vec::new() };
    let sets: Vec<HistorySet> = files
        .iter()
        .map(|(set, file)| history_set(workspace, set, file))
        .collect();
    history.trends(&sets)
}

/// Reads a run, which may be a result of ADK. Errors: for example that it was removed in the meantime.
pub fn load_past_run(
    workspace: &Workspace,
    history: &History,
    summary: &RunSummary,
) -> Result<LoadedRun, String> {
    let mut run = with_sets(workspace, summary, |sets| history.load(summary, sets))??;
    if !summary.is_evaltrail() {
        let plan = Arc::make_mut(&mut run.state.plan);
        for set in &mut plan.sets {
            set.file = SetPath::of_file(&set.path, &workspace.root).shown;
            // The agent as evaltrail would run it, so that it is the same one in a comparison.
            if let Ok((_, agent)) = agent_named(workspace, &set.agent_name) {
                set.agent = agent;
            }
        }
    }
    Ok(run)
}

/// Reads a run with its cases as they were. Errors: as of [`load_past_run`].
pub fn past_run(
    workspace: &Workspace,
    history: &History,
    run: &RunSummary,
) -> Result<PastRun, String> {
    with_sets(workspace, run, |sets| history.past_run(run, sets))?
}

/// Calls the function with the sets of the workspace, to one of which a result of ADK belongs. Error: that set cannot be
/// opened.
fn with_sets<T>(
    workspace: &Workspace,
    run: &RunSummary,
    read: impl FnOnce(&[HistorySet]) -> T,
) -> Result<T, String> {
    let RunSource::Adk { set_id, .. } = &run.source else {
        return Ok(read(&[]));
    };
    let (mut opened, mut unreadable) = (Vec::new(), None);
    for set in &workspace.sets {
        match open_set(set) {
            Ok(content) => opened.push((set, content.file)),
            Err(why) if set.stem == *set_id => {
                unreadable = Some(format!(
                    "its eval set {} cannot be opened: {why}",
                    set.shown
                ));
            }
            // The result belongs to another set.
            Err(_) => {}
        }
    }
    let sets: Vec<HistorySet> = opened
        .iter()
        .map(|(set, file)| history_set(workspace, set, file))
        .collect();
    let is_there = sets.iter().any(|set| set.ids.contains(set_id));
    match unreadable.filter(|_| !is_there) {
        Some(why) => Err(why),
        None => Ok(read(&sets)),
    }
}

fn history_set<'a>(workspace: &Workspace, set: &SetPath, file: &'a SetFile) -> HistorySet<'a> {
    HistorySet {
        path: set.path.clone(),
        app_dir: agent_of_set(workspace, set, file)
            .map(|agent| agent.path.clone())
            .or_else(|| storage_app(&set.path).map(Path::to_path_buf)),
        ids: vec![file.id.clone(), set.stem.clone()],
        file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_plan_is_watched() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join(".evaltrail/runs/1");
        std::fs::create_dir_all(&run).unwrap();
        let workspace = Workspace {
            root: root.path().into(),
            ..Workspace::default()
        };
        assert!(result_folders(&workspace).contains(&run));
    }
}
