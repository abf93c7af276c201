//! Resolution of keys to commands.

use super::{COMMANDS, Command, PREFIXES};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::key::{Key, parse_key};
use std::fmt;

/// The meaning of the keys pressed so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyLookup {
    /// Not bound in this context.
    Nothing,
    /// The beginning of longer key sequences.
    Prefix,
    /// A command.
    Command(&'static Command),
}

/// Parses a key sequence.
fn sequence(keys: &str) -> Vec<Key> {
    keys.split(' ').filter_map(parse_key).collect()
}

/// Resolves keys in a context.
pub fn resolve(context: Context, pressed: &[Key]) -> KeyLookup {
    let mut meaning = KeyLookup::Nothing;
    for command in COMMANDS.iter().filter(|command| command.is_in(context)) {
        for keys in command.keys().iter().map(|keys| sequence(keys)) {
            if keys == pressed {
                return KeyLookup::Command(command);
            }
            if keys.starts_with(pressed) {
                meaning = KeyLookup::Prefix;
            }
        }
    }
    meaning
}

/// The commands whose key sequences begin with `pressed`, each with the remaining keys.
pub fn continuations(context: Context, pressed: &[Key]) -> Vec<(String, &'static Command)> {
    let mut found = Vec::new();
    for command in COMMANDS.iter().filter(|command| command.is_in(context)) {
        let rest = command.keys().iter().find_map(|keys| {
            let keys = sequence(keys);
            let rest = keys.strip_prefix(pressed).filter(|rest| !rest.is_empty())?;
            Some(
                rest.iter()
                    .map(Key::to_string)
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        });
        found.extend(rest.map(|rest| (rest, *command)));
    }
    found
}

/// What these keys do on other screens, for example "accept (case)", or the name of a prefix.
pub fn elsewhere(pressed: &[Key]) -> Vec<String> {
    let typed = pressed
        .iter()
        .map(Key::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    if let Some((_, name)) = PREFIXES.iter().find(|(prefix, _)| *prefix == typed) {
        return vec![format!("{name} (list, case)")];
    }
    let has =
        |command: &&&'static Command| command.keys().iter().any(|keys| sequence(keys) == pressed);
    let commands = COMMANDS.iter().filter(has);
    commands
        .filter_map(|command| {
            let screens = command.screens();
            (!screens.is_empty()).then(|| format!("{} ({screens})", command.name()))
        })
        .collect()
}

/// Two commands whose keys conflict: in the same context they have equal keys, or the keys of one begin with those of
/// the other.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyConflict {
    /// Position of one command in [`COMMANDS`].
    pub first: usize,
    /// Position of the other command in [`COMMANDS`].
    pub second: usize,
    /// The conflicting keys of both commands.
    pub keys: (&'static str, &'static str),
}

impl fmt::Display for KeyConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, other) = (COMMANDS[self.first].name(), COMMANDS[self.second].name());
        match self.keys {
            (first, second) if first == second => {
                write!(f, "{first:?} is both {one:?} and {other:?}")
            }
            (first, second) => write!(f, "{first:?} is {one:?}, and {second:?} is {other:?}"),
        }
    }
}

/// The conflicts among all commands, given the keys of each.
pub(super) fn conflicts_of(
    keys: impl Fn(&'static Command) -> &'static [&'static str],
) -> Vec<KeyConflict> {
    let mut found = Vec::new();
    for (first, a) in COMMANDS.iter().enumerate() {
        for (second, b) in COMMANDS.iter().enumerate().skip(first + 1) {
            if !a.contexts.iter().any(|context| b.is_in(*context)) {
                continue;
            }
            let pairs = keys(a)
                .iter()
                .flat_map(|one| keys(b).iter().map(move |other| (*one, *other)));
            for (one, other) in pairs {
                let (pressed, others) = (sequence(one), sequence(other));
                if pressed.starts_with(&others) || others.starts_with(&pressed) {
                    found.push(KeyConflict {
                        first,
                        second,
                        keys: (one, other),
                    });
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_keys_have_two_meanings() {
        assert_eq!(conflicts_of(Command::keys), []);
    }

    #[test]
    fn keys_are_parsable_and_command_names_unique() {
        for (at, command) in COMMANDS.iter().enumerate() {
            for keys in command.keys() {
                assert!(
                    keys.split(' ').all(|key| parse_key(key).is_some()),
                    "{}",
                    command.name()
                );
            }
            assert!(!command.keys().is_empty(), "{}", command.name());
            let same = COMMANDS[at + 1..].iter().find(|other| {
                other.name() == command.name() && other.contexts.iter().any(|c| command.is_in(*c))
            });
            assert!(same.is_none(), "{} is there twice", command.name());
        }
    }

    #[test]
    fn every_prefix_is_named() {
        for keys in COMMANDS.iter().flat_map(|command| command.keys()) {
            if let Some((first, _)) = keys.split_once(' ') {
                assert!(
                    PREFIXES.iter().any(|(prefix, _)| *prefix == first),
                    "{keys}"
                );
            }
        }
    }

    /// A key that is bound to a command on one screen is not bound to an unrelated one on another: leaving, opening and
    /// deleting what is under the cursor are related. Dialogs have keys of their own.
    #[test]
    fn a_key_means_the_same_on_every_screen() {
        let screens = [
            Context::Browse,
            Context::Case,
            Context::Run,
            Context::Live,
            Context::Edit,
        ];
        let allowed = ["esc", "q", "enter", "delete"];
        for (at, a) in COMMANDS.iter().enumerate() {
            for b in &COMMANDS[at + 1..] {
                let on_screens =
                    |command: &Command| screens.iter().any(|screen| command.is_in(*screen));
                let shared = a
                    .keys()
                    .iter()
                    .find(|key| b.keys().contains(key) && !allowed.contains(key));
                if let Some(key) = shared.filter(|_| on_screens(a) && on_screens(b)) {
                    panic!("{key} is both {:?} and {:?}", a.name(), b.name());
                }
            }
        }
    }
}
