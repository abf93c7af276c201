//! The keeper: a supervisor process between evaltrail and a program. It terminates the program and all of its
//! descendants when the program or evaltrail ends. It is evaltrail's own binary.
//!
//! ```text
//! evaltrail ─▶ __keep PID ─▶ __exec PID ─(exec)─▶ the program ─▶ its descendants
//! ```
//!
//! On Linux the keeper is a subreaper: orphaned descendants become its children, so that it finds all of them, also
//! those that left the process group or the session. It kills them when the program has ended, on SIGTERM, and when
//! evaltrail has ended. When the keeper itself is killed, the kernel kills the program, but processes that the program
//! started remain. On other Unix systems the keeper kills the program's process group.

#![expect(clippy::disallowed_methods, reason = "it starts all other programs")]

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::{Child, Command};

const KEEP: &str = "__keep";
const EXEC: &str = "__exec";
/// How often the keeper checks whether its parent still exists.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The path of evaltrail's binary; `None` when the current process is another binary, such as a test.
fn binary() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    (here.file_stem()?.to_str()? == "evaltrail").then_some(here)
}

/// The command that starts a program, in a process group of its own.
pub(super) fn command(argv: &[String], _: &Path) -> io::Result<Command> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = match binary() {
        Some(keeper) => {
            let mut command = Command::new(keeper);
            command
                .args([KEEP, &std::process::id().to_string(), "--"])
                .args(argv);
            command
        }
        None => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
    };
    command.process_group(0);
    Ok(command)
}

/// The processes of a program.
#[derive(Debug)]
pub(super) struct Descendants {
    /// Whether the child is a keeper, which terminates the program on request.
    is_kept: bool,
}

impl Descendants {
    pub(super) fn watch(_: &mut Child) -> io::Result<Descendants> {
        Ok(Descendants {
            is_kept: binary().is_some(),
        })
    }

    /// Terminates the program, whose process id is given, and its descendants. Without a keeper these are its process
    /// group.
    pub(super) fn terminate(&self, id: u32) {
        match self.is_kept {
            true => end(id),
            false => kill_group(id),
        }
    }
}

/// Runs as a keeper if the arguments of this process are those of a keeper, and returns the exit code; `None` for any
/// other arguments.
pub fn run_as_keeper(arguments: &[std::ffi::OsString]) -> io::Result<Option<i32>> {
    let words: Vec<&str> = arguments.iter().map_while(|word| word.to_str()).collect();
    if words.len() < arguments.len() {
        return Ok(None);
    }
    let [_, command @ (KEEP | EXEC), parent, "--", argv @ ..] = words.as_slice() else {
        return Ok(None);
    };
    let (Ok(parent), false) = (parent.parse(), argv.is_empty()) else {
        return Ok(None);
    };
    match *command {
        KEEP => keep(parent, argv).map(Some),
        _ => Err(exec(parent, argv)),
    }
}

/// Requests that a keeper terminate its program. If the keeper has ended, so has the program.
fn end(keeper: u32) {
    if let Some(pid) = rustix::process::Pid::from_raw(keeper as i32) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

fn kill_group(group: u32) {
    if let Some(pid) = rustix::process::Pid::from_raw(group as i32) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Replaces this process by the program. On Linux the kernel kills it when the keeper ends.
fn exec(keeper: u32, argv: &[&str]) -> io::Error {
    #[cfg(target_os = "linux")]
    {
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        if std::os::unix::process::parent_id() != keeper {
            return io::Error::other("evaltrail ended");
        }
    }
    let _ = keeper;
    let error = std::process::Command::new(argv[0]).args(&argv[1..]).exec();
    io::Error::new(error.kind(), format!("{}: {error}", argv[0]))
}

/// Runs the program as its keeper. The exit code is the program's; if a signal terminated the program, the keeper
/// terminates itself with the same signal.
fn keep(parent: u32, argv: &[&str]) -> io::Result<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let own = std::process::id();
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg(EXEC).arg(own.to_string()).arg("--").args(argv);
    let program = command.process_group(0).spawn()?.id();
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            kill_all(program);
            std::process::exit(1);
        }
    });
    std::thread::spawn(move || {
        while std::os::unix::process::parent_id() == parent {
            std::thread::sleep(POLL_INTERVAL);
        }
        kill_all(program);
        std::process::exit(1);
    });
    let status = wait_for(program)?;
    await_rest();
    kill_all(program);
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ok(code),
        (None, signal) => Err(die_by(signal.unwrap_or(9))),
    }
}

/// Terminates this process with a signal, so that its parent sees how the program ended.
fn die_by(signal: i32) -> io::Error {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    io::Error::other(format!("the program was ended by signal {signal}"))
}

/// Waits until the program has ended. Other children that end in the meantime are reaped.
fn wait_for(program: u32) -> io::Result<rustix::process::WaitStatus> {
    loop {
        match rustix::process::wait(rustix::process::WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() as u32 == program => {
                return Ok(status);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Gives processes that the program left running a moment to end by themselves: they may be writing an error message.
fn await_rest() {
    const MOMENT: Duration = Duration::from_millis(500);
    let deadline = std::time::Instant::now() + MOMENT;
    while std::time::Instant::now() < deadline {
        match rustix::process::wait(rustix::process::WaitOptions::NOHANG) {
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Ok(Some(_)) => {}
            Err(_) => return,
        }
    }
}

/// Kills the program's process group and, on Linux, all descendants of this process.
fn kill_all(program: u32) {
    kill_group(program);
    #[cfg(target_os = "linux")]
    {
        // The next round finds processes that were started in the meantime, and orphans, which become children of this
        // process.
        const ROUNDS: usize = 200;
        for _ in 0..ROUNDS {
            let children = children_of(std::process::id());
            if children.is_empty() {
                return;
            }
            let pids = children
                .into_iter()
                .filter_map(|child| rustix::process::Pid::from_raw(child as i32));
            // A process of another user cannot be killed, so it is not waited for.
            let killed: Vec<_> = pids
                .filter(|pid| {
                    rustix::process::kill_process(*pid, rustix::process::Signal::KILL).is_ok()
                })
                .collect();
            if killed.is_empty() {
                return;
            }
            for pid in killed {
                // Another thread may have waited for it.
                let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            }
        }
    }
}

/// The children of a process, in any process group and session.
#[cfg(target_os = "linux")]
fn children_of(parent: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name, which may contain any character, ends at the last parenthesis; the state and the parent follow.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        after
            .split_whitespace()
            .nth(1)
            .and_then(|word| word.parse().ok())
            == Some(parent)
    };
    pids.filter(is_child).collect()
}
