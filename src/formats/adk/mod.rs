//! Google ADK's files, as `adk.md` and the real program define them.
//!
//! `schema` is what ADK itself accepts, as one table; `check` holds a file against it.
//! The readers are more tolerant: both spellings everywhere, unknown keys kept.

mod check;
mod config;
mod content;
mod event;
mod legacy;
mod read;
mod result;
mod result_file;
mod schema;
mod set_file;

pub use check::{Issue, Severity, check_text};
pub use config::{ConfigError, EvalConfig, default_criteria, read_config};
pub use content::write_content;
pub use event::{Event, invocations_of, read_event};
pub use read::ReadError;
pub use result::{app_history, result_document, result_id, result_name};
pub use result_file::{ResultEntry, ResultFile};
pub use set_file::{Entry, FileProblem, Form, SetFile};
