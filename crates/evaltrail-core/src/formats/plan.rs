//! Edits independent of a file's text, so that they can be applied to a file that was changed in the meantime.

use super::SetFile;
use super::edit::{
    EditError, change_case, change_set, copy_case, insert_case, remove_cases, retype_case,
};
use super::json::TextChange;
use crate::domain::EvalCase;

/// An edit of an eval set. Cases are identified by their positions in the file as it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Replaces a case.
    Case(usize, Box<EvalCase>),
    /// Replaces the text of a case.
    Typed(usize, String),
    /// Inserts a case at this position.
    Insert(usize, Box<EvalCase>),
    /// Copies a case under another id.
    Copy(usize, String),
    /// Removes cases.
    Remove(Vec<usize>),
    /// Sets a member of the set itself to this text.
    Set(&'static str, String),
}

/// The text change for all edits together. Edits of the same case cannot be combined.
pub fn plan(file: &SetFile, edits: &[Edit]) -> Result<TextChange, EditError> {
    let mut changes = Vec::new();
    for edit in edits {
        let change = match edit {
            Edit::Case(at, meant) => change_case(file, *at, meant),
            Edit::Typed(at, text) => retype_case(file, *at, text),
            Edit::Insert(at, case) => insert_case(file, *at, case),
            Edit::Copy(at, eval_id) => copy_case(file, *at, eval_id),
            Edit::Remove(gone) => remove_cases(file, gone),
            Edit::Set(key, value) => change_set(file, key, value),
        }?;
        changes.extend(change.0);
    }
    changes.sort_by_key(|splice| (splice.at, !splice.old.is_empty()));
    let overlap = changes
        .windows(2)
        .any(|pair| pair[0].at + pair[0].old.len() > pair[1].at);
    match overlap {
        true => Err(EditError::Unsupported(
            "these edits change the same part of the file".into(),
        )),
        false => Ok(TextChange(changes)),
    }
}

/// The text change that appends cases, in order.
pub fn append_cases(file: &SetFile, cases: &[EvalCase]) -> Result<TextChange, EditError> {
    let (first, rest) = match cases {
        // Two insertions into an empty list would have no comma between them.
        [first, rest @ ..] if file.is_empty() && !rest.is_empty() => (first, rest),
        _ => return plan(file, &insertions(file, cases)),
    };
    let text = file.text();
    let apply = |change: TextChange, text: &str| {
        let lost = || EditError::Unsupported("the file changed meanwhile".into());
        change.apply(text).ok_or_else(lost)
    };
    let with_first = apply(insert_case(file, 0, first)?, text)?;
    let one = SetFile::open(with_first.clone().into(), &file.id).map_err(EditError::Unreadable)?;
    let all = apply(plan(&one, &insertions(&one, rest))?, &with_first)?;
    Ok(TextChange::one(0, text, &all))
}

fn insertions(file: &SetFile, cases: &[EvalCase]) -> Vec<Edit> {
    let insert = |case: &EvalCase| Edit::Insert(file.len(), Box::new(case.clone()));
    cases.iter().map(insert).collect()
}

/// The same edits for the current file: `None` when a case that they change has changed in the file.
pub fn rebase(was: &SetFile, now: &SetFile, edits: &[Edit]) -> Option<Vec<Edit>> {
    let moved = |at: usize| {
        let before = was.text_of(at)?;
        (0..now.len()).find(|other| now.text_of(*other) == Some(before))
    };
    let again = |edit: &Edit| {
        Some(match edit {
            Edit::Case(at, meant) => Edit::Case(moved(*at)?, meant.clone()),
            Edit::Typed(at, text) => Edit::Typed(moved(*at)?, text.clone()),
            Edit::Insert(at, case) => Edit::Insert((*at).min(now.len()), case.clone()),
            Edit::Copy(at, eval_id) => Edit::Copy(moved(*at)?, eval_id.clone()),
            Edit::Remove(gone) => {
                Edit::Remove(gone.iter().map(|at| moved(*at)).collect::<Option<_>>()?)
            }
            Edit::Set(key, value) => Edit::Set(key, value.clone()),
        })
    };
    edits.iter().map(again).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn set(cases: &[(&str, &str)]) -> SetFile {
        let case = |(id, tool): &(&str, &str)| {
            format!(
                r#"{{"eval_id": "{id}", "conversation": [{{"user_content": {{"parts": [{{"text": "hi"}}]}},
                "intermediate_data": {{"tool_uses": [{{"name": "{tool}"}}]}}}}]}}"#
            )
        };
        let cases: Vec<String> = cases.iter().map(case).collect();
        let text = format!(
            r#"{{"eval_set_id": "s", "eval_cases": [{}]}}"#,
            cases.join(", ")
        );
        SetFile::open(Arc::from(text), "s").unwrap()
    }

    fn to(file: &SetFile, at: usize, tool: &str) -> Edit {
        let mut case = file.case(at).unwrap();
        if let crate::domain::Conversation::Turns(turns) = &mut case.conversation {
            turns[0]
                .trajectory
                .change_call(0, |call| call.name = tool.into());
        }
        Edit::Case(at, Box::new(case))
    }

    #[test]
    fn edits_of_several_cases_are_one_change() {
        let file = set(&[("a", "x"), ("b", "x")]);
        let change = plan(&file, &[to(&file, 1, "z"), to(&file, 0, "y")]).unwrap();
        assert_eq!(
            change.apply(file.text()).unwrap(),
            set(&[("a", "y"), ("b", "z")]).text()
        );
        assert!(plan(&file, &[to(&file, 0, "y"), to(&file, 0, "z")]).is_err());
    }

    #[test]
    fn a_case_is_inserted_where_another_is_removed() {
        let file = set(&[("a", "x"), ("b", "x"), ("c", "x")]);
        let new = set(&[("new", "y")]).case(0).unwrap();
        let change = plan(
            &file,
            &[Edit::Remove(vec![0]), Edit::Insert(0, Box::new(new))],
        )
        .unwrap();
        let after = SetFile::open(change.apply(file.text()).unwrap().into(), "s").unwrap();
        assert_eq!(after.eval_ids().collect::<Vec<_>>(), ["new", "b", "c"]);
    }

    #[test]
    fn an_edit_follows_its_case() {
        let (was, now) = (
            set(&[("a", "x"), ("b", "x")]),
            set(&[("new", "x"), ("a", "x"), ("b", "other")]),
        );
        let again = rebase(&was, &now, &[to(&was, 0, "y")]).unwrap();
        let change = plan(&now, &again).unwrap();
        let merged = set(&[("new", "x"), ("a", "y"), ("b", "other")]);
        assert_eq!(change.apply(now.text()).unwrap(), merged.text());
        assert_eq!(
            rebase(&was, &now, &[to(&was, 1, "y")]),
            None,
            "the case was changed in the file"
        );
    }

    /// Appending several cases gives the same text as appending one after the other.
    #[test]
    fn several_cases_are_appended_in_order() {
        let case = |id: &str| EvalCase {
            eval_id: id.into(),
            ..EvalCase::default()
        };
        let cases = ["x", "y", "z"].map(case);
        for text in [
            "{\n  \"eval_set_id\": \"s\",\n  \"eval_cases\": []\n}\n",
            "{\n  \"eval_set_id\": \"s\",\n  \"eval_cases\": [\n    {\"eval_id\": \"a\", \"conversation\": []}\n  ]\n}\n",
        ] {
            let open = |text: &str| SetFile::open(text.to_string().into(), "s").unwrap();
            let change = append_cases(&open(text), &cases).unwrap();
            let all = change.apply(text).unwrap();
            let mut expected = text.to_string();
            for case in &cases {
                let file = open(&expected);
                let change = insert_case(&file, file.len(), case).unwrap();
                expected = change.apply(&expected).unwrap();
            }
            assert_eq!(all, expected);
            assert_eq!(change.inverse().apply(&all).as_deref(), Some(text));
        }
    }
}
