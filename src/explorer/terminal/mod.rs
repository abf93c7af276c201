//! The only part of the explorer with side effects: event loop, terminal, and execution of effects.
//!
//! ```text
//! keys, mouse, size ─┐
//! answers of effects ├─▶ event loop ─▶ update ─▶ effects ─▶ done here (tasks, files, programs)
//! run events ────────┘        └─▶ frame, when something changed
//! ```

mod captures;
mod changes;
mod chat;
mod chat_effects;
mod clipboard;
mod criteria;
mod edit_effects;
mod editor;
mod edits;
mod effects;
mod event_loop;
mod frames;
mod guard;
mod input;
mod keys;
mod load_sets;
mod newer_run;
mod past;
mod paths;
mod result_effects;
mod run_effects;
mod run_request;
mod runs;
mod set_effects;
mod task_context;
mod tools;
mod user_config;

pub use editor::edit_text;
pub use event_loop::{Explorer, ExplorerExit, OpenedRunFile, explore};
pub use guard::has_escape_sequences;
pub use newer_run::NewerRun;
