//! Confirmation before something is lost or written.

use super::question::QuestionText;
use super::{Dialog, follow_all};
use crate::domain::{DecisionKind, SessionInput};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::commands::{ALLOW, CONFIRM, DENY, REFUSE};
use crate::explorer::context::Context;
use crate::explorer::effect::ResultEffect;
use crate::explorer::effect::TerminalEffect;
use crate::explorer::effect::{EditorOf, Effect};
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::motion::Motion;
use crate::explorer::screens::{chat, edit, layout, queue, run, runs};
use crate::explorer::theme::Theme;
use crate::metrics::WhatIf;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use std::path::PathBuf;

/// A yes-or-no question.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    /// The question.
    pub question: QuestionText,
    /// What happens after a yes.
    pub then: Confirmed,
    /// Whether no key of the user opened it. The next key may be meant for something else, so that enter is no yes.
    pub is_unrequested: bool,
}

/// What happens after a yes.
#[derive(Clone, Debug, PartialEq)]
pub enum Confirmed {
    /// Writes changed criteria to the configs of these sets.
    WriteCriteria(WhatIf, Vec<usize>),
    /// Leaves a conversation that is not saved.
    LeaveChat,
    /// Starts another conversation with the same agent, in this session.
    RestartChat(Box<SessionInput>),
    /// Leaves the editor without saving.
    DropDraft,
    /// Opens an invalid text in `$EDITOR` again.
    EditAgain(EditorOf, String),
    /// Deletes the run in this folder.
    RemoveRun(PathBuf),
    /// Stores a decision about the cases of a group: its note, and the last day of a quarantine.
    DecideGroup(DecisionKind, Vec<CaseRef>, String, String),
    /// Adds this change of criteria to the triage.
    ChangeCriteria(WhatIf),
    /// Runs these cases.
    RunCases(Vec<CaseRef>),
    /// Carries the decisions of a triage out.
    FinishTriage,
    /// Quits, although something is lost or interrupted.
    Quit,
}

impl Confirm {
    fn new(title: impl Into<String>, lines: Vec<String>, then: Confirmed) -> Confirm {
        Confirm { question: QuestionText::new(title, lines), then, is_unrequested: false }
    }
}

/// Opens the question.
pub(crate) fn open(
    model: &mut Model,
    title: impl Into<String>,
    lines: Vec<String>,
    then: Confirmed,
) -> Vec<Effect> {
    super::open(model, Confirm::new(title, lines, then))
}

/// Opens a question that no key of the user requested: it is answered like the one about a permission.
pub(crate) fn open_unrequested(
    model: &mut Model,
    title: impl Into<String>,
    lines: Vec<String>,
    then: Confirmed,
) -> Vec<Effect> {
    super::open(model, Confirm { is_unrequested: true, ..Confirm::new(title, lines, then) })
}

/// Answers the open question.
pub(crate) fn answer(model: &mut Model, yes: bool) -> Vec<Effect> {
    match model.take_dialog::<Confirm>() {
        Some(confirm) if yes => confirmed(model, confirm.then),
        _ => Vec::new(),
    }
}

fn confirmed(model: &mut Model, then: Confirmed) -> Vec<Effect> {
    match then {
        Confirmed::Quit => vec![Effect::Terminal(TerminalEffect::Quit)],
        Confirmed::WriteCriteria(change, sets) => {
            vec![Effect::Results(ResultEffect::WriteCriteria(change, sets))]
        }
        Confirmed::RemoveRun(path) => runs::remove_confirmed(model, path),
        Confirmed::DecideGroup(kind, cases, note, until) => queue::take(model, kind, &cases, &note, &until),
        Confirmed::ChangeCriteria(change) => queue::add_criteria(model, change),
        Confirmed::RunCases(cases) => {
            let against = run::against_of(model, &cases);
            run::start(model, cases, against)
        }
        Confirmed::FinishTriage => queue::applied(model),
        Confirmed::LeaveChat => chat::close(model),
        Confirmed::RestartChat(session) => chat::restart(model, *session),
        Confirmed::EditAgain(of, text) => edit::type_again(of, text),
        Confirmed::DropDraft => edit::close(model),
    }
}

impl Dialog for Confirm {
    fn context(&self) -> Option<Context> {
        Some(if self.is_unrequested { Context::Trust } else { Context::Confirm })
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        match &mut self.then {
            Confirmed::DecideGroup(_, cases, ..) | Confirmed::RunCases(cases) => follow_all(cases, new),
            _ => true,
        }
    }

    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        self.question.scroll(layout(model).body, motion);
    }

    fn draw(&self, _: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let (yes, no) = if self.is_unrequested { (&ALLOW, &DENY) } else { (&CONFIRM, &REFUSE) };
        let answers = format!("{} yes    {} no", yes.keys().join(" "), no.keys().join(" "));
        self.question.draw(areas.body, &answers, theme, buffer);
        None
    }
}
