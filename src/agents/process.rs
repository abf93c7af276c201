//! Programs that we start: each in its own process group, which dies with all its members when the
//! handle is dropped, and when evaltrail itself dies, however it dies.
//!
//! Between evaltrail and the program stands a keeper: evaltrail's own binary, which starts the
//! program and watches whether its parent is still there. `kill -9` on evaltrail makes the keeper
//! kill the group.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// The hidden subcommand that makes evaltrail a keeper.
pub const KEEPER_COMMAND: &str = "__keep";
/// How often the keeper looks whether its parent is still there.
const LOOK: Duration = Duration::from_millis(100);

/// A started program. Dropping it kills its whole group.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) child: Child,
    group: Option<u32>,
}

impl Program {
    /// Starts a program with all its streams piped.
    pub(crate) fn start(argv: &[String], cwd: &Path) -> io::Result<Program> {
        let mut command = match keeper() {
            Some(keeper) => {
                let mut command = Command::new(keeper);
                command.arg(KEEPER_COMMAND).arg(std::process::id().to_string()).arg("--").args(argv);
                command
            }
            None => {
                let mut command = Command::new(&argv[0]);
                command.args(&argv[1..]);
                command
            }
        };
        command.current_dir(cwd).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        Ok(Program { group: child.id(), child })
    }
}

/// Our own binary, when it is ours that runs (and not, say, a test's).
fn keeper() -> Option<std::path::PathBuf> {
    let here = std::env::current_exe().ok()?;
    let name = here.file_stem()?.to_str()?;
    (cfg!(unix) && name == "evaltrail").then_some(here)
}

impl Drop for Program {
    fn drop(&mut self) {
        kill_group(self.group.take());
    }
}

#[cfg(unix)]
fn kill_group(group: Option<u32>) {
    let pid = group.and_then(|group| rustix::process::Pid::from_raw(group as i32));
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_: Option<u32>) {}

/// The keeper's whole life: start the program, leave with its exit code, or kill the group (ourselves
/// included) when the parent is gone.
#[cfg(unix)]
pub fn keep(parent: u32, argv: &[String]) -> io::Result<i32> {
    let started = std::process::Command::new(&argv[0]).args(&argv[1..]).spawn();
    let mut child = started.map_err(|error| io::Error::other(format!("{}: {error}", argv[0])))?;
    std::thread::spawn(move || {
        while std::os::unix::process::parent_id() == parent {
            std::thread::sleep(LOOK);
        }
        kill_group(Some(std::process::id()));
    });
    Ok(child.wait()?.code().unwrap_or(1))
}

/// Not needed where there are no process groups.
#[cfg(not(unix))]
pub fn keep(_: u32, argv: &[String]) -> io::Result<i32> {
    let status = std::process::Command::new(&argv[0]).args(&argv[1..]).status()?;
    Ok(status.code().unwrap_or(1))
}

/// The last part of a stream, kept for error messages while the rest is read and dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    kept: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
    /// Closed when the stream has ended.
    open: Option<tokio::sync::watch::Receiver<()>>,
}

impl Tail {
    const MOST: usize = 16 << 10;

    /// Reads a stream to its end in the background.
    pub(crate) fn follow(mut stream: impl tokio::io::AsyncRead + Unpin + Send + 'static) -> Tail {
        let (ending, open) = tokio::sync::watch::channel(());
        let tail = Tail { open: Some(open), ..Tail::default() };
        let kept = tail.kept.clone();
        tokio::spawn(async move {
            let _ending = ending;
            use tokio::io::AsyncReadExt;
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let Ok(mut kept) = kept.lock() else { return };
                kept.extend_from_slice(&buffer[..count]);
                let over = kept.len().saturating_sub(Tail::MOST);
                kept.drain(..over);
            }
        });
        tail
    }

    /// Waits until the stream has ended and all of it is here, for a second at most.
    pub(crate) async fn whole(&self) {
        if let Some(mut open) = self.open.clone() {
            let ended = async { while open.changed().await.is_ok() {} };
            let _ = tokio::time::timeout(Duration::from_secs(1), ended).await;
        }
    }

    /// What the stream said last, in at most this many lines.
    pub(crate) fn lines(&self, most: usize) -> String {
        let Ok(kept) = self.kept.lock() else { return String::new() };
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(most)..].join("\n")
    }
}
