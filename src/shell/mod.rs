//! The explorer's hands: the only place that touches the terminal.
//!
//! ```text
//! keys, mouse, size ─┐
//! answers of effects ├─▶ event loop ─▶ update ─▶ effects ─▶ hands (tasks, files, programs)
//! run events ────────┘        └─▶ frame, when something changed
//! ```

mod chat;
mod clipboard;
mod criteria;
mod edits;
mod editor;
mod event_loop;
mod frames;
mod hands;
mod input;
mod keys;
mod past;
mod terminal;
mod tools;

pub use editor::edit_text;
pub use event_loop::{Explorer, explore};
