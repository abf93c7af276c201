//! `evaltrail capture`: saves a recorded conversation as an eval case.

use super::Exit;
use super::addresses::copy_target_or_folder;
use super::capture_args::CaptureArgs;
use super::capture_best::capture_best;
use super::capture_file::{CaptureFile, now, session_input};
use super::capture_sources::{of_attempt, read_source};
use super::find_run::find_run;
use super::output::print_note;
use super::paths::parse_target;
use super::subcommand::CliCommand;
use anyhow::{Context, bail};
use evaltrail_core::domain::{
    EndedAttempt, Invocation, captured_case, clean_line, counted, did_you_mean, eval_id_error,
    turn_range,
};
use evaltrail_engine::runner::{RecordedConversation, with_user_message};
use evaltrail_engine::workspace::Workspace;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

impl CliCommand for CaptureArgs {
    const NAME: &'static str = "capture";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_target_or_folder(&mut self.into)
    }

    fn run(self) -> anyhow::Result<Exit> {
        capture(self)
    }
}

/// Maximum number of ids in a message.
const LISTED: usize = 8;

pub(super) fn capture(args: CaptureArgs) -> anyhow::Result<Exit> {
    if let Some(most) = args.best {
        return capture_best(&args, most as usize);
    }
    let [source] = args.sources.as_slice() else {
        bail!(
            "one conversation is saved at a time; --best N saves the best ones of several sources"
        )
    };
    let target = parse_target(&args.into);
    let [eval_id] = target.ids.as_slice() else {
        bail!("--into FILE:CASE names the file and the new case")
    };
    let target = CaptureFile::open(target.path)?;
    if let Some(why) = eval_id_error(eval_id, target.file.eval_ids()) {
        bail!("{why}");
    }
    let conversation = conversation(&args, source, &target.workspace)?;
    conversation
        .notes
        .iter()
        .for_each(|note| print_note(&clean_line(note)));
    if conversation.turns.is_empty() {
        bail!("{} has no turns to save", clean_line(&conversation.id));
    }
    let range = turns_of(&conversation.turns, args.turns.as_deref())?;
    let (input, notes) = conversation.session_from(range.start);
    notes.iter().for_each(|note| print_note(&clean_line(note)));
    let (turns, without) = with_user_message(&conversation.turns, range);
    if turns.is_empty() || (!without.is_empty() && !args.user_turns_only) {
        let without: Vec<String> = without
            .iter()
            .map(|turn| clean_line(turn).into_owned())
            .collect();
        bail!(
            "a case has a user message in each turn: {}; choose other turns with --turns, or leave these out with --user-turns-only",
            without.join(", ")
        );
    }
    without
        .iter()
        .for_each(|turn| print_note(&format!("left out: {}", clean_line(turn))));
    let case = captured_case(
        eval_id,
        &turns,
        session_input(input, args.app.as_deref()),
        now(),
    );
    if target.save(&[case], &format!("capture {eval_id}"), args.dry_run)? {
        let turns = counted(turns.len(), "turn");
        print_note(&format!(
            "{eval_id} is saved in {}: {turns}",
            target.path.display()
        ));
    }
    Ok(Exit::Success)
}

/// The conversation of a run, or of the source that is named.
fn conversation(
    args: &CaptureArgs,
    source: &str,
    workspace: &Workspace,
) -> anyhow::Result<RecordedConversation> {
    let all = match source.strip_prefix("run:") {
        Some(run) => return of_run(args.case.as_deref(), workspace, run),
        None => read_source(source)?,
    };
    let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
    let conversation = all[one_of(args.case.as_deref(), &ids)?].clone();
    match &conversation.problem {
        Some(why) => bail!("{why}"),
        None => Ok(conversation),
    }
}

fn of_run(
    case: Option<&str>,
    workspace: &Workspace,
    run: &str,
) -> anyhow::Result<RecordedConversation> {
    let run = find_run(workspace, run)?;
    let attempts: Vec<Arc<EndedAttempt>> = run.state.finished.iter().collect();
    let ids: Vec<&str> = attempts
        .iter()
        .map(|attempt| attempt.eval_id.as_str())
        .collect();
    let attempt = &attempts[one_of(case, &ids)?];
    let conversation = of_attempt(workspace, &run.state, attempt, &mut HashMap::new())?;
    match &conversation.problem {
        Some(why) => bail!("{}", clean_line(why)),
        None => Ok(conversation),
    }
}

/// The position of the id that is named, or of the only one.
fn one_of(named: Option<&str>, ids: &[&str]) -> anyhow::Result<usize> {
    // Several attempts of a case have its id.
    let mut seen = HashSet::new();
    let different: Vec<&str> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
    let listed = || {
        let shown: Vec<String> = different
            .iter()
            .take(LISTED)
            .map(|id| clean_line(id).into_owned())
            .collect();
        let more = different.len().saturating_sub(LISTED);
        shown.join(", ")
            + &if more > 0 {
                format!(" … and {more} more")
            } else {
                String::new()
            }
    };
    match named {
        Some(named) => ids.iter().position(|id| *id == named).with_context(|| {
            let similar = did_you_mean(named, different.iter().copied());
            format!("there is no {named:?}{similar}; there is {}", listed())
        }),
        None if different.len() == 1 => Ok(0),
        None => bail!("which one? --case {}", listed()),
    }
}

/// The turns that `--turns` chooses.
fn turns_of(turns: &[Invocation], range: Option<&str>) -> anyhow::Result<Range<usize>> {
    let range = range.unwrap_or_default();
    turn_range(range, turns.len()).map_err(|why| anyhow::anyhow!("--turns {range}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_are_listed_once() {
        let ids = ["dim_lights", "dim_lights", "lock_door", "lock_door"];
        let error = |named| one_of(named, &ids).unwrap_err().to_string();
        assert_eq!(
            error(Some("dim_light")),
            "there is no \"dim_light\"; did you mean \"dim_lights\"?; there is dim_lights, lock_door"
        );
        assert_eq!(error(None), "which one? --case dim_lights, lock_door");
        assert_eq!(one_of(None, &ids[..2]).unwrap(), 0);
    }
}
