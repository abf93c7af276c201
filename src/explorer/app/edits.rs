//! What follows an edit of files: it was made, undone, or failed.

use super::requests::carry_out;
use crate::explorer::authoring::{proposal::Proposal, shown_path};
use crate::explorer::case_list::listing;
use crate::explorer::commands::authoring::{REDO, UNDO};
use crate::explorer::commands::editing::SAVE;
use crate::explorer::commands::hint;
use crate::explorer::dialogs::drafts;
use crate::explorer::prompts::confirm;
use crate::explorer::running::rescore;
use crate::explorer::screens::{chat, edit, queue};
use crate::explorer::sets::{edited_cases, load};
use crate::explorer::shared::case_list::EditedCase;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::SCORE_OUTDATED;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{EditEffect, Effect, SetEffect};
use crate::explorer::shared::message::{EditDone, EditFailure};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::what_if;
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_engine::config::{CRITERIA_FILE, FILE_NAME};
use evaltrail_engine::store::{Reversal, ReversibleEdit, fingerprint};
use evaltrail_engine::workspace::notes_path;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// It was made, taken back or made again. What was written is shown at once, so that the next edit is one of the new
/// text; a screen whose proposal was saved closes.
pub(crate) fn edited(model: &mut Model, done: EditDone) -> Vec<Effect> {
    let saved = model
        .dialog::<Proposal>()
        .is_some_and(|proposal| proposal.saving);
    let mut effects = Vec::new();
    for (path, text) in &done.written {
        effects.extend(
            text.iter()
                .flat_map(|text| show_written(model, path, text.clone())),
        );
    }
    if saved {
        model.view.open_dialog = None;
        let triage = model
            .queue
            .as_ref()
            .and_then(|queue| queue.applying.as_ref());
        if triage.is_some_and(|applying| applying.words == done.words) {
            effects.extend(queue::applied(model));
        }
        if model.is_on(Context::Edit) {
            // At once: the notice below is about the screen to which the editor leads.
            let closed = edit::close(model);
            effects.extend(carry_out(model, closed));
        } else if model.is_on(Context::Chat) {
            chat::on_saved(model);
        }
    }
    let mut is_undone_triage = false;
    if saved {
        effects.extend(drafts::list_again(model, &done.written));
    } else {
        let decided = queue::edited(model, &done.words, done.stands);
        is_undone_triage = !done.stands && !decided.is_empty();
        effects.extend(decided);
    }
    what_if::edited(model, &done);
    let is_of_criteria = note_criteria(model, &done);
    let next = if done.stands { &UNDO } else { &REDO };
    let verb = if done.stands { "done: " } else { "undone: " };
    let mut rest = done
        .note
        .map(|note| format!(" ({note})"))
        .or_else(|| hint(model, next).map(|words| format!("; {words}")))
        .unwrap_or_default();
    if is_undone_triage {
        rest = format!("; the triage has its decisions as before{rest}");
    }
    if is_of_criteria {
        rest = format!("{}{rest}", outdated_text(model));
    }
    notices::notify(model, format!("{verb}{}{rest}", done.words), false);
    effects.push(Effect::Sets(SetEffect::Rediscover));
    effects
}

/// How many listed results are older than the criteria, with the key that scores them again.
fn outdated_text(model: &Model) -> String {
    let key = SCORE_OUTDATED.key();
    match rescore::outdated_cases(model).len() {
        0 => String::new(),
        1 => format!("; 1 result is older than its criteria ({key} score it again)"),
        count => {
            format!("; {count} results are older than their criteria ({key} score them again)")
        }
    }
}

/// Remembers which files of criteria or rules were edited, so that results of earlier runs say so. Returns whether one was.
fn note_criteria(model: &mut Model, done: &EditDone) -> bool {
    let is_criteria = |(path, _): &&(PathBuf, Option<Arc<str>>)| {
        let name = path.file_name().and_then(|name| name.to_str());
        matches!(name, Some(CRITERIA_FILE | FILE_NAME))
    };
    let Some(at) = done.at else { return false };
    let files: Vec<_> = done.written.iter().filter(is_criteria).collect();
    for (path, text) in &files {
        let edits = &mut model.criteria_edits;
        edits.add(path.clone(), text.as_deref(), at, done.stands);
    }
    !files.is_empty()
}

/// Takes over a text that we wrote: of a set, or of what is kept beside one.
fn show_written(model: &mut Model, path: &Path, text: Arc<str>) -> Vec<Effect> {
    if let Some(set) = model
        .view
        .sets
        .iter()
        .position(|set| set.exists() && set.path.path == path)
    {
        let digest = fingerprint(&[text.as_bytes()]);
        let was = model.view.sets[set].read.clone();
        let stem = model.view.sets[set].path.stem.clone();
        let Ok(file) = SetFile::open(text, &stem) else {
            return Vec::new();
        };
        model.view.sets[set].loaded = model.tickets.issue();
        let changed = was.and_then(|was| edited_cases::first_changed(&was, &file));
        let effects = load::put_file(model, set, Arc::new(file), digest);
        let browse = &mut model.view.browse;
        browse.edited = changed.map(|index| EditedCase {
            case: CaseRef { set, index },
            cursor_on: browse.visible.get(browse.cursor).copied(),
        });
        listing::relist(model);
        return effects;
    }
    let beside = model
        .view
        .sets
        .iter()
        .position(|set| notes_path(&set.path.path) == path);
    match (beside, Notes::open(text)) {
        (Some(set), Ok(notes)) => {
            // A reply to an earlier request has the notes from before.
            model.view.sets[set].loaded = model.tickets.issue();
            load::put_notes(model, set, Ok(notes))
        }
        _ => Vec::new(),
    }
}

/// Asks before an edit is undone or redone that the user may not expect.
pub(crate) fn ask_about_edit(
    model: &mut Model,
    reversal: Reversal,
    edit: &ReversibleEdit,
) -> Vec<Effect> {
    if model.view.open_dialog.is_some() {
        let key = match reversal {
            Reversal::Undo => UNDO.key(),
            Reversal::Redo => REDO.key(),
        };
        let words = format!("{}: {key} again asks about this edit", edit.words);
        return notices::notify(model, words, true);
    }
    let title = match reversal {
        Reversal::Undo => "Undo this edit?",
        Reversal::Redo => "Redo this edit?",
    };
    let made = edit.made.map(|made| made.to_string()).unwrap_or_default();
    let made = match model.started_text(&made) {
        when if when.is_empty() => String::new(),
        when => format!(" ({when})"),
    };
    let files = edit.files.iter().map(|path| shown_path(model, path));
    let lines = [format!("{}{made}", edit.words), String::new()]
        .into_iter()
        .chain(files)
        .collect();
    let then = EditEffect::UndoOrRedo {
        reversal,
        shown: model.current_set_path(),
        confirmed: Some(edit.id),
    };
    // The question comes after a while, so the next key may be meant for something else.
    confirm::open_refusing_enter(model, title, lines, Effect::Edits(then))
}

/// It was not made: what was meant stays on the screen.
pub(crate) fn failed(model: &mut Model, failure: EditFailure) -> Vec<Effect> {
    let Some(proposal) = model.dialog_mut::<Proposal>() else {
        let why = match failure {
            EditFailure::Other(why) => why,
            EditFailure::Changed(path, _) => {
                format!("{} was changed by another program", path.display())
            }
            EditFailure::Outside(path) => format!("the file is a link to {}", path.display()),
        };
        return notices::notify(model, why, true);
    };
    proposal.saving = false;
    match failure {
        EditFailure::Other(why) => proposal.problem = Some(why),
        EditFailure::Outside(path) => {
            let where_to = path.display().to_string();
            proposal.problem = Some(format!(
                "it is a link to {where_to}, outside the folder; {} again writes there",
                SAVE.key()
            ));
            proposal.outside = Some(path);
        }
        EditFailure::Changed(path, theirs) => proposal.meet(&path, theirs),
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::shared::case_screen::CaseOrigin;
    use crate::explorer::shared::set_view::SetState;
    use crate::explorer::shared::triage::{Queue, QueueGroup};
    use evaltrail_engine::workspace::SetPath;

    #[test]
    fn triage_edit_is_reported_on_triage_screen() {
        let text = r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": []}]}"#;
        let file = Arc::new(SetFile::open(text.into(), "s").unwrap());
        let case = file.case(0).unwrap();
        let path = SetPath::of_file(Path::new("/w/s.evalset.json"), Path::new("/w"));
        let mut model = Model::new("w".into(), vec![path], (120, 40));
        model.view.sets[0].state = SetState::Ready(file.clone(), String::new());
        let at = CaseRef { set: 0, index: 0 };
        let group = QueueGroup {
            words: "cause".into(),
            is_shared: true,
            cases: vec![at],
        };
        model.queue = Some(Queue {
            groups: vec![group],
            at,
            ..Queue::default()
        });
        model.show(edit::state::EditScreen::new(
            at,
            file,
            case,
            Some(CaseOrigin::Queue),
        ));
        let mut proposal = Proposal::new("edit a".into(), vec![], |_| String::new());
        proposal.saving = true;
        model.view.open_dialog = Some(Box::new(proposal));
        let done = EditDone {
            words: "edit a".into(),
            stands: true,
            ..EditDone::default()
        };
        edited(&mut model, done);
        assert!(model.is_on(Context::Queue));
        let notice = model.notice.unwrap().text;
        assert!(notice.starts_with("done: edit a"), "{notice}");
    }

    #[test]
    fn yes_undoes_the_edit_of_the_question() {
        let path = SetPath::of_file(Path::new("/w/s.evalset.json"), Path::new("/w"));
        let mut model = Model::new("w".into(), vec![path], (120, 40));
        let edit = ReversibleEdit {
            id: 7,
            words: "an edit".into(),
            made: None,
            files: vec![PathBuf::from("/w/other.evalset.json")],
        };
        assert_eq!(ask_about_edit(&mut model, Reversal::Undo, &edit), []);
        assert!(model.view.open_dialog.is_some());
        let undo = confirm::answer(&mut model, true);
        assert!(
            matches!(
                undo[..],
                [Effect::Edits(EditEffect::UndoOrRedo {
                    reversal: Reversal::Undo,
                    confirmed: Some(7),
                    ..
                })]
            ),
            "{undo:?}"
        );
    }
}
