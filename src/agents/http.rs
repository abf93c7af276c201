//! Any HTTP endpoint, described by a template: what is sent, and where in the reply the response and the calls are.

use super::budget::EVENT;
use super::messages::{
    call_part, content_text, event_with, history_messages, partial_text, response_part, text_of,
};
use super::remote::{Items, Remote, setup};
use super::{Agent, AgentError, ErrorKind, OnEvent, Opening, Session, Turn, TurnBudget, TurnOutcome};
use crate::domain::{AgentServer, AgentSpec, Content, HttpCalls, HttpSettings, Part, Protocol, ServerSpec};
use crate::formats::adk::{Event, write_content};
use crate::process::clock::Stopwatch;
use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;
use std::sync::Arc;
use url::Url;

/// An endpoint.
#[derive(Debug)]
pub(super) struct HttpAgent {
    endpoint: Arc<Endpoint>,
}

#[derive(Debug)]
struct Endpoint {
    remote: Arc<Remote>,
    address: String,
    settings: HttpSettings,
    method: Method,
    paths: Paths,
}

/// The compiled paths of the settings.
#[derive(Debug)]
struct Paths {
    response: Option<JsonPath>,
    error: Option<JsonPath>,
    session: Option<JsonPath>,
    text: Option<JsonPath>,
    calls: Option<CallPaths>,
}

#[derive(Debug)]
struct CallPaths {
    path: JsonPath,
    /// The beginning of the path, up to a part that selects among the elements of a list. If it leads nowhere, the calls
    /// are not known.
    place: JsonPath,
    name: JsonPath,
    args: Option<JsonPath>,
    response: Option<JsonPath>,
    id: Option<JsonPath>,
    author: Option<JsonPath>,
}

/// A conversation.
#[derive(Debug)]
struct HttpSession {
    endpoint: Arc<Endpoint>,
    opening: Opening,
    /// The id of the session: ours, or the server's after it has sent one.
    id: String,
    messages: Vec<Value>,
}

/// What the paths found in the items of a turn.
#[derive(Default)]
struct Found {
    response: Vec<String>,
    /// The pieces of a streamed text.
    streamed: String,
    session: Option<String>,
    error: Option<String>,
    /// Whether the reply says which calls were made.
    knows_calls: bool,
}

impl HttpAgent {
    /// Compiles the template. The server is not asked for anything.
    pub(super) fn connect(
        remote: Arc<Remote>,
        address: &str,
        settings: &HttpSettings,
    ) -> Result<HttpAgent, AgentError> {
        let paths = Paths::of(settings).map_err(setup)?;
        let method = Method::from_bytes(settings.method.to_uppercase().as_bytes())
            .map_err(|_| setup(format!("{:?} is not a method of HTTP", settings.method)))?;
        let (address, settings) = (address.to_string(), settings.clone());
        Ok(HttpAgent { endpoint: Arc::new(Endpoint { remote, address, settings, method, paths }) })
    }
}

impl Paths {
    fn of(settings: &HttpSettings) -> Result<Paths, String> {
        Ok(Paths {
            response: compiled("response", settings.response.as_deref())?,
            error: compiled("error", settings.error.as_deref())?,
            session: compiled("session", settings.session.as_deref())?,
            text: compiled("stream.text", settings.stream.as_ref().map(|stream| stream.text.as_str()))?,
            calls: settings.calls.as_ref().map(CallPaths::of).transpose()?,
        })
    }
}

impl CallPaths {
    fn of(calls: &HttpCalls) -> Result<CallPaths, String> {
        let needed = |key: &str, path: &str| compiled(key, Some(path)).map(|path| path.unwrap_or_default());
        Ok(CallPaths {
            path: needed("calls.path", &calls.path)?,
            place: needed("calls.path", place_of(&calls.path))?,
            name: needed("calls.name", &calls.name)?,
            args: compiled("calls.args", calls.args.as_deref())?,
            response: compiled("calls.response", calls.response.as_deref())?,
            id: compiled("calls.id", calls.id.as_deref())?,
            author: compiled("calls.author", calls.author.as_deref())?,
        })
    }

    /// Whether a value says which calls were made: it has a list of them, and each has a name.
    fn are_known(&self, value: &Value) -> bool {
        let has_name = |node: &&Value| node.is_array() || self.name.query(node).first().is_some();
        self.place.query(value).all().iter().any(|place| !place.is_null())
            && self.path.query(value).all().iter().all(has_name)
    }

    /// The calls in a value, each followed by its response if there is one.
    fn events(&self, value: &Value) -> Vec<Event> {
        let mut events = Vec::new();
        let nodes = self.path.query(value).all();
        // A path may lead to the list itself.
        let one_list = match nodes.as_slice() {
            [Value::Array(items)] => Some(items.iter().collect::<Vec<_>>()),
            _ => None,
        };
        for node in one_list.unwrap_or(nodes) {
            let at = |path: &Option<JsonPath>| path.as_ref().and_then(|path| path.query(node).first());
            let text = |path: &Option<JsonPath>| at(path).filter(|value| !value.is_null()).map(text_of);
            let Some(name) = self.name.query(node).first().map(text_of) else { continue };
            let author = text(&self.author).unwrap_or_else(|| "agent".into());
            let id = text(&self.id);
            let arguments = at(&self.args).cloned().unwrap_or_default();
            events.push(event_with(&author, vec![call_part(&name, id.as_deref(), &arguments)]));
            if let Some(response) = at(&self.response).filter(|value| !value.is_null()) {
                events.push(event_with(&author, vec![response_part(&name, id.as_deref(), response.clone())]));
            }
        }
        events
    }
}

/// The path of the list in which a path selects elements: `$.steps` of `$.steps[?@.type=='tool']` and of `$.steps[*]`.
fn place_of(path: &str) -> &str {
    let ends = ["[?", "[*", ".*", ".."].into_iter().filter_map(|selector| path.find(selector));
    ends.min().map_or(path, |end| &path[..end])
}

fn compiled(key: &str, path: Option<&str>) -> Result<Option<JsonPath>, String> {
    let parse = |path: &str| {
        JsonPath::parse(path).map_err(|error| format!("{key}: {path:?} is not a JSONPath: {error}"))
    };
    path.map(parse).transpose()
}

#[async_trait]
impl Agent for HttpAgent {
    async fn open(&self, opening: Opening) -> Result<Box<dyn Session>, AgentError> {
        let endpoint = self.endpoint.clone();
        let messages = history_messages(&opening.history);
        if !messages.is_empty() && !endpoint.settings.body_text().contains("{messages}") {
            return Err(setup("a single turn cannot be run: the body of the template has no {messages}"));
        }
        Ok(Box::new(HttpSession { endpoint, id: opening.session_id.clone(), opening, messages }))
    }
}

impl HttpSession {
    /// The value of a placeholder.
    fn value(&self, name: &str, turn: usize, user: &Content) -> Option<Value> {
        Some(match name {
            "prompt" => user.spoken_text().into(),
            "user_content" => write_content(user),
            "messages" => self.messages.clone().into(),
            "session_id" => self.id.clone().into(),
            "user_id" => self.opening.user_id.clone().into(),
            "eval_id" => self.opening.eval_id.clone().into(),
            "turn" => turn.into(),
            "state" => self.opening.state.clone().into(),
            _ => return None,
        })
    }

    /// The address and the body of the request for a turn.
    fn request(&self, turn: usize, user: &Content) -> Result<(Url, Option<Value>), AgentError> {
        let Endpoint { address, settings, .. } = self.endpoint.as_ref();
        let value = |name: &str| self.value(name, turn, user);
        let in_url = |name: &str| {
            let text = value(name).map(|value| text_of(&value))?;
            Some(
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20"),
            )
        };
        let url =
            Url::parse(&replaced(address, in_url)).map_err(|error| setup(format!("the address: {error}")))?;
        let body = settings.body.as_ref().map(|body| filled(&Value::Object(body.clone()), &value));
        Ok((url, body))
    }

    async fn ask(&self, turn: usize, user: &Content) -> Result<Response, AgentError> {
        let Endpoint { remote, settings, method, .. } = self.endpoint.as_ref();
        let (url, body) = self.request(turn, user)?;
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", traceparent());
        if let Ok(baggage) = HeaderValue::from_str(&format!("evaltrail.turn={turn}")) {
            headers.insert("baggage", baggage);
        }
        remote.exchange(method.clone(), url, body.as_ref(), &headers, &settings.ok).await
    }

    /// Reads the reply as a whole.
    async fn read(
        &self,
        response: Response,
        budget: &mut TurnBudget,
        emit: OnEvent<'_>,
    ) -> Result<Found, AgentError> {
        let Endpoint { remote, settings, paths, .. } = self.endpoint.as_ref();
        let mut found = Found::default();
        if settings.response.is_none() {
            // Without a path, the reply is the response.
            let text = remote.text(response).await?;
            budget.keep(text.len())?;
            let (value, size) = budget.parse(&text, |_| String::new()).unwrap_or_default();
            budget.keep(size)?;
            found.take(paths, &value, emit);
            found.response.push(text);
            return Ok(found);
        }
        let value = remote.whole(response, budget).await?;
        found.take(paths, &value, emit);
        Ok(found)
    }

    /// Reads the reply item by item.
    async fn read_stream(
        &self,
        mut items: Items<'_>,
        streams: bool,
        emit: OnEvent<'_>,
    ) -> Result<Found, AgentError> {
        let Endpoint { settings, paths, .. } = self.endpoint.as_ref();
        let mut found = Found::default();
        let wanted = settings.stream.as_ref().and_then(|stream| stream.event.as_deref());
        while let Some(item) = items.next().await? {
            items.keep(item.size + EVENT)?;
            found.take(paths, &item.value, emit);
            let is_text = wanted.is_none_or(|name| item.name == name || item.value["type"] == name);
            let piece =
                paths.text.as_ref().filter(|_| is_text).and_then(|path| path.query(&item.value).first());
            if let Some(piece) = piece.map(content_text).filter(|piece| !piece.is_empty()) {
                found.streamed.push_str(&piece);
                if streams {
                    emit(partial_text("agent", piece));
                }
            }
        }
        Ok(found)
    }
}

impl Found {
    fn take(&mut self, paths: &Paths, value: &Value, emit: &mut (dyn FnMut(Event) + Send)) {
        let at =
            |path: &Option<JsonPath>| path.as_ref().map(|path| path.query(value).all()).unwrap_or_default();
        let texts = |path: &Option<JsonPath>| -> Vec<String> {
            at(path).into_iter().filter(|value| !value.is_null()).map(text_of).collect()
        };
        self.response.extend(texts(&paths.response));
        self.session = texts(&paths.session).into_iter().next().or(self.session.take());
        self.error = texts(&paths.error).into_iter().next().or(self.error.take());
        if let Some(calls) = &paths.calls {
            self.knows_calls |= calls.are_known(value);
            calls.events(value).into_iter().for_each(emit);
        }
    }
}

#[async_trait]
impl Session for HttpSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn turn(&mut self, mut turn: Turn<'_>, on_event: OnEvent<'_>) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        let mut emit = |event: Event| on_event(Event { at: Some(began.elapsed().as_secs_f64()), ..event });
        self.messages.push(json!({"role": "user", "content": turn.user.spoken_text()}));
        let response = self.ask(turn.number, turn.user).await?;
        let endpoint = self.endpoint.clone();
        let found = match endpoint.settings.stream {
            None => self.read(response, &mut turn.budget, &mut emit).await?,
            Some(_) => {
                let items = endpoint.remote.items(response, turn.budget.split());
                self.read_stream(items, turn.streams, &mut emit).await?
            }
        };
        self.id = found.session.unwrap_or_else(|| std::mem::take(&mut self.id));
        if let Some(words) = found.error {
            return Err(endpoint.remote.error(ErrorKind::Agent, words));
        }
        let is_streamed = endpoint.settings.stream.is_some();
        let is_missing = found.response.is_empty() && !is_streamed;
        let text = match found.response.is_empty() {
            true => found.streamed,
            false => found.response.join("\n"),
        };
        if is_missing {
            let path = endpoint.settings.response.as_deref().unwrap_or_default();
            let why = format!("the reply has nothing at {path}; `evaltrail agents check` displays the reply");
            return Err(AgentError::new(ErrorKind::Protocol, why));
        }
        self.messages.push(json!({"role": "assistant", "content": text}));
        emit(event_with("agent", vec![Part::text(text)]));
        // In a stream, an item without calls says nothing about the others.
        let has_all_calls = endpoint.settings.calls.is_some() && (found.knows_calls || is_streamed);
        Ok(TurnOutcome { has_all_calls, ..TurnOutcome::ANSWERED })
    }
}

/// What was sent to an endpoint for a prompt, what came back, and what each path found in it.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateProbe {
    /// Method and address.
    pub request: String,
    /// The body that was sent.
    pub body: String,
    /// The status of the reply.
    pub status: String,
    /// The body of the reply.
    pub reply: String,
    /// The settings with a path: key, path, and the values that the path found.
    pub found: Vec<(&'static str, String, Vec<Value>)>,
}

/// Sends a prompt to an endpoint that a template describes; `None` for any other agent.
pub async fn probe_template(spec: &AgentSpec, prompt: &str) -> Option<Result<TemplateProbe, AgentError>> {
    let AgentSpec::Server(server) = spec else { return None };
    let (Protocol::Http(settings), AgentServer::Url(address)) = (&server.protocol, &server.server) else {
        return None;
    };
    Some(probe(server, settings, address, prompt).await)
}

async fn probe(
    server: &ServerSpec,
    settings: &HttpSettings,
    address: &str,
    prompt: &str,
) -> Result<TemplateProbe, AgentError> {
    let remote = Arc::new(Remote::of(address, server)?);
    let agent = HttpAgent::connect(remote.clone(), address, settings)?;
    let (user, opening) = (Content::text("user", prompt), Opening::default());
    let messages = vec![json!({"role": "user", "content": prompt})];
    let session = HttpSession { endpoint: agent.endpoint.clone(), id: "probe".into(), opening, messages };
    let (url, body) = session.request(1, &user)?;
    let (status, reply) =
        remote.call(agent.endpoint.method.clone(), url, body.as_ref(), &HeaderMap::new()).await?;
    let values: Vec<Value> = match serde_json::from_str(&reply) {
        Ok(value) => vec![value],
        Err(_) => {
            let data =
                |line: &str| serde_json::from_str(line.strip_prefix("data:").unwrap_or(line).trim()).ok();
            reply.lines().filter_map(data).collect()
        }
    };
    let at = |path: &JsonPath| {
        values.iter().flat_map(|value| path.query(value).all()).cloned().collect::<Vec<Value>>()
    };
    let Paths { response, error, session, text, calls } = &agent.endpoint.paths;
    let calls = calls.as_ref().map(|calls| &calls.path);
    let paths = [
        ("response", response.as_ref()),
        ("text", text.as_ref()),
        ("calls", calls),
        ("session", session.as_ref()),
        ("error", error.as_ref()),
    ];
    let found =
        paths.into_iter().filter_map(|(key, path)| path.map(|path| (key, path.to_string(), at(path))));
    let found = found
        .map(|(key, path, values)| (key, path, values.iter().map(|value| remote.cleaned(value)).collect()));
    Ok(TemplateProbe {
        request: format!("{} {}", agent.endpoint.method, remote.shown()),
        body: body.map(|body| serde_json::to_string_pretty(&body).unwrap_or_default()).unwrap_or_default(),
        status: status.to_string(),
        reply: remote.clean(&reply),
        found: found.collect(),
    })
}

/// A trace context, by which an instrumented agent relates its spans to the turn.
fn traceparent() -> HeaderValue {
    let (trace, span) =
        (uuid::Uuid::new_v4().simple().to_string(), uuid::Uuid::new_v4().simple().to_string());
    HeaderValue::from_str(&format!("00-{trace}-{}-01", &span[..16])).unwrap_or(HeaderValue::from_static(""))
}

/// A value of the template with its placeholders replaced. A text that is only a placeholder becomes the value; inside a
/// text, the value becomes text.
fn filled(template: &Value, value_of: &dyn Fn(&str) -> Option<Value>) -> Value {
    match template {
        Value::String(text) => {
            let only = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            match only.and_then(value_of) {
                Some(value) => value,
                None => replaced(text, |name| value_of(name).map(|value| text_of(&value))).into(),
            }
        }
        Value::Array(items) => items.iter().map(|item| filled(item, value_of)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, member)| (key.clone(), filled(member, value_of)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// A text with the placeholders replaced that are known; anything else in braces stays.
fn replaced(text: &str, value_of: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let found = rest.find('}').and_then(|close| Some((close, value_of(&rest[1..close])?)));
        match found {
            Some((close, value)) => {
                out.push_str(&value);
                rest = &rest[close + 1..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_values_or_text() {
        let value = |name: &str| match name {
            "prompt" => Some(json!("say \"hi\" {session_id}")),
            "messages" => Some(json!([{"role": "user"}])),
            "turn" => Some(json!(2)),
            _ => None,
        };
        let template = json!({"m": "{messages}", "t": "turn {turn}: {prompt}", "n": "{turn}", "x": "{nothing} {", "k": [1, "{prompt}"]});
        assert_eq!(
            filled(&template, &value),
            json!({"m": [{"role": "user"}], "t": "turn 2: say \"hi\" {session_id}", "n": 2, "x": "{nothing} {", "k": [1, "say \"hi\" {session_id}"]})
        );
    }

    #[test]
    fn a_missing_path_of_calls_is_unknown_and_an_empty_list_is_none() {
        let calls = |path: &str| {
            CallPaths::of(&HttpCalls {
                path: path.into(),
                name: "$.tool".into(),
                args: Some("$.input".into()),
                response: Some("$.output".into()),
                id: None,
                author: None,
            })
            .unwrap()
        };
        let steps = json!({"steps": [{"type": "text"}, {"type": "tool", "tool": "t", "input": "{\"n\": 1}", "output": 3}]});
        let events = calls("$.steps[?@.type=='tool']").events(&steps);
        let call = events[0].content.as_ref().unwrap().calls().next().unwrap();
        assert_eq!((events.len(), call.args.clone()), (2, json!({"n": 1}).as_object().cloned()));
        assert_eq!(calls("$.steps").events(&steps).len(), 2, "a list is its elements");
        assert!(calls("$.steps").events(&json!({"steps": []})).is_empty());
        for path in ["$.steps", "$.steps[*]", "$.steps[?@.type=='tool']"] {
            let known = |value: Value| calls(path).are_known(&value);
            assert_eq!(
                (known(json!({"steps": []})), known(json!({"steps": null})), known(json!({}))),
                (true, false, false),
                "{path}"
            );
        }
        assert!(
            !calls("$.steps[*]").are_known(&json!({"steps": [{"name": "t"}]})),
            "a call without a name is not known"
        );
        assert!(compiled("response", Some("$.[")).unwrap_err().contains("response"));
    }
}
