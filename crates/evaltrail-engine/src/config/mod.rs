//! `evaltrail.toml`, an optional file at the workspace's root: agents by name, metrics and the options of runs.
//!
//! Precedence: defaults < file < flags. An unknown key is an error with its position.

mod agents;
mod comparison;
mod coverage;
mod duration;
mod file;
mod judge;
mod metric;
mod scheduler;
mod shard;
mod template;
mod tool_fault;
mod user;

pub use agents::{AgentSpecError, is_agent_address, parse_agent_uri, split_command};
pub use comparison::{parse_evidence, parse_level};
pub use coverage::checked_share;
pub use duration::parse_duration;
pub use file::{
    CRITERIA_FILE, ConfigFile, ConfigProblem, DEFAULT_RUNS_KEPT, FILE_NAME, LARGE_RUNS_MB,
};
pub use metric::{DefinedKind, DefinedMetric};
pub use scheduler::{job_of_environment, shard_of_environment};
pub use shard::{ShardChoice, parse_shard};
pub use tool_fault::parse_tool_fault;
pub use user::{OneOrMore, USER_FILE_NAME, UserConfig};
