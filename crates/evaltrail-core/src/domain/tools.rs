//! How the tools of an agent are answered during an evaluation, and the result.

use super::ToolCall;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How the tools of an agent are answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolsSpec {
    /// Whether calls are answered from stubs, and what happens to a call without one.
    pub stubs: StubMode,
    /// The MCP servers that evaltrail stands in for, by the environment variable from which the agent takes the address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp: BTreeMap<String, McpSource>,
    /// Failures to inject into tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<ToolFault>,
    /// Whether the calls of an agent that does not report them are taken from the spans that it exports.
    #[serde(skip_serializing_if = "TraceSource::is_none")]
    pub traces: TraceSource,
}

/// Where an agent exports its spans to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceSource {
    /// Its spans are not received.
    #[default]
    None,
    /// To an address of evaltrail's choice, of which it informs the program that it starts.
    Started,
    /// To this address on this machine, `HOST:PORT`, for an agent that already runs.
    At(String),
}

impl TraceSource {
    fn is_none(&self) -> bool {
        *self == TraceSource::None
    }
}

/// Whether calls are answered from stubs, and what happens to a call that no stub answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StubMode {
    /// The agent's tools run.
    #[default]
    Off,
    /// The attempt is errored.
    Fail,
    /// The agent receives an error, and continues.
    Error,
    /// The agent's tool runs.
    Live,
    /// The nearest stub of the same tool answers.
    Nearest,
}

/// What answers the requests of an agent to an MCP server that are not answered from stubs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct McpSource {
    /// The URL of the real server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A file with the declarations of the tools, for evaluations without the real server.
    #[serde(
        with = "super::stored_path::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub declarations: Option<PathBuf>,
}

/// A failure that tools are made to have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolFault {
    /// The tools, with wildcards.
    pub tool: String,
    /// What happens to each call.
    pub failure: ToolFailure,
}

/// How a tool fails.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFailure {
    /// With an error in these words.
    Error(String),
    /// With an error after this time, in milliseconds.
    Timeout(u64),
    /// With an empty answer.
    Empty,
}

impl ToolsSpec {
    /// Whether evaltrail must see the calls of tools that the agent runs by itself.
    pub fn intercepts(&self) -> bool {
        self.stubs != StubMode::Off || !self.mcp.is_empty() || !self.faults.is_empty()
    }

    /// How tools are answered, for a headline; `None` when the agent's tools run.
    pub fn label(&self) -> Option<String> {
        let stubs = match self.stubs {
            StubMode::Off => None,
            StubMode::Fail => Some("tools from stubs"),
            StubMode::Error => Some("tools from stubs, else an error"),
            StubMode::Live => Some("tools from stubs, else live"),
            StubMode::Nearest => Some("tools from the nearest stubs"),
        };
        let faults: Vec<String> = self.faults.iter().map(ToolFault::describe).collect();
        let faults = (!faults.is_empty()).then(|| format!("faults: {}", faults.join(", ")));
        let traces = (!self.traces.is_none()).then(|| "calls from its spans".to_string());
        let labels: Vec<String> = stubs
            .map(str::to_string)
            .into_iter()
            .chain(faults)
            .chain(traces)
            .collect();
        (!labels.is_empty()).then(|| labels.join("; "))
    }
}

impl StubMode {
    /// The modes by their names.
    pub const NAMES: [(&'static str, StubMode); 5] = [
        ("off", StubMode::Off),
        ("fail", StubMode::Fail),
        ("error", StubMode::Error),
        ("live", StubMode::Live),
        ("nearest", StubMode::Nearest),
    ];
}

impl ToolFault {
    /// The fault as it is written: `book_*=timeout:30s`.
    pub fn describe(&self) -> String {
        match &self.failure {
            ToolFailure::Error(words) => format!("{}=error:{words}", self.tool),
            ToolFailure::Timeout(ms) => format!("{}=timeout:{}s", self.tool, *ms as f64 / 1000.0),
            ToolFailure::Empty => format!("{}=empty", self.tool),
        }
    }
}

/// How the intercepted calls of an attempt were answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolUse {
    /// The number of calls that stubs answered.
    pub stubbed: u32,
    /// The number of calls that the agent's own tools answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub live: u32,
    /// The number of calls that failed because a fault was requested.
    #[serde(skip_serializing_if = "is_zero")]
    pub faults: u32,
    /// The number of calls that received the answer of a stub for other arguments.
    #[serde(skip_serializing_if = "is_zero")]
    pub nearest: u32,
    /// Whether a call did not say to which attempt it belongs, so that the agent's attempts run one at a time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_at_a_time: bool,
    /// Whether the agent's spans were to show its calls, and none came in a turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_spans: bool,
    /// The attributes in which the agent has kept something of earlier conversations; empty if there are none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kept_state: String,
    /// Whether the agent exports its spans over gRPC, which evaltrail does not receive.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exports_over_grpc: bool,
    /// The calls without an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingAnswer>,
    /// The numbers of the lines of the stub file that are for the case and answered no call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<usize>,
}

/// A call that no stub answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingAnswer {
    /// The turn, from 1.
    pub turn: usize,
    /// The call.
    pub call: ToolCall,
    /// What is missing, with the nearest stub.
    pub why: String,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How many calls were answered in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCounts {
    /// By stubs.
    pub stubbed: u32,
    /// By stubs for other arguments.
    pub nearest: u32,
    /// With a failure that was requested.
    pub faults: u32,
    /// By the agent's own tools.
    pub live: u32,
    /// Not at all.
    pub missing: u32,
    /// The number of stubs for the case that answered no call.
    pub unused: u32,
    /// Whether a call did not say to which attempt it belongs, so that the agent's attempts run one at a time.
    pub one_at_a_time: bool,
    /// Whether the agent's spans were to show its calls, and none came in a turn.
    pub lacks_spans: bool,
    /// Whether the agent has kept something of earlier conversations.
    pub keeps_state: bool,
    /// Whether the agent exports its spans over gRPC, which evaltrail does not receive.
    pub exports_over_grpc: bool,
}

impl ToolUse {
    /// The counts alone.
    pub fn counts(&self) -> ToolCounts {
        ToolCounts {
            stubbed: self.stubbed,
            nearest: self.nearest,
            faults: self.faults,
            live: self.live,
            missing: self.missing.len() as u32,
            unused: self.unused.len() as u32,
            one_at_a_time: self.one_at_a_time,
            lacks_spans: self.lacks_spans,
            keeps_state: !self.kept_state.is_empty(),
            exports_over_grpc: self.exports_over_grpc,
        }
    }
}

impl ToolCounts {
    /// The sum of two counts.
    pub fn and(self, other: ToolCounts) -> ToolCounts {
        ToolCounts {
            stubbed: self.stubbed + other.stubbed,
            nearest: self.nearest + other.nearest,
            faults: self.faults + other.faults,
            live: self.live + other.live,
            missing: self.missing + other.missing,
            unused: self.unused + other.unused,
            one_at_a_time: self.one_at_a_time || other.one_at_a_time,
            lacks_spans: self.lacks_spans || other.lacks_spans,
            keeps_state: self.keeps_state || other.keeps_state,
            exports_over_grpc: self.exports_over_grpc || other.exports_over_grpc,
        }
    }

    /// Whether there is nothing to report but that the agent keeps state.
    pub fn is_only_state(self) -> bool {
        self == ToolCounts {
            keeps_state: true,
            ..ToolCounts::default()
        }
    }

    /// Whether calls were answered by anything but stubs for them.
    pub fn is_mixed(self) -> bool {
        self.nearest + self.faults + self.live > 0 || self.lacks_spans
    }

    /// The counts in words: `tools: 5 stubbed · 1 live · 0 missing`.
    pub fn describe(self) -> String {
        if self.exports_over_grpc {
            return "the agent exports spans over gRPC; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, and use the exporter \
                    for HTTP where the code chooses one"
                .into();
        }
        if self.lacks_spans {
            return "no span of the agent came: do its web framework and its tools pass the trace context on?".into();
        }
        let also = |count: u32, word: &str| (count > 0).then(|| format!("{count} {word}"));
        let counts = [
            Some(format!("tools: {} stubbed", self.stubbed)),
            also(self.nearest, "from the nearest stub"),
            also(self.faults, "made to fail"),
            Some(format!("{} live", self.live)),
            Some(format!("{} missing", self.missing)),
            also(
                self.unused,
                if self.unused == 1 {
                    "stub not used"
                } else {
                    "stubs not used"
                },
            ),
        ];
        counts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}
