//! Windows: a program and its descendants are a job, which the system terminates when its last handle is closed. That
//! is when the program's handle is dropped, and when evaltrail ends in any way, so that no keeper is needed.
//!
//! A program is added to its job directly after its start. A process that it starts before that is not in the job.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use tokio::process::{Child, Command};
use win32job::{ExtendedLimitInfo, Job};

/// `CREATE_NEW_PROCESS_GROUP`: Ctrl-C ends evaltrail, which ends the program when its attempts are finished.
const NEW_PROCESS_GROUP: u32 = 0x200;

/// The command that starts a program. The name is searched for as a shell would: `npx` is `npx.cmd`.
pub(super) fn command(argv: &[String], cwd: &Path) -> io::Result<Command> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let found = which::which_in(program, std::env::var_os("PATH"), cwd);
    let mut command = match found {
        Ok(path) => Command::new(path),
        // The system's error names the program.
        Err(_) => Command::new(program),
    };
    command.args(arguments).creation_flags(NEW_PROCESS_GROUP);
    Ok(command)
}

/// The processes of a program. They are terminated when this is dropped.
#[derive(Debug)]
pub(super) struct Descendants {
    _job: Option<Job>,
}

impl Descendants {
    /// Adds a started program to a new job. If that fails, the program is terminated.
    pub(super) fn watch(child: &mut Child) -> io::Result<Descendants> {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        let added = Job::create_with_limit_info(&limits).and_then(|job| {
            child
                .raw_handle()
                .map_or(Ok(()), |handle| job.assign_process(handle as isize))?;
            Ok(job)
        });
        match added {
            Ok(job) => Ok(Descendants { _job: Some(job) }),
            // A program that has ended already cannot be added.
            Err(_) if child.try_wait()?.is_some() => Ok(Descendants { _job: None }),
            Err(error) => {
                child.start_kill()?;
                Err(io::Error::other(error))
            }
        }
    }

    /// Does nothing: dropping the job terminates the processes.
    pub(super) fn terminate(&self, _: u32) {}
}

/// There is no keeper on Windows.
pub fn run_as_keeper(_: &[OsString]) -> io::Result<Option<i32>> {
    Ok(None)
}
