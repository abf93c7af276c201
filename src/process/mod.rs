//! Child processes: their environment, their output with limits, and the termination of a child together with every
//! process that it started. Time limits exclude the time in which evaltrail itself was suspended.

pub(crate) mod clock;
mod host;
#[cfg(windows)]
mod job;
#[cfg(unix)]
mod keeper;
mod program;

pub use host::host_name;
#[cfg(windows)]
pub use job::run_as_keeper;
#[cfg(unix)]
pub use keeper::run_as_keeper;
pub(crate) use program::{Program, Tail};
