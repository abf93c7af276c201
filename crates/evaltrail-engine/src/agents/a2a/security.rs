//! The authentication that an agent's card asks for.

use serde_json::Value;

/// What a client must send, in words: the alternatives of the card, each with all of its schemes. `None` if the card asks
/// for nothing.
pub(super) fn authentication(card: &Value) -> Option<String> {
    let alternatives: Vec<Vec<String>> = requirements(card)
        .iter()
        .map(|names| {
            names
                .iter()
                .map(|name| scheme_text(name, &card["securitySchemes"][name]))
                .collect()
        })
        .collect();
    // An alternative without schemes means that authentication is optional.
    if alternatives.is_empty() || alternatives.iter().any(Vec::is_empty) {
        return None;
    }
    let words: Vec<String> = alternatives
        .iter()
        .map(|schemes| schemes.join(" and "))
        .collect();
    Some(words.join(", or "))
}

/// The names of the schemes of each alternative: `security` of version 0.3, `securityRequirements` of 1.0.
fn requirements(card: &Value) -> Vec<Vec<String>> {
    let list = |key: &str| card[key].as_array().cloned().unwrap_or_default();
    let names = |schemes: &Value| {
        schemes
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect()
    };
    let new = list("securityRequirements");
    match new.is_empty() {
        true => list("security").iter().map(names).collect(),
        false => new.iter().map(|one| names(&one["schemes"])).collect(),
    }
}

/// A scheme of either version.
fn scheme_text(name: &str, scheme: &Value) -> String {
    let of = |new: &str, old: &str| {
        scheme
            .get(new)
            .or_else(|| (scheme["type"] == old).then_some(scheme))
            .filter(|scheme| scheme.is_object())
    };
    if let Some(http) = of("httpAuthSecurityScheme", "http") {
        return match http["scheme"]
            .as_str()
            .unwrap_or_default()
            .to_lowercase()
            .as_str()
        {
            "bearer" => "a bearer token (token_command, or #token_env=NAME)".into(),
            other => format!("HTTP authentication {other:?} (headers.authorization)"),
        };
    }
    if let Some(key) = of("apiKeySecurityScheme", "apiKey") {
        let location = key["location"]
            .as_str()
            .or(key["in"].as_str())
            .unwrap_or("header");
        let key = key["name"].as_str().unwrap_or_default();
        return match location {
            "header" => format!("an API key in the header {key:?} (headers)"),
            _ => format!("an API key as the {location} parameter {key:?}"),
        };
    }
    if of("oauth2SecurityScheme", "oauth2").is_some()
        || of("openIdConnectSecurityScheme", "openIdConnect").is_some()
    {
        return "an OAuth token (token_command, or #token_env=NAME)".into();
    }
    if of("mtlsSecurityScheme", "mutualTLS").is_some() {
        return "a client certificate, which evaltrail cannot send".into();
    }
    format!("the scheme {name:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_versions_name_their_schemes() {
        let old = json!({
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "token": {"type": "http", "scheme": "Bearer"},
            },
            "security": [{"key": []}, {"token": []}],
        });
        let new = json!({
            "securitySchemes": {
                "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
                "token": {"httpAuthSecurityScheme": {"scheme": "bearer"}},
            },
            "securityRequirements": [{"schemes": {"key": {"list": []}}}, {"schemes": {"token": {"list": []}}}],
        });
        let words = "an API key in the header \"X-Key\" (headers), or a bearer token (token_command, or #token_env=NAME)";
        assert_eq!(authentication(&old).as_deref(), Some(words));
        assert_eq!(authentication(&new).as_deref(), Some(words));
    }

    #[test]
    fn optional_or_absent_authentication_is_none() {
        let schemes = json!({"t": {"type": "http", "scheme": "bearer"}});
        assert_eq!(authentication(&json!({"securitySchemes": schemes})), None);
        assert_eq!(
            authentication(&json!({"securitySchemes": schemes, "security": [{}, {"t": []}]})),
            None
        );
        assert_eq!(
            authentication(&json!({"security": [{"unknown": []}]})).as_deref(),
            Some("the scheme \"unknown\"")
        );
    }
}
