//! Metrics that people define themselves.

use super::{JudgeTemplate, ProgramSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a metric of a person's own computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CustomMetric {
    /// The share of these tools that the agent called.
    Tools {
        /// Tool names, with `*` and `?`.
        tools: Vec<String>,
    },
    /// Whether the response of the last turn matches.
    Response {
        /// A regular expression.
        pattern: String,
    },
    /// Whether some call of a tool has an argument of this kind.
    Argument {
        /// The tool, with `*` and `?`.
        tool: String,
        /// A JSON path into the arguments (RFC 9535).
        path: String,
        /// The value it must have.
        #[serde(default)]
        equals: Option<Value>,
        /// A regular expression that its text must match.
        #[serde(default)]
        pattern: Option<String>,
    },
    /// Whether a turn keeps to so many calls.
    MaxCalls {
        /// The tools counted, with `*` and `?`; all when absent.
        #[serde(default)]
        tool: Option<String>,
        /// The most.
        max: u32,
    },
    /// A judge rates a response, or compares two.
    Judged(JudgeTemplate),
    /// A program: the case as JSON on standard input, a score as JSON on standard output.
    Command(MetricProgram),
    /// A Python function, called through a bridge.
    Python {
        /// Its dotted name.
        function: String,
        /// How it wants to be called.
        convention: Convention,
        /// The bridge: Python and its arguments.
        program: MetricProgram,
    },
}

/// A program that scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricProgram {
    /// What is started.
    #[serde(flatten)]
    pub program: ProgramSpec,
    /// Limit for one case, in milliseconds.
    pub timeout_ms: u64,
}

/// How a Python function wants to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Convention {
    /// Vertex's: `f(instance: dict) -> {name: score}`.
    Vertex,
    /// ADK's: `f(eval_metric, actual, expected, scenario) -> EvaluationResult`.
    Adk,
}

impl CustomMetric {
    /// The program it takes, if it takes one.
    pub fn program(&self) -> Option<&MetricProgram> {
        match self {
            CustomMetric::Command(program) | CustomMetric::Python { program, .. } => Some(program),
            _ => None,
        }
    }

    /// What is run, for a person who is asked about it. `is_set` tells whether a variable of the environment is set.
    pub fn command_line(&self, is_set: impl Fn(&str) -> bool) -> Option<String> {
        let line = self.program()?.program.command_line(is_set);
        Some(match self {
            CustomMetric::Python { function, .. } => format!("{line} calling {function}"),
            _ => line,
        })
    }
}
