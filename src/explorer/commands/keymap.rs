//! Keys to commands.

use crate::explorer::commands::key::{Key, parse_key};
use crate::explorer::commands::{COMMANDS, CommandId, Context};

/// The command of a key in a context.
pub fn resolve(context: Context, key: Key) -> Option<CommandId> {
    COMMANDS
        .iter()
        .filter(|command| command.contexts.contains(&context))
        .find(|command| command.keys.iter().any(|text| parse_key(text) == Some(key)))
        .map(|command| command.id)
}

/// Two commands on one key in one context, named; there must be none.
pub fn conflicts() -> Vec<String> {
    let mut found = Vec::new();
    for (at, a) in COMMANDS.iter().enumerate() {
        for b in &COMMANDS[at + 1..] {
            let context = a.contexts.iter().find(|context| b.contexts.contains(context));
            let key = a.keys.iter().find(|key| b.keys.contains(key));
            if let (Some(context), Some(key)) = (context, key) {
                found.push(format!("{key} is both {:?} and {:?} in {context:?}", a.name, b.name));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings() {
        assert_eq!(conflicts(), Vec::<String>::new());
    }

    #[test]
    fn every_key_can_be_read_and_every_command_once() {
        for (at, command) in COMMANDS.iter().enumerate() {
            assert!(command.keys.iter().all(|key| parse_key(key).is_some()), "{}", command.name);
            assert!(COMMANDS[at + 1..].iter().all(|other| other.id != command.id), "{}", command.name);
        }
    }
}
