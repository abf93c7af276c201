//! The card of an agent, and which of its interfaces is used (as the a2a-sdk for Python chooses).

use super::request::A2aVersion;
use super::security::authentication;
use crate::agents::remote::{Remote, error_text};
use crate::agents::{AgentDescription, AgentError, DeclaredTool, ErrorKind};
use evaltrail_core::domain::A2aBinding;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;
use url::Url;

/// Paths of an agent's card on its server: the one since version 0.3, and the earlier one.
const PATHS: [&str; 2] = [".well-known/agent-card.json", ".well-known/agent.json"];

/// An agent's card, of any version.
pub(super) struct Card(Value);

/// An interface of the agent.
#[derive(Debug, PartialEq)]
pub(super) struct Interface {
    pub(super) url: Url,
    pub(super) protocol: A2aVersion,
}

impl Card {
    /// Reads the card of the agent at an address. The address is that of the agent, or that of the card itself.
    pub(super) async fn fetch(remote: &Remote) -> Result<Card, AgentError> {
        let base = remote.base().clone();
        let addresses = match base.path().ends_with(".json") {
            true => vec![base],
            false => PATHS.iter().map(|path| card_address(&base, path)).collect(),
        };
        let mut refused = None;
        for address in addresses {
            let (status, text) = remote
                .call(Method::GET, address.clone(), None, &HeaderMap::new())
                .await?;
            if status.is_success() {
                let card = remote.parsed(&text)?;
                return match card.is_object() {
                    true => Ok(Card(card)),
                    false => Err(remote.error(
                        ErrorKind::Setup,
                        format!(
                            "{} is not an agent's card; {}",
                            address.path(),
                            remote.init_command()
                        ),
                    )),
                };
            }
            refused.get_or_insert((address, error_text(status, &text)));
        }
        let (address, words) = refused.unwrap_or((remote.base().clone(), String::new()));
        let why = format!(
            "there is no agent's card at {}: {words}; {}",
            address.path(),
            remote.init_command()
        );
        Err(remote.error(ErrorKind::Setup, why))
    }

    /// What the card says about the agent. ADK lists tools as skills, as `AGENT-TOOL`.
    pub(super) fn describe(&self) -> AgentDescription {
        let text = |key: &str| {
            self.0[key]
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_string)
        };
        let about = [
            ("name", text("name")),
            ("version", text("version")),
            ("about", text("description")),
        ];
        let about = about
            .into_iter()
            .filter_map(|(key, words)| Some((key, words?)))
            .collect();
        let has_tag = |skill: &Value, tag: &str| {
            skill["tags"]
                .as_array()
                .is_some_and(|tags| tags.iter().any(|one| one == tag))
        };
        let skills = self.0["skills"].as_array().into_iter().flatten();
        let tools = skills
            .filter(|skill| has_tag(skill, "tools"))
            .filter_map(|skill| {
                let id = skill["id"].as_str()?;
                Some(DeclaredTool {
                    name: id.rsplit('-').next().unwrap_or(id).to_string(),
                    description: skill["description"].as_str().unwrap_or_default().into(),
                    arguments: Vec::new(),
                    schema: None,
                })
            });
        AgentDescription {
            was_asked: true,
            about,
            tools: tools.collect(),
            app_info: Value::Null,
        }
    }

    pub(super) fn authentication(&self) -> Option<String> {
        authentication(&self.0)
    }

    /// Whether the agent streams.
    pub(super) fn streams(&self) -> bool {
        self.0["capabilities"]["streaming"]
            .as_bool()
            .unwrap_or(false)
    }

    /// The interface to use: the first one with a binding that evaltrail speaks, in its latest version. Errors: the card lists none.
    pub(super) fn interface(
        &self,
        binding: Option<A2aBinding>,
        base: &Url,
    ) -> Result<Interface, String> {
        let listed = self.listed();
        let usable = |(url, name, version): &(String, String, String)| {
            let binding_of =
                binding_named(name).filter(|one| binding.is_none_or(|asked| asked == *one))?;
            Some((url.clone(), binding_of, version_of(version)?))
        };
        let usable: Vec<(String, A2aBinding, (u32, u32))> =
            listed.iter().filter_map(usable).collect();
        let Some((_, first, _)) = usable.first().cloned() else {
            let names: Vec<&str> = listed.iter().map(|(_, name, _)| name.as_str()).collect();
            return Err(format!(
                "the agent's card lists no interface that evaltrail speaks (JSONRPC or HTTP+JSON, version 0.3 or \
                 later); it lists: {}",
                if names.is_empty() {
                    "none".into()
                } else {
                    names.join(", ")
                }
            ));
        };
        let rank = |version: &(u32, u32)| match version {
            (1, 0) => (2, *version),
            (major, _) if *major >= 1 => (1, *version),
            _ => (0, *version),
        };
        let of_first = usable
            .into_iter()
            .filter(|(_, binding, _)| *binding == first);
        // Of equal versions, the first one.
        let best = of_first.rev().max_by_key(|(_, _, version)| rank(version));
        let Some((address, binding, version)) = best else {
            return Err("the agent's card is empty".into());
        };
        let url = Url::parse(&address).or_else(|_| base.join(&address));
        let url = url
            .map_err(|error| format!("the agent's card names the address {address:?}: {error}"))?;
        Ok(Interface {
            url: reachable(url, base)?,
            protocol: A2aVersion {
                is_latest: version.0 >= 1,
                binding,
            },
        })
    }

    /// Addresses, bindings and versions, as the card lists them.
    fn listed(&self) -> Vec<(String, String, String)> {
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
        let list = |key: &str| self.0[key].as_array().cloned().unwrap_or_default();
        let new = list("supportedInterfaces");
        if !new.is_empty() {
            let of = |one: &Value| {
                (
                    text(one, "url"),
                    text(one, "protocolBinding"),
                    text(one, "protocolVersion"),
                )
            };
            return new.iter().map(of).collect();
        }
        let version = match text(&self.0, "protocolVersion") {
            version if version.is_empty() => "0.3".to_string(),
            version => version,
        };
        let main = match text(&self.0, "preferredTransport") {
            name if name.is_empty() => "JSONRPC".to_string(),
            name => name,
        };
        let url = text(&self.0, "url");
        let first = (!url.is_empty()).then(|| (url, main, version.clone()));
        let more = list("additionalInterfaces");
        let more = more
            .iter()
            .map(|one| (text(one, "url"), text(one, "transport"), version.clone()));
        first.into_iter().chain(more).collect()
    }
}

/// The address of the card, beside the agent's own. The agent's query is kept: LangGraph's names the assistant in it.
fn card_address(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.pop_if_empty().extend(path.split('/'));
    }
    url
}

fn binding_named(name: &str) -> Option<A2aBinding> {
    match name.to_uppercase().as_str() {
        "JSONRPC" => Some(A2aBinding::JsonRpc),
        "HTTP+JSON" => Some(A2aBinding::HttpJson),
        _ => None,
    }
}

/// Major and minor version; `None` before 0.3.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|part| part.parse().unwrap_or(0));
    let version = (numbers.next()?, numbers.next().unwrap_or(0));
    let version = if text.is_empty() { (1, 0) } else { version };
    (version >= (0, 3)).then_some(version)
}

/// The card's address, with the origin from which the card came if the card names this machine, or the same host over
/// another scheme: cards often contain the address to which a server is bound, or that behind its proxy. Errors: the card
/// names another server, to which nobody has allowed the cases to be sent.
fn reachable(mut url: Url, base: &Url) -> Result<Url, String> {
    if url.origin() == base.origin() {
        return Ok(url);
    }
    let is_local =
        crate::net::http::is_loopback(&url) || matches!(url.host_str(), Some("0.0.0.0" | "[::]"));
    if !is_local && url.host_str() != base.host_str() {
        return Err(format!(
            "the agent's card names another server, {}: give that address if the cases may be sent there",
            url.origin().ascii_serialization()
        ));
    }
    let _ = url.set_scheme(base.scheme());
    let _ = url.set_host(base.host_str());
    let _ = url.set_port(base.port());
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chosen(
        card: Value,
        binding: Option<A2aBinding>,
    ) -> Result<(String, bool, A2aBinding), String> {
        let base = Url::parse("http://127.0.0.1:7101/").unwrap();
        let found = Card(card).interface(binding, &base)?;
        Ok((
            found.url.to_string(),
            found.protocol.is_latest,
            found.protocol.binding,
        ))
    }

    #[test]
    fn first_binding_in_latest_version_is_selected() {
        let one = |url: &str, binding: &str, version: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": version});
        let card = json!({"supportedInterfaces": [
            one("http://127.0.0.1:7101/grpc", "GRPC", "1.0"),
            one("http://127.0.0.1:7101/old", "JSONRPC", "0.3"),
            one("http://127.0.0.1:7101/rest", "HTTP+JSON", "1.0"),
            one("http://127.0.0.1:7101/new", "JSONRPC", "1.0.2"),
        ]});
        let rpc = A2aBinding::JsonRpc;
        assert_eq!(
            chosen(card.clone(), None),
            Ok(("http://127.0.0.1:7101/new".into(), true, rpc))
        );
        let rest = A2aBinding::HttpJson;
        assert_eq!(
            chosen(card, Some(rest)),
            Ok(("http://127.0.0.1:7101/rest".into(), true, rest))
        );
        assert!(
            chosen(
                json!({"supportedInterfaces": [one("u", "GRPC", "1.0")]}),
                None
            )
            .unwrap_err()
            .contains("GRPC")
        );
    }

    #[test]
    fn interface_is_read_from_version_0_3_card() {
        let card = json!({"url": "http://0.0.0.0:9/agent", "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC",
            "additionalInterfaces": [{"url": "http://127.0.0.1:7101/rest", "transport": "HTTP+JSON"}]});
        let rpc = A2aBinding::JsonRpc;
        assert_eq!(
            chosen(card.clone(), None),
            Ok(("http://127.0.0.1:7101/agent".into(), false, rpc))
        );
        let rest = A2aBinding::HttpJson;
        assert_eq!(
            chosen(card, Some(rest)),
            Ok(("http://127.0.0.1:7101/rest".into(), false, rest))
        );
        let elsewhere = json!({"url": "https://agent.example/a", "protocolVersion": "0.3.0"});
        assert!(
            chosen(elsewhere.clone(), None)
                .unwrap_err()
                .contains("another server, https://agent.example")
        );
        let base = Url::parse("https://agent.example/").unwrap();
        let in_clear = json!({"url": "http://agent.example:80/a", "protocolVersion": "0.3.0"});
        for card in [elsewhere, in_clear] {
            assert_eq!(
                Card(card).interface(None, &base).unwrap().url.as_str(),
                "https://agent.example/a"
            );
        }
    }
}
