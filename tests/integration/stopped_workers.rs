//! Signals and keys are handled while none of the program's worker threads makes progress. strace stops each worker at its
//! next system call.
#![cfg(target_os = "linux")]

use crate::common::terminal::Terminal;
use crate::common::{evaltrail, wait_for};
use rustix::process::Signal;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_evaltrail");
/// The name of tokio's worker threads, truncated by the system to 15 bytes.
const WORKER: &str = "tokio-rt-worker";

/// Stops worker threads until it is dropped.
struct StoppedWorkers(Child);

impl StoppedWorkers {
    /// Stops the worker threads of a process. `None` if strace may not trace here.
    fn find(process: u32) -> Option<StoppedWorkers> {
        let mut strace = Command::new("strace");
        // Each call is delayed by an hour, in microseconds.
        strace.args([
            "-o",
            "/dev/null",
            "-e",
            "trace=all",
            "-e",
            "inject=all:delay_enter=3600000000",
        ]);
        let workers = wait_for("workers", Duration::from_secs(20), || {
            Some(workers(process)).filter(|workers| workers.len() >= 2)
        });
        for worker in &workers {
            strace.args(["-p", worker]);
        }
        let strace = strace
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut stopped = StoppedWorkers(strace);
        wait_for("stopped workers", Duration::from_secs(20), || {
            let is_traced = |worker: &String| {
                let status = fs::read_to_string(format!("/proc/{process}/task/{worker}/status"));
                status.unwrap_or_default().contains("State:\tt")
            };
            let has_ended = stopped.0.try_wait().unwrap().is_some();
            (has_ended || workers.iter().all(is_traced)).then_some(())
        });
        match stopped.0.try_wait().unwrap() {
            None => Some(stopped),
            Some(_) => {
                assert!(
                    std::env::var_os("EVALTRAIL_REQUIRE_STRACE").is_none(),
                    "strace is required here"
                );
                eprintln!("strace may not trace here: skipped");
                None
            }
        }
    }
}

/// Waits until a process has exited, except for the threads that strace stops.
fn wait_for_exit(process: u32) {
    wait_for("the end", Duration::from_secs(10), || {
        let status = fs::read_to_string(format!("/proc/{process}/task/{process}/status"));
        status
            .unwrap_or_default()
            .contains("State:\tZ")
            .then_some(())
    });
}

impl Drop for StoppedWorkers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The ids of the worker threads of a process.
fn workers(process: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let is_worker = |task: &fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == WORKER)
    };
    tasks
        .filter(is_worker)
        .map(|task| task.file_name().to_string_lossy().into_owned())
        .collect()
}

/// A set of one case, whose agent is a program that creates a file and does not answer.
fn set_with_silent_agent(folder: &Path) {
    let case =
        json!({"eval_id": "a", "conversation": [{"user_content": {"parts": [{"text": "p"}]}}]});
    fs::write(
        folder.join("s.evalset.json"),
        json!({"eval_set_id": "s", "eval_cases": [case]}).to_string(),
    )
    .unwrap();
    fs::write(folder.join("agent.sh"), "touch started\nexec sleep 600\n").unwrap();
    fs::write(
        folder.join("evaltrail.toml"),
        "[agents.a]\nkind = \"command\"\ncommand = \"sh agent.sh\"\n",
    )
    .unwrap();
}

fn wait_for_agent(folder: &Path) {
    wait_for("the agent", Duration::from_secs(20), || {
        folder.join("started").exists().then_some(())
    });
}

/// Ends a run with these signals, each of which is sent when the message about the one before was printed.
fn end_with(signals: &[Signal]) {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    set_with_silent_agent(folder.path());
    let mut command = evaltrail(home.path());
    command
        .args(["run", "--trust", "."])
        .current_dir(folder.path());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_agent(folder.path());
    let Some(stopped) = StoppedWorkers::find(child.id()) else {
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    };
    let mut messages = BufReader::new(child.stderr.take().unwrap()).lines();
    for signal in signals {
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), *signal).unwrap();
        let message = messages.next().unwrap().unwrap();
        let is_about_signal =
            message.contains("Ctrl-C again") || message.contains("as the system asks");
        assert!(is_about_signal, "{message}");
    }
    wait_for_exit(child.id());
    drop(stopped);
    assert_eq!(child.wait().unwrap().code(), Some(130), "{signals:?}");
}

#[test]
fn signals_end_run_with_stopped_workers() {
    end_with(&[Signal::INT, Signal::INT]);
    end_with(&[Signal::TERM]);
}

#[test]
fn explorer_keys_work_with_stopped_workers() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    set_with_silent_agent(folder.path());
    let mut terminal =
        Terminal::start_in(BINARY, &["."], home.path(), (100, 30), folder.path(), &[]);
    terminal.wait_for("enter open");
    // A worker that is stopped while it reads files may hold a lock, for example that of the memory allocator.
    terminal.wait_until_quiet(Duration::from_secs(1));
    let process = terminal.child.process_id().unwrap();
    let Some(stopped) = StoppedWorkers::find(process) else {
        terminal.keys("q");
        return;
    };
    terminal.keys("?");
    terminal.wait_for("run the selected cases");
    terminal.keys("\x1b");
    terminal.wait_for("enter open");
    terminal.keys("q");
    wait_for_exit(process);
    drop(stopped);
    terminal.wait_for_end();
    terminal.assert_restored();
}
