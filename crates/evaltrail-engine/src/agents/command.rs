//! A program as an agent: one process per attempt. For each turn it reads one line of JSON, and writes events and then
//! one result (see `docs/agents.md`).

use super::program::{ProgramLines, cannot_start};
use super::tools::for_session;
use super::{Agent, AgentError, OnEvent, Session, SessionOptions, Turn, TurnOutcome};
use crate::process::Program;
use async_trait::async_trait;
use evaltrail_core::domain::{Invocation, ProgramSpec};
use evaltrail_core::formats::adk::write_content;
use serde_json::{Value, json};

/// A program to start.
#[derive(Debug)]
pub(super) struct CommandAgent {
    spec: ProgramSpec,
}

/// A running program.
#[derive(Debug)]
struct CommandSession {
    lines: ProgramLines,
    opening: SessionOptions,
    history: Vec<Value>,
    /// The session's state as the last result reported it.
    state: Option<Value>,
}

impl CommandAgent {
    /// Checks that the program exists. Each attempt starts it.
    pub(super) fn connect(spec: ProgramSpec) -> Result<CommandAgent, AgentError> {
        match Program::check(&spec) {
            Ok(()) => Ok(CommandAgent { spec }),
            Err(error) => Err(cannot_start(&spec, &error)),
        }
    }

    fn start(&self, opening: SessionOptions) -> Result<CommandSession, AgentError> {
        let variables = for_session(&self.spec.variables, &opening.session_id);
        let spec = ProgramSpec {
            variables,
            ..self.spec.clone()
        };
        Ok(CommandSession {
            lines: ProgramLines::start(&spec)?,
            history: output_before(&opening),
            opening,
            state: None,
        })
    }
}

#[async_trait]
impl Agent for CommandAgent {
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        Ok(Box::new(self.start(opening)?))
    }
}

#[async_trait]
impl Session for CommandSession {
    fn id(&self) -> &str {
        &self.opening.session_id
    }

    /// The state that the last result reported, if any.
    async fn state(&self) -> Option<Value> {
        self.state.clone()
    }

    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let prompt = turn.user.scored_text();
        let request = self.request(&turn, &prompt);
        match self.lines.exchange(&request, turn.budget, on_event).await? {
            Some(result) => {
                self.history.push(json!({"role": "user", "text": prompt}));
                self.history
                    .push(json!({"role": "model", "text": result.answer}));
                self.state = result.state.or(self.state.take());
                let (end, has_all_calls) = (result.end, result.has_all_calls);
                Ok(TurnOutcome {
                    end,
                    has_all_calls,
                    ..TurnOutcome::ANSWERED
                })
            }
            None => Err(self.lines.ended().await),
        }
    }
}

impl CommandSession {
    /// The line of JSON that the program receives for a turn.
    fn request(&self, turn: &Turn<'_>, prompt: &str) -> String {
        let request = json!({
            "prompt": prompt,
            "turn": turn.number,
            "eval_id": self.opening.eval_id,
            "session_id": self.opening.session_id,
            "user_content": write_content(turn.user),
            "state": self.opening.state,
            "history": self.history,
        });
        format!("{request}\n")
    }
}

/// The initial history of a conversation, in the form in which it is sent with each turn.
fn output_before(opening: &SessionOptions) -> Vec<Value> {
    let said = |turn: &Invocation| {
        let prompt = json!({"role": "user", "text": turn.user.scored_text()});
        [
            prompt,
            json!({"role": "model", "text": turn.response_text()}),
        ]
    };
    opening.history.iter().flat_map(said).collect()
}
