//! Starting of programs.

use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The root of the repository.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// A program with these arguments, in a folder.
pub fn command(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments);
    command
}

/// Runs a program with the terminal of this one. Errors if it fails.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| name(command))?;
    ensure!(status.success(), "{} failed: {status}", name(command));
    Ok(())
}

/// The outcome and the output of a program.
pub fn outcome(command: &mut Command) -> anyhow::Result<Output> {
    command.output().with_context(|| name(command))
}

/// What a program prints, without the last line end. Errors if it fails.
pub fn text(command: &mut Command) -> anyhow::Result<String> {
    let out = outcome(command)?;
    ensure!(out.status.success(), "{} failed", name(command));
    Ok(String::from_utf8_lossy(&out.stdout).trim_end().to_string())
}

/// Whether a program can be started and succeeds. Its output is not shown.
pub fn succeeds(command: &mut Command) -> bool {
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

fn name(command: &Command) -> String {
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy());
    let words = [command.get_program().to_string_lossy()].into_iter();
    words.chain(arguments).collect::<Vec<_>>().join(" ")
}
