//! A conversation that is observed beside what the agent reports: the calls of an agent that reports none are taken from
//! the spans that it exports, or from its calls of MCP servers.

use super::messages::{call_part, event_with, response_part};
use super::tools::TraceInbox;
use super::trace::TraceContext;
use super::{AgentError, OnEvent, Session, Turn, TurnOutcome};
use crate::domain::{Part, ToolCall};
use crate::formats::adk::Event;
use crate::formats::spans::{TraceSpan, TracedStep, traced_turn};
use crate::stubs::AttemptTools;
use async_trait::async_trait;
use serde_json::Value;
use std::sync::Arc;

/// A conversation whose requests have a trace context.
#[derive(Debug)]
pub(super) struct ObservedSession {
    session: Box<dyn Session>,
    /// The id of the attempt's session, as evaltrail knows it.
    id: String,
    tools: Arc<AttemptTools>,
    traces: Option<Arc<TraceInbox>>,
}

impl ObservedSession {
    pub(super) fn new(
        session: Box<dyn Session>,
        id: &str,
        tools: Arc<AttemptTools>,
        traces: Option<Arc<TraceInbox>>,
    ) -> ObservedSession {
        ObservedSession { session, id: id.to_string(), tools, traces }
    }

    /// The events of the calls that were observed in a turn, and whether those are all of its calls.
    async fn observed(&self, context: &TraceContext) -> (Vec<Event>, bool) {
        let spans = match &self.traces {
            Some(traces) => traces.close(&context.trace, &context.span).await,
            None => Vec::new(),
        };
        match traced_events(&spans) {
            Some(events) => (events, true),
            // An agent may have other tools than those of MCP servers.
            None => (self.tools.seen().into_iter().enumerate().flat_map(seen_events).collect(), false),
        }
    }
}

#[async_trait]
impl Session for ObservedSession {
    /// Complete events are passed on at the end of the turn, after those of the observed calls: a response is the last
    /// event.
    async fn turn(&mut self, turn: Turn<'_>, on_event: OnEvent<'_>) -> Result<TurnOutcome, AgentError> {
        let context = TraceContext::new(&self.id);
        self.traces.iter().for_each(|traces| traces.open(&context.trace));
        let mut held = Vec::new();
        let mut hold = |event: Event| if event.partial { on_event(event) } else { held.push(event) };
        let outcome = context.scope(self.session.turn(turn, &mut hold)).await;
        let outcome = match outcome {
            Ok(outcome) if !outcome.has_all_calls => {
                let (events, are_all) = self.observed(&context).await;
                events.into_iter().for_each(&mut *on_event);
                Ok(TurnOutcome { has_all_calls: are_all, ..outcome })
            }
            outcome => {
                self.traces.iter().for_each(|traces| drop(traces.forget(&context.trace)));
                outcome
            }
        };
        held.into_iter().for_each(on_event);
        outcome
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

/// The events of the calls in a trace; `None` if no span is from an agent.
fn traced_events(spans: &[TraceSpan]) -> Option<Vec<Event>> {
    Some(step_events(traced_turn(&spans.iter().collect::<Vec<_>>())?.steps))
}

/// The events of what agents did in a trace.
pub(super) fn step_events(steps: Vec<TracedStep>) -> Vec<Event> {
    let events = |(at, step): (usize, TracedStep)| match step {
        TracedStep::Said { author, text } => vec![event_with(&author, vec![Part::text(text)])],
        TracedStep::Called { author, call, result } => call_events(&author, at, call, result),
    };
    steps.into_iter().enumerate().flat_map(events).collect()
}

fn seen_events((at, seen): (usize, crate::stubs::SeenCall)) -> Vec<Event> {
    call_events("agent", at, seen.call, seen.result)
}

/// The event of a call, and that of its result if there is one.
fn call_events(author: &str, at: usize, call: ToolCall, result: Option<Value>) -> Vec<Event> {
    let author = if author.is_empty() { "agent" } else { author };
    let id = call.id.clone().unwrap_or_else(|| format!("observed-{}", at + 1));
    let args = call.args.clone().map_or(Value::Null, Value::Object);
    let mut events = vec![event_with(author, vec![call_part(&call.name, Some(&id), &args)])];
    events
        .extend(result.map(|result| event_with(author, vec![response_part(&call.name, Some(&id), result)])));
    events
}
