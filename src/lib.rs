//! evaltrail explores agent evaluations: which cases failed, where they differ from the expected trajectory, and why.
//!
//! The modules are layers: each may import those above it in this list, never those below. The test
//! `tests/integration/architecture` checks the imports.
//!
//! | module | purpose | I/O |
//! |---|---|---|
//! | [`domain`] | plain data: eval set, case, invocation, criterion, score, run | none |
//! | [`diff`] | alignment of calls, differences of values and texts, rows | none |
//! | [`metrics`] | (expected, actual, criterion) → score with an explanation | none |
//! | [`analysis`] | conclusions from results: groups of failures, comparison of runs | none |
//! | [`formats`] | bytes ⇄ domain | none |
//! | [`stubs`] | recorded answers of tools | none |
//! | [`config`] | `evaltrail.toml`, agents by name or address | none |
//! | [`net`] | HTTP with limits, server-sent events, retries | network |
//! | [`buckets`] | objects in Google Cloud Storage, S3, Azure and folders | network |
//! | [`process`] | child processes, and clocks that exclude the time in which evaltrail was suspended | processes |
//! | [`store`] | journal, undo log, trust; the only writer of users' files | files, and objects that are edited |
//! | [`history`] | past runs, and the latest result of each case | files, reading only |
//! | [`workspace`] | discovery of eval sets, agents and configuration in a folder | files, reading only |
//! | [`agents`] | agents: one kind of connection per file | network, processes |
//! | [`judge`] | judges: models, and the user's own programs | network, processes |
//! | [`runner`] | a plan → a stream of run events | tasks, time |
//! | [`report`] | a finished run as text, JSON, JUnit and other formats | none |
//! | [`explorer`] | the terminal user interface | none, except in `terminal`: the terminal |
//! | [`cli`] | the command line | standard streams |

#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::unwrap_used))]

pub mod domain;

pub mod diff;

pub mod metrics;

pub mod analysis;

pub mod formats;

pub mod stubs;

pub mod config;

pub mod net;

pub mod buckets;

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
