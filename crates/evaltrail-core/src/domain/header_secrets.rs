//! Secrets in the headers that are sent to an agent.

use super::ServerSpec;
use super::protocol::{VARIABLE, variables_in, with_variables};
use super::secret_name::is_secret_name;
use super::secret_value::{
    after_scheme, is_known_key, is_plain, is_scheme, is_token_like, looks_random,
};
use super::secrets::REDACTED;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

impl ServerSpec {
    /// The values of headers that are secret, and of the variables in headers, except for those that are clearly no secrets.
    pub(super) fn header_secrets(&self, variable: &impl Fn(&str) -> Option<String>) -> Vec<String> {
        let mut values = Vec::new();
        for (name, written) in &self.headers {
            // A header with a variable that is not set is not sent.
            let Ok(value) = with_variables(written, variable) else {
                continue;
            };
            let is_secret = is_secret_header(name, &value);
            values.extend(parts(written).flat_map(|part| variables_of(part, is_secret, variable)));
            if is_secret {
                values.extend(secrets_in_header(name, &value));
            }
        }
        values
    }
}

/// The values of the variables in a part of a header that are secret.
fn variables_of(
    part: &str,
    is_secret_header: bool,
    variable: &impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let of_part = named(part).map(|(name, _)| name);
    let is_secret = |name: &str, value: &str| match of_part {
        _ if is_secret_name(name) => true,
        Some(of_part) => is_secret_name(of_part) || is_token_like(value),
        None => is_secret_header || !is_plain(value),
    };
    let values = variables_in(part).filter_map(|name| Some((name, variable(name)?)));
    values
        .filter(|(name, value)| is_secret(name, value))
        .map(|(_, value)| value)
        .collect()
}

/// Whether the value of a header is secret: by the header's name, by its scheme of authentication or form, or by the name
/// of a part of it.
pub(super) fn is_secret_header(name: &str, value: &str) -> bool {
    let is_secret_part = |part: &str| named(part).is_some_and(|(name, _)| is_secret_name(name));
    is_secret_name(name)
        || after_scheme(value).is_some()
        || is_known_key(value)
        || looks_random(value)
        || parts(value).any(is_secret_part)
}

/// The secret values in the value of a header that is secret. If its name says so, what follows its first word may be the
/// secret, after a scheme that is not known, and so may be each of its parts. Cookies have other parts, too.
fn secrets_in_header(name: &str, value: &str) -> Vec<String> {
    let mut values = vec![value.to_string()];
    let (is_by_name, is_cookie) = (is_secret_name(name), name.eq_ignore_ascii_case("cookie"));
    let after_word = || {
        value
            .trim()
            .split_once(char::is_whitespace)
            .map(|(_, rest)| rest)
    };
    let scheme = after_scheme(value);
    if let Some(rest) = scheme.or_else(|| after_word().filter(|_| is_by_name)) {
        values.push(rest.trim().to_string());
        values.extend(user_and_password(rest.trim()));
    }
    let is_whole = !is_cookie && (is_by_name || scheme.is_some());
    let is_secret = |(name, value): &(&str, &str)| {
        is_whole || is_secret_name(name) || is_known_key(value) || (is_by_name && !is_plain(value))
    };
    values.extend(
        parts(value)
            .filter_map(named)
            .filter(is_secret)
            .map(|(_, value)| value.to_string()),
    );
    values
}

/// The parts of the value of a header: of cookies, of lists, of parameters.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    value
        .split([';', ',', '&', ' '])
        .filter(|part| !part.is_empty())
}

/// The name and the value, without quotes, of a part `NAME=VALUE`. The padding of Base64 is no value.
fn named(part: &str) -> Option<(&str, &str)> {
    let (name, value) = part.split_once('=')?;
    let value = value.trim_matches('"');
    let is_padding = value.bytes().all(|byte| byte == b'=');
    (!is_padding && !name.contains(VARIABLE)).then_some((name.trim_start_matches('"'), value))
}

/// The value of a header as it is stored: the names of variables and the scheme of authentication.
pub(super) fn header_without_literals(value: &str) -> String {
    let literal = |text: &str| match text.trim().is_empty() || is_scheme(text) {
        true => text.to_string(),
        false => REDACTED.to_string(),
    };
    let mut pieces = value.split(VARIABLE);
    let mut stored = literal(pieces.next().unwrap_or_default());
    for piece in pieces {
        match piece.split_once('}') {
            Some((name, rest)) => stored.push_str(&format!("{VARIABLE}{name}}}{}", literal(rest))),
            None => stored.push_str(REDACTED),
        }
    }
    stored
}

/// The user with the password, and the password, of the value of basic authentication.
fn user_and_password(encoded: &str) -> Vec<String> {
    let decoded = BASE64_STANDARD
        .decode(encoded)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(both) = decoded else {
        return Vec::new();
    };
    let password = both
        .split_once(':')
        .map(|(_, password)| password.to_string());
    password.into_iter().chain([both]).collect()
}

#[cfg(test)]
mod tests {
    use crate::domain::{AgentSpec, REDACTED, Secrets};
    use serde_json::json;

    fn secrets(headers: serde_json::Value, variables: &[(&str, &str)]) -> Secrets {
        let agent: AgentSpec = serde_json::from_value(json!({
            "kind": "server", "protocol": {"kind": "a2a"}, "server": {"url": "http://h/x"}, "headers": headers,
        }))
        .unwrap();
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.to_string())
        };
        Secrets::new(agent.secret_values(variable))
    }

    #[test]
    fn header_variable_is_secret_unless_plain() {
        let headers =
            json!({"x-desk": "{env.DESK}", "x-place": "{env.PLACE}", "x-unit": "unit {env.UNIT}"});
        let hexadecimal = "3f9a8b7c6d5e4f3a";
        let found = secrets(
            headers,
            &[
                ("DESK", hexadecimal),
                ("PLACE", "eu-west-1"),
                ("UNIT", "hunter2"),
            ],
        );
        assert_eq!(found.mask(hexadecimal), REDACTED);
        assert_eq!(found.mask("hunter2"), REDACTED);
        assert_eq!(found.mask("eu-west-1"), "eu-west-1");
        let found = secrets(
            json!({"x-desk": "{env.DESK_CRED}"}),
            &[("DESK_CRED", "north-west-2")],
        );
        assert_eq!(found.mask("north-west-2"), REDACTED, "by its name");
    }

    #[test]
    fn only_secret_parts_of_a_cookie_are_masked() {
        let headers = json!({"cookie": "region={env.REGION}; sid={env.SID}; trace={env.TRACE}; zone=us-central1"});
        let variables = [
            ("REGION", "eu-west-1a"),
            ("SID", "north-west"),
            ("TRACE", "3f9a8b7c6d5e4f3a2b"),
        ];
        let found = secrets(headers, &variables);
        assert_eq!(
            found.mask("north-west and 3f9a8b7c6d5e4f3a2b"),
            "[redacted] and [redacted]"
        );
        assert_eq!(
            found.mask("eu-west-1a us-central1"),
            "eu-west-1a us-central1"
        );
    }

    #[test]
    fn secret_parts_of_auth_headers_are_masked() {
        let headers = json!({
            "authorization": "Digest username=\"desk\", response=\"canary-response-12\"",
            "x-api-key": "v2 canary-after 77",
            "cookie": "theme=q8f3k2-canary; zone=eu-west-1",
            "x-auth": "Custom Y2FuYXJ5LXBhZGRlZC0xMjM=",
        });
        let found = secrets(headers, &[]);
        for text in [
            "canary-response-12",
            "canary-after 77",
            "q8f3k2-canary",
            "Y2FuYXJ5LXBhZGRlZC0xMjM=",
        ] {
            assert_eq!(found.mask(text), REDACTED, "{text}");
        }
        assert_eq!(found.mask("eu-west-1 desk"), "eu-west-1 desk");
    }
}
