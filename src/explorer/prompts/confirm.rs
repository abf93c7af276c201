//! Confirmation before something is lost or written.

use crate::explorer::prompts::question::QuestionText;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::{ALLOW, CONFIRM, DENY, REFUSE};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;

/// A yes-or-no question.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    /// The question.
    pub question: QuestionText,
    /// What happens after a yes.
    pub then: Effect,
    /// Whether enter is a no: something would be lost, or no key of the user opened the question, so that the next key may
    /// be meant for something else.
    pub enter_refuses: bool,
}

impl Confirm {
    fn new(title: impl Into<String>, lines: Vec<String>, then: Effect) -> Confirm {
        Confirm {
            question: QuestionText::new(title, lines),
            then,
            enter_refuses: false,
        }
    }
}

/// Opens the question.
pub(crate) fn open(
    model: &mut Model,
    title: impl Into<String>,
    lines: Vec<String>,
    then: impl Into<Effect>,
) -> Vec<Effect> {
    dialog::open(model, Confirm::new(title, lines, then.into()))
}

/// Opens a question that enter answers with no: after a yes something is lost, or no key of the user requested it.
pub(crate) fn open_refusing_enter(
    model: &mut Model,
    title: impl Into<String>,
    lines: Vec<String>,
    then: impl Into<Effect>,
) -> Vec<Effect> {
    dialog::open(
        model,
        Confirm {
            enter_refuses: true,
            ..Confirm::new(title, lines, then.into())
        },
    )
}

/// Answers the open question.
pub(crate) fn answer(model: &mut Model, yes: bool) -> Vec<Effect> {
    let confirm = model.take_dialog::<Confirm>().filter(|_| yes);
    confirm.into_iter().map(|confirm| confirm.then).collect()
}

impl Dialog for Confirm {
    fn context(&self) -> Option<Context> {
        Some(if self.enter_refuses {
            Context::Trust
        } else {
            Context::Confirm
        })
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        self.then.follow(new)
    }

    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        self.question.scroll(layout(model).body, motion);
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let (yes, no) = if self.enter_refuses {
            (&ALLOW, &DENY)
        } else {
            (&CONFIRM, &REFUSE)
        };
        let answers = format!("{} yes    {} no", yes.keys().join(" "), no.keys().join(" "));
        self.question.draw(areas.body, &answers, theme, buffer);
        None
    }
}
