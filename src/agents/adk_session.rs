//! Reads a session that is stored on an ADK server as a conversation.

use super::budget::parse_answer;
use super::{AgentError, ErrorKind};
use crate::domain::{Invocation, Secrets, SessionInput, address_without_secrets, secrets_in_address};
use crate::formats::adk::{invocations_of, read_event};
use crate::net::http::{self, cause, chain, client};
use serde_json::{Map, Value};
use std::time::Duration;
use url::Url;

const SHORT_CALL: Duration = Duration::from_secs(30);
/// The maximum size of a session, in bytes.
const LONGEST_SESSION: usize = 32 << 20;

/// A session that is stored on an ADK server.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    /// Application, user, and the initial state as far as it can be derived from the session.
    pub input: SessionInput,
    /// The turns.
    pub turns: Vec<Invocation>,
    /// The state before each turn.
    pub states: Vec<StateBefore>,
}

/// The state of a session before a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateBefore {
    /// The values that are known.
    pub state: Map<String, Value>,
    /// The keys that were changed for the first time later, each once: the server does not store the values before.
    pub unknown: Vec<String>,
}

/// Reads a session by its address: `http://host:port/apps/APP/users/USER/sessions/ID`; `apps` may be left out.
pub async fn fetch_session(address: &str) -> Result<StoredSession, AgentError> {
    let secrets = Secrets::of(secrets_in_address(address.strip_prefix("adk+").unwrap_or(address)));
    let setup = |why: String| AgentError::new(ErrorKind::Setup, secrets.mask(&why));
    let url = session_url(address).map_err(setup)?;
    let client = client(&url).map_err(setup)?;
    let broken = |error: reqwest::Error| {
        AgentError::new(ErrorKind::Unavailable, format!("cannot read the session: {}", chain(cause(&error))))
    };
    let response = client.get(url).timeout(SHORT_CALL).send().await.map_err(broken)?;
    let status = response.status();
    let text = http::text(response, LONGEST_SESSION).await.map_err(|_| {
        AgentError::new(ErrorKind::Protocol, "the session is incomplete or longer than 32 MB")
    })?;
    if !status.is_success() {
        let words: String = secrets.mask(&text).chars().take(200).collect();
        return Err(AgentError::new(
            ErrorKind::Protocol,
            format!("no session: the server answered {status}: {words}"),
        ));
    }
    let mut session =
        parse_answer(&text).map_err(|error| AgentError::new(ErrorKind::Protocol, error.to_string()))?;
    secrets.mask_foreign(&mut session);
    read_session(&session).map_err(|why| AgentError::new(ErrorKind::Protocol, why))
}

fn session_url(address: &str) -> Result<Url, String> {
    let wrong = "write http://HOST:PORT/apps/APP/users/USER/sessions/ID";
    // An address that cannot be parsed may have a password as well.
    let shown = address_without_secrets(address);
    let mut url = Url::parse(address.strip_prefix("adk+").unwrap_or(address))
        .map_err(|error| format!("{shown}: {error}; {wrong}"))?;
    let parts: Vec<String> = url.path_segments().into_iter().flatten().map(str::to_string).collect();
    let users = parts.iter().position(|part| part == "users").filter(|at| *at > 0);
    let Some(users) = users.filter(|users| parts.get(users + 2).is_some_and(|part| part == "sessions"))
    else {
        return Err(format!("{shown}: {wrong}"));
    };
    if users == 1 || parts[users - 2] != "apps" {
        let mut with_apps = parts.clone();
        with_apps.insert(users - 1, "apps".into());
        url.set_path(&with_apps.join("/"));
    }
    Ok(url)
}

fn read_session(session: &Value) -> Result<StoredSession, String> {
    let text = |key: &str| session.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let raw = session.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
    let events = raw.iter().map(|event| read_event(event).map_err(|error| format!("an event: {error}")));
    let turns = invocations_of(&events.collect::<Result<Vec<_>, _>>()?);
    if turns.is_empty() {
        return Err("the session has no messages yet".into());
    }
    let last = session.get("state").and_then(Value::as_object).cloned().unwrap_or_default();
    let states: Vec<StateBefore> =
        (0..turns.len()).map(|turn| state_before(turn, &turns, &raw, &last)).collect();
    let state = states.first().map(|first| first.state.clone()).unwrap_or_default();
    let input =
        SessionInput { app_name: text("appName"), user_id: text("userId"), state, ..SessionInput::default() };
    Ok(StoredSession { input, turns, states })
}

/// What stands before the name of a value that lives for one invocation only.
const TEMPORARY: &str = "temp:";

/// The state before a turn: what was changed before it has the value of the last change, and what was never changed the
/// value at the end.
fn state_before(turn: usize, turns: &[Invocation], raw: &[Value], last: &Map<String, Value>) -> StateBefore {
    let mut before = StateBefore::default();
    let mut later: Vec<&String> = Vec::new();
    for event in raw {
        let invocation = event.get("invocationId").and_then(Value::as_str).unwrap_or_default();
        let of = turns.iter().position(|one| one.id == invocation).unwrap_or_default();
        let delta = event.get("actions").and_then(|actions| actions.get("stateDelta")?.as_object());
        for (key, value) in delta.into_iter().flatten().filter(|(key, _)| !key.starts_with(TEMPORARY)) {
            match of < turn {
                true => drop(before.state.insert(key.clone(), value.clone())),
                false => later.push(key),
            }
        }
    }
    for key in later {
        if !before.state.contains_key(key) && !before.unknown.contains(key) {
            before.unknown.push(key.clone());
        }
    }
    let never_changed = |key: &String| !before.unknown.contains(key) && !before.state.contains_key(key);
    let rest: Vec<(String, Value)> = last
        .iter()
        .filter(|(key, _)| never_changed(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    before.state.extend(rest);
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_are_read_in_either_form() {
        let url = |text: &str| session_url(text).map(|url| url.to_string());
        let whole = "http://h:1/apps/a/users/u/sessions/s".to_string();
        assert_eq!(url("adk+http://h:1/a/users/u/sessions/s"), Ok(whole.clone()));
        assert_eq!(url(&whole), Ok(whole.clone()));
        assert_eq!(url("http://h:1/p/apps/a/users/u/sessions/s").unwrap(), whole.replace(":1/", ":1/p/"));
        assert!(url("http://h:1/a").unwrap_err().contains("sessions/ID"));
        for wrong in ["adk+http://me:canary@h:wrong/a?key=canary", "http://me:canary@h/a?key=canary"] {
            let error = url(wrong).unwrap_err();
            assert!(error.contains("://…@h") && !error.contains("canary"), "{error}");
        }
    }

    #[test]
    fn the_state_is_the_one_it_began_with() {
        let said = |author: &str, text: &str| json!({"author": author, "invocationId": "e", "content": {"parts": [{"text": text}]}});
        let mut answer = said("home", "ho");
        answer["actions"] = json!({"stateDelta": {"count": 1}});
        let session = json!({"appName": "home", "userId": "u", "state": {"room": "x", "count": 1}, "events": [said("user", "hi"), answer]});
        let kept = read_session(&session).unwrap();
        assert_eq!(Value::Object(kept.input.state), json!({"room": "x"}));
        assert_eq!((&kept.states[0].unknown, kept.turns.len()), (&vec!["count".to_string()], 1));
        assert!(read_session(&json!({"events": []})).is_err());
    }

    /// The values that the turns before led to, each key once.
    #[test]
    fn the_state_before_a_turn_is_the_one_that_the_turns_before_led_to() {
        let event = |turn: &str, author: &str, delta: Value| json!({"author": author, "invocationId": turn, "content": {"parts": [{"text": "x"}]}, "actions": {"stateDelta": delta}});
        let session = json!({"appName": "a", "userId": "u", "state": {"room": "x", "held": 3, "late": true}, "events": [
            event("1", "user", json!({})), event("1", "a", json!({"held": 1, "temp:step": 1})),
            event("2", "user", json!({})), event("2", "a", json!({"held": 2})),
            event("3", "user", json!({})), event("3", "a", json!({"held": 3})), event("3", "a", json!({"held": 3, "late": true})),
        ]});
        let read = read_session(&session).unwrap();
        let before =
            |turn: usize| (Value::Object(read.states[turn].state.clone()), read.states[turn].unknown.clone());
        assert_eq!(before(0), (json!({"room": "x"}), vec!["held".to_string(), "late".to_string()]));
        assert_eq!(before(1), (json!({"held": 1, "room": "x"}), vec!["late".to_string()]));
        assert_eq!(before(2), (json!({"held": 2, "room": "x"}), vec!["late".to_string()]));
    }
}
