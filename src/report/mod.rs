//! Reports of a run in all formats. External data is cleaned before it is written.

mod comparison;
mod csv;
mod failures;
mod format;
mod github;
mod html;
mod json;
mod json_case;
mod json_steps;
mod junit;
mod markdown;
mod open_command;
mod rerun;
mod text;
mod turns;
mod vertex;

pub use comparison::{ComparedRuns, started_words};
pub use format::ReportFormat;
pub use github::github_annotations;
pub use json::write_json_report;
pub use open_command::shell_word;
pub use rerun::rerun_of_plan;
pub use text::{Paint, case_line, run_summary};
pub use turns::turn_lines;

use crate::domain::{
    AttemptSummary, EndedAttempt, Gate, Quarantine, RunState, Status, ToolCounts, clean_line,
};
use crate::metrics::Aggregate;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The sign before the error that a model reported, so that a case with one is never only marked as passed.
const MODEL_ERROR_SIGN: &str = "⚠";

/// Why an attempt did not pass, with what to know beside it.
fn why_with_remarks(attempt: &AttemptSummary) -> String {
    let parts = [attempt.remarks(), attempt.reason().to_string()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What to know about the results of a run as a whole: how the calls of tools were answered, and how many conversations
/// ended without an answer of the agent.
fn run_remarks(state: &RunState) -> Vec<String> {
    let tools = state.finished.iter().filter_map(|attempt| attempt.tools).reduce(ToolCounts::and);
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for words in state.finished.iter().filter_map(|attempt| attempt.end.words()) {
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
    let has_faults = state.plan.sets.iter().any(|set| !set.tools.faults.is_empty());
    let no_fault = (has_faults && tools.is_none_or(|tools| tools.faults == 0))
        .then(|| "no call matched a requested fault (--tool-fault)".to_string());
    let not_run = match cases_not_run(state).count() {
        0 => None,
        1 => Some("1 case was not run to its end".to_string()),
        count => Some(format!("{count} cases were not run to their end")),
    };
    let gate = gate_remark(state);
    let shard = state.plan.options.shard;
    let part = shard
        .filter(|shard| shard.of > 1)
        .map(|shard| format!("this is {}; evaltrail merge merges the shards to one run", shard.words()));
    let of_plan = gate.into_iter().chain(part).chain(not_run);
    let counts = tools.filter(|tools| !tools.is_only_state()).map(ToolCounts::words);
    let of_plan = of_plan.chain(model_errors);
    of_plan.chain(counts).chain(no_fault).chain(alone).chain(keeps_state).chain(ends).collect()
}

/// In how many attempts the model reported an error, how many of them passed, and the codes; `None` if in none.
fn model_errors_remark(state: &RunState) -> Option<String> {
    let (mut attempts, mut passed) = (0, 0);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for attempt in state.finished.iter().filter(|attempt| !attempt.model_errors.is_empty()) {
        attempts += 1;
        passed += usize::from(attempt.status == Status::Passed);
        for (_, error) in &attempt.model_errors {
            *kinds.entry(clean_line(error.kind()).chars().take(60).collect()).or_default() += 1;
        }
    }
    let of = if attempts == 1 { "1 attempt".to_string() } else { format!("{attempts} attempts") };
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{kind} ×{count}")).collect();
    let kinds = kinds.join(", ");
    (attempts > 0).then(|| {
        format!("{MODEL_ERROR_SIGN} the model reported an error in {of}, {passed} of them passed: {kinds}")
    })
}

/// Which gate decides about a case, and how many cases pass it; `None` if each case has one attempt, which decides.
fn gate_remark(state: &RunState) -> Option<String> {
    let options = &state.plan.options;
    let decides = options.repeat > 1 || options.gate != Gate::All;
    decides.then(|| {
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
            options.gate.words()
        )
    })
}

/// Why an attempt that did not pass does not fail the run, before its reason: its case passes the gate, or is quarantined
/// for some time. Empty if it fails the run. `passes_gate` is [`RunState::passes_gate`] of the case.
fn why_not_counted(state: &RunState, attempt: &AttemptSummary, passes_gate: bool) -> String {
    match state.plan.cases.quarantine(attempt.key.case) {
        _ if attempt.status == Status::Passed => String::new(),
        Some(quarantine) => quarantine_words(quarantine),
        None if passes_gate => format!("the case passes by --gate {}: ", state.plan.options.gate.name()),
        None => String::new(),
    }
}

/// "quarantined 2026-01-01 to 2026-02-01 (flaky): ".
fn quarantine_words(quarantine: &Quarantine) -> String {
    let why = if quarantine.why.is_empty() { String::new() } else { format!(" ({})", quarantine.why) };
    format!("quarantined {} to {}{why}: ", quarantine.since, quarantine.until)
}

/// The cases of which an attempt was planned and has not ended, in the plan's order.
fn cases_not_run(state: &RunState) -> impl Iterator<Item = usize> {
    let repeat = state.plan.options.repeat as usize;
    (0..state.plan.cases.len()).filter(move |case| state.tally(*case).ended < repeat)
}

/// The attempts in the plan's order.
fn attempts_in_order(state: &RunState) -> impl Iterator<Item = Arc<EndedAttempt>> {
    (0..state.plan.cases.len()).flat_map(|case| state.attempts_of(case))
}

/// The statistics of the metrics of a run, for a table: a metric that the sets of the run compute in different ways has a
/// remark in its name.
fn titled(state: &RunState, aggregates: Vec<Aggregate>) -> Vec<Aggregate> {
    let titled = |of: Aggregate| match state.plan.has_different_scoring(&of.metric) {
        true => Aggregate { metric: format!("{} (different options)", of.metric), ..of },
        false => of,
    };
    aggregates.into_iter().map(titled).collect()
}

/// Why a metric has no score at all, to be put behind its name; empty if it has one, or the reason is not known.
fn no_score_words(of: &Aggregate) -> String {
    match of.valid == 0 && !of.why_none.is_empty() {
        true => format!(" (no score: {})", of.why_none),
        false => String::new(),
    }
}

/// The metrics of a run, in the order they first appear.
fn metric_names(state: &RunState) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for attempt in attempts_in_order(state) {
        for metric in &attempt.metrics {
            if !names.contains(&metric.metric) {
                names.push(metric.metric.clone());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        AgentSpec, Attempt, AttemptKey, AttemptRecords, InMemory, JudgeSpec, PlannedCase, PlannedCases,
        PlannedSet, RecordedAt, RunEvent, RunOptions, RunPlan,
    };
    use std::sync::Arc;

    struct Lost;

    impl AttemptRecords for Lost {
        fn read(&self, _: RecordedAt) -> Result<Arc<Attempt>, String> {
            Err("the journal is gone".into())
        }
    }

    #[test]
    fn what_cannot_be_read_any_more_is_in_no_report() {
        let set = PlannedSet {
            stubs: None,
            tools: Default::default(),
            id: "s".into(),
            file: "s".into(),
            path: "/s".into(),
            digest: String::new(),
            agent: AgentSpec::Saved,
            agent_name: String::new(),
            agent_jobs: None,
            file_cases: None,
            app_dir: None,
            criteria: Vec::new(),
            user: Default::default(),
        };
        let mut state = RunState::new(Arc::new(RunPlan {
            commit: None,
            run_id: "r".into(),
            started: String::new(),
            sets: vec![set],
            cases: PlannedCases::of([PlannedCase {
                set: 0,
                index: 0,
                eval_id: "a".into(),
                content: "".into(),
                quarantine: None,
            }])
            .unwrap(),
            options: RunOptions::default(),
            judge: JudgeSpec::standard(),
        }));
        let key = AttemptKey { case: 0, attempt: 1 };
        let attempt = Attempt { status: Status::Passed, ..Attempt::blank(key, "a") };
        let lost: Arc<dyn AttemptRecords> = Arc::new(Lost);
        let at = RecordedAt { offset: 0, length: 1 };
        let ended = EndedAttempt::recorded(attempt, at, &lost, InMemory::Summary);
        state.apply(RunEvent::Finished(Arc::new(ended)));
        for format in ReportFormat::ALL {
            let of_summaries =
                matches!(format, ReportFormat::Junit | ReportFormat::Markdown | ReportFormat::VertexSummary);
            let written = format.write(&state, &mut Vec::new());
            assert_eq!(written.is_ok(), of_summaries, "{}: {written:?}", format.name());
            if let Err(error) = written {
                assert_eq!(error.to_string(), "a: the journal is gone", "{}", format.name());
            }
        }
    }
}
