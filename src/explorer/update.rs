//! What a message does. A short router: each screen has its file.

use crate::explorer::authoring::{self as author, sets, variants};
use crate::explorer::commands::key::Key;
use crate::explorer::commands::keymap::resolve;
use crate::explorer::commands::{CommandId, Context, command};
use crate::explorer::effect::{Against, Effect};
use crate::explorer::message::Msg;
use crate::explorer::model::{Model, Screen};
use crate::explorer::overlays::Overlay;
use crate::explorer::overlays::{keys as overlay, opinion_update as opinion};
use crate::explorer::screens::browse::update as browse;
use crate::explorer::screens::case::update as case;
use crate::explorer::screens::chat::update as chat;
use crate::explorer::screens::edit::update as edit;
use crate::explorer::screens::run::update as run;
use crate::explorer::what_if::update as trial;
use crate::explorer::{edited_cases, global, load};

/// Takes a message in; says what the outside must do.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let mut effects = match msg {
        Msg::Key(key) => key_pressed(model, key),
        Msg::Paste(text) => pasted(model, &text),
        Msg::Command(id) => give(model, id),
        Msg::Mouse(mouse) => global::mouse(model, mouse),
        Msg::Resize(width, height) => {
            model.size = (width, height);
            Vec::new()
        }
        Msg::Tick(now) => {
            global::tick(model, now);
            Vec::new()
        }
        Msg::SetLoaded(loaded) => load::set_loaded(model, loaded),
        Msg::Summarised { set, digest, summaries } => load::summarised(model, set, &digest, summaries),
        Msg::History { ticket, results } => load::history(model, ticket, results),
        Msg::Verdicts(verdicts) => {
            model.verdicts = verdicts;
            model.verdicts_version += 1;
            Vec::new()
        }
        Msg::FilesChanged => vec![Effect::Rediscover],
        Msg::Found(sets) => load::found(model, sets),
        Msg::Run(msg) => run::run_msg(model, msg),
        Msg::Rescored(ticket, outcomes, flips) => trial::rescored_elsewhere(model, ticket, *outcomes, flips),
        Msg::Edited(done) => author::edited(model, done),
        Msg::TextEdited(of, text) => edit::edited_text(model, of, text),
        Msg::ToolsSeen(tools) => edit::tools_seen(model, tools),
        Msg::Chat(number, msg) => chat::event(model, number, msg),
        Msg::EditFailed(failure) => author::failed(model, failure),
        Msg::Reevaluated { set, digest, asked, results } => {
            let mut effects = edited_cases::answered(model, set, &digest, &asked, results);
            effects.extend(load::catch_up(model, set));
            effects
        }
        Msg::CriteriaWritten(words) => trial::written(model, words),
        Msg::AttemptRead(key, read) => case::attempt_read(model, key, read).into_iter().collect(),
        Msg::BodyBuilt(key, body) => {
            case::body_built(model, key, body);
            Vec::new()
        }
        Msg::Told(text) => global::tell(model, text, false),
        Msg::Failed(text) => global::tell(model, text, true),
    };
    browse::keep_in_sight(model);
    effects.extend(case::refresh_body(model));
    effects
}

/// A key is text where something is typed, else a command.
fn key_pressed(model: &mut Model, key: Key) -> Vec<Effect> {
    if edit::takes_text(model) {
        return edit::key(model, key, overlay::request(key));
    }
    if overlay::takes_text(model) {
        return overlay::key(model, key);
    }
    match resolve(model.context(), key) {
        Some(id) => give(model, id),
        None if chat::takes_text(model) => chat::key(model, key),
        None => Vec::new(),
    }
}

fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
    if chat::takes_text(model) {
        chat::paste(model, text);
        return Vec::new();
    }
    if edit::takes_text(model) {
        edit::paste(model, text);
        return Vec::new();
    }
    overlay::paste(model, text)
}

/// Gives a command, if it can be given now; else says why not.
pub(crate) fn give(model: &mut Model, id: CommandId) -> Vec<Effect> {
    if let Err(why) = (command(id).enabled)(model) {
        return global::tell(model, format!("{}: {why}", command(id).name), false);
    }
    match (id, model.context()) {
        (CommandId::Quit | CommandId::Leave, _) => global::quit(model),
        (CommandId::Edit, _) => edit::open(model),
        (CommandId::Variants, _) => variants::open(model),
        (CommandId::Criteria, _) => model.current_set().map(Effect::EditCriteria).into_iter().collect(),
        (CommandId::Chat, _) => chat::open(model),
        (
            CommandId::NewCase
            | CommandId::CopyCase
            | CommandId::MoveCases
            | CommandId::DeleteCases
            | CommandId::Rename
            | CommandId::NewSet
            | CommandId::Tags,
            _,
        ) => sets::command(model, id),
        (CommandId::Undo | CommandId::Redo, Context::Edit) => edit::command(model, id),
        (CommandId::Accept | CommandId::AcceptAll | CommandId::Undo | CommandId::Redo, _) => {
            author::command(model, id)
        }
        (_, Context::Proposal) => author::decide(model, id),
        (CommandId::Yes | CommandId::No, _) => overlay::answer(model, id == CommandId::Yes),
        (_, Context::Confirm) => overlay::scroll_question(model, id),
        (_, Context::Help) => overlay::help_command(model, id),
        (CommandId::Help, _) => open(model, Overlay::Help(0)),
        (CommandId::Palette, _) => overlay::open_palette(model),
        (CommandId::Jump, _) => overlay::open_jump(model),
        (CommandId::Theme, _) => global::next_theme(model),
        (CommandId::ToggleMouse, _) => global::toggle_mouse(model),
        (CommandId::Suspend, _) => vec![Effect::Suspend],
        (CommandId::Copy, _) => global::copy(model),
        (CommandId::Editor, _) => global::editor(model),
        (CommandId::Run, _) => run::run_selected(model, Against::Agent),
        (CommandId::RunTurn, _) => run::run_turn(model),
        (CommandId::JudgeAgain, _) => run::judge_again(model),
        (CommandId::Judges | CommandId::Opinion | CommandId::Agreement, _) => opinion::command(model, id),
        (CommandId::Score, _) => run::run_selected(model, Against::Saved),
        (CommandId::Metrics, _) => overlay::open_metrics(model),
        (CommandId::Statistics, _) => overlay::open_statistics(model),
        (id, _) if id.is_about_trial() => trial::command(model, id),
        (CommandId::RerunFailed, _) => run::rerun_failed(model),
        (CommandId::CancelAll, _) => run::cancel_all(model),
        (CommandId::Watch, _) => run::watch(model),
        (id, _) => match model.screen {
            Screen::Browse => browse::command(model, id),
            Screen::Case(_) => case::command(model, id),
            Screen::Run => run::command(model, id),
            Screen::Edit(_) => edit::command(model, id),
            Screen::Chat(_) => chat::command(model, id),
        },
    }
}

pub(crate) fn open(model: &mut Model, overlay: Overlay) -> Vec<Effect> {
    model.overlay = Some(overlay);
    Vec::new()
}

/// A cursor moved by a command, in a list of so many with so many in sight.
pub(crate) fn moved(cursor: usize, id: CommandId, count: usize, page: usize) -> usize {
    let last = count.saturating_sub(1);
    let page = page.max(1);
    match id {
        CommandId::Up => cursor.saturating_sub(1),
        CommandId::Down => (cursor + 1).min(last),
        CommandId::PageUp => cursor.saturating_sub(page),
        CommandId::PageDown => (cursor + page).min(last),
        CommandId::Top => 0,
        CommandId::Bottom => last,
        _ => cursor.min(last),
    }
}
