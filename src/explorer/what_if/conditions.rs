//! x

use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::model::Model;

pub(crate) fn has_suggestion(model: &Model) -> Enabled {
    let case = model.shown_case().ok_or("open a case first")?;
    let none = "no small change of criteria was found with which the case would pass";
    case.suggestion.as_ref().map(|_| ()).ok_or(none)
}
