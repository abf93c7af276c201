//! Why an address is not copied, or an edit of a copy is not written to its store.

use crate::buckets::BucketError;
use std::io;

/// Why an address cannot be copied, or an edit cannot be written to it.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The store failed.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The folder of the copies cannot be written.
    #[error("{path}: {source}")]
    Cache {
        /// The file or folder.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// There is nothing at the address, or too much. Contains the message.
    #[error("{0}")]
    Refused(String),
}
