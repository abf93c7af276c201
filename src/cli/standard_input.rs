//! `evaltrail score -`: cases on standard input.

use super::args::CaseArgs;
use anyhow::{Context, bail};
use evaltrail_engine::store::store_input;
use evaltrail_engine::workspace::root_of;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The path that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Replaces the path that stands for standard input by that of the file in which its cases are stored.
pub(super) fn read_standard_input(cases: &mut CaseArgs) -> anyhow::Result<()> {
    let Some(path) = cases.paths.iter_mut().find(|path| *path == STANDARD_INPUT) else {
        return Ok(());
    };
    if cases.ids.as_deref() == Some(Path::new(STANDARD_INPUT)) {
        bail!("standard input has either the cases or the ids of --ids");
    }
    *path = stored_input()?.display().to_string();
    Ok(())
}

/// The cases on standard input, as a file of the workspace. Errors: there are none, or they cannot be read or stored.
fn stored_input() -> anyhow::Result<PathBuf> {
    /// Longest input, in bytes.
    const MAX_BYTES: u64 = 1 << 30;
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .context("standard input")?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!(
            "standard input: more than {} MB; score a file",
            MAX_BYTES >> 20
        );
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        bail!("standard input: it is empty");
    }
    let root = root_of(&std::env::current_dir()?);
    store_input(&root, &bytes).context("standard input")
}
