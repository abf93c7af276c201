//! Routes messages to screens, dialogs and features.

use crate::explorer::commands::Command;
use crate::explorer::commands::keymap::{Meaning, elsewhere, resolve};
use crate::explorer::context::Context;
use crate::explorer::dialogs::{self, causes};
use crate::explorer::effect::Effect;
use crate::explorer::effect::{ResultEffect, SetEffect};
use crate::explorer::key::{Key, KeyCode};
use crate::explorer::message::EditMsg;
use crate::explorer::message::HistoryMsg;
use crate::explorer::message::ResultMsg;
use crate::explorer::message::SetMsg;
use crate::explorer::message::{Mouse, Msg};
use crate::explorer::model::Model;
use crate::explorer::screens::case::state::CaseOrigin;
use crate::explorer::screens::{
    TextEntry, browse, case, chat, comparison, edit, entry, queue, run, runs, trends,
};
use crate::explorer::{authoring, edited_cases, global, load, opened_run, watching, what_if};
use crate::history::PastResults;
use std::any::TypeId;

/// Applies a message to the model. Returns the effects to execute.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    if opened_run::asks_about_workspace(&msg) {
        opened_run::close(model);
    }
    if opened_run::is_about_workspace(model, &msg) {
        return opened_run::in_workspace(model, |model| update(model, msg));
    }
    let (place, notice) = (place(model), model.notice.clone());
    let mut effects = match msg {
        Msg::Key(key) => key_pressed(model, key),
        Msg::Paste(text) => pasted(model, &text),
        Msg::Command(command) => run_command(model, command),
        Msg::Mouse(mouse) => mouse_used(model, mouse),
        Msg::Resize(width, height) => {
            model.size = (width, height);
            comparison::rebuild(model);
            Vec::new()
        }
        Msg::Tick(now) => {
            global::tick(model, now);
            Vec::new()
        }
        Msg::Sets(msg) => sets(model, msg),
        Msg::Results(msg) => results(model, msg),
        Msg::History(msg) => past_runs(model, msg),
        Msg::Run(msg) => run::run_msg(model, msg),
        Msg::Edits(EditMsg::Made(done)) => authoring::edited(model, done),
        Msg::Edits(EditMsg::TextEdited(of, text)) => edit::edited_text(model, of, text),
        Msg::Edits(EditMsg::Failed(failure)) => authoring::failed(model, failure),
        Msg::Edits(EditMsg::Conversations { source, target, found }) => {
            authoring::capture::arrived(model, source, target, found)
        }
        Msg::Chat(number, msg) => chat::event(model, number, msg),
        Msg::Notice(text) => global::notify(model, text, false),
        Msg::Failed(text) => global::notify(model, text, true),
    };
    if place != self::place(model) && notice == model.notice {
        // A notice of another screen is hidden; it is still in the message log.
        model.notice = None;
    }
    queue::count(model);
    browse::keep_in_sight(model);
    browse::follow_cursor(model);
    effects.extend(case::refresh_body(model));
    effects
}

fn sets(model: &mut Model, msg: SetMsg) -> Vec<Effect> {
    match msg {
        SetMsg::Loaded(loaded) => {
            let mut effects = load::set_loaded(model, loaded);
            effects.extend(watching::files_changed(model));
            effects
        }
        SetMsg::Summarised { set, digest, summaries } => load::summarised(model, set, &digest, summaries),
        SetMsg::Reevaluated { set, digest, requested, results } => {
            let mut effects = edited_cases::answered(model, set, &digest, &requested, results);
            effects.extend(load::catch_up(model, set));
            effects
        }
        SetMsg::FilesChanged => vec![Effect::Sets(SetEffect::Rediscover)],
        SetMsg::Found(sets) => {
            let mut effects = load::found(model, sets);
            effects.extend(watching::files_changed(model));
            effects
        }
        SetMsg::ToolsCollected(tools) => edit::tools_seen(model, tools),
        SetMsg::AgentsListed(agents) => {
            model.agent_lines = agents;
            Vec::new()
        }
        SetMsg::AnswersFound(found) => authoring::answers_found(model, found),
    }
}

/// Reports runs that cannot be read: without the report their cases would look as if they were not run.
fn unreadable_results(model: &mut Model, errors: &[String]) -> Vec<Effect> {
    let Some(first) = errors.first() else { return Vec::new() };
    let more = match errors.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more; evaltrail list prints all)"),
    };
    global::notify(model, format!("results cannot be read: {first}{more}"), true)
}

fn results(model: &mut Model, msg: ResultMsg) -> Vec<Effect> {
    match msg {
        ResultMsg::History { ticket, results: PastResults { results, unreadable } } => {
            let mut effects = load::history(model, ticket, results);
            effects.extend(unreadable_results(model, &unreadable));
            effects
        }
        ResultMsg::RecordsChanged => load::records_changed(model),
        ResultMsg::Verdicts(verdicts) => {
            model.verdicts = verdicts;
            model.verdicts_version += 1;
            Vec::new()
        }
        ResultMsg::Decisions(decisions) => {
            model.decisions.replace(&decisions);
            Vec::new()
        }
        ResultMsg::CriteriaPlanned(change, jobs) => queue::criteria_planned(model, &change, jobs),
        ResultMsg::Trends(trends) => {
            model.trends = trends.clone();
            browse::relist(model);
            unreadable_results(model, &trends.unreadable)
        }
        ResultMsg::BaselineCompared(words) => {
            model.vs_baseline = words;
            Vec::new()
        }
        ResultMsg::Rescored(ticket, rescored) => what_if::rescored_elsewhere(model, ticket, *rescored),
        ResultMsg::GroupsRelaxed(ticket, changes) => {
            causes::groups_relaxed(model, ticket, &changes);
            Vec::new()
        }
        ResultMsg::BodyBuilt(key, body) => {
            case::body_built(model, key, body);
            Vec::new()
        }
        ResultMsg::AttemptRead(key, read) => case::attempt_read(model, key, read).into_iter().collect(),
        ResultMsg::CriteriaWritten(words) => what_if::written(model, words),
    }
}

/// Opens the first case with this id in the run that was opened.
fn open_case(model: &mut Model, id: &str) {
    let found = model.view.browse.visible.iter().find(|case| model.eval_id(**case) == id).copied();
    match found {
        Some(case) => case::open(model, case, CaseOrigin::List),
        None => drop(global::notify(model, format!("the run has no case {id}"), true)),
    }
}

fn past_runs(model: &mut Model, msg: HistoryMsg) -> Vec<Effect> {
    match msg {
        HistoryMsg::Listed { ticket, history } => {
            trends::listed(model, ticket, history.clone());
            runs::listed(model, ticket, history)
        }
        HistoryMsg::Opened { past, name, case } => {
            let effects = opened_run::open(model, *past, name);
            if let Some(id) = case {
                open_case(model, &id);
            }
            effects
        }
        HistoryMsg::Renewed { past, outcomes } => opened_run::renew(model, *past, *outcomes),
        HistoryMsg::Compared(pair) => comparison::compared(model, pair),
        HistoryMsg::Pinned { words, ticket, history } => {
            runs::listed(model, ticket, history);
            global::notify(model, words, false);
            vec![Effect::Results(ResultEffect::CompareBaseline)]
        }
        HistoryMsg::Removed { run_id, ticket, history } => runs::removed(model, &run_id, ticket, history),
    }
}

/// The open screen and the open dialog.
fn place(model: &Model) -> (Context, Option<TypeId>) {
    (model.screen_context(), model.view.open_dialog.as_deref().map(dialogs::kind))
}

/// The text field of the screen, if keys are sent to it.
fn text_of_screen(model: &Model) -> Option<&'static TextEntry> {
    let text = entry(&model.view.screen).text.as_ref()?;
    (model.view.open_dialog.is_none() && (text.takes)(model)).then_some(text)
}

/// Handles a key: as text in a text field, otherwise as a command or part of a key sequence.
fn key_pressed(model: &mut Model, key: Key) -> Vec<Effect> {
    if dialogs::takes_text(model) {
        return dialogs::key(model, key);
    }
    let text = text_of_screen(model);
    if let Some(text) = text.filter(|text| !text.commands_first) {
        return (text.key)(model, key);
    }
    let mut pressed = std::mem::take(&mut model.pressed);
    if !pressed.is_empty() && key.code == KeyCode::Esc {
        return Vec::new();
    }
    pressed.push(key);
    match (resolve(model.context(), &pressed), text) {
        (Meaning::Command(command), _) => run_command(model, command),
        (Meaning::Prefix, _) => {
            model.pressed = pressed;
            Vec::new()
        }
        (Meaning::Nothing, Some(text)) => (text.key)(model, key),
        (Meaning::Nothing, None) => unbound(model, &pressed),
    }
}

/// Shows that keys are not bound here, and what they do elsewhere.
fn unbound(model: &mut Model, pressed: &[Key]) -> Vec<Effect> {
    if model.view.open_dialog.is_some() {
        return Vec::new();
    }
    let keys = pressed.iter().map(Key::to_string).collect::<Vec<_>>().join(" ");
    let words = match elsewhere(pressed) {
        places if places.is_empty() => format!("{keys} is not bound to a command"),
        places => format!("{keys} is not bound here; elsewhere it is {}", places.join(", ")),
    };
    global::notify(model, words, false)
}

fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
    match text_of_screen(model) {
        Some(field) => (field.paste)(model, text),
        None => dialogs::paste(model, text),
    }
    Vec::new()
}

fn mouse_used(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if model.view.open_dialog.is_none() {
        return (entry(&model.view.screen).mouse)(model, mouse);
    }
    if let Some(motion) = mouse.kind.wheel() {
        dialogs::scroll(model, motion);
    }
    Vec::new()
}

/// Runs a command if it is enabled, otherwise shows why it is not.
pub(crate) fn run_command(model: &mut Model, command: &Command) -> Vec<Effect> {
    match command.is_enabled(model) {
        Ok(()) => (command.run)(model),
        Err(why) => global::notify(model, format!("{}: {why}", command.name), false),
    }
}
