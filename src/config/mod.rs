//! `evaltrail.toml`: optional, at the workspace's root. Agents by name, and how runs are carried out.
//!
//! Layers: defaults < file < flags. Unknown keys are errors that say where.

mod agent;
mod duration;
mod file;
mod judge;
mod metric;
mod template;
mod user;

pub use agent::{AgentSpecError, parse_agent_uri, split_command};
pub use duration::parse_duration;
pub use file::{ConfigFile, ConfigProblem, FILE_NAME, KEPT_RUNS};
pub use metric::{DefinedKind, DefinedMetric};
pub use user::{OneOrMore, USER_FILE_NAME, UserConfig};
