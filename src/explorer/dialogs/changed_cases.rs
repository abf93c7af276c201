//! The list of cases whose status a what-if changes.

use crate::explorer::shared::active_what_if::StatusChange;
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
pub struct ChangedCases {
    /// The list.
    pub picker: Picker<CaseRef>,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let status_changes = model
        .view
        .what_if
        .as_ref()
        .map(|what_if| what_if.status_changes.clone())
        .unwrap_or_default();
    let words = |status_change: &StatusChange| {
        let set = &model.view.sets[status_change.case.set].path.stem;
        let (from, to) = (status_change.from.label(), status_change.to.label());
        (
            status_change.case,
            format!(
                "{set} › {}   {from} → {to}",
                model.eval_id(status_change.case)
            ),
        )
    };
    let picker = Picker::new(status_changes.iter().map(words).collect());
    dialog::open(model, ChangedCases { picker })
}

impl Dialog for ChangedCases {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.edit(request);
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        if let Some(case) = self.picker.chosen() {
            go_to(model, case);
        }
        Some(Vec::new())
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row =
            |(_, words): &(CaseRef, String), area: Rect, style: Style, buffer: &mut Buffer| {
                put(buffer, area.x, area.y, area.width, words, style);
            };
        Some(pick(
            &self.picker,
            "changed cases   enter open, esc cancel",
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
