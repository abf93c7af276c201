//! Starting runs: of which cases, and against what.

use crate::explorer::prompts::confirm;
use crate::explorer::shared::case_list::{Pane, TreeNode};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::SCORE;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, RunEffect};
use crate::explorer::shared::enabled::{Enabled, run_in_progress};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::run_target::{RunOverrides, RunTarget};
use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{EndedAttempt, JudgeUsage, Status, seconds_text};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Runs [`cases_in_scope`], with an agent without those that have only saved responses.
pub(crate) fn run_selected(model: &mut Model, against: RunTarget) -> Vec<Effect> {
    let cases = cases_in_scope(model);
    run_cases(model, cases, against)
}

/// Runs these cases, with an agent without those that have only saved responses.
fn run_cases(model: &mut Model, all: Vec<CaseRef>, against: RunTarget) -> Vec<Effect> {
    let cases = match against {
        RunTarget::Agent => with_agent(model, &all),
        _ => all.clone(),
    };
    let left_out = all.len() - cases.len();
    let mut effects = start(model, cases, against);
    if left_out > 0 {
        let key = SCORE.key();
        let words = match left_out {
            1 => format!("1 case has a saved response and is not run; {key} scores it"),
            count => {
                format!("{count} cases have saved responses and are not run; {key} scores them")
            }
        };
        effects.extend(notices::notify(model, words, false));
    }
    effects
}

/// The cases of sets that are run with an agent; all if there are none.
pub(crate) fn with_agent(model: &Model, cases: &[CaseRef]) -> Vec<CaseRef> {
    let run: Vec<CaseRef> = cases
        .iter()
        .copied()
        .filter(|case| !is_only_scored(model, case.set))
        .collect();
    match run.is_empty() {
        true => cases.to_vec(),
        false => run,
    }
}

/// Whether a set has saved responses and no agent.
fn is_only_scored(model: &Model, set: usize) -> bool {
    let has_responses = model.file(set).is_some_and(|file| !file.form.is_adk());
    has_responses && model.view.sets[set].agent.is_err()
}

/// The cases that a run command applies to: on the case screen, that case; else the selected cases; else, in the
/// tree, all listed cases; else the case under the cursor.
pub(crate) fn cases_in_scope(model: &Model) -> Vec<CaseRef> {
    match model.open_case() {
        Some(case) => vec![case.at],
        _ if !model.view.browse.selected.is_empty() => {
            model.view.browse.selected.iter().copied().collect()
        }
        _ if model.view.browse.pane == Pane::Sets => model.view.browse.visible.clone(),
        _ => model.current_case().into_iter().collect(),
    }
}

/// Whether an agent can run the cases of a set: its file is read, and it has an agent.
fn has_runnable_cases(model: &Model, set: usize) -> bool {
    let view = &model.view.sets[set];
    model.file(set).is_some() && view.agent.is_ok() && !view.cannot_be_read()
}

/// By set, whether its cases are counted as those that are run. If no set has an agent, those with saved responses and those
/// that cannot be read are not.
fn counted_sets(model: &Model) -> Vec<bool> {
    let sets = || 0..model.view.sets.len();
    let with_agent: Vec<bool> = sets().map(|set| has_runnable_cases(model, set)).collect();
    match with_agent.contains(&true) {
        true => with_agent,
        false => sets()
            .map(|set| !is_only_scored(model, set) && !model.view.sets[set].cannot_be_read())
            .collect(),
    }
}

/// The number of these cases that an agent can run; their number if an agent can run none of them. Called for each frame, so that
/// it must be fast.
pub(crate) fn count_run<'a>(
    model: &Model,
    cases: impl ExactSizeIterator<Item = &'a CaseRef>,
) -> usize {
    let all = cases.len();
    let can_run = counted_sets(model);
    // One kind of sets only, which needs no look at each case.
    if !can_run.contains(&true) || !can_run.contains(&false) {
        return all;
    }
    match cases.filter(|case| can_run[case.set]).count() {
        0 => all,
        run => run,
    }
}

/// The cases that [`count_run`] counts.
pub(crate) fn runnable(model: &Model, cases: &[CaseRef]) -> Vec<CaseRef> {
    let can_run = counted_sets(model);
    let run: Vec<CaseRef> = cases
        .iter()
        .copied()
        .filter(|case| can_run[case.set])
        .collect();
    match run.is_empty() {
        true => cases.to_vec(),
        false => run,
    }
}

/// Describes [`cases_in_scope`], with the number of those that the agents of their sets can run: "7 selected", "set (10)", "case".
pub(crate) fn scope(model: &Model) -> String {
    let browse = &model.view.browse;
    let count = match browse.selected.is_empty() {
        false => count_run(model, browse.selected.iter()),
        true => count_run(model, browse.visible.iter()),
    };
    scope_of(model, count)
}

/// Describes [`cases_in_scope`], of which `count` are run.
pub(crate) fn scope_of(model: &Model, count: usize) -> String {
    let of_tree = || match model.view.browse.nodes.get(model.view.browse.node) {
        Some(TreeNode::Set(_)) => "set",
        Some(TreeNode::Group(_)) => "folder",
        Some(TreeNode::All) | None => "all",
    };
    match model.is_on(Context::Browse) {
        true if !model.view.browse.selected.is_empty() => {
            format!("{count} selected")
        }
        true if model.view.browse.pane == Pane::Sets => {
            format!("{} ({count})", of_tree())
        }
        _ => "case".into(),
    }
}

/// The hint of the command that runs [`cases_in_scope`].
pub(crate) fn run_hint(model: &Model) -> String {
    format!("run {}", scope(model))
}

/// The hint of [`run_again`].
pub(crate) fn rerun_hint(model: &Model) -> String {
    match is_nothing_run(model) {
        true => {
            let all = model.view.browse.visible.len();
            match count_run(model, model.view.browse.visible.iter()) {
                run if run == all => format!("run all ({all})"),
                run => format!("run {run} with an agent (of {all})"),
            }
        }
        false => "rerun failed".into(),
    }
}

/// Whether cases are listed, and no case of their sets has a result. Not before the results of past runs were read.
pub(crate) fn is_nothing_run(model: &Model) -> bool {
    let has_none = |set: usize| model.view.outcomes.totals(set).ended() == 0;
    let are_results_read = model.history != Ticket::default();
    are_results_read
        && !model.is_on(Context::Run)
        && !model.view.browse.visible.is_empty()
        && model.sets_at_cursor().into_iter().all(has_none)
}

/// Runs only the current turn of the case screen.
pub(crate) fn run_turn(model: &mut Model) -> Vec<Effect> {
    let Some(case) = model.open_case() else {
        return Vec::new();
    };
    let (at, turn) = (case.at, case.turn as u32 + 1);
    start(model, vec![at], RunTarget::Turn(turn))
}

/// Judges the selected cases, or the one under the cursor, again without running agents.
pub(crate) fn judge_again(model: &mut Model) -> Vec<Effect> {
    let cases: Vec<CaseRef> = match model.is_on(Context::Browse) {
        true if !model.view.browse.selected.is_empty() => {
            model.view.browse.selected.iter().copied().collect()
        }
        _ => model.current_case().into_iter().collect(),
    };
    let done = |case: &CaseRef| -> Vec<Arc<EndedAttempt>> {
        let attempts = model
            .view
            .outcomes
            .get(*case)
            .map(|outcome| &outcome.attempts[..])
            .unwrap_or_default();
        attempts
            .iter()
            .filter(|attempt| attempt.actual_turns > 0)
            .cloned()
            .collect()
    };
    let all: Vec<(CaseRef, Vec<Arc<EndedAttempt>>)> = cases
        .iter()
        .map(|case| (*case, done(case)))
        .filter(|(_, done)| !done.is_empty())
        .collect();
    // A run has the same number of attempts for each case.
    let repeat = all.iter().map(|(_, done)| done.len()).min().unwrap_or(0);
    let cases = all.iter().map(|(case, _)| *case).collect();
    let kept = all
        .into_iter()
        .flat_map(|(case, done)| done.into_iter().take(repeat).map(move |one| (case, one)));
    let kept = kept.collect();
    start(model, cases, RunTarget::Recorded(Arc::new(kept)))
}

/// How often [`repeat`] runs each case.
const REPEATS: u32 = 5;

/// Asks whether to run [`cases_to_repeat`] several times: it is many times what a run of them costs.
pub(crate) fn repeat(model: &mut Model) -> Vec<Effect> {
    let (cases, is_of_failing) = cases_to_repeat(model);
    if !cases.is_empty() && against_of(model, &cases) == RunTarget::Saved {
        let why = "saved responses are the same each time; there is nothing to repeat";
        return notices::notify(model, why.into(), false);
    }
    let overrides = RunOverrides {
        repeat: Some(REPEATS),
        ..RunOverrides::default()
    };
    let to_run = runnable(model, &cases);
    let count = to_run.len();
    let failing = if is_of_failing { "failing " } else { "" };
    let title = match count {
        1 => format!("Repeat the {failing}case {REPEATS} times?"),
        _ => format!("Repeat {count} {failing}cases {REPEATS} times each?"),
    };
    let lines = vec![estimate(model, &to_run, REPEATS, (1, None))];
    match &start(model, cases, RunTarget::AgentWith(Box::new(overrides)))[..] {
        [run] => confirm::open(model, title, lines, run.clone()),
        _ => Vec::new(),
    }
}

/// The cases that [`repeat`] applies to, and whether they are chosen because they did not pass: on the run screen, those of the
/// run that did not pass; on the case screen, that case; else the selected ones, else the listed ones that did not pass, else
/// those of [`cases_in_scope`].
fn cases_to_repeat(model: &Model) -> (Vec<CaseRef>, bool) {
    let is_chosen = model.open_case().is_some() || !model.view.browse.selected.is_empty();
    if model.is_on(Context::Run) || !is_chosen {
        let failed = failed_here(model);
        if model.is_on(Context::Run) || !failed.is_empty() {
            return (with_agent(model, &failed), true);
        }
    }
    (with_agent(model, &cases_in_scope(model)), false)
}

/// How many attempts a run of these cases has and, judging by the results that are shown, how long it takes and what judges
/// spend.
pub(crate) fn estimate(
    model: &Model,
    cases: &[CaseRef],
    repeat: u32,
    (jobs, rate): (u32, Option<u32>),
) -> String {
    let attempts = cases.len() as u64 * u64::from(repeat);
    let mut words = counted(attempts as usize, "attempt");
    let known: Vec<CaseCost> = cases
        .iter()
        .filter_map(|case| cost_of(model, *case))
        .collect();
    if known.is_empty() {
        return words;
    }
    // Cases without results count as the mean of the others.
    let factor = f64::from(repeat) * cases.len() as f64 / known.len() as f64;
    let sum: f64 = known.iter().map(|cost| cost.seconds).sum();
    let longest = known.iter().map(|cost| cost.seconds).fold(0.0, f64::max);
    let paced = rate.map_or(0.0, |rate| attempts as f64 * 60.0 / f64::from(rate.max(1)));
    let seconds = (sum * factor / f64::from(jobs.max(1)))
        .max(longest)
        .max(paced);
    let time = match seconds {
        long if long >= 120.0 => format!("{:.0} min", long / 60.0),
        short => seconds_text(Some(short)),
    };
    let at_once = match jobs {
        _ if attempts == 1 => String::new(),
        1 => " if run one at a time".into(),
        jobs => format!(", {jobs} at once"),
    };
    words += &format!(", about {time}{at_once}");
    let spent = known
        .iter()
        .filter_map(|cost| cost.spent)
        .reduce(JudgeUsage::and);
    if let Some(spent) = spent {
        words += &format!("; judges: about {}", spent.times(factor).describe());
    }
    words + "  (as in the latest results)"
}

/// What an attempt of a case took.
struct CaseCost {
    seconds: f64,
    spent: Option<JudgeUsage>,
}

/// The mean over the latest attempts of a case; `None` if their times are not known.
fn cost_of(model: &Model, case: CaseRef) -> Option<CaseCost> {
    let attempts = &model.view.outcomes.get(case)?.attempts;
    let times: Vec<f64> = attempts.iter().filter_map(|one| one.latency_s).collect();
    let spent = attempts
        .iter()
        .filter_map(|one| one.spent)
        .reduce(JudgeUsage::and);
    let share = 1.0 / attempts.len().max(1) as f64;
    (!times.is_empty()).then(|| CaseCost {
        seconds: times.iter().sum::<f64>() / times.len() as f64,
        spent: spent.map(|spent| spent.times(share)),
    })
}

/// Runs the listed cases that did not pass again; on the run screen, those of the run. If no case of the listed sets has a
/// result, runs all that are listed.
pub(crate) fn run_again(model: &mut Model) -> Vec<Effect> {
    if is_nothing_run(model) {
        let listed = model.view.browse.visible.to_vec();
        let against = against_of(model, &listed);
        return run_cases(model, listed, against);
    }
    let cases = failed_here(model);
    let against = against_of(model, &cases);
    run_cases(model, cases, against)
}

/// The listed cases that did not pass; on the run screen, those of the run that have not passed since either, by an edit
/// or a later run.
fn failed_here(model: &Model) -> Vec<CaseRef> {
    let failing = |case: &CaseRef| model.view.outcomes.is_failing(*case);
    match &model.run {
        Some(run) if model.is_on(Context::Run) => {
            let not_passed = run
                .finished
                .statuses()
                .filter(|(_, status)| *status != Status::Passed);
            let cases = not_passed.filter_map(|(key, _)| model.case_of(run, key));
            let still_failing: BTreeSet<CaseRef> = cases.filter(failing).collect();
            still_failing.into_iter().collect()
        }
        _ => model
            .view
            .browse
            .visible
            .iter()
            .copied()
            .filter(failing)
            .collect(),
    }
}

/// What these cases are run against: cases without an agent were scored before, and can only be scored again.
pub(crate) fn against_of(model: &Model, cases: &[CaseRef]) -> RunTarget {
    if cases.iter().all(|case| is_only_scored(model, case.set)) {
        RunTarget::Saved
    } else {
        RunTarget::Agent
    }
}

/// The unfinished run that [`resume`] continues: the one under the cursor of the list of runs, on the run screen the one that
/// ended, else the past run that is open.
fn run_to_resume(model: &Model) -> Result<String, &'static str> {
    const FINISHED: &str = "every attempt of the run has a result";
    if model.run.as_ref().is_some_and(|run| run.is_live()) {
        return Err(run_in_progress());
    }
    if model.is_run_file {
        return Err("this run is from a file");
    }
    if model.is_on(Context::Run) {
        let run = model.run.as_ref().ok_or("there is no run here")?;
        let is_unfinished = run.count_outstanding() > 0;
        return match is_unfinished {
            true if run.finished.is_empty() => {
                Err("the run has no result, so it is not recorded; run the cases again")
            }
            true => Ok(run.plan.run_id.clone()),
            false => Err(FINISHED),
        };
    }
    let opened = model.opened_run.as_ref().map(|opened| &opened.run.id);
    let history = model.runs.history.as_ref();
    let summary = match opened {
        _ if model.is_on(Context::Runs) => model.runs.selected(),
        Some(id) => history.and_then(|history| history.runs.iter().find(|run| run.run_id == *id)),
        None => return Err("no past run is open"),
    };
    let summary = summary.ok_or("there is no run here")?;
    match () {
        () if !summary.is_ours() => Err("only your own runs can be resumed"),
        () if summary.is_finished() => Err(FINISHED),
        () if summary.shard.is_some() => {
            Err("it is one shard of a run, which only the command line resumes")
        }
        () => Ok(summary.run_id.clone()),
    }
}

pub(crate) fn can_resume(model: &Model) -> Enabled {
    run_to_resume(model).map(|_| ())
}

/// Continues the unfinished run that the screen shows.
pub(crate) fn resume(model: &mut Model) -> Vec<Effect> {
    let run_id = run_to_resume(model).ok();
    let start = |run_id| Effect::Run(RunEffect::Start(Vec::new(), RunTarget::Resume(run_id)));
    run_id.map(start).into_iter().collect()
}

/// Runs these cases, if there are any.
pub(crate) fn start(model: &mut Model, cases: Vec<CaseRef>, against: RunTarget) -> Vec<Effect> {
    match cases.is_empty() {
        true => notices::notify(model, "there are no cases to run here".into(), false),
        false => {
            let against = with_stubs(model, &cases, against);
            vec![Effect::Run(RunEffect::Start(cases, against))]
        }
    }
}

/// Where stubs answered tools in the results that are shown, they do again: no tool runs that did not.
fn with_stubs(model: &Model, cases: &[CaseRef], against: RunTarget) -> RunTarget {
    let is_stubbed = |case: &CaseRef| {
        let attempts = model
            .view
            .outcomes
            .get(*case)
            .map_or(&[][..], |outcome| outcome.attempts.as_slice());
        attempts
            .iter()
            .any(|attempt| attempt.tools.is_some_and(|tools| tools.live == 0))
    };
    match against {
        RunTarget::Agent if cases.iter().any(is_stubbed) => {
            RunTarget::AgentWith(Box::new(RunOverrides {
                keeps_stubs: true,
                ..RunOverrides::default()
            }))
        }
        RunTarget::AgentWith(mut overrides)
            if overrides.stubs.is_none() && cases.iter().any(is_stubbed) =>
        {
            overrides.keeps_stubs = true;
            RunTarget::AgentWith(overrides)
        }
        against => against,
    }
}
