//! The limit of open files of this process.

use std::error::Error;
use std::io;

/// Not more than this is requested, since some programs that are started visit all numbers up to the limit.
#[cfg(unix)]
const WANTED: u64 = 10_240;

/// Raises the limit of open files as far as the system allows, up to 10,240. The default of macOS is 256. If it cannot be
/// raised, it stays as it is.
#[cfg(unix)]
pub fn raise_open_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let highest = limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    if limit.current.is_some_and(|current| current < highest) {
        // Without a higher limit, everything works with fewer open files.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(highest),
                ..limit
            },
        );
    }
}

/// Windows has no such limit.
#[cfg(windows)]
pub fn raise_open_file_limit() {}

/// The limit of open files; `None` if there is none.
#[cfg(unix)]
pub(crate) fn open_file_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// The limit of open files; `None` if there is none.
#[cfg(windows)]
pub(crate) fn open_file_limit() -> Option<u64> {
    None
}

/// Whether an error is, or was caused by, the limit of open files of this process or of the system: in words, otherwise
/// `None`.
pub(crate) fn open_file_limit_error(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(is_of_limit) {
            let limit = open_file_limit()
                .map(|limit| format!(" of {limit}"))
                .unwrap_or_default();
            return Some(format!(
                "evaltrail reached the limit{limit} open files (ulimit -n): fewer jobs, or a higher limit"
            ));
        }
        next = error.source();
    }
    None
}

#[cfg(unix)]
fn is_of_limit(error: &io::Error) -> bool {
    let of_limit =
        [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE].map(rustix::io::Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|code| of_limit.contains(&code))
}

#[cfg(windows)]
fn is_of_limit(error: &io::Error) -> bool {
    const TOO_MANY_OPEN_FILES: i32 = 4;
    error.raw_os_error() == Some(TOO_MANY_OPEN_FILES)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot connect")]
    struct Outer(#[source] io::Error);

    #[test]
    fn the_limit_is_recognised_as_a_cause() {
        let of_limit = Outer(io::Error::from_raw_os_error(
            rustix::io::Errno::MFILE.raw_os_error(),
        ));
        let words = open_file_limit_error(&of_limit).unwrap();
        assert!(words.contains("open files (ulimit -n)"), "{words}");
        let refused = Outer(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(open_file_limit_error(&refused), None);
    }
}
