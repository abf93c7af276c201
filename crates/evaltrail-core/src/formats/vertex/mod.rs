//! Vertex AI's files: data sets as JSON Lines, tables and JSON, and evaluation results.
//!
//! ```text
//! lines (JSONL) ┐
//! table (CSV)   ├─▶ a row ──row──▶ EvalCase: what is expected, what was saved, what was recorded
//! frame (JSON)  ┘            (trajectories: calls, literal)
//! ```

mod agent_data;
mod calls;
mod column_names;
mod columns;
mod frame;
mod layout;
mod lines;
mod literal;
mod observability;
mod recorded;
mod row;
mod row_turns;
mod rubrics;
mod table;
mod turns;
mod write;

pub use calls::{PLAIN_INPUT, tool_input};
pub use columns::{ColumnMap, MAPPED_TO};
pub use lines::{FileRows, LineIndexer};
pub use write::{write_row, write_trajectory};

pub(super) use calls::arguments;
pub(super) use frame::{DataFrame, unknown_columns};
pub(super) use layout::{NEEDED, found_columns, is_known, is_known_name};
pub(super) use literal::parse as literal_value;
pub(super) use recorded::result_case;
pub(super) use row::case;
pub(super) use table::{Table, header, width_of_record};

/// Columns by which a row of a data set is recognised.
pub const COLUMNS: &[&str] = &[
    "prompt",
    "reference_trajectory",
    "predicted_trajectory",
    "response",
    "responses",
    "messages",
    "request",
    "agent_data",
    "outputs",
    "reference_outputs",
    "eval_case_id",
    "user_scenario",
    "conversation_history",
    "input",
    "inputs",
    "output",
    "expected_steps",
    "actual_steps",
    // Whole conversations: Gemini's contents, states of LangGraph, sessions of ADK.
    "contents",
    "values",
    "events",
    // The newer client writes either spelling.
    "referenceTrajectory",
    "predictedTrajectory",
    "agentData",
    "referenceOutputs",
    "evalCaseId",
    "userScenario",
    "conversationHistory",
];
