//! Newer states of the opened run.

use std::path::PathBuf;

/// Returns the folder of a newer state of a run, or `None` if nothing is new. The folder is in the same workspace.
pub type NewerRun = Box<dyn FnMut() -> Result<Option<PathBuf>, String> + Send>;
