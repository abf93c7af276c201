//! Interrupts and exits: in a terminal, in a pipeline, by signals. The number of rounds can be set:
//! `EVALTRAIL_ROUNDS=200 cargo test --test integration endings::`.
#![cfg(unix)]

use crate::common::terminal::Terminal;
use crate::common::{both, evaltrail, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_evaltrail");

fn rounds(short: usize) -> usize {
    std::env::var("EVALTRAIL_ROUNDS").map_or(short, |text| text.parse().unwrap())
}

fn rows(folder: &Path, count: usize) {
    let row = |n: usize| {
        let row = json!({"eval_case_id": format!("r{n}"), "prompt": "p", "reference": "a b", "response": "a c"});
        format!("{row}\n")
    };
    fs::write(
        folder.join("rows.jsonl"),
        (0..count).map(row).collect::<String>(),
    )
    .unwrap();
}

/// A set of one case, whose agent is a program.
fn set_with_program(folder: &Path, program: &str) {
    let case =
        json!({"eval_id": "a", "conversation": [{"user_content": {"parts": [{"text": "p"}]}}]});
    let set = json!({"eval_set_id": "s", "eval_cases": [case]});
    fs::write(folder.join("s.evalset.json"), set.to_string()).unwrap();
    let config = format!("[agents.a]\nkind = \"command\"\ncommand = \"{program}\"\n");
    fs::write(folder.join("evaltrail.toml"), config).unwrap();
}

#[test]
fn nothing_is_drawn_after_leaving() {
    for round in 0..rounds(12) {
        let home = tempfile::tempdir().unwrap();
        let mut terminal = Terminal::start(BINARY, &["demo"], home.path(), (100, 30));
        terminal.wait_for("water_tomatoes");
        terminal.keys("*r");
        terminal.wait_for("in flight");
        // The signal comes at another position of the output in each round.
        let at = terminal.written() + 700 * (round % 12);
        terminal.wait_until("some more frames", |_| terminal.written() >= at);
        terminal.signal(["TERM", "INT", "HUP"][round % 3]);
        terminal.wait_for_end();
        terminal.wait_until_quiet(Duration::from_millis(50));
        terminal.assert_restored();
        assert!(
            !terminal.is_alternate() && terminal.is_cooked(),
            "round {round}"
        );
    }
}

/// The window is closed or the connection breaks, and the output is no longer read.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_disappears_ends_everything() {
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    for round in 0..rounds(4) {
        let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mark = format!("1000.{}", uuid::Uuid::new_v4().as_u128() % 1_000_000_000);
        set_with_program(folder.path(), &format!("sleep {mark}"));
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let mut command = CommandBuilder::new(BINARY);
        command.args(["run", "--trust", "."]);
        command.cwd(folder.path());
        command.env("EVALTRAIL_HOME", home.path());
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let is_alive = || {
            Command::new("pgrep")
                .args(["-f", &format!("^sleep {mark}")])
                .output()
                .unwrap()
                .status
                .success()
        };
        wait_for("the agent", Duration::from_secs(20), || {
            is_alive().then_some(())
        });
        drop(pair.master);
        let what = format!("the end, round {round}");
        wait_for(&what, Duration::from_secs(5), || child.try_wait().unwrap());
        wait_for("the end of the agent", Duration::from_secs(5), || {
            (!is_alive()).then_some(())
        });
    }
}

/// Without a terminal, every subcommand has the right exit code and prints no escape sequences.
#[test]
fn without_a_terminal_no_escape_is_written() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    rows(folder.path(), 2);
    set_with_program(folder.path(), "true");
    let commands: &[(&[&str], i32)] = &[
        (&["."], 2),
        (&["demo"], 2),
        (&["chat", "."], 2),
        (&["list", "--cases", "."], 0),
        (&["check", "."], 0),
        (&["metrics"], 0),
        (&["metrics", "--json"], 0),
        (&["score", "rows.jsonl"], 1),
        (&["score", "rows.jsonl", "--json"], 1),
        (&["score", "rows.jsonl", "--verbose"], 1),
        (&["run", "s.evalset.json", "--trust"], 1),
        (&["run", "nosuch"], 2),
        (&["accept", "nosuch"], 2),
        (&["edit", "s.evalset.json:a", "--from", "nosuch"], 2),
        (&["--help"], 0),
        (&["nonsense", "--nonsense"], 2),
    ];
    let environments: &[&[(&str, &str)]] = &[
        &[("TERM", "xterm-256color")],
        &[("TERM", "dumb")],
        &[("TERM", "xterm-256color"), ("NO_COLOR", "1")],
        &[
            ("TERM", "xterm-256color"),
            ("COLUMNS", "20"),
            ("CLICOLOR", "1"),
        ],
        &[("TERM", "xterm-256color"), ("CI", "true")],
        &[("TERM", "")],
    ];
    for (args, code) in commands {
        for environment in environments {
            let mut command = evaltrail(home.path());
            command
                .args(*args)
                .current_dir(folder.path())
                .env_remove("CI")
                .envs(environment.iter().copied());
            let output = command.output().unwrap();
            let said = both(&output);
            assert_eq!(
                output.status.code(),
                Some(*code),
                "{args:?} {environment:?}: {said}"
            );
            assert!(
                !said.contains('\u{1b}') && !said.contains('\u{9b}'),
                "{args:?} {environment:?}: {said:?}"
            );
        }
    }
}

#[test]
fn an_interrupt_in_a_busy_run_is_handled() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    rows(folder.path(), 20_000);
    for round in 0..rounds(8) {
        let mut child = evaltrail(home.path())
            .args(["score", "rows.jsonl", "--verbose"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..1 + 37 * round {
            said.read_line(&mut String::new()).unwrap();
        }
        assert!(
            Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        said.read_to_end(&mut Vec::new()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(130),
            "round {round}: {}",
            both(&output)
        );
        assert!(
            both(&output).contains("finishing the conversations in flight"),
            "round {round}: {}",
            both(&output)
        );
    }
}

#[test]
fn typeahead_does_not_answer_prompt() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    set_with_program(folder.path(), "touch mark");
    let mark = folder.path().join("mark");
    let start = |program: &str, args: &[&str]| {
        Terminal::start_in(program, args, home.path(), (100, 30), folder.path(), &[])
    };
    // The program starts after the input was typed.
    let gate = home.path().join("gate");
    assert!(
        Command::new("mkfifo")
            .arg(&gate)
            .status()
            .unwrap()
            .success()
    );
    let gated = format!("read _ < '{}'; exec '{BINARY}' run .", gate.display());
    let mut terminal = start("sh", &["-c", &gated]);
    terminal.keys("y\n");
    fs::write(&gate, "go\n").unwrap();
    terminal.wait_for("[y/N]");
    terminal.wait_until_quiet(Duration::from_millis(300));
    assert!(!mark.exists(), "{}", terminal.screen());
    terminal.keys("n\n");
    assert_eq!(terminal.wait_for_end(), 2, "{}", terminal.screen());
    let mut terminal = start(BINARY, &["."]);
    terminal.wait_for(" a  ");
    terminal.keys("ry");
    terminal.wait_for("touch");
    terminal.wait_until_quiet(Duration::from_millis(300));
    assert!(
        !mark.exists() && terminal.screen().contains("touch"),
        "{}",
        terminal.screen()
    );
    terminal.keys("y");
    wait_for(
        "the program that was allowed",
        Duration::from_secs(20),
        || mark.exists().then_some(()),
    );
}

/// A program cannot restore the terminal before a SIGSTOP; the shell does.
#[cfg(target_os = "linux")]
#[test]
fn explorer_is_redrawn_after_sigstop() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start("bash", &["--norc", "-i"], home.path(), (100, 30));
    terminal.keys(&format!(
        "bind 'set enable-bracketed-paste off'; PS1='shell> '; {BINARY} demo\n"
    ));
    terminal.wait_for("water_tomatoes");
    let shell = terminal.pid();
    let children = format!("/proc/{shell}/task/{shell}/children");
    let program = fs::read_to_string(children).unwrap().trim().to_string();
    for _ in 0..3 {
        assert!(
            Command::new("kill")
                .args(["-STOP", &program])
                .status()
                .unwrap()
                .success()
        );
        terminal.wait_for("shell>");
        terminal.keys("fg\n");
        terminal.wait_until("the explorer", |screen| {
            !screen.contains("shell>") && screen.contains("Eval sets")
        });
        terminal.keys("?");
        terminal.wait_for("help   ?");
        terminal.keys("\u{1b}");
        terminal.wait_until("no help", |screen| {
            !screen.contains("help   ?") && screen.contains("Eval sets")
        });
    }
    terminal.keys("q");
    terminal.wait_until("the end", |_| !terminal.is_alternate());
    terminal.assert_restored();
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_fails_takes_no_other_with_it() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    rows(folder.path(), 3);
    let output = evaltrail(home.path())
        .args([
            "score",
            "rows.jsonl",
            "--json",
            "--report",
            "junit=/dev/full",
            "--report",
            "json=ok.json",
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", both(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("--report /dev/full") && said.contains("space"),
        "{said}"
    );
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let written: Value =
        serde_json::from_slice(&fs::read(folder.path().join("ok.json")).unwrap()).unwrap();
    assert_eq!(printed["cases"].as_array().map(Vec::len), Some(3));
    assert_eq!(printed, written);
}

#[test]
fn reports_follow_umask_run_files_are_0600() {
    use std::os::unix::fs::PermissionsExt;
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("027", 0o640)] {
        let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        rows(folder.path(), 2);
        let script = format!(
            "umask {umask}; {BINARY} score rows.jsonl --report json=x.json --report html=x.html"
        );
        let status = Command::new("sh")
            .args(["-c", &script])
            .env("EVALTRAIL_HOME", home.path())
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(1));
        let mode_of = |name: &str| {
            fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(
            (mode_of("x.json"), mode_of("x.html")),
            (mode, mode),
            "umask {umask}"
        );
        let run = fs::read_dir(folder.path().join(".evaltrail/runs"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        for name in ["run.json", "journal.jsonl"] {
            let mode = fs::metadata(run.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{name} holds what agents said");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_outputs_are_no_panic() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    rows(folder.path(), 3);
    let full = || {
        Stdio::from(
            fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        )
    };
    for (args, code) in [
        (&["score", "rows.jsonl"][..], 1),
        (&["score", "rows.jsonl", "--json"], 1),
        (&["run", "rows.jsonl", "--agent", "cmd:false"], 1),
        (&["list", "nosuch"], 2),
        (&["check", "rows.jsonl"], 0),
    ] {
        let status = evaltrail(home.path())
            .args(args)
            .current_dir(folder.path())
            .stdout(full())
            .stderr(full())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}
