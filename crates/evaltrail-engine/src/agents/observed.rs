//! A conversation that is observed beside what the agent reports: the calls of an agent that reports none are taken from
//! the spans that it exports, or from its calls of MCP servers.

use super::messages::{call_part, event_with, response_part};
use super::tools::{TraceInbox, TurnSpans};
use super::trace::TraceContext;
use super::{AgentError, OnEvent, Session, Turn, TurnOutcome};
use crate::process::clock::Stopwatch;
use crate::stubs::AttemptTools;
use async_trait::async_trait;
use evaltrail_core::domain::{Part, ToolCall};
use evaltrail_core::formats::adk::Event;
use evaltrail_core::formats::spans::{TracedStep, traced_turn};
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
        ObservedSession {
            session,
            id: id.to_string(),
            tools,
            traces,
        }
    }

    /// The events of calls that were seen on their way to MCP servers.
    fn seen(&self) -> Vec<Event> {
        self.tools
            .seen()
            .into_iter()
            .enumerate()
            .flat_map(seen_events)
            .collect()
    }
}

#[async_trait]
impl Session for ObservedSession {
    /// Complete events are passed on at the end of the turn, after those of the observed calls: a response is the last
    /// event.
    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let context = TraceContext::new(&self.id);
        let open = self
            .traces
            .as_ref()
            .map(|traces| traces.open(&context.trace));
        let mut held = Vec::new();
        let mut hold = |event: Event| {
            if event.partial {
                on_event(event)
            } else {
                held.push(event)
            }
        };
        let mut outcome = context.scope(self.session.turn(turn, &mut hold)).await;
        let reports_all = matches!(&outcome, Ok(outcome) if outcome.has_all_calls);
        let mut traced = None;
        if let (Ok(outcome), Some(open), false) = (&mut outcome, open, reports_all) {
            let began = Stopwatch::start();
            traced = traced_events(&open.close(&context.span).await);
            if traced.is_none() {
                let over_grpc = self
                    .traces
                    .as_ref()
                    .is_some_and(|traces| traces.is_over_grpc());
                self.tools.note_missing_spans(over_grpc);
            }
            outcome.waited += began.elapsed();
        }
        // An agent may have other tools than those of MCP servers, so that calls seen on their way there are not all.
        let (observed, are_all) = traced.unwrap_or_else(|| (self.seen(), false));
        if let (Ok(outcome), false) = (&mut outcome, reports_all) {
            outcome.has_all_calls = are_all;
        }
        if !reports_all && !observed.is_empty() {
            // The agent may have reported some of the same calls.
            held.iter_mut().for_each(remove_calls);
            held.retain(|event| {
                event
                    .content
                    .as_ref()
                    .is_none_or(|content| !content.parts.is_empty())
            });
            observed.into_iter().for_each(&mut *on_event);
        }
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

/// Removes the calls and the responses of tools from an event.
fn remove_calls(event: &mut Event) {
    if let Some(content) = &mut event.content {
        content
            .parts
            .retain(|part| part.call.is_none() && part.response.is_none());
    }
}

/// The events of the calls in a trace, and whether those are all calls; `None` if no span is from an agent.
fn traced_events(found: &TurnSpans) -> Option<(Vec<Event>, bool)> {
    let turn = traced_turn(&found.spans.iter().collect::<Vec<_>>())?;
    let are_all = turn.has_details && turn.calls_without_arguments == 0 && !found.is_truncated;
    Some((step_events(turn.steps), are_all))
}

/// The events of what agents did in a trace.
pub(super) fn step_events(steps: Vec<TracedStep>) -> Vec<Event> {
    let events = |(at, step): (usize, TracedStep)| match step {
        TracedStep::Said { author, text } => vec![event_with(&author, vec![Part::text(text)])],
        TracedStep::Called {
            author,
            call,
            result,
        } => call_events(&author, at, call, result),
    };
    steps.into_iter().enumerate().flat_map(events).collect()
}

fn seen_events((at, seen): (usize, crate::stubs::SeenCall)) -> Vec<Event> {
    call_events("agent", at, seen.call, seen.result)
}

/// The event of a call, and that of its result if there is one.
fn call_events(author: &str, at: usize, call: ToolCall, result: Option<Value>) -> Vec<Event> {
    let author = if author.is_empty() { "agent" } else { author };
    let id = call
        .id
        .clone()
        .unwrap_or_else(|| format!("observed-{}", at + 1));
    let args = call.args.clone().map_or(Value::Null, Value::Object);
    let mut events = vec![event_with(
        author,
        vec![call_part(&call.name, Some(&id), &args)],
    )];
    events.extend(
        result.map(|result| event_with(author, vec![response_part(&call.name, Some(&id), result)])),
    );
    events
}
