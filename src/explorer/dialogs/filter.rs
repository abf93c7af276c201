//! The line in which the filter of the list is typed. It is applied with every key.

use crate::explorer::case_list::filter_completion::{FieldValues, FilterCompletion};
use crate::explorer::case_list::listing;
use crate::explorer::prompts::line::{CONFIRM_OR_CANCEL, draw_line};
use crate::explorer::shared::case_list::Pane;
use crate::explorer::shared::completion_cycle::CompletionCycle;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::theme::Theme;
use evaltrail_core::domain::Query;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use tui_input::{Input, InputRequest};

/// A filter that is being typed.
#[derive(Debug)]
pub struct FilterLine {
    /// The filter as typed.
    pub input: Input,
    /// Why the filter is invalid, if it is.
    pub wrong: Option<String>,
    /// The filter when the line was opened.
    before: String,
    completion: FilterCompletion,
    /// What the text was completed with, and the words for it.
    cycle: (CompletionCycle, FilterCompletion),
    /// The values of the field that is typed.
    values: FieldValues,
}

/// Maximum number of completions that are shown.
const MAX_SHOWN: usize = 4;

impl FilterLine {
    /// Applies what was typed. An invalid filter leaves the list unchanged.
    fn apply(&mut self, model: &mut Model) {
        let typed = self.input.value();
        self.wrong = match Query::parse(typed) {
            Ok(query) => {
                listing::set_filter(model, typed.to_string(), query);
                None
            }
            Err(error) => Some(error.to_string()),
        };
        self.completion = FilterCompletion::new(model, typed, &mut self.values);
    }

    /// Why the filter is invalid, unless it can become a valid one by completion.
    fn shown_error(&self) -> Option<&str> {
        let can_be_completed = !self.completion.words.is_empty();
        self.wrong.as_deref().filter(|_| !can_be_completed)
    }

    /// What `tab` completes, else an example while nothing is typed, and the keys.
    fn hint(&self) -> String {
        let words = &self.completion.words;
        let shown = words[..words.len().min(MAX_SHOWN)].join("  ");
        match (self.input.value(), shown.as_str()) {
            ("", _) => "status:failed metric:response<0.8 tool:name \"words\" -not".into(),
            (_, "") => CONFIRM_OR_CANCEL.into(),
            _ if self.completion.are_similar => {
                format!("did you mean {shown}?  tab correct  esc cancel")
            }
            _ => format!("tab {shown}   {CONFIRM_OR_CANCEL}"),
        }
    }
}

/// Opens the line with the current filter.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let before = model.view.browse.filter.clone();
    let input = Input::new(before.clone());
    dialog::open(
        model,
        FilterLine {
            input,
            wrong: None,
            before,
            completion: FilterCompletion::default(),
            cycle: Default::default(),
            values: FieldValues::default(),
        },
    )
}

impl Dialog for FilterLine {
    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        self.input.handle(request);
        self.apply(model);
    }

    /// Completes the last word. If repeated, uses the next word, which is then the first one of the hint.
    fn tab(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let (cycle, words) = &mut self.cycle;
        let typed = self.input.value();
        let completed = cycle.next(typed, || {
            *words = self.completion.clone();
            self.completion.completed(typed)
        });
        let completed = completed?.to_string();
        self.input = Input::new(completed);
        self.apply(model);
        let (cycle, words) = &self.cycle;
        if cycle.has_others() {
            self.completion = words.clone();
            self.completion.words.rotate_left(cycle.following());
        }
        None
    }

    /// An invalid filter is not left: the list is filtered by an earlier part of it. Keys are for the filtered list then.
    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        if self.wrong.is_some() {
            return None;
        }
        model.view.browse.pane = Pane::Cases;
        Some(Vec::new())
    }

    /// Restores the filter as it was when the line was opened.
    fn cancel(&mut self, model: &mut Model) {
        if let Ok(query) = Query::parse(&self.before) {
            listing::set_filter(model, self.before.clone(), query);
        }
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        draw_line(
            "/ ",
            &self.input,
            (self.shown_error(), &self.hint()),
            areas,
            theme,
            buffer,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_from_the_tree_leads_to_the_list() {
        let mut model = Model::new("t".into(), vec![], (120, 40));
        model.view.browse.pane = Pane::Sets;
        let line = |wrong| FilterLine {
            input: Input::default(),
            wrong,
            before: String::new(),
            completion: FilterCompletion::default(),
            cycle: Default::default(),
            values: FieldValues::default(),
        };
        assert!(line(Some("no".into())).choose(&mut model).is_none());
        assert_eq!(model.view.browse.pane, Pane::Sets);
        assert!(line(None).choose(&mut model).is_some());
        assert_eq!(model.view.browse.pane, Pane::Cases);
    }
}
