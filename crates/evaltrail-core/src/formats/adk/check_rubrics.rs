//! Rubrics that no judge can answer, or that no metric reads.

use crate::domain::{EvalCase, RUBRIC_KINDS, Rubric};
use crate::formats::json::JsonPath;

/// The problems of a case's rubrics, as messages.
pub fn wrong_rubrics_of_case(case: &EvalCase) -> Vec<String> {
    of_case(case, &JsonPath::default())
        .into_iter()
        .map(|(_, words)| words)
        .collect()
}

/// The problems of a criterion's rubrics, as messages.
pub fn wrong_rubrics_of_criterion(rubrics: &[Rubric]) -> Vec<String> {
    of_criterion(rubrics, &JsonPath::default())
        .into_iter()
        .map(|(_, words)| words)
        .collect()
}

/// The problems of a case's rubrics, each with its path; `at` is the path of the case.
pub(super) fn of_case(case: &EvalCase, at: &JsonPath) -> Vec<(JsonPath, String)> {
    let mut found = of_list(&case.rubrics, &[], &at.key("rubrics"), true);
    for (turn, invocation) in case.turns().iter().enumerate() {
        let path = at.key("conversation").index(turn).key("rubrics");
        found.extend(of_list(&invocation.rubrics, &case.rubrics, &path, true));
    }
    found
}

/// The problems of a criterion's rubrics, each with its path; `at` is the path of the criterion.
pub(super) fn of_criterion(rubrics: &[Rubric], at: &JsonPath) -> Vec<(JsonPath, String)> {
    of_list(rubrics, &[], &at.key("rubrics"), false)
}

/// `before` are rubrics that already apply to the same turns. In an eval set, a rubric without a type is never read.
fn of_list(
    rubrics: &[Rubric],
    before: &[Rubric],
    path: &JsonPath,
    in_set: bool,
) -> Vec<(JsonPath, String)> {
    let mut found = Vec::new();
    for (at, rubric) in rubrics.iter().enumerate() {
        let path = path.index(at);
        let same =
            |other: &&Rubric| other.id == rubric.id && (!in_set || other.kind == rubric.kind);
        if before
            .iter()
            .chain(&rubrics[..at])
            .any(|other| same(&other))
        {
            let why = format!(
                "the rubric id {:?} is already used; the metric is not evaluated",
                rubric.id
            );
            found.push((path.key("rubric_id"), why));
        }
        if rubric.text.as_deref().unwrap_or_default().trim().is_empty() {
            let why = format!(
                "the rubric {:?} has no text: a judge cannot answer it",
                rubric.id
            );
            found.push((path.clone(), why));
        }
        match rubric.read_as() {
            _ if !in_set => {}
            None => found.push((
                path.clone(),
                format!(
                    "no metric reads the rubric {:?}: it has no type ({KINDS})",
                    rubric.id
                ),
            )),
            Some(kind) if !RUBRIC_KINDS.contains(&kind) => {
                found.push((
                    path.key("type"),
                    format!("no metric reads rubrics of type {kind:?} ({KINDS})"),
                ));
            }
            Some(_) => {}
        }
    }
    found
}

const KINDS: &str = "FINAL_RESPONSE_QUALITY, TOOL_USE_QUALITY or TRAJECTORY_QUALITY";

#[cfg(test)]
mod tests {
    use crate::formats::adk::{KnownNames, check_text};

    #[test]
    fn unusable_rubrics_are_reported() {
        let rubric = |id: &str, text: &str, kind: &str| {
            format!(
                "{{\"rubric_id\": \"{id}\", \"rubric_content\": {{\"text_property\": \"{text}\"}}{kind}}}"
            )
        };
        let kind = ", \"type\": \"TOOL_USE_QUALITY\"";
        let list = [
            rubric("a", "x", kind),
            rubric("a", "y", kind),
            rubric("b", " ", kind),
            rubric("c", "z", ""),
            rubric("d", "z", ", \"type\": \"TONE\""),
        ];
        let set = format!(
            "{{\"eval_set_id\": \"s\", \"eval_cases\": [{{\"eval_id\": \"e\", \"conversation\": [], \"rubrics\": [{}]}}]}}",
            list.join(", ")
        );
        let issues = check_text(&set, "s.evalset.json", KnownNames::default());
        let said: Vec<(&str, &str)> = issues
            .iter()
            .map(|issue| (issue.path.as_str(), issue.message.as_str()))
            .collect();
        let wanted = [
            (
                "$.eval_cases[0].rubrics[1].rubric_id",
                "\"a\" is already used",
            ),
            ("$.eval_cases[0].rubrics[2]", "\"b\" has no text"),
            ("$.eval_cases[0].rubrics[3]", "\"c\": it has no type"),
            ("$.eval_cases[0].rubrics[4].type", "of type \"TONE\""),
        ];
        assert_eq!(said.len(), wanted.len(), "{said:?}");
        for ((path, message), (at, words)) in said.iter().zip(wanted) {
            assert!(*path == at && message.contains(words), "{path} {message}");
        }
        let metric = "rubric_based_tool_use_quality_v1";
        let config = format!(
            "{{\"criteria\": {{\"{metric}\": {{\"threshold\": 1, \"rubrics\": [{}, {}]}}}}}}",
            rubric("a", "x", ""),
            rubric("a", "", "")
        );
        let said: Vec<String> = check_text(&config, "c.json", KnownNames::default())
            .into_iter()
            .map(|issue| issue.message)
            .collect();
        assert_eq!(said.len(), 2, "{said:?}");
    }
}
