//! For each row of docs/reliability.md, the code is broken on purpose: then a test must fail.

use crate::commands::{command, outcome, root, run, succeeds};
use crate::repository_clone::RepositoryClone;
use anyhow::{bail, ensure};
use std::fs;
use std::process::Command;

/// A change that breaks the code.
struct BrokenBuild {
    /// The number of the property in the table of docs/reliability.md.
    row: u32,
    file: &'static str,
    /// The text that is replaced, which is in the file once or more; the first is replaced.
    original: &'static str,
    broken: &'static str,
    /// The tests of which one must fail.
    tests: Tests,
}

/// Tests, chosen by parts of their names.
enum Tests {
    Integration(&'static [&'static str]),
    /// Unit tests of the crate of the file.
    Unit(&'static [&'static str]),
}

/// Checks that each change can be applied, without building.
pub fn check_changes() -> anyhow::Result<()> {
    let clone = RepositoryClone::new()?;
    let outcomes = BROKEN_BUILDS
        .iter()
        .map(|build| build.report(build.apply(&clone)));
    report_failures(outcomes.filter(|worked| !worked).count())
}

/// Applies each change to a clone of the committed state and runs its tests; only those of the given rows, if there are
/// any.
pub fn build(rows: &[&str]) -> anyhow::Result<()> {
    let is_row = |row: &&str| {
        BROKEN_BUILDS
            .iter()
            .any(|build| build.row.to_string() == **row)
    };
    if let Some(unknown) = rows.iter().find(|row| !is_row(row)) {
        bail!("{unknown:?} is no row that a change is for");
    }
    let clone = RepositoryClone::new()?;
    link_shared(&clone)?;
    let is_wanted =
        |build: &&BrokenBuild| rows.is_empty() || rows.contains(&&*build.row.to_string());
    let mut failures = 0;
    for build in BROKEN_BUILDS.iter().filter(is_wanted) {
        let noticed = build
            .apply(&clone)
            .and_then(|_| build.check_tests_fail(&clone));
        failures += usize::from(!build.report(noticed));
        run(&mut clone.git(&["checkout", "-q", "."]))?;
    }
    report_failures(failures)
}

/// Makes the files beside the repository known to the clone, where there are some.
#[cfg(unix)]
fn link_shared(clone: &RepositoryClone) -> anyhow::Result<()> {
    let shared = root().join("../shared");
    if shared.exists() {
        std::os::unix::fs::symlink(fs::canonicalize(shared)?, clone.path().join("../shared"))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn link_shared(_: &RepositoryClone) -> anyhow::Result<()> {
    Ok(())
}

fn report_failures(failures: usize) -> anyhow::Result<()> {
    ensure!(failures == 0, "{failures} of these changes did not work");
    Ok(())
}

impl BrokenBuild {
    fn apply(&self, clone: &RepositoryClone) -> anyhow::Result<&'static str> {
        let path = clone.path().join(self.file);
        ensure!(path.is_file(), "there is no file {}", self.file);
        let code = fs::read_to_string(&path)?;
        ensure!(
            code.contains(self.original),
            "{} does not contain the original text",
            self.file
        );
        fs::write(path, code.replacen(self.original, self.broken, 1))?;
        Ok("applies")
    }

    /// Runs the tests. Errors if they pass, or cannot be compiled.
    fn check_tests_fail(&self, clone: &RepositoryClone) -> anyhow::Result<&'static str> {
        let compiled = outcome(
            self.tests(clone, "cargo", &["test", "-q", "--no-run"])
                .args(self.selected()),
        )?;
        let errors = String::from_utf8_lossy(&compiled.stderr).into_owned();
        let error = errors
            .lines()
            .find(|line| line.starts_with("error"))
            .unwrap_or("");
        ensure!(compiled.status.success(), "does not compile: {error}");
        let mut tests = self.tests(clone, "timeout", &["600", "cargo", "test", "-q"]);
        ensure!(
            !succeeds(tests.args(self.selected())),
            "the tests still pass"
        );
        Ok("noticed")
    }

    fn tests(&self, clone: &RepositoryClone, program: &str, arguments: &[&str]) -> Command {
        let mut tests = command(clone.path(), program, arguments);
        tests
            .env("CARGO_TARGET_DIR", root().join("target/broken-builds"))
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_TEST_DEBUG", "0");
        tests
    }

    /// The arguments of `cargo test` that select the tests.
    fn selected(&self) -> Vec<&'static str> {
        let package = match self.file.strip_prefix("crates/") {
            Some(path) => path.split('/').next().unwrap_or_default(),
            None => "evaltrail",
        };
        match self.tests {
            Tests::Integration(filters) => {
                [&["-p", "evaltrail", "--test", "integration", "--"], filters].concat()
            }
            Tests::Unit(filters) => [&["-p", package, "--lib", "--"], filters].concat(),
        }
    }

    /// Prints the outcome. Returns whether it worked.
    fn report(&self, outcome: anyhow::Result<&'static str>) -> bool {
        let word = match &outcome {
            Ok(word) => word.to_string(),
            Err(error) => format!("ERROR: {error:#}"),
        };
        let change = match self.broken {
            "" => format!("(removed) {}", self.original),
            broken => broken.replace('\n', " "),
        };
        let change: String = change.chars().take(60).collect();
        println!("{:<4} {word:<10} {}: {change}", self.row, self.file);
        outcome.is_ok()
    }
}

const BROKEN_BUILDS: &[BrokenBuild] = &[
    BrokenBuild {
        row: 1,
        file: "crates/evaltrail-engine/src/store/journal_line.rs",
        original: "serde_json::from_value(parsed.value).ok()",
        broken: "Some(serde_json::from_value(parsed.value).unwrap())",
        tests: Tests::Integration(&["fuzz::"]),
    },
    BrokenBuild {
        row: 2,
        file: "crates/evaltrail-core/src/formats/json/parse.rs",
        original: "pub const MAX_DEPTH: usize = ",
        broken: "pub const MAX_DEPTH: usize = 100 * ",
        tests: Tests::Unit(&["json::"]),
    },
    BrokenBuild {
        row: 3,
        file: "crates/evaltrail-core/src/domain/clean.rs",
        original: r#"if !text.contains('\u{1b}') {"#,
        broken: "if true { return Cow::Borrowed(text); } if false {",
        tests: Tests::Integration(&["hostile_corpus::"]),
    },
    BrokenBuild {
        row: 4,
        file: "crates/evaltrail-core/src/domain/clean.rs",
        original: "pub fn is_hidden(c: char) -> bool {",
        broken: r#"pub fn is_hidden(c: char) -> bool { if c == '\u{1BCA0}' { return false; }"#,
        tests: Tests::Unit(&["every_format_character"]),
    },
    BrokenBuild {
        row: 5,
        file: "src/explorer/terminal/guard.rs",
        original: "let _ = execute!(out, terminal::LeaveAlternateScreen);",
        broken: "",
        tests: Tests::Integration(&["restored"]),
    },
    BrokenBuild {
        row: 5,
        file: "src/explorer/terminal/guard.rs",
        original: "let _ = execute!(out, cursor::Show);",
        broken: "",
        tests: Tests::Integration(&["nothing_is_drawn"]),
    },
    BrokenBuild {
        row: 6,
        file: "src/explorer/terminal/guard.rs",
        original: "let heard = [SIGTERM, SIGHUP, ",
        broken: "let _ = SIGHUP; let heard = [SIGTERM, ",
        tests: Tests::Integration(&["the_terminal_is_restored_after_signals"]),
    },
    BrokenBuild {
        row: 7,
        file: "crates/evaltrail-engine/src/process/clock.rs",
        original: "self.stopped += since - POLL_INTERVAL;",
        broken: "",
        tests: Tests::Integration(&["timeout_and_latency"]),
    },
    BrokenBuild {
        row: 8,
        file: "src/explorer/app/header.rs",
        original: "width: area.width.saturating_sub(right_width + 2)",
        broken: "width: area.width - 60",
        tests: Tests::Integration(&["any_keys"]),
    },
    BrokenBuild {
        row: 9,
        file: "src/cli/terminal.rs",
        original: "std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !dumb",
        broken: "std::io::stdin().is_terminal() || !dumb",
        tests: Tests::Integration(&["without_a_terminal", "without_terminal_error"]),
    },
    BrokenBuild {
        row: 10,
        file: "crates/evaltrail-engine/src/store/save.rs",
        original: "swap_in(temporary.into_temp_path(), file",
        broken: r#"swap_in({ let _ = fs::write(&target, b""); temporary.into_temp_path() }, file"#,
        tests: Tests::Integration(&["crash::"]),
    },
    BrokenBuild {
        row: 11,
        file: "crates/evaltrail-engine/src/runner/journal.rs",
        original: "self.unwritten.push_back(attempt);",
        broken: "drop(attempt);",
        tests: Tests::Integration(&["a_disk_that"]),
    },
    BrokenBuild {
        row: 12,
        file: "crates/evaltrail-engine/src/store/temporary.rs",
        original: "file.set_permissions(fs::Permissions::from_mode(meta.mode() & 0o7777))",
        broken: "Ok(())",
        tests: Tests::Unit(&["store::save"]),
    },
    BrokenBuild {
        row: 13,
        file: "crates/evaltrail-engine/src/store/edits.rs",
        original: "let lock = self.lock();",
        broken: "let lock: std::io::Result<Option<std::fs::File>> = Ok(None);",
        tests: Tests::Unit(&["two_logs_at_once"]),
    },
    BrokenBuild {
        row: 14,
        file: "crates/evaltrail-core/src/formats/json/splice.rs",
        original: "out.push_str(text.get(at..)?);",
        broken: "out.push_str(text.get(at..)?.trim_end());",
        tests: Tests::Unit(&["formats::"]),
    },
    BrokenBuild {
        row: 15,
        file: "crates/evaltrail-core/src/domain/run_state.rs",
        original: ".filter(|key| self.position(*key).is_none())",
        broken: ".filter(|_| true)",
        tests: Tests::Integration(&["runs::"]),
    },
    BrokenBuild {
        row: 16,
        file: "crates/evaltrail-engine/src/runner/dispatcher.rs",
        original: "self.cancel.cancel();",
        broken: "",
        tests: Tests::Integration(&["nothing_that_an_agent"]),
    },
    BrokenBuild {
        row: 17,
        file: "crates/evaltrail-engine/src/process/keeper.rs",
        original: "fn kill_all(program: u32) {",
        broken: "fn kill_all(program: u32) { kill_group(program); if program > 0 { return; }",
        tests: Tests::Integration(&["nothing_that_an_agent"]),
    },
    BrokenBuild {
        row: 18,
        file: "crates/evaltrail-engine/src/agents/connect.rs",
        original: "const TIMEOUTS: u32 = 2;",
        broken: "const TIMEOUTS: u32 = 200;",
        tests: Tests::Integration(&["hanging_server"]),
    },
    BrokenBuild {
        row: 19,
        file: "crates/evaltrail-engine/src/agents/memory_limit.rs",
        original: "left: bytes,",
        broken: "left: usize::MAX,",
        tests: Tests::Integration(&["flooding_agent"]),
    },
    BrokenBuild {
        row: 20,
        file: "src/cli/trust.rs",
        original: "!trust_all && !trust.allows(&question.fingerprint)",
        broken: "false && !trust_all && !trust.allows(&question.fingerprint)",
        tests: Tests::Integration(&["hostile_corpus::"]),
    },
    BrokenBuild {
        row: 21,
        file: "crates/evaltrail-engine/src/judge/secret.rs",
        original: "(!is_ordinary_value(&self.0)).then(|| self.0.clone())",
        broken: "None::<String>",
        tests: Tests::Integration(&["judges::", "keys::"]),
    },
    BrokenBuild {
        row: 22,
        file: "crates/evaltrail-engine/src/store/evaltrail_folder.rs",
        original: "let usual = OFlags::NOFOLLOW | ",
        broken: "let usual = ",
        tests: Tests::Unit(&["verdicts"]),
    },
    BrokenBuild {
        row: 23,
        file: "crates/evaltrail-core/src/metrics/judged/response_verdict.rs",
        original: "f64::from(u8::from(valid))",
        broken: "f64::from(u8::from(!valid))",
        tests: Tests::Integration(&["judged::"]),
    },
    BrokenBuild {
        row: 26,
        file: "crates/evaltrail-engine/src/history/index.rs",
        original: ".cmp(&a.number)",
        broken: ".cmp(&b.number)",
        tests: Tests::Unit(&["the_order_of_runs"]),
    },
    BrokenBuild {
        row: 27,
        file: "crates/evaltrail-core/src/domain/ended.rs",
        original: "pub const MAX_FULL_ATTEMPTS: u64 = 4 << 20;",
        broken: "pub const MAX_FULL_ATTEMPTS: u64 = 16 << 30;",
        tests: Tests::Integration(&["attempts_do_not_stay"]),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The names of the tests below a folder, each with the path of its file.
    fn tests_below(folder: &Path, names: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                tests_below(&path, names);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let module = path
                    .with_extension("")
                    .components()
                    .fold(String::new(), |module, part| {
                        format!("{module}::{}", part.as_os_str().to_string_lossy())
                    });
                let module = module.trim_end_matches("::mod");
                let mut is_test = false;
                for line in fs::read_to_string(&path)
                    .unwrap()
                    .lines()
                    .map(str::trim_start)
                {
                    is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
                    let name = line
                        .split_once("fn ")
                        .filter(|_| is_test && !line.starts_with("//"));
                    if let Some((_, rest)) = name {
                        let end = rest
                            .find(|c: char| !c.is_alphanumeric() && c != '_')
                            .unwrap();
                        names.push(format!("{module}::{}", &rest[..end]));
                        is_test = false;
                    }
                }
            }
        }
    }

    /// A filter that selects no test would make a change look unnoticed.
    #[test]
    fn filters_of_broken_builds_select_tests() {
        for build in BROKEN_BUILDS {
            let (folder, filters) = match build.tests {
                Tests::Integration(filters) => ("tests".to_string(), filters),
                Tests::Unit(filters) => (
                    build.file.split("/src/").next().unwrap().to_string() + "/src",
                    filters,
                ),
            };
            let mut names = Vec::new();
            tests_below(&root().join(folder), &mut names);
            for filter in filters {
                let is_selected = names.iter().any(|name| name.contains(filter));
                assert!(is_selected, "{filter} selects no test: row {}", build.row);
            }
        }
    }
}
