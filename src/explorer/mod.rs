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
//!
//! The modules below are layers: each uses only those above it, and no screen or dialog uses another one. What a screen
//! wants from another one, or from a dialog, it returns as a [`ScreenRequest`].

pub mod shared;

pub mod widgets;

pub mod prompts;

pub mod case_list;

pub mod shown_case;

pub mod what_if;

pub mod sets;

pub mod authoring;

pub mod running;

pub mod opened_run;

pub mod dialogs;

pub mod screens;

pub mod commands;

pub mod app;

pub mod terminal;

pub use app::draw::draw;
pub use app::update::update;
pub use authoring::proposal::{Conflict, Proposal, ProposalLine};
pub use commands::bindings::Bindings;
pub use commands::{COMMANDS, Command};
pub use dialogs::causes::changes_for_groups;
pub use screens::chat::state::{ChatScreen, ChatStatus};
pub use screens::edit::state::{EditScreen, Typing};
pub use sets::edited_cases::{reevaluated, requested_cases};
pub use sets::load::{go_to, load_set};
pub use shared::active_what_if::{ActiveWhatIf, Rescored, StatusChange};
pub use shared::agent_line::AgentLine;
pub use shared::case_field::{Adding, CaseField, FieldRow};
pub use shared::case_lines::CaseTab;
pub use shared::case_lines::{BodyKey, BodyLine, BodyView, CaseLines, Compared};
pub use shared::case_list::{BrowseState, Pane, TreeNode};
pub use shared::case_ref::CaseRef;
pub use shared::case_screen::{CaseOrigin, CaseScreen};
pub use shared::compared_pair::{ComparedPair, ComparedRun};
pub use shared::configured_run::ConfiguredRun;
pub use shared::context::Context;
pub use shared::effect::{
    CaptureTarget, ChatEffect, EditEffect, EditorOf, Effect, HistoryEffect, ResultEffect,
    RunEffect, ScreenRequest, SetEffect, TerminalEffect,
};
pub use shared::key::{Key, KeyCode, parse_key};
pub use shared::layout::{Layout, SMALLEST, case_rows, inside, is_too_small};
pub use shared::list_order::ListOrder;
pub use shared::message::{
    ChatMsg, EditDone, EditFailure, EditMsg, HistoryMsg, Mouse, MouseKind, Msg, OpenedSet,
    ResultMsg, RunMsg, SetLoaded, SetMsg,
};
pub use shared::model::Dialog;
pub use shared::model::{Model, Notice, OpenedRun, Screen};
pub use shared::motion::Motion;
pub use shared::older_criteria::OlderCriteria;
pub use shared::outcomes::{CaseAttempts, CaseOutcome, Outcomes};
pub use shared::run_target::{RunOverrides, RunTarget};
pub use shared::screen::layout;
pub use shared::set_view::{CaseSummary, SetState, SetView};
pub use shared::theme::{Role, Theme, ThemeError};
pub use shared::ticket::{Ticket, Tickets};
pub use shared::tools::KnownTools;
pub use shared::watching::{CasesToRunAgain, ChangedInFile, Watching};
pub use shown_case::body::build_body;
pub use shown_case::verdict::{REASON_AT, VerdictLine, verdict_lines};
pub use terminal::{
    Explorer, ExplorerExit, NewerRun, OpenedRunFile, edit_text, explore, has_escape_sequences,
};
pub use what_if::rescored;
