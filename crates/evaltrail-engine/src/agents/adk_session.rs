//! Reads a session that is stored on an ADK server as a conversation.

use super::memory_limit::parse_answer;
use super::{AgentError, ErrorKind};
use crate::net::http::{self, cause, chain, client};
use evaltrail_core::domain::{Secrets, address_without_secrets, secrets_in_address};
use evaltrail_core::formats::{StoredSession, read_session};
use serde_json::Value;
use std::time::Duration;
use url::Url;

const SHORT_CALL: Duration = Duration::from_secs(30);
/// The maximum size of a session, in bytes.
const MAX_SESSION: usize = 32 << 20;

/// Reads a session by its address: `http://host:port/apps/APP/users/USER/sessions/ID`; `apps` may be left out.
pub async fn fetch_session(address: &str) -> Result<StoredSession, AgentError> {
    let secrets = Secrets::new(secrets_in_address(
        address.strip_prefix("adk+").unwrap_or(address),
    ));
    let setup = |why: String| AgentError::new(ErrorKind::Setup, secrets.mask(&why));
    let url = session_url(address).map_err(setup)?;
    let client = client(&url).map_err(setup)?;
    let broken = |error: reqwest::Error| {
        AgentError::new(
            ErrorKind::Unavailable,
            format!("cannot read the session: {}", chain(cause(&error))),
        )
    };
    let response = client
        .get(url)
        .timeout(SHORT_CALL)
        .send()
        .await
        .map_err(broken)?;
    let status = response.status();
    let text = http::text(response, MAX_SESSION).await.map_err(|_| {
        AgentError::new(
            ErrorKind::Protocol,
            "the session is incomplete or longer than 32 MB",
        )
    })?;
    if !status.is_success() {
        let words: String = secrets.mask(&text).chars().take(200).collect();
        return Err(AgentError::new(
            ErrorKind::Protocol,
            format!("no session: the server answered {status}: {words}"),
        ));
    }
    let mut session = parse_answer(&text)
        .map_err(|error| AgentError::new(ErrorKind::Protocol, error.to_string()))?;
    secrets.mask_foreign(&mut session);
    with_turns(&session).map_err(|why| AgentError::new(ErrorKind::Protocol, why))
}

fn session_url(address: &str) -> Result<Url, String> {
    let wrong = "write http://HOST:PORT/apps/APP/users/USER/sessions/ID";
    // An address that cannot be parsed may have a password as well.
    let shown = address_without_secrets(address);
    let mut url = Url::parse(address.strip_prefix("adk+").unwrap_or(address))
        .map_err(|error| format!("{shown}: {error}; {wrong}"))?;
    let parts: Vec<String> = url
        .path_segments()
        .into_iter()
        .flatten()
        .map(str::to_string)
        .collect();
    let users = parts
        .iter()
        .position(|part| part == "users")
        .filter(|at| *at > 0);
    let Some(users) =
        users.filter(|users| parts.get(users + 2).is_some_and(|part| part == "sessions"))
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

fn with_turns(session: &Value) -> Result<StoredSession, String> {
    let found = read_session(session).map_err(|error| error.to_string())?;
    found
        .filter(|session| !session.turns.is_empty())
        .ok_or_else(|| "the session has no messages yet".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_are_read_in_either_form() {
        let url = |text: &str| session_url(text).map(|url| url.to_string());
        let whole = "http://h:1/apps/a/users/u/sessions/s".to_string();
        assert_eq!(
            url("adk+http://h:1/a/users/u/sessions/s"),
            Ok(whole.clone())
        );
        assert_eq!(url(&whole), Ok(whole.clone()));
        assert_eq!(
            url("http://h:1/p/apps/a/users/u/sessions/s").unwrap(),
            whole.replace(":1/", ":1/p/")
        );
        assert!(url("http://h:1/a").unwrap_err().contains("sessions/ID"));
        for wrong in [
            "adk+http://me:canary@h:wrong/a?key=canary",
            "http://me:canary@h/a?key=canary",
        ] {
            let error = url(wrong).unwrap_err();
            assert!(
                error.contains("://…@h") && !error.contains("canary"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_state_is_the_one_it_began_with() {
        let said = |author: &str, text: &str| json!({"author": author, "invocationId": "e", "content": {"parts": [{"text": text}]}});
        let mut answer = said("home", "ho");
        answer["actions"] = json!({"stateDelta": {"count": 1}});
        let session = json!({"appName": "home", "userId": "u", "state": {"room": "x", "count": 1}, "events": [said("user", "hi"), answer]});
        let kept = with_turns(&session).unwrap();
        assert_eq!(Value::Object(kept.input.state), json!({"room": "x"}));
        assert_eq!(
            (&kept.states[0].unknown, kept.turns.len()),
            (&vec!["count".to_string()], 1)
        );
        assert!(with_turns(&json!({"appName": "home", "events": []})).is_err());
    }
}
