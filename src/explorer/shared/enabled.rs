//! Whether a command is enabled, where screens ask for it too.

use super::case_list::{Pane, TreeNode};
use super::command_names::CANCEL_ALL;
use super::model::Model;
use super::set_view::SetView;
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

/// Whether a run of any listed cases can be started.
pub(crate) fn can_start_run(model: &Model) -> Enabled {
    if model.run.as_ref().is_some_and(|run| run.is_live()) {
        return Err(run_in_progress());
    }
    has_set(model)
}

/// Whether the selected cases, the set or the case under the cursor can be run.
pub(crate) fn can_run(model: &Model) -> Enabled {
    can_start_run(model)?;
    // Of several sets, those that can be read are run.
    let is_of_one_set = match model.open_case() {
        Some(_) => true,
        None => {
            let browse = &model.view.browse;
            let is_in_tree = browse.pane == Pane::Sets;
            let on_set = matches!(browse.nodes.get(browse.node), Some(TreeNode::Set(_)));
            browse.selected.is_empty() && (!is_in_tree || on_set)
        }
    };
    let set = model.current_set().and_then(|set| model.view.sets.get(set));
    match is_of_one_set && set.is_some_and(SetView::cannot_be_read) {
        true => Err("the file cannot be read"),
        false => Ok(()),
    }
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
