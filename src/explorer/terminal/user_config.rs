//! Keys and themes of the user's `config.toml`.

use crate::explorer::app::update::update;
use crate::explorer::commands::bindings::Bindings;
use crate::explorer::shared::message::Msg;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::Theme;
use evaltrail_engine::config::{USER_FILE_NAME, UserConfig};
use evaltrail_engine::store::{AppFolders, read_text_file};
use std::io;

/// Maximum size of the file, in bytes. A larger file is not read.
const MAX_CONFIG: u64 = 1 << 20;

/// Applies the keys and themes of the user's configuration. Problems are shown as notices. Returns the theme that it
/// names, if that exists.
pub(super) fn apply_user_config(app_folders: &AppFolders, model: &mut Model) -> Option<String> {
    let path = app_folders.config.join(USER_FILE_NAME);
    let text = match read_text_file(&path, MAX_CONFIG) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        read => read.map_err(|error| error.to_string()),
    };
    let config = match text.and_then(|text| UserConfig::parse(&text)) {
        Ok(config) => config,
        Err(why) => {
            update(model, Msg::Failed(format!("{}: {why}", path.display())));
            return None;
        }
    };
    let keys = config
        .keys
        .iter()
        .map(|(name, keys)| (name.clone(), keys.list()))
        .collect();
    let (bindings, mut problems) = Bindings::read(&keys);
    bindings.install();
    problems.extend(
        Theme::install(&config.themes)
            .iter()
            .map(ToString::to_string),
    );
    let theme = config.theme.filter(|name| {
        let known = Theme::names().any(|known| known == name);
        // A configured theme that cannot be used was already reported.
        if !known && !config.themes.contains_key(name) {
            problems.push(format!("unknown theme {name:?}"));
        }
        known
    });
    for problem in problems {
        update(model, Msg::Failed(format!("{}: {problem}", path.display())));
    }
    theme
}
