//! Validation of the text that is typed into a field, before it is applied.

use super::add::add_after;
use super::set::set;
use super::typed_values::{FieldError, json_value};
use crate::explorer::shared::case_field::{Adding, CaseField};
use crate::explorer::shared::tools::KnownTools;
use evaltrail_core::domain::EvalCase;

/// Validates the text typed so far. Returns the error, if any. Does not check whether the id of the case is unique in
/// its file.
pub(crate) fn wrong_value(
    case: &EvalCase,
    field: &CaseField,
    adding: Option<Adding>,
    typed: &str,
) -> Option<FieldError> {
    let mut edited = case.clone();
    match adding {
        None => set(&mut edited, field, typed).err(),
        Some(adding) => add_after(&mut edited, field, adding, typed).err(),
    }
}

/// A warning about the valid value of an argument whose kind is not the usual one.
pub(crate) fn argument_warning(
    case: &EvalCase,
    tools: &KnownTools,
    field: &CaseField,
    adding: Option<Adding>,
    typed: &str,
) -> Option<String> {
    let (name, value) = match (adding, field) {
        (None, CaseField::Argument(.., name)) => (name.as_str(), typed),
        (Some(Adding::Argument), _) => typed.split_once('=')?,
        _ => return None,
    };
    let (CaseField::Call(turn, call) | CaseField::Argument(turn, call, _)) = field else {
        return None;
    };
    let calls = case.turns().get(*turn)?.calls();
    let value = json_value(value).ok()?;
    tools.kind_warning(&calls.get(*call)?.name, name.trim(), &value)
}
