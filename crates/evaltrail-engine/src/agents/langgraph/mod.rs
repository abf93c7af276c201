//! A graph on a LangGraph server.
//!
//! ```text
//! server    the assistants and the keys of their inputs
//! updates   what the nodes of a graph add to its state ──message──▶ events
//! ```

mod interrupt;
mod message;
mod server;
mod updates;

use super::memory_limit::EVENT;
use super::messages::{event_with, history_messages};
use super::remote::{Remote, error_message, setup};
use super::stream_items::Items;
use super::{
    Agent, AgentDescription, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn,
    TurnOutcome,
};
use crate::process::clock::Stopwatch;
use async_trait::async_trait;
use evaltrail_core::domain::{LanggraphSettings, Part, TurnEnd};
use evaltrail_core::formats::adk::Event;
use interrupt::{Interrupt, resume};
use message::MESSAGES;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use server::LanggraphServer;
use std::sync::Arc;
use std::time::Duration;
use updates::Updates;

/// How long a run waits at its end for its threads to be deleted.
const TIDIES_WITHIN: Duration = Duration::from_secs(3);

/// A LangGraph server.
#[derive(Debug)]
pub(super) struct LanggraphAgent {
    server: Arc<LanggraphServer>,
}

/// A thread on the server.
#[derive(Debug)]
struct LanggraphSession {
    server: Arc<LanggraphServer>,
    assistant: String,
    input: String,
    thread: String,
    /// What the first message is sent with: the initial state and the history.
    opening: Option<SessionOptions>,
    /// The interrupts at which the graph waits for a decision.
    interrupts: Vec<Interrupt>,
    is_ours: bool,
    /// The messages that were read, of all turns.
    updates: Updates,
}

impl LanggraphAgent {
    /// Asks the server for its assistants.
    pub(super) async fn connect(
        remote: Arc<Remote>,
        settings: &LanggraphSettings,
    ) -> Result<LanggraphAgent, AgentError> {
        let server = LanggraphServer::connect(remote, settings).await?;
        if !settings.assistant.is_empty() {
            server.assistant(&settings.assistant)?;
        }
        Ok(LanggraphAgent {
            server: Arc::new(server),
        })
    }
}

#[async_trait]
impl Agent for LanggraphAgent {
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        let server = self.server.clone();
        let assistant = server.assistant_for(&opening.app)?;
        let input = server.input_of(&assistant).await?;
        let own = uuid::Uuid::new_v4().to_string();
        let pinned = uuid::Uuid::parse_str(&opening.session_id).is_ok() && opening.pinned;
        let thread = if pinned {
            opening.session_id.clone()
        } else {
            own
        };
        Ok(Box::new(LanggraphSession {
            server,
            assistant,
            input,
            thread,
            opening: Some(opening),
            interrupts: Vec::new(),
            is_ours: !pinned,
            updates: Updates::default(),
        }))
    }

    async fn describe(&self) -> AgentDescription {
        AgentDescription {
            was_asked: true,
            about: vec![("graphs", self.server.graphs())],
            tools: Vec::new(),
            app_info: Value::Null,
        }
    }

    async fn finish(&self) {
        self.server.tidying.close();
        let _ = tokio::time::timeout(TIDIES_WITHIN, self.server.tidying.wait()).await;
    }
}

impl LanggraphSession {
    /// The body of a run: the user's message as input, or as the decision that the graph waits for.
    fn run(&mut self, turn: &Turn<'_>) -> Value {
        let text = turn.user.spoken_text();
        let mut run = json!({
            "assistant_id": self.assistant,
            "stream_mode": ["updates"],
            "stream_subgraphs": true,
            "on_disconnect": "cancel",
            "if_not_exists": "create",
        });
        let interrupts = std::mem::take(&mut self.interrupts);
        if !interrupts.is_empty() {
            run["command"] = json!({"resume": resume(&interrupts, &text)});
            return run;
        }
        // Only the first turn has an opening: the server keeps the state of the thread.
        let opening = self.opening.take().unwrap_or_default();
        let mut input = opening.state;
        let said = match self.input == MESSAGES {
            false => text.into(),
            true => {
                let mut messages = history_messages(&opening.history);
                messages.push(json!({"role": "user", "content": text}));
                messages.into()
            }
        };
        input.insert(self.input.clone(), said);
        run["input"] = input.into();
        run
    }

    /// The state of the thread.
    async fn values(&self) -> Result<Value, AgentError> {
        let url = self.server.remote.url(&["threads", &self.thread, "state"]);
        let mut state = self.server.remote.ask(Method::GET, url, None).await?;
        Ok(state["values"].take())
    }

    /// The response of a graph whose state has no messages: the setting `output`, or the only text beside the input.
    fn output(&self, values: &Value) -> Option<String> {
        let members = values.as_object()?;
        if !self.server.settings.output.is_empty() {
            return members
                .get(&self.server.settings.output)
                .map(super::messages::text_of);
        }
        let mut texts = members
            .iter()
            .filter(|(key, value)| **key != self.input && value.is_string());
        match (texts.next(), texts.next()) {
            (Some((_, text)), None) => text.as_str().map(str::to_string),
            _ => None,
        }
    }

    /// Reads the messages after the user's last one from the thread's state: nodes may add messages that the updates do not
    /// contain in a known form. Those that were read before are left out.
    async fn read_state(
        &mut self,
        on_event: OnEvent<'_>,
        began: &Stopwatch,
    ) -> Result<(), AgentError> {
        let values = self.values().await?;
        for event in self.updates.of_state(&values) {
            on_event(Event {
                at: Some(began.elapsed().as_secs_f64()),
                ..event
            });
        }
        Ok(())
    }

    async fn read(
        &mut self,
        mut items: Items<'_>,
        on_event: OnEvent<'_>,
        began: &Stopwatch,
    ) -> Result<TurnEnd, AgentError> {
        let mut end = TurnEnd::Answered;
        while let Some(item) = items.next().await? {
            let (kind, namespace) = item.name.split_once('|').unwrap_or((&item.name, ""));
            match kind {
                "error" => {
                    let words = error_text(&item.value);
                    return Err(self.server.remote.error(ErrorKind::Agent, words));
                }
                "updates" => {}
                _ => continue,
            }
            items.charge(item.size + EVENT)?;
            let mut events = self.updates.take(&item.value, namespace);
            for asked in item.value["__interrupt__"].as_array().into_iter().flatten() {
                end = TurnEnd::Interrupted;
                // The update of a graph repeats the interrupts of its subgraphs.
                let interrupt = Interrupt::read(asked);
                if self.interrupts.contains(&interrupt) {
                    continue;
                }
                events.push(event_with("agent", vec![interrupt.part()]));
                self.interrupts.push(interrupt);
            }
            for mut event in events {
                event.at = Some(began.elapsed().as_secs_f64());
                on_event(event);
            }
        }
        Ok(end)
    }
}

#[async_trait]
impl Session for LanggraphSession {
    fn id(&self) -> &str {
        &self.thread
    }

    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        if self.input != MESSAGES
            && self
                .opening
                .as_ref()
                .is_some_and(|opening| !opening.history.is_empty())
        {
            return Err(setup(
                "a single turn cannot be run: the graph's input has no messages for the turns before it",
            ));
        }
        let body = self.run(&turn);
        let remote = self.server.remote.clone();
        let url = remote.url(&["threads", &self.thread, "runs", "stream"]);
        let response = remote.begin_turn(url, &body, &HeaderMap::new()).await?;
        self.updates.begin_turn();
        let mut end = self
            .read(remote.items(response, turn.budget), on_event, &began)
            .await?;
        if self.input != MESSAGES
            && end.is_answered()
            && let Some(text) = self.output(&self.values().await?)
        {
            let at = Some(began.elapsed().as_secs_f64());
            on_event(Event {
                at,
                ..event_with("agent", vec![Part::text(text)])
            });
        }
        if self.input == MESSAGES && end.is_answered() && !self.updates.has_response {
            self.read_state(on_event, &began).await?;
        }
        if end.is_answered() && self.updates.is_refusal {
            end = TurnEnd::Refused;
        }
        Ok(TurnOutcome {
            end,
            has_all_calls: !self.updates.has_unknown_call,
            ..TurnOutcome::ANSWERED
        })
    }

    async fn state(&self) -> Option<Value> {
        self.values().await.ok().filter(|values| !values.is_null())
    }

    async fn close(mut self: Box<Self>) {
        if std::mem::take(&mut self.is_ours) {
            self.server.delete(&self.thread).await;
        }
    }
}

/// Deletes the thread of an interrupted conversation, in the background. The server cancels the run when the connection
/// ends.
impl Drop for LanggraphSession {
    fn drop(&mut self) {
        if let (true, Ok(runtime)) = (self.is_ours, tokio::runtime::Handle::try_current()) {
            let (server, thread) = (self.server.clone(), std::mem::take(&mut self.thread));
            let tidying = self.server.tidying.clone();
            tidying.spawn_on(async move { server.delete(&thread).await }, &runtime);
        }
    }
}

fn error_text(value: &Value) -> String {
    match (value["error"].as_str(), value["message"].as_str()) {
        (Some(kind), Some(words)) => format!("{kind}: {words}"),
        _ => error_message(value).unwrap_or_else(|| value.to_string()),
    }
}
