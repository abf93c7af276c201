//! Ends the tests when one of them takes too long, with the stacks of its processes: a test that hangs does not block
//! the others, and shows where it hangs.

use super::time_limit::load;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// The limit of a test in seconds on a machine without other load. `EVALTRAIL_TEST_SECONDS` replaces all limits.
const LIMIT: f64 = 60.0;
/// Tests with another limit, by the start of their names.
const OTHER_LIMITS: &[(&str, f64)] = &[
    // Real servers are started, and libraries are loaded.
    ("real_adk::", 600.0),
    ("real_agents::", 900.0),
    ("real_authoring::", 600.0),
    ("judge_details::", 600.0),
    ("python_libraries::", 600.0),
    ("buckets::", 300.0),
    // They generate many inputs, or kill a process at each of its system calls.
    ("fuzz::", 300.0),
    ("crash::", 300.0),
    ("hostile", 300.0),
    ("machines::", 300.0),
];
/// The limit of tests whose number of rounds was set.
const ROUNDS: (&str, f64) = ("EVALTRAIL_ROUNDS", 7200.0);
const LOOK: Duration = Duration::from_secs(1);

/// The tests that are running, with the seconds that they have taken.
static RUNNING: LazyLock<Mutex<HashMap<String, f64>>> = LazyLock::new(|| {
    std::thread::Builder::new()
        .name("watchdog".into())
        .spawn(watch)
        .expect("a thread");
    Mutex::default()
});

thread_local! {
    static WATCHED: OnceCell<Watched> = const { OnceCell::new() };
}

/// A test that is running, until its thread ends.
struct Watched(String);

impl Drop for Watched {
    fn drop(&mut self) {
        RUNNING
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.0);
    }
}

/// Watches the test that runs on this thread. Other threads are not watched: they have no name of a test.
pub fn watch_this_test() {
    let thread = std::thread::current();
    let Some(name) = thread.name().filter(|name| name.contains("::")) else {
        return;
    };
    WATCHED.with(|watched| {
        watched.get_or_init(|| {
            RUNNING
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name.to_string(), 0.0);
            Watched(name.to_string())
        });
    });
}

fn limit(test: &str) -> f64 {
    let given = std::env::var("EVALTRAIL_TEST_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok());
    let of_test = || {
        let (variable, limit) = ROUNDS;
        if test.starts_with("judge_spending::") && std::env::var_os(variable).is_some() {
            return limit;
        }
        OTHER_LIMITS
            .iter()
            .find(|(start, _)| test.starts_with(start))
            .map_or(LIMIT, |(_, limit)| *limit)
    };
    given.unwrap_or_else(of_test)
}

fn watch() {
    loop {
        std::thread::sleep(LOOK);
        let passed = LOOK.as_secs_f64() / load();
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.values_mut().for_each(|seconds| *seconds += passed);
        let late = running
            .iter()
            .find(|(test, seconds)| **seconds > limit(test));
        if let Some((test, _)) = late {
            let words = format!("\n{test} takes longer than {} s\n{}", limit(test), stacks());
            // Not captured, unlike the output of macros.
            let _ = std::io::stderr().write_all(words.as_bytes());
            std::process::abort();
        }
    }
}

/// The threads of this process and of its children: with their stacks if gdb is installed, otherwise with their names and
/// what they wait for.
fn stacks() -> String {
    let mut text = String::new();
    for process in [std::process::id()]
        .into_iter()
        .chain(children(std::process::id()))
    {
        let command =
            std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let _ = writeln!(text, "\nprocess {process}: {}", command.replace('\0', " "));
        text.push_str(&by_gdb(process).unwrap_or_else(|| threads(process)));
    }
    text
}

fn by_gdb(process: u32) -> Option<String> {
    let mut gdb = Command::new("timeout");
    gdb.args([
        "-k",
        "1",
        "30",
        "gdb",
        "-p",
        &process.to_string(),
        "-batch",
        "-ex",
        "thread apply all bt 20",
    ]);
    // A file, because gdb stops this process, which then cannot read a pipe.
    let mut stacks = tempfile::tempfile().ok()?;
    let ran = gdb
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(stacks.try_clone().ok()?)
        .status()
        .ok()?;
    stacks.rewind().ok()?;
    let mut read = Vec::new();
    stacks.read_to_end(&mut read).ok()?;
    ran.success()
        .then(|| String::from_utf8_lossy(&read).into_owned())
}

fn threads(process: u32) -> String {
    let mut text = String::new();
    for folder in numbered(&format!("/proc/{process}/task")) {
        let read = |name: &str| std::fs::read_to_string(folder.1.join(name)).unwrap_or_default();
        // The state follows the name in parentheses.
        let stat = read("stat");
        let state = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.trim().chars().next())
            .unwrap_or('?');
        let _ = writeln!(
            text,
            "  thread {} {}: state {state}, waits in {}, system call {}",
            folder.0,
            read("comm").trim(),
            read("wchan").trim(),
            read("syscall").trim()
        );
    }
    text
}

/// The processes that a process started, and those that they started.
fn children(process: u32) -> Vec<u32> {
    let of = |(id, folder): (u32, PathBuf)| {
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        let parent: u32 = stat
            .rsplit(')')
            .next()?
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()?;
        (parent == process).then_some(id)
    };
    let own: Vec<u32> = numbered("/proc").into_iter().filter_map(of).collect();
    own.iter()
        .flat_map(|child| [*child].into_iter().chain(children(*child)))
        .collect()
}

/// The folders with numbers as names.
fn numbered(folder: &str) -> Vec<(u32, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .collect()
}
