//! Changing eval sets: what is proposed, looked at, made and taken back.

pub mod sets;
pub mod variants;

use crate::diff::{Piece, accept_in_case};
use crate::domain::{EvalCase, Invocation};
use crate::explorer::commands::{CommandId, hint};
use crate::explorer::effect::Effect;
use crate::explorer::global;
use crate::explorer::message::{EditDone, EditFailure};
use crate::explorer::model::{CaseRef, Model, Screen};
use crate::explorer::outcomes::CaseOutcome;
use crate::explorer::overlays::Overlay;
pub(crate) use crate::explorer::overlays::proposal::NOTHING;
use crate::explorer::overlays::proposal::{Conflict, Proposal};
use crate::explorer::update::moved;
use crate::explorer::what_if::update as trial;
use crate::formats::{Edit, Notes, SetFile};
use crate::store::{Deed, FileJob, fingerprint};
use crate::workspace::notes_path;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn command(model: &mut Model, id: CommandId) -> Vec<Effect> {
    match id {
        CommandId::Accept => accept_piece(model),
        CommandId::AcceptAll => accept_cases(model),
        CommandId::Undo => turn(model, true),
        _ => turn(model, false),
    }
}

/// The difference under the cursor.
fn accept_piece(model: &mut Model) -> Vec<Effect> {
    let Screen::Case(case) = &model.screen else { return Vec::new() };
    let piece = case.body.as_ref().and_then(|body| body.pieces.get(case.piece));
    let Some((piece, _)) = piece.cloned() else { return Vec::new() };
    let (at, turn, attempt) = (case.at, case.turn, case.attempt);
    match accepted(model, at, attempt, |now| (now == turn).then(|| piece.clone())) {
        Ok(meant) => match shown_turns(model, at, turn) {
            Some((expected, actual)) => {
                let words = format!("accept {} in {}", piece.words(&expected, &actual), model.eval_id(at));
                propose(model, at.set, vec![Edit::Case(at.index, Box::new(meant))], words)
            }
            None => {
                let why = "the case was edited since what is shown was read; look again in a moment";
                global::tell(model, why.into(), true)
            }
        },
        Err(why) => global::tell(model, why, true),
    }
}

/// The turns that are compared on the screen, if the file still expects what stands there: pieces are known by
/// their positions.
fn shown_turns(model: &Model, at: CaseRef, turn: usize) -> Option<(Invocation, Invocation)> {
    let ran = model.shown_attempt()?.read().ok()?;
    let place = if ran.turn.is_some() { 0 } else { turn };
    let (expected, actual) = (ran.expected.get(place)?, ran.actual.get(place)?);
    let now = case_now(model, at).ok()?;
    let same = now.turns().get(turn)?.calls() == expected.calls();
    same.then(|| (expected.clone(), actual.clone()))
}

/// All that the agent did: in the case on the screen, or in the selected ones.
fn accept_cases(model: &mut Model) -> Vec<Effect> {
    let selected = matches!(model.screen, Screen::Browse) && !model.browse.selected.is_empty();
    let chosen: Vec<CaseRef> = match selected {
        true => model.browse.selected.iter().copied().collect(),
        false => model.current_case().into_iter().collect(),
    };
    let mut by_set: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
    let mut refused = Vec::new();
    for at in &chosen {
        let attempt = shown_attempt(model, *at);
        match accepted(model, *at, attempt, |_| Some(Piece::Turn)) {
            Ok(meant) if Some(&meant) == case_now(model, *at).ok().as_ref() => {}
            Ok(meant) => by_set.entry(at.set).or_default().push(Edit::Case(at.index, Box::new(meant))),
            Err(why) => refused.push(format!("{}: {why}", model.eval_id(*at))),
        }
    }
    let count: usize = by_set.values().map(Vec::len).sum();
    let words = match (count, chosen.as_slice()) {
        (1, [one]) => format!("accept what the agent did in {}", model.eval_id(*one)),
        _ => format!("accept what the agent did in {count} cases"),
    };
    if let Some(why) = refused.first() {
        let more = refused.len() - 1;
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        global::tell(model, format!("left out: {why}{more}"), true);
    }
    match by_set.len() {
        0 if refused.is_empty() => {
            global::tell(model, "the agent did what is expected; nothing would change".into(), false)
        }
        0 => Vec::new(),
        1 => match by_set.pop_first() {
            Some((set, edits)) => propose(model, set, edits, words),
            None => Vec::new(),
        },
        _ => propose_many(model, by_set, words),
    }
}

fn shown_attempt(model: &Model, at: CaseRef) -> usize {
    match &model.screen {
        Screen::Case(case) if case.at == at => case.attempt,
        _ => 0,
    }
}

fn case_now(model: &Model, at: CaseRef) -> Result<EvalCase, String> {
    let file: &Arc<SetFile> = model.file(at.set).ok_or("the file is not read yet")?;
    file.case(at.index).map_err(|problem| problem.to_string())
}

/// The case with pieces of what an attempt did taken over.
fn accepted(
    model: &Model,
    at: CaseRef,
    attempt: usize,
    piece: impl Fn(usize) -> Option<Piece>,
) -> Result<EvalCase, String> {
    let shown = model.shown_attempt().filter(|_| model.current_case() == Some(at));
    let outcome = model.outcomes.get(at);
    if outcome.is_some_and(CaseOutcome::is_foreign) {
        return Err("the result is of a foreign run: it was not recorded here by you".into());
    }
    let of_run = || outcome?.attempts.get(attempt);
    let ran = shown.or_else(of_run).ok_or("no agent has done anything here yet")?.read()?;
    accept_in_case(&case_now(model, at)?, &ran, piece).map_err(|error| error.to_string())
}

/// A case's text as the file would have it.
pub(crate) fn drafted(file: &SetFile, at: usize, draft: &EvalCase) -> Option<String> {
    let range = file.range(at)?;
    let change = crate::formats::change_case(file, at, draft).ok()?;
    let grown: isize = change.0.iter().map(|one| one.new.len() as isize - one.old.len() as isize).sum();
    let after = change.apply(file.text())?;
    after.get(range.start..range.end.checked_add_signed(grown)?).map(str::to_string)
}

/// Shows what would change. What is on trial is not what is, so it goes first.
pub(crate) fn propose(model: &mut Model, set: usize, edits: Vec<Edit>, words: String) -> Vec<Effect> {
    match model.propose(set, edits, words) {
        Ok(proposal) => show(model, proposal),
        Err(why) => global::tell(model, why, true),
    }
}

fn propose_many(model: &mut Model, by_set: BTreeMap<usize, Vec<Edit>>, words: String) -> Vec<Effect> {
    let mut all: Option<Proposal> = None;
    for (set, edits) in by_set {
        match model.propose(set, edits, words.clone()) {
            Ok(proposal) => match &mut all {
                Some(all) => {
                    all.jobs.extend(proposal.jobs);
                    all.lines.extend(proposal.lines);
                    all.meant = None;
                }
                None => all = Some(proposal),
            },
            Err(why) => return global::tell(model, why, true),
        }
    }
    all.map_or_else(Vec::new, |proposal| show(model, proposal))
}

pub(crate) fn show(model: &mut Model, proposal: Proposal) -> Vec<Effect> {
    let effects = trial::drop_trial(model);
    model.overlay = Some(Overlay::Proposal(Box::new(proposal)));
    effects
}

fn turn(model: &mut Model, back: bool) -> Vec<Effect> {
    let mut effects = trial::drop_trial(model);
    effects.push(Effect::TurnEdit { back });
    effects
}

/// A key on a proposal.
pub(crate) fn decide(model: &mut Model, id: CommandId) -> Vec<Effect> {
    let page = usize::from(crate::explorer::layout::proposal_rows(model.size));
    let Some(Overlay::Proposal(proposal)) = &mut model.overlay else { return Vec::new() };
    match id {
        CommandId::Save => save(model),
        CommandId::SaveBeside => save_beside(model),
        // What is being written cannot be left: its answer closes the proposal.
        CommandId::Discard if proposal.saving => Vec::new(),
        CommandId::Discard => {
            model.overlay = None;
            Vec::new()
        }
        id => {
            let last = (proposal.lines.len() + 1).saturating_sub(page);
            proposal.scroll = moved(proposal.scroll, id, last.max(1), page);
            Vec::new()
        }
    }
}

fn save(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Proposal(proposal)) = &mut model.overlay else { return Vec::new() };
    if proposal.saving {
        return Vec::new();
    }
    match proposal.conflict.take() {
        None => {
            proposal.saving = true;
            proposal.problem = None;
            let anywhere = proposal.outside.is_some();
            vec![Effect::MakeEdit { words: proposal.words.clone(), jobs: proposal.jobs.clone(), anywhere }]
        }
        Some(Conflict { theirs, merged: Some(edits) }) => {
            let proposal = (proposal.words.clone(), proposal.jobs.first().map(|job| job.path.clone()));
            merge(model, theirs, edits, proposal)
        }
        Some(conflict) => {
            proposal.conflict = Some(conflict);
            let (beside, leave) = (CommandId::SaveBeside.key(), CommandId::Discard.key());
            let why =
                format!("both changed the same place; {beside} writes yours beside, {leave} leaves theirs");
            proposal.problem = Some(why);
            Vec::new()
        }
    }
}

/// The same edit on their file, to be looked at again.
fn merge(
    model: &mut Model,
    theirs: Arc<str>,
    edits: Vec<Edit>,
    (words, path): (String, Option<PathBuf>),
) -> Vec<Effect> {
    let set = model.sets.iter().position(|set| Some(&set.path.path) == path.as_ref());
    let (Some(set), Ok(file)) = (set, SetFile::open(theirs.clone(), "")) else { return Vec::new() };
    let mut effects = crate::explorer::load::put_file(model, set, Arc::new(file), String::new());
    effects.extend(propose(model, set, edits, words));
    effects
}

fn save_beside(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Proposal(proposal)) = &mut model.overlay else { return Vec::new() };
    let mine = proposal.jobs.iter().filter_map(|job| match &job.deed {
        Deed::Change(text, change) => {
            let name = job.path.file_name()?.to_string_lossy().into_owned();
            let path = job.path.with_file_name(format!("{name}.mine"));
            Some(FileJob { path, deed: Deed::Create(change.apply(text)?) })
        }
        _ => None,
    });
    let jobs: Vec<FileJob> = mine.collect();
    proposal.saving = true;
    let names: Vec<String> = jobs.iter().map(|job| job.path.display().to_string()).collect();
    vec![Effect::MakeEdit { words: format!("write {}", names.join(", ")), jobs, anywhere: false }]
}

/// It was made, taken back or made again. What was written is shown at once, so that the next edit is one of the new
/// text; a screen whose proposal was saved closes.
pub(crate) fn edited(model: &mut Model, done: EditDone) -> Vec<Effect> {
    let saved = matches!(&model.overlay, Some(Overlay::Proposal(proposal)) if proposal.saving);
    let mut effects = Vec::new();
    for (path, text) in &done.written {
        effects.extend(text.iter().flat_map(|text| show_written(model, path, text.clone())));
    }
    if saved {
        model.overlay = None;
        match &model.screen {
            Screen::Edit(_) => crate::explorer::screens::edit::update::close(model),
            Screen::Chat(_) => crate::explorer::screens::chat::update::was_kept(model),
            _ => {}
        }
    }
    let next = if done.stands { CommandId::Undo } else { CommandId::Redo };
    let verb = if done.stands { "" } else { "undone: " };
    let rest = done
        .note
        .map(|note| format!(" ({note})"))
        .or_else(|| hint(model, next).map(|words| format!("; {words}")));
    global::tell(model, format!("{verb}{}{}", done.words, rest.unwrap_or_default()), false);
    effects.push(Effect::Rediscover);
    effects
}

/// Takes over a text that we wrote: of a set, or of what is kept beside one.
fn show_written(model: &mut Model, path: &Path, text: Arc<str>) -> Vec<Effect> {
    if let Some(set) = model.sets.iter().position(|set| set.is_there() && set.path.path == path) {
        let digest = fingerprint(&[text.as_bytes()]);
        let stem = model.sets[set].path.stem.clone();
        let Ok(file) = SetFile::open(text, &stem) else { return Vec::new() };
        model.sets[set].loaded = model.tickets.issue();
        let effects = crate::explorer::load::put_file(model, set, Arc::new(file), digest);
        crate::explorer::screens::browse::update::relist(model);
        return effects;
    }
    let beside = model.sets.iter().position(|set| notes_path(&set.path.path) == path);
    match (beside, Notes::open(text)) {
        (Some(set), Ok(notes)) => crate::explorer::load::put_notes(model, set, Ok(notes)),
        _ => Vec::new(),
    }
}

/// It was not made: what was meant stays on the screen.
pub(crate) fn failed(model: &mut Model, failure: EditFailure) -> Vec<Effect> {
    let Some(Overlay::Proposal(proposal)) = &mut model.overlay else {
        let why = match failure {
            EditFailure::Other(why) => why,
            EditFailure::Changed(path, _) => {
                format!("{} was changed by something else since", path.display())
            }
            EditFailure::Outside(path) => format!("the file is a link to {}", path.display()),
        };
        return global::tell(model, why, true);
    };
    proposal.saving = false;
    match failure {
        EditFailure::Other(why) => proposal.problem = Some(why),
        EditFailure::Outside(path) => {
            let where_to = path.display().to_string();
            proposal.problem = Some(format!(
                "it is a link to {where_to}, outside the folder; {} again writes there",
                CommandId::Save.key()
            ));
            proposal.outside = Some(path);
        }
        EditFailure::Changed(path, theirs) => proposal.meet(&path, theirs),
    }
    Vec::new()
}
