//! What lies over a screen.

use super::command::CommandId;
use super::effect::Against;
use super::model::CaseRef;
use super::opinion::Opinions;
use super::proposal::Proposal;
use crate::metrics::{Aggregate, Agreement, WhatIf};
use crate::runner::TrustQuestion;
use tui_input::Input;

/// What lies over the screen.
#[derive(Debug)]
pub enum Overlay {
    /// Keys of the screen below; the first line shown.
    Help(usize),
    /// A filter being typed; the words tell what is wrong with it.
    Filter(Input, Option<String>),
    /// Commands to choose from.
    Palette(Picker<CommandId>),
    /// Cases to choose from.
    Jump(Picker<CaseRef>),
    /// A rule for comparing calls being typed; the words tell what is wrong with it.
    Rule(Input, Option<String>),
    /// Cases that flip under the change on trial.
    Flips(Picker<CaseRef>),
    /// The metrics there are.
    Metrics(Picker<&'static str>),
    /// A person's verdicts being given.
    Opinions(Opinions),
    /// How far judges and people agree; the first line shown.
    Agreement(Vec<Agreement>, usize),
    /// Statistics of what is listed; the first line shown.
    Statistics(Vec<Aggregate>, usize),
    /// A change of files, to be looked at before it is made.
    Proposal(Box<Proposal>),
    /// A question; the answer is no unless it is yes.
    Confirm(Confirm),
}

/// A list that a few letters narrow down.
#[derive(Debug)]
pub struct Picker<T> {
    /// What was typed.
    pub input: Input,
    /// What matches, best first: what is chosen and its words.
    pub found: Vec<(T, String)>,
    /// The cursor.
    pub cursor: usize,
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    /// Its heading.
    pub title: String,
    /// What it is about, line by line; untrusted.
    pub lines: Vec<String>,
    /// What a yes does.
    pub kind: ConfirmKind,
}

/// What a yes does.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfirmKind {
    /// Starts a run with programs that were asked about.
    Trust(Vec<CaseRef>, Vec<TrustQuestion>, Against),
    /// Writes changed criteria to the configs of these sets.
    WriteCriteria(WhatIf, Vec<usize>),
    /// Leaves the editor, and what was typed there.
    DropDraft,
    /// Opens a text again that could not be taken.
    TypeAgain(String),
    /// Leaves while a run goes on.
    Quit,
}
