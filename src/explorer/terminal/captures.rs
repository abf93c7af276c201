//! Which conversations of a source add coverage to the cases of a set.

use crate::explorer::shared::effect::CaptureTarget;
use evaltrail_core::analysis::Addition;
use evaltrail_core::formats::{SetFile, blank_set};
use evaltrail_engine::runner::{BestRequest, RecordedConversation, best_conversations};
use evaltrail_engine::workspace::{SetPath, Workspace, open_set};
use std::path::Path;

/// The number of conversations that are ranked.
const MAX: usize = 100;

/// The conversations that add coverage, best first. Empty if there is only one, or if the set cannot be read.
pub(super) fn additions(
    workspace: &Workspace,
    sets: &[SetPath],
    target: &CaptureTarget,
    folder: &Path,
    source: &str,
    found: &[RecordedConversation],
) -> Vec<Addition> {
    if found.len() < 2 {
        return Vec::new();
    }
    let opened = match target {
        CaptureTarget::Set(set) => sets
            .get(*set)
            .and_then(|set| Some((set.clone(), open_set(set).ok()?.file))),
        CaptureTarget::NewSet => {
            let id = "captured";
            let file = SetFile::open(blank_set(id, None, 0.0).into(), id).ok();
            let path = folder.join(format!("{id}.evalset.json"));
            file.map(|file| (workspace.set_path(&path), file))
        }
    };
    let best = opened.map(|(set, file)| {
        let request = BestRequest {
            workspace,
            set: (&set, &file),
            sources: &[folder.join(source)],
            declared: &[],
            user_turns_only: true,
            any_app: false,
            most: MAX,
        };
        best_conversations(&request, found)
    });
    best.map(|found| found.best.additions).unwrap_or_default()
}
