//! Keys with modifiers, and their textual notation.

use std::fmt;
use tui_input::InputRequest;

/// A key with its modifiers. Shift is part of the character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The key without modifiers.
    pub code: KeyCode,
    /// Whether control is pressed.
    pub ctrl: bool,
    /// Whether alt is pressed.
    pub alt: bool,
}

/// A key without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum KeyCode {
    Char(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

const NAMES: &[(&str, KeyCode)] = &[
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
];

impl Key {
    /// A key without modifiers.
    pub const fn plain(code: KeyCode) -> Key {
        Key {
            code,
            ctrl: false,
            alt: false,
        }
    }

    /// A character key without modifiers.
    pub const fn char(c: char) -> Key {
        Key::plain(KeyCode::Char(c))
    }
}

/// Parses a key such as `ctrl-p`, `alt-x`, `space` or `G`.
pub fn parse_key(text: &str) -> Option<Key> {
    if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == text) {
        return Some(Key::plain(*code));
    }
    if let Some(rest) = text.strip_prefix("ctrl-") {
        return parse_key(rest).map(|key| Key { ctrl: true, ..key });
    }
    if let Some(rest) = text.strip_prefix("alt-") {
        return parse_key(rest).map(|key| Key { alt: true, ..key });
    }
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Some(Key::char(c)),
        _ => None,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("ctrl-")?;
        }
        if self.alt {
            f.write_str("alt-")?;
        }
        match (self.code, NAMES.iter().find(|(_, code)| *code == self.code)) {
            (_, Some((name, _))) => f.write_str(name),
            (KeyCode::Char(c), None) => write!(f, "{c}"),
            (_, None) => Ok(()),
        }
    }
}

/// The edit that a key makes in a text field, if any.
pub(crate) fn request(key: Key) -> Option<InputRequest> {
    use InputRequest as R;
    Some(match (key.code, key.ctrl) {
        (KeyCode::Backspace, false) | (KeyCode::Char('h'), true) => R::DeletePrevChar,
        (KeyCode::Backspace, true) | (KeyCode::Char('w'), true) => R::DeletePrevWord,
        (KeyCode::Delete, _) | (KeyCode::Char('d'), true) => R::DeleteNextChar,
        (KeyCode::Left, false) | (KeyCode::Char('b'), true) => R::GoToPrevChar,
        (KeyCode::Right, false) | (KeyCode::Char('f'), true) => R::GoToNextChar,
        (KeyCode::Left, true) => R::GoToPrevWord,
        (KeyCode::Right, true) => R::GoToNextWord,
        (KeyCode::Home, _) | (KeyCode::Char('a'), true) => R::GoToStart,
        (KeyCode::End, _) | (KeyCode::Char('e'), true) => R::GoToEnd,
        (KeyCode::Char('u'), true) => R::DeleteLine,
        (KeyCode::Char('k'), true) => R::DeleteTillEnd,
        (KeyCode::Char(c), false) if !key.alt => R::InsertChar(c),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn printed_key_parses_to_the_same_key(c in any::<char>(), ctrl in any::<bool>(), alt in any::<bool>()) {
            let key = Key { code: KeyCode::Char(c), ctrl, alt };
            prop_assert_eq!(parse_key(&key.to_string()), Some(key));
        }
    }

    #[test]
    fn named_keys_are_read_back() {
        for (name, code) in NAMES {
            assert_eq!(parse_key(name), Some(Key::plain(*code)));
            assert_eq!(Key::plain(*code).to_string(), *name);
        }
    }
}
