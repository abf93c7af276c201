//! Drawing: a pure function from `&Model` and `&Theme` to cells.
//!
//! Only visible parts are built. All text is drawn by `widgets::text::put`, which removes control characters.

mod footer;
mod header;
mod keys;
pub mod svg;

use super::layout::{SMALLEST, is_too_small};
use super::model::Model;
use super::screens::{entry, layout};
use super::theme::{Role, Theme};
use super::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Draws the model. Returns the position of the text cursor, if there is one.
pub fn draw(model: &Model, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer.area.intersection(Rect::new(0, 0, model.size.0, model.size.1));
    if area.is_empty() {
        return None;
    }
    buffer.set_style(area, theme.style(Role::Text));
    if is_too_small(model.size) {
        too_small(area, theme, buffer);
        return None;
    }
    let areas = layout(model);
    header::draw(model, &areas, theme, buffer);
    header::banner(model, &areas, theme, buffer);
    let cursor = (entry(&model.view.screen).draw)(model, &areas, theme, buffer);
    footer::draw(model, &areas, theme, buffer);
    keys::draw(model, &areas, theme, buffer);
    match &model.view.open_dialog {
        None => cursor,
        Some(dialog) => dialog.draw(model, &areas, theme, buffer),
    }
}

fn too_small(area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let (width, height) = SMALLEST;
    let words = format!("too small: {width}×{height} is needed");
    put(buffer, area.x, area.y + area.height / 2, area.width, &words, theme.style(Role::Bad));
}
