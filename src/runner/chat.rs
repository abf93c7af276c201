//! A conversation that a person holds with an agent: no case, no score.

use super::attempt::Tell;
use super::conversation::{AskedTurn, UnderWay, take_turn};
use crate::agents::{AgentError, Agents, Opening, Session, TurnBudget};
use crate::domain::{AgentSpec, Content, Invocation, Progress, RunOptions};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// What happens in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEvent {
    /// The agent is there.
    Opened,
    /// It does something.
    Progress(Progress),
    /// A turn is done: all of it, and the session's state then.
    Turn(Box<Invocation>, Option<Value>),
    /// The agent broke; what it did so far in the turn, if anything.
    Broke(String, Option<Box<Invocation>>),
}

/// How long an agent may take to answer at all.
const CONNECTS_WITHIN: Duration = Duration::from_secs(30);
/// Words wait here while the agent is busy.
const WAITING: usize = 8;

/// Opens a conversation; what is sent is said to the agent, and dropping the sender ends it.
pub fn chat(spec: AgentSpec, opening: Opening, events: mpsc::Sender<ChatEvent>) -> mpsc::Sender<String> {
    let (say, words) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let agents = Agents::default();
        if let Err(error) = converse(&agents, &spec, opening, words, &events).await {
            let _ = events.send(ChatEvent::Broke(error.message, None)).await;
        }
        agents.finish().await;
    });
    say
}

async fn converse(
    agents: &Agents,
    spec: &AgentSpec,
    opening: Opening,
    mut words: mpsc::Receiver<String>,
    events: &mpsc::Sender<ChatEvent>,
) -> Result<(), AgentError> {
    let agent = agents.connect(spec, CONNECTS_WITHIN).await?;
    let mut session = agent.open(opening).await?;
    let _ = events.send(ChatEvent::Opened).await;
    let mut done = Vec::new();
    while let Some(text) = words.recv().await {
        let event = one_turn(&mut session, Content::text("user", text), &mut done, events, &mut words).await;
        let Some(event) = event else { break };
        if events.send(event).await.is_err() {
            break;
        }
    }
    session.close().await;
    Ok(())
}

/// Takes a turn; nothing when the person left meanwhile.
async fn one_turn(
    session: &mut Session,
    user: Content,
    done: &mut Vec<Invocation>,
    events: &mpsc::Sender<ChatEvent>,
    words: &mut mpsc::Receiver<String>,
) -> Option<ChatEvent> {
    let mut under_way = UnderWay::of(user);
    let before = done.len();
    let mut telling = Telling(events);
    let budget = TurnBudget::new((RunOptions::default().turn_memory_mb as usize) << 20, &Arc::default());
    let taken = {
        let asked = AskedTurn { number: before + 1, budget, streams: true };
        let taking = take_turn(session, asked, done, &mut under_way, &mut telling);
        tokio::select! {
            taken = taking => taken,
            () = left(words) => return None,
        }
    };
    let turn = done.get(before).cloned();
    Some(match (taken, turn) {
        (Ok(()), Some(turn)) => ChatEvent::Turn(Box::new(turn), session.state().await),
        (Err(error), turn) => {
            done.truncate(before);
            ChatEvent::Broke(error.message, turn.map(Box::new))
        }
        (Ok(()), None) => ChatEvent::Broke("the agent sent nothing".into(), None),
    })
}

/// Waits until the person is gone. What they say meanwhile is not heard: the screen does not send it.
async fn left(words: &mut mpsc::Receiver<String>) {
    while words.recv().await.is_some() {}
}

struct Telling<'a>(&'a mpsc::Sender<ChatEvent>);

impl Tell for Telling<'_> {
    async fn tell(&mut self, progress: Progress) {
        let _ = self.0.send(ChatEvent::Progress(progress)).await;
    }

    fn agent_is_done(&mut self) {}
}
