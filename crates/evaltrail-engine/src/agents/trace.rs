//! The W3C trace context of a turn. It is sent with each request, so that the calls and spans of an agent say to which
//! attempt they belong.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// The name under which the id of the attempt's session is sent as W3C baggage.
pub(super) const BAGGAGE: &str = "evaltrail.attempt";

tokio::task_local! {
    static HEADERS: HeaderMap;
}

/// The headers of the trace context of the current turn; none outside of one.
pub(super) fn headers() -> HeaderMap {
    HEADERS.try_with(HeaderMap::clone).unwrap_or_default()
}

/// The trace context of a turn.
#[derive(Debug)]
pub(super) struct TraceContext {
    /// The id of the trace, in hexadecimal.
    pub(super) trace: String,
    /// The id of the span of the request.
    pub(super) span: String,
    headers: HeaderMap,
}

impl TraceContext {
    /// A new trace. `session` is the id of the attempt's session, as evaltrail knows it.
    pub(super) fn new(session: &str) -> TraceContext {
        let member: String = url::form_urlencoded::byte_serialize(session.as_bytes()).collect();
        let trace = uuid::Uuid::new_v4().simple().to_string();
        let span = uuid::Uuid::new_v4().simple().to_string()[..16].to_string();
        let pairs = [
            ("baggage", format!("{BAGGAGE}={member}")),
            ("traceparent", format!("00-{trace}-{span}-01")),
        ];
        let header = |(name, value): (&'static str, String)| {
            Some((
                HeaderName::from_static(name),
                HeaderValue::from_str(&value).ok()?,
            ))
        };
        TraceContext {
            trace,
            span,
            headers: pairs.into_iter().filter_map(header).collect(),
        }
    }

    /// Runs a future whose requests have the context.
    pub(super) async fn scope<F: Future>(&self, future: F) -> F::Output {
        HEADERS.scope(self.headers.clone(), future).await
    }
}
