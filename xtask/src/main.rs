//! Checks and generated files of this repository: `cargo xtask COMMAND`.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a tool for developers, which starts programs and writes files of the repository"
)]

mod broken_builds;
mod commands;
mod extension_points;
mod generated;
mod platforms;
mod repository_clone;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  snapshots [FILTER...]        accept the reviewed texts and screens as they are now, and draw the pictures again
  docs                         write the generated parts of the documents
  broken-builds [ROW...]       break the code in known ways: each time a test must fail; one or two minutes each
  broken-builds --apply        only check that each of these changes can be applied, without building
  extension-points             add a sample of each extension point to a clone, and compile it
  other-platforms [test]       compile for Windows and macOS; with `test`, run the unit tests in Wine";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.split_first() {
        Some((&"snapshots", filters)) => generated::snapshots(filters),
        Some((&"docs", [])) => generated::docs(),
        Some((&"broken-builds", ["--apply"])) => broken_builds::check_changes(),
        Some((&"broken-builds", rows)) => broken_builds::build(rows),
        Some((&"extension-points", [])) => extension_points::check(),
        Some((&"other-platforms", [])) => platforms::check(false),
        Some((&"other-platforms", ["test"])) => platforms::check(true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
