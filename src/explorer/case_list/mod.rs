//! The list of cases: filter, order, groups of failures, decisions and trends.

pub mod causes;
pub mod decisions;
pub mod filter_completion;
pub mod filtered_case;
pub mod listing;
pub mod run_text;
pub mod trend;
