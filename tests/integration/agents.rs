//! Misbehaving agents: they hang, exit, flood their output or leave processes behind. Also their environment and time
//! limit.
#![cfg(unix)]

use crate::common::{both, evaltrail, output, peak_of, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn set(cases: usize) -> String {
    let case = |n: usize| {
        json!({"eval_id": format!("c{n}"), "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": "go"}]},
            "final_response": {"role": "model", "parts": [{"text": "ok"}]},
        }]})
    };
    json!({"eval_set_id": "s", "eval_cases": (0..cases).map(case).collect::<Vec<_>>()}).to_string()
}

/// A folder with an eval set and an agent, and a home folder.
struct Work {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Work {
    fn new(cases: usize) -> Work {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("s.evalset.json"), set(cases)).unwrap();
        Work {
            folder,
            home: tempfile::tempdir().unwrap(),
        }
    }

    /// The agent is a shell script.
    fn scripted(cases: usize, script: &str) -> Work {
        let work = Work::new(cases);
        work.write("agent.sh", script);
        work.write(
            "evaltrail.toml",
            "[agents.a]\nkind = \"command\"\ncommand = \"sh agent.sh\"\n",
        );
        work
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = evaltrail(self.home.path());
        command
            .current_dir(self.path())
            .args(["run", "--json", "--trust", "."])
            .args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        output(&mut self.command(args))
    }
}

fn report(out: &Output) -> Value {
    serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{error}: {}", both(out)))
}

fn error_of(report: &Value, case: usize) -> &str {
    report["cases"][case]["error"].as_str().unwrap_or_default()
}

fn is_alive(mark: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(Result::ok).any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.starts_with("sleep") && line.contains(mark)
    })
}

/// A unique number of seconds for `sleep`, which identifies the processes of one test.
fn mark() -> String {
    format!("1000.{}", uuid::Uuid::new_v4().as_u128() % 1_000_000_000)
}

const ANSWER: &str = "echo '{\"response\": \"ok\"}'";

/// The default of macOS is 256, which is too low for many agents at once.
#[test]
fn the_limit_of_open_files_is_raised() {
    let work = Work::scripted(
        1,
        &format!("ulimit -Sn > soft; ulimit -Hn > hard; {ANSWER}"),
    );
    let run = work.command(&[]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -Sn 100; exec \"$0\" \"$@\""])
        .arg(run.get_program())
        .args(run.get_args());
    limited
        .current_dir(work.path())
        .env("EVALTRAIL_HOME", work.home.path())
        .stdin(Stdio::null());
    let out = output(&mut limited);
    assert_eq!(
        report(&out)["cases"][0]["error"],
        Value::Null,
        "{}",
        both(&out)
    );
    let number = |text: String| text.trim().parse::<u64>().unwrap_or(u64::MAX);
    let (soft, hard) = (number(work.read("soft")), number(work.read("hard")));
    assert_eq!(soft, hard.min(10_240));
}

#[test]
fn hanging_server_is_one_error() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    // The system accepts connections, but nothing responds.
    let work = Work::new(12);
    let began = Instant::now();
    let agent = format!("adk+http://{address}/app");
    let out = work.run(&["--agent", &agent, "--timeout", "700ms", "-j", "1"]);
    assert_eq!(
        unavailable(&out),
        format!(
            "error: app cannot be used, 12 attempts are not run: http://{address}/ did not answer within 0.7 s\n"
        )
    );
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "{:?}",
        began.elapsed()
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_connecting_ends_the_run() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let agent = format!("adk+http://{}/app", server.local_addr().unwrap());
    let work = Work::new(3);
    let mut command = work.command(&["--agent", &agent, "--timeout", "300s"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let connection = server.accept().unwrap();
    let (pid, began) = (rustix::process::Pid::from_child(&child), Instant::now());
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(10));
    drop(connection);
    let runs = fs::read_dir(work.path().join(".evaltrail/runs")).unwrap();
    assert_eq!(runs.count(), 0, "a run without results is not kept");
}

#[test]
fn a_start_command_that_fails_is_started_once() {
    let work = Work::new(5);
    work.write(
        "start.sh",
        "echo started >> log; echo 'no such module' >&2; exit 3",
    );
    work.write(
        "evaltrail.toml",
        "[agents.a]\nkind = \"adk\"\nstart = \"sh start.sh {port}\"\n",
    );
    let out = work.run(&[]);
    assert_eq!(work.read("log").lines().count(), 1, "{}", both(&out));
    let error = unavailable(&out);
    assert!(
        error.starts_with("error: a cannot be used, 5 attempts are not run: ")
            && error.contains("no such module"),
        "{error}"
    );
}

/// The error of a run whose agent cannot be used: it has no results and is not recorded, and the report says so.
fn unavailable(out: &Output) -> String {
    assert_eq!(out.status.code(), Some(2), "{}", both(out));
    let report = report(out);
    let not_run = report["not_run"].as_array().unwrap().len();
    assert_eq!(
        (
            &report["cases"],
            &report["unavailable_agents"][0]["attempts"]
        ),
        (&json!([]), &json!(not_run)),
        "{report}"
    );
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// The cases of the other agent run.
#[test]
fn one_of_two_agents_is_unavailable() {
    let work = Work::scripted(2, ANSWER);
    let of_other = set(3).replace(
        "\"conversation\"",
        "\"session_input\": {\"app_name\": \"b\", \"user_id\": \"u\"}, \"conversation\"",
    );
    work.write("o.evalset.json", &of_other);
    let of_first = set(2).replace(
        "\"conversation\"",
        "\"session_input\": {\"app_name\": \"a\", \"user_id\": \"u\"}, \"conversation\"",
    );
    work.write("s.evalset.json", &of_first);
    let agents = "[agents.a]\nkind = \"command\"\ncommand = \"sh agent.sh\"\n\n[agents.b]\nkind = \"command\"\ncommand = \"./absent\"\n";
    work.write("evaltrail.toml", agents);
    let out = work.run(&["--github", "--redact", "--report", "markdown=report.md"]);
    assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    let reason = "b cannot be used, 3 attempts are not run: cannot start ./absent: ";
    let annotation = format!("::error title=the agent b::{reason}");
    assert!(both(&out).contains(&annotation), "{}", both(&out));
    assert!(work.read("report.md").contains(reason));
    let report = report(&out);
    assert_eq!(
        (
            report["cases"].as_array().unwrap().len(),
            &report["unavailable_agents"][0]["agent"]
        ),
        (2, &json!("b")),
        "{report}"
    );
    // The run is kept, and --resume runs what is left.
    work.write("absent", &format!("#!/bin/sh\n{ANSWER}\n"));
    Command::new("chmod")
        .args(["+x", "absent"])
        .current_dir(work.path())
        .status()
        .unwrap();
    let resumed = work.run(&["--resume"]);
    assert!(both(&resumed).contains("2 of 5 done"), "{}", both(&resumed));
    assert_eq!(self::report(&resumed)["cases"].as_array().unwrap().len(), 5);
}

/// Each kind of address: one error, and no run is recorded.
#[test]
fn unavailable_agent_is_one_error() {
    let work = Work::new(3);
    work.write("agent.py", "def answer(prompt): return prompt\n");
    let port = crate::common::unused_port();
    let refused = "Connection refused (os error 111); is the server running?";
    let here = work.path().canonicalize().unwrap();
    let mut expected = vec![
        (
            "cmd:./absent.sh".to_string(),
            format!(
                "cannot start ./absent.sh: there is no file {}",
                here.join("absent.sh").display()
            ),
        ),
        (
            "cmd:absent-program x".to_string(),
            "cannot start absent-program: no folder of PATH has a program of this name".to_string(),
        ),
    ];
    let kinds = ["adk", "a2a", "ag-ui", "http", "langgraph", "mcp"];
    expected.extend(kinds.map(|kind| {
        let app = if kind == "adk" { "/app" } else { "" };
        (
            format!("{kind}+http://127.0.0.1:{port}{app}"),
            format!("cannot reach http://127.0.0.1:{port}/: {refused}"),
        )
    }));
    for (agent, why) in expected {
        let error = unavailable(&work.run(&["--agent", &agent]));
        assert!(
            error.ends_with(&format!(" cannot be used, 3 attempts are not run: {why}\n")),
            "{agent}: {error}"
        );
    }
    let runs = std::fs::read_dir(work.path().join(".evaltrail/runs")).unwrap();
    assert_eq!(runs.count(), 0, "a run without results is not kept");
}

/// A server of an ADK application that exits after each run of the agent.
const MORTAL_SERVER: &str = r#"
import http.server, json, sys, os
open("log", "a").write("started\n")
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    def log_message(self, *a): pass
    def say(self, body, kind="application/json"):
        self.send_response(200); self.send_header("Content-Type", kind); self.end_headers()
        self.wfile.write(body.encode()); self.wfile.flush()
    def do_GET(self): self.say(json.dumps(["a"]))
    def do_DELETE(self):
        self.say("{}")
        os._exit(7)
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/run_sse":
            event = {"author": "a", "content": {"role": "model", "parts": [{"text": "ok"}]}}
            self.say("data: " + json.dumps(event) + "\n\n", "text/event-stream")
        else: self.say(json.dumps({"id": "s", "events": []}))
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn a_started_server_that_exits_is_restarted() {
    let Some(python) = crate::common::python() else {
        return;
    };
    let work = Work::new(3);
    work.write("server.py", MORTAL_SERVER);
    let start = format!("{} server.py {{port}}", python.display());
    work.write(
        "evaltrail.toml",
        &format!("[agents.a]\nkind = \"adk\"\nstart = \"{start}\"\n"),
    );
    let out = work.run(&["-j", "1", "--rate", "60"]);
    let report = report(&out);
    assert_eq!(report["summary"]["errored"], 0, "{}", both(&out));
    assert!(
        work.read("log").lines().count() >= 2,
        "{}",
        work.read("log")
    );
}

#[test]
fn misspelled_criterion_stops_before_agent_runs() {
    let work = Work::scripted(1, &format!("touch called; {ANSWER}"));
    let config = json!({"criteria": {"tool_trajectory_avg_scor": 1.0}}).to_string();
    work.write("test_config.json", &config);
    let out = work.run(&[]);
    assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    let words = "no metric is called \"tool_trajectory_avg_scor\"; did you mean \"tool_trajectory_avg_score\"?";
    assert!(both(&out).contains(words), "{}", both(&out));
    assert!(both(&out).contains("test_config.json: "), "{}", both(&out));
    assert!(!work.path().join("called").exists());
}

#[test]
fn agent_exit_reports_status_and_signal() {
    let work = Work::scripted(1, "sleep 60 & exit 3");
    let began = Instant::now();
    let out = work.run(&["--timeout", "50s"]);
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert!(
        error_of(&report(&out), 0).contains("exit status: 3"),
        "{}",
        both(&out)
    );
    let work = Work::scripted(1, "kill -9 $$");
    let out = work.run(&["--timeout", "50s"]);
    assert!(
        error_of(&report(&out), 0).contains("signal: 9"),
        "{}",
        both(&out)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn flooding_agent_errors_with_bounded_memory() {
    let Some(python) = crate::common::python() else {
        return;
    };
    for flood in [
        // A list of empty lists: each of them takes 3 bytes of text and 70 bytes of memory.
        "print(json.dumps({'author': 'a', 'content': {'parts': [{'function_call': {'name': 't', 'args': {'x': [[]] * 6000000}}}]}}))",
        "while True: print(json.dumps({'author': 'a', 'content': {'parts': [{'text': 'x' * 100000}]}}))",
        "while True: sys.stdout.write('[' * 100000)",
    ] {
        let work = Work::new(2);
        work.write("agent.py", &format!("import json, sys\n{flood}\n"));
        let agent = format!("cmd:{} agent.py", python.display());
        let mut command = work.command(&["--agent", &agent, "-j", "2", "--timeout", "60s"]);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let peak = peak_of(child);
        assert!(peak < 500, "{peak} MB: {flood}");
        let out = work.run(&["--agent", &agent, "--timeout", "60s"]);
        let report = report(&out);
        let error = error_of(&report, 0);
        assert!(
            error.contains("MB") || error.contains("not JSON"),
            "{error}"
        );
    }
}

/// A run with 120 MB of responses, and its reports, which are written from the journal.
#[cfg(target_os = "linux")]
#[test]
fn attempts_do_not_stay_in_memory() {
    let script = "head -c 1000000 /dev/zero | tr '\\0' x | sed 's/.*/{\"response\": \"&\"}/'; echo";
    let work = Work::scripted(60, script);
    work.write(
        "test_config.json",
        &json!({"criteria": {"tool_trajectory_avg_score": 1.0}}).to_string(),
    );
    let mut command = work.command(&[
        "--report",
        "json=report.json",
        "--report",
        "html=report.html",
    ]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let peak = peak_of(child);
    let report: Value = serde_json::from_str(&work.read("report.json")).unwrap();
    let said = |case: &Value| {
        case["invocations"][0]["actual"]["response"]
            .as_str()
            .map(str::len)
    };
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(
        cases
            .iter()
            .filter(|case| said(case) == Some(1_000_000))
            .count(),
        60
    );
    assert!(work.read("report.html").len() > 60_000_000);
    assert!(peak < 150, "{peak} MB");
}

/// The signals that this process ignores, and the programs that it starts, such as SIGHUP under `nohup`: bit 0 is signal 1.
#[cfg(target_os = "linux")]
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    u64::from_str_radix(mask.unwrap().trim(), 16).unwrap()
}

/// The processes that an agent started, also those in other sessions, are terminated when the agent, the run or
/// evaltrail itself ends.
#[cfg(target_os = "linux")]
#[test]
fn nothing_that_an_agent_started_is_left() {
    let endings: [(&str, &[i32]); 6] = [
        (
            "setsid sleep MARK & echo '{\"response\": \"ok\"}'; exit 0",
            &[],
        ),
        (
            "(setsid sleep MARK &) & read x; echo '{\"response\": \"ok\"}'; sleep MARK",
            &[],
        ),
        ("(setsid sleep MARK &) & sleep MARK", &[15]),
        ("(setsid sleep MARK &) & sleep MARK", &[2, 2]),
        ("(setsid sleep MARK &) & sleep MARK", &[9]),
        ("(setsid sleep MARK &) & sleep MARK", &[1]),
    ];
    let ignored = ignored_signals();
    let handled = endings.into_iter().filter(|(_, signals)| {
        let is_ignored = |signal: &i32| ignored & 1 << (signal - 1) != 0;
        !signals.iter().any(is_ignored)
    });
    for (script, signals) in handled {
        let mark = mark();
        let work = Work::scripted(1, &script.replace("MARK", &mark));
        let mut command = work.command(&["--timeout", "300s"]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        for (at, signal) in signals.iter().enumerate() {
            wait_for("the agent's processes", Duration::from_secs(20), || {
                is_alive(&mark).then_some(())
            });
            let pid = rustix::process::Pid::from_child(&child);
            let signal = rustix::process::Signal::from_named_raw(*signal).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
            if at + 1 < signals.len() {
                // A signal is lost while another one of its kind is pending: waits until the first one was handled.
                said.read_line(&mut String::new()).unwrap();
            }
        }
        let began = Instant::now();
        child.wait().unwrap();
        assert!(
            began.elapsed() < Duration::from_secs(100),
            "{signals:?} were waited out"
        );
        wait_for("the end of all processes", Duration::from_secs(20), || {
            (!is_alive(&mark)).then_some(())
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_keeper_that_is_killed_leaves_no_agent() {
    let mark = mark();
    let work = Work::scripted(1, &format!("exec sleep {mark}"));
    let mut command = work.command(&["--timeout", "300s"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the agent", Duration::from_secs(20), || {
        is_alive(&mark).then_some(())
    });
    let keepers = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    let all = Command::new("pgrep")
        .args(["-P", &child.id().to_string()])
        .output()
        .unwrap();
    let keeper = String::from_utf8_lossy(&all.stdout)
        .lines()
        .next()
        .map(str::to_string);
    let keeper = keeper
        .or_else(|| keepers.split_whitespace().next().map(str::to_string))
        .expect("a keeper");
    Command::new("kill").args(["-9", &keeper]).status().unwrap();
    wait_for("the end of the agent", Duration::from_secs(5), || {
        (!is_alive(&mark)).then_some(())
    });
    child.wait().unwrap();
}

/// Folders above a repository belong to others, such as `/tmp`. `--trust` starts what was found.
#[test]
fn python_env_above_repository_is_not_used() {
    let temp_folder = tempfile::tempdir().unwrap();
    let (repository, home) = (
        temp_folder.path().join("repository"),
        temp_folder.path().join("home"),
    );
    for folder in [&home, &repository.join(".git")] {
        fs::create_dir_all(folder).unwrap();
    }
    // Each program notes its own path, and ends.
    let python = |folder: &Path, name: &str| {
        fs::create_dir_all(folder).unwrap();
        let started = temp_folder.path().join("started.txt");
        fs::write(
            folder.join(name),
            format!("#!/bin/sh\necho \"$0\" >> '{}'\n", started.display()),
        )
        .unwrap();
        fs::set_permissions(
            folder.join(name),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    };
    python(&temp_folder.path().join(".venv/bin"), "python");
    let on_path = temp_folder.path().join("bin");
    python(&on_path, "python3");
    fs::write(repository.join("s.evalset.json"), set(1)).unwrap();
    fs::write(repository.join("agent.py"), "def run(text): return text\n").unwrap();
    let path = std::env::join_paths([&on_path, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let mut command = evaltrail(&home);
    command
        .args([
            "run",
            "s.evalset.json",
            "--agent",
            "python:agent:run",
            "--trust",
        ])
        .env("PATH", path);
    let ran = output(command.env_remove("VIRTUAL_ENV").current_dir(&repository));
    let started = fs::read_to_string(temp_folder.path().join("started.txt"));
    let started = started.unwrap_or_else(|error| panic!("{error}: {}", both(&ran)));
    let expected = on_path.join("python3").display().to_string();
    assert!(started.lines().all(|line| line == expected), "{started}");
}

#[test]
fn command_agent_gets_base_and_named_env() {
    let script = format!("env > env.txt; {ANSWER}");
    let work = Work::scripted(1, &script);
    let environment = |work: &Work, args: &[&str]| {
        let mut command = work.command(args);
        command
            .env("SOME_API_KEY", "canary")
            .env("ANOTHER_TOKEN", "canary2")
            .env("LANG", "C.UTF-8");
        let out = output(&mut command);
        assert!(both(&out).contains("\"errored\": 0"), "{}", both(&out));
        work.read("env.txt")
    };
    let plain = environment(&work, &[]);
    assert!(
        plain.contains("PATH=") && plain.contains("LANG=C.UTF-8"),
        "{plain}"
    );
    assert!(
        !plain.contains("canary") && !plain.contains("EVALTRAIL_HOME"),
        "{plain}"
    );
    assert!(environment(&work, &["--env", "SOME_API_KEY"]).contains("SOME_API_KEY=canary\n"));
    work.write(
        "evaltrail.toml",
        "[agents.a]\nkind = \"command\"\ncommand = \"sh agent.sh\"\nenv = [\"ANOTHER_TOKEN\"]\n",
    );
    let named = environment(&work, &[]);
    assert!(
        named.contains("ANOTHER_TOKEN=canary2") && !named.contains("SOME_API_KEY"),
        "{named}"
    );
}

#[test]
fn timeout_and_latency_exclude_suspension() {
    let work = Work::scripted(1, &format!("echo > began; sleep 1.2; {ANSWER}"));
    let mut command = work.command(&["--timeout", "3s"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    wait_for("the agent", Duration::from_secs(20), || {
        work.path().join("began").exists().then_some(())
    });
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    // The length of the stop itself, not a wait for something to happen.
    std::thread::sleep(Duration::from_secs(4));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let out = child.wait_with_output().unwrap();
    let report = report(&out);
    assert_eq!(report["summary"]["errored"], 0, "{}", both(&out));
    let latency = report["cases"][0]["latency_s"].as_f64().unwrap();
    assert!(latency < 2.5, "{latency}");
}
