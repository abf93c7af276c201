//! Edits of a file of cases, each as the smallest change of the file's text.
//!
//! ```text
//! case as read ──▶ canonical JSON ─┐
//! edited case ───▶ canonical JSON ─┴─ json::rewrite ──▶ TextChange ──▶ read back and compared
//! ```

use super::adk::{
    SchemaProblem, convert_key_case, refusals, write_case, write_named_case, write_turns,
};
use super::json::{self, JsonPath, Names, TextChange};
use super::{FileFormat, FileProblem, SetFile};
use crate::domain::EvalCase;
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

/// Why an edit cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EditError {
    /// Files of this form cannot be edited.
    #[error(
        "a file of this form ({0}) cannot be edited; `evaltrail convert` converts it to an eval set"
    )]
    Form(&'static str),
    /// The edited part of the file cannot be read.
    #[error("{0}")]
    Unreadable(FileProblem),
    /// ADK would refuse to load the file with this change.
    #[error("ADK refuses this: {0}")]
    Refused(FileProblem),
    /// The edit cannot be represented in this file.
    #[error("{0}")]
    Unsupported(String),
}

/// Whether cases of a file can be changed.
pub fn is_editable(file: &SetFile) -> Result<(), EditError> {
    match file.form.is_adk() && file.is_in_memory() {
        true => Ok(()),
        false => Err(EditError::Form(file.form.label())),
    }
}

/// The text change that turns a case into `meant`. Nothing else in the file changes.
pub fn change_case(file: &SetFile, at: usize, meant: &EvalCase) -> Result<TextChange, EditError> {
    is_editable(file)?;
    let text = file.text();
    let range = file
        .range(at)
        .ok_or_else(|| EditError::Unsupported("the case no longer exists".into()))?;
    let before = file.case(at).map_err(EditError::Unreadable)?;
    let (old, new) = (canonical(&before, file.form), canonical(meant, file.form));
    if old == new && before != *meant {
        return Err(unsupported(file));
    }
    let change = json::rewrite(text, range.clone(), &old, &new, names(file, at))
        .map_err(|error| EditError::Unreadable(FileProblem::syntax(text, error)))?;
    let now = changed_range(&range, &change);
    confirm(file, &change, now, |read| canonical(read, file.form) == new)?;
    if let Some(problem) = newly_refused(file, &old, &new, &new.to_string()) {
        return Err(EditError::Refused(problem));
    }
    Ok(change)
}

/// The text change that replaces the text of a case with `typed`, the text that the user typed.
pub fn retype_case(file: &SetFile, at: usize, typed: &str) -> Result<TextChange, EditError> {
    is_editable(file)?;
    let text = file.text();
    let range = file
        .range(at)
        .ok_or_else(|| EditError::Unsupported("the case no longer exists".into()))?;
    let typed = typed.trim().replace("\r\n", "\n");
    let typed = if text.contains("\r\n") {
        typed.replace('\n', "\r\n")
    } else {
        typed
    };
    let change = TextChange::one(range.start, &text[range.clone()], &typed);
    let read = confirm(file, &change, changed_range(&range, &change), |_| true)?;
    let others = (0..file.len()).filter(|other| *other != at);
    if read.eval_id != file.eval_id(at)
        && others
            .clone()
            .any(|other| file.eval_id(other) == read.eval_id)
    {
        let words = format!("there is a case {:?} in this file already", read.eval_id);
        return Err(EditError::Unsupported(words));
    }
    if let (Ok(before), Ok(after)) = (json::parse(&text[range]), json::parse(&typed))
        && let Some(problem) = newly_refused(file, &before.value, &after.value, &typed)
    {
        return Err(EditError::Refused(problem));
    }
    Ok(change)
}

/// The first problem for which ADK refuses a case, and which the case did not have before. Earlier problems are
/// allowed, so that an invalid case can be fixed step by step.
fn newly_refused(file: &SetFile, before: &Value, after: &Value, text: &str) -> Option<FileProblem> {
    if file.form != FileFormat::EvalSet {
        return None;
    }
    let mut known = refusals(before);
    let is_new = |finding: &SchemaProblem| {
        let same = |one: &SchemaProblem| {
            (&one.expected, &one.found) == (&finding.expected, &finding.found)
        };
        known
            .iter()
            .position(same)
            .map(|at| known.remove(at))
            .is_none()
    };
    let finding = refusals(after).into_iter().find(is_new)?;
    let (line, column) = json::position(text, json::locate(text, &finding.path));
    let path = finding.path.to_string();
    Some(FileProblem {
        line,
        column,
        path,
        expected: finding.expected,
        found: finding.found,
    })
}

/// The text change that inserts a case at a position.
pub fn insert_case(file: &SetFile, at: usize, case: &EvalCase) -> Result<TextChange, EditError> {
    insert(file, at, &canonical(case, file.form), None)
}

/// The text change that appends a case of another file with all its content. Keys that ADK knows get the spelling of
/// this file; all other keys stay as they are.
pub fn append_case(file: &SetFile, from: &SetFile, at: usize) -> Result<TextChange, EditError> {
    let case = from.case(at).map_err(EditError::Unreadable)?;
    let whole = match (from.form, file.form, from.text_of(at).map(json::parse)) {
        (FileFormat::EvalSet, FileFormat::EvalSet, Some(Ok(parsed))) => parsed.value,
        _ => canonical(&case, file.form),
    };
    insert(file, file.len(), &whole, None)
}

/// The text change that inserts a copy of a case after it. The copy has another id and otherwise the same text.
pub fn copy_case(file: &SetFile, at: usize, eval_id: &str) -> Result<TextChange, EditError> {
    is_editable(file)?;
    let mut case = file.case(at).map_err(EditError::Unreadable)?;
    let text = file.text();
    let range = file.range(at).unwrap_or_default();
    let old = canonical(&case, file.form);
    case.eval_id = eval_id.to_string();
    let new = canonical(&case, file.form);
    let copied = text[range.clone()].to_string();
    let renamed = json::rewrite(&copied, 0..copied.len(), &old, &new, names(file, at));
    let renamed = renamed
        .ok()
        .and_then(|change| change.apply(&copied))
        .unwrap_or(copied);
    insert(file, at + 1, &new, Some(&renamed))
}

fn insert(
    file: &SetFile,
    at: usize,
    case: &Value,
    verbatim: Option<&str>,
) -> Result<TextChange, EditError> {
    let list = list_of(file)?;
    let case = match file.form {
        FileFormat::EvalSet => {
            &convert_key_case(case, names(file, at.saturating_sub(1)) == Names::Camel)
        }
        _ => case,
    };
    let change = json::insert_element(file.text(), list, at, case, verbatim)
        .map_err(|error| EditError::Unreadable(FileProblem::syntax(file.text(), error)))?;
    reread(file, &change, file.len() + 1)?;
    Ok(change)
}

/// The text change that removes cases.
pub fn remove_cases(file: &SetFile, gone: &[usize]) -> Result<TextChange, EditError> {
    let list = list_of(file)?;
    let change = json::remove_elements(file.text(), list, gone)
        .map_err(|error| EditError::Unreadable(FileProblem::syntax(file.text(), error)))?;
    let left = (0..file.len()).filter(|at| !gone.contains(at)).count();
    reread(file, &change, left)?;
    Ok(change)
}

/// The text change of a member of the set itself: its id, name or description.
pub fn change_set(file: &SetFile, key: &str, value: &str) -> Result<TextChange, EditError> {
    if file.form != FileFormat::EvalSet {
        return Err(EditError::Unsupported(format!(
            "a {} has no {key}",
            file.form.label()
        )));
    }
    let text = file.text();
    let fail = |error| EditError::Unreadable(FileProblem::syntax(text, error));
    let top = JsonPath::default();
    let at = json::locate(text, &top);
    let end = text.trim_end().len();
    let old = match super::index::outline(text, &[])
        .map_err(fail)?
        .members
        .into_iter()
        .find(|(found, _)| found == key || super::read::same_name(found, key))
    {
        Some((_, range)) => {
            serde_json::json!({ key: json::parse(&text[range]).map_err(fail)?.value })
        }
        None => serde_json::json!({}),
    };
    json::rewrite(
        text,
        at..end,
        &old,
        &serde_json::json!({ key: value }),
        Names::Camel,
    )
    .map_err(fail)
}

/// A case as the canonical JSON of its file's form. An edit changes what differs in it.
fn canonical(case: &EvalCase, form: FileFormat) -> Value {
    match form {
        FileFormat::NamedList => write_named_case(case),
        FileFormat::TurnList => write_turns(case),
        _ => write_case(case),
    }
}

fn names(file: &SetFile, at: usize) -> Names {
    match (file.form, file.text_of(at).or_else(|| file.text_of(0))) {
        (FileFormat::EvalSet, Some(text)) if text.contains("\"evalId\"") => Names::Camel,
        (FileFormat::EvalSet, None) if file.text().contains("\"evalCases\"") => Names::Camel,
        (FileFormat::EvalSet, _) => Names::Snake,
        _ => Names::Exact,
    }
}

/// Where the list of cases begins.
fn list_of(file: &SetFile) -> Result<usize, EditError> {
    is_editable(file)?;
    let unlisted = || {
        EditError::Unsupported(format!(
            "a {} contains only one conversation",
            file.form.label()
        ))
    };
    file.list_start().ok_or_else(unlisted)
}

fn changed_range(range: &Range<usize>, change: &TextChange) -> Range<usize> {
    let grown: isize = change
        .0
        .iter()
        .map(|one| one.new.len() as isize - one.old.len() as isize)
        .sum();
    range.start..range.end.saturating_add_signed(grown)
}

/// Reads the changed case back and checks that it is the intended one.
fn confirm(
    file: &SetFile,
    change: &TextChange,
    range: Range<usize>,
    is_meant: impl Fn(&EvalCase) -> bool,
) -> Result<EvalCase, EditError> {
    let lost = || EditError::Unsupported("the change does not fit the file".into());
    let part = part_of(file.text(), change, &range).ok_or_else(lost)?;
    let (before, after) = match file.form {
        FileFormat::TurnList => ("", ""),
        FileFormat::NamedList => ("[", "]"),
        _ => ("{\"eval_set_id\":\"\",\"eval_cases\":[", "]}"),
    };
    let reads =
        SetFile::open(Arc::from(format!("{before}{part}{after}")), "").and_then(|read| match read
            .len()
        {
            1 => read.case(0).map(Some),
            _ => Ok(None),
        });
    match reads.map_err(|problem| relative_to_case(problem, file.form, before.len()))? {
        Some(read) if is_meant(&read) => Ok(read),
        Some(_) => Err(unsupported(file)),
        None => Err(EditError::Unsupported(
            "the text is not exactly one case".into(),
        )),
    }
}

fn unsupported(file: &SetFile) -> EditError {
    EditError::Unsupported(format!(
        "this edit cannot be represented in a file of this form ({})",
        file.form.label()
    ))
}

/// A problem of the changed case, with path and column relative to the case.
fn relative_to_case(problem: FileProblem, form: FileFormat, before: usize) -> EditError {
    let path = match form {
        FileFormat::EvalSet => problem.path.replacen("$.eval_cases[0]", "$", 1),
        _ => problem.path.replacen("$[0]", "$", 1),
    };
    let column = if problem.line == 1 {
        problem.column.saturating_sub(before).max(1)
    } else {
        problem.column
    };
    EditError::Unreadable(FileProblem {
        path,
        column,
        ..problem
    })
}

/// The text of a range after a change within it.
fn part_of(text: &str, change: &TextChange, after: &Range<usize>) -> Option<String> {
    let grown: isize = change
        .0
        .iter()
        .map(|one| one.new.len() as isize - one.old.len() as isize)
        .sum();
    let before = text.get(after.start..after.end.checked_add_signed(-grown)?)?;
    let moved = change.0.iter().map(|one| {
        Some(json::Splice {
            at: one.at.checked_sub(after.start)?,
            ..one.clone()
        })
    });
    TextChange(moved.collect::<Option<_>>()?).apply(before)
}

/// Opens the changed text and checks the number of cases.
fn reread(file: &SetFile, change: &TextChange, count: usize) -> Result<(), EditError> {
    let text = change.apply(file.text()).unwrap_or_default();
    let read = SetFile::open(Arc::from(text), &file.id).map_err(EditError::Unreadable)?;
    match read.len() == count {
        true => Ok(()),
        false => Err(EditError::Unsupported(
            "the change does not fit the file".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(cases: &[Value], camel: bool) -> SetFile {
        let (id, list) = if camel {
            ("evalSetId", "evalCases")
        } else {
            ("eval_set_id", "eval_cases")
        };
        SetFile::open(Arc::from(json!({id: "s", list: cases}).to_string()), "s").unwrap()
    }

    fn case() -> Value {
        json!({
            "eval_id": "a", "my_note": {"ticket_id": 1, "nested_list": [{"deep_key": 2}]},
            "conversation": [{
                "user_content": {"parts": [{"text": "hi", "part_metadata": {"my_meta": {"a_b": 1}}}], "role": "user"},
                "intermediate_data": {"tool_uses": [{"name": "f", "args": {"bed_name": "x"}, "will_continue": true}]},
            }],
            "session_input": {"app_name": "g", "user_id": "u", "state": {"k_k": 1}, "session_extra": {"k_v": 1}},
        })
    }

    fn typed(pointer: &str, value: Value) -> Value {
        let mut case = case();
        match pointer.rsplit_once('/') {
            Some((parent, key)) => {
                let parent = case.pointer_mut(parent).unwrap();
                parent.as_object_mut().unwrap().insert(key.into(), value);
            }
            None => case = value,
        }
        case
    }

    #[test]
    fn a_typed_case_that_adk_refuses_is_no_change() {
        let file = set(
            &[case(), json!({"eval_id": "b", "conversation": []})],
            false,
        );
        for (pointer, value, said) in [
            ("/conversation/0/colour", json!("red"), "colour"),
            (
                "/conversation/0/user_content/colour",
                json!("red"),
                "colour",
            ),
            (
                "/conversation/0/user_content/parts/0/colour",
                json!("red"),
                "colour",
            ),
            (
                "/conversation/0/user_content/parts/0/thought_signature",
                json!("not base 64"),
                "Base64",
            ),
            (
                "/conversation/0/user_content/parts/0/inline_data",
                json!({"data": "YQ", "size": 1}),
                "size",
            ),
            (
                "/conversation/0/intermediate_data/tool_uses/0/partial_args",
                json!([{"x": 1}]),
                "x",
            ),
            (
                "/conversation/0/intermediate_data/tool_uses",
                Value::Null,
                "a list",
            ),
            ("/conversation/0/invocation_id", Value::Null, "a string"),
            (
                "/conversation_scenario",
                json!({"starting_prompt": "a", "conversation_plan": "b"}),
                "both",
            ),
            ("/session_input", json!({"app_name": "g"}), "user_id"),
            ("/rubrics", json!([{"rubric_id": "r"}]), "rubric_content"),
            ("/creation_timestamp", json!("soon"), "a number"),
            ("/eval_id", json!("b"), "already"),
        ] {
            let refused = retype_case(&file, 0, &typed(pointer, value).to_string());
            let words = refused.expect_err(pointer).to_string();
            assert!(words.contains(said), "{pointer}: {words}");
        }
        for (pointer, value) in [
            ("/my_other", json!({"any_thing": 1})),
            ("/session_input/more", json!(1)),
            ("/conversation", json!([])),
            (
                "/conversation/0/user_content/parts/0/thought_signature",
                json!("-_8"),
            ),
            ("/rubrics", Value::Null),
        ] {
            assert!(
                retype_case(&file, 0, &typed(pointer, value).to_string()).is_ok(),
                "{pointer}"
            );
        }
    }

    #[test]
    fn edit_is_refused_only_for_new_problems() {
        let wrong = typed("/conversation/0/user_content/parts/0/colour", json!("red"));
        let file = set(std::slice::from_ref(&wrong), false);
        let mut better = wrong.clone();
        better["conversation"][0]["user_content"]["parts"][0]["text"] = json!("hello");
        assert!(retype_case(&file, 0, &better.to_string()).is_ok());
        better["conversation"][0]["colour"] = json!("red");
        assert!(
            retype_case(&file, 0, &better.to_string()).is_err(),
            "a new problem is refused"
        );
    }

    #[test]
    fn key_style_conversion_preserves_custom_keys() {
        let other = json!({"evalId": "b", "conversation": []});
        let (from, to) = (set(&[case()], false), set(&[other], true));
        let moved = append_case(&to, &from, 0)
            .unwrap()
            .apply(to.text())
            .unwrap();
        for key in [
            "my_note",
            "ticket_id",
            "nested_list",
            "deep_key",
            "my_meta",
            "a_b",
            "bed_name",
            "session_extra",
            "k_v",
            "k_k",
        ] {
            assert!(moved.contains(&format!("\"{key}\"")), "{key}: {moved}");
        }
        for key in [
            "evalId",
            "userContent",
            "partMetadata",
            "toolUses",
            "willContinue",
            "sessionInput",
            "appName",
        ] {
            assert!(moved.contains(&format!("\"{key}\"")), "{key}: {moved}");
        }
        let moved = SetFile::open(Arc::from(moved), "s").unwrap();
        let empty = set(&[json!({"eval_id": "c", "conversation": []})], false);
        let back = append_case(&empty, &moved, 1)
            .unwrap()
            .apply(empty.text())
            .unwrap();
        let back: Value = serde_json::from_str(&back).unwrap();
        assert_eq!(
            back["eval_cases"][1],
            case(),
            "unchanged after the round trip"
        );
    }
}
