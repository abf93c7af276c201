//! A graph on a LangGraph server.

use super::budget::EVENT;
use super::messages::{
    call_part, content_text, event_with, history_messages, response_part, usage_of, value_in,
};
use super::remote::{Items, Remote, setup, words_of};
use super::{Agent, AgentError, AgentHello, ErrorKind, OnEvent, Opening, Session, Turn, TurnOutcome};
use crate::domain::{Content, LanggraphSettings, ModelError, Part, TurnEnd};
use crate::formats::adk::Event;
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

    /// Reads the messages after the user's last one from the thread's state: nodes may add messages that the updates do not
    /// contain in a known form. Those that were read before are left out.
    async fn read_state(&mut self, on_event: OnEvent<'_>, began: &Stopwatch) {
        let Some(values) = self.values().await else { return };
        for event in self.updates.of_state(&values) {
            on_event(Event { at: Some(began.elapsed().as_secs_f64()), ..event });
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
        self.updates.has_response = false;
        let end = self.read(remote.items(response, turn.budget), on_event, &began).await?;
        if self.input != MESSAGES
            && end.is_answered()
            && let Some(text) = self.values().await.and_then(|values| self.output(&values))
        {
            let at = Some(began.elapsed().as_secs_f64());
            on_event(Event { at, ..event_with("agent", vec![Part::text(text)]) });
        }
        if self.input == MESSAGES && end.is_answered() && !self.updates.has_response {
            self.read_state(on_event, &began).await;
        }
        Ok(TurnOutcome { end, ..TurnOutcome::ANSWERED })
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
    /// The texts, calls and results that were read from messages without an id in this turn.
    anonymous: Vec<Content>,
    /// Whether a text of the agent was read in this turn.
    has_response: bool,
}

impl Updates {
    fn take(&mut self, update: &Value, namespace: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let subgraph = namespace.split(':').next().filter(|name| !name.is_empty());
        for (node, update) in update.as_object().into_iter().flatten() {
            let one = std::slice::from_ref(update);
            let updates = update.as_array().map_or(one, Vec::as_slice);
            for messages in updates.iter().filter_map(messages_in) {
                for message in after_user(&messages) {
                    let id = message["id"].as_str().unwrap_or_default();
                    if !id.is_empty() && !self.seen.insert(id.to_string()) {
                        continue;
                    }
                    events.extend(thoughts_of(message, subgraph.unwrap_or(node)));
                    let event = event_of(message, subgraph.unwrap_or(node));
                    self.note(id, event.as_ref());
                    events.extend(event);
                }
            }
        }
        events
    }

    fn note(&mut self, id: &str, event: Option<&Event>) {
        let Some(content) = event.and_then(|event| event.content.as_ref()) else { return };
        self.has_response |= content.has_text() && content.calls().next().is_none();
        if id.is_empty() {
            self.anonymous.push(content.clone());
        }
    }

    /// The events of the messages in a thread's state that were not read before. The server gives an id to messages that had
    /// none in the updates.
    fn of_state(&mut self, values: &Value) -> Vec<Event> {
        let messages = messages_in(values).unwrap_or_default();
        let mut events = Vec::new();
        for message in after_user(&messages) {
            let id = message["id"].as_str().unwrap_or_default();
            if !id.is_empty() && !self.seen.insert(id.to_string()) {
                continue;
            }
            let Some(event) = event_of(message, "agent") else { continue };
            let same = self.anonymous.iter().position(|known| Some(known) == event.content.as_ref());
            match same {
                Some(at) => drop(self.anonymous.remove(at)),
                None => events.push(event),
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

/// The messages of an update: a list, or a single one. As in `add_messages` of LangGraph, a message is an object, a pair of
/// role and content, or a text of the user; a node's text is one of the agent.
fn messages_in(update: &Value) -> Option<Vec<Value>> {
    let messages = match update.get(MESSAGES)? {
        Value::Array(messages) if pair(messages).is_none() => messages.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    };
    Some(messages.into_iter().map(message_of).collect())
}

fn message_of(message: &Value) -> Value {
    match message {
        Value::Array(items) => match pair(items) {
            Some((role, content)) => json!({"role": role, "content": content}),
            None => json!({"role": "assistant", "content": items}),
        },
        Value::Object(_) => message.clone(),
        other => json!({"role": "assistant", "content": super::messages::text_of(other)}),
    }
}

/// A message as a pair of role and content.
fn pair(items: &[Value]) -> Option<(&str, &Value)> {
    let [Value::String(role), content] = items else { return None };
    let is_role = matches!(kind_of(role), Kind::Agent | Kind::User | Kind::Tool | Kind::System);
    is_role.then_some((role.as_str(), content))
}

/// Who a message is from.
#[derive(PartialEq)]
enum Kind {
    Agent,
    User,
    Tool,
    System,
    Other,
}

/// The kind of a type of LangChain's messages, or of a role.
fn kind_of(name: &str) -> Kind {
    match name {
        "ai" | "AIMessage" | "AIMessageChunk" | "assistant" | "model" => Kind::Agent,
        "human" | "HumanMessage" | "HumanMessageChunk" | "user" => Kind::User,
        "tool" | "ToolMessage" | "ToolMessageChunk" | "function" | "FunctionMessage" => Kind::Tool,
        "system" | "SystemMessage" | "developer" | "remove" | "RemoveMessage" => Kind::System,
        _ => Kind::Other,
    }
}

fn kind_of_message(message: &Value) -> Kind {
    let name = ["type", "role"].into_iter().find_map(|key| message[key].as_str());
    kind_of(name.unwrap_or_default())
}

/// The messages after the last one of the user.
fn after_user(messages: &[Value]) -> &[Value] {
    let is_user = |message: &Value| kind_of_message(message) == Kind::User;
    let from = messages.iter().rposition(is_user).map_or(0, |at| at + 1);
    &messages[from..]
}

fn event_of(message: &Value, place: &str) -> Option<Event> {
    let text = |key: &str| message[key].as_str().filter(|text| !text.is_empty());
    let author = text("name").unwrap_or(place);
    match kind_of_message(message) {
        // A message of an unknown role is shown as one of the agent.
        Kind::Agent | Kind::Other => {
            let said = said_in(&message["content"]);
            let said = (!said.is_empty()).then(|| Part::text(said));
            let list = |key: &str| message[key].as_array().cloned().unwrap_or_default();
            let calls = list("tool_calls").into_iter().chain(list("invalid_tool_calls"));
            let calls = calls.map(|call| call_of(&call)).chain(called_in_blocks(message));
            let parts: Vec<Part> = said.into_iter().chain(calls).collect();
            let usage = usage_of(&message["usage_metadata"]);
            let about = &message["response_metadata"];
            let model_version = about["model_name"].as_str().map(str::to_string);
            let error = finish_of(about);
            (!parts.is_empty() || usage.is_some() || error.is_some()).then(|| Event {
                usage,
                model_version,
                error,
                ..event_with(author, parts)
            })
        }
        Kind::Tool => {
            let response = value_in(&content_text(&message["content"]));
            let part = response_part(text("name").unwrap_or_default(), text("tool_call_id"), response);
            Some(event_with(place, vec![part]))
        }
        Kind::User | Kind::System => None,
    }
}

/// The texts of a content, without the blocks that are thoughts.
fn said_in(content: &Value) -> String {
    let is_said = |block: &&Value| !matches!(block["type"].as_str(), Some("thinking" | "reasoning"));
    match content {
        Value::Array(blocks) => content_text(&blocks.iter().filter(is_said).cloned().collect()),
        text => content_text(text),
    }
}

/// What the model thought: blocks of the content, or a member of DeepSeek's and others' messages.
fn thoughts_of(message: &Value, place: &str) -> Option<Event> {
    let words = |block: &Value| {
        let is_thought = matches!(block["type"].as_str(), Some("thinking" | "reasoning"));
        let keys = ["thinking", "reasoning", "text", "summary"];
        let text = keys.iter().map(|key| content_text(&block[*key])).find(|text| !text.is_empty());
        text.filter(|_| is_thought)
    };
    let blocks = message["content"].as_array().into_iter().flatten().filter_map(words);
    let member = content_text(&message["additional_kwargs"]["reasoning_content"]);
    let thoughts: Vec<Part> = blocks
        .chain(Some(member).filter(|text| !text.is_empty()))
        .map(|text| Part { thought: true, ..Part::text(text) })
        .collect();
    let is_of_agent = kind_of_message(message) == Kind::Agent && !thoughts.is_empty();
    is_of_agent.then(|| Event { is_intermediate: true, ..event_with(place, thoughts) })
}

/// A call in LangChain's form (`args`) or in OpenAI's (`function`).
fn call_of(call: &Value) -> Part {
    let function = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let arguments = ["args", "arguments", "input"].into_iter().find_map(|key| function.get(key));
    call_part(
        function["name"].as_str().unwrap_or_default(),
        call["id"].as_str(),
        arguments.unwrap_or(&Value::Null),
    )
}

/// The calls in the content of a message that has no list of calls: blocks of Anthropic, or the older `function_call`.
fn called_in_blocks(message: &Value) -> Vec<Part> {
    let has_list = |key: &str| message[key].as_array().is_some_and(|list| !list.is_empty());
    if has_list("tool_calls") || has_list("invalid_tool_calls") {
        return Vec::new();
    }
    let more = &message["additional_kwargs"];
    let lists = message["content"].as_array().into_iter().chain(more["tool_calls"].as_array()).flatten();
    let is_call = |block: &&Value| block["type"] == "tool_use" || block["function"].is_object();
    let legacy =
        [&message["function_call"], &more["function_call"]].into_iter().find(|call| call.is_object());
    lists.filter(is_call).chain(legacy).map(call_of).collect()
}

/// Why the model stopped early, from the metadata of its response: the names of OpenAI, Gemini and Anthropic, Ollama, and
/// Bedrock.
fn finish_of(about: &Value) -> Option<ModelError> {
    let keys = ["finish_reason", "stop_reason", "done_reason", "stopReason"];
    let reason = keys.into_iter().find_map(|key| about[key].as_str());
    let blocked = about["prompt_feedback"]["block_reason"].as_str();
    ModelError::of_finish(reason, None).or_else(|| ModelError::of_finish(blocked, None))
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
    fn messages_are_read_in_every_form_of_a_node() {
        let said = |messages: Value| {
            let mut updates = Updates::default();
            let events = updates.take(&json!({"echo": {"messages": messages}}), "");
            let texts: Vec<String> =
                events.iter().map(|event| event.content.as_ref().unwrap().spoken_text()).collect();
            (texts, updates.has_response)
        };
        for messages in [
            json!([{"role": "assistant", "content": "Echo hi"}]),
            json!({"role": "assistant", "content": "Echo hi"}),
            json!([["ai", "Echo hi"]]),
            json!(["assistant", "Echo hi"]),
            json!("Echo hi"),
            json!(["Echo hi"]),
            json!([{"type": "ai", "content": "Echo hi"}]),
            json!([["user", "hi"], ["ai", "Echo hi"]]),
            json!([{"role": "narrator", "content": "Echo hi"}]),
        ] {
            assert_eq!(said(messages.clone()), (vec!["Echo hi".to_string()], true), "{messages}");
        }
        assert_eq!(said(json!([["human", "hi"]])), (vec![], false));
        assert_eq!(said(Value::Null), (vec![], false));
    }

    #[test]
    fn the_state_adds_only_messages_that_were_not_read() {
        let mut updates = Updates::default();
        updates.take(&json!({"echo": {"messages": [["ai", "one"]]}}), "");
        let state = json!({"messages": [
            {"type": "human", "content": "hi", "id": "h"},
            {"type": "ai", "content": "one", "id": "a"},
            {"type": "ai", "content": "two", "id": "b"},
        ]});
        let texts: Vec<String> = updates
            .of_state(&state)
            .iter()
            .map(|event| event.content.as_ref().unwrap().spoken_text())
            .collect();
        assert_eq!(texts, ["two"]);
        assert!(updates.of_state(&state).is_empty(), "each is read once");
    }

    #[test]
    fn calls_thoughts_and_finish_reasons_are_read_in_other_forms() {
        let block = json!({"type": "tool_use", "id": "c", "name": "t", "input": {"n": 1}});
        let thinking = json!({"type": "thinking", "thinking": "hm"});
        let message = json!({"role": "assistant", "content": [thinking, {"type": "text", "text": "so"}, block],
            "response_metadata": {"stop_reason": "max_tokens"}});
        let event = event_of(&message, "n").unwrap();
        let content = event.content.unwrap();
        assert_eq!((content.spoken_text().as_str(), content.calls().count()), ("so", 1));
        assert_eq!(event.error.unwrap().code, "max_tokens");
        assert_eq!(thoughts_of(&message, "n").unwrap().content.unwrap().parts[0].text.as_deref(), Some("hm"));
        let openai = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "t", "arguments": "{\"n\": 1}"}}]});
        let content = event_of(&openai, "n").unwrap().content.unwrap();
        assert_eq!(content.calls().next().unwrap().args, json!({"n": 1}).as_object().cloned());
    }

    #[test]
    fn calls_with_broken_arguments_are_calls() {
        let broken = json!({"name": "t", "args": "{\"a\": ", "id": "c", "error": "no JSON"});
        let ai = json!({"type": "ai", "id": "m", "content": [{"type": "text", "text": "so"}], "invalid_tool_calls": [broken]});
        let event = event_of(&ai, "model").unwrap();
        let content = event.content.unwrap();
        assert_eq!(content.spoken_text(), "so");
        assert_eq!(
            content.calls().next().unwrap().args.as_ref().unwrap().values().next(),
            Some(&json!("{\"a\": "))
        );
    }
}
