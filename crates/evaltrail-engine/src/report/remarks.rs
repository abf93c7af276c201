//! What reports say beside the results: about the run as a whole, and why an attempt did not pass or is not counted.

use super::attempts::cases_not_run;
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{
    AttemptSummary, Gate, Quarantine, RateVerdict, RunState, Status, ToolCounts, UNTIL_LEVEL,
    clean_line,
};
use std::collections::{BTreeMap, BTreeSet};

/// The sign before the error that a model reported, so that a case with one is never only marked as passed.
pub(super) const MODEL_ERROR_SIGN: &str = "⚠";

/// Why an attempt did not pass, with what to know beside it.
pub(super) fn why_with_remarks(attempt: &AttemptSummary) -> String {
    let parts = [attempt.remarks(), attempt.reason().to_string()];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// What to know about the results of a run as a whole: [`summary_remarks`], after the agents that could not be used.
pub(super) fn run_remarks(state: &RunState) -> Vec<String> {
    let unavailable = state.unavailable.iter();
    unavailable
        .map(|agent| clean_line(&agent.text()).into_owned())
        .chain(summary_remarks(state))
        .collect()
}

/// What to know about the results of a run as a whole: how the calls of tools were answered, and how many conversations
/// ended without an answer of the agent. Agents that could not be used are left out: `run` names them when that is known.
pub(super) fn summary_remarks(state: &RunState) -> Vec<String> {
    let tools = state
        .finished
        .iter()
        .filter_map(|attempt| attempt.tools)
        .reduce(ToolCounts::and);
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for words in state
        .finished
        .iter()
        .filter_map(|attempt| attempt.end.describe())
    {
        *ends.entry(words).or_default() += 1;
    }
    let ends = ends.into_iter().map(|(words, count)| match count {
        1 => format!("1 conversation has a turn that ended without an answer: {words}"),
        count => format!("{count} conversations have a turn that ended without an answer: {words}"),
    });
    let model_errors = model_errors_remark(state);
    let alone = tools.filter(|tools| tools.one_at_a_time).map(|_| {
        "cases ran one at a time, because the calls of the agent's tools do not say to which case they belong".into()
    });
    let keeps_state = tools.filter(|tools| tools.keeps_state).map(|_| {
        "the agent keeps state between cases, so that a result may depend on other cases: let a function make the agent for \
         each case (python:MODULE:NAME()); --json names the attributes that grew"
            .into()
    });
    let has_faults = state
        .plan
        .sets
        .iter()
        .any(|set| !set.tools.faults.is_empty());
    let no_fault = (has_faults && tools.is_none_or(|tools| tools.faults == 0))
        .then(|| "no call matched a requested fault (--tool-fault)".to_string());
    let not_run = match cases_not_run(state).count() {
        0 => None,
        1 => Some("1 case was not run to its end".to_string()),
        count => Some(format!("{count} cases were not run to their end")),
    };
    let gate = gate_remark(state);
    let shard = state.plan.options.shard;
    let part = shard.filter(|shard| shard.of > 1).map(|shard| {
        format!(
            "this is {}; evaltrail merge merges the shards to one run",
            shard.describe()
        )
    });
    let of_plan = gate.into_iter().chain(part).chain(not_run);
    let counts = tools
        .filter(|tools| !tools.is_only_state())
        .map(ToolCounts::describe);
    let of_plan = of_plan.chain(model_errors);
    of_plan
        .chain(counts)
        .chain(no_fault)
        .chain(alone)
        .chain(keeps_state)
        .chain(ends)
        .collect()
}

/// In how many attempts the model, or the agent, reported an error, how many of them passed, and the codes; `None` if in none.
fn model_errors_remark(state: &RunState) -> Option<String> {
    let (mut attempts, mut passed) = (0, 0);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut reporters: BTreeSet<&'static str> = BTreeSet::new();
    for attempt in state
        .finished
        .iter()
        .filter(|attempt| !attempt.model_errors.is_empty())
    {
        attempts += 1;
        passed += usize::from(attempt.status == Status::Passed);
        for (_, error) in &attempt.model_errors {
            reporters.insert(error.reporter());
            *kinds
                .entry(clean_line(error.kind()).chars().take(60).collect())
                .or_default() += 1;
        }
    }
    let of = counted(attempts, "attempt");
    let kinds: Vec<String> = kinds
        .into_iter()
        .map(|(kind, count)| format!("{kind} ×{count}"))
        .collect();
    let kinds = kinds.join(", ");
    (attempts > 0).then(|| {
        let who = reporters.into_iter().collect::<Vec<_>>().join(" or ");
        format!(
            "{MODEL_ERROR_SIGN} {who} reported an error in {of}, {passed} of them passed: {kinds}"
        )
    })
}

/// Which gate decides about a case, and how many cases pass it; `None` if each case has one attempt, which decides.
fn gate_remark(state: &RunState) -> Option<String> {
    let options = &state.plan.options;
    let decides = options.repeat > 1 || options.gate != Gate::All;
    decides.then(|| {
        if matches!(options.gate, Gate::Until(_)) {
            return until_remark(state);
        }
        let counts = state.gate_counts();
        let others = match counts.quarantined {
            0 => String::new(),
            quarantined => format!(", {quarantined} of the others quarantined"),
        };
        format!(
            "gate {}: {} of {} cases pass{others} ({})",
            options.gate.name(),
            counts.passed,
            counts.planned,
            options.gate.describe()
        )
    })
}

/// How many cases have the demanded pass rate, in a run that repeats each until that is known, and which are undecided.
fn until_remark(state: &RunState) -> String {
    /// Maximum number of undecided cases that are named.
    const NAMED: usize = 5;
    let options = &state.plan.options;
    let is_undecided = |case: &usize| state.rate_verdict(*case) == Some(RateVerdict::Undecided);
    let undecided: Vec<String> = (0..state.plan.cases.len())
        .filter(is_undecided)
        .map(|case| {
            let tally = state.tally(case);
            let name = clean_line(state.plan.cases.eval_id(case)).into_owned();
            format!("{name} {}/{}", tally.passed, tally.evaluated)
        })
        .collect();
    let named = undecided.iter().take(NAMED).cloned().collect::<Vec<_>>();
    let more = match undecided.len() {
        0 => String::new(),
        count if count > NAMED => format!("; undecided: {}, …", named.join(", ")),
        _ => format!("; undecided: {}", named.join(", ")),
    };
    let when = match (undecided.len(), state.count_outstanding()) {
        (0, _) => String::new(),
        (_, 0) => format!(" after {} attempts", options.repeat),
        _ => " so far".into(),
    };
    format!(
        "repeat {}: {}{when} ({}; each decision is wrong with a probability of at most {} %){more}",
        options.gate.name(),
        state.verdict_counts().describe(),
        options.gate.describe(),
        UNTIL_LEVEL * 100.0
    )
}

/// Behind a status that could be another one with other samples of a judge ([`AttemptSummary::unsteady`]).
const UNSTEADY: &str = "≈ unsteady";

/// [`UNSTEADY`] with a gap before it; empty if the status of the attempt is not unsteady.
pub(super) fn unsteady_text(attempt: &AttemptSummary) -> String {
    match attempt.unsteady {
        true => format!("  {UNSTEADY}"),
        false => String::new(),
    }
}

/// The text before the reason of an attempt that did not pass: that its status is unsteady, and [`why_not_counted`].
pub(super) fn before_reason(
    state: &RunState,
    attempt: &AttemptSummary,
    passes_gate: bool,
) -> String {
    let not_counted = why_not_counted(state, attempt, passes_gate);
    let is_unsteady = attempt.unsteady && attempt.status != Status::Passed;
    match attempt.reason().starts_with("unsteady") {
        _ if !is_unsteady => not_counted,
        // The reason says so.
        true => format!("≈ {not_counted}"),
        false => format!("{UNSTEADY}: {not_counted}"),
    }
}

/// Why an attempt that did not pass does not fail the run: its case passes the gate, or is quarantined for some time. Empty if
/// it fails the run. `passes_gate` is [`RunState::passes_gate`] of the case.
pub(super) fn why_not_counted(
    state: &RunState,
    attempt: &AttemptSummary,
    passes_gate: bool,
) -> String {
    match state.plan.cases.quarantine(attempt.key.case) {
        _ if attempt.status == Status::Passed => String::new(),
        Some(quarantine) => quarantine_text(quarantine),
        None if passes_gate => format!(
            "the case passes by --gate {}: ",
            state.plan.options.gate.name()
        ),
        None => String::new(),
    }
}

/// "quarantined 2026-01-01 to 2026-02-01 (flaky): ".
fn quarantine_text(quarantine: &Quarantine) -> String {
    let why = if quarantine.why.is_empty() {
        String::new()
    } else {
        format!(" ({})", quarantine.why)
    };
    format!(
        "quarantined {} to {}{why}: ",
        quarantine.since, quarantine.until
    )
}
