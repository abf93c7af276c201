//! The protocols of judges, as pure functions: a prompt becomes a request, a response body becomes an answer.

mod anthropic;
mod call;
mod evaluation;
mod gemini;
mod ollama;
mod openai;
mod settings;

pub(super) use call::{Call, FormMode, ModelAnswer};
pub(super) use settings::Settings;

use super::endpoint::ModelEndpoint;
use super::error::{JudgeError, JudgeErrorKind};
use evaltrail_core::domain::{Provider, VerdictParsing};
use serde_json::Value;
use std::time::Duration;

/// The request to the endpoint's model. The schema is sent if one is given and the mode sends it.
pub(super) fn call(
    endpoint: &ModelEndpoint,
    prompt: &str,
    settings: &Settings,
    schema: Option<&Value>,
    mode: FormMode,
) -> Call {
    let schema = schema.filter(|_| mode != FormMode::Prompt);
    match endpoint.provider {
        _ if endpoint.service => evaluation::call(endpoint, prompt),
        Provider::Gemini | Provider::Vertex | Provider::Replay => {
            gemini::call(endpoint, prompt, settings, schema)
        }
        Provider::Openai => openai::call(endpoint, prompt, settings, schema),
        Provider::Anthropic => anthropic::call(endpoint, prompt, settings, schema, mode),
        Provider::Ollama => ollama::call(endpoint, prompt, settings, schema),
    }
}

/// The request that checks that the model exists and the key is accepted; `None` where no cheap one exists.
pub(super) fn probe(endpoint: &ModelEndpoint) -> Option<Call> {
    match endpoint.provider {
        Provider::Gemini => Some(gemini::probe(endpoint)),
        Provider::Openai => Some(openai::probe(endpoint)),
        Provider::Anthropic => Some(anthropic::probe(endpoint)),
        Provider::Ollama => Some(ollama::probe(endpoint)),
        Provider::Vertex | Provider::Replay => None,
    }
}

/// Reads the body of a successful response. In ADK's reading, a model's thoughts are part of its answer.
pub(super) fn read(
    endpoint: &ModelEndpoint,
    body: &Value,
    reading: VerdictParsing,
) -> Result<ModelAnswer, JudgeError> {
    Ok(match endpoint.provider {
        _ if endpoint.service => evaluation::read(body),
        Provider::Gemini | Provider::Vertex | Provider::Replay => gemini::read(body, reading),
        // ADK's client raises an exception here, so the turn has no result.
        Provider::Openai if body.pointer("/choices/0").is_none() => {
            let why = "the judge answered without a choice";
            return Err(JudgeError::after_sending(JudgeErrorKind::Protocol, why));
        }
        Provider::Openai => openai::read(body),
        Provider::Anthropic => anthropic::read(body),
        Provider::Ollama => ollama::read(body),
    })
}

/// Maximum number of characters of an error message, before the key in it is masked.
const MAX_ERROR_CHARS: usize = 100_000;

/// Maps an error response to a failure, with a hint for the user.
pub(super) fn refusal(status: u16, body: &str, retry_after: Option<Duration>) -> JudgeError {
    let parsed: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    // Google sometimes puts the error into a list.
    let error = parsed
        .get("error")
        .or_else(|| parsed.get(0)?.get("error"))
        .unwrap_or(&Value::Null);
    let said = error.get("message").or(Some(error)).and_then(Value::as_str);
    let said: String = said
        .unwrap_or(body)
        .trim()
        .chars()
        .take(MAX_ERROR_CHARS)
        .collect();
    let has = |word: &str| body.contains(word);
    let fault = match status {
        401 | 403 => JudgeErrorKind::Refused,
        400 if has("API_KEY_INVALID") || has("API key not valid") => JudgeErrorKind::Refused,
        404 => JudgeErrorKind::UnknownModel,
        429 if has("insufficient_quota") || is_hard_quota(error) => JudgeErrorKind::Quota,
        // Status codes with which models and servers refuse structured output.
        400 | 415 | 422 | 501 => JudgeErrorKind::Rejected,
        500 if ["invalid JSON schema in format", "required for format"]
            .iter()
            .any(|said| has(said)) =>
        {
            JudgeErrorKind::Rejected
        }
        408 | 409 | 429 | 500 | 502 | 503 | 504 | 529 => JudgeErrorKind::Unavailable,
        _ => JudgeErrorKind::Protocol,
    };
    let hint = match fault {
        JudgeErrorKind::Refused => "; the key is not accepted, or not for this model",
        JudgeErrorKind::Quota => "; the quota is used up",
        _ => "",
    };
    let message = match said.is_empty() {
        true => format!("the judge answered {status}{hint}"),
        false => format!("the judge answered {status}: {said}{hint}"),
    };
    JudgeError {
        retry_after: retry_after.max(retry_info(error)),
        ..JudgeError::new(fault, message)
    }
}

/// Whether a 429 is about a quota per day, by Google's details: waiting does not help.
fn is_hard_quota(error: &Value) -> bool {
    let details = error
        .get("details")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let violations = details
        .filter_map(|detail| detail.get("violations")?.as_array())
        .flatten();
    violations
        .filter_map(|one| one.get("quotaId")?.as_str())
        .any(|id| id.contains("PerDay"))
}

/// Google's `RetryInfo`: `"34s"`.
fn retry_info(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refusals_are_sorted() {
        let of = |status, body: &str| refusal(status, body, None);
        assert_eq!(of(403, "").fault, JudgeErrorKind::Refused);
        let invalid = r#"{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}"#;
        assert_eq!(of(400, invalid).fault, JudgeErrorKind::Refused);
        assert!(of(400, invalid).message.contains("API key not valid."));
        assert_eq!(of(404, "{}").fault, JudgeErrorKind::UnknownModel);
        assert!(of(529, r#"{"error": "overloaded"}"#).may_retry());
        assert!(
            !of(
                429,
                r#"{"error": {"code": "insufficient_quota", "message": "m"}}"#
            )
            .may_retry()
        );
        assert_eq!(of(400, "[]").fault, JudgeErrorKind::Rejected);
        assert!(
            of(500, r#"{"error": "invalid JSON schema in format"}"#).fault
                == JudgeErrorKind::Rejected
        );
        assert_eq!(of(418, "").fault, JudgeErrorKind::Protocol);
        assert_eq!(of(418, "").message, "the judge answered 418");
        let refused = "the judge answered 403: no; the key is not accepted, or not for this model";
        assert_eq!(of(403, "no").message, refused);
        let quota = r#"{"error": {"code": "insufficient_quota", "message": "m"}}"#;
        assert_eq!(
            of(429, quota).message,
            "the judge answered 429: m; the quota is used up"
        );
    }

    fn endpoint(provider: Provider, model: &str) -> ModelEndpoint {
        ModelEndpoint {
            provider,
            model: model.into(),
            base: "http://localhost:1/".parse().unwrap(),
            key: None,
            service: false,
            vertex: None,
        }
    }

    fn body(
        endpoint: &ModelEndpoint,
        settings: Value,
        schema: Option<&Value>,
        mode: FormMode,
    ) -> Value {
        call(
            endpoint,
            "?",
            &Settings::new(settings.as_object().unwrap()),
            schema,
            mode,
        )
        .body
        .unwrap()
    }

    #[test]
    fn schema_is_sent_unless_form_is_in_prompt() {
        use FormMode::{Prompt, Schema, Tool};
        let schema = json!({"type": "object"});
        for (provider, mode, pointer) in [
            (
                Provider::Gemini,
                Schema,
                "/generationConfig/responseJsonSchema",
            ),
            (
                Provider::Openai,
                Schema,
                "/response_format/json_schema/schema",
            ),
            (Provider::Ollama, Schema, "/format"),
            (Provider::Anthropic, Schema, "/output_config/format/schema"),
            (Provider::Anthropic, Tool, "/tools/0/input_schema"),
        ] {
            let endpoint = endpoint(provider, "m");
            let of = |mode: FormMode| body(&endpoint, json!({}), Some(&schema), mode);
            assert_eq!(
                of(mode).pointer(pointer),
                Some(&schema),
                "{provider:?} {mode:?}"
            );
            assert_eq!(
                of(Prompt),
                body(&endpoint, json!({}), None, mode),
                "{provider:?}"
            );
            assert!(of(Prompt).pointer(pointer).is_none(), "{provider:?}");
        }
        let plain = body(&endpoint(Provider::Gemini, "m"), json!({}), None, Prompt);
        assert_eq!(
            plain,
            json!({"contents": [{"role": "user", "parts": [{"text": "?"}]}]})
        );
    }

    #[test]
    fn reasoning_models_have_their_own_settings() {
        let settings = json!({"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 9, "seed": 1});
        for (model, reasons) in [
            ("gpt-5-mini", true),
            ("o3", true),
            ("omni", false),
            ("gpt-4o", false),
            ("m3", false),
            ("x", false),
        ] {
            let mut sent = body(
                &endpoint(Provider::Openai, model),
                settings.clone(),
                None,
                FormMode::Prompt,
            );
            sent.as_object_mut()
                .unwrap()
                .retain(|name, _| name != "model" && name != "messages");
            let expected = match reasons {
                true => json!({"max_completion_tokens": 9, "seed": 1}),
                false => json!({"temperature": 0.5, "top_p": 0.9, "max_tokens": 9, "seed": 1}),
            };
            assert_eq!(sent, expected, "{model}");
        }
    }

    #[test]
    fn answers_without_result_are_distinguished() {
        let of = |endpoint: &ModelEndpoint, body: Value| {
            read(endpoint, &body, VerdictParsing::default())
        };
        let openai = endpoint(Provider::Openai, "m");
        assert_eq!(
            of(&openai, json!({"choices": []})).unwrap_err().fault,
            JudgeErrorKind::Protocol
        );
        let answer = of(
            &openai,
            json!({"choices": [{"message": {"content": "yes"}}]}),
        )
        .unwrap();
        assert_eq!(answer.text, Ok("yes".to_string()));
        let service = ModelEndpoint {
            service: true,
            ..endpoint(Provider::Vertex, "m")
        };
        assert!(
            of(&service, json!({"metricResults": []}))
                .unwrap()
                .text
                .is_err()
        );
        assert!(
            of(&service, json!({"metricResults": [{"score": 1}]}))
                .unwrap()
                .text
                .is_ok()
        );
    }

    /// An answer through a tool has the type, the name and an object.
    #[test]
    fn only_the_call_of_the_tool_is_an_answer() {
        let text = |block: Value| {
            let body = json!({"content": [block, {"type": "text", "text": "words"}]});
            read(
                &endpoint(Provider::Anthropic, "m"),
                &body,
                VerdictParsing::default(),
            )
            .unwrap()
            .text
            .unwrap()
        };
        let block = |kind: &str, name: &str, input: Value| json!({"type": kind, "name": name, "input": input});
        assert_eq!(
            text(block("tool_use", "answer", json!({"a": 1}))),
            r#"{"a":1}"#
        );
        assert_eq!(text(block("tool_use", "other", json!({"a": 1}))), "words");
        assert_eq!(
            text(block("server_tool_use", "answer", json!({"a": 1}))),
            "words"
        );
        assert_eq!(text(block("tool_use", "answer", json!(null))), "words");
    }

    #[test]
    fn rejected_form_is_followed_by_weaker_form() {
        use FormMode::{Prompt, Schema, Tool};
        for (provider, after_schema) in [
            (Provider::Anthropic, Tool),
            (Provider::Openai, Prompt),
            (Provider::Ollama, Prompt),
        ] {
            assert_eq!(Schema.weaker(provider), Some(after_schema));
            assert_eq!(
                (Tool.weaker(provider), Prompt.weaker(provider)),
                (Some(Prompt), None)
            );
        }
    }

    #[test]
    fn delay_is_read_from_googles_error() {
        let body = r#"[{"error": {"message": "slow down", "details": [{"retryDelay": "3.5s"}]}}]"#;
        let error = refusal(429, body, Some(Duration::from_secs(1)));
        assert_eq!(
            (error.may_retry(), error.retry_after),
            (true, Some(Duration::from_millis(3500)))
        );
        let daily =
            r#"{"error": {"details": [{"violations": [{"quotaId": "RequestsPerDayPerModel"}]}]}}"#;
        assert_eq!(refusal(429, daily, None).fault, JudgeErrorKind::Quota);
    }
}
