//! An agent on Vertex AI Agent Engine: one of ADK, with sessions, or one of LangChain's template, without.

use super::adk::{event_of, failure_of};
use super::memory_limit::EVENT;
use super::messages::{call_part, event_with, response_part, text_of};
use super::remote::Remote;
use super::{Agent, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn, TurnOutcome};
use crate::process::clock::Stopwatch;
use async_trait::async_trait;
use evaltrail_core::domain::{AgentEngineSettings, Part, TurnEnd};
use evaltrail_core::formats::adk::{Event, write_message};
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;
use url::Url;

/// How long a run waits at its end for its sessions to be deleted.
const TIDIES_WITHIN: Duration = Duration::from_secs(5);

/// An agent on Agent Engine.
#[derive(Debug)]
pub(super) struct EngineAgent {
    engine: Arc<Engine>,
    has_sessions: bool,
}

#[derive(Debug)]
struct Engine {
    remote: Arc<Remote>,
    tidying: TaskTracker,
}

/// A session of an ADK agent.
#[derive(Debug)]
struct EngineSession {
    engine: Arc<Engine>,
    user_id: String,
    id: String,
    is_ours: bool,
}

/// A conversation with an agent without sessions: each message stands alone.
#[derive(Debug)]
struct PlainSession {
    engine: Arc<Engine>,
    id: String,
}

impl EngineAgent {
    pub(super) fn connect(remote: Arc<Remote>, settings: &AgentEngineSettings) -> EngineAgent {
        let engine = Arc::new(Engine {
            remote,
            tidying: TaskTracker::new(),
        });
        EngineAgent {
            engine,
            has_sessions: settings.sessions,
        }
    }
}

#[async_trait]
impl Agent for EngineAgent {
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        let engine = self.engine.clone();
        if !opening.history.is_empty() {
            let why =
                "a single turn cannot be run: Agent Engine has no way to send the turns before it";
            return Err(AgentError::new(ErrorKind::Setup, why));
        }
        if !self.has_sessions {
            return Ok(Box::new(PlainSession {
                engine,
                id: opening.session_id,
            }));
        }
        let input = json!({"user_id": opening.user_id, "state": opening.state});
        let made = engine
            .query("async_create_session", input)
            .await
            .map_err(|error| AgentError {
                message: format!("no session: {}", error.message),
                ..error
            })?;
        let id = made["id"].as_str().ok_or_else(|| {
            let why =
                "no session: the answer has no id; an agent of LangChain's template needs sessions = false";
            AgentError::new(ErrorKind::Protocol, why)
        })?;
        Ok(Box::new(EngineSession {
            user_id: opening.user_id,
            id: id.to_string(),
            engine,
            is_ours: true,
        }))
    }

    async fn finish(&self) {
        self.engine.tidying.close();
        let _ = tokio::time::timeout(TIDIES_WITHIN, self.engine.tidying.wait()).await;
    }
}

impl Engine {
    /// The address of a method: the name of the engine, then `:query` or `:streamQuery`.
    fn url(&self, method: &str) -> Url {
        let mut url = self.remote.base().clone();
        let path = format!("{}:{method}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }

    /// Calls a method of the agent's class, and returns its output.
    async fn query(&self, class_method: &str, input: Value) -> Result<Value, AgentError> {
        let body = json!({"classMethod": class_method, "input": input});
        let mut answer = self
            .remote
            .ask(Method::POST, self.url("query"), Some(&body))
            .await?;
        Ok(answer
            .get_mut("output")
            .map(Value::take)
            .unwrap_or_default())
    }

    async fn delete(&self, user: &str, id: &str) {
        // A session that is not deleted does not affect any result.
        let _ = self
            .query(
                "async_delete_session",
                json!({"user_id": user, "session_id": id}),
            )
            .await;
    }
}

#[async_trait]
impl Session for EngineSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        let remote = &self.engine.remote;
        let input = json!({
            "user_id": self.user_id,
            "session_id": self.id,
            "message": write_message(turn.user),
        });
        let body = json!({"classMethod": "async_stream_query", "input": input});
        let response = remote
            .begin_turn(self.engine.url("streamQuery"), &body, &HeaderMap::new())
            .await?;
        let mut items = remote.items(response, turn.budget);
        let mut outcome = TurnOutcome::ANSWERED;
        let mut broke = None;
        while let Some(item) = items.next().await? {
            if let (Some(code), Some(words)) =
                (item.value.get("code"), item.value["message"].as_str())
            {
                return Err(remote.error(ErrorKind::Agent, format!("{words} ({code})")));
            }
            if item.value.get("author").is_none() {
                let short: String = item.value.to_string().chars().take(200).collect();
                return Err(
                    remote.error(ErrorKind::Protocol, format!("not an event of ADK: {short}"))
                );
            }
            let mut event = event_of(&item.value)?;
            event.at = Some(began.elapsed().as_secs_f64());
            event.is_message = true;
            if !event.partial {
                items.charge(item.size + EVENT)?;
                broke = failure_of(&event);
                if event.has_long_running {
                    outcome.end = TurnEnd::LongRunning;
                }
            }
            on_event(event);
        }
        match broke {
            Some(words) => Err(remote.error(ErrorKind::Agent, words)),
            None => Ok(outcome),
        }
    }

    async fn state(&self) -> Option<Value> {
        let input = json!({"user_id": self.user_id, "session_id": self.id});
        let mut session = self.engine.query("async_get_session", input).await.ok()?;
        session.get_mut("state").map(Value::take)
    }

    async fn close(mut self: Box<Self>) {
        if std::mem::take(&mut self.is_ours) {
            self.engine.delete(&self.user_id, &self.id).await;
        }
    }
}

/// Deletes the session of an interrupted conversation, in the background.
impl Drop for EngineSession {
    fn drop(&mut self) {
        if let (true, Ok(runtime)) = (self.is_ours, tokio::runtime::Handle::try_current()) {
            let (engine, user, id) = (self.engine.clone(), self.user_id.clone(), self.id.clone());
            let tidying = self.engine.tidying.clone();
            tidying.spawn_on(async move { engine.delete(&user, &id).await }, &runtime);
        }
    }
}

#[async_trait]
impl Session for PlainSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn turn(
        &mut self,
        mut turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        let remote = &self.engine.remote;
        let body = json!({"classMethod": "query", "input": {"input": turn.user.spoken_text()}});
        let response = remote
            .begin_turn(self.engine.url("query"), &body, &HeaderMap::new())
            .await?;
        let answer = remote.json_body(response, &mut turn.budget).await?;
        let output = &answer["output"];
        let steps = output["intermediate_steps"].as_array();
        for mut event in steps.into_iter().flatten().flat_map(step) {
            event.at = Some(began.elapsed().as_secs_f64());
            on_event(event);
        }
        let text = output.get("output").unwrap_or(output);
        let at = Some(began.elapsed().as_secs_f64());
        on_event(Event {
            at,
            ..event_with("agent", vec![Part::text(text_of(text))])
        });
        Ok(TurnOutcome {
            has_all_calls: steps.is_some(),
            ..TurnOutcome::ANSWERED
        })
    }
}

/// A step of LangChain's agents: an action and what the tool responded.
fn step(step: &Value) -> Vec<Event> {
    let (action, observation) = (&step[0], &step[1]);
    let action = action.get("kwargs").unwrap_or(action);
    let name = action["tool"].as_str().unwrap_or_default();
    let id = action["tool_call_id"].as_str();
    let call = event_with("agent", vec![call_part(name, id, &action["tool_input"])]);
    let response = event_with("agent", vec![response_part(name, id, observation.clone())]);
    vec![call, response]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn langchain_step_yields_call_and_response() {
        let events = step(&json!([{"kwargs": {"tool": "t", "tool_input": {"n": 1}}}, "ok"]));
        let call = events[0].content.as_ref().unwrap().calls().next().unwrap();
        assert_eq!(
            (call.name.as_str(), call.args.clone()),
            ("t", json!({"n": 1}).as_object().cloned())
        );
        let response = events[1]
            .content
            .as_ref()
            .unwrap()
            .responses()
            .next()
            .unwrap();
        assert_eq!(response.response, json!("ok"));
    }
}
