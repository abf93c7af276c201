//! Every hostile folder with every subcommand and the explorer: nothing is executed, no connection is opened, no key
//! and no escape sequence is printed, nothing outside is written, and memory and time are bounded.
#![cfg(target_os = "linux")]

use crate::common::terminal::Terminal;
use crate::common::time_limit::TimeLimit;
use crate::common::{copy_folder, evaltrail, peak_memory, root};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_evaltrail");
const CANARY: &str = "canary-of-the-environment";
/// A key in a `.env` file of the corpus.
const FILE_CANARY: &str = "canary-in-a-file";
const LIMIT: Duration = Duration::from_secs(30);
const MAX_MEMORY_MB: u64 = 300;

/// Hostile folders, a home folder, and a listener that must not get a connection.
struct Arena {
    temp_folder: tempfile::TempDir,
    trapped: Arc<AtomicUsize>,
}

impl Arena {
    fn new() -> Arena {
        let temp_folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            (".netrc", "machine x password canary-netrc\n"),
            (".bashrc", "# mine\n"),
            ("secret", "mine\n"),
        ] {
            fs::create_dir_all(temp_folder.path().join("home")).unwrap();
            fs::write(temp_folder.path().join("home").join(file), text).unwrap();
        }
        let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", trap.local_addr().unwrap());
        let trapped = Arc::new(AtomicUsize::new(0));
        let count = trapped.clone();
        std::thread::spawn(move || {
            for connection in trap.incoming() {
                drop(connection);
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let arena = Arena {
            temp_folder,
            trapped,
        };
        let corpus = arena.corpus();
        copy_folder(&root().join("fixtures/hostile"), &corpus);
        arena.generate(&corpus);
        arena.fill_in(&corpus, &address);
        arena
    }

    fn corpus(&self) -> PathBuf {
        self.temp_folder.path().join("corpus")
    }

    fn home(&self) -> PathBuf {
        self.temp_folder.path().join("home")
    }

    fn mark(&self) -> PathBuf {
        self.temp_folder.path().join("it_was_executed")
    }

    /// The folders of the corpus.
    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.corpus())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        folders.sort();
        folders
    }

    /// Puts the address of the listener and the path of the marker into the files that name them.
    fn fill_in(&self, folder: &Path, address: &str) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                self.fill_in(&entry.path(), address);
            } else if kind.is_file() && entry.metadata().unwrap().len() < 100_000 {
                let text = fs::read(entry.path()).unwrap();
                let Ok(text) = String::from_utf8(text) else {
                    continue;
                };
                let mark = self.mark().display().to_string();
                fs::write(
                    entry.path(),
                    text.replace("@TRAP@", address).replace("@MARK@", &mark),
                )
                .unwrap();
            }
        }
    }

    /// Creates the folders that cannot be stored in git.
    fn generate(&self, corpus: &Path) {
        let secret = self.home().join("secret");
        let make = |name: &str| {
            let folder = corpus.join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("set.evalset.json"), plain_set()).unwrap();
            fs::write(
                folder.join("rows.jsonl"),
                "{\"prompt\": \"p\", \"response\": \"r\"}\n",
            )
            .unwrap();
            folder
        };
        for (name, target) in [
            (
                "config_is_the_environment",
                PathBuf::from("/proc/self/environ"),
            ),
            ("config_is_netrc", self.home().join(".netrc")),
            ("config_is_endless", PathBuf::from("/dev/zero")),
        ] {
            symlink(&target, make(name).join("evaltrail.toml")).unwrap();
        }
        symlink(
            "/dev/zero",
            make("criteria_are_endless").join("test_config.json"),
        )
        .unwrap();
        symlink(&secret, make("set_is_a_link").join("other.evalset.json")).unwrap();
        symlink(
            "/dev/zero",
            make("set_is_endless").join("other.evalset.json"),
        )
        .unwrap();
        for (name, file) in [
            ("config_is_a_pipe", "evaltrail.toml"),
            ("criteria_are_a_pipe", "test_config.json"),
            ("set_is_a_pipe", "other.evalset.json"),
            ("notes_are_a_pipe", "set.evaltrail.json"),
            ("env_is_a_pipe", ".env"),
            ("module_is_a_pipe", "agent.py"),
        ] {
            pipe(&make(name).join(file));
        }
        let recorded = make("recording_is_a_pipe");
        fs::write(
            recorded.join("evaltrail.toml"),
            "[agents.a]\nkind = \"replay\"\nrecording = \"r\"\n",
        )
        .unwrap();
        pipe(&recorded.join("r"));
        let endless = make("judge_is_endless");
        let judge = "[judge]\nkind = \"replay\"\nrecording = \"/dev/zero\"\n";
        fs::write(endless.join("evaltrail.toml"), judge).unwrap();
        let criteria = json!({"criteria": {"final_response_match_v2": {"threshold": 0.5}}});
        fs::write(endless.join("test_config.json"), criteria.to_string()).unwrap();
        symlink(self.home(), make("own_folder_is_a_link").join(".evaltrail")).unwrap();
        let runs = make("runs_are_a_link");
        fs::create_dir(runs.join(".evaltrail")).unwrap();
        symlink(self.home(), runs.join(".evaltrail/runs")).unwrap();
        symlink(&secret, runs.join(".evaltrail/verdicts.jsonl")).unwrap();
        symlink(
            self.home().join(".bashrc"),
            runs.join(".evaltrail/edits.jsonl"),
        )
        .unwrap();
        let named = make("named_with_escapes");
        for name in [
            "\u{1b}]52;c;eA==\u{7}.evalset.json",
            "\u{9b}2J\u{202e}.evalset.json",
            "\u{1b}[2J.jsonl",
        ] {
            fs::write(
                named.join(name),
                "{\"eval_set_id\": \"\u{1b}[2J\", \"eval_cases\": 1}",
            )
            .unwrap();
        }
        self.plant_runs(&make("planted_runs"));
        self.large(corpus);
    }

    /// Creates runs and a log of edits, as if they came with the folder.
    fn plant_runs(&self, folder: &Path) {
        let secret = self.home().join("secret");
        let set = |path: PathBuf| {
            json!({"id": "s", "file": "set.evalset.json", "path": path, "digest": "",
                "agent": {"kind": "command", "argv": ["touch", "@MARK@"], "cwd": "/"}, "agent_name": "x",
                "app_dir": null, "criteria": []})
        };
        let judge = json!({"provider": "openai", "model": "m", "url": "@TRAP@", "key_env": "CANARY_API_KEY",
            "jobs": 1, "timeout_ms": 1000, "retries": 0, "cache": true, "from_folder": false});
        let plan = json!({
            "format": 2, "run_id": "planted\u{1b}]52;c;eA==\u{7}", "started": "2099-01-01T00:00:00Z",
            "sets": [set(secret.clone()), set(folder.join("set.evalset.json"))],
            "cases": [{"set": 0, "index": 0, "eval_id": "a"}, {"set": 1, "index": 0, "eval_id": "a"}],
            "options": {"jobs": 1, "repeat": 9, "timeout_ms": 1000, "retries": 0},
            "judge": judge,
        });
        let ended = |attempt: u32, state: Value| {
            json!({"key": {"case": 1, "attempt": attempt}, "eval_id": "a", "status": "errored",
                "adk_status": "failed", "started": "2099-01-01T00:00:00Z", "latency_s": 0.5,
                "error": "\u{1b}]52;c;eA==\u{7}", "metrics": [], "expected": [], "actual": [],
                "actual_state": state, "session_id": "", "user_id": "", "tries": 1})
        };
        // Lines that take many times their length in memory.
        let lists = |attempt: u32, bytes: usize| {
            let lists = format!("[{}[]]", "[],".repeat(bytes / 3));
            ended(attempt, json!("@LISTS@"))
                .to_string()
                .replace("\"@LISTS@\"", &lists)
        };
        let long: Vec<String> = (2..8).map(|attempt| lists(attempt, 2_000_000)).collect();
        let plant = |name: &str, lines: &[String]| {
            let run = folder.join(".evaltrail/runs").join(name);
            fs::create_dir_all(&run).unwrap();
            fs::write(run.join("run.json"), plan.to_string()).unwrap();
            fs::write(run.join("journal.jsonl"), lines.join("\n") + "\n").unwrap();
            run.join("journal.jsonl")
        };
        plant(
            "planted",
            &[
                &[ended(1, Value::Null).to_string()],
                &long[..],
                &[lists(8, 60 << 20)],
            ]
            .concat(),
        );
        // A line of 600 MB without an end.
        let endless = plant("endless", &[ended(1, Value::Null).to_string()]);
        fs::OpenOptions::new()
            .write(true)
            .open(endless)
            .unwrap()
            .set_len(600 << 20)
            .unwrap();
        let edit = json!({"made": {"id": 1, "at": "", "words": "x", "files": [{"path": secret,
            "before": null, "after": null, "change": []}]}});
        fs::write(folder.join(".evaltrail/edits.jsonl"), format!("{edit}\n")).unwrap();
    }

    fn large(&self, corpus: &Path) {
        let sparse = corpus.join("sparse");
        fs::create_dir_all(&sparse).unwrap();
        fs::File::create(sparse.join("huge.evalset.json"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        fs::File::create(sparse.join("evaltrail.toml"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let deep = corpus.join("deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("deep.evalset.json"), "[".repeat(2_000_000)).unwrap();
        fs::write(
            deep.join("rows.jsonl"),
            "{\"prompt\": ".to_string() + &"[".repeat(100_000) + "\n",
        )
        .unwrap();
        let many = corpus.join("many_problems");
        fs::create_dir_all(&many).unwrap();
        let cases: Vec<_> = (0..6_000)
            .map(|n| json!({"eval_id": n, "conversation": "none"}))
            .collect();
        fs::write(
            many.join("a.evalset.json"),
            json!({"eval_set_id": "a", "eval_cases": cases}).to_string(),
        )
        .unwrap();
        let keys: String = (0..20_000)
            .map(|n| format!("\"k{}\": 1, ", n % 10_000))
            .collect();
        let twice = plain_set().replacen('{', &format!("{{{keys}"), 1);
        fs::write(many.join("b.evalset.json"), twice).unwrap();
        let line = corpus.join("one_long_line");
        fs::create_dir_all(&line).unwrap();
        let row = json!({"prompt": "p", "response": "long ".repeat(600_000), "reference": "r"});
        fs::write(
            line.join("rows.jsonl"),
            format!("{row}\n{{\"prompt\": \"q\", \"response\": \"r\"}}\n"),
        )
        .unwrap();
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = evaltrail(&self.temp_folder.path().join("own"));
        command
            .current_dir(folder)
            .env("HOME", self.home())
            .env("CANARY_API_KEY", CANARY);
        // With these keys, requests would be sent to real judge models.
        for key in [
            "GOOGLE_API_KEY",
            "GEMINI_API_KEY",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
        ] {
            command.env_remove(key);
        }
        command
    }

    /// Runs a subcommand and checks its memory, its time and its effects. Returns what it prints.
    fn run(&self, folder: &Path, arguments: &[&str]) -> String {
        let what = format!(
            "{} {arguments:?}",
            folder.file_name().unwrap().to_string_lossy()
        );
        let mut command = self.command(folder);
        let child = command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (said, peak) = watched(child.spawn().unwrap(), &what);
        assert!(peak < MAX_MEMORY_MB, "{what}: {peak} MB");
        self.check(&what, &said);
        said
    }

    fn check(&self, what: &str, said: &str) {
        for canary in [CANARY, FILE_CANARY, "canary-netrc"] {
            assert!(!said.contains(canary), "{what}: {said}");
        }
        assert!(!self.mark().exists(), "{what}: something was executed");
        assert_eq!(
            self.trapped.load(Ordering::SeqCst),
            0,
            "{what}: something was connected to"
        );
    }
}

fn plain_set() -> String {
    let case = json!({"eval_id": "a", "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": "hello"}]},
        "final_response": {"role": "model", "parts": [{"text": "ok"}]}}]});
    json!({"eval_set_id": "set", "eval_cases": [case]}).to_string()
}

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

/// Waits for a process. Returns everything that it prints, and its peak memory in MB.
fn watched(mut child: Child, what: &str) -> (String, u64) {
    let read = |mut stream: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            bytes
        })
    };
    let streams = [
        read(Box::new(child.stdout.take().unwrap())),
        read(Box::new(child.stderr.take().unwrap())),
    ];
    let (mut time, mut peak) = (TimeLimit::new(LIMIT), 0);
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_memory(child.id()).unwrap_or(0));
        if time.has_passed() {
            let _ = child.kill();
            panic!("{what}: still running after {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    let said: Vec<u8> = streams
        .into_iter()
        .flat_map(|stream| stream.join().unwrap())
        .collect();
    (
        String::from_utf8(said).unwrap_or_else(|error| panic!("{what}: {error}")),
        peak,
    )
}

/// The first control character or invisible character in an output.
fn is_clean(text: &str) -> Option<char> {
    text.chars()
        .find(|&c| c != '\n' && (c.is_control() || evaltrail_core::domain::is_hidden(c)))
}

/// The content of every file below a folder, without following links.
fn snapshot(folder: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            snapshot(&entry.path(), into);
        } else if kind.is_file() {
            into.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn subcommands_are_safe_in_hostile_folders() {
    let arena = Arena::new();
    let mut before = BTreeMap::new();
    snapshot(&arena.home(), &mut before);
    for folder in arena.folders() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let files: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|file| file.ends_with(".evalset.json") || file.ends_with(".jsonl"))
            .collect();
        let mut commands: Vec<Vec<String>> = [
            &["list", "--cases", "."][..],
            &["check", "."],
            &["run", "--timeout", "5s", "."],
            &["run", "--resume", "--timeout", "5s", "."],
            &["run", "--failed", "--timeout", "5s", "."],
            &["score", "."],
            &["accept", "last", "--write"],
            &["accept", "planted", "--write"],
            &["judge", "."],
        ]
        .iter()
        .map(|words| words.iter().map(ToString::to_string).collect())
        .collect();
        for file in &files {
            let out = arena
                .temp_folder
                .path()
                .join("converted.jsonl")
                .display()
                .to_string();
            let of = |words: &[&str]| {
                words
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<String>>()
            };
            commands.push(of(&["check", file]));
            commands.push(of(&["score", file]));
            commands.push(of(&[
                "convert", file, "-o", &out, "--to", "vertex", "--force",
            ]));
            commands.push(of(&[
                "edit",
                &format!("{file}:a"),
                "--from",
                file,
                "--dry-run",
            ]));
            commands.push(of(&["edit", file, "--undo"]));
        }
        for command in &commands {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let said = arena.run(&folder, &words);
            if name == "planted_runs" && words[0] == "list" {
                assert!(
                    said.contains("foreign"),
                    "what was planted is not shown: {said}"
                );
            }
            // A patch in a pipe is the input of a program, so its text is not escaped.
            let is_patch = matches!(words[0], "edit" | "accept");
            assert!(
                is_patch || is_clean(&said).is_none(),
                "{name} {words:?}: {:?} in {said:?}",
                is_clean(&said)
            );
        }
        let mut after = BTreeMap::new();
        snapshot(&arena.home(), &mut after);
        assert_eq!(before, after, "{name}: something outside was written");
    }
}

#[test]
fn the_explorer_opens_every_hostile_folder() {
    let arena = Arena::new();
    let mut before = BTreeMap::new();
    snapshot(&arena.home(), &mut before);
    let home = arena.home().display().to_string();
    for folder in arena.folders() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let env = [("HOME", home.as_str()), ("CANARY_API_KEY", CANARY)];
        let own = arena.temp_folder.path().join("own");
        let path = folder.display().to_string();
        let mut terminal = Terminal::start_in(BINARY, &[&path], &own, (110, 30), &folder, &env);
        // The explorer opens, or an error is printed.
        terminal.wait_until("the explorer", |screen| {
            screen.contains("Eval sets") || screen.contains("error:")
        });
        if terminal.is_alternate() {
            for keys in [
                "j", "\r", "\u{1b}", "r", "n", "u", "\u{1b}", "A", "\u{1b}", "y",
            ] {
                terminal.keys(keys);
                terminal.wait_until_quiet(Duration::from_millis(60));
            }
            terminal.signal("TERM");
        }
        terminal.wait_for_end();
        let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        arena.check(&name, &bytes);
        for sequence in [
            "\u{1b}]0;",
            "\u{1b}]2;",
            "\u{1b}P",
            "\u{1b}[8m",
            "\u{9b}",
            "\u{9d}",
        ] {
            assert!(!bytes.contains(sequence), "{name}: {sequence:?}");
        }
        // `y` copies to the clipboard, but a copy sequence in a file does not.
        let copied = bytes.split("\u{1b}]52;c;").skip(1);
        for copy in copied {
            let end = copy.find(['\u{7}', '\u{1b}']).unwrap_or(copy.len());
            assert_ne!(
                &copy[..end],
                "ZXZpbA==",
                "{name}: what the file wants is copied"
            );
        }
        let mut after = BTreeMap::new();
        snapshot(&arena.home(), &mut after);
        assert_eq!(before, after, "{name}: something outside was written");
    }
}
