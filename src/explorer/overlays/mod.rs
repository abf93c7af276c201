//! What lies over a screen.

pub mod keys;
pub mod metrics;
pub mod opinion;
pub mod opinion_update;
pub mod opinion_view;
pub mod proposal;
pub mod proposal_view;
pub mod views;

use crate::diff::{Line, Span, wrap_line};
use crate::domain::{SessionInput, clean_exact};
use crate::explorer::commands::CommandId;
use crate::explorer::effect::{Against, EditorOf};
use crate::explorer::model::CaseRef;
use crate::explorer::overlays::opinion::Opinions;
use crate::explorer::overlays::proposal::Proposal;
use crate::metrics::{Aggregate, Agreement, WhatIf};
use crate::runner::TrustQuestion;
use ratatui::layout::Rect;
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
    /// A line that is asked for.
    Ask(Ask),
    /// The allowed trajectories of a case, and those that were seen.
    Variants(CaseRef, Picker<VariantItem>),
    /// The set that cases go to.
    MoveTo(Picker<usize>),
    /// A change of files, to be looked at before it is made.
    Proposal(Box<Proposal>),
    /// A question; the answer is no unless it is yes.
    Confirm(Confirm),
}

impl Overlay {
    /// Follows cases whose positions changed. False when what the overlay is about is gone, so that it closes.
    pub(crate) fn follow(&mut self, new: &impl Fn(CaseRef) -> Option<CaseRef>) -> bool {
        let all = |cases: &mut Vec<CaseRef>| {
            *cases = cases.iter().filter_map(|case| new(*case)).collect();
            !cases.is_empty()
        };
        let one = |case: &mut CaseRef| new(*case).map(|now| *case = now).is_some();
        match self {
            Overlay::Flips(picker) | Overlay::Jump(picker) => {
                picker.found.retain_mut(|(case, _)| one(case));
                picker.cursor = picker.cursor.min(picker.found.len().saturating_sub(1));
                true
            }
            Overlay::Variants(case, _) => one(case),
            Overlay::Ask(ask) => match &mut ask.kind {
                AskKind::CopyCase(case) | AskKind::RenameCase(case) => one(case),
                AskKind::Tags(cases) => all(cases),
                _ => true,
            },
            Overlay::Confirm(Confirm { kind: ConfirmKind::Trust(cases, ..), .. }) => all(cases),
            _ => true,
        }
    }
}

/// A trajectory of a case besides the file's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantItem {
    /// An allowed one, by position.
    Allowed(usize),
    /// One that was seen, by position among the candidates.
    Seen(usize),
}

/// A line that is asked for, and what for.
#[derive(Debug)]
pub struct Ask {
    /// What for.
    pub kind: AskKind,
    /// The line.
    pub input: Input,
    /// What is wrong with it.
    pub wrong: Option<String>,
}

/// What a line is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum AskKind {
    /// The id of a new case in a set.
    NewCase(usize),
    /// The id of a copy.
    CopyCase(CaseRef),
    /// Another id of a case.
    RenameCase(CaseRef),
    /// The id of a set beside this one.
    NewSet(usize),
    /// The id of a set's copy.
    CopySet(usize),
    /// Another id of a set.
    RenameSet(usize),
    /// The id of a case that a conversation is kept as, and perhaps the turns.
    KeepChat(usize),
    /// The state that a conversation begins in.
    ChatState,
    /// The tags of cases.
    Tags(Vec<CaseRef>),
}

impl AskKind {
    /// What stands before the line.
    pub fn prompt(&self) -> &'static str {
        match self {
            AskKind::NewCase(_) => "new case ",
            AskKind::CopyCase(_) => "copy as ",
            AskKind::RenameCase(_) => "rename to ",
            AskKind::NewSet(_) => "new set ",
            AskKind::CopySet(_) => "copy the set as ",
            AskKind::RenameSet(_) => "rename the set to ",
            AskKind::KeepChat(_) => "keep as ",
            AskKind::ChatState => "begin again in the state ",
            AskKind::Tags(_) => "tags ",
        }
    }
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
    /// The first line shown.
    pub scroll: usize,
}

impl Confirm {
    /// A question, shown from its beginning.
    pub fn new(title: impl Into<String>, lines: Vec<String>, kind: ConfirmKind) -> Confirm {
        Confirm { title: title.into(), lines, kind, scroll: 0 }
    }

    /// Its lines, cleaned and wrapped to the width of this part of the screen.
    pub fn laid_out(&self, body: Rect) -> Vec<Line> {
        let width = usize::from(Confirm::width(body).saturating_sub(4));
        let of = |text: &String| {
            let span = Span { text: clean_exact(text), ..Span::default() };
            wrap_line(&[span], width.max(1))
        };
        self.lines.iter().flat_map(of).collect()
    }

    /// Its width in columns, with the frame.
    pub fn width(body: Rect) -> u16 {
        body.width.saturating_sub(4).min(100)
    }

    /// How many text lines fit: the height without the frame, a margin and the line of answers.
    pub fn rows(body: Rect) -> usize {
        usize::from(body.height.saturating_sub(4))
    }

    /// How many lines are below the visible ones. A yes is accepted only when there are none.
    pub fn below(&self, body: Rect) -> usize {
        self.laid_out(body).len().saturating_sub(self.scroll + Confirm::rows(body))
    }
}

/// What a yes does.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfirmKind {
    /// Starts a run with programs that were asked about.
    Trust(Vec<CaseRef>, Vec<TrustQuestion>, Against),
    /// Writes changed criteria to the configs of these sets.
    WriteCriteria(WhatIf, Vec<usize>),
    /// Talks to an agent whose program was asked about.
    TrustChat {
        /// The set.
        set: usize,
        /// The session.
        session: Box<SessionInput>,
        /// Which conversation.
        number: u64,
        /// What was asked about.
        questions: Vec<TrustQuestion>,
    },
    /// Leaves a conversation that is not kept.
    LeaveChat,
    /// Leaves the editor, and what was typed there.
    DropDraft,
    /// Opens a text again that could not be taken.
    TypeAgain(EditorOf, String),
    /// Leaves while a run goes on.
    Quit,
}
