//! A past run in place of the workspace: its cases and results as they were when it ran. Nothing can be changed in it.
//!
//! While a run is open, `sets`, `outcomes`, `browse` and the other parts of the model ([`WorkspaceParts`]) are those of the run; those of
//! the workspace are kept aside. Messages about the workspace are applied to its own parts.

use crate::domain::{CaseNotes, Quarantine};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::effect::{Effect, SetEffect};
use crate::explorer::global;
use crate::explorer::message::{EditMsg, HistoryMsg, Msg, ResultMsg, RunMsg, SetMsg};
use crate::explorer::model::{Model, OpenedRun, Screen, WorkspaceParts};
use crate::explorer::outcomes::Outcomes;
use crate::explorer::screens::browse::relist;
use crate::explorer::screens::browse::state::Browse;
use crate::explorer::screens::browse::tree::{first_node, nodes_of};
use crate::explorer::set_view::{SetState, SetView};
use crate::formats::Notes;
use crate::history::PastRun;
use crate::workspace::SetPath;
use std::sync::Arc;

/// Shows the cases of a run in place of the workspace, unless the screen on which it was chosen was left in the meantime.
pub(crate) fn open(model: &mut Model, past: PastRun, name: Option<String>) -> Vec<Effect> {
    let is_awaited = matches!(model.screen, Screen::Runs(_) | Screen::Trends(_)) && model.overlay.is_none();
    if !is_awaited && !model.is_run_file {
        return Vec::new();
    }
    let (damaged, not_run) = (past.damaged, past.not_run);
    let outcomes = outcomes_of(&past);
    let mut sets = Vec::new();
    let mut effects = Vec::new();
    let digest = past.run.id.clone();
    for (set, of_run) in past.sets.into_iter().enumerate() {
        let digest = digest.clone();
        let file = of_run.file.clone();
        effects.push(Effect::Sets(SetEffect::Summarise { set, digest: digest.clone(), file: file.clone() }));
        sets.push(SetView {
            state: SetState::Ready(file.clone(), digest),
            read: Some(file),
            notes: Arc::new(quarantines(of_run.quarantines)),
            agent: if of_run.agent.is_empty() { Err("not recorded".into()) } else { Ok(of_run.agent) },
            loaded: model.ticket(),
            ..SetView::new(SetPath::of_file(&of_run.path, &model.folder))
        });
    }
    let nodes = nodes_of(&sets);
    let node = first_node(&nodes);
    let (hidden, order) = (model.browse.hidden.clone(), model.browse.order);
    let browse = Browse { hidden, order, ..Browse::new(nodes, node) };
    let (trial, chosen_metric, awaited_body, overlay) = (None, None, None, None);
    let mut workspace = WorkspaceParts {
        sets,
        outcomes,
        browse,
        screen: Screen::Browse,
        trial,
        chosen_metric,
        awaited_body,
        overlay,
    };
    workspace.exchange(model);
    model.opened_run = Some(Box::new(OpenedRun { run: past.run, name, not_run, workspace }));
    relist(model);
    if damaged > 0 {
        let words = match damaged {
            1 => "1 attempt of this run is damaged or too large, and not shown".to_string(),
            count => format!("{count} attempts of this run are damaged or too large, and not shown"),
        };
        global::notify(model, words, true);
    }
    effects
}

/// The results of a run.
fn outcomes_of(past: &PastRun) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for (set, of_run) in past.sets.iter().enumerate() {
        for (index, attempts) in of_run.attempts.iter().enumerate() {
            let case = CaseRef { set, index };
            attempts.iter().for_each(|attempt| outcomes.add_recorded(case, &past.run, attempt.clone()));
        }
    }
    outcomes
}

/// Replaces the results of the open run by newer ones of the same cases, which machines have uploaded since. The screen
/// stays where it is. While criteria are tried, the newer results are shown when the trial ends.
pub(crate) fn renew(model: &mut Model, past: PastRun) -> Vec<Effect> {
    let has_same_cases = past.sets.len() == model.sets.len()
        && past
            .sets
            .iter()
            .zip(&model.sets)
            .all(|(of_run, view)| view.read.as_ref().is_some_and(|file| file.len() == of_run.file.len()));
    if model.opened_run.is_none() || !has_same_cases {
        close(model);
        return open(model, past, None);
    }
    let outcomes = outcomes_of(&past);
    match &mut model.trial {
        Some(trial) => trial.before = Arc::new(outcomes),
        None => model.outcomes = outcomes,
    }
    let digest = past.run.id.clone();
    if let Some(opened) = &mut model.opened_run {
        (opened.run, opened.not_run) = (past.run, past.not_run);
    }
    if let Some(case) = model.shown_case_mut() {
        case.key = None;
    }
    // The text of a case is in the record of its attempt.
    let mut effects = Vec::new();
    for (set, of_run) in past.sets.into_iter().enumerate() {
        let (digest, file) = (digest.clone(), of_run.file);
        model.sets[set].state = SetState::Ready(file.clone(), digest.clone());
        model.sets[set].read = Some(file.clone());
        effects.push(Effect::Sets(SetEffect::Summarise { set, digest, file }));
    }
    relist(model);
    effects
}

/// Notes with the quarantines that held when the run was planned, by case id.
fn quarantines(of_run: Vec<(String, Quarantine)>) -> Notes {
    let notes = |quarantine| CaseNotes { quarantine: Some(quarantine), ..CaseNotes::default() };
    let cases = of_run.into_iter().map(|(id, quarantine)| (id, notes(quarantine))).collect();
    Notes { text: None, cases }
}

/// Closes the open run, and shows the workspace as it was left. Does nothing if no run is open.
pub(crate) fn close(model: &mut Model) {
    if let Some(mut opened) = model.opened_run.take() {
        opened.workspace.exchange(model);
        // The lines that were awaited may have arrived for the run.
        model.awaited_body = None;
        if let Some(case) = model.shown_case_mut() {
            case.key = None;
        }
    }
}

/// Closes the open run. Without one, or if it was opened instead of a folder, quits.
pub(crate) fn leave(model: &mut Model) -> Vec<Effect> {
    if model.is_run_file || model.opened_run.is_none() {
        return global::quit(model);
    }
    close(model);
    Vec::new()
}

/// Applies `change` to the workspace, although a run may be open.
pub(crate) fn in_workspace<T>(model: &mut Model, change: impl FnOnce(&mut Model) -> T) -> T {
    let Some(mut opened) = model.opened_run.take() else { return change(model) };
    opened.workspace.exchange(model);
    let result = change(model);
    opened.workspace.exchange(model);
    model.opened_run = Some(opened);
    result
}

/// Whether a message is about the workspace although a run is open.
pub(crate) fn is_about_workspace(model: &Model, msg: &Msg) -> bool {
    let Some(opened) = &model.opened_run else { return false };
    match msg {
        Msg::Sets(SetMsg::Summarised { digest, .. }) => *digest != opened.run.id,
        Msg::Sets(_) | Msg::Run(_) | Msg::Edits(_) | Msg::Chat(..) => true,
        Msg::History(msg) => {
            !matches!(msg, HistoryMsg::Opened { .. } | HistoryMsg::Renewed(_) | HistoryMsg::Compared(_))
        }
        Msg::Results(
            ResultMsg::History { .. } | ResultMsg::CriteriaWritten(_) | ResultMsg::CriteriaPlanned(..),
        ) => true,
        Msg::Results(ResultMsg::Rescored(ticket, _)) => {
            let pending = model.trial.as_ref().and_then(|trial| trial.pending);
            pending.is_none_or(|(pending, _)| pending != *ticket)
        }
        _ => false,
    }
}

/// Whether a message asks something about the workspace, so that the open run has to be closed first.
pub(crate) fn asks_about_workspace(msg: &Msg) -> bool {
    matches!(
        msg,
        Msg::Run(RunMsg::AskTrust(..)) | Msg::Edits(EditMsg::Failed(_) | EditMsg::Conversations { .. })
    )
}
