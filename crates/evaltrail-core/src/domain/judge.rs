//! Which judge is used, and how its responses are read.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The configuration of a judge. Contains the name of the environment variable with the API key, never the key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeSpec {
    /// The provider of the model; derived from the model's name, as in ADK, when `None`.
    pub provider: Option<Provider>,
    /// The model to use instead of the one that a criterion specifies.
    pub model: Option<String>,
    /// The URL to use instead of the provider's default.
    pub url: Option<String>,
    /// The environment variable that contains the API key, instead of the provider's default.
    pub key_env: Option<String>,
    /// The Google Cloud project, for Vertex AI.
    pub project: Option<String>,
    /// The Google Cloud location, for Vertex AI.
    pub location: Option<String>,
    /// The file of recorded responses, for [`Provider::Replay`].
    pub recording: Option<PathBuf>,
    /// How responses are read.
    #[serde(default)]
    pub reading: VerdictParsing,
    /// Maximum number of concurrent requests.
    pub jobs: u32,
    /// Maximum number of requests per minute.
    pub rate: Option<u32>,
    /// Limit for one request, in milliseconds.
    pub timeout_ms: u64,
    /// Maximum number of retries after a failure that may be retried.
    pub retries: u32,
    /// Samples for criteria that do not specify a number.
    pub samples: Option<u32>,
    /// Prices per million input and output tokens.
    pub prices: Option<(f64, f64)>,
    /// No new requests are sent after this cost is reached.
    pub spending_limit: Option<f64>,
    /// Whether responses are cached.
    pub cache: bool,
    /// Whether the workspace's own config specifies the URL, the key or the project, so that the user must approve it
    /// first.
    #[serde(default)]
    pub from_folder: bool,
}

impl JudgeSpec {
    /// The configuration with what was chosen for one run. If a model is
    /// named, it is called even when a recording is configured.
    pub fn with_choice(self, model: Option<String>, samples: Option<u32>) -> JudgeSpec {
        let plays_recording = self.provider == Some(Provider::Replay) && model.is_none();
        JudgeSpec {
            provider: self
                .provider
                .filter(|one| *one != Provider::Replay || plays_recording),
            recording: self.recording.filter(|_| plays_recording),
            model: model.or(self.model),
            samples: samples.or(self.samples),
            ..self
        }
    }

    /// The default configuration.
    pub fn standard() -> JudgeSpec {
        JudgeSpec {
            jobs: 8,
            timeout_ms: 60_000,
            retries: 4,
            cache: true,
            ..JudgeSpec::default()
        }
    }
}

impl JudgeSpec {
    /// The judge's name to display; `None` if each criterion uses its own model.
    pub fn label(&self) -> Option<String> {
        match (self.provider, &self.model) {
            (Some(Provider::Replay), _) => Some("recorded".into()),
            (_, Some(model)) => Some(model.clone()),
            (Some(provider), None) => Some(provider.name().into()),
            (None, None) => None,
        }
    }
}

/// The API protocol of a judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Google's Gemini API, with a key.
    Gemini,
    /// Gemini on Vertex AI, with a token.
    Vertex,
    /// OpenAI's chat completions, and compatible APIs.
    Openai,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's chat.
    Ollama,
    /// Recorded responses.
    Replay,
}

impl Provider {
    /// The name in a config file.
    pub fn name(self) -> &'static str {
        match self {
            Provider::Gemini => "gemini",
            Provider::Vertex => "vertex",
            Provider::Openai => "openai",
            Provider::Anthropic => "anthropic",
            Provider::Ollama => "ollama",
            Provider::Replay => "replay",
        }
    }
}

/// How a judge's responses are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictParsing {
    /// The structured verdict counts; a response that contradicts itself has no verdict.
    #[default]
    Careful,
    /// As ADK reads them: the first match counts.
    Adk,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_model_replaces_the_recording() {
        let recorded = JudgeSpec {
            provider: Some(Provider::Replay),
            recording: Some("judge.jsonl".into()),
            ..JudgeSpec::standard()
        };
        let named = recorded
            .clone()
            .with_choice(Some("openai/gpt-5".into()), None);
        assert_eq!((named.provider, named.recording), (None, None));
        assert_eq!(named.model.as_deref(), Some("openai/gpt-5"));
        assert_eq!(
            recorded.clone().with_choice(None, Some(3)),
            JudgeSpec {
                samples: Some(3),
                ..recorded
            }
        );
    }
}
