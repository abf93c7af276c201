//! Whether other processes exist.

/// Whether no process has this id. Ids are reused, so a process that has the id may be another one.
#[cfg(unix)]
pub(crate) fn has_ended(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// On Windows no other process is examined.
#[cfg(windows)]
pub(crate) fn has_ended(_: i32) -> bool {
    false
}
