//! The user's `config.toml`: theme, key bindings and custom themes. It is outside of every workspace, so that opening
//! a folder cannot change a key binding.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The file's name, in the platform's configuration folder or in `EVALTRAIL_HOME`.
pub const USER_FILE_NAME: &str = "config.toml";

/// The contents of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserConfig {
    /// The theme at the start.
    pub theme: Option<String>,
    /// Key bindings by the name of the command.
    pub keys: BTreeMap<String, OneOrMore>,
    /// Custom themes by name: `base`, the theme that they extend, and styles by role.
    pub themes: BTreeMap<String, toml::Table>,
}

/// The keys of a command: one string or a list of strings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several; hints show the first one.
    More(Vec<String>),
}

impl OneOrMore {
    /// As a list.
    pub fn list(&self) -> Vec<String> {
        match self {
            OneOrMore::One(key) => vec![key.clone()],
            OneOrMore::More(keys) => keys.clone(),
        }
    }
}

impl UserConfig {
    /// Parses the file's text. The error contains the line.
    pub fn parse(text: &str) -> Result<UserConfig, String> {
        toml::from_str(text).map_err(|error| {
            let before = error
                .span()
                .map_or("", |span| text.get(..span.start).unwrap_or_default());
            format!(
                "line {}: {}",
                before.lines().count().max(1),
                error.message()
            )
        })
    }
}
