//! Bytes ⇄ domain: every spelling of every file, in one place each.
//!
//! ```text
//! text ──json──▶ Value ──adk──▶ EvalSet, criteria, results      (errors: line, column, path)
//!   └──index──▶ where each case lies ──▶ a case parsed when it is opened
//! ```

pub mod adk;
pub mod index;
pub mod json;
pub mod recording;
