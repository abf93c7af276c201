//! A request to the API of a model, and its answer.

use crate::judge::secret::Secret;
use evaltrail_core::domain::Provider;
use serde_json::Value;
use url::Url;

/// A request, ready to be sent.
pub(in crate::judge) struct Call {
    pub(in crate::judge) url: Url,
    /// Headers that are secret.
    pub(in crate::judge) secret: Vec<(&'static str, Secret)>,
    pub(in crate::judge) headers: Vec<(&'static str, &'static str)>,
    /// `None` for a GET.
    pub(in crate::judge) body: Option<Value>,
}

/// How the form of the response is requested from a provider, the strictest way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::judge) enum FormMode {
    /// The provider enforces the JSON Schema.
    Schema,
    /// The response is the call of a tool with that schema.
    Tool,
    /// Only the prompt requests it.
    Prompt,
}

impl FormMode {
    pub(in crate::judge) fn describe(self) -> &'static str {
        match self {
            FormMode::Schema => "structured output: the provider enforces the JSON Schema",
            FormMode::Tool => "structured output: through a tool call",
            FormMode::Prompt => "structured output: none, only the prompt describes the form",
        }
    }

    /// The next mode when a provider does not accept this one.
    pub(in crate::judge) fn weaker(self, provider: Provider) -> Option<FormMode> {
        match self {
            FormMode::Schema if provider == Provider::Anthropic => Some(FormMode::Tool),
            FormMode::Schema | FormMode::Tool => Some(FormMode::Prompt),
            FormMode::Prompt => None,
        }
    }
}

/// An answer with its token counts.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::judge) struct ModelAnswer {
    /// The text, or why there is none. Tokens are charged in both cases.
    pub(in crate::judge) text: Result<String, String>,
    pub(in crate::judge) input_tokens: u64,
    pub(in crate::judge) output_tokens: u64,
}

/// An address with more path segments.
pub(super) fn join(base: &Url, parts: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(parts);
    }
    url
}

pub(super) fn count(value: Option<&Value>) -> u64 {
    value.and_then(Value::as_u64).unwrap_or(0)
}
