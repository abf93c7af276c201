//! The drafts of a set that were read, or derived because there were none.

use evaltrail_engine::runner::SetDrafts;
use evaltrail_engine::store::FileEdit;
use std::sync::Arc;

/// What the file of drafts of a set contains, or what to write to it.
#[derive(Clone, Debug)]
pub enum FoundDrafts {
    /// The drafts of the file; there may be none.
    Listed(Arc<SetDrafts>),
    /// There were none: the edit that writes derived ones, and their number.
    Derived(FileEdit, usize),
}
