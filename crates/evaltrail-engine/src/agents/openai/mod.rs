//! A model, or an agent, behind an endpoint with OpenAI's interfaces: chat completions or responses. The tools of a model
//! are run by its caller: evaltrail answers the calls from stubs until the model responds with words.

mod chat;
mod message;
mod reply;
mod responses;
mod thinking;

use super::adk_tools::declared_by;
use super::event_times::with_times;
use super::memory_limit::EVENT;
use super::messages::{event_with, partial_text, response_part, text_of};
use super::remote::{Remote, setup};
use super::tools::answer_for_caller;
use super::{
    Agent, AgentDescription, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn,
    TurnBudget, TurnOutcome,
};
use crate::store::read_text_file;
use crate::stubs::AttemptTools;
use async_trait::async_trait;
use evaltrail_core::domain::{OpenaiApi, OpenaiSettings, TurnEnd};
use evaltrail_core::formats::adk::Event;
use reply::{Reply, RequestedCall};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// The maximum size of a file of declarations, in bytes.
const MAX_DECLARATIONS: u64 = 4 << 20;

/// A model or an agent.
#[derive(Debug)]
pub(super) struct OpenaiAgent {
    endpoint: Arc<OpenaiEndpoint>,
}

#[derive(Debug)]
struct OpenaiEndpoint {
    remote: Arc<Remote>,
    settings: OpenaiSettings,
    /// The declarations of the tools: objects with `name`, `description` and `parameters`.
    tools: Vec<Value>,
}

/// A conversation.
#[derive(Debug)]
struct OpenaiSession {
    endpoint: Arc<OpenaiEndpoint>,
    id: String,
    /// The messages, or the items, so far.
    said: Vec<Value>,
    tools: Arc<AttemptTools>,
}

impl OpenaiAgent {
    /// Reads the declarations of the tools.
    pub(super) fn connect(
        remote: Arc<Remote>,
        settings: &OpenaiSettings,
    ) -> Result<OpenaiAgent, AgentError> {
        let tools = settings
            .tools
            .as_deref()
            .map(declarations_in)
            .transpose()?
            .unwrap_or_default();
        Ok(OpenaiAgent {
            endpoint: Arc::new(OpenaiEndpoint {
                remote,
                settings: settings.clone(),
                tools,
            }),
        })
    }
}

/// Reads the declarations of tools from a file. Errors: it cannot be read, or is not a list of functions.
pub(super) fn declarations_in(path: &Path) -> Result<Vec<Value>, AgentError> {
    let wrong = |why: String| setup(format!("the tools in {}: {why}", path.display()));
    let text = read_text_file(path, MAX_DECLARATIONS).map_err(|error| wrong(error.to_string()))?;
    declarations(&text).map_err(wrong)
}

/// The declarations in a file: a list of functions, each in OpenAI's form or in Gemini's.
fn declarations(text: &str) -> Result<Vec<Value>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let list = value
        .as_array()
        .or_else(|| value["functionDeclarations"].as_array());
    let list = list.ok_or("expected a list of functions with name, description and parameters")?;
    let one = |value: &Value| {
        let function = value.get("function").unwrap_or(value);
        let has_name = function["name"].is_string();
        has_name
            .then(|| function.clone())
            .ok_or_else(|| format!("a function without a name: {function}"))
    };
    list.iter().map(one).collect()
}

#[async_trait]
impl Agent for OpenaiAgent {
    async fn describe(&self) -> AgentDescription {
        let tools = self.endpoint.tools.iter().filter_map(declared_by).collect();
        AgentDescription {
            was_asked: false,
            about: vec![("model", self.endpoint.settings.model.clone())],
            tools,
            app_info: Value::Null,
        }
    }

    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        let endpoint = self.endpoint.clone();
        let said = match endpoint.settings.api {
            OpenaiApi::Chat => chat::beginning(&endpoint.settings, &opening.history),
            OpenaiApi::Responses => responses::beginning(&opening.history),
        };
        Ok(Box::new(OpenaiSession {
            endpoint,
            id: opening.session_id,
            said,
            tools: opening.tools,
        }))
    }
}

impl OpenaiSession {
    /// Sends what was said so far, and reads the reply.
    async fn step(
        &self,
        budget: &mut TurnBudget,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, AgentError> {
        let OpenaiEndpoint {
            remote,
            settings,
            tools,
        } = self.endpoint.as_ref();
        let (path, mut body) = match settings.api {
            OpenaiApi::Chat => (
                &["chat", "completions"][..],
                chat::request(settings, tools, &self.said),
            ),
            OpenaiApi::Responses => (
                &["responses"][..],
                responses::request(settings, tools, &self.said),
            ),
        };
        let members: &mut Map<String, Value> =
            body.as_object_mut().ok_or_else(|| setup("no request"))?;
        members.extend(settings.parameters.clone());
        let response = remote
            .begin_turn(remote.url(path), &body, &Default::default())
            .await?;
        match (settings.api, settings.stream) {
            (OpenaiApi::Chat, true) => chat::streamed(remote, response, budget, on_text).await,
            (OpenaiApi::Chat, false) => {
                chat::parse_reply(remote, &remote.json_body(response, budget).await?)
            }
            (OpenaiApi::Responses, true) => {
                responses::streamed(remote, response, budget, on_text).await
            }
            (OpenaiApi::Responses, false) => {
                responses::parse_reply(remote, &remote.json_body(response, budget).await?)
            }
        }
    }

    /// Answers the calls of a reply.
    async fn answer(
        &mut self,
        calls: Vec<RequestedCall>,
        emit: &mut (dyn FnMut(Event) + Send),
    ) -> Result<(), AgentError> {
        for asked in calls {
            let Some(call) = asked.part().call else {
                continue;
            };
            let answer = answer_for_caller(&self.tools, &call).await?;
            let text = text_of(&answer);
            self.said.push(match self.endpoint.settings.api {
                OpenaiApi::Chat => chat::result(&asked, &text),
                OpenaiApi::Responses => responses::result(&asked.id, &text),
            });
            let id = call.id.as_deref();
            emit(event_with(
                "tools",
                vec![response_part(&asked.name, id, answer)],
            ));
        }
        Ok(())
    }
}

#[async_trait]
impl Session for OpenaiSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn turn(
        &mut self,
        mut turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let mut emit = with_times(on_event);
        let endpoint = self.endpoint.clone();
        let text = turn.user.spoken_text();
        self.said
            .push(serde_json::json!({"role": "user", "content": text}));
        let mut is_partial = endpoint.settings.hosted;
        for _ in 0..endpoint.settings.max_steps {
            let mut reply = {
                let mut on_text = |text: &str| {
                    if turn.streams {
                        emit(partial_text("model", text));
                    }
                };
                self.step(&mut turn.budget, &mut on_text).await?
            };
            turn.budget.charge(EVENT)?;
            let end = if reply.refuses {
                TurnEnd::Refused
            } else {
                TurnEnd::Answered
            };
            is_partial |= !reply.others.is_empty();
            reply.take_events().into_iter().for_each(&mut emit);
            self.said.extend(reply.said);
            if reply.calls.is_empty() {
                return Ok(TurnOutcome {
                    end,
                    has_all_calls: !is_partial,
                    ..TurnOutcome::ANSWERED
                });
            }
            self.answer(reply.calls, &mut emit).await?;
        }
        let why = format!(
            "the model did not stop calling tools within {} steps (max_steps)",
            endpoint.settings.max_steps
        );
        Err(AgentError::new(ErrorKind::Agent, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_in_each_form() {
        let names = |text: &str| -> Result<Vec<String>, String> {
            Ok(declarations(text)?
                .iter()
                .map(|one| one["name"].as_str().unwrap().to_string())
                .collect())
        };
        assert_eq!(
            names(r#"[{"name": "a"}, {"type": "function", "function": {"name": "b"}}]"#).unwrap(),
            ["a", "b"]
        );
        assert_eq!(
            names(r#"{"functionDeclarations": [{"name": "a"}]}"#).unwrap(),
            ["a"]
        );
        assert!(
            names(r#"[{"description": "x"}]"#)
                .unwrap_err()
                .contains("without a name")
        );
        assert!(names("{}").unwrap_err().contains("expected a list"));
    }
}
