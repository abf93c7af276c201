//! AG-UI: the protocol between agents and user interfaces. The conversation is with the client, and so are the tools that
//! the client declares.

mod reader;

use self::reader::{AgUiReader, Ending, SharedState};
use super::adk_tools::declared_by;
use super::event_times::with_times;
use super::memory_limit::EVENT;
use super::messages::{event_with, history_messages, response_part, text_of};
use super::openai::declarations_in;
use super::remote::Remote;
use super::tools::answer_for_caller;
use super::{
    Agent, AgentDescription, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn,
    TurnOutcome,
};
use crate::stubs::AttemptTools;
use async_trait::async_trait;
use evaltrail_core::domain::{AgUiSettings, Part, ToolCall, TurnEnd};
use evaltrail_core::formats::adk::Event;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use std::sync::Arc;

/// An agent that speaks AG-UI.
#[derive(Debug)]
pub(super) struct AgUiAgent {
    endpoint: Arc<AgUiEndpoint>,
}

#[derive(Debug)]
struct AgUiEndpoint {
    remote: Arc<Remote>,
    settings: AgUiSettings,
    /// The declarations of the tools that the client runs.
    tools: Vec<Value>,
}

/// A conversation.
#[derive(Debug)]
struct AgUiSession {
    endpoint: Arc<AgUiEndpoint>,
    thread: String,
    messages: Vec<Value>,
    state: SharedState,
    tools: Arc<AttemptTools>,
    /// The ids of what the agent stopped for.
    interrupts: Vec<String>,
}

impl AgUiAgent {
    /// Reads the declarations of the client's tools. There is nothing to ask the server.
    pub(super) fn connect(
        remote: Arc<Remote>,
        settings: &AgUiSettings,
    ) -> Result<AgUiAgent, AgentError> {
        let tools = settings
            .tools
            .as_deref()
            .map(declarations_in)
            .transpose()?
            .unwrap_or_default();
        Ok(AgUiAgent {
            endpoint: Arc::new(AgUiEndpoint {
                remote,
                settings: settings.clone(),
                tools,
            }),
        })
    }
}

#[async_trait]
impl Agent for AgUiAgent {
    async fn describe(&self) -> AgentDescription {
        let tools = self.endpoint.tools.iter().filter_map(declared_by).collect();
        AgentDescription {
            was_asked: false,
            about: Vec::new(),
            tools,
            app_info: Value::Null,
        }
    }

    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        Ok(Box::new(AgUiSession {
            endpoint: self.endpoint.clone(),
            thread: uuid::Uuid::new_v4().to_string(),
            messages: history_messages(&opening.history)
                .into_iter()
                .map(in_form_of_ag_ui)
                .collect(),
            state: SharedState {
                value: opening.state.into(),
                is_known: true,
            },
            tools: opening.tools,
            interrupts: Vec::new(),
        }))
    }
}

/// A message of chat completions in AG-UI's form: with an id, and with names in camel case.
fn in_form_of_ag_ui(message: Value) -> Value {
    let Value::Object(members) = message else {
        return message;
    };
    let renamed = members.into_iter().map(|(key, value)| match key.as_str() {
        "tool_calls" => ("toolCalls".to_string(), value),
        "tool_call_id" => ("toolCallId".to_string(), value),
        _ => (key, value),
    });
    let mut message: Value = Value::Object(renamed.collect());
    message["id"] = new_id();
    message
}

fn new_id() -> Value {
    uuid::Uuid::new_v4().to_string().into()
}

impl AgUiSession {
    fn input(&mut self, user: &str) -> Value {
        let mut input = json!({
            "threadId": self.thread,
            "runId": new_id(),
            "protocolVersion": "1.0",
            "state": self.state.value,
            "messages": self.messages,
            "tools": self.endpoint.tools,
            "context": [],
            "forwardedProps": {},
        });
        let answered: Vec<Value> = std::mem::take(&mut self.interrupts)
            .into_iter()
            .map(|id| json!({"interruptId": id, "status": "resolved", "payload": user}))
            .collect();
        if !answered.is_empty() {
            input["resume"] = answered.into();
        }
        input
    }

    /// Runs the agent once, until it ends the run.
    async fn run(
        &mut self,
        turn: &mut Turn<'_>,
        user: &str,
        emit: &mut (dyn FnMut(Event) + Send),
    ) -> Result<AgUiReader, AgentError> {
        let endpoint = self.endpoint.clone();
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let input = self.input(user);
        let response = endpoint
            .remote
            .begin_turn(endpoint.remote.base().clone(), &input, &headers)
            .await?;
        let mut reader = AgUiReader::new(std::mem::take(&mut self.state), turn.streams);
        let mut items = endpoint.remote.items(response, turn.budget.take_rest());
        while let Some(item) = items.next().await? {
            items.charge(item.size + EVENT)?;
            reader.take(&item.value).into_iter().for_each(&mut *emit);
        }
        turn.budget = items.into_budget();
        reader.rest().into_iter().for_each(emit);
        self.messages.extend(reader.messages());
        self.state = reader.state();
        Ok(reader)
    }

    /// Answers the calls of the client's tools. Returns whether there were any.
    async fn answer(
        &mut self,
        open: Vec<ToolCall>,
        emit: &mut (dyn FnMut(Event) + Send),
    ) -> Result<bool, AgentError> {
        let is_declared = |call: &ToolCall| {
            self.endpoint
                .tools
                .iter()
                .any(|tool| tool["name"] == call.name.as_str())
        };
        let open: Vec<ToolCall> = open.into_iter().filter(is_declared).collect();
        let has_any = !open.is_empty();
        for call in open {
            let answer = answer_for_caller(&self.tools, &call).await?;
            self.messages.push(json!({
                "id": new_id(), "role": "tool", "toolCallId": call.id, "content": text_of(&answer),
            }));
            emit(event_with(
                "tools",
                vec![response_part(&call.name, call.id.as_deref(), answer)],
            ));
        }
        Ok(has_any)
    }
}

#[async_trait]
impl Session for AgUiSession {
    fn id(&self) -> &str {
        &self.thread
    }

    async fn turn(
        &mut self,
        mut turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let mut emit = with_times(on_event);
        let text = turn.user.spoken_text();
        if self.interrupts.is_empty() {
            self.messages
                .push(json!({"id": new_id(), "role": "user", "content": text}));
        }
        let steps = self.endpoint.settings.max_steps;
        for _ in 0..steps {
            let mut reader = self.run(&mut turn, &text, &mut emit).await?;
            let (ending, open) = (reader.ending(), reader.open_calls());
            match ending {
                Some(Ending::Error(words)) => {
                    return Err(self.endpoint.remote.error(ErrorKind::Agent, words));
                }
                Some(Ending::Interrupted { ids, words }) => {
                    self.interrupts = ids;
                    emit(event_with("agent", vec![Part::text(words)]));
                    return Ok(TurnOutcome {
                        end: TurnEnd::Interrupted,
                        ..TurnOutcome::ANSWERED
                    });
                }
                Some(Ending::Finished) if self.answer(open, &mut emit).await? => {}
                Some(Ending::Finished) => return Ok(TurnOutcome::ANSWERED),
                None => {
                    let why = "the stream ended before the run was finished";
                    return Err(AgentError::new(ErrorKind::Protocol, why));
                }
            }
        }
        let why = format!(
            "the agent did not stop calling the client's tools within {steps} runs (max_steps)"
        );
        Err(AgentError::new(ErrorKind::Agent, why))
    }

    async fn state(&self) -> Option<Value> {
        self.state.is_known.then(|| self.state.value.clone())
    }
}
