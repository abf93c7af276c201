//! A line for a name or another short text that a command needs.

use crate::explorer::prompts::line::{draw_line, example_or_keys};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use std::borrow::Cow;
use std::fmt::Debug;
use tui_input::{Input, InputRequest};

/// What a line is typed for. The commands that need a line implement it.
pub trait Purpose: Debug + Sync {
    /// What stands before the text.
    fn prompt(&self, model: &Model) -> Cow<'static, str>;

    /// What stands behind an empty line.
    fn example(&self) -> &'static str {
        "an id"
    }

    /// A hint about the typed text, shown instead of the keys.
    fn hint(&self, _typed: &str) -> Option<&'static str> {
        None
    }

    /// Why a text cannot be used.
    fn wrong(&self, model: &Model, typed: &str) -> Option<String>;

    /// Uses a text for which [`Purpose::wrong`] returned `None`.
    fn accept(&self, model: &mut Model, typed: &str) -> Vec<Effect>;

    /// The line was cancelled.
    fn cancel(&self, _: &mut Model) {}

    /// Follows cases whose positions changed. False: the case is gone, and the line closes.
    fn follow(&mut self, _: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        true
    }
}

/// A line being typed.
#[derive(Debug)]
pub struct AskLine {
    purpose: Box<dyn Purpose>,
    /// The text as typed.
    pub input: Input,
    /// Why it cannot be used.
    pub wrong: Option<String>,
}

impl Dialog for AskLine {
    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        self.input.handle(request);
        self.wrong = self.purpose.wrong(model, self.input.value());
    }

    fn cancel(&mut self, model: &mut Model) {
        self.purpose.cancel(model);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let typed = self.input.value().trim();
        self.wrong = self.purpose.wrong(model, typed);
        self.wrong
            .is_none()
            .then(|| self.purpose.accept(model, typed))
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let hint = self.purpose.hint(self.input.value());
        let hint = hint.unwrap_or_else(|| example_or_keys(&self.input, self.purpose.example()));
        let below = (self.wrong.as_deref(), hint);
        draw_line(
            &self.purpose.prompt(model),
            &self.input,
            below,
            areas,
            theme,
            buffer,
        )
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        self.purpose.follow(new)
    }
}

/// Opens the line with a text to begin with.
pub(crate) fn open(
    model: &mut Model,
    purpose: impl Purpose + 'static,
    value: String,
) -> Vec<Effect> {
    open_line(model, purpose, value, None)
}

/// Opens the line with a text that could not be used, and the reason.
pub(crate) fn open_again(
    model: &mut Model,
    purpose: impl Purpose + 'static,
    value: String,
    wrong: String,
) -> Vec<Effect> {
    open_line(model, purpose, value, Some(wrong))
}

fn open_line(
    model: &mut Model,
    purpose: impl Purpose + 'static,
    value: String,
    wrong: Option<String>,
) -> Vec<Effect> {
    let line = AskLine {
        purpose: Box::new(purpose),
        input: Input::new(value),
        wrong,
    };
    dialog::open(model, line)
}
