//! The terminal user interface.
//!
//! ```text
//! key ─▶ key bindings ─▶ Command ─┐
//! files, run events, time ────────┴▶ Msg ─▶ update(&mut Model) ─▶ Vec<Effect> ─▶ terminal ─▶ Msg …
//!                                                │
//!                                                └─▶ draw(&Model) ─▶ cells
//! ```
//!
//! Everything but [`terminal`] is pure: no I/O, no clock, no randomness; time and ids arrive in messages.

mod agent_line;
pub mod authoring;
mod case_ref;
mod case_trend;
pub mod commands;
mod context;
mod decisions;
pub mod draw;
pub mod edited_cases;
pub mod effect;
pub mod global;
mod key;
pub mod layout;
pub mod load;
pub mod message;
pub mod model;
mod motion;
mod opened_run;
pub mod outcomes;
pub mod dialogs;
pub mod run_words;
pub mod screens;
mod set_view;
pub mod terminal;
pub mod theme;
pub mod ticket;
pub mod update;
mod watching;
pub mod what_if;
pub mod widgets;

pub use agent_line::AgentLine;
pub use case_ref::CaseRef;
pub use commands::bindings::Bindings;
pub use commands::{COMMANDS, Command};
pub use context::Context;
pub use dialogs::Dialog;
pub use dialogs::causes::changes_for_groups;
pub use dialogs::confirm::Confirmed;
pub use dialogs::proposal::{Conflict, Proposal, ProposalLine};
pub use draw::draw;
pub use draw::svg::svg;
pub use edited_cases::{reevaluated, requested_cases};
pub use effect::{
    Against, CaptureTarget, ChatEffect, EditEffect, EditorOf, Effect, HistoryEffect, ResultEffect, RunEffect,
    RunOverrides, SetEffect, TerminalEffect,
};
pub use key::{Key, KeyCode, parse_key};
pub use layout::{Layout, SMALLEST, case_rows, inside, is_too_small};
pub use load::{go_to, load_set};
pub use message::{
    ChatMsg, EditDone, EditFailure, EditMsg, HistoryMsg, Mouse, MouseKind, Msg, OpenedSet, ResultMsg, RunMsg,
    SetLoaded, SetMsg,
};
pub use model::{Model, Notice, OpenedRun, Screen};
pub use motion::Motion;
pub use outcomes::{CaseAttempts, CaseOutcome, Outcomes};
pub use screens::browse::order::Order;
pub use screens::browse::state::{Browse, Node, Pane};
pub use screens::case::body::build_body;
pub use screens::case::body_lines::CaseMode;
pub use screens::case::body_lines::{Body, BodyKey, BodyLine, BodyView, Compared};
pub use screens::case::state::{CaseOrigin, CaseScreen};
pub use screens::case::verdict::{REASON_AT, VerdictLine, verdict_lines};
pub use screens::chat::state::{ChatScreen, ChatStatus};
pub use screens::comparison::state::{ComparedPair, ComparedRun};
pub use screens::edit::state::{Adding, EditScreen, Field, FieldRow, Tools, Typing};
pub use screens::layout;
pub use set_view::{CaseSummary, SetState, SetView};
pub use terminal::{Explorer, Leaving, NewerRun, OpenedRunFile, edit_text, explore, has_escape_sequences};
pub use theme::{Role, Theme, ThemeError};
pub use ticket::{Ticket, Tickets};
pub use update::update;
pub use watching::state::{CasesToRunAgain, ChangedInFile, Watching};
pub use what_if::{Flip, Rescored, Trial, rescored};
