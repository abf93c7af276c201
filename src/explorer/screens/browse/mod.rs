//! Sets and cases.

pub mod tree;
pub mod update;
pub mod view;
