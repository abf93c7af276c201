//! Checks of data sets: rows that cannot be read and duplicate ids.

use super::adk::{Issue, Severity};
use super::foreign::of_text;
use super::problem::FileProblem;
use super::vertex::NEEDED;
use super::{FileFormat, FileHints, SetFile};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Checks a file that is not in one of ADK's forms. `None` for one that is, and for a file that cannot be opened.
pub fn check_rows(text: &str, read_as: &FileHints) -> Option<Vec<Issue>> {
    let file = match SetFile::open_as(Arc::from(text), "", read_as) {
        Ok(file) => Some(file).filter(|file| !file.form.is_adk())?,
        Err(problem) if problem.expected == NEEDED || of_text(text).is_some() => {
            return Some(vec![unreadable(problem)]);
        }
        Err(_) => return None,
    };
    let mut issues = Vec::new();
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut lacks_prompt = false;
    for at in 0..file.len() {
        match file.case(at) {
            Err(problem) => issues.push(unreadable(problem)),
            // Once for a file, and only if another column may be the prompt.
            Ok(case) if !lacks_prompt && case.extra.values().any(Value::is_string) => {
                if let Some(message) = case.missing_prompt() {
                    lacks_prompt = true;
                    issues.push(warning(file.line_of(at), message));
                }
            }
            Ok(_) => {}
        }
        let id = file.eval_id(at).into_owned();
        if let Some(before) = first.insert(id.clone(), at)
            && file.form != FileFormat::EvaluationResult
        {
            let message = format!("the id {id:?} is already used by row {}", before + 1);
            issues.push(warning(file.line_of(at), message));
        }
    }
    Some(issues)
}

fn warning(line: usize, message: String) -> Issue {
    Issue {
        severity: Severity::Warning,
        line,
        column: 1,
        path: String::new(),
        message,
    }
}

fn unreadable(problem: FileProblem) -> Issue {
    Issue {
        severity: Severity::Error,
        line: problem.line,
        column: problem.column,
        path: problem.path,
        message: format!("expected {}, found {}", problem.expected, problem.found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_rows_and_duplicate_ids_are_reported() {
        let text = "{\"id\": \"a\", \"prompt\": \"x\"}\nno\n{\"id\": \"a\", \"prompt\": \"y\", \"reference_trajectory\": 1}\n";
        let found = check_rows(text, &FileHints::default()).unwrap();
        let said: Vec<(usize, bool)> = found
            .iter()
            .map(|i| (i.line, i.severity == Severity::Error))
            .collect();
        assert_eq!(said, [(2, true), (3, true), (3, false)]);
        assert!(
            check_rows(
                "{\"eval_set_id\": \"x\", \"eval_cases\": []}",
                &FileHints::default()
            )
            .is_none()
        );
    }
}
