//! The plugin for pytest of the Python package, with the real pytest.
#![cfg(unix)]

use crate::common::{Place, both, copy_folder, output, root, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The Python of the tests against the real ADK, if it has pytest.
fn python() -> Option<PathBuf> {
    let found = std::env::var_os("EVALTRAIL_ADK").map(PathBuf::from)?.with_file_name("python");
    let has_pytest =
        Command::new(&found).args(["-c", "import pytest"]).output().is_ok_and(|tried| tried.status.success());
    if !has_pytest {
        assert!(std::env::var_os("EVALTRAIL_REQUIRE_ADK").is_none(), "{} has no pytest", found.display());
        println!("SKIPPED: {} has no pytest", found.display());
    }
    has_pytest.then_some(found)
}

fn pytest(python: &Path, folder: &Path, arguments: &[&str]) -> Output {
    let beside = Path::new(env!("CARGO_BIN_EXE_evaltrail")).parent().unwrap();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(python);
    command.current_dir(folder).args([
        "-m",
        "pytest",
        "-p",
        "evaltrail.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]);
    command.env("PYTHONPATH", root().join("python")).env("PYTHONDONTWRITEBYTECODE", "1").env("PATH", path);
    command.env("EVALTRAIL_HOME", folder.join("home")).env_remove("PYTEST_ADDOPTS");
    output(command.args(arguments))
}

#[test]
fn the_cases_of_the_sample_workspace_are_test_items() {
    let Some(python) = python() else { return };
    let place = Place::new(&[]);
    let folder = place.path().join("w");
    copy_folder(&root().join("fixtures/workspace"), &folder);
    // The agent is started by evaltrail, and must not be imported by pytest.
    std::fs::write(folder.join("garden/__init__.py"), "raise RuntimeError('imported')\n").unwrap();
    let ran = pytest(
        &python,
        &folder,
        &["--evaltrail", "--evaltrail-args=--trust", "-rA", "garden", "library_desk"],
    );
    let said = text(&ran);
    for line in [
        "PASSED garden/watering.evalset.json::water_tomatoes",
        "FAILED garden/watering.evalset.json::lettuce_six_litres",
        "FAILED library_desk/loans.evalset.json::reading_room",
    ] {
        assert!(said.contains(line), "{line}: {}", both(&ran));
    }
    assert!(said.contains("failed: tool_trajectory_avg_score 0.00 (needs 1): EXACT: call 1"), "{said}");
    assert!(said.contains("errored: RuntimeError: the catalogue is being rebuilt"), "{said}");
    assert_eq!(ran.status.code(), Some(1));
    // evaltrail itself has the same outcomes.
    let counts = |status: &str| said.matches(&format!("{status} garden/")).count();
    assert_eq!((counts("PASSED"), counts("FAILED")), (5, 8), "{said}");

    let chosen =
        pytest(&python, &folder, &["--evaltrail", "--evaltrail-args=--trust", "-k", "water_tomatoes"]);
    assert!(text(&chosen).contains("1 passed"), "{}", both(&chosen));
    assert_eq!(chosen.status.code(), Some(0));
    let runs = std::fs::read_dir(folder.join(".evaltrail/runs")).unwrap().count();
    assert!(runs >= 2, "one run for each file");
}

#[test]
fn without_its_option_the_plugin_collects_nothing_and_a_refused_run_says_why() {
    let Some(python) = python() else { return };
    let set = r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {"role": "user", "parts": [{"text": "hi"}]}}]}]}"#;
    let place = Place::new(&[
        ("s.evalset.json", set.into()),
        ("broken.evalset.json", "{".into()),
        ("evaltrail.toml", "[agents.shop]\nkind = \"command\"\ncommand = \"./agent\"\n".into()),
    ]);
    let nothing = pytest(&python, place.path(), &[]);
    assert_eq!(nothing.status.code(), Some(5), "{}", both(&nothing));
    let refused =
        pytest(&python, place.path(), &["--evaltrail", "--evaltrail-args=--agent shop", "s.evalset.json"]);
    assert!(text(&refused).contains("--trust"), "{}", both(&refused));
    let broken = pytest(&python, place.path(), &["--evaltrail", "broken.evalset.json"]);
    assert!(
        text(&broken).contains("broken.evalset.json") && broken.status.code() == Some(2),
        "{}",
        both(&broken)
    );
}
