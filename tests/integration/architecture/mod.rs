//! The structure of the crates: a module imports only modules above it in the list of `lib.rs`, pure modules do no I/O,
//! and what must happen in one place happens in one place.

mod imports;

use imports::SourceTree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folders of the sources of the crates. A crate uses those before it: the others are no dependencies of it.
fn crates() -> [PathBuf; 3] {
    let folders = [
        "crates/evaltrail-core/src",
        "crates/evaltrail-engine/src",
        "src",
    ];
    folders.map(|folder| root().join(folder))
}

/// The modules of all crates in the order of each `lib.rs`, which is the order of the layers.
fn layers() -> Vec<String> {
    let modules = |folder: PathBuf| {
        let lib = std::fs::read_to_string(folder.join("lib.rs")).unwrap();
        let module = |line: &str| {
            let name = line.strip_prefix("pub mod ")?.strip_suffix(';')?;
            Some(name.to_string())
        };
        lib.lines().filter_map(module).collect::<Vec<_>>()
    };
    crates().into_iter().flat_map(modules).collect()
}

/// The sources of the crate with this module.
fn sources_of_crate(module: &str) -> PathBuf {
    let has_module = |folder: &PathBuf| folder.join(module).is_dir();
    crates().into_iter().find(has_module).unwrap()
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

/// Each source file of a module: its path in its crate, and its code without tests and comments.
fn sources(module: &str) -> Vec<(String, String)> {
    let (mut files, folder) = (Vec::new(), sources_of_crate(module));
    files_below(&folder.join(module), &mut files);
    files
        .into_iter()
        .filter(|path| {
            !path.ends_with("tests.rs")
                && !path.components().any(|part| part.as_os_str() == "tests")
        })
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("\nmod tests {").next().unwrap().to_string();
            let code: Vec<&str> = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect();
            let name = path.strip_prefix(&folder).unwrap().display().to_string();
            (name, code.join("\n"))
        })
        .collect()
}

/// The modules of the crate that some code names: `crate::name`, also inside `use crate::{…}`.
fn modules_named(code: &str) -> BTreeSet<String> {
    let name = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
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
    let code =
        "use crate::{diff::{Line, Span}, domain, net as other};\nlet x = crate::store::save();";
    let named: Vec<String> = modules_named(code).into_iter().collect();
    assert_eq!(named, ["diff", "domain", "net", "store"]);
}

#[test]
fn a_module_imports_only_modules_above_it() {
    let layers = layers();
    assert_eq!(layers.len(), 20);
    for (at, module) in layers.iter().enumerate() {
        for (file, code) in sources(module) {
            let named = modules_named(&code);
            for below in &layers[at + 1..] {
                assert!(
                    !named.contains(below),
                    "{file} uses {below}, which is below {module}"
                );
            }
        }
    }
}

fn source_tree(files: &[(String, String)]) -> SourceTree {
    SourceTree::new(files.iter().cloned())
}

#[test]
fn files_use_each_other_in_one_direction() {
    let files = layers()
        .iter()
        .flat_map(|module| sources(module))
        .collect::<Vec<_>>();
    assert_eq!(
        source_tree(&files).circles(),
        BTreeSet::new(),
        "each of these files reaches itself"
    );
}

/// The parts of the explorer in the order of its `mod.rs`, which is the order of its layers. A screen and a dialog are parts
/// of their own.
fn parts_of_the_explorer() -> Vec<String> {
    let file = std::fs::read_to_string(root().join("src/explorer/mod.rs")).unwrap();
    let parts = file
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    parts.map(str::to_string).collect()
}

/// Files of the explorer that use a part below their own, or another screen or dialog.
fn upward_arrows(files: &[(String, String)]) -> Vec<String> {
    let parts = parts_of_the_explorer();
    let layer_of = |file: &str| -> Option<(usize, String)> {
        let path = file
            .strip_prefix("explorer/")?
            .trim_end_matches(".rs")
            .trim_end_matches("/mod");
        let (part, rest) = path.split_once('/').unwrap_or((path, ""));
        let has_own_parts = ["screens", "dialogs"].contains(&part);
        let own = rest
            .split('/')
            .next()
            .filter(|own| has_own_parts && !own.is_empty())
            .unwrap_or_default();
        Some((
            parts.iter().position(|other| other == part)?,
            own.to_string(),
        ))
    };
    let mut found = Vec::new();
    // A name that a part below only passes on.
    for (file, code) in files {
        let Some((at, _)) = layer_of(file) else {
            continue;
        };
        let is_named = |below: &&String| code.contains(&format!("crate::explorer::{below}"));
        let below = parts[at + 1..].iter().filter(is_named);
        found.extend(below.map(|below| format!("{file} names explorer/{below}/")));
    }
    let tree = source_tree(files);
    for (file, used) in tree.arrows() {
        let Some((at, own)) = layer_of(file) else {
            continue;
        };
        let is_upward = |other: &&&str| {
            layer_of(other).is_some_and(|(below, others)| {
                below > at
                    || (below == at && own != others && !own.is_empty() && !others.is_empty())
            })
        };
        found.extend(
            used.iter()
                .filter(is_upward)
                .map(|other| format!("{file} uses {other}")),
        );
    }
    found
}

#[test]
fn parts_of_the_explorer_use_only_those_above() {
    assert_eq!(upward_arrows(&sources("explorer")), Vec::<String>::new());
}

/// Each kind of arrow that must not exist is seen.
#[test]
fn upward_arrows_in_the_explorer_are_seen() {
    let broken = [
        (
            "explorer/screens/live/view.rs",
            "use crate::explorer::screens::runs::state;",
            "screens/runs",
        ),
        (
            "explorer/screens/live/view.rs",
            "use crate::explorer::COMMANDS;",
            "commands/mod.rs",
        ),
        (
            "explorer/dialogs/jump.rs",
            "use super::changed_cases::ChangedCases;",
            "dialogs/changed_cases.rs",
        ),
        (
            "explorer/dialogs/jump.rs",
            "use crate::explorer::ChatScreen;",
            "screens/chat/state.rs",
        ),
        (
            "explorer/shared/key.rs",
            "use crate::explorer::update;",
            "app/update.rs",
        ),
        (
            "explorer/running/watch.rs",
            "use crate::explorer::screens::run;",
            "explorer/screens/",
        ),
        (
            "explorer/widgets/text.rs",
            "fn f() { crate::explorer::what_if::rescored() }",
            "what_if/mod.rs",
        ),
    ];
    for (file, code, used) in broken {
        let mut files = sources("explorer");
        let (_, text) = files.iter_mut().find(|(name, _)| name == file).unwrap();
        text.insert_str(0, &format!("{code}\n"));
        let found = upward_arrows(&files);
        let is_it = |arrow: &String| arrow.contains(file) && arrow.contains(used);
        assert!(found.iter().any(is_it), "{code}: {found:?}");
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
    for module in [
        "domain", "diff", "metrics", "analysis", "formats", "config", "report", "explorer",
    ] {
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

/// (what, the only files that may). Most of what must happen in one place is in `clippy.toml`; this is what clippy cannot
/// see.
const ONLY_IN: &[(&str, &[&str])] = &[
    // The clients of object stores are made with limits, and follow no redirects.
    ("Builder::from_env", &["buckets/stores.rs"]),
    ("#[allow(dead_code", &[]),
];

#[test]
fn restricted_calls_are_in_one_place() {
    for module in layers() {
        for (file, code) in sources(&module) {
            for (what, allowed) in ONLY_IN {
                assert!(
                    !code.contains(what) || allowed.contains(&file.as_str()),
                    "{file} has {what}"
                );
            }
        }
    }
}

/// A reader who sees a name knows which type it is.
#[test]
fn names_of_types_are_unique() {
    /// Types with one definition for Unix and one for Windows.
    const OF_PLATFORMS: &[&str] = &["Descendants", "Handle", "Reader", "User"];
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for module in layers() {
        for (file, code) in sources(&module) {
            let names = code.lines().filter_map(type_at_module_level);
            for name in names.filter(|name| !OF_PLATFORMS.contains(name)) {
                if let Some(other) = seen.insert(name.to_string(), file.clone()) {
                    panic!("{name} is in {other} and in {file}");
                }
            }
        }
    }
}

/// The type that a line without indentation defines.
fn type_at_module_level(line: &str) -> Option<&str> {
    let mut words = line.split(' ');
    let is_visibility = |word: &&str| word.starts_with("pub") || word.ends_with(')');
    let keyword = words.find(|word| !is_visibility(word))?;
    let name = words
        .next()
        .filter(|_| ["struct", "enum", "trait", "type"].contains(&keyword))?;
    let end = name.find(|c: char| !c.is_alphanumeric());
    Some(&name[..end.unwrap_or(name.len())])
}

/// A file that `main.rs` does not declare is not compiled, and its tests never run.
#[test]
fn every_file_of_tests_is_declared() {
    let folder = root().join("tests");
    let main = std::fs::read_to_string(folder.join("integration/main.rs")).unwrap();
    let mut declared: Vec<&str> = main
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let mut found: Vec<String> = std::fs::read_dir(folder.join("integration"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.join("mod.rs").is_file() || path.extension().is_some_and(|ending| ending == "rs")
        })
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "main")
        .collect();
    declared.sort_unstable();
    found.sort_unstable();
    assert_eq!(declared, found);
    let others = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(
        others.eq(["integration"]),
        "integration tests are one binary: tests/integration"
    );
}

/// The names that `line` defines with one of these keywords.
fn defined<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let words: Vec<&str> = line
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let at = words.iter().position(|word| keywords.contains(word))?;
    words.get(at + 1).copied()
}

/// Verbs of speech and holding, and words that say nothing, are no names.
#[test]
fn names_are_plain() {
    const TYPES: &[&str] = &[
        "Ask", "Fate", "Fresh", "Held", "How", "Kept", "Reach", "Room", "Said", "Speaker", "Spent",
        "Spoken", "Taken", "Tell", "Teller", "Telling", "Told", "Took", "Top", "UnderWay", "Way",
        "What", "Wrong",
    ];
    const FUNCTIONS: &[&str] = &["admit", "died", "hello", "of", "say", "tell", "words"];
    let is_plain = |line: &str| {
        let has_plain_type = defined(line, &["struct", "enum", "trait", "type"])
            .is_none_or(|name| !TYPES.contains(&name));
        let is_code = !line.trim_start().starts_with("//");
        let has_plain_function = defined(line, &["fn"])
            .filter(|_| is_code)
            .is_none_or(|name| !FUNCTIONS.contains(&name));
        has_plain_type && has_plain_function
    };
    for module in layers() {
        for (file, code) in sources(&module) {
            for line in code.lines() {
                assert!(is_plain(line), "{file}: {line}");
            }
        }
    }
}

/// The names of all tests, with the names of the files that they are in: `crash::killed_save_leaves_old_or_new_file`.
fn names_of_tests() -> Vec<String> {
    let mut files = Vec::new();
    for folder in crates().into_iter().chain([root().join("tests")]) {
        files_below(&folder, &mut files);
    }
    let mut names = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "rs"))
    {
        let text = std::fs::read_to_string(file).unwrap();
        let path = file
            .with_extension("")
            .display()
            .to_string()
            .replace('/', "::");
        let mut is_test = false;
        for line in text.lines().map(str::trim_start) {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            if let Some(name) =
                defined(line, &["fn"]).filter(|_| is_test && !line.starts_with("//"))
            {
                names.push(format!("{}::{name}", path.trim_end_matches("::mod")));
                is_test = false;
            }
        }
    }
    names
}

#[test]
fn names_of_tests_are_short() {
    for name in names_of_tests() {
        let own = name.rsplit("::").next().unwrap_or_default();
        assert!(own.len() < 45, "{name} has {} characters", own.len());
    }
}
