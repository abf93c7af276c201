//! Google ADK's files, as google-adk 2.13 defines them (`google/adk/evaluation/`).
//!
//! `schema` is a table of what ADK accepts; `check` validates a file with it.
//! The readers are more tolerant: they accept both spellings everywhere and retain unknown keys.

mod check;
mod check_rubrics;
mod config;
mod content;
mod eval_case;
mod event;
mod golden;
mod key_case;
mod legacy;
mod model_request;
mod result;
mod result_file;
mod result_session;
mod schema;
mod schema_genai;
mod schema_types;
mod write;

pub use check::{Issue, KnownNames, Severity, check_text};
pub use check_rubrics::{wrong_rubrics_of_case, wrong_rubrics_of_criterion};
pub use config::{ConfigError, EvalConfig, change_criteria, default_criteria, read_config};
pub use content::write_content;
pub use event::{Event, invocation_of, invocations_of, read_event, reported_error};
pub use golden::{golden_events, write_message};
pub use result::{
    RESULT_ENDING, ResultOf, app_history, app_of_result, result_id, result_name, storage_app,
    storage_history, write_invocation, write_result,
};
pub(super) use result_file::is_result;
pub use result_file::{ADK_RESULT, ResultEntry, ResultFile};
pub use write::{blank_set, write_case};
pub(super) use write::{write_named_case, write_trajectory, write_turns};

pub(super) use content::{
    content as read_content, part as read_part, response_object, write_content_as_is,
};
pub(super) use eval_case::{eval_case, session_input, trajectory};
pub(super) use event::event;
pub(super) use key_case::convert_key_case;
pub use legacy::read_initial_session;
pub(super) use legacy::{named_case, turn_list};
pub use model_request::ModelRequest;
pub(super) use schema::{SchemaProblem, is_part_field, refusals};
