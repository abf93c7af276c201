//! Replays recorded events with their timing: those of a recording, or of traces.

use super::messages::event_with;
use super::observed::step_events;
use super::{Agent, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn, TurnOutcome};
use crate::store::read_text_file;
use async_trait::async_trait;
use evaltrail_core::domain::{Content, Part};
use evaltrail_core::formats::adk::Event;
use evaltrail_core::formats::recording::{
    RecordedAttempt, RecordedTurn, is_recording, read_recording,
};
use evaltrail_core::formats::spans::{TracedTurn, read_spans, traced_conversations};
use evaltrail_core::metrics::rouge1;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The maximum size of a recording, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// A recording, with the settings for its replay.
#[derive(Debug)]
pub struct Replay {
    attempts: Vec<RecordedAttempt>,
    /// The positions of the attempts of each case.
    of_case: HashMap<String, Vec<usize>>,
    speed: u32,
    /// The response to a message that is not similar to any recorded one.
    fallback: Option<String>,
}

/// A conversation that is being replayed.
#[derive(Debug)]
struct ReplaySession {
    replay: Arc<Replay>,
    /// The recorded attempt of this case, if there is one.
    attempt: Option<usize>,
    opening: SessionOptions,
}

impl Replay {
    /// Reads a recording from a file. `speed` is in percent; 0 replays without delays. With a `fallback`, the response
    /// to a message that was not recorded is that of a similar recorded message, or else the text of the fallback.
    pub fn read(path: &Path, speed: u32, fallback: Option<String>) -> Result<Replay, AgentError> {
        let setup =
            |why: String| AgentError::new(ErrorKind::Setup, format!("{}: {why}", path.display()));
        let text = read_text_file(path, MAX_BYTES).map_err(|error| setup(error.to_string()))?;
        let attempts = match read_recording(&text) {
            Ok(attempts) => attempts,
            Err(why) if is_recording(&text) => return Err(setup(why)),
            Err(why) => traced_attempts(&text).ok_or_else(|| setup(why))?,
        };
        let mut of_case: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, attempt) in attempts.iter().enumerate() {
            of_case.entry(attempt.eval_id.clone()).or_default().push(at);
        }
        Ok(Replay {
            attempts,
            of_case,
            speed,
            fallback,
        })
    }

    fn start(self: &Arc<Self>, opening: SessionOptions) -> ReplaySession {
        let of_case = self
            .of_case
            .get(&opening.eval_id)
            .map(Vec::as_slice)
            .unwrap_or_default();
        // Attempts cycle through the recordings of the case.
        let nth = (opening.attempt.max(1) as usize - 1) % of_case.len().max(1);
        ReplaySession {
            attempt: of_case.get(nth).copied(),
            replay: self.clone(),
            opening,
        }
    }
}

/// The conversations of a file of traces as recorded attempts; `None` if it is none.
fn traced_attempts(text: &str) -> Option<Vec<RecordedAttempt>> {
    let traced = traced_conversations(&read_spans(text).ok()?);
    let turn = |traced: TracedTurn| {
        let mut events = step_events(traced.steps);
        events.extend(
            traced
                .response
                .map(|text| event_with("agent", vec![Part::text(text)])),
        );
        RecordedTurn {
            prompt: traced.user.unwrap_or_default(),
            events,
            ..RecordedTurn::default()
        }
    };
    let attempt = |(eval_id, turns): (String, Vec<TracedTurn>)| RecordedAttempt {
        eval_id,
        turns: turns.into_iter().map(turn).collect(),
        state: None,
    };
    Some(traced.into_iter().map(attempt).collect())
}

/// The ROUGE-1 score from which two messages count as similar.
const LIKE: f64 = 0.75;

/// A turn that consists of one message of the agent.
fn spoken(text: &str) -> RecordedTurn {
    let event = Event {
        author: "replay".into(),
        content: Some(Content::text("model", text)),
        ..Event::default()
    };
    RecordedTurn {
        events: vec![event],
        ..RecordedTurn::default()
    }
}

#[async_trait]
impl Agent for Arc<Replay> {
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        Ok(Box::new(self.start(opening)))
    }
}

impl ReplaySession {
    /// The turn to replay: the one recorded for the case; else one recorded for the same message; else, if there is a
    /// fallback, one recorded for a similar message, or the fallback.
    fn recorded_turn(&self, turn: &Turn<'_>) -> Option<Cow<'_, RecordedTurn>> {
        if let Some(attempt) = self.attempt {
            return self.replay.attempts[attempt]
                .turns
                .get(turn.number - 1)
                .map(Cow::Borrowed);
        }
        let prompt = turn.user.scored_text();
        let turns = || {
            self.replay
                .attempts
                .iter()
                .flat_map(|attempt| &attempt.turns)
        };
        if let Some(same) = turns().find(|recorded| recorded.prompt == prompt) {
            return Some(Cow::Borrowed(same));
        }
        let fallback = self.replay.fallback.as_ref()?;
        let likeness = |recorded: &&RecordedTurn| rouge1(&recorded.prompt, &prompt).fmeasure;
        match turns().max_by(|a, b| likeness(a).total_cmp(&likeness(b))) {
            Some(like) if likeness(&like) >= LIKE => Some(Cow::Borrowed(like)),
            _ => Some(Cow::Owned(spoken(fallback))),
        }
    }
}

#[async_trait]
impl Session for ReplaySession {
    fn id(&self) -> &str {
        &self.opening.session_id
    }

    /// The state at the end of the recorded conversation.
    async fn state(&self) -> Option<serde_json::Value> {
        self.attempt
            .and_then(|attempt| self.replay.attempts[attempt].state.clone())
    }

    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let Some(recorded) = self.recorded_turn(&turn) else {
            let what = format!(
                "the recording has no turn {} of {:?}",
                turn.number, self.opening.eval_id
            );
            return Err(AgentError::new(ErrorKind::Setup, what));
        };
        let began = Instant::now();
        for event in &recorded.events {
            let at = event.at.unwrap_or(0.0).max(0.0);
            if self.replay.speed > 0 {
                sleep_until(
                    began + Duration::from_secs_f64(at * 100.0 / f64::from(self.replay.speed)),
                )
                .await;
            }
            on_event(event.clone());
        }
        match &recorded.error {
            Some(error) => Err(AgentError::new(ErrorKind::Agent, error.clone())),
            None => Ok(TurnOutcome {
                end: recorded.end,
                has_all_calls: !recorded.partial,
                ..TurnOutcome::ANSWERED
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TurnBudget;
    use super::*;

    #[test]
    fn unrecorded_message_needs_a_fallback() {
        let turn = |prompt: &str| RecordedTurn {
            prompt: prompt.into(),
            ..spoken("recorded")
        };
        let attempt = RecordedAttempt {
            turns: vec![turn("Check the tomatoes.")],
            ..RecordedAttempt::default()
        };
        let session = |fallback: Option<&str>| {
            let replay = Replay {
                attempts: vec![attempt.clone()],
                of_case: HashMap::new(),
                speed: 0,
                fallback: fallback.map(str::to_string),
            };
            ReplaySession {
                replay: Arc::new(replay),
                attempt: None,
                opening: SessionOptions::default(),
            }
        };
        let said = |fallback: Option<&str>, words: &str| {
            let (session, user) = (session(fallback), Content::text("user", words));
            let turn = Turn {
                number: 1,
                user: &user,
                budget: TurnBudget::new(1 << 20, &Arc::default()),
                streams: false,
            };
            let recorded = session.recorded_turn(&turn)?;
            recorded.events[0]
                .content
                .as_ref()
                .map(Content::spoken_text)
        };
        assert_eq!(
            said(None, "Check the tomatoes.").as_deref(),
            Some("recorded")
        );
        assert_eq!(said(None, "check tomatoes"), None);
        assert_eq!(
            said(Some("unknown"), "check tomatoes").as_deref(),
            Some("recorded")
        );
        assert_eq!(
            said(Some("unknown"), "What is the weather?").as_deref(),
            Some("unknown")
        );
    }
}
