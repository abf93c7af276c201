//! What the events of a run change.

use crate::explorer::case_list::listing;
use crate::explorer::case_list::listing::{relist, relist_with_results};
use crate::explorer::prompts::trust;
use crate::explorer::prompts::trust::AfterConsent;
use crate::explorer::running::watch;
use crate::explorer::sets::edited_cases;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseOrigin;
use crate::explorer::shared::command_names::RUN_CHANGED;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, HistoryEffect};
use crate::explorer::shared::list_order::ListOrder;
use crate::explorer::shared::message::RunMsg;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::run_screen::{LiveScreen, RunScreen, RunScreenState};
use crate::explorer::shared::set_view::SetState;
use crate::explorer::shown_case::refresh;
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::{
    AttemptKey, EndedAttempt, Gate, RunEvent, RunRef, RunState, Status, counted,
};
use evaltrail_engine::history::{PastResult, ResultOrigin, find_case};
use std::sync::Arc;

pub(crate) fn run_msg(model: &mut Model, msg: RunMsg) -> Vec<Effect> {
    match msg {
        RunMsg::Started(state) => started(model, *state),
        RunMsg::Events(events) => {
            let effects = events
                .into_iter()
                .flat_map(|event| event_of_run(model, event))
                .collect();
            relist_if_needed(model);
            return effects;
        }
        RunMsg::ChangedFound(ticket, changed) => return watch::found(model, ticket, *changed),
        RunMsg::Refused(why) => {
            watch::run_refused(model);
            return notices::notify(model, why, true);
        }
        RunMsg::LeftOut(words) => {
            model.run_screen.left_out = Some(words.clone());
            return notices::notify(model, words, true);
        }
        // Nobody is asked for permission in the middle of something else.
        RunMsg::AskTrust(..) if watch::run_refused(model) => {
            let words = format!(
                "not run: it needs a permission; {} asks for it",
                RUN_CHANGED.key()
            );
            return notices::notify(model, words, true);
        }
        RunMsg::AskTrust(cases, questions, against) => {
            trust::open(model, questions, AfterConsent::Run(cases, against));
        }
    }
    Vec::new()
}

fn started(model: &mut Model, state: RunState) {
    let many = state.plan.attempts() > 1;
    let by_itself = watch::on_run_started(model, &state.plan.started);
    model.run_screen = RunScreenState::new(&state, model.now);
    model.run = Some(state);
    model.view.browse.selected.clear();
    // The run screen is opened only if there are several attempts and the user started the run.
    if many && !by_itself && model.open_case().is_none() {
        model.show(RunScreen);
    }
}

fn event_of_run(model: &mut Model, event: RunEvent) -> Vec<Effect> {
    let Some(mut run) = model.run.take() else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    match &event {
        RunEvent::Finished(attempt) => {
            effects = show_result(model, &run, attempt);
        }
        RunEvent::Warning(warning) => {
            notices::notify(model, warning.clone(), true);
        }
        RunEvent::AgentUnavailable(agent) => {
            notices::notify(model, agent.text(), true);
        }
        RunEvent::Ended { .. } => {
            // Otherwise the errors of its agents are all that is to be said.
            if run.unavailable.is_empty() || run.totals.ended() > 0 {
                let replaced = replaced_attempts_text(model);
                notices::notify(model, ended_text(&run) + &replaced, false);
            }
            model.run_screen.in_finished = true;
            model.run_screen.cursor = 0;
            effects.extend(model.read_summaries_of_runs());
            let shows = [Context::Trends, Context::Comparison, Context::ComparedCase];
            if shows.into_iter().any(|context| model.is_on(context)) {
                effects.push(Effect::History(HistoryEffect::List(model.ticket())));
            }
        }
        _ => {}
    }
    let over = match &event {
        RunEvent::Started { key, .. } => {
            model.run_screen.since.insert(*key, model.now);
            model.run_screen.first_started.get_or_insert(model.now);
            None
        }
        RunEvent::Finished(attempt) => Some((attempt.key, false)),
        RunEvent::Dropped(key) => Some((*key, true)),
        _ => None,
    };
    run.apply(event);
    if let Some((key, was_cancelled)) = over {
        model.run_screen.since.remove(&key);
        if !was_cancelled && run.has_ended(key.case) {
            model.run_screen.add_ended(&run, key.case);
        }
        effects.extend(ended(model, &run, key, was_cancelled));
    }
    if run.ended.is_some() && !model.run_screen.is_ordered {
        model.run_screen.order_ended(&run);
    }
    let has_ended = run.ended.is_some();
    model.run = Some(run);
    if has_ended {
        effects.extend(watch::run_ended(model));
    }
    effects
}

/// Shows the result of an attempt, and re-evaluates it if the file was edited since the run was planned. If the case
/// has not been read yet, the result is stored until it is.
fn show_result(model: &mut Model, run: &RunState, attempt: &Arc<EndedAttempt>) -> Vec<Effect> {
    let Some(planned) = run.plan.cases.get(attempt.key.case) else {
        return Vec::new();
    };
    let planned_set = &run.plan.sets[planned.set];
    let Some(set) = model
        .view
        .sets
        .iter()
        .position(|view| view.path.path == planned_set.path)
    else {
        return Vec::new();
    };
    let run_ref = model.run_ref(run);
    let view = &mut model.view.sets[set];
    let Some(index) = view
        .read
        .as_ref()
        .and_then(|file| find_case(file, &planned.eval_id, &planned.content))
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
    let was_edited =
        !matches!(&view.state, SetState::Ready(_, digest) if *digest == planned_set.digest);
    let case = CaseRef { set, index };
    remember_replaced_attempts(model, case, &run_ref);
    model.add_outcome(case, &run_ref, attempt.clone());
    refresh_open_case(model, case);
    if was_edited {
        edited_cases::reevaluate_cases(model, set, vec![case])
    } else {
        Vec::new()
    }
}

/// Keeps how many attempts of an earlier run passed, if a result of this run replaces several.
fn remember_replaced_attempts(model: &mut Model, case: CaseRef, run: &RunRef) {
    let before = model.view.outcomes.get(case);
    if let Some(before) = before.filter(|before| *before.run != *run && before.attempts.len() > 1) {
        let passed = PassCount::count(&before.attempts);
        let attempts = before.attempts.len();
        model.run_screen.replaced.insert(case, (passed, attempts));
    }
}

/// For results that replaced those of more attempts: how many of the earlier attempts passed, as in "; water_tomatoes: 2/5 passed
/// before". Empty
/// if there are none.
fn replaced_attempts_text(model: &Model) -> String {
    let attempts = |case| {
        let outcome = model.view.outcomes.get(case);
        outcome.map_or(0, |outcome| outcome.attempts.len())
    };
    let replaced = model.run_screen.replaced.iter();
    let with_more: Vec<(&CaseRef, &PassCount)> = replaced
        .filter(|(case, (_, before))| attempts(**case) < *before)
        .map(|(case, (passed, _))| (case, passed))
        .collect();
    match with_more[..] {
        [] => String::new(),
        [(case, before)] => {
            let id = model.shown_id(*case);
            format!("; {id}: {} passed before", before.describe())
        }
        _ => format!("; {} cases had more attempts before", with_more.len()),
    }
}

/// Has the lines of the case screen rebuilt after an attempt of its case was added. With the first one that did not pass, that one is
/// shown.
fn refresh_open_case(model: &mut Model, at: CaseRef) {
    let outcome = model.view.outcomes.get(at);
    let attempts = outcome.map_or(&[][..], |outcome| &outcome.attempts);
    let mut unsuccessful = attempts
        .iter()
        .enumerate()
        .filter(|(_, attempt)| attempt.status != Status::Passed);
    let (first, second) = (unsuccessful.next().map(|(at, _)| at), unsuccessful.next());
    let last = attempts.len().saturating_sub(1);
    let shown = first.filter(|at| second.is_none() && *at == last);
    if let Some(case) = model.open_case_mut()
        && case.at == at
    {
        case.attempt = shown.unwrap_or(case.attempt.min(last));
        case.is_stale = true;
    }
}

fn ended_text(run: &RunState) -> String {
    let totals = run.totals;
    let rest = without_result_text(run);
    let counts = format!(
        "{} passed, {} failed, {} errored, {} not evaluated{rest}",
        totals.passed, totals.failed, totals.errored, totals.not_evaluated
    );
    match run.plan.options.repeat {
        _ if totals.ended() == 0 => format!("run ended without a result{rest}; it is not recorded"),
        0 | 1 => format!("run ended: {counts}"),
        _ => format!(
            "run ended: {}; attempts: {counts}",
            repeated_cases_text(run)
        ),
    }
}

/// How the cases of a repeated run ended, as in "12 cases always passed, 2 were flaky, 3 never passed".
fn repeated_cases_text(run: &RunState) -> String {
    if matches!(run.plan.options.gate, Gate::Until(_)) {
        return format!(
            "cases by their pass rate: {}",
            run.verdict_counts().describe()
        );
    }
    let planned = run.plan.options.repeat as usize;
    let (mut always, mut flaky, mut never, mut unknown) = (0, 0, 0, 0);
    for case in 0..run.plan.cases.len() {
        let statuses = run.statuses_of(case).into_iter().map(|(_, status)| status);
        let passed = PassCount::of_statuses(statuses);
        match passed.passed_all(planned.saturating_sub(passed.of)) {
            _ if passed.is_flaky() => flaky += 1,
            Some(true) => always += 1,
            Some(false) => never += 1,
            None => unknown += 1,
        }
    }
    let always = counted(always, "case");
    let were = if flaky == 1 { "was" } else { "were" };
    let unknown = match unknown {
        0 => String::new(),
        unknown => format!(", {unknown} passed as far as they were evaluated"),
    };
    format!("{always} always passed, {flaky} {were} flaky, {never} never passed{unknown}")
}

/// Rebuilds the list if it is filtered, narrowed or sorted, and may therefore depend on outcomes. Failing cases come first
/// when the run has ended, so that rows do not move away from the cursor before.
fn relist_if_needed(model: &mut Model) {
    let is_sorted = match model.view.browse.order {
        ListOrder::File => false,
        ListOrder::Failing => model.live_run().is_none(),
        _ => true,
    };
    let may_change =
        is_sorted || model.view.browse.narrowing.is_some() || !model.view.browse.query.is_empty();
    // The cursor stays on a case that was run alone.
    let is_of_one = model
        .run
        .as_ref()
        .is_some_and(|run| run.plan.cases.len() == 1);
    match (may_change, is_of_one) {
        (false, _) => {}
        (true, true) => relist(model),
        (true, false) => relist_with_results(model),
    }
}

/// Handles the end of an attempt: if its transcript is open, shows the result instead, or the run if it was
/// cancelled.
pub(crate) fn ended(
    model: &mut Model,
    run: &RunState,
    key: AttemptKey,
    was_cancelled: bool,
) -> Vec<Effect> {
    if model
        .screen::<LiveScreen>()
        .is_none_or(|live| live.key != key)
    {
        return Vec::new();
    }
    model.show(RunScreen);
    if was_cancelled {
        return Vec::new();
    }
    match model.case_of(run, key) {
        Some(at) => {
            listing::list_with(model, at);
            refresh::open_at(model, at, key.attempt, CaseOrigin::Run);
            notices::notify(
                model,
                "the attempt has ended; this is its result".into(),
                false,
            )
        }
        None => Vec::new(),
    }
}

/// How many attempts have no result: ", 1 cancelled, 10 not run". Empty if all have one.
pub(crate) fn without_result_text(run: &RunState) -> String {
    let cancelled = run.cancelled.len();
    let not_run = run.count_outstanding().saturating_sub(cancelled);
    let counts = [(cancelled, "cancelled"), (not_run, "not run")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts
        .map(|(count, word)| format!(", {count} {word}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{Attempt, RunBy, Status};

    fn run(id: &str) -> Arc<RunRef> {
        Arc::new(RunRef {
            id: id.into(),
            started: "2026-01-01T00:00:00Z".into(),
            by: RunBy::Evaltrail,
        })
    }

    fn attempt(number: u32, status: Status) -> Arc<EndedAttempt> {
        let key = AttemptKey {
            case: 0,
            attempt: number,
        };
        let attempt = Attempt {
            status,
            ..Attempt::blank(key, "a")
        };
        Arc::new(EndedAttempt::unrecorded(attempt))
    }

    #[test]
    fn fewer_attempts_than_before_are_reported() {
        let mut model = Model::new("t".into(), vec![], (120, 40));
        let (one, other) = (CaseRef { set: 0, index: 0 }, CaseRef { set: 0, index: 1 });
        let statuses = [Status::Passed, Status::Failed, Status::Passed];
        for case in [one, other] {
            for (number, status) in (1..).zip(statuses) {
                model.add_outcome(case, &run("r1"), attempt(number, status));
            }
        }
        let add = |model: &mut Model, case, number| {
            remember_replaced_attempts(model, case, &run("r2"));
            model.add_outcome(case, &run("r2"), attempt(number, Status::Passed));
            replaced_attempts_text(model)
        };
        assert!(add(&mut model, one, 1).ends_with(": 2/3 passed before"));
        let both = add(&mut model, other, 1);
        assert_eq!(both, "; 2 cases had more attempts before");
        add(&mut model, one, 2);
        assert!(add(&mut model, one, 3).ends_with(": 2/3 passed before"));
    }
}
