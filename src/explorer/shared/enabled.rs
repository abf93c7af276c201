//! Whether a command is enabled, where screens ask for it too.

use super::command_names::CANCEL_ALL;
use super::model::Model;
use std::sync::LazyLock;

/// Whether a command is enabled; the error is the reason why it is not.
pub type Enabled = Result<(), &'static str>;

pub(crate) fn run_in_progress() -> &'static str {
    static WORDS: LazyLock<String> =
        LazyLock::new(|| format!("a run is in progress; {} ends it", CANCEL_ALL.key()));
    &WORDS
}

pub(crate) fn has_set(model: &Model) -> Enabled {
    model
        .current_set()
        .map(|_| ())
        .ok_or("there is no eval set here")
}

pub(crate) fn can_run(model: &Model) -> Enabled {
    if model.run.as_ref().is_some_and(|run| run.is_live()) {
        return Err(run_in_progress());
    }
    has_set(model)
}

pub(crate) fn can_score(model: &Model) -> Enabled {
    can_run(model)?;
    let file = model.current_set().and_then(|set| model.file(set));
    let adk = file.is_some_and(|file| file.form.is_adk());
    if adk {
        Err("the file contains no recorded responses")
    } else {
        Ok(())
    }
}
