//! Conditions under which commands are enabled.

use crate::explorer::authoring;
use crate::explorer::authoring::conditions::{
    can_accept, can_accept_whole, can_edit, is_written_here,
};
use crate::explorer::authoring::proposal::Proposal;
use crate::explorer::running::start;
use crate::explorer::screens::{edit, queue, run, runs, trends};
use crate::explorer::shared::case_lines::CaseTab;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::RUN;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::enabled::{Enabled, can_run, can_start_run, run_in_progress};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::shared::screen;
use crate::explorer::shown_case::draw_lines;
use evaltrail_core::diff::AcceptablePart;
use evaltrail_core::domain::{EndedAttempt, Status};
use std::sync::LazyLock;

pub(crate) fn always(_: &Model) -> Enabled {
    Ok(())
}

pub(crate) fn can_suspend(_: &Model) -> Enabled {
    if cfg!(windows) {
        Err("Windows cannot suspend programs")
    } else {
        Ok(())
    }
}

fn nothing_done() -> &'static str {
    static WORDS: LazyLock<String> =
        LazyLock::new(|| format!("the case has not been run yet; {} runs the case", RUN.key()));
    &WORDS
}

pub(crate) fn has_something_to_clear(model: &Model) -> Enabled {
    if model.opened_run.is_some() {
        return Ok(());
    }
    let browse = &model.view.browse;
    let nothing =
        browse.selected.is_empty() && browse.filter.is_empty() && browse.narrowing.is_none();
    if nothing {
        Err("nothing is selected or filtered")
    } else {
        Ok(())
    }
}

pub(crate) fn in_workspace(model: &Model) -> Enabled {
    match model.opened_run.is_some() {
        true => Err("not available while a past run is open"),
        false => Ok(()),
    }
}

/// The screen of a run must wait for its end: until then, other cases may still fail for the same cause.
fn has_run_ended(model: &Model) -> Enabled {
    let is_live = model.run.as_ref().is_some_and(|run| run.is_live());
    match model.is_on(Context::Run) && is_live {
        true => Err("the run has not ended"),
        false => Ok(()),
    }
}

pub(crate) fn can_triage(model: &Model) -> Enabled {
    has_run_ended(model)?;
    queue::can_open(model)
}

pub(crate) fn has_failure(model: &Model) -> Enabled {
    has_run_ended(model)?;
    let Some(node) = model.view.browse.nodes.get(model.view.browse.node) else {
        return Err("there is no eval set here");
    };
    let totals = model
        .sets_under(node)
        .into_iter()
        .map(|set| model.view.outcomes.totals(set));
    let has = totals
        .into_iter()
        .any(|totals| totals.passed < totals.ended());
    if has {
        Ok(())
    } else {
        Err("no case here failed")
    }
}

pub(crate) fn can_rerun(model: &Model) -> Enabled {
    if model.run.as_ref().is_some_and(|run| run.is_live()) {
        return Err(run_in_progress());
    }
    has_failing(model)
}

/// Whether the marked difference of the case on the screen is that of an argument or a response.
pub(crate) fn can_edit_value(model: &Model) -> Enabled {
    can_edit(model)?;
    let marked = model.open_case().and_then(|case| case.current_piece());
    let piece = marked.ok_or("no difference is marked")?;
    let is_value = matches!(
        piece.piece,
        AcceptablePart::Argument { .. } | AcceptablePart::Response
    );
    is_value
        .then_some(())
        .ok_or("the marked difference is not one value")
}

/// Whether there is something that [`start::run_again`] would run.
pub(crate) fn can_run_again(model: &Model) -> Enabled {
    match start::is_nothing_run(model) {
        true => can_start_run(model),
        false => can_rerun(model),
    }
}

/// Whether there are cases that [`start::repeat`] would run.
pub(crate) fn can_repeat(model: &Model) -> Enabled {
    let is_list = model.is_on(Context::Browse) && model.view.browse.selected.is_empty();
    match model.is_on(Context::Run) {
        true => can_rerun(model),
        false if is_list && model.view.browse.visible.is_empty() => Err("no case is listed"),
        false => can_run(model),
    }
}

pub(crate) fn has_failing(model: &Model) -> Enabled {
    if model.is_on(Context::Run) {
        let not_passed = model
            .run
            .as_ref()
            .is_some_and(|run| run.totals.ended() > run.totals.passed);
        return not_passed
            .then_some(())
            .ok_or("no attempt of the run failed");
    }
    let of_set = |set: usize| model.view.outcomes.totals(set);
    if model
        .listed_sets()
        .all(|set| of_set(set).passed == of_set(set).ended())
    {
        return Err("no listed case failed");
    }
    let outcomes = &model.view.outcomes;
    let mut listed = model.view.browse.visible.iter();
    listed
        .any(|case| outcomes.is_failing(*case))
        .then_some(())
        .ok_or("no listed case failed")
}

pub(crate) fn has_outcomes(model: &Model) -> Enabled {
    (!model.view.outcomes.is_empty())
        .then_some(())
        .ok_or("nothing has been run or scored yet")
}

pub(crate) fn has_what_if(model: &Model) -> Enabled {
    model
        .view
        .what_if
        .as_ref()
        .map(|_| ())
        .ok_or("there is no what-if")
}

/// Before all results are rescored, it is not known which sets the what-if changes.
pub(crate) fn has_rescored_what_if(model: &Model) -> Enabled {
    has_what_if(model)?;
    let what_if = model.view.what_if.as_ref();
    let is_pending = what_if.is_some_and(|what_if| what_if.pending.is_some());
    (!is_pending)
        .then_some(())
        .ok_or("the results are still being rescored")
}

pub(crate) fn is_running(model: &Model) -> Enabled {
    model
        .run
        .as_ref()
        .is_some_and(|run| run.is_live())
        .then_some(())
        .ok_or("nothing is running")
}

pub(crate) fn has_run(model: &Model) -> Enabled {
    model
        .run
        .as_ref()
        .map(|_| ())
        .ok_or("nothing was run since the explorer was opened")
}

pub(crate) fn has_judgement(model: &Model) -> Enabled {
    let attempt = model.current_attempt().ok_or("the case has not been run")?;
    // From the tab, the same key goes back.
    if model
        .open_case()
        .is_some_and(|case| case.mode == CaseTab::Judged)
    {
        return Ok(());
    }
    let judged = attempt.metrics.iter().any(|metric| metric.judged);
    judged.then_some(()).ok_or("no judge scored this case")
}

pub(crate) fn can_judge_again(model: &Model) -> Enabled {
    can_run(model)?;
    let has_actual = |case: &CaseRef| {
        let attempts = model
            .view
            .outcomes
            .get(*case)
            .map(|outcome| &outcome.attempts);
        attempts.is_some_and(|attempts| attempts.iter().any(|attempt| attempt.actual_turns > 0))
    };
    let selected = model.view.browse.selected.iter().any(has_actual);
    let here = model.current_case().is_some_and(|case| has_actual(&case));
    (selected || here).then_some(()).ok_or_else(nothing_done)
}

pub(crate) fn has_attempt(model: &Model) -> Enabled {
    match model.open_case() {
        Some(case) => model
            .view
            .outcomes
            .get(case.at)
            .map(|_| ())
            .ok_or("the case has not been run"),
        None => Err("open a case first"),
    }
}

pub(crate) fn has_two_sides(model: &Model) -> Enabled {
    match model.screen_context() {
        Context::Comparison | Context::ComparedCase => Ok(()),
        _ => has_attempt(model),
    }
}

/// Condition for folding values: the lines that are shown are those of the comparison.
pub(crate) fn shows_comparison(model: &Model) -> Enabled {
    let case = model.open_case().ok_or("open a case first")?;
    let compares = case.key.as_ref().is_some_and(|key| key.view.compares());
    match compares {
        true => Ok(()),
        false => Err("show the comparison first"),
    }
}

pub(crate) fn has_side_pane(model: &Model) -> Enabled {
    let wide = draw_lines::is_wide(&screen::layout(model));
    wide.then_some(())
        .ok_or("the screen is too narrow for a side pane")
}

/// A captured case is added to the current set or, if there is none, to a new one.
pub(crate) fn can_capture(model: &Model) -> Enabled {
    if model.view.browse.nodes.is_empty() {
        Ok(())
    } else {
        is_written_here(model)
    }
}

/// The list of a folder without eval sets has no rows.
pub(crate) fn has_rows(model: &Model) -> Enabled {
    let is_empty = model.is_on(Context::Browse) && model.view.browse.nodes.is_empty();
    if is_empty {
        Err("there are no eval sets here")
    } else {
        Ok(())
    }
}

/// Condition for [`OPEN`](super::OPEN).
pub(crate) fn can_open_here(model: &Model) -> Enabled {
    match model.screen_context() {
        Context::Runs => runs::has_run_here(model),
        Context::Trends => trends::has_points(model),
        Context::Run => run::has_row_here(model),
        _ => has_rows(model),
    }
}

pub(crate) fn has_no_sets(model: &Model) -> Enabled {
    let is_empty = model.view.browse.nodes.is_empty() && !model.is_searching;
    is_empty
        .then_some(())
        .ok_or("only where there are no eval sets; `evaltrail demo` opens it from the shell")
}

/// Condition for [`ACCEPT`](super::ACCEPT). On the run screen, and in a list without a preview, that command opens the case
/// first.
pub(crate) fn can_accept_here(model: &Model) -> Enabled {
    match model.screen_context() {
        Context::Edit => edit::can_take_actual(model),
        Context::Run => has_failed(run::finished_under_cursor(model).as_deref()),
        Context::Browse if model.shown_case().is_none() => can_accept_under_cursor(model),
        _ => can_accept(model),
    }
}

fn can_accept_under_cursor(model: &Model) -> Enabled {
    let case = model.current_case().ok_or("there is no case here")?;
    let worst = model
        .view
        .outcomes
        .get(case)
        .map(CaseOutcome::worst_attempt);
    let attempt = worst.ok_or_else(nothing_done)?;
    has_failed(attempt.map(|attempt| &**attempt))?;
    is_written_here(model)
}

/// Whether an attempt has something to accept: it failed, or its calls of tools had no answer.
fn has_failed(attempt: Option<&EndedAttempt>) -> Enabled {
    let has_failed = |attempt: &EndedAttempt| {
        attempt.status == Status::Failed || authoring::lacks_answers(attempt)
    };
    attempt
        .is_some_and(has_failed)
        .then_some(())
        .ok_or("the cursor is not on an attempt that failed")
}

pub(crate) fn can_accept_all(model: &Model) -> Enabled {
    is_written_here(model)?;
    let ran = |case: &CaseRef| model.view.outcomes.get(*case).is_some();
    let selected = &model.view.browse.selected;
    if model.is_on(Context::Browse) && !selected.is_empty() {
        let mut ran = selected.iter().copied().filter(ran);
        let first = ran.next().ok_or_else(nothing_done)?;
        return can_accept_whole(model, first).or_else(|why| {
            let any = ran.any(|case| can_accept_whole(model, case).is_ok());
            any.then_some(()).ok_or(why)
        });
    }
    let here = model.current_case().filter(ran);
    can_accept_whole(model, here.ok_or_else(nothing_done)?)
}

pub(crate) fn can_save(model: &Model) -> Enabled {
    let conflict = model
        .dialog::<Proposal>()
        .and_then(|proposal| proposal.conflict.as_ref());
    match conflict.filter(|conflict| conflict.merged.is_none()) {
        None => Ok(()),
        Some(conflict) if conflict.is_overlapping => {
            Err("others changed the file, and this change no longer fits")
        }
        Some(_) => Err("the file was changed by others; make the change again"),
    }
}

pub(crate) fn can_save_new_file(model: &Model) -> Enabled {
    let conflict = model
        .dialog::<Proposal>()
        .is_some_and(|proposal| proposal.conflict.is_some());
    conflict
        .then_some(())
        .ok_or("there is no conflicting change of the file")
}
