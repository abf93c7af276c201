//! Helpers that the integration tests share.

pub mod input;
pub mod judge;
pub mod past;
pub mod scripted;
pub mod server;
pub mod store;
pub mod svg;
pub mod terminal;
pub mod time_limit;
pub mod watchdog;

use self::time_limit::TimeLimit;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The root of the repository.
pub fn root() -> PathBuf {
    watchdog::watch_this_test();
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the oracle, if it exists beside the checkout.
pub fn oracle() -> Option<PathBuf> {
    let folder = root().join("../shared/oracle");
    folder
        .is_dir()
        .then(|| folder.canonicalize().expect("it is there"))
}

/// A command for the binary, whose own files are separate from the user's.
pub fn evaltrail(home: &Path) -> Command {
    watchdog::watch_this_test();
    let mut command = Command::new(env!("CARGO_BIN_EXE_evaltrail"));
    command
        .env("EVALTRAIL_HOME", home)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    // A scheduler may run the tests.
    let of_scheduler = |(name, _): &(std::ffi::OsString, std::ffi::OsString)| {
        let name = name.to_string_lossy();
        [
            "CI_",
            "GITHUB_RUN",
            "SLURM_",
            "EVALTRAIL_SHARD",
            "EVALTRAIL_JOB",
        ]
        .iter()
        .any(|start| name.starts_with(start))
    };
    for (name, _) in std::env::vars_os().filter(of_scheduler) {
        command.env_remove(name);
    }
    command
}

/// A temporary folder with files.
pub struct TestWorkspace {
    folder: tempfile::TempDir,
}

impl TestWorkspace {
    /// Creates a folder with files, given by their paths and contents.
    pub fn new(files: &[(&str, String)]) -> TestWorkspace {
        watchdog::watch_this_test();
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        TestWorkspace { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Runs a command to its end.
pub fn output(command: &mut Command) -> Output {
    command.output().expect("the binary runs")
}

/// Standard output as text.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Both streams, for a failed assertion.
pub fn both(output: &Output) -> String {
    format!(
        "{}{}",
        text(output),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Copies a folder.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("readable") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// Waits until `look` returns a value; panics with `what` after the limit, which is longer on a busy machine.
pub fn wait_for<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let mut time = TimeLimit::new(limit);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(!time.has_passed(), "waited {limit:?} for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The real `adk`: from `EVALTRAIL_ADK`, a virtual environment in the checkout, or PATH.
pub fn adk() -> Option<PathBuf> {
    let named = std::env::var_os("EVALTRAIL_ADK").map(PathBuf::from);
    let here = root().join(".venv/bin/adk");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path)
        .map(|folder| folder.join("adk"))
        .collect::<Vec<_>>();
    named
        .into_iter()
        .chain([here])
        .chain(on_path)
        .find(|file| file.is_file())
}

/// The path of `adk`. Without it, prints that the test is skipped.
pub fn adk_or_skip(test: &str) -> Option<PathBuf> {
    let found = adk();
    if found.is_none() {
        assert!(
            std::env::var_os("EVALTRAIL_REQUIRE_ADK").is_none(),
            "adk is required here and not found"
        );
        println!("{test}: skipped, google-adk is not installed");
    }
    found
}

/// A port on which nothing listens. It is below those that the system chooses for port 0, and this process gives it once, so
/// that no server of another test can get it before it is used.
pub fn unused_port() -> u16 {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 20_000;
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let given = GIVEN.fetch_add(1, Ordering::Relaxed);
        assert!(given < COUNT, "all ports are in use");
        // Other processes of tests mostly begin elsewhere.
        let offset = std::process::id().wrapping_mul(97).wrapping_add(given) % COUNT;
        let port = (FIRST + offset) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A server that is killed when it is dropped.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    /// Starts `adk api_server` or `adk web` with these agents and waits until it responds.
    pub fn start(adk: &Path, command: &str, agents: &Path) -> Server {
        let port = unused_port();
        let log = std::fs::File::create(agents.join("server.log")).expect("a log");
        let child = Command::new(adk)
            .args([command, "--port", &port.to_string(), "--no-reload"])
            .args([
                "--session_service_uri",
                "memory://",
                "--artifact_service_uri",
                "memory://",
            ])
            .arg(agents)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("adk starts");
        let server = Server { child, port };
        wait_for("the server", Duration::from_secs(120), || {
            server.get("/list-apps")
        });
        server
    }

    /// Sends a GET request without evaltrail's HTTP client.
    pub fn get(&self, path: &str) -> Option<String> {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let request = format!(
            "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n",
            self.port
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (headers, body) = answer.split_once("\r\n\r\n")?;
        headers
            .lines()
            .next()?
            .contains(" 200 ")
            .then(|| body.to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The oracle's judge, whose responses come from a script.
pub struct ScriptedJudge {
    child: Child,
    pub port: u16,
}

impl ScriptedJudge {
    /// Starts the judge with these rules and waits until it responds. `python` is any Python 3.
    pub fn start(python: &Path, oracle: &Path, rules: &Path) -> ScriptedJudge {
        let port = unused_port();
        let child = Command::new(python)
            .arg(oracle.join("judge_server.py"))
            .arg("--rules")
            .arg(rules)
            .args(["--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the judge starts");
        let judge = ScriptedJudge { child, port };
        let up = || std::net::TcpStream::connect(("127.0.0.1", port)).ok();
        wait_for("the judge", Duration::from_secs(60), up);
        judge
    }

    /// Points a command at the judge, with the same variables as for ADK.
    pub fn judges(&self, command: &mut Command) {
        command
            .env("GOOGLE_API_KEY", "dummy")
            .env(
                "GOOGLE_GEMINI_BASE_URL",
                format!("http://127.0.0.1:{}", self.port),
            )
            .env("OPENAI_API_KEY", "dummy")
            .env(
                "OPENAI_BASE_URL",
                format!("http://127.0.0.1:{}/v1", self.port),
            );
    }
}

impl Drop for ScriptedJudge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a program is on the PATH.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// The Python beside the real `adk`, or the system's.
pub fn python() -> Option<PathBuf> {
    let beside = adk().and_then(|adk| Some(adk.parent()?.join("python")));
    let system = ["/usr/bin/python3", "/usr/local/bin/python3"].map(PathBuf::from);
    beside.into_iter().chain(system).find(|file| file.is_file())
}

/// A number, or a string that contains one.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.to_string().parse().ok(),
    }
}

/// Waits for a process. Returns its peak memory in MB.
pub fn peak_of(mut child: Child) -> u64 {
    let id = child.id();
    let mut peak = 0;
    let mut output = child.stdout.take();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = output
            .as_mut()
            .map(|output| std::io::Read::read_to_string(output, &mut text));
        text
    });
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_memory(id).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(reading.join());
    peak
}

/// The peak memory so far of a process of evaltrail, in MB; `None` if it has ended, or is not executed yet: for a moment
/// after it is spawned, its memory is that of the test.
pub fn peak_memory(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"))
    };
    let kilobytes = field("VmHWM")?.split_whitespace().next()?;
    let is_executed = field("Name") == Some("evaltrail");
    Some(kilobytes.parse::<u64>().ok()? / 1024).filter(|_| is_executed)
}
