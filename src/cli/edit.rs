//! `evaltrail edit`: edits a case in `$EDITOR` and checks it before it is written, or undoes and redoes edits.

#![expect(
    clippy::disallowed_methods,
    reason = "a person or a program pipes the text of one case"
)]

use super::Exit;
use super::addresses::copy_target;
use super::output::{print_note, print_patch};
use super::paths::parse_target;
use super::subcommand::CliCommand;
use super::write::make_asking;
use crate::explorer::edit_text;
use anyhow::{Context, bail};
use clap::Args;
use evaltrail_core::domain::did_you_mean;
use evaltrail_core::domain::stored_path::path_below;
use evaltrail_core::formats::{Edit, SetFile, plan, unified};
use evaltrail_engine::process::FILE_FOR_USER;
use evaltrail_engine::store::{AppFolders, EditLog, EditOutcome, FileAction, FileEdit, sweep};
use evaltrail_engine::workspace::{Workspace, edited_with, open_set, read_text};
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

/// Edit a case in $EDITOR, or undo an edit
#[derive(Args, Debug)]
pub(super) struct EditArgs {
    /// The file and the case: lights.evalset.json:lights_off
    #[arg(value_name = "FILE[:CASE]")]
    pub(super) target: String,
    /// Read the case's JSON from this file instead of opening an editor; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["undo", "redo"])]
    pub(super) from: Option<PathBuf>,
    /// Show what would change, without writing
    #[arg(long, conflicts_with_all = ["undo", "redo"])]
    pub(super) dry_run: bool,
    /// Undo the last edit of the file, or of the criteria, notes or stubs beside it
    #[arg(long, conflicts_with = "redo")]
    pub(super) undo: bool,
    /// Redo the edit that was undone
    #[arg(long)]
    pub(super) redo: bool,
}

impl CliCommand for EditArgs {
    const NAME: &'static str = "edit";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_target(&mut self.target)
    }

    fn run(self) -> anyhow::Result<Exit> {
        edit(self)
    }
}

pub(super) fn edit(args: EditArgs) -> anyhow::Result<Exit> {
    let target = parse_target(&args.target);
    let workspace = Workspace::open(&target.path)?;
    let root = &workspace.root;
    if let Some(folder) = target
        .path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        sweep(folder);
    }
    if args.undo || args.redo {
        let (log, files) = (
            EditLog::in_folder(AppFolders::find().as_ref()),
            edited_with(&target.path),
        );
        let done = if args.undo {
            log.undo(None, &files)?
        } else {
            log.redo(None, &files)?
        };
        let what = if args.undo { "undone" } else { "redone" };
        // The last edit may be one of the criteria or notes beside the file.
        let names = done.written.iter().map(|(path, _)| path_below(root, path));
        let names = names.collect::<Vec<_>>().join(", ");
        return Ok(print_outcome(&format!("{what} in {names}: "), done));
    }
    let set = workspace.set_path(&target.path);
    let open = open_set(&set).with_context(|| set.shown.clone())?;
    let at = case_of(&open.file, &target.ids).with_context(|| set.shown.clone())?;
    let range = open
        .file
        .range(at)
        .context("files of this format cannot be edited")?;
    let before = &open.file.text()[range];
    let typed = typed(&args, before, at, &open.file)?;
    let edits = [Edit::Typed(at, typed.clone())];
    let change = match plan(&open.file, &edits) {
        Ok(change) => change,
        Err(error) => bail!(
            "{error}\nnothing was changed{}",
            save_typed_text(&args, &typed)
        ),
    };
    if change.is_empty() {
        print_note("nothing was changed");
        return Ok(Exit::Success);
    }
    if args.dry_run {
        print_patch(&unified(open.file.text(), &change, &set.shown));
        return Ok(Exit::Success);
    }
    let words = format!("edit {}", open.file.eval_id(at));
    let jobs = [FileEdit {
        path: target.path.clone(),
        action: FileAction::Change(open.file.shared_text(), change),
    }];
    match make_asking(root, &words, &jobs) {
        Ok(done) => Ok(print_outcome("", done)),
        Err(error) => bail!("{error}{}", save_typed_text(&args, &typed)),
    }
}

fn print_outcome(what: &str, done: EditOutcome) -> Exit {
    done.note.iter().for_each(|note| print_note(note));
    print_note(&format!("{what}{}", done.words));
    Exit::Success
}

/// Saves the text that was typed in the editor to a temporary file, and returns a note about it.
fn save_typed_text(args: &EditArgs, typed: &str) -> String {
    if args.from.is_some() {
        return String::new();
    }
    match tempfile::Builder::new()
        .prefix(&format!("{FILE_FOR_USER}edit-"))
        .suffix(".json")
        .tempfile()
    {
        Ok(mut file) => {
            let wrote = std::io::Write::write_all(&mut file, typed.as_bytes()).is_ok();
            match file.keep() {
                Ok((_, path)) if wrote => format!("; what you typed is in {}", path.display()),
                _ => String::new(),
            }
        }
        Err(_) => String::new(),
    }
}

fn case_of(file: &SetFile, ids: &[String]) -> anyhow::Result<usize> {
    match ids {
        [] if file.len() == 1 => Ok(0),
        [] => bail!(
            "choose a case (FILE:CASE): {}",
            file.eval_ids().take(8).collect::<Vec<_>>().join(", ")
        ),
        [id] => file
            .eval_ids()
            .position(|other| other == *id)
            .with_context(|| {
                format!(
                    "there is no case {id:?}{}",
                    did_you_mean(id, file.eval_ids())
                )
            }),
        _ => bail!("one case at a time"),
    }
}

/// The case's new text: from a file, from standard input, or from the editor.
fn typed(args: &EditArgs, before: &str, at: usize, file: &SetFile) -> anyhow::Result<String> {
    match args.from.as_deref() {
        Some(path) if path == Path::new("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            Ok(text)
        }
        Some(path) => read_text(path).with_context(|| path.display().to_string()),
        None => Ok(edit_text(before, &file.eval_id(at), "json")?),
    }
}
