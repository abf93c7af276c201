//! The cursor of the case editor: the field under it, and scrolling.

use crate::explorer::screens::edit::state::EditScreen;
use crate::explorer::shared::case_field::CaseField;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen::layout;

/// The editor, if it is the current screen.
pub(super) fn screen(model: &mut Model) -> Option<&mut EditScreen> {
    model.screen_mut()
}

/// The field under the cursor.
pub(super) fn field(edit: &EditScreen) -> Option<CaseField> {
    edit.row().map(|row| row.field.clone())
}

/// Scrolls so that the row under the cursor is visible.
pub(super) fn keep_in_sight(model: &mut Model) {
    let page = page(model).max(1);
    if let Some(edit) = screen(model) {
        edit.scroll = edit
            .scroll
            .min(edit.cursor)
            .max((edit.cursor + 1).saturating_sub(page));
    }
}

fn page(model: &Model) -> usize {
    usize::from(inside(layout(model).main).height)
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let page = page(model);
    if let Some(edit) = screen(model) {
        edit.cursor = motion.target(edit.cursor, edit.rows.len(), page);
    }
    keep_in_sight(model);
}

/// Handles the mouse: the wheel moves the cursor, and a click moves it to a row.
pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    let inner = inside(layout(model).main);
    if let Some(motion) = mouse.kind.wheel() {
        scroll(model, motion);
    } else if let Some(edit) = screen(model)
        && edit.typing.is_none()
        && (inner.y..inner.bottom()).contains(&mouse.y)
    {
        let at = edit.scroll + usize::from(mouse.y - inner.y);
        edit.cursor = at.min(edit.rows.len().saturating_sub(1));
    }
    keep_in_sight(model);
    Vec::new()
}
