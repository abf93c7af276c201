//! The documents agree with the program: keys, options, commands, configuration, links.

use crate::common::{evaltrail, output, root, text};
use evaltrail::explorer::commands::CommandGroup;
use evaltrail::explorer::{COMMANDS, Command, Context};

const BEGIN: &str = "<!-- keys: written from the table of commands by `cargo xtask docs` -->\n";
const END: &str = "<!-- /keys -->";

fn key_table() -> String {
    let mut tables = String::new();
    for group in CommandGroup::ALL {
        let is_here = |command: &&&Command| {
            command.group == *group
                && command
                    .contexts
                    .iter()
                    .any(|context| screen_name(*context).is_some())
        };
        tables.push_str(&format!(
            "\n## {}\n\n| key | what it does | where |\n|---|---|---|\n",
            group.title()
        ));
        for command in COMMANDS.iter().filter(is_here) {
            let keys: Vec<String> = command
                .keys()
                .iter()
                .map(|key| format!("`{key}`"))
                .collect();
            let screens: Vec<&str> = command
                .contexts
                .iter()
                .filter_map(|context| screen_name(*context))
                .collect();
            let (keys, help) = (keys.join(", "), command.help);
            tables.push_str(&format!("| {keys} | {help} | {} |\n", screens.join(", ")));
        }
    }
    tables + "\n"
}

fn screen_name(context: Context) -> Option<&'static str> {
    Some(match context {
        Context::Browse => "list",
        Context::Case => "case",
        Context::Run => "run",
        Context::Reading => "help and tables",
        Context::Proposal => "proposed change",
        Context::Edit => "editor",
        Context::Chat => "chat",
        Context::Live => "attempt",
        Context::Runs => "runs",
        Context::Trends => "trends",
        Context::Comparison => "comparison",
        Context::ComparedCase => "compared case",
        Context::Queue => "triage",
        Context::Confirm | Context::Trust => return None,
    })
}

#[test]
fn the_keys_are_documented() {
    let path = root().join("docs/keys.md");
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
        "docs/keys.md is stale; cargo xtask docs writes them"
    );
}

#[test]
fn every_option_of_run_is_documented() {
    let home = tempfile::tempdir().unwrap();
    let help = text(&output(evaltrail(home.path()).args(["run", "--help"])));
    let readme = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    for option in help
        .split_whitespace()
        .filter(|word| word.starts_with("--") && *word != "--help")
    {
        let option = option.split(['[', ',', '.', ';', ')', ':']).next().unwrap();
        assert!(readme.contains(option), "{option}");
    }
}

#[test]
fn completions_and_manual_are_printed() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = output(evaltrail(home.path()).args(["completions", shell]));
        assert!(
            script.status.success() && text(&script).contains("evaltrail"),
            "{shell}"
        );
    }
    let manual = text(&output(evaltrail(home.path()).arg("man")));
    assert!(
        manual.contains(".TH evaltrail") && manual.contains("next failing"),
        "{manual}"
    );
}

#[test]
fn sample_is_built_into_the_program() {
    let home = tempfile::tempdir().unwrap();
    let to = home.path().join("sample");
    let out = output(evaltrail(home.path()).args(["demo", "--to"]).arg(&to));
    assert_eq!(out.status.code(), Some(0), "{}", crate::common::both(&out));
    let how = format!(
        "the sample workspace is in {0}; `evaltrail run {0}` runs its cases",
        to.display()
    );
    assert!(
        crate::common::both(&out).contains(&how),
        "{}",
        crate::common::both(&out)
    );
    let again = output(evaltrail(home.path()).args(["demo", "--to"]).arg(&to));
    assert!(
        crate::common::both(&again)
            .contains("README.md exists there already; choose another folder")
    );
    let mut kept = Vec::new();
    list(&root().join("fixtures/workspace"), &mut kept);
    let mut written = Vec::new();
    list(&to, &mut written);
    assert_eq!(written, kept);
    let ran = output(evaltrail(home.path()).arg("run").arg(&to));
    assert!(
        text(&ran).contains("passed"),
        "{}",
        crate::common::both(&ran)
    );
}

fn list(folder: &std::path::Path, out: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
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

/// The example in the comments of the sample workspace's configuration is valid.
#[test]
fn the_samples_template_is_a_metric() {
    let path = root().join("fixtures/workspace/evaltrail.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let example: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("#: "))
        .map(|line| format!("{line}\n"))
        .collect();
    let config = evaltrail_engine::config::ConfigFile::parse(&example, &root()).unwrap();
    assert_eq!(config.metrics[0].name, "response_follows_trajectory");
}

/// No message contains the name of a key as text: keys come from the table of commands, so that messages stay correct
/// when a key changes.
#[test]
fn no_sentence_names_a_key_by_hand() {
    /// Messages with keys of an input line, which are not commands.
    const OF_TEXT_LINES: &[&str] = &[
        "your verdicts   tab yes/no/none, type a note, enter save, esc cancel",
        // Not a key.
        "a status from 1 to 4",
    ];
    let key = regex::Regex::new(
        r#"(^|[;,:(] | {2,}|…)(esc|enter|tab|ctrl-[a-z]|[A-Za-z?]) (again )?[a-z]+(s|es)\b"#,
    )
    .unwrap();
    let mut found = Vec::new();
    let mut folders = vec![crate::common::root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let code = text.split("\nmod tests {").next().unwrap_or_default();
            for line in code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
            {
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

/// The documents, each with its path.
fn documents() -> Vec<(std::path::PathBuf, String)> {
    let mut paths: Vec<_> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.extend(["README.md", "SECURITY.md"].map(|name| root().join(name)));
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// The code blocks of a document in a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut block) {
            (Some(name), None) => block = Some((name.to_string(), String::new())),
            (Some(_), Some(_)) => blocks.extend(block.take()),
            (None, Some((_, code))) => code.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    assert!(block.is_none(), "a code block does not end");
    blocks
        .into_iter()
        .filter(|(name, _)| name == language)
        .map(|(_, code)| code)
        .collect()
}

#[test]
fn configuration_in_the_documents_can_be_read() {
    let mut read = 0;
    for (path, text) in documents() {
        for code in blocks(&text, "toml") {
            read += 1;
            if code.starts_with("# config.toml") {
                let config = evaltrail_engine::config::UserConfig::parse(&code).unwrap();
                let keys = config
                    .keys
                    .iter()
                    .map(|(name, keys)| (name.clone(), keys.list()))
                    .collect();
                let (_, problems) = evaltrail::explorer::Bindings::read(&keys);
                assert_eq!(problems, Vec::<String>::new());
                continue;
            }
            let parsed = evaltrail_engine::config::ConfigFile::parse(&code, &root());
            assert!(
                parsed.is_ok(),
                "{}: {:?}\n{code}",
                path.display(),
                parsed.err()
            );
        }
        for code in blocks(&text, "json") {
            let parsed = evaltrail_core::formats::adk::read_config(&code);
            assert!(
                parsed.is_ok(),
                "{}: {:?}\n{code}",
                path.display(),
                parsed.err()
            );
            read += 1;
        }
        for code in blocks(&text, "jsonl") {
            let parsed = evaltrail_engine::stubs::StubFile::parse(&code);
            assert!(
                parsed.is_ok(),
                "{}: {:?}\n{code}",
                path.display(),
                parsed.err()
            );
            read += 1;
        }
    }
    assert!(read >= 6, "{read}");
}

/// Every row in the document on data sets is read, with the prompt, the reference and the response that it shows.
#[test]
fn rows_in_the_document_on_data_sets_are_read() {
    let document = std::fs::read_to_string(root().join("docs/datasets.md")).unwrap();
    let columns = evaltrail_core::formats::ColumnMap::default();
    let (mut rows, mut with_reference) = (0, 0);
    for (name, code) in blocks(&document, "rows")
        .into_iter()
        .map(|code| ("a.jsonl", code))
        .chain(
            blocks(&document, "csv")
                .into_iter()
                .map(|code| ("a.csv", code)),
        )
    {
        let read_as = evaltrail_core::formats::FileHints::named(name, columns.clone());
        let file =
            evaltrail_core::formats::SetFile::open_as(code.as_str().into(), "a", &read_as).unwrap();
        assert_eq!(
            evaltrail_core::formats::content_of(name, code.as_bytes(), &columns),
            evaltrail_core::formats::FileContent::Cases,
            "it is found in a folder: {code}"
        );
        for at in 0..file.len() {
            let case = file
                .case(at)
                .unwrap_or_else(|error| panic!("{error}\n{code}"));
            let turns = case.turns();
            let last = turns.last().unwrap();
            let has_prompt = turns.iter().any(|turn| !turn.user.scored_text().is_empty());
            assert!(has_prompt || code.contains("\"lamp\""), "{code}");
            let is_expected = last.final_response.is_some() || last.trajectory.is_known();
            with_reference += usize::from(is_expected);
            rows += 1;
        }
    }
    assert_eq!((rows, with_reference), (13, 13));
}

/// The subcommand and the options of each `evaltrail` command in a code block exist.
#[test]
fn commands_in_the_documents_exist() {
    let home = tempfile::tempdir().unwrap();
    let help = |args: &[&str]| text(&output(evaltrail(home.path()).args(args).arg("--help")));
    let general = help(&[]);
    let mut seen = 0;
    for (path, text) in documents() {
        for line in blocks(&text, "")
            .concat()
            .lines()
            .chain(blocks(&text, "yaml").concat().lines())
        {
            let Some((_, command)) = line.split_once("evaltrail ") else {
                continue;
            };
            let command = command.split(['#', '>']).next().unwrap();
            let words: Vec<&str> = command
                .split_whitespace()
                .take_while(|word| *word != "run:")
                .collect();
            let Some(first) = words
                .first()
                .filter(|word| word.chars().all(char::is_lowercase))
            else {
                continue;
            };
            assert!(
                general.contains(&format!("  {first}")),
                "{}: {line}",
                path.display()
            );
            let of_command = match words[..] {
                ["agents", verb @ ("check" | "init"), ..] => help(&["agents", verb]),
                _ => help(&[first]),
            };
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let option = option.trim_end_matches(|c: char| !c.is_alphanumeric());
                assert!(
                    of_command.contains(option),
                    "{}: {line}: {option}",
                    path.display()
                );
            }
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen}");
}

/// Each block of the document on agents says where `.ci/documented-agents` runs it, or why it does not.
#[test]
fn each_block_of_agents_document_is_run() {
    let Some(python) = crate::common::python() else {
        return println!("SKIPPED: Python is missing");
    };
    let script = root().join(".ci/documented-agents");
    let out = std::process::Command::new(python)
        .arg(script)
        .arg("--list")
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}{}",
        text(&out),
        String::from_utf8_lossy(&out.stderr)
    );
    let fences = std::fs::read_to_string(root().join("docs/agents.md")).unwrap();
    let fences = fences
        .lines()
        .filter(|line| line.starts_with("```"))
        .count();
    let listed = text(&out)
        .lines()
        .filter(|line| line.starts_with("docs/agents.md:"))
        .count();
    assert_eq!(listed, fences / 2);
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)#]+)(#[^)]*)?\)").unwrap();
    for (path, text) in documents() {
        for found in link
            .captures_iter(&text)
            .filter(|found| !found[1].contains("://"))
        {
            assert!(
                path.parent().unwrap().join(&found[1]).exists(),
                "{}: {}",
                path.display(),
                &found[1]
            );
        }
    }
}

/// The table of findings contains every rule and no others.
#[test]
fn every_rule_of_a_finding_is_documented() {
    let text = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let row = text
        .lines()
        .find(|line| line.starts_with("| `rule` |"))
        .expect("the row of the rules");
    let documented: Vec<&str> = row.split('`').skip(3).step_by(2).collect();
    let source =
        std::fs::read_to_string(root().join("crates/evaltrail-core/src/domain/finding.rs"))
            .unwrap();
    let body = source
        .split("pub enum FindingRule {")
        .nth(1)
        .and_then(|rest| rest.split("\n}").next())
        .unwrap();
    let variants = body
        .lines()
        .filter_map(|line| line.trim().strip_suffix(','))
        .filter(|name| *name != "Unknown");
    let named: Vec<String> = variants.map(snake).collect();
    assert_eq!(documented, named);
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}
