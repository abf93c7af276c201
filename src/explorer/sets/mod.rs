//! Files of eval sets: loading them with their past results, and following cases that are edited.

pub mod edited_cases;
pub mod load;
pub mod past_results;
