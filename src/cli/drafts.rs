//! `evaltrail drafts`: shows the drafts of a set, accepts them into it, and drops them.

use super::Exit;
use super::addresses::copy_target;
use super::output::{print_json, print_line, print_note, print_patch};
use super::paths::parse_target;
use super::subcommand::CliCommand;
use super::write::make_asking;
use anyhow::{Context, bail};
use clap::Args;
use evaltrail_core::domain::stored_path::path_below;
use evaltrail_core::domain::{EvalCase, clean_line, counted, did_you_mean};
use evaltrail_core::formats::adk::write_case;
use evaltrail_core::formats::{Draft, DraftContent, SetFile, append_cases, unified};
use evaltrail_engine::runner::SetDrafts;
use evaltrail_engine::store::{FileAction, FileEdit};
use evaltrail_engine::workspace::{SetPath, Workspace, named_path, open_set, root_of};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// Show the drafts of a set, add them to the set, or drop them
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  evaltrail drafts lights.evalset.json                     all drafts, one a line
  evaltrail drafts lights.evalset.json:dim_value           the case of one
  evaltrail drafts lights.evalset.json:dim_value --accept  add it to the set
  evaltrail drafts lights.evalset.json --accept --kept     add all that keep the expectation of their case
  evaltrail drafts lights.evalset.json:dim_state --drop 'the state is never empty'

`evaltrail generate` makes drafts. A draft that is accepted or dropped is not proposed again. `evaltrail edit FILE --undo` takes the last step back.")]
pub(super) struct DraftsArgs {
    /// The set; FILE:id,id takes only these drafts
    #[arg(value_name = "FILE[:ID,ID]")]
    pub(super) target: String,
    /// Add the drafts to the set
    #[arg(long, conflicts_with = "drop")]
    pub(super) accept: bool,
    /// Only drafts that keep the expectation of their case
    #[arg(long)]
    pub(super) kept: bool,
    /// Drop the drafts, for this reason
    #[arg(long, value_name = "REASON", value_parser = parse_reason)]
    pub(super) drop: Option<String>,
    /// Print the drafts as JSON
    #[arg(long, conflicts_with_all = ["accept", "drop"])]
    pub(super) json: bool,
    /// Show what --accept or --drop would change, without writing
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// The reason why drafts are dropped: a text.
fn parse_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say why: it is kept with the draft".into()),
        reason => Ok(reason.to_string()),
    }
}

impl CliCommand for DraftsArgs {
    const NAME: &'static str = "drafts";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_target(&mut self.target)
    }

    fn run(self) -> anyhow::Result<Exit> {
        let target = parse_target(&self.target);
        let open = OpenDrafts::open(&target.path)?;
        let chosen = open.chosen(&target.ids, self.kept)?;
        match (self.accept, &self.drop) {
            (true, _) | (_, Some(_)) if target.ids.is_empty() && !self.kept => {
                bail!(
                    "name the drafts: FILE:ID,ID, or take all that keep the expectation of their case with --kept"
                )
            }
            (true, _) => accept(&open, &chosen, self.dry_run),
            (_, Some(reason)) => drop_drafts(&open, &chosen, reason, self.dry_run),
            _ if self.json => {
                print_json(&serde_json::to_string_pretty(&json_of(&open, &chosen))?);
                Ok(Exit::Success)
            }
            _ => show(&open, &chosen, !target.ids.is_empty()),
        }
    }
}

/// A set with its drafts.
pub(super) struct OpenDrafts {
    pub(super) workspace: Workspace,
    pub(super) set: SetPath,
    pub(super) file: SetFile,
    pub(super) drafts: SetDrafts,
}

impl OpenDrafts {
    pub(super) fn open(set_file: &Path) -> anyhow::Result<OpenDrafts> {
        // A missing path is answered with a similar one.
        named_path(set_file).with_context(|| set_file.display().to_string())?;
        if !set_file.is_file() {
            bail!("{}: name the file of a set", set_file.display());
        }
        let whole =
            dunce::canonicalize(set_file).with_context(|| set_file.display().to_string())?;
        // A link is written where it leads, after a question.
        let whole = match set_file.is_symlink() {
            true => std::path::absolute(set_file)?,
            false => whole,
        };
        let folder = whole.parent().unwrap_or(Path::new("."));
        let workspace = Workspace::open(&root_of(folder))?;
        let set = workspace.set_path(&whole);
        let file = open_set(&set).with_context(|| set.shown.clone())?.file;
        // A file that no case can be added to is an error before anything else.
        append_cases(&file, &[EvalCase::default()]).with_context(|| set.shown.clone())?;
        Ok(OpenDrafts {
            drafts: SetDrafts::read(&set.path).map_err(anyhow::Error::msg)?,
            workspace,
            set,
            file,
        })
    }

    /// The path of the drafts below the folder.
    pub(super) fn shown_path(&self) -> String {
        path_below(&self.workspace.root, &self.drafts.path)
    }

    /// The positions of the drafts that were not dropped: those with these ids, or all; with `kept` only those that keep their
    /// expectation. Errors: an id that no draft has, or with `kept` one whose expectation is to be decided.
    fn chosen(&self, ids: &[String], kept: bool) -> anyhow::Result<BTreeSet<usize>> {
        let by_id: HashMap<&str, &Draft> = self
            .drafts
            .cases()
            .map(|(_, draft, case)| (case.eval_id.as_str(), draft))
            .collect();
        for wanted in ids {
            match by_id.get(wanted.as_str()) {
                Some(draft) if kept && !draft.keeps_expectation => {
                    bail!("the expectation of {wanted:?} is to be decided; leave out --kept");
                }
                Some(_) => {}
                None => {
                    let meant = did_you_mean(wanted, by_id.keys());
                    bail!("{} has no draft {wanted:?}{meant}", self.shown_path());
                }
            }
        }
        let ids: HashSet<&str> = ids.iter().map(String::as_str).collect();
        let is_chosen = |draft: &Draft, case: &EvalCase| {
            (ids.is_empty() || ids.contains(case.eval_id.as_str()))
                && (!kept || draft.keeps_expectation)
        };
        let chosen = self
            .drafts
            .cases()
            .filter(|(_, draft, case)| is_chosen(draft, case));
        Ok(chosen.map(|(at, ..)| at).collect())
    }

    /// Makes edits of the set and its drafts, as one step.
    pub(super) fn make(&self, words: &str, jobs: &[FileEdit]) -> anyhow::Result<()> {
        let done = make_asking(&self.workspace.root, words, jobs)?;
        done.note.iter().for_each(|note| print_note(note));
        Ok(())
    }
}

/// A line for each draft: its id, what differs, and what its expectation is.
pub(super) fn draft_lines(drafts: &[&Draft]) -> Vec<String> {
    let id = |draft: &Draft| {
        let id = draft.case().map(|case| case.eval_id.clone());
        clean_line(&id.unwrap_or_default()).into_owned()
    };
    let ids: Vec<String> = drafts.iter().map(|draft| id(draft)).collect();
    let width = ids.iter().map(|id| id.width()).max().unwrap_or(0);
    let line = |(draft, id): (&&Draft, &String)| {
        let expectation = if draft.keeps_expectation {
            "expectation kept     "
        } else {
            "expectation to decide"
        };
        let gap = " ".repeat(width - id.width());
        format!("{id}{gap}  {expectation}  {}", clean_line(&draft.change))
    };
    drafts.iter().zip(&ids).map(line).collect()
}

fn show(open: &OpenDrafts, chosen: &BTreeSet<usize>, with_cases: bool) -> anyhow::Result<Exit> {
    let drafts: Vec<&Draft> = chosen.iter().map(|at| &open.drafts.drafts[*at]).collect();
    for (draft, line) in drafts.iter().zip(draft_lines(&drafts)) {
        print_line(&line);
        if let Some(case) = draft.case().filter(|_| with_cases) {
            print_json(&serde_json::to_string_pretty(&write_case(case))?);
        }
    }
    let dropped = match open.drafts.dropped() {
        0 => String::new(),
        dropped => format!("; {dropped} dropped before"),
    };
    print_note(&format!("{}{dropped}", counted(drafts.len(), "draft")));
    Ok(Exit::Success)
}

fn json_of(open: &OpenDrafts, chosen: &BTreeSet<usize>) -> Value {
    let drafts = open.drafts.cases().filter(|(at, ..)| chosen.contains(at));
    let drafts = drafts.map(|(_, draft, case)| {
        json!({
            "id": case.eval_id,
            "kind": draft.kind,
            "source": draft.source,
            "change": draft.change,
            "keeps_expectation": draft.keeps_expectation,
            "case": write_case(case),
        })
    });
    let drafts: Vec<Value> = drafts.collect();
    let dropped = open
        .drafts
        .drafts
        .iter()
        .filter_map(|draft| match &draft.content {
            DraftContent::Dropped { reason } => Some(json!({
                "kind": draft.kind,
                "source": draft.source,
                "change": draft.change,
                "reason": reason,
            })),
            DraftContent::Case(_) => None,
        });
    let dropped: Vec<Value> = dropped.collect();
    json!({"set": open.set.shown, "drafts": drafts, "dropped": dropped})
}

fn accept(open: &OpenDrafts, chosen: &BTreeSet<usize>, dry_run: bool) -> anyhow::Result<Exit> {
    let what = counted(chosen.len(), "draft");
    if chosen.is_empty() {
        print_note("there is no such draft; nothing was changed");
        return Ok(Exit::Success);
    }
    let jobs = open.drafts.accepting((&open.set.path, &open.file), chosen);
    let jobs = jobs.map_err(anyhow::Error::msg)?;
    if dry_run {
        if let FileAction::Change(text, change) = &jobs[0].action {
            print_patch(&unified(text, change, &open.set.shown));
        }
        return Ok(Exit::Success);
    }
    open.make(&format!("accept {what}"), &jobs)?;
    print_note(&format!("{what} added to {}", open.set.shown));
    Ok(Exit::Success)
}

fn drop_drafts(
    open: &OpenDrafts,
    chosen: &BTreeSet<usize>,
    reason: &str,
    dry_run: bool,
) -> anyhow::Result<Exit> {
    let what = counted(chosen.len(), "draft");
    if chosen.is_empty() {
        print_note("there is no such draft; nothing was changed");
        return Ok(Exit::Success);
    }
    if dry_run {
        print_note(&format!("{what} would be dropped; nothing was changed"));
        return Ok(Exit::Success);
    }
    open.make(
        &format!("drop {what}"),
        &[open.drafts.dropping(chosen, reason)],
    )?;
    print_note(&format!("{what} dropped"));
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_reason_is_refused() {
        assert!(parse_reason("").is_err() && parse_reason(" \t").is_err());
        assert_eq!(parse_reason(" never empty "), Ok("never empty".into()));
    }
}
