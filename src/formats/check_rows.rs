//! Checks of data sets: rows that cannot be read and duplicate ids.

use super::adk::{Issue, Severity};
use super::{Form, SetFile};
use std::collections::HashMap;
use std::sync::Arc;

/// Checks a file that is not in one of ADK's forms. `None` for one that is, and for a file that cannot be opened.
pub fn check_rows(text: &str) -> Option<Vec<Issue>> {
    let file = SetFile::open(Arc::from(text), "").ok().filter(|file| !file.form.is_adk())?;
    let mut issues = Vec::new();
    let mut first: HashMap<String, usize> = HashMap::new();
    for at in 0..file.len() {
        if let Err(problem) = file.case(at) {
            issues.push(Issue {
                severity: Severity::Error,
                line: problem.line,
                column: problem.column,
                path: problem.path,
                message: format!("expected {}, found {}", problem.expected, problem.found),
            });
        }
        let id = file.eval_id(at).into_owned();
        if let Some(before) = first.insert(id.clone(), at)
            && file.form != Form::EvaluationResult
        {
            issues.push(Issue {
                severity: Severity::Warning,
                line: file.line_of(at),
                column: 1,
                path: String::new(),
                message: format!("the id {id:?} is already used by row {}", before + 1),
            });
        }
    }
    Some(issues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_rows_and_taken_ids_are_told() {
        let text = "{\"id\": \"a\", \"prompt\": \"x\"}\nno\n{\"id\": \"a\", \"prompt\": \"y\", \"reference_trajectory\": 1}\n";
        let found = check_rows(text).unwrap();
        let said: Vec<(usize, bool)> =
            found.iter().map(|i| (i.line, i.severity == Severity::Error)).collect();
        assert_eq!(said, [(2, true), (3, true), (3, false)]);
        assert!(check_rows("{\"eval_set_id\": \"x\", \"eval_cases\": []}").is_none());
    }
}
