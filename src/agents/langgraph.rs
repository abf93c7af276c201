//! A graph on a LangGraph server.

use super::budget::EVENT;
use super::messages::{event_with, history_messages, usage_of, value_in};
use super::remote::{Items, Remote, setup, words_of};
use super::{Agent, AgentError, AgentHello, ErrorKind, OnEvent, Opening, Session, Turn, TurnOutcome};
use crate::domain::{LanggraphSettings, Part, TurnEnd};
use crate::formats::adk::Event;
use crate::formats::{MessageRole, read_message};
use crate::process::clock::Stopwatch;
use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

/// How long a run waits at its end for its threads to be deleted.
const TIDIES_WITHIN: Duration = Duration::from_secs(3);
/// The maximum number of assistants that the server is asked for. It lists ten by default.
const MOST_ASSISTANTS: u32 = 1000;
/// The key of a graph's input and state that contains the conversation.
const MESSAGES: &str = "messages";

/// A LangGraph server.
#[derive(Debug)]
pub(super) struct LanggraphAgent {
    server: Arc<LanggraphServer>,
}

#[derive(Debug)]
struct LanggraphServer {
    remote: Arc<Remote>,
    settings: LanggraphSettings,
    /// The ids of the assistants and the names of their graphs.
    assistants: Vec<(String, String)>,
    /// The key of the input that receives the user's message, by assistant.
    inputs: Mutex<HashMap<String, String>>,
    tidying: TaskTracker,
}

/// A thread on the server.
#[derive(Debug)]
struct LanggraphSession {
    server: Arc<LanggraphServer>,
    assistant: String,
    input: String,
    thread: String,
    /// What the first message is sent with: the initial state and the history.
    opening: Option<Opening>,
    /// Whether the graph waits for a decision.
    is_interrupted: bool,
    is_ours: bool,
    /// The messages that were read, of all turns.
    updates: Updates,
}

impl LanggraphAgent {
    /// Asks the server for its assistants.
    pub(super) async fn connect(
        remote: Arc<Remote>,
        settings: &LanggraphSettings,
    ) -> Result<LanggraphAgent, AgentError> {
        let found = remote
            .ask(
                Method::POST,
                remote.url(&["assistants", "search"]),
                Some(&json!({"limit": MOST_ASSISTANTS})),
            )
            .await?;
        let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_string();
        let found = found.as_array().cloned().unwrap_or_default();
        let assistants = found.iter().map(|one| (text(one, "assistant_id"), text(one, "graph_id"))).collect();
        let server = LanggraphServer {
            remote,
            settings: settings.clone(),
            assistants,
            inputs: Mutex::default(),
            tidying: TaskTracker::new(),
        };
        if !settings.assistant.is_empty() {
            server.assistant(&settings.assistant)?;
        }
        Ok(LanggraphAgent { server: Arc::new(server) })
    }
}

#[async_trait]
impl Agent for LanggraphAgent {
    async fn open(&self, opening: Opening) -> Result<Box<dyn Session>, AgentError> {
        let server = self.server.clone();
        let assistant = server.assistant_for(&opening.app)?;
        let input = server.input_of(&assistant).await?;
        let own = uuid::Uuid::new_v4().to_string();
        let pinned = uuid::Uuid::parse_str(&opening.session_id).is_ok() && opening.pinned;
        let thread = if pinned { opening.session_id.clone() } else { own };
        let (opening, is_interrupted) = (Some(opening), false);
        Ok(Box::new(LanggraphSession {
            server,
            assistant,
            input,
            thread,
            opening,
            is_interrupted,
            is_ours: !pinned,
            updates: Updates::default(),
        }))
    }

    async fn hello(&self) -> AgentHello {
        AgentHello { was_asked: true, about: vec![("graphs", self.server.graphs())], tools: Vec::new() }
    }

    async fn finish(&self) {
        self.server.tidying.close();
        let _ = tokio::time::timeout(TIDIES_WITHIN, self.server.tidying.wait()).await;
    }
}

impl LanggraphServer {
    fn assistant(&self, asked: &str) -> Result<String, AgentError> {
        match self.assistants.iter().any(|(id, graph)| id == asked || graph == asked) {
            true => Ok(asked.to_string()),
            false => Err(setup(format!(
                "{} has no assistant {asked:?}; its graphs are {}",
                self.remote.shown(),
                self.graphs()
            ))),
        }
    }

    fn graphs(&self) -> String {
        let names: Vec<&str> = self.assistants.iter().map(|(_, graph)| graph.as_str()).collect();
        names.join(", ")
    }

    /// The assistant of the settings; else the one that the case names as its application; else the only one.
    fn assistant_for(&self, app: &str) -> Result<String, AgentError> {
        if !self.settings.assistant.is_empty() {
            return Ok(self.settings.assistant.clone());
        }
        let named = self.assistants.iter().find(|(_, graph)| graph == app);
        match (named, self.assistants.as_slice()) {
            (Some((_, graph)), _) => Ok(graph.clone()),
            (None, [(id, _)]) => Ok(id.clone()),
            _ => Err(setup(format!(
                "{} serves several graphs ({}): name one with the setting `assistant` (#assistant=NAME in an address), or as the case's app_name",
                self.remote.shown(),
                self.graphs()
            ))),
        }
    }

    /// The key of the input: that of the settings; else the messages; else the only text.
    async fn input_of(&self, assistant: &str) -> Result<String, AgentError> {
        if !self.settings.input.is_empty() {
            return Ok(self.settings.input.clone());
        }
        let mut inputs = self.inputs.lock().await;
        if let Some(input) = inputs.get(assistant) {
            return Ok(input.clone());
        }
        // Assistants are named by their id or by their graph; schemas are found by id.
        let id = self.assistants.iter().find(|(id, graph)| id == assistant || graph == assistant);
        let id = id.map_or(assistant, |(id, _)| id.as_str());
        let schemas =
            self.remote.ask(Method::GET, self.remote.url(&["assistants", id, "schemas"]), None).await;
        let properties = |found: Value| {
            let of = |key: &str| found[key]["properties"].as_object().cloned();
            of("input_schema").or_else(|| of("state_schema"))
        };
        let properties = schemas.ok().and_then(properties);
        let input = match properties {
            Some(found) if !found.contains_key(MESSAGES) => text_key(&found).ok_or_else(|| {
                let keys: Vec<&str> = found.keys().map(String::as_str).collect();
                let keys = keys.join(", ");
                setup(format!("the input of {assistant} has no messages but {keys}: name the key of the prompt with `input`"))
            })?,
            _ => MESSAGES.to_string(),
        };
        inputs.insert(assistant.to_string(), input.clone());
        Ok(input)
    }

    async fn delete(&self, thread: &str) {
        // A thread that is not deleted does not affect any result.
        let url = self.remote.url(&["threads", thread]);
        let _ = self.remote.call(Method::DELETE, url, None, &HeaderMap::new()).await;
    }
}

/// The only property that is a text.
fn text_key(properties: &Map<String, Value>) -> Option<String> {
    let mut texts = properties.iter().filter(|(_, schema)| schema["type"] == "string");
    match (texts.next(), texts.next(), properties.len()) {
        (Some((key, _)), None, _) => Some(key.clone()),
        (None, None, 1) => properties.keys().next().cloned(),
        _ => None,
    }
}

impl LanggraphSession {
    /// The body of a run: the user's message as input, or as the decision that the graph waits for.
    fn run(&mut self, turn: &Turn<'_>) -> Value {
        let text = turn.user.spoken_text();
        let mut run = json!({
            "assistant_id": self.assistant,
            "stream_mode": ["updates"],
            "stream_subgraphs": true,
            "on_disconnect": "cancel",
            "if_not_exists": "create",
        });
        if std::mem::take(&mut self.is_interrupted) {
            run["command"] = json!({"resume": decision(&text)});
            return run;
        }
        let opening = self.opening.take().unwrap_or_default();
        let mut input = opening.state;
        let said = match self.input == MESSAGES {
            false => text.into(),
            true => {
                let mut messages = history_messages(&opening.history);
                messages.push(json!({"role": "user", "content": text}));
                messages.into()
            }
        };
        input.insert(self.input.clone(), said);
        run["input"] = input.into();
        run
    }

    async fn values(&self) -> Option<Value> {
        let url = self.server.remote.url(&["threads", &self.thread, "state"]);
        let mut state = self.server.remote.ask(Method::GET, url, None).await.ok()?;
        state.get_mut("values").map(Value::take)
    }

    /// The response of a graph whose state has no messages: the setting `output`, or the only text beside the input.
    fn output(&self, values: &Value) -> Option<String> {
        let members = values.as_object()?;
        if !self.server.settings.output.is_empty() {
            return members.get(&self.server.settings.output).map(super::messages::text_of);
        }
        let mut texts = members.iter().filter(|(key, value)| **key != self.input && value.is_string());
        match (texts.next(), texts.next()) {
            (Some((_, text)), None) => text.as_str().map(str::to_string),
            _ => None,
        }
    }

    async fn read(
        &mut self,
        mut items: Items<'_>,
        on_event: OnEvent<'_>,
        began: &Stopwatch,
    ) -> Result<TurnEnd, AgentError> {
        let mut end = TurnEnd::Answered;
        while let Some(item) = items.next().await? {
            let (kind, namespace) = item.name.split_once('|').unwrap_or((&item.name, ""));
            match kind {
                "error" => {
                    let words = error_words(&item.value);
                    return Err(self.server.remote.error(ErrorKind::Agent, words));
                }
                "updates" => {}
                _ => continue,
            }
            items.keep(item.size + EVENT)?;
            let mut events = self.updates.take(&item.value, namespace);
            if let Some(asked) = item.value["__interrupt__"].as_array().and_then(|list| list.first()) {
                end = TurnEnd::Interrupted;
                self.is_interrupted = true;
                events.push(event_with("agent", vec![Part::text(super::messages::text_of(&asked["value"]))]));
            }
            for mut event in events {
                event.at = Some(began.elapsed().as_secs_f64());
                on_event(event);
            }
        }
        Ok(end)
    }
}

#[async_trait]
impl Session for LanggraphSession {
    fn id(&self) -> &str {
        &self.thread
    }

    async fn turn(&mut self, turn: Turn<'_>, on_event: OnEvent<'_>) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        if self.input != MESSAGES && self.opening.as_ref().is_some_and(|opening| !opening.history.is_empty())
        {
            return Err(setup(
                "a single turn cannot be run: the graph's input has no messages for the turns before it",
            ));
        }
        let body = self.run(&turn);
        let remote = self.server.remote.clone();
        let url = remote.url(&["threads", &self.thread, "runs", "stream"]);
        let response = remote.begin_turn(url, &body, &HeaderMap::new()).await?;
        let end = self.read(remote.items(response, turn.budget), on_event, &began).await?;
        if self.input != MESSAGES
            && end.is_answered()
            && let Some(text) = self.values().await.and_then(|values| self.output(&values))
        {
            let at = Some(began.elapsed().as_secs_f64());
            on_event(Event { at, ..event_with("agent", vec![Part::text(text)]) });
        }
        let has_all_calls = !std::mem::take(&mut self.updates.has_unknown_calls);
        Ok(TurnOutcome { end, has_all_calls, ..TurnOutcome::ANSWERED })
    }

    async fn state(&self) -> Option<Value> {
        self.values().await
    }

    async fn close(mut self: Box<Self>) {
        if std::mem::take(&mut self.is_ours) {
            self.server.delete(&self.thread).await;
        }
    }
}

/// Deletes the thread of an interrupted conversation, in the background. The server cancels the run when the connection
/// ends.
impl Drop for LanggraphSession {
    fn drop(&mut self) {
        if let (true, Ok(runtime)) = (self.is_ours, tokio::runtime::Handle::try_current()) {
            let (server, thread) = (self.server.clone(), std::mem::take(&mut self.thread));
            let tidying = self.server.tidying.clone();
            tidying.spawn_on(async move { server.delete(&thread).await }, &runtime);
        }
    }
}

fn error_words(value: &Value) -> String {
    match (value["error"].as_str(), value["message"].as_str()) {
        (Some(kind), Some(words)) => format!("{kind}: {words}"),
        _ => words_of(value).unwrap_or_else(|| value.to_string()),
    }
}

/// Reads the messages in the updates of a graph's nodes. The update of a graph repeats the messages of its subgraphs, and
/// may repeat those of the whole thread: each message is read once, by its id, and only those after the user's last one.
#[derive(Debug, Default)]
struct Updates {
    seen: HashSet<String>,
    /// Whether a message of the current turn may contain calls that are not known.
    has_unknown_calls: bool,
}

impl Updates {
    fn take(&mut self, update: &Value, namespace: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let subgraph = namespace.split(':').next().filter(|name| !name.is_empty());
        for (node, update) in update.as_object().into_iter().flatten() {
            let one = std::slice::from_ref(update);
            let updates = update.as_array().map_or(one, Vec::as_slice);
            for message in updates.iter().filter_map(messages_in).flat_map(after_user) {
                let id = message["id"].as_str().unwrap_or_default();
                if id.is_empty() || self.seen.insert(id.to_string()) {
                    let (found, is_known) = events_of(message, subgraph.unwrap_or(node));
                    events.extend(found);
                    self.has_unknown_calls |= !is_known;
                }
            }
        }
        events
    }
}

/// The user's message as a decision: an object or a list if it is one as JSON, else the text.
fn decision(text: &str) -> Value {
    match value_in(text) {
        value @ (Value::Object(_) | Value::Array(_)) => value,
        _ => text.into(),
    }
}

/// The messages of an update: a list, or a single one.
fn messages_in(update: &Value) -> Option<&[Value]> {
    match update.get(MESSAGES)? {
        Value::Array(messages) => Some(messages),
        one @ Value::Object(_) => Some(std::slice::from_ref(one)),
        _ => None,
    }
}

/// The messages after the last one of the user.
fn after_user(messages: &[Value]) -> &[Value] {
    let is_user = |message: &Value| matches!(message["type"].as_str(), Some("human" | "HumanMessage"));
    let from = messages.iter().rposition(is_user).map_or(0, |at| at + 1);
    &messages[from..]
}

/// The events of a message, and whether all calls in it are known. Thoughts are an event of their own, since they are not
/// part of the response. A message that cannot be read is displayed as it is: it may contain calls.
fn events_of(message: &Value, place: &str) -> (Vec<Event>, bool) {
    let Ok(read) = read_message(message) else {
        let part =
            Part { rest: Map::from_iter([("message".to_string(), message.clone())]), ..Part::default() };
        return (vec![event_with(place, vec![part])], false);
    };
    let is_known = !read.has_unknown_call;
    let author = read.author.as_deref().unwrap_or(place);
    match read.role {
        MessageRole::System | MessageRole::User => (Vec::new(), is_known),
        MessageRole::Tool => (vec![event_with(place, read.parts)], is_known),
        MessageRole::Model => {
            let (thoughts, parts): (Vec<Part>, Vec<Part>) =
                read.parts.into_iter().partition(|part| part.thought);
            let usage = usage_of(&message["usage_metadata"]);
            let model_version = message["response_metadata"]["model_name"].as_str().map(str::to_string);
            let acts = (!parts.is_empty() || usage.is_some()).then(|| Event {
                usage,
                model_version,
                ..event_with(author, joined_texts(parts))
            });
            let thoughts = (!thoughts.is_empty() && acts.is_some()).then(|| event_with(author, thoughts));
            (thoughts.into_iter().chain(acts).collect(), is_known)
        }
    }
}

/// Parts of which adjacent texts are one: a model's text may come in blocks.
fn joined_texts(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    for part in parts {
        match (out.last_mut().and_then(|last| last.text.as_mut()), &part.text) {
            (Some(before), Some(text)) => before.push_str(text),
            _ => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_the_parent_repeats_is_read_once() {
        let call = json!({"name": "t", "args": {"n": 1}, "id": "c"});
        let ai = json!({"type": "ai", "name": "clerk", "id": "m1", "content": "", "tool_calls": [call]});
        let human = json!({"type": "human", "id": "m0", "content": "hi"});
        let mut updates = Updates::default();
        let inner = updates.take(&json!({"model": {"messages": [ai]}}), "clerk:1");
        assert_eq!((inner.len(), inner[0].author.as_str()), (1, "clerk"));
        assert!(updates.take(&json!({"clerk": {"messages": [human, ai]}}), "").is_empty());
        // In a later turn the update contains the messages of the whole thread.
        let (later, answer) = (
            json!({"type": "human", "id": "m3", "content": "ho"}),
            json!({"type": "ai", "id": "m4", "content": "yes"}),
        );
        let unread = json!({"type": "ai", "content": "an earlier answer without an id"});
        let second = updates.take(&json!({"clerk": {"messages": [human, ai, unread, later, answer]}}), "");
        assert_eq!((second.len(), second[0].content.as_ref().unwrap().spoken_text().as_str()), (1, "yes"));
        let tool = json!({"type": "tool", "name": "t", "id": "m2", "tool_call_id": "c", "content": "{\"ok\": true}"});
        let event = &updates.take(&json!({"tools": [{"messages": tool}]}), "clerk:1")[0];
        let response = event.content.as_ref().unwrap().responses().next().unwrap();
        assert_eq!((response.response.clone(), event.author.as_str()), (json!({"ok": true}), "clerk"));
    }

    #[test]
    fn calls_with_broken_arguments_are_calls() {
        let broken = json!({"name": "t", "args": "{\"a\": ", "id": "c", "error": "no JSON"});
        let ai = json!({"type": "ai", "id": "m", "content": [{"type": "text", "text": "so"}], "invalid_tool_calls": [broken]});
        let event = events_of(&ai, "model").0.swap_remove(0);
        let content = event.content.unwrap();
        assert_eq!(content.spoken_text(), "so");
        assert_eq!(
            content.calls().next().unwrap().args.as_ref().unwrap().values().next(),
            Some(&json!("{\"a\": "))
        );
    }
}
