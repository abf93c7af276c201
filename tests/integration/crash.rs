//! Saves that are killed, or fail because the disk is full or broken, at each system call that changes files. The
//! file has the old or the new content, never a mix of both, and the next start removes temporary files.
#![cfg(target_os = "linux")]

use crate::common::{TestWorkspace, both, evaltrail};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// System calls that change files, by their names in strace.
const CALLS: &[&str] = &[
    "openat",
    "write",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "link",
    "linkat",
    "chmod",
    "fchmod",
    "fchown",
    "fsetxattr",
    "ftruncate",
    "mkdir",
    "mkdirat",
    "flock",
];

fn strace() -> Option<PathBuf> {
    let works = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|s| s.success());
    if !works {
        assert!(
            std::env::var_os("EVALTRAIL_REQUIRE_STRACE").is_none(),
            "strace is required here"
        );
        eprintln!("strace is not here, or may not trace: skipped");
    }
    works.then(|| "strace".into())
}

fn case(words: &str) -> String {
    format!(
        r#"{{"eval_id": "a", "conversation": [{{"user_content": {{"parts": [{{"text": "{words}"}}], "role": "user"}}}}]}}"#
    )
}

fn set(words: &str) -> String {
    format!(
        "{{\"eval_set_id\": \"s\", \"eval_cases\": [\n  {}\n]}}\n",
        case(words)
    )
}

/// A text that is larger than one write.
fn long(word: &str) -> String {
    word.repeat(40_000)
}

struct Bench {
    workspace: TestWorkspace,
}

impl Bench {
    fn new() -> Bench {
        let workspace = TestWorkspace::new(&[
            ("s.evalset.json", set(&long("old"))),
            ("new.json", case(&long("new"))),
        ]);
        // `.evaltrail` already exists, so that only the save changes files.
        std::fs::create_dir_all(workspace.path().join(".evaltrail")).unwrap();
        std::fs::write(workspace.path().join(".evaltrail/.gitignore"), "*\n").unwrap();
        Bench { workspace }
    }

    fn file(&self) -> PathBuf {
        self.workspace.path().join("s.evalset.json")
    }

    fn save(&self, strace: &[&str]) -> Output {
        let mut command = Command::new("strace");
        command
            .arg("-f")
            .args(strace)
            .arg(env!("CARGO_BIN_EXE_evaltrail"));
        command
            .env("EVALTRAIL_HOME", self.workspace.path().join("home"))
            .arg("edit")
            .arg(self.file());
        command
            .arg("--from")
            .arg(self.workspace.path().join("new.json"))
            .output()
            .unwrap()
    }

    fn reset(&self) {
        std::fs::write(self.file(), set(&long("old"))).unwrap();
        let _ = std::fs::remove_file(self.workspace.path().join("home/edits.jsonl"));
    }

    /// Whether the file has the new content. Panics if it has neither the old nor the new one.
    fn is_new(&self, what: &str) -> bool {
        let now =
            std::fs::read_to_string(self.file()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let (old, new) = (set(&long("old")), set(&long("new")));
        assert!(
            now == old || now == new,
            "{what}: torn, {} bytes",
            now.len()
        );
        now == new
    }

    fn next_start(&self) -> Output {
        let mut command = evaltrail(self.workspace.path());
        let from = self.workspace.path().join("new.json");
        command
            .arg("edit")
            .arg(self.file())
            .args(["--dry-run", "--from"])
            .arg(from)
            .output()
            .unwrap()
    }

    fn left_behind(&self) -> Vec<PathBuf> {
        let is_ours = |path: &Path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            !["s.evalset.json", "new.json", "home", ".evaltrail"].contains(&name.as_str())
        };
        let entries = std::fs::read_dir(self.workspace.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| is_ours(path))
            .collect()
    }
}

/// How often a successful save makes each call.
fn counts(bench: &Bench) -> Vec<(&'static str, usize)> {
    let log = bench.workspace.path().join(".evaltrail/trace");
    let saved = bench.save(&["-o", log.to_str().unwrap()]);
    assert!(saved.status.success(), "{}", both(&saved));
    assert!(bench.is_new("a save without faults"));
    bench.reset();
    let trace = std::fs::read_to_string(log).unwrap();
    let made = |call: &str| {
        trace
            .lines()
            .filter(|line| line.contains(&format!(" {call}(")))
            .count()
    };
    CALLS
        .iter()
        .map(|call| (*call, made(call)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[test]
fn killed_save_leaves_old_or_new_file() {
    if strace().is_none() {
        return;
    }
    let bench = Bench::new();
    let counts = counts(&bench);
    let (mut points, mut old, mut new) = (0, 0, 0);
    for (call, count) in counts {
        for when in 1..=count {
            let what = format!("killed at {call} {when}");
            bench.save(&[
                "-o",
                "/dev/null",
                "-e",
                &format!("inject={call}:signal=KILL:when={when}"),
            ]);
            match bench.is_new(&what) {
                true => new += 1,
                false => old += 1,
            }
            points += 1;
            bench.next_start();
            assert_eq!(bench.left_behind(), Vec::<PathBuf>::new(), "{what}");
            bench.reset();
        }
    }
    assert!(
        old > 0 && new > 0,
        "the file was {old} times the old one and {new} times the new one"
    );
    eprintln!("{points} points of a kill: {old} old, {new} new, 0 torn");
}

#[test]
fn disk_fault_saves_fully_or_reports_error() {
    if strace().is_none() {
        return;
    }
    let bench = Bench::new();
    let mut points = 0;
    for (call, count) in counts(&bench) {
        for when in 1..=count {
            for fault in ["ENOSPC", "EIO"] {
                let what = format!("{fault} at {call} {when}");
                let saved = bench.save(&[
                    "-o",
                    "/dev/null",
                    "-e",
                    &format!("inject={call}:error={fault}:when={when}"),
                ]);
                let is_new = bench.is_new(&what);
                assert!(
                    is_new || !saved.status.success(),
                    "{what}: not saved, and not said: {}",
                    both(&saved)
                );
                points += 1;
                bench.next_start();
                assert_eq!(bench.left_behind(), Vec::<PathBuf>::new(), "{what}");
                bench.reset();
            }
        }
    }
    eprintln!("{points} faults, 0 torn");
}
