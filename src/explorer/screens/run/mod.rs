//! A run: live, and after it ended.

pub mod update;
pub mod view;
