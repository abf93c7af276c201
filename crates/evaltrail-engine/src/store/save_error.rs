//! Why a file that the user edits was not saved.

use super::copy_error::CopyError;
use crate::buckets::BucketError;
use std::io;
use std::path::PathBuf;

/// Why a file was not saved. The file is unchanged, except for `Halfway`; the object of which it is a copy is unchanged, except for
/// `OnlyObject`.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Another program changed it after it was read.
    #[error("it was changed by another program after it was read")]
    Changed {
        /// The current content.
        theirs: Vec<u8>,
    },
    /// It no longer exists.
    #[error("it no longer exists; it was deleted or moved")]
    Gone,
    /// It is read-only.
    #[error("it is read-only; nothing was written")]
    ReadOnly,
    /// It is a link to a file outside the opened folder.
    #[error("it is a link to {0}, outside the folder that was opened")]
    Outside(PathBuf),
    /// It has other hard links, which would still refer to the old file.
    #[error(
        "it has other names (hard links), which would still refer to the old text; edit a copy"
    )]
    HardLinked,
    /// Another process has locked it.
    #[error("another evaltrail process has locked it for more than 5 s")]
    Locked,
    /// A file with this name exists.
    #[error("a file with this name already exists")]
    Exists,
    /// The file is a copy of an object, which could not be written. Contains the message.
    #[error("{0}; nothing was written")]
    Bucket(String),
    /// The object was written, created or deleted, and its copy on this machine was not. Contains the message.
    #[error("the object was changed, but its copy on this machine could not be updated: {0}")]
    OnlyObject(String),
    /// An error of the disk, the folder or the system.
    #[error("{0}; the file is unchanged")]
    Io(#[from] io::Error),
    /// The file has the new text. The previous text could not be compared or restored.
    #[error("{why}; the file contains the new text, and the previous text is in {}", aside.display())]
    Halfway {
        /// What failed.
        why: io::Error,
        /// The file that contains the previous text.
        aside: PathBuf,
    },
}

impl SaveError {
    /// The error of a file that cannot be found or read.
    pub(super) fn gone_or_io(error: io::Error) -> SaveError {
        match error.kind() {
            io::ErrorKind::NotFound => SaveError::Gone,
            _ => SaveError::Io(error),
        }
    }

    /// The error of the object of which the file is a copy.
    pub(super) fn from_copy(error: CopyError) -> SaveError {
        match error {
            CopyError::Bucket(BucketError::Missing(_)) => SaveError::Gone,
            CopyError::Bucket(BucketError::Exists(_)) => SaveError::Exists,
            error => SaveError::Bucket(error.to_string()),
        }
    }
}
