//! Drawing: a pure function from `&Model` and `&Theme` to cells.
//!
//! Only visible parts are built. All text is drawn by `widgets::text::put`, which removes control characters.

use crate::explorer::app::{footer, header, key_popup};
use crate::explorer::shared::layout::{SMALLEST, is_too_small};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier};

/// Draws the model. Returns the position of the text cursor, if there is one.
pub fn draw(model: &Model, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer
        .area
        .intersection(Rect::new(0, 0, model.size.0, model.size.1));
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
    let cursor = (model.view.screen.functions().draw)(model, &areas, theme, buffer);
    footer::draw(model, &areas, theme, buffer);
    key_popup::draw(model, &areas, theme, buffer);
    let cursor = match &model.view.open_dialog {
        None => cursor,
        Some(dialog) => dialog.draw(model, &areas, theme, buffer),
    };
    if !theme.dims_colours() {
        brighten_colours(area, buffer);
    }
    cursor
}

/// Removes dimming where a colour was patched onto it: many terminals draw a dimmed colour too dark to read.
fn brighten_colours(area: Rect, buffer: &mut Buffer) {
    for position in area.positions() {
        let cell = &mut buffer[position];
        if cell.fg != Color::Reset {
            cell.modifier.remove(Modifier::DIM);
        }
    }
}

fn too_small(area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let (width, height) = SMALLEST;
    let words = format!("too small: {width}×{height} is needed");
    put(
        buffer,
        area.x,
        area.y + area.height / 2,
        area.width,
        &words,
        theme.style(Role::Bad),
    );
}
