//! Chatting with an agent, and saving the conversation as a case.

use crate::explorer::authoring as author;
use crate::explorer::authoring::capture::{CASE_EXAMPLE, id_and_turns};
use crate::explorer::prompts::ask::Purpose;
use crate::explorer::prompts::trust::AfterConsent;
use crate::explorer::prompts::{ask, confirm, trust};
use crate::explorer::screens::chat::state::{ChatScreen, ChatStatus};
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::{ChatEffect, Effect, ScreenRequest};
use crate::explorer::shared::key::{Key, KeyCode, request};
use crate::explorer::shared::message::{ChatMsg, Mouse};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use evaltrail_core::domain::{SessionInput, captured_case, eval_id_error};
use evaltrail_core::formats::{Edit, json};
use evaltrail_engine::runner::ChatEvent;
use serde_json::Value;
use std::borrow::Cow;
use tui_input::{Input, InputRequest};

/// Lines that a page key and a turn of the wheel scroll by.
const PAGE: usize = 10;
const LINES: usize = 3;

/// Opens a conversation with the agent of the set, in the session of the case at hand.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let Some(set) = model.current_set() else {
        return Vec::new();
    };
    let case = model.current_case();
    let read = case.and_then(|case| model.file(case.set)?.case(case.index).ok());
    let session = read.and_then(|case| case.session_input).unwrap_or_default();
    begin(model, set, case, session)
}

fn begin(
    model: &mut Model,
    set: usize,
    from: Option<CaseRef>,
    session: SessionInput,
) -> Vec<Effect> {
    model.chats += 1;
    let number = model.chats;
    model.show(ChatScreen::new(set, from, session.clone(), number));
    vec![Effect::Chat(ChatEffect::Open {
        set,
        session,
        number,
        granted: Vec::new(),
    })]
}

fn screen(model: &mut Model) -> Option<&mut ChatScreen> {
    model.screen_mut()
}

/// Scrolls back to earlier messages, or forth.
pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let Some(chat) = screen(model) else { return };
    match motion {
        Motion::Up => chat.back += LINES,
        Motion::Down => chat.back = chat.back.saturating_sub(LINES),
        Motion::PageUp => chat.back += PAGE,
        Motion::PageDown => chat.back = chat.back.saturating_sub(PAGE),
        Motion::Top | Motion::Bottom => {}
    }
}

pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        scroll(model, motion);
    }
    Vec::new()
}

/// Starts a new session like this one.
pub(crate) fn again(model: &mut Model) -> Vec<Effect> {
    let Some(chat) = screen(model) else {
        return Vec::new();
    };
    let session = chat.session.clone();
    restart_if_saved(model, session)
}

/// Starts another conversation. Asks for confirmation first if unsaved turns would be lost.
fn restart_if_saved(model: &mut Model, session: SessionInput) -> Vec<Effect> {
    if screen(model).is_some_and(|chat| chat.has_unsaved_turns()) {
        let then = ScreenRequest::RestartChat(Box::new(session));
        return confirm::open_refusing_enter(
            model,
            "Start another conversation?",
            unsaved_text(),
            then,
        );
    }
    restart(model, session)
}

/// Starts another conversation with the same agent, in this session.
pub(crate) fn restart(model: &mut Model, session: SessionInput) -> Vec<Effect> {
    let Some(chat) = screen(model) else {
        return Vec::new();
    };
    let (set, from) = (chat.set, chat.from);
    begin(model, set, from, session)
}

fn unsaved_text() -> Vec<String> {
    vec!["Not all of its turns are saved as a case.".into()]
}

/// A key that is no command is text.
pub(crate) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let now = model.now;
    let Some(chat) = screen(model) else {
        return Vec::new();
    };
    match (key.code, key.ctrl, key.alt) {
        (KeyCode::Enter, false, false) => {
            let text = chat.input.value().trim().to_string();
            if text.is_empty() || chat.status != ChatStatus::Ready {
                return Vec::new();
            }
            chat.input = Input::default();
            chat.asked = Some(text.clone());
            chat.doing.clear();
            chat.back = 0;
            chat.status = ChatStatus::Working(now);
            return vec![Effect::Chat(ChatEffect::Send(text))];
        }
        (KeyCode::Enter, ..) | (KeyCode::Char('j'), true, _) => {
            chat.input.handle(InputRequest::InsertChar('\n'));
        }
        _ => {
            if let Some(request) = request(key) {
                chat.input.handle(request);
            }
        }
    }
    Vec::new()
}

pub(crate) fn paste(model: &mut Model, text: &str) {
    if let Some(chat) = screen(model) {
        for c in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            chat.input.handle(InputRequest::InsertChar(c));
        }
    }
}

/// What the agent did. Of a session that was left, nothing is heard.
pub(crate) fn event(model: &mut Model, number: u64, msg: ChatMsg) -> Vec<Effect> {
    let Some(chat) = screen(model).filter(|chat| chat.number == number) else {
        return Vec::new();
    };
    match msg {
        ChatMsg::AskTrust(questions) => {
            let (set, session) = (chat.set, Box::new(chat.session.clone()));
            trust::open(
                model,
                questions,
                AfterConsent::Chat {
                    set,
                    session,
                    number,
                },
            );
        }
        ChatMsg::Refused(why) => chat.status = ChatStatus::Broken(why),
        ChatMsg::Event(ChatEvent::Opened(stubs)) => {
            (chat.status, chat.stubs) = (ChatStatus::Ready, Some(stubs));
        }
        ChatMsg::Event(ChatEvent::Progress(progress)) => chat.doing.push(progress),
        ChatMsg::Event(ChatEvent::Turn(turn, state)) => {
            chat.turns.push(*turn);
            chat.states.push(state);
            chat.asked = None;
            chat.doing.clear();
            chat.status = ChatStatus::Ready;
        }
        ChatMsg::Event(ChatEvent::Broke(why, _)) => chat.status = ChatStatus::Broken(why),
    }
    Vec::new()
}

pub(crate) fn ask_to_save(model: &mut Model) -> Vec<Effect> {
    let Some(chat) = screen(model) else {
        return Vec::new();
    };
    if chat.turns.is_empty() {
        return notices::notify(model, "no messages yet".into(), false);
    }
    ask::open(model, ChatLine::Case, String::new())
}

pub(crate) fn ask_state(model: &mut Model) -> Vec<Effect> {
    let Some(chat) = screen(model) else {
        return Vec::new();
    };
    let state = Value::Object(chat.session.state.clone()).to_string();
    ask::open(model, ChatLine::State, state)
}

/// What a line is typed for.
#[derive(Debug)]
enum ChatLine {
    /// The case that the conversation is saved as, and perhaps its turns.
    Case,
    /// The session state that a conversation starts in.
    State,
}

impl Purpose for ChatLine {
    fn prompt(&self, _: &Model) -> Cow<'static, str> {
        match self {
            ChatLine::Case => "save as case ".into(),
            ChatLine::State => "session state ".into(),
        }
    }

    fn example(&self) -> &'static str {
        match self {
            ChatLine::Case => CASE_EXAMPLE,
            ChatLine::State => "{\"key\": \"value\"}",
        }
    }

    fn wrong(&self, model: &Model, typed: &str) -> Option<String> {
        let chat = model.screen::<ChatScreen>()?;
        match self {
            ChatLine::State => match json::parse(typed) {
                Ok(parsed) if parsed.value.is_object() => None,
                Ok(_) => Some("expected an object: {\"key\": value}".into()),
                Err(error) => Some(error.to_string()),
            },
            ChatLine::Case => match id_and_turns(typed, &chat.turns) {
                Err(why) => Some(why),
                Ok((id, _)) => eval_id_error(id, model.file(chat.set)?.eval_ids()),
            },
        }
    }

    fn accept(&self, model: &mut Model, typed: &str) -> Vec<Effect> {
        match self {
            ChatLine::Case => save(model, typed),
            ChatLine::State => restate(model, typed),
        }
    }
}

/// Keeps the conversation as a case: shown first, as every change is.
fn save(model: &mut Model, typed: &str) -> Vec<Effect> {
    let Some(chat) = model.screen::<ChatScreen>() else {
        return Vec::new();
    };
    let Ok((id, range)) = id_and_turns(typed, &chat.turns) else {
        return Vec::new();
    };
    let Some(file) = model.file(chat.set) else {
        return Vec::new();
    };
    // What begins at a later turn begins in the state that the turns before it led to; in none if that is not known.
    let mut session = chat.session.clone();
    if let Some(before) = range.start.checked_sub(1) {
        let led_to = chat
            .states
            .get(before)
            .and_then(|state| state.as_ref()?.as_object());
        session.state = led_to.cloned().unwrap_or_default();
    }
    let input = (session != SessionInput::default()).then_some(session);
    let case = captured_case(
        id,
        &chat.turns[range.clone()],
        input,
        model.opened_at + model.now,
    );
    let edits = vec![Edit::Insert(file.len(), Box::new(case))];
    let (set, words) = (chat.set, format!("save the conversation as {id}"));
    if let Some(chat) = screen(model) {
        chat.keeping = range;
    }
    author::propose(model, set, edits, words)
}

/// Another session, in this state.
fn restate(model: &mut Model, typed: &str) -> Vec<Effect> {
    let state = json::parse(typed)
        .ok()
        .and_then(|parsed| parsed.value.as_object().cloned());
    let (Some(state), Some(chat)) = (state, screen(model)) else {
        return Vec::new();
    };
    let session = SessionInput {
        state,
        ..chat.session.clone()
    };
    restart_if_saved(model, session)
}

/// What was kept is not lost with the conversation.
pub(crate) fn on_saved(model: &mut Model) {
    if let Some(chat) = screen(model) {
        chat.kept.extend(std::mem::take(&mut chat.keeping));
    }
}

pub(crate) fn leave(model: &mut Model) -> Vec<Effect> {
    let Some(chat) = screen(model) else {
        return Vec::new();
    };
    if chat.has_unsaved_turns() {
        return confirm::open_refusing_enter(
            model,
            "Leave the conversation?",
            unsaved_text(),
            ScreenRequest::LeaveChat,
        );
    }
    close(model)
}

/// Ends the conversation.
pub(crate) fn close(model: &mut Model) -> Vec<Effect> {
    model.show(BrowseScreen);
    vec![Effect::Chat(ChatEffect::Close)]
}
