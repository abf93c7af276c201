//! The choice of the set to which cases are moved, or to whose folder a set is moved.

use crate::explorer::authoring::sets;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::Theme;
use crate::explorer::widgets::picker::{Picker, pick};
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use tui_input::InputRequest;

/// Sets to choose from, by index.
#[derive(Debug)]
pub struct SetPicker {
    /// The matching sets.
    pub picker: Picker<usize>,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let picker = Picker::new(sets::targets(model));
    dialog::open(model, SetPicker { picker })
}

impl Dialog for SetPicker {
    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        self.picker.input.handle(request);
        self.picker.find(sets::targets(model).into_iter());
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        Some(
            self.picker
                .chosen()
                .map_or_else(Vec::new, |set| sets::move_to(model, set)),
        )
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row = |(_, words): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
            put(buffer, area.x, area.y, area.width, words, style);
        };
        Some(pick(
            &self.picker,
            "move to   enter move, esc cancel",
            areas,
            theme,
            buffer,
            row,
        ))
    }
}
