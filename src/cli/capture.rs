//! `evaltrail capture`: a conversation that was held, as a case.

use super::Exit;
use super::accept::find_run;
use super::args::CaptureArgs;
use super::output::{say_patch, tell};
use super::paths::parse_target;
use super::write::make_asking;
use crate::agents::kept_session;
use crate::domain::{Invocation, SessionInput, captured_case, clean_line, turn_range, wrong_eval_id};
use crate::formats::recording::{read_recording, recorded_turns};
use crate::formats::spans::{Traced, conversations, read_spans};
use crate::formats::{Edit, plan, unified};
use crate::history::place;
use crate::store::{FileAction, FileJob};
use crate::workspace::{SetPath, Workspace, open_set, read_text};
use anyhow::{Context, bail};
use std::ops::Range;
use std::path::Path;

/// What was held, and with whom.
struct Held {
    turns: Vec<Invocation>,
    input: Option<SessionInput>,
    notes: Vec<String>,
}

pub(super) fn capture(args: CaptureArgs) -> anyhow::Result<Exit> {
    let target = parse_target(&args.into);
    let [eval_id] = target.ids.as_slice() else { bail!("--into FILE:CASE names the file and the new case") };
    let workspace = Workspace::open(&target.path)?;
    let set = SetPath::of_file(&target.path, &workspace.root);
    let open = open_set(&set).with_context(|| set.shown.clone())?;
    if let Some(why) = wrong_eval_id(eval_id, open.file.eval_ids()) {
        bail!("{why}");
    }
    let held = held(&args, &workspace)?;
    held.notes.iter().for_each(|note| tell(&clean_line(note)));
    let kept = chosen(&held.turns, args.turns.as_deref())?;
    if kept.start > 0 {
        tell(&begins_late(kept.start + 1));
    }
    let turns = &held.turns[kept];
    let now = jiff::Timestamp::now().as_microsecond() as f64 / 1e6;
    let case = captured_case(eval_id, turns, session_input(held.input, &args), now);
    let change = plan(&open.file, &[Edit::Insert(open.file.len(), Box::new(case))])?;
    if args.dry_run {
        say_patch(unified(open.file.text(), &change, &set.shown).trim_end());
        return Ok(Exit::Fine);
    }
    let jobs =
        [FileJob { path: target.path.clone(), deed: FileAction::Change(open.file.shared_text(), change) }];
    let done = make_asking(&workspace.root, &format!("capture {eval_id}"), &jobs)?;
    done.note.iter().for_each(|note| tell(note));
    let turns = if turns.len() == 1 { "1 turn".to_string() } else { format!("{} turns", turns.len()) };
    tell(&format!("{eval_id} is kept in {}: {turns}", target.path.display()));
    Ok(Exit::Fine)
}

fn session_input(found: Option<SessionInput>, args: &CaptureArgs) -> Option<SessionInput> {
    let app = args.app.clone();
    match (found, app) {
        (Some(input), Some(app_name)) => Some(SessionInput { app_name, ..input }),
        (None, Some(app_name)) => {
            Some(SessionInput { app_name, user_id: "user".into(), ..SessionInput::default() })
        }
        (found, None) => found,
    }
}

/// By what the source is: a run, a session's address, a recording, or a trace.
fn held(args: &CaptureArgs, workspace: &Workspace) -> anyhow::Result<Held> {
    let source = args.source.as_str();
    if let Some(run) = source.strip_prefix("run:") {
        return of_run(args, workspace, run);
    }
    if source.contains("://") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let session =
            runtime.block_on(kept_session(source)).map_err(|error| anyhow::anyhow!(error.message))?;
        let notes = match session.changed.as_slice() {
            [] => Vec::new(),
            keys => vec![format!(
                "the conversation changed {}: what that was at the beginning is not kept by the server; set it where the agent needs it",
                keys.join(", ")
            )],
        };
        return Ok(Held { turns: session.turns, input: Some(session.input), notes });
    }
    let text = read_text(Path::new(source)).with_context(|| source.to_string())?;
    match read_recording(&text) {
        Ok(attempts) if !attempts.is_empty() => {
            let ids: Vec<&str> = attempts.iter().map(|attempt| attempt.eval_id.as_str()).collect();
            let at = one_of(args.case.as_deref(), &ids)?;
            Ok(Held { turns: recorded_turns(&attempts[at]), input: None, notes: Vec::new() })
        }
        _ => of_trace(args, &text),
    }
}

fn of_run(args: &CaptureArgs, workspace: &Workspace, run: &str) -> anyhow::Result<Held> {
    let run = find_run(workspace, run)?;
    let ids: Vec<&str> = run.state.finished.iter().map(|attempt| attempt.eval_id.as_str()).collect();
    let attempt = &run.state.finished[one_of(args.case.as_deref(), &ids)?];
    if let Some(error) = &attempt.error {
        bail!("the agent did not finish: {}", clean_line(error));
    }
    let planned = &run.state.plan.cases[attempt.key.case];
    let set = SetPath::of_file(&run.state.plan.sets[planned.set].path, &workspace.root);
    let case = open_set(&set).ok().and_then(|open| {
        let at = place(&open.file, &attempt.eval_id, &planned.content)?;
        open.file.case(at).ok()
    });
    Ok(Held {
        turns: attempt.read().map_err(anyhow::Error::msg)?.actual.to_vec(),
        input: case.and_then(|case| case.session_input),
        notes: Vec::new(),
    })
}

fn of_trace(args: &CaptureArgs, text: &str) -> anyhow::Result<Held> {
    let spans = read_spans(text).map_err(|why| anyhow::anyhow!("{}: {why}", args.source))?;
    let found: Vec<Traced> = conversations(&spans);
    if found.is_empty() {
        bail!("{}: the trace holds no agent's work", args.source);
    }
    let ids: Vec<&str> = found.iter().map(|traced| traced.id.as_str()).collect();
    let traced = &found[one_of(args.case.as_deref(), &ids)?];
    if traced.turns.iter().any(|turn| turn.user.scored_text().is_empty()) {
        bail!("{}", traced.missing.join("\n"));
    }
    let input = traced.agent.clone().map(|app_name| SessionInput {
        app_name,
        user_id: "user".into(),
        ..SessionInput::default()
    });
    Ok(Held { turns: traced.turns.clone(), input, notes: traced.missing.clone() })
}

/// The one that is named, or the only one.
fn one_of(named: Option<&str>, ids: &[&str]) -> anyhow::Result<usize> {
    let listed = || ids.iter().take(8).map(|id| clean_line(id).into_owned()).collect::<Vec<_>>().join(", ");
    match named {
        Some(named) => ids
            .iter()
            .position(|id| *id == named)
            .with_context(|| format!("there is no {named:?}; there is {}", listed())),
        None if ids.len() == 1 => Ok(0),
        None => bail!("which one? --case {}", listed()),
    }
}

/// The turns that are kept.
fn chosen(turns: &[Invocation], range: Option<&str>) -> anyhow::Result<Range<usize>> {
    let range = range.unwrap_or_default();
    turn_range(range, turns.len()).map_err(|why| anyhow::anyhow!("--turns {range}: {why}"))
}

/// What a case does not hold that begins in the middle of a conversation.
fn begins_late(turn: usize) -> String {
    format!(
        "the case begins at turn {turn}: what was said before, the session's state by then and which agent had the \
         conversation are not in it; session_input.state can say the state (evaltrail edit)"
    )
}
