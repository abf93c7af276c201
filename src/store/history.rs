//! Past runs: ours with their journals, and ADK's result files.

use super::journal::run_folders;
use crate::domain::RunPlan;
use crate::formats::adk::app_history;
use std::path::{Path, PathBuf};

/// A past run, before it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// The run's folder, or the result file.
    pub path: PathBuf,
    /// When it began, RFC 3339; the file's name for ADK's.
    pub when: String,
}

/// Our runs of a workspace, newest first.
pub fn our_runs(workspace: &Path) -> Vec<HistoryEntry> {
    let mut runs: Vec<HistoryEntry> = run_folders(workspace)
        .into_iter()
        .filter_map(|path| {
            let plan = std::fs::read(path.join("run.json")).ok()?;
            let plan: RunPlan = serde_json::from_slice(&plan).ok()?;
            Some(HistoryEntry { path, when: plan.started })
        })
        .collect();
    runs.sort_by(|a, b| b.when.cmp(&a.when));
    runs
}

/// ADK's result files of an application, newest first by name.
pub fn adk_results(app_dir: &Path) -> Vec<HistoryEntry> {
    let Ok(entries) = std::fs::read_dir(app_history(app_dir)) else { return Vec::new() };
    let mut results: Vec<HistoryEntry> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".evalset_result.json")?.to_string();
            Some(HistoryEntry { path, when: name })
        })
        .collect();
    results.sort_by(|a, b| time_of(&b.when).total_cmp(&time_of(&a.when)));
    results
}

/// The time at the end of ADK's name.
fn time_of(name: &str) -> f64 {
    name.rsplit('_').next().and_then(|time| time.parse().ok()).unwrap_or(0.0)
}
