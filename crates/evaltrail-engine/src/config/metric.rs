//! `[metrics.NAME]`: metrics that the user defines.

use super::agents::split_command;
use super::duration::parse_duration;
use super::template::RawTemplate;
use evaltrail_core::domain::{CallingConvention, JudgeTemplate};
use serde::Deserialize;
use serde_json::Value;

/// A metric as the file defines it. The folder in which a program runs and the Python interpreter are chosen
/// later, where the file system can be accessed.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinedMetric {
    /// Its name.
    pub name: String,
    /// The score needed to pass; `None` makes the metric informational.
    pub threshold: Option<f64>,
    /// What it computes.
    pub kind: DefinedKind,
}

/// What a defined metric computes.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum DefinedKind {
    Tools {
        tools: Vec<String>,
    },
    Response {
        pattern: String,
    },
    Argument {
        tool: String,
        path: String,
        equals: Option<Value>,
        pattern: Option<String>,
    },
    MaxCalls {
        tool: Option<String>,
        max: u32,
    },
    Judged(JudgeTemplate),
    Command {
        argv: Vec<String>,
        env: Vec<String>,
        timeout_ms: u64,
    },
    Python {
        function: String,
        convention: CallingConvention,
        python: Option<String>,
        env: Vec<String>,
        timeout_ms: u64,
    },
}

/// Default time limit for a program, in milliseconds.
const TIMEOUT_MS: u64 = 30_000;

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum RawMetric {
    Tools {
        tools: Vec<String>,
        threshold: Option<f64>,
    },
    Response {
        pattern: String,
        threshold: Option<f64>,
    },
    Argument {
        tool: String,
        path: String,
        equals: Option<Value>,
        pattern: Option<String>,
        threshold: Option<f64>,
    },
    MaxCalls {
        tool: Option<String>,
        max: u32,
        threshold: Option<f64>,
    },
    Pointwise(RawTemplate),
    Pairwise(RawTemplate),
    Command {
        command: String,
        #[serde(default)]
        env: Vec<String>,
        timeout: Option<String>,
        threshold: Option<f64>,
    },
    Python {
        function: String,
        convention: Option<CallingConvention>,
        python: Option<String>,
        #[serde(default)]
        env: Vec<String>,
        timeout: Option<String>,
        threshold: Option<f64>,
    },
}

impl RawMetric {
    pub(super) fn define(self, name: &str) -> Result<DefinedMetric, String> {
        let threshold = self.threshold();
        if let Some(number) = threshold.filter(|number| !number.is_finite()) {
            return Err(format!("the threshold {number} is not a finite number"));
        }
        Ok(DefinedMetric {
            name: name.to_string(),
            threshold,
            kind: self.kind()?,
        })
    }

    fn threshold(&self) -> Option<f64> {
        match self {
            RawMetric::Pointwise(raw) | RawMetric::Pairwise(raw) => raw.threshold,
            RawMetric::Tools { threshold, .. }
            | RawMetric::Response { threshold, .. }
            | RawMetric::Argument { threshold, .. }
            | RawMetric::MaxCalls { threshold, .. }
            | RawMetric::Command { threshold, .. }
            | RawMetric::Python { threshold, .. } => *threshold,
        }
    }

    fn kind(self) -> Result<DefinedKind, String> {
        Ok(match self {
            RawMetric::Tools { tools, .. } if tools.is_empty() => {
                return Err("tools is empty: name the tools that must be called".into());
            }
            RawMetric::Tools { tools, .. } => DefinedKind::Tools { tools },
            RawMetric::Response { pattern, .. } => DefinedKind::Response { pattern },
            RawMetric::Argument {
                equals: None,
                pattern: None,
                ..
            } => return Err("an argument metric needs equals or pattern".into()),
            RawMetric::Argument {
                tool,
                path,
                equals,
                pattern,
                ..
            } => DefinedKind::Argument {
                tool,
                path,
                equals,
                pattern,
            },
            RawMetric::MaxCalls { tool, max, .. } => DefinedKind::MaxCalls { tool, max },
            RawMetric::Pointwise(raw) => DefinedKind::Judged(raw.template(false)?),
            RawMetric::Pairwise(raw) => DefinedKind::Judged(raw.template(true)?),
            RawMetric::Command {
                command,
                env,
                timeout,
                ..
            } => DefinedKind::Command {
                argv: split_command(&command).map_err(|error| error.0)?,
                env,
                timeout_ms: limit(timeout)?,
            },
            RawMetric::Python {
                function,
                convention,
                python,
                env,
                timeout,
                ..
            } => DefinedKind::Python {
                function,
                convention: convention.unwrap_or(CallingConvention::Vertex),
                python,
                env,
                timeout_ms: limit(timeout)?,
            },
        })
    }
}

fn limit(timeout: Option<String>) -> Result<u64, String> {
    let limit = timeout
        .as_deref()
        .map(parse_duration)
        .transpose()
        .map_err(|why| format!("timeout: {why}"))?;
    Ok(limit.map_or(TIMEOUT_MS, |limit| limit.as_millis() as u64))
}
