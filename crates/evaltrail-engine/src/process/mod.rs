//! Child processes and temporary folders, which end with evaltrail.
//!
//! A child has a fixed environment and an output with limits, and is terminated together with every process that it started.
//! Time limits exclude the time in which evaltrail itself was suspended.

pub(crate) mod clock;
mod ended;
mod host;
#[cfg(unix)]
mod keeper;
mod open_files;
mod private_folder;
mod program;
mod runtimes;
mod secret_variables;
#[cfg(windows)]
mod windows_job;

pub(crate) use ended::has_ended;
pub use host::host_name;
#[cfg(unix)]
pub use keeper::run_as_keeper;
pub use open_files::raise_open_file_limit;
pub(crate) use open_files::{open_file_limit, open_file_limit_error};
#[cfg(unix)]
pub use private_folder::signals_are_handled;
pub use private_folder::{
    FILE_FOR_USER, PrivateFolder, exit, remove_left_over_folders, remove_private_folders_on_hangup,
    remove_private_folders_on_signals,
};
pub(crate) use program::{Program, Tail};
pub use runtimes::{Deadline, Runtimes};
pub(crate) use secret_variables::secrets_of_environment;
#[cfg(windows)]
pub use windows_job::run_as_keeper;
