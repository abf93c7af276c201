//! Locks of files. Some network file systems have none; there, evaltrail works without them: the
//! user must not start two processes that write the same run.

use std::fs::{File, TryLockError};

/// Locks a file, for as long as it is open. Returns `false` if another process has locked it.
pub(super) fn try_lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Waits for the lock of a file.
pub(super) fn lock(file: &File) {
    // An error means that there are no locks.
    let _ = file.lock();
}
