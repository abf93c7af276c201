//! evaltrail explores agent evaluations: which cases failed, where they differ from the expected trajectory, and why.
//!
//! The modules in layers: each may use those above it in this list, never those below. `tests/integration/architecture.rs` reads the
//! imports and fails on a violation.
//!
//! | module | what it is for | may touch |
//! |---|---|---|
//! | [`domain`] | plain data: eval set, case, invocation, criterion, score, run | nothing |
//! | [`diff`] | alignment of calls, differences of values and texts, rows | nothing |
//! | [`metrics`] | (expected, actual, criterion) → score with an explanation | nothing |
//! | [`formats`] | bytes ⇄ domain | nothing |
//! | [`config`] | `evaltrail.toml`, agents by name or address | nothing |
//! | [`net`] | HTTP with limits, server-sent events, retries | network |
//! | [`process`] | child processes, and time that does not count stops | processes |
//! | [`store`] | journal, history, trust; the only writer of users' files | files |
//! | [`history`] | the runs that happened, and the latest result of each case | files, to read |
//! | [`workspace`] | what lies in a folder | files, to read |
//! | [`agents`] | agents: one connection kind per file | network, processes |
//! | [`judge`] | judges: models, and programs of a person | network, processes |
//! | [`runner`] | a plan → a stream of run events | tasks, time |
//! | [`report`] | a finished run as text, JSON, JUnit | nothing |
//! | [`explorer`] | the terminal user interface | nothing, but for `terminal`: the terminal |
//! | [`cli`] | the command line | standard streams |

pub mod domain;
pub mod diff;
pub mod metrics;
pub mod formats;
pub mod config;
pub mod net;
pub mod process;
pub mod store;
pub mod history;
pub mod workspace;
pub mod agents;
pub mod judge;
pub mod runner;
pub mod report;
pub mod explorer;
pub mod cli;
