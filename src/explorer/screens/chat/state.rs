//! Talking to an agent: what is said and done, and the session it is said in.

use crate::explorer::shared::case_ref::CaseRef;
use evaltrail_core::domain::{Invocation, SessionInput, StubMode, Transcript};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use tui_input::Input;

/// A conversation on the screen.
#[derive(Debug)]
pub struct ChatScreen {
    /// The set whose agent is talked to, and where a case would be kept.
    pub set: usize,
    /// The case whose session it began as.
    pub from: Option<CaseRef>,
    /// The session as it began.
    pub session: SessionInput,
    /// What is being typed.
    pub input: Input,
    /// The turns that are done.
    pub turns: Vec<Invocation>,
    /// The session's state after each turn, where the agent tells it.
    pub states: Vec<Option<Value>>,
    /// What was said and is being answered.
    pub asked: Option<String>,
    /// What the agent did since then.
    pub doing: Transcript,
    /// How far the agent is.
    pub status: ChatStatus,
    /// How the calls of tools are answered, once the agent is connected.
    pub stubs: Option<StubMode>,
    /// So many lines are scrolled back from the end.
    pub back: usize,
    /// Goes up with every new session, so that late events are recognised.
    pub number: u64,
    /// The turns that are kept as cases, from 0.
    pub kept: BTreeSet<usize>,
    /// The turns that a proposal on the screen would keep.
    pub keeping: Range<usize>,
}

/// How far the agent is.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatStatus {
    /// Being reached.
    Opening,
    /// It waits for words.
    Ready,
    /// It works since then, on the explorer's clock.
    Working(f64),
    /// It broke, and why.
    Broken(String),
}

impl ChatScreen {
    /// A conversation that begins.
    pub fn new(
        set: usize,
        from: Option<CaseRef>,
        session: SessionInput,
        number: u64,
    ) -> ChatScreen {
        ChatScreen {
            set,
            from,
            session,
            input: Input::default(),
            turns: Vec::new(),
            states: Vec::new(),
            asked: None,
            doing: Transcript::default(),
            status: ChatStatus::Opening,
            stubs: None,
            back: 0,
            number,
            kept: BTreeSet::new(),
            keeping: 0..0,
        }
    }

    /// Whether leaving would lose something.
    pub fn has_unsaved_turns(&self) -> bool {
        (0..self.turns.len()).any(|turn| !self.kept.contains(&turn))
    }
}
