//! Writes result files for ADK and `adk web` at the end of a run, in each agent's history folder.

use crate::store::{create, fill_whole};
use evaltrail_core::domain::{EndedAttempt, RunPlan, RunState};
use evaltrail_core::formats::adk::{
    RESULT_ENDING, ResultOf, app_history, result_id, result_name, storage_app, storage_history,
    write_result,
};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Whether an agent of a run keeps a history of results.
pub(super) fn has_results(plan: &RunPlan) -> bool {
    plan.sets
        .iter()
        .any(|set| set.app_dir.is_some() && set.agent.app().is_some())
}

/// Writes one file for each set that was run against an ADK agent on this machine. Returns a warning for each file that
/// could not be written.
pub(super) fn write_results(state: &RunState) -> Vec<String> {
    let mut warnings = Vec::new();
    for (at, set) in state.plan.sets.iter().enumerate() {
        let (Some(app_dir), Some(app)) = (&set.app_dir, set.agent.app()) else {
            continue;
        };
        let attempts: Vec<Arc<EndedAttempt>> = (0..state.plan.cases.len())
            .filter(|&case| state.plan.cases.set_of(case) == at)
            .flat_map(|case| state.attempts_of(case))
            // ADK does not run single turns, so its history does not contain them.
            .filter(|attempt| attempt.turn.is_none())
            .collect();
        if attempts.is_empty() {
            continue;
        }
        let is_stored = storage_app(&set.path).is_some_and(|stored| stored == app_dir);
        let run_id = &state.plan.run_id;
        if let Err(why) = write_one(app_dir, is_stored, app, &set.id, run_id, &attempts) {
            warnings.push(format!("no result file for {}: {why}", set.file));
        }
    }
    warnings
}

/// Writes a result. `is_stored` tells whether the folder is that of an application in an object store.
fn write_one(
    app_dir: &Path,
    is_stored: bool,
    app: &str,
    set_id: &str,
    run_id: &str,
    attempts: &[Arc<EndedAttempt>],
) -> Result<(), String> {
    // The older formats use a path as the id, which ADK refuses to save.
    let set_id = set_id.rsplit(['/', '\\']).next().unwrap_or(set_id);
    if set_id.is_empty() || set_id.contains('\0') || matches!(set_id, "." | "..") {
        return Err(format!("{set_id:?} cannot be part of a file's name"));
    }
    let now = jiff::Timestamp::now();
    let created = now.as_microsecond() as f64 / 1e6;
    let folder = if is_stored {
        storage_history(app_dir)
    } else {
        app_history(app_dir)
    };
    if leads_away(&folder, app_dir) {
        return Err(format!(
            "{} points outside the agent's folder",
            folder.display()
        ));
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let name = result_name(&result_id(app, set_id, created));
    let path = folder.join(format!("{name}{RESULT_ENDING}"));
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let fill = |out: &mut dyn Write| {
        write_result(
            out,
            ResultOf {
                app,
                set_id,
                created,
                run_id,
            },
            attempts,
        )
    };
    if !is_stored {
        return fill_whole(&path, fill).map_err(|error| failed(&error));
    }
    let mut result = Vec::new();
    fill(&mut result).map_err(|error| failed(&error))?;
    create(&path, &result)
        .map(drop)
        .map_err(|error| failed(&error))
}

/// Whether a link in the path points outside the agent's folder.
fn leads_away(folder: &Path, app_dir: &Path) -> bool {
    let Ok(home) = dunce::canonicalize(app_dir) else {
        return true;
    };
    let there = folder
        .ancestors()
        .find_map(|part| dunce::canonicalize(part).ok());
    !there.is_some_and(|there| there.starts_with(&home))
}
