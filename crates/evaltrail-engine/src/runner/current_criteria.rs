//! Which criteria a run would use now.

use crate::history::criteria_id;
use crate::workspace::{SetPath, Workspace, criteria_for};
use evaltrail_core::formats::SetFile;

/// A hash of the criteria that a run of a set without options would use now, which is comparable with
/// [`RunSummary::criteria_of`](crate::history::RunSummary::criteria_of). `None` if the criteria cannot be read, or contain programs, whose
/// command lines are stored without secrets.
pub fn current_criteria_id(workspace: &Workspace, set: &SetPath, file: &SetFile) -> Option<u64> {
    let (criteria, _) = criteria_for(workspace, set, file, None, &[]).ok()?;
    let is_comparable = criteria.iter().all(|criterion| criterion.custom.is_none());
    is_comparable.then(|| criteria_id(&criteria))
}
