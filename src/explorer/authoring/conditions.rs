//! Conditions under which cases can be edited and accepted.

use crate::explorer::authoring;
use crate::explorer::shared::case_list::{Pane, TreeNode};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use evaltrail_core::domain::Status;
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
    if case.key.as_ref().is_some_and(|key| !key.view.compares()) {
        return Err("show the comparison first");
    }
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
    let case = model.current_case();
    if case.is_some_and(|case| model.known_problem_of(case).is_some()) {
        return Err("the case cannot be read; open its file in the editor");
    }
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
    if let Some(case) = model.shown_case() {
        has_acceptable_attempt(model, case.at)?;
    }
    has_differences(model)
}

/// Whether the attempt of a case that would be accepted is the user's own and complete.
fn has_acceptable_attempt(model: &Model, case: CaseRef) -> Enabled {
    let outcome = model.view.outcomes.get(case);
    if outcome.is_some_and(CaseOutcome::is_foreign) {
        return Err(
            "the result is from a foreign run, which was not recorded by you on this machine",
        );
    }
    let attempt = authoring::attempt_to_accept(model, case);
    match attempt {
        Some(attempt) if attempt.status == Status::Errored => {
            Err("the agent did not finish; there is no complete turn to accept")
        }
        Some(attempt) if !attempt.model_errors.is_empty() => Err(
            "the model reported an error: what the agent did then is not what is expected of it",
        ),
        _ => Ok(()),
    }
}

/// Whether everything that the agent did in a case can be accepted, and it would probably change something: that is known only
/// of the case whose comparison is shown.
pub(crate) fn can_accept_whole(model: &Model, case: CaseRef) -> Enabled {
    has_acceptable_attempt(model, case)?;
    let shown = model.shown_case().filter(|shown| shown.at == case);
    let body = shown.and_then(|shown| shown.body.as_ref());
    match body.is_some_and(|body| body.is_as_expected) {
        true => Err("the agent did what is expected; nothing would change"),
        false => Ok(()),
    }
}
