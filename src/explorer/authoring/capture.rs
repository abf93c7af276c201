//! Saving a conversation that took place elsewhere as a case: from an ADK session, a recording or a trace.

use super::{propose, show};
use crate::explorer::authoring::proposal::Proposal;
use crate::explorer::prompts::ask::Purpose;
use crate::explorer::prompts::{ask, conversations};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{CaptureTarget, EditEffect, Effect};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use evaltrail_core::analysis::Addition;
use evaltrail_core::domain::{
    Invocation, captured_case, clean_line, eval_id_error, free_id, turn_range,
};
use evaltrail_core::formats::{Edit, SetFile, blank_set, plan};
use evaltrail_engine::runner::{RecordedConversation, with_user_message};
use evaltrail_engine::store::{FileAction, FileEdit};
use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The set that a captured case is added to where there is none yet.
const NEW_SET: &str = "captured";
/// Example of what is typed to save a conversation.
pub(crate) const CASE_EXAMPLE: &str = "an id, or an id and turns: my_case 2-3";

pub(crate) fn ask_source(model: &mut Model) -> Vec<Effect> {
    let target = model
        .current_set()
        .map_or(CaptureTarget::NewSet, CaptureTarget::Set);
    let last = model.capture_source.clone();
    ask::open(model, CaptureLine::Source(target), last)
}

/// What a line is typed for.
#[derive(Debug)]
enum CaptureLine {
    /// Where a conversation was recorded.
    Source(CaptureTarget),
    /// The case that a conversation is saved as, and perhaps its turns.
    Case(CaptureTarget, Arc<RecordedConversation>),
}

impl Purpose for CaptureLine {
    fn prompt(&self, _: &Model) -> Cow<'static, str> {
        match self {
            CaptureLine::Source(_) => "capture from ".into(),
            CaptureLine::Case(..) => "save as case ".into(),
        }
    }

    fn example(&self) -> &'static str {
        match self {
            CaptureLine::Source(_) => {
                "http://HOST:PORT/apps/APP/users/USER/sessions/ID, or a recording or trace (.jsonl, .json)"
            }
            CaptureLine::Case(..) => CASE_EXAMPLE,
        }
    }

    fn wrong(&self, model: &Model, typed: &str) -> Option<String> {
        match self {
            CaptureLine::Source(_) if typed.is_empty() => {
                Some("name a session, a recording or a trace".into())
            }
            CaptureLine::Source(_) => None,
            CaptureLine::Case(target, conversation) => wrong_id(model, target, conversation, typed),
        }
    }

    fn accept(&self, model: &mut Model, typed: &str) -> Vec<Effect> {
        match self {
            CaptureLine::Source(target) => read(model, typed.to_string(), target.clone()),
            CaptureLine::Case(target, conversation) => save(model, target, conversation, typed),
        }
    }
}

/// Reads the conversations of a source; they arrive as [`crate::explorer::shared::message::EditMsg::Conversations`].
fn read(model: &mut Model, source: String, target: CaptureTarget) -> Vec<Effect> {
    model.capture_source.clone_from(&source);
    let mut effects = notices::notify(model, format!("reading {source}…"), false);
    effects.push(Effect::Edits(EditEffect::ReadConversations {
        source,
        target,
    }));
    effects
}

/// Takes the conversations of a source: the only one is saved, or the person chooses one of several. If the source cannot
/// be read, it can be typed again.
pub(crate) fn arrived(
    model: &mut Model,
    source: String,
    target: CaptureTarget,
    found: Result<Vec<RecordedConversation>, String>,
    additions: &[Addition],
) -> Vec<Effect> {
    let is_free = model.view.open_dialog.is_none() && model.is_on(Context::Browse);
    match found {
        Err(why) => {
            let mut effects = notices::notify(
                model,
                format!("nothing is captured from {source}: {why}"),
                true,
            );
            if is_free {
                effects.extend(ask::open(model, CaptureLine::Source(target), source));
            }
            effects
        }
        Ok(_) if !is_free => {
            let words =
                format!("{source} was read; capture again from the list to save a conversation");
            notices::notify(model, words, true)
        }
        Ok(mut found) if found.len() == 1 => ask_id(model, target, Arc::new(found.swap_remove(0))),
        Ok(found) => conversations::open(model, target, (found, additions), ask_id),
    }
}

/// Asks for the id of the case, unless the conversation cannot be saved.
fn ask_id(
    model: &mut Model,
    target: CaptureTarget,
    conversation: Arc<RecordedConversation>,
) -> Vec<Effect> {
    if let Some(why) = &conversation.problem {
        return notices::notify(model, why.clone(), true);
    }
    let taken = |id: &str| is_taken(model, &target, id);
    let id = unused_id(&conversation.id, taken);
    let is_allowed = eval_id_error(&id, std::iter::empty()).is_none();
    let id = if is_allowed { id } else { String::new() };
    ask::open(model, CaptureLine::Case(target, conversation), id)
}

/// The id itself, or one like it where it is taken.
fn unused_id(id: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if is_taken(id) {
        free_id(id, is_taken)
    } else {
        id.to_string()
    }
}

fn is_taken(model: &Model, target: &CaptureTarget, id: &str) -> bool {
    match target {
        CaptureTarget::Set(set) => model
            .file(*set)
            .is_some_and(|file| file.eval_ids().any(|other| other == id)),
        CaptureTarget::NewSet => false,
    }
}

/// What is typed to save a conversation: an id, and perhaps which of its turns, as in `id 2-3`.
pub(crate) fn id_and_turns<'a>(
    typed: &'a str,
    turns: &[Invocation],
) -> Result<(&'a str, Range<usize>), String> {
    let (id, range) = typed.trim().split_once(' ').unwrap_or((typed.trim(), ""));
    Ok((id, turn_range(range, turns.len())?))
}

/// Why a conversation cannot be saved as what is typed.
fn wrong_id(
    model: &Model,
    target: &CaptureTarget,
    conversation: &RecordedConversation,
    typed: &str,
) -> Option<String> {
    let chosen = id_and_turns(typed, &conversation.turns);
    if let Ok((_, range)) = &chosen
        && let (turns, without) = with_user_message(&conversation.turns, range.clone())
        && turns.is_empty()
    {
        return Some(without.join(", "));
    }
    match (chosen, target) {
        (Err(why), _) => Some(why),
        (Ok((id, _)), CaptureTarget::Set(set)) => eval_id_error(id, model.file(*set)?.eval_ids()),
        (Ok((id, _)), CaptureTarget::NewSet) => eval_id_error(id, std::iter::empty()),
    }
}

/// Proposes the case; what it lacks is shown as a notice.
fn save(
    model: &mut Model,
    target: &CaptureTarget,
    conversation: &RecordedConversation,
    typed: &str,
) -> Vec<Effect> {
    let Ok((id, range)) = id_and_turns(typed, &conversation.turns) else {
        return Vec::new();
    };
    let (input, lacks) = conversation.session_from(range.start);
    let now = model.opened_at + model.now;
    let (turns, without) = with_user_message(&conversation.turns, range);
    let case = captured_case(id, &turns, input, now);
    let words = format!("save the conversation as {id}");
    let left_out: Vec<String> = without
        .iter()
        .map(|turn| format!("left out: {turn}"))
        .collect();
    let mut effects = Vec::new();
    for note in conversation.notes.iter().chain(&lacks).chain(&left_out) {
        effects.extend(notices::notify(model, clean_line(note).into_owned(), false));
    }
    let insert = |at: usize| vec![Edit::Insert(at, Box::new(case))];
    effects.extend(match target {
        CaptureTarget::Set(set) => {
            let cases = model.file(*set).map_or(0, |file| file.len());
            propose(model, *set, insert(cases), words)
        }
        CaptureTarget::NewSet => match new_set(model, now, insert(0), words) {
            Ok(proposal) => show(model, proposal),
            Err(why) => notices::notify(model, why, true),
        },
    });
    effects
}

fn new_set(model: &Model, now: f64, edits: Vec<Edit>, words: String) -> Result<Proposal, String> {
    let id = unused_id(NEW_SET, |id| {
        model
            .view
            .sets
            .iter()
            .any(|set| set.path.path == path_of(model, id))
    });
    let blank = SetFile::open(blank_set(&id, None, now).into(), &id)
        .map_err(|problem| problem.to_string())?;
    let change = plan(&blank, &edits).map_err(|error| error.to_string())?;
    let text = change.apply(blank.text()).unwrap_or_default();
    let jobs = vec![FileEdit {
        path: path_of(model, &id),
        action: FileAction::Create(text),
    }];
    Ok(Proposal::new(words, jobs, |job| {
        super::set_files::shown_path(model, &job.path)
    }))
}

fn path_of(model: &Model, id: &str) -> PathBuf {
    super::set_files::file_of_set(&model.folder, id)
}
