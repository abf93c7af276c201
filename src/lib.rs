//! evaltrail explores agent evaluations: which cases failed, where they left the trail, and why.
//!
//! The house, from the ground up. A room may use the rooms above it in this list, never those
//! below; `tests/architecture.rs` reads the imports and fails on one against the arrow.
//!
//! | room | what it is for | may touch |
//! |---|---|---|
//! | [`domain`] | the words: eval set, case, invocation, criterion, score, run | nothing |
//! | [`diff`] | how two things line up: calls, values, texts, rows | nothing |
//! | [`metrics`] | (expected, actual, criterion) → score with an explanation | nothing |
//! | [`formats`] | bytes ⇄ domain | nothing |
//! | [`config`] | `evaltrail.toml`, agents by name or address | nothing |
//! | [`store`] | journal, history, trust; the only writer of users' files | files |
//! | [`history`] | the runs that happened, and the latest result of each case | files, to read |
//! | [`workspace`] | what lies in a folder | files, to read |
//! | [`agents`] | asks an agent | network, processes |
//! | [`judge`] | asks whoever judges: models, a person's own programs | network, processes |
//! | [`runner`] | a plan → a stream of run events | tasks, time |
//! | [`report`] | a finished run as text, JSON, JUnit | nothing |
//! | [`explorer`] | the terminal user interface | nothing, but for `terminal`: the terminal |
//! | [`cli`] | the command line | standard streams |

pub mod domain;
pub mod diff;
pub mod metrics;
pub mod formats;
pub mod config;
pub mod store;
pub mod history;
pub mod workspace;
pub mod agents;
pub mod judge;
pub mod runner;
pub mod report;
pub mod explorer;
pub mod cli;
