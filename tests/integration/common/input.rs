//! Keyboard input for tests of the explorer without a terminal.

use evaltrail::explorer::{Effect, Model, Msg, parse_key, update};

/// Presses keys, which are separated by spaces.
pub fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    keys.split_whitespace()
        .flat_map(|key| update(model, Msg::Key(parse_key(key).unwrap())))
        .collect()
}

/// Pastes a text.
pub fn type_text(model: &mut Model, text: &str) {
    update(model, Msg::Paste(text.into()));
}
