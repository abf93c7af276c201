//! Locks of files. Some network file systems have none; there, evaltrail works without them: the
//! user must not start two processes that write the same run.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long another process may keep a file locked for one short change.
pub(super) const SHORT_CHANGE: Duration = Duration::from_secs(10);

/// Locks a file, for as long as it is open. Returns `false` if another process has locked it.
pub(super) fn try_lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Opens and locks a file, which is created if it is missing. `None` if another process has it locked. The lock ends when the file is
/// dropped.
pub(crate) fn try_lock_at(path: &Path) -> io::Result<Option<File>> {
    let file = File::create(path)?;
    Ok(try_lock(&file).then_some(file))
}

/// Waits for the lock of a file. Errors: another process has it locked for longer than the limit; `what` says what that
/// process does.
pub(super) fn lock_within(file: &File, limit: Duration, what: &str) -> io::Result<()> {
    let began = Instant::now();
    while !try_lock(file) {
        if began.elapsed() > limit {
            let why = format!(
                "another evaltrail process has been {what} for {} s",
                limit.as_secs()
            );
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::create(folder.path().join("lock")).unwrap();
        let (first, second) = (open(), open());
        lock_within(&first, Duration::ZERO, "writing").unwrap();
        let error = lock_within(&second, Duration::ZERO, "writing").unwrap_err();
        assert_eq!(
            error.to_string(),
            "another evaltrail process has been writing for 0 s"
        );
        drop(first);
        lock_within(&second, Duration::ZERO, "writing").unwrap();
    }
}
