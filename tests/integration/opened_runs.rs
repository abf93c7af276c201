//! `evaltrail open`: the file of a run from anywhere. It is unpacked where only the user can read it, and nothing of it stays.
#![cfg(unix)]

use crate::common::terminal::Terminal;
use crate::common::time_limit::TimeLimit;
use crate::common::{TestWorkspace, both, evaltrail, output, wait_for};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_evaltrail");
const FILE: &str = "run.evaltrail";

/// A folder with the file of a run of four cases, a home, and a folder for temporary files.
fn workspace_with_file() -> TestWorkspace {
    let row = |n: usize| {
        let row = json!({"eval_case_id": format!("case_{n}"), "prompt": "p", "reference": "a b", "response": "a c"});
        format!("{row}\n")
    };
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", (0..4).map(row).collect()),
        (
            "test_config.json",
            r#"{"criteria": {"response_match_score": 0.8}}"#.into(),
        ),
        ("tmp/.keep", String::new()),
        ("home/.keep", String::new()),
    ]);
    let run = |args: &[&str]| {
        output(
            evaltrail(&home(&workspace))
                .args(args)
                .current_dir(workspace.path()),
        )
    };
    run(&["score", "rows.jsonl", "-q"]);
    let exported = run(&["export", "last", "-o", FILE]);
    assert_eq!(exported.status.code(), Some(0), "{}", both(&exported));
    workspace
}

fn home(workspace: &TestWorkspace) -> PathBuf {
    workspace.path().join("home")
}

fn temporary(workspace: &TestWorkspace) -> PathBuf {
    workspace.path().join("tmp")
}

/// The temporary folders of evaltrail.
fn unpacked(workspace: &TestWorkspace) -> Vec<PathBuf> {
    let entries = fs::read_dir(temporary(workspace))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.filter(|path| !path.ends_with(".keep")).collect()
}

fn opened(workspace: &TestWorkspace) -> Terminal {
    let tmp = temporary(workspace).display().to_string();
    let terminal = Terminal::start_in(
        BINARY,
        &["open", FILE],
        &home(workspace),
        (120, 30),
        workspace.path(),
        &[("TMPDIR", &tmp)],
    );
    terminal.wait_for("case_0");
    assert_eq!(unpacked(workspace).len(), 1);
    terminal
}

fn each_below(path: &Path, check: &mut impl FnMut(&Path)) {
    check(path);
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            each_below(&entry.unwrap().path(), check);
        }
    }
}

#[test]
fn only_the_user_can_read_an_opened_run() {
    let workspace = workspace_with_file();
    let mut terminal = opened(&workspace);
    let mut count = 0;
    for folder in unpacked(&workspace) {
        each_below(&folder, &mut |path| {
            let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
            let right = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, right, "{}: {mode:o}", path.display());
            count += 1;
        });
    }
    assert!(count > 4, "the folder, and those of the run with its files");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    assert_eq!(unpacked(&workspace), Vec::<PathBuf>::new());
}

#[test]
fn opened_run_is_deleted_on_signal() {
    let workspace = workspace_with_file();
    for signal in ["TERM", "HUP", "INT"] {
        let mut terminal = opened(&workspace);
        terminal.signal(signal);
        terminal.wait_for_end();
        assert_eq!(
            unpacked(&workspace),
            Vec::<PathBuf>::new(),
            "after {signal}"
        );
    }
}

#[test]
fn opened_run_is_deleted_on_terminal_hangup() {
    let workspace = workspace_with_file();
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(BINARY);
    command.args(["open", FILE]);
    command.cwd(workspace.path());
    command.env("EVALTRAIL_HOME", home(&workspace));
    command.env("TMPDIR", temporary(&workspace));
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let limit = Duration::from_secs(60);
    let journals = || {
        let mut found = Vec::new();
        unpacked(&workspace).iter().for_each(|folder| {
            each_below(folder, &mut |path| {
                found.extend(path.ends_with("journal.jsonl").then(|| path.to_path_buf()));
            });
        });
        (!found.is_empty()).then_some(())
    };
    wait_for("the unpacked run", limit, journals);
    drop(pair.master);
    wait_for("the end", limit, || child.try_wait().unwrap());
    assert_eq!(unpacked(&workspace), Vec::<PathBuf>::new());
}

/// A process that is killed cannot delete anything: the next start does.
#[test]
fn next_start_deletes_runs_of_killed_process() {
    let workspace = workspace_with_file();
    let mut killed = opened(&workspace);
    killed.signal("KILL");
    killed.wait_for_end();
    let left = unpacked(&workspace);
    assert_eq!(left.len(), 1);
    let mut alive = opened(&workspace);
    let now = unpacked(&workspace);
    assert!(!now.contains(&left[0]), "{now:?}");
    // Another start deletes nothing of a process that exists.
    let listed = output(
        evaltrail(&home(&workspace))
            .args(["list", "."])
            .env("TMPDIR", temporary(&workspace))
            .current_dir(workspace.path()),
    );
    assert_eq!(listed.status.code(), Some(0), "{}", both(&listed));
    assert_eq!(unpacked(&workspace), now);
    alive.keys("q");
    assert_eq!(alive.wait_for_end(), 0);
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

/// Opens a file without a terminal, which reports what is wrong with the file first.
fn refusal(workspace: &TestWorkspace, file: &str) -> String {
    let refused = output(
        evaltrail(&home(workspace))
            .args(["open", file])
            .env("TMPDIR", temporary(workspace))
            .current_dir(workspace.path()),
    );
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    assert_eq!(unpacked(workspace), Vec::<PathBuf>::new());
    both(&refused)
}

#[test]
fn a_pipe_is_not_waited_for() {
    let workspace = workspace_with_file();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = workspace.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut child = evaltrail(&home(&workspace))
        .args(["open", "pipe"])
        .current_dir(workspace.path())
        .spawn()
        .unwrap();
    let mut time = TimeLimit::new(Duration::from_secs(30));
    let ended = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if time.has_passed() {
            child.kill().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(ended.expect("it waits for the pipe").code(), Some(2));
    assert!(refusal(&workspace, "pipe").contains("not a regular file"));
    assert!(refusal(&workspace, "/dev/zero").contains("not a regular file"));
}

#[test]
fn a_file_that_unpacks_to_too_much_is_refused() {
    let workspace = workspace_with_file();
    let mut text = Vec::new();
    GzDecoder::new(fs::File::open(workspace.path().join(FILE)).unwrap())
        .read_to_end(&mut text)
        .unwrap();
    let header_and_plan: usize = text
        .split_inclusive(|byte| *byte == b'\n')
        .take(2)
        .map(<[u8]>::len)
        .sum();
    let with = |more: &[u8]| {
        let mut all = text[..header_and_plan].to_vec();
        all.extend_from_slice(more);
        fs::write(workspace.path().join("attack.evaltrail"), packed(&all)).unwrap();
        refusal(&workspace, "attack.evaltrail")
    };
    assert!(
        with(&b"\n".repeat(1 << 20)).contains("damaged"),
        "lines without content"
    );
    assert!(with(&b"{}\n".repeat(1 << 20)).contains("more lines than the run has attempts"));
    let mut long = b"{\"a\":\"".to_vec();
    long.resize(48 << 20, b'0');
    long.extend_from_slice(b"\"}\n");
    assert!(with(&long).contains("too much for its size"));
    // Packed files one after the other are one packed file; each takes memory and time, although it has no content.
    let empty = packed(b"").repeat(1 << 20);
    let run = fs::read(workspace.path().join(FILE)).unwrap();
    fs::write(
        workspace.path().join("attack.evaltrail"),
        [run, empty].concat(),
    )
    .unwrap();
    assert!(refusal(&workspace, "attack.evaltrail").contains("damaged"));
}
