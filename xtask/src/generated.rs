//! Files that are made from the program: reviewed texts, pictures, parts of the documents.

use crate::commands::{command, root, run};
use std::process::Command;

fn integration_tests(filters: &[&str]) -> Command {
    let arguments = [
        "test",
        "--locked",
        "-p",
        "evaltrail",
        "--test",
        "integration",
        "--",
    ];
    command(&root(), "cargo", &[&arguments, filters].concat())
}

/// Accepts reviewed texts and screens, and draws the pictures. Look at the changes with `git diff` before they are
/// committed.
pub fn snapshots(filters: &[&str]) -> anyhow::Result<()> {
    let filters = match filters {
        [] => &["frames::", "command_texts::"],
        chosen => chosen,
    };
    let mut tests = integration_tests(filters);
    tests
        .env("INSTA_UPDATE", "always")
        .env("EVALTRAIL_PICTURES", "write");
    run(&mut tests)
}

pub fn docs() -> anyhow::Result<()> {
    run(integration_tests(&["docs::"]).env("EVALTRAIL_DOCS", "write"))
}
