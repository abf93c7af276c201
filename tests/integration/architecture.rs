//! The structure of the crate: a module imports only modules above it in the list of `lib.rs`, pure modules do no I/O,
//! and what must happen in one place happens in one place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The modules of the crate in the order of `lib.rs`, which is the order of the layers.
fn layers() -> Vec<String> {
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

/// Each source file of a module: its path below `src`, and its code without tests and comments.
fn sources(module: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    files_below(&root().join("src").join(module), &mut files);
    files
        .into_iter()
        .filter(|path| {
            !path.ends_with("tests.rs") && !path.components().any(|part| part.as_os_str() == "tests")
        })
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("\nmod tests {").next().unwrap().to_string();
            let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let name = path.strip_prefix(root().join("src")).unwrap().display().to_string();
            (name, code.join("\n"))
        })
        .collect()
}

/// The modules of the crate that some code names: `crate::name`, also inside `use crate::{…}`.
fn modules_named(code: &str) -> BTreeSet<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut named = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            None => drop(named.insert(name(rest))),
            Some(group) => named.extend(members(group).iter().map(|member| name(member))),
        }
    }
    named
}

/// The members of a group of imports, given the text behind its opening brace.
fn members(group: &str) -> Vec<String> {
    let mut members = vec![String::new()];
    let mut depth = 0;
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => members.push(String::new()),
            c => members.last_mut().unwrap().push(c),
        }
    }
    members
}

#[test]
fn imports_inside_a_group_are_seen() {
    let code = "use crate::{diff::{Line, Span}, domain, net as other};\nlet x = crate::store::save();";
    let named: Vec<String> = modules_named(code).into_iter().collect();
    assert_eq!(named, ["diff", "domain", "net", "store"]);
}

#[test]
fn a_module_imports_only_modules_above_it() {
    let layers = layers();
    assert_eq!(layers.len(), 19);
    for (at, module) in layers.iter().enumerate() {
        for (file, code) in sources(module) {
            let named = modules_named(&code);
            for below in &layers[at + 1..] {
                assert!(!named.contains(below), "{file} uses {below}, which is below {module}");
            }
        }
    }
}

/// Files that import each other, directly or through others. A comment in the first of each line says why.
const CIRCLES: &[&[&str]] = &[
    &["metrics/judged/seal.rs", "metrics/judged/json_verdict.rs"],
    &["runner/scoring.rs", "runner/attempt.rs", "runner/conversation.rs"],
    &[
        "explorer/screens/case/body.rs",
        "explorer/screens/case/compare.rs",
        "explorer/screens/case/judged.rs",
        "explorer/screens/case/state.rs",
        "explorer/screens/case/timeline.rs",
    ],
];

#[test]
fn files_of_a_module_import_each_other_in_one_direction() {
    let mut in_circles = BTreeSet::new();
    for module in layers() {
        let sources: BTreeMap<String, String> = sources(&module).into_iter().collect();
        let imports: BTreeMap<&String, BTreeSet<&String>> =
            sources.iter().map(|(file, code)| (file, files_imported(file, code, &sources))).collect();
        in_circles
            .extend(imports.keys().filter(|file| reaches(file, file, &imports)).map(|file| file.to_string()));
    }
    let allowed: BTreeSet<String> = CIRCLES.iter().copied().flatten().map(|file| file.to_string()).collect();
    assert_eq!(in_circles, allowed);
}

#[test]
fn imports_of_files_are_seen() {
    let files = ["a/b.rs", "a/c/d.rs", "a/e.rs"].map(|file| (file.to_string(), String::new())).into();
    let code = "use super::e;\nuse crate::a::{c::d::Thing, other};";
    let seen: Vec<&String> = files_imported("a/b.rs", code, &files).into_iter().collect();
    assert_eq!(seen, ["a/c/d.rs", "a/e.rs"]);
    let seen = files_imported("a/c/d.rs", "super::super::b::make()", &files);
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["a/b.rs"]);
}

/// The files that some code names by a path from `crate` or `super`. The `mod.rs` files only collect names, and are no
/// targets.
fn files_imported<'a>(file: &str, code: &str, files: &'a BTreeMap<String, String>) -> BTreeSet<&'a String> {
    let module: Vec<&str> = file.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
    let mut imported = BTreeSet::new();
    for start in path_starts(code) {
        let path: String =
            code[start..].chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect();
        let is_group = code[start + path.len()..].starts_with('{');
        let ends = if is_group { members(&code[start + path.len() + 1..]) } else { vec![String::new()] };
        for end in ends {
            let end: String =
                end.trim().chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect();
            let whole = format!("{path}{end}");
            let mut parts = whole.split("::").filter(|part| !part.is_empty()).peekable();
            let mut at: Vec<&str> = if parts.peek() == Some(&"crate") { Vec::new() } else { module.clone() };
            for part in parts {
                match part {
                    "crate" => {}
                    "super" => drop(at.pop()),
                    part => at.push(part),
                }
            }
            let longest = (1..=at.len()).rev().find_map(|length| {
                let path = at[..length].join("/");
                files.get_key_value(&format!("{path}.rs")).map(|(file, _)| file)
            });
            imported.extend(longest.filter(|found| *found != file));
        }
    }
    imported
}

/// Where paths from `crate` or `super` begin.
fn path_starts(code: &str) -> Vec<usize> {
    let begins = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
    let of = |word: &'static str| code.match_indices(word).map(|(at, _)| at).filter(|at| begins(*at));
    of("crate::").chain(of("super::")).collect()
}

/// Whether imports lead from one file to another.
fn reaches(from: &str, to: &str, imports: &BTreeMap<&String, BTreeSet<&String>>) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        let Some((_, next)) = imports.iter().find(|(name, _)| name.as_str() == file) else { continue };
        for next in next {
            if next.as_str() == to {
                return true;
            }
            if seen.insert(next.as_str()) {
                open.push(next.as_str());
            }
        }
    }
    false
}

/// The explorer's own layers: what its parts may not import.
#[test]
fn the_explorer_has_layers() {
    const NEVER: &[(&str, &[&str])] = &[
        ("explorer/widgets/", &["screens::", "overlays::", "terminal::", "update::"]),
        ("explorer/theme.rs", &["screens::", "overlays::", "terminal::", "update::", "model::"]),
        ("explorer/", &["terminal::"]),
    ];
    for (file, code) in sources("explorer") {
        for (part, never) in NEVER {
            let is_terminal = file.starts_with("explorer/terminal/") || file == "explorer/mod.rs";
            for what in never.iter().filter(|_| file.starts_with(part) && !is_terminal) {
                assert!(!code.contains(&format!("crate::explorer::{what}")), "{file} uses {what}");
            }
        }
    }
}

#[test]
fn pure_modules_do_no_io() {
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
    for module in ["domain", "diff", "metrics", "analysis", "formats", "config", "report", "explorer"] {
        for (file, code) in sources(module) {
            let touches = file.starts_with("explorer/terminal/");
            // The clock limits the time of one comparison.
            let has_clock = |word: &str| file == "diff/sequence.rs" && word == "Instant::now";
            for word in WORLD.iter().filter(|word| !touches && !has_clock(word)) {
                // `ratatui::crossterm` styles are data.
                assert!(!code.contains(word), "{file} uses {word}");
            }
        }
    }
}

/// (what, the only files that may).
const ONLY_IN: &[(&str, &[&str])] = &[
    (
        "Command::new(",
        &[
            "process/keeper.rs",
            "process/job.rs",
            "explorer/terminal/clipboard.rs",
            "explorer/terminal/editor.rs",
        ],
    ),
    // On Windows it returns a path that other programs do not understand: `dunce::canonicalize` is used.
    ("fs::canonicalize(", &[]),
    (".canonicalize()", &[]),
    // Everything that a subcommand prints is cleaned.
    ("println!(", &[]),
    (
        "io::stdout()",
        &[
            "cli/output.rs",
            "explorer/terminal/guard.rs",
            "explorer/terminal/clipboard.rs",
            "explorer/terminal/event_loop/mod.rs",
            "cli/terminal.rs",
            "cli/docs.rs",
        ],
    ),
    // A file that may be anybody's is read by the one bounded reader.
    ("fs::read(", &["store/answers.rs", "store/save.rs", "history/index.rs"]),
    (
        "read_to_string(",
        &[
            "buckets/stores.rs",
            "process/keeper.rs",
            "process/private_folder.rs",
            "cli/edit.rs",
            "explorer/terminal/editor.rs",
            "store/remembered.rs",
            "store/run_key.rs",
            "store/trust.rs",
        ],
    ),
    ("Client::builder", &["net/http.rs"]),
    // The clients of object stores are made with limits, and follow no redirects.
    ("Builder::from_env", &["buckets/stores.rs"]),
    ("fs::write(", &[]),
    (
        "OpenOptions::new()",
        &["store/bucket_copy.rs", "store/edits.rs", "store/own_folder.rs", "store/save.rs", "cli/explore.rs"],
    ),
    ("enable_raw_mode", &["explorer/terminal/guard.rs"]),
    ("set_symbol(", &[]),
    ("unbounded_channel", &["runner/conversation.rs", "runner/start.rs"]),
    (".unwrap()", &[]),
    // NaN and the infinities are literals that it reads as other numbers: `domain::float_of` and `finite_number` read them.
    ("as_f64", &["domain/number.rs"]),
    ("todo!(", &[]),
    ("#[allow(dead_code", &[]),
];

#[test]
fn what_must_happen_in_one_place_does() {
    for module in layers() {
        for (file, code) in sources(&module) {
            for (what, allowed) in ONLY_IN {
                assert!(!code.contains(what) || allowed.contains(&file.as_str()), "{file} has {what}");
            }
        }
    }
}

/// A reader who sees a name knows which type it is.
#[test]
fn names_of_public_types_are_unique() {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for module in layers() {
        for (file, code) in sources(&module) {
            for line in code.lines().filter_map(|line| line.trim_start().strip_prefix("pub ")) {
                let Some((kind, rest)) = line.split_once(' ') else { continue };
                if !["struct", "enum", "trait"].contains(&kind) {
                    continue;
                }
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                if let Some(other) = seen.insert(name.clone(), file.clone()) {
                    panic!("{name} is in {other} and in {file}");
                }
            }
        }
    }
}

/// A file that `main.rs` does not declare is not compiled, and its tests never run.
#[test]
fn every_file_of_tests_is_declared() {
    let folder = root().join("tests");
    let main = std::fs::read_to_string(folder.join("integration/main.rs")).unwrap();
    let mut declared: Vec<&str> =
        main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    let mut found: Vec<String> = std::fs::read_dir(folder.join("integration"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("mod.rs").is_file() || path.extension().is_some_and(|ending| ending == "rs"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "main")
        .collect();
    declared.sort_unstable();
    found.sort_unstable();
    assert_eq!(declared, found);
    let others = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(others.eq(["integration"]), "integration tests are one binary: tests/integration");
}
