//! Annotations of GitHub Actions: lines on standard output that GitHub shows beside the run and the files.

use super::cause_states::{CauseStates, is_new_or_back, state_text};
use super::failures::{FailedCase, failed_cases, groups_of};
use evaltrail_core::analysis::FailureGroup;
use evaltrail_core::domain::{RunPlan, RunState, UnavailableAgent, clean_line};
use std::path::Path;

/// GitHub shows at most this number of annotations of a step.
const MAX_ANNOTATIONS: usize = 10;
/// Maximum number of cases that an annotation names.
const MAX_NAMED_CASES: usize = 5;
/// Maximum length of a message, in characters.
const MAX_MESSAGE_CHARS: usize = 1000;

/// One annotation for each agent that could not be used, one for each cause that failures share, the largest group first,
/// then one for each other failure: errors, then warnings for failures of quarantined cases.
/// `top` is the folder of the repository, from which GitHub reads the paths of files, and `plan` the run's plan with the real
/// paths: a run that other people may read has none.
pub fn github_annotations(
    state: &RunState,
    plan: &RunPlan,
    top: Option<&Path>,
    causes: Option<CauseStates<'_>>,
) -> Vec<String> {
    let is_not_counted = |case: &FailedCase| {
        state.plan.cases.quarantine(case.key.case).is_some() || state.passes_gate(case.key.case)
    };
    let (not_counted, counted): (Vec<_>, Vec<_>) =
        failed_cases(state).into_iter().partition(is_not_counted);
    let mut lines = unavailable_agents(state);
    lines.extend(annotations((state, plan, top), "error", &counted, causes));
    lines.extend(annotations(
        (state, plan, top),
        "warning",
        &not_counted,
        causes,
    ));
    if lines.len() > MAX_ANNOTATIONS {
        let more = lines.split_off(MAX_ANNOTATIONS - 1);
        let level = if more.iter().any(|line| line.starts_with("::error")) {
            "error"
        } else {
            "warning"
        };
        let words = format!("and {} more; see the summary of the step", more.len());
        lines.push(format!("::{level} title=evaltrail::{}", data(&words)));
    }
    lines
}

fn unavailable_agents(state: &RunState) -> Vec<String> {
    let annotation = |one: &UnavailableAgent| {
        let title = property(&format!("the agent {}", one.agent));
        let text: String = clean_line(&one.text())
            .chars()
            .take(MAX_MESSAGE_CHARS)
            .collect();
        format!("::error title={title}::{}", data(&text))
    };
    state.unavailable.iter().map(annotation).collect()
}

/// A run, its plan with the real paths, and the folder of the repository.
type Annotated<'a> = (&'a RunState, &'a RunPlan, Option<&'a Path>);

fn annotations(
    (state, plan, top): Annotated,
    level: &str,
    failed: &[FailedCase],
    causes: Option<CauseStates<'_>>,
) -> Vec<String> {
    let found = groups_of(failed, causes);
    let of_group = |group: &FailureGroup| {
        let cases: Vec<&FailedCase> = group.members.iter().map(|at| &failed[*at]).collect();
        let title = match cases.len() {
            1 => group.cause.describe(),
            count => format!("{count} cases: {}", group.cause.describe()),
        };
        let title = match state_text(causes, &group.cause) {
            known if known.is_empty() => title,
            known => format!("{title} ({known})"),
        };
        annotation((state, plan, top), level, &cases, &title)
    };
    let alone = found.alone.iter().map(|at| {
        let case = &failed[*at];
        let name = state.plan.cases.eval_id(case.key.case);
        let title = match case.news(causes) {
            known if known.is_empty() => name.to_string(),
            known => format!("{name} ({known})"),
        };
        annotation((state, plan, top), level, &[case], &title)
    });
    let mut specific = found.specific();
    specific.sort_by_key(|group| !is_new_or_back(causes, &group.cause));
    specific.iter().map(of_group).chain(alone).collect()
}

fn annotation(
    (state, plan, top): Annotated,
    level: &str,
    cases: &[&FailedCase],
    title: &str,
) -> String {
    let file = cases.first().map(|case| {
        let set = plan.set_of(case.key.case);
        path_below(top, &set.path).unwrap_or_else(|| set.file.clone())
    });
    let line = |case: &&FailedCase| {
        let attempt = case.attempt(state)?;
        let at = attempt.key.case;
        let position = match state.plan.cases.is_repeated(at) {
            true => format!(" (case {})", state.plan.cases.index_in_file(at) + 1),
            false => String::new(),
        };
        Some(format!(
            "{}{position}: {}",
            attempt.eval_id,
            attempt.reason_with_model_errors()
        ))
    };
    let mut text: Vec<String> = cases
        .iter()
        .take(MAX_NAMED_CASES)
        .filter_map(line)
        .collect();
    if cases.len() > MAX_NAMED_CASES {
        text.push(format!("and {} more", cases.len() - MAX_NAMED_CASES));
    }
    let text: Vec<String> = text
        .iter()
        .map(|line| clean_line(line).chars().take(MAX_MESSAGE_CHARS).collect())
        .collect();
    let file = property(&file.unwrap_or_default());
    format!(
        "::{level} file={file},title={}::{}",
        property(title),
        data(&text.join("\n"))
    )
}

/// The path below a folder, with slashes; `None` if it is not there.
fn path_below(top: Option<&Path>, path: &Path) -> Option<String> {
    let below = path.strip_prefix(top?).ok()?;
    Some(
        below
            .iter()
            .map(|part| part.to_string_lossy())
            .collect::<Vec<_>>()
            .join("/"),
    )
}

/// Escapes a message as GitHub reads it.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(&clean_line(text))
        .replace(':', "%3A")
        .replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_annotation_is_escaped() {
        assert_eq!(
            property("a,b: c%\n::error::x"),
            "a%2Cb%3A c%25⏎%3A%3Aerror%3A%3Ax"
        );
        let set = Path::new("/repo/evals/s.json");
        assert_eq!(
            path_below(Some(Path::new("/repo")), set).as_deref(),
            Some("evals/s.json")
        );
        assert_eq!(
            (
                path_below(Some(Path::new("/other")), set),
                path_below(None, set)
            ),
            (None, None)
        );
        assert_eq!(
            data("50 %\n::stop-commands::x"),
            "50 %25%0A::stop-commands::x"
        );
    }
}
