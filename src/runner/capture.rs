//! Conversations that took place, read from where they were recorded: a session on an ADK server or in a file, a
//! list of messages, a recording, a log of chats, or a trace. They can be saved as eval cases.

use crate::agents::fetch_session;
use crate::domain::{Invocation, SessionInput};
use crate::formats::recording::{read_recording, recorded_turns};
use crate::formats::spans::{conversations, read_spans};
use crate::formats::{LoggedChat, StoredSession, first_words, read_chat_log, saved_conversations};
use crate::workspace::read_text;
use std::ops::Range;
use std::path::Path;

/// A conversation that can be saved as a case.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedConversation {
    /// What identifies it in its source: the session, the case of a recording, or the conversation of a trace.
    pub id: String,
    /// Its turns.
    pub turns: Vec<Invocation>,
    /// Application, user and state, as far as the source contains them.
    pub input: Option<SessionInput>,
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
    let session = fetch_session(address).await.map_err(|error| error.message)?;
    let id = address.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default().to_string();
    Ok(of_stored(StoredSession { id, ..session }))
}

fn of_stored(session: StoredSession) -> RecordedConversation {
    let notes = match session.changed.as_slice() {
        [] => Vec::new(),
        keys => vec![format!(
            "the conversation changed {}; the session does not contain the earlier values: set them in the case where \
             the agent needs them",
            keys.join(", ")
        )],
    };
    let input = Some(session.input).filter(|input| !input.app_name.is_empty());
    RecordedConversation { id: session.id, turns: session.turns, input, notes, problem: None }
}

fn of_file(path: &Path, name: &str) -> Result<Vec<RecordedConversation>, String> {
    let text = read_text(path).map_err(|error| format!("{name}: {error}"))?;
    match read_recording(&text) {
        Ok(attempts) if !attempts.is_empty() => {
            let conversation = attempts.iter().map(|attempt| RecordedConversation {
                id: attempt.eval_id.clone(),
                turns: recorded_turns(attempt),
                input: None,
                notes: Vec::new(),
                problem: None,
            });
            Ok(conversation.collect())
        }
        _ => match saved_conversations(&text).map_err(|why| format!("{name}: {why}"))? {
            Some(saved) => {
                Ok(saved.into_iter().enumerate().map(|(at, one)| of_stored(numbered(one, at))).collect())
            }
            None => {
                let logged = read_chat_log(&text).map(|chats| chats.map(of_chats));
                logged.unwrap_or_else(|| of_trace(&text)).map_err(|why| format!("{name}: {why}"))
            }
        },
    }
}

/// The session with an id, if it has none.
fn numbered(session: StoredSession, at: usize) -> StoredSession {
    let id = if session.id.is_empty() { format!("conversation-{}", at + 1) } else { session.id };
    StoredSession { id, ..session }
}

/// The turns of a range that have a user message, and for each other turn, which cannot be a turn of a case, what it
/// contains. An event that no user message caused, for example of a timer, begins such a turn.
pub fn with_user_message(turns: &[Invocation], range: Range<usize>) -> (Vec<Invocation>, Vec<String>) {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (at, turn) in turns.iter().enumerate().take(range.end).skip(range.start) {
        if turn.user.parts.is_empty() {
            without.push(format!("turn {} has no user message ({})", at + 1, first_words(turn)));
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
        turns: chat.turns,
        input: None,
        notes: chat.has_system.then(|| system.to_string()).into_iter().collect(),
        problem: None,
    };
    chats.into_iter().map(conversation).collect()
}

fn of_trace(text: &str) -> Result<Vec<RecordedConversation>, String> {
    let traced = conversations(&read_spans(text)?);
    if traced.is_empty() {
        return Err("the trace contains no span of an agent".into());
    }
    let conversation = traced.into_iter().map(|traced| {
        let lacks_a_message = traced.turns.iter().any(|turn| turn.user.scored_text().is_empty());
        RecordedConversation {
            id: traced.id,
            turns: traced.turns,
            input: traced.agent.map(|app_name| SessionInput {
                app_name,
                user_id: "user".into(),
                ..SessionInput::default()
            }),
            problem: lacks_a_message.then(|| traced.missing.join("\n")),
            notes: traced.missing,
        }
    });
    Ok(conversation.collect())
}

/// What a case lacks that begins at a later turn of a conversation (from 1).
pub fn begins_late(turn: usize) -> String {
    format!(
        "the case begins at turn {turn}: the earlier messages, the session's state at that point and which agent had \
         the conversation are not in it; session_input.state can contain the state (evaltrail edit)"
    )
}
