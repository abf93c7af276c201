//! The JSON report, as docs/cli.md describes it. Missing values are null. Cases are in the file's order.

use super::attempts::{attempts_in_order, cases_not_run};
use super::cause_states::CauseStates;
use super::failures::{change_for, failed_cases, groups_of};
use super::format::{BASE, EarlierRuns, ReportFormat};
use super::json_case::WrittenCase;
use evaltrail_core::analysis::{
    CauseState, FailureGroup, PassCount, RepeatedPass, count_of, pass_rate, repeated_passes,
};
use evaltrail_core::domain::{Gate, RunState, Status, VerdictCounts};
use evaltrail_core::formats::json::{JsonLayout, write_with_list};
use evaltrail_core::metrics::{Aggregate, aggregates};
use serde_json::{Value, json};
use std::io::{self, Write};

/// evaltrail's own format, with all results.
pub(super) const REPORT: ReportFormat = ReportFormat {
    name: "json",
    ending: "json",
    write: |state, earlier, out| write_file(state, earlier, JsonLayout::LinePerItem, out),
    write_indented: Some(|state, earlier, out| {
        write_file(state, earlier, JsonLayout::Indented, out)
    }),
    write_comparison: Some(|compared, out| writeln!(out, "{:#}", compared.json())),
    ..BASE
};

fn write_file(
    state: &RunState,
    earlier: EarlierRuns<'_>,
    layout: JsonLayout,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_json_report(state, earlier, layout, out)?;
    out.write_all(b"\n")
}

/// Writes the report of a run. Errors: those of `out`, and attempts that cannot be read.
pub fn write_json_report(
    state: &RunState,
    earlier: EarlierRuns<'_>,
    layout: JsonLayout,
    out: &mut dyn Write,
) -> io::Result<()> {
    let totals = state.totals;
    let of_metric = |of: &Aggregate| {
        let mut summary = summary(of);
        summary["different_options"] = state.plan.has_different_scoring(&of.metric).into();
        summary
    };
    let mut report = json!({
        "evaltrail": env!("CARGO_PKG_VERSION"),
        "run_id": state.plan.run_id,
        "started": state.plan.started,
        "duration_s": state.ended,
        "agent": state.plan.agent_label(),
        "summary": {
            "cases": (0..state.plan.cases.len()).filter(|case| state.has_ended(*case)).count(),
            // The counts by status are of attempts.
            "attempts": totals.ended(),
            "pass_rate": pass_rate(state.finished.iter().map(|attempt| (attempt.key, attempt.status))),
            "passed": totals.passed,
            "failed": totals.failed,
            "errored": totals.errored,
            "not_evaluated": totals.not_evaluated,
            // The attempts in which the model reported an error, of any status.
            "model_errors": state.finished.iter().filter(|attempt| !attempt.model_errors.is_empty()).count(),
            // Among those that did not pass.
            "quarantined": state.quarantined().ended(),
            // What the judges of all attempts spent.
            "judges": state.spent(),
            "gate": gate(state),
            "metrics": aggregates(attempts_in_order(state)).iter().map(of_metric).collect::<Vec<_>>(),
            "groups": groups(state, earlier.causes),
        },
        "not_run": not_run(state),
        "unavailable_agents": unavailable_agents(state),
        "cases": [],
    });
    if let Some(baseline) = earlier.baseline {
        let broke = baseline.broke.iter().map(|case| case_name(state, *case));
        report["summary"]["baseline"] =
            json!({"text": baseline.words, "broke": broke.collect::<Vec<_>>()});
    }
    if let Some(causes) = earlier.causes {
        let gone = causes.gone().into_iter();
        report["summary"]["causes_gone"] = gone.map(|one| one.cause.describe()).collect();
    }
    if state.plan.options.repeat > 1 {
        report["summary"]["repeats"] = repeats(state);
    }
    if let Some(passes) = repeated_passes(state) {
        let of_k = |of: &RepeatedPass| json!({"k": of.k, "pass_at_k": of.pass_at, "pass_hat_k": of.pass_hat, "cases": passes.cases});
        report["summary"]["repeated_passes"] = passes.by_k.iter().map(of_k).collect();
        report["summary"]["flaky"] = passes.flaky.into();
    }
    let cases = attempts_in_order(state).map(|ended| {
        let (attempt, unsteady) = (ended.read_to_write()?, ended.unsteady);
        let reason = match ended.status {
            Status::Passed => String::new(),
            _ => ended.reason_with_model_errors(),
        };
        Ok(WrittenCase {
            plan: &state.plan,
            attempt,
            unsteady,
            reason,
        })
    });
    write_with_list(out, (&report, layout), "cases", cases, |text| text)
}

/// The gate, and how many of the planned cases pass it and do not; quarantined ones are among the latter.
fn gate(state: &RunState) -> Value {
    let counts = state.gate_counts();
    let mut gate = json!({
        "name": state.plan.options.gate.name(),
        "passed": counts.passed,
        "not_passed": counts.planned - counts.passed,
        "quarantined": counts.quarantined,
    });
    if matches!(state.plan.options.gate, Gate::Until(_)) {
        let VerdictCounts {
            pass,
            fail,
            undecided,
        } = state.verdict_counts();
        gate["verdicts"] = json!({"pass": pass, "fail": fail, "undecided": undecided});
    }
    gate
}

/// The agents that could not be used, so that their attempts were not started.
fn unavailable_agents(state: &RunState) -> Vec<Value> {
    let agents = state.unavailable.iter();
    agents
        .map(|one| json!({"agent": one.agent, "error": one.error, "attempts": one.attempts}))
        .collect()
}

fn not_run(state: &RunState) -> Vec<Value> {
    cases_not_run(state)
        .map(|case| case_name(state, case))
        .collect()
}

/// What identifies a case. Sets in different folders may have the same id.
fn case_name(state: &RunState, case: usize) -> Value {
    let set = state.plan.set_of(case);
    json!({"eval_set": set.id, "file": set.file, "eval_id": state.plan.cases.eval_id(case)})
}

/// What failed cases share: the most specific groups, the largest first. The cases of a group are in the file's order.
fn groups(state: &RunState, states: Option<CauseStates<'_>>) -> Vec<Value> {
    let failed = failed_cases(state);
    let name = |at: &usize| case_name(state, failed[*at].key.case);
    let found = groups_of(&failed, states);
    let group = |group: &FailureGroup| {
        let cases: Vec<Value> = group.members.iter().map(name).collect();
        let change = change_for(state, &failed, &group.members);
        let outer = found
            .groups
            .iter()
            .find(|outer| outer.nested.contains(group));
        json!({
            "cause": group.cause.describe(),
            // What became of it over the runs; null where there are no other runs.
            "state": states.and_then(|states| states.state(&group.cause)).map(CauseState::name),
            "within": outer.map(|outer| outer.cause.describe()),
            "share": group.members.len() as f64 / failed.len() as f64,
            "would_pass_with": change,
            "cases": cases,
        })
    };
    found.specific().iter().map(group).collect()
}

/// Mean and spread of a metric, with the number of values.
fn summary(of: &Aggregate) -> Value {
    json!({
        "metric": of.metric,
        "mean": of.mean,
        "std": of.std,
        "valid": of.valid,
        "errored": of.errored,
        "total": of.total,
        "mean_errors_as_zero": of.mean_errors_as_zero,
        "min": of.min,
        "median": of.median,
        "p90": of.p90,
        "p95": of.p95,
        // Why the first attempt without a score has none.
        "why_no_score": (!of.why_none.is_empty()).then_some(&of.why_none),
    })
}

/// The results of each case over its attempts.
fn repeats(state: &RunState) -> Value {
    let of_case = |case: usize| {
        let attempts = state.attempts_of(case);
        let count = count_of(state, case);
        let of_k = |of: fn(PassCount, usize) -> Option<f64>| -> Vec<Option<f64>> {
            (1..=state.plan.options.repeat as usize)
                .map(|k| of(count, k))
                .collect()
        };
        json!({
            "eval_set": state.plan.set_of(case).id,
            "file": state.plan.set_of(case).file,
            "eval_id": state.plan.cases.eval_id(case),
            "attempts": attempts.len(),
            "passed": count.passed,
            "evaluated": count.of,
            "flaky": count.is_flaky(),
            "passes_gate": state.passes_gate(case),
            "pass_rate": count.rate(),
            "pass_rate_95": count.interval().map(|(low, high)| [low, high]),
            "pass_at_k": of_k(PassCount::pass_at),
            "pass_hat_k": of_k(PassCount::pass_hat),
            "metrics": aggregates(attempts.iter().map(|attempt| attempt.summary())).iter().map(summary).collect::<Vec<_>>(),
        })
    };
    (0..state.plan.cases.len()).map(of_case).collect()
}
