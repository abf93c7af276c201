//! A conversation with an agent.

pub mod state;
pub mod update;
pub mod view;
