//! JUnit XML, valid for any input: one test suite per eval set, one test case per attempt.

use super::attempts::cases_not_run;
use super::format::{BASE, EarlierRuns, ReportFormat};
use super::open_command::{export_command, open_command};
use super::remarks::before_reason;
use evaltrail_core::domain::{AttemptSummary, RateVerdict, RunState, Status, clean};
use quick_xml::Writer;
use quick_xml::events::{BytesText, Event};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The element of a test without a verdict.
const SKIPPED: &str = "skipped";

/// JUnit XML, for CI.
pub(super) const REPORT: ReportFormat = ReportFormat {
    name: "junit",
    alias: "xml",
    ending: "xml",
    write: write_junit_report,
    ..BASE
};

/// Writes the report of a run. Errors: those of `out`.
fn write_junit_report(
    state: &RunState,
    earlier: EarlierRuns<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(out, b' ', 2);
    writer.write_event(Event::Decl(quick_xml::events::BytesDecl::new(
        "1.0",
        Some("UTF-8"),
        None,
    )))?;
    let (totals, not_counted, not_run) = (
        state.totals,
        state.not_counted(),
        cases_not_run(state).count(),
    );
    let all = 0..state.plan.cases.len();
    let undecided = all.filter(|case| is_undecided(state, *case)).count();
    writer
        .create_element("testsuites")
        .with_attribute(("name", "evaltrail"))
        .with_attribute((
            "tests",
            (totals.ended() + not_run + undecided).to_string().as_str(),
        ))
        .with_attribute((
            "failures",
            (totals.failed - not_counted.failed + undecided)
                .to_string()
                .as_str(),
        ))
        .with_attribute((
            "errors",
            (totals.errored - not_counted.errored).to_string().as_str(),
        ))
        .with_attribute((
            "skipped",
            (totals.not_evaluated + not_counted.failed + not_counted.errored + not_run)
                .to_string()
                .as_str(),
        ))
        .write_inner_content(|writer| {
            (0..state.plan.sets.len()).try_for_each(|set| suite(writer, (state, earlier), set))
        })?;
    Ok(())
}

/// A run, and how it compares with earlier ones.
type Reported<'a> = (&'a RunState, EarlierRuns<'a>);

fn suite(
    writer: &mut Writer<&mut dyn Write>,
    (state, earlier): Reported<'_>,
    set: usize,
) -> io::Result<()> {
    let cases = || (0..state.plan.cases.len()).filter(|case| state.plan.cases.set_of(*case) == set);
    let not_run = || cases_not_run(state).filter(|case| state.plan.cases.set_of(*case) == set);
    let of_case = |case: usize| {
        let passes_gate = state.passes_gate(case);
        state
            .attempts_of(case)
            .into_iter()
            .map(move |attempt| (attempt, passes_gate))
    };
    let attempts = || cases().flat_map(of_case);
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    attempts().for_each(|(attempt, passes_gate)| {
        *counts
            .entry(element_of(state, &attempt, passes_gate))
            .or_default() += 1;
    });
    *counts.entry(Some(SKIPPED)).or_default() += not_run().count();
    let is_undecided = |case: &usize| is_undecided(state, *case);
    *counts.entry(Some("failure")).or_default() += cases().filter(is_undecided).count();
    let count = |kind| counts.get(&Some(kind)).copied().unwrap_or(0).to_string();
    let planned = &state.plan.sets[set];
    let name = |case: usize| state.plan.case_location(case);
    writer
        .create_element("testsuite")
        .with_attribute(("name", valid(&planned.file).as_str()))
        .with_attribute(("tests", counts.values().sum::<usize>().to_string().as_str()))
        .with_attribute(("failures", count("failure").as_str()))
        .with_attribute(("errors", count("error").as_str()))
        .with_attribute(("skipped", count(SKIPPED).as_str()))
        .write_inner_content(|writer| {
            attempts().try_for_each(|(attempt, passes_gate)| {
                case(
                    writer,
                    (state, earlier),
                    &name(attempt.key.case),
                    (&attempt, passes_gate),
                )
            })?;
            cases()
                .filter(is_undecided)
                .try_for_each(|case| undecided_case(writer, &name(case), state, case))?;
            not_run().try_for_each(|case| {
                case_not_run(writer, &name(case), state.plan.cases.eval_id(case))
            })
        })?;
    Ok(())
}

fn case(
    writer: &mut Writer<&mut dyn Write>,
    (state, earlier): Reported<'_>,
    set_id: &str,
    (attempt, passes_gate): (&AttemptSummary, bool),
) -> io::Result<()> {
    let name = attempt.title(state.plan.options.repeat);
    let time = attempt
        .latency_s
        .map(|seconds| format!("{:.3}", seconds.abs()));
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", valid(set_id).as_str()))
        .with_attribute(("name", valid(&name).as_str()))
        .with_attributes(time.as_deref().map(|time| ("time", time)));
    let remarks = valid(&attempt.remarks());
    let Some(kind) = element_of(state, attempt, passes_gate) else {
        return match remarks.is_empty() {
            true => element.write_empty().map(|_| ()),
            false => element
                .write_inner_content(|writer| system_out(writer, &remarks))
                .map(|_| ()),
        };
    };
    let broke = match earlier.has_broken(attempt.key.case) {
        true => "passed in the baseline: ",
        false => "",
    };
    let said = valid(&format!(
        "{broke}{}{}",
        before_reason(state, attempt, passes_gate),
        why(attempt)
    ));
    let first = said.lines().next().unwrap_or_default().to_string();
    let said = format!(
        "{said}\n\nto open it: {}, then {}",
        valid(&export_command(&state.plan)),
        valid(&open_command(&state.plan, &attempt.eval_id))
    );
    element.write_inner_content(|writer| {
        let mut element = writer
            .create_element(kind)
            .with_attribute(("message", first.as_str()));
        // Failures with the same type have the same cause.
        if let Some(cause) = attempt.causes.first().filter(|_| kind != SKIPPED) {
            element = element.with_attribute(("type", valid(&cause.describe()).as_str()));
        }
        element.write_text_content(BytesText::new(&said))?;
        if remarks.is_empty() {
            Ok(())
        } else {
            system_out(writer, &remarks)
        }
    })?;
    Ok(())
}

/// Whether a case that was run until its pass rate is known has all its attempts and stays undecided: it does not pass.
fn is_undecided(state: &RunState, case: usize) -> bool {
    state.rate_verdict(case) == Some(RateVerdict::Undecided)
        && !state.lacks_attempts(case)
        && state.plan.cases.quarantine(case).is_none()
}

fn undecided_case(
    writer: &mut Writer<&mut dyn Write>,
    set_id: &str,
    state: &RunState,
    case: usize,
) -> io::Result<()> {
    let tally = state.tally(case);
    let name = format!("{} (pass rate)", state.plan.cases.eval_id(case));
    let message = format!(
        "undecided after {} attempts, of which {} passed: {}",
        tally.ended,
        tally.passed,
        state.plan.options.gate.describe()
    );
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", valid(set_id).as_str()))
        .with_attribute(("name", valid(&name).as_str()));
    element.write_inner_content(|writer| {
        writer
            .create_element("failure")
            .with_attribute(("message", message.as_str()))
            .write_empty()?;
        Ok(())
    })?;
    Ok(())
}

fn case_not_run(
    writer: &mut Writer<&mut dyn Write>,
    set_id: &str,
    eval_id: &str,
) -> io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", valid(set_id).as_str()))
        .with_attribute(("name", valid(eval_id).as_str()));
    element.write_inner_content(|writer| {
        writer
            .create_element(SKIPPED)
            .with_attribute(("message", "not run to its end"))
            .write_empty()?;
        Ok(())
    })?;
    Ok(())
}

/// What to know beside the outcome.
fn system_out(writer: &mut Writer<&mut dyn Write>, remarks: &str) -> io::Result<()> {
    writer
        .create_element("system-out")
        .write_text_content(BytesText::new(remarks))
        .map(|_| ())
}

/// The element for the result of an attempt; `None` if it passed. Failures that do not fail the run are skipped: those of
/// quarantined cases, and of cases that pass the gate.
fn element_of(
    state: &RunState,
    attempt: &AttemptSummary,
    passes_gate: bool,
) -> Option<&'static str> {
    let is_counted = state.plan.cases.quarantine(attempt.key.case).is_none() && !passes_gate;
    match attempt.status {
        Status::Passed => None,
        _ if !is_counted => Some(SKIPPED),
        Status::Failed => Some("failure"),
        Status::Errored => Some("error"),
        Status::NotEvaluated | Status::Informational => Some(SKIPPED),
    }
}

fn why(attempt: &AttemptSummary) -> String {
    if let Some(error) = &attempt.error {
        return error.clone();
    }
    if attempt.status == Status::Passed {
        return String::new();
    }
    let reported = attempt.model_error_text();
    let lines: Vec<String> = attempt
        .metrics
        .iter()
        .filter(|metric| {
            matches!(
                metric.status,
                Status::Failed | Status::NotEvaluated | Status::Errored
            )
        })
        .map(|metric| {
            format!(
                "{} {}: {}",
                metric.metric,
                metric.status.label(),
                metric.explanation
            )
        })
        .collect();
    let lines = if lines.is_empty() {
        vec![attempt.reason().to_string()]
    } else {
        lines
    };
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    reported
        .into_iter()
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Text that is valid in XML 1.0: cleaned, and without the code points that XML forbids.
fn valid(text: &str) -> String {
    clean(text)
        .chars()
        .map(|c| {
            if matches!(c, '\u{FFFE}' | '\u{FFFF}') {
                '\u{FFFD}'
            } else {
                c
            }
        })
        .collect()
}
