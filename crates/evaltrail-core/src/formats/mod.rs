//! Reading and writing of all file formats. Each format is read and written in one place, in all of its spellings.
//!
//! ```text
//! source ─▶ text ──json──▶ Value ──read──▶ adk │ vertex │ messages ──▶ EvalCase, criteria, results
//!              └──index──▶ set_file: position of each case ──▶ a case parsed when it is opened
//! case ──edit──▶ the smallest change of the text
//! ```

pub mod adk;
mod agents_cli;
mod answers;
mod chat_log;
mod check_rows;
mod content;
mod convert;
mod document;
mod dotenv;
mod drafts;
mod edit;
mod file_hints;
mod file_start;
mod foreign;
pub mod form;
mod index;
pub mod json;
mod line_size;
mod messages;
mod notes;
mod own;
mod plan;
mod preview;
mod problem;
mod read;
mod recorded_cases;
pub mod recording;
mod set_file;
mod sniff;
mod source;
pub mod spans;
mod text_lines;
pub mod vertex;

pub use adk::blank_set;
pub use agents_cli::{
    AGENTS_CLI_CONFIGS, ConfiguredKind, ConfiguredMetric, read_agents_cli_config,
};
pub use answers::{RecordedResponses, read_responses};
pub use chat_log::{LoggedChat, read_chat_log};
pub use check_rows::check_rows;
pub use convert::{ConversionInputs, ConversionTarget, Converted, convert};
pub use document::SetProperties;
pub use dotenv::read_dotenv;
pub use drafts::{CheckedDraft, Draft, DraftContent, read_drafts, write_drafts};
pub use edit::{
    EditError, append_case, change_case, change_set, copy_case, insert_case, is_editable,
    remove_cases, retype_case,
};
pub use file_hints::FileHints;
pub use file_start::{FILE_START, decoded_text, is_utf16};
pub use foreign::of_bytes as what_bytes_are;
pub use form::FileFormat;
pub use line_size::check_line_size;
pub use messages::{
    Message, MessageRole, StateBefore, StoredSession, first_action, read_message, read_session,
    saved_conversations,
};
pub use notes::Notes;
pub use own::{
    EvaltrailFile, HTML_TITLE, MARKDOWN_TITLE, REPORT_COLUMNS, REPORT_KEY, RESULT_ID, TAIL,
    is_own_result, is_packed, own_file,
};
pub use plan::{Edit, append_cases, plan, rebase};
pub use preview::{PreviewLine, created, preview, unified};
pub use problem::FileProblem;
pub use read::ReadError;
pub use recorded_cases::RecordedCase;
pub use set_file::SetFile;
pub use sniff::{DATA, FileContent, content_of, may_be_data};
pub use source::{RangeReader, Source};
pub use vertex::ColumnMap;
