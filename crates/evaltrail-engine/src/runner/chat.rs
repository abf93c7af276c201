//! A chat: a conversation of a person with an agent, without a case and without scores.

use super::conversation::{PartialTurn, TurnRequest, run_turn_with};
use super::run_resources::ProgressSink;
use crate::agents::{AgentError, Agents, ConnectionStatus, Session, SessionOptions, TurnBudget};
use crate::stubs::AttemptTools;
use crate::workspace::{Workspace, read_stubs};
use evaltrail_core::domain::{
    AgentSpec, Content, Invocation, Progress, RunOptions, StubMode, ToolsSpec,
};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// An event of a chat.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEvent {
    /// The agent is connected; its tools are answered like this.
    Opened(StubMode),
    /// The progress of the current turn.
    Progress(Progress),
    /// A turn is complete: the turn, and the session's state after it.
    Turn(Box<Invocation>, Option<Value>),
    /// The agent failed: the error, and the incomplete turn, if any.
    Broke(String, Option<Box<Invocation>>),
}

/// The time limit for connecting to the agent.
const CONNECTS_WITHIN: Duration = Duration::from_secs(30);
/// The number of messages that may wait while the agent is busy.
const WAITING: usize = 8;

/// How the calls of an agent become known in a chat without a set: as in a run. Its own tools run.
pub fn tools_of_chat(workspace: &Workspace, agent_name: &str) -> ToolsSpec {
    let configured = workspace.config.agent_tools.get(agent_name);
    let traces = configured
        .map(|tools| tools.traces.clone())
        .unwrap_or_default();
    ToolsSpec {
        traces,
        ..ToolsSpec::default()
    }
}

/// How the tools of an agent are answered in a chat about a set: as in a run, from the stubs beside the set. The error says
/// why they cannot be.
pub fn tools_of_chat_about(
    workspace: &Workspace,
    agent_name: &str,
    spec: &AgentSpec,
    set: &Path,
) -> Result<(ToolsSpec, AttemptTools), String> {
    let configured = workspace
        .config
        .agent_tools
        .get(agent_name)
        .cloned()
        .unwrap_or_default();
    let has_caller = spec.leaves_calls_to_caller();
    let stubs = match configured.stubs {
        StubMode::Off if has_caller => StubMode::Fail,
        stubs => stubs,
    };
    let tools = ToolsSpec {
        stubs,
        ..configured
    };
    if let Some(why) = spec.cannot_intercept(&tools) {
        return Err(format!("{agent_name}: {why}"));
    }
    let file = match stubs {
        StubMode::Off => Arc::default(),
        _ => read_stubs(set)?.file,
    };
    let of_chat = AttemptTools::new((&tools, has_caller), file, "", &[]);
    Ok((tools, of_chat))
}

/// Starts a chat. Messages that are sent on the returned channel are sent to the agent; dropping the sender ends the
/// chat.
pub fn chat(
    (spec, tools): (AgentSpec, ToolsSpec),
    opening: SessionOptions,
    events: mpsc::Sender<ChatEvent>,
) -> mpsc::Sender<String> {
    let (say, words) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let agents = Agents::default();
        if let Err(error) = converse(&agents, (&spec, &tools), opening, words, &events).await {
            let _ = events.send(ChatEvent::Broke(error.message, None)).await;
        }
        agents.finish().await;
    });
    say
}

async fn converse(
    agents: &Agents,
    (spec, tools): (&AgentSpec, &ToolsSpec),
    opening: SessionOptions,
    mut words: mpsc::Receiver<String>,
    events: &mpsc::Sender<ChatEvent>,
) -> Result<(), AgentError> {
    let status = ConnectionStatus::default();
    let agent = agents
        .connect(spec, tools, CONNECTS_WITHIN, &status)
        .await?;
    let answers = opening.tools.clone();
    let mut session = agent.open(opening).await?;
    let _ = events.send(ChatEvent::Opened(tools.stubs)).await;
    let mut done = Vec::new();
    while let Some(text) = words.recv().await {
        let user = Content::text("user", text);
        let event = one_turn(
            (session.as_mut(), &answers),
            user,
            &mut done,
            events,
            &mut words,
        )
        .await;
        let Some(event) = event else { break };
        if events.send(event).await.is_err() {
            break;
        }
    }
    session.close().await;
    Ok(())
}

/// Runs a turn; `None` when the chat was ended in the meantime.
async fn one_turn(
    (session, tools): (&mut dyn Session, &AttemptTools),
    user: Content,
    done: &mut Vec<Invocation>,
    events: &mpsc::Sender<ChatEvent>,
    words: &mut mpsc::Receiver<String>,
) -> Option<ChatEvent> {
    let mut under_way = PartialTurn::new(user);
    let before = done.len();
    let mut telling = ChatProgress(events);
    let budget = TurnBudget::new(
        (RunOptions::default().turn_memory_mb as usize) << 20,
        &Arc::default(),
    );
    let taken = {
        let asked = TurnRequest {
            number: before + 1,
            budget,
            streams: true,
        };
        let taking = run_turn_with(tools, session, asked, done, &mut under_way, &mut telling);
        tokio::select! {
            taken = taking => taken,
            () = left(words) => return None,
        }
    };
    let turn = done.get(before).cloned();
    Some(match (taken, turn) {
        (Ok(_), Some(turn)) => ChatEvent::Turn(Box::new(turn), session.state().await),
        (Err(error), turn) => {
            done.truncate(before);
            ChatEvent::Broke(error.message, turn.map(Box::new))
        }
        (Ok(_), None) => ChatEvent::Broke("the agent sent nothing".into(), None),
    })
}

/// Waits until the chat is ended. Messages in the meantime are discarded; the explorer does not send any.
async fn left(words: &mut mpsc::Receiver<String>) {
    while words.recv().await.is_some() {}
}

struct ChatProgress<'a>(&'a mpsc::Sender<ChatEvent>);

impl ProgressSink for ChatProgress<'_> {
    async fn send_progress(&mut self, progress: Progress) {
        let _ = self.0.send(ChatEvent::Progress(progress)).await;
    }

    fn release_agent(&mut self) {}
}
