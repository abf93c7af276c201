//! Loading of past results and trends of all files of the workspace.

use crate::domain::InMemory;
use crate::explorer::terminal::task_context::TaskContext;
use crate::formats::SetFile;
use crate::history::{CaseTrends, PastResult};
use crate::runner::{case_trends, past_results};
use crate::workspace::{SetPath, open_set};

/// Loads past results, oldest run first.
pub(crate) fn history(context: &TaskContext) -> Vec<PastResult> {
    let open = |set| Some((set, open_set(set).ok()?.file));
    let files: Vec<(&SetPath, SetFile)> = context.sets.iter().filter_map(open).collect();
    let files: Vec<(&SetPath, &SetFile)> = files.iter().map(|(set, file)| (*set, file)).collect();
    past_results(&context.workspace, &files, InMemory::Whole)
}

/// Loads the outcomes of all cases over the past runs.
pub(crate) fn trends(context: &TaskContext) -> CaseTrends {
    let open = |set| Some((set, open_set(set).ok()?.file));
    let files = || context.sets.iter().filter_map(open).collect();
    case_trends(&context.workspace, files)
}
