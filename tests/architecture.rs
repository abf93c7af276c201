//! The house keeps its shape: imports go up the list of rooms, pure rooms stay pure, and what must
//! happen in one place happens in one place.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The rooms in the order of `lib.rs`, which is the order of the arrows.
fn rooms() -> Vec<String> {
    let lib = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    lib.lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_string))
        .collect()
}

fn files_below(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, out);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            out.push(path);
        }
    }
}

/// Each source file of a room: its path below `src`, and its code without tests and comments.
fn sources(room: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    files_below(&root().join("src").join(room), &mut files);
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("\nmod tests {").next().unwrap().to_string();
            let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let name = path.strip_prefix(root().join("src")).unwrap().display().to_string();
            (name, code.join("\n"))
        })
        .collect()
}

#[test]
fn imports_go_up_the_list_of_rooms() {
    let rooms = rooms();
    assert_eq!(rooms.len(), 16);
    for (at, room) in rooms.iter().enumerate() {
        for (file, code) in sources(room) {
            for below in &rooms[at + 1..] {
                let import = format!("crate::{below}");
                let found = code.match_indices(&import).any(|(at, _)| {
                    !code[at + import.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
                });
                assert!(!found, "{file} uses {below}, which is below {room}");
            }
        }
    }
}

#[test]
fn pure_rooms_touch_nothing() {
    const WORLD: &[&str] = &[
        "std::fs",
        "std::net",
        "std::process",
        "std::env",
        "std::thread",
        "tokio",
        "reqwest",
        "Instant::now",
        "SystemTime",
        "Timestamp::now",
        "Uuid::new",
        "println!",
        "eprintln!",
        "std::io::stdout",
        "crossterm::",
    ];
    for room in ["domain", "diff", "metrics", "formats", "config", "report", "app", "ui"] {
        for (file, code) in sources(room) {
            for word in WORLD {
                // `ratatui::crossterm` styles are data.
                assert!(!code.contains(word), "{file} uses {word}");
            }
        }
    }
}

/// (what, the only files that may).
const ONLY_IN: &[(&str, &[&str])] = &[
    ("Command::new(", &["agents/process.rs", "agents/keeper.rs", "shell/clipboard.rs", "shell/editor.rs"]),
    // Everything that a subcommand prints is cleaned.
    ("println!(", &[]),
    (
        "io::stdout()",
        &[
            "cli/output.rs",
            "shell/terminal.rs",
            "shell/clipboard.rs",
            "shell/event_loop.rs",
            "cli/explore.rs",
            "cli/docs.rs",
        ],
    ),
    // A file that may be anybody's is read by the one bounded reader.
    ("fs::read(", &["store/answers.rs", "store/save.rs", "history/index.rs"]),
    (
        "read_to_string(",
        &[
            "agents/keeper.rs",
            "cli/edit.rs",
            "shell/editor.rs",
            "store/remembered.rs",
            "store/run_key.rs",
            "store/trust.rs",
        ],
    ),
    ("Client::builder", &["agents/http.rs"]),
    ("fs::write(", &[]),
    ("OpenOptions::new()", &["store/edits.rs", "store/own_folder.rs", "store/save.rs", "cli/explore.rs"]),
    ("enable_raw_mode", &["shell/terminal.rs"]),
    ("set_symbol(", &[]),
    ("unbounded_channel", &["runner/conversation.rs", "runner/start.rs"]),
    (".unwrap()", &[]),
    ("todo!(", &[]),
    ("#[allow(dead_code", &[]),
];

#[test]
fn what_must_happen_in_one_place_does() {
    for room in rooms() {
        for (file, code) in sources(&room) {
            for (what, allowed) in ONLY_IN {
                assert!(!code.contains(what) || allowed.contains(&file.as_str()), "{file} has {what}");
            }
        }
    }
}
