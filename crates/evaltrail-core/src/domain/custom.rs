//! Metrics that the user defines.

use super::{JudgeTemplate, ProgramSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The definition of a custom metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CustomMetric {
    /// The share of these tools that the agent called.
    Tools {
        /// Tool names, with the wildcards `*` and `?`.
        tools: Vec<String>,
    },
    /// Whether the response of the last turn matches.
    Response {
        /// A regular expression.
        pattern: String,
    },
    /// Whether any call of a tool has a matching argument.
    Argument {
        /// The tool, with the wildcards `*` and `?`.
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
    /// Whether a turn has at most `max` calls.
    MaxCalls {
        /// The counted tools, with the wildcards `*` and `?`; all when absent.
        #[serde(default)]
        tool: Option<String>,
        /// The maximum number.
        max: u32,
    },
    /// A judge rates a response, or compares two.
    Judged(JudgeTemplate),
    /// A program: the case as JSON on standard input, a score as JSON on standard output.
    Command(MetricProgram),
    /// A metric that a config names and that cannot be computed here.
    Unavailable {
        /// Why, as a message.
        why: String,
    },
    /// A Python function, called through a bridge.
    Python {
        /// Its dotted name; or a file, or source, that defines `evaluate`.
        function: String,
        /// Its calling convention.
        convention: CallingConvention,
        /// The bridge: the Python program and its arguments.
        program: MetricProgram,
    },
}

/// A program that computes a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricProgram {
    /// The program to start.
    #[serde(flatten)]
    pub program: ProgramSpec,
    /// Limit for one case, in milliseconds.
    pub timeout_ms: u64,
}

/// The calling convention of a Python function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallingConvention {
    /// Vertex's: `f(instance: dict) -> {name: score}`.
    Vertex,
    /// ADK's: `f(eval_metric, actual, expected, scenario) -> EvaluationResult`.
    Adk,
}

impl CustomMetric {
    /// The program that computes the metric, if there is one.
    pub fn program(&self) -> Option<&MetricProgram> {
        match self {
            CustomMetric::Command(program) | CustomMetric::Python { program, .. } => Some(program),
            _ => None,
        }
    }

    /// Mutable access to the program that computes the metric, if there is one.
    pub(super) fn program_mut(&mut self) -> Option<&mut MetricProgram> {
        match self {
            CustomMetric::Command(program) | CustomMetric::Python { program, .. } => Some(program),
            _ => None,
        }
    }

    /// The command line to display in a trust question. `is_set` returns whether an environment variable is set.
    pub fn command_line(&self, is_set: impl Fn(&str) -> bool) -> Option<String> {
        let line = self.program()?.program.command_line(is_set);
        Some(match self {
            CustomMetric::Python { function, .. } => format!("{line} calling {function}"),
            _ => line,
        })
    }
}
