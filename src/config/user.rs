//! `config.toml` of the person who uses evaltrail: theme, keys, and themes of their own. It lies outside of every
//! workspace, so that a folder that is opened changes no key.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Its name, in the platform's folder for configuration or in `EVALTRAIL_HOME`.
pub const USER_FILE_NAME: &str = "config.toml";

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserConfig {
    /// The theme to begin with.
    pub theme: Option<String>,
    /// The keys of commands, by the name of the command.
    pub keys: BTreeMap<String, OneOrMore>,
    /// Themes by name: `base`, the theme that they change, and looks by role.
    pub themes: BTreeMap<String, toml::Table>,
}

/// Keys of a command: one text or a list of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several, the first of which hints show.
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
    /// Reads the file. The error says where it is wrong.
    pub fn parse(text: &str) -> Result<UserConfig, String> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or_default());
            format!("line {}: {}", before.lines().count().max(1), error.message())
        })
    }
}
