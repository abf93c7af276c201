//! The turn of a conversation that a trace is about.

use super::TraceSpan;
use super::calls::{StepPosition, called};
use super::facts::SpanFacts;
use super::step::TracedStep;
use crate::formats::spans::libraries::{facts_of, how_to_record};
use std::collections::HashMap;

/// A turn as a trace tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedTurn {
    /// The conversation, if a span names it.
    pub conversation: Option<String>,
    /// The first agent that a span names.
    pub agent: Option<String>,
    /// The user's message, if a span contains it.
    pub user: Option<String>,
    /// What the agents did, in order: calls in the order in which the models asked for them.
    pub steps: Vec<TracedStep>,
    /// The final response, if a span contains it.
    pub response: Option<String>,
    /// What to do so that spans contain messages and arguments.
    pub how_to_record: &'static str,
    /// The number of calls whose arguments no span contains.
    pub calls_without_arguments: usize,
    /// Whether a span is about a tool, or about what a model replied: only then a missing call was not made.
    pub has_details: bool,
}

/// The turn of a trace, whose spans are in the order in which they began; `None` if no span is from an agent.
pub fn traced_turn(spans: &[&TraceSpan]) -> Option<TracedTurn> {
    let facts: Vec<SpanFacts> = spans.iter().map(|span| facts_of(span)).collect();
    let is_work = |one: &SpanFacts| {
        one.tool.is_some() || !one.asked.is_empty() || !one.said.is_empty() || one.agent.is_some()
    };
    if !facts.iter().any(is_work) {
        return None;
    }
    let authors = authors(spans, &facts);
    let (said, response) = spoken(spans, &facts, &authors);
    let (called, calls_without_arguments) = called(&facts, &authors);
    let mut steps: Vec<(StepPosition, TracedStep)> = said.into_iter().chain(called).collect();
    steps.sort_by_key(|(position, _)| *position);
    Some(TracedTurn {
        conversation: facts.iter().find_map(|one| one.conversation.clone()),
        agent: facts.iter().find_map(|one| one.agent.clone()),
        user: user_message(&facts),
        steps: steps.into_iter().map(|(_, step)| step).collect(),
        response: response.or_else(|| agent_response(&facts)),
        how_to_record: how_to_record(spans),
        calls_without_arguments,
        has_details: facts
            .iter()
            .any(|one| one.tool.is_some() || (!one.is_whole && !one.said.is_empty())),
    })
}

/// The agent of each span: its own, else that of the span around it, else the one before.
fn authors(spans: &[&TraceSpan], facts: &[SpanFacts]) -> Vec<String> {
    let by_id: HashMap<&str, usize> = spans
        .iter()
        .enumerate()
        .map(|(at, span)| (span.id.as_str(), at))
        .collect();
    let mut before = String::new();
    let author = |at: usize| {
        let (mut here, mut steps) = (Some(at), 0);
        while let Some(at) = here.filter(|_| steps < spans.len()) {
            if let Some(agent) = &facts[at].agent {
                before = agent.clone();
                return agent.clone();
            }
            here = by_id
                .get(spans[at].parent.as_str())
                .copied()
                .filter(|_| !spans[at].parent.is_empty());
            steps += 1;
        }
        before.clone()
    };
    (0..spans.len()).map(author).collect()
}

/// The last message of the user in the first request to a model, else in that to the whole agent.
fn user_message(facts: &[SpanFacts]) -> Option<String> {
    let of = |whole: bool| {
        let mut spans = facts.iter().filter(move |one| one.is_whole == whole);
        spans.find_map(|one| {
            let user = one
                .asked
                .iter()
                .rev()
                .find(|message| message.is_user() && !message.text.is_empty());
            user.map(|message| message.text.clone())
        })
    };
    of(false).or_else(|| of(true))
}

/// The response of the whole agent.
fn agent_response(facts: &[SpanFacts]) -> Option<String> {
    let whole = facts
        .iter()
        .find(|one| one.is_whole && !one.said.is_empty())?;
    let last = whole
        .said
        .last()
        .filter(|message| !message.is_user() && !message.text.is_empty())?;
    Some(last.text.clone())
}

/// A step, and its position.
type PositionedStep = (StepPosition, TracedStep);

/// What models said in between, and the final response: as in ADK, the last message without a call.
fn spoken(
    spans: &[&TraceSpan],
    facts: &[SpanFacts],
    authors: &[String],
) -> (Vec<PositionedStep>, Option<String>) {
    let mut said: Vec<(usize, &str, bool)> = Vec::new();
    for (at, one) in facts.iter().enumerate().filter(|(_, one)| !one.is_whole) {
        let Some(message) = one
            .said
            .iter()
            .rev()
            .find(|message| !message.text.is_empty())
        else {
            continue;
        };
        // Two nested spans may describe the same call of a model.
        let is_twice = said.last().is_some_and(|(before, text, _)| {
            *text == message.text && spans[*before].name != spans[at].name
        });
        if !is_twice {
            let has_calls = one.said.iter().any(|message| !message.calls.is_empty());
            said.push((at, &message.text, has_calls));
        }
    }
    let last = said.iter().rposition(|(_, _, has_calls)| !has_calls);
    let response = last.map(|at| said.remove(at).1.to_string());
    let step = |(at, text, _): (usize, &str, bool)| {
        (
            (at, 0),
            TracedStep::Said {
                author: authors[at].clone(),
                text: text.to_string(),
            },
        )
    };
    (said.into_iter().map(step).collect(), response)
}
