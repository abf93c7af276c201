//! What is secret in the specifications of agents, tools, metrics and judges.

use super::command_secrets::{command_without_secrets, secrets_in_command};
use super::header_secrets::{header_without_literals, is_secret_header};
use super::secret_address::{address_without_secrets, secrets_in_address};
use super::secret_name::is_secret_name;
use super::secret_value::{is_known_key, is_ordinary};
use super::{AgentServer, AgentSpec, CustomMetric, JudgeSpec, PlannedSet, ProgramSpec, ToolsSpec};

/// The environment variables with the addresses of proxies. They are also used in lower case.
const PROXIES: [&str; 3] = ["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"];

impl AgentSpec {
    /// The secret values that are sent to the agent, or given to its program: those in its headers, its address and its command
    /// lines, of the variables of its programs whose names say so, and of proxies. Words and short numbers are left out: what
    /// the agent says is scored without these values. `variable` returns the value of an environment variable.
    pub fn secret_values(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let mut values: Vec<String> = self
            .address()
            .into_iter()
            .flat_map(secrets_in_address)
            .collect();
        if let AgentSpec::Server(spec) = self {
            values.extend(spec.header_secrets(&variable));
        }
        values.extend(proxy_secrets(&variable));
        let programs = self.program().into_iter().chain(self.token_command());
        values.extend(programs.flat_map(|program| program.secret_values(&variable)));
        values.retain(|value| !is_ordinary(value));
        values
    }

    /// The specification as it is stored: without the secrets in its address, headers and command lines. Nothing else is
    /// left out, so that it tells agents apart, except those that differ only in a secret: the same agent may be reached
    /// with a renewed key, and the values of variables are not part of the specification either.
    pub fn without_secrets(&self) -> AgentSpec {
        let mut spec = self.clone();
        match &mut spec {
            AgentSpec::Adk {
                server: AgentServer::Url(url),
                ..
            } => *url = address_without_secrets(url),
            AgentSpec::Server(spec) => {
                if let AgentServer::Url(url) = &mut spec.server {
                    *url = address_without_secrets(url);
                }
                let secret = spec
                    .headers
                    .iter_mut()
                    .filter(|(name, value)| is_secret_header(name, value));
                secret.for_each(|(_, value)| *value = header_without_literals(value));
                if let Some(command) = &mut spec.token_command {
                    command.argv = command_without_secrets(&command.argv);
                }
            }
            AgentSpec::Adk {
                server: AgentServer::Start(_),
                ..
            }
            | AgentSpec::Command(_)
            | AgentSpec::Python { .. }
            | AgentSpec::Saved
            | AgentSpec::PriorAttempts
            | AgentSpec::Replay { .. } => {}
        }
        if let Some(program) = spec.program_mut() {
            program.argv = command_without_secrets(&program.argv);
        }
        spec
    }
}

impl ProgramSpec {
    /// The values of the named environment variables that are secret by their names or by their form, the secrets in the
    /// command line, and those of proxies. Words and short numbers are not.
    pub fn secret_values(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let named = self
            .env
            .iter()
            .filter_map(|name| Some((name, variable(name)?)));
        let secret = named.filter(|(name, value)| is_secret_name(name) || is_known_key(value));
        let mut values: Vec<String> = secret.map(|(_, value)| value).collect();
        values.extend(secrets_in_command(&self.argv));
        values.extend(proxy_secrets(&variable));
        values.retain(|value| !is_ordinary(value));
        values
    }
}

impl ToolsSpec {
    /// The specification as it is stored: without the secrets in the addresses of MCP servers.
    pub fn without_secrets(&self) -> ToolsSpec {
        let mut spec = self.clone();
        for url in spec
            .mcp
            .values_mut()
            .filter_map(|source| source.url.as_mut())
        {
            *url = address_without_secrets(url);
        }
        spec
    }

    /// The secret values in the addresses of MCP servers, except for words and short numbers.
    pub fn secret_values(&self) -> Vec<String> {
        let addresses = self.mcp.values().filter_map(|source| source.url.as_deref());
        addresses
            .flat_map(secrets_in_address)
            .filter(|value| !is_ordinary(value))
            .collect()
    }
}

impl CustomMetric {
    /// The metric as it is stored: without the secrets in its command line.
    fn without_secrets(&self) -> CustomMetric {
        let mut metric = self.clone();
        if let Some(program) = metric.program_mut() {
            program.program.argv = command_without_secrets(&program.program.argv);
        }
        metric
    }
}

impl PlannedSet {
    /// The set as it is stored: without the secrets in its agent, its tools and the programs of its metrics.
    pub fn without_secrets(&self) -> PlannedSet {
        let mut set = self.clone();
        set.agent = set.agent.without_secrets();
        set.tools = set.tools.without_secrets();
        for metric in set
            .criteria
            .iter_mut()
            .filter_map(|criterion| criterion.custom.as_mut())
        {
            *metric = metric.without_secrets();
        }
        set
    }
}

impl JudgeSpec {
    /// The specification as it is stored: without the secrets in the judge's address.
    pub fn without_secrets(&self) -> JudgeSpec {
        JudgeSpec {
            url: self.url.as_deref().map(address_without_secrets),
            ..self.clone()
        }
    }
}

/// The user and the password of the proxies that programs are given, and that requests pass.
fn proxy_secrets(variable: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let set = PROXIES
        .iter()
        .flat_map(|name| [variable(name), variable(&name.to_lowercase())])
        .flatten();
    let address = |proxy: String| {
        if proxy.contains("://") {
            proxy
        } else {
            format!("http://{proxy}")
        }
    };
    set.flat_map(|proxy| secrets_in_address(&address(proxy)))
        .collect()
}

/// An agent as the command line names it, by an address or a command, without the user, the password, and the values of
/// parameters and options that are secret. Settings after `#` stay: they name variables.
pub fn agent_without_secrets(asked: &str) -> String {
    let is_address = asked
        .split_once("://")
        .is_some_and(|(scheme, _)| !scheme.contains(char::is_whitespace));
    if is_address {
        return address_without_secrets(asked);
    }
    let words: Vec<String> = asked.split_whitespace().map(str::to_string).collect();
    let masked = command_without_secrets(&words);
    if masked == words {
        asked.to_string()
    } else {
        masked.join(" ")
    }
}

/// Whether an agent has the mark that [`agent_without_secrets`] puts in place of a secret. `…` at a word belongs to a text.
pub fn has_secret_mark(agent: &str) -> bool {
    let is_of_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    agent.match_indices('…').any(|(at, mark)| {
        let (before, after) = (&agent[..at], &agent[at + mark.len()..]);
        !is_of_word(before.chars().next_back()) && !is_of_word(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{REDACTED, Secrets};
    use serde_json::{Value, json};

    fn server(headers: &[(&str, &str)], url: &str) -> AgentSpec {
        let headers: serde_json::Map<String, Value> = headers
            .iter()
            .map(|(name, value)| (name.to_string(), json!(value)))
            .collect();
        let spec = json!({
            "kind": "server", "protocol": {"kind": "a2a"}, "server": {"url": url}, "headers": headers,
        });
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn secrets_are_found_in_agent_headers_and_url() {
        let agent = server(
            &[
                ("authorization", "Bearer {env.DESK}"),
                ("x-desk-key", "canary literal"),
                ("x-desk", "{env.DESK_PAT} at {env.REGION}"),
                ("x-parts", "key=canary-part;region=north-west"),
                ("x-random", "q7Xc2LmZ9tRb4VnK8pWs"),
                ("proxy-authorization", "Basic bWU6Y2FuYXJ5LWI="),
                ("accept", "application/json"),
                ("x-api-version", "2024-01-01"),
                ("x-unset", "before {env.UNSET}"),
            ],
            "http://me:canary%2Fp%3D1@host/x?key=canary-q&assistant=helpdesk",
        );
        let variable = |name: &str| match name {
            "DESK" => Some("canary-v".to_string()),
            "DESK_PAT" => Some("canary-pat".to_string()),
            "REGION" => Some("north-west".to_string()),
            _ => None,
        };
        let secrets = Secrets::new(agent.secret_values(variable));
        for text in [
            "canary-v",
            "canary literal",
            "canary-pat",
            "canary-part",
            "q7Xc2LmZ9tRb4VnK8pWs",
            "me:canary-b",
            "canary-b",
            "canary-q",
            "canary/p=1",
            "canary%2Fp%3D1",
        ] {
            assert_eq!(secrets.mask(text), REDACTED, "{text}");
        }
        for text in [
            "application/json",
            "2024-01-01",
            "helpdesk",
            "before ",
            "Bearer",
            "me",
            "north-west",
        ] {
            assert_eq!(secrets.mask(text), text);
        }
    }

    /// Otherwise the arguments of calls would be compared without them.
    #[test]
    fn ordinary_values_are_not_masked() {
        let headers = [
            ("x-customer-id", "100234"),
            ("x-env", "staging"),
            ("x-stage", "{env.STAGE}"),
            ("x-agent", "customer-support-v1"),
            ("x-request-key", "100234"),
            ("authorization", "Basic staging"),
        ];
        let url = "http://admin:staging@host/x?keyword=weather-report&author=someone&code=staging&key=100234";
        let variables = ["STAGE", "AUTH_PROVIDER", "MAX_TOKENS", "PRIMARY_KEY"];
        let mut agent = server(&headers, url);
        let AgentSpec::Server(spec) = &mut agent else {
            unreachable!()
        };
        let env = variables.map(String::from).to_vec();
        spec.token_command = Some(ProgramSpec {
            env,
            ..ProgramSpec::default()
        });
        let variable = |name: &str| {
            Some(match name {
                "STAGE" => "pre-production".to_string(),
                "AUTH_PROVIDER" => "google-workspace".to_string(),
                "MAX_TOKENS" => "100000".to_string(),
                _ => "customer".to_string(),
            })
        };
        let values = agent.secret_values(variable);
        assert_eq!(values, ["admin:staging", "Basic staging"], "{values:?}");
    }

    #[test]
    fn stored_agent_contains_no_secrets() {
        let headers = [
            ("x-desk-key", "canary"),
            ("authorization", "Bearer {env.PAT}"),
            ("accept", "text/plain"),
            ("x-parts", "key=canary;{env.REGION}"),
        ];
        let stored = server(&headers, "http://me:canary@host/x?key=canary&y=1").without_secrets();
        let same = [
            ("x-desk-key", REDACTED),
            ("authorization", "Bearer {env.PAT}"),
            ("accept", "text/plain"),
            ("x-parts", "[redacted]{env.REGION}"),
        ];
        assert_eq!(stored, server(&same, "http://…@host/x?key=…&y=1"));
        assert_eq!(
            stored.without_secrets(),
            stored,
            "a stored one stays as it is"
        );
        let argv = ["agent", "--api-key=canary", "--fast"]
            .map(String::from)
            .to_vec();
        let stored = AgentSpec::Command(ProgramSpec::new(argv, "/w".into())).without_secrets();
        assert_eq!(
            stored.program().unwrap().argv,
            ["agent", "--api-key=…", "--fast"]
        );
    }

    #[test]
    fn stored_metrics_and_judges_have_no_secrets() {
        let criterion = |key: &str| {
            let program = json!({
                "kind": "command", "argv": ["score", "--api-key", key, "--mode", "strict"], "cwd": "/w", "timeout_ms": 1000,
            });
            json!({"metric": "m", "custom": program})
        };
        let set = |key: &str| {
            let set = json!({
                "id": "s", "file": "s.json", "path": "s.json", "digest": "", "agent": {"kind": "saved"},
                "agent_name": "saved", "criteria": [criterion(key)],
            });
            serde_json::from_value::<PlannedSet>(set).unwrap()
        };
        assert_eq!(set("canary").without_secrets(), set("…"));
        let judge = |url: &str| JudgeSpec {
            url: Some(url.into()),
            ..JudgeSpec::standard()
        };
        let stored = judge("https://h/v1?key=canary&model=a").without_secrets();
        assert_eq!(stored, judge("https://h/v1?key=…&model=a"));
    }

    #[test]
    fn stored_form_distinguishes_agents() {
        let of_url = |url: &str| server(&[], url).without_secrets();
        assert_ne!(
            of_url("https://h/run?agent=customer-support-v1"),
            of_url("https://h/run?agent=customer-support-v2")
        );
        let of_header =
            |value: &str| server(&[("x-agent", value)], "https://h/run").without_secrets();
        assert_ne!(
            of_header("customer-support-v1"),
            of_header("customer-support-v2")
        );
        let of_command = |url: &str| {
            let argv = ["agent", url].map(String::from).to_vec();
            AgentSpec::Command(ProgramSpec::new(argv, "/w".into())).without_secrets()
        };
        assert_ne!(
            of_command("https://h/run?agent=v1"),
            of_command("https://h/run?agent=v2")
        );
        assert_eq!(
            of_url("https://h/run?key=abc"),
            of_url("https://h/run?key=def"),
            "a renewed key"
        );
    }

    #[test]
    fn agent_argument_is_shown_without_secrets() {
        for (asked, shown) in [
            (
                "a2a+http://me:canary@host/x?key=canary&y=1#token_env=K",
                "a2a+http://…@host/x?key=…&y=1#token_env=K",
            ),
            (
                "http+https://host/x?code=canary",
                "http+https://host/x?code=…",
            ),
            (
                "adk+http://127.0.0.1:8000/a@b",
                "adk+http://127.0.0.1:8000/a@b",
            ),
            (
                "cmd:./agent --api-key canary  --pwd=canary -n 1",
                "cmd:./agent --api-key … --pwd=… -n 1",
            ),
            (
                "cmd:./agent --key canary http://h/?a=1",
                "cmd:./agent --key … http://h/?a=1",
            ),
            ("cmd:./my  agent", "cmd:./my  agent"),
            ("replay:r.jsonl?speed=0", "replay:r.jsonl?speed=0"),
        ] {
            assert_eq!(agent_without_secrets(asked), shown);
        }
    }

    #[test]
    fn mark_of_a_secret_is_found_in_an_agent() {
        for asked in [
            "a2a+http://me:canary@host/x#token_env=K",
            "http+https://host/x?code=canary&y=1",
            "cmd:./agent --api-key canary -n 1",
            "cmd:./agent --pwd=canary",
        ] {
            assert!(!has_secret_mark(asked), "{asked}");
            assert!(has_secret_mark(&agent_without_secrets(asked)), "{asked}");
        }
        for asked in ["home", "cmd:./agent --greeting Hello…"] {
            assert!(!has_secret_mark(asked), "{asked}");
        }
    }

    #[test]
    fn program_secrets_include_env_argv_and_proxy() {
        let env = ["DESK_PAT", "MODEL", "SLASH_TOKEN"]
            .map(String::from)
            .to_vec();
        let argv = ["agent", "--api-key", "canary-key", "--mode", "strict"]
            .map(String::from)
            .to_vec();
        let program = ProgramSpec {
            env,
            argv,
            ..ProgramSpec::default()
        };
        let variable = |name: &str| match name {
            "https_proxy" => Some("http://me:canary-proxy@proxy:3128".to_string()),
            "HTTP_PROXY" => Some("canary-user@proxy:3128".to_string()),
            "SLASH_TOKEN" => Some("/canary+slash".to_string()),
            name if name.contains("PROXY") || name.contains("proxy") => None,
            name => Some(format!("value of {name}")),
        };
        let mut values = program.secret_values(variable);
        values.sort();
        values.dedup();
        let expected = [
            "/canary+slash",
            "canary-key",
            "canary-proxy",
            "canary-user",
            "me:canary-proxy",
            "value of DESK_PAT",
        ];
        assert_eq!(values, expected);
        let agent = AgentSpec::Command(program);
        assert!(
            !agent.label().contains("canary")
                && agent.secret_values(variable).contains(&"canary-key".into())
        );
    }
}
