//! Conditions under which cases can be edited and accepted.

use crate::explorer::authoring;
use crate::explorer::shared::case_list::{Pane, TreeNode};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::model::Model;
use evaltrail_core::formats::is_editable;

pub(crate) fn has_case(model: &Model) -> Enabled {
    model
        .current_case()
        .map(|_| ())
        .ok_or("there is no case here")
}

pub(crate) fn has_differences(model: &Model) -> Enabled {
    let case = model.shown_case().ok_or("open a case first")?;
    let body = case
        .body
        .as_ref()
        .ok_or("expected and actual are still being compared")?;
    let any = !body.pieces.is_empty();
    any.then_some(())
        .ok_or("expected and actual do not differ here")
}

pub(crate) fn is_written_here(model: &Model) -> Enabled {
    let is_in_tree = model.is_on(Context::Browse) && model.view.browse.pane == Pane::Sets;
    let on_set = matches!(
        model.view.browse.nodes.get(model.view.browse.node),
        Some(TreeNode::Set(_))
    );
    if is_in_tree && !on_set && model.view.browse.selected.is_empty() {
        return Err("this row has several sets: choose one of them, or a case");
    }
    let file = model
        .current_set()
        .and_then(|set| model.file(set))
        .ok_or("there is no eval set here")?;
    is_editable(file)
        .map_err(|_| "files of this format cannot be edited; evaltrail convert creates an eval set")
}

pub(crate) fn can_write_set(model: &Model) -> Enabled {
    is_written_here(model)
}

pub(crate) fn can_edit(model: &Model) -> Enabled {
    has_case(model)?;
    is_written_here(model)
}

pub(crate) fn can_accept(model: &Model) -> Enabled {
    is_written_here(model)?;
    if model
        .current_case()
        .is_some_and(|case| model.is_superseded(case))
    {
        return Err("the case is being run again; wait for its new result");
    }
    if authoring::lacking_answers(model).is_some() {
        return Ok(());
    }
    has_differences(model)
}
