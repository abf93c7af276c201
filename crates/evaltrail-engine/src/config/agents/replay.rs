//! Recordings that are replayed.

use super::error::AgentSpecError;
use evaltrail_core::domain::AgentSpec;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Playback speed, in percent, unless another is specified.
const SPEED: u32 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayTable {
    recording: PathBuf,
    speed: Option<u32>,
    fallback: Option<String>,
    pub(super) jobs: Option<u32>,
}

impl ReplayTable {
    pub(super) fn spec(self, root: &Path) -> AgentSpec {
        let (path, speed) = (root.join(self.recording), self.speed.unwrap_or(SPEED));
        AgentSpec::Replay {
            path,
            speed,
            fallback: self.fallback,
        }
    }
}

/// `recording.jsonl` or `recording.jsonl?speed=50`.
pub(super) fn parse(text: &str, base: &Path) -> Result<AgentSpec, AgentSpecError> {
    let wrong = || {
        let words =
            "the speed is a whole number in percent: 100 plays as recorded, 0 without waiting";
        AgentSpecError(words.into())
    };
    let (path, speed) = match text.split_once("?speed=") {
        None => (text, SPEED),
        Some((path, speed)) => (path, speed.parse().map_err(|_| wrong())?),
    };
    Ok(AgentSpec::Replay {
        path: base.join(path),
        speed,
        fallback: None,
    })
}
