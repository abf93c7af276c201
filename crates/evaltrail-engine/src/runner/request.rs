//! What a run is requested with.

use crate::runner::Selection;
use evaltrail_core::domain::{
    CaseKey, EndedAttempt, JudgeSpec, Query, RunOptions, StubMode, ToolFault,
};
use std::path::PathBuf;
use std::sync::Arc;

/// A request for a run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The files and cases.
    pub selections: Vec<Selection>,
    /// The agent by name or URI.
    pub agent: Option<String>,
    /// Whether to score the responses that are saved in the files, without an agent.
    pub saved: bool,
    /// Earlier attempts to re-evaluate, without an agent: by file and case, the attempts of a case in order.
    pub kept: Vec<(PathBuf, CaseKey, Arc<EndedAttempt>)>,
    /// A file of criteria, instead of the one beside each file.
    pub config: Option<PathBuf>,
    /// Further metrics, with their default options.
    pub metrics: Vec<String>,
    /// A filter of the cases.
    pub query: Query,
    /// How to run them.
    pub options: RunOptions,
    /// Environment variables to pass to programs, in addition to those that the configuration names.
    pub env: Vec<String>,
    /// Whether tools are answered from stubs; as the configuration specifies when `None`.
    pub stubs: Option<StubMode>,
    /// Whether tools are answered from stubs where the configuration says nothing about it.
    pub keeps_stubs: bool,
    /// Failures to inject into calls of tools.
    pub faults: Vec<ToolFault>,
    /// The judge.
    pub judge: JudgeSpec,
}
