//! A summary for a pull request: counts, metrics, and the cases that did not pass with the reason.

use super::attempts::{attempts_in_order, no_score_text, titled};
use super::cause_states::{CauseStates, state_text};
use super::failures::{
    change_for, failed_cases, groups_headline, groups_of, listed_groups, percent,
};
use super::format::{BASE, EarlierRuns, ReportFormat};
use super::markdown_cell::{cell, code};
use super::open_command::{export_command, open_command};
use super::remarks::{before_reason, run_remarks, why_with_remarks};
use evaltrail_core::analysis::repeated_passes;
use evaltrail_core::domain::{EndedAttempt, RunState, Status, statistic_text};
use evaltrail_core::formats::MARKDOWN_TITLE;
use evaltrail_core::metrics::{Aggregate, aggregates};
use std::fmt::Write;
use std::sync::Arc;

/// Maximum number of listed cases that did not pass, since the text of a pull request has a limit.
const LISTED: usize = 100;
/// Maximum number of causes that are listed.
const GROUPS_LISTED: usize = 20;
/// Maximum number of cases that are named for a cause.
const NAMED_OF_GROUP: usize = 3;

/// A summary for a pull request.
pub const REPORT: ReportFormat = ReportFormat {
    name: "markdown",
    alias: "md",
    ending: "md",
    write: |state, earlier, out| out.write_all(markdown_report(state, earlier).as_bytes()),
    write_comparison: Some(|compared, out| out.write_all(compared.markdown().as_bytes())),
    ..BASE
};

/// The report of a run.
fn markdown_report(state: &RunState, earlier: EarlierRuns<'_>) -> String {
    let mut out = format!("{MARKDOWN_TITLE}\n\n");
    counts_line(state, &mut out);
    quarantine_line(state, &mut out);
    for words in run_remarks(state) {
        let _ = writeln!(out, "{}\n", cell(&words));
    }
    if let Some(baseline) = earlier.baseline {
        baseline_lines(baseline.words, &mut out);
    }
    metrics_table(
        &titled(state, aggregates(attempts_in_order(state))),
        &mut out,
    );
    repeats_table(state, &mut out);
    let bad = state.finished.iter().filter(is_listed).count();
    if bad == 0 {
        return out;
    }
    let has_broken = |attempt: &Arc<EndedAttempt>| earlier.has_broken(attempt.key.case);
    let all = || attempts_in_order(state).filter(is_listed);
    let broke = all().filter(has_broken);
    let others = all().filter(|attempt| !has_broken(attempt));
    let listed: Vec<Arc<EndedAttempt>> = broke.chain(others).take(LISTED).collect();
    groups_table(state, earlier.causes, &mut out);
    cases_table(state, earlier, &listed, &mut out);
    if bad > LISTED {
        let _ = writeln!(out, "\n… and {} more", bad - LISTED);
    }
    let _ = writeln!(
        out,
        "\nTo open a case: {}, then for instance {}",
        code(&export_command(&state.plan)),
        code(&open_command(&state.plan, &listed[0].eval_id))
    );
    out
}

/// Whether an attempt is in the table of cases.
fn is_listed(attempt: &Arc<EndedAttempt>) -> bool {
    attempt.status != Status::Passed || !attempt.model_errors.is_empty()
}

/// The numbers of attempts by status, the time, the agent and the run.
fn counts_line(state: &RunState, out: &mut String) {
    let counts: Vec<String> = state
        .totals
        .each()
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, status)| format!("{} **{count}** {}", status.glyph(), status.label()))
        .collect();
    let time = state
        .ended
        .map(|seconds| format!(" in {seconds:.1} s"))
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "{}{time} · {} · run {}\n",
        counts.join(" · "),
        cell(&state.plan.agent_label()),
        code(&state.plan.run_id)
    );
}

/// How many of those that did not pass are quarantined, if any is.
fn quarantine_line(state: &RunState, out: &mut String) {
    match state.quarantined().ended() {
        0 => {}
        1 => out.push_str("1 of those that did not pass is quarantined\n\n"),
        count => {
            let _ = write!(
                out,
                "{count} of those that did not pass are quarantined\n\n"
            );
        }
    }
}

/// The cases that did not pass or whose model reported errors, with the reason.
fn cases_table(
    state: &RunState,
    earlier: EarlierRuns<'_>,
    listed: &[Arc<EndedAttempt>],
    out: &mut String,
) {
    out.push_str("\n| | case | why |\n|---|---|---|\n");
    for attempt in listed {
        let set = state.plan.case_location(attempt.key.case);
        let name = cell(&format!(
            "{set} › {}",
            attempt.title(state.plan.options.repeat)
        ));
        let before = before_reason(state, attempt, state.passes_gate(attempt.key.case));
        let broke = match earlier.has_broken(attempt.key.case) {
            true => "passed in the baseline: ",
            false => "",
        };
        let _ = writeln!(
            out,
            "| {} {} | {name} | {} |",
            attempt.status.glyph(),
            attempt.status.label(),
            cell(&format!("{broke}{before}{}", why_with_remarks(attempt)))
        );
    }
}

/// pass@k and pass^k of a run whose cases were repeated, and how many cases are flaky.
fn repeats_table(state: &RunState, out: &mut String) {
    let Some(passes) = repeated_passes(state) else {
        return;
    };
    if !passes.by_k.is_empty() {
        out.push_str("\n| k | pass@k | pass^k |\n|--:|--:|--:|\n");
    }
    for of in &passes.by_k {
        let _ = writeln!(out, "| {} | {:.3} | {:.3} |", of.k, of.pass_at, of.pass_hat);
    }
    for words in passes.remarks() {
        let _ = writeln!(out, "\n{}", cell(&words));
    }
}

/// How the run compares with the baseline, and the cases that broke.
fn baseline_lines(words: &str, out: &mut String) {
    let mut lines = words.lines();
    let first = lines.next().unwrap_or_default();
    let _ = writeln!(out, "**{}**\n", cell(first));
    for line in lines.map(str::trim) {
        let _ = writeln!(out, "- {}", cell(line));
    }
    out.push('\n');
}

/// What failed cases share, with the first cases of each cause.
fn groups_table(state: &RunState, states: Option<CauseStates<'_>>, out: &mut String) {
    let failed = failed_cases(state);
    let found = groups_of(&failed, states);
    let Some(headline) = groups_headline(&found, failed.len()) else {
        return;
    };
    let _ = write!(
        out,
        "\n**{headline}**\n\n| cases | share | cause | for instance |\n|--:|--:|---|---|\n"
    );
    let groups = listed_groups(&found);
    for group in groups.iter().take(GROUPS_LISTED) {
        let name = |at: &usize| {
            let case = failed[*at].key.case;
            cell(&format!(
                "{} › {}",
                state.plan.case_location(case),
                state.plan.cases.eval_id(case)
            ))
        };
        let (size, nesting) = (group.members.len(), if group.is_nested { "↳ " } else { "" });
        let mut cause = format!("{nesting}{}", cell(&group.cause));
        let state_of_cause = state_text(states, &group.shared);
        if !state_of_cause.is_empty() && !group.is_heading {
            let _ = write!(cause, " (**{}**)", cell(&state_of_cause));
        }
        let mut instances = String::new();
        if !group.is_heading {
            let names: Vec<String> = group
                .members
                .iter()
                .take(NAMED_OF_GROUP)
                .map(name)
                .collect();
            let more = size - names.len();
            let more = if more > 0 {
                format!(", … and {more} more")
            } else {
                String::new()
            };
            instances = format!("{}{more}", names.join(", "));
        }
        if let Some(change) = change_for(state, &failed, &group.members) {
            let _ = write!(cause, " (all would pass with {})", cell(&change));
        }
        let share = percent(size, failed.len());
        let _ = writeln!(out, "| {size} | {share} | {cause} | {instances} |");
    }
    let more = groups
        .iter()
        .skip(GROUPS_LISTED)
        .filter(|group| !group.is_heading)
        .count();
    if more > 0 {
        let _ = writeln!(out, "\n… and {more} more causes");
    }
}

fn metrics_table(metrics: &[Aggregate], out: &mut String) {
    if metrics.is_empty() {
        return;
    }
    out.push_str("| metric | mean | std | valid / errored / total | min | median | p90 | p95 |\n");
    out.push_str("|---|--:|--:|--:|--:|--:|--:|--:|\n");
    let number = |value: Option<f64>| value.map_or("—".into(), statistic_text);
    for of in metrics {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} / {} / {} | {} | {} | {} | {} |",
            cell(&format!("{}{}", of.metric, no_score_text(of))),
            number(of.mean),
            number(of.std),
            of.valid,
            of.errored,
            of.total,
            number(of.min),
            number(of.median),
            number(of.p90),
            number(of.p95)
        );
    }
}
