//! Reads what agents that speak Agent2Agent send, in every form that servers of versions 1.0 and 0.3 use.

use super::texts::{MessageSource, Texts};
use evaltrail_core::domain::{Content, Part, ToolCall, ToolResponse, TurnEnd, float_of};
use evaltrail_core::formats::adk::{Event, read_event};
use serde_json::{Map, Number, Value, json};
use std::collections::HashSet;

/// The state of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TaskState {
    /// Nothing was received.
    #[default]
    None,
    Running,
    Completed,
    Failed,
    Canceled,
    Rejected,
    InputRequired,
    AuthRequired,
}

impl TaskState {
    fn named(name: &str) -> TaskState {
        let name = name
            .strip_prefix("TASK_STATE_")
            .unwrap_or(name)
            .to_lowercase()
            .replace('_', "-");
        match name.as_str() {
            "completed" => TaskState::Completed,
            "failed" => TaskState::Failed,
            "canceled" | "cancelled" => TaskState::Canceled,
            "rejected" => TaskState::Rejected,
            "input-required" => TaskState::InputRequired,
            "auth-required" => TaskState::AuthRequired,
            _ => TaskState::Running,
        }
    }

    pub(super) fn is_running(self) -> bool {
        self == TaskState::Running
    }

    /// Whether the task waits for an answer of the user.
    pub(super) fn asks(self) -> bool {
        matches!(self, TaskState::InputRequired | TaskState::AuthRequired)
    }

    pub(super) fn end(self) -> TurnEnd {
        match self {
            TaskState::InputRequired => TurnEnd::InputRequired,
            TaskState::AuthRequired => TurnEnd::SignInRequired,
            TaskState::Rejected => TurnEnd::Refused,
            _ => TurnEnd::Answered,
        }
    }
}

/// Collects the items of a turn.
#[derive(Debug, Default)]
pub(super) struct A2aReader {
    /// Whether the server's libraries turn integers into floats.
    floats: bool,
    task: Option<String>,
    context: Option<String>,
    state: TaskState,
    /// Whether the server is known to report every call: it is one of ADK.
    is_adk: bool,
    /// The ids of the calls and responses that were read.
    seen: HashSet<(&'static str, String)>,
    texts: Texts,
    /// Why the task failed, in the words of its status.
    failure: Option<String>,
    author: String,
}

impl A2aReader {
    pub(super) fn new(floats: bool) -> A2aReader {
        A2aReader {
            floats,
            author: "agent".into(),
            ..A2aReader::default()
        }
    }

    pub(super) fn state(&self) -> TaskState {
        self.state
    }

    pub(super) fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    pub(super) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    /// Whether the agent reports its calls. Only ADK's servers do; that of LangGraph reports results without arguments.
    pub(super) fn has_all_calls(&self) -> bool {
        self.is_adk
    }

    /// Reads an item, and returns the events in it that were not read before.
    pub(super) fn take(&mut self, value: &Value) -> Vec<Event> {
        let value = value.get("result").unwrap_or(value);
        let wrapped = [
            "task",
            "message",
            "statusUpdate",
            "artifactUpdate",
            "status_update",
            "artifact_update",
            "msg",
        ];
        let item = wrapped
            .iter()
            .find_map(|key| value.get(key).filter(|item| item.is_object()));
        // A task has a status with a message; that message is not the item.
        let item = item
            .filter(|_| value.get("status").is_none())
            .unwrap_or(value);
        let text = |key: &str| {
            item[key]
                .as_str()
                .filter(|id| !id.is_empty())
                .map(str::to_string)
        };
        self.context = text("contextId").or(self.context.take());
        let metadata = item["metadata"].as_object().cloned().unwrap_or_default();
        self.is_adk |= metadata.keys().any(|key| key.starts_with("adk_"));
        if item.get("artifact").is_some() {
            self.task = text("taskId").or(self.task.take());
            return self.artifact(
                &item["artifact"],
                item["append"].as_bool() == Some(true),
                &metadata,
            );
        }
        if item.get("messageId").is_some() {
            // A message without a task is a whole answer.
            self.state = TaskState::Completed;
            return self.message(item, &metadata, MessageSource::Item);
        }
        let Some(status) = item.get("status").filter(|status| status.is_object()) else {
            return Vec::new();
        };
        self.task = text("taskId").or_else(|| text("id")).or(self.task.take());
        let mut events = Vec::new();
        for message in item["history"].as_array().into_iter().flatten() {
            // Some servers send the history of the whole conversation.
            let is_of_task = message["taskId"]
                .as_str()
                .is_none_or(|id| Some(id) == self.task.as_deref());
            if is_of_task {
                events.extend(self.message(message, &Map::new(), MessageSource::History));
            }
        }
        for artifact in item["artifacts"].as_array().into_iter().flatten() {
            events.extend(self.artifact(artifact, false, &Map::new()));
        }
        self.state = TaskState::named(status["state"].as_str().unwrap_or_default());
        events.extend(self.status_message(&status["message"], &metadata));
        if self.state == TaskState::Failed {
            self.failure = failure_of(status, &metadata);
        }
        events
    }

    /// Reads the message of a status. That of a task which ended or paused is the response.
    fn status_message(&mut self, message: &Value, metadata: &Map<String, Value>) -> Vec<Event> {
        if self.state.is_running() || !is_of_agent(message) {
            return self.message(message, metadata, MessageSource::Status);
        }
        let mut events = self.message(message, metadata, MessageSource::Status);
        let event = Event {
            content: content(self.texts_in(message)),
            ..self.about(metadata, message)
        };
        if event
            .content
            .as_ref()
            .is_some_and(|content| !content.shown_text().is_empty())
        {
            self.texts.end(id_of(message), event);
        }
        // The error of a task that failed is not reported a second time.
        if self.state == TaskState::Failed {
            events.iter_mut().for_each(|event| event.error = None);
        }
        events
    }

    /// Reads a message of the agent, and returns the events that are complete with it.
    fn message(
        &mut self,
        message: &Value,
        metadata: &Map<String, Value>,
        source: MessageSource,
    ) -> Vec<Event> {
        let blank = self.about(metadata, message);
        if !is_of_agent(message) {
            // The status of an error may have no message.
            let error = blank.error.is_some() && message.is_null();
            return error.then_some(blank).into_iter().collect();
        }
        let id = id_of(message);
        if self.texts.is_done(id) {
            return Vec::new();
        }
        let parts = self.parts(message);
        let acts: Vec<bool> = parts.iter().map(|part| self.is_new_act(part)).collect();
        let has_acts = parts.iter().any(is_act);
        let mut events = Vec::new();
        if has_acts {
            // Texts beside calls belong to the same event.
            events.extend(self.texts.flush());
            self.texts.note(id);
            let new: Vec<Part> = parts
                .into_iter()
                .zip(acts)
                .filter(|(part, is_new)| !is_act(part) || *is_new)
                .map(|one| one.0)
                .collect();
            events.extend((!new.is_empty()).then(|| Event {
                content: content(new),
                is_intermediate: true,
                ..blank
            }));
            return events;
        }
        if parts.is_empty() {
            return Vec::new();
        }
        events.push(Event {
            content: content(parts.clone()),
            partial: true,
            usage: None,
            error: None,
            ..blank.clone()
        });
        events.extend(self.texts.message(
            id,
            Event {
                content: content(parts),
                ..blank
            },
            source,
        ));
        events
    }

    fn artifact(
        &mut self,
        artifact: &Value,
        append: bool,
        metadata: &Map<String, Value>,
    ) -> Vec<Event> {
        let id = artifact["artifactId"]
            .as_str()
            .unwrap_or_default()
            .to_string();
        let blank = self.about(metadata, artifact);
        let (acts, texts): (Vec<Part>, Vec<Part>) =
            self.parts(artifact).into_iter().partition(is_act);
        let acts: Vec<Part> = acts
            .into_iter()
            .filter(|part| self.is_new_act(part))
            .collect();
        let mut events = Vec::new();
        if !acts.is_empty() {
            events.extend(self.texts.flush());
            events.push(Event {
                content: content(acts),
                ..blank.clone()
            });
        }
        if !texts.is_empty() {
            let piece = content(texts.clone());
            events.push(Event {
                content: piece,
                partial: true,
                usage: None,
                error: None,
                ..blank.clone()
            });
            self.texts.artifact(
                id,
                Event {
                    content: content(texts),
                    ..blank
                },
                append,
            );
        }
        events
    }

    /// An event without content: its author, tokens, actions and error, as ADK's servers write them.
    fn about(&mut self, metadata: &Map<String, Value>, holder: &Value) -> Event {
        let own = holder["metadata"].as_object();
        let about = |key: &str| {
            own.and_then(|own| own.get(key))
                .or_else(|| metadata.get(key))
        };
        self.is_adk |= own.is_some_and(|own| own.keys().any(|key| key.starts_with("adk_")));
        if let Some(author) = about("adk_author").and_then(Value::as_str) {
            self.author = author.to_string();
        }
        let event = json!({
            "author": self.author,
            "usageMetadata": about("adk_usage_metadata"),
            "actions": about("adk_actions"),
            "errorCode": about("adk_error_code"),
            "errorMessage": about("adk_error_message"),
            "finishReason": about("adk_finish_reason"),
        });
        let event = read_event(&event).unwrap_or_else(|_| Event {
            author: self.author.clone(),
            ..Event::default()
        });
        // Which text is the response is known at the end.
        Event {
            has_error_code: false,
            ..event
        }
    }

    fn is_new_act(&mut self, part: &Part) -> bool {
        is_act(part) && self.is_new(part)
    }

    fn texts_in(&self, message: &Value) -> Vec<Part> {
        self.parts(message)
            .into_iter()
            .filter(|part| !is_act(part))
            .collect()
    }

    fn is_new(&mut self, part: &Part) -> bool {
        let key = match (&part.call, &part.response) {
            (Some(call), _) => ("call", call.id.clone()),
            (None, Some(response)) => ("response", response.id.clone()),
            (None, None) => return true,
        };
        key.1.is_none_or(|id| self.seen.insert((key.0, id)))
    }

    /// The texts that are not events yet, the response last; an event without content if there is none.
    pub(super) fn finish(self) -> Vec<Event> {
        let events = self.texts.finish(self.is_adk);
        match events.is_empty() {
            true => vec![Event {
                author: self.author,
                ..Event::default()
            }],
            false => events,
        }
    }

    fn parts(&self, holder: &Value) -> Vec<Part> {
        let parts = holder["parts"]
            .as_array()
            .or_else(|| holder["content"].as_array());
        parts
            .into_iter()
            .flatten()
            .map(|value| self.part(value))
            .collect()
    }

    fn part(&self, value: &Value) -> Part {
        let about = |key: &str| value["metadata"].get(key);
        if let Some(text) = value["text"].as_str() {
            let thought = about("adk_thought")
                .and_then(Value::as_bool)
                .unwrap_or(false);
            return Part {
                thought,
                ..Part::text(text)
            };
        }
        let data = unwrapped(&value["data"]);
        let text = |key: &str| data[key].as_str().map(str::to_string);
        let name = || text("name").unwrap_or_default();
        match about("adk_type").and_then(Value::as_str) {
            Some("function_call") => {
                let args = data["args"].as_object().cloned().map(Value::Object);
                let args = args
                    .map(|args| self.numbers(args))
                    .and_then(|args| args.as_object().cloned());
                let call = ToolCall {
                    id: text("id"),
                    rounded: self.floats,
                    ..ToolCall::new(name(), args)
                };
                Part {
                    call: Some(call),
                    ..Part::default()
                }
            }
            Some("function_response") => {
                let response = self.numbers(data["response"].clone());
                let response = ToolResponse {
                    id: text("id"),
                    name: name(),
                    response,
                };
                Part {
                    response: Some(response),
                    ..Part::default()
                }
            }
            _ => file_part(value).unwrap_or_else(|| {
                let mut rest = value.as_object().cloned().unwrap_or_default();
                rest.remove("kind");
                Part {
                    rest,
                    ..Part::default()
                }
            }),
        }
    }

    /// The value with integers where a library made floats of them. A float above 2^53 is not exact, and stays.
    fn numbers(&self, value: Value) -> Value {
        match value {
            Value::Number(number) if self.floats => Value::Number(integer(number)),
            Value::Array(items) => items.into_iter().map(|item| self.numbers(item)).collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(key, member)| (key, self.numbers(member)))
                .collect(),
            other => other,
        }
    }
}

/// The largest number up to which every integer is a float.
const EXACT: f64 = 9_007_199_254_740_991.0;

fn integer(number: Number) -> Number {
    match float_of(&number)
        .filter(|float| float.fract() == 0.0 && float.abs() <= EXACT && !number.is_i64())
    {
        Some(float) => Number::from(float as i64),
        None => number,
    }
}

/// The data of a part. Protobuf's JSON wraps it twice.
fn unwrapped(data: &Value) -> &Value {
    match data.as_object() {
        Some(members)
            if members.len() == 1 && members.get("data").is_some_and(Value::is_object) =>
        {
            &members["data"]
        }
        _ => data,
    }
}

/// A file, in ADK's form.
fn file_part(value: &Value) -> Option<Part> {
    let file = value.get("file").unwrap_or(value);
    let text = |keys: &[&str]| keys.iter().find_map(|key| file[*key].as_str());
    let kind = text(&["mimeType", "mediaType"]);
    let (key, member) = match (
        text(&["uri", "url", "fileWithUri"]),
        text(&["bytes", "raw", "fileWithBytes"]),
    ) {
        (Some(uri), _) => ("file_data", json!({"file_uri": uri, "mime_type": kind})),
        (None, Some(data)) => ("inline_data", json!({"data": data, "mime_type": kind})),
        (None, None) => return None,
    };
    Some(Part {
        rest: Map::from_iter([(key.to_string(), member)]),
        ..Part::default()
    })
}

fn is_act(part: &Part) -> bool {
    part.call.is_some() || part.response.is_some()
}

fn is_of_agent(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("agent" | "ROLE_AGENT"))
}

fn id_of(message: &Value) -> &str {
    message["messageId"].as_str().unwrap_or_default()
}

fn content(parts: Vec<Part>) -> Option<Content> {
    Some(Content {
        role: Some("model".into()),
        parts,
    })
}

fn failure_of(status: &Value, metadata: &Map<String, Value>) -> Option<String> {
    let message = &status["message"];
    let parts = message["parts"]
        .as_array()
        .or_else(|| message["content"].as_array());
    let texts: Vec<&str> = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let words = Some(texts.join("\n")).filter(|words| !words.trim().is_empty());
    let code = metadata.get("adk_error_code").and_then(Value::as_str);
    match (code, words) {
        (Some(code), Some(words)) if !words.contains(code) => Some(format!("{code}: {words}")),
        (code, words) => words.or(code.map(str::to_string)),
    }
}
