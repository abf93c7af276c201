//! What an agent is called on the command line and in the file, and what that means.

use crate::domain::{AdkServer, AgentSpec, ProgramSpec};
use std::path::Path;

/// Why words do not name an agent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct AgentSpecError(pub String);

/// Reads `adk+http://host:port/app`, `cmd:./agent.sh --flag`, `replay:recording.jsonl`.
/// `None` when the text is no URI but a name. `base` is what relative paths are relative to.
pub fn parse_agent_uri(text: &str, base: &Path) -> Option<Result<AgentSpec, AgentSpecError>> {
    if let Some(url) = text.strip_prefix("adk+") {
        return Some(adk_url(url));
    }
    if let Some(command) = text.strip_prefix("cmd:") {
        return Some(
            split_command(command).map(|argv| AgentSpec::Command(ProgramSpec::new(argv, base.to_path_buf()))),
        );
    }
    if let Some(path) = text.strip_prefix("replay:") {
        let (path, speed) = match path.split_once("?speed=") {
            None => (path, Ok(100)),
            Some((path, speed)) => (path, speed.parse()),
        };
        let speed = speed.map_err(|_| {
            AgentSpecError(
                "the speed is a whole number in percent: 100 plays as recorded, 0 without waiting".into(),
            )
        });
        return Some(speed.map(|speed| AgentSpec::Replay { path: base.join(path), speed, fallback: None }));
    }
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.map(|scheme| {
        Err(AgentSpecError(format!(
            "{scheme}:// is not a way to reach an agent; try adk+{text}/APP, cmd:./program or replay:recording.jsonl"
        )))
    })
}

/// The server's address and, as the last part of the path, the application.
fn adk_url(text: &str) -> Result<AgentSpec, AgentSpecError> {
    let wrong = |why: &str| AgentSpecError(format!("adk+{text}: {why}; write adk+http://HOST:PORT/APP"));
    let mut url = url::Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("the address must begin with http:// or https://"));
    }
    let mut parts: Vec<String> = url.path_segments().into_iter().flatten().map(str::to_string).collect();
    parts.retain(|part| !part.is_empty());
    let app = parts.pop().ok_or_else(|| wrong("the application is missing"))?;
    url.set_path(&parts.join("/"));
    let server = AdkServer::Url(url.to_string().trim_end_matches('/').to_string());
    Ok(AgentSpec::Adk { server, app })
}

/// Splits a command into program and arguments: quotes group, a backslash takes the next character
/// as it is. Nothing is expanded: it is never a shell's text.
pub fn split_command(text: &str) -> Result<Vec<String>, AgentSpecError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(AgentSpecError(format!("a quote is not closed in the command {text:?}")));
    }
    words.extend(word);
    if words.is_empty() {
        return Err(AgentSpecError("the command is empty".into()));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_agents() {
        let base = Path::new("/w");
        let read = |text: &str| parse_agent_uri(text, base).unwrap();
        let server = AdkServer::Url("http://127.0.0.1:8000".into());
        assert_eq!(read("adk+http://127.0.0.1:8000/home"), Ok(AgentSpec::Adk { server, app: "home".into() }));
        let server = AdkServer::Url("https://x/prefix".into());
        assert_eq!(read("adk+https://x/prefix/home/"), Ok(AgentSpec::Adk { server, app: "home".into() }));
        assert_eq!(
            read("replay:r.jsonl?speed=0"),
            Ok(AgentSpec::Replay { path: "/w/r.jsonl".into(), speed: 0, fallback: None })
        );
        assert!(read("adk+http://x").unwrap_err().0.contains("application is missing"));
        assert!(read("http://x/y").unwrap_err().0.contains("try adk+http://x/y/APP"));
        assert!(parse_agent_uri("home", base).is_none());
    }

    #[test]
    fn commands_are_split_and_not_expanded() {
        let split = |text| split_command(text).unwrap();
        assert_eq!(split("a 'b c' \"d\\\"e\" f\\ g $HOME"), ["a", "b c", "d\"e", "f g", "$HOME"]);
        assert_eq!(split("a ''"), ["a", ""]);
        assert!(split_command("a 'b").is_err() && split_command("  ").is_err());
    }
}
