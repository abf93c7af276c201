//! A run as text, JSON or JUnit. Whatever came from outside is cleaned before it is printed.

mod json;
mod junit;
mod text;

pub use json::json_report;
pub use junit::junit_report;
pub use text::{Paint, case_line, run_summary};
