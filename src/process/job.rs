//! Windows: a program and its descendants are a job, which the system terminates when its last handle is closed. That
//! is when the program's handle is dropped, and when evaltrail ends in any way, so that no keeper is needed.
//!
//! A program is added to its job directly after its start. A process that it starts before that is not in the job.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use tokio::process::{Child, Command};
use win32job::{ExtendedLimitInfo, Job};

/// The command that starts a program. The name is searched for as a shell would: `npx` is `npx.cmd`.
pub(super) fn command(argv: &[String], cwd: &Path) -> io::Result<Command> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let found = which::which_in(program, std::env::var_os("PATH"), cwd);
    let mut command = match found {
        Ok(path) => Command::new(path),
        // The system's error names the program.
        Err(_) => Command::new(program),
    };
    command.args(arguments);
    Ok(command)
}

/// The processes of a program. They are terminated when this is dropped.
#[derive(Debug)]
pub(super) struct Descendants {
    _job: Job,
}

impl Descendants {
    pub(super) fn of(child: &Child) -> io::Result<Descendants> {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        let job = Job::create_with_limit_info(&limits).map_err(io::Error::other)?;
        if let Some(handle) = child.raw_handle() {
            job.assign_process(handle as isize).map_err(io::Error::other)?;
        }
        Ok(Descendants { _job: job })
    }

    /// Does nothing: dropping the job terminates the processes.
    pub(super) fn terminate(&self, _: u32) {}
}

/// There is no keeper on Windows.
pub fn run_as_keeper(_: &[OsString]) -> io::Result<Option<i32>> {
    Ok(None)
}
