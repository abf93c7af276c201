//! Files of eval sets: loading them, and following cases that are edited.

pub mod edited_cases;
pub mod load;
