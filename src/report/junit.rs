//! JUnit XML, valid for any input: one test suite per eval set, one test case per attempt.

use crate::domain::{AttemptSummary, EndedAttempt, RunState, Status, clean};
use quick_xml::Writer;
use quick_xml::events::{BytesText, Event};
use std::io::{self, Write};

/// Writes the report of a run. Errors: those of `out`.
pub(super) fn write_junit_report(state: &RunState, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(out, b' ', 2);
    writer.write_event(Event::Decl(quick_xml::events::BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let totals = state.totals;
    writer
        .create_element("testsuites")
        .with_attribute(("name", "evaltrail"))
        .with_attribute(("tests", totals.ended().to_string().as_str()))
        .with_attribute(("failures", totals.failed.to_string().as_str()))
        .with_attribute(("errors", totals.errored.to_string().as_str()))
        .with_attribute(("skipped", totals.not_evaluated.to_string().as_str()))
        .write_inner_content(|writer| {
            (0..state.plan.sets.len()).try_for_each(|set| suite(writer, state, set))
        })?;
    Ok(())
}

fn suite(writer: &mut Writer<&mut dyn Write>, state: &RunState, set: usize) -> io::Result<()> {
    let attempts: Vec<&EndedAttempt> = (0..state.plan.cases.len())
        .filter(|&case| state.plan.cases[case].set == set)
        .flat_map(|case| state.attempts_of(case))
        .map(|attempt| attempt.as_ref())
        .collect();
    let count = |status| attempts.iter().filter(|attempt| attempt.status == status).count().to_string();
    let planned = &state.plan.sets[set];
    writer
        .create_element("testsuite")
        .with_attribute(("name", valid(&planned.file).as_str()))
        .with_attribute(("tests", attempts.len().to_string().as_str()))
        .with_attribute(("failures", count(Status::Failed).as_str()))
        .with_attribute(("errors", count(Status::Errored).as_str()))
        .with_attribute(("skipped", count(Status::NotEvaluated).as_str()))
        .write_inner_content(|writer| {
            attempts
                .iter()
                .try_for_each(|attempt| case(writer, &planned.id, attempt, state.plan.options.repeat))
        })?;
    Ok(())
}

fn case(
    writer: &mut Writer<&mut dyn Write>,
    set_id: &str,
    attempt: &AttemptSummary,
    repeat: u32,
) -> io::Result<()> {
    let name = attempt.title(repeat);
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", valid(set_id).as_str()))
        .with_attribute(("name", valid(&name).as_str()))
        .with_attribute(("time", format!("{:.3}", attempt.latency_s).as_str()));
    let kind = match attempt.status {
        Status::Passed => return element.write_empty().map(|_| ()),
        Status::Failed => "failure",
        Status::Errored => "error",
        Status::NotEvaluated | Status::Informational => "skipped",
    };
    let said = valid(&why(attempt));
    let first = said.lines().next().unwrap_or_default().to_string();
    element.write_inner_content(|writer| {
        let element = writer.create_element(kind).with_attribute(("message", first.as_str()));
        element.write_text_content(BytesText::new(&said)).map(|_| ())
    })?;
    Ok(())
}

fn why(attempt: &AttemptSummary) -> String {
    if let Some(error) = &attempt.error {
        return error.clone();
    }
    let lines: Vec<String> = attempt
        .metrics
        .iter()
        .filter(|metric| matches!(metric.status, Status::Failed | Status::NotEvaluated | Status::Errored))
        .map(|metric| format!("{} {}: {}", metric.metric, metric.status.label(), metric.explanation))
        .collect();
    lines.join("\n")
}

/// Text that is valid in XML 1.0: cleaned, and without the code points that XML forbids.
fn valid(text: &str) -> String {
    clean(text).chars().map(|c| if matches!(c, '\u{FFFE}' | '\u{FFFF}') { '\u{FFFD}' } else { c }).collect()
}
