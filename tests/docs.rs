//! What is written down is what is: the README's keys, and the command line's own words.

mod common;

use common::{evaltrail, output, root, text};
use evaltrail::explorer::{COMMANDS, Context};

const BEGIN: &str =
    "<!-- keys: written from the table of commands by `EVALTRAIL_DOCS=write cargo test --test docs` -->\n";
const END: &str = "<!-- /keys -->";

fn key_table() -> String {
    let mut table = String::from("| key | what it does | where |\n|---|---|---|\n");
    for command in
        COMMANDS.iter().filter(|command| command.contexts.iter().any(|context| place(*context).is_some()))
    {
        let keys: Vec<String> = command.keys.iter().map(|key| format!("`{key}`")).collect();
        let places: Vec<&str> = command.contexts.iter().filter_map(|context| place(*context)).collect();
        table.push_str(&format!("| {} | {} | {} |\n", keys.join(" "), command.help, places.join(", ")));
    }
    table
}

fn place(context: Context) -> Option<&'static str> {
    Some(match context {
        Context::Browse => "list",
        Context::Case => "case",
        Context::Run => "run",
        Context::Reading => "help and tables",
        Context::Proposal => "proposed change",
        Context::Edit => "editor",
        Context::Chat => "chat",
        Context::Confirm | Context::Trust => return None,
    })
}

#[test]
fn the_readme_has_the_keys() {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the place of the keys");
    let (kept, after) = rest.split_once(END).expect("its end");
    let table = key_table();
    if std::env::var_os("EVALTRAIL_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert!(
        kept == table,
        "the keys in the README are stale; EVALTRAIL_DOCS=write cargo test --test docs writes them"
    );
}

#[test]
fn the_readme_names_every_option_of_run() {
    let home = tempfile::tempdir().unwrap();
    let help = text(&output(evaltrail(home.path()).args(["run", "--help"])));
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for option in help.split_whitespace().filter(|word| word.starts_with("--") && *word != "--help") {
        let option = option.trim_end_matches([',', '.', ';']);
        assert!(readme.contains(option), "{option}");
    }
}

#[test]
fn completions_and_manual_are_printed() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = output(evaltrail(home.path()).args(["completions", shell]));
        assert!(script.status.success() && text(&script).contains("evaltrail"), "{shell}");
    }
    let manual = text(&output(evaltrail(home.path()).arg("man")));
    assert!(manual.contains(".TH evaltrail") && manual.contains("next failing"), "{manual}");
}

#[test]
fn the_sample_is_built_in_whole() {
    let home = tempfile::tempdir().unwrap();
    let to = home.path().join("sample");
    let out = output(evaltrail(home.path()).args(["demo", "--to"]).arg(&to));
    assert_eq!(out.status.code(), Some(2), "there is no terminal here");
    let mut kept = Vec::new();
    list(&root().join("fixtures/workspace"), &mut kept);
    let mut written = Vec::new();
    list(&to, &mut written);
    assert_eq!(written, kept);
    let ran = output(evaltrail(home.path()).arg("run").arg(&to));
    assert!(text(&ran).contains("passed"), "{}", common::both(&ran));
}

fn list(folder: &std::path::Path, out: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "__pycache__" {
            continue;
        }
        match path.is_dir() {
            true => list(&path, out),
            false => out.push((name, std::fs::read(&path).unwrap())),
        }
    }
}

/// The commented example of the sample workspace is one that works.
#[test]
fn the_samples_template_is_a_metric() {
    let path = root().join("fixtures/workspace/evaltrail.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let example: String =
        text.lines().filter_map(|line| line.strip_prefix("#: ")).map(|line| format!("{line}\n")).collect();
    let config = evaltrail::config::ConfigFile::parse(&example, &root()).unwrap();
    assert_eq!(config.metrics[0].name, "response_follows_trajectory");
}

/// A sentence that names a key takes it from the table of commands, so that it stays right when the key changes.
#[test]
fn no_sentence_names_a_key_by_hand() {
    /// Keys of text lines, which are no commands.
    const OF_TEXT_LINES: &[&str] = &[
        "your verdicts   tab yes/no/none, type a note, enter save, esc cancel",
        // No key.
        "a status from 1 to 4",
    ];
    let key = regex::Regex::new(
        r#"(^|[;,:(] | {2,}|…)(esc|enter|tab|ctrl-[a-z]|[A-Za-z?]) (again )?[a-z]+(s|es)\b"#,
    )
    .unwrap();
    let mut found = Vec::new();
    let mut folders = vec![common::root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let code = text.split("\nmod tests {").next().unwrap_or_default();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for literal in line.split('"').skip(1).step_by(2) {
                    let is_prose = !literal.contains('\\') && !OF_TEXT_LINES.contains(&literal);
                    if is_prose && key.is_match(literal) {
                        found.push(format!("{}: {literal}", path.display()));
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
