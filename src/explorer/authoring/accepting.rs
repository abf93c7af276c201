//! Accepting differences from a list, which opens the case first.

use super::accept_difference;
use super::conditions::can_accept;
use crate::explorer::shared::case_screen::CaseOrigin;
use crate::explorer::shared::command_names::ACCEPT;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shown_case::refresh;

/// Proposes to accept the first difference of the case that was just opened.
pub(crate) fn accept_first_difference(model: &mut Model) -> Vec<Effect> {
    let mut effects: Vec<Effect> = refresh::refresh_body(model).into_iter().collect();
    match can_accept(model) {
        Ok(()) => effects.extend(accept_difference(model)),
        Err(why) => {
            let words = format!("{}: {why}", ACCEPT.name);
            effects.extend(notices::notify(model, words, false));
        }
    }
    effects
}

/// Proposes to accept the marked difference or, in a list without a preview, opens the case under the cursor and proposes to
/// accept its first difference.
pub(crate) fn accept_here(model: &mut Model) -> Vec<Effect> {
    if model.shown_case().is_some() {
        return accept_difference(model);
    }
    let Some(case) = model.current_case() else {
        return Vec::new();
    };
    refresh::open(model, case, CaseOrigin::List);
    accept_first_difference(model)
}
