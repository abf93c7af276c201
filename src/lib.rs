//! evaltrail explores agent evaluations: which cases failed, where they differ from the expected trajectory, and why.
//!
//! This crate is the program: the terminal user interface and the command line. What it shows and starts is in the crates
//! `evaltrail-core` and `evaltrail-engine`.
//!
//! | module | purpose | I/O |
//! |---|---|---|
//! | [`explorer`] | the terminal user interface | none, except in `terminal`: the terminal |
//! | [`cli`] | the command line | standard streams |

#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::unwrap_used))]

pub mod explorer;

pub mod cli;
