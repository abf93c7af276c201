//! The list of cases: filter, order, groups of failures, decisions and trends.

pub mod causes;
pub mod decisions;
pub mod filtered_case;
pub mod listing;
pub mod run_text;
pub mod trend;
