//! Updates of the run screen; starting and cancelling runs.

use crate::domain::{AttemptKey, CancelReason, EndedAttempt, RunEvent, RunState, Status};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::commands::{ACCEPT, CANCEL_ALL, RUN_CHANGED, enabled::can_accept};
use crate::explorer::dialogs::trust::{self, Allowed};
use crate::explorer::effect::{Against, Effect, HistoryEffect, RunOverrides};
use crate::explorer::effect::{ResultEffect, RunEffect};
use crate::explorer::layout::inside;
use crate::explorer::message::{Mouse, RunMsg};
use crate::explorer::model::{Model, Screen};
use crate::explorer::motion::Motion;
use crate::explorer::outcomes::CaseOutcome;
use crate::explorer::screens::browse::order::Order;
use crate::explorer::screens::browse::state::{Node, Pane};
use crate::explorer::screens::browse::{self, relist};
use crate::explorer::screens::case::state::CaseOrigin;
use crate::explorer::screens::run::state::RunScreen;
use crate::explorer::screens::run::view::without_result_words;
use crate::explorer::screens::{case, layout, live};
use crate::explorer::set_view::SetState;
use crate::explorer::{authoring, edited_cases, global, watching};
use crate::history::{PastResult, ResultOrigin, place};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Runs [`cases_in_scope`].
pub(crate) fn run_selected(model: &mut Model, against: Against) -> Vec<Effect> {
    let cases = cases_in_scope(model);
    start(model, cases, against)
}

/// The cases that a run command applies to: on the case screen, that case; else the selected cases; else, in the
/// tree, all listed cases; else the case under the cursor.
pub(crate) fn cases_in_scope(model: &Model) -> Vec<CaseRef> {
    match &model.view.screen {
        Screen::Case(case) => vec![case.at],
        _ if !model.view.browse.selected.is_empty() => model.view.browse.selected.iter().copied().collect(),
        _ if model.view.browse.pane == Pane::Sets => model.view.browse.visible.clone(),
        _ => model.current_case().into_iter().collect(),
    }
}

/// Describes [`cases_in_scope`]: "7 selected", "set (10)", "case".
pub(crate) fn scope(model: &Model) -> String {
    let of_tree = || match model.view.browse.nodes.get(model.view.browse.node) {
        Some(Node::Set(_)) => "set",
        Some(Node::Group(_)) => "group",
        Some(Node::All) | None => "all",
    };
    match &model.view.screen {
        Screen::Browse if !model.view.browse.selected.is_empty() => {
            format!("{} selected", model.view.browse.selected.len())
        }
        Screen::Browse if model.view.browse.pane == Pane::Sets => {
            format!("{} ({})", of_tree(), model.view.browse.visible.len())
        }
        _ => "case".into(),
    }
}

/// Runs only the current turn of the case screen.
pub(crate) fn run_turn(model: &mut Model) -> Vec<Effect> {
    let Screen::Case(case) = &model.view.screen else { return Vec::new() };
    let (at, turn) = (case.at, case.turn as u32 + 1);
    start(model, vec![at], Against::Turn(turn))
}

/// Judges the selected cases, or the one under the cursor, again without running agents.
pub(crate) fn judge_again(model: &mut Model) -> Vec<Effect> {
    let cases: Vec<CaseRef> = match &model.view.screen {
        Screen::Browse if !model.view.browse.selected.is_empty() => {
            model.view.browse.selected.iter().copied().collect()
        }
        _ => model.current_case().into_iter().collect(),
    };
    let done = |case: &CaseRef| -> Vec<Arc<EndedAttempt>> {
        let attempts =
            model.view.outcomes.get(*case).map(|outcome| &outcome.attempts[..]).unwrap_or_default();
        attempts.iter().filter(|attempt| attempt.actual_turns > 0).cloned().collect()
    };
    let all: Vec<(CaseRef, Vec<Arc<EndedAttempt>>)> =
        cases.iter().map(|case| (*case, done(case))).filter(|(_, done)| !done.is_empty()).collect();
    // A run has the same number of attempts for each case.
    let repeat = all.iter().map(|(_, done)| done.len()).min().unwrap_or(0);
    let cases = all.iter().map(|(case, _)| *case).collect();
    let kept =
        all.into_iter().flat_map(|(case, done)| done.into_iter().take(repeat).map(move |one| (case, one)));
    let kept = kept.collect();
    start(model, cases, Against::Recorded(Arc::new(kept)))
}

/// Number of attempts of each case with which failures are confirmed.
const CONFIRMATIONS: u32 = 5;

/// Runs the cases of [`rerun_failed`] several times.
pub(crate) fn confirm_failures(model: &mut Model) -> Vec<Effect> {
    let cases = failed_here(model);
    if against_of(model, &cases) == Against::Saved {
        let why = "saved responses are the same each time; there is nothing to confirm";
        return global::notify(model, why.into(), false);
    }
    let overrides = RunOverrides { repeat: Some(CONFIRMATIONS), ..RunOverrides::default() };
    start(model, cases, Against::AgentWith(Box::new(overrides)))
}

/// Runs the listed cases that did not pass again; on the run screen, those of the run.
pub(crate) fn rerun_failed(model: &mut Model) -> Vec<Effect> {
    let cases = failed_here(model);
    let against = against_of(model, &cases);
    start(model, cases, against)
}

/// The listed cases that did not pass; on the run screen, those of the run.
fn failed_here(model: &Model) -> Vec<CaseRef> {
    let failing = |case: &CaseRef| model.view.outcomes.get(*case).is_some_and(CaseOutcome::is_failing);
    match (&model.view.screen, &model.run) {
        (Screen::Run, Some(run)) => {
            let not_passed = run.finished.statuses().filter(|(_, status)| *status != Status::Passed);
            let cases = not_passed.filter_map(|(key, _)| model.case_of(run, key));
            cases.collect::<BTreeSet<_>>().into_iter().collect()
        }
        _ => model.view.browse.visible.iter().copied().filter(failing).collect(),
    }
}

/// What these cases are run against: cases without an agent were scored before, and can only be scored again.
pub(crate) fn against_of(model: &Model, cases: &[CaseRef]) -> Against {
    let is_saved = |case: &CaseRef| {
        let scored = model.file(case.set).is_some_and(|file| !file.form.is_adk());
        scored && model.view.sets[case.set].agent.is_err()
    };
    if cases.iter().all(is_saved) { Against::Saved } else { Against::Agent }
}

/// Runs these cases, if there are any.
pub(crate) fn start(model: &mut Model, cases: Vec<CaseRef>, against: Against) -> Vec<Effect> {
    match cases.is_empty() {
        true => global::notify(model, "there are no cases to run here".into(), false),
        false => {
            let against = with_stubs(model, &cases, against);
            vec![Effect::Run(RunEffect::Start(cases, against))]
        }
    }
}

/// Where stubs answered tools in the results that are shown, they do again: no tool runs that did not.
fn with_stubs(model: &Model, cases: &[CaseRef], against: Against) -> Against {
    let is_stubbed = |case: &CaseRef| {
        let attempts = model.view.outcomes.get(*case).map_or(&[][..], |outcome| outcome.attempts.as_slice());
        attempts.iter().any(|attempt| attempt.tools.is_some_and(|tools| tools.live == 0))
    };
    match against {
        Against::Agent if cases.iter().any(is_stubbed) => {
            Against::AgentWith(Box::new(RunOverrides { keeps_stubs: true, ..RunOverrides::default() }))
        }
        against => against,
    }
}

/// Cancels the run. The first time, attempts in flight are finished; the second time, they are stopped.
pub(crate) fn cancel_all(model: &mut Model) -> Vec<Effect> {
    let Some(run) = &model.run else { return Vec::new() };
    let reason = match run.cancelling {
        None => CancelReason::Finish,
        Some(_) => CancelReason::Stop,
    };
    let words = match reason {
        CancelReason::Finish | CancelReason::FinishConversations => {
            format!("finishing the attempts in flight; {} again stops now", CANCEL_ALL.key())
        }
        CancelReason::Stop => "stopping".to_string(),
    };
    global::notify(model, words, false);
    vec![Effect::Run(RunEffect::Cancel(reason))]
}

pub(crate) fn watch(model: &mut Model) -> Vec<Effect> {
    model.view.screen = Screen::Run;
    Vec::new()
}

pub(crate) fn run_msg(model: &mut Model, msg: RunMsg) -> Vec<Effect> {
    match msg {
        RunMsg::Started(state) => started(model, *state),
        RunMsg::Events(events) => {
            let effects = events.into_iter().flat_map(|event| event_of_run(model, event)).collect();
            relist_if_needed(model);
            return effects;
        }
        RunMsg::ChangedFound(ticket, changed) => return watching::found(model, ticket, *changed),
        RunMsg::Refused(why) => {
            watching::run_refused(model);
            return global::notify(model, why, true);
        }
        RunMsg::LeftOut(words) => {
            model.run_screen.left_out = Some(words.clone());
            return global::notify(model, words, true);
        }
        // Nobody is asked for permission in the middle of something else.
        RunMsg::AskTrust(..) if watching::run_refused(model) => {
            let words = format!("not run: it needs a permission; {} asks for it", RUN_CHANGED.key());
            return global::notify(model, words, true);
        }
        RunMsg::AskTrust(cases, questions, against) => {
            trust::open(model, questions, Allowed::Run(cases, against));
        }
    }
    Vec::new()
}

fn started(model: &mut Model, state: RunState) {
    let many = state.plan.attempts() > 1;
    let by_itself = watching::on_run_started(model, &state.plan.started);
    model.run_screen = RunScreen { began: model.now, ..RunScreen::default() };
    model.run = Some(state);
    model.view.browse.selected.clear();
    // The run screen is opened only if there are several attempts and the user started the run.
    if many && !by_itself && !matches!(model.view.screen, Screen::Case(_)) {
        model.view.screen = Screen::Run;
    }
}

fn event_of_run(model: &mut Model, event: RunEvent) -> Vec<Effect> {
    let Some(mut run) = model.run.take() else { return Vec::new() };
    let mut effects = Vec::new();
    match &event {
        RunEvent::Finished(attempt) => {
            effects = show_result(model, &run, attempt);
        }
        RunEvent::Warning(warning) => {
            global::notify(model, warning.clone(), true);
        }
        RunEvent::Ended { .. } => {
            global::notify(model, ended_words(&run), false);
            model.run_screen.in_finished = true;
            model.run_screen.cursor = 0;
            effects.push(Effect::Results(ResultEffect::CompareBaseline));
            effects.push(Effect::Results(ResultEffect::ReadTrends));
            if matches!(model.view.screen, Screen::Trends(_)) {
                effects.push(Effect::History(HistoryEffect::List(model.ticket())));
            }
        }
        _ => {}
    }
    let over = match &event {
        RunEvent::Started { key, .. } => {
            model.run_screen.since.insert(*key, model.now);
            None
        }
        RunEvent::Finished(attempt) => Some((attempt.key, false)),
        RunEvent::Dropped(key) => Some((*key, true)),
        _ => None,
    };
    run.apply(event);
    if let Some((key, was_cancelled)) = over {
        model.run_screen.since.remove(&key);
        effects.extend(live::ended(model, &run, key, was_cancelled));
    }
    if run.ended.is_some() && model.run_screen.order.len() != run.finished.len() {
        model.run_screen.order_ended(&run);
    }
    let has_ended = run.ended.is_some();
    model.run = Some(run);
    if has_ended {
        effects.extend(watching::run_ended(model));
    }
    effects
}

/// Shows the result of an attempt, and re-evaluates it if the file was edited since the run was planned. If the case
/// has not been read yet, the result is stored until it is.
fn show_result(model: &mut Model, run: &RunState, attempt: &Arc<EndedAttempt>) -> Vec<Effect> {
    let Some(planned) = run.plan.cases.get(attempt.key.case) else { return Vec::new() };
    let planned_set = &run.plan.sets[planned.set];
    let Some(set) = model.view.sets.iter().position(|view| view.path.path == planned_set.path) else {
        return Vec::new();
    };
    let run_ref = model.run_ref(run);
    let view = &mut model.view.sets[set];
    let Some(index) = view.read.as_ref().and_then(|file| place(file, &planned.eval_id, &planned.content))
    else {
        let result = PastResult {
            origin: ResultOrigin::new(&planned_set.path, run_ref),
            eval_id: planned.eval_id.into_owned(),
            content: planned.content.into_owned(),
            attempts: vec![attempt.clone()],
            planned: None,
            found: None,
        };
        view.store_until_read([result]);
        return Vec::new();
    };
    let was_edited = !matches!(&view.state, SetState::Ready(_, digest) if *digest == planned_set.digest);
    let case = CaseRef { set, index };
    model.add_outcome(case, &run_ref, attempt.clone());
    refresh_open_case(model, case);
    if was_edited { edited_cases::reevaluate_cases(model, set, vec![case]) } else { Vec::new() }
}

/// Has the lines of the case screen rebuilt after an attempt of its case was added.
fn refresh_open_case(model: &mut Model, at: CaseRef) {
    let turns = model.view.outcomes.get(at).map_or(1, |outcome| outcome.attempts.len());
    if let Screen::Case(case) = &mut model.view.screen
        && case.at == at
    {
        case.attempt = case.attempt.min(turns.saturating_sub(1));
        case.key = None;
    }
}

fn ended_words(run: &RunState) -> String {
    let totals = run.totals;
    let rest = without_result_words(run);
    format!(
        "run ended: {} passed, {} failed, {} errored, {} not evaluated{rest}",
        totals.passed, totals.failed, totals.errored, totals.not_evaluated
    )
}

/// Rebuilds the list if it is filtered, narrowed or sorted, and may therefore depend on outcomes.
fn relist_if_needed(model: &mut Model) {
    let sorted = model.view.browse.order != Order::File;
    if sorted || model.view.browse.narrowing.is_some() || !model.view.browse.query.is_empty() {
        relist(model);
    }
}

pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    model.view.screen = Screen::Browse;
    Vec::new()
}

/// Switches between the two panes of a live run.
pub(crate) fn switch_pane(model: &mut Model) -> Vec<Effect> {
    if model.run.as_ref().is_some_and(|run| !run.is_live()) {
        return Vec::new();
    }
    model.run_screen.in_finished = !model.run_screen.in_finished;
    model.run_screen.cursor = 0;
    Vec::new()
}

/// Pauses the run, or continues it.
pub(crate) fn pause(model: &mut Model) -> Vec<Effect> {
    model.run.iter().map(|run| Effect::Run(RunEffect::Pause(!run.paused))).collect()
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let areas = layout(model);
    let pane = if model.run_screen.in_finished { areas.main } else { areas.left };
    let page = usize::from(inside(pane).height);
    model.run_screen.cursor = motion.of(model.run_screen.cursor, listed(model), page);
}

fn listed(model: &Model) -> usize {
    let Some(run) = &model.run else { return 0 };
    match model.run_screen.in_finished {
        true => run.finished.len() + run.cancelled.len(),
        false => run.in_flight.len(),
    }
}

/// The finished attempt under the cursor.
pub(crate) fn finished_under_cursor(model: &Model) -> Option<Arc<EndedAttempt>> {
    let run = model.run.as_ref().filter(|_| model.run_screen.in_finished)?;
    run.finished.get(model.run_screen.position(model.run_screen.cursor, run.finished.len())?)
}

/// The attempt under the cursor.
fn under_cursor(model: &Model) -> Option<AttemptKey> {
    let run = model.run.as_ref()?;
    if let Screen::Live(live) = &model.view.screen {
        return Some(live.key);
    }
    match model.run_screen.in_finished {
        true => finished_under_cursor(model).map(|attempt| attempt.key),
        false => {
            let mut lanes: Vec<_> = run.in_flight.iter().collect();
            lanes.sort_by_key(|(_, lane)| lane.slot);
            lanes.get(model.run_screen.cursor).map(|(key, _)| **key)
        }
    }
}

/// Opens the result or the attempt in flight under the cursor.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let Some(key) = under_cursor(model) else {
        let is_cancelled = model.run_screen.in_finished && model.run_screen.cursor < listed(model);
        let words = "the attempt was cancelled before it had a result";
        return if is_cancelled { global::notify(model, words.into(), false) } else { Vec::new() };
    };
    if model.run.as_ref().is_some_and(|run| run.in_flight.contains_key(&key)) {
        live::open(model, key);
        return Vec::new();
    }
    match model.run.as_ref().and_then(|run| model.case_of(run, key)) {
        Some(case) => {
            list_with(model, case);
            case::open_at(model, case, key.attempt, CaseOrigin::Run);
            Vec::new()
        }
        None => global::notify(model, "the case is no longer in its file".into(), false),
    }
}

/// Moves the cursor to the next or previous finished attempt that did not pass, wrapping around.
pub(crate) fn next_failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    let Some(run) = &model.run else { return Vec::new() };
    let screen = &model.run_screen;
    let (count, from) = (run.finished.len(), if screen.in_finished { screen.cursor } else { 0 });
    // From the attempts in flight, the search includes the first row.
    let from = if screen.in_finished || !forward { from } else { count.saturating_sub(1) };
    let row = |step: usize| if forward { (from + step) % count } else { (from + count - step) % count };
    let is_failing = |row: &usize| {
        let at = screen.position(*row, count);
        let status = at.and_then(|at| run.finished.status(at));
        status.is_some_and(|status| !matches!(status, Status::Passed | Status::Informational))
    };
    if let Some(row) = (1..=count).map(row).find(is_failing) {
        model.run_screen.in_finished = true;
        model.run_screen.cursor = row;
    }
    Vec::new()
}

/// Opens the case under the cursor, and proposes to accept its first difference.
pub(crate) fn accept(model: &mut Model) -> Vec<Effect> {
    let mut effects = open(model);
    if !matches!(model.view.screen, Screen::Case(_)) {
        return effects;
    }
    effects.extend(case::refresh_body(model));
    match can_accept(model) {
        Ok(()) => effects.extend(authoring::accept_difference(model)),
        Err(why) => effects.extend(global::notify(model, format!("{}: {why}", ACCEPT.name), false)),
    }
    effects
}

/// Lists the set of a case unless the case is listed already, so that next and previous work from the case.
pub(crate) fn list_with(model: &mut Model, case: CaseRef) {
    if !model.view.browse.visible.contains(&case) && model.view.browse.narrowing.is_some() {
        browse::narrow(model, None);
    }
    if !model.view.browse.visible.contains(&case)
        && let Some(node) = model.view.browse.nodes.iter().position(|node| *node == Node::Set(case.set))
    {
        browse::choose_node(model, node);
    }
}

pub(crate) fn cancel_one(model: &mut Model) -> Vec<Effect> {
    let in_flight = |key: &AttemptKey| model.run.as_ref().is_some_and(|run| run.in_flight.contains_key(key));
    match under_cursor(model).filter(in_flight) {
        Some(key) => {
            let id = model.run.as_ref().and_then(|run| Some(run.plan.cases.get(key.case)?.eval_id.clone()));
            global::notify(model, format!("cancelled: {}", id.unwrap_or_default()), false);
            vec![Effect::Run(RunEffect::CancelAttempt(key))]
        }
        None => global::notify(model, "there is no attempt in flight under the cursor".into(), false),
    }
}

/// Handles the mouse: the wheel moves the cursor; a click moves it to a row, and a click on the row under it opens
/// the row.
pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        scroll(model, motion);
        return Vec::new();
    }
    let areas = layout(model);
    let at = ratatui::layout::Position { x: mouse.x, y: mouse.y };
    for (area, finished) in [(inside(areas.left), false), (inside(areas.main), true)] {
        if !area.contains(at) {
            continue;
        }
        let rows = usize::from(area.height);
        let first = model.run_screen.cursor.saturating_sub(rows.saturating_sub(1));
        let same_pane = model.run_screen.in_finished == finished;
        let row = if same_pane { first } else { 0 } + usize::from(mouse.y - area.y);
        let again = same_pane && model.run_screen.cursor == row;
        model.run_screen.in_finished = finished;
        model.run_screen.cursor = row.min(listed(model).saturating_sub(1));
        if again {
            open(model);
        }
    }
    Vec::new()
}
