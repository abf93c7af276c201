//! `evaltrail capture`: saves a recorded conversation as an eval case.

use super::Exit;
use super::args::CaptureArgs;
use super::find_run::find_run;
use super::output::{print_note, print_patch};
use super::paths::parse_target;
use super::write::make_asking;
use crate::domain::EndedAttempt;
use crate::domain::counted;
use crate::domain::{
    Invocation, SessionInput, captured_case, clean_line, eval_id_error, set_id_error, turn_range,
};
use crate::formats::{Edit, SetFile, blank_set, created, plan, unified};
use crate::history::place;
use crate::runner::{RecordedConversation, recorded_conversations, with_user_message};
use crate::store::{FileAction, FileEdit};
use crate::workspace::{Workspace, open_set};
use anyhow::{Context, bail};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of ids in a message.
const LISTED: usize = 8;

pub(super) fn capture(args: CaptureArgs) -> anyhow::Result<Exit> {
    let target = parse_target(&args.into);
    let [eval_id] = target.ids.as_slice() else {
        bail!("--into FILE:CASE names the file and the new case")
    };
    let opened = if target.path.exists() {
        target.path.as_path()
    } else {
        folder_of(&target.path)
    };
    let workspace = Workspace::open(opened)?;
    let set = workspace.set_path(&target.path);
    let is_new = !target.path.exists();
    let file = match is_new {
        true => blank(&target.path)?,
        false => open_set(&set).with_context(|| set.shown.clone())?.file,
    };
    if let Some(why) = eval_id_error(eval_id, file.eval_ids()) {
        bail!("{why}");
    }
    let conversation = conversation(&args, &workspace)?;
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
    let case = captured_case(eval_id, &turns, session_input(input, &args), now());
    let change = plan(&file, &[Edit::Insert(file.len(), Box::new(case))])?;
    if args.dry_run {
        print_patch(&match is_new {
            true => created(&change.apply(file.text()).unwrap_or_default(), &set.shown),
            false => unified(file.text(), &change, &set.shown),
        });
        return Ok(Exit::Success);
    }
    let action = match is_new {
        true => FileAction::Create(change.apply(file.text()).unwrap_or_default()),
        false => FileAction::Change(file.shared_text(), change),
    };
    let jobs = [FileEdit {
        path: target.path.clone(),
        action,
    }];
    let done = make_asking(&workspace.root, &format!("capture {eval_id}"), &jobs)?;
    done.note.iter().for_each(|note| print_note(note));
    let turns = counted(turns.len(), "turn");
    print_note(&format!(
        "{eval_id} is saved in {}: {turns}",
        target.path.display()
    ));
    Ok(Exit::Success)
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// A new set for a file that does not exist yet.
fn blank(path: &Path) -> anyhow::Result<SetFile> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let Some(id) = name.strip_suffix(".evalset.json") else {
        bail!(
            "{}: there is no such file; a new set needs a name that ends in .evalset.json",
            path.display()
        );
    };
    if let Some(why) = set_id_error(id) {
        bail!("{why}");
    }
    Ok(SetFile::open(blank_set(id, None, now()).into(), id)?)
}

fn now() -> f64 {
    jiff::Timestamp::now().as_microsecond() as f64 / 1e6
}

fn session_input(found: Option<SessionInput>, args: &CaptureArgs) -> Option<SessionInput> {
    let app = args.app.clone();
    match (found, app) {
        (Some(input), Some(app_name)) => Some(SessionInput { app_name, ..input }),
        (None, Some(app_name)) => Some(SessionInput {
            app_name,
            user_id: "user".into(),
            ..SessionInput::default()
        }),
        (found, None) => found,
    }
}

/// The conversation of a run, or of the source that is named.
fn conversation(args: &CaptureArgs, workspace: &Workspace) -> anyhow::Result<RecordedConversation> {
    let source = args.source.as_str();
    if let Some(run) = source.strip_prefix("run:") {
        return of_run(args, workspace, run);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let all = runtime
        .block_on(recorded_conversations(source, Path::new("")))
        .map_err(anyhow::Error::msg)?;
    let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
    let conversation = all[one_of(args.case.as_deref(), &ids)?].clone();
    match &conversation.problem {
        Some(why) => bail!("{why}"),
        None => Ok(conversation),
    }
}

fn of_run(
    args: &CaptureArgs,
    workspace: &Workspace,
    run: &str,
) -> anyhow::Result<RecordedConversation> {
    let run = find_run(workspace, run)?;
    let attempts: Vec<Arc<EndedAttempt>> = run.state.finished.iter().collect();
    let ids: Vec<&str> = attempts
        .iter()
        .map(|attempt| attempt.eval_id.as_str())
        .collect();
    let attempt = &attempts[one_of(args.case.as_deref(), &ids)?];
    if let Some(error) = &attempt.error {
        bail!("the agent did not finish: {}", clean_line(error));
    }
    let plan = &run.state.plan;
    let set = workspace.set_path(&plan.set_of(attempt.key.case).path);
    let case = open_set(&set).ok().and_then(|open| {
        let at = place(
            &open.file,
            &attempt.eval_id,
            plan.cases.content_hash(attempt.key.case),
        )?;
        open.file.case(at).ok()
    });
    Ok(RecordedConversation {
        id: attempt.eval_id.clone(),
        turns: attempt.read().map_err(anyhow::Error::msg)?.actual.to_vec(),
        input: case.and_then(|case| case.session_input),
        // A run records the state at the end of a conversation only.
        states: Vec::new(),
        notes: Vec::new(),
        problem: None,
    })
}

/// The position of the id that is named, or of the only one.
fn one_of(named: Option<&str>, ids: &[&str]) -> anyhow::Result<usize> {
    let listed = || {
        let shown: Vec<String> = ids
            .iter()
            .take(LISTED)
            .map(|id| clean_line(id).into_owned())
            .collect();
        let more = ids.len().saturating_sub(LISTED);
        shown.join(", ")
            + &if more > 0 {
                format!(" … and {more} more")
            } else {
                String::new()
            }
    };
    match named {
        Some(named) => ids
            .iter()
            .position(|id| *id == named)
            .with_context(|| format!("there is no {named:?}; there is {}", listed())),
        None if ids.len() == 1 => Ok(0),
        None => bail!("which one? --case {}", listed()),
    }
}

/// The turns that `--turns` chooses.
fn turns_of(turns: &[Invocation], range: Option<&str>) -> anyhow::Result<Range<usize>> {
    let range = range.unwrap_or_default();
    turn_range(range, turns.len()).map_err(|why| anyhow::anyhow!("--turns {range}: {why}"))
}
