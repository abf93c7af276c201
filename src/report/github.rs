//! Annotations of GitHub Actions: lines on standard output that GitHub shows beside the run and the files.

use super::failures::{FailedCase, failed_cases, groups_of};
use crate::domain::{RunState, clean_line};

/// GitHub shows at most this number of annotations of a step.
const MOST: usize = 10;
/// Maximum number of cases that an annotation names.
const NAMED: usize = 5;
/// Maximum length of a message, in characters.
const LONGEST: usize = 1000;

/// One annotation for each cause that failures share, the largest group first, then one for each other failure.
/// Failures of quarantined cases are warnings, all others errors.
pub fn github_annotations(state: &RunState) -> Vec<String> {
    let failed = failed_cases(state);
    let found = groups_of(&failed);
    let mut lines: Vec<String> = Vec::new();
    for group in &found.groups {
        let cases: Vec<&FailedCase> = group.members.iter().map(|at| &failed[*at]).collect();
        let title = format!("{} cases: {}", cases.len(), group.cause.words());
        lines.push(annotation(state, &cases, &title));
    }
    for at in &found.alone {
        let case = &failed[*at];
        lines.push(annotation(state, &[case], &case.attempt.eval_id));
    }
    if lines.len() > MOST {
        let more = lines.len() - (MOST - 1);
        lines.truncate(MOST - 1);
        lines.push(format!(
            "::error title=evaltrail::{}",
            data(&format!("and {more} more; see the summary of the step"))
        ));
    }
    lines
}

fn annotation(state: &RunState, cases: &[&FailedCase], title: &str) -> String {
    let of = |case: &&FailedCase| &state.plan.cases[case.attempt.key.case];
    let is_quarantined = cases.iter().all(|case| of(case).quarantine.is_some());
    let level = if is_quarantined { "warning" } else { "error" };
    let file = cases.first().map(|case| &state.plan.set_of(case.attempt.key.case).file);
    let line = |case: &&FailedCase| format!("{}: {}", case.attempt.eval_id, case.attempt.reason());
    let mut text: Vec<String> = cases.iter().take(NAMED).map(line).collect();
    if cases.len() > NAMED {
        text.push(format!("and {} more", cases.len() - NAMED));
    }
    let text: Vec<String> =
        text.iter().map(|line| clean_line(line).chars().take(LONGEST).collect()).collect();
    let file = property(file.map_or("", String::as_str));
    format!("::{level} file={file},title={}::{}", property(title), data(&text.join("\n")))
}

/// Escapes a message as GitHub reads it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(&clean_line(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_an_annotation_or_begins_another() {
        assert_eq!(property("a,b: c%\n::error::x"), "a%2Cb%3A c%25␊%3A%3Aerror%3A%3Ax");
        assert_eq!(data("50 %\n::stop-commands::x"), "50 %25%0A::stop-commands::x");
    }
}
