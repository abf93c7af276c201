//! Conversion of terminal events to messages.

use crate::explorer::shared::key::{Key, KeyCode};
use crate::explorer::shared::message::{Mouse, MouseKind, Msg};
use crossterm::event::{self, Event, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind};

/// The message for an event. `None` for key releases and unknown events.
pub(crate) fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => self::key(key).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(width, height) => Some(Msg::Resize(width, height)),
        Event::Mouse(mouse) => {
            let kind = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseKind::Click,
                MouseEventKind::ScrollUp => MouseKind::ScrollUp,
                MouseEventKind::ScrollDown => MouseKind::ScrollDown,
                _ => return None,
            };
            Some(Msg::Mouse(Mouse {
                x: mouse.column,
                y: mouse.row,
                kind,
            }))
        }
        _ => None,
    }
}

fn key(key: event::KeyEvent) -> Option<Key> {
    use event::KeyCode as C;
    let code = match key.code {
        C::Char(c) => KeyCode::Char(c),
        C::Enter => KeyCode::Enter,
        C::Esc => KeyCode::Esc,
        C::Tab => KeyCode::Tab,
        C::BackTab => KeyCode::BackTab,
        C::Backspace => KeyCode::Backspace,
        C::Delete => KeyCode::Delete,
        C::Up => KeyCode::Up,
        C::Down => KeyCode::Down,
        C::Left => KeyCode::Left,
        C::Right => KeyCode::Right,
        C::Home => KeyCode::Home,
        C::End => KeyCode::End,
        C::PageUp => KeyCode::PageUp,
        C::PageDown => KeyCode::PageDown,
        _ => return None,
    };
    let (ctrl, alt) = (
        key.modifiers.contains(KeyModifiers::CONTROL),
        key.modifiers.contains(KeyModifiers::ALT),
    );
    // AltGr is reported as control and alt, and is part of the character.
    let alt_gr = ctrl && alt && matches!(code, KeyCode::Char(_));
    Some(Key {
        code,
        ctrl: ctrl && !alt_gr,
        alt: alt && !alt_gr,
    })
}
