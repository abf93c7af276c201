//! A conversation with an agent, turn by turn.

#![expect(
    clippy::disallowed_methods,
    reason = "what is sent is counted by the budget of the turn"
)]

use super::run_resources::ProgressSink;
use crate::agents::{
    AgentError, ErrorKind, Session, SessionOptions, Turn, TurnBudget, TurnOutcome,
};
use crate::judge::{JudgeError, JudgeErrorKind, Judges, SimulatedUser, SimulationKey};
use crate::process::clock::Stopwatch;
use crate::stubs::AttemptTools;
use evaltrail_core::domain::{Content, Invocation, JudgeUsage, Part, Progress, value_text};
use evaltrail_core::formats::adk::{Event, invocation_of};
use parking_lot::Mutex;
use std::time::Duration;

/// The source of the user's messages.
pub(super) enum UserTurns<'a> {
    /// The turns of the file, regardless of the agent's responses, as in ADK.
    Script {
        /// The turns to send.
        turns: &'a [Invocation],
        /// The number of turns in the history before them.
        before: usize,
    },
    /// A model that simulates the user of a scenario.
    Simulated {
        user: SimulatedUser<'a>,
        judges: &'a Judges,
        attempt: u32,
        /// The cost of its messages so far.
        spent: Mutex<JudgeUsage>,
        /// The time that its messages took.
        thinking: UserResponseTime,
    },
}

/// The time that the messages of a simulated user took, and since when the next one is waited for.
#[derive(Debug, Default)]
pub(super) struct UserResponseTime(Mutex<(Duration, Option<Stopwatch>)>);

impl UserResponseTime {
    fn starts(&self) {
        self.0.lock().1 = Some(Stopwatch::start());
    }

    fn ends(&self) {
        let mut times = self.0.lock();
        if let Some(now) = times.1.take() {
            times.0 += now.elapsed();
        }
    }

    fn total(&self) -> Duration {
        let times = self.0.lock();
        times.0 + times.1.as_ref().map(Stopwatch::elapsed).unwrap_or_default()
    }
}

/// Why a conversation ended before its last turn.
#[derive(Debug)]
pub(super) enum Interruption {
    /// The agent or the simulated user failed.
    Failed(AgentError),
    /// The spending limit of the judge was reached, so the simulated user has no next message.
    SpendingLimit(String),
}

impl From<AgentError> for Interruption {
    fn from(error: AgentError) -> Interruption {
        Interruption::Failed(error)
    }
}

/// The current turn. It is stored outside of the future, so that it is not lost when the time limit interrupts it.
#[derive(Default)]
pub(super) struct PartialTurn {
    user: Content,
    events: Vec<Event>,
}

impl PartialTurn {
    /// A turn that begins with this message.
    pub(super) fn new(user: Content) -> PartialTurn {
        PartialTurn {
            user,
            events: Vec::new(),
        }
    }

    /// The interrupted turn with its events so far; `None` when there are none.
    pub(super) fn broken_off(self, took: Duration) -> Option<Invocation> {
        (!self.events.is_empty()).then(|| invocation(&self.user, self.events, took))
    }
}

impl UserTurns<'_> {
    /// The number of turns, or the maximum for a simulated user; 0 when it is unlimited.
    fn turns(&self) -> usize {
        match self {
            UserTurns::Script { turns, before } => turns.len() + before,
            UserTurns::Simulated { user, .. } => user.limit().unwrap_or(0),
        }
    }

    /// The number of turns in the history.
    fn before(&self) -> usize {
        match self {
            UserTurns::Script { before, .. } => *before,
            UserTurns::Simulated { .. } => 0,
        }
    }

    /// The cost of the messages so far; `None` if no response was needed for them.
    pub(super) fn spent(&self) -> Option<JudgeUsage> {
        let UserTurns::Simulated { spent, .. } = self else {
            return None;
        };
        let spent = *spent.lock();
        (spent != JudgeUsage::default()).then_some(spent)
    }

    /// The time that its messages took so far, which is not the agent's.
    pub(super) fn thought(&self) -> Duration {
        match self {
            UserTurns::Script { .. } => Duration::ZERO,
            UserTurns::Simulated { thinking, .. } => thinking.total(),
        }
    }

    async fn next(
        &self,
        eval_id: &str,
        done: &[Invocation],
    ) -> Result<Option<Content>, Interruption> {
        match self {
            UserTurns::Script { turns, before } => match turns.get(done.len()) {
                Some(turn) if turn.user.parts.is_empty() => {
                    Err(no_user_message(before + done.len() + 1))
                }
                turn => Ok(turn.map(|turn| turn.user.clone())),
            },
            UserTurns::Simulated {
                user,
                judges,
                attempt,
                spent,
                thinking,
            } => {
                let playing = SimulationKey {
                    eval_id,
                    attempt: *attempt,
                };
                thinking.starts();
                let message = user.next(judges, playing, done).await;
                thinking.ends();
                let mut spent = spent.lock();
                *spent = spent.and(message.spent);
                let text = message
                    .text
                    .map_err(|error| no_message(&error, done.len() + 1))?;
                Ok(text.map(|text| Content::text("user", text)))
            }
        }
    }
}

/// Why a turn, counted from 1, cannot be run: the file has no message for it.
fn no_user_message(turn: usize) -> Interruption {
    let why = format!(
        "turn {turn} has no user message to send; add one, or remove the turn from the case"
    );
    Interruption::Failed(AgentError::new(ErrorKind::Setup, why))
}

/// Why there is no message for a turn, counted from 1.
fn no_message(error: &JudgeError, turn: usize) -> Interruption {
    match error.fault {
        // Without the turn, so that all cases without a message share one cause.
        JudgeErrorKind::Limit => Interruption::SpendingLimit(error.message.clone()),
        _ => {
            let why = format!("the simulated user of turn {turn} failed: {error}");
            Interruption::Failed(AgentError::new(ErrorKind::Setup, why))
        }
    }
}

/// Runs turns until the speaker is done. Returns the time that does not count as the agent's: that of the speaker, and of
/// waiting for the agent's spans.
pub(super) async fn run_turns(
    session: &mut dyn Session,
    speaker: &UserTurns<'_>,
    turn_budget: &(dyn Fn() -> TurnBudget + Sync),
    opening: &SessionOptions,
    done: &mut Vec<Invocation>,
    under_way: &mut PartialTurn,
    sink: &mut impl ProgressSink,
) -> Result<Duration, Interruption> {
    let mut thought = Duration::ZERO;
    loop {
        let began = Stopwatch::start();
        let before = speaker.spent().unwrap_or_default();
        let user = speaker.next(&opening.eval_id, done).await;
        sink.add_judge_usage(speaker.spent().unwrap_or_default().since(before));
        let Some(user) = user? else {
            return Ok(thought);
        };
        thought += began.elapsed();
        let turn = speaker.before() + done.len() + 1;
        let said = beginning(&user.shown_text());
        sink.send_progress(Progress::Turn {
            turn,
            of: speaker.turns().max(turn),
            user: said,
        })
        .await;
        *under_way = PartialTurn::new(user);
        let asked = TurnRequest {
            number: turn,
            budget: turn_budget(),
            streams: false,
        };
        thought += run_turn_with(&opening.tools, session, asked, done, under_way, sink).await?;
    }
}

/// The parameters of a turn.
pub(super) struct TurnRequest {
    /// The number of the turn, from 1.
    pub(super) number: usize,
    pub(super) budget: TurnBudget,
    /// Whether to request partial messages.
    pub(super) streams: bool,
}

/// Runs one turn with these tools. It fails if a call of a tool has no answer. Returns the time that does not count as the
/// agent's.
pub(super) async fn run_turn_with(
    tools: &AttemptTools,
    session: &mut dyn Session,
    asked: TurnRequest,
    done: &mut Vec<Invocation>,
    under_way: &mut PartialTurn,
    sink: &mut impl ProgressSink,
) -> Result<Duration, AgentError> {
    tools.begin_turn(asked.number);
    let taken = run_turn(session, asked, done, under_way, sink).await;
    if let (Ok(_), Some(turn)) = (&taken, done.last()) {
        tools.compare_with(&turn.calls());
    }
    // An agent may hide an answer that is missing, or report it in its own words.
    match tools.failure() {
        Some(why) => Err(AgentError::new(ErrorKind::Agent, why)),
        None => taken,
    }
}

async fn run_turn(
    session: &mut dyn Session,
    TurnRequest {
        number,
        budget,
        streams,
    }: TurnRequest,
    done: &mut Vec<Invocation>,
    under_way: &mut PartialTurn,
    sink: &mut impl ProgressSink,
) -> Result<Duration, AgentError> {
    let began = Stopwatch::start();
    let PartialTurn { user, events: seen } = under_way;
    let turn = Turn {
        number,
        user,
        budget,
        streams,
    };
    let outcome = receive_events(session, turn, seen, sink).await;
    if outcome
        .as_ref()
        .is_err_and(|error| error.kind == ErrorKind::Flood)
    {
        // Not stored: the events of many such cases would not fit into memory.
        seen.clear();
    }
    let none = seen.is_empty();
    if !none || outcome.is_ok() {
        let events = std::mem::take(seen);
        done.push(ended_turn(user, events, began.elapsed(), &outcome));
    }
    let waited = outcome?.waited;
    match none {
        true => Err(AgentError::new(
            ErrorKind::Protocol,
            format!("the agent sent no events in turn {number}"),
        )),
        false => Ok(waited),
    }
}

/// Runs one turn. Its complete events are added to `seen` as they arrive.
async fn receive_events(
    session: &mut dyn Session,
    turn: Turn<'_>,
    seen: &mut Vec<Event>,
    sink: &mut impl ProgressSink,
) -> Result<TurnOutcome, AgentError> {
    // Emptied before the turn continues, so it never contains more than the events of one read.
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let mut on_event = move |event: Event| {
        let _ = sender.send(event);
    };
    let outcome = {
        let mut taking = session.turn(turn, &mut on_event);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => take_event(event, seen, sink).await,
                outcome = &mut taking => break outcome,
            }
        }
    };
    while let Ok(event) = events.try_recv() {
        take_event(event, seen, sink).await;
    }
    outcome
}

/// Reports the progress that an event means, and stores the event if it is complete.
async fn take_event(event: Event, seen: &mut Vec<Event>, sink: &mut impl ProgressSink) {
    if let Some(progress) = progress_of(&event) {
        sink.send_progress(progress).await;
    }
    if !event.partial {
        seen.push(event);
    }
}

/// The turn with its events, also of one that failed.
fn ended_turn(
    user: &Content,
    events: Vec<Event>,
    took: Duration,
    outcome: &Result<TurnOutcome, AgentError>,
) -> Invocation {
    match outcome {
        Ok(TurnOutcome {
            end,
            has_all_calls,
            waited,
        }) => invocation(user, events, took.saturating_sub(*waited)).with_end(*end, *has_all_calls),
        Err(_) => invocation(user, events, took),
    }
}

fn invocation(user: &Content, events: Vec<Event>, took: Duration) -> Invocation {
    let mut invocation = invocation_of(user, events);
    invocation.durations.total = Some(round(took));
    invocation
}

/// The maximum length of a text that is reported as progress, in characters.
const PROGRESS_CHARS: usize = 2000;

fn beginning(text: &str) -> String {
    match text.char_indices().nth(PROGRESS_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

fn progress_of(event: &Event) -> Option<Progress> {
    let content = event.content.as_ref()?;
    if event.partial {
        let pieces = content
            .parts
            .iter()
            .filter(|part| !part.thought)
            .filter_map(|part| part.text.as_deref());
        let piece: String = pieces.collect();
        return (!piece.is_empty()).then_some(Progress::SaysMore(piece));
    }
    if let Some(call) = content.calls().last() {
        let args = call
            .args
            .clone()
            .map(|args| value_text(&args.into()))
            .unwrap_or_default();
        return Some(Progress::Calls(beginning(&format!("{} {args}", call.name))));
    }
    if let Some(response) = content.responses().last() {
        let response_text = value_text(&response.response);
        return Some(Progress::Answered {
            tool: response.name.clone(),
            response: beginning(&response_text),
        });
    }
    let text = content.parts.iter().rev().find(|part| part.has_text());
    let text = text.and_then(|part: &Part| part.text.as_deref());
    text.map(|text| Progress::Says(beginning(text)))
}

/// Seconds, to the millisecond, as ADK rounds them.
pub(super) fn round(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}
