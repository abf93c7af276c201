//! `whole_plan.json`: the plan of all shards, in the folder of the run of each of them.

use super::evaltrail_folder::EvaltrailFolder;
use super::plan_file::{PLAN, check_plan, each_path, invalid, list_plan_text};
use evaltrail_core::domain::RunPlan;
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The name of the file.
pub(super) const WHOLE_PLAN: &str = "whole_plan.json";

/// The plan of all shards, as each of them stores it: all of them store the same text.
#[derive(Clone, Debug)]
pub struct AllShardsPlan {
    /// The plan, without what may differ between the shards' machines.
    pub plan: RunPlan,
    /// SHA-256 of the shard of each case.
    pub split: String,
    /// Files that could not be used, and why.
    pub problems: Vec<(String, String)>,
}

/// The text of the plan of all shards.
pub fn full_plan_text(whole: &AllShardsPlan, workspace: &Path) -> serde_json::Result<String> {
    let plan = list_plan_text(&whole.plan, workspace)?;
    let (split, problems) = (
        serde_json::to_string(&whole.split)?,
        serde_json::to_string(&whole.problems)?,
    );
    Ok(format!(
        "{{\"split\": {split}, \"problems\": {problems}, \"plan\":\n{plan}\n}}\n"
    ))
}

/// Reads the plan of all shards, whose relative paths are those of `workspace`. Errors: for example that the plan is
/// inconsistent, or names files outside of the workspace.
pub fn parse_full_plan(text: &[u8], workspace: &Path) -> io::Result<AllShardsPlan> {
    #[derive(Deserialize)]
    struct Written {
        split: String,
        problems: Vec<(String, String)>,
        plan: RunPlan,
    }
    let Written {
        split,
        problems,
        mut plan,
    } = serde_json::from_slice(text)?;
    check_plan(&plan)?;
    if plan.options.repeat == 0 {
        return Err(invalid("it has 0 attempts".into()));
    }
    let is_inside = |path: &PathBuf| {
        path.components()
            .all(|part| matches!(part, Component::Normal(_)))
    };
    if let Some(set) = plan.sets.iter().find(|set| !is_inside(&set.path)) {
        return Err(invalid(format!(
            "{} is outside of the workspace",
            set.path.display()
        )));
    }
    each_path(&mut plan.sets, |path| *path = workspace.join(&*path));
    if let Some(recording) = &mut plan.judge.recording {
        *recording = workspace.join(&*recording);
    }
    Ok(AllShardsPlan {
        plan,
        split,
        problems,
    })
}

/// The text of the plan of all shards in the folder of a run.
pub fn full_plan_of(run: &Path) -> io::Result<Vec<u8>> {
    EvaltrailFolder::of_run(run)?.read(WHOLE_PLAN)
}

/// The folders of runs of shards at or below a folder. Links are not followed.
pub fn shard_folders(below: &Path) -> io::Result<Vec<PathBuf>> {
    const DEEPEST: usize = 8;
    let (mut found, mut to_search) = (Vec::new(), vec![(below.to_path_buf(), 0)]);
    while let Some((folder, depth)) = to_search.pop() {
        if folder.join(PLAN).is_file() {
            found.extend(folder.join(WHOLE_PLAN).is_file().then_some(folder));
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() && depth < DEEPEST {
                to_search.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    Ok(found)
}
