//! Changes of a case by the editor: set, add, remove, duplicate and move fields.

mod add;
mod case_parts;
mod check;
mod rearrange;
mod set;
mod typed_values;

pub(super) use add::add_after;
pub(super) use check::{argument_warning, wrong_value};
pub(super) use rearrange::{duplicate, move_field, remove};
pub(super) use set::set;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::shared::case_field::{Adding, CaseField};
    use evaltrail_core::domain::EvalCase;

    fn case() -> EvalCase {
        let mut case = EvalCase::default();
        let added = |case: &mut EvalCase, field: &CaseField, adding, typed: &str| {
            add_after(case, field, adding, typed).unwrap()
        };
        added(&mut case, &CaseField::EvalId, Adding::Turn, "hello");
        let call = added(&mut case, &CaseField::Calls(0), Adding::Call, "get");
        added(&mut case, &call, Adding::Argument, "id = \"x\"");
        case
    }

    #[test]
    fn a_case_is_made_field_by_field() {
        let mut case = case();
        assert_eq!(case.turns()[0].calls()[0].args.as_ref().unwrap()["id"], "x");
        set(&mut case, &CaseField::Argument(0, 0, "id".into()), "1.0").unwrap();
        assert_eq!(
            case.turns()[0].calls()[0].args.as_ref().unwrap()["id"].to_string(),
            "1.0"
        );
        set(&mut case, &CaseField::Response(0), "a\nb").unwrap();
        set(&mut case, &CaseField::State, "{\"room\": \"x\"}").unwrap();
        set(&mut case, &CaseField::FinalState, "{}").unwrap();
        let rubric = add_after(&mut case, &CaseField::Rubrics, Adding::Rubric, "polite").unwrap();
        set(&mut case, &rubric, "is polite").unwrap();
        assert_eq!(case.rubrics[0].text.as_deref(), Some("is polite"));
        assert_eq!(
            duplicate(&mut case, &CaseField::Call(0, 0)).unwrap(),
            CaseField::Call(0, 1)
        );
        set(&mut case, &CaseField::Call(0, 1), "put").unwrap();
        assert_eq!(
            move_field(&mut case, &CaseField::Call(0, 1), false).unwrap(),
            CaseField::Call(0, 0)
        );
        let names: Vec<_> = case.turns()[0]
            .calls()
            .iter()
            .map(|call| call.name.clone())
            .collect();
        assert_eq!(names, ["put", "get"]);
        remove(&mut case, &CaseField::Argument(0, 1, "id".into())).unwrap();
        remove(&mut case, &CaseField::Call(0, 0)).unwrap();
        assert_eq!(case.turns()[0].calls().len(), 1);
    }

    #[test]
    fn invalid_input_is_reported_and_not_applied() {
        let case = case();
        let wrong =
            |field: CaseField, typed: &str| wrong_value(&case, &field, None, typed).unwrap();
        let argument = || CaseField::Argument(0, 0, "id".into());
        assert_eq!(
            wrong(argument(), "device two"),
            "text needs quotes: \"device two\""
        );
        assert!(wrong(argument(), "{\"a\": ").starts_with("at character 6: expected"));
        assert!(wrong(CaseField::State, "[1]").starts_with("expected an object"));
        assert!(wrong(CaseField::Call(0, 0), " ").contains("missing"));
        let again = wrong_value(
            &case,
            &CaseField::Call(0, 0),
            Some(Adding::Argument),
            "id = 1",
        );
        assert_eq!(
            again.as_deref(),
            Some("the call has an argument id already")
        );
        assert!(remove(&mut case.clone(), &CaseField::Turn(0)).is_err());
        assert_eq!(
            wrong_value(&case, &argument(), None, "NaN"),
            None,
            "Python's JSON has it"
        );
    }
}
