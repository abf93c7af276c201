//! A yes-or-no question before something is lost or written.

use super::question::QuestionText;
use super::{Dialog, Overlay};
use crate::explorer::commands::{CONFIRM, Context, Motion, REFUSE};
use crate::explorer::effect::ResultEffect;
use crate::explorer::effect::TerminalEffect;
use crate::explorer::effect::{EditorOf, Effect};
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::screens::{chat, edit, layout};
use crate::explorer::theme::Theme;
use crate::metrics::WhatIf;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;

/// A question, and what a yes does.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    /// The question.
    pub question: QuestionText,
    /// What a yes does.
    pub then: Confirmed,
}

/// What a yes does.
#[derive(Clone, Debug, PartialEq)]
pub enum Confirmed {
    /// Writes changed criteria to the configs of these sets.
    WriteCriteria(WhatIf, Vec<usize>),
    /// Leaves a conversation that is not saved.
    LeaveChat,
    /// Leaves the editor without saving.
    DropDraft,
    /// Opens a text in the editor again that could not be used.
    TypeAgain(EditorOf, String),
    /// Quits while something would be lost.
    Quit,
}

/// Asks.
pub(crate) fn open(
    model: &mut Model,
    title: impl Into<String>,
    lines: Vec<String>,
    then: Confirmed,
) -> Vec<Effect> {
    super::open(model, Overlay::Confirm(Confirm { question: QuestionText::new(title, lines), then }))
}

/// Answers the open question.
pub(crate) fn answer(model: &mut Model, yes: bool) -> Vec<Effect> {
    match model.overlay.take() {
        Some(Overlay::Confirm(confirm)) if yes => confirmed(model, confirm.then),
        Some(Overlay::Confirm(_)) | None => Vec::new(),
        other => {
            model.overlay = other;
            Vec::new()
        }
    }
}

fn confirmed(model: &mut Model, then: Confirmed) -> Vec<Effect> {
    match then {
        Confirmed::Quit => vec![Effect::Terminal(TerminalEffect::Quit)],
        Confirmed::WriteCriteria(change, sets) => {
            vec![Effect::Results(ResultEffect::WriteCriteria(change, sets))]
        }
        Confirmed::LeaveChat => chat::close(model),
        Confirmed::TypeAgain(of, text) => edit::type_again(of, text),
        Confirmed::DropDraft => {
            edit::close(model);
            Vec::new()
        }
    }
}

impl Dialog for Confirm {
    fn context(&self) -> Option<Context> {
        Some(Context::Confirm)
    }

    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        self.question.scroll(layout(model).body, motion);
    }

    fn draw(&self, _: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let answers = format!("{} yes    {} no", CONFIRM.keys().join(" "), REFUSE.keys().join(" "));
        self.question.draw(areas.body, &answers, theme, buffer);
        None
    }
}
