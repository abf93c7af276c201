//! Cases that passed in an earlier run and that the workspace does not have any more.

use crate::workspace::{SetPath, Workspace, open_set};
use evaltrail_core::analysis::{RunComparison, RunToCompare, expectation_in_file, expectation_of};
use evaltrail_core::formats::SetFile;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The cases, by their positions in the first run, that passed all attempts in it and no longer exist in the workspace.
/// A case that was renamed, moved or not selected still exists: a file has a case with the same content or expectation
/// that is not another case of the first run. A file that cannot be read is reported where it is run.
pub fn removed_cases(found: &RunComparison, before: RunToCompare, root: &Path) -> BTreeSet<usize> {
    let missing = found.removed(before.state).filter_map(|case| case.before);
    let mut files: HashMap<usize, Option<SetFile>> = HashMap::new();
    let mut is_gone = |case: usize| {
        let set = before.plan.cases.set_of(case);
        let path = &before.plan.sets[set].path;
        let file = files.entry(set).or_insert_with(|| {
            open_set(&SetPath::of_file(path, root))
                .ok()
                .map(|open| open.file)
        });
        match file {
            Some(file) => file
                .positions_of(before.plan.cases.eval_id(case))
                .next()
                .is_none(),
            None => !path.exists(),
        }
    };
    let mut gone: BTreeSet<usize> = missing.filter(|case| is_gone(*case)).collect();
    if let Some(workspace) = (!gone.is_empty())
        .then(|| Workspace::open(root))
        .and_then(Result::ok)
    {
        remove_moved(&mut gone, before, &workspace);
    }
    gone
}

/// Removes the cases that are in the workspace under another name or in another file.
fn remove_moved(gone: &mut BTreeSet<usize>, before: RunToCompare, workspace: &Workspace) {
    let cases = &before.plan.cases;
    let named: HashSet<(&Path, &str)> = (0..cases.len())
        .map(|at| (before.plan.set_of(at).path.as_path(), cases.eval_id(at)))
        .collect();
    for set in &workspace.sets {
        let Ok(open) = open_set(set) else { continue };
        for at in 0..open.file.len() {
            if gone.is_empty() {
                return;
            }
            if named.contains(&(set.path.as_path(), &*open.file.eval_id(at))) {
                continue;
            }
            let content = open.file.content_hash(at);
            let expectation = open
                .file
                .case(at)
                .ok()
                .and_then(|case| expectation_in_file(&case));
            let is_it = |case: &usize| {
                (!content.is_empty() && cases.content_hash(*case) == content)
                    || (expectation.is_some() && expectation_of(&before, *case) == expectation)
            };
            if let Some(case) = gone.iter().copied().find(is_it) {
                gone.remove(&case);
            }
        }
    }
}
