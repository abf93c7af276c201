//! What comes from an agent, without the secrets that were sent to it. Everything that an agent sends passes here before it
//! is scored, stored, sent to a judge or shown.

use super::tools::AttemptRegistration;
use super::{
    Agent, AgentDescription, AgentError, OnEvent, Session, SessionOptions, Turn, TurnOutcome,
};
use crate::process::secrets_of_environment;
use async_trait::async_trait;
use evaltrail_core::domain::{AgentSpec, Content, Part, Secrets, SentSecrets};
use evaltrail_core::formats::adk::Event;
use serde_json::Value;
use std::sync::Arc;

/// An agent from whose answers the secrets are removed that were sent to it.
#[derive(Debug)]
struct MaskedAgent {
    agent: Box<dyn Agent>,
    sent: Arc<SentSecrets>,
}

/// The secrets that are sent to an agent.
pub(super) fn sent_to(spec: &AgentSpec) -> SentSecrets {
    SentSecrets::new(secrets_for(spec))
}

/// The secret values that are sent to an agent.
pub(super) fn secrets_for(spec: &AgentSpec) -> Vec<String> {
    secrets_of_environment(|variable| spec.secret_values(variable))
}

/// An agent, or why it is not connected, without the secrets that were sent to it.
pub(super) fn mask_agent(
    outcome: Result<Box<dyn Agent>, AgentError>,
    sent: &Arc<SentSecrets>,
) -> Result<Box<dyn Agent>, AgentError> {
    match outcome {
        Ok(agent) => Ok(Box::new(MaskedAgent {
            agent,
            sent: sent.clone(),
        })),
        Err(error) => Err(mask_error(sent, error)),
    }
}

/// An error without the secrets.
fn mask_error(sent: &SentSecrets, error: AgentError) -> AgentError {
    AgentError {
        message: sent.mask(&error.message),
        ..error
    }
}

#[async_trait]
impl Agent for MaskedAgent {
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        opening.tools.mask_with(self.sent.clone());
        let opened = self.agent.open(opening).await;
        let session = opened.map_err(|error| mask_error(&self.sent, error))?;
        let id = self.sent.mask(session.id());
        Ok(Box::new(MaskedSession {
            session,
            id,
            sent: self.sent.clone(),
        }))
    }

    async fn describe(&self) -> AgentDescription {
        let mut description = self.agent.describe().await;
        let secrets = self.sent.now();
        description
            .about
            .iter_mut()
            .for_each(|(_, words)| secrets.mask_text(words));
        secrets.mask_value(&mut description.app_info);
        for tool in &mut description.tools {
            secrets.mask_text(&mut tool.name);
            secrets.mask_text(&mut tool.description);
            tool.schema
                .iter_mut()
                .for_each(|schema| secrets.mask_value(schema));
            tool.arguments
                .iter_mut()
                .for_each(|argument| secrets.mask_text(&mut argument.name));
        }
        description
    }

    async fn register_attempt(&self, opening: &SessionOptions) -> Option<AttemptRegistration> {
        self.agent.register_attempt(opening).await
    }

    async fn load_plugins(&self) -> Result<(), AgentError> {
        self.agent
            .load_plugins()
            .await
            .map_err(|error| mask_error(&self.sent, error))
    }

    async fn explain(&self, error: AgentError) -> AgentError {
        mask_error(&self.sent, self.agent.explain(error).await)
    }

    async fn exit_error(&self) -> Option<String> {
        self.agent
            .exit_error()
            .await
            .map(|why| self.sent.mask(&why))
    }

    async fn finish(&self) {
        self.agent.finish().await;
    }
}

/// A conversation from whose events the secrets are removed.
#[derive(Debug)]
struct MaskedSession {
    session: Box<dyn Session>,
    /// The session's id at the agent.
    id: String,
    sent: Arc<SentSecrets>,
}

#[async_trait]
impl Session for MaskedSession {
    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let (sent, mut streamed) = (&self.sent, StreamedText::default());
        let mut masked = |mut event: Event| {
            // A token may have been renewed since the turn began.
            let secrets = sent.now();
            match event.partial {
                true => streamed.withhold(&secrets, &mut event),
                false => streamed = StreamedText::default(),
            }
            mask_event(&secrets, &mut event);
            on_event(event);
        };
        let outcome = self.session.turn(turn, &mut masked).await;
        outcome.map_err(|error| mask_error(sent, error))
    }

    fn id(&self) -> &str {
        &self.id
    }

    async fn state(&self) -> Option<Value> {
        let mut state = self.session.state().await?;
        self.sent.now().mask_foreign(&mut state);
        Some(state)
    }

    async fn close(self: Box<Self>) {
        self.session.close().await;
    }
}

/// The end of a streamed text that may begin a secret. It is sent with the next piece.
#[derive(Default)]
struct StreamedText {
    said: String,
    thought: String,
}

impl StreamedText {
    fn withhold(&mut self, secrets: &Secrets, event: &mut Event) {
        for part in event
            .content
            .iter_mut()
            .flat_map(|content| &mut content.parts)
        {
            let held = if part.thought {
                &mut self.thought
            } else {
                &mut self.said
            };
            if let Some(text) = &mut part.text {
                let mut whole = std::mem::take(held) + text;
                secrets.mask_text(&mut whole);
                *held = whole.split_off(secrets.partial_match_start(&whole));
                *text = whole;
            }
        }
    }
}

pub(super) fn mask_event(secrets: &Secrets, event: &mut Event) {
    let texts = [&mut event.invocation_id, &mut event.author];
    let error = event.error.iter_mut();
    let error = error.flat_map(|error| [&mut error.author, &mut error.code, &mut error.message]);
    texts
        .into_iter()
        .chain(&mut event.model_version)
        .chain(error)
        .for_each(|text| secrets.mask_text(text));
    if let Some(content) = &mut event.content {
        mask_content(secrets, content);
    }
    let usage = event.usage.as_mut().map(|usage| &mut usage.raw);
    let values = event
        .grounding
        .iter_mut()
        .chain(&mut event.output)
        .chain(usage);
    values.for_each(|value| secrets.mask_foreign(value));
    if let Some(request) = &mut event.request {
        secrets.mask_text(&mut request.instructions);
        request
            .tools
            .iter_mut()
            .for_each(|tool| secrets.mask_foreign(tool));
    }
}

fn mask_content(secrets: &Secrets, content: &mut Content) {
    content
        .role
        .iter_mut()
        .for_each(|role| secrets.mask_text(role));
    content
        .parts
        .iter_mut()
        .for_each(|part| mask_part(secrets, part));
}

fn mask_part(secrets: &Secrets, part: &mut Part) {
    part.text
        .iter_mut()
        .for_each(|text| secrets.mask_text(text));
    if let Some(call) = &mut part.call {
        let texts = call.id.iter_mut().chain([&mut call.name]);
        texts.for_each(|text| secrets.mask_text(text));
        call.args
            .iter_mut()
            .for_each(|args| secrets.mask_members(args));
    }
    if let Some(response) = &mut part.response {
        let texts = response.id.iter_mut().chain([&mut response.name]);
        texts.for_each(|text| secrets.mask_text(text));
        secrets.mask_foreign(&mut response.response);
    }
    secrets.mask_members(&mut part.rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::TurnEnd;
    use evaltrail_core::formats::adk::read_event;
    use serde_json::json;
    use std::time::Duration;

    /// A session that sends events, then fails.
    #[derive(Debug)]
    struct Scripted(Vec<Value>);

    #[async_trait]
    impl Session for Scripted {
        async fn turn(
            &mut self,
            _: Turn<'_>,
            on_event: OnEvent<'_>,
        ) -> Result<TurnOutcome, AgentError> {
            self.0
                .drain(..)
                .for_each(|event| on_event(read_event(&event).unwrap()));
            Ok(TurnOutcome {
                end: TurnEnd::Answered,
                has_all_calls: true,
                waited: Duration::ZERO,
            })
        }

        fn id(&self) -> &str {
            "id of canary-1"
        }

        async fn state(&self) -> Option<Value> {
            Some(json!({"canary-1": ["of canary-1"]}))
        }
    }

    async fn events_of(events: Vec<Value>) -> Vec<Event> {
        let sent = Arc::new(SentSecrets::new(["canary-1".to_string()]));
        let mut session = MaskedSession {
            session: Box::new(Scripted(events)),
            id: String::new(),
            sent: sent.clone(),
        };
        let (mut seen, user) = (Vec::new(), Content::text("user", "hi"));
        let budget = crate::agents::TurnBudget::new(1 << 20, &Arc::default());
        let turn = Turn {
            number: 1,
            user: &user,
            budget,
            streams: true,
        };
        session
            .turn(turn, &mut |event| seen.push(event))
            .await
            .unwrap();
        assert_eq!(
            session.state().await,
            Some(json!({"[redacted]": ["of [redacted]"]}))
        );
        seen
    }

    #[tokio::test]
    async fn no_part_of_an_event_contains_a_secret() {
        let event = json!({
            "author": "canary-1", "invocationId": "canary-1", "errorCode": "E", "errorMessage": "canary-1",
            "modelVersion": "canary-1", "groundingMetadata": {"canary-1": "canary-1"}, "output": ["canary-1"],
            "usageMetadata": {"promptTokenCount": 1, "note": "canary-1"},
            "content": {"role": "canary-1", "parts": [
                {"text": "the key is canary-1"},
                {"functionCall": {"id": "canary-1", "name": "canary-1", "args": {"canary-1": ["canary-1"]}}},
                {"functionResponse": {"id": "canary-1", "name": "canary-1", "response": {"canary-1": "canary-1"}}},
                {"inlineData": {"mimeType": "text/plain", "data": "Y2FuYXJ5LTE="}},
            ]},
        });
        let seen = events_of(vec![event]).await;
        let shown = format!("{seen:?}");
        assert!(
            !shown.contains("canary-1") && !shown.contains("Y2FuYXJ5LTE"),
            "{shown}"
        );
        assert_eq!(
            seen[0].content.as_ref().unwrap().parts[0].text.as_deref(),
            Some("the key is [redacted]")
        );
    }

    #[tokio::test]
    async fn secret_streamed_in_chunks_is_masked() {
        let piece = |text: &str| json!({"partial": true, "content": {"parts": [{"text": text}]}});
        let pieces = ["the key is can", "ary", "-1, the cat", " is grey"].map(piece);
        let whole =
            json!({"content": {"parts": [{"text": "the key is canary-1, the cat is grey"}]}});
        let seen = events_of(pieces.into_iter().chain([whole]).collect()).await;
        let texts: Vec<&str> = seen
            .iter()
            .map(|event| {
                event.content.as_ref().unwrap().parts[0]
                    .text
                    .as_deref()
                    .unwrap()
            })
            .collect();
        let (whole, pieces) = texts.split_last().unwrap();
        assert_eq!(*whole, "the key is [redacted], the cat is grey");
        assert_eq!(pieces.concat(), *whole);
        assert_eq!(pieces[0], "the key is ");
    }
}
