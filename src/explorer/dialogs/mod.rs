//! Dialogs over a screen. Each file or folder contains the state, keys and drawing of one dialog.
//!
//! To add a dialog, add a file with a type that implements [`Dialog`](super::shared::model::Dialog), and its line below.

pub mod agreement;
pub mod causes;
pub mod changed_cases;
pub mod columns;
pub mod coverage;
pub mod drafts;
pub mod filter;
pub mod jump;
pub mod messages;
pub mod metrics;
pub mod move_to;
pub mod proposal;
pub mod rule;
pub mod run_options;
pub mod statistics;
pub mod themes;
pub mod variants;
pub mod verdicts;
