//! A past run in place of the workspace: its cases and results as they were when it ran. Nothing can be changed in it.
//!
//! While a run is open, [`Model::view`] is that of the run, which has that of the workspace behind it. Messages about the
//! workspace are applied to the latter.

use crate::explorer::case_list::listing::relist;
use crate::explorer::prompts::quit;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, ResultEffect, SetEffect};
use crate::explorer::shared::message::{EditMsg, HistoryMsg, Msg, ResultMsg, RunMsg, SetMsg};
use crate::explorer::shared::model::{Model, OpenedRun, View};
use crate::explorer::shared::notices;
use crate::explorer::shared::outcomes::Outcomes;
use evaltrail_core::domain::{CaseNotes, Quarantine};

use crate::explorer::shared::set_view::{SetState, SetView};
use crate::explorer::what_if;
use evaltrail_core::formats::Notes;
use evaltrail_engine::history::PastRun;
use evaltrail_engine::workspace::SetPath;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Shows the cases of a run in place of the workspace, unless the screen on which it was chosen was left in the meantime.
pub(crate) fn open(model: &mut Model, past: PastRun, name: Option<String>) -> Vec<Effect> {
    let is_awaited = matches!(model.screen_context(), Context::Runs | Context::Trends)
        && model.view.open_dialog.is_none();
    if !is_awaited && !model.is_run_file {
        return Vec::new();
    }
    let (damaged, not_run) = (past.damaged, past.not_run);
    let outcomes = outcomes_of(&past);
    let mut sets = Vec::new();
    let mut effects = Vec::new();
    let agents = agents_by_path(model);
    let digest = past.run.id.clone();
    for (set, of_run) in past.sets.into_iter().enumerate() {
        let digest = digest.clone();
        let file = of_run.file.clone();
        effects.push(Effect::Sets(SetEffect::Summarise {
            set,
            digest: digest.clone(),
            file: file.clone(),
        }));
        sets.push(SetView {
            state: SetState::Ready(file.clone(), digest),
            read: Some(file),
            notes: Arc::new(quarantines(of_run.quarantines)),
            agent: if of_run.agent.is_empty() {
                Err("not recorded".into())
            } else {
                Ok(of_run.agent)
            },
            loaded: model.ticket(),
            ..SetView::new(SetPath {
                app: agents.get(&of_run.path).cloned(),
                ..SetPath::of_file(&of_run.path, &model.folder)
            })
        });
    }
    let mut view = View {
        outcomes,
        ..View::new(sets)
    };
    view.browse.hidden = model.view.browse.hidden.clone();
    view.browse.order = model.view.browse.order;
    let workspace = std::mem::replace(&mut model.view, view);
    model.opened_run = Some(Box::new(OpenedRun {
        run: past.run,
        name,
        not_run,
        damaged,
        workspace,
    }));
    relist(model);
    if damaged > 0 {
        notify_damaged(model, damaged);
    }
    effects
}

/// The agents in whose folders the files of the workspace are.
fn agents_by_path(model: &Model) -> HashMap<PathBuf, String> {
    let sets = model.view.sets.iter().map(|set| &set.path);
    sets.filter_map(|set| Some((set.path.clone(), set.app.clone()?)))
        .collect()
}

/// The results of a run.
pub(crate) fn outcomes_of(past: &PastRun) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for (set, of_run) in past.sets.iter().enumerate() {
        for (index, attempts) in of_run.attempts.iter().enumerate() {
            let case = CaseRef { set, index };
            attempts
                .iter()
                .for_each(|attempt| outcomes.add_recorded(case, &past.run, attempt.clone()));
        }
    }
    outcomes
}

/// Replaces the results of the open run by newer ones, which machines have uploaded since. `outcomes` are those of `past`.
/// The screen stays where it is, unless it is another run.
pub(crate) fn renew(model: &mut Model, past: PastRun, outcomes: Outcomes) -> Vec<Effect> {
    if model.opened_run.is_none() || !has_same_cases(model, &past) {
        close(model);
        return open(model, past, None);
    }
    let shown_attempt = number_of_shown_attempt(model);
    let mut effects = replace_outcomes(model, outcomes);
    let digest = past.run.id.clone();
    let damaged = past.damaged;
    let damaged_before = model.opened_run.as_mut().map_or(0, |opened| {
        (opened.run, opened.not_run) = (past.run, past.not_run);
        std::mem::replace(&mut opened.damaged, damaged)
    });
    if damaged > damaged_before {
        notify_damaged(model, damaged);
    }
    // The text of a case is in the record of its attempt.
    for (set, of_run) in past.sets.into_iter().enumerate() {
        let (digest, file) = (digest.clone(), of_run.file);
        model.view.sets[set].state = SetState::Ready(file.clone(), digest.clone());
        model.view.sets[set].read = Some(file.clone());
        effects.push(Effect::Sets(SetEffect::Summarise { set, digest, file }));
    }
    show_attempt(model, shown_attempt);
    relist(model);
    effects
}

/// Whether a run has the cases of the open one, at the same positions.
fn has_same_cases(model: &Model, past: &PastRun) -> bool {
    past.sets.len() == model.view.sets.len()
        && past
            .sets
            .iter()
            .zip(&model.view.sets)
            .all(|(of_run, view)| {
                let read = view.read.as_ref().filter(|_| view.path.path == of_run.path);
                read.is_some_and(|file| file.eval_ids().eq(of_run.file.eval_ids()))
            })
}

/// Shows other outcomes of the same cases. While criteria are tried, these are tried on them.
fn replace_outcomes(model: &mut Model, mut outcomes: Outcomes) -> Vec<Effect> {
    let before = match &mut model.view.what_if {
        Some(what_if) => {
            outcomes.keep_revisions(&what_if.before);
            std::mem::replace(&mut what_if.before, Arc::new(outcomes))
        }
        None => {
            outcomes.keep_revisions(&model.view.outcomes);
            Arc::new(std::mem::replace(&mut model.view.outcomes, outcomes))
        }
    };
    let mut effects = what_if::rescore(model);
    effects.push(Effect::Results(ResultEffect::Forget(before)));
    effects
}

/// The number of the attempt whose comparison is visible.
fn number_of_shown_attempt(model: &Model) -> Option<u32> {
    let case = model.shown_case()?;
    Some(
        model
            .view
            .outcomes
            .get(case.at)?
            .attempts
            .get(case.attempt)?
            .key
            .attempt,
    )
}

/// Shows the attempt with this number: others may have been added before it.
fn show_attempt(model: &mut Model, number: Option<u32>) {
    let position = model.shown_case().and_then(|case| {
        let attempts = &model.view.outcomes.get(case.at)?.attempts;
        attempts
            .iter()
            .position(|attempt| Some(attempt.key.attempt) == number)
    });
    if let Some(case) = model.shown_case_mut() {
        case.attempt = position.unwrap_or(0);
        case.is_stale = true;
    }
}

fn notify_damaged(model: &mut Model, damaged: usize) {
    let words = match damaged {
        1 => "1 attempt of this run is damaged or too large, and not shown".to_string(),
        count => format!("{count} attempts of this run are damaged or too large, and not shown"),
    };
    notices::notify(model, words, true);
}

/// Notes with the quarantines that held when the run was planned, by case id.
fn quarantines(of_run: Vec<(String, Quarantine)>) -> Notes {
    let notes = |quarantine| CaseNotes {
        quarantine: Some(quarantine),
        ..CaseNotes::default()
    };
    let cases = of_run
        .into_iter()
        .map(|(id, quarantine)| (id, notes(quarantine)))
        .collect();
    Notes { text: None, cases }
}

/// Closes the open run, and shows the workspace as it was left. Does nothing if no run is open.
pub(crate) fn close(model: &mut Model) {
    if let Some(opened) = model.opened_run.take() {
        model.view = opened.workspace;
        // The lines that were awaited may have arrived for the run.
        model.view.awaited_body = None;
        if let Some(case) = model.shown_case_mut() {
            case.is_stale = true;
        }
    }
}

/// Closes the open run. Without one, or if it was opened instead of a folder, quits.
pub(crate) fn leave(model: &mut Model) -> Vec<Effect> {
    if model.is_run_file || model.opened_run.is_none() {
        return quit::quit(model);
    }
    close(model);
    Vec::new()
}

/// Applies `change` to the workspace, although a run may be open.
pub(crate) fn in_workspace<T>(model: &mut Model, change: impl FnOnce(&mut Model) -> T) -> T {
    let Some(mut opened) = model.opened_run.take() else {
        return change(model);
    };
    std::mem::swap(&mut model.view, &mut opened.workspace);
    let result = change(model);
    std::mem::swap(&mut model.view, &mut opened.workspace);
    model.opened_run = Some(opened);
    result
}

/// Whether a message is about the workspace although a run is open.
pub(crate) fn is_about_workspace(model: &Model, msg: &Msg) -> bool {
    let Some(opened) = &model.opened_run else {
        return false;
    };
    match msg {
        Msg::Sets(SetMsg::Summarised { digest, .. }) => *digest != opened.run.id,
        Msg::Sets(_) | Msg::Run(_) | Msg::Edits(_) | Msg::Chat(..) => true,
        Msg::History(msg) => !matches!(
            msg,
            HistoryMsg::Opened { .. } | HistoryMsg::Renewed { .. } | HistoryMsg::Compared(_)
        ),
        Msg::Results(
            ResultMsg::History { .. } | ResultMsg::RecordsChanged | ResultMsg::CriteriaPlanned(..),
        ) => true,
        Msg::Results(ResultMsg::Rescored(ticket, _)) => {
            let pending = model
                .view
                .what_if
                .as_ref()
                .and_then(|what_if| what_if.pending);
            pending.is_none_or(|(pending, _)| pending != *ticket)
        }
        _ => false,
    }
}

/// Whether a message asks something about the workspace, so that the open run has to be closed first.
pub(crate) fn asks_about_workspace(msg: &Msg) -> bool {
    matches!(
        msg,
        Msg::Run(RunMsg::AskTrust(..))
            | Msg::Edits(EditMsg::Failed(_) | EditMsg::Conversations { .. })
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::app::update::update;
    use crate::explorer::shared::message::Msg;
    use evaltrail_core::domain::{Attempt, AttemptKey, EndedAttempt, RunBy, RunRef, Status};
    use evaltrail_core::formats::{RecordedCase, SetFile};
    use evaltrail_engine::history::PastSet;

    /// A run of cases, each with the numbers and statuses of its attempts.
    fn run(id: &str, cases: &[(&str, &[(u32, Status)])]) -> PastRun {
        let attempts: Vec<Vec<Arc<EndedAttempt>>> = cases
            .iter()
            .enumerate()
            .map(|(case, (eval_id, attempts))| {
                let attempt = |(number, status): &(u32, Status)| {
                    let attempt = Attempt {
                        status: *status,
                        adk_status: *status,
                        ..Attempt::blank(
                            AttemptKey {
                                case,
                                attempt: *number,
                            },
                            eval_id,
                        )
                    };
                    Arc::new(EndedAttempt::unrecorded(attempt))
                };
                attempts.iter().map(attempt).collect()
            })
            .collect();
        let recorded = cases
            .iter()
            .zip(&attempts)
            .map(|((id, _), attempts)| RecordedCase {
                eval_id: id.to_string(),
                attempt: attempts.first().cloned(),
            });
        let set = PastSet {
            path: "/w/s.evalset.json".into(),
            agent: "a".into(),
            file: Arc::new(SetFile::of_recorded(recorded.collect(), "s")),
            attempts,
            quarantines: vec![],
        };
        let run = RunRef {
            id: id.into(),
            started: "2026-01-01T00:00:00Z".into(),
            by: RunBy::Evaltrail,
        };
        PastRun {
            run: Arc::new(run),
            sets: vec![set],
            not_run: 0,
            damaged: 0,
        }
    }

    fn opened(past: PastRun) -> Model {
        let mut model = Model::new("t".into(), vec![], (120, 40));
        (model.is_run_file, model.is_renewed) = (true, true);
        open(&mut model, past, None);
        model
    }

    fn renewed(model: &mut Model, past: PastRun) {
        let outcomes = Box::new(outcomes_of(&past));
        update(
            model,
            Msg::History(HistoryMsg::Renewed {
                past: Box::new(past),
                outcomes,
            }),
        );
    }

    const PASSED: (u32, Status) = (1, Status::Passed);
    const FAILED: (u32, Status) = (1, Status::Failed);

    #[test]
    fn newer_results_preserve_cursor_and_attempt() {
        let mut model = opened(run(
            "r1",
            &[("a", &[]), ("b", &[(2, Status::Failed)]), ("c", &[])],
        ));
        model.view.browse.cursor = 1;
        let at = CaseRef { set: 0, index: 1 };
        crate::explorer::shown_case::refresh::open(
            &mut model,
            at,
            crate::explorer::shared::case_screen::CaseOrigin::List,
        );
        renewed(
            &mut model,
            run(
                "r2",
                &[
                    ("a", &[PASSED]),
                    ("b", &[PASSED, (2, Status::Failed)]),
                    ("c", &[]),
                ],
            ),
        );
        let Some(case) = model.open_case() else {
            panic!("the case was closed")
        };
        assert_eq!(
            (case.at, case.attempt),
            (at, 1),
            "attempt 2 is the second one now"
        );
        assert_eq!(
            (
                model.view.browse.cursor,
                model.view.outcomes.totals(0).passed
            ),
            (1, 1)
        );
        assert_eq!(model.opened_run.as_ref().unwrap().run.id, "r2");
    }

    #[test]
    fn unchanged_results_have_same_revision() {
        let mut model = opened(run("r1", &[("a", &[]), ("b", &[FAILED]), ("c", &[PASSED])]));
        let shown = |model: &Model, index| {
            model
                .view
                .outcomes
                .get(CaseRef { set: 0, index })
                .unwrap()
                .shown
        };
        let before = (shown(&model, 1), shown(&model, 2));
        renewed(
            &mut model,
            run(
                "r2",
                &[("a", &[PASSED]), ("b", &[FAILED]), ("c", &[FAILED])],
            ),
        );
        assert_eq!(shown(&model, 1), before.0);
        assert!(shown(&model, 2) != before.1 && shown(&model, 2) != shown(&model, 1));
    }

    #[test]
    fn another_run_is_opened_from_its_beginning() {
        let mut model = opened(run("r1", &[("a", &[]), ("b", &[FAILED])]));
        model.view.browse.cursor = 1;
        renewed(&mut model, run("r2", &[("a", &[PASSED]), ("x", &[FAILED])]));
        assert_eq!(model.eval_id(model.view.browse.visible[1]), "x");
        assert_eq!(
            (
                model.view.browse.cursor,
                model.view.outcomes.totals(0).failed
            ),
            (0, 1)
        );
    }
}
