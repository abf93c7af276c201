//! A case being edited.

pub mod apply;
pub mod complete;
pub mod field;
pub mod state;
pub mod update;
pub mod view;
