//! The W3C trace context of an attempt. It is sent with each request, so that the calls of tools which an agent makes say
//! to which attempt they belong.

use super::tools::BAGGAGE;
use super::{AgentError, OnEvent, Session, Turn, TurnOutcome};
use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

tokio::task_local! {
    static HEADERS: HeaderMap;
}

/// The headers of the trace context of the current turn; none outside of one.
pub(super) fn headers() -> HeaderMap {
    HEADERS.try_with(HeaderMap::clone).unwrap_or_default()
}

/// A session whose requests have the trace context of its attempt.
#[derive(Debug)]
pub(super) struct TracedSession {
    pub(super) session: Box<dyn Session>,
    headers: HeaderMap,
}

impl TracedSession {
    /// `id` is the id of the attempt's session, as evaltrail knows it.
    pub(super) fn new(session: Box<dyn Session>, id: &str) -> TracedSession {
        let member: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
        let span = &uuid::Uuid::new_v4().simple().to_string()[..16];
        let pairs = [
            ("baggage", format!("{BAGGAGE}={member}")),
            ("traceparent", format!("00-{}-{span}-01", uuid::Uuid::new_v4().simple())),
        ];
        let header = |(name, value): (&'static str, String)| {
            Some((HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?))
        };
        TracedSession { session, headers: pairs.into_iter().filter_map(header).collect() }
    }
}

#[async_trait]
impl Session for TracedSession {
    async fn turn(&mut self, turn: Turn<'_>, on_event: OnEvent<'_>) -> Result<TurnOutcome, AgentError> {
        HEADERS.scope(self.headers.clone(), self.session.turn(turn, on_event)).await
    }

    fn id(&self) -> &str {
        self.session.id()
    }

    async fn state(&self) -> Option<Value> {
        self.session.state().await
    }

    async fn close(self: Box<Self>) {
        self.session.close().await;
    }
}
