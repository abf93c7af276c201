//! Routes messages to screens, dialogs and features.

use super::footer;
use super::requests::carry_out;
use crate::explorer::app::edits;
use crate::explorer::case_list::listing;
use crate::explorer::commands::keymap::{KeyLookup, elsewhere, resolve};
use crate::explorer::dialogs::run_options;
use crate::explorer::dialogs::{causes, coverage, drafts};
use crate::explorer::running::{events, watch};
use crate::explorer::screens::{browse, chat, comparison, edit, queue, runs, trends};
use crate::explorer::sets::{edited_cases, load, past_results};
use crate::explorer::shared::case_screen::CaseOrigin;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, ResultEffect, ScreenRequest, SetEffect};
use crate::explorer::shared::from_disk::Replacement;
use crate::explorer::shared::key::{Key, KeyCode, parse_key};
use crate::explorer::shared::message::{EditMsg, HistoryMsg, Mouse, Msg, ResultMsg, SetMsg};
use crate::explorer::shared::model::{Model, TextEntry};
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::{dialog, notices};
use crate::explorer::shown_case::{preview, refresh};
use crate::explorer::{authoring, opened_run, what_if};
use evaltrail_core::domain::Decisions;
use evaltrail_engine::history::PastResults;
use ratatui::layout::Position;
use std::any::TypeId;

/// Applies a message to the model. Returns the effects to execute.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    // While a dialog of the run is open, the question waits in the workspace.
    if opened_run::asks_about_workspace(&msg) && model.view.open_dialog.is_none() {
        opened_run::close(model);
    }
    if opened_run::is_about_workspace(model, &msg) {
        return opened_run::in_workspace(model, |model| update(model, msg));
    }
    let (context, notice) = (current_context(model), model.notice.clone());
    let is_key = matches!(msg, Msg::Key(_));
    let is_input = matches!(
        msg,
        Msg::Key(_) | Msg::Paste(_) | Msg::Mouse(_) | Msg::Command(_)
    );
    if is_input {
        model.view.browse.stays_first = false;
    }
    let effects = match msg {
        Msg::Key(key) => key_pressed(model, key),
        Msg::Paste(text) => pasted(model, &text),
        Msg::Command(name) => vec![ScreenRequest::Command(name).into()],
        Msg::Mouse(mouse) => mouse_used(model, mouse),
        Msg::Resize(width, height) => {
            model.size = (width, height);
            comparison::rebuild(model);
            Vec::new()
        }
        Msg::Tick(now) => {
            notices::tick(model, now);
            Vec::new()
        }
        Msg::Sets(msg) => sets(model, msg),
        Msg::Results(msg) => results(model, msg),
        Msg::History(msg) => past_runs(model, msg),
        Msg::Run(msg) => events::run_msg(model, msg),
        Msg::Edits(EditMsg::Made(done)) => edits::edited(model, done),
        Msg::Edits(EditMsg::TextEdited(of, text)) => edit::edited_text(model, of, text),
        Msg::Edits(EditMsg::UnexpectedEdit(reversal, edit)) => {
            edits::ask_about_edit(model, reversal, &edit)
        }
        Msg::Edits(EditMsg::Failed(failure)) => edits::failed(model, failure),
        Msg::Edits(EditMsg::Conversations {
            source,
            target,
            found,
            additions,
        }) => authoring::capture::arrived(model, source, target, found, &additions),
        Msg::Chat(number, msg) => chat::event(model, number, msg),
        Msg::Notice(text) => notices::notify(model, text, false),
        Msg::Failed(text) => notices::notify(model, text, true),
    };
    let mut effects = carry_out(model, effects);
    let was_read = is_key && notices::was_read(model);
    let is_outdated = is_input && notices::is_about_position(model);
    let is_elsewhere = context != current_context(model);
    if (is_elsewhere || was_read || is_outdated) && notice == model.notice {
        // A notice of another screen, about an earlier position, or that the user could read before this key, is hidden;
        // it is still in the message log.
        model.notice = None;
    }
    queue::count(model);
    browse::keep_in_sight(model);
    preview::follow_cursor(model);
    effects.extend(refresh::refresh_body(model));
    effects
}

fn sets(model: &mut Model, msg: SetMsg) -> Vec<Effect> {
    match msg {
        SetMsg::Loaded(loaded) => {
            let mut effects = load::set_loaded(model, loaded);
            effects.extend(watch::files_changed(model));
            effects
        }
        SetMsg::Summarised {
            set,
            digest,
            summaries,
        } => load::summarised(model, set, &digest, summaries),
        SetMsg::Reevaluated {
            set,
            digest,
            requested,
            results,
        } => {
            let mut effects = edited_cases::answered(model, set, &digest, &requested, results);
            effects.extend(load::catch_up(model, set));
            effects
        }
        SetMsg::FilesChanged => vec![Effect::Sets(SetEffect::Rediscover)],
        SetMsg::Found(sets) => {
            let mut effects = load::found(model, sets);
            effects.extend(watch::files_changed(model));
            effects
        }
        SetMsg::ToolsCollected(set, tools) => edit::tools_seen(model, set, tools),
        SetMsg::Configured(ticket, configured) => {
            run_options::show_configured_values(model, ticket, *configured);
            Vec::new()
        }
        SetMsg::AgentsListed(agents) => {
            model.agent_lines = agents;
            Vec::new()
        }
        SetMsg::AnswersFound(found) => authoring::answers_found(model, found),
        SetMsg::DraftsFound(set, found) => drafts::found(model, set, found),
    }
}

/// Reports runs that cannot be read: without the report their cases would look as if they were not run.
fn unreadable_results(model: &mut Model, errors: &[String]) -> Vec<Effect> {
    let Some(first) = errors.first() else {
        return Vec::new();
    };
    let more = match errors.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more; evaltrail list prints all)"),
    };
    notices::notify(
        model,
        format!("results cannot be read: {first}{more}"),
        true,
    )
}

fn results(model: &mut Model, msg: ResultMsg) -> Vec<Effect> {
    match msg {
        ResultMsg::History {
            ticket,
            results:
                PastResults {
                    results,
                    unreadable,
                },
        } => {
            let mut effects = past_results::history(model, ticket, results);
            effects.extend(unreadable_results(model, &unreadable));
            effects
        }
        ResultMsg::RecordsChanged => past_results::records_changed(model),
        ResultMsg::Verdicts(ticket, verdicts) => {
            match model.verdicts.take_reply(ticket, verdicts) {
                Replacement::LacksChange => {
                    let again = ResultEffect::ReadVerdicts(model.ticket());
                    vec![Effect::Results(again)]
                }
                Replacement::Taken | Replacement::Outdated => Vec::new(),
            }
        }
        ResultMsg::Decisions(ticket, decisions) => {
            match model
                .decisions
                .take_reply(ticket, Decisions::new(&decisions))
            {
                Replacement::LacksChange => {
                    let again = ResultEffect::ReadDecisions(model.ticket());
                    vec![Effect::Results(again)]
                }
                Replacement::Taken | Replacement::Outdated => Vec::new(),
            }
        }
        ResultMsg::CriteriaPlanned(change, jobs) => match model.screen_context() {
            Context::Queue => queue::criteria_planned(model, &change, jobs),
            _ => authoring::criteria::planned(model, &change, jobs),
        },
        ResultMsg::Trends(ticket, trends) => {
            match model.trends.take_reply(ticket, trends.clone()) {
                Replacement::Taken => {
                    listing::relist(model);
                    let mut effects = causes::refresh(model);
                    effects.extend(unreadable_results(model, &trends.unreadable));
                    effects
                }
                Replacement::Outdated | Replacement::LacksChange => Vec::new(),
            }
        }
        ResultMsg::BaselineCompared(ticket, words) => {
            model.vs_baseline.take_reply(ticket, words);
            Vec::new()
        }
        ResultMsg::Rescored(ticket, rescored) => {
            what_if::rescored_elsewhere(model, ticket, *rescored)
        }
        ResultMsg::GroupsRelaxed(ticket, changes) => {
            causes::groups_relaxed(model, ticket, &changes);
            Vec::new()
        }
        ResultMsg::CoverageRead(ticket, covered) => coverage::read(model, ticket, covered),
        ResultMsg::BodyBuilt(key, body) => {
            refresh::body_built(model, key, body);
            Vec::new()
        }
        ResultMsg::AttemptRead(key, read) => refresh::attempt_read(model, key, read)
            .into_iter()
            .collect(),
    }
}

/// Opens the first case with this id in the run that was opened.
fn open_case(model: &mut Model, id: &str) {
    let found = model
        .view
        .browse
        .visible
        .iter()
        .find(|case| model.eval_id(**case) == id)
        .copied();
    match found {
        Some(case) => refresh::open(model, case, CaseOrigin::List),
        None => drop(notices::notify(
            model,
            format!("the run has no case {id}"),
            true,
        )),
    }
}

fn past_runs(model: &mut Model, msg: HistoryMsg) -> Vec<Effect> {
    match msg {
        HistoryMsg::Listed { ticket, history } => {
            trends::listed(model, ticket, history.clone());
            let mut effects = comparison::listed(model, &history);
            effects.extend(runs::listed(model, ticket, history));
            effects
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
        HistoryMsg::Named => vec![runs::list_again(model)],
        HistoryMsg::Pinned(words) => {
            notices::notify(model, words, false);
            let compare = Effect::Results(ResultEffect::CompareBaseline(model.ticket()));
            vec![runs::list_again(model), compare]
        }
        HistoryMsg::Removed(run_id) => runs::removed(model, &run_id),
        HistoryMsg::NotExported { run, to, why } => runs::not_exported(model, run, &to, why),
    }
}

/// The open screen and the open dialog.
fn current_context(model: &Model) -> (Context, Option<TypeId>) {
    (
        model.screen_context(),
        model.view.open_dialog.as_deref().map(dialog::kind),
    )
}

/// The text field of the screen, if keys are sent to it.
fn text_of_screen(model: &Model) -> Option<&'static TextEntry> {
    let text = model.view.screen.functions().text.as_ref()?;
    (model.view.open_dialog.is_none() && (text.takes)(model)).then_some(text)
}

/// Handles a key: as text in a text field, otherwise as a command or part of a key sequence.
fn key_pressed(model: &mut Model, key: Key) -> Vec<Effect> {
    if dialog::takes_text(model) {
        return dialog::key(model, key);
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
        (KeyLookup::Command(command), _) => command.start(model),
        (KeyLookup::Prefix, _) => {
            model.pressed = pressed;
            Vec::new()
        }
        (KeyLookup::Nothing, Some(text)) => (text.key)(model, key),
        (KeyLookup::Nothing, None) => unbound(model, &pressed),
    }
}

/// Does what a sequence of keys does, for a click on its hint.
fn press_keys(model: &mut Model, keys: &str) -> Vec<Effect> {
    model.pressed.clear();
    keys.split(' ')
        .filter_map(parse_key)
        .flat_map(|key| key_pressed(model, key))
        .collect()
}

/// Shows that keys are not bound here, and what they do elsewhere.
fn unbound(model: &mut Model, pressed: &[Key]) -> Vec<Effect> {
    if let Some(dialog) = &model.view.open_dialog {
        let is_question = matches!(dialog.context(), Some(Context::Confirm | Context::Trust));
        let words = "answer the question first: its keys are in its last line";
        return match is_question {
            true => notices::notify(model, words.into(), false),
            false => Vec::new(),
        };
    }
    let keys = pressed
        .iter()
        .map(Key::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    let words = match elsewhere(pressed) {
        contexts if contexts.is_empty() => format!("{keys} is not bound to a command"),
        contexts => format!(
            "{keys} is not bound here; elsewhere it is {}",
            contexts.join(", ")
        ),
    };
    notices::notify(model, words, false)
}

fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
    match text_of_screen(model) {
        Some(field) => (field.paste)(model, text),
        None => dialog::paste(model, text),
    }
    Vec::new()
}

fn mouse_used(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if model.view.open_dialog.is_none() {
        let at = Position::new(mouse.x, mouse.y);
        let keys = footer::keys_at(model, layout(model).footer, at);
        if let Some(keys) = keys.filter(|_| mouse.kind.is_click()) {
            return press_keys(model, keys);
        }
        return (model.view.screen.functions().mouse)(model, mouse);
    }
    if let Some(motion) = mouse.kind.wheel() {
        dialog::scroll(model, motion);
    }
    Vec::new()
}
