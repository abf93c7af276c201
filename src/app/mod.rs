//! The explorer's logic. Pure: no I/O, no clock, no randomness; time and ids arrive in messages.
//!
//! ```text
//! key ─▶ key map ─▶ CommandId ─┐
//! loads, run events, time ─────┴▶ Msg ─▶ update(&mut Model) ─▶ Vec<Effect> ─▶ shell
//!                                           │
//!                                           └─▶ body: derived rows, by content and width
//! ```

mod body;
mod chat;
mod command;
mod editor;
mod effect;
mod enabled;
mod judged;
mod key;
mod keymap;
mod layout;
mod model;
mod msg;
mod opinion;
mod outcomes;
mod overlays;
mod pieces;
mod proposal;
mod run_words;
mod ticket;
mod tree;
mod trial;
mod verdict;
mod update;

pub use body::{Body, BodyKey, BodyLine, Compared, build_body};
pub use chat::{ChatScreen, ChatStatus};
pub use command::{COMMANDS, Command, CommandId, Context, command, hint};
pub use editor::{Adding, EditScreen, Field, FieldRow, Tools, Typing};
pub use effect::{Against, EditorOf, Effect};
pub use key::{Key, KeyCode, parse_key};
pub use keymap::{conflicts, resolve};
pub use layout::{Layout, SMALLEST, case_rows, inside, is_too_small, layout};
pub use model::{
    Browse, CaseMode, CaseRef, CaseScreen, CaseSummary, Model, Node, Order, Pane, Screen, SetState, SetView,
    Toast,
};
pub use msg::{ChatMsg, EditDone, EditFailure, Mouse, MouseKind, Msg, OpenedSet, RunMsg, SetLoaded};
pub use opinion::{Opinion, Opinions};
pub use outcomes::{CaseAttempts, CaseOutcome, Outcomes};
pub use overlays::{Ask, AskKind, Confirm, ConfirmKind, Overlay, Picker, VariantItem};
pub use proposal::{Conflict, Proposal, ProposalLine};
pub use ticket::{Ticket, Tickets};
pub use trial::{Flip, Trial, rescored};
pub use update::{THEMES, asked, go_to, load_set, reevaluated, tree_offset, update};
pub use verdict::{REASON_AT, VerdictLine, verdict_lines};
