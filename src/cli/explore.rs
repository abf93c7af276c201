//! `evaltrail [PATH]` and `evaltrail demo`: the explorer.

#![expect(
    clippy::disallowed_methods,
    reason = "it opens the terminal itself, if standard input is none"
)]

use super::Exit;
use super::addresses::{address_in, copy_at, title_of_copy};
use super::export::open_run;
use super::open_pushed::open_pushed;
use super::output::print_note;
use super::own_files::run_file;
use super::paths::{path_word, similar_subcommand};
use super::subcommand::CliCommand;
use super::terminal::{has_terminal, no_terminal};
use crate::explorer::{Explorer, ExplorerExit, explore};
use anyhow::Context;
use clap::Args;
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::buckets::BucketAddress;
use evaltrail_engine::process::{PrivateFolder, remove_private_folders_on_signals};
use evaltrail_engine::store::{check_links, has_pushed_runs};
use evaltrail_engine::workspace::named_path;
use std::path::{Path, PathBuf};

/// Explore the built-in sample workspace: no agent, key or network needed
#[derive(Args, Debug)]
pub(super) struct DemoArgs {
    /// Copy the sample workspace to this folder instead of a temporary one
    #[arg(long, value_name = "FOLDER")]
    pub(super) to: Option<PathBuf>,
    /// Colour theme
    #[arg(long)]
    pub(super) theme: Option<String>,
}

impl CliCommand for DemoArgs {
    const NAME: &'static str = "demo";

    fn run(self) -> anyhow::Result<Exit> {
        demo(self.to, self.theme)
    }
}

/// The sample workspace, file by file.
const SAMPLE: &[(&str, &str)] = &[
    (
        "README.md",
        include_str!("../../fixtures/workspace/README.md"),
    ),
    (
        "evaltrail.toml",
        include_str!("../../fixtures/workspace/evaltrail.toml"),
    ),
    (
        "scripted_model.py",
        include_str!("../../fixtures/workspace/scripted_model.py"),
    ),
    (
        "garden/__init__.py",
        include_str!("../../fixtures/workspace/garden/__init__.py"),
    ),
    (
        "garden/agent.py",
        include_str!("../../fixtures/workspace/garden/agent.py"),
    ),
    (
        "garden/weekend.evalset.json",
        include_str!("../../fixtures/workspace/garden/weekend.evalset.json"),
    ),
    (
        "garden/watering.evalset.json",
        include_str!("../../fixtures/workspace/garden/watering.evalset.json"),
    ),
    (
        "library_desk/__init__.py",
        include_str!("../../fixtures/workspace/library_desk/__init__.py"),
    ),
    (
        "library_desk/agent.py",
        include_str!("../../fixtures/workspace/library_desk/agent.py"),
    ),
    (
        "library_desk/hours.test.json",
        include_str!("../../fixtures/workspace/library_desk/hours.test.json"),
    ),
    (
        "library_desk/loans.evalset.json",
        include_str!("../../fixtures/workspace/library_desk/loans.evalset.json"),
    ),
    (
        "library_desk/tone/test_config.json",
        include_str!("../../fixtures/workspace/library_desk/tone/test_config.json"),
    ),
    (
        "library_desk/tone/tone.evalset.json",
        include_str!("../../fixtures/workspace/library_desk/tone/tone.evalset.json"),
    ),
    (
        "recordings/garden.jsonl",
        include_str!("../../fixtures/workspace/recordings/garden.jsonl"),
    ),
    (
        "recordings/judge.jsonl",
        include_str!("../../fixtures/workspace/recordings/judge.jsonl"),
    ),
    (
        "recordings/library_desk.jsonl",
        include_str!("../../fixtures/workspace/recordings/library_desk.jsonl"),
    ),
    (
        "saved_answers/answers.jsonl",
        include_str!("../../fixtures/workspace/saved_answers/answers.jsonl"),
    ),
];

pub(super) fn open(
    path: Option<PathBuf>,
    theme: Option<String>,
    columns: ColumnMap,
) -> anyhow::Result<Exit> {
    let path = path.unwrap_or_else(|| PathBuf::from("."));
    if let Some(found) = run_file(&path)? {
        return open_run(&path, found, None, theme);
    }
    if address_in(&path)?.is_none() && !path.exists() {
        let word = path.to_string_lossy();
        if let Some(subcommand) = similar_subcommand(&word) {
            anyhow::bail!(
                "there is no file, folder or subcommand {word:?}; did you mean `evaltrail {subcommand}`?"
            );
        }
        named_path(&path).with_context(|| path.display().to_string())?;
    }
    if let Some(exit) = no_terminal(&format!("`evaltrail run {}`", path_word(&path))) {
        return Ok(exit);
    }
    let address = address_in(&path)?;
    let mut path = path;
    copy_at(&mut path)?;
    if has_pushed_runs(&path) {
        let address = match address {
            Some(address) => address,
            None => BucketAddress::of_folder(&std::path::absolute(&path)?)
                .map_err(anyhow::Error::msg)?,
        };
        return open_pushed(&address, theme);
    }
    let opened = named_path(&path).with_context(|| path.display().to_string())?;
    let title = title_of_copy(&opened).unwrap_or_else(|| home_relative(&opened));
    match explore(Explorer {
        opened,
        title,
        theme: theme.clone(),
        run: None,
        columns,
    })? {
        ExplorerExit::Quit => Ok(Exit::Success),
        ExplorerExit::OpenSample => demo(None, theme),
    }
}

/// Copies the sample workspace to a temporary folder or to `to`, and opens it.
pub(super) fn demo(to: Option<PathBuf>, theme: Option<String>) -> anyhow::Result<Exit> {
    let (folder, temporary) = match to {
        Some(folder) => {
            check_links(&folder).with_context(|| folder.display().to_string())?;
            (folder, None)
        }
        None => {
            remove_private_folders_on_signals()?;
            let temporary = PrivateFolder::create("demo")?;
            (temporary.path().to_path_buf(), Some(temporary))
        }
    };
    if let Some((name, _)) = SAMPLE.iter().find(|(name, _)| folder.join(name).exists()) {
        anyhow::bail!(
            "{}: {name} exists there already; choose another folder, or open this one: evaltrail {}",
            folder.display(),
            path_word(&folder)
        );
    }
    write_sample(&folder).with_context(|| format!("{}", folder.display()))?;
    if temporary.is_none() && !has_terminal() {
        print_note(&format!(
            "the sample workspace is in {}; `evaltrail run {}` runs its cases",
            folder.display(),
            path_word(&folder)
        ));
        return Ok(Exit::Success);
    }
    if let Some(exit) = no_terminal("`evaltrail demo --to FOLDER`, then `evaltrail run FOLDER`") {
        return Ok(exit);
    }
    let title = "the sample workspace".into();
    explore(Explorer {
        opened: folder,
        title,
        theme,
        run: None,
        columns: ColumnMap::default(),
    })?;
    if temporary.is_some() {
        print_note(
            "the sample workspace was temporary and is deleted; `evaltrail demo --to FOLDER` keeps it",
        );
    }
    Ok(Exit::Success)
}

/// Writes the sample workspace. Existing files are not overwritten.
fn write_sample(folder: &Path) -> std::io::Result<()> {
    for (name, text) in SAMPLE {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
    }
    Ok(())
}

fn home_relative(path: &Path) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_path_buf)) {
        Some(rest) if rest.as_os_str().is_empty() => "~".into(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
