//! Templates of `http` agents for endpoints of well-known libraries.

/// The templates by name, as keys of `[agents.NAME]`.
const PRESETS: &[(&str, &str)] = &[("mastra", MASTRA), ("vercel-ai", VERCEL_AI)];

/// The stream of an agent of Mastra, versions 0.24 to 1.71: `POST /api/agents/ID/stream` of its server, or the chunks of
/// `fullStream` as server-sent events.
const MASTRA: &str = r#"
body = { messages = "{messages}" }
finish = "$..[?($.type=='finish' && @ == $.payload.stepResult.reason) || ($.type=='tripwire' && @ == $.payload.reason) || (($.type=='tool-call-approval' || $.type=='tool-call-suspended' || $.type=='abort') && @ == $.type)]"
usage = "$.payload.output[?$.type=='step-finish' && @.inputTokens]"
error = "$.payload.error[?$.type=='error' && @ == $.payload.error.message]"

[stream]
event = "text-delta"
text = "$.payload.text"
id = "$.payload.id"
thought = "$.payload[?$.type=='reasoning-delta' && @ == $.payload.text]"
step = "$[?$.type=='step-start' && @ == $.type]"

[calls]
path = "$"
name = "$.payload[?$.type=='tool-call' && @ == $.payload.toolName]"
args = "$.payload.args"
id = "$.payload.toolCallId"

[results]
path = "$"
id = "$.payload.toolCallId"
response = "$.payload[?($.type=='tool-result' && @ == $.payload.result) || ($.type=='tool-error' && @ == $.payload.error)]"
"#;

/// The stream of messages of Vercel's AI SDK, versions 5 to 7 (`toUIMessageStreamResponse`).
const VERCEL_AI: &str = r#"
body = { id = "{session_id}", messages = "{ui_messages}", trigger = "submit-message" }
error = "$[?$.type=='error' && @ != 'error']"
finish = "$[?($.type=='finish' && @ == $.finishReason) || (($.type=='abort' || $.type=='tool-approval-request') && @ == $.type)]"
usage = "$.messageMetadata[?@.inputTokens]"

[stream]
event = "text-delta"
text = "$.delta"
id = "$.id"
thought = "$[?$.type=='reasoning-delta' && @ == $.delta]"
step = "$[?$.type=='start-step' && @ == $.type]"

[calls]
path = "$"
name = "$[?($.type=='tool-input-available' || $.type=='tool-input-error') && @ == $.toolName]"
args = "$.input"
id = "$.toolCallId"

[results]
path = "$"
id = "$.toolCallId"
response = "$[?($.type=='tool-output-available' && @ == $.output) || (($.type=='tool-output-error' || $.type=='tool-input-error') && @ == $.errorText) || ($.type=='tool-output-denied' && @ == $.type)]"
"#;

/// Adds the keys of the preset that a table names. Its own keys come first. The error is a message.
pub(super) fn with_preset(mut table: toml::Table) -> Result<toml::Table, String> {
    let Some(named) = table.remove("preset") else {
        return Ok(table);
    };
    let known = || {
        PRESETS
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let name = named.as_str().unwrap_or_default();
    let preset = PRESETS.iter().find(|(one, _)| *one == name);
    let (_, text) =
        preset.ok_or_else(|| format!("preset: {named} is not one; the presets are {}", known()))?;
    let preset: toml::Table = toml::from_str(text).map_err(|error| error.message().to_string())?;
    for (key, value) in preset {
        table.entry(key).or_insert(value);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::Protocol;
    use serde::Deserialize;

    #[test]
    fn presets_are_valid_and_own_keys_come_first() {
        for (name, _) in PRESETS {
            let table =
                format!("kind = \"http\"\npreset = \"{name}\"\nbody = {{ own = \"{{prompt}}\" }}");
            let table = with_preset(toml::from_str(&table).unwrap()).unwrap();
            let Ok(Protocol::Http(settings)) = Protocol::deserialize(toml::Value::Table(table))
            else {
                panic!("{name}")
            };
            assert!(
                settings.body_text().contains("own") && settings.calls.is_some(),
                "{name}"
            );
        }
        let unknown = toml::from_str("preset = \"x\"").unwrap();
        assert!(with_preset(unknown).unwrap_err().contains("vercel-ai"));
    }
}
