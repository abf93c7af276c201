//! `evaltrail drafts`: shows the drafts of a set, accepts them into it, and drops them.

use super::Exit;
use super::addresses::copy_target;
use super::open_drafts::{Only, OpenDrafts, draft_lines};
use super::output::{print_json, print_line, print_note, print_patch};
use super::paths::parse_target;
use super::subcommand::CliCommand;
use super::verify_drafts::{VerifyArgs, verify};
use anyhow::bail;
use clap::Args;
use evaltrail_core::domain::counted;
use evaltrail_core::formats::adk::write_case;
use evaltrail_core::formats::{CheckedDraft, Draft, DraftContent, unified};
use evaltrail_engine::store::FileAction;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Show the drafts of a set, add them to the set, or drop them
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  evaltrail drafts lights.evalset.json                     all drafts, one a line
  evaltrail drafts lights.evalset.json:dim_value           the case of one
  evaltrail drafts lights.evalset.json:dim_value --accept  add it to the set
  evaltrail drafts lights.evalset.json --accept --kept     add all that keep the expectation of their case
  evaltrail drafts lights.evalset.json --verify --agent home --stubs     run the agent with each three times
  evaltrail drafts lights.evalset.json --accept --verified add all with which the agent did what they expect
  evaltrail drafts lights.evalset.json:dim_state --drop 'the state is never empty'

`evaltrail generate` makes drafts. --verify runs the agent with them and notes what it did: verified (the expected calls in all attempts), disputed (the same other calls in all attempts: the draft or the agent is wrong), unsteady (different calls), underspecified (the agent asked back) or unanswerable (the agent or a tool failed each time). A draft that is accepted or dropped is not proposed again. `evaltrail edit FILE --undo` takes the last step back.")]
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
    /// Only drafts with which an agent made the expected calls each time
    #[arg(long, conflicts_with = "kept")]
    pub(super) verified: bool,
    /// Add the drafts with the calls that the agent made each time in the place of the expected ones
    #[arg(long, requires = "accept", conflicts_with_all = ["kept", "verified"])]
    pub(super) agent_calls: bool,
    /// Drop the drafts, for this reason
    #[arg(long, value_name = "REASON", value_parser = parse_reason)]
    pub(super) drop: Option<String>,
    /// Print the drafts as JSON
    #[arg(long, conflicts_with_all = ["accept", "drop"])]
    pub(super) json: bool,
    /// Show what --accept or --drop would change, without writing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Run an agent with the drafts, and note what it did
    #[command(flatten)]
    pub(super) verify: VerifyArgs,
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
        let chosen = open.chosen(&target.ids, self.only())?;
        match (self.accept, &self.drop) {
            (true, _) | (_, Some(_)) if target.ids.is_empty() && self.only() == Only::All => {
                bail!(
                    "name the drafts: FILE:ID,ID, or take all that keep the expectation of their case with --kept, or that are verified with --verified"
                )
            }
            (true, _) if self.agent_calls => {
                let drafts = open.drafts.with_agent_calls(&chosen);
                let drafts = drafts.map_err(anyhow::Error::msg)?;
                accept(&OpenDrafts { drafts, ..open }, &chosen, self.dry_run)
            }
            (true, _) => accept(&open, &chosen, self.dry_run),
            _ if self.verify.verify => verify(&self.verify, &open, &chosen),
            (_, Some(reason)) => drop_drafts(&open, &chosen, reason, self.dry_run),
            _ if self.json => {
                print_json(&serde_json::to_string_pretty(&json_of(&open, &chosen))?);
                Ok(Exit::Success)
            }
            _ => show(&open, &chosen, !target.ids.is_empty()),
        }
    }
}

impl DraftsArgs {
    /// Which of the drafts are meant.
    fn only(&self) -> Only {
        match (self.kept, self.verified) {
            (true, _) => Only::Kept,
            (_, true) => Only::Verified,
            _ => Only::All,
        }
    }
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
            "check": draft.check.as_ref().map(|CheckedDraft { check, agent_case }| json!({
                "verdict": check.verdict.name(),
                "attempts": check.attempts,
                "agent": check.agent,
                "agent_case": agent_case.as_deref().map(write_case),
            })),
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
