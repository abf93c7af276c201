//! What evaltrail does outside of the screen: it finds eval sets, agents and configuration in a folder, runs cases
//! against agents, asks judges, stores what happened, and writes reports.
//!
//! The modules are layers: each may import those above it in this list, never those below. The test
//! `tests/integration/architecture` checks the imports.
//!
//! | module | purpose | I/O |
//! |---|---|---|
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
//! | [`bisect`] | the commit from which on cases pass less often: commits, worktrees, what is known | processes, files |
//! | [`report`] | a finished run as text, JSON, JUnit and other formats | none |

#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::unwrap_used))]

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

pub mod bisect;

pub mod report;
