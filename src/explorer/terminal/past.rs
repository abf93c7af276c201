//! Loading of past results and trends of all files of the workspace.

use crate::explorer::shared::effect::ReadFiles;
use crate::explorer::terminal::task_context::TaskContext;
use evaltrail_core::domain::InMemory;
use evaltrail_core::formats::SetFile;
use evaltrail_engine::history::{CaseTrends, PastResults};
use evaltrail_engine::runner::{case_trends, past_results};
use evaltrail_engine::workspace::{SetPath, open_set};
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Fewer results are not worth another thread.
const RESULTS_AT_LEAST: usize = 512;

/// Loads past results, oldest run first, and searches for their cases. `files` are those of the sets that were read
/// already.
pub(crate) fn history(context: &TaskContext, files: &ReadFiles) -> PastResults {
    let open = |set: &SetPath| {
        open_set(set)
            .ok()
            .map(|open| (Arc::new(open.file), open.digest))
    };
    let file = |set: &SetPath| files.get(&set.path).cloned().or_else(|| open(set));
    let files: Vec<_> = context
        .sets
        .iter()
        .filter_map(|set| Some((set, file(set)?)))
        .collect();
    let borrowed: Vec<(&SetPath, &SetFile)> =
        files.iter().map(|(set, file)| (*set, &*file.0)).collect();
    let PastResults {
        mut results,
        unreadable,
    } = past_results(&context.workspace, &borrowed, InMemory::Whole);
    let by_path: HashMap<&Path, &(Arc<SetFile>, String)> = files
        .iter()
        .map(|(set, file)| (set.path.as_path(), file))
        .collect();
    results
        .par_chunks_mut(RESULTS_AT_LEAST)
        .for_each(|results| {
            for of_file in results.chunk_by_mut(|a, b| Arc::ptr_eq(&a.origin, &b.origin)) {
                if let Some((file, digest)) = by_path.get(of_file[0].origin.file.as_path()) {
                    let is_version = of_file[0].is_of_version(file, digest);
                    of_file
                        .iter_mut()
                        .for_each(|result| result.find_in(file, is_version));
                }
            }
        });
    PastResults {
        results,
        unreadable,
    }
}

/// Loads the outcomes of all cases over the past runs.
pub(crate) fn trends(context: &TaskContext) -> CaseTrends {
    let open = |set| Some((set, open_set(set).ok()?.file));
    let files = || context.sets.iter().filter_map(open).collect();
    case_trends(&context.workspace, files)
}
