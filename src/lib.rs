//! evaltrail explores agent evaluations: which cases failed, where they left the trail, and why.
//!
//! The house, from the ground up. A room may use the rooms above it in this list, never those
//! below; `tests/architecture.rs` reads the imports and fails on one against the arrow.

pub mod diff;
pub mod domain;
pub mod metrics;
pub mod formats;
pub mod config;
pub mod store;
pub mod workspace;
pub mod agents;
pub mod runner;
pub mod report;
pub mod app;
pub mod ui;
pub mod shell;
pub mod cli;
