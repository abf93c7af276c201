//! Plays recorded events with their timing.

use super::{AgentError, ErrorKind, Opening, Turn};
use crate::formats::adk::Event;
use crate::formats::recording::{RecordedAttempt, RecordedTurn, read_recording};
use crate::store::read_text_file;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// A longer recording is none.
const LONGEST: u64 = 256 << 20;

/// A recording.
#[derive(Debug)]
pub struct Replay {
    attempts: Vec<RecordedAttempt>,
    /// The positions of the attempts of each case.
    of_case: HashMap<String, Vec<usize>>,
    speed: u32,
}

/// A conversation that is being played.
#[derive(Debug)]
pub struct ReplaySession {
    replay: Arc<Replay>,
    /// The recorded attempt of this case, if there is one.
    attempt: Option<usize>,
    opening: Opening,
}

impl Replay {
    /// Reads a recording from a file. `speed` is in percent; 0 does not wait.
    pub fn read(path: &Path, speed: u32) -> Result<Replay, AgentError> {
        let setup = |why: String| AgentError::new(ErrorKind::Setup, format!("{}: {why}", path.display()));
        let text = read_text_file(path, LONGEST).map_err(|error| setup(error.to_string()))?;
        let attempts = read_recording(&text).map_err(setup)?;
        let mut of_case: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, attempt) in attempts.iter().enumerate() {
            of_case.entry(attempt.eval_id.clone()).or_default().push(at);
        }
        Ok(Replay { attempts, of_case, speed })
    }

    pub(super) fn open(self: &Arc<Self>, opening: Opening) -> ReplaySession {
        let of_case = self.of_case.get(&opening.eval_id).map(Vec::as_slice).unwrap_or_default();
        // The second attempt plays the second recording, and so on around.
        let nth = (opening.attempt.max(1) as usize - 1) % of_case.len().max(1);
        ReplaySession { attempt: of_case.get(nth).copied(), replay: self.clone(), opening }
    }
}

impl ReplaySession {
    pub(super) fn id(&self) -> &str {
        &self.opening.session_id
    }

    /// The state at the end of the recorded conversation.
    pub(super) fn state(&self) -> Option<serde_json::Value> {
        self.attempt.and_then(|attempt| self.replay.attempts[attempt].state.clone())
    }

    /// The recorded turn: the case's own, else any that begins with the same words.
    fn recorded(&self, turn: &Turn<'_>) -> Option<&RecordedTurn> {
        if let Some(attempt) = self.attempt {
            return self.replay.attempts[attempt].turns.get(turn.number - 1);
        }
        let prompt = turn.user.scored_text();
        self.replay
            .attempts
            .iter()
            .flat_map(|attempt| &attempt.turns)
            .find(|recorded| recorded.prompt == prompt)
    }

    pub(super) async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<(), AgentError> {
        let Some(recorded) = self.recorded(&turn) else {
            let what = format!("the recording has no turn {} of {:?}", turn.number, self.opening.eval_id);
            return Err(AgentError::new(ErrorKind::Setup, what));
        };
        let began = Instant::now();
        for event in &recorded.events {
            let at = event.at.unwrap_or(0.0).max(0.0);
            if self.replay.speed > 0 {
                sleep_until(began + Duration::from_secs_f64(at * 100.0 / f64::from(self.replay.speed))).await;
            }
            on_event(event.clone());
        }
        match &recorded.error {
            Some(error) => Err(AgentError::new(ErrorKind::Agent, error.clone())),
            None => Ok(()),
        }
    }
}
