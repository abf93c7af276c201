//! A line for a name or another short text that a command needs.

use super::line::{draw_line, example_or_keys};
use super::{Dialog, Overlay};
use crate::explorer::authoring::capture::CaptureTarget;
use crate::explorer::authoring::sets;
use crate::explorer::case_ref::CaseRef;
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::theme::Theme;
use crate::runner::RecordedConversation;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use std::path::PathBuf;
use std::sync::Arc;
use tui_input::{Input, InputRequest};

/// A line being typed.
#[derive(Debug)]
pub struct AskLine {
    /// What it names.
    pub of: NameOf,
    /// The text as typed.
    pub input: Input,
    /// Why it cannot be used.
    pub wrong: Option<String>,
}

/// What a line names.
#[derive(Clone, Debug, PartialEq)]
pub enum NameOf {
    /// A new case in a set.
    NewCase(usize),
    /// A copy of a case.
    CopyCase(CaseRef),
    /// A case, which gets another id.
    RenameCase(CaseRef),
    /// A new set in this folder.
    NewSet(PathBuf),
    /// A copy of a set.
    CopySet(usize),
    /// A set, which gets another id.
    RenameSet(usize),
    /// The case that the conversation with the agent of a set is saved as, and perhaps its turns.
    KeepChat(usize),
    /// Where a conversation was recorded.
    CaptureSource(CaptureTarget),
    /// The case that a recorded conversation is saved as, and perhaps its turns.
    Captured(CaptureTarget, Arc<RecordedConversation>),
    /// The session state that a conversation starts in.
    ChatState,
    /// Tags of cases.
    Tags(Vec<CaseRef>),
}

impl NameOf {
    fn prompt(&self) -> &'static str {
        match self {
            NameOf::NewCase(_) => "new case ",
            NameOf::CopyCase(_) => "copy as ",
            NameOf::RenameCase(_) => "rename to ",
            NameOf::NewSet(_) => "new set ",
            NameOf::CopySet(_) => "copy the set as ",
            NameOf::RenameSet(_) => "rename the set to ",
            NameOf::KeepChat(_) | NameOf::Captured(..) => "save as case ",
            NameOf::CaptureSource(_) => "capture from ",
            NameOf::ChatState => "session state ",
            NameOf::Tags(_) => "tags ",
        }
    }

    fn example(&self) -> &'static str {
        match self {
            NameOf::KeepChat(_) | NameOf::Captured(..) => "an id, or an id and turns: my_case 2-3",
            NameOf::CaptureSource(_) => {
                "http://HOST:PORT/apps/APP/users/USER/sessions/ID, or a recording or trace (.jsonl, .json)"
            }
            NameOf::ChatState => "{\"key\": \"value\"}",
            NameOf::Tags(_) => "words separated by spaces; empty removes all tags",
            _ => "an id",
        }
    }
}

impl AskLine {
    /// Asks with a text to begin with.
    pub fn new(of: NameOf, value: String) -> AskLine {
        AskLine { of, input: Input::new(value), wrong: None }
    }
}

impl Dialog for AskLine {
    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        self.input.handle(request);
        self.wrong = sets::wrong(model, &self.of, self.input.value());
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let typed = self.input.value().trim().to_string();
        self.wrong = sets::wrong(model, &self.of, &typed);
        match self.wrong {
            Some(_) => None,
            None => Some(sets::answered(model, self.of.clone(), typed)),
        }
    }

    fn draw(&self, _: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let below = (self.wrong.as_deref(), example_or_keys(&self.input, self.of.example()));
        draw_line(self.of.prompt(), &self.input, below, areas, theme, buffer)
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        match &mut self.of {
            NameOf::CopyCase(case) | NameOf::RenameCase(case) => new(*case).map(|now| *case = now).is_some(),
            NameOf::Tags(cases) => super::follow_all(cases, new),
            _ => true,
        }
    }
}

/// Opens the line.
pub(crate) fn open(model: &mut Model, of: NameOf, value: String) -> Vec<Effect> {
    super::open(model, Overlay::Ask(AskLine::new(of, value)))
}
