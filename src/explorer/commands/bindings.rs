//! Key bindings from the user's configuration.

use super::keymap::conflicts_of;
use super::{COMMANDS, Command};
use crate::explorer::shared::command_names::bind;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::key::{KeyCode, parse_key};
use std::collections::BTreeMap;

/// Configured keys of commands, by position in [`COMMANDS`]. Other commands have their default keys.
#[derive(Debug, Default, PartialEq)]
pub struct Bindings(BTreeMap<usize, &'static [&'static str]>);

impl Bindings {
    /// Reads bindings: the names of commands with their keys. In names, `_` and `-` stand for a space. Keys that
    /// cannot be parsed and keys that conflict with another command on the same screen are ignored. Returns the
    /// bindings and descriptions of the problems.
    pub fn read(keys: &BTreeMap<String, Vec<String>>) -> (Bindings, Vec<String>) {
        let (mut bindings, mut problems) = (Bindings::default(), Vec::new());
        for (name, keys) in keys {
            let words = name.replace(['_', '-'], " ");
            let named: Vec<usize> = (0..COMMANDS.len())
                .filter(|at| COMMANDS[*at].name() == words)
                .collect();
            let is_key = |keys: &String| {
                !keys.is_empty() && keys.split(' ').all(|key| parse_key(key).is_some())
            };
            let is_in_chat = named.iter().any(|at| COMMANDS[*at].is_in(Context::Chat));
            let is_text =
                |keys: &&String| is_in_chat && keys.split(' ').next().is_some_and(is_character);
            if let Some(text) = keys.iter().find(is_text) {
                problems.push(format!(
                    "{text:?} of {name} is typed as text in a chat; use a key with ctrl or alt"
                ));
                continue;
            }
            match keys.iter().find(|keys| !is_key(keys)) {
                _ if named.is_empty() => problems.push(format!("unknown command {name:?}")),
                _ if keys.is_empty() => problems.push(format!("{name} needs at least one key")),
                Some(wrong) => problems.push(format!("{wrong:?} of {name} is not a key")),
                None => {
                    // Leaked because keys are read once at startup and used until the program exits.
                    let keys: Vec<&'static str> = keys
                        .iter()
                        .map(|keys| &*Box::leak(keys.clone().into_boxed_str()))
                        .collect();
                    let keys: &'static [&'static str] = Box::leak(keys.into_boxed_slice());
                    bindings.0.extend(named.into_iter().map(|at| (at, keys)));
                }
            }
        }
        bindings.resolve_conflicts(&mut problems);
        (bindings, problems)
    }

    /// Resets commands to their default keys until no keys conflict.
    fn resolve_conflicts(&mut self, problems: &mut Vec<String>) {
        loop {
            let found = conflicts_of(|command| self.keys_of(command));
            let bound = |at: &usize| self.0.contains_key(at);
            let Some((conflict, at)) = found.iter().find_map(|conflict| {
                let at = [conflict.second, conflict.first].into_iter().find(bound)?;
                Some((conflict.to_string(), at))
            }) else {
                return;
            };
            problems.push(format!(
                "{conflict}; {:?} keeps its default keys",
                COMMANDS[at].name()
            ));
            self.0.remove(&at);
        }
    }

    fn keys_of(&self, command: &'static Command) -> &'static [&'static str] {
        let mut bound = self
            .0
            .iter()
            .filter(|(at, _)| std::ptr::eq(COMMANDS[**at], command));
        bound
            .next()
            .map_or(command.id.default_keys, |(_, keys)| keys)
    }

    /// Uses these bindings from now on. Only the first call has an effect.
    pub fn install(self) {
        bind(
            self.0
                .into_iter()
                .map(|(at, keys)| (COMMANDS[at].id, keys))
                .collect(),
        );
    }
}

/// Whether a key is a plain character, which is text in a text field.
fn is_character(key: &str) -> bool {
    parse_key(key).is_some_and(|key| matches!(key.code, KeyCode::Char(_)) && !key.ctrl && !key.alt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::commands::{PAUSE, RERUN_FAILED, RUN};

    fn read(keys: &[(&str, &[&str])]) -> (Bindings, Vec<String>) {
        let keys = keys.iter().map(|(name, keys)| {
            (
                name.to_string(),
                keys.iter().map(|key| key.to_string()).collect(),
            )
        });
        Bindings::read(&keys.collect())
    }

    #[test]
    fn keys_are_given_by_the_name_of_the_command() {
        let (bound, problems) = read(&[("rerun_failed", &["ctrl-r", "Y"]), ("redo", &["U"])]);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(bound.keys_of(&RERUN_FAILED), ["ctrl-r", "Y"]);
        assert_eq!(bound.keys_of(&RUN), RUN.id.default_keys);
    }

    #[test]
    fn invalid_bindings_are_reported_others_apply() {
        let (bound, problems) = read(&[
            ("pause", &["r r"]),
            ("run", &["p p"]),
            ("rerun_failed", &["x"]),
            ("fly", &["Y"]),
        ]);
        assert_eq!(bound.keys_of(&PAUSE), ["r r"]);
        assert_eq!(
            bound.keys_of(&RERUN_FAILED),
            RERUN_FAILED.id.default_keys,
            "x cancels on the run screen"
        );
        assert!(
            problems
                .iter()
                .any(|problem| problem.contains("unknown command \"fly\"")),
            "{problems:?}"
        );
        assert!(
            problems
                .iter()
                .any(|problem| problem.contains("keeps its default keys")),
            "{problems:?}"
        );
        let (_, problems) = read(&[("run", &["strg-r"])]);
        assert_eq!(problems, ["\"strg-r\" of run is not a key"]);
        let of_chat = COMMANDS
            .iter()
            .find(|command| command.is_in(Context::Chat))
            .unwrap();
        let (_, problems) = read(&[(of_chat.name(), &["Q"])]);
        assert!(
            problems[0].contains("is typed as text in a chat"),
            "{problems:?}"
        );
    }
}
