//! Conversations that took place, read from where they were recorded: a session on an ADK server or in a file, a
//! list of messages, a recording, a log of chats, or a trace. They can be saved as eval cases.

use crate::agents::fetch_session;
use crate::workspace::read_text;
use evaltrail_core::domain::{Invocation, SessionInput};
use evaltrail_core::formats::recording::{read_recording, recorded_turns};
use evaltrail_core::formats::spans::{conversations, read_spans};
use evaltrail_core::formats::{
    LoggedChat, StateBefore, StoredSession, first_action, read_chat_log, saved_conversations,
};
use std::ops::Range;
use std::path::Path;

/// A conversation that can be saved as a case.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedConversation {
    /// What identifies it in its source: the session, the case of a recording, or the conversation of a trace.
    pub id: String,
    /// The configured agent that had it, if that is known.
    pub agent: Option<String>,
    /// Its turns.
    pub turns: Vec<Invocation>,
    /// Application, user and the state that it began in, as far as the source contains them.
    pub input: Option<SessionInput>,
    /// The state before each turn; empty if the source contains none.
    pub states: Vec<StateBefore>,
    /// What the source lacks, and what to do about it.
    pub notes: Vec<String>,
    /// Why it cannot be saved as a case.
    pub problem: Option<String>,
}

/// Reads the conversations of a source: `http://HOST:PORT/apps/APP/users/USER/sessions/ID`, or a file with a recording,
/// sessions, lists of messages, a log of chats or a trace, relative to `folder`.
///
/// # Errors
///
/// When the server does not have the session, the file cannot be read, or it contains no conversation.
pub async fn recorded_conversations(
    source: &str,
    folder: &Path,
) -> Result<Vec<RecordedConversation>, String> {
    if source.contains("://") {
        return Ok(vec![of_session(source).await?]);
    }
    let (path, name) = (folder.join(source), source.to_string());
    let reading = tokio::task::spawn_blocking(move || of_file(&path, &name));
    reading.await.map_err(|error| error.to_string())?
}

async fn of_session(address: &str) -> Result<RecordedConversation, String> {
    let session = fetch_session(address)
        .await
        .map_err(|error| error.message)?;
    let id = address
        .rsplit('/')
        .find(|part| !part.is_empty())
        .unwrap_or_default()
        .to_string();
    Ok(of_stored(StoredSession { id, ..session }))
}

fn of_stored(session: StoredSession) -> RecordedConversation {
    let StoredSession {
        id,
        input,
        turns,
        states,
    } = session;
    let input = Some(input).filter(|input| !input.app_name.is_empty());
    RecordedConversation {
        id,
        agent: None,
        turns,
        input,
        states,
        notes: Vec::new(),
        problem: None,
    }
}

fn of_file(path: &Path, name: &str) -> Result<Vec<RecordedConversation>, String> {
    let text = read_text(path).map_err(|error| format!("{name}: {error}"))?;
    match read_recording(&text) {
        Ok(attempts) if !attempts.is_empty() => {
            let conversation = attempts.iter().map(|attempt| RecordedConversation {
                id: attempt.eval_id.clone(),
                agent: None,
                turns: recorded_turns(attempt),
                input: None,
                states: Vec::new(),
                notes: Vec::new(),
                problem: attempt.turns.iter().find_map(|turn| {
                    let error = turn.error.as_ref()?;
                    Some(format!("the agent did not finish: {error}"))
                }),
            });
            Ok(conversation.collect())
        }
        _ => match saved_conversations(&text).map_err(|why| format!("{name}: {why}"))? {
            Some(saved) => Ok(saved
                .into_iter()
                .enumerate()
                .map(|(at, one)| of_stored(numbered(one, at)))
                .collect()),
            None => {
                let logged = read_chat_log(&text).map(|chats| chats.map(of_chats));
                logged
                    .unwrap_or_else(|| of_trace(&text))
                    .map_err(|why| format!("{name}: {why}"))
            }
        },
    }
}

/// The session with an id, if it has none.
fn numbered(session: StoredSession, at: usize) -> StoredSession {
    let id = if session.id.is_empty() {
        format!("conversation-{}", at + 1)
    } else {
        session.id
    };
    StoredSession { id, ..session }
}

/// The turns of a range that have a user message, and for each other turn, which cannot be a turn of a case, what it
/// contains. An event that no user message caused, for example of a timer, begins such a turn.
pub fn with_user_message(
    turns: &[Invocation],
    range: Range<usize>,
) -> (Vec<Invocation>, Vec<String>) {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (at, turn) in turns.iter().enumerate().take(range.end).skip(range.start) {
        if turn.user.parts.is_empty() {
            without.push(format!(
                "turn {} has no user message ({})",
                at + 1,
                first_action(turn)
            ));
        } else {
            with.push(turn.clone());
        }
    }
    (with, without)
}

fn of_chats(chats: Vec<LoggedChat>) -> Vec<RecordedConversation> {
    let system = "the system message is not part of the case: the agent has its own instruction";
    let conversation = |chat: LoggedChat| RecordedConversation {
        id: chat.id,
        agent: None,
        turns: chat.turns,
        input: None,
        states: Vec::new(),
        notes: chat
            .has_system
            .then(|| system.to_string())
            .into_iter()
            .collect(),
        problem: chat.problem,
    };
    chats.into_iter().map(conversation).collect()
}

fn of_trace(text: &str) -> Result<Vec<RecordedConversation>, String> {
    let traced = conversations(&read_spans(text)?);
    if traced.is_empty() {
        return Err("the trace contains no span of an agent".into());
    }
    let conversation = traced.into_iter().map(|traced| {
        let lacks_a_message = traced
            .turns
            .iter()
            .any(|turn| turn.user.scored_text().is_empty());
        RecordedConversation {
            id: traced.id,
            agent: None,
            turns: traced.turns,
            input: traced.agent.map(|app_name| SessionInput {
                app_name,
                user_id: "user".into(),
                ..SessionInput::default()
            }),
            states: Vec::new(),
            problem: lacks_a_message.then(|| traced.missing.join("\n")),
            notes: traced.missing,
        }
    });
    Ok(conversation.collect())
}

impl RecordedConversation {
    /// The session of a case that begins at a turn (from 0), and what the case lacks. The state is the one that the turns
    /// before led to, as far as it is known.
    pub fn session_from(&self, turn: usize) -> (Option<SessionInput>, Vec<String>) {
        let before = self.states.get(turn);
        let mut notes = Vec::new();
        let mut input = self.input.clone();
        if turn > 0 {
            let known = if before.is_some() {
                ""
            } else {
                ", the session's state at that point"
            };
            let hint = "session_input.state can contain the state (evaltrail edit)";
            notes.push(format!(
                "the case begins at turn {}: the earlier messages{known} and which agent had the conversation are not \
                 in it; {hint}",
                turn + 1
            ));
            let state = before
                .map(|before| before.state.clone())
                .unwrap_or_default();
            input = input.map(|input| SessionInput { state, ..input });
        }
        if let Some(before) = before.filter(|before| !before.unknown.is_empty()) {
            notes.push(format!(
                "the conversation changed {}; the session does not contain the earlier values: set them in the case \
                 where the agent needs them",
                before.unknown.join(", ")
            ));
        }
        (input, notes)
    }
}
