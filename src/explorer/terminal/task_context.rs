//! The input of background tasks.

use evaltrail_engine::workspace::{SetPath, Workspace};
use std::sync::Arc;

/// The workspace at the start of a task, which may change meanwhile.
pub(crate) struct TaskContext {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) sets: Arc<Vec<SetPath>>,
}
