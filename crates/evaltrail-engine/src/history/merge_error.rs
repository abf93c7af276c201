//! Why the runs of shards cannot be merged.

use crate::store::JournalError;
use std::path::PathBuf;

/// Why shards cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There are none, or they are not of one run. Contains the message.
    #[error("{0}")]
    Shards(String),
    /// A folder cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A run cannot be read, or the merged run cannot be written.
    #[error(transparent)]
    Run(#[from] JournalError),
}
