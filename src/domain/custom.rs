//! Metrics that people define themselves.

use super::JudgeTemplate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

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
    /// Program and arguments; never a shell's text.
    pub argv: Vec<String>,
    /// Where it runs.
    pub cwd: PathBuf,
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

    /// What is run, for a person who is asked about it.
    pub fn command_line(&self) -> Option<String> {
        match self {
            CustomMetric::Command(program) => Some(program.argv.join(" ")),
            CustomMetric::Python { function, program, .. } => {
                Some(format!("{} calling {function}", program.argv.first().map_or("python", |word| word)))
            }
            _ => None,
        }
    }
}
