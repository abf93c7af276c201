//! The errors of the folders of runs.

use std::io;
use std::path::Path;

/// Why a run's folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct JournalError {
    /// The file or folder.
    pub path: String,
    /// The cause.
    #[source]
    pub source: io::Error,
}

impl JournalError {
    /// Whether another evaltrail process is writing the run.
    pub fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::WouldBlock
    }

    /// Whether another try would fail in the same way.
    pub fn is_final(&self) -> bool {
        self.source.kind() == io::ErrorKind::FileTooLarge
    }
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> JournalError {
    let path = path.display().to_string();
    move |source| JournalError { path, source }
}

pub(super) fn taken() -> io::Error {
    io::Error::new(
        io::ErrorKind::WouldBlock,
        "another evaltrail is writing this run",
    )
}
