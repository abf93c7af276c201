//! Fuzzy search for a case of the workspace.

use super::Dialog;
use crate::domain::Query;
use crate::explorer::case_ref::CaseRef;
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::motion::Motion;
use crate::explorer::screens::case::state::CaseOrigin;
use crate::explorer::screens::{browse, case};
use crate::explorer::theme::Theme;
use crate::explorer::widgets::picker::{Picker, pick};
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
    let mut finder = CaseFinder { picker: Picker::new(Vec::new()) };
    finder.find(model);
    super::open(model, finder)
}

/// Opens any case of the workspace: lists its set, and clears the filter if it hides the case.
pub(super) fn go_to(model: &mut Model, case: CaseRef) {
    if let Some(node) = browse::node_of_set(model, case.set) {
        browse::choose_node(model, node);
    }
    if !model.view.browse.visible.contains(&case) && model.view.browse.narrowing.is_some() {
        browse::narrow(model, None);
    }
    if !model.view.browse.visible.contains(&case) {
        browse::set_filter(model, String::new(), Query::default());
    }
    case::open(model, case, CaseOrigin::List);
}

/// Repeats an open search after a file was loaded.
pub(crate) fn find_again(model: &mut Model) {
    let Some(mut finder) = model.take_dialog::<CaseFinder>() else { return };
    let cursor = finder.picker.cursor;
    finder.find(model);
    finder.picker.cursor = cursor.min(finder.picker.found.len().saturating_sub(1));
    model.view.open_dialog = Some(Box::new(finder));
}

/// Updates listed cases whose positions changed. Cases that no longer exist are removed.
pub(super) fn follow(picker: &mut Picker<CaseRef>, new: &dyn Fn(CaseRef) -> Option<CaseRef>) {
    picker.found.retain_mut(|(case, _)| new(*case).map(|now| *case = now).is_some());
    picker.cursor = picker.cursor.min(picker.found.len().saturating_sub(1));
}

impl CaseFinder {
    fn find(&mut self, model: &Model) {
        self.picker.find(model.listed_sets().flat_map(|set| {
            let entries = model.file(set).map_or(0, |file| file.len());
            (0..entries).map(move |index| {
                let case = CaseRef { set, index };
                (case, format!("{} › {}", model.view.sets[set].path.stem, model.eval_id(case)))
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

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        if let Some(case) = self.picker.chosen() {
            go_to(model, case);
        }
        Some(Vec::new())
    }

    fn draw(&self, model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let row = |(case, name): &(CaseRef, String), area: Rect, style: Style, buffer: &mut Buffer| {
            if let Some(status) = model.view.outcomes.worst(*case) {
                put(buffer, area.x, area.y, 1, status.glyph(), theme.within(style, theme.status(status)));
            }
            put(buffer, area.x + 2, area.y, area.width.saturating_sub(2), name, style);
        };
        Some(pick(&self.picker, "find a case   enter open, esc cancel", areas, theme, buffer, row))
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        follow(&mut self.picker, new);
        true
    }
}
