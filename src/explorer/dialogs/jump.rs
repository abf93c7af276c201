//! Fuzzy search for a case of the workspace.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::Theme;
use crate::explorer::shown_case::refresh::go_to;
use crate::explorer::widgets::picker::{Picker, follow, pick};
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use tui_input::InputRequest;

/// Cases to choose from.
#[derive(Debug)]
pub struct CaseFinder {
    /// The matching cases.
    pub picker: Picker<CaseRef>,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let mut finder = CaseFinder {
        picker: Picker::new(Vec::new()),
    };
    finder.find(model);
    dialog::open(model, finder)
}

impl CaseFinder {
    fn find(&mut self, model: &Model) {
        self.picker.find(model.listed_sets().flat_map(|set| {
            let entries = model.file(set).map_or(0, |file| file.len());
            (0..entries).map(move |index| {
                let case = CaseRef { set, index };
                (
                    case,
                    format!(
                        "{} › {}",
                        model.view.sets[set].path.stem,
                        model.eval_id(case)
                    ),
                )
            })
        }));
    }
}

impl Dialog for CaseFinder {
    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        self.picker.input.handle(request);
        self.find(model);
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn on_set_loaded(&mut self, model: &Model) {
        let cursor = self.picker.cursor;
        self.find(model);
        self.picker.cursor = cursor.min(self.picker.found.len().saturating_sub(1));
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        if let Some(case) = self.picker.chosen() {
            go_to(model, case);
        }
        Some(Vec::new())
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row =
            |(case, name): &(CaseRef, String), area: Rect, style: Style, buffer: &mut Buffer| {
                if let Some(status) = model.view.outcomes.worst(*case) {
                    put(
                        buffer,
                        area.x,
                        area.y,
                        1,
                        status.glyph(),
                        theme.within(style, theme.status(status)),
                    );
                }
                put(
                    buffer,
                    area.x + 2,
                    area.y,
                    area.width.saturating_sub(2),
                    name,
                    style,
                );
            };
        Some(pick(
            &self.picker,
            "find a case   enter open, esc cancel",
            areas,
            theme,
            buffer,
            row,
        ))
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        follow(&mut self.picker, new);
        true
    }
}
